//! Haptic stream: one fixed-size frame a tick, best effort, the newest frame counts.
//!
//! Never waits for a full queue (transport fact 3): a frame that cannot be sent at once is dropped,
//! and the next one carries the same sums. A secured session sends the frames sealed, over a socket of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use zenoh::Wait;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::sample::Locality;

use super::gate::{FrameGate, FrameLimits, RunEvidence, SenderClock};
use super::seal::Refusal;
use super::sealed_link::{Receiver, SealedLink};
use super::{BusError, BusSession, wait_until};
use palpate_transport::cdr::{HAPTIC_FRAME_BYTES, decode_frame, encode};
use palpate_transport::frame::{FrameOrder, HapticFrame};
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

/// Path of the frames that a side sends.
enum FrameRoute {
    Zenoh(Publisher<'static>),
    Sealed(Arc<SealedLink>),
}

/// Publisher of haptic frames.
pub struct FramePublisher {
    route: FrameRoute,
}

impl FramePublisher {
    /// Sends one frame; returns at once, and a frame is dropped if the queue is full.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when the session is closed.
    pub fn send_frame(&self, frame: &HapticFrame) -> Result<(), BusError> {
        let mut buffer = [0; HAPTIC_FRAME_BYTES];
        let length = encode(frame, &mut buffer)?;
        match &self.route {
            FrameRoute::Sealed(link) => link.send(&buffer[..length]),
            FrameRoute::Zenoh(publisher) => publisher
                .put(&buffer[..length])
                .wait()
                .map_err(BusError::zenoh("send a haptic frame")),
        }
    }

    /// True if a subscriber receives these frames, or if keys are agreed for sealed ones.
    #[must_use]
    fn is_ready(&self) -> bool {
        match &self.route {
            FrameRoute::Sealed(link) => link.is_ready(),
            FrameRoute::Zenoh(publisher) => publisher
                .matching_status()
                .wait()
                .is_ok_and(|status| status.matching()),
        }
    }

    /// Waits until a subscriber receives them; frames sent before are lost without an error.
    #[must_use]
    pub fn wait_ready(&self, timeout: Span) -> bool {
        wait_until(timeout, || self.is_ready())
    }
}

/// Received frames by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReceivedFrameCounts {
    /// Accepted.
    pub admitted: u64,
    /// Invalid: garbage, wrong length, not finite, number 0.
    pub rejected: u64,
    /// Repeated.
    pub duplicate: u64,
    /// Overtaken by a newer one.
    pub late: u64,
    /// Numbered beyond what the sender can have sent.
    pub ahead: u64,
    /// Of a new run that may not replace the present one.
    #[serde(alias = "usurped")]
    pub unproven_run: u64,
    /// Older than the age limit.
    pub stale: u64,
    /// Restarts of the sender.
    pub restarts: u64,
    /// Datagrams of a secured session that no agreed key opened.
    #[serde(default)]
    pub unopened: u64,
}

impl ReceivedFrameCounts {
    /// Counts a frame by its order, or as stale if there is none.
    fn count(&mut self, order: Option<FrameOrder>) {
        *match order {
            Some(FrameOrder::First | FrameOrder::Next | FrameOrder::Restarted) => {
                &mut self.admitted
            }
            Some(FrameOrder::Repeated) => &mut self.duplicate,
            Some(FrameOrder::Late) => &mut self.late,
            Some(FrameOrder::Ahead) => &mut self.ahead,
            Some(FrameOrder::UnprovenRun) => &mut self.unproven_run,
            Some(FrameOrder::Invalid) => &mut self.rejected,
            None => &mut self.stale,
        } += 1;
        self.restarts += u64::from(order == Some(FrameOrder::Restarted));
    }
}

/// State shared by a subscription and zenoh's receive thread; never locked on a servo path.
#[derive(Default)]
struct ReceiveState {
    counts: ReceivedFrameCounts,
    clock: Option<SenderClock>,
}

fn locked(shared: &Mutex<ReceiveState>) -> MutexGuard<'_, ReceiveState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Filter of the frames of one subscription.
struct FrameFilter<C, E, F> {
    state: Arc<Mutex<ReceiveState>>,
    gate: FrameGate,
    age_max: Span,
    clock: C,
    evidence: E,
    on_frame: F,
}

