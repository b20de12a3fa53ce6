//! Properties of both ends that hold for every method.

mod wave_matrix;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use super::*;
use crate::frame::FrameFlags;
use crate::{AXES, Axes, HapticFrame};

#[test]
fn every_mode_parses_from_its_name() {
    for mode in Mode::ALL {
        let read: Result<Mode, Error> = Mode::deserialize(mode.name().into_deserializer());
        assert_eq!(read.expect("a name"), mode);
        assert_eq!(Mode::from_name(mode.name()), Some(mode));
        let flags = FrameFlags::with_mode(FrameFlags::ENGAGED, mode.code());
        assert_eq!(Mode::from_code(FrameFlags::mode_code(flags)), Some(mode));
        assert_ne!(flags & FrameFlags::ENGAGED, 0);
    }
    assert_eq!((Mode::from_code(0), Mode::from_code(15)), (None, None));
    let passive = Mode::ALL.iter().filter(|mode| !mode.is_passive());
    assert!(passive.eq([&Mode::Direct, &Mode::Iss]));
}

/// Frame of the other side with `x` in all fields that a method reads.
fn frame(sequence: u64, x: f64) -> HapticFrame {
    HapticFrame {
        sequence,
        sent_ns: sequence as i64 * 700_000,
        flags: FrameFlags::FORCE_VALID * u32::from(sequence.is_multiple_of(2)),
        impedance_nspm: 10.0,
        position_m: [0.01 * x; AXES],
        velocity_mps: [0.1 * x; AXES],
        port_force_n: [10.0 * x; AXES],
        contact_force_n: [-10.0 * x; AXES],
        wave: [x; AXES],
        wave_integral: [0.1 * x; AXES],
        energy_sent_j: [1e-4 * sequence as f64; AXES],
        tank_j: [0.05 * x.abs(); AXES],
        ..HapticFrame::default()
    }
}

/// Twin with this force, zero confidence and no round trip.
fn twin(force_n: &Axes) -> TwinInputs<'_> {
    TwinInputs {
        rtt_s: None,
        confidence: 0.0,
        force_n,
        force_jumps: false,
    }
}

/// Tick of both ends with the values that the other side sent, and the motion of their ports.
type Tick = (u64, f64, f64, f64, bool);

fn ticks() -> impl Strategy<Value = Vec<Tick>> {
    let tick = (0..3_u64, -1.0..1.0, -0.3..0.3, -6.0..6.0, any::<bool>());
    prop::collection::vec(tick, 1..200)
}

