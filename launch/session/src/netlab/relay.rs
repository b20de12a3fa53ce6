//! The backend that needs no privilege: datagrams and streams on loopback, impaired on the way.
//!
//! Source: ours (transport.md 3, last resort). The master dials the relay instead of the slave.
//! Datagrams get everything the link model does; streams only its delay, jitter, rate and outages,
//! in order, because a kernel's stream cannot lose a segment of itself ([`super::stream`]).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::impair::{Impairer, Impairment, Worker};
use super::stream::Streams;
use super::{Direction, NetLabError};

/// Masters that are served at a time; of more, the one that was silent longest is forgotten.
const FLOWS: usize = 16;
/// Datagrams read from one socket before the due ones are looked after again.
const BURST: usize = 64;
/// Bytes kept for a datagram at the start; a longer one makes its buffer grow.
const DATAGRAM_BYTE: usize = 2048;
/// The longest datagram that UDP can carry.
const LONGEST_BYTE: usize = 65_535;
/// Descriptors that are polled before those of flows and streams.
const FIXED: usize = 3;

/// A relay that runs, and where the master is to dial it.
#[derive(Debug)]
pub(super) struct Relay {
    /// The thread.
    pub worker: Worker,
    /// For datagrams.
    pub udp: SocketAddr,
    /// For streams.
    pub tcp: SocketAddr,
}

/// Where a waiting datagram belongs: a flow, and which user of that place it was meant for.
#[derive(Debug, Clone, Copy, Default)]
struct Tag {
    flow: usize,
    user: u64,
}

/// A master that sends through the relay.
#[derive(Debug)]
struct Flow {
    master: SocketAddr,
    /// Connected to the slave, which takes it for the master.
    exit: UdpSocket,
    user: u64,
    last_used: u64,
}

/// The datagram half of the relay.
#[derive(Debug)]
struct Datagrams {
    entry: UdpSocket,
    slave: SocketAddr,
    flows: Vec<Flow>,
    received: u64,
}

/// Starts a relay to a slave that listens, now or later, on loopback at `udp` and `tcp`.
///
/// # Errors
/// No socket or thread can be had.
pub(super) fn start(
    impairment: Impairment,
    slave_udp: SocketAddr,
    slave_tcp: SocketAddr,
) -> Result<Relay, NetLabError> {
    let socket = |source| NetLabError::system("a socket on loopback", source);
    let entry = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(socket)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(socket)?;
    entry.set_nonblocking(true).map_err(socket)?;
    listener.set_nonblocking(true).map_err(socket)?;
    let udp = entry.local_addr().map_err(socket)?;
    let tcp = listener.local_addr().map_err(socket)?;
    let datagrams = Datagrams {
        entry,
        slave: slave_udp,
        flows: Vec::new(),
        received: 0,
    };
    let streams = Streams::new(listener, slave_tcp, &impairment.params, impairment.seeds)?;
    let worker = Worker::start("netlab-relay", impairment, DATAGRAM_BYTE, |impairer| {
        run(impairer, datagrams, streams);
    })?;
    Ok(Relay { worker, udp, tcp })
}

/// Relays until the owner wants no more.
fn run(mut impairer: Impairer<Tag>, mut datagrams: Datagrams, mut streams: Streams) {
    let mut buffer = vec![0; LONGEST_BYTE];
    while impairer.heed_owner(|direction, params| streams.set_params(direction, params)) {
        impairer.release(|direction, bytes, tag| datagrams.deliver(direction, bytes, tag));
        let stream_wait = streams.release(impairer.now());
        let Some(ready) = wait(&impairer, &datagrams, &streams, stream_wait) else {
            return impairer.report_failure();
        };
        if ready[0] {
            impairer.drain_wake();
        }
        if ready[1] {
            datagrams.take_from_masters(&mut impairer, &mut buffer);
        }
        if ready[2] {
            streams.accept();
        }
        let (flow_ready, stream_ready) = ready[FIXED..].split_at(ready[FIXED..].len().min(FLOWS));
        datagrams.take_from_slave(&mut impairer, flow_ready, &mut buffer);
        streams.take_in(stream_ready, impairer.now(), &mut buffer);
    }
}

