//! Studies: many sessions, or none, to learn something of the method, the tissue, the link or the machine.
//!
//! [`trial`] is many sessions as one table; [`atlas`] maps stability and transparency, [`tune`] proposes what to set on a
//! link; [`detect`] asks which lumps can be felt; [`what_if`] changes what a recorded hand meets; [`mod@bench`], with the
//! threads of a [`crew`], looks at the machine. [`report`] has their pages.

pub mod atlas;
pub mod bench;
pub mod detect;
pub mod report;
pub mod trial;
pub mod tune;
pub mod what_if;
