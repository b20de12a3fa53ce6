//! Correction of the local model's force during a touch (teleop E16).
//!
//! A model's force is multiplied by a factor; `initial_log` is its logarithm when the touch began and
//! `target_log` the one that it should have by now. Three branches, of which a tick takes the first that applies:
//!
//! 1. *keep the force, move the surface*: a stiffening subtracts the force that it would add, so that `dV = F^2/2
//!    (1/K1 - 1/K0) < 0`;
//! 2. *keep the surface, drop the force*: a softening lets the force fall, no faster than a hand can notice unless
//!    there is no tissue, first by the part that an earlier stiffening has subtracted;
//! 3. *blend within the tank*: a moved surface leaves a force that is too small at the right stiffness. The
//!    difference returns while the hand leaves, at the unused part of the same rate, and only as far as the energy
//!    pays that corrections have taken out of this touch: `dV <= E_tank = -(sum of dV)`. A touch therefore never
//!    receives more energy than it gave, and begins with an empty tank.
//!
//! Checked by the closed forms of E16 in the tests; the tank of one touch is ours.

use palpate_twin::Reaction;

use super::params::PredictParams;

/// Outward speed above which a hand counts as leaving \[m/s\]: above the noise of a coarse encoder.
const LEAVING_MPS: f64 = 0.005;

/// Initial and target factor, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CorrectionGoal {
    /// Logarithm of the factor at the start of the touch.
    pub initial_log: f64,
    /// Logarithm of the factor to be reached.
    pub target_log: f64,
    /// Fastest fall of the factor, in its logarithm \[1/s\].
    pub soften_per_s_max: f64,
}

/// The motion of a tool in one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InwardMotion {
    /// Speed of the hand into the model \[m/s\].
    pub inward_mps: f64,
    /// Time since the tick before \[s\].
    pub dt_s: f64,
}

impl InwardMotion {
    /// Motion inward at `inward_mps` \[m/s\] for `dt_s` \[s\].
    #[must_use]
    pub(crate) fn new(inward_mps: f64, dt_s: f64) -> Self {
        Self { inward_mps, dt_s }
    }
}

/// Correction of a touch beyond the factor at its start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Correction {
    /// Logarithm of the factor beyond `initial_log` \[-\].
    added_log: f64,
    /// Force that a moved surface subtracts \[N\].
    moved_n: f64,
    /// Energy that corrections gave this touch \[J\]: never above 0; its negative is the tank.
    touch_j: f64,
    /// Energy that corrections gave all touches \[J\].
    energy_j: f64,
    /// Sum of the sizes of the relative changes of the rendered force since the start.
    correction_sum: f64,
}

impl Correction {
    /// Energy that corrections have put into the rendered model \[J\]; negative if taken out.
    #[must_use]
    pub(crate) fn energy_j(&self) -> f64 {
        self.energy_j
    }

    /// Sum of the sizes of the relative changes of the rendered force since the start.
    #[must_use]
    pub(crate) fn correction_sum(&self) -> f64 {
        self.correction_sum
    }

    /// Ends the touch: off the tissue the moved surface is dropped, which costs nothing.
    pub(crate) fn end(&mut self) {
        (self.added_log, self.moved_n, self.touch_j) = (0.0, 0.0, 0.0);
    }

    /// Factor of the model's force of `force_n` \[N\], 0 or more; `initial_log` is the
    /// logarithm of the factor without this correction.
    #[must_use]
    pub(crate) fn factor(&self, initial_log: f64, force_n: f64) -> f64 {
        if force_n <= 0.0 {
            return 1.0;
        }
        let whole = libm::exp(initial_log + self.added_log);
        (whole - self.moved_n / force_n).max(0.0)
    }

    /// Moves the factor towards its target for one tick, in which the model returned `reaction`.
    pub(crate) fn follow(
        &mut self,
        params: &PredictParams,
        reaction: &Reaction,
        goal: CorrectionGoal,
        timing: InwardMotion,
    ) {
        let (
            CorrectionGoal {
                initial_log,
                target_log,
                soften_per_s_max,
            },
            InwardMotion { inward_mps, dt_s },
        ) = (goal, timing);
        let force_n = reaction.force_n.norm();
        let now = initial_log + self.added_log;
        let approach = (params.update_per_s * dt_s).min(1.0) * (target_log - now);
        let step = approach.clamp(-soften_per_s_max * dt_s, params.stiffen_per_s_max * dt_s);
        self.added_log += step;
        let (before_n, after_n) = (force_n * libm::exp(now), force_n * libm::exp(now + step));
        let old_n = (before_n - self.moved_n).max(0.0);
        // a fall first removes the force that an earlier rise has subtracted, as far as that rise has paid for it
        let reduced_n = (self.moved_n + after_n - before_n).max(0.0);
        let added_j = |moved_n: f64| {
            let new_n = (after_n - moved_n).max(0.0);
            stored_j(reaction, after_n, new_n) - stored_j(reaction, before_n, old_n)
        };
        self.moved_n = if self.touch_j + added_j(reduced_n) <= 0.0 {
            reduced_n
        } else {
            self.moved_n * after_n / before_n
        };
        self.record_energy(added_j(self.moved_n));
        let new_n = (after_n - self.moved_n).max(0.0);
        let changed = if old_n > 0.0 {
            (new_n / old_n - 1.0).abs()
        } else {
            0.0
        };
        self.correction_sum += changed;
        if inward_mps < -LEAVING_MPS {
            let left = (params.soften_per_s_max * dt_s - changed).max(0.0);
            self.blend(reaction, after_n, new_n, left);
        }
    }

