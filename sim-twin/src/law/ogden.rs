//! Ogden's law: a function of the principal stretches.
//!
//! Source: Ogden 1972, in the decoupled form of Bonet and Wood 2008, section 6.6:
//! `W = sum_i 2 mu s_i / a_i^2 (b1^a_i + b2^a_i + b3^a_i - 3) + kappa/4 (J^2 - 1 - 2 ln J)`, with isochoric stretches
//! `b_k = l_k / (l1 l2 l3)^(1/3)`. Ogden's `mu_i` is `2 mu s_i / a_i`; the shares `s_i` sum to 1, so `mu` is the shear modulus
//! at rest. Exponents 2 and -2 are Mooney and Rivlin's law. Beyond an exponent `a ln b` of [`EXPONENT_MAX`] a term continues
//! linearly, as that of [`super::FirstInvariantLaw`]; below a stretch of [`STRETCH_MIN`] the logarithm continues as its
//! tangent by the square of the stretch (ours).
//!
//! Symbols: `c_k = l_k^2` eigenvalue of `C`, `e_k = ln l_k`, `t_k = dW/d(ln b_k)`, `u_k` its slope, `S_k` principal second
//! Piola stress. The spectral tangent is that of Bonet and Wood 2008, section 6.6.2.

use super::first_invariant::EXPONENT_MAX;
use super::invariant::Isochoric;
use super::spectral::{SWEEPS_DOUBLE, Spectral};
use super::{ElasticLaw, LawFamilyError};
use nalgebra::{Matrix3, Vector3};

/// Largest number of terms.
pub const OGDEN_TERMS_MAX: usize = 3;
/// Stretch below which its logarithm is continued.
pub const STRETCH_MIN: f64 = 0.1;
/// Least and greatest size of an exponent.
const EXPONENTS: std::ops::RangeInclusive<f64> = 0.5..=30.0;
/// Error of the sum of shares that is rounding.
const SUM_TOLERANCE: f64 = 1e-6;
/// Relative difference of two eigenvalues below which their quotient of differences is the mean slope: its error
/// grows with the square of the difference, that of the quotient with its inverse.
const EQUAL: f64 = 1e-5;

/// Term of Ogden's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OgdenTerm {
    /// Share `s` of the shear modulus at rest, above 0; 0 for no term.
    pub share: f64,
    /// Exponent `a`, from 0.5 to 30 or negative.
    pub exponent: f64,
}

impl OgdenTerm {
    /// No term.
    pub const NONE: Self = Self {
        share: 0.0,
        exponent: 1.0,
    };
}

/// Checks the terms of a law.
pub(super) fn check(terms: &[OgdenTerm]) -> Result<(), LawFamilyError> {
    let wrong = |field, value, expected| {
        Err(LawFamilyError {
            field,
            value,
            expected,
        })
    };
    for term in terms {
        if !EXPONENTS.contains(&term.exponent.abs()) {
            let expected = "an exponent from 0.5 to 30, or from -30 to -0.5";
            return wrong("exponent", term.exponent, expected);
        }
        if !(0.0..=1.0).contains(&term.share) {
            return wrong(
                "share",
                term.share,
                "a share from 0 to 1 of the shear modulus",
            );
        }
    }
    // the terms in use come first
    let mut unused = terms.iter().skip_while(|term| term.share > 0.0);
    if unused.any(|term| term.share > 0.0) {
        return wrong("share", 0.0, "a share above 0 for each term");
    }
    let sum: f64 = terms.iter().map(|term| term.share).sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return wrong("share", sum, "shares that sum to 1");
    }
    Ok(())
}

/// Ogden's law, moduli in \[Pa\] or without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OgdenLaw {
    /// Shear modulus at rest.
    pub mu: f64,
    /// Bulk modulus.
    pub kappa: f64,
    /// Its terms.
    pub terms: [OgdenTerm; OGDEN_TERMS_MAX],
}

/// Isochoric part of the law in principal axes.
struct Principal {
    /// Principal directions, and eigenvalues of `C`, continued.
    vectors: [Vector3<f64>; 3],
    c: [f64; 3],
    /// True where the logarithm is continued.
    thin: [bool; 3],
    energy: f64,
    /// `t_k` less their mean, and `u_k`.
    t: [f64; 3],
    u: [f64; 3],
}

