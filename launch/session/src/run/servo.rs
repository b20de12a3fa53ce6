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
use palpate_port::inbox::Inbox;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, Tick, Ticker, thread_cpu_now};
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
use crate::pipeline::given::is_usable;
use crate::pipeline::{At, Made};

/// Ticks at the start whose allocations are not counted: caches and lazy tables fill.
const WARM_UP_TICKS: u64 = 100;

/// What one tick of a side gives to the loop.
pub struct Ticked {
    /// Frame for the peer, if one is to be sent.
    pub frame: Option<HapticFrame>,
    /// What is shown of it; the loop adds lateness and CPU time to its record.
    pub shown: Shown,
}

impl Ticked {
    /// What a tick shows by what it made; nothing is to be sent, and no clock is known.
    #[must_use]
    pub fn of(made: &Made, coupling: &CouplingParams) -> Self {
        let frame = &made.frame;
        Self {
            frame: None,
            shown: Shown {
                record: made.record,
                late_ticks: 0,
                force_known: frame.flags & FrameFlags::FORCE_VALID != 0,
                clock: None,
                impedance_nspm: frame.impedance_nspm,
                mode: match FrameFlags::mode_code(frame.flags) {
                    0 => coupling.mode.code(),
                    code => code,
                },
            },
        }
    }

    /// What a tick of a live side gives: the same, with what is to be sent, and the other side's clock.
    #[must_use]
    pub fn live(made: &Made, coupling: &CouplingParams, inbox: &Inbox, now: Time) -> Self {
        let mut ticked = Self::of(made, coupling);
        ticked.frame = made.sent;
        let estimate = inbox.sync().estimate_at(now);
        ticked.shown.clock = estimate.map(|estimate| SenderClock {
            session: inbox.parties().peer,
            offset: estimate.offset,
            bound: estimate.bound,
        });
        ticked
    }
}

/// The moment of a woken tick with nothing received and nothing asked; `begun` is when the first one was.
fn moment(woken: &Tick, begun: Time, mask_late: f64) -> At {
    let at = At {
        tick: woken.n,
        now: woken.now,
        device: Time(0) + (woken.now - begun),
        masked: mask_late > 0.0 && woken.late.s() > mask_late * PERIOD.s(),
        ..At::default()
    };
    at.after(woken.missed)
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
    ticks_max: u64,
    mut meeting: Meeting,
    mut tick: impl FnMut(&At) -> Ticked,
) -> ServoReport {
    let granted = ask(config);
    let clock = MonotonicClock;
    let mut ticker = Ticker::new(clock.now(), PERIOD, Span::from_s(config.spin_us * 1e-6));
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
    let mut begun = None;
    while report.ticks < ticks_max && stopping < STANDSTILL_TICKS {
        let woken = ticker.wait();
        if woken.late >= PERIOD {
            causes.attribute(&woken, finished, &mut seen);
        }
        // the last ticks of a session stand still too, so that the robot is told before silence
        let last = report.ticks.saturating_add(STANDSTILL_TICKS) >= ticks_max;
        let stop = meeting.stop.load(Ordering::Relaxed) || last;
        stopping += u64::from(stop);
        let started = thread_cpu_now();
        let orders = meeting.duty.orders();
        let begun = *begun.get_or_insert(woken.now);
        let at = At {
            frame: *meeting.inbound.read(),
            halt: stop || orders.halt,
            rearm: orders.rearms != rearms,
            ..moment(&woken, begun, config.mask_late)
        };
        rearms = orders.rearms;
        let Ticked { frame, mut shown } = tick(&at);
        shown.late_ticks = causes.total();
        shown.record.late_ns = woken.late.0;
        shown.record.compute_ns = (thread_cpu_now() - started).0;
        if let Some(frame) = frame {
            meeting.outbound.write(frame);
            meeting.sender.unpark();
            report.frames += 1;
        }
        meeting
            .duty
            .note(shown.record.state, is_usable(&shown.record));
        meeting.status.write(shown);
        report.records_lost += u64::from(!meeting.records.push(shown.record));
        report.ticks += 1;
        report.missed += woken.missed;
        report.pauses += u64::from(at.paused);
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

    #[test]
    fn a_tick_that_woke_later_than_its_share_is_masked() {
        let late = |late, mask_late| {
            let woken = Tick {
                n: 7,
                now: Time(0),
                late: Span(late),
                missed: 0,
            };
            moment(&woken, Time(0), mask_late).masked
        };
        assert!(late(400_001, 0.4) && !late(399_999, 0.4) && !late(900_000, 0.0));
    }
}
