//! Datagrams of a secured session: one UDP socket that carries sealed frames only, without zenoh.
//!
//! The dialling side knows the address of the other. The listening side sends to the address from which the newest
//! authentic datagram came, so the path may change. A datagram that no agreed key opens is counted and dropped before
//! anything reads its content. Source: ours.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use palpate_transport::trace::Side;

use super::config::{BusConfig, ConnectionRole, listen_error};
use super::keys::Keyring;
use super::seal::{CipherError, KeySet, KeySets, OpenedDatagram, Refusal, SEAL_BYTES, plain_part};
use super::seal_agreement::{Offer, SealError, answer};
use super::{BusError, duration};
use palpate_transport::Span;
use palpate_transport::cdr::HAPTIC_FRAME_BYTES;

/// Longest datagram of the link.
const DATAGRAM_BYTES: usize = HAPTIC_FRAME_BYTES + SEAL_BYTES;

/// Time after which the receiving thread checks whether it must end \[ms\]; ours.
const WAKE_MS: f64 = 50.0;

/// Name of the receiving thread. It has the prefix of zenoh's threads, so that its priority is raised with theirs.
const THREAD: &str = "rx-sealed";

/// The socket and the keys of one side.
pub(crate) struct SealedLink {
    side: Side,
    keyring: Keyring,
    socket: UdpSocket,
    keys: Mutex<KeySets>,
    peer: Mutex<Option<SocketAddr>>,
    dials: bool,
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SealedLink {
    /// Opens the socket of a secured session.
    pub(crate) fn open(config: &BusConfig, keyring: &Keyring) -> Result<Self, BusError> {
        let failed = |error: io::Error| listen_error(&config.udp, &error);
        let address = config.udp.trim_start_matches("udp/");
        let address = address.to_socket_addrs().map_err(failed)?.next();
        let address = address.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let dials = config.role == ConnectionRole::Dial;
        let bound = match (dials, address.is_ipv4()) {
            (false, _) => UdpSocket::bind(address),
            (true, true) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
            (true, false) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = bound.map_err(failed)?;
        let wake = duration(Span::from_ms(WAKE_MS));
        socket.set_read_timeout(Some(wake)).map_err(failed)?;
        Ok(Self {
            side: config.side,
            keyring: keyring.clone(),
            socket,
            keys: Mutex::new(KeySets::default()),
            peer: Mutex::new(dials.then_some(address)),
            dials,
        })
    }

    /// Keys of the session.
    #[cfg(test)]
    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Makes an offer of keys.
    pub(crate) fn offer(&self) -> Result<Offer, SealError> {
        Offer::new(&self.keyring, self.side)
    }

    /// Takes the answer to an offer; from then on frames are sealed with the new keys.
    pub(crate) fn conclude(&self, offer: Offer, answer: &str) -> Result<(), SealError> {
        let set = offer.conclude(&self.keyring, self.side, answer)?;
        locked(&self.keys).add(set);
        Ok(())
    }

    /// Answer to an offer of a trusted host, and the keys for [`Self::add`].
    pub(crate) fn answer(&self, offer: &str) -> Result<(String, KeySet), SealError> {
        answer(&self.keyring, self.side, offer)
    }

    /// Adds the keys of an offer that was admitted.
    pub(crate) fn add(&self, keys: KeySet) {
        locked(&self.keys).add(keys);
    }

    /// Forgets all agreed keys, so that datagrams of a former peer are refused.
    pub(crate) fn forget_keys(&self) {
        *locked(&self.keys) = KeySets::default();
    }

    /// Name of the peer with which frames are sealed; none before the agreement.
    pub(crate) fn peer_name(&self) -> Option<String> {
        locked(&self.keys).peer().map(str::to_owned)
    }

    /// Seals a frame's bytes and sends them.
    pub(crate) fn send(&self, plain: &[u8]) -> Result<(), BusError> {
        let failed = |reason: String| BusError::Zenoh {
            action: "send a haptic frame",
            reason,
        };
        let mut datagram = [0; DATAGRAM_BYTES];
        let part = plain_part(&mut datagram).get_mut(..plain.len());
        let part = part.ok_or_else(|| failed("the frame is too long".to_owned()))?;
        part.copy_from_slice(plain);
        let sealed = locked(&self.keys).seal(&mut datagram, plain.len());
        let length = sealed.map_err(|_: CipherError| failed("no key is agreed".to_owned()))?;
        let peer = *locked(&self.peer);
        let peer =
            peer.ok_or_else(|| failed("the other side's address is not known".to_owned()))?;
        let sent = self.socket.send_to(&datagram[..length], peer);
        self.greet(&mut datagram, peer);
        sent.map(drop).map_err(|error| failed(error.to_string()))
    }

    /// Sends an empty datagram from the dialling side, if its newest keys are not confirmed. A listening side that
    /// restarted learns the address by it, and sends nothing before.
    fn greet(&self, datagram: &mut [u8], peer: SocketAddr) {
        if !self.dials {
            return;
        }
        let greeting = locked(&self.keys).seal_greeting(datagram);
        if let Some(length) = greeting {
            // the next one follows with the next frame
            let _ = self.socket.send_to(&datagram[..length], peer);
        }
    }

    /// True if frames can be sealed and the other side's address is known. The dialling side also sends an empty
    /// datagram, which shows its address.
    pub(crate) fn is_ready(&self) -> bool {
        let sealed = self.peer_name().is_some();
        if sealed && self.dials {
            // a lost one is followed by the next call's
            let _ = self.send(&[]);
        }
        sealed && locked(&self.peer).is_some()
    }

    /// Receives one datagram and calls `take` with its content; returns at the latest after [`WAKE_MS`].
    fn receive(&self, take: &mut impl FnMut(Result<&[u8], Refusal>)) {
        // one byte more, so that longer datagrams are not cut to a good length
        let mut datagram = [0; DATAGRAM_BYTES + 1];
        let Ok((length, from)) = self.socket.recv_from(&mut datagram) else {
            // nothing arrived, or an earlier datagram was refused by the other host
            return;
        };
        let opened = locked(&self.keys).open(&mut datagram[..length]);
        let content = opened.map(|OpenedDatagram { plain, is_newest }| {
            if is_newest && !self.dials {
                *locked(&self.peer) = Some(from);
            }
            plain
        });
        match content {
            // shows an address only
            Ok([]) => {}
            other => take(other),
        }
    }
}

/// Thread that receives datagrams, until dropped.
pub(crate) struct Receiver {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Calls `take` with the content of each authentic datagram, and with the reason of refusal for each other one.
    pub(crate) fn start(
        link: Arc<SealedLink>,
        mut take: impl FnMut(Result<&[u8], Refusal>) + Send + 'static,
    ) -> Result<Self, BusError> {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let body = move || {
            while !ended.load(Ordering::Relaxed) {
                link.receive(&mut take);
            }
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let thread = thread.spawn(body).map_err(|error| BusError::Zenoh {
            action: "start the thread that receives frames",
            reason: error.to_string(),
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // a panic has been printed
            let _ = thread.join();
        }
    }
}
