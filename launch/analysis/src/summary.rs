//! `summary.json`: what a session was, in numbers, and whether its own checks held.
//!
//! Keys and units as the command-line contract gives them. These structs are the one place where a field stands: the
//! JSON schema, `launch/analysis/schema/summary.schema.json`, is derived from them and their comments, and the table
//! of numbers in a report takes units and meanings from it. A quantity that a run could not know is `null`, never 0.
//! Source: ours; limits from teleop E1 and section 4.

use std::collections::BTreeMap;

use palpate_master::predict::hunt_crossley::Contact;
use palpate_session::audit::Audit;
use serde::{Deserialize, Serialize};

use crate::metrics::{CorrectionCell, LocalStiffness};
use crate::rehearsed::Outcome;

mod check;

pub(crate) use check::Expected;
pub use check::{Bound, Check};

/// Version of the shape of [`Summary`]: major when a key changes, minor when one is added. Units of checks are told by
/// each of them, and may change with any version.
pub const SCHEMA: &str = "palpate-summary/1.9";

/// The JSON schema of [`Summary`], derived from it. After a change of a field, `PALPATE_SCHEMA=keep` and the test
/// `the_schema_file_is_that_of_the_structs` write the file anew.
pub(crate) const JSON_SCHEMA: &str = include_str!("../schema/summary.schema.json");

/// What a session was, in numbers. Units are in the names; null is what the run could not know.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "summary.json of Palpate"))]
pub struct Summary {
    /// Name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Command that ran.
    pub command: String,
    /// Version of Palpate.
    pub version: String,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// How it ended.
    pub ending: Ending,
    /// Length of what was recorded \[s\].
    pub duration_s: Option<f64>,
    /// Length from the start on which link, contact, tracking and twin were measured \[s\]; energy,
    /// forces, limits and motion are judged over all of it.
    pub measured_s: Option<f64>,
    /// Ticks of the longer side.
    pub ticks: Option<u64>,
    /// Ticks that each side recorded.
    pub ticks_by_side: TicksBySide,
    /// Hash over all records, of bit-exact runs.
    pub trace_hash: Option<String>,
    /// The network.
    pub link: LinkSummary,
    /// The energies.
    pub passivity: PassivitySummary,
    /// What the operator felt.
    pub contact: ContactSummary,
    /// How the robot followed.
    pub tracking: TrackingSummary,
    /// The local model.
    pub twin: TwinSummary,
    /// The servo loops.
    pub servo: ServoSummary,
    /// Limits and faults.
    pub safety: SafetySummary,
    /// What the script of the session did to the twin, if it had steps.
    #[serde(default)]
    pub rehearsal: Option<Outcome>,
    /// What instruments made of the tissues.
    #[serde(default)]
    pub topology: TopologySummary,
    /// What the run states about itself.
    pub checks: Vec<Check>,
}

/// Ticks that each side recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TicksBySide {
    /// By the master.
    pub master: u64,
    /// By the slave.
    pub slave: u64,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// At its time.
    #[default]
    Complete,
    /// Before its time, by Ctrl-C or a signal.
    Interrupted,
    /// A side ended before the session did.
    SideLost,
}

/// The network as both sides saw it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkSummary {
    /// Median round trip \[ms\].
    pub rtt_ms_p50: Option<f64>,
    /// 99th percentile of the round trip \[ms\].
    pub rtt_ms_p99: Option<f64>,
    /// Standard deviation of the one-way delay of the frames used, worse direction \[ms\].
    pub jitter_ms: Option<f64>,
    /// Fraction of frames lost, both directions together.
    pub loss: Option<f64>,
    /// Fraction of delay estimates within their own stated bound of the truth, where that is known.
    pub oneway_bound_ok_fraction: Option<f64>,
    /// Frames sent by the master \[1/s\].
    pub packets_per_s_fwd: Option<f64>,
    /// Frames sent by the slave \[1/s\].
    pub packets_per_s_back: Option<f64>,
    /// Traffic of both directions together \[byte/s\].
    pub bytes_per_s: Option<f64>,
    /// Frames of the master that the slave took.
    pub frames_used_fwd: Option<u64>,
    /// Frames of the slave that the master took.
    pub frames_used_back: Option<u64>,
    /// Part of the slave's ticks at which the velocity that a codec shows it is within the codec's
    /// threshold of the master's, one delay before; unknown without a codec.
    #[serde(default)]
    pub reconstruction_inside_fwd: Option<f64>,
    /// The same of the force that the master is shown.
    #[serde(default)]
    pub reconstruction_inside_back: Option<f64>,
    /// Root mean square error of that velocity \[m/s\].
    #[serde(default)]
    pub reconstruction_rmse_fwd_mps: Option<f64>,
    /// Root mean square error of that force \[N\].
    #[serde(default)]
    pub reconstruction_rmse_back_n: Option<f64>,
    /// Median age of the newest frame over all ticks, worse side \[ms\].
    #[serde(default)]
    pub age_ms_p50: Option<f64>,
    /// 99.9th percentile of it \[ms\].
    #[serde(default)]
    pub age_ms_p999: Option<f64>,
    /// What jitter and loss did to the remote force beyond a constant delay: root mean square of the
    /// difference over that of the force.
    #[serde(default)]
    pub reconstruction_error: Option<f64>,
}

