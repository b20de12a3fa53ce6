//! How what was learnt comes to be felt: at once where nobody touches, gently where a hand presses.
//!
//! The twin's force is multiplied by a factor that [`Lessons`] give by place and force. A touch is felt
//! with what was known when it began. What is learnt meanwhile comes in as teleop E16 demands of a
//! model that a hand feels: a *stiffening* keeps the force and moves the surface, so that it takes energy
//! out (`dV = F^2/2 (1/K1 - 1/K0) < 0`); a *softening* keeps the surface and lets the force fall, no faster
//! than a hand can feel. Off the tissue the moved surface is forgotten, which costs nothing.

use palpate_twin::Reaction;

use super::lessons::Lessons;
use super::params::PredictParams;

/// What was learnt, and how much of it this touch feels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learning {
    /// All that was learnt.
    lessons: Lessons,
    /// What was known when this touch began.
    known: Lessons,
    /// Logarithm of the factor that this touch feels beyond what was known \[-\].
    beyond: f64,
    /// Force that a stiffening took off so as to be felt as stiffness alone \[N\].
    moved_n: f64,
    /// Energy that learning has put into this touch \[J\]: never above 0.
    touch_j: f64,
    /// Energy that learning has put into the felt model, cumulative \[J\]; negative is taken out.
    energy_j: f64,
    /// Relative changes of the felt force by learning, their sizes summed since the start.
    corrected: f64,
    /// Whether a lesson has ended since what is known was last taken over.
    news: bool,
}

impl Learning {
    /// Nothing learnt yet; a lesson reaches `radius_m` \[m\] far.
    #[must_use]
    pub fn new(radius_m: f64) -> Self {
        Self {
            lessons: Lessons::new(radius_m),
            known: Lessons::new(radius_m),
            beyond: 0.0,
            moved_n: 0.0,
            touch_j: 0.0,
            energy_j: 0.0,
            corrected: 0.0,
            news: false,
        }
    }

    /// Energy that learning has put into the felt model \[J\]; negative is taken out.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.energy_j
    }

    /// Relative changes of the felt force by learning, their sizes summed since the start.
    #[must_use]
    pub fn corrected(&self) -> f64 {
        self.corrected
    }

    /// How well a place \[m\] is known, 0 to 1.
    #[must_use]
    pub fn confidence(&self, place_m: [f64; 2]) -> f64 {
        self.lessons.known(place_m)
    }

    /// Hear what the robot measured where the twin expected a force, both \[N\].
    pub fn hear(&mut self, place_m: [f64; 2], expected_n: f64, measured_n: f64) {
        self.lessons.hear(place_m, expected_n, measured_n);
    }

    /// The twin is another one now, and nobody touches it: what was learnt about the former says nothing.
    pub fn forget(&mut self) {
        let empty = self.lessons.emptied();
        (self.lessons, self.known) = (empty, empty);
        (self.beyond, self.moved_n, self.touch_j) = (0.0, 0.0, 0.0);
    }

    /// The robot has left the tissue.
    pub fn close(&mut self) {
        self.news |= self.lessons.close();
    }

    /// Factor on the twin's force at a place \[m\], before what a moved surface takes off.
    fn whole_log(&self, place_m: [f64; 2], force_n: f64) -> f64 {
        self.known.log_at(place_m, force_n) + self.beyond
    }

    /// By what the twin's force is multiplied to be felt, 0 or more.
    #[must_use]
    pub fn factor(&self, place_m: [f64; 2], felt: &Reaction) -> f64 {
        let force_n = felt.force_n.norm();
        if force_n <= 0.0 {
            return 1.0;
        }
        let whole = libm::exp(self.whole_log(place_m, force_n));
        (whole - self.moved_n / force_n).max(0.0)
    }

    /// Take over what was learnt, for a tick of `dt_s` \[s\] in which the twin answered `felt`; whether
    /// a whole lesson was taken over.
    pub fn take_over(
        &mut self,
        params: &PredictParams,
        place_m: [f64; 2],
        felt: &Reaction,
        dt_s: f64,
    ) -> bool {
        let force_n = felt.force_n.norm();
        if felt.contacts == 0 || force_n <= 0.0 {
            self.known = self.lessons;
            (self.beyond, self.moved_n, self.touch_j) = (0.0, 0.0, 0.0);
            return core::mem::take(&mut self.news);
        }
        let now = self.whole_log(place_m, force_n);
        let pull =
            (params.update_hz * dt_s).min(1.0) * (self.lessons.log_at(place_m, force_n) - now);
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
        let given_j = given_j(self.moved_n);
        self.touch_j += given_j;
        self.energy_j += given_j;
        if was_n > 0.0 {
            let is_n = (after_n - self.moved_n).max(0.0);
            self.corrected += (is_n / was_n - 1.0).abs();
        }
        false
    }
}

