//! The link lab: a network of our own between master and slave, as bad as a session wants it.
//!
//! Source: ours (transport.md 3). [`NetLab::build`] takes the best backend that this machine
//! allows: kernel netem on a veth pair between two network namespaces, else a TUN pair with an
//! emulator of ours that follows the same seeded model as virtual time, else, without privilege, a
//! relay on loopback. Everything lives in descriptors and threads of the supervisor: dropping the
//! lab, or killing the supervisor, leaves nothing.

mod emulator;
mod impair;
mod kernel;
mod namespace;
mod netem;
pub mod privilege;
mod queue;
mod relay;
mod rtnl;
mod stale;
mod stream;
mod tun;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::Command;

use palpate_transport::link::{LinkError, LinkParams};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use impair::DirectionStats;
pub use tun::TUN_NODE;

use impair::{Impairment, Worker};
use namespace::Place;

/// Default port of the slave for datagrams, as zenoh has it.
pub const UDP_PORT: u16 = 7447;
/// Default port of the slave for streams.
pub const TCP_PORT: u16 = 7448;
/// Most packets that a lab keeps on their way; 2 KiB are set aside for each.
pub const PACKETS_MAX: u32 = 65_536;

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Where the operator is; it dials.
    Master,
    /// Where the robot is; it listens.
    Slave,
}

/// A way along the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the master to the slave.
    #[default]
    Forward,
    /// From the slave to the master.
    Back,
}

impl Direction {
    /// Both, in the order of their indices.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Back];
}

/// What impairs the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The kernel's netem on a veth pair between two namespaces.
    Netem,
    /// Our emulator between two TUN interfaces in two namespaces.
    Tun,
    /// Our relay on loopback, in the host's network.
    Loopback,
}

/// Which backend is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// The best that this machine allows.
    #[default]
    Auto,
    /// Netem or an error.
    Netem,
    /// The TUN pair or an error.
    Tun,
    /// The relay on loopback, whatever the machine allows.
    Loopback,
}

/// How a link lab is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NetLabOptions {
    /// From the master to the slave.
    pub forward: LinkParams,
    /// From the slave to the master.
    pub back: LinkParams,
    /// Seed of all chance; the directions derive theirs from it, see [`direction_seeds`].
    pub seed: u64,
    /// Which backend.
    pub backend: BackendChoice,
    /// Packets that may be on their way, both directions together, 1 to [`PACKETS_MAX`].
    pub packets: u32,
    /// SCHED_FIFO priority (1..=99) asked for the emulator thread; none: an ordinary thread.
    pub fifo_priority: Option<i32>,
    /// Port of the slave for datagrams; 0 takes one that is free, in a namespace [`UDP_PORT`].
    pub udp_port: u16,
    /// Port of the slave for streams; 0 takes one that is free, in a namespace [`TCP_PORT`].
    pub tcp_port: u16,
}

impl Default for NetLabOptions {
    fn default() -> Self {
        Self {
            forward: LinkParams::default(),
            back: LinkParams::default(),
            seed: 1,
            backend: BackendChoice::Auto,
            packets: 8192,
            fifo_priority: Some(70),
            udp_port: 0,
            tcp_port: 0,
        }
    }
}

impl NetLabOptions {
    /// Checks every field.
    ///
    /// # Errors
    /// The first that is wrong, with its value and what would be right.
    pub fn validate(&self) -> Result<(), NetLabError> {
        self.forward.validate()?;
        self.back.validate()?;
        if (1..=PACKETS_MAX).contains(&self.packets) {
            return Ok(());
        }
        let (value, expected) = (self.packets, "1 to 65536 packets");
        Err(NetLabError::Option {
            field: "packets",
            value,
            expected,
        })
    }
}

/// Where the two sides meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// The slave listens here for datagrams.
    pub slave_udp: SocketAddr,
    /// The slave listens here for streams.
    pub slave_tcp: SocketAddr,
    /// The master sends datagrams here.
    pub dial_udp: SocketAddr,
    /// The master connects streams to this.
    pub dial_tcp: SocketAddr,
}

