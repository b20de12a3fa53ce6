//! `summary.json`: numbers of a session, and the results of its checks.
//!
//! Keys and units follow the command-line contract. These structs define every field: the JSON schema,
//! `launch/analysis/schema/summary.schema.json`, is derived from them and their comments, and the table of numbers in
//! a report takes units and meanings from it. An unknown quantity is `null`, never 0.
//! Source: ours; limits from teleop E1 and section 4.

use std::collections::BTreeMap;

use palpate_master::predict::hunt_crossley::ContactEstimate;
use palpate_session::audit::Audit;
use serde::{Deserialize, Serialize};

use crate::metrics::{CorrectionCell, Site};
use crate::rehearsal::ScriptOutcome;

mod check;

pub(crate) use check::SessionLimits;
pub use check::{Check, CheckBound};

/// Version of the format of [`Summary`]: major when a key changes, minor when one is added. Each check names its own
/// unit, which may change with any version.
pub const SCHEMA: &str = "palpate-summary/1.15";

/// JSON schema of [`Summary`], derived from it. After a change of a field, `PALPATE_SCHEMA=write` and the test
/// `the_schema_file_matches_the_structs` write the file again.
pub(crate) const JSON_SCHEMA: &str = include_str!("../schema/summary.schema.json");

/// Numbers of a session. Units are in the names; null is unknown.
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
    /// Way in which the session ended.
    pub ending: Ending,
    /// Length of the records \[s\].
    pub duration_s: Option<f64>,
    /// Length from the start on which link, contact, tracking and twin were measured \[s\]; energy, forces, limits and
    /// motion are judged over all of `duration_s`.
    pub measured_s: Option<f64>,
    /// Ticks of the longer side.
    pub ticks: Option<u64>,
    /// Ticks that each side recorded.
    pub ticks_by_side: TicksBySide,
    /// Hash of the port positions and port forces of all ticks and of the topologies of both tissues, of bit-exact
    /// runs.
    pub trace_hash: Option<String>,
    /// The network.
    pub link: LinkSummary,
    /// The energies.
    pub passivity: PassivitySummary,
    /// Contact as displayed to the operator, beside the truth.
    pub contact: ContactSummary,
    /// Tracking of the hand by the robot.
    pub tracking: TrackingSummary,
    /// The local model.
    pub twin: TwinSummary,
    /// The servo loops.
    pub servo: ServoSummary,
    /// Limits and faults.
    pub safety: SafetySummary,
    /// Result of the script of steps, if the session had one.
    pub rehearsal: Option<ScriptOutcome>,
    /// Topology of the tissues after edits by instruments.
    #[serde(default)]
    pub topology: TopologySummary,
    /// Checks of the session.
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

/// Way in which a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// At its full duration.
    #[default]
    Complete,
    /// Before its full duration, by Ctrl-C or a signal.
    Interrupted,
    /// A side ended before the session did.
    SideLost,
    /// All of it was killed; `palpate recover` joined what it left.
    Killed,
}

/// The network as both sides measured it.
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
    /// Fraction of the estimated one-way delays whose error is within the bound that they state; null if the true
    /// delays are unknown.
    pub oneway_bound_ok_fraction: Option<f64>,
    /// Frames sent by the master \[1/s\].
    pub packets_per_s_fwd: Option<f64>,
    /// Frames sent by the slave \[1/s\].
    pub packets_per_s_back: Option<f64>,
    /// Traffic of both directions together \[byte/s\].
    pub bytes_per_s: Option<f64>,
    /// Frames of the master that the slave used.
    pub frames_used_fwd: Option<u64>,
    /// Frames of the slave that the master used.
    pub frames_used_back: Option<u64>,
    /// Part of the slave's ticks at which the velocity reconstructed by a codec is within the codec's threshold of the
    /// master's velocity, one delay before; unknown without a codec.
    pub reconstruction_inside_fwd: Option<f64>,
    /// The same for the force reconstructed at the master.
    pub reconstruction_inside_back: Option<f64>,
    /// Root mean square error of the reconstructed velocity \[m/s\].
    pub reconstruction_rmse_fwd_mps: Option<f64>,
    /// Root mean square error of the reconstructed force \[N\].
    pub reconstruction_rmse_back_n: Option<f64>,
    /// Median age of the newest frame over all ticks, worse side \[ms\].
    pub age_ms_p50: Option<f64>,
    /// 99.9th percentile of the age of the newest frame \[ms\].
    pub age_ms_p999: Option<f64>,
    /// Relative error that jitter and loss cause in the received remote force. It compares the force with that over a
    /// link of the constant median age: root mean square of the difference, divided by that of the force.
    pub reconstruction_error: Option<f64>,
    /// True if both sides, or the one that ran alone, exchanged sealed frames with a trusted host; null in virtual time.
    pub secured: Option<bool>,
}

