//! Bus between the sides: zenoh peers behind a blocking interface; no other crate uses zenoh.
//!
//! In reading order:
//! `bus` joins all that one side needs. `config` opens a session of two links. Plain UDP carries the haptic stream,
//! which keeps its latency under loss, and TCP carries commands (transport facts 4 and 6). Exactly one side dials,
//! since two sides that dial each other can end with a connection that only partly works (transport section 6).
//! [`stream`] carries haptic frames past a [`gate`] that checks order and age. [`topic`] carries messages that ROS 2
//! peers can see, [`device`] those of CRTK at a low rate. [`command`] sends commands and receives replies; `presence`
//! handles liveliness; [`ownership`] states to which peer a side belongs; [`threads`] raises the priority of zenoh's threads.
//! A secured session ([`keys`]) has one zenoh link, TLS with both certificates and access control. Its frames go over a
//! socket of their own (`sealed_link`), sealed (`seal`) with keys of `seal_agreement`.
//! Call nothing here on a servo thread: a put allocates and may take the transport's locks.

mod access;
mod bus;
pub mod command;
mod config;
pub mod device;
pub mod gate;
pub mod keys;
pub mod ownership;
mod presence;
mod seal;
mod seal_agreement;
mod sealed_link;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod topic;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zenoh::Wait;

use palpate_transport::cdr::EncodeError;
use palpate_transport::clock::wall_now;
use palpate_transport::msg::key::{Endpoint, EndpointKind, KeyError, Ros2Token, TopicKey};
use palpate_transport::{FieldError, Span};

use command::SentCommands;

pub use bus::{Bus, BusCounts, PeerWatch};
pub use config::{BusConfig, ConnectionRole, prepare_process};
pub use seal::time_seal;
use sealed_link::SealedLink;

/// Namespace of all topics.
const NAMESPACE: &str = "palpate";

/// Period at which a state of the bus is polled while waiting \[ms\]; ours.
const POLL_MS: f64 = 2.0;

/// Errors of the bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// A field of the configuration is invalid.
    #[error(transparent)]
    Config(#[from] FieldError),
    /// Another program or session already listens there.
    #[error(
        "cannot listen on {endpoint}: the port is taken; stop the program that listens there or \
         choose another port"
    )]
    PortTaken {
        /// Endpoint as configured.
        endpoint: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {endpoint}: {reason}")]
    CannotListen {
        /// Endpoint as configured.
        endpoint: String,
        /// Reason given by the system.
        reason: String,
    },
    /// No peer answers.
    #[error("nobody answers on {endpoints} within {waited_ms} ms; is the other side listening?")]
    Unreachable {
        /// Endpoints as configured, joined by commas.
        endpoints: String,
        /// Time tried \[ms\].
        waited_ms: f64,
    },
    /// No trusted peer answers.
    #[error(
        "no trusted host answers on {endpoints} within {waited_ms} ms; does the other side listen, with --secure, and \
         has each host trusted the other by `palpate keys trust`?"
    )]
    NoTrustedPeer {
        /// Endpoints as configured, joined by commas.
        endpoints: String,
        /// Time tried \[ms\].
        waited_ms: f64,
    },
    /// The keys of a secured session cannot be used.
    #[error(transparent)]
    Keyring(#[from] keys::KeyringError),
    /// The sides do not agree on keys.
    #[error("agreement on keys: {reason}")]
    Seal {
        /// Reason.
        reason: String,
    },
    /// The topic name is invalid.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The message cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Another error of zenoh.
    #[error("{action}: {reason}")]
    Zenoh {
        /// Action that failed.
        action: &'static str,
        /// Reason given by zenoh.
        reason: String,
    },
}

impl BusError {
    fn zenoh(action: &'static str) -> impl FnOnce(zenoh::Error) -> Self {
        move |error| Self::Zenoh {
            action,
            reason: error.to_string(),
        }
    }
}

/// Identity of a session towards ROS 2 peers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    node: String,
    session: String,
}

impl Identity {
    fn token(&self, id: u32, endpoint: Option<Endpoint>) -> Ros2Token {
        Ros2Token {
            session: self.session.clone(),
            node_id: 0,
            id,
            enclave: "/".to_owned(),
            namespace: format!("/{NAMESPACE}"),
            node: self.node.clone(),
            endpoint,
        }
    }
}

/// An open session; closes when dropped.
pub struct BusSession {
    zenoh: zenoh::Session,
    identity: Identity,
    /// Id of the next endpoint; 0 is the node.
    next_id: Arc<AtomicU32>,
    sent_commands: Arc<SentCommands>,
    /// Link of the frames, if the session is secured.
    sealed: Option<Arc<SealedLink>>,
}

impl BusSession {
    /// Opens a session; a dialling side waits up to `connect_timeout` for the other.
    ///
    /// # Errors
    /// [`BusError::Config`], [`BusError::PortTaken`], [`BusError::CannotListen`],
    /// [`BusError::Unreachable`], else [`BusError::Zenoh`]; of a secured session also [`BusError::NoTrustedPeer`] and
    /// [`BusError::Keyring`].
    pub fn open(config: &BusConfig) -> Result<Self, BusError> {
        config.validate()?;
        let keyring = config.keyring.as_deref();
        keyring.map_or(Ok(()), |keyring| keyring.check(wall_now()))?;
        let sealed = keyring.map(|keyring| SealedLink::open(config, keyring));
        let sealed = sealed.transpose()?.map(Arc::new);
        let zenoh = config::open(config)?;
        let identity = Identity {
            node: config.node.clone(),
            session: zenoh.zid().to_string(),
        };
        Ok(Self {
            sent_commands: Arc::new(SentCommands::new(&identity.session)),
            zenoh,
            identity,
            next_id: Arc::new(AtomicU32::new(1)),
            sealed,
        })
    }

    /// Id of this session's node, as its liveliness token has it.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.identity.session
    }

    /// Name of the trusted host with which frames are sealed; none before the agreement, or if the session is not
    /// secured.
    #[must_use]
    pub fn sealed_with(&self) -> Option<String> {
        self.sealed.as_ref().and_then(|link| link.peer_name())
    }

    /// Namespace below which this session's topics lie.
    #[must_use]
    pub fn namespace(&self) -> &str {
        NAMESPACE
    }

    /// Closes the session at once instead of when dropped.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh cannot.
    pub fn close(self) -> Result<(), BusError> {
        self.zenoh
            .close()
            .wait()
            .map_err(BusError::zenoh("close the session"))
    }

    /// Token of a new endpoint of this session.
    fn endpoint_token(&self, kind: EndpointKind, key: TopicKey) -> Ros2Token {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.identity.token(id, Some(Endpoint { kind, key }))
    }

    fn declare_token(
        &self,
        token: &Ros2Token,
    ) -> Result<zenoh::liveliness::LivelinessToken, BusError> {
        self.zenoh
            .liveliness()
            .declare_token(token.to_string())
            .wait()
            .map_err(BusError::zenoh("declare a liveliness token"))
    }
}

/// Converts a span for calls of the system; no clock is read here.
fn duration(span: Span) -> core::time::Duration {
    core::time::Duration::from_nanos(span.0.max(0).unsigned_abs())
}

/// Polls until `done` returns true or `timeout` has passed; returns the last result.
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
