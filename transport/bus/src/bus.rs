//! Bus of one side: session, haptic stream in both directions, thread priorities, liveliness.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;

use super::gate::{RunEvidence, SenderClock};
use super::sealed_link::SealedLink;
use super::stream::{FramePublisher, FrameSubscription, ReceivedFrameCounts};
use super::threads::{ThreadReport, raise_threads};
use super::{BusConfig, BusError, BusSession, NAMESPACE};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::frame::HapticFrame;
use palpate_transport::msg::key::Ros2Token;
use palpate_transport::{Span, Time};

/// Age beyond which a frame is dropped once the clock offset is known. It is longer than any round trip that
/// Palpate supports (1 s) with its jitter, and far shorter than the stale frames of a reliable link.
const AGE_MAX: Span = Span(2_000_000_000);

/// Counters of one side's bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BusCounts {
    /// Frames handed to the network.
    pub sent: u64,
    /// Frames that could not be sent, as the session is closed.
    pub unsent: u64,
    /// Received frames by outcome.
    pub received: ReceivedFrameCounts,
    /// zenoh's threads and their scheduling.
    pub threads: ThreadReport,
    /// Nodes on the bus besides this one.
    pub nodes: usize,
    /// True if the other side's node is among them.
    pub peer_present: bool,
    /// Times that the other side's node left, by its own end or with the connection.
    pub peer_losses: u64,
}

/// Nodes on the bus, by their liveliness tokens.
#[derive(Default)]
struct Presence {
    nodes: AtomicUsize,
    peers: AtomicUsize,
    losses: AtomicU64,
    /// Tokens of the other side's nodes, the oldest first; only zenoh's callback locks them. A whole token is compared:
    /// another one of the same session, which anybody can declare, is another node.
    peer_tokens: Mutex<Vec<Ros2Token>>,
    /// Times that the oldest of them left.
    departures: AtomicU64,
    /// Times that the peer got a successor.
    successions: AtomicU64,
}

impl Presence {
    fn note(&self, token: &Ros2Token, is_peer: bool, alive: bool) {
        if alive {
            self.nodes.fetch_add(1, Ordering::Relaxed);
        } else {
            self.nodes.fetch_sub(1, Ordering::Relaxed);
        }
        if !is_peer {
            return;
        }
        let tokens = self.peer_tokens.lock();
        let mut tokens = tokens.unwrap_or_else(PoisonError::into_inner);
        let place = tokens.iter().position(|one| one == token);
        match (alive, place) {
            (true, None) => tokens.push(token.clone()),
            (false, Some(place)) => {
                tokens.remove(place);
                self.departures
                    .fetch_add(u64::from(place == 0), Ordering::Relaxed);
                // a restarted side may appear before its former token is gone
                self.losses
                    .fetch_add(u64::from(tokens.is_empty()), Ordering::Relaxed);
            }
            _ => {}
        }
        self.peers.store(tokens.len(), Ordering::Relaxed);
    }
}

/// Presence of the other side's nodes.
#[derive(Clone)]
pub struct PeerWatch {
    presence: Arc<Presence>,
    sealed: Option<Arc<SealedLink>>,
}

impl PeerWatch {
    /// True if a node of the other side with this id ([`BusSession::node_id`]) is on the bus.
    #[must_use]
    pub(crate) fn has_node(&self, id: &str) -> bool {
        let tokens = self.presence.peer_tokens.lock();
        let tokens = tokens.unwrap_or_else(PoisonError::into_inner);
        tokens.iter().any(|token| token.session == id)
    }

    /// Gives the peer a successor: the next run is taken although the present one is there, and keys agreed with the
    /// former peer open nothing more.
    pub(crate) fn begin_succession(&self) {
        self.presence.successions.fetch_add(1, Ordering::Relaxed);
        if let Some(link) = &self.sealed {
            link.forget_keys();
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
    _watch: Subscriber<()>,
    _announcement: LivelinessToken,
    session: BusSession,
}

impl Bus {
    /// Opens the session and calls `on_frame` with each fresh frame of the other side and its time
    /// of arrival (`CLOCK_MONOTONIC`). It runs on zenoh's receive thread: only write a mailbox there.
    ///
    /// # Errors
    /// As [`BusSession::open`].
    pub fn open(
        config: &BusConfig,
        on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<Self, BusError> {
        Self::over_session(BusSession::open(config)?, config, on_frame)
    }

    /// As [`Self::open`], over a session that was opened with `config`.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh refuses.
    pub fn over_session(
        session: BusSession,
        config: &BusConfig,
        on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<Self, BusError> {
        let (own, other) = (config.side, config.side.other());
        let publisher = session.frame_publisher(own)?;
        let presence = Arc::new(Presence::default());
        let counted = Arc::clone(&presence);
        let proven = session.sealed.is_some();
        let evidence = move || match proven {
            true => RunEvidence::Proven,
            false => RunEvidence::Counts {
                departures: counted.departures.load(Ordering::Relaxed),
                successions: counted.successions.load(Ordering::Relaxed),
            },
        };
        let subscription = session.subscribe_frames(
            other,
            AGE_MAX,
            || MonotonicClock.now(),
            evidence,
            on_frame,
        )?;
        let (noted, thread_priority) = (Arc::clone(&presence), config.thread_priority);
        let namespace = format!("/{NAMESPACE}");
        let watch = session.watch(move |token, alive| {
            let is_peer = token.node == other.name() && token.namespace == namespace;
            noted.note(token, is_peer, alive);
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

    /// Sends one frame. A frame that cannot be sent is counted; its sums are in the next one too.
    pub fn send_frame(&self, frame: &HapticFrame) {
        let counter = match self.publisher.send_frame(frame) {
            Ok(()) => &self.sent,
            Err(_) => &self.unsent,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the other side receives; `false` if it does not within `timeout`.
    #[must_use]
    pub fn wait_ready(&self, timeout: Span) -> bool {
        self.publisher.wait_ready(timeout)
    }

    /// Sets the other side's clock, by which the age of its frames is judged from then on.
    pub fn set_sender_clock(&self, clock: SenderClock) {
        self.subscription.set_sender_clock(clock);
    }

    /// True if the other side's node is on the bus.
    #[must_use]
    pub fn peer_present(&self) -> bool {
        self.presence.peers.load(Ordering::Relaxed) > 0
    }

    /// Presence of the other side's nodes, to look at from another thread.
    #[must_use]
    pub fn peer_watch(&self) -> PeerWatch {
        PeerWatch {
            presence: Arc::clone(&self.presence),
            sealed: self.session.sealed.clone(),
        }
    }

    /// The session, for commands and topics.
    #[must_use]
    pub fn session(&self) -> &BusSession {
        &self.session
    }

    /// Counters so far; updates the report on zenoh's threads.
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
