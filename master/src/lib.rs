//! Master side (the operator's): handle, twin that renders the force at the hand, and exchange with the remote side.
//!
//! In reading order:
//! [`tick()`] is the pure 1 kHz function. [`device`] has the trait [`device::Handle`] and the simulated arm and hand
//! behind it. [`predict`] steps the twin and corrects it by the forces that the remote side measured.
//! `coupling_schedule` holds what changes with the session's clock: the wave impedance and the coupling method.
//! `guard` has the limits of the force on the hand; `paid_force` applies them and the limit of the energy tank.
//! `limit_cycle` detects sustained vibration of that force.

mod coupling_schedule;
pub mod device;
mod guard;
mod limit_cycle;
mod paid_force;
pub mod predict;
pub mod steady_motion;
mod tick;

pub use tick::{MasterOutputs, MasterParams, MasterState, tick};
