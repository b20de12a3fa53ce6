//! Whole sessions under a seeded adversary: no network, pause or command may make the channel active.
//!
//! Every session is a case of `adversary` drawn by its seed: network, coupling, operator, tissue, and
//! what happens meanwhile. The auditor reads the logged port signals and nothing else. A failing seed is
//! printed and repeats exactly.
//!
//! The many sessions of the promise are run in pieces, as long as a developer likes:
//! `PALPATE_SEEDS=0..500 cargo test --release --workspace --test closed_loop -- --ignored --nocapture minute`
//! and then from 500; without the variable all 10 000 of them, which is an hour of CPU time.

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
use palpate_session::audit::{Ports, TOLERANCE_J, audit};
use palpate_session::config::Config;
use palpate_session::lab::Session;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_transport::coupling::Mode;

use attack::{Broken, attack};
use case::Case;

/// The modes that claim passivity.
const PASSIVE: [Mode; 7] = [
    Mode::Wave,
    Mode::Tdpa,
    Mode::WaveTdpa,
    Mode::Tank,
    Mode::Pspm,
    Mode::Mmt,
    Mode::Auto,
];

/// What came of some sessions.
#[derive(Default)]
struct Tally {
    sessions: u64,
    cpu_s: f64,
    broken: Vec<(u64, Broken)>,
}

/// Run the sessions of `seeds` on two threads, each of them `duration_s` long.
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
            let broken = attack(&Case::random(seed, duration_s, &PASSIVE), None).broken;
            tally.sessions += 1;
            tally.broken.extend(broken.map(|broken| (seed, broken)));
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
        self.broken.extend(other.broken);
        self
    }
}

fn check(seeds: Range<u64>, duration_s: f64) {
    let tally = run(seeds, duration_s);
    let broken = tally.broken;
    // what broke a promise can be run again and shrunk by the adversary
    let first = broken
        .first()
        .map(|&(seed, _)| Case::random(seed, duration_s, &PASSIVE));
    let case = first.map(|case| case.to_toml()).unwrap_or_default();
    assert!(
        broken.is_empty(),
        "seeds that broke a promise: {broken:?}, the first:\n{case}"
    );
}

#[test]
fn no_session_of_a_thousand_breaks_a_promise() {
    check(0..1000, 3.0);
}

#[test]
fn no_long_session_breaks_a_promise() {
    check(5000..5004, 60.0);
}

/// Ten thousand sessions of a minute, in pieces of 50 that are told as they are done.
#[test]
#[ignore = "an hour, in pieces: see the top of the file"]
fn no_session_of_a_minute_breaks_a_promise() {
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
            "{first}..{} done, {rate:.0} simulated seconds a CPU second, broken: {:?}",
            end.min(from + 50),
            all.broken
        );
    }
    assert!(all.broken.is_empty(), "{:?}", all.broken);
}

/// The same networks and operators around the default twin and tissue, which cost more: shorter.
fn layered(seed: u64) -> Config {
    let mut config = Case::random(seed, 5.0, &[Mode::Mmt]).config();
    config.twin = "layered".into();
    if !config.tissue.starts_with("wall:") {
        config.tissue = "layered-lump".into();
    }
    config.realtime.masked_share = 0.0;
    config
}

/// Run one session; the smallest channel energy of any axis and tick \[J\].
fn lowest_energy(config: &Config) -> f64 {
    let mut session = Session::new(config).expect("valid");
    let (mut master, mut slave) = (Vec::new(), Vec::new());
    for _ in 0..session.ticks() {
        let mut step = session.step();
        // the judge knows the true time of both sides, whatever their clocks showed
        step.slave.now_ns = step.master.now_ns;
        master.push(step.master);
        slave.push(step.slave);
    }
    let ports = Ports {
        master: &master,
        slave: &slave,
        slave_clock_ahead: Span(0),
    };
    let verdict = audit(&ports, 1);
    let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
    // what is no number stays, and is no number that anything is greater than
    let least = |a: f64, b: f64| if a < b || a.is_nan() { a } else { b };
    axes.fold(verdict.min_channel_energy_j, least)
}

#[test]
fn no_network_makes_the_channel_of_a_layered_twin_active() {
    for seed in 0..6 {
        let lowest = lowest_energy(&layered(seed));
        assert!(lowest >= -TOLERANCE_J, "seed {seed}: {lowest} J");
    }
}

#[test]
fn the_adversary_draws_every_mode_that_claims_passivity() {
    let claimed = Mode::ALL.into_iter().filter(|mode| mode.is_passive());
    assert!(claimed.eq(PASSIVE));
    let drawn = |mode| (0..30).any(|seed| Case::random(seed, 1.0, &PASSIVE).mode == mode);
    assert!(PASSIVE.into_iter().all(drawn));
}

#[test]
fn direct_mode_at_a_delay_is_caught_by_the_auditor() {
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
        "a judge that never condemns is no judge"
    );
}
