//! Linear elasticity: small strains and small rotations.
//!
//! Source: Hooke's law, `W = mu e : e + lambda/2 (tr e)^2` with `e = sym F - I`. It is the limit of
//! every other family at rest and the law of the condensed predictor; a rotation strains it.

use super::{Elastic, Real};
use nalgebra::Matrix3;

/// Linear law with Lame constants \[Pa\], or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear<T> {
    /// Shear modulus.
    pub mu: T,
    /// First Lame constant.
    pub lambda: T,
}

fn symmetric<T: Real>(m: &Matrix3<T>) -> Matrix3<T> {
    (m + m.transpose()) * T::of(0.5)
}

impl<T: Real> Elastic<T> for Linear<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let strain = symmetric(f) - Matrix3::identity();
        let trace = strain.trace();
        self.mu * strain.norm_squared() + self.lambda * trace * trace * T::of(0.5)
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        self.tangent(f, &(f - Matrix3::identity()))
    }

    fn tangent(&self, _f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let strain = symmetric(df);
        strain * (T::of(2.0) * self.mu) + Matrix3::identity() * (self.lambda * strain.trace())
    }
}
