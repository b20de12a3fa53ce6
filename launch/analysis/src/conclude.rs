//! How every session ends, live or virtual: judged, measured, reported, and put in a few lines.
//!
//! Source: ours. The auditor sees the records alone; what is known besides goes to the metrics.

use std::path::Path;

use palpate_master::device::HandleKind;
use palpate_master::device::script::ScriptParams;
use palpate_session::audit::{self, Audit, Ports};
use palpate_session::config::Config;
use palpate_transport::Axes;
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

use super::{Failure, output, table, truth};
use crate::metrics::{self, SessionFacts, Tally, Traces};
use crate::report::{self, Comparison, ReportInput};
use crate::still::pressed;
use crate::summary::{Expected, Summary, TopologySummary};

/// Points over time in the plots.
pub(crate) const PLOT_SAMPLES: usize = 600;

/// A session as it ended.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What was to run.
    pub config: &'a Config,
    /// Records of the operator's side.
    pub master: &'a [TickRecord],
    /// Records of the remote side.
    pub slave: &'a [TickRecord],
    /// Verdict and counts over every tick, of a session of which only the start was kept; nothing if
    /// the records are all there is.
    pub judged: Option<(&'a Audit, &'a Tally)>,
    /// What the records cannot show.
    pub facts: &'a SessionFacts,
    /// The same session coupled by waves, if this one was not.
    pub comparison: Option<&'a Comparison>,
    /// Sentences for the reader: which network, how fast, what the machine refused.
    pub remarks: &'a [String],
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Concluded {
    /// The numbers and the checks.
    pub summary: Summary,
    /// The most important of them, for a terminal.
    pub table: String,
}

/// Judge and measure a session; nothing is written.
#[must_use]
pub fn measure(evidence: &Evidence<'_>) -> (Summary, Audit) {
    let Evidence {
        config,
        master,
        slave,
        facts,
        ..
    } = *evidence;
    let traces = Traces { master, slave };
    let (audit, tally) = match evidence.judged {
        Some((audit, tally)) => (audit.clone(), tally.clone()),
        None => {
            let ports = Ports {
                master,
                slave,
                slave_clock_ahead: Span(0),
            };
            (audit::audit(&ports, PLOT_SAMPLES), Tally::of(&traces))
        }
    };
    let mut summary = metrics::measure(&traces, &audit, &tally, facts);
    if config.codec.is_on() {
        // between the frames of a codec the receiver has another force than that of the newest one
        summary.link.reconstruction_error = None;
    }
    let live = facts.live.as_ref();
    summary.state_checks(&Expected {
        sides: facts.sides.clone(),
        // the guard limits axis by axis; the peak is that of the three together
        force_n: together(config.master.guard.force_n_max),
        uncommanded_motion_mm: stretch_mm(config),
        ran_to_end: live.map_or(Vec::new(), |live| live.ran_to_end.clone()),
        live: live.is_some(),
        passive: config.coupling.mode.is_passive(),
        delays_known: facts.oneway_truth.is_some(),
        networked: facts.networked,
    });
    let rehearsed = facts.rehearsal.iter().flat_map(|done| &done.checks);
    summary.checks.extend(rehearsed.cloned());
    (summary, audit)
}

/// How far the probe may go while the robot is not enabled \[mm\]. The port then stands still, and
/// the probe hangs on it by the coupling's spring, which the force limit lets stretch by F_max / K_s
/// on each axis: the probe may come back by that and no more.
fn stretch_mm(config: &Config) -> f64 {
    let slave = &config.slave;
    let spring_npm = |axis: usize| config.coupling.robot_npm(slave.stiffness_npm[axis]);
    let stretch_m = |axis: usize| slave.guard.force_n_max[axis] / spring_npm(axis);
    together(std::array::from_fn(stretch_m)) * 1e3
}

/// Length of x, y and z together.
fn together(axes: Axes) -> f64 {
    axes[..3].iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Judge and measure a session, and write `summary.json` and `report.html`.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be written.
pub fn conclude(evidence: &Evidence<'_>, folder: &Path) -> Result<Concluded, Failure> {
    let (summary, audit) = measure(evidence);
    written(evidence, summary, &audit, folder)
}

/// Write `summary.json` and `report.html` of what was measured, with the checks that a command added.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be written.
pub fn written(
    evidence: &Evidence<'_>,
    summary: Summary,
    audit: &Audit,
    folder: &Path,
) -> Result<Concluded, Failure> {
    output::write(&folder.join("summary.json"), &(summary.to_json() + "\n"))?;
    let mut remarks = evidence.remarks.to_vec();
    remarks.extend(switched(evidence.config));
    remarks.extend(unjudged(evidence));
    remarks.extend(opened(&summary.topology));
    let pressed = pressed::hardest(evidence.config, evidence.slave);
    let stills: Vec<_> = pressed
        .into_iter()
        .chain(evidence.facts.stills.clone())
        .collect();
    let ground = truth::ground(evidence.config, evidence.facts)?;
    let page = report::render(&ReportInput {
        title: &evidence.config.name,
        operator: operator(evidence.config),
        mode: &evidence.config.modes_said(),
        summary: &summary,
        traces: Traces {
            master: evidence.master,
            slave: evidence.slave,
        },
        audit,
        facts: evidence.facts,
        comparison: evidence.comparison,
        config: &evidence.config.to_toml(),
        ground: ground.as_ref(),
        stills: &stills,
        notes: &remarks,
    });
    output::write(&folder.join("report.html"), &page)?;
    let table = table::table(&summary, evidence);
    Ok(Concluded { summary, table })
}

/// Who held the handle.
#[must_use]
pub fn operator(config: &Config) -> &'static str {
    match config.operator.handle {
        HandleKind::Pointer if config.operator.device.is_some() => "person with a device",
        HandleKind::Pointer => "person at the page",
        HandleKind::Phantom | HandleKind::Mass => "simulated operator",
    }
}

