//! Lateness of the servo's wake-up: with a spin tail, beside a bare timer and a monitor of stolen time.
//!
//! A hypervisor takes the CPU for up to 16 ms at a time (transport fact 1), which no program can
//! prevent. A load monitor on every core reads the clock continuously for most of each period. A jump
//! between two readings, at the highest priority, is time that the machine took, and so is a late
//! wake-up of the monitor itself. Different phases keep the threads apart: bare timer at
//! 0.1 ms, monitor from 0.2 to 0.8 ms, servo at 1 ms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use palpate_bus::threads::raise_current;
use palpate_session::run::bare_timer::BareTimer;
use palpate_session::stat::spans::DurationStats;
use palpate_transport::clock::{PERIOD, Ticker};
use palpate_transport::{Span, Time};
use serde::Serialize;

use super::cpu_load::Load;
use super::{LoadConditions, PRIORITY, few, now, sleep_until};
use crate::abort::{Abort, check_stop};

/// Ticks of the timer in each condition, one a millisecond.
const TICKS: u32 = 5000;
/// Time before its deadline at which the servo wakes to spin (transport section 4).
const SPIN_TAIL: Span = Span(50_000);
/// Phase of the load monitor.
const MONITOR_PHASE: Span = Span(200_000);
/// Time for which the load monitor reads the clock in each period.
const MONITOR_SPAN: Span = Span(600_000);
/// A jump of the clock that counts as stolen time; the loop itself takes under 0.1 us a turn.
const GAP: Span = Span(10_000);
/// Lateness of the monitor's wake-up that counts as stolen time; the timer itself takes 10 to 30 us.
const MONITOR_LATE: Span = Span(100_000);
/// Lateness of a tick that counts as late.
const LATE: Span = PERIOD;
/// Priority of the load monitor, above everything.
const MONITOR_PRIORITY: i32 = 99;

/// Stolen time on all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LoadMonitorReport {
    /// Jumps of the clock above 10 us.
    pub gaps: usize,
    /// Longest \[us\].
    pub gap_us_max: f64,
    /// Sum \[ms\].
    pub stolen_ms: f64,
    /// Share of the cores' time that was monitored, 0 to 1.
    pub watched: f64,
    /// True if the monitors ran at the highest priority; otherwise they also saw other programs.
    pub fifo: bool,
}

/// Lateness of servo and bare timer over the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimerReport {
    /// With spin tail.
    pub servo: DurationStats,
    /// Sleep only.
    pub bare: DurationStats,
    /// Stolen time over that time.
    pub witness: LoadMonitorReport,
    /// Servo ticks later than a millisecond.
    pub late_ticks: usize,
    /// Late ticks within two periods of a gap of the monitor.
    pub late_explained: usize,
    /// True if the servo ran under SCHED_FIFO.
    pub fifo: bool,
}

/// Measures the wake-up, without other load and with every core busy.
///
/// # Errors
/// A timer did not run, or `stop` is set.
pub(super) fn timer(stop: &Arc<AtomicBool>) -> Result<LoadConditions<TimerReport>, Abort> {
    let quiet = compare(stop)?;
    let load = Load::start(Span(2 * PERIOD.0 * i64::from(TICKS)));
    let busy = compare(stop)?;
    drop(load);
    Ok(LoadConditions { quiet, busy })
}

fn compare(stop: &Arc<AtomicBool>) -> Result<TimerReport, Abort> {
    // late enough for every thread to have started
    let start = now() + Span(20_000_000);
    let end = start + Span(PERIOD.0 * i64::from(TICKS));
    let bare = BareTimer::start(PRIORITY, start);
    let monitors: Vec<_> = cores()
        .into_iter()
        .map(|core| {
            let stop = Arc::clone(stop);
            std::thread::spawn(move || monitor_core(core, start + MONITOR_PHASE, end, &stop))
        })
        .collect();
    let stopped = Arc::clone(stop);
    let servo = std::thread::spawn(move || servo(start, &stopped));
    let (late, fifo) = servo.join().map_err(|_| few("servo", 0, TICKS))?;
    let (witness, gaps) = merge_reports(monitors);
    let bare = bare.finish();
    check_stop(stop)?;
    let bare = bare.ok_or_else(|| few("bare timer", 0, TICKS))?;
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
    Ok(TimerReport {
        servo: DurationStats::of(&spans).ok_or_else(|| few("servo", spans.len(), TICKS))?,
        bare,
        witness,
        late_ticks: late_ticks.len(),
        late_explained,
        fifo,
    })
}

