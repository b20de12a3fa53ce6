//! Metrics of a session: records of both sides in, [`Summary`] out.
//!
//! Source: teleop section 7 (metrics of the field), definitions beside each. [`press`] measures the displayed
//! stiffness, [`stiffness_map`] maps it, [`detectability`] measures the detectability of the lump; [`impedance`] and
//! [`signal_offset`] measure effects of the channel. [`tracking`] measures the motion of the robot, [`link`] the
//! network, [`loops`] the servo loops and the model updates, [`correction`] the cost of those updates. [`topology`]
//! compares the topology of both tissues, [`tally`] counts over every tick; [`palpate_session::stat`] has the
//! statistics. Nothing here reads a clock or a file; facts outside the records come in [`SessionFacts`],
//! and an unknown value is `None`.

pub mod correction;
pub mod detectability;
pub mod impedance;
pub mod link;
pub mod loops;
pub mod press;
pub(crate) mod robot_limits;
pub mod signal_offset;
pub mod stiffness_map;
pub mod tally;
pub mod topology;
pub mod tracking;

use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Side, TickRecord};
use serde::{Deserialize, Serialize};

use crate::rehearsal::RehearsalResult;
use crate::rehearsal::task::Attempt;
use crate::render::Render;
use crate::summary::{ContactSummary, PassivitySummary, SCHEMA, ServoSummary, Summary};
use palpate_session::audit::Audit;
use palpate_session::config::Config;
use palpate_session::lab::Reconstruction;
use palpate_session::stat::latest_index;

pub use correction::CorrectionCell;
pub use press::{PressFitError, PressMeasurement};
pub use tally::Tally;

/// Records of both sides of a session, each in order of time on its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traces<'a> {
    /// Records of the master.
    pub master: &'a [TickRecord],
    /// Records of the slave; empty when there is none.
    pub slave: &'a [TickRecord],
}

/// Local stiffness of one site, displayed and true.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Site {
    /// Number of the site, which is the phase of its presses.
    pub phase: u16,
    /// Place on the patch, x and y \[m\].
    pub place_m: [f64; 2],
    /// True if the site is over the hidden lump.
    pub over_lump: bool,
    /// Displayed stiffness in the last press there \[N/m\].
    pub displayed_npm: Option<f64>,
    /// Standard error of the displayed stiffness \[N/m\].
    pub displayed_error_npm: Option<f64>,
    /// Stiffness of the tissue \[N/m\].
    pub true_npm: Option<f64>,
    /// Confidence of the twin at the end of that press, 0 to 1: 1 for a place that the robot pressed enough or
    /// found empty, 0 for one that is only believed; none if no twin is rendered.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Reason for which a press has no displayed stiffness.
    #[serde(skip)]
    pub press_error: Option<PressFitError>,
}

/// True one-way delay of the newest frame at each record \[ns\], -1 where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OnewayTruth {
    /// For each record of the master.
    pub master_ns: Vec<i64>,
    /// For each record of the slave.
    pub slave_ns: Vec<i64>,
}

/// Frames of one direction, sent and arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionCounts {
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that arrived, late ones included; from a receiver's counters alone, frames that it used.
    pub arrived: u64,
}

/// Frames as the network counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkFrameCounts {
    /// Frames from the master to the slave, and back.
    pub streams: [DirectionCounts; 2],
    /// Bytes of both directions.
    pub bytes: u64,
}

/// Facts of a session that its records do not show.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionFacts {
    /// Values of the summary that are known before measurement: command, seed, hash, ending, kind of twin and cost of
    /// its steps, servo statistics outside the records, links cut, edit batches recorded, and faults outside the records.
    pub prefilled: Summary,
    /// Coupling method that ran, as on the command line; all of them if the session switched, as
    /// [`palpate_session::config::Config::modes`] writes them.
    pub mode: String,
    /// The only side that was to record; none if both were.
    pub only_side: Option<Side>,
    /// True if there is no other side at all.
    pub without_peer: bool,
    /// One-way delays from master to slave and from slave to master, if known; else the receiver's estimates are used.
    pub oneway: [Option<Span>; 2],
    /// Sites of the patch; empty without a script.
    pub sites: Vec<Site>,
    /// Frames as the network counted them, if it did.
    pub frames: Option<NetworkFrameCounts>,
    /// Reconstruction quality of each side's stream at the other, if known: the master's, the slave's.
    pub reconstruction: [Option<Reconstruction>; 2],
    /// Size of a frame on the wire \[bytes\], headers included.
    pub frame_bytes: Option<u64>,
    /// True delays, where they are known.
    pub oneway_truth: Option<OnewayTruth>,
    /// Time at which the configuration sets a clock \[s\], if it does.
    pub clock_step_s: Option<f64>,
    /// Result of the script of steps, with its post-conditions.
    pub rehearsal: Option<RehearsalResult>,
    /// Pictures of instruments at work, beside those of a script.
    pub renders: Vec<Render>,
    /// Attempts at tasks.
    pub attempts: Vec<Attempt>,
    /// Parts that a supervisor watched in a live session, each with true if it ran until it was stopped; without it,
    /// nothing is stated about the servo loops.
    pub live_parts: Option<Vec<(&'static str, bool)>>,
    /// True if the session was to be secured.
    pub demands_seal: bool,
}

impl SessionFacts {
    /// Returns the facts that hold for any session of a configuration.
    #[must_use]
    pub fn of(config: &Config, command: &str) -> Self {
        Self {
            prefilled: Summary {
                command: command.to_owned(),
                seed: Some(config.seed),
                ..Summary::default()
            },
            mode: config.modes(),
            clock_step_s: (config.clock.step_ms != 0.0).then_some(config.clock.step_at_s),
            ..Self::default()
        }
    }

