//! Load monitor beside a test: timers without work that measure the machine, and waiting for conditions.
//!
//! Most statements of a live test hold on any machine, and are always judged. A statement that depends on time is
//! judged only if timers of the servo's own priority, one per core, were on time in the same seconds: a machine
//! that does not wake a thread without work does not wake a servo either. A statement that a stalled machine broke
//! is written to stderr as not judged, with the measurement and its bound. Source: ours, as `.ci/run` judges the
//! main job.

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

/// Longest wait for a condition that any running machine reaches: a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two polls of a condition.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// Waits until `found` returns a value.
///
/// # Panics
/// If it has not within [`PATIENCE`].
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "no {what} within {PATIENCE:?}"
        );
        std::thread::sleep(POLL_PERIOD);
    }
}

/// Wake-up of a timer that was late by a period at least.
#[derive(Debug, Clone, Copy)]
struct Stall {
    woken: Time,
    late: Span,
}

/// Load monitor: timers on every core, until it is finished.
pub(crate) struct LoadMonitor {
    begun: Time,
    stop: Arc<AtomicBool>,
    timers: Vec<JoinHandle<Vec<Stall>>>,
}

impl LoadMonitor {
    /// Starts timers under SCHED_FIFO `priority` if the system permits it; 0 starts ordinary threads.
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

    /// Ends the timers and returns their record.
    pub(crate) fn finish(self) -> LoadRecord {
        self.stop.store(true, Ordering::Relaxed);
        let join = |timer: JoinHandle<_>| timer.join().expect("a timer does not panic");
        LoadRecord {
            whole: (self.begun, MonotonicClock.now()),
            stalls: self.timers.into_iter().map(join).collect(),
        }
    }
}

/// Body of a timer thread.
fn timer(core: usize, priority: u8, stop: &AtomicBool) -> Vec<Stall> {
    let mut only = CpuSet::new();
    only.set(core).expect("a core of this machine");
    // if either is refused, the timer is an ordinary thread on any core
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

/// Record of the timers.
pub(crate) struct LoadRecord {
    /// Time of the start and of the end.
    whole: (Time, Time),
    /// Stalls of each core.
    stalls: Vec<Vec<Stall>>,
}

impl LoadRecord {
    /// Load over the whole time.
    pub(crate) fn whole(&self) -> Machine {
        self.between(self.whole.0, self.whole.1)
    }

    /// Load between two times of the monotonic clock, on the worst core.
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

/// Requirement of a statement on the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs {
    /// Ticks: a timer without work loses at most this share of its ticks.
    Ticks(f64),
    /// Promptness: a timer without work is late by at most this time.
    Promptness(Span),
}

/// Load of a machine over some time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    /// Share of the ticks that a timer without work lost.
    lost_share: f64,
    /// Longest lateness of a timer; 0 if always below a period.
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
    /// True if the machine met a requirement.
    pub(crate) fn meets(&self, needs: Needs) -> bool {
        match needs {
            Needs::Ticks(share) => self.lost_share <= share,
            Needs::Promptness(span) => self.stall <= span,
        }
    }

    /// Asserts a time-dependent statement, unless the machine did not meet its requirement.
    ///
    /// # Panics
    /// If it is false although the machine met the requirement.
    pub(crate) fn judge(&self, what: &str, held: bool, needs: Needs) {
        if held {
            return;
        }
        let bound = match needs {
            Needs::Ticks(share) => format!("{:.2} % of the ticks", 100.0 * share),
            Needs::Promptness(span) => format!("{:.1} ms", span.ms()),
        };
        assert!(!self.meets(needs), "{what}; {self}, within {bound}");
        not_judged(what, &format!("{self}, against {bound}"));
    }
}

/// Reports that a statement was not judged, past the test harness, which hides the output of passing tests.
pub(crate) fn not_judged(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "not judged: {what}: {why}");
}

#[test]
fn load_monitor_excuses_only_recorded_stalls() {
    let ms = |ms: f64| Span::from_ms(ms);
    let stall = |woken_ms, late_ms| Stall {
        woken: Time(0) + ms(woken_ms),
        late: ms(late_ms),
    };
    let record = LoadRecord {
        whole: (Time(0), Time(0) + ms(1000.0)),
        stalls: vec![
            vec![stall(5.0, 4.0), stall(500.0, 30.5)],
            vec![stall(900.0, 2.0)],
        ],
    };
    let whole = record.whole();
    assert!(
        (whole.lost_share - 0.034).abs() < 1e-9 && whole.stall == ms(30.5),
        "{whole}"
    );
    assert!(!whole.meets(Needs::Ticks(0.01)) && whole.meets(Needs::Ticks(0.04)));
    assert!(!whole.meets(Needs::Promptness(ms(30.0))));
    let quiet = record.between(Time(0) + ms(510.0), Time(0) + ms(890.0));
    assert!(quiet.meets(Needs::Ticks(0.0)) && quiet.meets(Needs::Promptness(Span(0))));
    let judged = |held| std::panic::catch_unwind(|| quiet.judge("this", held, Needs::Ticks(0.01)));
    assert!(judged(false).is_err() && judged(true).is_ok());
}
