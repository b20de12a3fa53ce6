//! The stability advisor: how large a step may be before a lattice gains energy by itself.
//!
//! Source: seed-004 3.4 and rows S4-14, S4-15 (characteristic polynomials; the three-mass window
//! model that they come from stands in the tests). `assembly` has the lattice as a whole.
//!
//! Symbols: `mu` eigenvalue of the unit lattice, `kappa = k mu T^2 / m`, `beta = b mu T / m`, both
//! without unit; `rho` spectral radius of one step, stable below 1.

mod assembly;
#[cfg(test)]
mod tests;

pub use assembly::Assembly;

use nalgebra::Matrix4;

/// How forces turn into motion, as the analyser sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stepper {
    /// Explicit Euler with the exact velocity in the dashpot: `A_z = I + A T`.
    Explicit,
    /// Explicit Euler with the filtered backward difference in the dashpot.
    Printed {
        /// Weight of the newest difference, in (0, 1].
        lambda: f64,
    },
    /// Velocity first, then position with the new velocity.
    SemiImplicit,
}

/// Largest `kappa + 2 beta` that the advisor accepts: half of the semi-implicit limit of 4.
pub const GATE: f64 = 2.0;

/// Spectral radius of one step of a single mode (seed-004 3.4, table of polynomials).
///
/// Not finite arguments give infinity.
#[must_use]
pub fn mode_radius(stepper: Stepper, kappa: f64, beta: f64) -> f64 {
    if !(kappa.is_finite() && beta.is_finite()) {
        return f64::INFINITY;
    }
    match stepper {
        Stepper::Explicit => quadratic_radius(2.0 - beta, 1.0 - beta + kappa),
        Stepper::SemiImplicit => quadratic_radius(2.0 - kappa - beta, 1.0 - beta),
        Stepper::Printed { lambda } => delayed_radius(kappa, beta, lambda),
    }
}

/// Radius of `z^2 - sum z + product`.
fn quadratic_radius(sum: f64, product: f64) -> f64 {
    let discriminant = 0.25 * sum * sum - product;
    if discriminant < 0.0 {
        product.sqrt()
    } else {
        0.5 * sum.abs() + discriminant.sqrt()
    }
}

/// Radius of the step whose dashpot sees a filtered difference; state x, T v, last x, T l_dot.
fn delayed_radius(kappa: f64, beta: f64, lambda: f64) -> f64 {
    let keep = 1.0 - lambda;
    #[rustfmt::skip]
    let step = Matrix4::new(
        1.0, 1.0, 0.0, 0.0,
        -kappa - beta * lambda, 1.0, beta * lambda, -beta * keep,
        1.0, 0.0, 0.0, 0.0,
        lambda, 0.0, -lambda, keep,
    );
    radius(&step.complex_eigenvalues())
}

fn radius<const N: usize>(poles: &nalgebra::SVector<nalgebra::Complex<f64>, N>) -> f64 {
    poles.iter().map(|pole| pole.norm()).fold(0.0, f64::max)
}
