//! Estimates of the mesh error and the slope of a contact force, from the contact itself in every tick.
//!
//! Source: ours. **Error.** Trilinear cells miss a fraction of the energy that grows as the square of their
//! edge over the length on which strain changes. Under a rigid tool the force is the derivative of the
//! energy. That length is the half-width `a` of the contact, which is known only afterwards. With `h^2` the
//! area at rest of the touched faces, `(F_h - F) / F = q` with `q = C h^2 / a^2`, so the fraction `q / (1 +
//! q)` of the force is mesh error ([`ERROR_CONSTANT`]). The estimate has no memory, so it is valid for a
//! moving tool, adds nothing to a snapshot and costs a few operations.
//!
//! Recovery of gradients (Zienkiewicz and Zhu 1987) over all cells was measured too and rejected. It uses
//! differences between neighbours, and under a tool that covers one face there are none yet. It estimated 2
//! to 9 % of the energy on all meshes of the block test, for force errors from 0 to 64 %, and 10 to 29 % in
//! layers, where strain jumps physically. The energy fraction of the hourglass modes was no better.
//!
//! Measured on the block test against its converged forces, means of a sphere over a node and over the middle
//! of a face (test `estimate`): error of the force, estimate, both in percent of the force, and their ratio:
//!
//! | nodes | 1 mm | 2 mm | 5 mm | 10 mm |
//! |---|---|---|---|---|
//! | 729 | 50.8 58.2 1.1 | 48.3 58.2 1.2 | 30.4 47.9 1.6 | -20.9 49.7 2.4 |
//! | 2 197 | 46.1 58.2 1.3 | 31.0 58.3 1.9 | 11.6 26.9 2.3 | falls through |
//! | 9 261 | 20.6 43.0 2.1 | 15.7 26.8 1.7 | 10.7 14.8 1.4 | -3.7 7.1 1.9 |
//! | 29 791 | 15.2 26.9 1.8 | 9.9 15.8 1.6 | 3.6 6.8 1.9 | 4.8 3.5 0.7 |
//! | graded | 2.2 5.1 2.3 | 0.9 2.3 2.5 | 0.2 0.9 5.7 | 0.1 0.4 6.9 |
//!
//! Ratios on tissues and tools not used for the fit, at 1 and 2 mm against finer meshes of the same scene:
//! `layered` 0.7 and 0.9, on cells of 5 mm 1.5 and 0.5, `layered-lump` 1.3 and 1.2, `block-nodule` on cells
//! of 2.1 mm 0.9 and 2.2.
//!
//! The estimate does not include four effects. They are the position of a press relative to nodes and faces;
//! errors of opposite sign that cancel, which makes it too high on fine meshes; a sphere that falls between
//! the nodes of larger cells; and coarse cells below the contact. A refined zone must therefore be deeper
//! than the contact is wide.
//!
//! **Slope.** A force proportional to depth to the power `n` has the slope `n F / d`, whatever lies below.
//! For a sphere on a half-space `n = 2 E* a d / F` falls from Hertz's 3/2 as the sphere sinks in (Sneddon
//! 1965, fitted by a line to 2 radii within 1 %); for a lying rod it is about one. Depth is measured from the
//! surface at rest, or from the cap of the contact if that is larger, as where another tool has raised the
//! surface. The stiffness of the contact faces alone is the upper bound, because a slope that is too large
//! could destabilise the coupling. Against differences of the press itself it is within 28 % in `block`,
//! `block-nodule`, `layered` and `layered-lump` to 10 mm (8 in layers). The half-space of the softest cell
//! was off by a factor of up to 2.7.
//!
//! **Slope against speed.** The force of a Kelvin-Voigt tissue leads its depth by the time `viscosity /
//! modulus`, the least of all cells; it is zero if any cell is elastic. Inertia and mass-proportional damping
//! are not part of the slope: they follow acceleration and the motion of tissue far from the tool. On uniform
//! tissue it is too high: volume, hourglass modes and a stiffening law count as viscous too, 1.6 times at 0.6
//! radii and Poisson's ratio 0.45 (measured). It is fixed at construction and does not follow edits.

