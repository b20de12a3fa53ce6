//! Conclusion of a session, live or virtual: audit, metrics, report and table.
//!
//! Source: ours. The auditor sees the records alone; other facts go to the metrics.

use std::path::Path;

use palpate_master::device::HandleKind;
use palpate_master::device::script::ScriptParams;
use palpate_session::audit::{self, Audit, PortTraces};
use palpate_session::config::Config;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;
use palpate_transport::{Axes, Span};

use super::{Failure, output, table, truth};
use crate::metrics::robot_limits::RobotExtremes;
use crate::metrics::{self, SessionFacts, Tally, Traces, norm_xyz};
use crate::render::peak_press;
use crate::report::{self, ModeComparison, ReportInput};
use crate::summary::{SessionLimits, Summary, TopologySummary};

/// Points over time in the plots.
pub(crate) const PLOT_SAMPLES: usize = 600;

/// Records and facts of a session that ended.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Configuration of the session.
    pub config: &'a Config,
    /// Records of both sides.
    pub traces: Traces<'a>,
    /// Audit and counts over every tick, if only the start of the records was kept; None if the records are complete.
    pub full_verdict: Option<(&'a Audit, &'a Tally)>,
    /// Facts that the records do not show.
    pub facts: &'a SessionFacts,
    /// The same session coupled by waves, if this one was not.
    pub comparison: Option<&'a ModeComparison>,
    /// Sentences for the reader: network, rate, refusals by the machine.
    pub remarks: &'a [String],
}

impl<'a> Evidence<'a> {
    /// Evidence from complete records, without a comparison and without remarks.
    #[must_use]
    pub fn new(
        config: &'a Config,
        facts: &'a SessionFacts,
        master: &'a [TickRecord],
        slave: &'a [TickRecord],
    ) -> Self {
        Self {
            config,
            traces: Traces { master, slave },
            full_verdict: None,
            facts,
            comparison: None,
            remarks: &[],
        }
    }
}

/// Summary of a session that was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// Numbers and checks.
    pub summary: Summary,
    /// The most important numbers and the checks, for a terminal.
    pub table: String,
}

/// Judges and measures a session; writes nothing.
#[must_use]
pub fn measure(evidence: &Evidence<'_>) -> (Summary, Audit) {
    let (config, traces, facts) = (evidence.config, evidence.traces, evidence.facts);
    let (audit, tally) = match evidence.full_verdict {
        Some((audit, tally)) => (audit.clone(), tally.clone()),
        None => {
            let ports = PortTraces {
                master: traces.master,
                slave: traces.slave,
                slave_clock_ahead: Span(0),
            };
            (audit::audit(&ports, PLOT_SAMPLES), Tally::of(&traces))
        }
    };
    let mut summary = metrics::measure(&traces, &audit, &tally, facts);
    // an ideal mass reads without noise, and then this is generous
    let palpator = &config.robot.palpator;
    let (noise_n, noise_m) = (palpator.sensor.noise_n, palpator.encoder_noise_m);
    summary.passivity.robot_port_tolerance_j = summary
        .passivity
        .robot_port_min_j
        .map(|_| tally.balances.robot_port_tolerance_j(noise_n, noise_m));
    if config.codec.is_on() {
        // between the frames of a codec the receiver uses another force than that of the newest one
        summary.link.reconstruction_error = None;
    }
    let limits = judge_robot(config, &tally.robot, &mut summary);
    summary.state_checks(facts, &limits);
    let rehearsed = facts.rehearsal.iter().flat_map(|result| &result.checks);
    summary.checks.extend(rehearsed.cloned());
    (summary, audit)
}

/// Motion of a robot that is not enabled, beyond its stopping distance and its yield, that is accepted \[mm\].
const MOTION_MM_MAX: f64 = 0.5;

/// Fraction of a limit of the robot up to which the limit counts as kept.
const LIMIT_SHARE: f64 = 1.1;

