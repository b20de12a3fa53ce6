//! The `palpate` binary: its commands and their flags, one thin file per command.
//!
//! [`cli`] declares commands and flags; [`command`] runs them by the crates below; [`progress`] draws progress on a
//! terminal, and [`message`] cuts long values in messages. The crates in the folders beside `src` depend on each other in one direction only:
//! `session` <- `analysis` <- `console` <- `study` <- this one.

pub mod cli;
pub mod command;
pub mod message;
pub mod progress;
