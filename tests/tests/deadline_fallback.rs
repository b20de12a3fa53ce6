//! Tests of the deadline fallback: ticks that are too late for a step of the twin extrapolate its force.

use std::sync::Arc;

use palpate_fem::ComplianceTable;
use palpate_master::predict::TwinPredictor;
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::Config;
use palpate_session::lab::{self, VirtualSession};
use palpate_tests::{audited, least_energy_j};
use palpate_transport::trace::{EventFlags, TickRecord};

/// Returns the records of both sides of a session in virtual time.
fn play(
    config: &Config,
    table: Option<&Arc<ComplianceTable>>,
) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let handle = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let robot = lab::build_robot(config).expect("a tissue");
    let scene = lab::load_scene(&config.twin, "twin").expect("a scene");
    let twin = match table {
        Some(table) => scene.build_with_table(table),
        None => scene.build(),
    };
    let shadow = scene.build().expect("a shadow");
    let twin = Some(TwinPredictor::new(twin.expect("a twin"), shadow));
    let mut session = VirtualSession::with_twin(config, handle, robot, twin).expect("a session");
    let both = (0..session.ticks()).map(|_| session.step());
    both.map(|both| (both.master, both.slave)).unzip()
}

/// Returns ten seconds at a round trip of 200 ms with the default jitter and loss.
fn config(twin: &str, tissue: &str) -> Config {
    let mut config = Config {
        duration_s: 10.0,
        twin: twin.into(),
        tissue: tissue.into(),
        ..Config::default()
    };
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = 100.0;
    }
    config
}

fn is_late(record: &TickRecord) -> bool {
    record.events & EventFlags::DEADLINE_FALLBACK != 0
}

/// Returns the root mean square of the difference of the forces on the operator over some ticks \[N\].
fn rmse_n((plain, other): (&[TickRecord], &[TickRecord]), counts: impl Fn(usize) -> bool) -> f64 {
    let off2 = |k: &usize| {
        let pairs = plain[*k].port_force_n.iter().zip(&other[*k].port_force_n);
        pairs.take(3).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
    };
    let ticks: Vec<usize> = (0..plain.len()).filter(|&k| counts(k)).collect();
    let sum: f64 = ticks.iter().map(off2).sum();
    (sum / ticks.len() as f64).sqrt()
}

/// Compares a session with 5 % late ticks with the same without: passive, and the force on the operator off
/// by at most a fraction of its peak.
fn check(config: &Config, table: Option<&Arc<ComplianceTable>>, share_max: f64) {
    let (plain, _) = play(config, table);
    assert!(!plain.iter().any(is_late));
    let mut late = config.clone();
    late.realtime.fallback_share = 0.05;
    let (master, slave) = play(&late, table);
    let count = master.iter().filter(|record| is_late(record)).count();
    let share = count as f64 / master.len() as f64;
    assert!((0.035..0.06).contains(&share), "{share}");
    assert!(!master.windows(2).any(|pair| pair.iter().all(is_late)));
    assert!(!slave.iter().any(is_late));
    let verdict = audited(&master, &slave);
    let lowest = least_energy_j(&verdict);
    assert!(lowest >= -TOLERANCE_J, "{lowest} J");
    assert_eq!(verdict.violations, 0);
    let whole = rmse_n((&plain, &master), |_| true);
    let peak_n = plain.iter().map(|r| r.port_force_n[2].abs());
    let peak_n = peak_n.fold(0.0, f64::max);
    assert!(peak_n > 0.5, "{peak_n}");
    assert!(whole < share_max * peak_n, "{whole} N of {peak_n} N");
    // the sessions have diverged by then: a late tick is hardly farther off than any other
    let late_n = rmse_n((&plain, &master), |k| is_late(&master[k]));
    assert!(late_n < 1.5 * whole, "{late_n} N beside {whole} N");
    // two runs are equal to the bit
    assert_eq!(play(&late, table).0, master);
}

#[test]
fn late_ticks_of_springs_stay_passive_and_keep_the_force() {
    // springs respond to an encoder step with a tenth of a newton
    check(&config("sheet", "sheet-lump"), None, 0.05);
}

#[test]
fn late_ticks_of_a_continuum_with_a_table_stay_passive_and_keep_the_force() {
    // the default twin, fine in the middle only: its table is computed in a moment
    let text = include_str!("../../sim-twin/scene/scenes/layered.toml");
    let text = text.replace(
        "fine_half_m = [0.026, 0.026]",
        "fine_half_m = [0.012, 0.012]",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("middle.toml");
    std::fs::write(&file, text).expect("writable");
    let config = config(file.to_str().expect("text"), "layered-lump");
    let scene = lab::load_scene(&config.twin, "twin").expect("a scene");
    let table = Arc::new(scene.condense().expect("a block"));
    check(&config, Some(&table), 0.02);
}
