//! What each command does: one file a command, and how all of them end.
//!
//! A command returns what belongs on stdout and whether its checks held; only the binary prints
//! and exits. Source: ours.

pub mod atlas;
pub mod bench;
pub mod doctor;
pub mod identify;
pub mod interrupt;
pub mod lab;
pub mod live;
pub mod model;
pub mod playback;
mod practice;
pub mod rehearse;
pub mod replay;
pub mod trial;
pub mod tune;

use std::path::Path;

use palpate_analysis::conclude::Concluded;
use palpate_analysis::{Failure, table};

use crate::cli::{Command, OutputArgs};

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

impl Done {
    /// Of a session that was judged: what belongs on stdout, and whether all checks held.
    #[must_use]
    pub fn of(concluded: Concluded, wanted: &OutputArgs, folder: &Path) -> Self {
        let held = concluded.summary.good();
        let stdout = match (wanted.json, wanted.quiet) {
            (true, _) => concluded.summary.to_json() + "\n",
            (false, true) => String::new(),
            (false, false) => {
                let more = if wanted.verbose {
                    table::guards(&concluded.summary)
                } else {
                    String::new()
                };
                format!(
                    "{}{more}\nresults    {}\n",
                    concluded.table,
                    folder.display()
                )
            }
        };
        Self {
            stdout,
            held,
            warning: None,
        }
    }

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
