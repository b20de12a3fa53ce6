//! Exponential law of Fung type: tissue that stiffens as it is stretched.
//!
//! Source: Fung 1967 for the exponential, Demiray 1972 for the isotropic form
//! `W = mu/(2 b) (exp(b (i1 - 3)) - 1) + kappa/4 (J^2 - 1 - 2 ln J)`.
//! Beyond an exponent of [`EXPONENT_MAX`] the exponential goes on straight, so that a wild gradient
//! gives a finite stress in single precision; energy and stress stay continuous there (ours).

use super::invariant::Isochoric;
use super::{Elastic, Real};
use nalgebra::Matrix3;

/// Exponent at which the law goes on straight: 150 times the stiffness at rest.
pub const EXPONENT_MAX: f64 = 5.0;

/// Fung-Demiray law, moduli in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fung<T> {
    /// Shear modulus at rest.
    pub mu: T,
    /// Growth of the exponential, greater than zero.
    pub growth: T,
    /// Bulk modulus.
    pub kappa: T,
}

impl<T: Real> Fung<T> {
    /// The law with shear modulus `mu` at rest, growth `b` and bulk modulus `kappa`.
    #[must_use]
    pub fn new(mu: T, growth: T, kappa: T) -> Self {
        Self { mu, growth, kappa }
    }

    /// `exp x - 1`, its slope and its curvature at `x = b (i1 - 3)`, straight beyond the limit.
    fn exponential(&self, i1: T) -> (T, T, T) {
        let x = self.growth * (i1 - T::of(3.0));
        let limit = T::of(EXPONENT_MAX);
        if x > limit {
            let steep = limit.exponential();
            return (steep * (T::one() + x - limit) - T::one(), steep, T::zero());
        }
        let grown = x.exponential();
        (grown - T::one(), grown, grown)
    }
}

impl<T: Real> Elastic<T> for Fung<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let at = Isochoric::new(f);
        let (value, _, _) = self.exponential(at.i1);
        self.mu * T::of(0.5) * value / self.growth + self.kappa * at.volume_energy()
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        let at = Isochoric::new(f);
        let (_, slope, _) = self.exponential(at.i1);
        at.first() * (self.mu * T::of(0.5) * slope) + at.volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let at = Isochoric::new(f);
        let (_, slope, bend) = self.exponential(at.i1);
        let first = at.first();
        let isochoric = at.first_change(df) * slope + first * (bend * self.growth * first.dot(df));
        isochoric * (self.mu * T::of(0.5)) + at.volume_change(df) * self.kappa
    }
}
