//! Tests of tissue that only the twin has: where the robot meets nothing, the hand stops feeling it. A robot that cannot
//! tell does not take tissue away.

use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_transport::trace::TickRecord;

/// Round trip of the sessions \[s\].
const ROUND_TRIP_S: f64 = 0.1;

/// Time beyond the round trip after which the ghost is gone \[s\].
const FADED_S: f64 = 0.3;

/// Ticks of presses, from the hand's side, after `from_s` since the first contact with the twin \[s\].
fn presses(config: &Config, from_s: f64) -> Vec<TickRecord> {
    let mut config = config.clone();
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = 500.0 * ROUND_TRIP_S;
    }
    let mut session = VirtualSession::new(&config).expect("valid");
    let (mut first_s, mut ticks) = (None, Vec::new());
    for _ in 0..session.ticks() {
        let record = session.step().master;
        assert!(record.tank_j.iter().all(|&level_j| level_j >= -1e-9));
        let now_s = 1e-3 * record.tick as f64;
        if record.tissue_force_n[2].abs() > 0.3 {
            let since_s = now_s - *first_s.get_or_insert(now_s);
            if since_s > from_s {
                ticks.push(record);
            }
        }
    }
    ticks
}

fn config(tissue: &str) -> Config {
    Config {
        tissue: tissue.into(),
        twin: "sheet".into(),
        duration_s: 10.0,
        ..Config::default()
    }
}

#[test]
fn issue_twin_where_the_robot_met_nothing_kept_its_force_for_ever() {
    let ticks = presses(&config("free"), ROUND_TRIP_S + FADED_S);
    assert!(ticks.len() > 1000, "{}", ticks.len());
    for tick in ticks {
        let felt_n = tick.port_force_n[2].abs();
        // the friction that fills the robot's tank is less than this
        assert!(felt_n < 0.2, "{felt_n} N at tick {}", tick.tick);
    }
}

#[test]
fn dead_sensor_does_not_take_tissue_away() {
    let mut config = config("sheet");
    config.robot.palpator.sensor.dead_at_s = Some(0.0);
    let ticks = presses(&config, 3.0);
    assert!(ticks.len() > 1000, "{}", ticks.len());
    // a hand that lifts off is felt a little less, as the energy tank pays
    for tick in ticks
        .iter()
        .filter(|tick| tick.tissue_force_n[2].abs() > 0.8)
    {
        let share = (tick.port_force_n[2] / tick.tissue_force_n[2]).abs();
        assert!(
            share > 0.8,
            "{share} of the twin's force at tick {}",
            tick.tick
        );
    }
}
