//! What a session was: numbers, checks, words and pictures of what it left.
//!
//! In reading order:
//! [`play`] runs a session in virtual time and judges it, [`live`] one in real time; [`replayed`] judges a replay.
//! [`conclude`] ends every session: it measures, judges and reports.
//! [`metrics`] are the numbers, [`truth`] what a simulation knows beside its records, [`summary`] is `summary.json`.
//! [`report`] is the page of a session, [`still`] its pictures, [`table`] its few lines on a terminal.
//! [`rehearsed`] judges what a script of instruments did.
//! [`identify`] finds stiffness from recordings; [`closed`] has closed forms of a line and of a sampled wall.
//! [`pace`] refuses a tissue that is too slow for real time; [`output`] makes folders and files of results;
//! [`progress`] is what long work reports. [`Failure`] is why a command ends without a result.

pub mod closed;
pub mod conclude;
mod failure;
pub mod identify;
pub mod live;
pub mod metrics;
pub mod output;
pub mod pace;
pub mod play;
pub mod progress;
pub mod rehearsed;
pub mod replayed;
pub mod report;
pub mod still;
pub mod summary;
pub mod table;
pub mod truth;

pub use failure::Failure;
