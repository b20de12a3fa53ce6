//! The one binary, `palpate`: its commands, their flags, and one thin file for each.
//!
//! [`cli`] declares commands and flags; [`command`] calls the crates below for each; [`progress`] draws progress on a
//! terminal. The crates in the folders beside `src` import each other in one direction only:
//! `session` <- `analysis` <- `console` <- `study` <- this one.

pub mod cli;
pub mod command;
pub mod progress;
