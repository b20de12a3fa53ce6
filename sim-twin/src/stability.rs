//! Stability limits: the largest step at which a lattice gains no energy.
//!
//! Source: seed-004 3.4 and rows S4-14, S4-15 (characteristic polynomials). `assembly` has the lattice as a whole.
//!
//! Symbols: `mu` eigenvalue of the unit lattice, `kappa = k mu T^2 / m`, `beta = b mu T / m`, both
//! without unit.

mod assembly;
#[cfg(test)]
mod tests;

pub use assembly::LinearizedLattice;

use nalgebra::Matrix4;

/// Largest accepted `kappa + 2 beta`: half of the semi-implicit limit of 4.
pub const STABILITY_LIMIT: f64 = 2.0;

/// Spectral radius of one step of a single mode under explicit Euler whose dashpot sees a filtered backward difference
/// (seed-004 3.4), with weight `lambda` of the newest difference, in (0, 1]. The step is stable below 1.
///
/// Not finite arguments give infinity.
#[must_use]
pub fn spectral_radius(kappa: f64, beta: f64, lambda: f64) -> f64 {
    if !(kappa.is_finite() && beta.is_finite()) {
        return f64::INFINITY;
    }
    let keep = 1.0 - lambda;
    // state: x, T v, last x, T l_dot
    #[rustfmt::skip]
    let step = Matrix4::new(
        1.0, 1.0, 0.0, 0.0,
        -kappa - beta * lambda, 1.0, beta * lambda, -beta * keep,
        1.0, 0.0, 0.0, 0.0,
        lambda, 0.0, -lambda, keep,
    );
    let poles = step.complex_eigenvalues();
    poles.iter().map(|pole| pole.norm()).fold(0.0, f64::max)
}