/// What the lab has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetLabStats {
    /// From the master to the slave.
    pub forward: DirectionStats,
    /// From the slave to the master.
    pub back: DirectionStats,
    /// Whether the emulator runs under SCHED_FIFO.
    pub real_time: bool,
    /// False once the emulator has failed; then nothing passes.
    pub running: bool,
}

/// Why a link lab could not be built or changed.
#[derive(Debug, Error)]
pub enum NetLabError {
    /// Parameters of the link make no sense.
    #[error(transparent)]
    Params(#[from] LinkError),
    /// The machine refused something.
    #[error("{what} was refused: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// The refusal.
        source: io::Error,
    },
    /// The kernel's netem has no such impairment.
    #[error("kernel netem has no link.{field}; our emulator (backend tun) has")]
    Inexpressible {
        /// The field of [`LinkParams`].
        field: &'static str,
    },
    /// The kernel has no netem.
    #[error("this kernel has no netem (CONFIG_NET_SCH_NETEM)")]
    NoNetem,
    /// An option of the lab is outside its range.
    #[error("netlab.{field} = {value}: must be {expected}")]
    Option {
        /// The field of [`NetLabOptions`].
        field: &'static str,
        /// Its value.
        value: u32,
        /// What would be right.
        expected: &'static str,
    },
    /// A thread of ours ended by a panic.
    #[error("{who} ended unexpectedly")]
    Died {
        /// Which.
        who: &'static str,
    },
}

impl NetLabError {
    pub(crate) fn system(what: &'static str, source: io::Error) -> Self {
        Self::System { what, source }
    }
}

/// Whether this kernel has netem.
///
/// # Errors
/// No privilege to ask, or a refusal that says nothing about netem.
pub fn netem_presence() -> Result<bool, NetLabError> {
    kernel::probe_netem().map(|discipline| discipline == rtnl::Discipline::Present)
}

/// Opens the TUN node and closes it again.
///
/// # Errors
/// It is absent, or not permitted to this process.
pub fn tun_access() -> io::Result<()> {
    tun::open_node().map(drop)
}

/// The seeds of the forward and the back direction of a session with `seed`.
#[must_use]
pub fn direction_seeds(seed: u64) -> [u64; 2] {
    // The models spread their seed by splitmix64, so neighbours are as good as any.
    [seed, seed.wrapping_add(1)]
}

/// A link that is there; it goes when this is dropped.
#[derive(Debug)]
pub struct NetLab {
    link: Link,
    addresses: Addresses,
    explanation: String,
    swept: Vec<u32>,
}

/// What makes up the link. Fields go in order: the worker before the namespaces it reaches into.
#[derive(Debug)]
enum Link {
    Netem(kernel::VethPair),
    Tun { worker: Worker, places: [Place; 2] },
    Loopback { worker: Worker },
}

impl NetLab {
    /// Builds the link, and first ends what a killed session has left.
    ///
    /// # Errors
    /// Parameters that make no sense; with a backend chosen, what the machine refused of it. With
    /// [`BackendChoice::Auto`] only sockets on loopback and threads can be refused.
    pub fn build(options: &NetLabOptions) -> Result<Self, NetLabError> {
        options.validate()?;
        let swept = stale::sweep();
        let (link, addresses, explanation) = match options.backend {
            BackendChoice::Auto => build_best(options)?,
            BackendChoice::Netem => chosen(build_netem(options)?),
            BackendChoice::Tun => chosen(build_tun(options)?),
            BackendChoice::Loopback => chosen(build_loopback(options)?),
        };
        Ok(Self {
            link,
            addresses,
            explanation,
            swept,
        })
    }

