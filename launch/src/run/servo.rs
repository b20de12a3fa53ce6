//! The servo loop of either side: absolute deadlines, one pure tick, wait-free meeting points.
//!
//! Declared system calls a tick: the sleep to the deadline, two reads of the thread's CPU clock,
//! one futex wake of the sender. A late tick adds one `getrusage`. Nothing is allocated, locked or
//! logged after the warm-up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use palpate_transport::clock::{Clock as _, MonotonicClock, Tick, Ticker, thread_cpu_now};
use palpate_transport::mailbox::{LatestReader, LatestWriter, RingSender};
use palpate_transport::trace::TickRecord;
use palpate_transport::{HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use super::allocation;
use super::realtime::{self, Disturbances, Granted};
use crate::config::RealtimeConfig;

/// Ticks at the start whose allocations are not counted: caches and lazy tables fill.
const WARM_UP_TICKS: u64 = 100;

/// A tick that wakes later than this is late and gets a cause \[ns\].
const LATE: Span = Span(200_000);

/// What one tick of a side gives to the loop.
pub struct Ticked {
    /// Frame for the peer.
    pub frame: HapticFrame,
    /// Record for the recorder; the loop adds lateness and CPU time.
    pub record: TickRecord,
}

/// One moment of the loop, as the side's tick sees it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Number of the tick.
    pub tick: u64,
    /// When it woke.
    pub now: Time,
    /// Newest frame from the peer and when it was received.
    pub frame: Option<(HapticFrame, Time)>,
    /// Whether the session is ending: the robot must stand still.
    pub halt: bool,
}

/// What a status line shows of a side.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Newest {
    /// Its newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
}

/// Where the loop meets the other threads; all wait-free.
pub struct Meeting {
    /// Frames from the bus.
    pub inbound: LatestReader<Option<(HapticFrame, Time)>>,
    /// Frames for the bus.
    pub outbound: LatestWriter<HapticFrame>,
    /// The thread that sends them.
    pub sender: Thread,
    /// Records for the recorder.
    pub records: RingSender<TickRecord>,
    /// Newest record for the status line.
    pub status: LatestWriter<Newest>,
    /// Set by whoever ends the session.
    pub stop: Arc<AtomicBool>,
}

/// What the loop says of itself at the end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServoReport {
    /// Ticks that ran.
    pub ticks: u64,
    /// Deadlines that passed without a tick; never made up for.
    pub missed: u64,
    /// Ticks that woke more than 0.2 ms late, by cause.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations of the servo thread after the warm-up.
    pub allocations: u64,
    /// Records that the recorder could not take in time.
    pub records_lost: u64,
    /// What the machine granted.
    pub granted: Granted,
}

impl ServoReport {
    /// Late ticks of all causes.
    #[must_use]
    pub fn late_ticks(&self) -> u64 {
        self.late_causes.values().sum()
    }
}

/// Counts of late ticks; named only when the loop has ended, because names allocate.
#[derive(Default)]
struct Causes {
    own_compute: u64,
    page_fault: u64,
    preempted: u64,
    late_wake: u64,
}

/// Run ticks until stopped or until `ticks_max`; blocks the calling thread.
pub fn servo(
    config: &RealtimeConfig,
    period: Span,
    ticks_max: u64,
    mut meeting: Meeting,
    mut tick: impl FnMut(&Moment) -> Ticked,
) -> ServoReport {
    let granted = ask(config);
    let clock = MonotonicClock;
    let mut ticker = Ticker::new(clock.now(), period, Span::from_s(config.spin_us * 1e-6));
    let mut causes = Causes::default();
    let mut seen = realtime::disturbances();
    let mut finished = clock.now();
    let mut report = ServoReport {
        granted,
        ..ServoReport::default()
    };
    let mut allocations = allocation::count();
    // a stop is honoured after some ticks of standing still, so that the robot is told
    let mut stopping = 0;
    while report.ticks < ticks_max && stopping < STANDSTILL_TICKS {
        let woken = ticker.wait();
        if woken.late > LATE {
            causes.attribute(&woken, finished, &mut seen);
        }
        let halt = meeting.stop.load(Ordering::Relaxed);
        stopping += u64::from(halt);
        let started = thread_cpu_now();
        let frame = *meeting.inbound.read();
        let mut ticked = tick(&Moment {
            tick: woken.n,
            now: woken.now,
            frame,
            halt,
        });
        ticked.record.late_ns = woken.late.0;
        ticked.record.compute_ns = (thread_cpu_now() - started).0;
        meeting.outbound.write(ticked.frame);
        meeting.sender.unpark();
        meeting.status.write(Newest {
            record: ticked.record,
            late_ticks: causes.total(),
        });
        report.records_lost += u64::from(!meeting.records.push(ticked.record));
        report.ticks += 1;
        report.missed += woken.missed;
        if report.ticks == WARM_UP_TICKS {
            allocations = allocation::count();
        }
        finished = clock.now();
    }
    report.allocations = allocation::count() - allocations;
    report.late_causes = causes.named();
    report
}

/// Ticks for which the loop goes on with `halt` set before it ends.
const STANDSTILL_TICKS: u64 = 50;

/// Ask for what the configuration wants, and note what was refused.
fn ask(config: &RealtimeConfig) -> Granted {
    let mut granted = Granted::default();
    if config.lock_memory {
        match realtime::lock_memory() {
            Ok(()) => granted.locked = true,
            Err(refusal) => granted.refusals.push(refusal),
        }
    }
    if config.servo_priority > 0 {
        match realtime::fifo(config.servo_priority) {
            Ok(()) => granted.fifo = true,
            Err(refusal) => granted.refusals.push(refusal),
        }
    }
    granted
}

impl Causes {
    /// Say why a tick was late; the first cause that fits.
    fn attribute(&mut self, woken: &Tick, finished: Time, seen: &mut Disturbances) {
        let now = realtime::disturbances();
        let deadline = Time(woken.now.0 - woken.late.0);
        if finished > deadline {
            self.own_compute += 1;
        } else if now.page_faults > seen.page_faults {
            self.page_fault += 1;
        } else if now.preemptions > seen.preemptions {
            self.preempted += 1;
        } else {
            self.late_wake += 1;
        }
        *seen = now;
    }

    fn total(&self) -> u64 {
        self.own_compute + self.page_fault + self.preempted + self.late_wake
    }

    fn named(&self) -> BTreeMap<String, u64> {
        let rows = [
            ("own_compute", self.own_compute),
            ("page_fault", self.page_fault),
            ("preempted", self.preempted),
            ("late_wake", self.late_wake),
        ];
        rows.into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect()
    }
}
