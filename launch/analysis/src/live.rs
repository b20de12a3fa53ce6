//! Sessions in real time: run, judged and reported, as a whole or as one side.
//!
//! Source: ours. A side that a supervisor started only records; a side on its own host, and the supervisor, also judge
//! and report.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palpate_bus::ownership::HandOver;
use palpate_bus::{BusConfig, ConnectionRole};
use palpate_session::config::Config;
use palpate_session::input::InputReport;
use palpate_session::keys::SessionKeys;
use palpate_session::lab::{self, WIRE_BYTES};
use palpate_session::run::servo::ServoReport;
use palpate_session::run::supervise::{SessionStatus, SideStatus};
use palpate_session::run::{RunOptions, RunOutcome, SideReport, supervise};
use palpate_session::{record, table_cache};
use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use crate::conclusion::{self, Conclusion, Evidence};
use crate::metrics::{DirectionCounts, NetworkFrameCounts, OnewayTruth, SessionFacts, norm_xyz};
use crate::progress::Progress;
use crate::summary::{Ending, ServoSummary, Summary, TopologySummary};
use crate::{Failure, truth, virtual_run};

/// Default host on which a side listens, or dials.
const HOST: &str = "127.0.0.1";

/// Runs, judges and reports a whole live session; returns its conclusion and a warning. `compare` also runs the same
/// session by waves in virtual time, if it renders a twin.
///
/// # Errors
/// [`Failure`] if the configuration cannot be used, or the machine refuses what a session needs.
pub fn run_session(
    config: &Config,
    options: &RunOptions,
    progress: &dyn Progress,
    compare: bool,
) -> Result<(Conclusion, Option<String>), Failure> {
    let show = |status: &SessionStatus| {
        if progress.is_visible() {
            progress.set_status(&status_line(status, config.duration_s));
        }
    };
    let outcome = supervise(config, options, show)?;
    progress.set_status("judging");
    let reports = [&outcome.master_report, &outcome.slave_report];
    let reports: Vec<&SideReport> = reports.into_iter().flatten().collect();
    let facts = outcome_facts(config, &outcome, &reports)?;
    let comparison = match compare && outcome.lost_sides.is_empty() {
        true => virtual_run::wave_comparison(config, &facts.sites, &options.stop)?,
        false => None,
    };
    let lost_note = lost_sides_note(&outcome);
    let mut remarks = vec![outcome.network.clone(), link_note(&reports)];
    remarks.extend(late_tick_note(config)?);
    remarks.extend(lost_note.clone());
    remarks.extend(outcome.damage.clone());
    remarks.extend(refusals(&reports));
    let inputs = reports.iter().filter_map(|of| of.input.as_ref());
    remarks.extend(inputs.map(InputReport::words));
    remarks.extend(truth::remarks(config, &facts.sites)?);
    if facts.oneway_truth.is_none() {
        remarks.push(DELAYS_UNKNOWN.into());
    }
    let controller = options.controller.iter();
    remarks.extend(controller.flat_map(|controller| controller.changes()));
    if outcome.interrupted {
        remarks.push("Ended early by the operator.".into());
    }
    let evidence = Evidence {
        comparison: comparison.as_ref(),
        remarks: &remarks,
        ..Evidence::new(config, &facts, &outcome.master, &outcome.slave)
    };
    Ok((conclusion::conclude(&evidence, &options.out)?, lost_note))
}

