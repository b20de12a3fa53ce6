//! Commands: one file per command, and their common outcome.
//!
//! A command returns its text for stdout and whether its checks passed; only the binary prints
//! and exits. Source: ours.

mod atlas;
mod bench;
mod doctor;
mod identify;
mod interrupt;
mod keys;
mod lab;
mod live;
mod model;
mod notes;
mod playback;
mod recover;
mod rehearse;
mod rehearse_live;
mod replay;
mod trial;
mod tune;

use std::fmt::Display;
use std::path::Path;

use palpate_analysis::conclusion::Conclusion;
use palpate_analysis::{Failure, table};
use palpate_transport::trace::Side;

use crate::cli::{CliCommand, OutputArgs};

pub use notes::notes;

/// Outcome of a command that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutcome {
    /// Text for stdout.
    pub stdout: String,
    /// Text for stderr, if any: the results exist, but are incomplete.
    pub warning: Option<String>,
    /// True if every check of the command passed.
    pub checks_passed: bool,
}

impl CommandOutcome {
    /// Returns the outcome of a command without checks.
    pub(crate) fn unchecked(stdout: String) -> Self {
        Self {
            stdout,
            checks_passed: true,
            warning: None,
        }
    }

    /// Returns the outcome of a judged session: its text for stdout, and whether all checks passed.
    ///
    /// # Errors
    /// Those of the encoding as JSON.
    pub(crate) fn from_session(
        concluded: &Conclusion,
        wanted: &OutputArgs,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let summary = &concluded.summary;
        let words = || {
            let more = if_verbose(wanted.verbose, || table::guards(summary));
            let folder = folder.display();
            format!("{}{more}\nresults    {folder}\n", concluded.table)
        };
        let json = || Ok(summary.to_json() + "\n");
        Ok(Self {
            checks_passed: summary.is_good(),
            ..Self::unchecked(json_or_text(wanted.json, wanted.quiet, json, words)?)
        })
    }

    /// Exit status of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.checks_passed)
    }
}

/// Text for stdout: JSON if requested, else nothing if quiet, else plain text.
///
/// # Errors
/// Those of `json`.
fn json_or_text(
    is_json: bool,
    is_quiet: bool,
    json: impl FnOnce() -> Result<String, Failure>,
    words: impl FnOnce() -> String,
) -> Result<String, Failure> {
    match (is_json, is_quiet) {
        (true, _) => json(),
        (false, true) => Ok(String::new()),
        (false, false) => Ok(words()),
    }
}

/// Text that is printed only if verbose.
fn if_verbose(is_verbose: bool, words: impl FnOnce() -> String) -> String {
    is_verbose.then(words).unwrap_or_default()
}

/// Wraps an error of bad input with the name of its source.
fn bad_input<E: Display>(name: impl Display) -> impl Fn(E) -> Failure {
    move |error| Failure::Usage(format!("{name}: {error}"))
}

/// Runs the command of the command line.
///
/// # Errors
/// [`Failure`] with its exit status.
pub fn dispatch(command: CliCommand) -> Result<CommandOutcome, Failure> {
    match command {
        CliCommand::Run(arguments) => live::run(&arguments),
        CliCommand::Master(arguments) => live::side(&arguments, Side::Master),
        CliCommand::Slave(arguments) => live::side(&arguments, Side::Slave),
        CliCommand::Lab(arguments) => lab::lab(&arguments),
        CliCommand::Rehearse(arguments) => rehearse::rehearse(&arguments),
        CliCommand::Trial(arguments) => trial::trial(&arguments),
        CliCommand::Tune(arguments) => tune::tune(&arguments),
        CliCommand::Replay(arguments) if arguments.console => playback::playback(&arguments),
        CliCommand::Replay(arguments) => replay::replay(&arguments),
        CliCommand::Recover(arguments) => recover::recover(&arguments),
        CliCommand::Identify(arguments) => identify::identify(&arguments),
        CliCommand::Atlas(arguments) => atlas::atlas(&arguments),
        CliCommand::Bench(arguments) => bench::bench(&arguments),
        CliCommand::BenchEcho(ports) => bench::echo(ports),
        CliCommand::BenchStart(at) => bench::first_tick(&at),
        CliCommand::Doctor(arguments) => doctor::doctor(&arguments),
        CliCommand::Keys { action } => keys::keys(&action),
        CliCommand::Model { action, .. } => model::model(&action),
    }
}
