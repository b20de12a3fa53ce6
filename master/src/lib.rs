//! The operator's side: a handle, the twin that the hand feels, and what relays the remote force to it.
//!
//! In reading order:
//! [`tick()`] is the pure 1 kHz function. [`device`] has the trait [`device::Handle`] and the simulated arm and hand
//! behind it. [`predict`] steps the twin and corrects it by what the remote side felt. `tuning` is what the session's clock
//! changes: the wave impedance and the method. `guard`, always last, limits what reaches the motors.

pub mod device;
mod guard;
pub mod predict;
mod tick;
mod tuning;

pub use tick::{Inputs, MasterParams, Outputs, State, tick};