    /// Which backend was taken.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.link.backend()
    }

    /// Which backend was taken and why, as a sentence for people.
    #[must_use]
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// Numbers of the processes of killed sessions that were ended before this one began.
    #[must_use]
    pub fn swept(&self) -> &[u32] {
        &self.swept
    }

    /// Where the two sides meet.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What the master dials, or the slave listens on, as zenoh endpoints: datagrams, then streams
    /// (`stream` is `tcp` or `tls`).
    #[must_use]
    pub fn endpoints(&self, side: Side, stream: &str) -> [String; 2] {
        let addresses = &self.addresses;
        let (udp, tcp) = match side {
            Side::Master => (addresses.dial_udp, addresses.dial_tcp),
            Side::Slave => (addresses.slave_udp, addresses.slave_tcp),
        };
        [format!("udp/{udp}"), format!("{stream}/{tcp}")]
    }

    /// [`NetLab::endpoints`] of the master.
    #[must_use]
    pub fn master_endpoint(&self, stream: &str) -> [String; 2] {
        self.endpoints(Side::Master, stream)
    }

    /// [`NetLab::endpoints`] of the slave.
    #[must_use]
    pub fn slave_endpoint(&self, stream: &str) -> [String; 2] {
        self.endpoints(Side::Slave, stream)
    }

    /// Makes `command` start on `side`, and die with the thread that spawns it (by SIGKILL): spawn
    /// from one that lives as long as the session.
    ///
    /// A child that cannot enter its side's namespace does not start.
    ///
    /// # Errors
    /// This process cannot read its own entry under /proc.
    pub fn command_in(&self, side: Side, command: &mut Command) -> Result<(), NetLabError> {
        stale::mark(command).map_err(|source| NetLabError::system("reading /proc/self", source))?;
        if let Some(place) = self.link.place(side) {
            place.enter_on_spawn(command);
        }
        namespace::die_with_supervisor(command);
        Ok(())
    }

    /// Runs `work` in a thread on `side`; sockets that it makes stay there.
    ///
    /// # Errors
    /// The thread cannot enter the namespace, or panics.
    pub fn inside<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, NetLabError> {
        match self.link.place(side) {
            Some(place) => place.inside(work),
            None => Ok(work()),
        }
    }

    /// The number by which `/proc/PID/ns/net` shows the namespace of `side`; none on loopback.
    #[must_use]
    pub fn namespace_inode(&self, side: Side) -> Option<u64> {
        self.link.place(side).map(Place::inode)
    }

    /// Changes a direction while the link runs; packets that are on their way keep their times.
    ///
    /// # Errors
    /// Parameters that make no sense, or that netem cannot express; the kernel's refusal.
    pub fn set_link(&self, direction: Direction, params: LinkParams) -> Result<(), NetLabError> {
        params.validate()?;
        match &self.link {
            Link::Netem(pair) => pair.set_params(direction, &params),
            Link::Tun { worker, .. } | Link::Loopback { worker } => {
                worker.set_params(direction, params);
                Ok(())
            }
        }
    }

    /// What the emulator has done so far; none with netem, whose counts the kernel keeps.
    #[must_use]
    pub fn stats(&self) -> Option<NetLabStats> {
        match &self.link {
            Link::Netem(_) => None,
            Link::Tun { worker, .. } | Link::Loopback { worker } => Some(NetLabStats {
                forward: worker.stats(Direction::Forward),
                back: worker.stats(Direction::Back),
                real_time: worker.is_real_time(),
                running: worker.is_running(),
            }),
        }
    }
}

impl Link {
    fn backend(&self) -> Backend {
        match self {
            Self::Netem(_) => Backend::Netem,
            Self::Tun { .. } => Backend::Tun,
            Self::Loopback { .. } => Backend::Loopback,
        }
    }

    fn place(&self, side: Side) -> Option<&Place> {
        match self {
            Self::Netem(pair) => Some(&pair.places()[side as usize]),
            Self::Tun { places, .. } => Some(&places[side as usize]),
            Self::Loopback { .. } => None,
        }
    }
}

