//! Mooney-Rivlin: two isochoric invariants, and volume apart.
//!
//! Source: Mooney 1940, Rivlin 1948, in the decoupled form of Bonet and Wood 2008, section 6.5:
//! `W = c1 (i1 - 3) + c2 (i2 - 3) + kappa/4 (J^2 - 1 - 2 ln J)`, `mu = 2 (c1 + c2)`.

use super::invariant::Isochoric;
use super::{Elastic, Real};
use nalgebra::Matrix3;

/// Mooney-Rivlin law, constants in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MooneyRivlin<T> {
    /// Weight of the first invariant.
    pub c1: T,
    /// Weight of the second invariant.
    pub c2: T,
    /// Bulk modulus.
    pub kappa: T,
}

impl<T: Real> MooneyRivlin<T> {
    /// The law with shear modulus `mu`, of which the second invariant carries the share `second`.
    #[must_use]
    pub fn new(mu: T, second: T, kappa: T) -> Self {
        let half = mu * T::of(0.5);
        Self {
            c1: half * (T::one() - second),
            c2: half * second,
            kappa,
        }
    }
}

impl<T: Real> Elastic<T> for MooneyRivlin<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let (at, three) = (Isochoric::new(f), T::of(3.0));
        self.c1 * (at.i1 - three) + self.c2 * (at.i2() - three) + self.kappa * at.volume_energy()
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        let at = Isochoric::new(f);
        at.first() * self.c1 + at.second() * self.c2 + at.volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let at = Isochoric::new(f);
        at.first_change(df) * self.c1
            + at.second_change(df) * self.c2
            + at.volume_change(df) * self.kappa
    }
}