/// The energies, as [`palpate_session::audit`] finds them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PassivitySummary {
    /// Least energy in the channel, all axes together \[J\], recomputed from the logged ports by an auditor that
    /// shares no code with the controllers.
    pub min_channel_energy_j: Option<f64>,
    /// The same by axis: x, y, z, gripper opening \[J\].
    #[cfg_attr(test, schemars(with = "Vec<Option<f64>>"))]
    pub min_channel_energy_per_axis_j: Vec<f64>,
    /// Least energy inside the twin \[J\]. A tissue in single precision at rest may hold less than
    /// nothing by its rounding, some 1e-7 J; that is shown as it is, and never offered to the channel.
    pub twin_internal_energy_min_j: Option<f64>,
    /// Ticks at which the energy account lowered a demand to what it could pay, or repaid a debt by damping.
    pub interventions: Option<u64>,
    /// Who judged.
    pub auditor: String,
    /// Instants at which the channel gave more than it had been given.
    pub violations: Option<u64>,
    /// Instants that were judged.
    pub instants: u64,
    /// Jumps in the numbering of ticks, both sides.
    pub gaps: u64,
    /// Ticks that those jumps leave out: missed ones, and records that were lost.
    pub missing_ticks: u64,
    /// Records after the end of the shorter side, which cannot be judged.
    pub left_out: u64,
}

/// What the operator felt, beside the truth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContactSummary {
    /// Largest force on the hand \[N\].
    pub peak_force_n: Option<f64>,
    /// Stiffness felt outside the lump, mean of the sites \[N/m\]: force over depth, damping and inertia apart.
    pub displayed_stiffness_npm: Option<f64>,
    /// Why the stiffness felt is not known, if presses were made and it is not.
    pub stiffness_unknown: Option<String>,
    /// Median length of the presses by which sites are judged, the last at each \[s\]. Below 0.6 s they are quick
    /// pushes, and what is felt is also mass and damping.
    pub press_s: Option<f64>,
    /// Whether that is below 0.6 s: then the stiffness felt, its error and the contrast are of quick pushes, and
    /// say more of them than of the channel.
    #[serde(default)]
    pub press_quick: Option<bool>,
    /// True stiffness of the remote tissue there \[N/m\]: slope of a slow press with the same tool, as deep as this
    /// hand presses the tissue itself, whatever the channel.
    pub true_stiffness_npm: Option<f64>,
    /// Displayed over true, minus one. People tell compliances apart from about 22 % on, elastic moduli from about
    /// 15 %.
    pub stiffness_error: Option<f64>,
    /// Damping felt in those presses \[N s/m\].
    #[serde(default)]
    pub displayed_damping_nspm: Option<f64>,
    /// Inertia felt in them \[kg\].
    #[serde(default)]
    pub displayed_inertia_kg: Option<f64>,
    /// Damping that the channel shows in free motion \[N s/m\].
    #[serde(default)]
    pub free_damping_nspm: Option<f64>,
    /// Inertia that it shows there \[kg\].
    #[serde(default)]
    pub free_inertia_kg: Option<f64>,
    /// How much later than without a network the force belongs to the motion \[ms\], by warping time; negative is
    /// earlier. Nothing in modes whose force is neither relayed nor a twin's.
    #[serde(default)]
    pub offset_time_ms: Option<f64>,
    /// How far the force felt is from the remote one otherwise \[N\].
    #[serde(default)]
    pub offset_value_n: Option<f64>,
    /// Root mean square of the force on the hand minus the remote contact force of the same moment of the motion,
    /// in contact \[N\].
    pub force_rmse_n: Option<f64>,
    /// Stiffness over the lump against outside it, minus one, as felt.
    pub contrast_displayed: Option<f64>,
    /// The same in truth.
    pub contrast_true: Option<f64>,
    /// How much of the contrast arrived: displayed over true.
    pub contrast_transmission: Option<f64>,
    /// Index d' of the stiffness felt at sites over the lump against sites beside it: the difference of the means
    /// over the spread of one site, errors of measurement included.
    pub detectability_displayed: Option<f64>,
    /// The same of the true stiffness, over the spread of the sites alone.
    pub detectability_true: Option<f64>,
    /// Local stiffness of every site that was pressed.
    #[serde(default)]
    pub sites: Vec<LocalStiffness>,
}