/// Tries the backends in order of worth and keeps the reasons.
fn build_best(options: &NetLabOptions) -> Result<(Link, Addresses, String), NetLabError> {
    let no_netem = match build_netem(options) {
        Ok((link, addresses)) => {
            let text = "Link: kernel netem on a veth pair between two network namespaces.";
            return Ok((link, addresses, text.into()));
        }
        Err(error) => error,
    };
    let no_tun = match build_tun(options) {
        Ok((link, addresses)) => {
            let text = format!(
                "Link: emulator between two TUN interfaces in two network namespaces ({no_netem})."
            );
            return Ok((link, addresses, text));
        }
        Err(error) => error,
    };
    let (link, addresses) = build_loopback(options)?;
    let text = format!(
        "Link: impaired in user space on loopback, in the host's network; datagrams in full, \
         streams only delayed ({no_tun})."
    );
    Ok((link, addresses, text))
}

/// A backend that was asked for.
fn chosen((link, addresses): (Link, Addresses)) -> (Link, Addresses, String) {
    let text = format!("Link: backend {:?}, as was asked.", link.backend());
    (link, addresses, text)
}

fn build_netem(options: &NetLabOptions) -> Result<(Link, Addresses), NetLabError> {
    let pair = kernel::VethPair::impaired(options)?;
    Ok((Link::Netem(pair), namespaced_addresses(options)))
}

fn build_tun(options: &NetLabOptions) -> Result<(Link, Addresses), NetLabError> {
    let make = |side: Side| {
        Place::create(|| {
            let end = kernel::end(side, options.packets);
            let tun = tun::create(end.name)?;
            rtnl::with_handle(async |handle| rtnl::bring_up(&handle, &end).await)?;
            Ok(emulator::Port {
                tun,
                address: end.address,
            })
        })
    };
    let (master_place, master) = make(Side::Master)?;
    let (slave_place, slave) = make(Side::Slave)?;
    let worker = emulator::start(impairment(options), master, slave)?;
    let link = Link::Tun {
        worker,
        places: [master_place, slave_place],
    };
    Ok((link, namespaced_addresses(options)))
}

fn build_loopback(options: &NetLabOptions) -> Result<(Link, Addresses), NetLabError> {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let slave_udp = local(free_port(options.udp_port, |at| {
        UdpSocket::bind(at)?.local_addr()
    })?);
    let slave_tcp = local(free_port(options.tcp_port, |at| {
        TcpListener::bind(at)?.local_addr()
    })?);
    let relay = relay::start(impairment(options), slave_udp, slave_tcp)?;
    let addresses = Addresses {
        slave_udp,
        slave_tcp,
        dial_udp: relay.udp,
        dial_tcp: relay.tcp,
    };
    Ok((
        Link::Loopback {
            worker: relay.worker,
        },
        addresses,
    ))
}

/// The port asked for, or for 0 one that is free now.
fn free_port(
    port: u16,
    bind: impl FnOnce(SocketAddr) -> io::Result<SocketAddr>,
) -> Result<u16, NetLabError> {
    let bound = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .map_err(|source| NetLabError::system("the slave's port on loopback", source))?;
    Ok(bound.port())
}

fn namespaced_addresses(options: &NetLabOptions) -> Addresses {
    let slave = IpAddr::V4(kernel::end(Side::Slave, options.packets).address);
    let at = |port, default| SocketAddr::new(slave, if port == 0 { default } else { port });
    let (udp, tcp) = (
        at(options.udp_port, UDP_PORT),
        at(options.tcp_port, TCP_PORT),
    );
    Addresses {
        slave_udp: udp,
        slave_tcp: tcp,
        dial_udp: udp,
        dial_tcp: tcp,
    }
}

fn impairment(options: &NetLabOptions) -> Impairment {
    Impairment {
        params: [options.forward, options.back],
        seeds: direction_seeds(options.seed),
        packets: options.packets as usize,
        fifo_priority: options.fifo_priority,
    }
}
