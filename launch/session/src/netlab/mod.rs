//! Network lab: an impaired network between master and slave on one machine.
//!
//! Source: ours (transport.md 3). `NetLab::build` uses the best backend that this machine
//! permits: kernel netem on a veth pair between two network namespaces, else a TUN pair with an
//! emulator that follows the seeded model of virtual time, else, without privilege, a
//! relay on loopback. Everything lives in descriptors and threads of the supervisor: dropping the
//! lab, or killing the supervisor, leaves nothing.

mod emulator;
mod impair;
mod kernel;
mod namespace;
mod netem;
mod orphans;
pub(crate) mod privilege;
mod relay;
mod stream;
#[cfg(test)]
mod tests;
mod tun;

pub use privilege::enter_user_namespace;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::Command;

use palpate_transport::link::{LinkError, LinkParams};
use palpate_transport::trace::Side;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use kernel::has_netem;
pub(crate) use tun::{TUN_NODE, open_node};

use crate::config::Config;
use impair::{Links, Worker};
use namespace::NetNamespace;

/// Most packets in flight in one direction; of the largest size, a quarter of a gigabyte.
const PACKETS: usize = 4096;

/// Direction of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDirection {
    /// From the master to the slave.
    Forward,
    /// From the slave to the master.
    Back,
}

impl LinkDirection {
    /// Both, in the order of their indices.
    pub(crate) const BOTH: [Self; 2] = [Self::Forward, Self::Back];

    /// Name of the direction.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Back => "back",
        }
    }
}

/// Backend that impairs the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Best backend that this machine permits.
    #[default]
    Auto,
    /// The kernel's netem on a veth pair between two namespaces; an error if unavailable.
    Netem,
    /// Emulator of Palpate between two TUN interfaces in two namespaces; an error if unavailable.
    Tun,
    /// Relay on loopback, in the host's network.
    Loopback,
}

