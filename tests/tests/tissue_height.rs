//! Tests of tissue that lies higher or lower than its twin: touches of the robot register it, and it is learnt there.

use palpate_session::config::Config;
use palpate_tests::{audited, both_records, least_energy_j};
use palpate_transport::trace::TickRecord;

/// Last tick of the hand in a session of 30 s with a round trip of 100 ms; fails if the channel gave energy. The hand
/// expects the surface `expected_m` \[m\] above that of the twin.
fn last_tick(height_m: f64, expected_m: f64, register: bool) -> TickRecord {
    let mut config = Config {
        tissue: "sheet-lump".into(),
        tissue_height_m: height_m,
        twin: "sheet".into(),
        duration_s: 30.0,
        ..Config::default()
    };
    config.master.predict.register = register;
    if let palpate_master::device::script::ScriptParams::Palpation(script) =
        &mut config.operator.script
    {
        script.tool_radius_m += expected_m.max(0.0);
        script.press_depth_m += (-expected_m).max(0.0);
    }
    let [master, slave] = both_records(&config);
    let least_j = least_energy_j(&audited(&master, &slave));
    assert!(least_j >= -1e-9, "{height_m}: {least_j} J");
    *master.last().expect("a tick")
}

/// Height of the twin's surface at the end of that session \[m\].
fn registered_m(height_m: f64, expected_m: f64, register: bool) -> f64 {
    last_tick(height_m, expected_m, register).twin_height_m
}

#[test]
fn tissue_up_to_20_mm_higher_or_lower_is_registered() {
    for height_m in [0.02, 0.005, -0.008, -0.02] {
        let found_m = registered_m(height_m, height_m, true);
        assert!((found_m - height_m).abs() < 5e-4, "{height_m}: {found_m}");
    }
}

/// A hand that expects the twin's surface never leaves one that is 5 mm higher: the twin rises in light contact.
#[test]
fn twin_rises_under_a_hand_that_rests_on_it() {
    let found_m = registered_m(0.005, 0.0, true);
    assert!((found_m - 0.005).abs() < 1e-3, "{found_m}");
}

/// Presses after the height was found confirm the twin, as they do at home.
#[test]
fn registered_tissue_is_learnt() {
    let [home, raised] = [0.0, 0.01].map(|height_m| last_tick(height_m, height_m, true).confidence);
    assert!(home > 0.3 && raised > 0.7 * home, "{home} {raised}");
}

#[test]
fn twin_stays_where_it_is_right_or_may_not_move() {
    assert_eq!(registered_m(0.0, 0.0, true), 0.0);
    assert_eq!(registered_m(0.02, 0.02, false), 0.0);
}
