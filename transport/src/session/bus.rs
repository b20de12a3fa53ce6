//! One side's bus, ready to use: session, stream both ways, threads raised, presence announced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::presence::{Announcement, Watch};
use super::stream::{FrameCounts, FramePublisher, FrameSubscription};
use super::threads::{BUS_PRIORITY, ThreadReport, raise_threads};
use super::{Role, Session, SessionConfig, SessionError};
use crate::clock::{Clock as _, MonotonicClock};
use crate::frame::HapticFrame;
use crate::trace::Side;
use crate::{Span, Time};

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
}

/// Session and stream of one side: the master dials, the slave listens.
pub struct Bus {
    publisher: FramePublisher,
    subscription: FrameSubscription,
    nodes: Arc<AtomicUsize>,
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
        let (own, other) = match config.role {
            Role::Dial => (Side::Master, Side::Slave),
            Role::Listen => (Side::Slave, Side::Master),
        };
        let session = Session::open(config)?;
        let publisher = session.frame_publisher(own)?;
        let subscription =
            session.subscribe_frames(other, AGE_MAX, || MonotonicClock.now(), on_frame)?;
        let nodes = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&nodes);
        let watch = session.watch(move |_, alive| {
            // A transport is up: zenoh may have started threads for it.
            if alive {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = raise_threads(BUS_PRIORITY);
            } else {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        let announcement = session.announce()?;
        let _ = raise_threads(BUS_PRIORITY);
        Ok(Self {
            publisher,
            subscription,
            nodes,
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

    /// Tell how far the own clock is ahead of the other side's; age is judged from then on.
    pub fn set_clock_offset(&self, offset: Span) {
        self.subscription.set_clock_offset(offset);
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
            threads: raise_threads(BUS_PRIORITY),
            nodes: self.nodes.load(Ordering::Relaxed),
        }
    }
}
