//! How what was learnt comes to be felt: at once where nobody touches, gently where a hand presses.
//!
//! The twin's force is multiplied by a factor that [`Lessons`] give by place and force. A touch is felt
//! with what was known when it began. What is learnt meanwhile comes in by a [`Correction`], as teleop E16
//! demands of a model that a hand feels.

use palpate_twin::Reaction;

use super::correction::{Correction, Goal, Timing};
use super::lessons::Lessons;
use super::params::PredictParams;

/// What was learnt, and how much of it this touch feels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Learning {
    /// All that was learnt.
    lessons: Lessons,
    /// What was known when this touch began.
    known: Lessons,
    /// What this touch feels beyond that.
    correction: Correction,
    /// Whether a lesson has ended since what is known was last taken over.
    news: bool,
}

impl Learning {
    /// Nothing learnt yet; a lesson reaches `radius_m` \[m\] far.
    #[must_use]
    pub(super) fn new(radius_m: f64) -> Self {
        Self {
            lessons: Lessons::new(radius_m),
            known: Lessons::new(radius_m),
            correction: Correction::default(),
            news: false,
        }
    }

    /// What corrections of touches have cost.
    #[must_use]
    pub(super) fn correction(&self) -> &Correction {
        &self.correction
    }

    /// How well a place \[m\] is known, 0 to 1.
    #[must_use]
    pub(super) fn confidence(&self, place_m: [f64; 2]) -> f64 {
        self.lessons.known(place_m)
    }

    /// Hear what the twin expected and the robot measured at a place, both \[N\]; nothing is learnt below
    /// `least_n` \[N\].
    pub(super) fn hear(
        &mut self,
        place_m: [f64; 2],
        expected_n: f64,
        measured_n: f64,
        least_n: f64,
    ) {
        self.lessons.hear(place_m, expected_n, measured_n, least_n);
    }

    /// The twin is another one now, and nobody touches it: what was learnt about the former says nothing.
    pub(super) fn forget(&mut self) {
        let empty = self.lessons.emptied();
        (self.lessons, self.known) = (empty, empty);
        self.correction.end();
    }

    /// The robot has left the tissue.
    pub(super) fn close(&mut self) {
        self.news |= self.lessons.close();
    }

    /// By what the twin's force is multiplied to be felt, 0 or more.
    #[must_use]
    pub(super) fn factor(&self, place_m: [f64; 2], felt: &Reaction) -> f64 {
        let force_n = felt.force_n.norm();
        self.correction
            .factor(self.known.log_at(place_m, force_n), force_n)
    }

    /// Take over what was learnt, for a tick in which the twin answered `felt`; whether a whole lesson was taken over.
    pub(super) fn take_over(
        &mut self,
        params: &PredictParams,
        place_m: [f64; 2],
        felt: &Reaction,
        timing: Timing,
    ) -> bool {
        let force_n = felt.force_n.norm();
        if felt.contacts == 0 || force_n <= 0.0 {
            self.known = self.lessons;
            self.correction.end();
            return core::mem::take(&mut self.news);
        }
        let [known, wanted] = [&self.known, &self.lessons].map(|of| of.log_at(place_m, force_n));
        self.correction
            .follow(params, felt, Goal { known, wanted }, timing);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::Vec3;

    const HERE: [f64; 2] = [0.0, 0.0];
    const RESTS: Timing = Timing {
        inward_mps: 0.0,
        dt_s: 1e-3,
    };

    fn pressed(force_n: f64) -> Reaction {
        Reaction {
            force_n: Vec3::new(0.0, 0.0, force_n),
            normal: Vec3::z(),
            stiffness_npm: 200.0,
            contacts: u32::from(force_n > 0.0),
            ..Reaction::default()
        }
    }

    /// Half a second of a press of 1 N that the robot has met with a force `factor` times as large.
    fn taught(factor: f64) -> Learning {
        let mut learning = Learning::new(0.015);
        for _ in 0..500 {
            learning.hear(HERE, 1.0, factor, 0.0);
        }
        learning
    }

    #[test]
    fn off_the_tissue_a_lesson_is_taken_over_at_once() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        learning.close();
        assert_eq!(learning.factor(HERE, &pressed(1.0)), 1.0);
        assert!(learning.take_over(&params, HERE, &pressed(0.0), RESTS));
        assert!((learning.factor(HERE, &pressed(1.0)) - 2.0).abs() < 0.05);
        assert!(
            (
                learning.correction().corrected(),
                learning.correction().energy_j()
            ) == (0.0, 0.0)
        );
        assert!(!learning.take_over(&params, HERE, &pressed(0.0), RESTS));
    }

    #[test]
    fn under_a_hand_a_stiffening_keeps_the_force_and_takes_energy_out() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        let felt_n =
            |learning: &Learning, force_n| force_n * learning.factor(HERE, &pressed(force_n));
        for _ in 0..2000 {
            learning.take_over(&params, HERE, &pressed(1.0), RESTS);
            assert!((felt_n(&learning, 1.0) - 1.0).abs() < 1e-9);
        }
        // a little deeper is felt with the new stiffness
        let slope = (felt_n(&learning, 1.05) - felt_n(&learning, 0.95)) / 0.1;
        assert!((slope - 2.0).abs() < 0.1, "{slope}");
        // F^2/2 (1/K1 - 1/K0) with 1 N and 200, then 400 N/m
        assert!(
            (learning.correction().energy_j() + 0.5 * (1.0 / 200.0 - 1.0 / 400.0)).abs() < 1e-4
        );
        assert!(learning.correction().corrected() < 1e-9);
        // on the way out the force is gone before the twin's, and never pulls
        assert_eq!(felt_n(&learning, 0.4), 0.0);
    }

    #[test]
    fn under_a_hand_a_softening_lets_the_force_fall_slowly() {
        let params = PredictParams::default();
        let mut learning = taught(0.5);
        let mut last = 1.0;
        for _ in 0..100 {
            learning.take_over(&params, HERE, &pressed(1.0), RESTS);
            let now = learning.factor(HERE, &pressed(1.0));
            assert!(now <= last);
            last = now;
        }
        assert!(last > 0.93 && last < 0.94, "{last}");
        assert!((learning.correction().corrected() - 0.068).abs() < 1e-3);
        assert!(learning.correction().energy_j() < 0.0);
        for _ in 0..3000 {
            learning.take_over(&params, HERE, &pressed(1.0), RESTS);
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 0.5).abs() < 0.02);
    }

    #[test]
    fn issue_a_fall_after_a_deeper_press_gave_energy() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        for _ in 0..2000 {
            learning.take_over(&params, HERE, &pressed(1.0), RESTS);
        }
        for _ in 0..3000 {
            learning.hear(HERE, 3.0, 5.0, 0.0);
            learning.take_over(&params, HERE, &pressed(3.0), RESTS);
            assert!(
                learning.correction().energy_j() <= 0.0,
                "{}",
                learning.correction().energy_j()
            );
        }
    }

    #[test]
    fn a_wavering_lesson_winds_nothing_up() {
        let params = PredictParams::default();
        let mut learning = taught(1.0);
        for round in 0..200 {
            let factor = if round % 2 == 0 { 1.1 } else { 0.9 };
            for _ in 0..20 {
                learning.hear(HERE, 1.0, factor, 0.0);
                learning.take_over(&params, HERE, &pressed(1.0), RESTS);
            }
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 1.0).abs() < 0.02);
    }
}
