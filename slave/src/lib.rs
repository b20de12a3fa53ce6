//! Remote side: a robot at the tissue, which follows the hand and sends back its contact force.
//!
//! In reading order:
//! [`tick()`] is the pure 1 kHz function. [`robot`] has the trait [`robot::Robot`] and the simulated palpator and gripper
//! behind it. `guard` limits speed, force and workspace and the age of the data, independently of passivity.
//! `robot_port` withholds energy that an active drive returns;
//! `servo_margin` refuses a servo that is not stable against every wall up to a declared stiffness.

mod guard;
pub mod robot;
mod robot_port;
mod servo_margin;
mod tick;

pub use tick::{SlaveOutputs, SlaveParams, SlaveState, tick};
