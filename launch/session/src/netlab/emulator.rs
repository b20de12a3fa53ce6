//! TUN backend: one thread moves IP packets between two interfaces through the link model.
//!
//! Source: ours (transport.md 3). A packet is stamped when it is read, and written when the model delivers it.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::unistd::{read, write};

use super::impair::{Links, Worker, readable, wait};
use super::kernel::ADDRESSES;
use super::{LinkDirection, NetLabError};

/// Packets read from one side before due packets are written again.
const BURST: usize = 64;
/// Longest packet that is read \[bytes\]; the interfaces' MTU is at most this.
const PACKET_BYTE: usize = 2048;

/// Starts the emulator between the master's TUN descriptor and the slave's.
///
/// # Errors
/// The system cannot start a thread.
pub(super) fn start(links: Links, tuns: [OwnedFd; 2]) -> Result<Worker, NetLabError> {
    let body = move |links: &Links, owner: &UnixStream| run(links, owner, &tuns);
    Worker::start("netlab-tun", links, body)
}

/// Moves packets until the owner closes its end, or an interface is gone.
fn run(links: &Links, owner: &UnixStream, tuns: &[OwnedFd; 2]) {
    let mut buffer = [0; PACKET_BYTE];
    loop {
        links.release(|direction, _, bytes| {
            // a full interface loses the packet
            let _ = write(&tuns[1 - direction as usize], bytes);
        });
        let watched = tuns.iter().map(|tun| readable(tun.as_fd()));
        let Some(ready) = wait(owner, links.next_due(), watched.collect()) else {
            return;
        };
        for direction in LinkDirection::BOTH {
            let is_ready = ready[direction as usize];
            if is_ready && !take_in(links, tuns, direction, &mut buffer) {
                return;
            }
        }
    }
}

/// Reads the packets of the side from which a direction leaves; false if its interface is gone. Packets to other
/// addresses than the other side's are dropped.
fn take_in(
    links: &Links,
    tuns: &[OwnedFd; 2],
    direction: LinkDirection,
    buffer: &mut [u8],
) -> bool {
    let source = direction as usize;
    for _ in 0..BURST {
        let packet = match read(&tuns[source], buffer) {
            Ok(length) => &buffer[..length],
            Err(Errno::EAGAIN | Errno::EINTR) => return true,
            Err(_) => return false,
        };
        if is_for(packet, ADDRESSES[1 - source]) {
            links.send(direction, 0, packet);
        }
    }
    true
}

/// True for an IPv4 packet to `address`, RFC 791 section 3.1.
///
/// Other packets are the kernel's; they would use up draws of the seeded model.
fn is_for(packet: &[u8], address: Ipv4Addr) -> bool {
    packet.len() >= 20 && packet[0] >> 4 == 4 && packet[16..20] == address.octets()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ipv4_packets_to_the_other_side_pass() {
        let address = Ipv4Addr::new(10, 66, 0, 2);
        let mut packet = [0_u8; 28];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&address.octets());
        assert!(is_for(&packet, address));
        assert!(!is_for(&packet, Ipv4Addr::new(10, 66, 0, 1)));
        assert!(!is_for(&packet[..19], address));
        packet[0] = 0x60;
        assert!(!is_for(&packet, address));
        assert!(!is_for(&[], address));
    }
}