impl OgdenLaw {
    fn principal(&self, f: &Matrix3<f64>) -> Principal {
        // of the Green strain, so that small strains keep their digits
        let h = f - Matrix3::identity();
        let strain = (h + h.transpose() + h.transpose() * h) * 0.5;
        let diagonal = [strain[(0, 0)], strain[(1, 1)], strain[(2, 2)]];
        let off = [strain[(1, 2)], strain[(0, 2)], strain[(0, 1)]];
        let axes = Spectral::new::<SWEEPS_DOUBLE>(diagonal, off);
        let least = STRETCH_MIN * STRETCH_MIN;
        let whole = axes.values.map(|strain| 1.0 + 2.0 * strain);
        let c = whole.map(|c| c.max(least));
        let thin = whole.map(|c| c < least);
        let log = [0, 1, 2].map(|k| {
            let grown = if thin[k] {
                libm::log(least)
            } else {
                libm::log1p(2.0 * axes.values[k])
            };
            0.5 * (grown + (whole[k] - c[k]) / c[k])
        });
        let mean = (log[0] + log[1] + log[2]) / 3.0;
        let mut own = Principal {
            vectors: axes.vectors.map(Vector3::from),
            c,
            thin,
            energy: 0.0,
            t: [0.0; 3],
            u: [0.0; 3],
        };
        for term in self.terms.iter().filter(|term| term.share > 0.0) {
            let (a, weight) = (term.exponent, 2.0 * self.mu * term.share);
            for (k, log) in log.iter().enumerate() {
                let x = a * (log - mean);
                let beyond = (x - EXPONENT_MAX).max(0.0);
                let grown = libm::expm1(x - beyond);
                own.energy += weight / (a * a) * (grown + (grown + 1.0) * beyond);
                own.t[k] += weight / a * grown;
                own.u[k] += if beyond > 0.0 {
                    0.0
                } else {
                    weight * (grown + 1.0)
                };
            }
        }
        let mean = own.t.iter().sum::<f64>() / 3.0;
        own.t.iter_mut().for_each(|t| *t -= mean);
        own
    }
}

impl Principal {
    /// Returns `S_k`.
    fn stress(&self) -> [f64; 3] {
        [0, 1, 2].map(|k| self.t[k] / self.c[k])
    }

    /// Returns the symmetric tensor with these principal values.
    fn tensor(&self, values: [f64; 3]) -> Matrix3<f64> {
        let parts = self.vectors.iter().zip(values);
        parts.map(|(n, value)| n * n.transpose() * value).sum()
    }

    /// Returns `dS_k / dc_l`.
    fn slope(&self, k: usize, l: usize) -> f64 {
        let mean = self.u.iter().sum::<f64>() / 9.0;
        let own = if k == l { self.u[k] } else { 0.0 };
        let turned = own - (self.u[k] + self.u[l]) / 3.0 + mean;
        let rate = 0.5 / (self.c[k] * self.c[l]) * turned;
        // a continued eigenvalue is a constant divisor
        let shrunk = if k == l && !self.thin[k] {
            self.t[k] / (self.c[k] * self.c[k])
        } else {
            0.0
        };
        rate - shrunk
    }

    /// Returns the change of the second Piola stress for a change of `C`.
    fn change(&self, dc: &Matrix3<f64>) -> Matrix3<f64> {
        let axes = Matrix3::from_columns(&self.vectors);
        let (dc, s) = (axes.transpose() * dc * axes, self.stress());
        let mut ds = Matrix3::zeros();
        for k in 0..3 {
            ds[(k, k)] = (0..3).map(|l| self.slope(k, l) * dc[(l, l)]).sum();
            for l in 0..k {
                let apart = self.c[k] - self.c[l];
                let ratio = if apart.abs() > EQUAL * (self.c[k] + self.c[l]) {
                    (s[k] - s[l]) / apart
                } else {
                    let own = self.slope(k, k) + self.slope(l, l);
                    0.5 * (own - self.slope(k, l) - self.slope(l, k))
                };
                ds[(k, l)] = ratio * dc[(k, l)];
                ds[(l, k)] = ds[(k, l)];
            }
        }
        axes * ds * axes.transpose()
    }
}

impl ElasticLaw for OgdenLaw {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        self.principal(f).energy + self.kappa * Isochoric::new(f).volume_energy()
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        let own = self.principal(f);
        f * own.tensor(own.stress()) + Isochoric::new(f).volume_stress() * self.kappa
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        let own = self.principal(f);
        let half = f.transpose() * df;
        let change = own.change(&(half + half.transpose()));
        let volume = Isochoric::new(f).volume_change(df);
        df * own.tensor(own.stress()) + f * change + volume * self.kappa
    }
}