/// Adds the extremes of the robot to a summary, and returns the limits of its session.
fn judge_robot(config: &Config, robot: &RobotExtremes, summary: &mut Summary) -> SessionLimits {
    let (slave, guard) = (&config.slave, &config.slave.guard);
    let spring_npm = [0, 1, 2].map(|axis: usize| {
        let own_npm = slave.stiffness_npm[axis];
        config.coupling.robot_stiffness_npm(own_npm)
    });
    let yield_mm = 1e3 * robot.yield_n / spring_npm.into_iter().fold(f64::INFINITY, f64::min);
    let (tissue_n, tissue_n_max) = nearest_to_limit(&robot.contact_n, &guard.contact_n_max);
    let (robot_mps, robot_mps_max) = nearest_to_limit(&robot.speed_mps, &guard.velocity_mps_max);
    if robot.extent_m.is_some() {
        let safety = &mut summary.safety;
        safety.yield_mm_max = Some(yield_mm);
        safety.motion_beyond_stop_mm_max = Some(1e3 * robot.unexplained_m);
        safety.tissue_force_n_max = Some(tissue_n);
        safety.robot_speed_mps_max = Some(robot_mps);
        safety.outside_workspace_mm_max =
            Some(1e3 * robot.outside_m(&guard.workspace_m_min, &guard.workspace_m_max));
        let mass_kg = config.robot.mass_kg();
        let approaches_mps = (0..3).map(|axis| {
            let limit_n = guard.contact_n_max[axis];
            palpate_slave::approach_mps(limit_n, mass_kg[axis], slave.wall_npm_max)
        });
        safety.approach_mps_max = approaches_mps.reduce(f64::min);
    }
    SessionLimits {
        // the guard limits axis by axis; the peak is that of the three together
        force_n: norm_xyz(&config.master.guard.force_n_max),
        uncommanded_motion_mm: MOTION_MM_MAX + yield_mm,
        tissue_n: LIMIT_SHARE * tissue_n_max,
        robot_mps: LIMIT_SHARE * robot_mps_max,
        active_j: config.coupling.active_j_max,
        passive: config.coupling.mode.is_passive(),
        forged: config.liar.is_on(),
    }
}

/// Value and limit of the axis whose value is the largest share of its limit; NaN is the largest.
fn nearest_to_limit(values: &Axes, limits: &Axes) -> (f64, f64) {
    let pairs = values.iter().copied().zip(limits.iter().copied());
    let share = |(value, limit): (f64, f64)| value / limit;
    pairs
        .reduce(|a, b| {
            if share(b) > share(a) || b.0.is_nan() {
                b
            } else {
                a
            }
        })
        .unwrap_or_default()
}

/// Judges and measures a session, and writes `summary.json` and `report.html`.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be written.
pub fn conclude(evidence: &Evidence<'_>, folder: &Path) -> Result<Conclusion, Failure> {
    let (summary, audit) = measure(evidence);
    write_results(evidence, summary, &audit, folder)
}

/// Writes `summary.json` and `report.html` of a summary, with the checks that a command added.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be written.
pub fn write_results(
    evidence: &Evidence<'_>,
    summary: Summary,
    audit: &Audit,
    folder: &Path,
) -> Result<Conclusion, Failure> {
    let (config, facts) = (evidence.config, evidence.facts);
    output::write(&folder.join("summary.json"), &(summary.to_json() + "\n"))?;
    let mut remarks = evidence.remarks.to_vec();
    remarks.extend(mode_switch_note(config));
    remarks.extend(unjudged_note(evidence));
    remarks.extend(topology_note(&summary.topology));
    remarks.extend(height_note(summary.twin.height_m));
    let peak = peak_press::peak_render(config, evidence.traces.slave);
    let rehearsed = facts.rehearsal.iter().flat_map(|result| &result.renders);
    let at_work = rehearsed.chain(&facts.renders).cloned();
    let renders: Vec<_> = peak.into_iter().chain(at_work).collect();
    let exploration = truth::exploration_scene(config, facts)?;
    let page = report::render(&ReportInput {
        evidence,
        summary: &summary,
        audit,
        exploration: exploration.as_ref(),
        renders: &renders,
        notes: &remarks,
    });
    output::write(&folder.join("report.html"), &page)?;
    let table = table::table(&summary, evidence);
    Ok(Conclusion { summary, table })
}

/// Returns the kind of operator that held the handle.
#[must_use]
pub fn operator_name(config: &Config) -> &'static str {
    match config.operator.handle {
        HandleKind::Pointer if config.operator.device.is_some() => "person with a device",
        HandleKind::Pointer => "person at the page",
        HandleKind::Phantom | HandleKind::Mass => "simulated operator",
    }
}

/// Note for a session that switches its method.
fn mode_switch_note(config: &Config) -> Option<String> {
    (!config.coupling.switch.is_empty()).then(|| {
        format!(
            "The method was switched ({}), and records lack the mode of their tick: errors of the displayed force \
             against the remote one, and of the twin, are unknown.",
            config.modes()
        )
    })
}