impl<C, E, F> FrameFilter<C, E, F>
where
    C: Fn() -> Time,
    E: Fn() -> RunEvidence,
    F: FnMut(&HapticFrame, Time),
{
    /// Passes a frame on if it is fresh; counts it.
    fn take(&mut self, bytes: &[u8]) {
        let received = (self.clock)();
        let mut state = locked(&self.state);
        let Ok(frame) = decode_frame(bytes) else {
            state.counts.rejected += 1;
            return;
        };
        let limits = FrameLimits {
            clock: state.clock,
            age_max: self.age_max,
            evidence: (self.evidence)(),
        };
        let order = self.gate.classify(&frame, received, &limits);
        state.counts.count(order);
        drop(state);
        if order.is_some_and(FrameOrder::is_accepted) {
            (self.on_frame)(&frame, received);
        }
    }

    /// Takes the content of a sealed datagram, or counts the reason why it has none.
    fn take_opened(&mut self, content: Result<&[u8], Refusal>) {
        let mut state = match content {
            Ok(bytes) => return self.take(bytes),
            Err(_) => locked(&self.state),
        };
        *match content {
            Err(Refusal::Repeated) => &mut state.counts.duplicate,
            Err(Refusal::Late) => &mut state.counts.late,
            _ => &mut state.counts.unopened,
        } += 1;
    }
}

/// Thread or subscriber that receives frames; held to be dropped.
enum FrameReceiver {
    Zenoh { _subscriber: Subscriber<()> },
    Sealed { _receiver: Receiver },
}

/// Subscription to haptic frames; receives until dropped.
pub struct FrameSubscription {
    _receiver: FrameReceiver,
    shared: Arc<Mutex<ReceiveState>>,
}

impl FrameSubscription {
    /// Received frames by outcome so far.
    #[must_use]
    pub fn counts(&self) -> ReceivedFrameCounts {
        locked(&self.shared).counts
    }

    /// Sets the sender's clock, by which the age of that run's frames is judged from then on.
    /// Locks: not for a servo thread.
    pub fn set_sender_clock(&self, clock: SenderClock) {
        locked(&self.shared).clock = Some(clock);
    }
}

impl BusSession {
    /// Returns a publisher of the frames that `sender` sends; of a secured session it is this side.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh refuses.
    pub fn frame_publisher(&self, sender: Side) -> Result<FramePublisher, BusError> {
        if let Some(link) = &self.sealed {
            let route = FrameRoute::Sealed(Arc::clone(link));
            return Ok(FramePublisher { route });
        }
        let publisher = self
            .zenoh
            .declare_publisher(self.frame_key(sender)?)
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::RealTime)
            .express(true)
            .reliability(Reliability::BestEffort)
            .allowed_destination(Locality::Remote)
            .wait()
            .map_err(BusError::zenoh("declare the haptic publisher"))?;
        let route = FrameRoute::Zenoh(publisher);
        Ok(FramePublisher { route })
    }

    /// Calls `on_frame` with each fresh frame of `sender` and its time of arrival by `clock`. `evidence` states whether a
    /// new run of the sender is taken. Both run on zenoh's receive thread: `on_frame` must only write a mailbox.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh refuses.
    pub fn subscribe_frames(
        &self,
        sender: Side,
        age_max: Span,
        clock: impl Fn() -> Time + Send + Sync + 'static,
        evidence: impl Fn() -> RunEvidence + Send + Sync + 'static,
        on_frame: impl FnMut(&HapticFrame, Time) + Send + Sync + 'static,
    ) -> Result<FrameSubscription, BusError> {
        let shared = Arc::new(Mutex::new(ReceiveState::default()));
        let mut filter = FrameFilter {
            state: Arc::clone(&shared),
            gate: FrameGate::default(),
            age_max,
            clock,
            evidence,
            on_frame,
        };
        let receiver = match &self.sealed {
            Some(link) => FrameReceiver::Sealed {
                _receiver: Receiver::start(Arc::clone(link), move |content| {
                    filter.take_opened(content);
                })?,
            },
            None => FrameReceiver::Zenoh {
                _subscriber: self
                    .zenoh
                    .declare_subscriber(self.frame_key(sender)?)
                    .allowed_origin(Locality::Remote)
                    .callback_mut(move |sample| filter.take(&sample.payload().to_bytes()))
                    .wait()
                    .map_err(BusError::zenoh("subscribe to haptic frames"))?,
            },
        };
        Ok(FrameSubscription {
            _receiver: receiver,
            shared,
        })
    }

    pub(super) fn frame_key(&self, sender: Side) -> Result<String, BusError> {
        let topic = frame_topic(self.namespace(), sender);
        Ok(TopicKey::for_topic::<HapticFrame>(&topic)?.to_string())
    }
}
