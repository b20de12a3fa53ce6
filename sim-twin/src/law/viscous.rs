//! Viscoelastic additions to an elastic law for the implicit solver: a Kelvin-Voigt dashpot and the branches of a Prony
//! series. The explicit solver has the same additions with a cheaper integration rule.
//!
//! Source: Kelvin-Voigt in material form, Simo and Hughes 1998, section 10.1; quasi-linear
//! viscoelasticity, Fung 1972, with the exact recursion for stress that is linear within a step
//! (Taylor, Pister and Goudreau 1970; Simo and Hughes 1998, eq. 10.3.11). Both act on the second
//! Piola stress `S = F^-1 P`, so rotations cost nothing.
//!
//! Symbols: `E` Green strain, `eta` viscosities \[Pa s\], `g` share and `tau` time \[s\] of a
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
    /// A series has too many branches.
    #[error("{0} relaxing branches; expected at most {BRANCHES_MAX}")]
    Branches(usize),
}

/// Largest number of branches of a [`Viscosity`].
pub const BRANCHES_MAX: usize = 4;

/// Branch of a Prony series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelaxingShare {
    /// Share of the shear modulus that relaxes, at least 0 and below 1; 0 for no branch.
    pub share: f64,
    /// Relaxation time \[s\], above 0.
    pub time_s: f64,
}

/// Viscosity of a material: a dashpot beside its law, and branches that relax, for change of shape
/// alone; moduli are then those for a sudden strain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viscosity {
    /// Viscosity for change of shape \[Pa s\], at least 0.
    pub shear_pas: f64,
    /// Viscosity for change of volume \[Pa s\], at least 0.
    pub bulk_pas: f64,
    /// Branches; those in use come first.
    pub branches: [RelaxingShare; BRANCHES_MAX],
}

impl Viscosity {
    /// No viscosity.
    pub const NONE: Self = Self {
        shear_pas: 0.0,
        bulk_pas: 0.0,
        branches: [RelaxingShare {
            share: 0.0,
            time_s: 1.0,
        }; BRANCHES_MAX],
    };

    /// Viscosity of a Prony series, without dashpot.
    ///
    /// # Errors
    /// [`ViscousError`] names the branch that is out of its range, or the number of branches.
    pub fn of_branches(series: &[RelaxingShare]) -> Result<Self, ViscousError> {
        let mut viscosity = Self::NONE;
        let Some(places) = viscosity.branches.get_mut(..series.len()) else {
            return Err(ViscousError::Branches(series.len()));
        };
        places.copy_from_slice(series);
        if let Some(&RelaxingShare { share, time_s }) = series.iter().find(|own| own.share == 0.0) {
            return Err(ViscousError::Branch { share, time_s });
        }
        viscosity.check().map(|()| viscosity)
    }

    /// Branches in use.
    pub fn used(&self) -> impl Iterator<Item = &RelaxingShare> {
        self.branches.iter().take_while(|branch| branch.share > 0.0)
    }

    /// Share of the shear modulus that relaxes in the long run.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.used().map(|branch| branch.share).sum()
    }

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
        let positive = |value: f64| value.is_finite() && value > 0.0;
        for RelaxingShare { share, time_s } in self.branches {
            if share != 0.0 && !(positive(share) && positive(time_s)) {
                return Err(ViscousError::Branch { share, time_s });
            }
        }
        let share = self.share();
        if share >= 1.0 {
            return Err(ViscousError::Shares(share));
        }
        Ok(())
    }

    /// Branches for steps of `dt_s`, which is finite and not negative.
    #[must_use]
    pub fn series(&self, dt_s: f64) -> PronySeries {
        let step = |branch: &RelaxingShare| {
            let ratio = dt_s / branch.time_s;
            // mean of the decay over the step; 1 in the limit of no step
            let mean = if ratio > 0.0 {
                -libm::expm1(-ratio) / ratio
            } else {
                1.0
            };
            BranchStep {
                decay: libm::exp(-ratio),
                gain: branch.share * mean,
                share: branch.share,
            }
        };
        PronySeries {
            steps: self.branches.each_ref().map(step),
            count: self.used().count(),
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

/// A branch of a [`Viscosity`] over steps of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BranchStep {
    decay: f64,
    gain: f64,
    share: f64,
}

/// The branches of a [`Viscosity`] for steps of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PronySeries {
    steps: [BranchStep; BRANCHES_MAX],
    count: usize,
}

