//! Neo-Hookean solids: the law of the block test, and the one that survives inversion.
//!
//! Source: compressible form, Bonet and Wood 2008, eq. 6.27:
//! `W = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2`. This is the form that gives the forces of the
//! block test. Stable form, Smith, de Goes and Kim 2018, eq. 14, with their section 3.4 for moduli:
//! `W = m/2 (I1 - 3) + l/2 (J - a)^2 - m/2 ln(I1 + 1)`, `m = 4/3 mu`, `l = lambda + 5/6 mu`,
//! `a = 1 + 3/4 m/l`; here less its value at rest.

use super::invariant::{cofactor, cofactor_change, inverse_change, volume};
use super::{Elastic, Real, Tangent};
use nalgebra::Matrix3;

/// Compressible neo-Hookean law with Lame constants \[Pa\], or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeoHookean<T> {
    /// Shear modulus.
    pub mu: T,
    /// First Lame constant.
    pub lambda: T,
}

impl<T: Real> Elastic<T> for NeoHookean<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let j = volume(f, &cofactor(f));
        if j <= T::zero() {
            return T::of(f64::INFINITY);
        }
        let (log, half) = (j.logarithm(), T::of(0.5));
        let shear = half * (f.norm_squared() - T::of(3.0)) - log;
        self.mu * shear + self.lambda * half * log * log
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        f * self.mu + cofactor * ((self.lambda * j.logarithm() - self.mu) / j)
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        let g = cofactor / j;
        df * self.mu
            + g * (self.lambda * g.dot(df))
            + inverse_change(&g, df) * (self.lambda * j.logarithm() - self.mu)
    }

    // one logarithm for all nine columns: the truth spends its time here
    fn tangent_matrix(&self, f: &Matrix3<T>) -> Tangent<T> {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        let g = cofactor / j;
        let twist = self.mu - self.lambda * j.logarithm();
        Tangent::from_fn(|row, column| {
            let (i, a, k, b) = (row % 3, row / 3, column % 3, column / 3);
            let stretch = if row == column { self.mu } else { T::zero() };
            stretch + self.lambda * g[(i, a)] * g[(k, b)] + twist * g[(i, b)] * g[(k, a)]
        })
    }
}

/// Stable neo-Hookean law: finite for every gradient, inverted ones included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StableNeoHookean<T> {
    shear: T,
    volume: T,
    rest: T,
}

impl<T: Real> StableNeoHookean<T> {
    /// The law whose small-strain Lame constants are `mu` and `lambda`; `lambda > -5/6 mu`.
    #[must_use]
    pub fn new(mu: T, lambda: T) -> Self {
        let shear = T::of(4.0 / 3.0) * mu;
        let volume = lambda + T::of(5.0 / 6.0) * mu;
        let rest = T::one() + T::of(0.75) * shear / volume;
        Self {
            shear,
            volume,
            rest,
        }
    }
}

impl<T: Real> Elastic<T> for StableNeoHookean<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        let (half, four) = (T::of(0.5), T::of(4.0));
        let i1 = f.norm_squared();
        let j = volume(f, &cofactor(f));
        // less the value at rest, which Smith's energy keeps
        let (over, rest) = (j - self.rest, T::one() - self.rest);
        let shear = (i1 - T::of(3.0)) - ((i1 + T::one()) / four).logarithm();
        half * (self.shear * shear + self.volume * (over * over - rest * rest))
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        let i1 = f.norm_squared();
        let cofactor = cofactor(f);
        let over = volume(f, &cofactor) - self.rest;
        f * (self.shear * (T::one() - T::one() / (i1 + T::one()))) + cofactor * (self.volume * over)
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        let fade = T::one() / (f.norm_squared() + T::one());
        let cofactor = cofactor(f);
        let over = volume(f, &cofactor) - self.rest;
        df * (self.shear * (T::one() - fade))
            + f * (self.shear * T::of(2.0) * fade * fade * f.dot(df))
            + cofactor * (self.volume * cofactor.dot(df))
            + cofactor_change(f, df) * (self.volume * over)
    }
}
