//! Servo loop of either side: absolute deadlines, one pure tick, wait-free channels.
//!
//! System calls per tick: the sleep to the deadline, two reads of the thread's CPU clock, one futex wake of the sender.
//! A late tick adds one `getrusage`. Nothing is allocated, locked or logged after the warm-up.

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
use super::command_state::CommandState;
use super::crtk_publisher::ServoSnapshot;
use super::realtime::{self, Disturbances, RealtimeGrants};
use crate::config::RealtimeConfig;
use crate::pipeline::tick_inputs::is_usable;
use crate::pipeline::{TickInputs, TickOutputs};

/// Ticks at the start whose allocations are not counted: caches and lazy tables fill.
const WARM_UP_TICKS: u64 = 100;

/// Outputs of one tick of a side for the loop.
pub struct ServoOutputs {
    /// Frame for the peer, if one is to be sent.
    pub frame: Option<HapticFrame>,
    /// Snapshot for display; the loop adds lateness and CPU time to its record.
    pub snapshot: ServoSnapshot,
}

impl ServoOutputs {
    /// Builds the outputs for display; nothing to send, and no clock of the peer.
    #[must_use]
    pub fn from_tick(outputs: &TickOutputs, coupling: &CouplingParams) -> Self {
        let frame = &outputs.frame;
        Self {
            frame: None,
            snapshot: ServoSnapshot {
                record: outputs.record,
                late_ticks: 0,
                force_measured: frame.flags & FrameFlags::FORCE_VALID != 0,
                peer_clock: None,
                impedance_nspm: frame.impedance_nspm,
                mode: match FrameFlags::mode_code(frame.flags) {
                    0 => coupling.mode.code(),
                    code => code,
                },
            },
        }
    }

    /// Builds the outputs of a live side, with the frame to be sent and the other side's clock.
    #[must_use]
    pub(crate) fn from_live_tick(
        outputs: &TickOutputs,
        coupling: &CouplingParams,
        inbox: &Inbox,
        now: Time,
    ) -> Self {
        let mut servo_outputs = Self::from_tick(outputs, coupling);
        servo_outputs.frame = outputs.sent_frame;
        let offset = inbox.sync().offset_at(now);
        servo_outputs.snapshot.peer_clock = offset.map(|(offset, bound)| SenderClock {
            run: inbox.run_ids().peer,
            offset,
            bound,
        });
        servo_outputs
    }
}

/// Inputs of a woken tick without a frame or commands; `begun` is the time of the first tick.
fn woken_inputs(woken: &Tick, begun: Time, fallback_late: f64) -> TickInputs {
    let inputs = TickInputs {
        tick: woken.n,
        now: woken.now,
        device_now: Time(0) + (woken.now - begun),
        deadline_fallback: fallback_late > 0.0 && woken.late.s() > fallback_late * PERIOD.s(),
        ..TickInputs::default()
    };
    inputs.after_missed(woken.missed)
}

/// Channels between the loop and the other threads; all wait-free.
pub struct ServoChannels {
    /// Frames from the bus.
    pub inbound: LatestReader<Option<(HapticFrame, Time)>>,
    /// Frames for the bus.
    pub outbound: LatestWriter<HapticFrame>,
    /// The thread that sends them.
    pub sender: Thread,
    /// Records for the recorder.
    pub records: RingSender<TickRecord>,
    /// Snapshots for the slow threads.
    pub status: LatestWriter<ServoSnapshot>,
    /// Commands to the side.
    pub command_state: Arc<CommandState>,
    /// Set to end the session.
    pub stop: Arc<AtomicBool>,
}

/// Report of the loop at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServoReport {
    /// Ticks that ran.
    pub ticks: u64,
    /// Frames passed to the sender.
    pub frames: u64,
    /// Missed deadlines: never made up for, but accounted for by the next tick.
    pub missed: u64,
    /// Times that more deadlines were missed than a tick may account for, and motion restarted.
    #[serde(alias = "pauses")]
    pub long_gaps: u64,
    /// Ticks that woke a whole period late or more, by cause.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations of the servo thread after the warm-up.
    pub allocations: u64,
    /// Records lost because the recorder was too slow.
    pub records_lost: u64,
    /// Privileges granted by the machine.
    pub granted: RealtimeGrants,
}

/// Causes of late ticks; the first that applies counts.
const CAUSES: [&str; 4] = ["own_compute", "page_fault", "preempted", "late_wake"];

