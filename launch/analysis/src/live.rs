//! Sessions in real time: run, judged and reported, and one side of another's.
//!
//! Source: ours. A side that a supervisor started only records; a side on its own host, and the
//! supervisor, also judge and report.

use std::collections::BTreeMap;
use std::path::Path;

use palpate_bus::{Role, SessionConfig};
use palpate_session::config::Config;
use palpate_session::input::InputReport;
use palpate_session::lab::{self, WIRE_BYTES};
use palpate_session::run::servo::ServoReport;
use palpate_session::run::supervise::{SideStatus, Status};
use palpate_session::run::{RunOptions, RunOutcome, SideReport, supervise};
use palpate_session::{record, tables};
use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use crate::conclude::{self, Concluded, Evidence};
use crate::metrics::{FrameCounts, LiveFacts, OnewayTruth, SessionFacts, StrokeFacts, TickLosses};
use crate::progress::Progress;
use crate::summary::Ending;
use crate::{Failure, play, truth};

/// Host on which a side listens, or dials, if nothing is said.
const HOST: &str = "127.0.0.1";

/// A whole live session, judged and written to its folder, with what must be said beside it; `compare` also runs the
/// same by waves in virtual time, where a twin is felt.
///
/// # Errors
/// [`Failure`] if the configuration cannot be used, or the machine refuses what a session needs.
pub fn whole(
    config: &Config,
    options: &RunOptions,
    progress: &dyn Progress,
    compare: bool,
) -> Result<(Concluded, Option<String>), Failure> {
    let show = |status: &Status| {
        if progress.is_visible() {
            progress.say(&status_line(status, config.duration_s));
        }
    };
    let outcome = supervise(config, options, show)?;
    progress.say("judging");
    let reports = [&outcome.master_report, &outcome.slave_report];
    let reports: Vec<&SideReport> = reports.into_iter().flatten().collect();
    let facts = outcome_facts(config, &outcome, &reports)?;
    let comparison = if compare && outcome.lost.is_empty() {
        play::compared(config, &facts.sites, &options.stop)?
    } else {
        None
    };
    let warning = lost(&outcome);
    let mut remarks = vec![outcome.network.clone()];
    remarks.extend(late_ticks(config)?);
    remarks.extend(warning.clone());
    remarks.extend(outcome.damage.clone());
    remarks.extend(refusals(&reports));
    remarks.extend(
        reports
            .iter()
            .filter_map(|of| of.input.as_ref())
            .map(InputReport::words),
    );
    remarks.extend(truth::remarks(config, &facts.sites)?);
    if facts.oneway_truth.is_none() {
        remarks.push(DELAYS_UNKNOWN.into());
    }
    remarks.extend(options.desk.iter().flat_map(|desk| desk.changes()));
    if outcome.interrupted {
        remarks.push("Ended before its time, as was asked.".into());
    }
    let evidence = Evidence {
        config,
        master: &outcome.master,
        slave: &outcome.slave,
        judged: None,
        facts: &facts,
        comparison: comparison.as_ref(),
        remarks: &remarks,
    };
    Ok((conclude::conclude(&evidence, &options.out)?, warning))
}

/// What a session of both sides knows besides its records.
fn outcome_facts(
    config: &Config,
    outcome: &RunOutcome,
    reports: &[&SideReport],
) -> Result<SessionFacts, Failure> {
    let whole = reports.len() == 2;
    Ok(SessionFacts {
        command: "run".into(),
        ending: match (outcome.lost.is_empty(), outcome.interrupted) {
            (false, _) => Ending::SideLost,
            (true, true) => Ending::Interrupted,
            (true, false) => Ending::Complete,
        },
        live: Some(LiveFacts {
            bare_timer_us_p99: outcome.bare_timer_us_p99,
            ran_to_end: ran_to_end(outcome),
            ..live_facts(reports, whole)
        }),
        losses: TickLosses {
            missed_ticks: total(reports, whole, |servo| servo.missed),
            records_lost: total(reports, whole, |servo| servo.records_lost),
        },
        frames: frames(outcome),
        strokes: StrokeFacts {
            links_cut: Some(outcome.links_cut),
            recorded: Some(outcome.strokes_recorded),
        },
        oneway_truth: oneway_truth(config, outcome, reports),
        ..facts(config, &outcome.master)?
    })
}

/// What a reader must know where no true delay is known.
const DELAYS_UNKNOWN: &str = "True one-way delays are not known here, so whether estimates kept their bound \
    is not stated.";

