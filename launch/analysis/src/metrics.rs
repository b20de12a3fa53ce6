//! What a session was, in numbers: records of both sides in, [`Summary`] out.
//!
//! Source: teleop section 7 (metrics of the field), definitions beside each. [`press`] measures
//! what was felt, [`lump`] whether the lump could be told by it, [`impedance`] and [`etvo`] what the channel
//! added to it, [`track`] how the robot followed, [`link`] the network, [`loops`] the servo
//! loops and model updates, [`correction`] what those cost the hand, [`topology`] what instruments made of both
//! tissues, [`tally`] counts what every tick counts for; [`palpate_session::stat`] has the statistics. Nothing here reads a clock or a
//! file; what the records cannot show comes in [`SessionFacts`], and what nobody knows is `None`.

pub mod correction;
pub mod etvo;
pub mod felt;
pub mod impedance;
pub mod link;
pub mod loops;
pub mod lump;
pub mod press;
pub mod tally;
pub mod topology;
pub mod track;

use std::collections::BTreeMap;

use palpate_master::predict::hunt_crossley::Contact;
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Side, TickRecord};

use crate::rehearsed::Rehearsed;
use crate::rehearsed::task::Attempts;
use crate::still::Still;
use crate::summary::{
    ContactSummary, Ending, LinkSummary, PassivitySummary, SCHEMA, ServoSummary, Summary,
};
use palpate_session::audit::Audit;
use palpate_session::lab::Reconstruction;
use palpate_session::record::Recording;
use palpate_session::stat::latest;

pub use correction::CorrectionCell;
pub use lump::LocalStiffness;
pub use press::{Press, SiteStiffness};
pub use tally::Tally;

/// Both sides of a session, each in order of time on its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traces<'a> {
    /// Records of the master.
    pub master: &'a [TickRecord],
    /// Records of the slave; empty when there is none.
    pub slave: &'a [TickRecord],
}

/// What was at one site of the patch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Site {
    /// Phase number of its presses, 1 to 9.
    pub phase: u16,
    /// Place on the patch, x and y \[m\].
    pub place_m: [f64; 2],
    /// True stiffness under the probe \[N/m\], if known.
    pub true_stiffness_npm: Option<f64>,
    /// Whether the site is over the hidden lump.
    pub over_lump: bool,
}

/// True one-way delay of the newest frame at each record \[ns\], -1 where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OnewayTruth {
    /// For each record of the master.
    pub master_ns: Vec<i64>,
    /// For each record of the slave.
    pub slave_ns: Vec<i64>,
}

/// Frames as the network counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Frames sent by the master.
    pub sent_fwd: u64,
    /// Of those, how many reached the slave, late ones included.
    pub arrived_fwd: u64,
    /// Frames sent by the slave.
    pub sent_back: u64,
    /// Of those, how many reached the master.
    pub arrived_back: u64,
    /// Bytes of both directions.
    pub bytes: u64,
}

/// What the twin is and how it ran.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TwinFacts {
    /// Tissue method.
    pub method: String,
    /// Nodes.
    pub nodes: u64,
    /// Elements or links.
    pub elements: u64,
    /// Time of each step \[us\]; empty if it was not measured.
    pub step_us: Vec<f64>,
    /// What the mesh does to the force, by the tissue's own estimate; none without contact, and of
    /// tissues that have no estimate.
    pub mesh_error: Option<MeshError>,
    /// What the robot has met as one contact law, by the estimate at the end.
    pub contact: Option<Contact>,
}

/// What a mesh does to the forces of its tissue, over the ticks in contact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeshError {
    /// Root mean square of the estimates \[N\].
    pub rms_n: f64,
    /// The same over that of the forces.
    pub share: f64,
}

/// What only the shell of a live session knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveFacts {
    /// What late ticks were put down to.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations on the servo threads after warm-up.
    pub allocations: Option<u64>,
    /// 99th percentile of a bare timer's lateness in the same run \[us\].
    pub bare_timer_us_p99: Option<f64>,
    /// Parts that a supervisor watched, and whether each ran until it was told to end.
    pub ran_to_end: Vec<(&'static str, bool)>,
}

/// Ticks and records that a session lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TickLosses {
    /// Deadlines that passed without a tick, if every side said.
    pub missed_ticks: Option<u64>,
    /// Records that the recorders could not take, if every side said.
    pub records_lost: Option<u64>,
}

impl TickLosses {
    /// Those of virtual time, which is never late.
    pub const NONE: Self = Self {
        missed_ticks: Some(0),
        records_lost: Some(0),
    };
}

/// Strokes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StrokeFacts {
    /// Links that they have cut, less those made, if strokes are known.
    pub links_cut: Option<i64>,
    /// How many are in the recording, if there is one.
    pub recorded: Option<u64>,
}

impl StrokeFacts {
    /// Those of a recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self {
            links_cut: Some(recording.links_cut()),
            recorded: Some(recording.strokes.len() as u64),
        }
    }
}

