//! Remote side: a robot at the tissue, which follows the hand and sends back its contact force.
//!
//! In reading order:
//! [`tick()`] is the pure 1 kHz function. [`robot`] has the trait [`robot::Robot`] and the simulated palpator and gripper
//! behind it. `guard` limits speed, force and workspace and the age of the data, independently of passivity.

mod guard;
pub mod robot;
mod tick;

pub use tick::{SlaveOutputs, SlaveParams, SlaveState, tick};
