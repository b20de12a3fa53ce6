//! A witness of the machine beside a test: timers that do no work, and waiting for what must come.
//!
//! Most of what a live test states holds on any machine, and is judged on every one. What the clock decides is
//! judged only if timers of the servo's own priority, one a core, were on time in the same seconds: a machine that
//! gives no ticks to a thread without work gives none to a servo. What a stalled machine breaks is written to
//! stderr as not judged, with the measurement and its bound. Source: ours, as `.ci/run` judges the main job.

#![allow(dead_code, reason = "each binary of tests uses a part of it")]

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use palpate_bus::threads::raise_current;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, Ticker};
use palpate_transport::{Span, Time};

/// Longest wait for what needs no more than a machine that goes on: a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two looks at what is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until `found` gives something.
///
/// # Panics
/// If it has not within [`PATIENCE`].
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let asked = Instant::now();
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(asked.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        std::thread::sleep(LOOK);
    }
}

/// A time for which a timer slept on after its deadline, of a period at least.
#[derive(Debug, Clone, Copy)]
struct Stall {
    woken: Time,
    late: Span,
}

/// Timers on every core, until they testify.
pub(crate) struct Witness {
    begun: Time,
    stop: Arc<AtomicBool>,
    timers: Vec<JoinHandle<Vec<Stall>>>,
}

impl Witness {
    /// Timers under SCHED_FIFO `priority` where the system grants it; 0 asks for ordinary threads.
    pub(crate) fn start(priority: u8) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("Linux");
        let cores = (0..CpuSet::count()).filter(|core| allowed.is_set(*core) == Ok(true));
        let timers = cores.map(|core| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || timer(core, priority, &stop))
        });
        Self {
            begun: MonotonicClock.now(),
            timers: timers.collect(),
            stop: Arc::clone(&stop),
        }
    }

    /// Ends the timers; gives what they saw.
    pub(crate) fn testify(self) -> Testimony {
        self.stop.store(true, Ordering::Relaxed);
        let seen = |timer: JoinHandle<_>| timer.join().expect("a timer does not panic");
        Testimony {
            whole: (self.begun, MonotonicClock.now()),
            stalls: self.timers.into_iter().map(seen).collect(),
        }
    }
}

/// Body of a timer.
fn timer(core: usize, priority: u8, stop: &AtomicBool) -> Vec<Stall> {
    let mut only = CpuSet::new();
    only.set(core).expect("a core of this machine");
    // where either is refused, the timer is an ordinary thread on whichever core it is given
    let _ = sched_setaffinity(Pid::from_raw(0), &only);
    let _ = priority > 0 && raise_current(i32::from(priority));
    let mut stalls = Vec::new();
    let mut ticker = Ticker::new(MonotonicClock.now(), PERIOD, Span(0));
    while !stop.load(Ordering::Relaxed) {
        let tick = ticker.wait();
        if tick.late >= PERIOD {
            let (woken, late) = (tick.now, tick.late);
            stalls.push(Stall { woken, late });
        }
    }
    stalls
}

/// What the timers saw.
pub(crate) struct Testimony {
    /// When they were started, and ended.
    whole: (Time, Time),
    /// A list a core.
    stalls: Vec<Vec<Stall>>,
}

impl Testimony {
    /// What the machine allowed all the time.
    pub(crate) fn whole(&self) -> Machine {
        self.between(self.whole.0, self.whole.1)
    }

    /// What the machine allowed between two moments of the monotonic clock, on the core that was worst.
    pub(crate) fn between(&self, first: Time, last: Time) -> Machine {
        let mut machine = Machine {
            lost_share: 0.0,
            stall: Span(0),
        };
        for stalls in &self.stalls {
            let within = |stall: &&Stall| stall.woken >= first && stall.woken - stall.late <= last;
            let lates = || stalls.iter().filter(within).map(|stall| stall.late);
            let lost: i64 = lates().map(|late| late.0 / PERIOD.0).sum();
            let ticks = ((last - first).0 / PERIOD.0).max(1);
            machine.lost_share = machine.lost_share.max(lost as f64 / ticks as f64);
            machine.stall = machine.stall.max(lates().max().unwrap_or(Span(0)));
        }
        machine
    }
}

/// What a machine must give before a statement can be judged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs {
    /// Ticks: a timer without work loses this share of its own at most.
    Ticks(f64),
    /// Promptness: a timer without work sleeps on for so long at most.
    Promptness(Span),
}

/// What a machine allowed for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    /// Share of the ticks that a timer without work lost.
    lost_share: f64,
    /// Longest time that one slept on after its deadline; 0 if never for a period.
    stall: Span,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, stall) = (100.0 * self.lost_share, self.stall.ms());
        write!(
            f,
            "a timer without work lost {lost:.2} % of its ticks and stalled for {stall:.1} ms"
        )
    }
}

impl Machine {
    /// Whether it gave what is needed.
    pub(crate) fn gave(&self, needs: Needs) -> bool {
        match needs {
            Needs::Ticks(share) => self.lost_share <= share,
            Needs::Promptness(span) => self.stall <= span,
        }
    }

    /// Judges a statement that the clock decides: it must hold where the machine gave what it needs.
    ///
    /// # Panics
    /// If it did not hold on a machine that did.
    pub(crate) fn judge(&self, what: &str, held: bool, needs: Needs) {
        if held {
            return;
        }
        let bound = match needs {
            Needs::Ticks(share) => format!("{:.2} % of the ticks", 100.0 * share),
            Needs::Promptness(span) => format!("{:.1} ms", span.ms()),
        };
        assert!(!self.gave(needs), "{what}; {self}, within {bound}");
        not_judged(what, &format!("{self}, against {bound}"));
    }
}

/// Says that a statement was not judged, past the harness, which shows nothing of a test that passes.
pub(crate) fn not_judged(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "not judged: {what}: {why}");
}

#[test]
fn a_witness_excuses_what_it_saw_and_no_more() {
    let ms = |ms: f64| Span::from_ms(ms);
    let stall = |woken_ms, late_ms| Stall {
        woken: Time(0) + ms(woken_ms),
        late: ms(late_ms),
    };
    let testimony = Testimony {
        whole: (Time(0), Time(0) + ms(1000.0)),
        stalls: vec![
            vec![stall(5.0, 4.0), stall(500.0, 30.5)],
            vec![stall(900.0, 2.0)],
        ],
    };
    let whole = testimony.whole();
    assert!(
        (whole.lost_share - 0.034).abs() < 1e-9 && whole.stall == ms(30.5),
        "{whole}"
    );
    assert!(!whole.gave(Needs::Ticks(0.01)) && whole.gave(Needs::Ticks(0.04)));
    assert!(!whole.gave(Needs::Promptness(ms(30.0))));
    let quiet = testimony.between(Time(0) + ms(510.0), Time(0) + ms(890.0));
    assert!(quiet.gave(Needs::Ticks(0.0)) && quiet.gave(Needs::Promptness(Span(0))));
    let judged = |held| std::panic::catch_unwind(|| quiet.judge("this", held, Needs::Ticks(0.01)));
    assert!(judged(false).is_err() && judged(true).is_ok());
}
