//! The `palpate` command: parse, do, print, exit.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use palpate::cli::Cli;
use palpate::command;
use palpate::command::Done;
use palpate_analysis::Failure;
use palpate_session::run::allocation::CountingAllocator;

/// Counts by thread, so that a summary can say what the servo threads allocated.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    // before any thread; when refused, the bus runs on zenoh's own choice of threads
    let _ = palpate_bus::prepare_process();
    let command = Cli::parse().into_command();
    match command::dispatch(command) {
        Ok(done) => finish(&done),
        Err(failure) => fail(&failure),
    }
}

fn finish(done: &Done) -> ExitCode {
    // a reader that has gone away wants no more
    let _ = std::io::stdout().write_all(done.stdout.as_bytes());
    if let Some(warning) = &done.warning {
        let _ = writeln!(std::io::stderr(), "palpate: {warning}");
    }
    ExitCode::from(done.exit_code())
}

fn fail(failure: &Failure) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "palpate: {failure}");
    ExitCode::from(failure.exit_code())
}
