//! Missed ticks: the tick after them accounts for the time that really passed.

use palpate_session::audit::{Ports, TOLERANCE_J, audit};
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Time};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Records of both sides of a session without a network whose ticks come every `beat`, which accounts for a
/// period, and whose slave misses some now and then, of which `longest` are one more than the most in a row.
fn session(config: &Config, beat: Span, longest: u64) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let of = |side| lab::parties(config.seed, side);
    let mut handle =
        palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let mut robot = lab::build_robot(config).expect("a tissue");
    let twin = lab::predictor(config).expect("a twin");
    let mut master = palpate_master::State::new(twin, &handle.caps(), of(Side::Master));
    let mut slave = palpate_slave::State::new(of(Side::Slave));
    let mut dice = SplitMix64::seed_from_u64(config.seed);
    let mut to_master = None::<(HapticFrame, Time)>;
    let (mut of_master, mut of_slave) = (Vec::new(), Vec::new());
    let (mut due, mut last) = (1, 0);
    for tick in 1..(config.duration_s / beat.s()) as u64 {
        let now = Time(beat.0 * tick as i64);
        let inputs = palpate_master::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            paused: false,
            masked: false,
            reading: handle.read(now),
            frame: to_master,
            rearm: false,
        };
        let out = palpate_master::tick(&config.master, &config.coupling, &mut master, &inputs);
        handle.write(&out.force_on_hand_n);
        of_master.push(out.record);
        if tick < due {
            continue;
        }
        let inputs = palpate_slave::Inputs {
            tick,
            now,
            dt_s: PERIOD.s() * (tick - last) as f64,
            reading: robot.read(now),
            frame: Some((out.frame, now)),
            halt: false,
            rearm: false,
        };
        let out = palpate_slave::tick(&config.slave, &config.coupling, &mut slave, &inputs);
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
fn a_slave_that_misses_ticks_makes_no_energy_and_keeps_its_place() {
    let springs = ["sheet", "sheet-lump", "10"];
    // the default twin and tissue, which cost more
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
            let ports = Ports {
                master: &master,
                slave: &slave,
                slave_clock_ahead: Span(0),
            };
            let verdict = audit(&ports, 1);
            let axes = verdict.min_channel_energy_per_axis_j;
            let lowest = axes
                .iter()
                .copied()
                .fold(verdict.min_channel_energy_j, f64::min);
            assert!(
                lowest >= -TOLERANCE_J,
                "{mode:?} {twin} seed {seed}: {lowest} J"
            );
            let moved = |records: &[TickRecord]| {
                let depths = records.iter().map(|record| record.port_position_m[2]);
                depths.fold(0.0, f64::min)
            };
            // a quarter of the time passed in missed ticks; a port that lost it would be behind
            let (led, followed) = (moved(&master), moved(&slave));
            assert!(
                (led - followed).abs() < 0.01,
                "{mode:?} {twin}: {led} m and {followed} m"
            );
        }
    }
}

/// A live clock meets a simulated handle, whose plant goes by steps of 0.1 ms, anywhere between two of them:
/// the motion of a tick is then that of up to a step more or less than the time that passed.
#[test]
fn ticks_off_the_plants_grid_make_no_energy() {
    for beat_ns in [700_000, 730_000, 970_000] {
        for mode in [Mode::Wave, Mode::Tdpa, Mode::Tank, Mode::Pspm, Mode::Mmt] {
            let mut config = Config {
                duration_s: 6.0,
                twin: "sheet".into(),
                tissue: "wall:1000".into(),
                ..Config::default()
            };
            config.coupling.mode = mode;
            let (master, slave) = session(&config, Span(beat_ns), 1);
            assert_eq!(master.len(), slave.len());
            let ports = Ports {
                master: &master,
                slave: &slave,
                slave_clock_ahead: Span(0),
            };
            let verdict = audit(&ports, 1);
            let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
            let lowest_j = axes.fold(verdict.min_channel_energy_j, f64::min);
            let depths = || slave.iter().map(|record| record.position_m[2]);
            let moved_m = depths().fold(0.0, f64::max) - depths().fold(1.0, f64::min);
            println!("{mode:?} every {beat_ns} ns: least {lowest_j:.1e} J, moved {moved_m:.4} m");
            assert!(
                lowest_j >= -TOLERANCE_J,
                "{mode:?} {beat_ns} ns: {lowest_j} J"
            );
            assert!(moved_m > 5e-3, "{mode:?} {beat_ns} ns: {moved_m} m");
        }
    }
}

/// Force of the friction that fills an empty account, of a hand that moves at 4 mm/s, by ticks of `beat`.
fn friction_n(beat: Span) -> f64 {
    let config = Config::default();
    let handle = palpate_master::device::build(&config.operator, 1.0, 1);
    let mut coupling = config.coupling;
    coupling.mode = Mode::Mmt;
    let parties = lab::parties(1, Side::Master);
    let mut master = palpate_master::State::new(None, &handle.caps(), parties);
    // what a slave has sent, so that the friction can be paid for
    let frame = HapticFrame {
        session: parties.peer,
        peer_session: parties.own,
        sequence: 1,
        energy_sent_j: [1e-3; 4],
        ..HapticFrame::default()
    };
    let mut force_n = 0.0;
    for tick in 1..=400 {
        let now = Time(beat.0 * tick as i64);
        let velocity_mps = [4e-3, 0.0, 0.0, 0.0];
        let inputs = palpate_master::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            paused: false,
            masked: false,
            reading: palpate_master::device::Reading {
                position_m: velocity_mps.map(|v| v * (now - Time(0)).s()),
                velocity_mps,
                present: true,
                ..palpate_master::device::Reading::default()
            },
            frame: Some((frame, Time(0))),
            rearm: false,
        };
        let out = palpate_master::tick(&config.master, &coupling, &mut master, &inputs);
        force_n = out.record.port_force_n[0];
    }
    force_n
}

#[test]
fn issue_the_speed_of_a_tick_was_taken_over_a_whole_period() {
    let usual_n = friction_n(PERIOD);
    assert!(usual_n > 0.03, "{usual_n} N");
    for beat_ns in [700_000, 1_400_000] {
        let found_n = friction_n(Span(beat_ns));
        assert!(
            (found_n / usual_n - 1.0).abs() < 0.02,
            "{found_n} and {usual_n} N"
        );
    }
}
