//! How a session is opened: endpoints, links, queues, time-outs.
//!
//! Source: transport section 9 (measured), facts 2, 3 and 8. Everything that zenoh would do by
//! itself (scouting, gossip, shared memory) is off: traffic goes where it was told to go.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use zenoh::{Config, Wait};

use super::SessionError;
use palpate_transport::Span;
use palpate_transport::trace::Side;

/// One thread for all of zenoh: a round trip then has p99 0.14 ms under load in place of 1 ms
/// (transport fact 2). `app` is handed over too: sockets are opened on it, so that its thread
/// would otherwise wake for every datagram only to wake the other (20 us a round trip, measured).
/// zenoh reads it from the environment at first use.
pub(crate) const ZENOH_RUNTIME: &str = "(rx:(worker_threads:1),tx:(handover:rx),net:(handover:rx),\
    acc:(handover:rx),app:(handover:rx))";

/// Name of that variable.
const ZENOH_RUNTIME_VARIABLE: &str = "ZENOH_RUNTIME";

/// Who waits and who dials; either side may do either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Waits to be dialled.
    Listen,
    /// Dials.
    Dial,
}

/// How to open a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionConfig {
    /// Whose frames this session sends.
    pub side: Side,
    /// Listen or dial; the two sides must differ.
    pub role: Role,
    /// Best-effort link, `udp/<host>:<port>`.
    pub udp: String,
    /// Reliable link, `tcp/<host>:<port>`.
    pub tcp: String,
    /// ROS 2 domain.
    pub domain: u32,
    /// Namespace of topics, letters, digits and `_`.
    pub namespace: String,
    /// Name of this node, letters, digits and `_`.
    pub node: String,
    /// Silence after which a peer counts as gone, 200 to 60 000 \[ms\].
    pub lease_ms: u32,
    /// How long a dialling side tries before it gives up, 1 ms to 600 s.
    pub connect_timeout: Span,
    /// SCHED_FIFO priority of zenoh's threads, 1 to 99; 0 asks for none.
    pub thread_priority: u8,
}

impl SessionConfig {
    /// Configuration for `host` with the measured defaults.
    #[must_use]
    pub fn new(side: Side, role: Role, host: &str, udp_port: u16, tcp_port: u16) -> Self {
        Self {
            side,
            role,
            udp: format!("udp/{host}:{udp_port}"),
            tcp: format!("tcp/{host}:{tcp_port}"),
            domain: 0,
            namespace: "palpate".to_owned(),
            node: side.name().to_owned(),
            lease_ms: 2000,
            connect_timeout: Span::from_s(5.0),
            thread_priority: 0,
        }
    }

    /// Check every field.
    ///
    /// # Errors
    /// [`SessionError::Config`] names the first that is wrong.
    pub fn validate(&self) -> Result<(), SessionError> {
        check_endpoint("udp", &self.udp, "udp/")?;
        check_endpoint("tcp", &self.tcp, "tcp/")?;
        check_name("namespace", &self.namespace)?;
        check_name("node", &self.node)?;
        if !(200..=60_000).contains(&self.lease_ms) {
            let found = self.lease_ms.to_string();
            return Err(wrong("lease_ms", &found, "200 to 60000 ms"));
        }
        let timeout_ms = self.connect_timeout.ms();
        if !(1.0..=600_000.0).contains(&timeout_ms) {
            let found = timeout_ms.to_string();
            return Err(wrong("connect_timeout", &found, "1 to 600000 ms"));
        }
        Ok(())
    }

    fn json5(&self) -> String {
        let endpoints = format!("[\"{}\", \"{}\"]", self.udp, self.tcp);
        let (listen, connect) = match self.role {
            Role::Listen => (endpoints.as_str(), "[]"),
            Role::Dial => ("[]", endpoints.as_str()),
        };
        format!(
            "{{ mode: 'peer',
                listen: {{ endpoints: {listen} }},
                connect: {{ endpoints: {connect}, timeout_ms: {timeout_ms}, exit_on_failure: true,
                    retry: {{ period_init_ms: 100, period_max_ms: 200,
                              period_increase_factor: 1 }} }},
                scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }},
                transport: {{
                    unicast: {{ max_links: 2, open_timeout: 1000, accept_timeout: 1000 }},
                    shared_memory: {{ enabled: false }},
                    link: {{ tx: {{ lease: {lease_ms}, keep_alive: 4, queue: {{
                        size: {{ real_time: 16 }},
                        congestion_control: {{ drop: {{ wait_before_drop: 0 }} }} }} }} }} }} }}",
            timeout_ms = self.connect_timeout.ms().round(),
            lease_ms = self.lease_ms,
        )
    }
}

/// Choose zenoh's threads (one worker); call it first in `main`. A choice that the user made
/// in the environment stays. Returns `false`, and changes nothing, if other threads run already.
#[must_use]
pub fn prepare_process() -> bool {
    if std::env::var_os(ZENOH_RUNTIME_VARIABLE).is_some() {
        return true;
    }
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if alone {
        // SAFETY: this is the only thread of the process, as just counted, so nobody reads or
        // writes the environment meanwhile.
        unsafe { std::env::set_var(ZENOH_RUNTIME_VARIABLE, ZENOH_RUNTIME) };
    }
    alone
}

pub(super) fn open(config: &SessionConfig) -> Result<zenoh::Session, SessionError> {
    config.validate()?;
    if config.role == Role::Listen {
        probe(&config.udp, |address| UdpSocket::bind(address).map(|_| ()))?;
        probe(&config.tcp, |address| {
            TcpListener::bind(address).map(|_| ())
        })?;
    }
    let zenoh_config =
        Config::from_json5(&config.json5()).map_err(SessionError::bus("configure the session"))?;
    zenoh::open(zenoh_config)
        .wait()
        .map_err(|error| match config.role {
            Role::Listen => SessionError::bus("open the session")(error),
            Role::Dial => SessionError::Unreachable {
                endpoints: format!("{}, {}", config.udp, config.tcp),
                waited_ms: config.connect_timeout.ms(),
            },
        })
}

/// Ask the system for the port and give it back: zenoh's own error would be a text.
fn probe(
    endpoint: &str,
    bind: impl FnOnce(&str) -> std::io::Result<()>,
) -> Result<(), SessionError> {
    let address = endpoint
        .split_once('/')
        .map_or(endpoint, |(_, address)| address);
    bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => SessionError::PortTaken {
            endpoint: endpoint.to_owned(),
        },
        _ => SessionError::CannotListen {
            endpoint: endpoint.to_owned(),
            reason: error.to_string(),
        },
    })
}

fn wrong(field: &'static str, found: &str, expected: &'static str) -> SessionError {
    SessionError::Config {
        field,
        found: found.chars().take(64).collect(),
        expected,
    }
}

fn check_endpoint(
    field: &'static str,
    endpoint: &str,
    scheme: &'static str,
) -> Result<(), SessionError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]%".contains(&byte);
    let good = endpoint.strip_prefix(scheme).is_some_and(|address| {
        let port = address
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok());
        address.bytes().all(plain) && port.is_some_and(|port| port > 0)
    });
    if good {
        return Ok(());
    }
    let expected = if scheme == "udp/" {
        "udp/<host>:<port>, as udp/127.0.0.1:7447"
    } else {
        "tcp/<host>:<port>, as tcp/127.0.0.1:7448"
    };
    Err(wrong(field, endpoint, expected))
}

fn check_name(field: &'static str, name: &str) -> Result<(), SessionError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(wrong(field, name, "letters, digits and '_'"));
    }
    Ok(())
}
