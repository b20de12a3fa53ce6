//! What the mesh does to the felt force, and how that force goes on: from the touch itself, every tick.
//!
//! Source: ours. **Error.** Trilinear cells miss a share of the energy that goes as the square of their
//! edge over the length on which strain changes, and under a rigid tool force is the slope of energy. Under
//! a tool that length is the half-width `a` of the contact, which is known only afterwards: with `h^2` the
//! area at rest of the touched faces, `(F_h - F) / F = q` with `q = C h^2 / a^2`, so `q / (1 + q)` of the
//! felt force is the mesh's ([`MISSED`]). It has no memory, so it holds for a tool that moves, leaves
//! nothing for a snapshot and costs a few operations.
//!
//! Recovery of gradients (Zienkiewicz and Zhu 1987) over all cells was measured beside it and not taken:
//! it sees what neighbours differ by, and under a tool that covers one face nothing differs yet. It said
//! 2 to 9 % of the energy on all meshes of the block test, for errors of the force from 0 to 64 %, and
//! 10 to 29 % in layers, where the strain leaps for good reason. The share of the hourglass modes told as
//! little.
//!
//! Measured on the block test against its converged forces, means of a ball over a node and over the middle
//! of a face (test `estimate`): error of the force, estimate, both in percent of it, and their ratio:
//!
//! | nodes | 1 mm | 2 mm | 5 mm | 10 mm |
//! |---|---|---|---|---|
//! | 729 | 50.8 58.2 1.1 | 48.3 58.2 1.2 | 30.4 47.9 1.6 | -20.9 49.7 2.4 |
//! | 2 197 | 46.1 58.2 1.3 | 31.0 58.3 1.9 | 11.6 26.9 2.3 | falls through |
//! | 9 261 | 20.6 43.0 2.1 | 15.7 26.8 1.7 | 10.7 14.8 1.4 | -3.7 7.1 1.9 |
//! | 29 791 | 15.2 26.9 1.8 | 9.9 15.8 1.6 | 3.6 6.8 1.9 | 4.8 3.5 0.7 |
//! | graded | 2.2 5.1 2.3 | 0.9 2.3 2.5 | 0.2 0.9 5.7 | 0.1 0.4 6.9 |
//!
//! On tissues and tools that it was not fitted to, at 1 and 2 mm against finer meshes of the same scene:
//! `layered` 0.7 and 0.9, on cells of 5 mm 1.5 and 0.5, `layered-lump` 1.3 and 1.2, `block-nodule` on cells
//! of 2.1 mm 0.9 and 2.2.
//!
//! What it cannot see: whether a press happens to meet a node or the middle of a face, errors of opposite
//! sign that cancel (why it says too much on fine meshes), a ball that falls between the nodes of cells
//! larger than itself, and cells that are coarse below the contact, so a zone has to be deeper than the
//! touch is wide.
//!
//! **Slope.** A force that goes as depth to a power `n` has the slope `n F / d`, whatever lies below, for
//! `F` and `d` are those of all layers. For a ball on a half-space `n = 2 E* a d / F` falls from Hertz's 3/2
//! as the ball sinks in (Sneddon 1965, fitted by a line to 2 radii within 1 %); a rod that lies has about one.
//! Depth is from the surface at rest; where another tool has bulged it, that of the contact's own cap counts,
//! whichever is more, and contact faces alone are the bound: too stiff is what a hand must not feel.
//! Measured against differences of the press itself: within 28 % in `block`, `block-nodule`, `layered` and
//! `layered-lump` to 10 mm (8 in layers), where the half-space of the softest cell was up to 2.7 times off.
//!
//! **Slope against speed.** A force of Kelvin and Voigt's tissue is ahead of its depth by the time `viscosity
//! over modulus`, the least of all cells here, so nothing where any is elastic. Inertia and the damping by
//! mass are no slope: they follow acceleration, and the way of tissue that is nowhere near the tool.
//! On even tissue it is too much: volume, hourglass modes and a law that stiffens count as if they were viscous
//! too, 1.6 times at 0.6 radii and Poisson's ratio 0.45 (measured). It is as at construction, whatever edits do.

