//! Mooney-Rivlin: two isochoric invariants, and volume apart.
//!
//! Source: Mooney 1940, Rivlin 1948, in the decoupled form of Bonet and Wood 2008, section 6.5:
//! `W = c1 (i1 - 3) + c2 (i2 - 3) + kappa/4 (J^2 - 1 - 2 ln J)`, `mu = 2 (c1 + c2)`.

use super::ElasticLaw;
use super::invariant::Isochoric;
use nalgebra::Matrix3;

/// Mooney-Rivlin law, constants in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MooneyRivlin {
    /// Weight of the first invariant.
    pub c1: f64,
    /// Weight of the second invariant.
    pub c2: f64,
    /// Bulk modulus.
    pub kappa: f64,
}

impl MooneyRivlin {
    /// The law with shear modulus `mu`, of which the second invariant carries the share `second`.
    #[must_use]
    pub fn new(mu: f64, second: f64, kappa: f64) -> Self {
        let half = mu * 0.5;
        Self {
            c1: half * (1.0 - second),
            c2: half * second,
            kappa,
        }
    }
}

impl ElasticLaw for MooneyRivlin {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        let at = Isochoric::new(f);
        self.c1 * (at.i1 - 3.0) + self.c2 * (at.i2() - 3.0) + self.kappa * at.volume_energy()
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        at.first() * self.c1 + at.second() * self.c2 + at.volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        at.first_change(df) * self.c1
            + at.second_change(df) * self.c2
            + at.volume_change(df) * self.kappa
    }
}
