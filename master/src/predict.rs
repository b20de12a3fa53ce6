//! The twin at the handle: what is felt now, and how it learns from what was felt remotely.
//!
//! Two instances of one tissue model run side by side. The *twin* is touched by the handle and
//! gives the force at once. The *shadow* is touched where the robot reports to have been, so its
//! force and the measured one belong to the same motion, whatever the delay was; their ratio is the
//! twin's error, free of any assumption about the network (ours; compare Sette 2011, teleop
//! section 2). From it follow a slow correction of the force, and updates of the local stiffness
//! that are made passively inside the tissue (teleop E16).
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | e | `ln(measured / predicted)` of the normal force | - |
//! | c | low-passed, slew-limited relative correction | - |

use palpate_transport::Axes;
use palpate_twin::{Edit, Jaws, Reaction, Tissue, Tool, Vec3};
use serde::{Deserialize, Serialize};

/// Parameters of prediction and learning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictParams {
    /// Radius of the tool's sphere \[m\].
    pub tool_radius_m: f64,
    /// Stiffness of the tool's boundary \[N/m\].
    pub tool_stiffness_npm: f64,
    /// Whether the twin's stiffness is updated.
    pub update: bool,
    /// Rate of the update: how fast `e` is taken into the model \[1/s\].
    pub update_hz: f64,
    /// Radius around the contact that an update changes \[m\].
    pub update_radius_m: f64,
    /// Ticks between two updates.
    pub update_ticks: u32,
    /// Fastest fall of stiffness by updates \[1/s\]; with the correction's slew 7 % of the force in
    /// 100 ms, which nobody should feel (teleop section 4).
    pub soften_hz_max: f64,
    /// Fastest rise of stiffness by updates \[1/s\]; a rise keeps the force, so it may be faster.
    pub stiffen_hz_max: f64,
    /// Force below which nothing is learnt \[N\].
    pub force_n_min: f64,
    /// Probe speed above which nothing is learnt, because damping is not stiffness \[m/s\].
    pub speed_mps_max: f64,
    /// Gain of the delayed correction, 0 to 1.
    pub correction_gain: f64,
    /// Cut-off of the delayed correction \[Hz\].
    pub correction_hz: f64,
    /// Fastest change of the correction, as a fraction of the force \[1/s\].
    pub correction_slew_hz: f64,
}

impl Default for PredictParams {
    fn default() -> Self {
        Self {
            tool_radius_m: 0.008,
            tool_stiffness_npm: 3000.0,
            update: true,
            update_hz: 15.0,
            update_radius_m: 0.022,
            update_ticks: 20,
            soften_hz_max: 0.35,
            stiffen_hz_max: 6.0,
            force_n_min: 0.15,
            speed_mps_max: 0.08,
            correction_gain: 0.5,
            correction_hz: 1.0,
            correction_slew_hz: 0.35,
        }
    }
}

/// A prediction parameter that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("master.predict.{field} is {value}; expected {low} to {high}")]
pub struct PredictError {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// Smallest value that would be right.
    pub low: f64,
    /// Largest value that would be right.
    pub high: f64,
}

impl PredictParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`PredictError`] names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), PredictError> {
        let rows = [
            ("tool_radius_m", self.tool_radius_m, 1e-4, 0.1),
            ("tool_stiffness_npm", self.tool_stiffness_npm, 1.0, 1e5),
            ("update_hz", self.update_hz, 0.0, 50.0),
            ("update_radius_m", self.update_radius_m, 1e-3, 0.5),
            ("update_ticks", f64::from(self.update_ticks), 1.0, 1e3),
            ("soften_hz_max", self.soften_hz_max, 0.0, 10.0),
            ("stiffen_hz_max", self.stiffen_hz_max, 0.0, 20.0),
            ("force_n_min", self.force_n_min, 0.01, 10.0),
            ("speed_mps_max", self.speed_mps_max, 0.0, 1.0),
            ("correction_gain", self.correction_gain, 0.0, 1.0),
            ("correction_hz", self.correction_hz, 0.01, 20.0),
            ("correction_slew_hz", self.correction_slew_hz, 0.0, 10.0),
        ];
        for (field, value, low, high) in rows {
            if !(low..=high).contains(&value) {
                return Err(PredictError {
                    field,
                    value,
                    low,
                    high,
                });
            }
        }
        Ok(())
    }
}

/// A tool's motion at one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Position x, y, z and opening \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Whether the jaws are closed.
    pub closed: bool,
}

/// What the remote side reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remote {
    /// Where the probe was.
    pub touch: Touch,
    /// Force of the tissue on the probe, if it is known \[N\].
    pub contact_force_n: Option<Axes>,
}

