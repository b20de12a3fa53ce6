//! The remote side: a robot at the tissue, which follows the hand and sends back what it met.
//!
//! In reading order:
//! [`tick()`] is the pure 1 kHz function. [`robot`] has the trait [`robot::Robot`] and the simulated palpator and gripper
//! behind it. `guard` limits speed, force and workspace and watches the age of the data, apart from every argument of
//! passivity.

mod guard;
pub mod robot;
mod tick;

pub use tick::{Inputs, Outputs, SlaveParams, State, tick};
