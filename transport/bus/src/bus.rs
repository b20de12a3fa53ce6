//! One side's bus, ready to use: session, stream both ways, threads raised, presence announced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::gate::SenderClock;
use super::presence::{Announcement, Watch};
use super::stream::{FrameCounts, FramePublisher, FrameSubscription};
use super::threads::{ThreadReport, raise_threads};
use super::{Session, SessionConfig, SessionError};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::frame::HapticFrame;
use palpate_transport::{Span, Time};

/// Age beyond which a frame is dropped once the clock offset is known: longer than any round trip
/// that Palpate supports (1 s) with its jitter, far shorter than what a reliable link replays.
const AGE_MAX: Span = Span(2_000_000_000);

/// What a side's bus counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BusCounts {
    /// Frames handed to the network.
    pub sent: u64,
    /// Frames that could not be: the session is closed.
    pub unsent: u64,
    /// What became of the frames received.
    pub received: FrameCounts,
    /// zenoh's threads and their scheduling.
    pub threads: ThreadReport,
    /// Nodes on the bus besides this one.
    pub nodes: usize,
    /// Whether the other side's node is among them.
    pub peer_present: bool,
    /// Times that the other side's node went, with its end or with the connection.
    pub peer_losses: u64,
}

/// Who is on the bus, as its liveliness tokens say.
#[derive(Default)]
struct Presence {
    nodes: AtomicUsize,
    peers: AtomicUsize,
    losses: AtomicU64,
}

impl Presence {
    fn note(&self, is_peer: bool, alive: bool) {
        if alive {
            self.nodes.fetch_add(1, Ordering::Relaxed);
            self.peers
                .fetch_add(usize::from(is_peer), Ordering::Relaxed);
            return;
        }
        self.nodes.fetch_sub(1, Ordering::Relaxed);
        // a side that started anew may be there before its former token has gone
        if is_peer && self.peers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.losses.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Session and stream of one side.
pub struct Bus {
    publisher: FramePublisher,
    subscription: FrameSubscription,
    presence: Arc<Presence>,
    thread_priority: u8,
    sent: AtomicU64,
    unsent: AtomicU64,
    _watch: Watch,
    _announcement: Announcement,
    session: Session,
}

impl Bus {
    /// Open the session and call `on_frame` with each fresh frame of the other side and the moment
    /// it came (`CLOCK_MONOTONIC`). It runs on zenoh's receive thread: only write a mailbox there.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open(
        config: &SessionConfig,
        on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<Self, SessionError> {
        Self::over(Session::open(config)?, config, on_frame)
    }

    /// As [`Self::open`], over a session that is open as `config` says.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh refuses.
    pub fn over(
        session: Session,
        config: &SessionConfig,
        on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<Self, SessionError> {
        let (own, other) = (config.side, config.side.other());
        let publisher = session.frame_publisher(own)?;
        let subscription =
            session.subscribe_frames(other, AGE_MAX, || MonotonicClock.now(), on_frame)?;
        let presence = Arc::new(Presence::default());
        let (noted, thread_priority) = (Arc::clone(&presence), config.thread_priority);
        let namespace = format!("/{}", config.namespace);
        let watch = session.watch(move |token, alive| {
            let is_peer = token.node == other.name() && token.namespace == namespace;
            noted.note(is_peer, alive);
            // A transport is up: zenoh may have started threads for it.
            if alive {
                let _ = raise_threads(thread_priority);
            }
        })?;
        let announcement = session.announce()?;
        let _ = raise_threads(thread_priority);
        Ok(Self {
            publisher,
            subscription,
            presence,
            thread_priority,
            sent: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
            _watch: watch,
            _announcement: announcement,
            session,
        })
    }

    /// Send one frame. One that cannot be sent is counted; the next says all that it said.
    pub fn send_frame(&self, frame: &HapticFrame) {
        let counter = match self.publisher.send_frame(frame) {
            Ok(()) => &self.sent,
            Err(_) => &self.unsent,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Wait until the other side receives; `false` if it does not within `timeout`.
    #[must_use]
    pub fn wait_ready(&self, timeout: Span) -> bool {
        self.publisher.wait_ready(timeout)
    }

    /// Tell what is known of the other side's clock; the age of its frames is judged from then on.
    pub fn set_sender_clock(&self, clock: SenderClock) {
        self.subscription.set_sender_clock(clock);
    }

    /// Whether the other side's node is on the bus.
    #[must_use]
    pub fn peer_present(&self) -> bool {
        self.presence.peers.load(Ordering::Relaxed) > 0
    }

    /// The session, for commands and topics.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What was counted so far; looks at zenoh's threads once more.
    #[must_use]
    pub fn counts(&self) -> BusCounts {
        BusCounts {
            sent: self.sent.load(Ordering::Relaxed),
            unsent: self.unsent.load(Ordering::Relaxed),
            received: self.subscription.counts(),
            threads: raise_threads(self.thread_priority),
            nodes: self.presence.nodes.load(Ordering::Relaxed),
            peer_present: self.peer_present(),
            peer_losses: self.presence.losses.load(Ordering::Relaxed),
        }
    }
}