/// True delays: both sides ran on this host and its one clock. Nothing if a side is missing, if records
/// were lost, which would put frames down to other ticks, or if a codec left frames out.
fn oneway_truth(
    config: &Config,
    outcome: &RunOutcome,
    reports: &[&SideReport],
) -> Option<OnewayTruth> {
    let lost: u64 = reports.iter().map(|of| of.servo.records_lost).sum();
    let whole = reports.len() == 2 && lost == 0 && outcome.lost.is_empty();
    (whole && !config.codec.is_on())
        .then(|| truth::delays_of_one_clock(&outcome.master, &outcome.slave))
}

/// What a late tick of the master asks, if the session has a twin of a continuum.
fn late_ticks(config: &Config) -> Result<Option<String>, Failure> {
    if config.realtime.mask_late == 0.0 || !config.coupling.needs_twin() {
        return Ok(None);
    }
    let scene = lab::load_scene(&config.twin, "twin")?;
    if scene.table_source().is_none() {
        return Ok(None);
    }
    let found = tables::of_session(&scene);
    Ok(match (found.table, found.warning) {
        (Some(_), _) => Some("A late tick asks the twin's condensed table.".into()),
        (None, Some(warning)) => Some(format!(
            "The twin's table cannot be used: {warning}. `palpate model condense {}` makes it anew.",
            config.twin
        )),
        // its last stiffness does as well
        (None, None) => None,
    })
}

