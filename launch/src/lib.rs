//! The one binary: what its commands are and what each does, one thin file a command.

pub mod cli;
pub mod command;
pub mod progress;
