//! A latched fault and a pause of the operator's side: what the hand feels, and the way out.

use palpate_master::device::{HandleCaps, Reading};
use palpate_master::{Inputs, MasterParams, Outputs, State, tick};
use palpate_port::inbox::Parties;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::Events;
use palpate_transport::{AXES, HapticFrame, Time};

const MS: i64 = 1_000_000;

/// What a tick is given besides its number.
#[derive(Clone, Copy, Default)]
struct Given {
    broken: bool,
    rearm: bool,
    missed: u64,
    paused: bool,
}

/// A hand that rests while the other side pushes with 2 N.
struct Bench {
    state: State,
    tick: u64,
}

impl Bench {
    fn pushed() -> Self {
        let caps = HandleCaps {
            name: "bench",
            force_n_max: [6.0; AXES],
            resolution_m: [0.0; AXES],
            mass_kg_min: [0.1; AXES],
            let_go_s: Some(2e-3),
            real: false,
        };
        let mut bench = Self {
            state: State::new(None, &caps, Parties::default()),
            tick: 0,
        };
        for _ in 0..10 {
            bench.step(Given::default());
        }
        bench
    }

    fn step(&mut self, given: Given) -> Outputs {
        self.tick += 1 + given.missed;
        let now = Time(self.tick as i64 * MS);
        let frame = HapticFrame {
            sequence: self.tick,
            sent_ns: now.0,
            port_force_n: [2.0, 0.0, 0.0, 0.0],
            ..HapticFrame::default()
        };
        let mut reading = Reading {
            present: true,
            ..Reading::default()
        };
        if given.broken {
            reading.velocity_mps[1] = f64::INFINITY;
        }
        let inputs = Inputs {
            tick: self.tick,
            now,
            dt_s: 1e-3 * (1 + given.missed) as f64,
            paused: given.paused,
            masked: false,
            reading,
            frame: Some((frame, now)),
            rearm: given.rearm,
        };
        let coupling = CouplingParams {
            mode: Mode::Direct,
            ..CouplingParams::default()
        };
        tick(
            &MasterParams::default(),
            &coupling,
            &mut self.state,
            &inputs,
        )
    }
}

fn engaged(out: &Outputs) -> bool {
    out.frame.flags & FrameFlags::ENGAGED != 0
}

#[test]
fn a_fault_stays_until_it_is_cleared_on_a_plausible_reading() {
    let mut bench = Bench::pushed();
    let asked = Given {
        broken: true,
        rearm: true,
        ..Given::default()
    };
    for _ in 0..5 {
        let out = bench.step(asked);
        assert!(out.record.state == 3 && !engaged(&out), "still broken");
    }
    let mut last = f64::INFINITY;
    for _ in 0..500 {
        let out = bench.step(Given::default());
        assert!(out.record.events & Events::INVALID != 0 && out.record.state == 3);
        let force_n = out.record.port_force_n[0].abs();
        assert!(force_n <= last, "fades");
        last = force_n;
    }
    assert!(last < 1e-3);
    let cleared = bench.step(Given {
        rearm: true,
        ..Given::default()
    });
    assert!(engaged(&cleared) && cleared.record.state == 1);
    assert!(
        cleared.record.port_force_n[0] <= 1.0 + 1e-9,
        "within the slew"
    );
}

#[test]
fn a_pause_fades_the_force_and_lets_go_for_its_tick() {
    let mut bench = Bench::pushed();
    let out = bench.step(Given {
        missed: 19,
        paused: true,
        ..Given::default()
    });
    assert!(!engaged(&out));
    assert!(
        (out.record.port_force_n[0] - 1.2).abs() < 1e-9,
        "20 of 50 ms"
    );
    assert!(engaged(&bench.step(Given::default())));
}