/// Error of building or changing a network lab.
#[derive(Debug, Error)]
pub enum NetLabError {
    /// The parameters of the link are invalid.
    #[error(transparent)]
    Params(#[from] LinkError),
    /// The system refused a request.
    #[error("{what} was refused: {source}")]
    System {
        /// Requested resource or operation.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The kernel's netem cannot express the impairment.
    #[error("kernel netem has no link.{field}; our emulator (backend tun) has")]
    Inexpressible {
        /// The field of [`LinkParams`].
        field: &'static str,
    },
    /// The kernel has no netem.
    #[error("this kernel has no netem (CONFIG_NET_SCH_NETEM)")]
    NoNetem,
    /// A thread of the lab panicked.
    #[error("{who} ended unexpectedly")]
    Died {
        /// Description of the thread.
        who: &'static str,
    },
}

impl NetLabError {
    fn system(what: &'static str, source: io::Error) -> Self {
        Self::System { what, source }
    }
}

/// Seeds of the forward and the back direction of a session with `seed`.
pub(crate) fn direction_seeds(seed: u64) -> [u64; 2] {
    // the models spread their seed by splitmix64, so neighbouring seeds are independent
    [seed, seed.wrapping_add(1)]
}

/// Addresses of one side: for datagrams, and for streams.
type Ends = [SocketAddr; 2];

/// A link that has been built; dropping it removes it.
#[derive(Debug)]
pub(crate) struct NetLab {
    /// Worker that moves packets, none with netem; it ends before the namespaces that it uses.
    worker: Option<Worker>,
    /// Namespaces of the master and the slave; none on loopback.
    namespaces: Option<[NetNamespace; 2]>,
    seed: u64,
    /// Addresses that the master connects to, and those on which the slave listens.
    ends: [Ends; 2],
    /// Sentence that names the backend and the reason for it.
    pub(crate) explanation: String,
}

impl NetLab {
    /// Builds the link of a validated configuration, after ending the processes that a killed session has left.
    ///
    /// # Errors
    /// The refusal of the machine for the chosen backend. With [`Backend::Auto`] only sockets on loopback
    /// and threads can be refused.
    pub(crate) fn build(config: &Config) -> Result<Self, NetLabError> {
        orphans::kill_orphans();
        let backend = config.network.backend;
        let requested = format!("Link: backend {backend:?}, as requested.");
        match backend {
            Backend::Auto => Self::best(config),
            Backend::Netem => Self::of_netem(config, requested),
            Backend::Tun => Self::of_tun(config, requested),
            Backend::Loopback => Self::of_loopback(config, requested),
        }
    }

    /// Tries the backends from best to worst and collects the reasons against each.
    fn best(config: &Config) -> Result<Self, NetLabError> {
        let text = "Link: kernel netem on a veth pair between two network namespaces.";
        let no_netem = match Self::of_netem(config, text.into()) {
            Ok(lab) => return Ok(lab),
            Err(error) => error,
        };
        let text = format!(
            "Link: emulator between two TUN interfaces in two network namespaces ({no_netem})."
        );
        let no_tun = match Self::of_tun(config, text) {
            Ok(lab) => return Ok(lab),
            Err(error) => error,
        };
        let text = format!(
            "Link: impaired in user space on loopback, in the host's network; datagrams in full, \
             streams only delayed ({no_tun})."
        );
        Self::of_loopback(config, text)
    }

    fn of_netem(config: &Config, explanation: String) -> Result<Self, NetLabError> {
        Ok(Self {
            worker: None,
            namespaces: Some(kernel::impaired(&config.link, config.seed)?),
            seed: config.seed,
            ends: [ends(kernel::ADDRESSES[1], config); 2],
            explanation,
        })
    }

    fn of_tun(config: &Config, explanation: String) -> Result<Self, NetLabError> {
        let make = |side: Side| {
            NetNamespace::create(|| {
                let tun = tun::create(kernel::NAMES[side as usize])?;
                kernel::bring_up(side)?;
                Ok(tun)
            })
        };
        let (master_place, master) = make(Side::Master)?;
        let (slave_place, slave) = make(Side::Slave)?;
        let links = Links::new(&config.link, config.seed)?;
        Ok(Self {
            worker: Some(emulator::start(links, [master, slave])?),
            namespaces: Some([master_place, slave_place]),
            seed: config.seed,
            ends: [ends(kernel::ADDRESSES[1], config); 2],
            explanation,
        })
    }

    fn of_loopback(config: &Config, explanation: String) -> Result<Self, NetLabError> {
        let slave = ends(Ipv4Addr::LOCALHOST, config);
        // refuses a port in use before a side starts that cannot listen
        UdpSocket::bind(slave[0])
            .and_then(|_| TcpListener::bind(slave[1]))
            .map_err(|source| NetLabError::system("the slave's port on loopback", source))?;
        let links = Links::new(&config.link, config.seed)?;
        let (worker, master) = relay::start(links, config.seed, slave)?;
        Ok(Self {
            worker: Some(worker),
            namespaces: None,
            seed: config.seed,
            ends: [master, slave],
            explanation,
        })
    }

    /// Zenoh endpoints that the master connects to, or on which the slave listens: datagrams, then streams.
    pub(crate) fn endpoints(&self, side: Side) -> [String; 2] {
        let [udp, tcp] = self.ends[side as usize];
        [format!("udp/{udp}"), format!("tcp/{tcp}")]
    }

    /// Makes `command` start on `side`, and die with the thread that spawns it (by SIGKILL). Spawn it
    /// from a thread that lives as long as the session.
    ///
    /// A child that cannot enter its side's namespace does not start.
    ///
    /// # Errors
    /// This process cannot read its own entry under /proc.
    pub(crate) fn command_in(&self, side: Side, command: &mut Command) -> Result<(), NetLabError> {
        orphans::mark(command)
            .map_err(|source| NetLabError::system("reading /proc/self", source))?;
        if let Some(places) = &self.namespaces {
            places[side as usize].enter_on_spawn(command);
        }
        namespace::die_with_supervisor(command);
        Ok(())
    }

    /// Changes a direction while the link runs; packets in flight keep their times.
    ///
    /// # Errors
    /// Parameters that are invalid, or that netem cannot express; the kernel's refusal.
    pub(crate) fn set_link(
        &self,
        direction: LinkDirection,
        params: LinkParams,
    ) -> Result<(), NetLabError> {
        params.validate()?;
        if let Some(worker) = &self.worker {
            worker.links.lock()[direction as usize].set_params(params)?;
        } else if let Some(places) = &self.namespaces {
            kernel::set_params(places, direction, &params, self.seed)?;
        }
        Ok(())
    }

    /// True while the emulator runs, none with netem; after it has failed, nothing passes.
    pub(crate) fn is_running(&self) -> Option<bool> {
        self.worker.as_ref().map(Worker::is_running)
    }
}

/// Addresses of the slave; the stream's port is the next one.
fn ends(address: Ipv4Addr, config: &Config) -> Ends {
    let port = config.network.port;
    [port, port + 1].map(|port| SocketAddr::new(IpAddr::V4(address), port))
}
