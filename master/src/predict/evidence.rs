//! Evidence about the twin in a report of the robot: a sample of a press, or that there is nothing where the twin has
//! tissue.
//!
//! Source: ours. Both compare the robot with the shadow, which is touched where the robot was.

use palpate_transport::frame::FrameFlags;
use palpate_transport::{Axes, HapticFrame, Time};
use palpate_twin::{Instrument, Reaction, Vec3};

use super::learning::Learning;
use super::place_fit::PressSample;
use super::{PredictParams, RemoteEdits, ToolState, place_m, port_axes};

/// Report of the remote side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RemoteReport {
    /// Motion of the robot's probe.
    pub probe: ToolState,
    /// Force of the tissue on the probe, if it is known \[N\].
    pub contact_force_n: Option<Axes>,
    /// True if that force differs from that of the frame before: a sensor that repeats a reading to the last bit has
    /// failed. Set by the playback.
    pub sensor_lives: bool,
    /// Force of the coupling on the robot \[N\].
    pub port_force_n: Axes,
    /// True if the robot may move.
    pub engaged: bool,
    /// Time of sending, on the robot's clock: a frame stays the newest until the next arrives.
    pub sent: Time,
    /// Progress of its tissue in the log of edits.
    pub edits: RemoteEdits,
}

impl RemoteReport {
    /// Report of a frame.
    #[must_use]
    pub(crate) fn from_frame(frame: &HapticFrame) -> Self {
        let flag = |flag| frame.flags & flag != 0;
        Self {
            probe: ToolState {
                position_m: frame.position_m,
                velocity_mps: frame.velocity_mps,
                closed: flag(FrameFlags::GRIPPER_CLOSED),
                instrument: Instrument::Blunt,
            },
            contact_force_n: flag(FrameFlags::FORCE_VALID).then_some(frame.contact_force_n),
            sensor_lives: false,
            port_force_n: frame.port_force_n,
            engaged: flag(FrameFlags::ENGAGED),
            sent: Time(frame.sent_ns),
            edits: RemoteEdits {
                finished_batches: frame.edit_batches,
                topology: frame.topology,
            },
        }
    }
}

/// Learns from the difference between the shadow's force and the measured one.
pub(super) fn learn_from_robot(
    params: &PredictParams,
    learning: &mut Learning,
    expected: &Reaction,
    remote: &RemoteReport,
) {
    let place_m = place_m(&remote.probe);
    if let Some(sample) = press_sample(params, expected, remote) {
        learning.add_sample(place_m, &sample, params.force_n_min);
    } else if meets_nothing(params, expected, remote) {
        learning.add_absence(place_m);
    } else if expected.contacts == 0 {
        learning.end_press();
    } else {
        learning.interrupt_absence(presses(params, expected));
    }
}

/// Fraction of [`PredictParams::force_n_min`] that the twin must predict for a sample.
const EXPECTED_FRACTION_MIN: f64 = 0.1;

/// Fraction of [`PredictParams::force_n_min`] that must be measured for a sample. It is below 1, because the fit of a
/// place itself selects the samples, by the force that it predicts. A selection by the measured force would be biased
/// by its error.
const MEASURED_FRACTION_MIN: f64 = 0.5;

/// Force of the twin over [`PredictParams::force_n_min`] from which a lack of force is evidence.
const EXPECTED_RATIO_ABSENT: f64 = 2.0;

/// True if the twin presses so much that a lack of force would be evidence.
fn presses(params: &PredictParams, expected: &Reaction) -> bool {
    expected.force_n.dot(&expected.normal) > EXPECTED_RATIO_ABSENT * params.force_n_min
}

/// Measured force over the twin's below which the robot counts as meeting nothing.
const NOTHING_RATIO: f64 = 0.1;

/// Robot's own force over the twin's above which it meets something, whatever its sensor says: a sensor can be dead.
const PUSH_RATIO: f64 = 0.5;

/// True if a robot that may move meets nothing where the twin has tissue: neither its sensor nor its own drive has a force.
pub(super) fn meets_nothing(
    params: &PredictParams,
    expected: &Reaction,
    remote: &RemoteReport,
) -> bool {
    let along =
        |force_n: &Axes| Vec3::new(force_n[0], force_n[1], force_n[2]).dot(&expected.normal);
    let expected_n = along(&port_axes(expected));
    let is_below = |force_n: f64, ratio: f64| force_n.abs() < ratio * expected_n;
    remote.engaged
        && remote.sensor_lives
        && !remote.probe.closed
        && presses(params, expected)
        && is_below(along(&remote.port_force_n), PUSH_RATIO)
        && remote
            .contact_force_n
            .is_some_and(|measured_n| is_below(along(&measured_n), NOTHING_RATIO))
}

/// Sample of the robot's press, if both normal forces are large enough to compare.
pub(super) fn press_sample(
    params: &PredictParams,
    expected: &Reaction,
    remote: &RemoteReport,
) -> Option<PressSample> {
    let measured = remote.contact_force_n?;
    if remote.probe.closed || expected.contacts == 0 {
        return None;
    }
    let [mx, my, mz, _] = measured;
    let [vx, vy, vz, _] = remote.probe.velocity_mps;
    let sample = PressSample {
        expected_n: expected.force_n.dot(&expected.normal),
        measured_n: Vec3::new(mx, my, mz).dot(&expected.normal),
    };
    // a twin much softer than the tissue predicts small forces, and they are still evidence
    let sufficient = sample.measured_n > MEASURED_FRACTION_MIN * params.force_n_min
        && sample.expected_n > EXPECTED_FRACTION_MIN * params.force_n_min;
    let slow = Vec3::new(vx, vy, vz).norm() < params.speed_mps_max;
    (sufficient && slow).then_some(sample)
}