/// Returns the facts of a session of both sides that its records do not show.
fn outcome_facts(
    config: &Config,
    outcome: &RunOutcome,
    reports: &[&SideReport],
) -> Result<SessionFacts, Failure> {
    let mut facts = SessionFacts {
        live_parts: Some(ran_to_end(outcome)),
        frames: frames(outcome),
        oneway_truth: oneway_truth(config, outcome, reports),
        ..facts(config, "run", &outcome.master)?
    };
    facts.prefilled.ending = match (outcome.lost_sides.is_empty(), outcome.interrupted) {
        (false, _) => Ending::SideLost,
        (true, true) => Ending::Interrupted,
        (true, false) => Ending::Complete,
    };
    facts.prefilled.link.secured = secured(reports, 2);
    facts.demands_seal = !outcome.insecure;
    facts.prefilled.servo = ServoSummary {
        bare_timer_us_p99: outcome.bare_timer_us_p99,
        ..servo(reports, 2)
    };
    let recorded = outcome.master.len() + outcome.slave.len();
    state_unrecorded(reports, recorded, &mut facts.prefilled);
    let failure = outcome.recording_failure.iter();
    let failure = failure.map(|why| format!("recording is not whole: {why}"));
    facts.prefilled.safety.faults.extend(failure);
    facts.prefilled.topology = TopologySummary {
        edit_batches_recorded: Some(outcome.edit_batches_recorded),
        ..TopologySummary::default().with_links(Some(outcome.links))
    };
    Ok(facts)
}

/// Note for a session without true delays.
const DELAYS_UNKNOWN: &str = "True one-way delays are not known here, so the bound of their estimates \
    is not checked.";

/// True delays: both sides ran on this host and its one clock. None if a side is missing, if records were lost (which
/// would assign frames to other ticks), or if a codec left frames out.
fn oneway_truth(
    config: &Config,
    outcome: &RunOutcome,
    reports: &[&SideReport],
) -> Option<OnewayTruth> {
    let lost: u64 = reports.iter().map(|of| of.servo.records_lost).sum();
    let whole = reports.len() == 2 && lost == 0 && outcome.lost_sides.is_empty();
    (whole && !config.codec.is_on())
        .then(|| truth::delays_of_one_clock(&outcome.master, &outcome.slave))
}

/// Note on the fallback of a late tick of the master, if the twin is a continuum.
fn late_tick_note(config: &Config) -> Result<Option<String>, Failure> {
    if config.realtime.fallback_late == 0.0 || !config.coupling.needs_twin() {
        return Ok(None);
    }
    let scene = lab::load_scene(&config.twin, "twin")?;
    if scene.table_key_text().is_none() {
        return Ok(None);
    }
    Ok(match table_cache::cached(&scene) {
        Ok(Some(_)) => Some("A late tick uses the twin's condensed table.".into()),
        Err(warning) => Some(format!(
            "The twin's table cannot be used: {warning}. `palpate model condense {}` computes it again.",
            config.twin
        )),
        // the last stiffness is a sufficient fallback
        Ok(None) => None,
    })
}

/// True if frames of all `sides` sides were sealed; none if one of them has no report.
fn secured(reports: &[&SideReport], sides: usize) -> Option<bool> {
    let all = reports.iter().all(|report| report.sealed_with.is_some());
    (reports.len() == sides).then_some(all)
}

/// Note on the security of the link.
fn link_note(reports: &[&SideReport]) -> String {
    let unopened: u64 = reports.iter().map(|of| of.bus.received.unopened).sum();
    if secured(reports, reports.len()) != Some(true) || reports.is_empty() {
        return "The link was not secured: whoever reached it could read and command.".into();
    }
    let dropped = match unopened {
        0 => String::new(),
        count => format!(" {count} other datagrams were dropped: no agreed key opened them."),
    };
    format!("The link was secured: TLS, and sealed frames.{dropped}")
}