/// Energies of the channel, as computed by [`palpate_session::audit`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PassivitySummary {
    /// Least energy in the channel, all axes together \[J\], recomputed from the logged ports by an auditor that
    /// shares no code with the controllers.
    pub min_channel_energy_j: Option<f64>,
    /// The same by axis: x, y, z, gripper opening \[J\].
    #[cfg_attr(test, schemars(with = "Vec<Option<f64>>"))]
    pub min_channel_energy_per_axis_j: Vec<f64>,
    /// Least energy that the hand has put in at any tick, all axes together \[J\], from the master's record alone:
    /// rendered force times motion while the device held it. Below zero, the hand got out more than it had put in.
    pub hand_energy_min_j: Option<f64>,
    /// Energy that the hand has put in by the end \[J\].
    pub hand_energy_end_j: Option<f64>,
    /// Least energy at the robot's measured port \[J\], from the slave's record alone: received from the master, less
    /// sent to it, plus the work that measured force and motion returned. Below zero, the drive was a source.
    pub robot_port_min_j: Option<f64>,
    /// Error of the energy at the robot's measured port that noise of the force sensor explains \[J\].
    pub robot_port_tolerance_j: Option<f64>,
    /// Least energy inside the twin \[J\]. Rounding of a single-precision tissue at rest can make it about -1e-7 J;
    /// the value is reported unchanged, and a negative energy is never counted as energy that the channel may use.
    pub twin_internal_energy_min_j: Option<f64>,
    /// Ticks at which the energy tank or a passivity controller changed a demand, or damping repaid a debt of the
    /// tank.
    pub interventions: Option<u64>,
    /// Name of the auditor.
    pub auditor: String,
    /// Instants at which the channel had emitted more energy than it had received.
    pub violations: Option<u64>,
    /// Instants that were judged.
    pub instants: u64,
    /// Jumps in the numbering of ticks, both sides.
    pub gaps: u64,
    /// Ticks that those jumps leave out: missed ones, and lost records.
    pub missing_ticks: u64,
    /// Records after the end of the shorter side, which cannot be judged.
    pub left_out: u64,
    /// Names of the energies that are not judged, if one side is judged alone: they need the record of the other
    /// side.
    #[serde(default)]
    pub not_judged: Vec<String>,
}

