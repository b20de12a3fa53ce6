//! Which simulated robot a session has, as data (ours).

use palpate_port::FieldError;
use palpate_transport::Axes;
use serde::{Deserialize, Serialize};

use super::mass::MassRobot;
use super::palpator::{Palpator, PalpatorParams};
use super::{Environment, Robot};

/// Kinds of simulated robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotKind {
    /// Cartesian palpator with a gripper and a force sensor.
    #[default]
    Palpator,
    /// The ideal point mass of teleop RP-1.
    Mass,
}

/// A simulated robot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobotParams {
    /// The robot.
    pub kind: RobotKind,
    /// Where it begins: x, y, z and opening \[m\]. Let it be where the operator's script begins.
    pub start_m: Axes,
    /// Parameters of the palpator, if the robot is one.
    pub palpator: PalpatorParams,
}

impl Default for RobotParams {
    fn default() -> Self {
        Self {
            kind: RobotKind::default(),
            start_m: [0.0, 0.0, 0.028, 0.020],
            palpator: PalpatorParams::default(),
        }
    }
}

impl RobotParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        for value in self.start_m {
            FieldError::between("start_m", value, -1.0, 1.0)?;
        }
        self.palpator.validate()
    }
}

/// Build the robot in its environment; `seed` draws the noise of its sensors. The parameters must
/// have passed [`RobotParams::validate`].
#[must_use]
pub fn build(params: &RobotParams, environment: Box<dyn Environment>, seed: u64) -> Box<dyn Robot> {
    match params.kind {
        RobotKind::Palpator => Box::new(Palpator::new(
            &params.palpator,
            &params.start_m,
            environment,
            seed,
        )),
        RobotKind::Mass => Box::new(MassRobot::new(params.start_m, environment)),
    }
}
