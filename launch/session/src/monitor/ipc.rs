//! Ipc link between a side and its console: a pair of connected sockets, and messages with a length prefix.
//!
//! A side in a separate process gets its end as its standard input. So the link needs no name that
//! others could take, and no network, which may be an isolated one. Source: ours.

use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

/// Longest message \[bytes\]: a mesh of a million faces.
const LONGEST: usize = 32 << 20;

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum MessageKind {
    /// To the console: block of the side, as [`super::wire`] writes it, and the record as it is recorded.
    State = 1,
    /// To the console: number of nodes as u32, rest positions, faces.
    Mesh = 2,
    /// To the console: present positions.
    Surface = 3,
    /// To the console: reply with the number of its order, as JSON.
    Answer = 4,
    /// To the side: an order with its number, as JSON.
    Order = 5,
    /// To the side: pointer target, as the page sends it.
    Aim = 6,
    /// To the side: 1 if anybody watches, else 0.
    Watched = 7,
    /// To the console: name of a side that asks for the robot; empty if none does.
    Asks = 8,
}

impl MessageKind {
    const ALL: [Self; 8] = [
        Self::State,
        Self::Mesh,
        Self::Surface,
        Self::Answer,
        Self::Order,
        Self::Aim,
        Self::Watched,
        Self::Asks,
    ];
}

/// Ipc link that a supervisor passed to this process as its standard input.
///
/// # Errors
/// The standard input cannot be duplicated.
pub fn inherited_link() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Sends one message: length u32, kind u8, body.
///
/// # Errors
/// The other end is gone, or does not read within the timeout of the socket.
pub(super) fn send(stream: &mut impl Write, kind: MessageKind, message: &[u8]) -> io::Result<()> {
    let mut whole = Vec::with_capacity(5 + message.len());
    whole.extend((message.len() as u32).to_le_bytes());
    whole.push(kind as u8);
    whole.extend(message);
    // one write, so that messages of several threads do not interleave
    stream.write_all(&whole)
}

/// Waits for the next message, which replaces the content of `message`; none if the other end is closed.
///
/// # Errors
/// The bytes are no message, or the socket failed.
pub(super) fn receive(
    stream: &mut impl Read,
    message: &mut Vec<u8>,
) -> io::Result<Option<MessageKind>> {
    let mut head = [0; 5];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [a, b, c, d, number] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let kind = MessageKind::ALL
        .into_iter()
        .find(|kind| *kind as u8 == number);
    let (Some(kind), true) = (kind, length <= LONGEST) else {
        let found = format!("kind {number} of {length} bytes; expected 1 to 8, at most {LONGEST}");
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
        let (mut here, mut there) = UnixStream::pair().expect("sockets");
        send(&mut here, MessageKind::Order, b"{}").expect("sent");
        send(&mut here, MessageKind::Watched, &[1]).expect("sent");
        drop(here);
        let mut message = Vec::new();
        let kind = receive(&mut there, &mut message).expect("whole");
        assert_eq!((kind, &*message), (Some(MessageKind::Order), &b"{}"[..]));
        let kind = receive(&mut there, &mut message).expect("whole");
        assert_eq!((kind, &*message), (Some(MessageKind::Watched), &[1][..]));
        assert_eq!(receive(&mut there, &mut message).expect("closed"), None);
    }

    #[test]
    fn invalid_message_is_refused_before_allocation() {
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
