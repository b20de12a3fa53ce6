//! Masked ticks: too late for a step of the twin, which is asked what is felt now.

use std::sync::Arc;

use palpate_fem::Compliance;
use palpate_session::audit::{Ports, TOLERANCE_J, audit};
use palpate_session::config::Config;
use palpate_session::lab::{self, Session};
use palpate_transport::Span;
use palpate_transport::trace::{Events, TickRecord};

/// Records of both sides of a session in virtual time.
fn play(config: &Config, table: Option<&Arc<Compliance>>) -> (Vec<TickRecord>, Vec<TickRecord>) {
    let handle = palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let robot = lab::build_robot(config).expect("a tissue");
    let twin = lab::predictor_with(config, table).expect("a twin");
    let mut session = Session::with_twin(config, handle, robot, twin).expect("a session");
    let both = (0..session.ticks()).map(|_| session.step());
    both.map(|both| (both.master, both.slave)).unzip()
}

/// Ten seconds at a round trip of 200 ms with the default jitter and loss.
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

fn masked(record: &TickRecord) -> bool {
    record.events & Events::MASKED != 0
}

/// Root mean square of what the forces on the hand differ by, over some ticks \[N\].
fn rmse_n((plain, other): (&[TickRecord], &[TickRecord]), counts: impl Fn(usize) -> bool) -> f64 {
    let off2 = |k: &usize| {
        let pairs = plain[*k].port_force_n.iter().zip(&other[*k].port_force_n);
        pairs.take(3).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
    };
    let ticks: Vec<usize> = (0..plain.len()).filter(|&k| counts(k)).collect();
    let sum: f64 = ticks.iter().map(off2).sum();
    (sum / ticks.len() as f64).sqrt()
}

/// Judges a session with 5 % masked ticks beside the same without: passive, and the force on the hand
/// off by at most a share of its peak.
fn check(config: &Config, table: Option<&Arc<Compliance>>, share_max: f64) {
    let (plain, _) = play(config, table);
    assert!(!plain.iter().any(masked));
    let mut late = config.clone();
    late.realtime.masked_share = 0.05;
    let (master, slave) = play(&late, table);
    let count = master.iter().filter(|record| masked(record)).count();
    let share = count as f64 / master.len() as f64;
    assert!((0.035..0.06).contains(&share), "{share}");
    assert!(!master.windows(2).any(|pair| pair.iter().all(masked)));
    assert!(!slave.iter().any(masked));
    let ports = Ports {
        master: &master,
        slave: &slave,
        slave_clock_ahead: Span(0),
    };
    let verdict = audit(&ports, 1);
    let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
    let lowest = axes.fold(verdict.min_channel_energy_j, f64::min);
    assert!(lowest >= -TOLERANCE_J, "{lowest} J");
    assert_eq!(verdict.violations, 0);
    let whole = rmse_n((&plain, &master), |_| true);
    let peak_n = plain.iter().map(|r| r.port_force_n[2].abs());
    let peak_n = peak_n.fold(0.0, f64::max);
    assert!(peak_n > 0.5, "{peak_n}");
    assert!(whole < share_max * peak_n, "{whole} N of {peak_n} N");
    // both sessions go their own way by then: a masked tick is hardly farther off than any other
    let at_masked = rmse_n((&plain, &master), |k| masked(&master[k]));
    assert!(at_masked < 1.5 * whole, "{at_masked} N beside {whole} N");
    // two runs are equal to the bit
    assert_eq!(play(&late, table).0, master);
}

#[test]
fn a_session_of_springs_with_masked_ticks_stays_passive_and_feels_the_same() {
    // springs answer an encoder step with a tenth of a newton
    check(&config("sheet", "sheet-lump"), None, 0.05);
}

#[test]
fn a_session_of_a_continuum_with_a_table_stays_passive_and_feels_the_same() {
    // the default twin, fine in the middle only: its table is made in a moment
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
