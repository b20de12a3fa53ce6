//! Changes of stiffness while the tissue is touched.
//!
//! Source: ours, for teleop E16: an update must not feed energy to the hand. Forces of a cell are
//! proportional to its moduli, so a stiffer cell holds more energy at once. A passive stiffening may
//! take that from what this tissue has dissipated and not given away so: the sum of all passive edits
//! never exceeds what was dissipated, so the tissue stays passive. What cannot be paid is left out,
//! and the report says which share was done.

use super::Explicit;
use super::grid::Grid;
use crate::Vec3;
use crate::law::Real;
use crate::twin::{Edit, EditError, EditReport};
use std::ops::Range;

/// Range of a cell's stiffness over that at first.
const FACTORS: (f32, f32) = (0.02, 50.0);

impl Explicit {
    pub(super) fn change(&mut self, edit: &Edit) -> Result<EditReport, EditError> {
        let Edit::Stiffen {
            center_m,
            radius_m,
            factor,
            passive,
        } = *edit
        else {
            return Err(EditError::Kind("cut"));
        };
        let finite = center_m.iter().all(|x| x.is_finite());
        let field = |field, value, expected| EditError::Field {
            field,
            value,
            expected,
        };
        if !finite {
            return Err(field("center_m", center_m.sum(), "finite numbers"));
        }
        for (name, value) in [("radius_m", radius_m), ("factor", factor)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(field(name, value, "a finite number above 0"));
            }
        }
        let place = (
            (center_m - self.model.origin_m) / self.model.length_m,
            radius_m,
        );
        let before_j = self.stored_j();
        for (before, motion) in self.stiffened.iter_mut().zip(&self.state.motions) {
            before.copy_from_slice(&motion.stiffened);
        }
        let mut share = 1.0;
        let elements = self.stiffen(place, factor, share);
        let mut energy_j = self.stored_j() - before_j;
        let free_j = (self.state.ledger.dissipated_j - self.state.granted_j).max(0.0);
        if passive && energy_j > free_j {
            // energy is linear in the moduli
            share = free_j / energy_j;
            self.stiffen(place, factor, share);
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
            share,
        })
    }

    /// Elastic energy as the cells are now; their impulses have to be taken anew after it.
    fn stored_j(&mut self) -> f64 {
        let found = self.pull_due::<true>(self.model.slowest, 1.0, 0.0);
        self.state.demand = found.demand;
        found.energy * self.model.energy_j()
    }

    /// Makes a share of a change to what the cells were before: those within a radius \[m\] of a place
    /// become stiffer by the factor there, by less farther off; gives their number.
    fn stiffen(&mut self, (place, radius_m): (Vec3, f64), factor: f64, share: f64) -> usize {
        let radius = radius_m / self.model.length_m;
        let mut count = 0;
        let motions = self.state.motions.iter_mut().zip(&self.stiffened);
        for (grid, (motion, before)) in self.model.grids.iter().zip(motions) {
            let [columns, rows, planes] = [0, 1, 2].map(|a| range(grid, a, place[a], radius));
            let cells = planes.flat_map(|k| {
                let columns = columns.clone();
                rows.clone()
                    .flat_map(move |j| columns.clone().map(move |i| [i, j, k]))
            });
            for cell in cells.map(|cell| grid.at(cell)) {
                let middle = Vec3::from(grid.rest(cell)) + 0.5 * Vec3::from(grid.edge);
                let near = 1.0 - (middle - place).norm() / radius;
                if near <= 0.0 || grid.cells.mu[cell] <= 0.0 {
                    continue;
                }
                let (old, times) = (before[cell], f32::of(1.0 + (factor - 1.0) * near));
                let whole = (old * times).clamp(FACTORS.0, FACTORS.1);
                let own = f32::of(share).mul_add(whole - old, old);
                motion.stiffened[cell] = own;
                motion.stiff[0][cell] = grid.cells.mu[cell] * own;
                motion.stiff[1][cell] = grid.cells.lambda[cell] * own;
                self.state.stiffest = self.state.stiffest.max(own);
                count += 1;
            }
        }
        count
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
