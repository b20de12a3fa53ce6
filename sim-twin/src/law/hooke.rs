//! Hooke's law, in small strains and in the Green strain.
//!
//! Source: `W = mu e : e + lambda/2 (tr e)^2` with `e = sym F - I`, the limit of every other family at rest
//! and the law of the condensed predictor. It responds to rotation as to strain. St Venant-Kirchhoff, Bonet and Wood
//! 2008, eq. 6.28, has the same form in `E = (C - I) / 2`: exact under rotation. Beyond about 40 % compression its
//! stiffness is negative, so it suits large rotations with small strains.

use super::ElasticLaw;
use nalgebra::Matrix3;

/// Hooke's law with Lame constants \[Pa\], or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hooke {
    pub(super) mu: f64,
    pub(super) lambda: f64,
}

impl Hooke {
    fn energy(&self, strain: &Matrix3<f64>) -> f64 {
        let trace = strain.trace();
        self.mu * strain.norm_squared() + self.lambda * trace * trace * 0.5
    }

    fn stress(&self, strain: &Matrix3<f64>) -> Matrix3<f64> {
        strain * (2.0 * self.mu) + Matrix3::identity() * (self.lambda * strain.trace())
    }
}

/// Linear law: small strains and small rotations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearElastic(pub(super) Hooke);

/// St Venant-Kirchhoff law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StVenantKirchhoff(pub(super) Hooke);

fn symmetric(m: &Matrix3<f64>) -> Matrix3<f64> {
    (m + m.transpose()) * 0.5
}

fn green(f: &Matrix3<f64>) -> Matrix3<f64> {
    (f.transpose() * f - Matrix3::identity()) * 0.5
}

impl ElasticLaw for LinearElastic {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        self.0.energy(&(symmetric(f) - Matrix3::identity()))
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        self.tangent(f, &(f - Matrix3::identity()))
    }

    fn tangent(&self, _f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        self.0.stress(&symmetric(df))
    }
}

impl ElasticLaw for StVenantKirchhoff {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        self.0.energy(&green(f))
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        f * self.0.stress(&green(f))
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let change = symmetric(&(f.transpose() * df));
        df * self.0.stress(&green(f)) + f * self.0.stress(&change)
    }
}