use super::grid::Grid;
use super::skin::{Met, Rod};
use std::f64::consts::PI;

/// `C` above: with Hertz's `a` it fits the errors of 5 to 64 % of the force on cells of 2 to 8.3 mm within a
/// third (block test); with the area that was found it says up to 2.3 times as much.
const MISSED: f64 = 0.11;

/// Exponent of Hertz's law, and how much it falls a radius of depth (Sneddon's exact sphere: 1.48 at
/// 0.2 radii, 1.39 at 1, 1.28 at 2).
const EXPONENT: (f64, f64) = (1.5, 0.112);
/// Depth over radius to which it falls.
const FALLS_TO: f64 = 3.0;

/// A touch at the end of a tick, without units.
pub(super) struct Touch<'a> {
    /// Size of the mean force over the tick; above 0.
    pub(super) force: f64,
    pub(super) met: &'a Met,
    pub(super) rod: Rod,
    /// Height of the surface at rest.
    pub(super) top: f64,
}

impl Touch<'_> {
    /// How deep the lower end of the tool is below the surface at rest, and the upper one.
    fn depths(&self) -> [f64; 2] {
        let low = self.top - f64::from(self.rod.centre[2]) + f64::from(self.rod.radius);
        let other = low - f64::from(self.rod.shaft[2]);
        [low.max(other), low.min(other)]
    }

    /// Length across of a rod that lies in the surface with both ends.
    fn lies(&self) -> Option<f64> {
        let [x, y, _] = self.rod.shaft.map(f64::from);
        let long = (x * x + y * y).sqrt();
        (long > 0.0 && self.depths()[1] > 0.0).then_some(long)
    }

    /// Part of the force that is the mesh's.
    pub(super) fn error(&self) -> f64 {
        let (area, faces) = (f64::from(self.met.area), f64::from(self.met.faces));
        let disc2 = area / PI;
        let width2 = match self.lies() {
            Some(long) => (0.5 * area / long).powi(2).min(disc2),
            None => disc2,
        };
        let missed = MISSED * area / (faces * width2);
        // the tool has left, or its touch is too small for numbers: nothing is known of the force
        let share = if missed.is_finite() {
            missed / (1.0 + missed)
        } else {
            1.0
        };
        share * self.force
    }

    /// Slope of the force against depth.
    pub(super) fn stiffness(&self) -> f64 {
        let bound = f64::from(self.met.slope);
        if self.met.contacts == 0 || !bound.is_finite() || bound <= 0.0 {
            return 0.0;
        }
        let radius = f64::from(self.rod.radius);
        let depth = self.depths()[0];
        let slope = if self.lies().is_some() {
            self.force / depth
        } else {
            // the cap of a ball of that area, and Hertz's depth of its circle
            let area = f64::from(self.met.area).min(2.0 * PI * radius * radius);
            let own = (area / PI) * (1.0 - 0.25 * area / (PI * radius * radius)) / radius;
            let depth = depth.max(own);
            let fallen = EXPONENT.1 * (depth / radius).clamp(0.0, FALLS_TO);
            (EXPONENT.0 - fallen) * self.force / depth
        };
        if slope > 0.0 && slope < bound {
            slope
        } else {
            bound
        }
    }
}

/// Time by which a force is ahead of its depth at a speed: viscosity over modulus of shape, the least of
/// all cells.
pub(super) fn lag(grids: &[Grid]) -> f64 {
    let of_grid = |grid: &Grid| {
        let Some(viscous) = &grid.viscous else {
            return 0.0;
        };
        let cells = grid.cells.mu.iter().zip(viscous.shear());
        let lags = cells.filter(|(mu, _)| **mu > 0.0);
        let lags = lags.map(|(&mu, &shear)| 0.5 * f64::from(shear) / f64::from(mu));
        lags.fold(f64::INFINITY, f64::min)
    };
    let least = grids.iter().map(of_grid).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}
