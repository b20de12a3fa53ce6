//! Inputs of a tick in its record: stored when it runs, and restored by a replay.
//!
//! Source: ours. The record already has the device's reading. Added are its flags, the frame in the
//! mailbox with the time of its reception, the time on the side's own clock, and the number of periods that the
//! tick accounts for. Nothing here allocates.

use palpate_master::device;
use palpate_slave::robot;
use palpate_transport::clock::PERIOD;
use palpate_transport::frame::is_plausible;
use palpate_transport::trace::{InputFlags, TickRecord};
use palpate_transport::{AXES, Axes, HapticFrame, Time};

use super::TickInputs;
use crate::edits::{record_instrument, recorded_instrument};

/// Stores the inputs of a tick of the operator's side.
pub(super) fn note_master(
    record: &mut TickRecord,
    inputs: &TickInputs,
    reading: &device::HandleReading,
) {
    let released = reading.force_released_m.is_some();
    let flags = [
        (InputFlags::LONG_GAP, inputs.long_gap),
        (InputFlags::DEADLINE_FALLBACK, inputs.deadline_fallback),
        (InputFlags::REARM, inputs.rearm),
        (InputFlags::OPERATOR_PRESENT, reading.present),
        (InputFlags::GRIPPER_CLOSED, reading.closed),
        (InputFlags::TOOL_SWAPPED, reading.tools_swapped),
        (InputFlags::READING_PLAUSIBLE, reading.is_plausible()),
        (InputFlags::FORCE_RELEASED, released),
    ];
    note(record, inputs, flags);
    record_instrument(record, &reading.instrument);
    record.revisions = [reading.revisions.undo, reading.revisions.redo];
}

/// Stores the inputs of a tick of the remote side, and whether an edit batch before it was refused.
pub(super) fn note_slave(
    record: &mut TickRecord,
    inputs: &TickInputs,
    reading: &robot::RobotReading,
) {
    let force_valid = reading.force_valid && reading.contact_force_n.iter().all(|n| n.is_finite());
    let plausible = is_plausible(&reading.position_m, &reading.velocity_mps);
    let flags = [
        (InputFlags::HALT, inputs.halt),
        (InputFlags::EDIT_REFUSED, inputs.edit_refused),
        (InputFlags::REARM, inputs.rearm),
        (InputFlags::FORCE_VALID, force_valid),
        (InputFlags::READING_PLAUSIBLE, plausible),
        (InputFlags::TISSUE_COLLAPSED, reading.tissue_collapsed),
    ];
    note(record, inputs, flags);
}

/// Stores the inputs of either side, and combines the bits of the flags that are set.
fn note<const N: usize>(record: &mut TickRecord, inputs: &TickInputs, flags: [(u32, bool); N]) {
    record.given_ns = inputs.now.0;
    record.periods = (inputs.dt_s / PERIOD.s()).round() as u32;
    if let Some((frame, received)) = &inputs.frame {
        record.frame_sequence = frame.sequence;
        record.frame_received_ns = received.0;
    }
    let set = flags.into_iter().filter(|(_, on)| *on);
    record.given = set.fold(InputFlags::RECORDED, |all, (bit, _)| all | bit);
}

fn has(record: &TickRecord, bit: u32) -> bool {
    record.given & bit != 0
}

/// Inputs of a recorded tick; `frame` is the one that the record refers to.
#[must_use]
pub(crate) fn inputs_of(record: &TickRecord, frame: Option<HapticFrame>) -> TickInputs {
    TickInputs {
        tick: record.tick,
        now: Time(record.given_ns),
        device_now: Time(record.given_ns),
        dt_s: PERIOD.s() * f64::from(record.periods),
        long_gap: has(record, InputFlags::LONG_GAP),
        deadline_fallback: has(record, InputFlags::DEADLINE_FALLBACK),
        halt: has(record, InputFlags::HALT),
        rearm: has(record, InputFlags::REARM),
        edit_refused: has(record, InputFlags::EDIT_REFUSED),
        frame: frame.map(|frame| (frame, Time(record.frame_received_ns))),
    }
}

