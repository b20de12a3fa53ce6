//! Latched fault of the remote side: commands, records and energy, and re-arming.

use palpate_port::TickInputs;
use palpate_port::inbox::RunIds;
use palpate_slave::robot::RobotReading;
use palpate_slave::{SlaveOutputs, SlaveParams, SlaveState, tick};
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::EventFlags;
use palpate_transport::{AXES, HapticFrame, Time};

const MS: i64 = 1_000_000;

/// A robot pressed against its port by hand, and a master that moves the port.
struct Bench {
    state: SlaveState,
    coupling: CouplingParams,
    tick: u64,
    robot_m: f64,
    robot_mps: f64,
    collapsed: bool,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        Self {
            state: SlaveState::new([0.3; 4], RunIds::default()),
            coupling: CouplingParams {
                mode,
                ..CouplingParams::default()
            },
            tick: 0,
            robot_m: 0.0,
            robot_mps: 0.0,
            collapsed: false,
        }
    }

    fn step(&mut self, lead_m: f64, good: bool, rearm: bool) -> SlaveOutputs {
        self.tick += 1;
        let now = Time(self.tick as i64 * MS);
        let frame = HapticFrame {
            sequence: self.tick,
            sent_ns: now.0,
            flags: FrameFlags::ENGAGED,
            impedance_nspm: 10.0,
            position_m: [lead_m, 0.0, 0.0, 0.0],
            energy_sent_j: [self.tick as f64 * 1e-3; AXES],
            ..HapticFrame::default()
        };
        let broken = if good { 0.0 } else { f64::NAN };
        let at = TickInputs {
            tick: self.tick,
            now,
            dt_s: 1e-3,
            frame: Some((frame, now)),
            rearm,
            ..TickInputs::default()
        };
        let reading = RobotReading {
            position_m: [self.robot_m + broken, 0.0, 0.0, 0.0],
            velocity_mps: [self.robot_mps, 0.0, 0.0, 0.0],
            tissue_collapsed: self.collapsed,
            ..RobotReading::default()
        };
        let params = SlaveParams::default();
        tick(&params, &self.coupling, &mut self.state, &at, &reading)
    }

    /// Moves the port 2 mm ahead of a robot that is stuck.
    fn pressed(mode: Mode) -> (Self, SlaveOutputs) {
        let mut bench = Self::new(mode);
        let mut out = bench.step(0.0, true, false);
        for _ in 0..1500 {
            out = bench.step(0.002, true, false);
        }
        assert!(out.force_n[0] > 2.0, "{mode:?}: {:?}", out.force_n);
        (bench, out)
    }
}

#[test]
fn issue_fault_recorded_a_force_that_was_not_commanded() {
    let (mut bench, before) = Bench::pressed(Mode::Mmt);
    let mut last = before.force_n[0];
    let level = before.record.tank_j[0];
    let held = before.record.port_position_m[0];
    for k in 0..500 {
        let out = bench.step(0.01, k > 3, false);
        assert_eq!(out.force_n, out.record.port_force_n, "written is recorded");
        assert_eq!(out.frame.port_force_n, out.force_n, "and sent");
        assert!(
            out.force_n[0] <= last && out.force_n[0] >= 0.9 * last,
            "tick {k} fades"
        );
        assert!(out.record.events & EventFlags::INVALID_READING != 0 && out.record.state == 3);
        assert!(out.frame.flags & FrameFlags::FAULT != 0);
        assert_eq!(out.record.port_position_m[0], held, "the port holds");
        last = out.force_n[0];
    }
    assert!(last < 1e-3);
    // a port that stands does no work: the tank only gained the master's energy, or returned it
    let after = bench.step(0.01, true, false).record;
    let balance_j = after.tank_j[0] + after.energy_sent_j[0] - after.energy_received_j[0];
    let initial_j = level + before.record.energy_sent_j[0] - before.record.energy_received_j[0];
    assert!(
        (balance_j - initial_j).abs() < 1e-12,
        "{balance_j} {initial_j}"
    );
    // only damping remains
    bench.robot_mps = 0.1;
    let out = bench.step(0.01, true, false);
    assert!((out.force_n[0] + 2.0).abs() < 1e-2, "{:?}", out.force_n);
}

#[test]
fn rearming_needs_a_plausible_reading_and_starts_without_force() {
    for mode in [Mode::Wave, Mode::Tdpa, Mode::Tank, Mode::Pspm, Mode::Mmt] {
        let (mut bench, _) = Bench::pressed(Mode::Mmt);
        bench.coupling.mode = mode;
        for _ in 0..10 {
            let out = bench.step(0.002, false, true);
            assert_eq!(out.record.state, 3, "re-armed with an invalid reading");
        }
        assert_eq!(bench.step(0.002, true, false).record.state, 3, "latched");
        // the robot was pushed away meanwhile
        bench.robot_m = -0.02;
        let before = bench.step(0.002, true, false).record;
        let out = bench.step(0.002, true, true);
        assert_eq!((out.record.state, out.force_n), (1, [0.0; AXES]));
        assert_eq!(out.record.port_position_m[0], -0.02, "begins at the robot");
        let spent = |r: &palpate_transport::trace::TickRecord| {
            r.tank_j[0] + r.energy_sent_j[0] - r.energy_received_j[0]
        };
        assert!(
            (spent(&out.record) - spent(&before)).abs() < 1e-12,
            "{mode:?}"
        );
        let next = bench.step(0.002, true, false);
        assert!(next.force_n[0].abs() < 0.5, "{mode:?}: {:?}", next.force_n);
        assert_eq!(next.record.events & EventFlags::INVALID_READING, 0);
    }
}

#[test]
fn collapsed_tissue_latches_a_fault_by_its_own_name() {
    let (mut bench, before) = Bench::pressed(Mode::Mmt);
    let mut last_n = before.force_n[0];
    for tick in 0..200 {
        bench.collapsed = tick == 0;
        let out = bench.step(0.01, true, false);
        let causes = EventFlags::TISSUE_COLLAPSED | EventFlags::INVALID_READING;
        assert_eq!(out.record.events & causes, EventFlags::TISSUE_COLLAPSED);
        assert_eq!(out.record.state, 3);
        assert!(out.frame.flags & FrameFlags::FAULT != 0);
        assert_eq!(out.record.port_position_m, before.record.port_position_m);
        assert!(out.force_n[0] < last_n, "tick {tick} fades");
        last_n = out.force_n[0];
    }
    // a command in the tick of another collapse clears nothing
    bench.collapsed = true;
    assert_eq!(bench.step(0.01, true, true).record.state, 3);
    bench.collapsed = false;
    let out = bench.step(0.01, true, true);
    assert_eq!((out.record.state, out.force_n), (1, [0.0; AXES]));
    assert_eq!(out.record.events & EventFlags::TISSUE_COLLAPSED, 0);
}
