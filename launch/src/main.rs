//! The `palpate` command: parses, dispatches, prints, exits.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use palpate::cli::Cli;
use palpate::command;
use palpate::command::CommandOutcome;
use palpate::message::shortened;
use palpate_analysis::Failure;
use palpate_session::run::allocation::CountingAllocator;

/// Counts allocations by thread, for the servo threads' figure in the summary.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    // before any thread; if refused, the bus runs on zenoh's own choice of threads
    let _ = palpate_bus::prepare_process();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.into_command(),
        Err(error) => return refuse(&error),
    };
    for note in command::notes(&command) {
        let _ = writeln!(std::io::stderr(), "palpate: {}", shortened(&note));
    }
    match command::dispatch(command) {
        Ok(outcome) => finish(&outcome),
        Err(failure) => fail(&failure),
    }
}

/// Shows help, or an error of the command line with its values cut.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let shown = shortened(&text);
    if shown == text {
        // in colours, on a terminal; a closed reader wants no more output
        let _ = error.print();
    } else {
        let _ = write!(std::io::stderr(), "{shown}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn finish(outcome: &CommandOutcome) -> ExitCode {
    // a closed reader wants no more output
    let _ = std::io::stdout().write_all(outcome.stdout.as_bytes());
    if let Some(warning) = &outcome.warning {
        let _ = writeln!(std::io::stderr(), "palpate: {}", shortened(warning));
    }
    ExitCode::from(outcome.exit_code())
}

fn fail(failure: &Failure) -> ExitCode {
    let text = shortened(&failure.to_string());
    let _ = writeln!(std::io::stderr(), "palpate: {text}");
    ExitCode::from(failure.exit_code())
}
