//! `palpate bench`: this machine beside itself, and what a tick costs on it.
//!
//! Source: ours. [`palpate_study::bench`] measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_session::lab::Session;
use palpate_study::bench::goal::Goal;
use palpate_study::bench::ticks::ticks;
use palpate_study::bench::{self, BenchError, BenchOptions, BenchReport, EchoArgs, Part};
use palpate_study::report;

use super::{Done, interrupt};
use crate::cli::{BenchArgs, CacheFolder, EchoPorts};
use crate::progress::{Progress as _, Terminal};

/// Measure, and write `bench.json`, and of linked volumes a page. Ctrl-C ends it with the parts that were whole by then.
///
/// # Errors
/// [`Failure`] if the folder cannot be used, or the machine refuses sockets or processes.
pub fn bench(arguments: &BenchArgs) -> Result<Done, Failure> {
    let config = arguments.fields.over(None)?.unwrap_or_default();
    Session::new(&config)?;
    let stop = interrupt::on_ctrl_c()?;
    let folder = output::folder(arguments.out.as_deref(), "bench")?;
    let progress = Terminal::line("bench", arguments.quiet || arguments.json);
    let asked = |part: &Part| arguments.only.is_empty() || arguments.only.contains(part);
    let mut report = BenchReport::default();
    for part in Part::ALL.into_iter().filter(asked) {
        progress.say(words(part));
        match measure(part, &config, &stop, &mut report) {
            Err(BenchError::Stopped) => break,
            measured => measured.map_err(refused)?,
        }
    }
    drop(progress);
    let json = serde_json::to_string_pretty(&report)
        .map_err(|error| Failure::Refused(format!("bench.json: {error}")))?;
    output::write(&folder.join("bench.json"), &(json.clone() + "\n"))?;
    if let Some(linked) = &report.linked {
        output::write(&folder.join("report.html"), &report::linked(linked))?;
    }
    let stdout = match (arguments.json, arguments.quiet) {
        (true, _) => json + "\n",
        (false, true) => String::new(),
        (false, false) => {
            let more = if arguments.verbose {
                goals(&report)
            } else {
                String::new()
            };
            format!(
                "{}\n{more}results in {}\n",
                report.table(),
                folder.display()
            )
        }
    };
    let stopped = stop.load(Ordering::Relaxed);
    Ok(Done {
        stdout,
        held: !arguments.strict || report.goals().all(|goal| goal.held),
        warning: stopped
            .then(|| "interrupted: what was not measured to its end is null".to_owned()),
    })
}

/// Every goal, a line each.
fn goals(report: &BenchReport) -> String {
    let word = |held| if held { "met" } else { "missed" };
    let line = |goal: &Goal| {
        let Goal {
            name,
            value,
            goal: limit,
            unit,
            held,
            ..
        } = goal;
        format!("{:<8}{name}: {value:.3} of {limit} {unit}\n", word(*held))
    };
    report.goals().map(line).collect()
}

/// Adds one part to the report.
fn measure(
    part: Part,
    config: &Config,
    stop: &Arc<AtomicBool>,
    report: &mut BenchReport,
) -> Result<(), BenchError> {
    let one = |part| bench::run(&BenchOptions::default(), &[part], stop);
    match part {
        Part::Bus => report.bus = one(part)?.bus,
        Part::Timer => report.timer = one(part)?.timer,
        Part::Ticks => report.costs = ticks(config, stop)?,
        Part::Tissue => report.tissue = one(part)?.tissue,
        Part::Linked => report.linked = one(part)?.linked,
        Part::Predictor => report.predictor = one(part)?.predictor,
        Part::Start => report.start = one(part)?.start,
    }
    Ok(())
}

fn words(part: Part) -> &'static str {
    match part {
        Part::Bus => "the bus beside raw UDP",
        Part::Timer => "the servo beside a bare timer",
        Part::Ticks => "ticks of a session",
        Part::Tissue => "tissue: the block test",
        Part::Linked => "linked volumes",
        Part::Predictor => "the condensed predictor",
        Part::Start => "starts of a process",
    }
}

/// The echoing process that the measurement starts; it serves until its input closes, and so lives
/// through a Ctrl-C, which the terminal sends to both: the measurement says when it has ended.
///
/// # Errors
/// [`Failure::Refused`] if a socket or the session fails.
pub fn echo(ports: &EchoPorts) -> Result<Done, Failure> {
    let _ = interrupt::on_ctrl_c()?;
    bench::echo(EchoArgs {
        udp: ports.udp,
        tcp: ports.tcp,
    })
    .map_err(refused)?;
    Ok(Done {
        stdout: String::new(),
        held: true,
        ..Done::default()
    })
}

/// The process whose start the measurement times: one tick of the default session's twin.
///
/// # Errors
/// [`Failure::Refused`] if the twin or its table is missing.
pub fn first_tick(at: &CacheFolder) -> Result<Done, Failure> {
    Ok(Done {
        stdout: bench::start::first_tick(&at.folder).map_err(refused)?,
        held: true,
        ..Done::default()
    })
}

fn refused(error: BenchError) -> Failure {
    Failure::Refused(error.to_string())
}
