//! `palpate run`, `palpate master`, `palpate slave`: sessions in real time.
//!
//! Source: ours. A side that a supervisor started only records; a side on its own host, and the
//! supervisor, also judge and report.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palpate_transport::session::{Role, SessionConfig};
use palpate_transport::trace::{Side, TickRecord};

use super::conclude::{self, Evidence};
use super::{Done, Failure, interrupt, lab, output, truth};
use crate::cli::{RunArgs, SideArgs};
use crate::config::Config;
use crate::lab::{PERIOD, WIRE_BYTES};
use crate::metrics::{FrameCounts, LiveFacts, SessionFacts};
use crate::progress::Progress;
use crate::record;
use crate::run::supervise::Status;
use crate::run::{RunError, RunOptions, RunOutcome, SideOptions, SideReport, run_side, supervise};

/// Host on which a side listens, or dials, if nothing is said.
const HOST: &str = "127.0.0.1";

/// Run both sides on this machine, with an impaired network between them.
///
/// # Errors
/// [`Failure`] if the configuration cannot be used, or the machine refuses what a session needs.
pub fn run(arguments: &RunArgs) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    let wanted = &arguments.output;
    crate::lab::Session::new(&config)?;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    let options = RunOptions {
        out: folder.clone(),
        stop: interrupt::on_ctrl_c()?,
    };
    let progress = Progress::line("run", wanted.quiet || wanted.json);
    let show = |status: &Status| {
        if progress.visible() {
            progress.say(status_line(status, config.duration_s));
        }
    };
    let outcome = supervise(&config, &options, show).map_err(failure)?;
    progress.say("judging");
    let reports = [&outcome.master_report, &outcome.slave_report];
    let facts = SessionFacts {
        command: "run".into(),
        live: Some(live_facts(&reports, outcome.bare_timer_us_p99)),
        frames: Some(frames(&outcome)),
        ..facts(&config, &outcome.master)?
    };
    let comparison = if outcome.interrupted {
        None
    } else {
        lab::compared(&config, &facts.sites)?
    };
    let mut remarks = vec![outcome.network.clone()];
    remarks.extend(refusals(&reports));
    if outcome.interrupted {
        remarks.push("Ended before its time, as was asked.".into());
    }
    let evidence = Evidence {
        config: &config,
        master: &outcome.master,
        slave: &outcome.slave,
        facts: &facts,
        comparison: comparison.as_ref(),
        remarks: &remarks,
    };
    let concluded = conclude::conclude(&evidence, &folder)?;
    drop(progress);
    Ok(concluded.done(wanted, &folder))
}

/// Run the operator's side alone.
///
/// # Errors
/// As [`run`].
pub fn master(arguments: &SideArgs) -> Result<Done, Failure> {
    side(arguments, Side::Master)
}

/// Run the remote side alone.
///
/// # Errors
/// As [`run`].
pub fn slave(arguments: &SideArgs) -> Result<Done, Failure> {
    side(arguments, Side::Slave)
}

fn side(arguments: &SideArgs, side: Side) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    let wanted = &arguments.output;
    let name = side.name();
    let folder = output::folder(wanted.out.as_deref(), name)?;
    let stop = interrupt::on_ctrl_c()?;
    let ticks = (config.duration_s / PERIOD.s()).round() as u64;
    let options = SideOptions {
        side,
        out: folder.clone(),
        session: session(arguments, &config, side)?,
        ticks_max: (!arguments.until_stopped).then_some(ticks),
        status_lines: arguments.status_lines,
        stop: Arc::clone(&stop),
    };
    let report = run_side(&config, &options).map_err(failure)?;
    if arguments.status_lines {
        return Ok(Done {
            stdout: String::new(),
            held: true,
        });
    }
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    alone(&config, (arguments, name), &report, &folder)
}

