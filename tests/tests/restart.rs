//! Tests of restarts: motion resumes, and no energy is generated.

use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::Config;
use palpate_session::lab::{TickRecords, VirtualSession};
use palpate_tests::{audited, least_energy_j};
use palpate_transport::coupling::{ImpedanceMatching, Mode};
use palpate_transport::link::LinkParams;
use palpate_transport::trace::{EventFlags, Side};

fn config(mode: Mode, seed: u64) -> Config {
    let mut config = Config {
        seed,
        duration_s: 9.0,
        tissue: "wall:800".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    config.coupling.mode = mode;
    config.clock.offset_ms = 400.0 - 300.0 * seed as f64;
    let link = LinkParams {
        oneway_ms: 20.0 + 45.0 * seed as f64,
        jitter_ms: 10.0,
        jitter_reorders: true,
        loss: 0.05,
        duplicate: 0.02,
        ..LinkParams::default()
    };
    (config.link.forward, config.link.back) = (link, link);
    if seed.is_multiple_of(2) {
        config.coupling.matching = ImpedanceMatching::None;
        let (amplitude_m, hz) = (0.02, 0.9);
        config.operator.script = ScriptParams::Sine(SineParams { amplitude_m, hz });
    }
    config
}

struct Run {
    steps: Vec<TickRecords>,
    lowest_j: f64,
}

/// Runs a session in which sides restart at some ticks; returns its records and the smallest channel energy.
fn run_of(config: &Config, restarts: &[(usize, Side)]) -> Run {
    let mut session = VirtualSession::new(config).expect("valid");
    let mut steps = Vec::new();
    for tick in 0..session.ticks() as usize {
        for (_, side) in restarts.iter().filter(|(at, _)| *at == tick) {
            session.restart(*side).expect("the scene is still there");
        }
        steps.push(session.step());
    }
    let mut master: Vec<_> = steps.iter().map(|step| step.master).collect();
    let mut slave: Vec<_> = steps.iter().map(|step| step.slave).collect();
    // the auditor uses the true time of both sides, whatever their clocks show
    for (slave, master) in slave.iter_mut().zip(&master) {
        slave.now_ns = master.now_ns;
    }
    for record in &mut master {
        record.tick = 0;
    }
    for record in &mut slave {
        record.tick = 0;
    }
    let verdict = audited(&master, &slave);
    assert!(verdict.instants > 0);
    Run {
        lowest_j: least_energy_j(&verdict),
        steps,
    }
}

#[test]
fn restarts_of_a_side_generate_no_energy() {
    let newer = [Mode::Tdpa, Mode::WaveTdpa, Mode::Tank, Mode::Pspm];
    for (mode, seeds) in [Mode::Wave, Mode::Mmt]
        .map(|mode| (mode, 3))
        .into_iter()
        .chain(newer.map(|mode| (mode, 1)))
    {
        for seed in 0..seeds {
            for side in [Side::Master, Side::Slave] {
                let other = side.other();
                for restarts in [
                    vec![(3100, side)],
                    // again before the other side has received the first restart, and both at once
                    vec![(2700, side), (2710, side), (5000, side), (5000, other)],
                    (1..40)
                        .map(|k| (200 * k, if k % 3 == 0 { other } else { side }))
                        .collect(),
                ] {
                    let run = run_of(&config(mode, seed), &restarts);
                    assert!(
                        run.lowest_j >= -TOLERANCE_J,
                        "{mode:?} seed {seed} {side:?} {}: {} J",
                        restarts.len(),
                        run.lowest_j
                    );
                }
            }
        }
    }
}

/// The same for the default twin and tissue, too slow for every seed.
#[test]
fn restarts_in_a_layered_session_generate_no_energy() {
    for side in [Side::Master, Side::Slave] {
        let config = Config {
            duration_s: 5.0,
            tissue: "layered-lump".into(),
            twin: "layered".into(),
            ..config(Mode::Mmt, 1)
        };
        let run = run_of(&config, &[(2600, side), (2610, side), (4000, side.other())]);
        assert!(run.lowest_j >= -TOLERANCE_J, "{side:?}: {} J", run.lowest_j);
        let touched = run
            .steps
            .iter()
            .any(|step| step.slave.tissue_force_n[2] > 0.1);
        assert!(touched, "{side:?}: nothing was pressed");
    }
}

#[test]
fn motion_resumes_within_two_round_trips_and_a_ramp() {
    for side in [Side::Master, Side::Slave] {
        let config = config(Mode::Mmt, 1);
        let at = 4000;
        let run = run_of(&config, &[(at, side)]);
        let stale = |step: &TickRecords| {
            let record = match side {
                Side::Master => step.master,
                Side::Slave => step.slave,
            };
            record.events & EventFlags::STALE != 0
        };
        // one way 65 ms: the new run receives no valid frame before the other side has received one of it
        assert!(run.steps[at..at + 110].iter().all(stale), "{side:?}");
        let back = at + 400;
        assert!(!run.steps[back..back + 2000].iter().any(stale), "{side:?}");
        let later = &run.steps[back..back + 2000];
        let engaged = later.iter().filter(|step| step.slave.state == 1).count();
        assert!(
            engaged > 1900,
            "{side:?}: engaged in {engaged} of 2000 ticks"
        );
        let counted = later.last().expect("2000").slave.received_count;
        assert!(counted > 500, "{side:?}: {counted} frames");
        // after synchronisation it moves as before: no jump to the other side's new position
        let fastest_mps = |steps: &[TickRecords]| {
            let speeds = steps.iter().map(|step| step.slave.velocity_mps[2].abs());
            speeds.fold(0.0, f64::max)
        };
        let calm = run_of(&config, &[]);
        let (found, usual) = (
            fastest_mps(later),
            fastest_mps(&calm.steps[back..back + 2000]),
        );
        assert!(
            found > 0.0 && found < 1.3 * usual,
            "{side:?}: {found} m/s beside {usual} m/s"
        );
        let gap = later
            .iter()
            .map(|step| step.master.position_m[2] - step.slave.port_position_m[2])
            .fold(0.0_f64, |most, gap| most.max(gap.abs()));
        assert!(gap < 0.05, "{side:?}: {gap} m apart");
    }
}

#[test]
fn a_session_without_a_restart_has_one_run_per_side() {
    let run = run_of(&config(Mode::Wave, 0), &[]);
    assert!(run.lowest_j >= -TOLERANCE_J);
    let last = run.steps.last().expect("ticks");
    assert!(last.slave.received_count > 1000 && last.master.received_count > 1000);
}
