//! How late the servo wakes: with a spin tail, beside a bare timer and a witness of stolen time.
//!
//! A hypervisor takes the CPU for up to 16 ms at a time (transport fact 1), which no program can
//! prevent. A witness on every core reads the clock without pause for most of each period; a jump
//! between two readings, at the highest priority, is time that the machine took, and so is a late
//! wake-up of the witness itself. The threads keep out of each other's way by phase: bare timer at
//! 0.1 ms, witness from 0.2 to 0.8 ms, servo at 1 ms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use palpate_bus::threads::raise_current;
use palpate_session::run::bare_timer::{BARE_PHASE, BareTimer};
use palpate_session::stat::spans::Stats;
use palpate_transport::clock::{PERIOD, Ticker};
use palpate_transport::{Span, Time};
use serde::{Deserialize, Serialize};

use super::load::Load;
use super::{BenchError, BenchOptions, Conditions, go_on, now, sleep_until};

/// How long before its deadline the servo wakes to spin (transport section 4).
const SPIN_TAIL: Span = Span(50_000);
/// Phase of the witness.
const WITNESS_PHASE: Span = Span(200_000);
/// How long the witness watches in each period.
const WATCH: Span = Span(600_000);
/// A jump of the clock that counts as stolen time; the loop itself takes under 0.1 us a turn.
const GAP: Span = Span(10_000);
/// A wake-up of the witness so late counts as stolen time; the timer itself takes 10 to 30 us.
const WITNESS_LATE: Span = Span(100_000);
/// Lateness of a tick that counts as late.
const LATE: Span = PERIOD;
/// Priority of the witness, above everything.
const WITNESS_PRIORITY: i32 = 99;

/// What the witnesses saw, on all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Witness {
    /// Jumps of the clock above 10 us.
    pub gaps: usize,
    /// Longest \[us\].
    pub gap_us_max: f64,
    /// Sum \[ms\].
    pub stolen_ms: f64,
    /// Share of the cores' time that was watched, 0 to 1.
    pub watched: f64,
    /// Whether they ran above everything else; otherwise they also saw other programs.
    pub fifo: bool,
}

/// Lateness of servo and bare timer in the same minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerReport {
    /// With spin tail.
    pub servo: Stats,
    /// Sleep only.
    pub bare: Stats,
    /// Stolen time meanwhile.
    pub witness: Witness,
    /// Servo ticks later than a millisecond.
    pub late_ticks: usize,
    /// Those of them within two periods of a gap that the witness saw.
    pub late_explained: usize,
    /// Whether the servo ran under SCHED_FIFO.
    pub fifo: bool,
}

/// Measure the wake-up, quiet and with every core busy.
///
/// # Errors
/// [`BenchError::Samples`] when a timer did not run, [`BenchError::Stopped`] if `stop` is set.
pub fn timer(
    options: &BenchOptions,
    stop: &Arc<AtomicBool>,
) -> Result<Conditions<TimerReport>, BenchError> {
    let quiet = compare(options, stop)?;
    let load = Load::start(Span(2 * PERIOD.0 * i64::from(options.ticks)));
    let busy = compare(options, stop)?;
    drop(load);
    Ok(Conditions { quiet, busy })
}

fn compare(options: &BenchOptions, stop: &Arc<AtomicBool>) -> Result<TimerReport, BenchError> {
    let (ticks, priority) = (options.ticks, options.priority);
    // Late enough for every thread to be there.
    let start = now() + Span(20_000_000);
    let end = start + Span(PERIOD.0 * i64::from(ticks));
    let bare = BareTimer::start_at(priority, start + BARE_PHASE);
    let witnesses: Vec<_> = cores()
        .into_iter()
        .map(|core| {
            let stop = Arc::clone(stop);
            std::thread::spawn(move || watch(core, start + WITNESS_PHASE, end, &stop))
        })
        .collect();
    let stopped = Arc::clone(stop);
    let servo = std::thread::spawn(move || servo(start, ticks, priority, &stopped));
    let lost = |_| BenchError::Samples {
        what: "servo",
        found: 0,
        expected: ticks,
    };
    let (late, fifo) = servo.join().map_err(lost)?;
    let (witness, gaps) = testimony(witnesses);
    let bare = bare.finish();
    go_on(stop)?;
    let bare = bare.ok_or(BenchError::Samples {
        what: "bare timer",
        found: 0,
        expected: ticks,
    })?;
    let near = |woken: Time| {
        gaps.iter()
            .any(|gap| (woken - *gap).0.abs() <= 2 * PERIOD.0)
    };
    let late_ticks: Vec<Time> = late
        .iter()
        .filter(|(_, span)| *span > LATE)
        .map(|(woken, _)| *woken)
        .collect();
    let late_explained = late_ticks.iter().filter(|woken| near(**woken)).count();
    let spans: Vec<Span> = late.iter().map(|(_, span)| *span).collect();
    let found = spans.len();
    Ok(TimerReport {
        servo: Stats::of(&spans).ok_or(BenchError::Samples {
            what: "servo",
            found,
            expected: ticks,
        })?,
        bare,
        witness,
        late_ticks: late_ticks.len(),
        late_explained,
        fifo,
    })
}

