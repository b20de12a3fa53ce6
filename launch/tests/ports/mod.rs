//! Free ports on loopback that no other test of this machine takes meanwhile.
//!
//! A port that was free a moment ago may be taken by another test when it is used: of this process, of another
//! binary, or of a second run of the suite. So each pair is claimed on an address that only tests bind, for as long
//! as it is used. The range is below Linux's range of ephemeral ports.

#![allow(dead_code, reason = "each binary of tests uses a part of it")]

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Address on which ports are claimed, without other use.
const CLAIMS: Ipv4Addr = Ipv4Addr::new(127, 66, 66, 66);

/// First port of the range.
const FIRST: u16 = 20_000;

/// Number of pairs in it.
const PAIRS: u32 = 6000;

/// Two neighbouring ports: datagrams at the first, streams at the second, as sessions use them.
pub(crate) struct Ports {
    first: u16,
    /// Held only as a claim.
    claim: UdpSocket,
}

impl Ports {
    /// Claims a pair on which nobody listens.
    pub(crate) fn free() -> Self {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        // processes start far from each other, so that few pairs are tried twice
        let begin = std::process::id().wrapping_mul(97);
        for _ in 0..PAIRS {
            let pair = begin.wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed)) % PAIRS;
            let first = FIRST + 2 * pair as u16;
            let Ok(claim) = UdpSocket::bind((CLAIMS, first)) else {
                continue;
            };
            let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, first));
            let streams = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 1));
            if datagrams.is_ok() && streams.is_ok() {
                return Self { first, claim };
            }
        }
        panic!("no two free ports from {FIRST} on");
    }

    /// Port of datagrams.
    pub(crate) fn datagrams(&self) -> u16 {
        self.first
    }

    /// Port of streams.
    pub(crate) fn streams(&self) -> u16 {
        self.first + 1
    }

    /// Assignment of a configuration that sets them.
    pub(crate) fn set(&self) -> String {
        format!("network.port={}", self.first)
    }

    /// True if somebody listens for streams here; the test does not connect.
    pub(crate) fn is_listening(&self) -> bool {
        let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
        // address in the machine's byte order, port, and the number of the state LISTEN
        let address = u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets());
        let here = format!(" {address:08X}:{:04X} 00000000:0000 0A ", self.streams());
        sockets.contains(&here)
    }
}

#[test]
fn ports_are_exclusive_and_listeners_are_detected() {
    let (one, other) = (Ports::free(), Ports::free());
    assert_ne!(one.datagrams(), other.datagrams());
    assert!(UdpSocket::bind((CLAIMS, one.datagrams())).is_err());
    assert!(!one.is_listening());
    let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, one.streams()));
    assert!(listening.is_ok() && one.is_listening() && !other.is_listening());
}
