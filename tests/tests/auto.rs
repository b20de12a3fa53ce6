//! `auto` beside model mediation on tissue that its twin is wrong about.

use palpate::config::Config;
use palpate::lab::Session;
use palpate_transport::coupling::Mode;

/// Root mean square of the felt force minus the remote one in contact \[N\], and the hash of the ports.
fn session(mode: Mode, rtt_ms: f64) -> (f64, String) {
    let mut config = Config {
        tissue: "sheet-lump".into(),
        twin: "sheet".into(),
        duration_s: 20.0,
        ..Config::default()
    };
    config.coupling.mode = mode;
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = 0.5 * rtt_ms;
        link.jitter_ms = 0.0;
        link.loss = 0.0;
    }
    let mut session = Session::new(&config).expect("valid");
    let (mut squares, mut count) = (0.0, 0_u32);
    for _ in 0..session.ticks() {
        let step = session.step();
        let (felt_n, met_n) = (-step.master.port_force_n[2], step.slave.tissue_force_n[2]);
        if met_n > 0.1 {
            squares += (felt_n - met_n) * (felt_n - met_n);
            count += 1;
        }
        for record in [step.master, step.slave] {
            assert!(record.reservoir_j.iter().all(|&level_j| level_j >= -1e-9));
        }
    }
    ((squares / f64::from(count)).sqrt(), session.trace_hash())
}

#[test]
fn auto_feels_the_robot_where_it_is_near_and_is_mediation_where_it_is_far() {
    let (near, _) = session(Mode::Auto, 0.0);
    let (twin, _) = session(Mode::Mmt, 0.0);
    println!("no delay: auto {near:.3} N, mmt {twin:.3} N off the remote force");
    assert!(near < 0.9 * twin, "{near} {twin}");
    let (_, far) = session(Mode::Auto, 100.0);
    let (_, twin) = session(Mode::Mmt, 100.0);
    assert_eq!(far, twin);
}