/// Note that the post-conditions of a script were not judged, because the session had no specimen.
fn unjudged_note(evidence: &Evidence<'_>) -> Option<String> {
    let count = evidence.config.after.len();
    (count > 0 && evidence.facts.rehearsal.is_none()).then(|| {
        format!(
            "The {count} post-conditions of the script were not judged: only `palpate rehearse` and `palpate lab` \
             can inspect the twin while it is cut."
        )
    })
}

/// Least height of a note \[m\].
const SHOWN_HEIGHT_M: f64 = 5e-5;

/// Note on a surface that was registered elsewhere than its scene has it.
#[must_use]
pub(crate) fn height_note(height_m: Option<f64>) -> Option<String> {
    let height_m = height_m.filter(|height_m| height_m.abs() >= SHOWN_HEIGHT_M)?;
    let way = if height_m > 0.0 { "higher" } else { "lower" };
    Some(format!(
        "The robot touched the tissue {:.1} mm {way} than its twin has it; the twin was moved there.",
        1e3 * height_m.abs()
    ))
}

/// Note on the edits by instruments of both tissues, or on the ticks in which they were blocked.
#[must_use]
pub fn topology_note(topology: &TopologySummary) -> Option<String> {
    let cut = topology.links_cut.unwrap_or(0);
    let active_ticks = topology.instrument_ticks.unwrap_or(0);
    // tissue also tears without an instrument
    if active_ticks == 0 && cut == 0 {
        return None;
    }
    let batches = topology.edit_batches.unwrap_or(0);
    let joined = topology.links_joined.filter(|&joined| joined > 0);
    let joined = joined.map_or(String::new(), |joined| format!(", {joined} joined"));
    let links = topology.links_cut.map_or(String::new(), |cut| {
        format!(", {cut} links cut or torn{joined}")
    });
    // only a remote side refuses edit batches
    let Some(refusals) = topology.edit_batches_refused else {
        return Some(format!("Edits: {batches} batches{links}."));
    };
    let finished = topology.edit_batches_done.unwrap_or(0);
    let applied = finished.saturating_sub(refusals);
    let equality = match topology.equal {
        Some(true) => "both tissues have the same topology at the end",
        Some(false) => "THE TOPOLOGIES DIFFER at the end",
        None => "the topologies cannot be compared",
    };
    let blocked_ticks = topology.blunted_ticks.filter(|&ticks| ticks > 0);
    let blocked = blocked_ticks.map_or(String::new(), |ticks| {
        format!(
            "; in {ticks} of {active_ticks} ticks instruments only pressed, as the topology of the remote tissue was \
             not known to equal the twin's"
        )
    });
    let refused = topology.first_refused.map_or(String::new(), |first| {
        format!(", {refusals} REFUSED, the first was batch {first}")
    });
    Some(format!(
        "Edits: {batches} batches{links}, {applied} applied to the remote tissue{refused}; \
         {equality}{blocked}."
    ))
}

/// Returns true if a session is compared with wave mode: one that renders a twin over a delay.
pub(crate) fn wants_comparison(config: &Config) -> bool {
    let delayed = config.link.forward.oneway_ms + config.link.back.oneway_ms > 0.0;
    let short = config.duration_s <= COMPARED_S_MAX;
    // a session that switches its method would switch in the comparison as well
    let twin = config.coupling.mode.resolved() == Mode::Mmt && config.coupling.switch.is_empty();
    // a script of steps is judged by its result, not by displayed stiffness
    let palpates = !matches!(config.operator.script, ScriptParams::Procedure(_));
    twin && delayed && short && palpates
}