/// Note on the sides that were lost, with the way each ended.
fn lost_sides_note(outcome: &RunOutcome) -> Option<String> {
    let words = |(side, ending): &(Side, String)| {
        let side = side.name();
        format!("the {side} ended before the session was over: {ending}")
    };
    let all: Vec<String> = outcome.lost_sides.iter().map(words).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Parts that the supervisor watched, each with true if it ran until it was stopped.
fn ran_to_end(outcome: &RunOutcome) -> Vec<(&'static str, bool)> {
    let ran = |side| !outcome.lost_sides.iter().any(|(lost, _)| *lost == side);
    let sides = [Side::Master, Side::Slave].map(|side| (side.name(), ran(side)));
    let emulator = outcome.emulator_ran.map(|ran| ("emulated network", ran));
    let recording = outcome.recording_failure.iter();
    let recording = recording.map(|_| ("recording", false));
    sides.into_iter().chain(emulator).chain(recording).collect()
}

/// Judges the recording of one side; without the other, the channel is not judged.
///
/// # Errors
/// [`Failure::Refused`] if its recording cannot be read, or a file not written.
pub fn judge_side(
    config: &Config,
    side: Side,
    report: &SideReport,
    folder: &Path,
) -> Result<Conclusion, Failure> {
    let demands_seal = report.secured;
    let path = record::left_in(folder);
    let recording = record::read(&path).map_err(|error| Failure::Refused(error.to_string()))?;
    // a granted hand-over is an end by the owner's own act
    let kept = report.handovers.iter().all(|change| change.granted);
    let owns = (side == Side::Master).then_some((OWNERSHIP, kept));
    let mut facts = SessionFacts {
        only_side: Some(side),
        live_parts: Some(owns.into_iter().collect()),
        ..facts(config, side.name(), &recording.master)?
    };
    facts.prefilled.link.secured = secured(&[report], 1);
    facts.demands_seal = demands_seal;
    let closed = report.revoked.iter();
    let closed = closed.map(|name| format!("session closed: the key of {name} was revoked"));
    facts.prefilled.safety.faults.extend(closed);
    let handovers: Vec<String> = report.handovers.iter().map(handover_words).collect();
    if side == Side::Master {
        facts.prefilled.safety.faults.extend(handovers.clone());
    }
    facts.prefilled.servo = servo(&[report], 1);
    let recorded = recording.master.len() + recording.slave.len();
    state_unrecorded(&[report], recorded, &mut facts.prefilled);
    facts.prefilled.topology = TopologySummary::of(&recording);
    let mut remarks = vec![link_note(&[report])];
    remarks.extend(refusals(&[report]));
    remarks.extend(handovers.iter().map(|words| format!("{words}.")));
    remarks.extend(peer_change_note(report));
    remarks.extend(report.codec_note.clone());
    remarks.extend(report.input.as_ref().map(InputReport::words));
    remarks.push(DELAYS_UNKNOWN.into());
    remarks.extend(truth::remarks(config, &facts.sites)?);
    let evidence = Evidence {
        remarks: &remarks,
        ..Evidence::new(config, &facts, &recording.master, &recording.slave)
    };
    conclusion::conclude(&evidence, folder)
}

/// Endpoints and keys of a side, as its flags give them.
#[derive(Debug, Clone, Copy)]
pub struct SideLink<'a> {
    /// Endpoints to connect to.
    pub connect: &'a [String],
    /// Endpoints to listen on.
    pub listen: &'a [String],
    /// Keys of a secured session.
    pub keys: Option<&'a SessionKeys>,
    /// True if endpoints beyond this host are permitted without keys.
    pub insecure: bool,
}

/// Returns the bus configuration of a side: endpoints to dial, or to listen at.
///
/// # Errors
/// [`Failure::Usage`] naming an endpoint that is malformed, or that needs keys.
pub fn bus_config(link: &SideLink<'_>, config: &Config, side: Side) -> Result<BusConfig, Failure> {
    let (udp, tcp) = (config.network.port, config.network.port + 1);
    let dials = !link.connect.is_empty() || (link.listen.is_empty() && side == Side::Master);
    let (role, flag, endpoints) = match dials {
        true => (ConnectionRole::Dial, "--connect", link.connect),
        false => (ConnectionRole::Listen, "--listen", link.listen),
    };
    let mut session = BusConfig::new(side, role, HOST, udp, tcp);
    session.thread_priority = config.realtime.bus_priority();
    session.keyring = link.keys.map(|keys| Arc::clone(keys.keyring()));
    for endpoint in endpoints {
        match endpoint.split_once('/') {
            Some(("udp", _)) => session.udp.clone_from(endpoint),
            Some(("tcp", _)) => session.tcp.clone_from(endpoint),
            // with keys the reliable link is TLS, whichever of both names it has
            Some(("tls", address)) if link.keys.is_some() => session.tcp = format!("tcp/{address}"),
            _ => {
                let expected =
                    "expected udp/HOST:PORT and tcp/HOST:PORT, or tls/HOST:PORT with --secure";
                return Err(Failure::Usage(format!("{flag} {endpoint}: {expected}")));
            }
        }
        if link.keys.is_none() && !link.insecure && !is_loopback(endpoint) {
            return Err(Failure::Usage(format!("{flag} {endpoint}: {KEYS_NEEDED}")));
        }
    }
    session
        .validate()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(session)
}