/// Wake-ups with their lateness, and whether SCHED_FIFO was granted.
fn servo(start: Time, ticks: u32, priority: u8, stop: &AtomicBool) -> (Vec<(Time, Span)>, bool) {
    let fifo = raise_current(i32::from(priority));
    let mut late = Vec::with_capacity(ticks as usize);
    let mut ticker = Ticker::new(start + PERIOD, PERIOD, SPIN_TAIL);
    for _ in 0..ticks {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let tick = ticker.wait();
        late.push((tick.now, tick.late));
    }
    (late, fifo)
}

/// Cores that this process may use; `None` stands for any, where the system does not say.
fn cores() -> Vec<Option<usize>> {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else {
        return vec![None];
    };
    let allowed = (0..CpuSet::count()).filter(|core| allowed.is_set(*core) == Ok(true));
    allowed.map(Some).collect()
}

/// Put together what the witnesses of all cores saw.
fn testimony(witnesses: Vec<JoinHandle<(Witness, Vec<Time>)>>) -> (Witness, Vec<Time>) {
    let cores = witnesses.len().max(1) as f64;
    let mut all = Witness {
        fifo: true,
        ..Witness::default()
    };
    let mut gaps = Vec::new();
    // A witness cannot panic; if one did, it has seen nothing.
    for (one, seen) in witnesses
        .into_iter()
        .filter_map(|thread| thread.join().ok())
    {
        all.gaps += one.gaps;
        all.gap_us_max = all.gap_us_max.max(one.gap_us_max);
        all.stolen_ms += one.stolen_ms;
        all.watched += one.watched / cores;
        all.fifo &= one.fifo;
        gaps.extend(seen);
    }
    (all, gaps)
}

/// Watch the clock on one core until `end` or `stop`; returns the sum and when each gap ended.
fn watch(core: Option<usize>, start: Time, end: Time, stop: &AtomicBool) -> (Witness, Vec<Time>) {
    let mut only = CpuSet::new();
    if core.is_some_and(|core| only.set(core).is_ok()) {
        // Where it is refused the witness watches whichever core it is given.
        let _ = sched_setaffinity(Pid::from_raw(0), &only);
    }
    let mut witness = Witness {
        fifo: raise_current(WITNESS_PRIORITY),
        ..Witness::default()
    };
    let mut gaps = Vec::with_capacity(4096);
    let mut saw = |gap: Span, until: Time| {
        gaps.push(until);
        witness.gap_us_max = witness.gap_us_max.max(gap.0 as f64 * 1e-3);
        witness.stolen_ms += gap.ms();
    };
    let (mut burst, mut watched) = (start, Span(0));
    while burst < end && !stop.load(Ordering::Relaxed) {
        sleep_until(burst);
        let from = now();
        if from - burst > WITNESS_LATE {
            saw(from - burst, from);
        }
        let mut last = from;
        while last < burst + WATCH {
            let read = now();
            if read - last > GAP {
                saw(read - last, read);
            }
            last = read;
        }
        watched = watched + (last - from);
        // Bursts that were stolen whole are not made up for.
        let passed = (last - burst).0.max(0) / PERIOD.0;
        burst = burst + Span(PERIOD.0 * (passed + 1));
    }
    witness.gaps = gaps.len();
    witness.watched = watched.s() / (end - start).s().max(1e-9);
    (witness, gaps)
}
