//! Exponential law of Fung type: tissue that stiffens as it is stretched.
//!
//! Source: Fung 1967 for the exponential, Demiray 1972 for the isotropic form
//! `W = mu/(2 b) (exp(b (i1 - 3)) - 1) + kappa/4 (J^2 - 1 - 2 ln J)`.
//! Beyond an exponent of [`EXPONENT_MAX`] the exponential continues linearly, so that an extreme gradient
//! yields a finite stress in single precision; energy and stress stay continuous there (ours).

use super::ElasticLaw;
use super::invariant::Isochoric;
use nalgebra::Matrix3;

/// Exponent above which the law is linear: 150 times the stiffness at rest.
pub const EXPONENT_MAX: f64 = 5.0;

/// Fung-Demiray law, moduli in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fung {
    /// Shear modulus at rest.
    pub mu: f64,
    /// Growth of the exponential, greater than zero.
    pub growth: f64,
    /// Bulk modulus.
    pub kappa: f64,
}

impl Fung {
    /// `exp x - 1`, its slope and its curvature at `x = b (i1 - 3)`, linear beyond the limit.
    fn exponential(&self, i1: f64) -> (f64, f64, f64) {
        let x = self.growth * (i1 - 3.0);
        let limit = EXPONENT_MAX;
        if x > limit {
            let steep = libm::exp(limit);
            return (steep * (1.0 + x - limit) - 1.0, steep, 0.0);
        }
        let grown = libm::exp(x);
        (grown - 1.0, grown, grown)
    }
}

impl ElasticLaw for Fung {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        let at = Isochoric::new(f);
        let (value, _, _) = self.exponential(at.i1);
        self.mu * 0.5 * value / self.growth + self.kappa * at.volume_energy()
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        let (_, slope, _) = self.exponential(at.i1);
        at.first() * (self.mu * 0.5 * slope) + at.volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        let (_, slope, bend) = self.exponential(at.i1);
        let first = at.first();
        let isochoric = at.first_change(df) * slope + first * (bend * self.growth * first.dot(df));
        isochoric * (self.mu * 0.5) + at.volume_change(df) * self.kappa
    }
}