/// Contact as displayed to the operator, beside the truth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContactSummary {
    /// Largest force on the hand \[N\].
    pub peak_force_n: Option<f64>,
    /// Displayed stiffness outside the lump, mean of the sites \[N/m\]: force over depth, without damping and inertia.
    pub displayed_stiffness_npm: Option<f64>,
    /// Reason for an unknown displayed stiffness, if presses were made or the tissue was not touched; the true
    /// stiffness of a tissue that was not touched is unknown as well.
    pub stiffness_unknown: Option<String>,
    /// Median length of the last press at each site, by which the site is judged \[s\]. Presses below 0.6 s are quick
    /// pushes, which also display mass and damping.
    pub press_s: Option<f64>,
    /// True if the presses are shorter than 0.6 s: then displayed stiffness, its error and the contrast describe quick
    /// pushes more than the channel.
    pub press_quick: Option<bool>,
    /// True stiffness of the remote tissue outside the lump \[N/m\]: by the same regression, when the same hand presses the
    /// tissue itself, without a channel.
    pub true_stiffness_npm: Option<f64>,
    /// Displayed divided by true stiffness, minus one. People distinguish compliances from about 22 % on, elastic
    /// moduli from about 15 %.
    pub stiffness_error: Option<f64>,
    /// Damping displayed in those presses \[N s/m\].
    pub displayed_damping_nspm: Option<f64>,
    /// Inertia displayed in those presses \[kg\].
    pub displayed_inertia_kg: Option<f64>,
    /// Damping that the channel displays in free motion \[N s/m\].
    pub free_damping_nspm: Option<f64>,
    /// Inertia that the channel displays in free motion \[kg\].
    pub free_inertia_kg: Option<f64>,
    /// Delay between motion and felt force that the session adds \[ms\], by time warping: from handle to robot, plus
    /// from remote to displayed force. It is negative if the force is earlier. Null in modes whose force is neither
    /// relayed nor the twin's.
    pub offset_time_ms: Option<f64>,
    /// Root mean square of the difference of the displayed force from the remote one, after time warping \[N\].
    pub offset_value_n: Option<f64>,
    /// Root mean square of the force on the hand minus the remote contact force of the same moment of the motion, in
    /// contact \[N\].
    pub force_rmse_n: Option<f64>,
    /// Displayed stiffness above the lump divided by that outside it, minus one.
    pub contrast_displayed: Option<f64>,
    /// True stiffness above the lump divided by that outside it, minus one.
    pub contrast_true: Option<f64>,
    /// Displayed contrast divided by the true contrast.
    pub contrast_transmission: Option<f64>,
    /// Index d' of the displayed stiffness at sites over the lump against sites beside it: the difference of the means
    /// over the spread of one site, errors of measurement included.
    pub detectability_displayed: Option<f64>,
    /// Index d' of the true stiffness, over the spread of the sites alone.
    pub detectability_true: Option<f64>,
    /// Local stiffness of every site that was pressed.
    #[serde(default)]
    pub sites: Vec<Site>,
}

/// Tracking of the hand by the robot.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrackingSummary {
    /// Root mean square of the robot's position minus that of the handle one delay before \[mm\]. In contact the two
    /// differ, because force and not only position is exchanged.
    pub position_rmse_mm: Option<f64>,
    /// Largest lasting offset between the ports, mean of 100 ms \[mm\].
    pub drift_mm_max: Option<f64>,
    /// Lasting offset between the ports at the end \[mm\].
    pub drift_mm_end: Option<f64>,
    /// Longest time from the end of an outage until the ports are within 2 mm of each other again \[ms\].
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
    /// 99th percentile of the time of a step \[us\].
    pub step_us_p99: Option<f64>,
    /// Longest step \[us\].
    pub step_us_max: Option<f64>,
    /// Stiffness of the twin alone in the presses beside the lump over that of the remote tissue, minus one: the part
    /// that identification can improve, without the effect of the channel.
    pub stiffness_error: Option<f64>,
    /// Transmission of the lump's contrast by the twin alone.
    pub contrast_transmission: Option<f64>,
    /// Prediction error of the twin before correction, against the remote side in the same motion: root mean square of
    /// the difference of the forces over that of the remote one.
    pub prediction_error: Option<f64>,
    /// Confidence in the touched places, 0 (twin as configured) to 1 (as they were pressed): mean over the ticks in
    /// contact.
    pub confidence: Option<f64>,
    /// Share of the twin's force in the displayed force, mean over the ticks in contact: 1 in `mmt`. The rest was
    /// relayed from the remote side; only `auto` blends the two.
    pub twin_share: Option<f64>,
    /// Height of the twin's surface over that of its scene at the end \[m\]: the robot touched the tissue there.
    pub height_m: Option<f64>,
    /// Number of switches of `auto` between the twin's force and the relayed one.
    pub switches: Option<u64>,
    /// Effect of the twin's mesh on its force, by the tissue's own estimate: root mean square over the ticks in
    /// contact of the first ten seconds \[N\], of the twin as configured. Accurate to a factor of three where it is more
    /// than a few percent; null for tissues without an estimate.
    pub mesh_error_rms_n: Option<f64>,
    /// Mesh error over the root mean square of the twin's force.
    pub mesh_error: Option<f64>,
    /// Contact law of the remote tissue, fitted while the frames arrived (teleop E15); null for live sessions, because
    /// the estimate is lost when the master's process ends.
    pub contact: Option<ContactLaw>,
    /// Updates of the model from measurements of the remote side.
    pub updates: Option<u64>,
    /// Energy that those updates added to the model \[J\].
    pub update_energy_j: Option<f64>,
    /// Largest relative change that corrections and updates made to the force within 100 ms of contact; below 7 % it
    /// is imperceptible.
    pub force_step_max_fraction_per_100ms: Option<f64>,
    /// Displayed minus remote force over the windows of 100 ms in contact, root mean square \[N\].
    pub correction_error_n: Option<f64>,
    /// Age of the newest frame of the robot over those windows, mean \[s\].
    pub correction_horizon_s: Option<f64>,
    /// Change that corrections made to the displayed force in such a window, mean \[N\].
    pub correction_change_n: Option<f64>,
    /// Windows grouped by error and horizon, with the cost of corrections in each group.
    pub correction: Option<Vec<CorrectionCell>>,
}

