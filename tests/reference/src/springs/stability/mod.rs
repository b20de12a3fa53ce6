//! Stability analysis: spectral radius of one step under every scheme, by characteristic polynomials.
//!
//! Source: seed-004 3.4 and rows S4-14, S4-15. [`three_mass_chain`] is the model from which the polynomials are
//! derived.
//!
//! Symbols: `mu` eigenvalue of the unit lattice, `kappa = k mu T^2 / m`, `beta = b mu T / m`, both without unit;
//! `rho` spectral radius of one step, stable below 1.

#[cfg(test)]
mod tests;
pub mod three_mass_chain;

use palpate_twin::stability::spectral_radius;

/// Integration scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StabilityScheme {
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

/// Returns the spectral radius of one step of a single mode (seed-004 3.4, table of polynomials).
#[must_use]
pub fn mode_radius(stepper: StabilityScheme, kappa: f64, beta: f64) -> f64 {
    match stepper {
        StabilityScheme::Explicit => quadratic_radius(2.0 - beta, 1.0 - beta + kappa),
        StabilityScheme::SemiImplicit => quadratic_radius(2.0 - kappa - beta, 1.0 - beta),
        StabilityScheme::Printed { lambda } => spectral_radius(kappa, beta, lambda),
    }
}

/// Returns the spectral radius of `z^2 - sum z + product`.
fn quadratic_radius(sum: f64, product: f64) -> f64 {
    let discriminant = 0.25 * sum * sum - product;
    if discriminant < 0.0 {
        product.sqrt()
    } else {
        0.5 * sum.abs() + discriminant.sqrt()
    }
}
