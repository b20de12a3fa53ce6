//! What a session was: numbers, checks, words and pictures of what it left.
//!
//! [`play`] runs one in virtual time and judges it meanwhile, [`live`] one in real
//! time, [`replayed`] tells of one that was run again; [`truth`] is what a simulation knows beside its records;
//! [`conclude`] ends every session: [`metrics`] and [`summary`] measure it, [`report`] shows it with a [`still`],
//! [`table`] says it in a few lines; [`rehearsed`] judges what a script of instruments did. [`identify`] tells stiffness
//! from recordings; [`closed`] has closed forms,
//! [`pace`] tells whether a tissue can be had in real time, [`output`] where results go, [`progress`] what long work
//! says meanwhile.

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
