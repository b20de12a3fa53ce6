//! Neo-Hookean solids: the law of the block test, and the one that survives inversion.
//!
//! Source: compressible form, Bonet and Wood 2008, eq. 6.27:
//! `W = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2`. This form yields the forces of the
//! block test. Stable form, Smith, de Goes and Kim 2018, eq. 14, with their section 3.4 for moduli:
//! `W = m/2 (I1 - 3) + l/2 (J - a)^2 - m/2 ln(I1 + 1)`, `m = 4/3 mu`, `l = lambda + 5/6 mu`,
//! `a = 1 + 3/4 m/l`; here less its value at rest.

use super::ElasticLaw;
use super::invariant::{cofactor, cofactor_change, inverse_change, volume};
use nalgebra::Matrix3;

/// Compressible neo-Hookean law with Lame constants \[Pa\], or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeoHookean {
    /// Shear modulus.
    pub mu: f64,
    /// First Lame constant.
    pub lambda: f64,
}

impl ElasticLaw for NeoHookean {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        let j = volume(f, &cofactor(f));
        if j <= 0.0 {
            return f64::INFINITY;
        }
        let log = libm::log(j);
        let shear = 0.5 * (f.norm_squared() - 3.0) - log;
        self.mu * shear + self.lambda * 0.5 * log * log
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        f * self.mu + cofactor * ((self.lambda * libm::log(j) - self.mu) / j)
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let cofactor = cofactor(f);
        let j = volume(f, &cofactor);
        let g = cofactor / j;
        df * self.mu
            + g * (self.lambda * g.dot(df))
            + inverse_change(&g, df) * (self.lambda * libm::log(j) - self.mu)
    }
}

/// Stable neo-Hookean law: finite for every gradient, inverted ones included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StableNeoHookean {
    shear: f64,
    volume: f64,
    rest: f64,
}

impl StableNeoHookean {
    /// The law whose small-strain Lame constants are `mu` and `lambda`; `lambda > -5/6 mu`.
    #[must_use]
    pub fn new(mu: f64, lambda: f64) -> Self {
        let shear = 4.0 / 3.0 * mu;
        let volume = lambda + 5.0 / 6.0 * mu;
        let rest = 1.0 + 0.75 * shear / volume;
        Self {
            shear,
            volume,
            rest,
        }
    }
}

impl ElasticLaw for StableNeoHookean {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        let i1 = f.norm_squared();
        let j = volume(f, &cofactor(f));
        // less the value at rest, which Smith's energy keeps
        let (over, rest) = (j - self.rest, 1.0 - self.rest);
        let shear = (i1 - 3.0) - libm::log((i1 + 1.0) / 4.0);
        0.5 * (self.shear * shear + self.volume * (over * over - rest * rest))
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let i1 = f.norm_squared();
        let cofactor = cofactor(f);
        let over = volume(f, &cofactor) - self.rest;
        f * (self.shear * (1.0 - 1.0 / (i1 + 1.0))) + cofactor * (self.volume * over)
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let fade = 1.0 / (f.norm_squared() + 1.0);
        let cofactor = cofactor(f);
        let over = volume(f, &cofactor) - self.rest;
        df * (self.shear * (1.0 - fade))
            + f * (self.shear * 2.0 * fade * fade * f.dot(df))
            + cofactor * (self.volume * cofactor.dot(df))
            + cofactor_change(f, df) * (self.volume * over)
    }
}