/// A Hunt-Crossley contact, `F = k d^n + c d^n v`, as estimated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContactLaw {
    /// Exponent n.
    pub exponent: f64,
    /// Standard error of the exponent.
    pub exponent_error: f64,
    /// Stiffness k \[N/m^n\].
    pub stiffness: f64,
    /// Damping c \[N s/m^(n+1)\].
    pub damping: f64,
    /// Slope of the resting force at 3 mm \[N/m\].
    pub stiffness_npm_at_3mm: f64,
    /// Confidence in the force at 1 to 3 mm, 0 to 1.
    pub confidence: f64,
}

impl From<ContactEstimate> for ContactLaw {
    fn from(of: ContactEstimate) -> Self {
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
    /// 99th percentile of the lateness of waking \[us\].
    pub wake_us_p99: Option<f64>,
    /// Largest lateness of waking \[us\]; the machine may suspend the thread at any time.
    pub wake_us_max: Option<f64>,
    /// Median CPU time of a tick \[us\].
    pub compute_us_p50: Option<f64>,
    /// 99.9th percentile of the CPU time of a tick \[us\].
    pub compute_us_p999: Option<f64>,
    /// Largest CPU time of a tick \[us\].
    pub compute_us_max: Option<f64>,
    /// Ticks that woke a whole period late or more.
    pub late_ticks: Option<u64>,
    /// Deadlines that passed without a tick, both sides; such ticks are not repeated.
    pub missed_ticks: Option<u64>,
    /// Ticks of the master that were too late for a step of the twin and used the deadline fallback.
    #[serde(alias = "masked_ticks")]
    pub fallback_ticks: Option<u64>,
    /// Records that the recorders could not accept in time, both sides.
    pub records_lost: Option<u64>,
    /// Late ticks by attributed cause.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations on the servo threads after warm-up.
    pub allocations: Option<u64>,
    /// 99th percentile of the lateness of a bare timer in the same run \[us\].
    pub bare_timer_us_p99: Option<f64>,
}

/// Topology of the tissues of both sides after edits by instruments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TopologySummary {
    /// Hash of the twin's present nodes, links and fixed nodes at the end, hexadecimal; null without a twin that an
    /// instrument can edit.
    pub master: Option<String>,
    /// The same hash of the remote tissue.
    pub slave: Option<String>,
    /// True if both hashes are equal.
    pub equal: Option<bool>,
    /// Edit batches that instruments made in the twin.
    #[serde(alias = "strokes")]
    pub edit_batches: Option<u64>,
    /// Edit batches that the remote tissue has finished, applied or refused.
    #[serde(alias = "strokes_done")]
    pub edit_batches_done: Option<u64>,
    /// Links that were cut or torn, joined again or not.
    pub links_cut: Option<i64>,
    /// Links that were joined, by glue or by undoing a cut.
    #[serde(default)]
    pub links_joined: Option<i64>,
    /// Ticks with an instrument in the operator's hand.
    pub instrument_ticks: Option<u64>,
    /// Those of these ticks in which the instrument only pressed, because the remote topology was not known to equal
    /// the twin's.
    pub blunted_ticks: Option<u64>,
    /// Edit batches that the remote tissue refused, each counted once; later ones were applied.
    #[serde(alias = "strokes_refused")]
    pub edit_batches_refused: Option<u64>,
    /// Number of the first refused edit batch, from 1.
    pub first_refused: Option<u64>,
    /// Edit batches in the recording, if there is one.
    #[serde(alias = "strokes_recorded")]
    pub edit_batches_recorded: Option<u64>,
}