/// Which sides were lost, and how.
fn lost(outcome: &RunOutcome) -> Option<String> {
    let words = |(side, ending): &(Side, String)| {
        let side = side.name();
        format!("the {side} ended before the session was over: {ending}")
    };
    let all: Vec<String> = outcome.lost.iter().map(words).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The parts that the supervisor watched, and whether each ran until it was told to end.
fn ran_to_end(outcome: &RunOutcome) -> Vec<(&'static str, bool)> {
    let ran = |side| !outcome.lost.iter().any(|(lost, _)| *lost == side);
    let sides = [Side::Master, Side::Slave].map(|side| (side.name(), ran(side)));
    let emulator = outcome.emulator_ran.map(|ran| ("emulated network", ran));
    sides.into_iter().chain(emulator).collect()
}

/// Judge what one side recorded: without the other, nothing can be said of the channel.
///
/// # Errors
/// [`Failure::Refused`] if its recording cannot be read, or a file not written.
pub fn alone(
    config: &Config,
    side: Side,
    report: &SideReport,
    folder: &Path,
) -> Result<Concluded, Failure> {
    let path = folder.join("recording.mcap");
    let recording = record::read(&path).map_err(|error| Failure::Refused(error.to_string()))?;
    let facts = SessionFacts {
        command: side.name().into(),
        sides: vec![side],
        live: Some(live_facts(&[report], true)),
        losses: TickLosses {
            missed_ticks: Some(report.servo.missed),
            records_lost: Some(report.servo.records_lost),
        },
        strokes: StrokeFacts::of(&recording),
        ..facts(config, &recording.master)?
    };
    let mut remarks = refusals(&[report]);
    remarks.extend(partings(report));
    remarks.extend(report.codec_note.clone());
    remarks.extend(report.input.as_ref().map(InputReport::words));
    remarks.push(DELAYS_UNKNOWN.into());
    remarks.extend(truth::remarks(config, &facts.sites)?);
    let evidence = Evidence {
        config,
        master: &recording.master,
        slave: &recording.slave,
        judged: None,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    conclude::conclude(&evidence, folder)
}

/// How a side reaches the other: endpoints to dial, or to listen at.
///
/// # Errors
/// [`Failure::Usage`] naming an endpoint that is none.
pub fn session_at(
    connect: &[String],
    listen: &[String],
    config: &Config,
    side: Side,
) -> Result<SessionConfig, Failure> {
    let (udp, tcp) = (config.network.port, config.network.port + 1);
    let (role, endpoints) = match (connect.is_empty(), listen.is_empty()) {
        (false, _) => (Role::Dial, connect),
        (true, false) => (Role::Listen, listen),
        (true, true) if side == Side::Master => (Role::Dial, connect),
        (true, true) => (Role::Listen, listen),
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
        mode: config.modes(),
        sites: truth::sites(config, master)?,
        twin: truth::twin(config, master)?,
        frame_bytes: Some(WIRE_BYTES as u64),
        ..SessionFacts::default()
    })
}

/// What the servo loops of the sides say; `whole` is whether every side is among them.
fn live_facts(reports: &[&SideReport], whole: bool) -> LiveFacts {
    let mut late_causes = BTreeMap::new();
    for (cause, count) in reports.iter().flat_map(|report| &report.servo.late_causes) {
        *late_causes.entry(cause.clone()).or_default() += count;
    }
    LiveFacts {
        late_causes,
        allocations: total(reports, whole, |servo| servo.allocations),
        ..LiveFacts::default()
    }
}

/// Sum of a count of all sides; nothing if a side is missing.
fn total(reports: &[&SideReport], whole: bool, of: impl Fn(&ServoReport) -> u64) -> Option<u64> {
    whole.then(|| reports.iter().map(|report| of(&report.servo)).sum())
}

/// Frames of each direction, from the first to the last that the receiver used: what was sent
/// before or after is nobody's loss. Nothing if a side did not live to tell.
fn frames(outcome: &RunOutcome) -> Option<FrameCounts> {
    let (master, slave) = (
        outcome.master_report.as_ref()?,
        outcome.slave_report.as_ref()?,
    );
    let (sent_fwd, arrived_fwd) = received(&outcome.slave, slave, master);
    let (sent_back, arrived_back) = received(&outcome.master, master, slave);
    let bytes = (sent_fwd + sent_back) * WIRE_BYTES as u64;
    Some(FrameCounts {
        sent_fwd,
        arrived_fwd,
        sent_back,
        arrived_back,
        bytes,
    })
}

/// Frames that the other side handed to the network, and those of them that came. Frames that a
/// newer one replaced before the sender took them never were on the way.
fn received(records: &[TickRecord], report: &SideReport, sender: &SideReport) -> (u64, u64) {
    let mut numbers = records
        .iter()
        .map(|record| record.received_sequence)
        .filter(|&n| n > 0);
    let first = numbers.next();
    let last = records.last().map(|record| record.received_sequence);
    let sent = first
        .zip(last)
        .map_or(0, |(first, last)| last.saturating_sub(first) + 1);
    let replaced = sender.servo.frames.saturating_sub(sender.bus.sent);
    let sent = sent.saturating_sub(replaced);
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

/// Rate, delay with its bound, force, energy and late ticks on one line.
fn status_line(status: &Status, duration_s: f64) -> String {
    let (Some(master), Some(slave)) = (&status.master, &status.slave) else {
        return "the sides are finding each other".into();
    };
    let (operator, remote) = (&master.newest.record, &slave.newest.record);
    let ms = |ns: i64| match ns {
        ..0 => "?".into(),
        known => format!("{:.0}", Span(known).ms()),
    };
    let hz = |side: &SideStatus| side.rate_hz.map_or("?".into(), |hz| format!("{hz:.0}"));
    let force = operator.port_force_n[..3].iter().map(|f| f * f);
    let force_n = force.sum::<f64>().sqrt();
    let reserves = operator.reservoir_j.iter().chain(&remote.reservoir_j);
    let energy_mj = reserves.sum::<f64>() * 1e3;
    let apart = if status.apart {
        " | THE OTHER SIDE IS GONE"
    } else {
        ""
    };
    format!(
        "{:.0}/{duration_s:.0} s | {}+{} Hz, {} late | rtt {} ms, one way {} +- {} | \
         {force_n:.1} N | {energy_mj:.0} mJ{apart}",
        status.elapsed_s,
        hz(master),
        hz(slave),
        master.newest.late_ticks + slave.newest.late_ticks,
        ms(operator.rtt_ns),
        ms(operator.oneway_ns),
        ms(operator.oneway_bound_ns),
    )
}

#[cfg(test)]
mod tests {
    use palpate_session::run::side::StatusLine;

    use super::*;

    #[test]
    fn the_status_line_names_everything_and_fits_a_terminal() {
        let mut status = Status {
            elapsed_s: 3.0,
            ..Status::default()
        };
        assert!(status_line(&status, 20.0).contains("finding"));
        for k in 0..2 {
            for side in [Side::Master, Side::Slave] {
                let record = TickRecord {
                    side,
                    tick: 990 * k,
                    now_ns: 1_000_000_000 * k as i64,
                    rtt_ns: 101_300_000,
                    oneway_ns: 50_600_000,
                    oneway_bound_ns: -1,
                    port_force_n: [3.0, 0.0, -4.0, 9.0],
                    reservoir_j: [0.01, 0.0, 0.0, 0.0],
                    ..TickRecord::default()
                };
                status.take(StatusLine {
                    record,
                    late_ticks: 2,
                    peer_present: true,
                });
            }
        }
        let line = status_line(&status, 20.0);
        let expected = "3/20 s | 990+990 Hz, 4 late | rtt 101 ms, one way 51 +- ? | 5.0 N | 20 mJ";
        assert_eq!(line, expected);
        assert!(
            line.len() < 74,
            "{} beside the name and the spinner",
            line.len()
        );
        status.apart = true;
        assert!(status_line(&status, 20.0).ends_with("GONE"));
    }
}
