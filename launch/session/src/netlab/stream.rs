//! Byte streams of the loopback relay: delayed, in order, never thinned out.
//!
//! Source: ours. Loss, duplication and reordering of a stream are the business of the kernel that
//! carries it, so here the model runs without them; what falls into an outage waits it out, as
//! retransmission would make it. Connecting is not delayed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use palpate_transport::link::{LinkError, LinkModel, LinkParams};
use palpate_transport::{Span, Time};

use super::Direction;
use super::impair::due_times;

/// Bytes that one direction of a stream may have on the way; then its sender is held back.
const WINDOW_BYTE: usize = 4 << 20;
/// How long data that met an outage, or a receiver that was full, waits for another try.
const RETRY: Span = Span(5_000_000);

/// Bytes on the way; none of them mean the end of the stream.
#[derive(Debug)]
struct Chunk {
    due: Time,
    bytes: Vec<u8>,
    sent: usize,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Pipe {
    chunks: VecDeque<Chunk>,
    waiting_byte: usize,
    /// Read, but not let in by the model yet.
    held: Option<Vec<u8>>,
    retry_at: Time,
    ended: bool,
}

/// A master's connection and its continuation to the slave.
#[derive(Debug)]
struct Connection {
    /// Indexed by the direction of which they are the source.
    ends: [TcpStream; 2],
    pipes: [Pipe; 2],
    broken: bool,
}

/// The stream half of the relay.
#[derive(Debug)]
pub(super) struct Streams {
    listener: TcpListener,
    slave: SocketAddr,
    models: [LinkModel; 2],
    connections: Vec<Connection>,
}

impl Streams {
    /// For masters that connect to `listener`, on to `slave`.
    pub(super) fn new(
        listener: TcpListener,
        slave: SocketAddr,
        params: &[LinkParams; 2],
        seeds: [u64; 2],
    ) -> Result<Self, LinkError> {
        let [forward, back] = params;
        let models = [
            LinkModel::new(lossless(forward), seeds[0])?,
            LinkModel::new(lossless(back), seeds[1])?,
        ];
        Ok(Self {
            listener,
            slave,
            models,
            connections: Vec::new(),
        })
    }

    /// The listener, to be polled.
    pub(super) fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Gives a direction new parameters.
    pub(super) fn set_params(&mut self, direction: Direction, params: &LinkParams) {
        // They are valid if the owner's were, and a refusal changes nothing.
        let _ = self.models[direction as usize].set_params(lossless(params));
    }

    /// Takes a master that has connected, if the slave takes it too.
    pub(super) fn accept(&mut self) {
        let connect = || -> io::Result<Connection> {
            let (master, _) = self.listener.accept()?;
            let slave = TcpStream::connect(self.slave)?;
            for end in [&master, &slave] {
                end.set_nonblocking(true)?;
                end.set_nodelay(true)?;
            }
            let pipes = [Pipe::default(), Pipe::default()];
            Ok(Connection {
                ends: [master, slave],
                pipes,
                broken: false,
            })
        };
        // A refusal closes the master's connection, which is what a closed port would do.
        if let Ok(connection) = connect() {
            self.connections.push(connection);
        }
    }

    /// Two descriptors a connection, in the order that [`Streams::take_in`] wants.
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.connections.iter().flat_map(|connection| {
            Direction::BOTH.map(|direction| {
                let open = connection.pipes[direction as usize].has_room();
                let flags = if open {
                    PollFlags::POLLIN
                } else {
                    PollFlags::empty()
                };
                PollFd::new(connection.ends[direction as usize].as_fd(), flags)
            })
        })
    }

