//! The `palpate` command: parses, dispatches, prints, exits.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use palpate::cli::Cli;
use palpate::command;
use palpate::command::CommandOutcome;
use palpate_analysis::Failure;
use palpate_session::run::allocation::CountingAllocator;

/// Counts allocations by thread, for the servo threads' figure in the summary.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    // before any thread; if refused, the bus runs on zenoh's own choice of threads
    let _ = palpate_bus::prepare_process();
    let command = Cli::parse().into_command();
    for note in command::notes(&command) {
        let _ = writeln!(std::io::stderr(), "palpate: {note}");
    }
    match command::dispatch(command) {
        Ok(outcome) => finish(&outcome),
        Err(failure) => fail(&failure),
    }
}

fn finish(outcome: &CommandOutcome) -> ExitCode {
    // a closed reader wants no more output
    let _ = std::io::stdout().write_all(outcome.stdout.as_bytes());
    if let Some(warning) = &outcome.warning {
        let _ = writeln!(std::io::stderr(), "palpate: {warning}");
    }
    ExitCode::from(outcome.exit_code())
}

fn fail(failure: &Failure) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "palpate: {failure}");
    ExitCode::from(failure.exit_code())
}
