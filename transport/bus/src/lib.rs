//! The bus: zenoh peers, blocking outside; no other crate names zenoh.
//!
//! In reading order:
//! `bus` has all that one side needs in one. `config` opens a session of two links: plain UDP for the haptic stream, which
//! keeps its latency under loss, and TCP for commands (transport facts 4 and 6). Exactly one side dials, since two that
//! dial each other can end half dead (transport section 6). [`stream`] carries haptic frames past a [`gate`] that checks
//! order and age. [`topic`] carries messages that ROS 2 peers can see, [`device`] those of CRTK at a low rate.
//! [`command`] asks with an answer; `presence` says who is there; [`threads`] raises zenoh's threads.
//! No call here belongs on a servo thread: a put allocates and may take the transport's locks.

mod bus;
pub mod command;
mod config;
pub mod device;
pub mod gate;
mod presence;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod topic;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zenoh::Wait;

use palpate_transport::Span;
use palpate_transport::cdr::EncodeError;
use palpate_transport::msg::key::{Endpoint, EndpointKind, KeyError, Token, TopicKey};

pub use bus::{Bus, BusCounts};
pub use config::{Role, SessionConfig, prepare_process};

/// Period at which a state of the bus is polled while waiting \[ms\]; ours.
const POLL_MS: f64 = 2.0;

/// What can go wrong on the bus.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A field of the configuration cannot be used.
    #[error("session.{field} is {found:?}; expected {expected}")]
    Config {
        /// Field.
        field: &'static str,
        /// What was found.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// Another program (or another session) listens there.
    #[error("cannot listen on {endpoint}: the port is taken; stop who listens or choose another")]
    PortTaken {
        /// Endpoint as configured.
        endpoint: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {endpoint}: {reason}")]
    CannotListen {
        /// Endpoint as configured.
        endpoint: String,
        /// As the system says it.
        reason: String,
    },
    /// Nobody answers.
    #[error("nobody answers on {endpoints} within {waited_ms} ms; is the other side listening?")]
    Unreachable {
        /// Endpoints as configured, joined by commas.
        endpoints: String,
        /// How long it was tried \[ms\].
        waited_ms: f64,
    },
    /// A topic that is no topic.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A message that cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// zenoh refused something else.
    #[error("{action}: {reason}")]
    Bus {
        /// What was being done.
        action: &'static str,
        /// As zenoh says it.
        reason: String,
    },
}

impl SessionError {
    fn bus(action: &'static str) -> impl FnOnce(zenoh::Error) -> Self {
        move |error| Self::Bus {
            action,
            reason: error.to_string(),
        }
    }
}

/// Who a session is, towards ROS 2 peers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    domain: u32,
    namespace: String,
    node: String,
    session: String,
}

impl Identity {
    fn token(&self, id: u32, endpoint: Option<Endpoint>) -> Token {
        Token {
            domain: self.domain,
            session: self.session.clone(),
            node_id: 0,
            id,
            enclave: "/".to_owned(),
            namespace: format!("/{}", self.namespace),
            node: self.node.clone(),
            endpoint,
        }
    }
}

/// An open session; closes when dropped.
pub struct Session {
    zenoh: zenoh::Session,
    identity: Identity,
    /// Id of the next endpoint; 0 is the node.
    next_id: Arc<AtomicU32>,
}

impl Session {
    /// Open a session; a dialling side waits up to `connect_timeout` for the other.
    ///
    /// # Errors
    /// [`SessionError::Config`], [`SessionError::PortTaken`], [`SessionError::CannotListen`],
    /// [`SessionError::Unreachable`], else [`SessionError::Bus`].
    pub fn open(config: &SessionConfig) -> Result<Self, SessionError> {
        let zenoh = config::open(config)?;
        let identity = Identity {
            domain: config.domain,
            namespace: config.namespace.clone(),
            node: config.node.clone(),
            session: zenoh.zid().to_string(),
        };
        Ok(Self {
            zenoh,
            identity,
            next_id: Arc::new(AtomicU32::new(1)),
        })
    }

    /// Namespace below which this session's topics lie.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.identity.namespace
    }

    /// How many peers are connected.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.zenoh.info().peers_zid().wait().count()
    }

    /// Close at once instead of when dropped.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh cannot.
    pub fn close(self) -> Result<(), SessionError> {
        self.zenoh
            .close()
            .wait()
            .map_err(SessionError::bus("close the session"))
    }

    /// Token of a new endpoint of this session.
    fn endpoint_token(&self, kind: EndpointKind, key: TopicKey, qos: &str) -> Token {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.identity.token(
            id,
            Some(Endpoint {
                kind,
                key,
                qos: qos.to_owned(),
            }),
        )
    }

    fn declare_token(
        &self,
        token: &Token,
    ) -> Result<zenoh::liveliness::LivelinessToken, SessionError> {
        self.zenoh
            .liveliness()
            .declare_token(token.to_string())
            .wait()
            .map_err(SessionError::bus("declare a liveliness token"))
    }
}

/// A length of time for calls of the system; no clock is read here.
fn duration(span: Span) -> core::time::Duration {
    core::time::Duration::from_nanos(span.0.max(0).unsigned_abs())
}

/// Poll until `done` or so long has been waited.
fn wait_until(timeout: Span, done: impl Fn() -> bool) -> bool {
    let polls = (timeout.ms() / POLL_MS).ceil().max(0.0) as u64;
    for _ in 0..polls {
        if done() {
            return true;
        }
        std::thread::sleep(duration(Span::from_ms(POLL_MS)));
    }
    done()
}
