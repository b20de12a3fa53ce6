//! What a tick was given, in its record: noted when it was run, taken out again by a replay.
//!
//! Source: ours. A device's reading is in the record already; what is added are its flags, the frame that
//! lay in the mailbox and when it had come, the time on the side's own clock, and how many periods the
//! tick accounts for. Nothing here allocates.

use palpate_master::device;
use palpate_slave::robot;
use palpate_transport::clock::PERIOD;
use palpate_transport::frame::is_plausible;
use palpate_transport::trace::{Given, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Time};

use super::At;
use crate::strokes::{instrument_noted, instrument_of};

/// What a tick of the operator's side is given.
pub(super) fn to_master(at: &At, mut reading: device::Reading) -> palpate_master::Inputs {
    reading.present &= !at.halt;
    palpate_master::Inputs {
        tick: at.tick,
        now: at.now,
        dt_s: at.dt_s,
        paused: at.paused,
        masked: at.masked,
        reading,
        frame: at.frame,
        rearm: at.rearm,
    }
}

/// What a tick of the remote side is given.
pub(super) fn to_slave(at: &At, reading: robot::Reading) -> palpate_slave::Inputs {
    palpate_slave::Inputs {
        tick: at.tick,
        now: at.now,
        dt_s: at.dt_s,
        reading,
        frame: at.frame,
        halt: at.halt || at.paused,
        rearm: at.rearm,
    }
}

/// Notes what a tick of the operator's side was given.
pub(super) fn note_master(record: &mut TickRecord, inputs: &palpate_master::Inputs) {
    let reading = &inputs.reading;
    note(record, inputs.now, inputs.dt_s, inputs.frame.as_ref());
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
pub(super) fn note_slave(record: &mut TickRecord, inputs: &palpate_slave::Inputs, refused: bool) {
    let reading = &inputs.reading;
    note(record, inputs.now, inputs.dt_s, inputs.frame.as_ref());
    set(record, Given::HALT, inputs.halt);
    set(record, Given::REFUSED, refused);
    set(record, Given::REARM, inputs.rearm);
    let known = reading.force_valid && reading.contact_force_n.iter().all(|n| n.is_finite());
    set(record, Given::FORCE_VALID, known);
    let usable = is_plausible(&reading.position_m, &reading.velocity_mps);
    set(record, Given::USABLE, usable);
}

fn note(record: &mut TickRecord, now: Time, dt_s: f64, frame: Option<&(HapticFrame, Time)>) {
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

/// The moment of a recorded tick; `frame` is the one that the record names.
#[must_use]
pub fn at(record: &TickRecord, frame: Option<HapticFrame>) -> At {
    At {
        tick: record.tick,
        now: Time(record.given_ns),
        device: Time(record.given_ns),
        dt_s: PERIOD.s() * f64::from(record.periods),
        paused: has(record, Given::PAUSED),
        masked: has(record, Given::MASKED),
        halt: has(record, Given::HALT),
        rearm: has(record, Given::REARM),
        refused: has(record, Given::REFUSED),
        frame: frame.map(|frame| (frame, Time(record.frame_received_ns))),
    }
}

/// Reading of the handle in a recorded tick.
#[must_use]
pub fn of_master(record: &TickRecord) -> device::Reading {
    device::Reading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        closed: has(record, Given::CLOSED),
        instrument: instrument_of((record.instrument, record.instrument_m)),
        revisions: device::Revisions {
            undo: record.revisions[0],
            redo: record.revisions[1],
        },
        swapped: has(record, Given::SWAPPED),
        present: has(record, Given::PRESENT),
        intended_m: record.intended_m,
        phase: record.phase,
        let_go_m: has(record, Given::LET_GO).then_some(record.held_to_m),
    }
}

/// Reading of the robot in a recorded tick.
fn of_slave(record: &TickRecord) -> robot::Reading {
    robot::Reading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        contact_force_n: record.tissue_force_n,
        force_valid: has(record, Given::FORCE_VALID),
        tissue_energy_j: record.tissue_energy_j,
        opened: robot::Opened {
            strokes: record.strokes,
            topology: record.topology,
        },
    }
}

/// The device of a recorded tick: it gives the reading of the record again, and nothing moves it.
pub struct Recorded(pub(crate) TickRecord);

impl device::Handle for Recorded {
    fn caps(&self) -> device::HandleCaps {
        device::HandleCaps {
            name: RECORDED,
            force_n_max: [f64::INFINITY; AXES],
            resolution_m: [0.0; AXES],
            mass_kg_min: [0.0; AXES],
            let_go_s: None,
            real: false,
        }
    }

    fn read(&mut self, _: Time) -> device::Reading {
        of_master(&self.0)
    }

    fn write(&mut self, _: &Axes) {}
}

impl robot::Robot for Recorded {
    fn caps(&self) -> robot::RobotCaps {
        robot::RobotCaps {
            name: RECORDED,
            force_n_max: [f64::INFINITY; AXES],
            force_sensor: has(&self.0, Given::FORCE_VALID),
            real: false,
        }
    }

    fn read(&mut self, _: Time) -> robot::Reading {
        of_slave(&self.0)
    }

    fn write(&mut self, _: &Axes, _: bool) {}
}

/// Name of a device that was recorded.
const RECORDED: &str = "recorded";

/// Whether the device's reading was plausible in a tick.
#[must_use]
pub fn is_usable(record: &TickRecord) -> bool {
    has(record, Given::USABLE)
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
        let given = at(&record, Some(frame));
        assert_eq!(to_master(&given, of_master(&record)), inputs);
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
        let at = at(&record, None);
        assert_eq!(to_slave(&at, of_slave(&record)), inputs);
    }
}