/// How the robot followed the hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrackingSummary {
    /// Root mean square of the robot's position minus that of the handle one delay before \[mm\]. In contact the
    /// two differ, since force and not only position is exchanged.
    pub position_rmse_mm: Option<f64>,
    /// Largest lasting offset between the ports, mean of 100 ms \[mm\].
    pub drift_mm_max: Option<f64>,
    /// That offset at the end \[mm\].
    pub drift_mm_end: Option<f64>,
    /// Longest time from the end of an outage to within 2 mm again \[ms\].
    pub resync_ms_max: Option<f64>,
}

/// The local model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TwinSummary {
    /// Method by which the local tissue is computed.
    pub method: Option<String>,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Elements or links.
    pub elements: Option<u64>,
    /// Median time of a step \[us\].
    pub step_us_p50: Option<f64>,
    /// 99th percentile of it \[us\].
    pub step_us_p99: Option<f64>,
    /// Longest step \[us\].
    pub step_us_max: Option<f64>,
    /// Stiffness of the twin alone in the presses beside the lump over that of the remote tissue, minus
    /// one: what identification can better, without what the channel adds.
    #[serde(default)]
    pub stiffness_error: Option<f64>,
    /// How much of the lump's contrast the twin alone has.
    #[serde(default)]
    pub contrast_transmission: Option<f64>,
    /// How far the twin was from what the remote side met in the same motion, before any correction:
    /// root mean square of the difference of the forces over that of the remote one.
    #[serde(default)]
    pub prediction_error: Option<f64>,
    /// How well the touched places were known, 0 (as the twin was given) to 1 (as they were pressed): mean
    /// over the ticks in contact.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Share of the twin's force in what was felt, mean over the ticks in contact: 1 in `mmt`. The rest was relayed
    /// from the remote side; only `auto` blends the two.
    #[serde(default)]
    pub twin_share: Option<f64>,
    /// How often `auto` switched between the twin's force and the relayed one.
    #[serde(default)]
    pub switches: Option<u64>,
    /// What the twin's mesh does to its force, by the tissue's own estimate: root mean square over the ticks in
    /// contact of the first minute \[N\], of the twin as it was given. Within a factor of three where it is more
    /// than a few percent; nothing of tissues without an estimate.
    #[serde(default)]
    pub mesh_error_rms_n: Option<f64>,
    /// The same over the root mean square of the twin's force.
    #[serde(default)]
    pub mesh_error: Option<f64>,
    /// What the robot has met as one contact law, fitted while the frames came (teleop E15); nothing of
    /// live sessions, whose master ends with its process.
    #[serde(default)]
    pub contact: Option<ContactLaw>,
    /// Updates of the model from what the remote side measured.
    pub updates: Option<u64>,
    /// Energy that those put into it \[J\].
    pub update_energy_j: Option<f64>,
    /// Largest relative change that corrections and updates made to the force within 100 ms of contact; below 7 %
    /// nobody should feel it.
    pub force_step_max_fraction_per_100ms: Option<f64>,
    /// Felt minus met force over the windows of 100 ms in contact, root mean square \[N\].
    #[serde(default)]
    pub correction_error_n: Option<f64>,
    /// Age of the newest frame of the robot over those windows, mean \[s\].
    #[serde(default)]
    pub correction_horizon_s: Option<f64>,
    /// Change that corrections made to the felt force in such a window, mean \[N\].
    #[serde(default)]
    pub correction_change_n: Option<f64>,
    /// The windows by error and horizon, with what corrections cost in them.
    #[serde(default)]
    pub correction: Option<Vec<CorrectionCell>>,
}

/// A Hunt-Crossley contact, `F = k d^n + c d^n v`, as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContactLaw {
    /// Exponent n.
    pub exponent: f64,
    /// Its standard error.
    pub exponent_error: f64,
    /// Stiffness k \[N/m^n\].
    pub stiffness: f64,
    /// Damping c \[N s/m^(n+1)\].
    pub damping: f64,
    /// Slope of the resting force at 3 mm \[N/m\].
    pub stiffness_npm_at_3mm: f64,
    /// How well the force at 1 to 3 mm is known, 0 to 1.
    pub confidence: f64,
}

impl From<Contact> for ContactLaw {
    fn from(of: Contact) -> Self {
        Self {
            exponent: of.exponent,
            exponent_error: of.errors[2],
            stiffness: of.stiffness,
            damping: of.damping,
            stiffness_npm_at_3mm: of.stiffness_npm(3e-3),
            confidence: of.confidence,
        }
    }
}