    /// Applies the third branch: returns the force that the moved surface subtracts, at most `share_max` of the
    /// rendered force.
    fn blend(&mut self, reaction: &Reaction, whole_n: f64, new_n: f64, share_max: f64) {
        let npm = reaction.stiffness_npm * whole_n / reaction.force_n.norm();
        if self.moved_n <= 0.0 || new_n <= 0.0 || npm.is_nan() || npm <= 0.0 {
            return;
        }
        // F1^2 / 2 K - F0^2 / 2 K is the content of the tank
        let tank_j = (-self.touch_j).max(0.0);
        let paid_n = (new_n * new_n + 2.0 * npm * tank_j).sqrt() - new_n;
        let rise_n = self.moved_n.min(share_max * new_n).min(paid_n);
        self.moved_n -= rise_n;
        // rounding above the content must not create energy
        let added_j =
            stored_j(reaction, whole_n, new_n + rise_n) - stored_j(reaction, whole_n, new_n);
        self.record_energy(added_j.min(tank_j));
        self.correction_sum += rise_n / new_n;
    }

    fn record_energy(&mut self, added_j: f64) {
        self.touch_j += added_j;
        self.energy_j += added_j;
    }
}
/// Energy of a spring that is rendered with `rendered_n` \[N\] and has the model's stiffness times the factor
/// `whole_n` \[N\] over the model's force (teleop E16) \[J\].
fn stored_j(reaction: &Reaction, whole_n: f64, rendered_n: f64) -> f64 {
    let npm = reaction.stiffness_npm * whole_n / reaction.force_n.norm();
    if npm > 0.0 {
        0.5 * rendered_n * rendered_n / npm
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::Vec3;
    use proptest::prelude::*;

    const DT_S: f64 = 1e-3;

    fn pressed(force_n: f64) -> Reaction {
        Reaction {
            force_n: Vec3::new(0.0, 0.0, force_n),
            normal: Vec3::z(),
            stiffness_npm: 200.0,
            contacts: 1,
            ..Reaction::default()
        }
    }

    fn goal(target_log: f64) -> CorrectionGoal {
        CorrectionGoal {
            initial_log: 0.0,
            target_log,
            soften_per_s_max: PredictParams::default().soften_per_s_max,
        }
    }

    fn timing(inward_mps: f64) -> InwardMotion {
        InwardMotion {
            inward_mps,
            dt_s: DT_S,
        }
    }

    /// A touch of 1 N that was stiffened from 200 to 400 N/m by moving the surface.
    fn stiffened(params: &PredictParams) -> Correction {
        let mut correction = Correction::default();
        for _ in 0..5000 {
            let target_log = core::f64::consts::LN_2;
            correction.follow(params, &pressed(1.0), goal(target_log), timing(0.0));
        }
        assert!((correction.factor(0.0, 1.0) - 1.0).abs() < 1e-9);
        correction
    }

    #[test]
    fn blend_returns_force_on_release_within_the_tank() {
        let params = PredictParams::default();
        let mut correction = stiffened(&params);
        // F^2/2 (1/K1 - 1/K0) was taken out
        let tank_j = 0.5 * (1.0 / 200.0 - 1.0 / 400.0);
        assert!((correction.energy_j() + tank_j).abs() < 1e-6);
        let target_log = core::f64::consts::LN_2;
        let rendered_n = |correction: &Correction| correction.factor(0.0, 1.0);
        let follow = |correction: &mut Correction, inward_mps: f64| {
            correction.follow(&params, &pressed(1.0), goal(target_log), timing(inward_mps));
        };
        // neither a hand that presses nor one that rests receives energy
        for inward_mps in [0.02, 0.0] {
            follow(&mut correction, inward_mps);
            assert!((rendered_n(&correction) - 1.0).abs() < 1e-9);
        }
        let mut last_n = 1.0;
        for _ in 0..100 {
            follow(&mut correction, -0.02);
            let now_n = rendered_n(&correction);
            assert!(now_n >= last_n && now_n <= last_n * 1.00069, "{now_n}");
            last_n = now_n;
        }
        assert!((last_n - libm::exp(0.068)).abs() < 1e-3, "{last_n}");
        for _ in 0..5000 {
            follow(&mut correction, -0.02);
            assert!(correction.energy_j() <= 0.0);
        }
        // the tank holds F^2/2 K0 - F^2/2 K1, which gives sqrt(2) N at K1 and not the whole 2 N
        assert!((rendered_n(&correction) - core::f64::consts::SQRT_2).abs() < 1e-3);
        assert!(correction.energy_j().abs() < 1e-6);
    }

    proptest! {
        /// For any target and any motion, no touch receives more energy than it gave, and no 100 ms change
        /// the force by more than 7 %; only the force of an empty place falls faster.
        #[test]
        fn corrections_stay_within_tank_and_rate(
            steps in proptest::collection::vec((0.05_f64..3.0, -2.0_f64..2.0, -0.05_f64..0.05, proptest::bool::ANY), 1..60))
        {
            let params = PredictParams::default();
            let mut correction = Correction::default();
            for (force_n, target_log, inward_mps, is_empty) in steps {
                let goal = if is_empty {
                    CorrectionGoal { initial_log: 0.0, target_log: -6.0, soften_per_s_max: 20.0 }
                } else {
                    goal(target_log)
                };
                let change_max = if is_empty { 0.02 } else { 0.0007 };
                for _ in 0..100 {
                    let before = correction.correction_sum();
                    correction.follow(&params, &pressed(force_n), goal, timing(inward_mps));
                    prop_assert!(correction.energy_j() <= 1e-15);
                    prop_assert!(correction.correction_sum() - before < change_max);
                    let factor = correction.factor(0.0, force_n);
                    prop_assert!(factor.is_finite() && factor >= 0.0);
                }
            }
        }
    }
}
