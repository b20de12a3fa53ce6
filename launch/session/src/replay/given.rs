//! What a tick was given, in its record: noted by the shell that ran it, taken out again by a replay.
//!
//! Source: ours. A device's reading is in the record already; what is added are its flags, the frame that
//! lay in the mailbox and when it had come, the time on the side's own clock, and how many periods the
//! tick accounts for. Nothing here allocates.

use palpate_transport::frame::is_plausible;
use palpate_transport::trace::{Given, TickRecord};
use palpate_transport::{AXES, HapticFrame, Time};

use crate::lab::PERIOD;
use crate::strokes::{instrument_noted, instrument_of};

/// Notes what a tick of the operator's side was given.
pub fn note_master(record: &mut TickRecord, inputs: &palpate_master::Inputs) {
    let reading = &inputs.reading;
    note(record, (inputs.now, inputs.dt_s), inputs.frame.as_ref());
    set(record, Given::PAUSED, inputs.paused);
    set(record, Given::MASKED, inputs.masked);
    set(record, Given::REARM, inputs.rearm);
    set(record, Given::PRESENT, reading.present);
    set(record, Given::CLOSED, reading.closed);
    set(record, Given::SWAPPED, reading.swapped);
    set(record, Given::USABLE, reading.is_plausible());
    set(record, Given::LET_GO, reading.let_go_m.is_some());
    (record.instrument, record.instrument_m) = instrument_noted(&reading.instrument);
    record.revisions = [reading.revisions.undo, reading.revisions.redo];
}

/// Notes what a tick of the remote side was given, and whether a stroke before it was `refused`.
pub fn note_slave(record: &mut TickRecord, inputs: &palpate_slave::Inputs, refused: bool) {
    let reading = &inputs.reading;
    note(record, (inputs.now, inputs.dt_s), inputs.frame.as_ref());
    set(record, Given::HALT, inputs.halt);
    set(record, Given::REFUSED, refused);
    set(record, Given::REARM, inputs.rearm);
    let known = reading.force_valid && reading.contact_force_n.iter().all(|n| n.is_finite());
    set(record, Given::FORCE_VALID, known);
    let usable = is_plausible(&reading.position_m, &reading.velocity_mps);
    set(record, Given::USABLE, usable);
}

fn note(record: &mut TickRecord, (now, dt_s): (Time, f64), frame: Option<&(HapticFrame, Time)>) {
    record.given = Given::NOTED;
    record.given_ns = now.0;
    record.periods = (dt_s / PERIOD.s()).round() as u32;
    if let Some((frame, received)) = frame {
        record.frame_sequence = frame.sequence;
        record.frame_received_ns = received.0;
    }
}

fn set(record: &mut TickRecord, bit: u32, on: bool) {
    record.given |= if on { bit } else { 0 };
}

fn has(record: &TickRecord, bit: u32) -> bool {
    record.given & bit != 0
}

/// What a tick of the operator's side was given; `frame` is the one that its record names.
#[must_use]
pub fn of_master(record: &TickRecord, frame: Option<HapticFrame>) -> palpate_master::Inputs {
    let reading = palpate_master::device::Reading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        closed: has(record, Given::CLOSED),
        instrument: instrument_of((record.instrument, record.instrument_m)),
        revisions: palpate_master::device::Revisions {
            undo: record.revisions[0],
            redo: record.revisions[1],
        },
        swapped: has(record, Given::SWAPPED),
        present: has(record, Given::PRESENT),
        intended_m: record.intended_m,
        phase: record.phase,
        let_go_m: has(record, Given::LET_GO).then_some(record.held_to_m),
    };
    palpate_master::Inputs {
        tick: record.tick,
        now: Time(record.given_ns),
        dt_s: PERIOD.s() * f64::from(record.periods),
        paused: has(record, Given::PAUSED),
        reading,
        frame: frame.map(|frame| (frame, Time(record.frame_received_ns))),
        masked: has(record, Given::MASKED),
        rearm: has(record, Given::REARM),
    }
}

/// What a tick of the remote side was given, likewise.
#[must_use]
pub fn of_slave(record: &TickRecord, frame: Option<HapticFrame>) -> palpate_slave::Inputs {
    let reading = palpate_slave::robot::Reading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        contact_force_n: record.tissue_force_n,
        force_valid: has(record, Given::FORCE_VALID),
        tissue_energy_j: record.tissue_energy_j,
        opened: palpate_slave::robot::Opened {
            strokes: record.strokes,
            topology: record.topology,
        },
    };
    palpate_slave::Inputs {
        tick: record.tick,
        now: Time(record.given_ns),
        dt_s: PERIOD.s() * f64::from(record.periods),
        reading,
        frame: frame.map(|frame| (frame, Time(record.frame_received_ns))),
        halt: has(record, Given::HALT),
        rearm: has(record, Given::REARM),
    }
}

/// The position, or one that no tick takes: of a reading that cannot be used a tick takes nothing else.
fn usable(record: &TickRecord, position_m: [f64; AXES]) -> [f64; AXES] {
    if has(record, Given::USABLE) {
        position_m
    } else {
        [f64::NAN; AXES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_taken_out_again() {
        let frame = HapticFrame {
            sequence: 7,
            ..HapticFrame::default()
        };
        let inputs = palpate_master::Inputs {
            tick: 3,
            now: Time(-5),
            dt_s: PERIOD.s() * 4.0,
            paused: true,
            reading: palpate_master::device::Reading {
                closed: true,
                swapped: true,
                present: true,
                phase: 9,
                ..palpate_master::device::Reading::default()
            },
            frame: Some((frame, Time(11))),
            masked: false,
            rearm: true,
        };
        let mut record = TickRecord {
            tick: 3,
            phase: 9,
            ..TickRecord::default()
        };
        note_master(&mut record, &inputs);
        assert_eq!(of_master(&record, Some(frame)), inputs);
        let inputs = palpate_slave::Inputs {
            tick: 3,
            now: Time(8),
            dt_s: PERIOD.s(),
            reading: palpate_slave::robot::Reading {
                force_valid: true,
                ..palpate_slave::robot::Reading::default()
            },
            frame: None,
            halt: true,
            rearm: false,
        };
        note_slave(&mut record, &inputs, false);
        assert_eq!(of_slave(&record, None), inputs);
    }
}
