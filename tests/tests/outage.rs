//! Tests of outages: the robot stands still without frames, and follows the operator soon after.
//!
//! Requirements of the laboratory: uncommanded motion of the slave at most 0.5 mm, a gap of at most 1 mm
//! within 500 ms of recovery, limits never exceeded. Profiles: the outage profile of JHU (3.2 s on, 0.8 s
//! off, repeated) and outages of 5 s. `mmt` and `tdpa` must meet them. Waves with a free robot need 0.6 s on
//! the profile, which misses the requirement; the other modes are printed. With the robot pressed into
//! tissue, waves have a gap above 1 mm by their own deflection, `F T_rt / 2b`, which no correction may
//! remove.

use std::collections::VecDeque;

use palpate_session::config::{Config, LinkChange};
use palpate_session::lab::VirtualSession;
use palpate_transport::AXES;
use palpate_transport::coupling::Mode;
use palpate_transport::link::{LinkParams, Outage, profile};
use palpate_transport::trace::EventFlags;

/// Gap between port and handle that counts as none \[m\].
const GAP_MAX_M: f64 = 1e-3;

/// Ticks in which the robot settles at a standing port: this motion does not count.
const SETTLE_TICKS: u64 = 100;

/// Effects of outages over a whole session.
#[derive(Debug, Default)]
struct OutageEffects {
    outages: u32,
    /// Largest displacement of the port while it must stand \[m\].
    port_m: f64,
    /// Largest displacement of the robot in an outage, after settling \[m\].
    robot_m: f64,
    /// Longest time of a gap between port and handle after an outage \[s\]; infinite if until the next.
    apart_s: f64,
    /// True if a limit was exceeded.
    crossed: bool,
}

fn farthest_m(a: &[f64; AXES], b: &[f64; AXES]) -> f64 {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max)
}

fn measure(config: &Config) -> OutageEffects {
    let mut session = VirtualSession::new(config).expect("valid");
    let mut effects = OutageEffects::default();
    let lag = config.link.forward.oneway_ms.round() as usize;
    let mut hand = VecDeque::new();
    let (mut stood, mut began) = (None::<([f64; AXES], [f64; AXES])>, 0);
    let mut recovered = None::<u64>;
    for tick in 0..session.ticks() {
        let step = session.step();
        let (master, slave) = (&step.master, &step.slave);
        hand.push_back(master.position_m);
        let goal_m = if hand.len() > lag {
            hand.pop_front()
        } else {
            None
        };
        let guard = &config.slave.guard;
        effects.crossed |= (0..AXES).any(|axis| {
            master.port_force_n[axis].abs() > config.master.guard.force_n_max[axis] * (1.0 + 1e-12)
                || slave.port_force_n[axis].abs() > guard.force_n_max[axis] * (1.0 + 1e-12)
        });
        let stale = slave.events & EventFlags::STALE != 0 && tick > 500;
        if stale {
            if stood.is_none() {
                effects.outages += 1;
                began = tick;
                stood = Some((slave.port_position_m, slave.position_m));
                effects.apart_s = if recovered.is_some() {
                    f64::INFINITY
                } else {
                    effects.apart_s
                };
            }
            recovered = None;
            if let Some((port_m, rest_m)) = &mut stood {
                if tick < began + SETTLE_TICKS {
                    *rest_m = slave.position_m;
                }
                effects.port_m = effects
                    .port_m
                    .max(farthest_m(port_m, &slave.port_position_m));
                effects.robot_m = effects.robot_m.max(farthest_m(rest_m, &slave.position_m));
            }
        } else if stood.take().is_some() {
            recovered = Some(tick);
        }
        if let (Some(since), Some(goal_m)) = (recovered, goal_m)
            && farthest_m(&goal_m, &slave.port_position_m) <= GAP_MAX_M
        {
            effects.apart_s = effects.apart_s.max((tick - since) as f64 * 1e-3);
            recovered = None;
        }
    }
    if let Some(since) = recovered {
        // the gap stayed after the last outage
        effects.apart_s = effects.apart_s.max((session.ticks() - since) as f64 * 1e-3);
    }
    effects
}

/// Returns half a minute of palpation in the given mode, of a wall or of a sheet with a lump.
fn session(mode: Mode, lump: bool) -> Config {
    let mut config = Config {
        seed: 5,
        duration_s: 30.0,
        twin: "sheet".into(),
        tissue: if lump { "sheet-lump" } else { "wall:300" }.into(),
        ..Config::default()
    };
    config.coupling.mode = mode;
    config
}