/// Returns wake-ups with their lateness, and true if SCHED_FIFO was granted.
fn servo(start: Time, stop: &AtomicBool) -> (Vec<(Time, Span)>, bool) {
    let fifo = raise_current(i32::from(PRIORITY));
    let mut late = Vec::with_capacity(TICKS as usize);
    let mut ticker = Ticker::new(start + PERIOD, PERIOD, SPIN_TAIL);
    for _ in 0..TICKS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let tick = ticker.wait();
        late.push((tick.now, tick.late));
    }
    (late, fifo)
}

/// Cores that this process may use; `None` for any, if the system does not report them.
fn cores() -> Vec<Option<usize>> {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else {
        return vec![None];
    };
    let allowed = (0..CpuSet::count()).filter(|core| allowed.is_set(*core) == Ok(true));
    allowed.map(Some).collect()
}

/// Merges the reports of all cores.
fn merge_reports(
    monitors: Vec<JoinHandle<(LoadMonitorReport, Vec<Time>)>>,
) -> (LoadMonitorReport, Vec<Time>) {
    let cores = monitors.len().max(1) as f64;
    let mut all = LoadMonitorReport {
        fifo: true,
        ..LoadMonitorReport::default()
    };
    let mut gaps = Vec::new();
    // a monitor cannot panic; if one did, its report is missing
    for (one, core_gaps) in monitors.into_iter().filter_map(|thread| thread.join().ok()) {
        all.gaps += one.gaps;
        all.gap_us_max = all.gap_us_max.max(one.gap_us_max);
        all.stolen_ms += one.stolen_ms;
        all.watched += one.watched / cores;
        all.fifo &= one.fifo;
        gaps.extend(core_gaps);
    }
    (all, gaps)
}

/// Monitors the clock on one core until `end` or `stop`; returns the report and the end of each gap.
fn monitor_core(
    core: Option<usize>,
    start: Time,
    end: Time,
    stop: &AtomicBool,
) -> (LoadMonitorReport, Vec<Time>) {
    let mut only = CpuSet::new();
    if core.is_some_and(|core| only.set(core).is_ok()) {
        // if it is refused, the monitor runs on any core
        let _ = sched_setaffinity(Pid::from_raw(0), &only);
    }
    let mut report = LoadMonitorReport {
        fifo: raise_current(MONITOR_PRIORITY),
        ..LoadMonitorReport::default()
    };
    let mut gaps = Vec::with_capacity(4096);
    let mut record_gap = |gap: Span, until: Time| {
        gaps.push(until);
        report.gap_us_max = report.gap_us_max.max(gap.0 as f64 * 1e-3);
        report.stolen_ms += gap.ms();
    };
    let (mut burst, mut watched) = (start, Span(0));
    while burst < end && !stop.load(Ordering::Relaxed) {
        sleep_until(burst);
        let from = now();
        if from - burst > MONITOR_LATE {
            record_gap(from - burst, from);
        }
        let mut last = from;
        while last < burst + MONITOR_SPAN {
            let read = now();
            if read - last > GAP {
                record_gap(read - last, read);
            }
            last = read;
        }
        watched = watched + (last - from);
        // missed bursts are not repeated
        let passed = (last - burst).0.max(0) / PERIOD.0;
        burst = burst + Span(PERIOD.0 * (passed + 1));
    }
    report.gaps = gaps.len();
    report.watched = watched.s() / (end - start).s().max(1e-9);
    (report, gaps)
}
