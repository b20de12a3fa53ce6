//! Viscoelastic additions to an elastic law for the implicit solver: a Kelvin-Voigt dashpot and one branch of a Prony
//! series. The explicit solver has the same additions with a cheaper integration rule.
//!
//! Source: Kelvin-Voigt in material form, Simo and Hughes 1998, section 10.1; quasi-linear
//! viscoelasticity, Fung 1972, with the exact recursion for stress that is linear within a step
//! (Taylor, Pister and Goudreau 1970; Simo and Hughes 1998, eq. 10.3.11). Both act on the second
//! Piola stress `S = F^-1 P`, so rotations cost nothing.
//!
//! Symbols: `E` Green strain, `eta` viscosities \[Pa s\], `g` share and `tau` time \[s\] of the
//! branch, `S0` the stress of the elastic law, which is the instantaneous one.

use nalgebra::Matrix3;

/// Error of a viscosity's parameters.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ViscousError {
    /// A viscosity is out of range.
    #[error("viscosity is {0} Pa s; expected a finite number of at least 0")]
    Viscosity(f64),
    /// A branch has no share or no time.
    #[error(
        "the viscous branch: share {share} and time {time_s} s; expected both finite and above 0"
    )]
    Branch {
        /// Its share.
        share: f64,
        /// Its time \[s\].
        time_s: f64,
    },
    /// No elastic stress remains in the long run.
    #[error("shares of the branches sum to {0}; expected less than 1")]
    Shares(f64),
}

/// Viscosity of a material: a dashpot beside its law, and one relaxing branch for change of shape
/// alone; moduli are then those for a sudden strain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viscosity {
    /// Viscosity for change of shape \[Pa s\], at least 0.
    pub shear_pas: f64,
    /// Viscosity for change of volume \[Pa s\], at least 0.
    pub bulk_pas: f64,
    /// Share of the shear modulus that relaxes, at least 0 and below 1.
    pub share: f64,
    /// Relaxation time \[s\], above 0.
    pub time_s: f64,
}

impl Viscosity {
    /// No viscosity.
    pub const NONE: Self = Self {
        shear_pas: 0.0,
        bulk_pas: 0.0,
        share: 0.0,
        time_s: 1.0,
    };

    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn check(&self) -> Result<(), ViscousError> {
        for value in [self.shear_pas, self.bulk_pas] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(ViscousError::Viscosity(value));
            }
        }
        let (share, time_s) = (self.share, self.time_s);
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if share != 0.0 && !(positive(share) && positive(time_s)) {
            return Err(ViscousError::Branch { share, time_s });
        }
        if share >= 1.0 {
            return Err(ViscousError::Shares(share));
        }
        Ok(())
    }

    /// Branch for steps of `dt_s`, which is finite and not negative.
    #[must_use]
    pub fn branch(&self, dt_s: f64) -> PronyBranch {
        let ratio = dt_s / self.time_s;
        // mean of the decay over the step; 1 in the limit of no step
        let mean = if ratio > 0.0 {
            -libm::expm1(-ratio) / ratio
        } else {
            1.0
        };
        PronyBranch {
            decay: libm::exp(-ratio),
            gain: self.share * mean,
            share: self.share,
        }
    }
}

/// A dashpot beside the elastic law: stress that follows the strain rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KelvinVoigt {
    /// Viscosity for change of shape \[Pa s\], or without unit.
    pub shear: f64,
    /// Viscosity for change of volume.
    pub bulk: f64,
}

impl KelvinVoigt {
    /// First Piola stress at the gradient `f` that changes at `rate` \[1/s\].
    #[must_use]
    pub fn stress(&self, f: &Matrix3<f64>, rate: &Matrix3<f64>) -> Matrix3<f64> {
        f * self.second_piola(&strain_rate(f, rate))
    }

    /// Power that turns to heat, per reference volume \[W/m^3\]; never negative.
    #[must_use]
    pub fn dissipation(&self, f: &Matrix3<f64>, rate: &Matrix3<f64>) -> f64 {
        let strain_rate = strain_rate(f, rate);
        self.second_piola(&strain_rate).dot(&strain_rate)
    }

    fn second_piola(&self, strain_rate: &Matrix3<f64>) -> Matrix3<f64> {
        let trace = strain_rate.trace();
        let round = Matrix3::identity() * (trace / 3.0);
        (strain_rate - round) * (2.0 * self.shear) + Matrix3::identity() * (self.bulk * trace)
    }
}

fn strain_rate(f: &Matrix3<f64>, rate: &Matrix3<f64>) -> Matrix3<f64> {
    let half = f.transpose() * rate;
    (half + half.transpose()) * 0.5
}

/// The branch of a [`Viscosity`] for steps of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PronyBranch {
    decay: f64,
    gain: f64,
    share: f64,
}

/// Viscous state of one point of the tissue: the stress of its branch, and that of the elastic law.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ViscousState {
    pub(crate) branch: Matrix3<f64>,
    pub(crate) elastic: Matrix3<f64>,
}

impl PronyBranch {
    /// Advances `memory` to the end of a step with the elastic stress `elastic`.
    pub fn advance(&self, memory: &mut ViscousState, elastic: &Matrix3<f64>) {
        memory.branch = self.stress(memory, elastic);
        memory.elastic = *elastic;
    }

    /// Stress `S` of the branch after one step, as after [`PronyBranch::advance`].
    #[must_use]
    pub fn stress(&self, memory: &ViscousState, elastic: &Matrix3<f64>) -> Matrix3<f64> {
        let rise = elastic - memory.elastic;
        memory.branch * self.decay + rise * self.gain
    }

    /// Slope of [`PronyBranch::stress`] against `elastic`.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.gain
    }

    /// Function of `elastic = stiffness * strain` whose gradient in the strain is
    /// [`PronyBranch::stress`], for a linear elastic law.
    #[must_use]
    pub fn potential(&self, memory: &ViscousState, elastic: &Matrix3<f64>, stiffness: f64) -> f64 {
        let rise = elastic - memory.elastic;
        let curved = rise.norm_squared() * self.gain * 0.5;
        (curved + memory.branch.dot(elastic) * self.decay) / stiffness
    }

    /// Energy of the branch per reference volume, as of a spring with its share of `stiffness`.
    #[must_use]
    pub fn energy(&self, memory: &ViscousState, stiffness: f64) -> f64 {
        memory.branch.norm_squared() / (2.0 * stiffness * self.share)
    }

    /// Heat of one step per reference volume, between the memories before and after; never negative.
    ///
    /// With `d` decay, `c` mean of the decay over the step and `h` a branch's stress, a branch of
    /// stiffness `k` gives `((1/c - 1/2) h1^2 - (d/c) h0 h1 + h0^2 / 2) / k` (ours: work of the end's
    /// stress less the energy gained); positive since `d^2 <= c (2 - c)` for every step.
    #[must_use]
    pub fn dissipation(&self, before: &ViscousState, after: &ViscousState, stiffness: f64) -> f64 {
        let (old, new) = (&before.branch, &after.branch);
        let mean = self.gain / self.share;
        let form = new.norm_squared() * (1.0 / mean - 0.5) - new.dot(old) * (self.decay / mean)
            + old.norm_squared() * 0.5;
        form / (stiffness * self.share)
    }
}
