//! The TUN backend: one thread moves IP packets between two interfaces through the link model.
//!
//! Source: ours (transport.md 3). A packet is stamped when it is read, and written when the model
//! says; in between it lies in a slab that was allocated before the first one came.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::unistd::{read, write};

use super::Direction;
use super::NetLabError;
use super::impair::{Impairer, Impairment, Worker};

/// Packets read from one side before the due ones are looked after again.
const BURST: usize = 64;
/// Bytes kept for a packet; interfaces have an MTU of at most this.
pub(super) const PACKET_BYTE: usize = 2048;

/// One side as the emulator sees it.
#[derive(Debug)]
pub(super) struct Port {
    /// The TUN descriptor.
    pub tun: OwnedFd,
    /// The side's own address: packets to anybody else do not reach it.
    pub address: Ipv4Addr,
}

/// Starts the emulator between the master's port and the slave's.
///
/// # Errors
/// No thread can be had.
pub(super) fn start(
    impairment: Impairment,
    master: Port,
    slave: Port,
) -> Result<Worker, NetLabError> {
    Worker::start(
        "netlab-tun",
        impairment,
        PACKET_BYTE,
        move |impairer: Impairer<()>| {
            run(impairer, &[master, slave]);
        },
    )
}

/// Moves packets until the owner wants no more.
fn run(mut impairer: Impairer<()>, ports: &[Port; 2]) {
    let mut buffer = [0; PACKET_BYTE];
    while impairer.heed_owner(|_, _| ()) {
        impairer.release(|direction, bytes, ()| {
            // Forward is into the slave's port, the second.
            let exit = &ports[1 - source_of(direction)];
            write(&exit.tun, bytes).is_ok()
        });
        let Some(ready) = wait(&impairer, ports) else {
            return impairer.report_failure();
        };
        if ready[2] {
            impairer.drain_wake();
        }
        for direction in Direction::BOTH {
            let source = source_of(direction);
            if ready[source] && !take_in(&mut impairer, ports, direction, &mut buffer) {
                return impairer.report_failure();
            }
        }
    }
}

/// Sleeps until a packet is due or something is to be read; nothing if the kernel refuses.
fn wait(impairer: &Impairer<()>, ports: &[Port; 2]) -> Option<[bool; 3]> {
    let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut watched = [
        watch(ports[0].tun.as_fd()),
        watch(ports[1].tun.as_fd()),
        watch(impairer.wake().as_fd()),
    ];
    match ppoll(&mut watched, Some(impairer.sleep()), None) {
        Ok(_) => Some(watched.map(|entry| entry.any().unwrap_or(true))),
        Err(Errno::EINTR) => Some([false; 3]),
        Err(_) => None,
    }
}

/// Reads what has come from one side; false if its interface is gone.
fn take_in(
    impairer: &mut Impairer<()>,
    ports: &[Port; 2],
    direction: Direction,
    buffer: &mut [u8],
) -> bool {
    let source = source_of(direction);
    for _ in 0..BURST {
        let packet = match read(&ports[source].tun, buffer) {
            Ok(length) => &buffer[..length],
            Err(Errno::EAGAIN | Errno::EINTR) => return true,
            Err(_) => return false,
        };
        if is_for(packet, ports[1 - source].address) {
            let now = impairer.now();
            impairer.offer(now, direction, packet, ());
        } else {
            impairer.count_foreign(direction);
        }
    }
    true
}

/// Index of the port at which packets of a direction come in.
fn source_of(direction: Direction) -> usize {
    direction as usize
}

/// Whether this is an IPv4 packet to `address`, RFC 791 section 3.1.
///
/// All else is the kernel's housekeeping; it would use up draws of the seeded model.
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