/// Judge what one side recorded: without the other, nothing can be said of the channel.
fn alone(
    config: &Config,
    (arguments, name): (&SideArgs, &str),
    report: &SideReport,
    folder: &Path,
) -> Result<Done, Failure> {
    let path = folder.join("recording.mcap");
    let recording = record::read(&path).map_err(|error| Failure::Refused(error.to_string()))?;
    let facts = SessionFacts {
        command: name.into(),
        live: Some(live_facts(&[report], None)),
        ..facts(config, &recording.master)?
    };
    let mut remarks = refusals(&[report]);
    remarks.extend(partings(report));
    let evidence = Evidence {
        config,
        master: &recording.master,
        slave: &recording.slave,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    let concluded = conclude::conclude(&evidence, folder)?;
    Ok(concluded.done(&arguments.output, folder))
}

/// How a side reaches the other.
fn session(arguments: &SideArgs, config: &Config, side: Side) -> Result<SessionConfig, Failure> {
    let (udp, tcp) = (config.network.port, config.network.port + 1);
    let (role, endpoints) = match (arguments.connect.is_empty(), arguments.listen.is_empty()) {
        (false, _) => (Role::Dial, &arguments.connect),
        (true, false) => (Role::Listen, &arguments.listen),
        (true, true) if side == Side::Master => (Role::Dial, &arguments.connect),
        (true, true) => (Role::Listen, &arguments.listen),
    };
    let mut session = SessionConfig::new(side, role, HOST, udp, tcp);
    session.thread_priority = config.realtime.bus_priority();
    for endpoint in endpoints {
        match endpoint.split_once('/') {
            Some(("udp", _)) => session.udp.clone_from(endpoint),
            Some(("tcp", _)) => session.tcp.clone_from(endpoint),
            _ => {
                let flag = if role == Role::Dial {
                    "--connect"
                } else {
                    "--listen"
                };
                let expected = "expected udp/HOST:PORT and tcp/HOST:PORT";
                return Err(Failure::Usage(format!("{flag} {endpoint}: {expected}")));
            }
        }
    }
    session
        .validate()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(session)
}

/// What a live session knows besides its records and its servo loops.
fn facts(config: &Config, master: &[TickRecord]) -> Result<SessionFacts, Failure> {
    Ok(SessionFacts {
        seed: Some(config.seed),
        mode: config.coupling.mode.resolved().name().into(),
        period: PERIOD,
        sites: truth::sites(config, master)?,
        twin: truth::twin(config, master)?,
        frame_bytes: Some(WIRE_BYTES as u64),
        ..SessionFacts::default()
    })
}

fn live_facts(reports: &[&SideReport], bare_timer_us_p99: Option<f64>) -> LiveFacts {
    let mut late_causes = BTreeMap::new();
    for (cause, count) in reports.iter().flat_map(|report| &report.servo.late_causes) {
        *late_causes.entry(cause.clone()).or_default() += count;
    }
    LiveFacts {
        late_causes,
        allocations: Some(reports.iter().map(|report| report.servo.allocations).sum()),
        bare_timer_us_p99,
    }
}

/// Frames of each direction, from the first to the last that the receiver used: what was sent
/// before or after is nobody's loss.
fn frames(outcome: &RunOutcome) -> FrameCounts {
    let (sent_fwd, arrived_fwd) = received(&outcome.slave, &outcome.slave_report);
    let (sent_back, arrived_back) = received(&outcome.master, &outcome.master_report);
    let bytes = (sent_fwd + sent_back) * WIRE_BYTES as u64;
    FrameCounts {
        sent_fwd,
        arrived_fwd,
        sent_back,
        arrived_back,
        bytes,
    }
}

/// Frames that the other side sent, and those of them that came.
fn received(records: &[TickRecord], report: &SideReport) -> (u64, u64) {
    let mut numbers = records
        .iter()
        .map(|record| record.received_sequence)
        .filter(|&n| n > 0);
    let first = numbers.next();
    let last = records.last().map(|record| record.received_sequence);
    let sent = first
        .zip(last)
        .map_or(0, |(first, last)| last.saturating_sub(first) + 1);
    let came = report.bus.received;
    (sent, (came.admitted + came.late + came.stale).min(sent))
}

/// What the machine refused, each once.
fn refusals(reports: &[&SideReport]) -> Vec<String> {
    let mut refusals: Vec<String> = reports
        .iter()
        .flat_map(|report| report.servo.granted.refusals.clone())
        .collect();
    refusals.sort();
    refusals.dedup();
    refusals
}

/// Whether the other side went or came anew meanwhile.
fn partings(report: &SideReport) -> Option<String> {
    let (losses, restarts) = (report.bus.peer_losses, report.bus.received.restarts);
    let now = if report.bus.peer_present {
        "was"
    } else {
        "was not"
    };
    (losses + restarts > 0).then(|| {
        format!(
            "The other side left the bus {losses} times and began anew {restarts} times; at the end \
             it {now} there."
        )
    })
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Config(error) => error.into(),
        RunError::Disagreement(error) => Failure::Usage(error.to_string()),
        other => Failure::Refused(other.to_string()),
    }
}

