//! Byte streams of the loopback relay: delayed and in order, without loss.
//!
//! Source: ours. The kernel that carries a stream handles its loss, duplication and reordering, so the
//! model runs without them here. Data in an outage waits for its end, as with
//! retransmission. Connecting is not delayed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::link::{Fate, LinkError, LinkModel, LinkParams};
use palpate_transport::{Span, Time};

use super::impair::Links;
use super::{LinkDirection, direction_seeds};

/// Most bytes in flight in one direction of a stream; then its sender is blocked.
const WINDOW_BYTE: usize = 4 << 20;
/// Time before data that met an outage, or a full receiver, is tried again.
const RETRY: Span = Span(5_000_000);

/// Bytes in flight; an empty chunk is the end of the stream.
#[derive(Debug)]
struct Chunk {
    due: Time,
    bytes: Vec<u8>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Pipe {
    chunks: VecDeque<Chunk>,
    waiting_byte: usize,
    /// Bytes that were read but that the model does not accept yet.
    blocked: Option<Vec<u8>>,
    retry_at: Time,
    ended: bool,
}

/// A master's connection with its continuation to the slave.
#[derive(Debug)]
struct Connection {
    /// Sockets, indexed by the direction of which they are the source.
    ends: [TcpStream; 2],
    pipes: [Pipe; 2],
    broken: bool,
}

/// The stream half of the relay.
#[derive(Debug)]
pub(super) struct Streams {
    /// Listening socket, to be polled.
    pub(super) listener: TcpListener,
    slave: SocketAddr,
    models: [LinkModel; 2],
    connections: Vec<Connection>,
}

impl Streams {
    /// Returns streams from masters that connect to `listener` on to `slave`, with the delays and the draws of
    /// `links`.
    pub(super) fn new(
        listener: TcpListener,
        slave: SocketAddr,
        links: &Links,
        seed: u64,
    ) -> Result<Self, LinkError> {
        let seeds = direction_seeds(seed);
        let model = |direction: LinkDirection| {
            let params = lossless(&links.params(direction));
            LinkModel::new(params, seeds[direction as usize])
        };
        Ok(Self {
            listener,
            slave,
            models: [model(LinkDirection::Forward)?, model(LinkDirection::Back)?],
            connections: Vec::new(),
        })
    }

    /// Accepts a master that has connected, if the slave accepts it too.
    pub(super) fn accept(&mut self) {
        let connect = || -> io::Result<Connection> {
            let (master, _) = self.listener.accept()?;
            let slave = TcpStream::connect(self.slave)?;
            for end in [&master, &slave] {
                end.set_nonblocking(true)?;
                end.set_nodelay(true)?;
            }
            Ok(Connection {
                ends: [master, slave],
                pipes: Default::default(),
                broken: false,
            })
        };
        // a refusal closes the master's connection, as a closed port would
        if let Ok(connection) = connect() {
            self.connections.push(connection);
        }
    }

    /// Poll entries, two per connection, in the order of [`Streams::take_in`].
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.connections.iter().flat_map(|connection| {
            let ends = connection.ends.iter().zip(&connection.pipes);
            ends.map(|(end, pipe)| {
                let flags = match pipe.has_room() {
                    true => PollFlags::POLLIN,
                    false => PollFlags::empty(),
                };
                PollFd::new(end.as_fd(), flags)
            })
        })
    }

