//! What a simulated operator means to do: a pure function of time.
//!
//! Three scripts: the sine palpation of teleop RP-1, a palpation of a patch ([`super::palpation`]), and the steps
//! of a procedure ([`super::procedure`]). A script knows nothing of the device or of the tissue.

use core::f64::consts::PI;

use palpate_port::FieldError;
use palpate_transport::Axes;
use palpate_twin::Instrument;
use serde::{Deserialize, Serialize};

use super::Revisions;
use super::palpation::{Palpation, PalpationParams};
use super::procedure::{Procedure, ProcedureParams};

/// Opening of the tweezers while nothing is pinched \[m\] (ours).
pub(crate) const OPEN_M: f64 = 0.020;

/// What the operator means at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Intent {
    /// Intended position of the tool centre and opening \[m\], world frame.
    pub position_m: Axes,
    /// Its time derivative \[m/s\].
    pub velocity_mps: Axes,
    /// Whether the tweezers are meant to be closed.
    pub closed: bool,
    /// What the tool is meant to do beside pressing.
    pub instrument: Instrument,
    /// What the operator has asked to be taken back or done again.
    pub revisions: Revisions,
    /// Phase: 0 approach (and all of a sine), 1 to 9 press, 10 travel, 11 stroke, 12 pinch,
    /// 13 retreat and after; step k of a procedure is 100 + k, from 0.
    pub phase: u16,
}

impl Intent {
    /// The instrument of a hand that is there: nobody cuts with a tool that is let go.
    pub(crate) fn instrument_if(&self, present: bool) -> Instrument {
        if present {
            self.instrument
        } else {
            Instrument::Blunt
        }
    }
}

/// Which script, with its parameters.
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
    /// Check every field.
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

    /// Where the script begins \[m\].
    #[must_use]
    pub fn start_m(&self) -> Axes {
        match self {
            Self::Sine(_) => [0.0, 0.0, 0.0, OPEN_M],
            Self::Palpation(palpation) => palpation.start_m(),
            Self::Procedure(procedure) => procedure.start_m(),
        }
    }
}

/// z = -A/2 (1 - cos 2 pi f t), so 0 to A toward the wall (teleop RP-1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SineParams {
    /// Depth A of the palpation \[m\].
    pub amplitude_m: f64,
    /// Frequency f \[Hz\]: 0.7 dynamic, 0.1 quasi-static.
    pub hz: f64,
}

impl Default for SineParams {
    fn default() -> Self {
        Self {
            amplitude_m: 0.025,
            hz: 0.7,
        }
    }
}

impl SineParams {
    fn validate(&self) -> Result<(), FieldError> {
        FieldError::between("script.amplitude_m", self.amplitude_m, 0.0, 0.1)?;
        FieldError::between("script.hz", self.hz, 0.0, 20.0)
    }
}

/// A script, ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Script {
    /// Palpation of teleop RP-1 along z.
    Sine(SineParams),
    /// Palpation of a patch.
    Palpation(Palpation),
    /// Steps with any instrument.
    Procedure(Procedure),
}

impl Script {
    /// Lay the script out; a palpation fills `duration_s` \[s\], and the seed draws its variation. A procedure
    /// takes its own time.
    #[must_use]
    pub fn new(params: &ScriptParams, duration_s: f64, seed: u64) -> Self {
        match params {
            ScriptParams::Sine(sine) => Self::Sine(*sine),
            ScriptParams::Palpation(palpation) => {
                Self::Palpation(Palpation::new(palpation, duration_s, seed))
            }
            ScriptParams::Procedure(procedure) => Self::Procedure(Procedure::new(procedure)),
        }
    }

    /// What the operator means at `elapsed_s` \[s\] from the start; not-a-number counts as 0.
    #[must_use]
    pub fn intent(&self, elapsed_s: f64) -> Intent {
        let elapsed_s = elapsed_s.max(0.0);
        match self {
            Self::Sine(sine) => sine_intent(sine, elapsed_s),
            Self::Palpation(palpation) => palpation.intent(elapsed_s),
            Self::Procedure(procedure) => procedure.intent(elapsed_s),
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
    fn sine_goes_from_rest_to_full_depth_and_back() {
        let script = Script::new(&ScriptParams::Sine(SineParams::default()), 20.0, 0);
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
            let script = Script::new(&params, 20.0, 3);
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
    fn any_time_gives_a_finite_intent() {
        for params in [
            ScriptParams::Sine(SineParams::default()),
            ScriptParams::default(),
        ] {
            let script = Script::new(&params, 20.0, 3);
            for at_s in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e3, 1e12] {
                let intent = script.intent(at_s);
                assert!(intent.position_m.iter().all(|number| number.is_finite()));
                assert!(intent.velocity_mps.iter().all(|number| number.is_finite()));
            }
        }
    }
}
