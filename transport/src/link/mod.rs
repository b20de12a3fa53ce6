//! A seeded model of one direction of an impaired network: one model for virtual time and for
//! packets of a real network.
//!
//! Source: ours, with the facts of transport 0.5 (order is kept by default, reordering is a knob of
//! its own) and transport 3 (what an emulator has to offer). [`LinkParams`] says what the network
//! does, [`LinkModel`] gives every offered packet its [`Fate`], [`LinkQueue`] also keeps the
//! packets until they are due, [`profile`] has networks by name, [`trace`] recorded ones. Pure: time is an argument, chance comes from a seed.

mod model;
mod params;
pub mod profile;
mod queue;
pub mod trace;

pub use model::{DropCause, Fate, LinkModel, LinkStats};
pub use params::{LinkError, LinkParams, Outage};
pub use queue::LinkQueue;
