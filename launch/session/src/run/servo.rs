//! The servo loop of either side: absolute deadlines, one pure tick, wait-free meeting points.
//!
//! Declared system calls a tick: the sleep to the deadline, two reads of the thread's CPU clock,
//! one futex wake of the sender. A late tick adds one `getrusage`. Nothing is allocated, locked or
//! logged after the warm-up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use palpate_bus::gate::SenderClock;
use palpate_transport::clock::{Clock as _, MonotonicClock, Tick, Ticker, thread_cpu_now};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::frame::FrameFlags;
use palpate_transport::mailbox::{LatestReader, LatestWriter, RingSender};
use palpate_transport::trace::TickRecord;
use palpate_transport::{HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use super::allocation;
use super::duty::Duty;
use super::face::Shown;
use super::realtime::{self, Disturbances, Granted};
use crate::config::RealtimeConfig;
use crate::lab::PERIODS_MAX;

/// Ticks at the start whose allocations are not counted: caches and lazy tables fill.
const WARM_UP_TICKS: u64 = 100;

/// What one tick of a side gives to the loop.
pub struct Ticked {
    /// Frame for the peer, if one is to be sent.
    pub frame: Option<HapticFrame>,
    /// Whether the contact force is known.
    pub force_known: bool,
    /// Record for the recorder; the loop adds lateness and CPU time.
    pub record: TickRecord,
    /// Whether the device's reading was plausible.
    pub healthy: bool,
    /// The other side's clock, if it is known.
    pub clock: Option<SenderClock>,
    /// Wave impedance of now \[N s/m\].
    pub impedance_nspm: f64,
    /// Number of the coupling mode of now.
    pub mode: u32,
}

impl Ticked {
    /// What a tick shows by the frame that it made and its record; nothing is to be sent, and no clock is known.
    #[must_use]
    pub fn shown(
        (frame, record): (&HapticFrame, TickRecord),
        healthy: bool,
        coupling: &CouplingParams,
    ) -> Self {
        Self {
            frame: None,
            force_known: frame.flags & FrameFlags::FORCE_VALID != 0,
            record,
            healthy,
            clock: None,
            impedance_nspm: frame.impedance_nspm,
            mode: match FrameFlags::mode_code(frame.flags) {
                0 => coupling.mode.code(),
                code => code,
            },
        }
    }
}

/// One moment of the loop, as the side's tick sees it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Number of the tick.
    pub tick: u64,
    /// When it woke.
    pub now: Time,
    /// Time since the tick before in whole periods, bounded \[s\].
    pub dt_s: f64,
    /// Whether more periods were missed than one tick may account for.
    pub paused: bool,
    /// Newest frame from the peer and when it was received.
    pub frame: Option<(HapticFrame, Time)>,
    /// Whether the tick woke too late for a step of the twin.
    pub masked: bool,
    /// Whether motion must not pass: the session is ending, or was told to hold.
    pub halt: bool,
    /// Whether a latched fault is to be cleared.
    pub rearm: bool,
}

impl Moment {
    /// The moment of a woken tick with nothing received and nothing asked.
    fn of(woken: &Tick, period: Span, mask_late: f64) -> Self {
        let periods = woken.missed.saturating_add(1);
        Self {
            tick: woken.n,
            now: woken.now,
            dt_s: period.s() * periods.min(PERIODS_MAX) as f64,
            paused: periods > PERIODS_MAX,
            masked: mask_late > 0.0 && woken.late.s() > mask_late * period.s(),
            frame: None,
            halt: false,
            rearm: false,
        }
    }
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
    /// What the slow threads show of it.
    pub status: LatestWriter<Shown>,
    /// What the side is told to do.
    pub duty: Arc<Duty>,
    /// Set by whoever ends the session.
    pub stop: Arc<AtomicBool>,
}

/// What the loop says of itself at the end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServoReport {
    /// Ticks that ran.
    pub ticks: u64,
    /// Frames that were handed to the sender.
    pub frames: u64,
    /// Deadlines that passed without a tick: never made up for, but accounted by the next tick.
    pub missed: u64,
    /// Times that more were missed than a tick may account for, and motion began anew.
    pub pauses: u64,
    /// Ticks that woke a whole period late or more, by cause.
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
    let mut rearms = 0;
    while report.ticks < ticks_max && stopping < STANDSTILL_TICKS {
        let woken = ticker.wait();
        if woken.late >= period {
            causes.attribute(&woken, finished, &mut seen);
        }
        // the last ticks of a session stand still too, so that the robot is told before silence
        let last = report.ticks.saturating_add(STANDSTILL_TICKS) >= ticks_max;
        let stop = meeting.stop.load(Ordering::Relaxed) || last;
        stopping += u64::from(stop);
        let started = thread_cpu_now();
        let orders = meeting.duty.orders();
        let moment = Moment {
            frame: *meeting.inbound.read(),
            halt: stop || orders.halt,
            rearm: orders.rearms != rearms,
            ..Moment::of(&woken, period, config.mask_late)
        };
        rearms = orders.rearms;
        let mut ticked = tick(&moment);
        ticked.record.late_ns = woken.late.0;
        ticked.record.compute_ns = (thread_cpu_now() - started).0;
        if let Some(frame) = ticked.frame {
            meeting.outbound.write(frame);
            meeting.sender.unpark();
            report.frames += 1;
        }
        meeting.duty.note(ticked.record.state, ticked.healthy);
        meeting.status.write(Shown::of(&ticked, causes.total()));
        report.records_lost += u64::from(!meeting.records.push(ticked.record));
        report.ticks += 1;
        report.missed += woken.missed;
        report.pauses += u64::from(moment.paused);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(missed: u64) -> Moment {
        let woken = Tick {
            n: 7,
            now: Time(0),
            late: Span(0),
            missed,
        };
        Moment::of(&woken, Span(1_000_000), 0.4)
    }

    #[test]
    fn a_tick_that_woke_later_than_its_share_is_masked() {
        let late = |late, mask_late| {
            let woken = Tick {
                n: 7,
                now: Time(0),
                late: Span(late),
                missed: 0,
            };
            Moment::of(&woken, Span(1_000_000), mask_late).masked
        };
        assert!(late(400_001, 0.4) && !late(399_999, 0.4) && !late(900_000, 0.0));
    }

    #[test]
    fn issue_missed_ticks_were_accounted_as_one_period() {
        assert_eq!(moment(0).dt_s, Span(1_000_000).s());
        assert!((moment(4).dt_s - 5e-3).abs() < 1e-12 && !moment(4).paused);
        assert!(!moment(19).paused && moment(20).paused);
        assert!((moment(u64::MAX).dt_s - 0.02).abs() < 1e-12);
    }
}
