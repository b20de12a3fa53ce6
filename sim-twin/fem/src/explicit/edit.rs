//! Changes of stiffness while the tissue is touched.
//!
//! Source: ours, for teleop E16: an update must not feed energy to the hand. Forces of a cell are
//! proportional to its moduli, so a stiffer cell holds more energy at once. A passive stiffening may
//! take that from what this tissue has dissipated and not given away so: the sum of all passive edits
//! never exceeds what was dissipated, so the tissue stays passive. What cannot be paid is left out,
//! and the report says which share was done.

use super::Explicit;
use super::grid::Grid;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::shape::Shape;
use palpate_twin::stiffen::{Stiffening, checked};
use palpate_twin::twin::{Edit, EditError, EditReport};
use std::ops::Range;

/// Range of a cell's stiffness over that at first.
const FACTORS: (f32, f32) = (0.02, 50.0);
/// Samples along each edge of a cell, for its share of a ball.
const SAMPLES: u32 = 4;

impl Explicit {
    pub(super) fn change(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        let (change, factor, passive) = checked(edit)?;
        let whole = move |part: f64| match change {
            Stiffening::Fading(..) => 1.0 + (factor - 1.0) * part,
            Stiffening::Region(_) if part >= 1.0 => factor,
            Stiffening::Region(_) => libm::pow(factor, part),
        };
        let before_j = self.stored_j();
        for (before, motion) in self.stiffened.iter_mut().zip(&self.state.motions) {
            before.copy_from_slice(&motion.stiffened);
        }
        let mut share = 1.0;
        let (elements, within) = self.stiffen(&change, whole, share);
        let mut energy_j = self.stored_j() - before_j;
        let free_j = (self.state.ledger.dissipated_j - self.state.granted_j).max(0.0);
        if passive && energy_j > free_j {
            // energy is linear in the moduli
            share = free_j / energy_j;
            self.stiffen(&change, whole, share);
            energy_j = self.stored_j() - before_j;
        }
        if passive {
            self.state.granted_j += energy_j.max(0.0);
        }
        let books = &mut self.state.ledger;
        books.elastic_j += energy_j;
        books.edit_j += energy_j;
        (self.state.stale, self.state.still) = (true, false);
        // stiffer cells need their mass before they go again
        self.weigh();
        Ok(EditReport {
            elements,
            energy_j,
            share: share * within,
        })
    }

    /// Elastic energy as the cells are now; their impulses have to be taken anew after it.
    fn stored_j(&mut self) -> f64 {
        let found = self.energies();
        self.state.demand = found.demand;
        found.energy * self.model.energy_j()
    }

    /// Makes a share of a change to what the cells were before; `times` says what it multiplies stiffness by, from the
    /// part of a cell that it is about. Gives the number of those that have one, and how much of the whole change the
    /// range of the least limited of them allows, as linked volumes do.
    fn stiffen(
        &mut self,
        change: &Stiffening,
        times: impl Fn(f64) -> f64,
        share: f64,
    ) -> (usize, f64) {
        let (origin_m, length_m) = (self.model.origin_m, self.model.length_m);
        let bounds = bounds_m(change);
        let (mut count, mut within) = (0, 0.0_f64);
        let motions = self.state.motions.iter_mut().zip(&self.stiffened);
        for (grid, (motion, before)) in self.model.grids.iter().zip(motions) {
            let [columns, rows, planes] = [0, 1, 2].map(|a| match bounds {
                Some((place_m, radius_m)) => {
                    let place = (place_m[a] - origin_m[a]) / length_m;
                    range(grid, a, place, radius_m / length_m)
                }
                None => 0..grid.nodes[a] - 1,
            });
            let cells = planes.flat_map(|k| {
                let columns = columns.clone();
                rows.clone()
                    .flat_map(move |j| columns.clone().map(move |i| [i, j, k]))
            });
            for cell in cells.map(|cell| grid.at(cell)) {
                let low_m = origin_m + Vec3::from(grid.rest(cell)) * length_m;
                let part = part(change, low_m, Vec3::from(grid.edge) * length_m);
                if part <= 0.0 || grid.cells.mu[cell] <= 0.0 {
                    continue;
                }
                let (old, times) = (before[cell], f32::of(times(part)));
                let free = old * times;
                let whole = free.clamp(FACTORS.0, FACTORS.1);
                let (asked, made) = ((free - old).abs(), (whole - old).abs());
                within = within.max(if asked > 0.0 {
                    f64::from(made / asked)
                } else {
                    1.0
                });
                let own = f32::of(share).mul_add(whole - old, old);
                motion.stiffened[cell] = own;
                motion.stiff[0][cell] = grid.cells.mu[cell] * own;
                motion.stiff[1][cell] = grid.cells.lambda[cell] * own;
                self.state.stiffest = self.state.stiffest.max(own);
                count += 1;
            }
        }
        (count, if count == 0 { 1.0 } else { within })
    }
}

/// A ball outside of which nothing changes \[m\]; none if there is no such ball.
fn bounds_m(change: &Stiffening) -> Option<(Vec3, f64)> {
    match *change {
        Stiffening::Fading(place_m, radius_m) => Some((place_m, radius_m)),
        Stiffening::Region(Shape::Ball { centre_m, radius_m }) => Some((centre_m, radius_m)),
        Stiffening::Region(Shape::All | Shape::Layer { .. }) => None,
    }
}

/// Part of a cell in the change, 0 to 1, from its lowest corner and its edges \[m\].
fn part(change: &Stiffening, low_m: Vec3, edge_m: Vec3) -> f64 {
    match *change {
        Stiffening::Fading(place_m, radius_m) => {
            1.0 - (low_m + 0.5 * edge_m - place_m).norm() / radius_m
        }
        Stiffening::Region(Shape::All) => 1.0,
        Stiffening::Region(Shape::Layer { from_m, to_m }) => {
            let inside_m = to_m.min(low_m.z + edge_m.z) - from_m.max(low_m.z);
            // an edge of single precision is not quite where the layer ends
            let share = inside_m / edge_m.z;
            if share > 1.0 - 1e-4 {
                1.0
            } else if share < 1e-4 {
                0.0
            } else {
                share
            }
        }
        Stiffening::Region(shape) => {
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

/// Cells along an axis whose middle may be within a radius of a place.
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
