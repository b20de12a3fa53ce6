//! The operator's side.
//!
//! [`tick()`] is the pure 1 kHz function; [`device`] has the trait [`device::Handle`] and the
//! simulated arm and hand behind it; [`predict`] renders the twin and corrects it by what the
//! remote side felt; `guard` limits what reaches the motors, always last. `tuning` is what the session's
//! clock changes: the wave impedance and the method.

pub mod device;
mod guard;
pub mod predict;
mod tick;
mod tuning;

pub use tick::{Inputs, MasterParams, Outputs, State, tick};