    /// Reads from every end that is `ready`.
    pub(super) fn take_in(&mut self, ready: &[bool], now: Time, buffer: &mut [u8]) {
        for (connection, ready) in self.connections.iter_mut().zip(ready.chunks(2)) {
            for (direction, _) in Direction::BOTH
                .iter()
                .zip(ready)
                .filter(|(_, ready)| **ready)
            {
                let index = *direction as usize;
                let pipe = &mut connection.pipes[index];
                if !pipe.has_room() {
                    // Not asked for, so this is an error or a hang-up.
                    connection.broken |= pipe.ended && pipe.chunks.is_empty();
                    continue;
                }
                match connection.ends[index].read(buffer) {
                    Ok(length) => {
                        pipe.ended = length == 0;
                        pipe.take(&mut self.models[index], now, buffer[..length].to_vec());
                    }
                    Err(error) if is_transient(&error) => {}
                    Err(_) => connection.broken = true,
                }
            }
        }
    }

    /// Writes what is due at `now`, forgets what has ended; how long the relay may sleep.
    pub(super) fn release(&mut self, now: Time) -> TimeSpec {
        for connection in &mut self.connections {
            for (index, pipe) in connection.pipes.iter_mut().enumerate() {
                if let Some(bytes) = pipe.held.take_if(|_| pipe.retry_at <= now) {
                    pipe.take(&mut self.models[index], now, bytes);
                }
                let exit = &mut connection.ends[1 - index];
                connection.broken |= pipe.give(exit, now).is_err();
            }
        }
        self.connections.retain(|connection| {
            !connection.broken && connection.pipes.iter().any(|pipe| !pipe.is_done())
        });
        let pipes = self
            .connections
            .iter()
            .flat_map(|connection| &connection.pipes);
        let wait = pipes
            .filter_map(Pipe::next_event)
            .min()
            .map_or(1_000_000_000, |due| (due - now).0.clamp(0, 1_000_000_000));
        TimeSpec::new(wait / 1_000_000_000, wait % 1_000_000_000)
    }
}

impl Pipe {
    /// Whether its sender may send.
    fn has_room(&self) -> bool {
        !self.ended && self.held.is_none() && self.waiting_byte < WINDOW_BYTE
    }

    /// Whether the end of the stream has been passed on.
    fn is_done(&self) -> bool {
        self.ended && self.held.is_none() && self.chunks.is_empty()
    }

    /// When it wants to be looked at.
    fn next_event(&self) -> Option<Time> {
        let held = self.held.as_ref().map(|_| self.retry_at);
        let front = self.chunks.front().map(|chunk| match chunk.sent {
            0 => chunk.due.max(self.retry_at),
            _ => self.retry_at,
        });
        [held, front].into_iter().flatten().min()
    }

    /// Puts bytes on their way, or holds them back while the link is out.
    fn take(&mut self, model: &mut LinkModel, now: Time, bytes: Vec<u8>) {
        let Some(due) = due_times(model.offer(now, bytes.len())).next() else {
            self.retry_at = now + RETRY;
            self.held = Some(bytes);
            return;
        };
        // Jitter must not let a byte overtake another.
        let due = self.chunks.back().map_or(due, |last| due.max(last.due));
        self.waiting_byte += bytes.len();
        self.chunks.push_back(Chunk {
            due,
            bytes,
            sent: 0,
        });
    }

    /// Writes what is due; what the receiver has no room for waits.
    fn give(&mut self, exit: &mut TcpStream, now: Time) -> io::Result<()> {
        while let Some(chunk) = self.chunks.front_mut()
            && chunk.due <= now
        {
            if chunk.bytes.is_empty() {
                exit.shutdown(Shutdown::Write)?;
                self.chunks.pop_front();
                continue;
            }
            match exit.write(&chunk.bytes[chunk.sent..]) {
                Ok(length) => chunk.sent += length,
                Err(error) if is_transient(&error) => {
                    self.retry_at = now + RETRY;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            if chunk.sent == chunk.bytes.len() {
                self.waiting_byte -= chunk.bytes.len();
                self.chunks.pop_front();
            }
        }
        Ok(())
    }
}

/// The same link for a stream: no loss, no copies, no overtaking.
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

/// Whether the socket is good and only has nothing to do now.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
