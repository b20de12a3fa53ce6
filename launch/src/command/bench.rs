//! `palpate bench`: this machine beside itself, and what a tick costs on it.
//!
//! Source: ours. The ticks are those of a whole default session without delay, so that free
//! motion, contact and model updates are all among the samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_transport::clock::thread_cpu_now;
use palpate_transport::inbox::Parties;
use palpate_transport::{HapticFrame, Span, Time};

use super::{Done, Failure, interrupt, output};
use crate::bench::goal::Goal;
use crate::bench::{
    self, BenchError, BenchOptions, BenchReport, EchoArgs, Measurement, Part, Stats,
};
use crate::cli::{BenchArgs, CacheFolder, EchoPorts};
use crate::config::Config;
use crate::lab::{self, PERIOD};
use crate::progress::Progress;
use crate::report;

/// Measure, and write `bench.json`, and of linked volumes a page. Ctrl-C ends it with the parts that were whole by then.
///
/// # Errors
/// [`Failure`] if the folder cannot be used, or the machine refuses sockets or processes.
pub fn bench(arguments: &BenchArgs) -> Result<Done, Failure> {
    let config = arguments.fields.over(None)?.unwrap_or_default();
    crate::lab::Session::new(&config)?;
    let stop = interrupt::on_ctrl_c()?;
    let folder = output::folder(arguments.out.as_deref(), "bench")?;
    let progress = Progress::line("bench", arguments.quiet || arguments.json);
    let asked = |part: &Part| arguments.only.is_empty() || arguments.only.contains(part);
    let mut report = BenchReport::default();
    for part in Part::ALL.into_iter().filter(asked) {
        progress.say(words(part));
        match measure(part, (&config, &stop), &mut report) {
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
    (config, stop): (&Config, &Arc<AtomicBool>),
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

/// Own CPU time of the two ticks, each of them within a session without a network.
fn ticks(config: &Config, stop: &AtomicBool) -> Result<Vec<Measurement>, BenchError> {
    let mut handle =
        palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let mut robot = lab::build_robot(config)?;
    let parties = Parties::default();
    let mut master = palpate_master::State::new(lab::predictor(config)?, &handle.caps(), parties);
    let mut slave = palpate_slave::State::new(parties);
    let mut to_master = None::<(HapticFrame, Time)>;
    let (mut of_master, mut of_slave) = (Vec::new(), Vec::new());
    for tick in 0..(config.duration_s / PERIOD.s()) as u64 {
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        let now = Time(PERIOD.0 * tick as i64);
        let inputs = palpate_master::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            paused: false,
            masked: false,
            reading: handle.read(now),
            frame: to_master,
            rearm: false,
        };
        let begun = thread_cpu_now();
        let out = palpate_master::tick(&config.master, &config.coupling, &mut master, &inputs);
        of_master.push(since(begun));
        handle.write(&out.force_on_hand_n);
        let to_slave = Some((out.frame, now));
        let inputs = palpate_slave::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            reading: robot.read(now),
            frame: to_slave,
            halt: false,
            rearm: false,
        };
        let begun = thread_cpu_now();
        let out = palpate_slave::tick(&config.slave, &config.coupling, &mut slave, &inputs);
        of_slave.push(since(begun));
        robot.write(&out.force_n, out.closed);
        to_master = Some((out.frame, now));
    }
    let named = |name: &str, spans: &[Span]| Measurement {
        name: name.to_owned(),
        stats: Stats::of(spans).unwrap_or_default(),
    };
    Ok(vec![
        named("master tick", &of_master),
        named("slave tick", &of_slave),
    ])
}

fn since(begun: Time) -> Span {
    thread_cpu_now() - begun
}