proptest! {
    /// Demands are finite and transfers never exceed the level, for any input.
    #[test]
    fn every_master_method_is_finite_and_sends_at_most_its_level(
        which in 0..Mode::ALL.len(), delay_gain: bool, filter_hz in 0.0f64..100.0, ticks in ticks(),
    ) {
        let mode = Mode::ALL[which];
        let params = CouplingParams { mode, delay_gain, wave_filter_hz: filter_hz, ..CouplingParams::default() };
        let (mut end, mut tank) = (MasterEnd::default(), EnergyTank::default());
        let mut sequence = 0;
        for (frames, x, v, force_n, fresh) in ticks {
            sequence += frames;
            let newest = frame(sequence, x);
            let inputs = CouplingInputs { params: &params, impedance_nspm: 10.0, newest: &newest, fresh, round_trip_s: 0.0, dt_s: 1e-3 };
            let work_j = (force_n * v * 1e-3).max(-tank.level_j()[1].max(0.0));
            tank.receive(&newest.energy_sent_j);
            tank.deposit(1, work_j);
            end.record_work(1, work_j, v * 1e-3);
            end.begin_tick(&inputs, &twin(&[force_n; AXES]));
            let handle = HandleAxis {
                axis: 1, position_m: 0.02 * x, velocity_mps: v, smoothed_mps: v, last_force_n: 0.0, sliding: x,
                twin_force_n: force_n, blade_force_n: -0.3 * force_n, twin_energy_j: 1e-3,
            };
            let demand = end.demand(&inputs, &handle, &tank);
            prop_assert!(demand.force_n.is_finite() && demand.wave_in.is_finite());
            let wave = end.send(&inputs, &handle, &CommandedForce { force_n, reserve_j: 1e-5 }, &mut tank);
            prop_assert!(wave.is_finite() && end.wave_integral()[1].is_finite());
            prop_assert!(!mode.is_passive() || tank.level_j()[1] >= -1e-15);
        }
    }

    #[test]
    fn every_slave_method_is_finite_and_sends_at_most_its_level(
        which in 0..Mode::ALL.len(), delay_gain: bool, reflect_per_s in 0.0f64..200.0, ticks in ticks(),
    ) {
        let mode = Mode::ALL[which];
        let params = CouplingParams { mode, delay_gain, reflect_per_s, ..CouplingParams::default() };
        let (mut end, mut tank) = (SlaveEnd::default(), EnergyTank::default());
        let mut sequence = 0;
        for (frames, x, v, force_n, fresh) in ticks {
            sequence += frames;
            let newest = frame(sequence, x);
            let inputs = CouplingInputs { params: &params, impedance_nspm: 10.0, newest: &newest, fresh, round_trip_s: 0.0, dt_s: 1e-3 };
            tank.receive(&newest.energy_sent_j);
            end.begin_tick(&inputs);
            let damping_nspm = inputs.robot_damping_nspm(1, 50.0);
            let pd = PdController { stiffness_npm: 2000.0, damping_nspm, error_m: 1e-3 * x, robot_velocity_mps: v, dt_s: 1e-3 };
            let robot = RobotAxis { axis: 1, port_position_m: 0.02 * x, touching: fresh, contact_force_n: fresh.then_some(force_n), pd };
            let demand = end.demand(&inputs, &robot, &tank);
            prop_assert!(demand.velocity_mps.is_finite() && demand.wave_in.is_finite());
            let paid = tank.payable_velocity(1, demand.velocity_mps, pd.force_at_rest(), pd.slope_nspm(), 1e-3);
            let work_j = -pd.force(paid) * paid * 1e-3;
            tank.deposit(1, work_j);
            let wave = end.send(&inputs, &SlavePortMotion { axis: 1, velocity_mps: paid, force_n: pd.force(paid), work_j }, &mut tank);
            prop_assert!(wave.is_finite() && end.wave_integral()[1].is_finite());
            prop_assert!(!mode.is_passive() || tank.level_j()[1] >= -1e-12);
        }
    }
}

/// A blade's force that is faded out at the hand does not push the robot: the channel carries only its commanded part.
#[test]
fn faded_blade_force_is_not_on_the_channel() {
    let params = CouplingParams {
        mode: Mode::Wave,
        ..CouplingParams::default()
    };
    let newest = frame(1, 0.0);
    let inputs = CouplingInputs {
        params: &params,
        impedance_nspm: 10.0,
        newest: &newest,
        fresh: true,
        round_trip_s: 0.0,
        dt_s: 1e-3,
    };
    let sent = |edge_n: f64, share: f64| {
        let (mut end, mut tank) = (MasterEnd::default(), EnergyTank::default());
        let handle = HandleAxis {
            axis: 1,
            blade_force_n: edge_n,
            ..HandleAxis::default()
        };
        end.begin_tick(&inputs, &twin(&[0.0; AXES]));
        let demand = end.demand(&inputs, &handle, &tank);
        let written = CommandedForce {
            force_n: share * demand.force_n,
            reserve_j: 0.0,
        };
        (
            demand.force_n,
            end.send(&inputs, &handle, &written, &mut tank),
        )
    };
    let (alone_n, alone) = sent(0.0, 1.0);
    let (held_n, whole) = sent(2.0, 1.0);
    assert!((alone_n - held_n - 2.0).abs() < 1e-12, "{alone_n} {held_n}");
    assert!((whole - alone).abs() < 1e-12, "{whole} {alone}");
    let (_, none) = sent(2.0, 0.0);
    let (_, without) = sent(0.0, 0.0);
    assert!((none - without).abs() < 1e-12, "{none} {without}");
}

