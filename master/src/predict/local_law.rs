//! Local law: the estimated contact law of the robot, rendered instead of the twin (teleop E15).
//!
//! `ContactEstimator` fits one Hunt-Crossley law to the robot's contact. Here the handle touches that law
//! at 1 kHz: a flat, level surface at the height of the robot's last first contact, and a force along
//! its normal. It needs no scene, but it does not depend on the place either: it is the law at the robot's last
//! place.
//! A touch uses the law from its beginning. Later estimates are applied by
//! the same `Correction` as any other, so that their energy stays within E16, and the port's energy tank pays for
//! the force as for every force. Its damping is the estimated one, within the limit of a handle. Ours.

use palpate_twin::{Reaction, Vec3};
use serde::{Deserialize, Serialize};

use super::correction::{Correction, CorrectionGoal, InwardMotion};
use super::hunt_crossley::ContactEstimate;
use super::params::PredictParams;
use super::place_fit::LOG_FACTOR_MAX;
use super::{LEARNT_DAMPING_NSPM_MAX, ToolState};

/// Model that the hand feels at 1 kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalModel {
    /// The twin, with its corrections.
    #[default]
    Twin,
    /// The estimated law, as soon as its confidence suffices; the twin before.
    HuntCrossley,
    /// That law where the twin was never corrected, the twin elsewhere.
    Unsure,
}

/// Confidence of a law above which it is rendered: its force at 1 to 3 mm is certain to a factor of 2.
const LAW_CONFIDENCE_MIN: f64 = 0.5;

/// Confidence of the twin at a place below which [`LocalModel::Unsure`] uses the law.
const TWIN_CONFIDENCE_MIN: f64 = 0.25;

/// A law with its surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EstimatedSurface {
    /// The law.
    pub law: ContactEstimate,
    /// Height at which it begins \[m\].
    pub height_m: f64,
}

/// Reaction of a law along its normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LawReaction {
    /// Force of its spring before correction \[N\].
    pub spring_n: f64,
    /// Factor of the correction on that force.
    pub factor: f64,
    /// Rendered force: corrected, plus its damping, which stores nothing and is not corrected \[N\].
    pub force_n: f64,
    /// Energy that the spring stores before correction \[J\].
    pub energy_j: f64,
    /// Confidence of the law, 0 to 1.
    pub confidence: f64,
}

/// Contact of the handle with the twin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TwinContact {
    /// True if the handle touches it.
    pub in_contact: bool,
    /// Confidence of the twin at this place, 0 to 1.
    pub confidence: f64,
}

/// Law of the present touch, if one is rendered, and its correction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LocalLaw {
    active_surface: Option<EstimatedSurface>,
    correction: Correction,
}

impl LocalLaw {
    /// Energy and size of the corrections during touches.
    #[must_use]
    pub(crate) fn correction(&self) -> &Correction {
        &self.correction
    }

    /// True if the law is rendered in this touch, or in the next one if it begins now.
    #[must_use]
    pub(crate) fn is_active(&self) -> bool {
        self.active_surface.is_some()
    }

    /// Reaction of the law to the handle; none if the twin is rendered.
    #[must_use]
    pub(crate) fn reaction(&self, handle: &ToolState) -> Option<LawReaction> {
        let surface = self.active_surface?;
        let rest_n = surface.spring_reaction(handle).force_n.z;
        let factor = self.correction.factor(0.0, rest_n);
        Some(LawReaction {
            spring_n: rest_n,
            factor,
            force_n: factor * rest_n + surface.damping_n(handle, factor * rest_n),
            energy_j: surface.stored_j(handle),
            confidence: surface.law.confidence,
        })
    }

    /// Follows the `estimated` surface for a tick. Between two touches, when the handle has left twin and law, it
    /// selects the model of the next touch.
    pub(crate) fn step(
        &mut self,
        params: &PredictParams,
        handle: &ToolState,
        estimated: Option<EstimatedSurface>,
        twin: TwinContact,
        timing: InwardMotion,
    ) {
        let above = |surface: &EstimatedSurface| surface.depth_m(handle) <= 0.0;
        let touched = self.active_surface.filter(|active| !above(active));
        let Some(active) = touched else {
            self.correction.end();
            // a touch ends with the model of its beginning, and a new surface must not cause a jump
            if !twin.in_contact {
                let wanted = match params.local {
                    LocalModel::Twin => false,
                    LocalModel::HuntCrossley => true,
                    LocalModel::Unsure => twin.confidence < TWIN_CONFIDENCE_MIN,
                };
                let confident = |surface: &EstimatedSurface| {
                    surface.law.confidence > LAW_CONFIDENCE_MIN && above(surface)
                };
                self.active_surface = estimated.filter(|surface| wanted && confident(surface));
            }
            return;
        };
        let reaction = active.spring_reaction(handle);
        let Some(present) = estimated.filter(|_| reaction.force_n.norm() > 0.0) else {
            return;
        };
        let depth_m = active.depth_m(handle);
        let ratio = present.law.force_n(depth_m, 0.0) / active.law.force_n(depth_m, 0.0);
        let wanted = libm::log(ratio);
        if wanted.is_finite() {
            let goal = CorrectionGoal {
                initial_log: 0.0,
                target_log: wanted.clamp(-LOG_FACTOR_MAX, LOG_FACTOR_MAX),
                soften_per_s_max: params.soften_per_s_max,
            };
            self.correction.follow(params, &reaction, goal, timing);
        }
    }
}

impl EstimatedSurface {
    fn depth_m(&self, handle: &ToolState) -> f64 {
        self.height_m - handle.position_m[2]
    }

