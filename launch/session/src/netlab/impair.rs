//! The impairment that both user-space backends share: the seeded model, the waiting packets, the
//! counts, and the cell through which parameters change while it runs.
//!
//! Source: ours; the model is `palpate_transport::link`, the same that virtual time uses.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::sys::time::TimeSpec;
use palpate_transport::Time;
use palpate_transport::clock::{Clock, MonotonicClock};
use palpate_transport::link::{DropCause, Fate, LinkModel, LinkParams};
use serde::{Deserialize, Serialize};

use super::queue::DueQueue;
use super::{Direction, NetLabError, privilege};

/// Longest sleep of an idle emulator \[ns\]; a wake-up ends it earlier.
const IDLE_NS: i64 = 1_000_000_000;

/// What happened to the packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirectionStats {
    /// Packets that came in.
    pub offered: u64,
    /// Bytes of them.
    pub offered_byte: u64,
    /// Packets that went out, duplicates counted.
    pub delivered: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets dropped while the link was cut.
    pub cut: u64,
    /// Further copies that the model made.
    pub duplicated: u64,
    /// Packets that met a full queue: the rate limit's, ours, or the receiver's.
    pub refused: u64,
    /// Packets that belong to neither side (IPv6 housekeeping, multicast), never forwarded.
    pub foreign: u64,
    /// Sum of the lateness of release behind the due times \[ns\].
    pub late_sum_ns: u64,
    /// Largest lateness \[ns\].
    pub late_max_ns: u64,
}

/// [`DirectionStats`] as the worker counts them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    offered: AtomicU64,
    offered_byte: AtomicU64,
    delivered: AtomicU64,
    lost: AtomicU64,
    cut: AtomicU64,
    duplicated: AtomicU64,
    refused: AtomicU64,
    foreign: AtomicU64,
    late_sum_ns: AtomicU64,
    late_max_ns: AtomicU64,
}

impl Counts {
    fn read(&self) -> DirectionStats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DirectionStats {
            offered: of(&self.offered),
            offered_byte: of(&self.offered_byte),
            delivered: of(&self.delivered),
            lost: of(&self.lost),
            cut: of(&self.cut),
            duplicated: of(&self.duplicated),
            refused: of(&self.refused),
            foreign: of(&self.foreign),
            late_sum_ns: of(&self.late_sum_ns),
            late_max_ns: of(&self.late_max_ns),
        }
    }
}

/// What the worker and its owner share.
#[derive(Debug, Default)]
struct Control {
    stop: AtomicBool,
    failed: AtomicBool,
    real_time: AtomicBool,
    changed: AtomicBool,
    pending: Mutex<[Option<LinkParams>; 2]>,
    counts: [Counts; 2],
}

/// What a worker is started with.
#[derive(Debug, Clone)]
pub(super) struct Impairment {
    /// Parameters of the two directions, indexed by [`Direction`].
    pub params: [LinkParams; 2],
    /// Seeds of the two directions.
    pub seeds: [u64; 2],
    /// Packets that may wait, both directions together.
    pub packets: usize,
    /// SCHED_FIFO priority for the worker, if it should have one.
    pub fifo_priority: Option<i32>,
}

/// The worker's half: the models and the packets that wait, each with a tag of the backend's.
pub(super) struct Impairer<T> {
    models: [LinkModel; 2],
    queue: DueQueue<(Direction, T)>,
    control: Arc<Control>,
    /// Readable when the owner wants something.
    wake: UnixStream,
}

impl<T: Copy + Default> Impairer<T> {
    /// Takes new parameters if there are any, and shows them; false when the worker is to end.
    pub(super) fn heed_owner(&mut self, mut changed: impl FnMut(Direction, &LinkParams)) -> bool {
        if self.control.changed.swap(false, Ordering::Acquire) {
            let mut pending = self
                .control
                .pending
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for direction in Direction::BOTH {
                if let Some(params) = pending[direction as usize].take() {
                    changed(direction, &params);
                    // The owner has validated them, and a refusal changes nothing.
                    let _ = self.models[direction as usize].set_params(params);
                }
            }
        }
        !self.control.stop.load(Ordering::Acquire)
    }

    /// Empties the wake-up channel.
    pub(super) fn drain_wake(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
    }

    /// The wake-up channel, to be polled.
    pub(super) fn wake(&self) -> &UnixStream {
        &self.wake
    }

    /// The present moment on the monotonic clock.
    pub(super) fn now(&self) -> Time {
        MonotonicClock.now()
    }