/// Refusal of an endpoint beyond this host without keys.
const KEYS_NEEDED: &str = "an endpoint beyond this host needs keys. Make them with `palpate keys new DIR`, exchange \
    them with the other host by `palpate keys trust DIR PEER.pem`, and add --secure DIR; or add --insecure, and \
    whoever reaches the endpoint can read and command";

/// True if only this host reaches an endpoint.
fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.split_once('/').map_or("", |(_, address)| address);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<std::net::IpAddr, _> = host.parse();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

/// Returns the facts of a live session that its records and its servo loops do not show.
fn facts(config: &Config, command: &str, master: &[TickRecord]) -> Result<SessionFacts, Failure> {
    let mut facts = SessionFacts {
        sites: truth::sites(config, master)?,
        frame_bytes: Some(WIRE_BYTES as u64),
        ..SessionFacts::of(config, command)
    };
    facts.prefilled.twin = truth::twin_summary(config, master)?;
    Ok(facts)
}

/// Sums the reports of the servo loops of `sides` sides; the sums are None if one of them is missing.
fn servo(reports: &[&SideReport], sides: usize) -> ServoSummary {
    let mut late_causes = BTreeMap::new();
    for (cause, count) in reports.iter().flat_map(|report| &report.servo.late_causes) {
        *late_causes.entry(cause.clone()).or_default() += count;
    }
    let total = |of: fn(&ServoReport) -> u64| {
        let whole = reports.len() == sides;
        whole.then(|| reports.iter().map(|report| of(&report.servo)).sum())
    };
    ServoSummary {
        late_causes,
        allocations: total(|servo| servo.allocations),
        missed_ticks: total(|servo| servo.missed),
        records_lost: total(|servo| servo.records_lost),
        ..ServoSummary::default()
    }
}

/// States a recording that ended before its side as a fault, and counts the ticks that it lacks.
fn state_unrecorded(reports: &[&SideReport], recorded: usize, summary: &mut Summary) {
    let failures = reports
        .iter()
        .filter_map(|report| report.recording_failure.as_ref());
    let words = failures.map(|why| format!("recording ended early: {why}"));
    summary.safety.faults.extend(words);
    if !summary.safety.faults.is_empty() {
        let ticks: u64 = reports.iter().map(|report| report.servo.ticks).sum();
        summary.servo.records_lost = Some(ticks.saturating_sub(recorded as u64));
    }
}

/// Frames of each direction, from the first to the last that the receiver used; frames before or after do not count as
/// lost. None if a side has no report.
fn frames(outcome: &RunOutcome) -> Option<NetworkFrameCounts> {
    let master = outcome.master_report.as_ref()?;
    let slave = outcome.slave_report.as_ref()?;
    let streams = [
        received(&outcome.slave, slave, master),
        received(&outcome.master, master, slave),
    ];
    let sent: u64 = streams.iter().map(|stream| stream.sent).sum();
    Some(NetworkFrameCounts {
        streams,
        bytes: sent * WIRE_BYTES as u64,
    })
}

