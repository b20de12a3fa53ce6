//! Tests of missed ticks: the next tick accounts for the elapsed time.

use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::pipeline::TickInputs;
use palpate_tests::{audited, least_energy_j};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Time};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Returns the records of both sides of a session without a network. Ticks come every `tick_span` and account for
/// a period; the slave misses up to `longest - 1` ticks in a row now and then.
fn session(config: &Config, tick_span: Span, longest: u64) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let of = |side| lab::run_ids(config.seed, side);
    let mut handle =
        palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let mut robot = lab::build_robot(config).expect("a tissue");
    let twin = lab::predictor(config, None).expect("a twin");
    let mut master = palpate_master::MasterState::new(twin, &handle.caps(), of(Side::Master));
    let mut slave = palpate_slave::SlaveState::new(config.robot.mass_kg(), of(Side::Slave));
    let mut dice = SplitMix64::seed_from_u64(config.seed);
    let mut to_master = None::<(HapticFrame, Time)>;
    let (mut of_master, mut of_slave) = (Vec::new(), Vec::new());
    let (mut due, mut last) = (1, 0);
    for tick in 1..(config.duration_s / tick_span.s()) as u64 {
        let now = Time(tick_span.0 * tick as i64);
        let at = TickInputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            frame: to_master,
            ..TickInputs::default()
        };
        let (coupling, reading) = (&config.coupling, handle.read(now));
        let out = palpate_master::tick(&config.master, coupling, &mut master, &at, &reading);
        handle.write(&out.force_on_hand_n);
        of_master.push(out.record);
        if tick < due {
            continue;
        }
        let at = TickInputs {
            dt_s: PERIOD.s() * (tick - last) as f64,
            frame: Some((out.frame, now)),
            ..at
        };
        let reading = robot.read(now);
        let out = palpate_slave::tick(&config.slave, coupling, &mut slave, &at, &reading);
        robot.write(&out.force_n, out.closed);
        of_slave.push(out.record);
        to_master = Some((out.frame, now));
        last = tick;
        let missed = if dice.next_u64().is_multiple_of(20) {
            dice.next_u64() % longest
        } else {
            0
        };
        due = tick + 1 + missed;
    }
    (of_master, of_slave)
}

#[test]
fn a_slave_with_missed_ticks_stays_passive_and_keeps_its_position() {
    let springs = ["sheet", "sheet-lump", "10"];
    // the default twin and tissue, which are slower
    let layers = ["layered", "layered-lump", "5"];
    for (mode, [twin, tissue, duration_s]) in [
        (Mode::Wave, springs),
        (Mode::Tdpa, springs),
        (Mode::WaveTdpa, springs),
        (Mode::Tank, springs),
        (Mode::Pspm, springs),
        (Mode::Mmt, springs),
        (Mode::Mmt, layers),
    ] {
        for seed in 0..2 {
            let mut config = Config {
                seed,
                duration_s: duration_s.parse().expect("a number"),
                twin: twin.into(),
                tissue: tissue.into(),
                ..Config::default()
            };
            config.coupling.mode = mode;
            let (master, slave) = session(&config, PERIOD, 15);
            assert!(slave.len() < master.len() * 9 / 10, "ticks were missed");
            let lowest = least_energy_j(&audited(&master, &slave));
            assert!(
                lowest >= -TOLERANCE_J,
                "{mode:?} {twin} seed {seed}: {lowest} J"
            );
            let moved = |records: &[TickRecord]| {
                let depths = records.iter().map(|record| record.port_position_m[2]);
                depths.fold(0.0, f64::min)
            };
            // a quarter of the time passed in missed ticks; a port without it would be behind
            let (led, followed) = (moved(&master), moved(&slave));
            assert!(
                (led - followed).abs() < 0.01,
                "{mode:?} {twin}: {led} m and {followed} m"
            );
        }
    }
}

/// A live clock reads a simulated handle, whose plant has steps of 0.1 ms, anywhere between two of them. The
/// motion of a tick is then that of up to one step more or less than the elapsed time.
#[test]
fn ticks_between_plant_steps_generate_no_energy() {
    for tick_ns in [700_000, 730_000, 970_000] {
        for mode in [Mode::Wave, Mode::Tdpa, Mode::Tank, Mode::Pspm, Mode::Mmt] {
            let mut config = Config {
                duration_s: 6.0,
                twin: "sheet".into(),
                tissue: "wall:1000".into(),
                ..Config::default()
            };
            config.coupling.mode = mode;
            let (master, slave) = session(&config, Span(tick_ns), 1);
            assert_eq!(master.len(), slave.len());
            let lowest_j = least_energy_j(&audited(&master, &slave));
            let depths = || slave.iter().map(|record| record.position_m[2]);
            let moved_m = depths().fold(0.0, f64::max) - depths().fold(1.0, f64::min);
            println!("{mode:?} every {tick_ns} ns: least {lowest_j:.1e} J, moved {moved_m:.4} m");
            assert!(
                lowest_j >= -TOLERANCE_J,
                "{mode:?} {tick_ns} ns: {lowest_j} J"
            );
            assert!(moved_m > 5e-3, "{mode:?} {tick_ns} ns: {moved_m} m");
        }
    }
}

/// Returns the force of the friction that fills an empty energy tank, for a handle at 4 mm/s, with ticks of
/// `tick_span`.
fn friction_n(tick_span: Span) -> f64 {
    let config = Config::default();
    let handle = palpate_master::device::build(&config.operator, 1.0, 1);
    let mut coupling = config.coupling;
    coupling.mode = Mode::Mmt;
    // the frame below returns energy that the handle never sent
    coupling.active_j_max = 1.0;
    let run_ids = lab::run_ids(1, Side::Master);
    let mut master = palpate_master::MasterState::new(None, &handle.caps(), run_ids);
    // energy sent by the slave, so that the friction is allowed
    let frame = HapticFrame {
        run: run_ids.peer,
        peer_run: run_ids.own,
        sequence: 1,
        energy_sent_j: [1e-3; 4],
        ..HapticFrame::default()
    };
    let mut force_n = 0.0;
    for tick in 1..=400 {
        let now = Time(tick_span.0 * tick as i64);
        let velocity_mps = [4e-3, 0.0, 0.0, 0.0];
        let at = TickInputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            frame: Some((frame, Time(0))),
            ..TickInputs::default()
        };
        let reading = palpate_master::device::HandleReading {
            position_m: velocity_mps.map(|v| v * (now - Time(0)).s()),
            velocity_mps,
            present: true,
            ..palpate_master::device::HandleReading::default()
        };
        let out = palpate_master::tick(&config.master, &coupling, &mut master, &at, &reading);
        force_n = out.record.port_force_n[0];
    }
    force_n
}

#[test]
fn issue_the_velocity_of_a_tick_used_a_whole_period() {
    let usual_n = friction_n(PERIOD);
    assert!(usual_n > 0.03, "{usual_n} N");
    for tick_ns in [700_000, 1_400_000] {
        let found_n = friction_n(Span(tick_ns));
        assert!(
            (found_n / usual_n - 1.0).abs() < 0.02,
            "{found_n} and {usual_n} N"
        );
    }
}