/// Energy of a spring that has the twin's stiffness times the factor, `whole_n` over the twin's force, and is felt
/// with `felt_n`, both \[N\] (teleop E16) \[J\].
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

    const HERE: [f64; 2] = [0.0, 0.0];
    const DT_S: f64 = 1e-3;

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
            learning.hear(HERE, 1.0, factor);
        }
        learning
    }

    #[test]
    fn off_the_tissue_a_lesson_is_taken_over_at_once() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        learning.close();
        assert_eq!(learning.factor(HERE, &pressed(1.0)), 1.0);
        assert!(learning.take_over(&params, HERE, &pressed(0.0), DT_S));
        assert!((learning.factor(HERE, &pressed(1.0)) - 2.0).abs() < 0.05);
        assert!((learning.corrected(), learning.energy_j()) == (0.0, 0.0));
        assert!(!learning.take_over(&params, HERE, &pressed(0.0), DT_S));
    }

    #[test]
    fn under_a_hand_a_stiffening_keeps_the_force_and_takes_energy_out() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        let felt_n =
            |learning: &Learning, force_n| force_n * learning.factor(HERE, &pressed(force_n));
        for _ in 0..2000 {
            learning.take_over(&params, HERE, &pressed(1.0), DT_S);
            assert!((felt_n(&learning, 1.0) - 1.0).abs() < 1e-9);
        }
        // a little deeper is felt with the new stiffness
        let slope = (felt_n(&learning, 1.05) - felt_n(&learning, 0.95)) / 0.1;
        assert!((slope - 2.0).abs() < 0.1, "{slope}");
        // F^2/2 (1/K1 - 1/K0) with 1 N and 200, then 400 N/m
        assert!((learning.energy_j() + 0.5 * (1.0 / 200.0 - 1.0 / 400.0)).abs() < 1e-4);
        assert!(learning.corrected() < 1e-9);
        // on the way out the force is gone before the twin's, and never pulls
        assert_eq!(felt_n(&learning, 0.4), 0.0);
    }

    #[test]
    fn under_a_hand_a_softening_lets_the_force_fall_slowly() {
        let params = PredictParams::default();
        let mut learning = taught(0.5);
        let mut last = 1.0;
        for _ in 0..100 {
            learning.take_over(&params, HERE, &pressed(1.0), DT_S);
            let now = learning.factor(HERE, &pressed(1.0));
            assert!(now <= last);
            last = now;
        }
        assert!(last > 0.93 && last < 0.94, "{last}");
        assert!((learning.corrected() - 0.068).abs() < 1e-3);
        assert!(learning.energy_j() < 0.0);
        for _ in 0..3000 {
            learning.take_over(&params, HERE, &pressed(1.0), DT_S);
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 0.5).abs() < 0.02);
    }

    #[test]
    fn issue_a_fall_after_a_deeper_press_gave_energy() {
        let params = PredictParams::default();
        let mut learning = taught(2.0);
        for _ in 0..2000 {
            learning.take_over(&params, HERE, &pressed(1.0), DT_S);
        }
        for _ in 0..3000 {
            learning.hear(HERE, 3.0, 5.0);
            learning.take_over(&params, HERE, &pressed(3.0), DT_S);
            assert!(learning.energy_j() <= 0.0, "{}", learning.energy_j());
        }
    }

    #[test]
    fn a_wavering_lesson_winds_nothing_up() {
        let params = PredictParams::default();
        let mut learning = taught(1.0);
        for round in 0..200 {
            let factor = if round % 2 == 0 { 1.1 } else { 0.9 };
            for _ in 0..20 {
                learning.hear(HERE, 1.0, factor);
                learning.take_over(&params, HERE, &pressed(1.0), DT_S);
            }
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 1.0).abs() < 0.02);
    }
}