/// Limits and faults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SafetySummary {
    /// Last operating state of the slave, as CRTK spells it.
    pub state: Option<String>,
    /// Faults that latched.
    pub faults: Vec<String>,
    /// Collapses of the twin and of the simulated tissue that latched a fault; the tissue was set to rest within the
    /// tick.
    pub tissue_rebuilds: Option<u64>,
    /// Ticks at which each limit acted.
    pub limit_hits: BTreeMap<String, u64>,
    /// Limit cycles of the force on the hand: a sustained vibration between 8 and 200 Hz, or more energy returned to
    /// the hand than was stored and in flight. The force fades during each.
    pub limit_cycles: Option<u64>,
    /// Trips of the data watchdog: no fresh frame arrived in time.
    pub watchdog_trips: Option<u64>,
    /// Largest distance of the probe, in any stretch of ticks in which the robot was not enabled (no fresh frame, no
    /// engaged hand, a stop or a fault), from its position at the start of that stretch \[mm\].
    pub uncommanded_motion_mm_max: Option<f64>,
    /// Largest stopping distance: the one for the speed at which the robot stopped being enabled, with an assumed
    /// deceleration of 20 m/s^2 \[mm\].
    pub stopping_distance_mm_max: Option<f64>,
    /// Largest distance by which the robot yielded to a changing contact force while it was not enabled \[mm\].
    pub yield_mm_max: Option<f64>,
    /// Largest part of a motion while not enabled beyond the stopping distance \[mm\].
    pub motion_beyond_stop_mm_max: Option<f64>,
    /// Largest force of the tissue on the probe, on the axis nearest to its limit: the true force of a simulated
    /// tissue \[N\].
    pub tissue_force_n_max: Option<f64>,
    /// Largest speed of the robot over 10 ms, on the axis nearest to its limit \[m/s\].
    pub robot_speed_mps_max: Option<f64>,
    /// Largest distance of the probe outside of the workspace \[mm\].
    pub outside_workspace_mm_max: Option<f64>,
    /// Largest speed at which the robot may approach unconfirmed places, on the axis where it is lowest \[m/s\]. It
    /// bounds the force of a first touch.
    pub approach_mps_max: Option<f64>,
}

impl ServoSummary {
    /// Servo statistics of virtual time, which is never late.
    #[must_use]
    pub fn punctual() -> Self {
        Self {
            missed_ticks: Some(0),
            records_lost: Some(0),
            ..Self::default()
        }
    }
}

impl PassivitySummary {
    /// Takes the auditor's verdict; without judged instants the values are unknown.
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
            left_out: audit.unpaired_records,
            ..Self::default()
        }
    }
}

impl Summary {
    /// Returns true if every check passed.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// Returns true if every check passed, or if an interrupted or killed session fails only checks of evidence that more time
    /// would have provided; the exit status is 0 then, else 1.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let early = matches!(self.ending, Ending::Interrupted | Ending::Killed);
        let excused = |check: &Check| early && check.lacks_evidence();
        self.checks.iter().all(|check| check.held || excused(check))
    }

    /// Returns the summary as indented JSON. A number that JSON cannot write (infinite, not a number) becomes `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        // keys are strings, and floats serialise without errors
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests;