/// What the twin says in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prediction {
    /// Force of the twin's tissue on the tool \[N\].
    pub twin_force_n: Axes,
    /// The same with the delayed correction \[N\].
    pub force_n: Axes,
    /// Energy stored in the twin \[J\].
    pub energy_j: f64,
    /// Energy that updates have put into the twin, cumulative \[J\]; negative is taken out.
    pub update_energy_j: f64,
    /// Relative changes that corrections and softening updates made to the force, their sizes summed
    /// since the start; a stiffening keeps the force and adds nothing.
    pub corrected: f64,
    /// Whether the model was updated in this tick.
    pub updated: bool,
    /// Whether the twin was asked and not stepped.
    pub masked: bool,
}

impl Prediction {
    /// Energy that the twin may give back along one axis \[J\]: its store, divided as the squares
    /// of the force divide.
    #[must_use]
    pub fn stored_j(&self, axis: usize) -> f64 {
        let squares = self.force_n.map(|force| force * force);
        let sum: f64 = squares.iter().sum();
        if sum > 0.0 {
            self.energy_j * squares[axis] / sum
        } else {
            0.0
        }
    }
}

/// The twin, its shadow, and what was learnt.
pub struct Predictor {
    twin: Box<dyn Tissue>,
    shadow: Box<dyn Tissue>,
    /// Whether both take updates, and whether a stiffening keeps the force.
    learns: bool,
    keeps_force: bool,
    correction: f64,
    corrected: f64,
    error: f64,
    since_update: u32,
    since_update_s: f64,
    /// Whether the last tick asked the twin and did not step it.
    asked: bool,
}

impl Predictor {
    /// From two instances of the same tissue model, both at rest.
    #[must_use]
    pub fn new(twin: Box<dyn Tissue>, shadow: Box<dyn Tissue>) -> Self {
        let caps = [twin.caps(), shadow.caps()];
        Self {
            twin,
            shadow,
            learns: caps.iter().all(|caps| caps.stiffness_edits),
            keeps_force: caps.iter().all(|caps| caps.edits_keep_force),
            correction: 0.0,
            corrected: 0.0,
            error: 0.0,
            since_update: 0,
            since_update_s: 0.0,
            asked: false,
        }
    }

    /// The tissue at the handle, for drawing and reports.
    #[must_use]
    pub fn twin(&self) -> &dyn Tissue {
        self.twin.as_ref()
    }

    /// Advance by one tick: touch the twin with the handle, the shadow with the probe.
    pub fn step(
        &mut self,
        params: &PredictParams,
        handle: &Touch,
        remote: Option<&Remote>,
        dt_s: f64,
    ) -> Prediction {
        // a tissue is moved by positions: after missed ticks it needs no longer step, which might
        // be more than its stability allows
        let step_s = dt_s.min(TISSUE_STEP_S_MAX);
        let felt = touch(self.twin.as_mut(), params, handle, step_s);
        self.asked = false;
        let updated = match remote {
            Some(remote) => self.learn(params, remote, dt_s),
            None => {
                self.correct(params, None, dt_s);
                false
            }
        };
        Prediction {
            updated,
            ..self.prediction(&felt)
        }
    }

    /// What the twin would say now, for a tick that is too late to step it: no time passes for twin,
    /// shadow and correction, and nothing is learnt. The next tick steps as usual.
    pub fn ask(&mut self, params: &PredictParams, handle: &Touch) -> Prediction {
        let felt = touch(self.twin.as_mut(), params, handle, 0.0);
        self.asked = true;
        Prediction {
            masked: true,
            ..self.prediction(&felt)
        }
    }

