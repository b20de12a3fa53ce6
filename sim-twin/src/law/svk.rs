//! St Venant-Kirchhoff: Hooke's law in the Green strain.
//!
//! Source: Bonet and Wood 2008, eq. 6.28. `W = mu E : E + lambda/2 (tr E)^2`, `E = (C - I) / 2`.
//! Exact under rotation; beyond about 40 % compression its stiffness turns negative, so it is for
//! large rotations with small strains.

use super::{Elastic, Real};
use nalgebra::Matrix3;

/// St Venant-Kirchhoff law with Lame constants \[Pa\], or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StVenantKirchhoff<T> {
    /// Shear modulus.
    pub mu: T,
    /// First Lame constant.
    pub lambda: T,
}

impl<T: Real> StVenantKirchhoff<T> {
    fn second_piola(&self, strain: &Matrix3<T>) -> Matrix3<T> {
        strain * (T::of(2.0) * self.mu) + Matrix3::identity() * (self.lambda * strain.trace())
    }
}

fn green<T: Real>(f: &Matrix3<T>) -> Matrix3<T> {
    (f.transpose() * f - Matrix3::identity()) * T::of(0.5)
}

impl<T: Real> Elastic<T> for StVenantKirchhoff<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let strain = green(f);
        let trace = strain.trace();
        self.mu * strain.norm_squared() + self.lambda * trace * trace * T::of(0.5)
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        f * self.second_piola(&green(f))
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let half = f.transpose() * df;
        let change = (half + half.transpose()) * T::of(0.5);
        df * self.second_piola(&green(f)) + f * self.second_piola(&change)
    }
}
