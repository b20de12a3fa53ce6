//! How a correction of the local model comes to the hand in the middle of a touch (teleop E16).
//!
//! A model's force is multiplied by a factor; `known` is its logarithm as it was when the touch began and
//! `wanted` as it should be by now. Three branches, of which a tick takes the first that does:
//!
//! 1. *keep the force, move the surface*: a stiffening takes off what it would add, so that `dV = F^2/2
//!    (1/K1 - 1/K0) < 0`;
//! 2. *keep the surface, drop the force*: a softening lets the force fall, no faster than a hand can feel,
//!    first that part which an earlier stiffening has kept off;
//! 3. *blend within the tank*: what a moved surface still takes off is neither of the two, a force too small
//!    at the right stiffness. It comes back while the hand leaves, by what is left of the same rate, and only
//!    as far as the energy pays that corrections have taken out of this very touch: `dV <= E_tank = -(sum of
//!    dV)`. A touch therefore never gets more than it gave, and begins with an empty tank.
//!
//! The formulas are checked by the closed forms of E16 in the tests; the tank of one touch is ours.

use palpate_twin::Reaction;

use super::params::PredictParams;

/// Speed outward from which a hand leaves \[m/s\]: above the noise of a coarse encoder.
const LEAVING_MPS: f64 = 0.005;

/// What a factor is, and what it should be by now, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Logarithm of the factor as it was when the touch began.
    pub known: f64,
    /// Logarithm of the factor as it should be by now.
    pub wanted: f64,
}

/// The motion of a tool in one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Speed of the hand into the model \[m/s\].
    pub inward_mps: f64,
    /// Time since the tick before \[s\].
    pub dt_s: f64,
}

impl Timing {
    /// Of a hand that moves in by `inward_mps` \[m/s\] for `dt_s` \[s\].
    #[must_use]
    pub fn new(inward_mps: f64, dt_s: f64) -> Self {
        Self { inward_mps, dt_s }
    }
}

/// What a touch feels beyond the model as it was known when the touch began.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
    /// Logarithm of the factor beyond what was known \[-\].
    beyond: f64,
    /// Force that a moved surface takes off \[N\].
    moved_n: f64,
    /// Energy that this touch was given \[J\]: never above 0, its negative is the tank.
    touch_j: f64,
    /// The same of all touches \[J\].
    energy_j: f64,
    /// Relative changes of the felt force, their sizes summed since the start.
    corrected: f64,
}

impl Correction {
    /// Energy that corrections have put into the felt model \[J\]; negative is taken out.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.energy_j
    }

    /// Relative changes of the felt force, their sizes summed since the start.
    #[must_use]
    pub fn corrected(&self) -> f64 {
        self.corrected
    }

    /// The touch has ended: off the tissue the moved surface is forgotten, which costs nothing.
    pub fn end(&mut self) {
        (self.beyond, self.moved_n, self.touch_j) = (0.0, 0.0, 0.0);
    }

    /// By what the model's force of `force_n` \[N\] is multiplied to be felt, 0 or more; `known` is the
    /// logarithm of the factor without this correction.
    #[must_use]
    pub fn factor(&self, known: f64, force_n: f64) -> f64 {
        if force_n <= 0.0 {
            return 1.0;
        }
        let whole = libm::exp(known + self.beyond);
        (whole - self.moved_n / force_n).max(0.0)
    }

    /// Follow what is wanted for a tick in which the model answered `felt`.
    pub fn follow(&mut self, params: &PredictParams, felt: &Reaction, goal: Goal, timing: Timing) {
        let (Goal { known, wanted }, Timing { inward_mps, dt_s }) = (goal, timing);
        let force_n = felt.force_n.norm();
        let now = known + self.beyond;
        let pull = (params.update_hz * dt_s).min(1.0) * (wanted - now);
        let step = pull.clamp(-params.soften_hz_max * dt_s, params.stiffen_hz_max * dt_s);
        self.beyond += step;
        let (before_n, after_n) = (force_n * libm::exp(now), force_n * libm::exp(now + step));
        let was_n = (before_n - self.moved_n).max(0.0);
        // what a fall takes is first what an earlier rise has kept off, as far as that rise has paid for it
        let kept_n = (self.moved_n + after_n - before_n).max(0.0);
        let given_j = |moved_n: f64| {
            let is_n = (after_n - moved_n).max(0.0);
            stored_j(felt, after_n, is_n) - stored_j(felt, before_n, was_n)
        };
        self.moved_n = if self.touch_j + given_j(kept_n) <= 0.0 {
            kept_n
        } else {
            self.moved_n * after_n / before_n
        };
        self.book(given_j(self.moved_n));
        let is_n = (after_n - self.moved_n).max(0.0);
        let changed = if was_n > 0.0 {
            (is_n / was_n - 1.0).abs()
        } else {
            0.0
        };
        self.corrected += changed;
        if inward_mps < -LEAVING_MPS {
            let left = (params.soften_hz_max * dt_s - changed).max(0.0);
            self.blend(felt, after_n, is_n, left);
        }
    }

    /// The third branch: bring back what the moved surface takes off, at most `share_max` of the felt force.
    fn blend(&mut self, felt: &Reaction, whole_n: f64, is_n: f64, share_max: f64) {
        let npm = felt.stiffness_npm * whole_n / felt.force_n.norm();
        if self.moved_n <= 0.0 || is_n <= 0.0 || npm.is_nan() || npm <= 0.0 {
            return;
        }
        // F1^2 / 2 K - F0^2 / 2 K is all that the tank has
        let tank_j = (-self.touch_j).max(0.0);
        let paid_n = (is_n * is_n + 2.0 * npm * tank_j).sqrt() - is_n;
        let rise_n = self.moved_n.min(share_max * is_n).min(paid_n);
        self.moved_n -= rise_n;
        // a rounding above what there was must not open an account
        let given_j = stored_j(felt, whole_n, is_n + rise_n) - stored_j(felt, whole_n, is_n);
        self.book(given_j.min(tank_j));
        self.corrected += rise_n / is_n;
    }

    fn book(&mut self, given_j: f64) {
        self.touch_j += given_j;
        self.energy_j += given_j;
    }
}