/// What a reader must know of a session that switches its method.
fn switched(config: &Config) -> Option<String> {
    (!config.coupling.switch.is_empty()).then(|| {
        format!(
            "The method was switched ({}), and records do not have the mode of their tick: errors of the felt force \
             against the met one, and of the twin, are not known.",
            config.modes()
        )
    })
}

/// That the post-conditions of a script were not judged, where nobody could look at the twin.
fn unjudged(evidence: &Evidence<'_>) -> Option<String> {
    let count = evidence.config.after.len();
    (count > 0 && evidence.facts.rehearsal.is_none()).then(|| {
        format!(
            "The {count} post-conditions of the script were not judged: only `palpate rehearse` and `palpate lab` \
             can look at the twin while it is cut."
        )
    })
}

/// What instruments did to both tissues, or why they did not.
#[must_use]
pub fn opened(topology: &TopologySummary) -> Option<String> {
    let asked = topology.instrument_ticks.filter(|&ticks| ticks > 0)?;
    let made = topology.strokes.unwrap_or(0);
    let links = topology
        .links_cut
        .map_or(String::new(), |cut| format!(", {cut} links cut"));
    // only a remote side refuses strokes
    if topology.strokes_refused.is_none() {
        return Some(format!("Instruments: {made} strokes{links}."));
    }
    let done = topology.strokes_done.unwrap_or(0);
    let alike = match topology.equal {
        Some(true) => "both tissues are open alike at the end",
        Some(false) => "THE TISSUES DIFFER at the end",
        None => "the two cannot be open alike",
    };
    let blunted = topology.blunted_ticks.filter(|&ticks| ticks > 0);
    let why = blunted.map_or(String::new(), |ticks| {
        format!(
            "; in {ticks} of {asked} ticks instruments only pressed, as the remote tissue was not known to be \
             open as the twin was"
        )
    });
    let refused = topology.first_refused.map_or(String::new(), |first| {
        let count = topology.strokes_refused.unwrap_or(1);
        format!("; IT REFUSED {count} OF THEM, the first was stroke {first}")
    });
    Some(format!(
        "Instruments: {made} strokes{links}, {done} over at the remote tissue{refused}; {alike}{why}."
    ))
}

/// Whether a session deserves a run in wave mode beside it: one that renders a twin over a delay.
#[must_use]
pub(crate) fn wants_comparison(config: &Config) -> bool {
    let delayed = config.link.forward.oneway_ms + config.link.back.oneway_ms > 0.0;
    let short = config.duration_s <= COMPARED_S_MAX;
    // one that switches its method is no session of one twin, and would switch beside it as well
    let twin = config.coupling.mode.resolved() == Mode::Mmt && config.coupling.switch.is_empty();
    // a script of steps is judged by what it did, not by how stiff it felt
    let palpates = !matches!(config.operator.script, ScriptParams::Procedure(_));
    twin && delayed && short && palpates
}

/// Longest session that is run a second time for the comparison \[s\].
const COMPARED_S_MAX: f64 = 300.0;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use palpate_session::lab::Session;
    use palpate_transport::codec::CodecKind;

    use super::*;
    use crate::play::{self, VirtualRun};
    use crate::progress::Unseen;
    use crate::summary::{Check, Ending};

    /// The check of delays, of a session whose records are given.
    fn delays(config: &Config, run: &VirtualRun) -> Check {
        let facts = play::facts(config, run, Vec::new(), false).expect("no scene");
        let evidence = Evidence {
            config,
            master: &run.master,
            slave: &run.slave,
            judged: None,
            facts: &facts,
            comparison: None,
            remarks: &[],
        };
        let checks = measure(&evidence).0.checks;
        let mut found = checks
            .into_iter()
            .filter(|check| check.name.contains("one-way"));
        found.next().expect("stated")
    }

    /// Four fifths of the round trip one way, clocks that drift apart, jitter and loss: with every frame
    /// sent, and with a codec.
    #[test]
    fn every_session_states_whether_delays_were_within_their_bound() {
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
            let session = Session::new(&config).expect("built in");
            let stop = AtomicBool::new(false);
            let mut run = play::play(session, &Unseen, &stop, |_| Ok(())).expect("nothing refuses");
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
        let evidence = Evidence {
            config: &config,
            master: &[],
            slave: &[],
            judged: None,
            facts: &facts,
            comparison: None,
            remarks: &[],
        };
        let (mut summary, _) = measure(&evidence);
        let held = |name: &str| summary.checks.iter().any(|c| c.name == name && c.held);
        assert!(!held("instants judged") && !held("passivity violations"));
        assert!(!held("force on the hand") && !held("records lost"));
        assert!(!summary.good());
        summary.ending = Ending::Interrupted;
        assert!(summary.good(), "Ctrl-C before the first tick is no failure");
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