/// Rate, delay with its bound, force, energy and late ticks on one line.
fn status_line(status: &Status, duration_s: f64) -> String {
    let (Some(master), Some(slave)) = (&status.master, &status.slave) else {
        return "the sides are finding each other".into();
    };
    let ms = |ns: i64| {
        if ns < 0 {
            "?".into()
        } else {
            format!("{:.1}", ns as f64 * 1e-6)
        }
    };
    let force_n = master.port_force_n[..3]
        .iter()
        .map(|f| f * f)
        .sum::<f64>()
        .sqrt();
    let energy_mj: f64 = master
        .reservoir_j
        .iter()
        .chain(&slave.reservoir_j)
        .sum::<f64>()
        * 1e3;
    let apart = if status.apart {
        " | THE OTHER SIDE IS GONE"
    } else {
        ""
    };
    format!(
        "{:5.1} of {duration_s:.0} s | round trip {} ms, one way {} +- {} ms | {force_n:4.1} N | \
         {energy_mj:6.1} mJ in reserve | {} frames of {}{apart}",
        status.elapsed_s,
        ms(master.rtt_ns),
        ms(master.oneway_ns),
        ms(master.oneway_bound_ns),
        master.received_count,
        master.received_sequence,
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn arguments(flags: &[&str]) -> SideArgs {
        let all = ["palpate", "master"].iter().chain(flags);
        match Cli::try_parse_from(all).expect("good flags").into_command() {
            Command::Master(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn exactly_one_side_dials_by_default() {
        let config = Config::default();
        let of = |side| session(&arguments(&[]), &config, side).expect("defaults");
        let (master, slave) = (of(Side::Master), of(Side::Slave));
        assert_eq!((master.role, slave.role), (Role::Dial, Role::Listen));
        assert_eq!((master.udp, master.tcp), (slave.udp, slave.tcp));
    }

    #[test]
    fn endpoints_may_come_in_one_flag_or_in_two() {
        let config = Config::default();
        let one = arguments(&["--connect", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let two = arguments(&[
            "--connect",
            "udp/192.0.2.7:4",
            "--connect",
            "tcp/192.0.2.7:5",
        ]);
        for flags in [one, two] {
            let session = session(&flags, &config, Side::Master).expect("good endpoints");
            assert_eq!(
                (&*session.udp, &*session.tcp),
                ("udp/192.0.2.7:4", "tcp/192.0.2.7:5")
            );
        }
        let listening = arguments(&["--listen", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let session_of = session(&listening, &config, Side::Master).expect("good endpoints");
        assert_eq!(
            (session_of.role, session_of.side, &*session_of.node),
            (Role::Listen, Side::Master, "master")
        );
        let bad = arguments(&["--connect", "192.0.2.7"]);
        let error = session(&bad, &config, Side::Master)
            .expect_err("no scheme")
            .to_string();
        assert!(error.contains("--connect 192.0.2.7") && error.contains("udp/HOST:PORT"));
    }

    #[test]
    fn the_status_line_fits_a_terminal() {
        let status = Status {
            elapsed_s: 3.0,
            master: Some(TickRecord::default()),
            slave: Some(TickRecord::default()),
            apart: false,
        };
        let line = status_line(&status, 20.0);
        assert!(
            line.contains("of 20 s") && line.len() < 120,
            "{}: {line}",
            line.len()
        );
        let lost = Status {
            apart: true,
            ..status
        };
        assert!(status_line(&lost, 20.0).ends_with("GONE"));
        assert!(status_line(&Status::default(), 20.0).contains("finding"));
    }
}