/// What the records of a session cannot show by themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFacts {
    /// Command that ran.
    pub command: String,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// Hash over all records, of bit-exact runs.
    pub trace_hash: Option<String>,
    /// Coupling method that ran, as on the command line; of a session that switched all of them, as
    /// [`palpate_session::config::Config::modes`] has them.
    pub mode: String,
    /// How it ended.
    pub ending: Ending,
    /// Sides that were to record.
    pub sides: Vec<Side>,
    /// Ticks and records that are not there.
    pub losses: TickLosses,
    /// One-way delays from master to slave and from slave to master, if they are known; else as the side that
    /// receives estimated them.
    pub oneway: [Option<Span>; 2],
    /// Sites of the patch; empty without a script.
    pub sites: Vec<Site>,
    /// The twin, if one ran.
    pub twin: Option<TwinFacts>,
    /// Frames as the network counted them, if it did.
    pub frames: Option<FrameCounts>,
    /// How well the stream of each side was reconstructed at the other, if that is known: the
    /// master's, the slave's.
    pub reconstruction: [Option<Reconstruction>; 2],
    /// Size of a frame on the wire \[bytes\], headers included.
    pub frame_bytes: Option<u64>,
    /// True delays, where they are known.
    pub oneway_truth: Option<OnewayTruth>,
    /// What the steps of a script did, and what had to hold after them.
    pub rehearsal: Option<Rehearsed>,
    /// Pictures of instruments at work.
    pub stills: Vec<Still>,
    /// Attempts at tasks that are known.
    pub attempts: Attempts,
    /// Whether there is another side at all.
    pub networked: bool,
    /// What strokes did, and where they are kept.
    pub strokes: StrokeFacts,
    /// Set for live sessions; without it nothing is said about the servo loops.
    pub live: Option<LiveFacts>,
}

impl Default for SessionFacts {
    fn default() -> Self {
        Self {
            command: String::new(),
            seed: None,
            trace_hash: None,
            mode: String::new(),
            ending: Ending::Complete,
            sides: vec![Side::Master, Side::Slave],
            losses: TickLosses::default(),
            oneway: [None; 2],
            sites: Vec::new(),
            twin: None,
            frames: None,
            reconstruction: [None; 2],
            frame_bytes: None,
            oneway_truth: None,
            rehearsal: None,
            stills: Vec::new(),
            attempts: Attempts::default(),
            networked: true,
            strokes: StrokeFacts::default(),
            live: None,
        }
    }
}

impl SessionFacts {
    /// Whether the hand feels the twin (then the force belongs to the motion of now) or the
    /// remote side (then it belongs to the motion of one round trip before). Nothing of a session that
    /// switched its method: records do not have the mode of their tick.
    #[must_use]
    pub(crate) fn feels_twin(&self) -> Option<bool> {
        match self.mode.as_str() {
            "" => Some(false),
            mode => Mode::named(mode).map(|mode| mode.resolved() == Mode::Mmt),
        }
    }
}

/// Measures a session, of which `tally` counted every tick and `traces` holds the start. Checks are
/// not stated yet: see `Summary::state_checks`.
#[must_use]
pub fn measure(traces: &Traces<'_>, audit: &Audit, tally: &Tally, facts: &SessionFacts) -> Summary {
    let ticks_by_side = tally.ticks();
    let ticks = ticks_by_side.master.max(ticks_by_side.slave);
    let passivity = PassivitySummary {
        interventions: (ticks > 0).then(|| tally.interventions()),
        twin_internal_energy_min_j: facts.twin.as_ref().and_then(|_| {
            traces
                .master
                .iter()
                .map(|r| r.tissue_energy_j)
                .reduce(f64::min)
        }),
        ..PassivitySummary::of(audit)
    };
    let [frames_used_fwd, frames_used_back] = tally.frames_used();
    Summary {
        schema: SCHEMA.to_owned(),
        command: facts.command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: facts.seed,
        ending: facts.ending,
        duration_s: tally.duration_s(),
        measured_s: duration_s(traces),
        ticks: Some(ticks),
        ticks_by_side,
        trace_hash: facts.trace_hash.clone(),
        link: LinkSummary {
            frames_used_fwd,
            frames_used_back,
            ..link::measure(traces, tally, facts)
        },
        passivity,
        contact: ContactSummary {
            peak_force_n: tally.peak_force_n(),
            ..press::measure(traces, facts)
        },
        tracking: track::measure(traces, facts),
        twin: loops::twin(traces, facts),
        servo: ServoSummary {
            masked_ticks: (ticks_by_side.master > 0).then(|| tally.masked()),
            ..loops::servo(traces, facts)
        },
        safety: tally.safety(),
        rehearsal: facts.rehearsal.as_ref().map(|done| done.outcome.clone()),
        topology: topology::measure(tally, facts),
        checks: Vec::new(),
    }
}

/// Records of one side, each with the newest of the other that is not after it once it is shifted; those before the
/// first of the other are left out.
fn paired<'a>(
    records: &'a [TickRecord],
    shift: Span,
    others: &'a [TickRecord],
) -> impl Iterator<Item = (&'a TickRecord, &'a TickRecord)> {
    let times: Vec<i64> = others.iter().map(|other| other.now_ns).collect();
    let mut from = 0;
    records.iter().filter_map(move |record| {
        from = latest(&times, from, record.now_ns.saturating_add(shift.0))?;
        Some((record, &others[from]))
    })
}

fn duration_s(traces: &Traces<'_>) -> Option<f64> {
    let length = |records: &[TickRecord]| {
        let (first, last) = records.first().zip(records.last())?;
        Some(Span(last.now_ns.saturating_sub(first.now_ns)).s())
    };
    [length(traces.master), length(traces.slave)]
        .into_iter()
        .flatten()
        .reduce(f64::max)
}

#[cfg(test)]
pub(crate) mod tests;
