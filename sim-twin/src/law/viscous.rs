//! Viscoelastic additions to an elastic law: Kelvin-Voigt and Prony series, as the implicit solver
//! steps them. The explicit one of sessions has Kelvin-Voigt and one branch, by its own cheaper rule.
//!
//! Source: Kelvin-Voigt in material form, Simo and Hughes 1998, section 10.1; quasi-linear
//! viscoelasticity, Fung 1972, with the exact recursion for stress that is linear within a step
//! (Taylor, Pister and Goudreau 1970; Simo and Hughes 1998, eq. 10.3.11). Both act on the second
//! Piola stress `S = F^-1 P`, so rotations cost nothing.
//!
//! Symbols: `E` Green strain, `eta` viscosities \[Pa s\], `g_i` shares and `tau_i` times \[s\] of the
//! branches, `S0` the stress of the elastic law, which is the instantaneous one.

use super::Real;
use nalgebra::Matrix3;

/// Most branches that a series may have; state is held in place, without allocation.
const BRANCHES_MAX: usize = 4;

/// Why numbers make no viscous addition.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ViscousError {
    /// A viscosity is out of range.
    #[error("viscosity is {0} Pa s; expected a finite number of at least 0")]
    Viscosity(f64),
    /// A branch has no share or no time.
    #[error("branch {branch}: share {share} and time {time_s} s; expected both finite and above 0")]
    Branch {
        /// Index of the branch.
        branch: usize,
        /// Its share.
        share: f64,
        /// Its time \[s\].
        time_s: f64,
    },
    /// Nothing is left for the long run.
    #[error("shares of the branches sum to {0}; expected less than 1")]
    Shares(f64),
    /// Too many branches.
    #[error("{0} branches; expected at most {BRANCHES_MAX}")]
    Branches(usize),
}

/// A dashpot beside the elastic law: stress that follows the strain rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KelvinVoigt<T> {
    shear: T,
    bulk: T,
}

impl<T: Real> KelvinVoigt<T> {
    /// Checked viscosities for change of shape and of volume \[Pa s\].
    ///
    /// # Errors
    /// Names the viscosity that is out of its range.
    pub fn new(shear_pas: f64, bulk_pas: f64) -> Result<Self, ViscousError> {
        for value in [shear_pas, bulk_pas] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(ViscousError::Viscosity(value));
            }
        }
        Ok(Self {
            shear: T::of(shear_pas),
            bulk: T::of(bulk_pas),
        })
    }

    /// Both viscosities times `factor`, as a solver without units needs them.
    #[must_use]
    pub fn scaled(&self, factor: T) -> Self {
        Self {
            shear: self.shear * factor,
            bulk: self.bulk * factor,
        }
    }

    /// The part that follows the change of shape alone.
    #[must_use]
    pub fn of_shape(&self) -> Self {
        Self {
            shear: self.shear,
            bulk: T::zero(),
        }
    }

    /// Viscosity for change of volume.
    #[must_use]
    pub fn bulk(&self) -> T {
        self.bulk
    }

    /// First Piola stress at the gradient `f` that changes at `rate` \[1/s\].
    #[must_use]
    pub fn stress(&self, f: &Matrix3<T>, rate: &Matrix3<T>) -> Matrix3<T> {
        f * self.second_piola(&strain_rate(f, rate))
    }

    /// Power that turns to heat a reference volume \[W/m^3\]; never negative.
    #[must_use]
    pub fn dissipation(&self, f: &Matrix3<T>, rate: &Matrix3<T>) -> T {
        let strain_rate = strain_rate(f, rate);
        self.second_piola(&strain_rate).dot(&strain_rate)
    }

    fn second_piola(&self, strain_rate: &Matrix3<T>) -> Matrix3<T> {
        let trace = strain_rate.trace();
        let round = Matrix3::identity() * (trace / T::of(3.0));
        (strain_rate - round) * (T::of(2.0) * self.shear)
            + Matrix3::identity() * (self.bulk * trace)
    }
}

fn strain_rate<T: Real>(f: &Matrix3<T>, rate: &Matrix3<T>) -> Matrix3<T> {
    let half = f.transpose() * rate;
    (half + half.transpose()) * T::of(0.5)
}

/// A Prony series: branches that forget, each its share with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prony {
    branches: [(f64, f64); BRANCHES_MAX],
    count: usize,
}

/// A series for steps of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PronyStep<T> {
    decay: [T; BRANCHES_MAX],
    gain: [T; BRANCHES_MAX],
    share: [T; BRANCHES_MAX],
    lasting: T,
    count: usize,
}

/// What one point of the tissue remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory<T: Real> {
    pub(crate) branch: [Matrix3<T>; BRANCHES_MAX],
    pub(crate) elastic: Matrix3<T>,
}

impl<T: Real> Default for Memory<T> {
    fn default() -> Self {
        Self {
            branch: [Matrix3::zeros(); BRANCHES_MAX],
            elastic: Matrix3::zeros(),
        }
    }
}