/// Viscous state of one point of the tissue: the stresses of its branches, and that of the elastic law.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ViscousState {
    pub(crate) branches: [Matrix3<f64>; BRANCHES_MAX],
    pub(crate) elastic: Matrix3<f64>,
}

impl PronySeries {
    /// Branches in use, each with its stress in a state.
    fn with<'a>(
        &'a self,
        memory: &'a ViscousState,
    ) -> impl Iterator<Item = (&'a BranchStep, &'a Matrix3<f64>)> {
        self.steps.iter().zip(&memory.branches).take(self.count)
    }

    /// Advances `memory` to the end of a step with the elastic stress `elastic`.
    pub fn advance(&self, memory: &mut ViscousState, elastic: &Matrix3<f64>) {
        let rise = elastic - memory.elastic;
        let branches = self.steps.iter().zip(&mut memory.branches);
        for (step, stress) in branches.take(self.count) {
            *stress = *stress * step.decay + rise * step.gain;
        }
        memory.elastic = *elastic;
    }

    /// Stress `S` of all branches after one step, as after [`PronySeries::advance`].
    #[must_use]
    pub fn stress(&self, memory: &ViscousState, elastic: &Matrix3<f64>) -> Matrix3<f64> {
        let rise = elastic - memory.elastic;
        let sum = |sum, (step, stress): (&BranchStep, &Matrix3<f64>)| {
            sum + stress * step.decay + rise * step.gain
        };
        self.with(memory).fold(Matrix3::zeros(), sum)
    }

    /// Slope of [`PronySeries::stress`] against `elastic`.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.steps[..self.count].iter().map(|step| step.gain).sum()
    }

    /// Function of `elastic = stiffness * strain` whose gradient in the strain is
    /// [`PronySeries::stress`], for a linear elastic law.
    #[must_use]
    pub fn potential(&self, memory: &ViscousState, elastic: &Matrix3<f64>, stiffness: f64) -> f64 {
        let rise = elastic - memory.elastic;
        let curved = rise.norm_squared() * self.slope() * 0.5;
        let kept = |(step, stress): (&BranchStep, &Matrix3<f64>)| stress.dot(elastic) * step.decay;
        (curved + self.with(memory).map(kept).sum::<f64>()) / stiffness
    }

    /// Energy of the branches per reference volume, as of springs with their shares of `stiffness`.
    #[must_use]
    pub fn energy(&self, memory: &ViscousState, stiffness: f64) -> f64 {
        let own = |(step, stress): (&BranchStep, &Matrix3<f64>)| {
            stress.norm_squared() / (2.0 * stiffness * step.share)
        };
        self.with(memory).map(own).sum()
    }

    /// Heat of one step per reference volume, between the memories before and after; never negative.
    ///
    /// With `d` decay, `c` mean of the decay over the step and `h` a branch's stress, a branch of
    /// stiffness `k` gives `((1/c - 1/2) h1^2 - (d/c) h0 h1 + h0^2 / 2) / k` (ours: work of the end's
    /// stress less the energy gained); positive since `d^2 <= c (2 - c)` for every step.
    #[must_use]
    pub fn dissipation(&self, before: &ViscousState, after: &ViscousState, stiffness: f64) -> f64 {
        let pairs = self.with(before).zip(&after.branches);
        let heat = pairs.map(|((step, old), new)| {
            let mean = step.gain / step.share;
            let form = new.norm_squared() * (1.0 / mean - 0.5) - new.dot(old) * (step.decay / mean)
                + old.norm_squared() * 0.5;
            form / (stiffness * step.share)
        });
        heat.sum()
    }
}
