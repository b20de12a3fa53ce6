//! Loopback backend, which needs no privilege: a relay of datagrams and streams that impairs them.
//!
//! Source: ours (transport.md 3, last resort). The master connects to the relay instead of the slave.
//! The link model applies to datagrams in full. Streams get only its delay, jitter, rate and outages,
//! in order, because a kernel's stream cannot lose one of its segments ([`super::stream`]).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use super::impair::{Links, Worker, readable, wait};
use super::stream::Streams;
use super::{LinkDirection, NetLabError};

/// Most masters served at a time; beyond that, the one silent longest is dropped.
const FLOWS: usize = 16;
/// Datagrams read from one socket before due packets are sent again.
const BURST: usize = 64;
/// Longest UDP datagram.
const LONGEST_BYTE: usize = 65_535;

/// A master that sends through the relay.
#[derive(Debug)]
struct Flow {
    master: SocketAddr,
    /// Socket to the slave, which treats it as the master.
    exit: UdpSocket,
    /// Number that identifies its packets.
    number: u64,
}

/// The datagram half of the relay.
#[derive(Debug)]
struct Datagrams {
    entry: UdpSocket,
    slave: SocketAddr,
    /// Flows in the order of their last datagram, the newest last.
    flows: Vec<Flow>,
    flows_opened: u64,
}

/// Starts a relay to a slave that listens, now or later, on loopback for datagrams and for streams. Returns
/// the addresses for the master to connect to.
///
/// # Errors
/// The system cannot give a socket or a thread.
pub(super) fn start(
    links: Links,
    seed: u64,
    slave: [SocketAddr; 2],
) -> Result<(Worker, [SocketAddr; 2]), NetLabError> {
    let socket = |source| NetLabError::system("a socket on loopback", source);
    let entry = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(socket)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(socket)?;
    entry.set_nonblocking(true).map_err(socket)?;
    listener.set_nonblocking(true).map_err(socket)?;
    let udp = entry.local_addr().map_err(socket)?;
    let tcp = listener.local_addr().map_err(socket)?;
    let mut streams = Streams::new(listener, slave[1], &links, seed)?;
    let mut datagrams = Datagrams {
        entry,
        slave: slave[0],
        flows: Vec::new(),
        flows_opened: 0,
    };
    let worker = Worker::start("netlab-relay", links, move |links, owner| {
        run(links, owner, &mut datagrams, &mut streams);
    })?;
    Ok((worker, [udp, tcp]))
}

/// Relays until the owner closes its end.
fn run(links: &Links, owner: &UnixStream, datagrams: &mut Datagrams, streams: &mut Streams) {
    let mut buffer = vec![0; LONGEST_BYTE];
    loop {
        links.release(|direction, number, bytes| datagrams.deliver(direction, number, bytes));
        let due = links.next_due().into_iter().chain(streams.release()).min();
        let mut watched = vec![
            readable(datagrams.entry.as_fd()),
            readable(streams.listener.as_fd()),
        ];
        watched.extend(
            datagrams
                .flows
                .iter()
                .map(|flow| readable(flow.exit.as_fd())),
        );
        watched.extend(streams.watched());
        let Some(ready) = wait(owner, due, watched) else {
            return;
        };
        let (of_flows, of_streams) = ready[2..].split_at(datagrams.flows.len());
        datagrams.take_from_slave(links, of_flows, &mut buffer);
        streams.take_in(links, of_streams, &mut buffer);
        if ready[0] {
            datagrams.take_from_masters(links, &mut buffer);
        }
        if ready[1] {
            streams.accept();
        }
    }
}

impl Datagrams {
    /// Sends a due datagram; it is lost if its flow was dropped or no socket takes it.
    fn deliver(&self, direction: LinkDirection, number: u64, bytes: &[u8]) {
        if let Some(flow) = self.flows.iter().find(|flow| flow.number == number) {
            let _ = match direction {
                LinkDirection::Forward => flow.exit.send(bytes),
                LinkDirection::Back => self.entry.send_to(bytes, flow.master),
            };
        }
    }

    /// Reads the datagrams of masters.
    fn take_from_masters(&mut self, links: &Links, buffer: &mut [u8]) {
        for _ in 0..BURST {
            match self.entry.recv_from(buffer) {
                Ok((length, master)) => {
                    if let Ok(number) = self.flow_number(master) {
                        links.send(LinkDirection::Forward, number, &buffer[..length]);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // the receiver refused an earlier datagram; the socket is still good
                Err(_) => {}
            }
        }
    }

    /// Reads the datagrams of the slave for each flow that is `ready`.
    fn take_from_slave(&self, links: &Links, ready: &[bool], buffer: &mut [u8]) {
        for (flow, _) in self.flows.iter().zip(ready).filter(|(_, ready)| **ready) {
            for _ in 0..BURST {
                match flow.exit.recv(buffer) {
                    Ok(length) => links.send(LinkDirection::Back, flow.number, &buffer[..length]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // the slave is not up yet (ICMP port unreachable); it may come later
                    Err(_) => {}
                }
            }
        }
    }

    /// Flow number of a master; a new master gets a new flow.
    fn flow_number(&mut self, master: SocketAddr) -> io::Result<u64> {
        let known = self.flows.iter().position(|flow| flow.master == master);
        let flow = if let Some(n) = known {
            self.flows.remove(n)
        } else {
            let exit = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            exit.connect(self.slave)?;
            exit.set_nonblocking(true)?;
            self.flows_opened += 1;
            if self.flows.len() == FLOWS {
                self.flows.remove(0);
            }
            let number = self.flows_opened;
            Flow {
                master,
                exit,
                number,
            }
        };
        let number = flow.number;
        self.flows.push(flow);
        Ok(number)
    }
}