impl Prony {
    /// Checked series of `(share, time_s)`.
    ///
    /// # Errors
    /// Names the branch that is out of range, or the sum of shares if it reaches 1.
    pub fn new(branches: &[(f64, f64)]) -> Result<Self, ViscousError> {
        if branches.len() > BRANCHES_MAX {
            return Err(ViscousError::Branches(branches.len()));
        }
        let mut kept = [(0.0, 1.0); BRANCHES_MAX];
        for (branch, &(share, time_s)) in branches.iter().enumerate() {
            let positive = |value: f64| value.is_finite() && value > 0.0;
            if !(positive(share) && positive(time_s)) {
                return Err(ViscousError::Branch {
                    branch,
                    share,
                    time_s,
                });
            }
            kept[branch] = (share, time_s);
        }
        let sum: f64 = branches.iter().map(|(share, _)| share).sum();
        if sum >= 1.0 {
            return Err(ViscousError::Shares(sum));
        }
        Ok(Self {
            branches: kept,
            count: branches.len(),
        })
    }

    /// Whether it has no branch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Share of the stress that is left `time_s` after a sudden strain that is held.
    #[must_use]
    pub fn relaxation(&self, time_s: f64) -> f64 {
        let lost = |&(share, tau): &(f64, f64)| -share * libm::expm1(-time_s / tau);
        1.0 - self.branches[..self.count].iter().map(lost).sum::<f64>()
    }

    /// The series for steps of `dt_s`, which is finite and not negative.
    #[must_use]
    pub fn step<T: Real>(&self, dt_s: f64) -> PronyStep<T> {
        let (mut decay, mut gain) = ([T::zero(); BRANCHES_MAX], [T::zero(); BRANCHES_MAX]);
        let mut shares = [T::zero(); BRANCHES_MAX];
        for (branch, &(share, tau)) in self.branches[..self.count].iter().enumerate() {
            let ratio = dt_s / tau;
            // mean of the decay over the step; 1 in the limit of no step
            let mean = if ratio > 0.0 {
                -libm::expm1(-ratio) / ratio
            } else {
                1.0
            };
            decay[branch] = T::of(libm::exp(-ratio));
            gain[branch] = T::of(share * mean);
            shares[branch] = T::of(share);
        }
        PronyStep {
            decay,
            gain,
            share: shares,
            lasting: T::of(self.relaxation(f64::INFINITY)),
            count: self.count,
        }
    }
}

impl<T: Real> PronyStep<T> {
    /// Stress `S` after one step at whose end the elastic law says `elastic`; updates `memory`.
    pub fn advance(&self, memory: &mut Memory<T>, elastic: &Matrix3<T>) -> Matrix3<T> {
        let rise = elastic - memory.elastic;
        let mut stress = elastic * self.lasting;
        for branch in 0..self.count {
            let held = &mut memory.branch[branch];
            *held = *held * self.decay[branch] + rise * self.gain[branch];
            stress += *held;
        }
        memory.elastic = *elastic;
        stress
    }

    /// Sum of the branches' stresses after one step, as [`PronyStep::advance`] would leave them.
    #[must_use]
    pub fn branches(&self, memory: &Memory<T>, elastic: &Matrix3<T>) -> Matrix3<T> {
        let rise = elastic - memory.elastic;
        let held = memory.branch[..self.count].iter().enumerate();
        held.fold(Matrix3::zeros(), |sum, (branch, held)| {
            sum + held * self.decay[branch] + rise * self.gain[branch]
        })
    }

    /// Slope of [`PronyStep::branches`] against `elastic`.
    #[must_use]
    pub fn slope(&self) -> T {
        self.gain[..self.count]
            .iter()
            .fold(T::zero(), |sum, &gain| sum + gain)
    }

    /// Function of `elastic = stiffness * strain` whose gradient in the strain is
    /// [`PronyStep::branches`], for a linear elastic law.
    #[must_use]
    pub fn potential(&self, memory: &Memory<T>, elastic: &Matrix3<T>, stiffness: T) -> T {
        let rise = elastic - memory.elastic;
        let curved = rise.norm_squared() * self.slope() * T::of(0.5);
        let held = memory.branch[..self.count].iter().enumerate();
        let straight = held.fold(T::zero(), |sum, (branch, held)| {
            sum + held.dot(elastic) * self.decay[branch]
        });
        (curved + straight) / stiffness
    }

    /// Energy that the branches hold a reference volume, each a spring of its share of `stiffness`.
    #[must_use]
    pub fn energy(&self, memory: &Memory<T>, stiffness: T) -> T {
        let held = memory.branch[..self.count].iter().enumerate();
        held.fold(T::zero(), |sum, (branch, held)| {
            sum + held.norm_squared() / (T::of(2.0) * stiffness * self.share[branch])
        })
    }

    /// Heat of one step a reference volume, between the memories before and after; never negative.
    ///
    /// With `d` decay, `c` mean of the decay over the step and `h` a branch's stress, a branch of
    /// stiffness `k` gives `((1/c - 1/2) h1^2 - (d/c) h0 h1 + h0^2 / 2) / k` (ours: work of the end's
    /// stress less the energy gained); positive since `d^2 <= c (2 - c)` for every step.
    #[must_use]
    pub fn dissipation(&self, before: &Memory<T>, after: &Memory<T>, stiffness: T) -> T {
        let mut heat = T::zero();
        let half = T::of(0.5);
        for branch in 0..self.count {
            let (old, new) = (&before.branch[branch], &after.branch[branch]);
            let mean = self.gain[branch] / self.share[branch];
            let form = new.norm_squared() * (T::one() / mean - half)
                - new.dot(old) * (self.decay[branch] / mean)
                + old.norm_squared() * half;
            heat += form / (stiffness * self.share[branch]);
        }
        heat
    }
}
