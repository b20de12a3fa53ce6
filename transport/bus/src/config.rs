//! Configuration of a session: endpoints, links, queues, time-outs.
//!
//! Source: transport section 9 (measured), facts 2, 3 and 8. Automatic functions of zenoh
//! (scouting, gossip, shared memory) are off: traffic uses the configured endpoints only.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;

use zenoh::{Config, Wait};

use super::BusError;
use super::access::{access_control, tls};
use super::gate::LEASE;
use super::keys::Keyring;
use palpate_transport::trace::Side;
use palpate_transport::{FieldError, Span};

/// One thread for all of zenoh: a round trip then has p99 0.14 ms under load in place of 1 ms
/// (transport fact 2). `app` is handed over too, as sockets are opened on it. Its own thread would wake
/// for every datagram only to wake the other one (20 us a round trip, measured).
/// zenoh reads it from the environment at first use.
pub(crate) const ZENOH_RUNTIME: &str = "(rx:(worker_threads:1),tx:(handover:rx),net:(handover:rx),\
    acc:(handover:rx),app:(handover:rx))";

/// Name of that variable.
const ZENOH_RUNTIME_VARIABLE: &str = "ZENOH_RUNTIME";

/// Place of the listening side among the sessions of zenoh. It routes between the dialling side, foreign clients and
/// peers, and foreign routers, each of which sees the topics of both sides; as a mere peer it would route to clients
/// only.
const GATEWAY: &str = "mode: 'router', gateway: { south: [ \
    { filters: [{ region_names: ['palpate'] }] }, { filters: [{ modes: ['client', 'peer'] }] } ] }";

/// Place of the dialling side: in a region of its own, as two peers of one region connect to each other directly.
const DIALLING: &str = "mode: 'peer', region_name: 'palpate'";

/// Role in the connection: one side listens and the other dials, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRole {
    /// Waits to be dialled.
    Listen,
    /// Dials.
    Dial,
}

/// Configuration of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct BusConfig {
    /// Side that sends its frames over this session.
    pub side: Side,
    /// Listen or dial; the two sides must differ.
    pub role: ConnectionRole,
    /// Best-effort link, `udp/<host>:<port>`.
    pub udp: String,
    /// Reliable link, `tcp/<host>:<port>`.
    pub tcp: String,
    /// Name of this node, letters, digits and `_`.
    pub node: String,
    /// Time that a dialling side tries to connect before it gives up, 1 ms to 600 s.
    pub connect_timeout: Span,
    /// SCHED_FIFO priority of zenoh's threads, 1 to 99; 0 requests none.
    pub thread_priority: u8,
    /// Keys of a secured session: then the reliable link is TLS, and the UDP endpoint carries sealed frames only.
    pub keyring: Option<Arc<Keyring>>,
}

impl BusConfig {
    /// Returns a configuration for `host` with the measured defaults.
    #[must_use]
    pub fn new(side: Side, role: ConnectionRole, host: &str, udp_port: u16, tcp_port: u16) -> Self {
        Self {
            side,
            role,
            udp: format!("udp/{host}:{udp_port}"),
            tcp: format!("tcp/{host}:{tcp_port}"),
            node: side.name().to_owned(),
            connect_timeout: Span::from_s(5.0),
            thread_priority: 0,
            keyring: None,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`BusError::Config`] names the first invalid field.
    pub fn validate(&self) -> Result<(), BusError> {
        check_endpoint("udp", &self.udp, "udp/")?;
        check_endpoint("tcp", &self.tcp, "tcp/")?;
        let timeout_ms = self.connect_timeout.ms();
        if !(1.0..=600_000.0).contains(&timeout_ms) {
            let found = timeout_ms.to_string();
            return Err(field_error("connect_timeout", &found, "1 to 600000 ms"));
        }
        Ok(())
    }

    fn json5(&self) -> String {
        let endpoints = match self.keyring {
            Some(_) => format!("[\"{}\"]", self.tcp.replacen("tcp/", "tls/", 1)),
            None => format!("[\"{}\", \"{}\"]", self.udp, self.tcp),
        };
        let keyring = self.keyring.as_deref();
        let (tls, access) = (keyring.map(tls), keyring.map(access_control));
        let (listen, connect, place) = match self.role {
            ConnectionRole::Listen => (endpoints.as_str(), "[]", GATEWAY),
            ConnectionRole::Dial => ("[]", endpoints.as_str(), DIALLING),
        };
        format!(
            "{{ {place},
                timestamping: {{ enabled: false }},
                listen: {{ endpoints: {listen} }},
                connect: {{ endpoints: {connect}, timeout_ms: {timeout_ms}, exit_on_failure: true,
                    retry: {{ period_init_ms: 100, period_max_ms: 200,
                              period_increase_factor: 1 }} }},
                scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }},
                {access}
                transport: {{
                    unicast: {{ max_links: {max_links}, open_timeout: 1000, accept_timeout: 1000 }},
                    shared_memory: {{ enabled: false }},
                    link: {{ {tls} tx: {{ lease: {lease_ms}, keep_alive: 4, queue: {{
                        size: {{ real_time: 16 }},
                        congestion_control: {{ drop: {{ wait_before_drop: 0 }} }} }} }} }} }} }}",
            timeout_ms = self.connect_timeout.ms().round(),
            max_links = if keyring.is_some() { 1 } else { 2 },
            tls = tls.unwrap_or_default(),
            access = access.unwrap_or_default(),
            lease_ms = LEASE.ms().round(),
        )
    }
}