    /// Reads from every end that is `ready`, with the present delays of `links`.
    pub(super) fn take_in(&mut self, links: &Links, ready: &[bool], buffer: &mut [u8]) {
        let now = MonotonicClock.now();
        for (direction, model) in LinkDirection::BOTH.into_iter().zip(&mut self.models) {
            // the parameters are valid, and a refusal would change nothing
            let _ = model.set_params(lossless(&links.params(direction)));
        }
        for (connection, ready) in self.connections.iter_mut().zip(ready.chunks(2)) {
            let ends = connection.ends.iter_mut().zip(&mut connection.pipes);
            let ends = ends.zip(&mut self.models).zip(ready);
            for (((end, pipe), model), _) in ends.filter(|(_, ready)| **ready) {
                if !pipe.has_room() {
                    // not polled for, so this is an error or a hang-up
                    connection.broken |= pipe.ended && pipe.chunks.is_empty();
                    continue;
                }
                match end.read(buffer) {
                    Ok(length) => {
                        pipe.ended = length == 0;
                        pipe.push(model, now, buffer[..length].to_vec());
                    }
                    Err(error) if is_transient(&error) => {}
                    Err(_) => connection.broken = true,
                }
            }
        }
    }

    /// Writes due data and removes ended connections; returns the time of the next event.
    pub(super) fn release(&mut self) -> Option<Time> {
        let now = MonotonicClock.now();
        for connection in &mut self.connections {
            for (index, pipe) in connection.pipes.iter_mut().enumerate() {
                if let Some(bytes) = pipe.blocked.take_if(|_| pipe.retry_at <= now) {
                    pipe.push(&mut self.models[index], now, bytes);
                }
                let exit = &mut connection.ends[1 - index];
                connection.broken |= pipe.write_due(exit, now).is_err();
            }
        }
        self.connections.retain(|connection| {
            !connection.broken && connection.pipes.iter().any(|pipe| !pipe.is_done())
        });
        let pipes = self.connections.iter().flat_map(|of| &of.pipes);
        pipes.filter_map(Pipe::next_event).min()
    }
}

impl Pipe {
    /// True if its sender may send.
    fn has_room(&self) -> bool {
        !self.ended && self.blocked.is_none() && self.waiting_byte < WINDOW_BYTE
    }

    /// True if the end of the stream has been passed on.
    fn is_done(&self) -> bool {
        self.ended && self.blocked.is_none() && self.chunks.is_empty()
    }

    /// Time of its next event.
    fn next_event(&self) -> Option<Time> {
        let blocked = self.blocked.as_ref().map(|_| self.retry_at);
        let front = self.chunks.front();
        let front = front.map(|chunk| chunk.due.max(self.retry_at));
        [blocked, front].into_iter().flatten().min()
    }

    /// Queues bytes, or blocks them during an outage.
    fn push(&mut self, model: &mut LinkModel, now: Time, bytes: Vec<u8>) {
        let Fate::Delivered { due, .. } = model.offer(now, bytes.len()) else {
            self.retry_at = now + RETRY;
            self.blocked = Some(bytes);
            return;
        };
        // jitter must not let a byte overtake another
        let due = self.chunks.back().map_or(due, |last| due.max(last.due));
        self.waiting_byte += bytes.len();
        self.chunks.push_back(Chunk { due, bytes });
    }

    /// Writes due data; data that does not fit into the receiver waits.
    fn write_due(&mut self, exit: &mut TcpStream, now: Time) -> io::Result<()> {
        while let Some(chunk) = self.chunks.front_mut()
            && chunk.due <= now
        {
            if chunk.bytes.is_empty() {
                exit.shutdown(Shutdown::Write)?;
                self.chunks.pop_front();
                continue;
            }
            match exit.write(&chunk.bytes) {
                Ok(length) => {
                    self.waiting_byte -= length;
                    chunk.bytes.drain(..length);
                }
                Err(error) if is_transient(&error) => {
                    self.retry_at = now + RETRY;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            if chunk.bytes.is_empty() {
                self.chunks.pop_front();
            }
        }
        Ok(())
    }
}

/// Link parameters of a stream: no loss, no copies, no overtaking.
fn lossless(params: &LinkParams) -> LinkParams {
    LinkParams {
        loss: 0.0,
        burst: 1.0,
        duplicate: 0.0,
        reorder: 0.0,
        jitter_reorders: false,
        ..*params
    }
}

/// True if the socket is good and only has nothing to do now.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
