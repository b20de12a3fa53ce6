//! Scripts of a simulated operator: intended motion as a pure function of time.
//!
//! Three scripts: the sine palpation of teleop RP-1, a palpation of a patch ([`super::palpation`]), and the steps
//! of a procedure ([`super::procedure`]). A script depends neither on the device nor on the tissue.

use core::f64::consts::PI;

use palpate_transport::{Axes, FieldError, params};
use palpate_twin::Instrument;
use serde::{Deserialize, Serialize};

use super::Revisions;
use super::minimum_jerk::MinimumJerkPath;
use super::palpation::PalpationParams;
use super::procedure::ProcedureParams;

/// Opening of the tweezers without a pinch \[m\] (ours).
pub(crate) const OPEN_M: f64 = 0.020;

/// Intent of the operator at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Intent {
    /// Intended position of the tool centre and opening \[m\], world frame.
    pub position_m: Axes,
    /// Time derivative of the position \[m/s\].
    pub velocity_mps: Axes,
    /// True if the tweezers shall be closed.
    pub closed: bool,
    /// Intended instrument.
    pub instrument: Instrument,
    /// Undo and redo requests.
    pub revisions: Revisions,
    /// Phase: 0 approach (and all of a sine), 1 to 9 press, 10 travel, 11 stroke, 12 pinch,
    /// 13 retreat and after; step k of a procedure is 100 + k, from 0.
    pub phase: u16,
}

impl Intent {
    /// Instrument of a hand that is present; a released tool is blunt.
    pub(crate) fn instrument_if(&self, present: bool) -> Instrument {
        if present {
            self.instrument
        } else {
            Instrument::Blunt
        }
    }
}

/// Leap of a simulated hand: all its later intended positions are displaced.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandLeap {
    /// Time since the start of the session \[s\].
    pub at_s: f64,
    /// Displacement: x, y, z \[m\].
    pub by_m: [f64; 3],
}

/// Kind of script, with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScriptParams {
    /// Palpation of teleop RP-1 along z.
    Sine(SineParams),
    /// Palpation of a patch.
    Palpation(PalpationParams),
    /// Steps with any instrument.
    Procedure(ProcedureParams),
}

impl Default for ScriptParams {
    fn default() -> Self {
        Self::Palpation(PalpationParams::default())
    }
}

impl ScriptParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        match self {
            Self::Sine(sine) => sine.validate(),
            Self::Palpation(palpation) => palpation.validate(),
            Self::Procedure(procedure) => procedure.validate(),
        }
    }

    /// Position at the start of the script \[m\].
    #[must_use]
    pub fn start_m(&self) -> Axes {
        match self {
            Self::Sine(_) => [0.0, 0.0, 0.0, OPEN_M],
            Self::Palpation(palpation) => palpation.start_m(),
            Self::Procedure(procedure) => procedure.start_m(),
        }
    }
}

params! {
    /// z = -A/2 (1 - cos 2 pi f t), so 0 to A toward the wall (teleop RP-1).
    #[derive(Copy)]
    pub struct SineParams: "script." {
        /// Depth A of the palpation \[m\].
        pub amplitude_m: f64 = 0.025 => (0.0..=0.1),
        /// Frequency f \[Hz\]: 0.7 dynamic, 0.1 quasi-static.
        pub hz: f64 = 0.7 => (0.0..=20.0),
    }
}

/// Script, ready for evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OperatorScript {
    /// Palpation of teleop RP-1 along z.
    Sine(SineParams),
    /// Palpation of a patch, or steps.
    MinimumJerk(MinimumJerkPath),
}

impl OperatorScript {
    /// Lays the script out; a palpation fills `duration_s` \[s\], and the seed draws its variation. A procedure
    /// has its own duration.
    #[must_use]
    pub(crate) fn new(params: &ScriptParams, duration_s: f64, seed: u64) -> Self {
        match params {
            ScriptParams::Sine(sine) => Self::Sine(*sine),
            ScriptParams::Palpation(palpation) => {
                Self::MinimumJerk(palpation.to_path(duration_s, seed))
            }
            ScriptParams::Procedure(procedure) => Self::MinimumJerk(procedure.to_path()),
        }
    }

    /// Intent of the operator at `elapsed_s` \[s\] from the start; not-a-number counts as 0.
    #[must_use]
    pub(crate) fn intent(&self, elapsed_s: f64) -> Intent {
        let elapsed_s = elapsed_s.max(0.0);
        match self {
            Self::Sine(sine) => sine_intent(sine, elapsed_s),
            Self::MinimumJerk(path) => path.intent(elapsed_s),
        }
    }
}

fn sine_intent(sine: &SineParams, elapsed_s: f64) -> Intent {
    let turns = sine.hz * elapsed_s;
    let (sin, cos) = libm::sincos(2.0 * PI * (turns - turns.floor()));
    let half_m = 0.5 * sine.amplitude_m;
    Intent {
        position_m: [0.0, 0.0, -half_m * (1.0 - cos), OPEN_M],
        velocity_mps: [0.0, 0.0, -half_m * 2.0 * PI * sine.hz * sin, 0.0],
        closed: false,
        phase: 0,
        ..Intent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_moves_from_rest_to_full_depth_and_back() {
        let script = OperatorScript::new(&ScriptParams::Sine(SineParams::default()), 20.0, 0);
        let depth_m = |turns: f64| script.intent(turns / 0.7).position_m[2];
        assert_eq!(depth_m(0.0), 0.0);
        assert!((depth_m(0.5) + 0.025).abs() < 1e-12);
        assert!((depth_m(0.25) + 0.0125).abs() < 1e-12);
        assert!(depth_m(1.0).abs() < 1e-12);
    }

    #[test]
    fn velocity_is_the_slope_of_position() {
        for params in [
            ScriptParams::Sine(SineParams::default()),
            ScriptParams::default(),
        ] {
            let script = OperatorScript::new(&params, 20.0, 3);
            for step in 1..4000 {
                let at_s = f64::from(step) * 0.005 + 1e-4;
                let (before, after) = (script.intent(at_s - 1e-6), script.intent(at_s + 1e-6));
                let now = script.intent(at_s);
                for axis in 0..4 {
                    let slope = (after.position_m[axis] - before.position_m[axis]) / 2e-6;
                    assert!(
                        (slope - now.velocity_mps[axis]).abs() < 1e-5,
                        "{at_s} {axis}"
                    );
                }
            }
        }
    }

    #[test]
    fn any_time_yields_finite_intent() {
        for params in [
            ScriptParams::Sine(SineParams::default()),
            ScriptParams::default(),
        ] {
            let script = OperatorScript::new(&params, 20.0, 3);
            for at_s in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e3, 1e12] {
                let intent = script.intent(at_s);
                assert!(intent.position_m.iter().all(|number| number.is_finite()));
                assert!(intent.velocity_mps.iter().all(|number| number.is_finite()));
            }
        }
    }
}
