//! Topics that ROS 2 peers can see: typed messages over the reliable link.
//!
//! Key, liveliness token and attachment as rmw_zenoh wants them (transport section 5).

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};

use super::{Session, SessionError, wait_until};
use palpate_transport::cdr::{decode, encode_into};
use palpate_transport::msg::Message;
use palpate_transport::msg::attachment::{Attachment, gid_of};
use palpate_transport::msg::key::{EndpointKind, QOS_RELIABLE, TopicKey};
use palpate_transport::{Span, Time};

/// Publishes messages of one type on one topic.
pub struct TopicPublisher<T> {
    publisher: Publisher<'static>,
    attachment: Attachment,
    buffer: Vec<u8>,
    _token: LivelinessToken,
    message: PhantomData<T>,
}

impl<T: Message> TopicPublisher<T> {
    /// Publish one message, made at `now`.
    ///
    /// # Errors
    /// [`SessionError::Encode`] when it is too long, [`SessionError::Bus`] when the session is
    /// closed.
    pub fn publish(&mut self, message: &T, now: Time) -> Result<(), SessionError> {
        encode_into(message, &mut self.buffer)?;
        self.attachment.sequence += 1;
        self.attachment.source_ns = now.0;
        self.publisher
            .put(&self.buffer)
            .attachment(self.attachment.encode())
            .wait()
            .map_err(SessionError::bus("publish a message"))
    }

    /// Wait until somebody receives this topic.
    #[must_use]
    pub fn wait_ready(&self, timeout: Span) -> bool {
        wait_until(timeout, || {
            self.publisher
                .matching_status()
                .wait()
                .is_ok_and(|status| status.matching())
        })
    }
}

/// Receives the messages of one topic until dropped.
pub struct TopicSubscription {
    _subscriber: Subscriber<()>,
    _token: LivelinessToken,
    rejected: Arc<AtomicU64>,
}

impl TopicSubscription {
    /// Samples that were not such a message.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }
}

impl Session {
    /// A publisher of `topic`, which is absolute: `palpate/measured_cp`. Reliable, never blocks.
    ///
    /// # Errors
    /// [`SessionError::Key`] for a topic that is none, [`SessionError::Bus`] when zenoh refuses.
    pub fn publisher<T: Message>(&self, topic: &str) -> Result<TopicPublisher<T>, SessionError> {
        let key = TopicKey::of::<T>(self.identity.domain, topic)?;
        let publisher = self
            .zenoh
            .declare_publisher(key.to_string())
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::Data)
            .reliability(Reliability::Reliable)
            .wait()
            .map_err(SessionError::bus("declare a publisher"))?;
        let token = self.endpoint_token(EndpointKind::Publisher, key, QOS_RELIABLE);
        Ok(TopicPublisher {
            publisher,
            attachment: Attachment {
                gid: gid_of(&token.to_string()),
                ..Attachment::default()
            },
            buffer: Vec::new(),
            _token: self.declare_token(&token)?,
            message: PhantomData,
        })
    }

    /// Call `on_message` with each message of `topic`, and its attachment if it has a good one.
    /// Runs on zenoh's receive thread: keep it short.
    ///
    /// # Errors
    /// As [`Session::publisher`].
    pub fn subscribe<T: Message>(
        &self,
        topic: &str,
        mut on_message: impl FnMut(T, Option<Attachment>) + Send + Sync + 'static,
    ) -> Result<TopicSubscription, SessionError> {
        let key = TopicKey::of::<T>(self.identity.domain, topic)?;
        let rejected = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&rejected);
        let subscriber = self
            .zenoh
            .declare_subscriber(key.to_string())
            .callback_mut(move |sample| {
                let attachment = sample
                    .attachment()
                    .and_then(|bytes| Attachment::decode(&bytes.to_bytes()).ok());
                match decode(&sample.payload().to_bytes()) {
                    Ok(message) => on_message(message, attachment),
                    Err(_) => {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
            .wait()
            .map_err(SessionError::bus("subscribe to a topic"))?;
        let token = self.endpoint_token(EndpointKind::Subscriber, key, QOS_RELIABLE);
        let token = self.declare_token(&token)?;
        Ok(TopicSubscription {
            _subscriber: subscriber,
            _token: token,
            rejected,
        })
    }
}
