//! The contact law that the robot has met, felt as the local model in the twin's place (teleop E15).
//!
//! `Met` fits one Hunt-Crossley law to what the robot meets. Here that law is touched by the
//! handle at 1 kHz: a surface at the height at which the robot met it last, flat and level, and a force along
//! its normal. It needs no scene, but it knows no place either: it is the law of where the robot was last.
//! A touch is felt with the law as it was when the touch began; what the estimation says meanwhile comes in by
//! the same `Correction` as any other, so that it costs what E16 allows, and the port's account pays for
//! the force as for every force. Its damping is that of the estimate, as far as a handle bears it. Ours.

use palpate_twin::{Reaction, Vec3};
use serde::{Deserialize, Serialize};

use super::correction::{Correction, Goal, Timing};
use super::hunt_crossley::Contact;
use super::lessons::LOG_MAX;
use super::params::PredictParams;
use super::{DAMPED_NSPM_MAX, Touch};

/// What the hand feels at 1 kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalModel {
    /// The twin, with what was learnt.
    #[default]
    Twin,
    /// The law of what the robot has met, as soon as it is known; the twin before.
    HuntCrossley,
    /// That law where the twin was never taught, the twin where it was.
    Unsure,
}

/// Confidence of a law from which it is felt: its force at 1 to 3 mm is known to a factor of 2.
const KNOWN: f64 = 0.5;

/// Confidence of the twin at a place below which [`LocalModel::Unsure`] leaves it.
const UNSURE: f64 = 0.25;

/// A law with its surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surface {
    /// The law.
    pub law: Contact,
    /// Height at which it begins \[m\].
    pub height_m: f64,
}

/// What a law answers along its normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Felt {
    /// Force of its spring before correction \[N\].
    pub rest_n: f64,
    /// The factor of the correction on that.
    pub factor: f64,
    /// Force that is felt: corrected, and with its damping, which stores nothing and is not corrected \[N\].
    pub force_n: f64,
    /// Energy that the spring stores before correction \[J\].
    pub energy_j: f64,
    /// How well the law is known, 0 to 1.
    pub confidence: f64,
}

/// The twin where the handle is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Whether the handle touches it.
    pub touched: bool,
    /// How well it is known at this place, 0 to 1.
    pub confidence: f64,
}

/// The law that this touch is felt with, if it is, and what corrected it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Local {
    held: Option<Surface>,
    correction: Correction,
}

impl Local {
    /// What corrections of touches have cost.
    #[must_use]
    pub fn correction(&self) -> &Correction {
        &self.correction
    }

    /// Whether this touch is felt with the law, or the next one is if it begins now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// What the law answers to the handle; nothing if the twin is felt.
    #[must_use]
    pub fn felt(&self, handle: &Touch) -> Option<Felt> {
        let surface = self.held?;
        let rest_n = surface.press(handle).force_n.z;
        let factor = self.correction.factor(0.0, rest_n);
        Some(Felt {
            rest_n,
            factor,
            force_n: factor * rest_n + surface.damped_n(handle, factor * rest_n),
            energy_j: surface.stored_j(handle),
            confidence: surface.law.confidence,
        })
    }

    /// Follow what the robot has `met` for a tick. Between two touches, when the handle has left twin and law, it is
    /// chosen by which the next is felt.
    pub fn step(
        &mut self,
        params: &PredictParams,
        handle: &Touch,
        met: Option<Surface>,
        twin: Known,
        timing: Timing,
    ) {
        let above = |surface: &Surface| surface.depth_m(handle) <= 0.0;
        let touched = self.held.filter(|held| !above(held));
        let Some(held) = touched else {
            self.correction.end();
            // a touch ends with what it began with, and a surface of its own is no reason for a jump
            if !twin.touched {
                let wanted = match params.local {
                    LocalModel::Twin => false,
                    LocalModel::HuntCrossley => true,
                    LocalModel::Unsure => twin.confidence < UNSURE,
                };
                let sure = |surface: &Surface| surface.law.confidence > KNOWN && above(surface);
                self.held = met.filter(|surface| wanted && sure(surface));
            }
            return;
        };
        let felt = held.press(handle);
        let Some(now) = met.filter(|_| felt.force_n.norm() > 0.0) else {
            return;
        };
        let depth_m = held.depth_m(handle);
        let ratio = now.law.force_n(depth_m, 0.0) / held.law.force_n(depth_m, 0.0);
        let wanted = libm::log(ratio);
        if wanted.is_finite() {
            let goal = Goal {
                known: 0.0,
                wanted: wanted.clamp(-LOG_MAX, LOG_MAX),
            };
            self.correction.follow(params, &felt, goal, timing);
        }
    }
}

