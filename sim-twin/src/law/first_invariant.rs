//! Laws of the first invariant: tissue that stiffens as it is stretched.
//!
//! Source: `W = mu/2 g(i1 - 3) + kappa/4 (J^2 - 1 - 2 ln J)`, with `g` of [`Stiffening`]. Beyond a limit `g`
//! continues linearly, so that an extreme gradient yields a finite stress in single precision; energy and stress stay
//! continuous there (ours).

use super::ElasticLaw;
use super::invariant::Isochoric;
use nalgebra::Matrix3;

/// Exponent above which the exponential is linear: 150 times the stiffness at rest.
pub const EXPONENT_MAX: f64 = 5.0;

/// `i1 - 3` above which the polynomial is linear: a stretch of 3.5.
pub const INVARIANT_MAX: f64 = 10.0;

/// Function `g` of a law of the first invariant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stiffening {
    /// `g = (exp(b x) - 1) / b` (Fung 1967; Demiray 1972 for the isotropic form), linear beyond `b x` of
    /// [`EXPONENT_MAX`].
    Exponential {
        /// Growth `b`, greater than zero.
        growth: f64,
    },
    /// `g = x + c2 x^2 + c3 x^3` (Yeoh 1993), linear beyond an `x` of [`INVARIANT_MAX`].
    Polynomial {
        /// `c2`, the second coefficient of Yeoh over the first; 0 or more.
        second: f64,
        /// `c3`, the third over the first; 0 or more.
        third: f64,
    },
}

impl Stiffening {
    /// `g`, its slope and its curvature at `x = i1 - 3`.
    fn at(self, x: f64) -> [f64; 3] {
        match self {
            Self::Exponential { growth } => {
                let most = EXPONENT_MAX / growth;
                let grown = libm::exp(growth * x.min(most));
                let bend = if x > most { 0.0 } else { growth * grown };
                [
                    (grown - 1.0) / growth + grown * (x - most).max(0.0),
                    grown,
                    bend,
                ]
            }
            Self::Polynomial { second, third } => {
                let near = x.min(INVARIANT_MAX);
                let slope = 1.0 + near * (2.0 * second + 3.0 * third * near);
                let value = near * (1.0 + near * (second + third * near));
                let bend = if x > INVARIANT_MAX {
                    0.0
                } else {
                    2.0 * second + 6.0 * third * near
                };
                [value + slope * (x - near), slope, bend]
            }
        }
    }
}

/// Law of the first invariant, moduli in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstInvariantLaw {
    /// Shear modulus at rest.
    pub mu: f64,
    /// Bulk modulus.
    pub kappa: f64,
    /// Its function `g`.
    pub stiffening: Stiffening,
}

impl ElasticLaw for FirstInvariantLaw {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        let at = Isochoric::new(f);
        let [value, _, _] = self.stiffening.at(at.i1 - 3.0);
        self.mu * 0.5 * value + self.kappa * at.volume_energy()
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        let [_, slope, _] = self.stiffening.at(at.i1 - 3.0);
        at.first() * (self.mu * 0.5 * slope) + at.volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let at = Isochoric::new(f);
        let [_, slope, bend] = self.stiffening.at(at.i1 - 3.0);
        let first = at.first();
        let isochoric = at.first_change(df) * slope + first * (bend * first.dot(df));
        isochoric * (self.mu * 0.5) + at.volume_change(df) * self.kappa
    }
}