/// Sets zenoh's threads (one worker); call it first in `main`. A value that the user set in
/// the environment stays. Returns `false`, and changes nothing, if other threads already run.
#[must_use]
pub fn prepare_process() -> bool {
    if std::env::var_os(ZENOH_RUNTIME_VARIABLE).is_some() {
        return true;
    }
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if alone {
        // SAFETY: this is the only thread of the process, as just counted, so no other thread reads
        // or writes the environment meanwhile.
        unsafe { std::env::set_var(ZENOH_RUNTIME_VARIABLE, ZENOH_RUNTIME) };
    }
    alone
}

pub(super) fn open(config: &BusConfig) -> Result<zenoh::Session, BusError> {
    if config.role == ConnectionRole::Listen {
        if config.keyring.is_none() {
            probe(&config.udp, |address| UdpSocket::bind(address).map(|_| ()))?;
        }
        probe(&config.tcp, |address| {
            TcpListener::bind(address).map(|_| ())
        })?;
    }
    let zenoh_config =
        Config::from_json5(&config.json5()).map_err(BusError::zenoh("configure the session"))?;
    zenoh::open(zenoh_config)
        .wait()
        .map_err(|error| match config.role {
            ConnectionRole::Listen => BusError::zenoh("open the session")(error),
            ConnectionRole::Dial => {
                let endpoints = format!("{}, {}", config.udp, config.tcp);
                let waited_ms = config.connect_timeout.ms();
                match config.keyring {
                    Some(_) => BusError::NoTrustedPeer {
                        endpoints,
                        waited_ms,
                    },
                    None => BusError::Unreachable {
                        endpoints,
                        waited_ms,
                    },
                }
            }
        })
}

/// Binds the port and releases it: zenoh's own error would be plain text.
fn probe(endpoint: &str, bind: impl FnOnce(&str) -> std::io::Result<()>) -> Result<(), BusError> {
    let address = endpoint
        .split_once('/')
        .map_or(endpoint, |(_, address)| address);
    bind(address).map_err(|error| listen_error(endpoint, &error))
}

/// Error of a socket of an endpoint.
pub(super) fn listen_error(endpoint: &str, error: &std::io::Error) -> BusError {
    let endpoint = endpoint.to_owned();
    match error.kind() {
        ErrorKind::AddrInUse => BusError::PortTaken { endpoint },
        _ => BusError::CannotListen {
            endpoint,
            reason: error.to_string(),
        },
    }
}

fn field_error(field: &str, found: &str, expected: &'static str) -> BusError {
    let found: String = found.chars().take(64).collect();
    FieldError::new(format!("session.{field}"), format!("{found:?}"), expected).into()
}

fn check_endpoint(
    field: &'static str,
    endpoint: &str,
    scheme: &'static str,
) -> Result<(), BusError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]%".contains(&byte);
    let good = endpoint.strip_prefix(scheme).is_some_and(|address| {
        let port = address
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok());
        address.bytes().all(allowed) && port.is_some_and(|port| port > 0)
    });
    if good {
        return Ok(());
    }
    let expected = if scheme == "udp/" {
        "udp/<host>:<port>, as udp/127.0.0.1:7447"
    } else {
        "tcp/<host>:<port>, as tcp/127.0.0.1:7448"
    };
    Err(field_error(field, endpoint, expected))
}
