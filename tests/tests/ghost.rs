//! Tests of tissue that only the twin has: where the robot meets nothing, the hand stops feeling it. A robot that cannot
//! tell does not take tissue away.

use palpate_session::config::Config;
use palpate_tests::{audited, both_records, least_energy_j};
use palpate_transport::trace::TickRecord;

/// Round trip of the sessions \[s\].
const ROUND_TRIP_S: f64 = 0.1;

/// Time beyond the round trip after which the ghost is gone \[s\].
const FADED_S: f64 = 0.3;

/// Force of the twin from which a touch counts \[N\].
const TOUCH_N: f64 = 0.3;

/// Largest friction in air that fills the robot's tank in these sessions \[N\].
const FRICTION_N: f64 = 0.2;

/// A session of 30 s with the twin `sheet`.
fn config(tissue: &str) -> Config {
    let mut config = Config {
        tissue: tissue.into(),
        twin: "sheet".into(),
        duration_s: 30.0,
        ..Config::default()
    };
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = 500.0 * ROUND_TRIP_S;
    }
    config
}

/// Ticks of touches of the twin, each with the time since its touch began \[s\]; fails if the channel gave energy.
fn touches(config: &Config) -> Vec<(f64, TickRecord)> {
    let [master, slave] = both_records(config);
    let least_j = least_energy_j(&audited(&master, &slave));
    assert!(least_j >= -1e-9, "{least_j} J");
    let twin_n = |record: &TickRecord| record.tissue_force_n[2].abs();
    let mut ticks = Vec::new();
    for touch in master.chunk_by(|a, b| (twin_n(a) > 0.0) == (twin_n(b) > 0.0)) {
        let Some(first) = touch.iter().find(|record| twin_n(record) > TOUCH_N) else {
            continue;
        };
        let since_s = |record: &TickRecord| 1e-3 * (record.tick - first.tick) as f64;
        let felt = touch.iter().filter(|record| record.tick >= first.tick);
        ticks.extend(felt.map(|record| (since_s(record), *record)));
    }
    ticks.retain(|(_, record)| twin_n(record) > TOUCH_N);
    ticks
}

#[test]
fn issue_twin_where_the_robot_met_nothing_kept_its_force_for_ever() {
    let mut ticks = touches(&config("free"));
    ticks.retain(|(since_s, _)| *since_s > ROUND_TRIP_S + FADED_S);
    assert!(ticks.len() > 1000, "{}", ticks.len());
    for (since_s, record) in ticks {
        let felt_n = record.port_force_n[2].abs();
        assert!(
            felt_n < FRICTION_N,
            "{felt_n} N {since_s} s after the touch, at tick {}",
            record.tick
        );
    }
}

#[test]
fn dead_sensor_does_not_take_tissue_away() {
    let mut config = config("sheet");
    config.robot.palpator.sensor.dead_at_s = Some(0.0);
    // a hand that lifts off is felt a little less, as the energy tank pays
    let mut ticks = touches(&config);
    ticks.retain(|(_, record)| record.tissue_force_n[2].abs() > 0.8);
    assert!(ticks.len() > 1000, "{}", ticks.len());
    for (_, record) in ticks {
        let share = (record.port_force_n[2] / record.tissue_force_n[2]).abs();
        assert!(
            share > 0.8,
            "{share} of the twin's force at tick {}",
            record.tick
        );
    }
}