/// The servo loops of both sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServoSummary {
    /// Period \[us\].
    pub period_us: Option<f64>,
    /// Median lateness of waking \[us\]; virtual time is never late.
    pub wake_us_p50: Option<f64>,
    /// 99th percentile of it \[us\].
    pub wake_us_p99: Option<f64>,
    /// Largest lateness of waking \[us\]: the machine may take its CPU away at any time.
    pub wake_us_max: Option<f64>,
    /// Median CPU time of a tick \[us\].
    pub compute_us_p50: Option<f64>,
    /// 99.9th percentile of the CPU time of a tick \[us\].
    pub compute_us_p999: Option<f64>,
    /// Largest CPU time of a tick \[us\].
    pub compute_us_max: Option<f64>,
    /// Ticks that woke a whole period late or more.
    pub late_ticks: Option<u64>,
    /// Deadlines that passed without a tick, both sides; never made up for.
    pub missed_ticks: Option<u64>,
    /// Ticks of the master that were too late for a step of the twin and asked it what is felt now.
    pub masked_ticks: Option<u64>,
    /// Records that the recorders could not take in time, both sides.
    pub records_lost: Option<u64>,
    /// What these late ticks were put down to.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations on the servo threads after warm-up.
    pub allocations: Option<u64>,
    /// 99th percentile of a bare timer's lateness in the same run \[us\].
    pub bare_timer_us_p99: Option<f64>,
}

/// What instruments made of the tissues of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TopologySummary {
    /// Which elements of the twin are there, linked and held at the end: one number, hexadecimal; nothing of a
    /// twin that no instrument can open, nor without one.
    pub master: Option<String>,
    /// The same of the remote tissue.
    pub slave: Option<String>,
    /// Whether both are alike.
    pub equal: Option<bool>,
    /// Strokes that instruments made of the twin.
    pub strokes: Option<u64>,
    /// Strokes that the remote tissue has done.
    pub strokes_done: Option<u64>,
    /// Links that they cut, less those made.
    pub links_cut: Option<i64>,
    /// Ticks with an instrument in the operator's hand.
    pub instrument_ticks: Option<u64>,
    /// Of those, ticks in which it only pressed: the remote tissue was not known to be open as the twin was.
    pub blunted_ticks: Option<u64>,
    /// Strokes that the remote tissue refused, each counted once; those after it were done.
    pub strokes_refused: Option<u64>,
    /// Number of the first of those, from 1.
    pub first_refused: Option<u64>,
    /// Strokes that are in the recording, if there is one.
    pub strokes_recorded: Option<u64>,
}

/// Limits and faults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SafetySummary {
    /// Last operating state of the slave, as CRTK spells it.
    pub state: Option<String>,
    /// Faults that latched.
    pub faults: Vec<String>,
    /// Ticks at which each limit acted.
    pub limit_hits: BTreeMap<String, u64>,
    /// Times that the data watchdog tripped: nothing fresh came for too long.
    pub watchdog_trips: Option<u64>,
    /// Farthest that the probe went, in any stretch of ticks in which the robot was not enabled
    /// (no fresh frame, no engaged hand, a stop or a fault), from where that stretch began \[mm\].
    pub uncommanded_motion_mm_max: Option<f64>,
}

impl PassivitySummary {
    /// From the auditor's verdict; an audit of nothing knows nothing.
    #[must_use]
    pub fn of(audit: &Audit) -> Self {
        let judged = audit.instants > 0;
        Self {
            min_channel_energy_j: judged.then_some(audit.min_channel_energy_j),
            min_channel_energy_per_axis_j: if judged {
                audit.min_channel_energy_per_axis_j.to_vec()
            } else {
                Vec::new()
            },
            auditor: "independent".to_owned(),
            violations: judged.then_some(audit.violations),
            instants: audit.instants,
            gaps: audit.gaps,
            missing_ticks: audit.missing,
            left_out: audit.left_out,
            ..Self::default()
        }
    }
}

impl Summary {
    /// Whether every check held; the exit status is 0 if so, else 1.
    #[must_use]
    pub fn all_held(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// Whether nothing speaks against the session: every check held, or the session was interrupted
    /// and what did not hold only lacks the evidence that more time would have brought.
    #[must_use]
    pub fn good(&self) -> bool {
        let forgiven = |check: &Check| self.ending == Ending::Interrupted && check.lacks_evidence();
        self.checks
            .iter()
            .all(|check| check.held || forgiven(check))
    }

    /// As indented JSON. A number that JSON cannot write (infinite, not a number) becomes `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Keys are strings and floats never fail, so serialisation has no way to fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests;
