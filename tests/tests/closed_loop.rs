//! Tests of whole sessions under a seeded adversary: no network, pause or command makes the channel active.
//!
//! Every session is a case of `adversary` drawn by its seed: network, coupling, operator, tissue and events.
//! The auditor reads only the logged port signals. A failing seed is printed and repeats exactly.
//!
//! The 10 000 sessions of the promise run in pieces of any size: `PALPATE_SEEDS=0..500 cargo test --release
//! --workspace --test closed_loop -- --ignored --nocapture minute`, then from 500. Without the variable all
//! of them run, which is an hour of CPU time.

#[path = "adversary/attack.rs"]
#[allow(
    dead_code,
    reason = "the search looks at more than a single session does"
)]
mod attack;
#[path = "adversary/case.rs"]
#[allow(dead_code, reason = "the search mutates cases, and writes them down")]
mod case;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_tests::{PASSIVE, audited, least_energy_j};
use palpate_transport::clock::thread_cpu_now;
use palpate_transport::coupling::Mode;

use attack::{Violation, attack};
use case::Case;

/// Totals of some sessions.
#[derive(Default)]
struct Tally {
    sessions: u64,
    cpu_s: f64,
    violation: Vec<(u64, Violation)>,
}

/// Runs the sessions of `seeds` on two threads, each `duration_s` long.
fn run(seeds: Range<u64>, duration_s: f64) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let worker = || {
        let (mut tally, began) = (Tally::default(), thread_cpu_now());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                tally.cpu_s = (thread_cpu_now() - began).s();
                return tally;
            }
            let violation = attack(&Case::random(seed, duration_s, &PASSIVE), None).violation;
            tally.sessions += 1;
            tally
                .violation
                .extend(violation.map(|violation| (seed, violation)));
        }
    };
    std::thread::scope(|scope| {
        let threads = [0; 2].map(|_| scope.spawn(worker));
        let tallies = threads.map(|thread| thread.join().expect("a session panicked"));
        tallies.into_iter().reduce(Tally::with).unwrap_or_default()
    })
}

impl Tally {
    fn with(mut self, other: Self) -> Self {
        self.sessions += other.sessions;
        self.cpu_s += other.cpu_s;
        self.violation.extend(other.violation);
        self
    }
}

fn check(seeds: Range<u64>, duration_s: f64) {
    let tally = run(seeds, duration_s);
    let violation = tally.violation;
    // the adversary can run and shrink this case
    let first = violation
        .first()
        .map(|&(seed, _)| Case::random(seed, duration_s, &PASSIVE));
    let case = first.map(|case| case.to_toml()).unwrap_or_default();
    assert!(
        violation.is_empty(),
        "seeds with a violation: {violation:?}, the first:\n{case}"
    );
}

#[test]
fn a_thousand_sessions_stay_passive_and_within_limits() {
    check(0..1000, 3.0);
}

#[test]
fn long_sessions_stay_passive_and_within_limits() {
    check(5000..5004, 60.0);
}

/// Ten thousand sessions of a minute, printed in pieces of 50.
#[test]
#[ignore = "an hour, in pieces: see the top of the file"]
fn sessions_of_a_minute_stay_passive_and_within_limits() {
    let text = std::env::var("PALPATE_SEEDS").unwrap_or_else(|_| "0..10000".into());
    let ends = text
        .split_once("..")
        .and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    let (first, end): (u64, u64) = ends.expect("PALPATE_SEEDS is FIRST..END");
    let mut all = Tally::default();
    for from in (first..end).step_by(50) {
        all = all.with(run(from..end.min(from + 50), 60.0));
        let rate = 60.0 * all.sessions as f64 / all.cpu_s;
        println!(
            "{first}..{} done, {rate:.0} simulated seconds a CPU second, violation: {:?}",
            end.min(from + 50),
            all.violation
        );
    }
    assert!(all.violation.is_empty(), "{:?}", all.violation);
}

/// Returns the same networks and operators with the default twin and tissue, which are slower.
fn layered(seed: u64) -> Config {
    let mut config = Case::random(seed, 5.0, &[Mode::Mmt]).config();
    config.twin = "layered".into();
    if !config.tissue.starts_with("wall:") {
        config.tissue = "layered-lump".into();
    }
    config.realtime.fallback_share = 0.0;
    config
}

/// Runs one session; returns the smallest channel energy of any axis and tick \[J\].
fn lowest_energy(config: &Config) -> f64 {
    let mut session = VirtualSession::new(config).expect("valid");
    let (mut master, mut slave) = (Vec::new(), Vec::new());
    for _ in 0..session.ticks() {
        let mut step = session.step();
        // the auditor uses the true time of both sides, whatever their clocks show
        step.slave.now_ns = step.master.now_ns;
        master.push(step.master);
        slave.push(step.slave);
    }
    least_energy_j(&audited(&master, &slave))
}

#[test]
fn the_channel_of_a_layered_twin_is_passive_on_any_network() {
    for seed in 0..6 {
        let lowest = lowest_energy(&layered(seed));
        assert!(lowest >= -TOLERANCE_J, "seed {seed}: {lowest} J");
    }
}

#[test]
fn the_adversary_draws_every_passive_mode() {
    let claimed = Mode::ALL.into_iter().filter(|mode| mode.is_passive());
    assert!(claimed.eq(PASSIVE));
    let drawn = |mode| (0..30).any(|seed| Case::random(seed, 1.0, &PASSIVE).mode == mode);
    assert!(PASSIVE.into_iter().all(drawn));
}

#[test]
fn the_auditor_detects_direct_mode_at_a_delay() {
    let mut config = Config {
        duration_s: 5.0,
        tissue: "wall:1000".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    config.coupling.mode = Mode::Direct;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: 0.025,
        hz: 0.7,
    });
    assert!(
        lowest_energy(&config) < -1e-3,
        "positive control: the auditor must find a violation"
    );
}
