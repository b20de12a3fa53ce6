//! The recorded hand under other circumstances: delay, impedance, codec, mode, twin, anything.
//!
//! Source: ours (teleop goal 10, row 37 of its feature table). What a recording holds of a hand is where it
//! meant to be; that is meant again, by the same grips on an ideal handle, once under the recorded
//! configuration and once under the changed one. Both run in virtual time, so all that differs between
//! them is what was changed. A hand without an intent of its own (a real device) is carried where it was.

use palpate_master::device::params::OperatorParams;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Given, TickRecord};

use super::ReplayError;
use crate::config::Config;
use crate::hand::{Hold, Meant, TracedHandle};
use crate::lab::{self, Session};
use crate::strokes::instrument_of;

/// Longest stretch in which records may be missing \[ticks\]: the hand is taken to have rested.
const REST_MAX: u64 = 60_000;

/// One intent a tick, from the first record on; where ticks were missed the hand rests.
#[must_use]
pub fn trace(master: &[TickRecord]) -> Vec<Meant> {
    let mut trace: Vec<Meant> = Vec::with_capacity(master.len());
    let mut before: Option<u64> = None;
    for record in master {
        let meant = Meant {
            position_m: record.intended_m,
            closed: record.given & Given::CLOSED != 0,
            instrument: instrument_of((record.instrument, record.instrument_m)),
            phase: record.phase,
            present: record.given & Given::PRESENT != 0,
        };
        let missed = before.map_or(0, |before| record.tick.saturating_sub(before + 1));
        let last = trace.last().copied().unwrap_or(meant);
        trace.extend(std::iter::repeat_n(last, missed.min(REST_MAX) as usize));
        trace.push(meant);
        before = Some(record.tick);
    }
    trace
}

/// How the recorded hand is held again at first, with the grips of the configuration that runs.
#[must_use]
pub fn hold(master: &[TickRecord], operator: &OperatorParams) -> Hold {
    let same = |record: &TickRecord| record.intended_m == record.position_m;
    if !operator.grips().ever_held() || master.iter().all(same) {
        Hold::Carried
    } else {
        Hold::Grip(operator.grip)
    }
}

/// A session in virtual time with the recorded hand.
///
/// # Errors
/// [`ReplayError::OneSide`] without a hand, [`ReplayError::Config`] if the session cannot be built.
pub fn session(config: &Config, master: &[TickRecord], hold: Hold) -> Result<Session, ReplayError> {
    if master.is_empty() {
        return Err(ReplayError::OneSide { missing: "master" });
    }
    let bare = master.iter().find(|r| r.given & Given::NOTED == 0);
    if let Some(bare) = bare {
        return Err(ReplayError::Inputs {
            side: "master",
            tick: bare.tick,
        });
    }
    let swapped = master.iter().find(|r| r.given & Given::SWAPPED != 0);
    if let Some(swapped) = swapped {
        return Err(ReplayError::TwoTools { tick: swapped.tick });
    }
    let trace = trace(master);
    let mut config = config.clone();
    config.duration_s = trace.len() as f64 * PERIOD.s();
    let robot = lab::build_robot(&config)?;
    let operator = &config.operator;
    let handle = TracedHandle::new(trace, hold)
        .regripping(&operator.regrip)
        .letting_go(operator.lets_go_s());
    Ok(Session::with_devices(&config, Box::new(handle), robot)?)
}

#[cfg(test)]
mod tests {
    use palpate_master::device::grip::{Grip, Regrip};
    use palpate_master::device::params::HandleKind;
    use palpate_transport::coupling::Mode;

    use super::*;

    #[test]
    fn a_missed_tick_is_a_rest() {
        let record = |tick, x_m| TickRecord {
            tick,
            intended_m: [x_m, 0.0, 0.0, 0.0],
            given: Given::PRESENT | Given::NOTED,
            ..TickRecord::default()
        };
        let trace = trace(&[record(5, 1.0), record(6, 2.0), record(9, 3.0)]);
        let places: Vec<f64> = trace.iter().map(|meant| meant.position_m[0]).collect();
        assert_eq!(places, [1.0, 2.0, 2.0, 2.0, 3.0]);
        assert!(trace.iter().all(|meant| meant.present && !meant.closed));
    }

    #[test]
    fn a_hand_with_an_intent_is_held_and_one_without_is_carried() {
        let record = |gap_m: f64| TickRecord {
            position_m: [gap_m, 0.0, 0.0, 0.0],
            ..TickRecord::default()
        };
        let of = |grip, regrip: &[Regrip]| OperatorParams {
            grip,
            regrip: regrip.to_vec(),
            ..OperatorParams::default()
        };
        let (firm, nobody) = (Grip::Firm, Grip::None);
        let led = [record(0.0), record(0.01)];
        assert_eq!(hold(&led, &of(firm, &[])), Hold::Grip(firm));
        assert_eq!(hold(&led[..1], &of(firm, &[])), Hold::Carried);
        assert_eq!(hold(&led, &of(nobody, &[])), Hold::Carried);
        // somebody takes it later
        let later = Regrip {
            at_s: 1.0,
            grip: firm,
        };
        assert_eq!(hold(&led, &of(nobody, &[later])), Hold::Grip(nobody));
    }

    #[test]
    fn issue_a_what_if_held_the_first_grip_for_ever() {
        let mut config = Config {
            tissue: "wall:500".into(),
            duration_s: 3.0,
            ..Config::default()
        };
        config.coupling.mode = Mode::Wave;
        // the plant that the hand of a trace is on
        config.operator.handle = HandleKind::Mass;
        let letting_go = "operator.regrip=[{at_s=1.0, grip=\"none\"}, {at_s=2.0, grip=\"light\"}]";
        config.set(letting_go).expect("grips");
        let run = |mut session: Session| -> Vec<TickRecord> {
            (0..session.ticks())
                .map(|_| session.step().master)
                .collect()
        };
        let there = |record: &TickRecord| record.given & Given::PRESENT != 0;
        let original = run(Session::new(&config).expect("built in"));
        let session_of = |config: &Config| {
            let hold = hold(&original, &config.operator);
            session(config, &original, hold).expect("a hand")
        };
        let again = run(session_of(&config));
        let away = |records: &[TickRecord]| records.iter().filter(|r| !there(r)).count();
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