/// Sleeps until something is due or to be read; nothing if the kernel refuses.
///
/// The answer has the wake-up channel, the entry, the listener, then [`FLOWS`] places for flows,
/// then two for each stream.
fn wait(
    impairer: &Impairer<Tag>,
    datagrams: &Datagrams,
    streams: &Streams,
    stream_wait: TimeSpec,
) -> Option<Vec<bool>> {
    let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut watched = vec![
        watch(impairer.wake().as_fd()),
        watch(datagrams.entry.as_fd()),
        watch(streams.listener().as_fd()),
    ];
    watched.extend(datagrams.flows.iter().map(|flow| watch(flow.exit.as_fd())));
    let streams_from = watched.len();
    watched.extend(streams.watched());
    let sleep = impairer.sleep().min(stream_wait);
    match ppoll(&mut watched, Some(sleep), None) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Some(vec![false; FIXED + FLOWS]),
        Err(_) => return None,
    }
    let ready = |entry: &PollFd| entry.any().unwrap_or(true);
    let mut answer: Vec<bool> = watched[..streams_from].iter().map(ready).collect();
    answer.resize(FIXED + FLOWS, false);
    answer.extend(watched[streams_from..].iter().map(ready));
    Some(answer)
}

impl Datagrams {
    /// Sends a datagram whose time has come; true if the socket took it.
    fn deliver(&mut self, direction: Direction, bytes: &[u8], tag: Tag) -> bool {
        let Some(flow) = self
            .flows
            .get(tag.flow)
            .filter(|flow| flow.user == tag.user)
        else {
            return false;
        };
        match direction {
            Direction::Forward => flow.exit.send(bytes).is_ok(),
            Direction::Back => self.entry.send_to(bytes, flow.master).is_ok(),
        }
    }

    /// Reads what masters have sent.
    fn take_from_masters(&mut self, impairer: &mut Impairer<Tag>, buffer: &mut [u8]) {
        for _ in 0..BURST {
            match self.entry.recv_from(buffer) {
                Ok((length, master)) => match self.flow_of(master) {
                    Ok(tag) => {
                        let now = impairer.now();
                        impairer.offer(now, Direction::Forward, &buffer[..length], tag);
                    }
                    Err(_) => impairer.count_foreign(Direction::Forward),
                },
                Err(error) if is_idle(&error) => return,
                // An earlier datagram was refused by its receiver; the socket is still good.
                Err(_) => {}
            }
        }
    }

    /// Reads what the slave has sent to each flow that is `ready`.
    fn take_from_slave(&mut self, impairer: &mut Impairer<Tag>, ready: &[bool], buffer: &mut [u8]) {
        for (n, flow) in self.flows.iter().enumerate() {
            if !ready.get(n).copied().unwrap_or(false) {
                continue;
            }
            for _ in 0..BURST {
                match flow.exit.recv(buffer) {
                    Ok(length) => {
                        let tag = Tag {
                            flow: n,
                            user: flow.user,
                        };
                        let now = impairer.now();
                        impairer.offer(now, Direction::Back, &buffer[..length], tag);
                    }
                    Err(error) if is_idle(&error) => break,
                    // The slave is not up yet (ICMP port unreachable); it may come.
                    Err(_) => {}
                }
            }
        }
    }

    /// The flow of a master, made anew for one that was not seen before.
    fn flow_of(&mut self, master: SocketAddr) -> io::Result<Tag> {
        self.received += 1;
        let last_used = self.received;
        if let Some(n) = self.flows.iter().position(|flow| flow.master == master) {
            let flow = &mut self.flows[n];
            flow.last_used = last_used;
            return Ok(Tag {
                flow: n,
                user: flow.user,
            });
        }
        let exit = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        exit.connect(self.slave)?;
        exit.set_nonblocking(true)?;
        let flow = Flow {
            master,
            exit,
            user: last_used,
            last_used,
        };
        let n = if self.flows.len() < FLOWS {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let ages = self
                .flows
                .iter()
                .enumerate()
                .map(|(n, flow)| (flow.last_used, n));
            let oldest = ages.min().map_or(0, |(_, n)| n);
            self.flows[oldest] = flow;
            oldest
        };
        Ok(Tag {
            flow: n,
            user: last_used,
        })
    }
}

/// Whether there is nothing more to read.
fn is_idle(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
