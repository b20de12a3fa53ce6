//! Parameters of the simulated robot of a session (ours).

use palpate_port::encoder::low_pass_gain;
use palpate_transport::clock::PERIOD;
use palpate_transport::{Axes, FieldError, params};
use serde::{Deserialize, Serialize};

use super::mass::{self, MassRobot};
use super::palpator::{Palpator, PalpatorParams};
use super::{Environment, Robot};
use crate::servo_margin::ServoPlant;

/// Kind of simulated robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotKind {
    /// Cartesian palpator with a gripper and a force sensor.
    #[default]
    Palpator,
    /// Ideal point mass of teleop RP-1.
    Mass,
}

params! {
    /// Parameters of a simulated robot.
    #[derive(Copy)]
    pub struct RobotParams: "" then palpator_is_valid {
        /// Kind of the robot.
        pub kind: RobotKind = RobotKind::default(),
        /// Start position: x, y, z and opening \[m\]. Choose the start of the operator's script.
        pub start_m: Axes = [0.0, 0.0, 0.028, 0.020] => (-1.0..=1.0),
        /// Parameters of the palpator, if the robot is one.
        pub palpator: PalpatorParams = PalpatorParams::default(),
    }
}

fn palpator_is_valid(robot: &RobotParams) -> Result<(), FieldError> {
    robot.palpator.validate()
}

impl RobotParams {
    /// One axis of the robot for the stability of its servo.
    pub(crate) fn servo_plant(&self, axis: usize) -> ServoPlant {
        let palpator = &self.palpator;
        match self.kind {
            RobotKind::Palpator => ServoPlant {
                mass_kg: palpator.mass_kg[axis],
                damping_nspm: palpator.damping_nspm[axis],
                compensated_nspm: palpator.compensated * palpator.damping_nspm[axis],
                lag_s: palpator.lag_s,
                velocity_gain: Some(low_pass_gain(palpator.velocity_hz, PERIOD.s())),
            },
            RobotKind::Mass => ServoPlant {
                mass_kg: mass::MASS_KG,
                damping_nspm: mass::DAMPING_NSPM,
                compensated_nspm: 0.0,
                lag_s: 0.0,
                velocity_gain: None,
            },
        }
    }
}

/// Builds the robot in its environment; `seed` draws the noise of its sensors. The parameters must
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
