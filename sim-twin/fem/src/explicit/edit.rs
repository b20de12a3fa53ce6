//! Stiffness edits while the tissue is in contact.
//!
//! Source: ours, for teleop E16: an update must not feed energy to the operator's hand. Forces of a cell are
//! proportional to its moduli, so a stiffer cell stores more energy at once. A passive stiffening may take
//! that energy from what this tissue has dissipated and not yet spent on edits. The sum over all passive
//! edits never exceeds the dissipated energy, so the tissue stays passive. The part of an edit that exceeds
//! it is not applied, and the report contains the applied fraction.

use super::ExplicitTissue;
use super::grid::Grid;
use super::mass_scaling::MassTime;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::shape::RegionShape;
use palpate_twin::stiffness_edit::validate_scale;
use palpate_twin::twin::{Edit, EditError, EditReport};
use std::ops::Range;

/// Range of the stiffness of a cell over its initial one.
const FACTORS: (f32, f32) = (0.02, 50.0);
/// Samples along each edge of a cell for its fraction inside a ball.
const SAMPLES: u32 = 4;

impl ExplicitTissue {
    pub(super) fn apply_edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        let (shape, factor, passive) = validate_scale(edit)?;
        let whole = move |part: f64| {
            if part >= 1.0 {
                factor
            } else {
                libm::pow(factor, part)
            }
        };
        let before_j = self.stored_j();
        for (before, motion) in self
            .stiffness_before_edit
            .iter_mut()
            .zip(&self.state.motions)
        {
            before.copy_from_slice(&motion.stiffness_ratio);
        }
        let mut share = 1.0;
        let (elements, within) = self.stiffen(&shape, whole, share);
        let mut energy_j = self.stored_j() - before_j;
        let free_j = (self.state.ledger.dissipated_j - self.state.edit_energy_j).max(0.0);
        if passive && energy_j > free_j {
            // the energy is linear in the moduli
            share = free_j / energy_j;
            self.stiffen(&shape, whole, share);
            energy_j = self.stored_j() - before_j;
        }
        if passive {
            self.state.edit_energy_j += energy_j.max(0.0);
        }
        let balance = &mut self.state.ledger;
        balance.elastic_j += energy_j;
        balance.edit_j += energy_j;
        (self.state.stale, self.state.settled) = (true, false);
        // stiffer cells need their mass before the next step
        self.update_masses(MassTime::End);
        Ok(EditReport {
            elements,
            energy_j,
            applied_fraction: share * within,
        })
    }

    /// Returns the elastic energy of the present state; impulses must be recomputed after it.
    fn stored_j(&mut self) -> f64 {
        let totals = self.energies();
        self.state.demand = totals.demand;
        totals.energy * self.model.energy_j()
    }

    /// Applies a fraction `share` of a change to the stiffness before the edit. `times` returns the factor on
    /// stiffness for the covered fraction of a cell. Returns the number of changed cells, and the largest
    /// fraction of the change that the stiffness range allows, as for voxel models.
    fn stiffen(
        &mut self,
        shape: &RegionShape,
        times: impl Fn(f64) -> f64,
        share: f64,
    ) -> (usize, f64) {
        let (origin_m, length_m) = (self.model.origin_m, self.model.length_m);
        let (mut count, mut within) = (0, 0.0_f64);
        let motions = self
            .state
            .motions
            .iter_mut()
            .zip(&self.stiffness_before_edit);
        for (grid, (motion, before)) in self.model.grids.iter().zip(motions) {
            let [columns, rows, planes] = [0, 1, 2].map(|a| match shape.around_m() {
                Some([middle_m, reach_m]) => {
                    let place = (middle_m[a] - origin_m[a]) / length_m;
                    range(grid, a, place, reach_m[a] / length_m)
                }
                None => 0..grid.nodes[a] - 1,
            });
            let cells = planes.flat_map(|k| {
                let columns = columns.clone();
                rows.clone()
                    .flat_map(move |j| columns.clone().map(move |i| [i, j, k]))
            });
            for cell in cells.map(|cell| grid.index(cell)) {
                let low_m = origin_m + Vec3::from(grid.rest_position(cell)) * length_m;
                let part = covered_fraction(shape, low_m, Vec3::from(grid.edge) * length_m);
                if part <= 0.0 || grid.cells.mu[cell] <= 0.0 {
                    continue;
                }
                let (old, times) = (before[cell], f32::of(times(part)));
                let free = old * times;
                let whole = free.clamp(FACTORS.0, FACTORS.1);
                let (requested, applied) = ((free - old).abs(), (whole - old).abs());
                within = within.max(if requested > 0.0 {
                    f64::from(applied / requested)
                } else {
                    1.0
                });
                let own = f32::of(share).mul_add(whole - old, old);
                motion.stiffness_ratio[cell] = own;
                motion.moduli[0][cell] = grid.cells.mu[cell] * own;
                motion.moduli[1][cell] = grid.cells.lambda[cell] * own;
                self.state.stiffest = self.state.stiffest.max(own);
                count += 1;
            }
        }
        (count, if count == 0 { 1.0 } else { within })
    }
}

/// Returns the fraction of a cell inside a shape, 0 to 1, from its lowest corner and its edges \[m\].
fn covered_fraction(shape: &RegionShape, low_m: Vec3, edge_m: Vec3) -> f64 {
    match *shape {
        RegionShape::All => 1.0,
        RegionShape::Layer { from_m, to_m } => {
            let inside_m = to_m.min(low_m.z + edge_m.z) - from_m.max(low_m.z);
            // a single-precision edge is not exactly at the end of the layer
            let share = inside_m / edge_m.z;
            if share > 1.0 - 1e-4 {
                1.0
            } else if share < 1e-4 {
                0.0
            } else {
                share
            }
        }
        RegionShape::Ball { .. } | RegionShape::Solid { .. } => {
            let at = |index: u32| (f64::from(index) + 0.5) / f64::from(SAMPLES);
            let inside = |sample: u32| {
                let [i, j, k] = [1, SAMPLES, SAMPLES * SAMPLES].map(|n| sample / n % SAMPLES);
                let along = Vec3::new(at(i), at(j), at(k));
                shape.contains(&(low_m + edge_m.component_mul(&along)))
            };
            let all = SAMPLES.pow(3);
            (0..all).filter(|&sample| inside(sample)).count() as f64 / f64::from(all)
        }
    }
}

/// Returns the cells along an axis whose middle may be within a radius of a position.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the cells there are"
)]
fn range(grid: &Grid, axis: usize, place: f64, radius: f64) -> Range<usize> {
    let cells = (grid.nodes[axis] - 1) as f64;
    let at = |x: f64| ((x - grid.low[axis]) / grid.edge[axis]).clamp(0.0, cells);
    at(place - radius).floor() as usize..at(place + radius).ceil() as usize
}