/// Reading of the handle in a recorded tick.
pub(crate) fn master_reading(record: &TickRecord) -> device::HandleReading {
    device::HandleReading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        closed: has(record, InputFlags::GRIPPER_CLOSED),
        instrument: recorded_instrument(record),
        revisions: device::Revisions {
            undo: record.revisions[0],
            redo: record.revisions[1],
        },
        tools_swapped: has(record, InputFlags::TOOL_SWAPPED),
        present: has(record, InputFlags::OPERATOR_PRESENT),
        intended_m: record.intended_m,
        phase: record.phase,
        force_released_m: has(record, InputFlags::FORCE_RELEASED).then_some(record.held_to_m),
    }
}

/// Reading of the robot in a recorded tick.
fn slave_reading(record: &TickRecord) -> robot::RobotReading {
    robot::RobotReading {
        position_m: usable(record, record.position_m),
        velocity_mps: record.velocity_mps,
        contact_force_n: record.tissue_force_n,
        force_valid: has(record, InputFlags::FORCE_VALID),
        peak_contact_n: Some(record.peak_contact_n),
        tissue_energy_j: record.tissue_energy_j,
        tissue_collapsed: has(record, InputFlags::TISSUE_COLLAPSED),
        edits: robot::TissueEdits {
            finished_batches: record.edit_batches,
            topology: record.topology,
        },
    }
}

/// Device of a recorded tick: it returns the recorded reading, and commands have no effect.
pub(crate) struct RecordedDevice(pub(crate) TickRecord);

impl device::Handle for RecordedDevice {
    fn caps(&self) -> device::HandleCaps {
        device::HandleCaps::default()
    }

    fn read(&mut self, _: Time) -> device::HandleReading {
        master_reading(&self.0)
    }

    fn write(&mut self, _: &Axes) {}
}

impl robot::Robot for RecordedDevice {
    fn read(&mut self, _: Time) -> robot::RobotReading {
        slave_reading(&self.0)
    }

    fn write(&mut self, _: &Axes, _: bool) {}
}

/// True if the device's reading in a tick was plausible.
#[must_use]
pub(crate) fn is_usable(record: &TickRecord) -> bool {
    has(record, InputFlags::READING_PLAUSIBLE)
}

/// The position, or NaN: with an implausible reading a tick uses nothing else of it.
fn usable(record: &TickRecord, position_m: [f64; AXES]) -> [f64; AXES] {
    if has(record, InputFlags::READING_PLAUSIBLE) {
        position_m
    } else {
        [f64::NAN; AXES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_inputs_round_trip() {
        let frame = HapticFrame {
            sequence: 7,
            ..HapticFrame::default()
        };
        let inputs = TickInputs {
            tick: 3,
            now: Time(-5),
            device_now: Time(-5),
            dt_s: PERIOD.s() * 4.0,
            long_gap: true,
            frame: Some((frame, Time(11))),
            rearm: true,
            ..TickInputs::default()
        };
        let reading = device::HandleReading {
            closed: true,
            tools_swapped: true,
            present: true,
            phase: 9,
            ..device::HandleReading::default()
        };
        let mut record = TickRecord {
            tick: 3,
            phase: 9,
            ..TickRecord::default()
        };
        note_master(&mut record, &inputs, &reading);
        assert_eq!(inputs_of(&record, Some(frame)), inputs);
        assert_eq!(master_reading(&record), reading);
        let inputs = TickInputs {
            tick: 3,
            now: Time(8),
            device_now: Time(8),
            dt_s: PERIOD.s(),
            halt: true,
            edit_refused: true,
            ..TickInputs::default()
        };
        let reading = robot::RobotReading {
            force_valid: true,
            tissue_collapsed: true,
            peak_contact_n: Some([0.5; 4]),
            ..robot::RobotReading::default()
        };
        record.peak_contact_n = [0.5; 4];
        note_slave(&mut record, &inputs, &reading);
        assert_eq!(inputs_of(&record, None), inputs);
        assert_eq!(slave_reading(&record), reading);
    }
}