fn jhu(mode: Mode, lump: bool) -> Config {
    let mut config = session(mode, lump);
    let jhu = profile::profile("jhu-outage").expect("a profile");
    (config.link.forward, config.link.back) = (jhu.forward, jhu.back);
    let cuts = jhu.cuts.expect("it is one of cuts");
    let changes = cuts.times_s(config.seed, config.duration_s).into_iter();
    let change = |(index, at_s): (usize, f64)| {
        let loss = if index % 2 == 1 { 0.0 } else { 1.0 };
        let cut = |link: LinkParams| Some(LinkParams { loss, ..link });
        LinkChange {
            at_s,
            forward: cut(jhu.forward),
            back: cut(jhu.back),
        }
    };
    config.link.change = changes.enumerate().map(change).collect();
    config
}

fn long(mode: Mode, lump: bool) -> Config {
    let mut config = session(mode, lump);
    for link in [&mut config.link.forward, &mut config.link.back] {
        (link.oneway_ms, link.jitter_ms, link.loss) = (20.0, 1.0, 0.0);
        link.outage = Some(Outage {
            on_s: 5.0,
            off_s: 5.0,
        });
    }
    config
}

fn measure_and_print(name: &str, mode: Mode, config: &Config) -> OutageEffects {
    let effects = measure(config);
    println!(
        "{name:14} {:9} {} outages: port {:.3} mm, robot {:.3} mm, gap closed after {:.0} ms",
        mode.name(),
        effects.outages,
        1e3 * effects.port_m,
        1e3 * effects.robot_m,
        1e3 * effects.apart_s
    );
    assert!(effects.outages >= 2 && !effects.crossed, "{name} {mode:?}");
    // in every mode, a port without frames stands still
    assert!(effects.port_m <= 1e-12, "{name} {mode:?}: {effects:?}");
    effects
}

#[test]
fn model_mediation_stands_still_in_outages_and_closes_the_gap_soon_after() {
    for lump in [false, true] {
        let (jhu, long) = (jhu(Mode::Mmt, lump), long(Mode::Mmt, lump));
        for (name, config) in [("jhu", jhu), ("5 s", long)] {
            let effects = measure_and_print(name, Mode::Mmt, &config);
            assert!(effects.robot_m <= 5e-4, "{name}, lump {lump}: {effects:?}");
            assert!(effects.apart_s <= 0.5, "{name}, lump {lump}: {effects:?}");
        }
    }
}

#[test]
fn drift_is_corrected_soon_after_an_outage() {
    let mut cases = Vec::new();
    for lump in [false, true] {
        cases.push(("jhu", Mode::Tdpa, jhu(Mode::Tdpa, lump)));
        cases.push(("5 s", Mode::Tdpa, long(Mode::Tdpa, lump)));
    }
    let wave = [
        ("jhu", jhu(Mode::Wave, false)),
        ("5 s", long(Mode::Wave, false)),
    ];
    for (name, mut config) in wave {
        config.tissue = "free".into();
        cases.push((name, Mode::Wave, config));
    }
    for (name, mode, mut config) in cases {
        let effects = measure_and_print(name, mode, &config);
        assert!(effects.robot_m <= 5e-4, "{name} {mode:?}: {effects:?}");
        // the requirement is 0.5 s; waves on the profile of JHU miss it
        let most_s = if mode == Mode::Wave { 0.65 } else { 0.5 };
        assert!(effects.apart_s <= most_s, "{name} {mode:?}: {effects:?}");
        // the normal correction rate is too slow
        config.coupling.recovery_per_s = 0.0;
        assert!(measure_and_print(name, mode, &config).apart_s > 1.0);
    }
}

/// Prints the same for every passive mode, with and without faster recovery.
#[test]
#[ignore = "a table: add `-- --ignored --nocapture`"]
fn every_passive_mode_stands_still_in_outages() {
    let recovers = [Mode::Wave, Mode::Tdpa, Mode::WaveTdpa];
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_passive()) {
        for recovery_per_s in [0.0, 12.0, 30.0] {
            if recovery_per_s > 0.0 && !recovers.contains(&mode) {
                continue;
            }
            for lump in [false, true] {
                for (name, mut config) in [("jhu", jhu(mode, lump)), ("5 s", long(mode, lump))] {
                    config.coupling.recovery_per_s = recovery_per_s;
                    print!("recover {recovery_per_s:4} lump {lump:5} ");
                    measure_and_print(name, mode, &config);
                }
            }
        }
    }
}
