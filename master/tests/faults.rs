//! Latched faults and pauses of the master: force on the hand, and recovery.

use palpate_master::device::{HandleCaps, HandleReading};
use palpate_master::predict::TwinPredictor;
use palpate_master::{MasterOutputs, MasterParams, MasterState, tick};
use palpate_port::TickInputs;
use palpate_port::inbox::RunIds;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::frame::FrameFlags;
use palpate_transport::trace::EventFlags;
use palpate_transport::{AXES, HapticFrame, Time};
use palpate_twin::{
    Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueEnergy, TissueView, Tool, Vec3,
};

const MS: i64 = 1_000_000;

/// Inputs of a tick besides its number.
#[derive(Clone, Copy, Default)]
struct TickInput {
    broken: bool,
    rearm: bool,
    missed: u64,
    long_gap: bool,
}

/// Test bench: a hand at rest while the other side pushes with 2 N.
struct Bench {
    state: MasterState,
    mode: Mode,
    tick: u64,
    /// Position of the hand along x \[m\].
    position_m: f64,
}

impl Bench {
    fn new(twin: Option<TwinPredictor>, mode: Mode) -> Self {
        let caps = HandleCaps {
            resolution_m: [0.0; AXES],
            mass_kg_min: [0.1; AXES],
            force_timeout_s: Some(2e-3),
        };
        Self {
            state: MasterState::new(twin, &caps, RunIds::default()),
            mode,
            tick: 0,
            position_m: 0.0,
        }
    }

    fn pushed() -> Self {
        let mut bench = Self::new(None, Mode::Direct);
        for _ in 0..10 {
            bench.step(TickInput::default());
        }
        bench
    }

    fn step(&mut self, input: TickInput) -> MasterOutputs {
        self.tick += 1 + input.missed;
        let now = Time(self.tick as i64 * MS);
        let frame = HapticFrame {
            sequence: self.tick,
            sent_ns: now.0,
            port_force_n: [2.0, 0.0, 0.0, 0.0],
            ..HapticFrame::default()
        };
        let mut reading = HandleReading {
            position_m: [self.position_m, 0.0, 0.0, 0.0],
            present: true,
            ..HandleReading::default()
        };
        if input.broken {
            reading.velocity_mps[1] = f64::INFINITY;
        }
        let at = TickInputs {
            tick: self.tick,
            now,
            dt_s: 1e-3 * (1 + input.missed) as f64,
            long_gap: input.long_gap,
            frame: Some((frame, now)),
            rearm: input.rearm,
            ..TickInputs::default()
        };
        let coupling = CouplingParams {
            mode: self.mode,
            ..CouplingParams::default()
        };
        tick(
            &MasterParams::default(),
            &coupling,
            &mut self.state,
            &at,
            &reading,
        )
    }
}

fn engaged(output: &MasterOutputs) -> bool {
    output.frame.flags & FrameFlags::ENGAGED != 0
}

#[test]
fn fault_latches_until_rearmed_on_plausible_reading() {
    let mut bench = Bench::pushed();
    let input = TickInput {
        broken: true,
        rearm: true,
        ..TickInput::default()
    };
    for _ in 0..5 {
        let output = bench.step(input);
        assert!(
            output.record.state == 3 && !engaged(&output),
            "still broken"
        );
    }
    let mut last = f64::INFINITY;
    for _ in 0..500 {
        let output = bench.step(TickInput::default());
        assert!(
            output.record.events & EventFlags::INVALID_READING != 0 && output.record.state == 3
        );
        let force_n = output.record.port_force_n[0].abs();
        assert!(force_n <= last, "fades");
        last = force_n;
    }
    assert!(last < 1e-3);
    let recovered = bench.step(TickInput {
        rearm: true,
        ..TickInput::default()
    });
    assert!(engaged(&recovered) && recovered.record.state == 1);
    assert!(
        recovered.record.port_force_n[0] <= 1.0 + 1e-9,
        "within the slew"
    );
}

#[test]
fn pause_fades_force_and_disengages() {
    let mut bench = Bench::pushed();
    let output = bench.step(TickInput {
        missed: 19,
        long_gap: true,
        ..TickInput::default()
    });
    assert!(!engaged(&output));
    assert!(
        (output.record.port_force_n[0] - 1.2).abs() < 1e-9,
        "20 of 50 ms"
    );
    assert!(engaged(&bench.step(TickInput::default())));
}

/// Tissue that pushes with 1 N along x, and collapses in its 20th step.
struct Collapsing {
    steps: u32,
}

impl Tissue for Collapsing {
    fn caps(&self) -> TissueCaps {
        TissueCaps::new("collapsing", 1, 1, 1)
    }

    fn step(&mut self, _: &[Tool], _: f64, reactions: &mut [Reaction]) {
        self.steps += 1;
        let pushed = Reaction {
            force_n: Vec3::x(),
            normal: Vec3::x(),
            contacts: 1,
            ..Reaction::default()
        };
        let collapses = self.steps == 20;
        reactions.fill(if collapses {
            Reaction::of_collapse()
        } else {
            pushed
        });
    }

    fn view(&self) -> TissueView<'_> {
        TissueView::new(&[], &[], &[], TissueEnergy::default())
    }

    fn save(&self, _: &mut Snapshot) {}

    fn restore(&mut self, _: &Snapshot) -> Result<(), SnapshotError> {
        Ok(())
    }
}

#[test]
fn collapsed_twin_latches_a_fault_by_its_own_name() {
    let tissue = || Box::new(Collapsing { steps: 0 });
    let predictor = TwinPredictor::new(tissue(), tissue());
    let mut bench = Bench::new(Some(predictor), Mode::Direct);
    for _ in 0..20 {
        // the hand pushes against the force and so fills the tank
        bench.position_m += 1e-4;
        bench.step(TickInput::default());
    }
    bench.mode = Mode::Mmt;
    let causes = EventFlags::TISSUE_COLLAPSED | EventFlags::INVALID_READING;
    let mut last_n = 0.0;
    for _ in 0..19 {
        let output = bench.step(TickInput::default());
        last_n = output.record.port_force_n[0].abs();
        assert_eq!((output.record.state, output.record.events & causes), (1, 0));
    }
    assert!(last_n > 0.99, "{last_n} N");
    for tick in 0..200 {
        let output = bench.step(TickInput::default());
        assert_eq!(output.record.events & causes, EventFlags::TISSUE_COLLAPSED);
        assert!(output.record.state == 3 && !engaged(&output), "tick {tick}");
        let force_n = output.record.port_force_n[0].abs();
        assert!(
            force_n <= last_n && force_n > 0.95 * last_n,
            "tick {tick} fades: {force_n} N"
        );
        last_n = force_n;
    }
    assert!(last_n < 0.1, "{last_n} N");
    let recovered = bench.step(TickInput {
        rearm: true,
        ..TickInput::default()
    });
    assert!(engaged(&recovered) && recovered.record.state == 1);
    assert_eq!(recovered.record.events & causes, 0);
}