    /// Gives a packet that came in at `now` to the model, and keeps what the model lets through.
    pub(super) fn offer(&mut self, now: Time, direction: Direction, bytes: &[u8], tag: T) {
        let counts = &self.control.counts[direction as usize];
        counts.offered.fetch_add(1, Ordering::Relaxed);
        counts
            .offered_byte
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let fate = self.models[direction as usize].offer(now, bytes.len());
        let count = match fate {
            Fate::Delivered { copy_due: None, .. } => None,
            Fate::Delivered {
                copy_due: Some(_), ..
            } => Some(&counts.duplicated),
            Fate::Dropped(DropCause::Loss) => Some(&counts.lost),
            Fate::Dropped(DropCause::Outage) => Some(&counts.cut),
            Fate::Dropped(DropCause::Queue) => Some(&counts.refused),
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if !self.queue.store(bytes, (direction, tag), due_times(fate)) {
            let packets = due_times(fate).count() as u64;
            counts.refused.fetch_add(packets, Ordering::Relaxed);
        }
    }

    /// Counts a packet that is not the session's.
    pub(super) fn count_foreign(&self, direction: Direction) {
        self.control.counts[direction as usize]
            .foreign
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Hands on what is due; `deliver` says whether the receiver took it.
    pub(super) fn release(&mut self, mut deliver: impl FnMut(Direction, &[u8], T) -> bool) {
        let now = MonotonicClock.now();
        let counts = &self.control.counts;
        self.queue.release(now, |bytes, (direction, tag), late| {
            let counts = &counts[direction as usize];
            let late_ns = late.0.unsigned_abs();
            counts.late_sum_ns.fetch_add(late_ns, Ordering::Relaxed);
            counts.late_max_ns.fetch_max(late_ns, Ordering::Relaxed);
            let taken = deliver(direction, bytes, tag);
            let count = if taken {
                &counts.delivered
            } else {
                &counts.refused
            };
            count.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// How long the worker may sleep.
    pub(super) fn sleep(&self) -> TimeSpec {
        let wait_ns = self
            .queue
            .next_due()
            .map_or(IDLE_NS, |due| (due - MonotonicClock.now()).0);
        let wait_ns = wait_ns.clamp(0, IDLE_NS);
        TimeSpec::new(wait_ns / 1_000_000_000, wait_ns % 1_000_000_000)
    }

    /// Says that the worker cannot go on.
    pub(super) fn report_failure(&self) {
        self.control.failed.store(true, Ordering::Release);
    }
}

/// The owner's half: a worker thread that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    control: Arc<Control>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts `body` in a thread named `name`; packets of up to `packet_byte` need no allocation.
    pub(super) fn start<T: Copy + Default + Send + 'static>(
        name: &str,
        impairment: Impairment,
        packet_byte: usize,
        body: impl FnOnce(Impairer<T>) + Send + 'static,
    ) -> Result<Self, NetLabError> {
        let control = Arc::new(Control::default());
        let (wake, woken) =
            wake_channel().map_err(|source| NetLabError::system("a wake-up channel", source))?;
        let [forward, back] = impairment.params;
        let [forward_seed, back_seed] = impairment.seeds;
        let impairer = Impairer {
            models: [
                LinkModel::new(forward, forward_seed)?,
                LinkModel::new(back, back_seed)?,
            ],
            queue: DueQueue::new(impairment.packets, packet_byte),
            control: Arc::clone(&control),
            wake: woken,
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                impairer.control.real_time.store(
                    impairment
                        .fifo_priority
                        .is_some_and(privilege::make_punctual),
                    Ordering::Relaxed,
                );
                body(impairer);
            })
            .map_err(|source| NetLabError::system("a thread", source))?;
        Ok(Self {
            control,
            wake,
            thread: Some(thread),
        })
    }

    /// Gives a direction new parameters; packets that wait already keep their times.
    pub(super) fn set_params(&self, direction: Direction, params: LinkParams) {
        let mut pending = self
            .control
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pending[direction as usize] = Some(params);
        drop(pending);
        self.control.changed.store(true, Ordering::Release);
        self.rouse();
    }

    /// The counts so far of a direction.
    pub(super) fn stats(&self, direction: Direction) -> DirectionStats {
        self.control.counts[direction as usize].read()
    }

    /// Whether the worker runs, that is, has not failed.
    pub(super) fn is_running(&self) -> bool {
        !self.control.failed.load(Ordering::Acquire)
    }

    /// Whether the worker got its real-time priority.
    pub(super) fn is_real_time(&self) -> bool {
        self.control.real_time.load(Ordering::Relaxed)
    }

    /// Wakes the worker; a full channel will wake it just as well.
    fn rouse(&self) {
        let _ = (&self.wake).write(&[1]);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.control.stop.store(true, Ordering::Release);
        self.rouse();
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has ended too, which is all that matters here.
            let _ = thread.join();
        }
    }
}

/// When a packet arrives, and its copy if it has one.
pub(super) fn due_times(fate: Fate) -> impl Iterator<Item = Time> {
    let times = match fate {
        Fate::Delivered { due, copy_due } => [Some(due), copy_due],
        Fate::Dropped(_) => [None, None],
    };
    times.into_iter().flatten()
}

/// Two ends that never block.
fn wake_channel() -> std::io::Result<(UnixStream, UnixStream)> {
    let (owner, worker) = UnixStream::pair()?;
    owner.set_nonblocking(true)?;
    worker.set_nonblocking(true)?;
    Ok((owner, worker))
}