/// Stiffness of the spring that holds a blade \[N/m\], and distance that a hand moves in a tick \[m\].
const HELD_NPM: f64 = 1000.0;
const WAY_M: f64 = 1e-5;

/// A hand that pulls a blade into its spring and takes it nine tenths of the way back, beside a channel whose other side
/// has not moved and sends `wave`. A force held for a tick gives back k X dx more than went in, which on the last tenth
/// is rightly not paid.
fn pulled_and_back(mode: Mode, wave: f64) {
    let params = CouplingParams {
        mode,
        tdpa_charging_friction_n_max: 0.0,
        charging_friction_n_max: 0.0,
        tank_nspm_max: 0.0,
        catch_up_per_s: 0.0,
        ..CouplingParams::default()
    };
    let newest = HapticFrame {
        wave: [wave; AXES],
        wave_integral: [0.0; AXES],
        ..frame(2, 0.0)
    };
    let inputs = CouplingInputs {
        params: &params,
        impedance_nspm: 10.0,
        newest: &newest,
        fresh: true,
        round_trip_s: 0.0,
        dt_s: 1e-3,
    };
    let (mut end, mut tank) = (MasterEnd::default(), EnergyTank::default());
    let (mut at_m, mut written_n, mut blade_n) = (0.0, 0.0, 0.0);
    // work apart from the blade's, which belongs to the channel
    let (mut channel_j, mut most_j) = (0.0, 0.0);
    for tick in 0..375 {
        let v: f64 = if tick < 200 { 0.01 } else { -0.01 };
        let moved_m = v.signum() * WAY_M;
        at_m += moved_m;
        channel_j += (written_n - blade_n) * moved_m;
        tank.deposit(1, written_n * moved_m);
        end.record_work(1, written_n * moved_m, moved_m);
        end.begin_tick(&inputs, &twin(&[0.0; AXES]));
        let handle = HandleAxis {
            axis: 1,
            velocity_mps: v,
            smoothed_mps: v,
            blade_force_n: -HELD_NPM * at_m,
            ..HandleAxis::default()
        };
        let demand = end.demand(&inputs, &handle, &tank);
        // the controller of waves must control the channel's own work
        let acted = mode != Mode::WaveTdpa && demand.events != 0;
        assert!(!acted, "{mode:?}, tick {tick}: {:?}", demand.events);
        written_n = demand.force_n;
        blade_n = -handle.blade_force_n;
        let written = CommandedForce {
            force_n: written_n,
            reserve_j: 0.0,
        };
        end.send(&inputs, &handle, &written, &mut tank);
        // a force that is a tick old returns energy where the hand turns, and that is not sent twice
        most_j = f64::max(most_j, channel_j);
        assert!(
            tank.sent_j()[1] < most_j + 1e-12,
            "{mode:?}, tick {tick}: {tank:?}, {most_j} J came in"
        );
        let drained = tick == 199 && wave > 0.0;
        assert!(
            !drained || channel_j < -2e-4,
            "{mode:?}: {channel_j} J of the line"
        );
    }
    assert!(tank.level_j()[1] > 0.0, "{mode:?}: {tank:?}");
}

/// A blade was pulled into its spring, and that work went to the robot, which has no blade: when the hand went back, the
/// tank could not pay the force on the blade.
#[test]
fn issue_blade_energy_was_sent_to_the_robot() {
    for mode in [
        Mode::Wave,
        Mode::Tdpa,
        Mode::WaveTdpa,
        Mode::Tank,
        Mode::Pspm,
    ] {
        pulled_and_back(mode, 0.0);
    }
}

/// A wave that returns energy that was never received leaves a channel short: it then took energy from the blade.
#[test]
fn issue_channel_deficit_took_the_blade_energy() {
    pulled_and_back(Mode::Wave, 0.05);
}