impl Surface {
    fn depth_m(&self, handle: &Touch) -> f64 {
        self.height_m - handle.position_m[2]
    }

    fn stored_j(&self, handle: &Touch) -> f64 {
        let depth_m = self.depth_m(handle);
        // the integral of k d^n
        self.law.force_n(depth_m, 0.0) * depth_m.max(0.0) / (self.law.exponent + 1.0)
    }

    /// Force of the law's damping \[N\]: at most `most_n`, which is felt without it, so that it never pulls.
    fn damped_n(&self, handle: &Touch, most_n: f64) -> f64 {
        let depth_m = self.depth_m(handle);
        let rest_n = self.law.force_n(depth_m, 0.0);
        let nspm = (self.law.force_n(depth_m, 0.01) - rest_n) / 0.01;
        // a damping below zero would give what nobody stored
        let damped_n = nspm.clamp(0.0, DAMPED_NSPM_MAX) * -handle.velocity_mps[2];
        if damped_n.is_finite() && most_n.is_finite() {
            damped_n.clamp(-most_n.abs(), most_n.abs())
        } else {
            0.0
        }
    }

    /// The law at rest.
    fn press(&self, handle: &Touch) -> Reaction {
        let depth_m = self.depth_m(handle);
        let rest_n = self.law.force_n(depth_m, 0.0);
        if !(rest_n.is_finite() && rest_n > 0.0) {
            return Reaction::default();
        }
        Reaction {
            force_n: Vec3::new(0.0, 0.0, rest_n),
            normal: Vec3::z(),
            stiffness_npm: self.law.stiffness_npm(depth_m),
            contacts: 1,
            ..Reaction::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        inward_mps: 0.0,
        dt_s: 1e-3,
    };

    fn twin(touched: bool, confidence: f64) -> Known {
        Known {
            touched,
            confidence,
        }
    }

    fn spring(npm: f64, confidence: f64) -> Surface {
        let law = Contact {
            stiffness: npm,
            damping: 0.0,
            exponent: 1.0,
            errors: [0.0; 3],
            confidence,
        };
        Surface {
            law,
            height_m: 0.008,
        }
    }

    fn at(depth_m: f64) -> Touch {
        Touch {
            position_m: [0.0, 0.0, 0.008 - depth_m, 0.02],
            velocity_mps: [0.0; 4],
            closed: false,
            instrument: palpate_twin::Instrument::Blunt,
        }
    }

    fn with(local: LocalModel) -> PredictParams {
        PredictParams {
            local,
            ..PredictParams::default()
        }
    }

    #[test]
    fn a_law_is_felt_from_the_next_touch_on_and_a_twin_where_it_is_sure() {
        let felt_n = |model: LocalModel, known: f64, confidence: f64| {
            let (params, mut local) = (with(model), Local::default());
            let met = Some(spring(300.0, confidence));
            // met in the middle of a touch of the twin: not felt in it
            local.step(&params, &at(0.002), met, twin(true, known), TIMING);
            assert!(local.felt(&at(0.002)).is_none());
            local.step(&params, &at(-0.001), met, twin(false, known), TIMING);
            local.step(&params, &at(0.002), met, twin(true, known), TIMING);
            let felt = local.felt(&at(0.002));
            felt.map(|felt| {
                assert!((felt.energy_j - 0.5 * 300.0 * 4e-6).abs() < 1e-12);
                felt.force_n
            })
        };
        let near = |felt: Option<f64>| felt.is_some_and(|n| (n - 0.6).abs() < 1e-9);
        assert_eq!(felt_n(LocalModel::Twin, 0.0, 1.0), None);
        assert!(near(felt_n(LocalModel::HuntCrossley, 1.0, 1.0)));
        assert_eq!(felt_n(LocalModel::HuntCrossley, 0.0, 0.1), None);
        assert!(near(felt_n(LocalModel::Unsure, 0.1, 1.0)));
        assert_eq!(felt_n(LocalModel::Unsure, 0.9, 1.0), None);
    }

    #[test]
    fn a_law_that_changes_under_the_hand_costs_what_a_correction_may() {
        let (params, mut local) = (with(LocalModel::HuntCrossley), Local::default());
        let handle = at(0.004);
        local.step(
            &params,
            &at(-0.001),
            Some(spring(300.0, 1.0)),
            twin(false, 0.0),
            TIMING,
        );
        let mut last_n = 1.2;
        for npm in [300.0, 900.0, 150.0] {
            for _ in 0..4000 {
                local.step(
                    &params,
                    &handle,
                    Some(spring(npm, 1.0)),
                    twin(true, 0.0),
                    TIMING,
                );
                let now_n = local.felt(&handle).expect("held").force_n;
                assert!(now_n <= last_n + 1e-9 && now_n > last_n * 0.9993);
                assert!(local.correction().energy_j() <= 0.0);
                last_n = now_n;
            }
        }
        assert!((last_n - 0.6).abs() < 1e-3, "{last_n}");
    }

    /// The force of a damper was taken for one that a spring stores, and the tank of a touch held energy that no
    /// hand had put in; and a law that had become nonsense was followed to any factor.
    #[test]
    fn issue_damping_was_corrected_as_a_stored_force() {
        let cost_j = |down_mps: f64, damping: f64, npm: f64| {
            let damped = |npm: f64| {
                let mut surface = spring(npm, 1.0);
                surface.law.damping = damping;
                Some(surface)
            };
            let (params, mut local) = (with(LocalModel::HuntCrossley), Local::default());
            local.step(
                &params,
                &at(-0.001),
                damped(300.0),
                twin(false, 0.0),
                TIMING,
            );
            let mut handle = at(0.004);
            handle.velocity_mps[2] = -down_mps;
            for _ in 0..4000 {
                local.step(&params, &handle, damped(npm), twin(true, 0.0), TIMING);
            }
            let felt = local.felt(&handle).expect("held");
            assert!(felt.factor >= 0.0 && felt.force_n >= 0.0);
            (
                local.correction().energy_j(),
                felt.force_n - felt.factor * felt.rest_n,
            )
        };
        let (still_j, none_n) = cost_j(0.0, 200.0, 900.0);
        let (moving_j, damped_n) = cost_j(0.02, 200.0, 900.0);
        assert!(still_j < 0.0 && none_n == 0.0);
        assert_eq!(moving_j, still_j);
        assert!(damped_n > 0.01, "{damped_n}");
        // 20 times is as far as a law is believed
        assert_eq!(
            cost_j(0.0, 200.0, 300.0 * 30.0),
            cost_j(0.0, 200.0, 300.0 * 300.0)
        );
    }

    #[test]
    fn no_number_gives_no_force() {
        let (params, mut local) = (with(LocalModel::HuntCrossley), Local::default());
        local.step(
            &params,
            &at(-0.001),
            Some(spring(300.0, 1.0)),
            twin(false, 0.0),
            TIMING,
        );
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut handle = at(bad);
            handle.velocity_mps[2] = bad;
            if let Some(felt) = local.felt(&handle) {
                assert!(felt.force_n.is_finite(), "{bad}");
            }
        }
    }
}
