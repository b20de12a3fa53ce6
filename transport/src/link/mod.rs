//! Seeded model of one direction of an impaired network, for virtual time and for packets of a real
//! network.
//!
//! Source: ours, with transport fact 5 (so order is kept by default, and reordering is a parameter of its own) and
//! transport section 3 (functions of an emulator). [`LinkParams`] describes the network, [`LinkModel`] decides
//! the [`Fate`] of every packet, [`LinkQueue`] also keeps the packets until they are due, [`profile`] has networks
//! by name, [`trace`] recorded ones. Pure: time is an argument, random numbers come from a seed.

mod model;
mod params;
pub mod profile;
mod queue;
pub mod trace;

pub use model::{DropCause, Fate, LinkModel, LinkStats};
pub use params::{LinkError, LinkParams, Outage};
pub use queue::LinkQueue;
