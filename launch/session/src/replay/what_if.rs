//! Replay with changes (what-if): the recorded hand under a changed delay, impedance, codec, mode, twin or other field.
//!
//! Source: ours (teleop goal 10, row 37 of its feature table). A recording holds the intended positions of the
//! hand. A simulated hand follows them with the same grips on an ideal handle, once under the recorded
//! configuration and once under the changed one. Both run in virtual time, so they differ only by
//! the change. A hand without a separate intent (a real device) is moved along its recorded positions.

use palpate_master::device::params::OperatorParams;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{InputFlags, TickRecord};

use super::{ReplayError, check_inputs_recorded};
use crate::config::Config;
use crate::edits::recorded_instrument;
use crate::lab::{self, VirtualSession};
use crate::traced_handle::{OperatorIntent, TraceTracking, TracedHandle};

/// Longest rest of the hand for one gap of missing records \[ticks\].
const REST_MAX: u64 = 60_000;

/// One intent per tick, from the first record on; in missed ticks the hand rests.
#[must_use]
pub(crate) fn intent_trace(master: &[TickRecord]) -> Vec<OperatorIntent> {
    let mut trace: Vec<OperatorIntent> = Vec::with_capacity(master.len());
    let mut before: Option<u64> = None;
    for record in master {
        let intent = OperatorIntent {
            position_m: record.intended_m,
            closed: record.given & InputFlags::GRIPPER_CLOSED != 0,
            instrument: recorded_instrument(record),
            phase: record.phase,
            present: record.given & InputFlags::OPERATOR_PRESENT != 0,
        };
        let missed = before.map_or(0, |before| record.tick.saturating_sub(before + 1));
        let last = trace.last().copied().unwrap_or(intent);
        trace.extend(std::iter::repeat_n(last, missed.min(REST_MAX) as usize));
        trace.push(intent);
        before = Some(record.tick);
    }
    trace
}

/// Tracking of the recorded intent at the start: by a grip, or exactly if there is no grip in the session, or if the
/// recorded positions are the intended ones.
#[must_use]
pub fn recorded_tracking(master: &[TickRecord], operator: &OperatorParams) -> TraceTracking {
    let same = |record: &TickRecord| record.intended_m == record.position_m;
    if !operator.grip_schedule().ever_held() || master.iter().all(same) {
        TraceTracking::Prescribed
    } else {
        TraceTracking::Grip(operator.grip)
    }
}

/// Returns a session in virtual time with the recorded hand.
///
/// # Errors
/// [`ReplayError::OneSide`] without a master, [`ReplayError::Config`] if the session cannot be built.
pub fn session(
    config: &Config,
    master: &[TickRecord],
    tracking: TraceTracking,
) -> Result<VirtualSession, ReplayError> {
    check_inputs_recorded("master", master)?;
    let swapped = master
        .iter()
        .find(|r| r.given & InputFlags::TOOL_SWAPPED != 0);
    if let Some(swapped) = swapped {
        return Err(ReplayError::TwoTools { tick: swapped.tick });
    }
    let trace = intent_trace(master);
    let mut config = config.clone();
    config.duration_s = trace.len() as f64 * PERIOD.s();
    let robot = lab::build_robot(&config)?;
    let operator = &config.operator;
    let handle = TracedHandle::new(trace, tracking, operator.force_timeout_s())
        .with_grip_changes(&operator.regrip);
    Ok(VirtualSession::with_devices(
        &config,
        Box::new(handle),
        robot,
    )?)
}

#[cfg(test)]
mod tests {
    use palpate_master::device::grip::{Grip, GripChange};
    use palpate_master::device::params::HandleKind;
    use palpate_transport::coupling::Mode;

    use super::*;

    #[test]
    fn missed_ticks_hold_the_intent() {
        let record = |tick, x_m| TickRecord {
            tick,
            intended_m: [x_m, 0.0, 0.0, 0.0],
            given: InputFlags::OPERATOR_PRESENT | InputFlags::RECORDED,
            ..TickRecord::default()
        };
        let trace = intent_trace(&[record(5, 1.0), record(6, 2.0), record(9, 3.0)]);
        let places: Vec<f64> = trace.iter().map(|intent| intent.position_m[0]).collect();
        assert_eq!(places, [1.0, 2.0, 2.0, 2.0, 3.0]);
        assert!(trace.iter().all(|intent| intent.present && !intent.closed));
    }

    #[test]
    fn intent_selects_grip_or_prescribed_tracking() {
        let record = |gap_m: f64| TickRecord {
            position_m: [gap_m, 0.0, 0.0, 0.0],
            ..TickRecord::default()
        };
        let of = |grip, regrip: &[GripChange]| OperatorParams {
            grip,
            regrip: regrip.to_vec(),
            ..OperatorParams::default()
        };
        let (firm, no_grip) = (Grip::Firm, Grip::None);
        let recorded = [record(0.0), record(0.01)];
        assert_eq!(
            recorded_tracking(&recorded, &of(firm, &[])),
            TraceTracking::Grip(firm)
        );
        assert_eq!(
            recorded_tracking(&recorded[..1], &of(firm, &[])),
            TraceTracking::Prescribed
        );
        assert_eq!(
            recorded_tracking(&recorded, &of(no_grip, &[])),
            TraceTracking::Prescribed
        );
        // a grip that starts later counts
        let later = GripChange {
            at_s: 1.0,
            grip: firm,
        };
        assert_eq!(
            recorded_tracking(&recorded, &of(no_grip, &[later])),
            TraceTracking::Grip(no_grip)
        );
    }

    #[test]
    fn issue_changed_replay_ignored_grip_changes() {
        let mut config = Config {
            tissue: "wall:500".into(),
            duration_s: 3.0,
            ..Config::default()
        };
        config.coupling.mode = Mode::Wave;
        // the plant of a traced hand
        config.operator.handle = HandleKind::Mass;
        let regrips = "operator.regrip=[{at_s=1.0, grip=\"none\"}, {at_s=2.0, grip=\"light\"}]";
        config.set(regrips).expect("grips");
        let run = |mut session: VirtualSession| -> Vec<TickRecord> {
            (0..session.ticks())
                .map(|_| session.step().master)
                .collect()
        };
        let held = |record: &TickRecord| record.given & InputFlags::OPERATOR_PRESENT != 0;
        let original = run(VirtualSession::new(&config).expect("built in"));
        let session_of = |config: &Config| {
            let tracking = recorded_tracking(&original, &config.operator);
            session(config, &original, tracking).expect("a hand")
        };
        let again = run(session_of(&config));
        let away = |records: &[TickRecord]| records.iter().filter(|r| !held(r)).count();
        assert_eq!((away(&original), away(&again)), (1000, 1000));
        let apart_m = |other: &[TickRecord]| {
            let pairs = original.iter().zip(other);
            let gaps = pairs.map(|(a, b)| (a.position_m[2] - b.position_m[2]).abs());
            gaps.fold(0.0, f64::max)
        };
        let mut other = config.clone();
        other.set("operator.regrip=[]").expect("no change");
        let (same_m, other_m) = (apart_m(&again), apart_m(&run(session_of(&other))));
        assert!(
            same_m < 2e-3 && other_m > 10.0 * same_m,
            "{same_m} {other_m}"
        );
    }
}