    /// Whether a late tick may ask: never two in a row, or a machine that is always late would never
    /// step its twin.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        !self.asked
    }

    fn prediction(&self, felt: &Reaction) -> Prediction {
        let ledger = self.twin.view().ledger;
        let twin_force_n = axes(felt);
        let scale = 1.0 + self.correction;
        let [x, y, z, grip] = twin_force_n;
        Prediction {
            twin_force_n,
            force_n: [x * scale, y * scale, z * scale, grip],
            energy_j: ledger.stored_j(),
            update_energy_j: ledger.edit_j,
            corrected: self.corrected,
            updated: false,
            masked: false,
        }
    }

    /// Compare the shadow with what was measured; correct, and now and then update both models.
    fn learn(&mut self, params: &PredictParams, remote: &Remote, dt_s: f64) -> bool {
        let step_s = dt_s.min(TISSUE_STEP_S_MAX);
        let expected = touch(self.shadow.as_mut(), params, &remote.touch, step_s);
        let error = relative_error(params, &expected, remote);
        self.correct(params, error, dt_s);
        self.since_update += 1;
        self.since_update_s += dt_s;
        self.error += error.unwrap_or(0.0);
        if self.since_update < params.update_ticks {
            return false;
        }
        let mean = self.error / f64::from(self.since_update);
        let period_s = core::mem::take(&mut self.since_update_s);
        self.since_update = 0;
        self.error = 0.0;
        params.update && mean.abs() > LEARNT && self.update(params, remote, mean, period_s)
    }

    /// Let the relative correction follow the error, slowly and within its slew limit.
    fn correct(&mut self, params: &PredictParams, error: Option<f64>, dt_s: f64) {
        let target = error.map_or(0.0, |e| params.correction_gain * libm::expm1(e));
        let pull = (TWO_PI * params.correction_hz * dt_s).min(1.0) * (target - self.correction);
        let slew = params.correction_slew_hz * dt_s;
        let moved = self.correction + pull.clamp(-slew, slew);
        let corrected = moved.clamp(-CORRECTION_MAX, CORRECTION_MAX);
        self.corrected += (corrected - self.correction).abs() / (1.0 + self.correction);
        self.correction = corrected;
    }

    /// Change the stiffness under the probe in the twin and in its shadow.
    fn update(
        &mut self,
        params: &PredictParams,
        remote: &Remote,
        mean: f64,
        period_s: f64,
    ) -> bool {
        // a stiffening that is felt at once may go no faster than a softening
        let rise_hz = if self.keeps_force {
            params.stiffen_hz_max
        } else {
            params.soften_hz_max
        };
        let step = (params.update_hz * mean * period_s)
            .clamp(-params.soften_hz_max * period_s, rise_hz * period_s);
        let [x, y, _, _] = remote.touch.position_m;
        let done = self.edit_both(|factor, passive| Edit::Stiffen {
            center_m: Vec3::new(x, y, 0.0),
            radius_m: params.update_radius_m,
            factor: 1.0 + factor * libm::expm1(step),
            passive,
        });
        if done > 0.0 && (step < 0.0 || !self.keeps_force) {
            self.corrected += done * step.abs();
        }
        done > 0.0
    }

    /// Changes the twin passively and its shadow, which must predict what the changed tissue would do,
    /// by the share of it that the twin could pay; gives that share.
    fn edit_both(&mut self, edit: impl Fn(f64, bool) -> Edit) -> f64 {
        if !self.learns {
            return 0.0;
        }
        let Ok(report) = self.twin.edit(&edit(1.0, true)) else {
            return 0.0;
        };
        // of the same model and with the same numbers, so it takes what the twin took
        let taken = self.shadow.edit(&edit(report.share, false));
        debug_assert!(taken.is_ok(), "a shadow unlike its twin: {taken:?}");
        report.share
    }
}

/// Longest step of a tissue \[s\]: just above the tick period that its scene was checked for.
const TISSUE_STEP_S_MAX: f64 = 1.001e-3;

const TWO_PI: f64 = std::f64::consts::TAU;

/// Errors below this are taken as noise: 10 mN of sensor noise on 1 N.
const LEARNT: f64 = 0.005;

/// Largest relative correction: beyond it only a model update may change the force.
const CORRECTION_MAX: f64 = 0.3;

/// Touch a tissue with a tool for one tick.
fn touch(tissue: &mut dyn Tissue, params: &PredictParams, touch: &Touch, dt_s: f64) -> Reaction {
    let [x, y, z, opening_m] = touch.position_m;
    let [vx, vy, vz, opening_velocity_mps] = touch.velocity_mps;
    let tool = Tool {
        position_m: Vec3::new(x, y, z),
        velocity_mps: Vec3::new(vx, vy, vz),
        radius_m: params.tool_radius_m,
        stiffness_npm: params.tool_stiffness_npm,
        shaft_m: Vec3::zeros(),
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps,
            closed: touch.closed,
        }),
    };
    let mut reactions = [Reaction::default()];
    tissue.step(&[tool], dt_s, &mut reactions);
    reactions[0]
}

/// A reaction as four port axes \[N\].
fn axes(reaction: &Reaction) -> Axes {
    let force = reaction.force_n;
    [force.x, force.y, force.z, reaction.grip_n]
}

