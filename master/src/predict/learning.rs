//! Transfer of learnt corrections to the hand: at once without contact, gradually during a touch.
//!
//! The twin's force is multiplied by a factor from a [`CorrectionMap`] by place and force. A touch uses the map
//! from its beginning. What is learnt meanwhile is applied by a [`Correction`], as teleop E16
//! demands of a model in contact with a hand.

use palpate_twin::Reaction;

use super::correction::{Correction, CorrectionGoal, InwardMotion};
use super::correction_map::CorrectionMap;
use super::params::PredictParams;
use super::place_fit::PressSample;

/// Rate at which the force of tissue that is not there falls, in its logarithm \[1/s\]: to a twentieth in 0.15 s. Ours.
const EMPTY_PER_S: f64 = 20.0;

/// Learnt corrections, and the part that the present touch uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Learning {
    /// Map with all samples.
    learnt_map: CorrectionMap,
    /// Map at the beginning of the present touch.
    touch_map: CorrectionMap,
    /// Correction of the present touch beyond that map.
    correction: Correction,
    /// True if a press has ended since the map was last taken over.
    press_ended: bool,
}

impl Learning {
    /// Returns the state in `slot`, which is empty before the first call.
    pub(super) fn get_or_new<'a>(
        slot: &'a mut Option<Self>,
        params: &PredictParams,
    ) -> &'a mut Self {
        slot.get_or_insert_with(|| Self::new(params.update_radius_m))
    }

    /// Empty maps; a correction applies within `radius_m` \[m\].
    #[must_use]
    fn new(radius_m: f64) -> Self {
        Self {
            learnt_map: CorrectionMap::new(radius_m),
            touch_map: CorrectionMap::new(radius_m),
            correction: Correction::default(),
            press_ended: false,
        }
    }

    /// Energy and size of the corrections during touches.
    #[must_use]
    pub(super) fn correction(&self) -> &Correction {
        &self.correction
    }

    /// Confidence at a place \[m\], 0 to 1.
    #[must_use]
    pub(super) fn confidence(&self, place_m: [f64; 2]) -> f64 {
        self.learnt_map.confidence(place_m)
    }

    /// Adds a sample of the robot at a place \[m\]; not used below `least_n` \[N\].
    pub(super) fn add_sample(&mut self, place_m: [f64; 2], sample: &PressSample, least_n: f64) {
        self.learnt_map.add_sample(place_m, sample, least_n);
    }

    /// Adds a tick in which the robot met nothing at a place \[m\] where the twin has tissue.
    pub(super) fn add_absence(&mut self, place_m: [f64; 2]) {
        self.learnt_map.add_absence(place_m);
    }

    /// Clears all corrections, for a twin that has changed and is not in contact.
    pub(super) fn forget(&mut self) {
        self.forget_learnt();
        self.touch_map = self.learnt_map;
        self.correction.end();
    }

    /// Clears what was learnt; the present touch approaches the uncorrected twin.
    pub(super) fn forget_learnt(&mut self) {
        self.learnt_map = self.learnt_map.cleared();
    }

    /// A tick that says nothing about a lack of force; `incomplete` if one could have been hidden in it.
    pub(super) fn interrupt_absence(&mut self, incomplete: bool) {
        self.learnt_map.interrupt_absence(incomplete);
    }

    /// Ends a press: the robot has left the tissue.
    pub(super) fn end_press(&mut self) {
        self.press_ended |= self.learnt_map.end_contact();
    }

    /// True if the robot met nothing near a place \[m\].
    #[must_use]
    pub(super) fn is_empty_at(&self, place_m: [f64; 2]) -> bool {
        self.learnt_map.is_empty_at(place_m)
    }

    /// Factor of the twin's force, 0 or more.
    #[must_use]
    pub(super) fn factor(&self, place_m: [f64; 2], reaction: &Reaction) -> f64 {
        let force_n = reaction.force_n.norm();
        self.correction
            .factor(self.touch_map.log_factor(place_m, force_n), force_n)
    }

    /// Applies the learnt corrections in a tick in which the twin returned `reaction`; true if a whole press was
    /// taken over.
    pub(super) fn apply(
        &mut self,
        params: &PredictParams,
        place_m: [f64; 2],
        reaction: &Reaction,
        timing: InwardMotion,
    ) -> bool {
        let force_n = reaction.force_n.norm();
        if reaction.contacts == 0 || force_n <= 0.0 {
            self.touch_map = self.learnt_map;
            self.correction.end();
            return core::mem::take(&mut self.press_ended);
        }
        let [initial_log, target_log] =
            [&self.touch_map, &self.learnt_map].map(|of| of.log_factor(place_m, force_n));
        let soften_per_s_max = if self.learnt_map.is_empty_at(place_m) {
            EMPTY_PER_S
        } else {
            params.soften_per_s_max
        };
        self.correction.follow(
            params,
            reaction,
            CorrectionGoal {
                initial_log,
                target_log,
                soften_per_s_max,
            },
            timing,
        );
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::place_fit::sample;
    use palpate_twin::Vec3;

    const HERE: [f64; 2] = [0.0, 0.0];
    const AT_REST: InwardMotion = InwardMotion {
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

    /// Half a second of a press of 1 N at which the robot measured `factor` times the force.
    fn learnt(factor: f64) -> Learning {
        let mut learning = Learning::new(0.015);
        for _ in 0..500 {
            learning.add_sample(HERE, &sample(1.0, factor), 0.0);
        }
        learning
    }

    #[test]
    fn without_contact_corrections_apply_at_once() {
        let params = PredictParams::default();
        let mut learning = learnt(2.0);
        learning.end_press();
        assert_eq!(learning.factor(HERE, &pressed(1.0)), 1.0);
        assert!(learning.apply(&params, HERE, &pressed(0.0), AT_REST));
        assert!((learning.factor(HERE, &pressed(1.0)) - 2.0).abs() < 0.05);
        assert!(
            (
                learning.correction().correction_sum(),
                learning.correction().energy_j()
            ) == (0.0, 0.0)
        );
        assert!(!learning.apply(&params, HERE, &pressed(0.0), AT_REST));
    }

    #[test]
    fn stiffening_in_contact_keeps_force_and_removes_energy() {
        let params = PredictParams::default();
        let mut learning = learnt(2.0);
        let rendered_n =
            |learning: &Learning, force_n| force_n * learning.factor(HERE, &pressed(force_n));
        for _ in 0..2000 {
            learning.apply(&params, HERE, &pressed(1.0), AT_REST);
            assert!((rendered_n(&learning, 1.0) - 1.0).abs() < 1e-9);
        }
        // a little deeper, the new stiffness is rendered
        let slope = (rendered_n(&learning, 1.05) - rendered_n(&learning, 0.95)) / 0.1;
        assert!((slope - 2.0).abs() < 0.1, "{slope}");
        // F^2/2 (1/K1 - 1/K0) with 1 N and 200, then 400 N/m
        assert!(
            (learning.correction().energy_j() + 0.5 * (1.0 / 200.0 - 1.0 / 400.0)).abs() < 1e-4
        );
        assert!(learning.correction().correction_sum() < 1e-9);
        // on the way out the force ends before the twin's, and never pulls
        assert_eq!(rendered_n(&learning, 0.4), 0.0);
    }

    #[test]
    fn softening_in_contact_lowers_force_slowly() {
        let params = PredictParams::default();
        let mut learning = learnt(0.5);
        let mut last = 1.0;
        for _ in 0..100 {
            learning.apply(&params, HERE, &pressed(1.0), AT_REST);
            let now = learning.factor(HERE, &pressed(1.0));
            assert!(now <= last);
            last = now;
        }
        assert!(last > 0.93 && last < 0.94, "{last}");
        assert!((learning.correction().correction_sum() - 0.068).abs() < 1e-3);
        assert!(learning.correction().energy_j() < 0.0);
        for _ in 0..3000 {
            learning.apply(&params, HERE, &pressed(1.0), AT_REST);
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 0.5).abs() < 0.02);
    }

    #[test]
    fn issue_softening_after_deeper_press_added_energy() {
        let params = PredictParams::default();
        let mut learning = learnt(2.0);
        for _ in 0..2000 {
            learning.apply(&params, HERE, &pressed(1.0), AT_REST);
        }
        for _ in 0..3000 {
            learning.add_sample(HERE, &sample(3.0, 5.0), 0.0);
            learning.apply(&params, HERE, &pressed(3.0), AT_REST);
            assert!(
                learning.correction().energy_j() <= 0.0,
                "{}",
                learning.correction().energy_j()
            );
        }
    }

    #[test]
    fn alternating_samples_do_not_wind_up() {
        let params = PredictParams::default();
        let mut learning = learnt(1.0);
        for round in 0..200 {
            let factor = if round % 2 == 0 { 1.1 } else { 0.9 };
            for _ in 0..20 {
                learning.add_sample(HERE, &sample(1.0, factor), 0.0);
                learning.apply(&params, HERE, &pressed(1.0), AT_REST);
            }
        }
        assert!((learning.factor(HERE, &pressed(1.0)) - 1.0).abs() < 0.02);
    }
}