    /// Returns the sides that were to record.
    pub(crate) fn sides(&self) -> impl Iterator<Item = Side> + use<> {
        let only = self.only_side;
        let both = [Side::Master, Side::Slave].into_iter();
        both.filter(move |side| only.is_none_or(|only| only == *side))
    }

    /// Returns the energies that only the record of the other side shows; none if there is no other side.
    fn not_judged(&self) -> Vec<String> {
        let others = match self.only_side.filter(|_| !self.without_peer) {
            None => return Vec::new(),
            Some(Side::Master) => "energy at the robot's measured port",
            Some(Side::Slave) => "energy put in by the hand",
        };
        vec!["energy in the channel".into(), others.into()]
    }

    /// Returns true if the hand feels the twin, which responds to the present motion; false if it feels the remote
    /// side, which responds to the motion one round trip before. None for a session that switched its method: records
    /// lack the mode of their tick.
    pub(crate) fn feels_twin(&self) -> Option<bool> {
        match self.mode.as_str() {
            "" => Some(false),
            mode => Mode::from_name(mode).map(|mode| mode.resolved() == Mode::Mmt),
        }
    }
}

/// Measures a session, of which `tally` counted every tick and `traces` holds the first ones. `Summary::state_checks`
/// adds the checks later.
#[must_use]
pub fn measure(traces: &Traces<'_>, audit: &Audit, tally: &Tally, facts: &SessionFacts) -> Summary {
    let ticks_by_side = tally.ticks();
    let ticks = ticks_by_side.master.max(ticks_by_side.slave);
    let energies_j = traces.master.iter().map(|r| r.tissue_energy_j);
    let least_j = energies_j.reduce(f64::min);
    let hand_j = tally.balances.hand_j();
    let mut safety = tally.safety();
    safety
        .faults
        .extend(facts.prefilled.safety.faults.iter().cloned());
    let passivity = PassivitySummary {
        hand_energy_min_j: hand_j.map(|[least_j, _]| least_j),
        hand_energy_end_j: hand_j.map(|[_, end_j]| end_j),
        robot_port_min_j: tally.balances.robot_port_min_j(),
        interventions: (ticks > 0).then_some(tally.interventions),
        twin_internal_energy_min_j: facts.prefilled.twin.method.as_ref().and(least_j),
        not_judged: facts.not_judged(),
        ..PassivitySummary::of(audit)
    };
    Summary {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        duration_s: tally.duration_s(),
        measured_s: duration_s(traces),
        ticks: Some(ticks),
        ticks_by_side,
        link: link::measure(traces, tally, facts),
        passivity,
        contact: ContactSummary {
            peak_force_n: tally.peak_force_n,
            ..press::measure(traces, facts)
        },
        tracking: tracking::measure(traces, facts),
        twin: loops::twin(traces, facts),
        servo: ServoSummary {
            fallback_ticks: (ticks_by_side.master > 0).then_some(tally.fallback_ticks),
            ..loops::servo(traces, facts)
        },
        safety,
        rehearsal: facts
            .rehearsal
            .as_ref()
            .map(|result| result.outcome.clone()),
        topology: topology::measure(tally, facts),
        ..facts.prefilled.clone()
    }
}

/// Pairs each record of one side with the newest record of the other that is not later than the record's time plus
/// `shift`; none before the first.
fn newest_of<'a>(
    records: &'a [TickRecord],
    shift: Span,
    others: &'a [TickRecord],
) -> impl Iterator<Item = (&'a TickRecord, Option<&'a TickRecord>)> {
    let times: Vec<i64> = others.iter().map(|other| other.now_ns).collect();
    let mut from = 0;
    records.iter().map(move |record| {
        let at = latest_index(&times, from, record.now_ns.saturating_add(shift.0));
        from = at.unwrap_or(from);
        (record, at.map(|at| &others[at]))
    })
}

/// Returns the pairs of [`newest_of`] that have both records.
fn paired<'a>(
    records: &'a [TickRecord],
    shift: Span,
    others: &'a [TickRecord],
) -> impl Iterator<Item = (&'a TickRecord, &'a TickRecord)> {
    let all = newest_of(records, shift, others);
    all.filter_map(|(record, other)| Some((record, other?)))
}

/// Returns the known values of all records, those that are not negative \[ns\].
fn known_ns(records: &[TickRecord], of: fn(&TickRecord) -> i64) -> Vec<f64> {
    let known = records.iter().map(of).filter(|&ns| ns >= 0);
    known.map(|ns| ns as f64).collect()
}

/// Root mean square of the differences over the root mean square of the references; None if all references are 0.
fn relative_rms(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut squares, mut power) = (0.0, 0.0);
    for (value, reference) in pairs {
        squares += (value - reference) * (value - reference);
        power += reference * reference;
    }
    (power > 0.0).then(|| (squares / power).sqrt())
}

/// Length of the first three components, x to z.
pub(crate) fn norm_xyz(axes: &[f64]) -> f64 {
    axes.iter().take(3).map(|x| x * x).sum::<f64>().sqrt()
}

/// Returns the larger of the known values of both sides.
fn worse(of: impl Fn(&[TickRecord]) -> Option<f64>, traces: &Traces<'_>) -> Option<f64> {
    let sides = [of(traces.master), of(traces.slave)];
    sides.into_iter().flatten().reduce(f64::max)
}

fn duration_s(traces: &Traces<'_>) -> Option<f64> {
    let length = |records: &[TickRecord]| {
        let (first, last) = records.first().zip(records.last())?;
        Some(Span(last.now_ns.saturating_sub(first.now_ns)).s())
    };
    worse(length, traces)
}

#[cfg(test)]
pub(crate) mod tests;
