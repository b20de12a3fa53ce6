//! Topics that ROS 2 peers can see: typed messages over the reliable link.
//!
//! Key, liveliness token and attachment follow rmw_zenoh (transport section 5).

use std::marker::PhantomData;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};

use super::{BusError, BusSession, wait_until};
use palpate_transport::cdr::{decode, encode_into};
use palpate_transport::msg::Message;
use palpate_transport::msg::attachment::{Attachment, gid_of};
use palpate_transport::msg::key::{EndpointKind, TopicKey};
use palpate_transport::{Span, Time};

/// Publisher of messages of one type on one topic.
pub struct TopicPublisher<T> {
    publisher: Publisher<'static>,
    attachment: Attachment,
    buffer: Vec<u8>,
    _token: LivelinessToken,
    message: PhantomData<T>,
}

impl<T: Message> TopicPublisher<T> {
    /// Publishes one message, made at `now`.
    ///
    /// # Errors
    /// [`BusError::Encode`] when it is too long, [`BusError::Zenoh`] when the session is
    /// closed.
    pub fn publish(&mut self, message: &T, now: Time) -> Result<(), BusError> {
        encode_into(message, &mut self.buffer)?;
        self.attachment.sequence += 1;
        self.attachment.source_ns = now.0;
        self.publisher
            .put(&self.buffer)
            .attachment(self.attachment.encode())
            .wait()
            .map_err(BusError::zenoh("publish a message"))
    }

    /// Waits until a subscriber receives this topic.
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

/// Subscription to one topic; receives until dropped.
pub struct TopicSubscription {
    _subscriber: Subscriber<()>,
    _token: LivelinessToken,
}

impl BusSession {
    /// Returns a publisher of `topic`, which is absolute: `palpate/measured_cp`. Reliable, never blocks.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid topic, [`BusError::Zenoh`] when zenoh refuses.
    pub fn publisher<T: Message>(&self, topic: &str) -> Result<TopicPublisher<T>, BusError> {
        let key = TopicKey::for_topic::<T>(topic)?;
        let publisher = self
            .zenoh
            .declare_publisher(key.to_string())
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::Data)
            .reliability(Reliability::Reliable)
            .wait()
            .map_err(BusError::zenoh("declare a publisher"))?;
        let token = self.endpoint_token(EndpointKind::Publisher, key);
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

    /// Calls `on_message` with each message of `topic`, and its attachment if that is valid.
    /// Runs on zenoh's receive thread: keep it short.
    ///
    /// # Errors
    /// As [`BusSession::publisher`].
    pub fn subscribe<T: Message>(
        &self,
        topic: &str,
        mut on_message: impl FnMut(T, Option<Attachment>) + Send + Sync + 'static,
    ) -> Result<TopicSubscription, BusError> {
        let key = TopicKey::for_topic::<T>(topic)?;
        let subscriber = self
            .zenoh
            .declare_subscriber(key.to_string())
            .callback_mut(move |sample| {
                let attachment = sample
                    .attachment()
                    .and_then(|bytes| Attachment::decode(&bytes.to_bytes()));
                // a payload that does not decode belongs to another program
                if let Ok(message) = decode(&sample.payload().to_bytes()) {
                    on_message(message, attachment);
                }
            })
            .wait()
            .map_err(BusError::zenoh("subscribe to a topic"))?;
        let token = self.endpoint_token(EndpointKind::Subscriber, key);
        let token = self.declare_token(&token)?;
        Ok(TopicSubscription {
            _subscriber: subscriber,
            _token: token,
        })
    }
}