/// Longest session that is run a second time for the comparison \[s\].
const COMPARED_S_MAX: f64 = 300.0;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use palpate_session::lab::VirtualSession;
    use palpate_transport::codec::CodecKind;

    use super::*;
    use crate::progress::NoProgress;
    use crate::summary::{Check, Ending};
    use crate::virtual_run::{self, VirtualRun};

    /// Returns the check of one-way delays of a session.
    fn delays(config: &Config, run: &VirtualRun) -> Check {
        let facts = virtual_run::facts(config, run, Vec::new(), false).expect("no scene");
        let evidence = Evidence::new(config, &facts, &run.master, &run.slave);
        let checks = measure(&evidence).0.checks;
        let mut found = checks
            .into_iter()
            .filter(|check| check.name.contains("one-way"));
        found.next().expect("stated")
    }

    #[test]
    fn note_states_how_much_higher_or_lower_the_tissue_was() {
        for height_m in [None, Some(0.0), Some(2e-5)] {
            assert_eq!(height_note(height_m), None);
        }
        for (height_m, words) in [(0.0051, "5.1 mm higher"), (-0.02, "20.0 mm lower")] {
            let note = height_note(Some(height_m)).expect("a note");
            assert!(note.contains(words), "{note}");
        }
    }

    /// The difference of both was stated, so tissue that was cut and glued had "0 links cut".
    #[test]
    fn issue_links_that_were_joined_again_were_not_counted_as_cut() {
        let note = |cut, joined, instrument_ticks| {
            topology_note(&TopologySummary {
                links_cut: Some(cut),
                links_joined: Some(joined),
                instrument_ticks: Some(instrument_ticks),
                edit_batches: Some(4),
                ..TopologySummary::default()
            })
        };
        let glued = "Edits: 4 batches, 99 links cut or torn, 99 joined.";
        assert_eq!(note(99, 99, 1000).as_deref(), Some(glued));
        let torn = "Edits: 4 batches, 7 links cut or torn.";
        assert_eq!(note(7, 0, 0).as_deref(), Some(torn));
        assert_eq!(note(0, 0, 0), None);
    }

    /// Four fifths of the round trip are one way, with clock drift, jitter and loss; once with every frame sent, once
    /// with a codec.
    #[test]
    fn every_session_checks_delays_against_their_bound() {
        for (skew_ppm, codec) in [(200.0, CodecKind::Off), (-200.0, CodecKind::Deadband)] {
            let mut config = Config {
                tissue: "wall:500".into(),
                duration_s: 12.0,
                ..Config::default()
            };
            config.coupling.mode = Mode::Wave;
            config.codec.kind = codec;
            (config.clock.skew_ppm, config.clock.offset_ms) = (skew_ppm, 37.0);
            for (link, oneway_ms) in [
                (&mut config.link.forward, 80.0),
                (&mut config.link.back, 20.0),
            ] {
                (link.oneway_ms, link.jitter_ms, link.loss) = (oneway_ms, 10.0, 0.1);
            }
            let session = VirtualSession::new(&config).expect("built in");
            let stop = AtomicBool::new(false);
            let mut run = virtual_run::play(session, None, &NoProgress, &stop, |_| Ok(()))
                .expect("nothing refuses");
            let found = delays(&config, &run);
            assert!(found.held && found.limit == 0.999, "{found:?}");
            // the asymmetry is real: estimates are off by tens of milliseconds, so the bound has to be that wide
            for record in run.master.iter_mut().chain(&mut run.slave) {
                record.oneway_bound_ns /= 4;
            }
            let found = delays(&config, &run);
            assert!(!found.held && found.value.is_some(), "{found:?}");
        }
    }

    #[test]
    fn a_session_without_records_passes_no_check() {
        let (config, facts) = (Config::default(), SessionFacts::default());
        let evidence = Evidence::new(&config, &facts, &[], &[]);
        let (mut summary, _) = measure(&evidence);
        let held = |name: &str| summary.checks.iter().any(|c| c.name == name && c.held);
        assert!(!held("instants judged") && !held("passivity violations"));
        assert!(!held("force on the hand") && !held("records lost"));
        assert!(!summary.is_good());
        summary.ending = Ending::Interrupted;
        assert!(
            summary.is_good(),
            "Ctrl-C before the first tick is no failure"
        );
        assert!(table::table(&summary, &evidence).contains("unknown violations"));
    }

    #[test]
    fn only_a_twin_over_a_delay_is_compared() {
        let mut config = Config::default();
        assert!(wants_comparison(&config));
        config.coupling.mode = Mode::Wave;
        assert!(!wants_comparison(&config));
        config.coupling.mode = Mode::Mmt;
        config
            .set("coupling.switch=[{at_s=1,mode=\"tank\"}]")
            .expect("a switch");
        assert!(!wants_comparison(&config));
        config.set("coupling.switch=[]").expect("none");
        config.link.forward.oneway_ms = 0.0;
        config.link.back.oneway_ms = 0.0;
        assert!(!wants_comparison(&config));
    }
}
