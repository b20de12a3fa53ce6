//! Switches of the method at the remote side: a stretched spring keeps its stiffness.

use palpate_port::TickInputs;
use palpate_port::inbox::RunIds;
use palpate_slave::robot::RobotReading;
use palpate_slave::{SlaveOutputs, SlaveParams, SlaveState, tick};
use palpate_transport::coupling::mode_switch::ModeSwitch;
use palpate_transport::coupling::{CouplingParams, Mode, ModeSchedule};
use palpate_transport::frame::FrameFlags;
use palpate_transport::{AXES, HapticFrame, Time};

fn session(first: Mode, then: Mode) -> CouplingParams {
    let switch = ModeSwitch {
        at_s: 0.5,
        mode: then,
    };
    CouplingParams {
        mode: first,
        switch: ModeSchedule::try_from(vec![switch]).expect("passive"),
        ..CouplingParams::default()
    }
}

/// A tick of a robot that is stuck at 0, with the port moved to 2 mm by frames of a mode.
fn step(
    coupling: &CouplingParams,
    state: &mut SlaveState,
    at: u64,
    mode: Mode,
    engaged: bool,
) -> SlaveOutputs {
    let now = Time(at as i64 * 1_000_000);
    let flags = FrameFlags::ENGAGED * u32::from(engaged);
    let frame = HapticFrame {
        sequence: at,
        sent_ns: now.0,
        flags: FrameFlags::with_mode(flags, mode.code()),
        impedance_nspm: 10.0,
        position_m: [0.002, 0.0, 0.0, 0.0],
        energy_sent_j: [at as f64 * 1e-3; AXES],
        ..HapticFrame::default()
    };
    let at = TickInputs {
        tick: at,
        now,
        dt_s: 1e-3,
        frame: Some((frame, now)),
        ..TickInputs::default()
    };
    let params = SlaveParams::default();
    // what stops the robot pushes back, so a hold keeps the spring stretched
    let reading = RobotReading {
        contact_force_n: [-1.0, 0.0, 0.0, 0.0],
        force_valid: true,
        ..RobotReading::default()
    };
    tick(&params, coupling, state, &at, &reading)
}

/// A session that began in `pspm` stepped from 500 to 2 000 N/m in the tick in which it left it, and no tank paid for
/// the energy of the stretched spring.
#[test]
fn issue_switch_stiffened_a_stretched_spring() {
    for (first, then) in [(Mode::Pspm, Mode::Wave), (Mode::Wave, Mode::Pspm)] {
        let coupling = session(first, then);
        let mut state = SlaveState::new([0.3; 4], RunIds::default());
        // moved by pspm in both, as its demand is a position
        for at in 1..=500 {
            let _ = step(&coupling, &mut state, at, Mode::Pspm, true);
        }
        for (at, mode) in [(501, Mode::Pspm), (502, Mode::Wave), (503, Mode::Wave)] {
            // the robot holds its position, so that the force is that of the spring, which balances the contact
            let out = step(&coupling, &mut state, at, mode, false);
            assert!(out.record.port_position_m[0] > 1e-3, "{first:?}");
            let force_n = out.force_n[0];
            assert!(
                (force_n - 1.0).abs() < 1e-6,
                "{first:?} to {then:?}, tick {at}: {force_n} N"
            );
        }
    }
}
