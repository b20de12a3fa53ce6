//! What each command does: one file a command, and how all of them end.
//!
//! A command returns what belongs on stdout and whether its checks held; only the binary prints
//! and exits. Source: ours.

pub mod atlas;
pub mod bench;
pub mod conclude;
mod console;
pub mod doctor;
pub mod identify;
pub mod interrupt;
pub mod lab;
pub mod live;
pub mod model;
pub mod output;
pub mod pace;
pub mod playback;
mod practice;
pub mod rehearse;
pub mod replay;
pub mod table;
pub mod trial;
pub mod truth;
pub mod tune;

pub use model::{Amount, Built};

use crate::cli::Command;
use crate::config::ConfigError;

/// A command that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// What belongs on stdout.
    pub stdout: String,
    /// What must be said on stderr beside it, if anything: the results are there, but not whole.
    pub warning: Option<String>,
    /// Whether every check that the command states held.
    pub held: bool,
}

/// A command that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Bad usage or bad input: file, line or field, value, and what would be right.
    #[error("{0}")]
    Usage(String),
    /// The machine refused something that was demanded.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    /// Exit status of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl Done {
    /// Exit status of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.held)
    }
}

/// Do what the command line asks.
///
/// # Errors
/// [`Failure`] with the exit status that belongs to it.
pub fn dispatch(command: Command) -> Result<Done, Failure> {
    match command {
        Command::Run(arguments) => live::run(&arguments),
        Command::Master(arguments) => live::master(&arguments),
        Command::Slave(arguments) => live::slave(&arguments),
        Command::Lab(arguments) => lab::lab(&arguments),
        Command::Rehearse(arguments) => rehearse::rehearse(&arguments),
        Command::Trial(arguments) => trial::trial(&arguments),
        Command::Tune(arguments) => tune::tune(&arguments),
        Command::Replay(arguments) if arguments.console => playback::playback(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Identify(arguments) => identify::identify(&arguments),
        Command::Atlas(arguments) => atlas::atlas(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::BenchEcho(ports) => bench::echo(&ports),
        Command::BenchStart(at) => bench::first_tick(&at),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Model { action, .. } => model::model(&action),
    }
}