/// `ln(measured / expected)` of the normal force, if both say enough to compare.
fn relative_error(params: &PredictParams, expected: &Reaction, remote: &Remote) -> Option<f64> {
    let measured = remote.contact_force_n?;
    if remote.touch.closed || expected.contacts == 0 {
        return None;
    }
    let [mx, my, mz, _] = measured;
    let [vx, vy, vz, _] = remote.touch.velocity_mps;
    let felt = Vec3::new(mx, my, mz).dot(&expected.normal);
    let predicted = expected.force_n.dot(&expected.normal);
    let speed = Vec3::new(vx, vy, vz).norm();
    let enough = felt > params.force_n_min && predicted > params.force_n_min;
    (enough && speed < params.speed_mps_max)
        .then(|| libm::log(felt / predicted).clamp(-ERROR_MAX, ERROR_MAX))
}

/// Largest error that one sample may claim, a factor of e.
const ERROR_MAX: f64 = 1.0;

#[cfg(test)]
mod tests {
    use palpate_transport::AXES;
    use palpate_twin::Snapshot;

    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(PredictParams::default().validate(), Ok(()));
        let bad = PredictParams {
            update_ticks: 0,
            ..PredictParams::default()
        };
        assert_eq!(bad.validate().expect_err("zero").field, "update_ticks");
        let bad = PredictParams {
            correction_gain: f64::NAN,
            ..PredictParams::default()
        };
        assert!(bad.validate().expect_err("nan").to_string().contains("NaN"));
    }

    /// A real tissue that may say that it takes no edits.
    struct Stubborn {
        tissue: Box<dyn Tissue>,
        refuses: bool,
    }

    impl Tissue for Stubborn {
        fn caps(&self) -> palpate_twin::Caps {
            let caps = self.tissue.caps();
            palpate_twin::Caps {
                stiffness_edits: caps.stiffness_edits && !self.refuses,
                ..caps
            }
        }
        fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
            self.tissue.step(tools, dt_s, reactions);
        }
        fn edit(
            &mut self,
            edit: &Edit,
        ) -> Result<palpate_twin::EditReport, palpate_twin::EditError> {
            if self.refuses {
                return Err(palpate_twin::EditError::Kind("stiffen"));
            }
            self.tissue.edit(edit)
        }
        fn view(&self) -> palpate_twin::View<'_> {
            self.tissue.view()
        }
        fn freeze(&self, snapshot: &mut Snapshot) {
            self.tissue.freeze(snapshot);
        }
        fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), palpate_twin::ThawError> {
            self.tissue.thaw(snapshot)
        }
    }

    #[test]
    fn issue_a_twin_that_refused_an_update_left_its_shadow_changed() {
        let build = |refuses| {
            let scene = palpate_twin::scene::load("sheet").expect("built in");
            let tissue = scene.build().expect("built in");
            Box::new(Stubborn { tissue, refuses }) as Box<dyn Tissue>
        };
        let state = |tissue: &dyn Tissue| {
            let mut snapshot = Snapshot::default();
            tissue.freeze(&mut snapshot);
            snapshot
        };
        for (twin_refuses, shadow_refuses) in [(false, false), (true, false), (false, true)] {
            let mut predictor = Predictor::new(build(twin_refuses), build(shadow_refuses));
            let before = [
                state(predictor.twin.as_ref()),
                state(predictor.shadow.as_ref()),
            ];
            let done = predictor.edit_both(|share, passive| Edit::Stiffen {
                center_m: Vec3::zeros(),
                radius_m: 0.02,
                factor: 1.0 + 0.5 * share,
                passive,
            });
            let taken = done > 0.0;
            assert_eq!(taken, !twin_refuses && !shadow_refuses);
            let after = [
                state(predictor.twin.as_ref()),
                state(predictor.shadow.as_ref()),
            ];
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(before == after, !taken);
            }
        }
    }

    #[test]
    fn unknown_force_teaches_nothing() {
        let expected = Reaction {
            contacts: 1,
            normal: Vec3::z(),
            ..Reaction::default()
        };
        let touch = Touch {
            position_m: [0.0; AXES],
            velocity_mps: [0.0; AXES],
            closed: false,
        };
        let remote = Remote {
            touch,
            contact_force_n: None,
        };
        assert_eq!(
            relative_error(&PredictParams::default(), &expected, &remote),
            None
        );
        let twice = Reaction {
            force_n: Vec3::new(0.0, 0.0, 1.0),
            ..expected
        };
        let felt = Remote {
            contact_force_n: Some([0.0, 0.0, 2.0, 0.0]),
            ..remote
        };
        let error = relative_error(&PredictParams::default(), &twice, &felt).expect("known");
        assert!((error - std::f64::consts::LN_2).abs() < 1e-12);
    }
}