/// Energy of a spring that has the model's stiffness times the factor, `whole_n` over the model's force, and is
/// felt with `felt_n`, both \[N\] (teleop E16) \[J\].
fn stored_j(felt: &Reaction, whole_n: f64, felt_n: f64) -> f64 {
    let npm = felt.stiffness_npm * whole_n / felt.force_n.norm();
    if npm > 0.0 {
        0.5 * felt_n * felt_n / npm
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

    fn goal(wanted: f64) -> Goal {
        Goal { known: 0.0, wanted }
    }

    fn timing(inward_mps: f64) -> Timing {
        Timing {
            inward_mps,
            dt_s: DT_S,
        }
    }

    /// A touch of 1 N that was stiffened from 200 to 400 N/m by moving the surface.
    fn stiffened(params: &PredictParams) -> Correction {
        let mut correction = Correction::default();
        for _ in 0..5000 {
            let wanted = core::f64::consts::LN_2;
            correction.follow(params, &pressed(1.0), goal(wanted), timing(0.0));
        }
        assert!((correction.factor(0.0, 1.0) - 1.0).abs() < 1e-9);
        correction
    }

    #[test]
    fn third_branch_the_force_comes_back_while_the_hand_leaves_as_far_as_the_tank_pays() {
        let params = PredictParams::default();
        let mut correction = stiffened(&params);
        // F^2/2 (1/K1 - 1/K0) was taken out
        let tank_j = 0.5 * (1.0 / 200.0 - 1.0 / 400.0);
        assert!((correction.energy_j() + tank_j).abs() < 1e-6);
        let wanted = core::f64::consts::LN_2;
        let felt_n = |correction: &Correction| correction.factor(0.0, 1.0);
        let follow = |correction: &mut Correction, inward_mps: f64| {
            correction.follow(&params, &pressed(1.0), goal(wanted), timing(inward_mps));
        };
        // neither a hand that presses nor one that rests gets anything
        for inward_mps in [0.02, 0.0] {
            follow(&mut correction, inward_mps);
            assert!((felt_n(&correction) - 1.0).abs() < 1e-9);
        }
        let mut last_n = 1.0;
        for _ in 0..100 {
            follow(&mut correction, -0.02);
            let now_n = felt_n(&correction);
            assert!(now_n >= last_n && now_n <= last_n * 1.00069, "{now_n}");
            last_n = now_n;
        }
        assert!((last_n - libm::exp(0.068)).abs() < 1e-3, "{last_n}");
        for _ in 0..5000 {
            follow(&mut correction, -0.02);
            assert!(correction.energy_j() <= 0.0);
        }
        // the tank holds F^2/2 K0 - F^2/2 K1, which is worth sqrt(2) N at K1 and not the whole 2 N
        assert!((felt_n(&correction) - core::f64::consts::SQRT_2).abs() < 1e-3);
        assert!(correction.energy_j().abs() < 1e-6);
    }

    proptest! {
        /// Whatever is wanted and however the hand moves, no touch gets more than it gave, and no 100 ms change
        /// the force by more than 7 %.
        #[test]
        fn corrections_stay_within_the_tank_and_the_rate(
            steps in proptest::collection::vec((0.05_f64..3.0, -2.0_f64..2.0, -0.05_f64..0.05), 1..60))
        {
            let params = PredictParams::default();
            let mut correction = Correction::default();
            for (force_n, wanted, inward_mps) in steps {
                for _ in 0..100 {
                    let before = correction.corrected();
                    correction.follow(&params, &pressed(force_n), goal(wanted), timing(inward_mps));
                    prop_assert!(correction.energy_j() <= 1e-15);
                    prop_assert!(correction.corrected() - before < 0.0007);
                    let factor = correction.factor(0.0, force_n);
                    prop_assert!(factor.is_finite() && factor >= 0.0);
                }
            }
        }
    }
}
