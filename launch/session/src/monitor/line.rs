//! The line between a side and its console: a pair of connected sockets, and messages with their length before them.
//!
//! A side that is a process of its own finds its end as its standard input, so that it needs no name that
//! others could take, and no network, which may be one of its own. Source: ours.

use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

/// Longest message \[bytes\]: a mesh of a million faces.
const LONGEST: usize = 32 << 20;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// To the console: the block of the side, as [`super::wire`] writes it, and the whole record as it is recorded.
    State = 1,
    /// To the console: rest positions, then faces; the number of nodes stands first, as u32.
    Mesh = 2,
    /// To the console: positions now.
    Surface = 3,
    /// To the console: an answer, as JSON.
    Answer = 4,
    /// To the side: an order with its number, as JSON.
    Order = 5,
    /// To the side: an aim, as the page sends it.
    Aim = 6,
    /// To the side: whether anybody watches, 1 or 0.
    Watched = 7,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::State,
        Self::Mesh,
        Self::Surface,
        Self::Answer,
        Self::Order,
        Self::Aim,
        Self::Watched,
    ];
}

/// Both ends of a new line.
///
/// # Errors
/// The system has no more sockets.
pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
    UnixStream::pair()
}

/// The end of a line that a supervisor gave this process as its standard input.
///
/// # Errors
/// The standard input cannot be held twice.
pub fn given() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Send one message: its length u32, its kind u8, and itself.
///
/// # Errors
/// The other end is gone, or does not read within the time that the socket was given.
pub fn send(stream: &mut impl Write, kind: Kind, message: &[u8]) -> io::Result<()> {
    let mut whole = Vec::with_capacity(5 + message.len());
    whole.extend((message.len() as u32).to_le_bytes());
    whole.push(kind as u8);
    whole.extend(message);
    // in one, so that a message is never half of one
    stream.write_all(&whole)
}

/// Wait for the next message, which replaces what `message` holds; none if the other end is closed.
///
/// # Errors
/// What comes is no message, or the socket broke.
pub fn receive(stream: &mut impl Read, message: &mut Vec<u8>) -> io::Result<Option<Kind>> {
    let mut head = [0; 5];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [a, b, c, d, number] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == number);
    let (Some(kind), true) = (kind, length <= LONGEST) else {
        let found = format!("kind {number} of {length} bytes; expected 1 to 7, at most {LONGEST}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, found));
    };
    message.resize(length, 0);
    stream.read_exact(message)?;
    Ok(Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let (mut here, mut there) = pair().expect("sockets");
        send(&mut here, Kind::Order, b"{}").expect("sent");
        send(&mut here, Kind::Watched, &[1]).expect("sent");
        drop(here);
        let mut message = Vec::new();
        let kind = receive(&mut there, &mut message).expect("whole");
        assert_eq!((kind, &*message), (Some(Kind::Order), &b"{}"[..]));
        let kind = receive(&mut there, &mut message).expect("whole");
        assert_eq!((kind, &*message), (Some(Kind::Watched), &[1][..]));
        assert_eq!(receive(&mut there, &mut message).expect("closed"), None);
    }

    #[test]
    fn what_is_no_message_is_refused_before_it_is_held() {
        let mut message = Vec::new();
        for bad in [[0xff, 0xff, 0xff, 0xff, 1], [1, 0, 0, 0, 99]] {
            let error = receive(&mut &bad[..], &mut message).expect_err("garbage");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        assert!(
            receive(&mut &[4, 0, 0, 0, 1, 7][..], &mut message).is_err(),
            "cut off"
        );
    }
}
