//! `palpate bench`: measures this machine, and the cost of a tick on it.
//!
//! Source: ours. [`palpate_study::bench`] measures.

use std::sync::atomic::Ordering;

use clap::ValueEnum as _;
use palpate_analysis::{Failure, output};
use palpate_session::lab::VirtualSession;
use palpate_study::abort::unless_stopped;
use palpate_study::bench::goal::BenchGoal;
use palpate_study::bench::{self, BenchPart, BenchReport, EchoArgs};
use palpate_study::{messages, report};

use super::{CommandOutcome, if_verbose, interrupt, json_or_text};
use crate::cli::{BenchArgs, CacheArgs};
use crate::progress::{Progress as _, TerminalProgress};

/// Measures, and writes `bench.json`, and a page of the voxel models. Ctrl-C ends it with the finished parts.
///
/// # Errors
/// [`Failure`] if the folder cannot be used, or the machine refuses sockets or processes.
pub(super) fn bench(arguments: &BenchArgs) -> Result<CommandOutcome, Failure> {
    let config = arguments.fields.resolve(None)?.unwrap_or_default();
    VirtualSession::new(&config)?;
    let stop = interrupt::on_ctrl_c()?;
    let chosen = arguments.earlier.chosen(arguments.out.as_deref());
    let folder = output::folder(chosen, "bench", &["bench.json", "report.html"])?;
    let progress = TerminalProgress::status_line("bench", arguments.quiet || arguments.json);
    let requested = |part: &&BenchPart| arguments.only.is_empty() || arguments.only.contains(part);
    let mut report = BenchReport::default();
    for &part in BenchPart::value_variants().iter().filter(requested) {
        progress.set_status(part_name(part));
        if unless_stopped(report.measure(part, &config, &stop))?.is_none() {
            break;
        }
    }
    drop(progress);
    let json = messages::json(&report, "bench.json")?;
    output::write(&folder.join("bench.json"), &json)?;
    if let Some(linked) = &report.linked {
        output::write(&folder.join("report.html"), report::voxel(linked))?;
    }
    let words = || {
        let more = if_verbose(arguments.verbose, || goals(&report));
        let folder = folder.display();
        format!("{}\n{more}results  {folder}\n", report.table())
    };
    let stdout = json_or_text(arguments.json, arguments.quiet, || Ok(json), words)?;
    let stopped = stop.load(Ordering::Relaxed);
    Ok(CommandOutcome {
        stdout,
        checks_passed: !arguments.strict || report.goals().all(|goal| goal.held),
        warning: stopped.then(|| "interrupted: unfinished measurements are null".to_owned()),
    })
}

/// All goals, one per line.
fn goals(report: &BenchReport) -> String {
    let line = |goal: &BenchGoal| {
        let BenchGoal {
            name,
            value,
            goal: limit,
            unit,
            held,
            ..
        } = goal;
        let word = if *held { "PASS" } else { "FAIL" };
        format!("{word:<8}{name}: {value:.3} of {limit} {unit}\n")
    };
    report.goals().map(line).collect()
}

/// Name of a part in the progress line.
fn part_name(part: BenchPart) -> &'static str {
    match part {
        BenchPart::Bus => "the bus beside raw UDP",
        BenchPart::Timer => "the servo beside a bare timer",
        BenchPart::Ticks => "ticks of a session",
        BenchPart::Tissue => "tissue: the block test",
        BenchPart::Linked => "voxel models",
        BenchPart::Predictor => "the condensed predictor",
        BenchPart::Start => "starts of a process",
    }
}

/// Echo process started by the measurement. It serves until its input closes, and so outlives
/// a Ctrl-C, which the terminal sends to both processes.
///
/// # Errors
/// [`Failure::Refused`] if a socket or the session fails.
pub(super) fn echo(ports: EchoArgs) -> Result<CommandOutcome, Failure> {
    let _ = interrupt::on_ctrl_c()?;
    bench::echo(ports)?;
    Ok(CommandOutcome::unchecked(String::new()))
}

/// Process whose start is timed: it runs one tick of the default session's twin.
///
/// # Errors
/// [`Failure::Refused`] if the twin or its table is missing.
pub(super) fn first_tick(at: &CacheArgs) -> Result<CommandOutcome, Failure> {
    bench::start::first_tick(&at.folder).map(CommandOutcome::unchecked)
}
