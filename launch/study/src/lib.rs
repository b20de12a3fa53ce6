//! Studies: evaluations of the coupling methods, the tissues, the link or the machine, by many sessions or none.
//!
//! In reading order:
//! [`trial`] runs many sessions as one table; the built-in trials are in `trials/`.
//! [`atlas`] maps stability and transparency. [`tune`] measures a link and proposes settings for it.
//! [`detect`] computes which lumps are detectable, [`press`] compares presses of a scene with their truth. [`what_if`]
//! repeats a recorded hand's motion with changed settings.
//! [`mod@bench`] measures the machine and the costs of tissues, ticks and the bus.
//! [`report`] has the pages of all of them.

pub mod abort;
pub mod atlas;
pub mod bench;
pub mod detect;
pub mod messages;
pub mod press;
pub mod report;
pub mod trial;
pub mod tune;
pub mod what_if;
