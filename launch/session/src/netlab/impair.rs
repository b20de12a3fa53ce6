//! Impairment of both user-space backends: the two directions of the link, and the thread that moves
//! packets through them.
//!
//! Source: ours; the links are those of `palpate_transport::link`, as in virtual time.

use core::time::Duration;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::link::{LinkError, LinkParams, LinkQueue};
use palpate_transport::{Span, Time};

use super::{LinkDirection, NetLabError, PACKETS, direction_seeds, privilege};
use crate::config::LinkConfig;

/// Longest sleep of a worker without a due packet.
const IDLE: Span = Span(1_000_000_000);

/// SCHED_FIFO priority requested for a worker; if refused, it is an ordinary thread.
const PRIORITY: i32 = 70;

/// Bytes of a packet with the number of its relay flow; 0 if there is only one.
type Packet = (u64, Arc<[u8]>);

/// Packets in flight in both directions, shared by the worker and its owner.
#[derive(Debug, Clone)]
pub(super) struct Links(Arc<Mutex<[LinkQueue<Packet>; 2]>>);

impl Links {
    /// Returns links without packets.
    ///
    /// # Errors
    /// [`LinkError`] for invalid parameters.
    pub(super) fn new(link: &LinkConfig, seed: u64) -> Result<Self, LinkError> {
        let [forward_seed, back_seed] = direction_seeds(seed);
        Ok(Self(Arc::new(Mutex::new([
            LinkQueue::new(link.forward, forward_seed, PACKETS)?,
            LinkQueue::new(link.back, back_seed, PACKETS)?,
        ]))))
    }

    /// Both directions, by [`LinkDirection`]; no panic leaves them inconsistent.
    pub(super) fn lock(&self) -> MutexGuard<'_, [LinkQueue<Packet>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parameters of a direction.
    pub(super) fn params(&self, direction: LinkDirection) -> LinkParams {
        *self.lock()[direction as usize].params()
    }

    /// Queues a packet of a flow, now.
    pub(super) fn send(&self, direction: LinkDirection, flow: u64, bytes: &[u8]) {
        let now = MonotonicClock.now();
        let packet = (flow, bytes.into());
        self.lock()[direction as usize].push(now, bytes.len(), packet);
    }

    /// Delivers the due packets, with direction and flow.
    pub(super) fn release(&self, mut deliver: impl FnMut(LinkDirection, u64, &[u8])) {
        let now = MonotonicClock.now();
        for (direction, link) in LinkDirection::BOTH.into_iter().zip(&mut *self.lock()) {
            while let Some((flow, bytes)) = link.pop_due(now) {
                deliver(direction, flow, &bytes);
            }
        }
    }

    /// Time at which the next packet is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.lock().iter().filter_map(LinkQueue::next_due).min()
    }
}

/// Poll entry that waits until a descriptor is readable.
pub(super) fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::POLLIN)
}

/// Sleeps until `due`, or until one of `watched` is ready; returns the readiness of each. Returns none if the
/// worker must end, because its owner has closed its end or the kernel refuses.
pub(super) fn wait<'a>(
    owner: &'a UnixStream,
    due: Option<Time>,
    mut watched: Vec<PollFd<'a>>,
) -> Option<Vec<bool>> {
    let sleep = due.map_or(IDLE, |due| due - MonotonicClock.now());
    let sleep = Duration::from_nanos(sleep.0.clamp(0, IDLE.0).unsigned_abs());
    watched.push(readable(owner.as_fd()));
    match ppoll(&mut watched, Some(sleep.into()), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(_) => return None,
    }
    let ready = |entry: &PollFd<'_>| entry.any().unwrap_or(true);
    let mut ready: Vec<bool> = watched.iter().map(ready).collect();
    (ready.pop() == Some(false)).then_some(ready)
}

/// A thread that moves packets; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) links: Links,
    /// The thread ends when this socket is closed.
    owner: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts `body` in a thread named `name`; it must return when [`wait`] returns none.
    ///
    /// # Errors
    /// The system cannot give a thread or a socket.
    pub(super) fn start(
        name: &str,
        links: Links,
        body: impl FnOnce(&Links, &UnixStream) + Send + 'static,
    ) -> Result<Self, NetLabError> {
        let pair = UnixStream::pair();
        let (owner, end) =
            pair.map_err(|source| NetLabError::system("a wake-up channel", source))?;
        let shared = links.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                privilege::make_punctual(PRIORITY);
                body(&shared, &end);
            })
            .map_err(|source| NetLabError::system("a thread", source))?;
        Ok(Self {
            links,
            owner: Some(owner),
            thread: Some(thread),
        })
    }

    /// True while the worker runs, that is, has not failed.
    pub(super) fn is_running(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.owner = None;
        if let Some(thread) = self.thread.take() {
            // a panicked thread has ended too, which suffices here
            let _ = thread.join();
        }
    }
}