    fn stored_j(&self, handle: &ToolState) -> f64 {
        let depth_m = self.depth_m(handle);
        // the integral of k d^n
        self.law.force_n(depth_m, 0.0) * depth_m.max(0.0) / (self.law.exponent + 1.0)
    }

    /// Force of the law's damping \[N\]: at most the rendered static force `force_n_max`, so that it never pulls.
    fn damping_n(&self, handle: &ToolState, force_n_max: f64) -> f64 {
        let depth_m = self.depth_m(handle);
        let rest_n = self.law.force_n(depth_m, 0.0);
        let nspm = (self.law.force_n(depth_m, 0.01) - rest_n) / 0.01;
        // a negative damping would return energy that was never stored
        let damped_n = nspm.clamp(0.0, LEARNT_DAMPING_NSPM_MAX) * -handle.velocity_mps[2];
        if damped_n.is_finite() && force_n_max.is_finite() {
            damped_n.clamp(-force_n_max.abs(), force_n_max.abs())
        } else {
            0.0
        }
    }

    /// Static reaction of the law.
    fn spring_reaction(&self, handle: &ToolState) -> Reaction {
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

    const TIMING: InwardMotion = InwardMotion {
        inward_mps: 0.0,
        dt_s: 1e-3,
    };

    fn twin(touched: bool, confidence: f64) -> TwinContact {
        TwinContact {
            in_contact: touched,
            confidence,
        }
    }

    fn spring(npm: f64, confidence: f64) -> EstimatedSurface {
        let law = ContactEstimate {
            stiffness: npm,
            damping: 0.0,
            exponent: 1.0,
            errors: [0.0; 3],
            confidence,
        };
        EstimatedSurface {
            law,
            height_m: 0.008,
        }
    }

    fn at(depth_m: f64) -> ToolState {
        ToolState {
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
    fn law_is_rendered_from_next_touch_unless_twin_is_confident() {
        let rendered_n = |model: LocalModel, twin_confidence: f64, confidence: f64| {
            let (params, mut local) = (with(model), LocalLaw::default());
            let estimated = Some(spring(300.0, confidence));
            // estimated during a touch of the twin: not rendered in it
            local.step(
                &params,
                &at(0.002),
                estimated,
                twin(true, twin_confidence),
                TIMING,
            );
            assert!(local.reaction(&at(0.002)).is_none());
            local.step(
                &params,
                &at(-0.001),
                estimated,
                twin(false, twin_confidence),
                TIMING,
            );
            local.step(
                &params,
                &at(0.002),
                estimated,
                twin(true, twin_confidence),
                TIMING,
            );
            let reaction = local.reaction(&at(0.002));
            reaction.map(|reaction| {
                assert!((reaction.energy_j - 0.5 * 300.0 * 4e-6).abs() < 1e-12);
                reaction.force_n
            })
        };
        let near = |reaction: Option<f64>| reaction.is_some_and(|n| (n - 0.6).abs() < 1e-9);
        assert_eq!(rendered_n(LocalModel::Twin, 0.0, 1.0), None);
        assert!(near(rendered_n(LocalModel::HuntCrossley, 1.0, 1.0)));
        assert_eq!(rendered_n(LocalModel::HuntCrossley, 0.0, 0.1), None);
        assert!(near(rendered_n(LocalModel::Unsure, 0.1, 1.0)));
        assert_eq!(rendered_n(LocalModel::Unsure, 0.9, 1.0), None);
    }

    #[test]
    fn law_change_in_contact_stays_within_correction_energy() {
        let (params, mut local) = (with(LocalModel::HuntCrossley), LocalLaw::default());
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
                let now_n = local.reaction(&handle).expect("held").force_n;
                assert!(now_n <= last_n + 1e-9 && now_n > last_n * 0.9993);
                assert!(local.correction().energy_j() <= 0.0);
                last_n = now_n;
            }
        }
        assert!((last_n - 0.6).abs() < 1e-3, "{last_n}");
    }

    /// The damping force counted as that of a spring, so the tank of a touch held energy that no
    /// hand had put in; and an invalid law was followed to any factor.
    #[test]
    fn issue_damping_was_corrected_as_stored_force() {
        let cost_j = |down_mps: f64, damping: f64, npm: f64| {
            let damped = |npm: f64| {
                let mut surface = spring(npm, 1.0);
                surface.law.damping = damping;
                Some(surface)
            };
            let (params, mut local) = (with(LocalModel::HuntCrossley), LocalLaw::default());
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
            let reaction = local.reaction(&handle).expect("held");
            assert!(reaction.factor >= 0.0 && reaction.force_n >= 0.0);
            (
                local.correction().energy_j(),
                reaction.force_n - reaction.factor * reaction.spring_n,
            )
        };
        let (still_j, none_n) = cost_j(0.0, 200.0, 900.0);
        let (moving_j, damped_n) = cost_j(0.02, 200.0, 900.0);
        assert!(still_j < 0.0 && none_n == 0.0);
        assert_eq!(moving_j, still_j);
        assert!(damped_n > 0.01, "{damped_n}");
        // the factor is limited to 20
        assert_eq!(
            cost_j(0.0, 200.0, 300.0 * 30.0),
            cost_j(0.0, 200.0, 300.0 * 300.0)
        );
    }

    #[test]
    fn invalid_motion_yields_finite_force() {
        let (params, mut local) = (with(LocalModel::HuntCrossley), LocalLaw::default());
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
            if let Some(reaction) = local.reaction(&handle) {
                assert!(reaction.force_n.is_finite(), "{bad}");
            }
        }
    }
}