/// Frames that the other side handed to the network, and those that arrived. Frames that a newer one replaced before
/// the sender took them were never sent.
fn received(records: &[TickRecord], report: &SideReport, sender: &SideReport) -> DirectionCounts {
    let numbers = || records.iter().map(|record| record.received_sequence);
    let first = numbers().find(|&n| n > 0);
    let sent = match first.zip(numbers().next_back()) {
        Some((first, last)) => last.saturating_sub(first) + 1,
        None => 0,
    };
    let replaced = sender.servo.frames.saturating_sub(sender.bus.sent);
    let sent = sent.saturating_sub(replaced);
    let received = report.bus.received;
    let arrived = (received.admitted + received.late + received.stale).min(sent);
    DirectionCounts { sent, arrived }
}

/// Part of a master's session that must last until its end, or until the owner grants a hand-over.
const OWNERSHIP: &str = "ownership of the robot";

/// Change of the robot's owner, in words.
#[must_use]
pub fn handover_words(change: &HandOver) -> String {
    let to = &change.to;
    match change.granted {
        true => format!("robot handed over to {to}"),
        false => format!("robot taken by {to}, without a grant of its owner"),
    }
}

/// Requests that the machine refused, each once.
fn refusals(reports: &[&SideReport]) -> Vec<String> {
    let all = reports.iter().map(|report| &report.servo.granted.refusals);
    let mut refusals: Vec<String> = all.flatten().cloned().collect();
    refusals.sort();
    refusals.dedup();
    refusals
}

/// Note that the other side left or restarted during the session, or that somebody else sent frames in its name.
fn peer_change_note(report: &SideReport) -> Option<String> {
    let (losses, restarts) = (report.bus.peer_losses, report.bus.received.restarts);
    let present = report.bus.peer_present;
    let now = if present { "was" } else { "was not" };
    let unproven_run = report.bus.received.unproven_run;
    (losses + restarts + unproven_run > 0).then(|| {
        format!(
            "The other side left the bus {losses} times and restarted {restarts} times; at the end \
             it {now} present. {unproven_run} frames of another sender in its name were refused."
        )
    })
}

/// Returns rate, delay with its bound, force, stored energy and late ticks on one line.
fn status_line(status: &SessionStatus, duration_s: f64) -> String {
    let (Some(master), Some(slave)) = (&status.master, &status.slave) else {
        return "waiting for both sides to connect".into();
    };
    let (operator, remote) = (&master.newest.record, &slave.newest.record);
    let ms = |ns: i64| match ns {
        ..0 => "?".into(),
        known => format!("{:.0}", Span(known).ms()),
    };
    let hz = |side: &SideStatus| side.rate_hz.map_or("?".into(), |hz| format!("{hz:.0}"));
    let force_n = norm_xyz(&operator.port_force_n);
    let reserves = operator.tank_j.iter().chain(&remote.tank_j);
    let energy_mj = reserves.sum::<f64>() * 1e3;
    let missing = match status.peer_missing {
        true => " | OTHER SIDE LOST",
        false => "",
    };
    format!(
        "{:.0}/{duration_s:.0} s | {}+{} Hz, {} late | rtt {} ms, one way {} +- {} | \
         {force_n:.1} N | {energy_mj:.0} mJ{missing}",
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
    fn note_on_the_link_has_the_reason_of_dropped_datagrams() {
        let mut report = SideReport {
            sealed_with: Some("robot".into()),
            ..SideReport::default()
        };
        assert!(!link_note(&[&report]).contains("dropped"));
        report.bus.received.unopened = 3;
        let note = link_note(&[&report]);
        assert!(note.contains("3 other datagrams were dropped: no agreed key opened them"));
    }

    #[test]
    fn the_status_line_shows_all_fields_and_fits_a_terminal() {
        let mut status = SessionStatus {
            elapsed_s: 3.0,
            ..SessionStatus::default()
        };
        assert!(status_line(&status, 20.0).contains("waiting"));
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
                    tank_j: [0.01, 0.0, 0.0, 0.0],
                    ..TickRecord::default()
                };
                status.update(StatusLine {
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
        status.peer_missing = true;
        assert!(status_line(&status, 20.0).ends_with("OTHER SIDE LOST"));
    }
}