/// Runs ticks until stopped or until `ticks_max`; blocks the calling thread.
pub fn servo(
    config: &RealtimeConfig,
    ticks_max: u64,
    mut channels: ServoChannels,
    mut tick: impl FnMut(&TickInputs) -> ServoOutputs,
) -> ServoReport {
    let granted = request_privileges(config);
    let clock = MonotonicClock;
    let mut ticker = Ticker::new(clock.now(), PERIOD, Span::from_s(config.spin_us * 1e-6));
    // named only after the loop, because names allocate
    let mut causes = [0; CAUSES.len()];
    let mut disturbances = realtime::disturbances();
    let mut finished = clock.now();
    let mut report = ServoReport {
        granted,
        ..ServoReport::default()
    };
    let mut allocations = allocation::count();
    // a stop takes effect after some ticks at standstill, so that the robot receives the halt
    let mut stopping = 0;
    let mut rearms = 0;
    let mut begun = None;
    while report.ticks < ticks_max && stopping < STANDSTILL_TICKS {
        let woken = ticker.wait();
        if woken.late >= PERIOD {
            causes[cause(&woken, finished, &mut disturbances)] += 1;
        }
        // the last ticks of a session halt too, so that the robot receives it before silence
        let last = report.ticks.saturating_add(STANDSTILL_TICKS) >= ticks_max;
        let stop = channels.stop.load(Ordering::Relaxed) || last;
        stopping += u64::from(stop);
        let started = thread_cpu_now();
        let (halt, rearms_commanded) = channels.command_state.servo_commands();
        let begun = *begun.get_or_insert(woken.now);
        let inputs = TickInputs {
            frame: *channels.inbound.read(),
            halt: stop || halt,
            rearm: rearms_commanded != rearms,
            ..woken_inputs(&woken, begun, config.fallback_late)
        };
        rearms = rearms_commanded;
        let outputs = tick(&inputs);
        let mut snapshot = outputs.snapshot;
        snapshot.late_ticks = causes.iter().sum();
        snapshot.record.late_ns = woken.late.0;
        snapshot.record.compute_ns = (thread_cpu_now() - started).0;
        if let Some(frame) = outputs.frame {
            channels.outbound.write(frame);
            channels.sender.unpark();
            report.frames += 1;
        }
        channels
            .command_state
            .update(snapshot.record.state, is_usable(&snapshot.record));
        channels.status.write(snapshot);
        report.records_lost += u64::from(!channels.records.push(snapshot.record));
        report.ticks += 1;
        report.missed += woken.missed;
        report.long_gaps += u64::from(inputs.long_gap);
        if report.ticks == WARM_UP_TICKS {
            allocations = allocation::count();
        }
        finished = clock.now();
    }
    report.allocations = allocation::count() - allocations;
    let named = CAUSES.map(str::to_owned).into_iter();
    report.late_causes = named.zip(causes).collect();
    report
}

/// Ticks that the loop runs with `halt` set before it ends.
const STANDSTILL_TICKS: u64 = 50;

/// Requests the configured privileges, and collects refusals.
fn request_privileges(config: &RealtimeConfig) -> RealtimeGrants {
    let mut refusals = Vec::new();
    let mut granted = |result: Result<(), String>| result.map_err(|why| refusals.push(why)).is_ok();
    let locked = config.lock_memory && granted(realtime::lock_memory());
    let fifo = config.servo_priority > 0 && granted(realtime::fifo(config.servo_priority));
    RealtimeGrants {
        fifo,
        locked,
        refusals,
    }
}

/// Cause of a late tick, as an index of [`CAUSES`].
fn cause(woken: &Tick, finished: Time, last: &mut Disturbances) -> usize {
    let (before, now) = (*last, realtime::disturbances());
    *last = now;
    let deadline = Time(woken.now.0 - woken.late.0);
    let fits = [
        finished > deadline,
        now.page_faults > before.page_faults,
        now.preemptions > before.preemptions,
    ];
    fits.iter().position(|fits| *fits).unwrap_or(fits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_tick_uses_deadline_fallback() {
        let late = |late, fallback_late| {
            let woken = Tick {
                n: 7,
                now: Time(0),
                late: Span(late),
                missed: 0,
            };
            woken_inputs(&woken, Time(0), fallback_late).deadline_fallback
        };
        assert!(late(400_001, 0.4) && !late(399_999, 0.4) && !late(900_000, 0.0));
    }
}
