//! Studies: many sessions, or none, to learn something of the method, the tissue, the link or the machine.
//!
//! In reading order:
//! [`trial`] runs many sessions as one table; the built-in trials lie in `trials/`.
//! [`atlas`] maps stability and transparency. [`tune`] measures a link and proposes what to set on it.
//! [`detect`] computes which lumps can be felt. [`what_if`] changes what a recorded hand meets.
//! [`mod@bench`] measures the machine and the costs of tissues, ticks and the bus.
//! [`report`] has the pages of all of them.

pub mod atlas;
pub mod bench;
pub mod detect;
pub mod report;
pub mod trial;
pub mod tune;
pub mod what_if;