use super::grid::Grid;
use super::skin::{ToolContact, ToolRod};
use std::f64::consts::PI;

/// Constant `C` above. With Hertz's `a` it fits errors of 5 to 64 % of the force on cells of 2 to 8.3 mm
/// within a third (block test); with the area found it is up to 2.3 times too high.
const ERROR_CONSTANT: f64 = 0.11;

/// Exponent of Hertz's law, and its decrease per radius of depth (Sneddon's exact sphere: 1.48 at 0.2 radii,
/// 1.39 at 1, 1.28 at 2).
const EXPONENT: (f64, f64) = (1.5, 0.112);
/// Depth over radius up to which the exponent decreases.
const EXPONENT_DEPTH_MAX: f64 = 3.0;

/// Contact at the end of a tick, without units.
pub(super) struct TouchEstimate<'a> {
    /// Magnitude of the mean force over the tick; above 0.
    pub(super) force: f64,
    pub(super) contact: &'a ToolContact,
    pub(super) rod: ToolRod,
    /// Height of the surface at rest.
    pub(super) top: f64,
}

impl TouchEstimate<'_> {
    /// Returns the depths of the lower and the upper end of the tool below the surface at rest.
    fn depths(&self) -> [f64; 2] {
        let low = self.top - f64::from(self.rod.centre[2]) + f64::from(self.rod.radius);
        let other = low - f64::from(self.rod.shaft[2]);
        [low.max(other), low.min(other)]
    }

    /// Returns the horizontal length of a rod with both ends below the surface.
    fn lying_length(&self) -> Option<f64> {
        let [x, y, _] = self.rod.shaft.map(f64::from);
        let length = (x * x + y * y).sqrt();
        (length > 0.0 && self.depths()[1] > 0.0).then_some(length)
    }

    /// Returns the part of the force that is mesh error.
    pub(super) fn error(&self) -> f64 {
        let (area, faces) = (
            f64::from(self.contact.area),
            f64::from(self.contact.rest_area_ratio),
        );
        let disc2 = area / PI;
        let width2 = match self.lying_length() {
            Some(length) => (0.5 * area / length).powi(2).min(disc2),
            None => disc2,
        };
        let ratio = ERROR_CONSTANT * area / (faces * width2);
        // the tool has left, or its contact is too small: the force is unknown
        let share = if ratio.is_finite() {
            ratio / (1.0 + ratio)
        } else {
            1.0
        };
        share * self.force
    }

    /// Returns the derivative of the force by depth.
    pub(super) fn stiffness(&self) -> f64 {
        let bound = f64::from(self.contact.stiffness);
        if self.contact.contacts == 0 || !bound.is_finite() || bound <= 0.0 {
            return 0.0;
        }
        let radius = f64::from(self.rod.radius);
        let depth = self.depths()[0];
        let slope = if self.lying_length().is_some() {
            self.force / depth
        } else {
            // the cap of a sphere with that area, and Hertz's depth of its circle
            let area = f64::from(self.contact.area).min(2.0 * PI * radius * radius);
            let own = (area / PI) * (1.0 - 0.25 * area / (PI * radius * radius)) / radius;
            let depth = depth.max(own);
            let fallen = EXPONENT.1 * (depth / radius).clamp(0.0, EXPONENT_DEPTH_MAX);
            (EXPONENT.0 - fallen) * self.force / depth
        };
        if slope > 0.0 && slope < bound {
            slope
        } else {
            bound
        }
    }
}

/// Returns the time by which a force leads its depth: viscosity over shear modulus, the least of all cells.
pub(super) fn viscous_lag(grids: &[Grid]) -> f64 {
    let of_grid = |grid: &Grid| {
        let Some(viscous) = &grid.viscous else {
            return 0.0;
        };
        let cells = grid.cells.mu.iter().zip(&viscous.shear);
        let lags = cells.filter(|(mu, _)| **mu > 0.0);
        let lags = lags.map(|(&mu, &shear)| 0.5 * f64::from(shear) / f64::from(mu));
        lags.fold(f64::INFINITY, f64::min)
    };
    let least = grids.iter().map(of_grid).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}
