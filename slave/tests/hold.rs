//! A robot that holds its position: damping and spring of its servo.

use palpate_port::TickInputs;
use palpate_port::inbox::RunIds;
use palpate_slave::robot::RobotReading;
use palpate_slave::{SlaveOutputs, SlaveParams, SlaveState, tick};
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::frame::FrameFlags;
use palpate_transport::{AXES, HapticFrame, Time};

/// A master that leads a robot in one mode, at an impedance of 0.5 N s/m.
struct Bench {
    state: SlaveState,
    mode: Mode,
    tick: u64,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        let mut bench = Self {
            state: SlaveState::new([0.3; 4], RunIds::default()),
            mode,
            tick: 0,
        };
        let _ = bench.step(None, 0.0, 0.0);
        bench
    }

    /// A tick of a robot at 0 with a speed, which the tissue pushes; `lead_m` is none if it is not enabled.
    fn step(&mut self, lead_m: Option<f64>, robot_mps: f64, contact_n: f64) -> SlaveOutputs {
        self.tick += 1;
        let now = Time(self.tick as i64 * 1_000_000);
        let frame = HapticFrame {
            sequence: self.tick,
            sent_ns: now.0,
            flags: FrameFlags::ENGAGED * u32::from(lead_m.is_some()),
            impedance_nspm: 0.5,
            position_m: [lead_m.unwrap_or(0.0), 0.0, 0.0, 0.0],
            energy_sent_j: [self.tick as f64 * 1e-2; AXES],
            ..HapticFrame::default()
        };
        let at = TickInputs {
            tick: self.tick,
            now,
            dt_s: 1e-3,
            frame: Some((frame, now)),
            ..TickInputs::default()
        };
        let reading = RobotReading {
            velocity_mps: [robot_mps, 0.0, 0.0, 0.0],
            contact_force_n: [contact_n, 0.0, 0.0, 0.0],
            force_valid: true,
            ..RobotReading::default()
        };
        let coupling = CouplingParams {
            mode: self.mode,
            impedance_nspm: 0.5,
            ..CouplingParams::default()
        };
        let params = SlaveParams::default();
        tick(&params, &coupling, &mut self.state, &at, &reading)
    }
}

#[test]
fn issue_wave_impedance_damped_a_robot_that_was_held() {
    for mode in [Mode::Wave, Mode::WaveTdpa, Mode::Mmt] {
        let held = Bench::new(mode).step(None, 0.1, 0.0);
        let force_n = held.force_n[0];
        assert!(
            (force_n + 5.0).abs() < 1e-9,
            "{mode:?}: {force_n} N at 50 N s/m"
        );
    }
}

#[test]
fn hold_begins_with_the_force_that_balances_the_contact() {
    // the last contact is stronger than the spring, which the tank then stretches
    for (contact_n, held_n) in [(0.0, 0.0), (-1.5, 1.5), (-5.0, 5.0)] {
        let mut bench = Bench::new(Mode::Mmt);
        let mut pressed = bench.step(Some(0.0), 0.0, contact_n);
        for _ in 0..1500 {
            pressed = bench.step(Some(0.002), 0.0, contact_n);
        }
        assert!(pressed.force_n[0] > 2.0, "{:?}", pressed.force_n);
        let port_m = pressed.record.port_position_m[0];
        for _ in 0..3 {
            let held = bench.step(None, 0.0, contact_n);
            assert!(
                (held.force_n[0] - held_n).abs() < 1e-9,
                "{:?}",
                held.force_n
            );
            assert_eq!(held.record.port_position_m[0], port_m, "the port stands");
        }
        // the next motion begins without a jump
        let mut last_n = held_n;
        for _ in 0..2000 {
            let force_n = bench.step(Some(0.002), 0.0, contact_n).force_n[0];
            assert!((force_n - last_n).abs() < 1.0, "{last_n} to {force_n} N");
            last_n = force_n;
        }
        assert!(last_n > 2.0, "{last_n}");
    }
}
