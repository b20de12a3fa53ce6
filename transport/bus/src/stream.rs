//! The haptic stream: one fixed-size frame a tick, best effort, newest counts.
//!
//! Never waits for a full queue (transport fact 3): what cannot be sent at once is dropped, and the
//! next frame says all that it said.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use zenoh::Wait;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::sample::Locality;

use super::gate::{FrameGate, SenderClock, Verdict};
use super::{Session, SessionError, wait_until};
use palpate_transport::cdr::{HAPTIC_FRAME_BYTES, decode_frame, encode};
use palpate_transport::frame::HapticFrame;
use palpate_transport::msg::crtk::topic;
use palpate_transport::msg::key::TopicKey;
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};

/// Topic of the frames that a side sends.
fn frame_topic(namespace: &str, sender: Side) -> String {
    let name = match sender {
        Side::Master => "haptic/from_master",
        Side::Slave => "haptic/from_slave",
    };
    topic(namespace, name)
}

/// Sends haptic frames.
pub struct FramePublisher {
    publisher: Publisher<'static>,
}

impl FramePublisher {
    /// Send one frame; returns at once, and a frame that finds no place is dropped.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when the session is closed.
    pub fn send_frame(&self, frame: &HapticFrame) -> Result<(), SessionError> {
        let mut buffer = [0; HAPTIC_FRAME_BYTES];
        let length = encode(frame, &mut buffer)?;
        self.publisher
            .put(&buffer[..length])
            .wait()
            .map_err(SessionError::bus("send a haptic frame"))
    }

    /// Whether somebody receives these frames.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.publisher
            .matching_status()
            .wait()
            .is_ok_and(|status| status.matching())
    }

    /// Wait until somebody receives them; what is sent before is lost without a word.
    #[must_use]
    pub fn wait_ready(&self, timeout: Span) -> bool {
        wait_until(timeout, || self.is_ready())
    }
}

/// What became of received frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Used.
    pub admitted: u64,
    /// Not a frame: garbage, wrong length, not finite, number 0.
    pub rejected: u64,
    /// Repeated.
    pub duplicate: u64,
    /// Overtaken.
    pub late: u64,
    /// Older than the limit.
    pub stale: u64,
    /// Times that the sender started again.
    pub restarts: u64,
}

#[derive(Default)]
struct Shared {
    admitted: AtomicU64,
    rejected: AtomicU64,
    duplicate: AtomicU64,
    late: AtomicU64,
    stale: AtomicU64,
    restarts: AtomicU64,
    /// Never locked on a servo path.
    clock: Mutex<Option<SenderClock>>,
}

impl Shared {
    fn count(&self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Fresh | Verdict::Restarted => &self.admitted,
            Verdict::Duplicate => &self.duplicate,
            Verdict::Late => &self.late,
            Verdict::Stale => &self.stale,
            Verdict::Void => &self.rejected,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if verdict == Verdict::Restarted {
            self.restarts.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn clock(&self) -> Option<SenderClock> {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives haptic frames until dropped.
pub struct FrameSubscription {
    _subscriber: Subscriber<()>,
    shared: Arc<Shared>,
}

impl FrameSubscription {
    /// What became of the frames so far.
    #[must_use]
    pub fn counts(&self) -> FrameCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FrameCounts {
            admitted: read(&self.shared.admitted),
            rejected: read(&self.shared.rejected),
            duplicate: read(&self.shared.duplicate),
            late: read(&self.shared.late),
            stale: read(&self.shared.stale),
            restarts: read(&self.shared.restarts),
        }
    }

    /// Tell what is known of the sender's clock; the age of that run's frames is judged from then
    /// on. Locks: not for a servo thread.
    pub fn set_sender_clock(&self, clock: SenderClock) {
        let known = &self.shared.clock;
        *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock);
    }
}

impl Session {
    /// A publisher of the frames that `sender` sends.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh refuses.
    pub fn frame_publisher(&self, sender: Side) -> Result<FramePublisher, SessionError> {
        let publisher = self
            .zenoh
            .declare_publisher(self.frame_key(sender)?)
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::RealTime)
            .express(true)
            .reliability(Reliability::BestEffort)
            .allowed_destination(Locality::Remote)
            .wait()
            .map_err(SessionError::bus("declare the haptic publisher"))?;
        Ok(FramePublisher { publisher })
    }

    /// Call `on_frame` with each fresh frame of `sender` and the moment it came by `clock`. Runs on
    /// zenoh's receive thread: it must only write the frame into a mailbox.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh refuses.
    pub fn subscribe_frames(
        &self,
        sender: Side,
        age_max: Span,
        clock: impl Fn() -> Time + Send + Sync + 'static,
        mut on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<FrameSubscription, SessionError> {
        let shared = Arc::new(Shared::default());
        let counts = Arc::clone(&shared);
        let mut gate = FrameGate::default();
        let subscriber = self
            .zenoh
            .declare_subscriber(self.frame_key(sender)?)
            .allowed_origin(Locality::Remote)
            .callback_mut(move |sample| {
                let received = clock();
                let Ok(frame) = decode_frame(&sample.payload().to_bytes()) else {
                    counts.rejected.fetch_add(1, Ordering::Relaxed);
                    return;
                };
                let verdict = gate.judge(&frame, received, counts.clock(), age_max);
                counts.count(verdict);
                if verdict.admits() {
                    on_frame(&frame, received);
                }
            })
            .wait()
            .map_err(SessionError::bus("subscribe to haptic frames"))?;
        Ok(FrameSubscription {
            _subscriber: subscriber,
            shared,
        })
    }

    pub(super) fn frame_key(&self, sender: Side) -> Result<String, SessionError> {
        let topic = frame_topic(self.namespace(), sender);
        Ok(TopicKey::of::<HapticFrame>(self.identity.domain, &topic)?.to_string())
    }
}
