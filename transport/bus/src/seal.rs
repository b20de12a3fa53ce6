//! Seal of datagrams: authenticated encryption under keys that both sides agreed on.
//!
//! A datagram is `id | number | ciphertext | tag`: 4 bytes name the keys, 8 bytes count the datagrams of one sender
//! under these keys and are the nonce, the tag has 16 bytes. A number is used once; a receiver accepts it once. Every
//! [`EPOCH`] datagrams the key is derived anew. Nothing here allocates after the agreement. Cipher: ChaCha20-Poly1305
//! (RFC 8439); derivation: HKDF-SHA-256 (RFC 5869). Source: ours.

use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};

/// Bytes of the names of keys and of the datagram's number.
const HEADER_BYTES: usize = 12;

/// Bytes of the tag.
const TAG_BYTES: usize = 16;

/// Bytes that a seal adds to a datagram.
pub(crate) const SEAL_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// Datagrams under one key: 17 minutes of a 1 kHz stream.
const EPOCH: u64 = 1 << 20;

/// Numbers that a receiver remembers: 2 s of a 1 kHz stream. Older ones are refused.
const WINDOW: u64 = 2048;

/// Most sets of keys that are kept; the peer's restarts and repeated agreements add one each.
const SETS_MAX: usize = 4;

/// Empty datagrams under keys that the peer has not confirmed: one with each frame of a second, later one with each
/// [`GREETING_PERIOD`] frames. The peer may take longer than that second before it has the keys.
const GREETINGS_DENSE: u64 = 1000;

/// Frames between two later ones.
const GREETING_PERIOD: u64 = 64;

/// A datagram that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No key opens it: it was forged, damaged, or sealed under keys that are gone.
    Unopened,
    /// It was opened before.
    Repeated,
    /// Its number is older than the window.
    Late,
}

/// Failure of the cryptographic library, which gives no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CipherError;

impl From<ring::error::Unspecified> for CipherError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self
    }
}

/// Numbers already received of one sender.
#[derive(Debug, Clone)]
struct ReplayWindow {
    newest: u64,
    seen: [u64; WINDOW as usize / 64],
}

impl ReplayWindow {
    const EMPTY: Self = Self {
        newest: 0,
        seen: [0; WINDOW as usize / 64],
    };

    /// Accepts each number once; only call it with authentic ones.
    fn admit(&mut self, number: u64) -> Result<(), Refusal> {
        if number.saturating_add(WINDOW) <= self.newest {
            return Err(Refusal::Late);
        }
        let skipped = number.saturating_sub(self.newest).min(WINDOW);
        for passed in number.saturating_sub(skipped)..number {
            self.set(passed + 1, false);
        }
        self.newest = self.newest.max(number);
        let slot = (number % WINDOW) as usize;
        if self.seen[slot / 64] >> (slot % 64) & 1 == 1 {
            return Err(Refusal::Repeated);
        }
        self.set(number, true);
        Ok(())
    }

    fn set(&mut self, number: u64, seen: bool) {
        let slot = (number % WINDOW) as usize;
        let bit = 1 << (slot % 64);
        match seen {
            true => self.seen[slot / 64] |= bit,
            false => self.seen[slot / 64] &= !bit,
        }
    }
}

/// Keys of one direction: that of the newest epoch, and that of the one before.
struct EpochKeys {
    secret: Prk,
    newest: (u64, LessSafeKey),
    before: Option<(u64, LessSafeKey)>,
}

impl EpochKeys {
    fn new(secret: Prk) -> Result<Self, CipherError> {
        let first = Self::derive(&secret, 0)?;
        Ok(Self {
            secret,
            newest: (0, first),
            before: None,
        })
    }

    fn derive(secret: &Prk, epoch: u64) -> Result<LessSafeKey, CipherError> {
        let info = [&b"epoch"[..], &epoch.to_le_bytes()];
        let key = UnboundKey::from(secret.expand(&info, &CHACHA20_POLY1305)?);
        Ok(LessSafeKey::new(key))
    }

    /// Makes the key of an epoch the newest one, if it is newer.
    fn advance(&mut self, epoch: u64) -> Result<(), CipherError> {
        if epoch > self.newest.0 {
            let next = (epoch, Self::derive(&self.secret, epoch)?);
            self.before = Some(std::mem::replace(&mut self.newest, next));
        }
        Ok(())
    }

    /// Calls `with` with the key of an epoch. A key of the future is not kept: its datagram may be forged.
    fn with<T>(
        &self,
        epoch: u64,
        with: impl FnOnce(&LessSafeKey) -> Result<T, CipherError>,
    ) -> Result<T, CipherError> {
        let known = [Some(&self.newest), self.before.as_ref()];
        match known.into_iter().flatten().find(|known| known.0 == epoch) {
            Some((_, key)) => with(key),
            None if epoch > self.newest.0 => with(&Self::derive(&self.secret, epoch)?),
            None => Err(CipherError),
        }
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - 8..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Keys of both directions from one agreement.
pub(crate) struct KeySet {
    id: u32,
    peer: String,
    sealing: EpochKeys,
    opening: EpochKeys,
    window: ReplayWindow,
    /// Number of the last datagram sealed.
    sealed: u64,
    /// True if the peer has these keys for certain.
    confirmed: bool,
}

impl KeySet {
    /// Derives the keys from the secret of an agreement. The side that `initiated` it has the peer's answer, so the
    /// peer has the keys; the other side waits for the first datagram.
    pub(crate) fn derive(secret: &Prk, peer: &str, initiated: bool) -> Result<Self, CipherError> {
        let part = |label: &'static [u8]| -> Result<Prk, CipherError> {
            Ok(Prk::from(secret.expand(&[label], HKDF_SHA256)?))
        };
        let (of_initiator, of_answerer) = (part(b"of initiator")?, part(b"of answerer")?);
        let (sealing, opening) = match initiated {
            true => (of_initiator, of_answerer),
            false => (of_answerer, of_initiator),
        };
        let mut name = [0; 32];
        secret.expand(&[b"id"], HKDF_SHA256)?.fill(&mut name)?;
        Ok(Self {
            id: u32::from_le_bytes([name[0], name[1], name[2], name[3]]),
            peer: peer.to_owned(),
            sealing: EpochKeys::new(sealing)?,
            opening: EpochKeys::new(opening)?,
            window: ReplayWindow::EMPTY,
            sealed: 0,
            confirmed: initiated,
        })
    }

    /// Name of the peer.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Seals the part of `datagram` after the header; returns the bytes in use.
    fn seal(&mut self, datagram: &mut [u8], plain_bytes: usize) -> Result<usize, CipherError> {
        let end = HEADER_BYTES + plain_bytes;
        if datagram.len() < end + TAG_BYTES {
            return Err(CipherError);
        }
        let number = self.sealed.checked_add(1).ok_or(CipherError)?;
        self.sealed = number;
        let epoch = number / EPOCH;
        self.sealing.advance(epoch)?;
        let (header, rest) = datagram.split_at_mut(HEADER_BYTES);
        header[..4].copy_from_slice(&self.id.to_le_bytes());
        header[4..].copy_from_slice(&number.to_le_bytes());
        let tag = self.sealing.with(epoch, |key| {
            let plain = &mut rest[..plain_bytes];
            Ok(key.seal_in_place_separate_tag(nonce(number), Aad::from(&*header), plain)?)
        })?;
        rest[plain_bytes..plain_bytes + TAG_BYTES].copy_from_slice(tag.as_ref());
        Ok(end + TAG_BYTES)
    }

    /// Opens a datagram in place.
    fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Result<OpenedDatagram<'a>, Refusal> {
        let (header, rest) = datagram
            .split_at_mut_checked(HEADER_BYTES)
            .ok_or(Refusal::Unopened)?;
        let mut number = [0; 8];
        number.copy_from_slice(&header[4..]);
        let number = u64::from_le_bytes(number);
        let sealed_bytes = rest.len().checked_sub(TAG_BYTES);
        let (body, tag) = rest.split_at_mut(sealed_bytes.ok_or(Refusal::Unopened)?);
        let tag = Tag::try_from(&*tag).map_err(|_| Refusal::Unopened)?;
        let epoch = number / EPOCH;
        let opened = self.opening.with(epoch, |key| {
            let aad = Aad::from(&*header);
            Ok(key
                .open_in_place_separate_tag(nonce(number), aad, tag, body, 0..)?
                .len())
        });
        let length = opened.map_err(|_| Refusal::Unopened)?;
        let is_newest = number > self.window.newest;
        self.window.admit(number)?;
        // it is authentic: keep the key of its epoch
        let _ = self.opening.advance(epoch);
        self.confirmed = true;
        Ok(OpenedDatagram {
            plain: &body[..length],
            is_newest,
        })
    }
}

/// Content of an authentic datagram.
pub(crate) struct OpenedDatagram<'a> {
    /// The content.
    pub(crate) plain: &'a [u8],
    /// True if its number is the greatest so far, under the newest keys that the peer has.
    pub(crate) is_newest: bool,
}

/// Sets of keys, in the order of their agreement.
#[derive(Default)]
pub(crate) struct KeySets(Vec<KeySet>);

impl KeySets {
    /// Adds a set. The oldest one that is not in use for sealing is dropped if there are too many.
    pub(crate) fn add(&mut self, set: KeySet) {
        if self.0.len() == SETS_MAX {
            let in_use = self.in_use();
            self.0.remove(usize::from(in_use == Some(0)));
        }
        self.0.push(set);
    }

    fn in_use(&self) -> Option<usize> {
        self.0.iter().rposition(|set| set.confirmed)
    }

    /// Peer with which frames are sealed now; none before the first agreement.
    pub(crate) fn peer(&self) -> Option<&str> {
        self.in_use().map(|k| &*self.0[k].peer)
    }

    /// Seals `plain_bytes` of `datagram` after the header, under the newest keys that the peer has for certain;
    /// returns the bytes in use.
    pub(crate) fn seal(
        &mut self,
        datagram: &mut [u8],
        plain_bytes: usize,
    ) -> Result<usize, CipherError> {
        let in_use = self.in_use().ok_or(CipherError)?;
        self.0[in_use].seal(datagram, plain_bytes)
    }

    /// Seals an empty datagram under the newest keys, if the peer may not have them yet; returns the bytes in use. Call
    /// it after each sealed frame.
    pub(crate) fn seal_greeting(&mut self, datagram: &mut [u8]) -> Option<usize> {
        let frames = self.0.get(self.in_use()?)?.sealed;
        let newest = self.0.last_mut()?;
        let is_due = newest.sealed < GREETINGS_DENSE || frames % GREETING_PERIOD == 0;
        let greets = !newest.confirmed && is_due;
        greets.then(|| newest.seal(datagram, 0).ok()).flatten()
    }

    /// Opens a datagram in place.
    pub(crate) fn open<'a>(
        &mut self,
        datagram: &'a mut [u8],
    ) -> Result<OpenedDatagram<'a>, Refusal> {
        let id = datagram.first_chunk().map(|id| u32::from_le_bytes(*id));
        let place = self.0.iter().position(|set| Some(set.id) == id);
        let place = place.ok_or(Refusal::Unopened)?;
        // a former peer that still sends does not attract the datagrams of its successor; keys that only an agreement
        // confirmed show no successor, as agreements of both sides can cross
        let has_opened = |set: &KeySet| set.window.newest > 0;
        let is_former = self.0[place + 1..].iter().any(has_opened);
        let opened = self.0[place].open(datagram)?;
        Ok(OpenedDatagram {
            is_newest: opened.is_newest && !is_former,
            ..opened
        })
    }
}

/// Times the seal: own CPU time for one frame of `plain_bytes`, sealed and opened, in each of `batches` of 100. For
/// `palpate bench`.
pub fn time_seal(plain_bytes: usize, batches: usize) -> Vec<Span> {
    const BATCH: i64 = 100;
    let secret = Prk::new_less_safe(HKDF_SHA256, b"a measurement");
    let sets = [true, false].map(|initiated| KeySet::derive(&secret, "", initiated));
    let [Ok(mut sender), Ok(mut receiver)] = sets else {
        return Vec::new();
    };
    let mut datagram = vec![0; plain_bytes + SEAL_BYTES];
    let timed = (0..batches).map(|_| {
        let begun = thread_cpu_now();
        for _ in 0..BATCH {
            let sealed = sender.seal(&mut datagram, plain_bytes);
            if sealed.is_err() || receiver.open(&mut datagram).is_err() {
                return Span(i64::MAX);
            }
        }
        Span((thread_cpu_now() - begun).0 / BATCH)
    });
    timed.collect()
}

/// Part of a datagram that its sender fills before it is sealed.
pub(crate) fn plain_part(datagram: &mut [u8]) -> &mut [u8] {
    let end = datagram.len().saturating_sub(TAG_BYTES);
    datagram.get_mut(HEADER_BYTES..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ring::hkdf::Salt;

    use super::*;

    const BYTES: usize = 40 + SEAL_BYTES;

    fn sets(seed: &[u8]) -> [KeySets; 2] {
        let secret = Salt::new(HKDF_SHA256, b"test").extract(seed);
        [true, false].map(|initiated| {
            let mut sets = KeySets::default();
            sets.add(KeySet::derive(&secret, "peer", initiated).expect("derived"));
            sets
        })
    }

    fn sealed(sets: &mut KeySets, content: u8) -> [u8; BYTES] {
        let mut datagram = [0; BYTES];
        plain_part(&mut datagram).fill(content);
        assert_eq!(sets.seal(&mut datagram, 40), Ok(BYTES));
        datagram
    }

    fn open(sets: &mut KeySets, datagram: &[u8]) -> Result<Vec<u8>, Refusal> {
        let mut copy = datagram.to_vec();
        sets.open(&mut copy).map(|opened| opened.plain.to_vec())
    }

    #[test]
    fn sealed_datagram_is_opened_once_and_hides_its_content() {
        let [mut here, mut there] = sets(b"secret");
        let datagram = sealed(&mut here, 7);
        assert!(!datagram.windows(4).any(|bytes| bytes == [7; 4]));
        assert_eq!(open(&mut there, &datagram), Ok(vec![7; 40]));
        assert_eq!(open(&mut there, &datagram), Err(Refusal::Repeated));
        // a sender does not accept its own datagrams
        assert_eq!(open(&mut here, &datagram), Err(Refusal::Unopened));
        let back = sealed(&mut there, 8);
        assert_eq!(open(&mut here, &back), Ok(vec![8; 40]));
    }

    #[test]
    fn answering_side_seals_after_the_first_datagram() {
        let [mut here, mut there] = sets(b"secret");
        assert_eq!(there.seal(&mut [0; BYTES], 40), Err(CipherError));
        assert_eq!(there.peer(), None);
        let datagram = sealed(&mut here, 1);
        assert!(open(&mut there, &datagram).is_ok());
        assert!(there.seal(&mut [0; BYTES], 40).is_ok());
        assert_eq!(there.peer(), Some("peer"));
    }

    #[test]
    fn keys_of_an_earlier_session_open_nothing() {
        let [mut before, _] = sets(b"yesterday");
        let [_, mut there] = sets(b"today");
        let recorded = sealed(&mut before, 1);
        assert_eq!(open(&mut there, &recorded), Err(Refusal::Unopened));
    }

    #[test]
    fn key_changes_with_the_epoch_and_late_datagrams_still_open() {
        let [mut here, mut there] = sets(b"secret");
        here.0[0].sealed = EPOCH - 3;
        let old: Vec<_> = (0..2).map(|k| sealed(&mut here, k)).collect();
        let new: Vec<_> = (2..4).map(|k| sealed(&mut here, k)).collect();
        assert_eq!(
            (here.0[0].sealed, here.0[0].sealing.newest.0),
            (EPOCH + 1, 1)
        );
        assert_eq!(open(&mut there, &new[1]), Ok(vec![3; 40]));
        assert_eq!(open(&mut there, &old[0]), Ok(vec![0; 40]));
        assert_eq!(open(&mut there, &new[0]), Ok(vec![2; 40]));
        assert_eq!(there.0[0].opening.newest.0, 1);
        // the content of one epoch is not that of the other under the same key
        let mut forged = old[1];
        forged[4..12].copy_from_slice(&(EPOCH + 7).to_le_bytes());
        assert_eq!(open(&mut there, &forged), Err(Refusal::Unopened));
    }

    #[test]
    fn keys_in_use_outlive_agreements_that_the_peer_never_confirms() {
        let [mut here, mut there] = sets(b"secret");
        let datagram = sealed(&mut here, 1);
        assert!(open(&mut there, &datagram).is_ok());
        for k in 0..10_u8 {
            let secret = Salt::new(HKDF_SHA256, b"test").extract(&[k]);
            there.add(KeySet::derive(&secret, "peer", false).expect("derived"));
        }
        assert_eq!(there.0.len(), SETS_MAX);
        let back = sealed(&mut there, 2);
        assert_eq!(open(&mut here, &back), Ok(vec![2; 40]));
    }

    #[test]
    fn former_peer_does_not_attract_the_datagrams_of_its_successor() {
        let [mut former, mut here] = sets(b"former");
        let [mut successor, _] = sets(b"successor");
        let secret = Salt::new(HKDF_SHA256, b"test").extract(b"successor");
        here.add(KeySet::derive(&secret, "peer", false).expect("derived"));
        let mut is_newest = |from: &mut KeySets| {
            let mut datagram = sealed(from, 1);
            here.open(&mut datagram).map(|opened| opened.is_newest)
        };
        assert_eq!(is_newest(&mut former), Ok(true));
        assert_eq!(is_newest(&mut successor), Ok(true));
        assert_eq!(is_newest(&mut former), Ok(false));
    }

    /// Each side answered the other's request before it had the answer to its own, so each had its own keys last. Then
    /// the listening side took the dialling one, which sends under its own keys, for a former peer.
    #[test]
    fn issue_crossed_agreements_hid_the_address() {
        let secret = |seed: &[u8]| Salt::new(HKDF_SHA256, b"test").extract(seed);
        let set = |seed, asked| KeySet::derive(&secret(seed), "peer", asked).expect("derived");
        let crossed = |own, other| {
            let mut sets = KeySets::default();
            sets.add(set(other, false));
            sets.add(set(own, true));
            sets
        };
        let (dialling, listening) = (&b"dials"[..], &b"listens"[..]);
        let (mut dials, mut listens) = (crossed(dialling, listening), crossed(listening, dialling));
        for content in 0..3 {
            let mut frame = sealed(&mut dials, content);
            let opened = listens.open(&mut frame).map(|opened| opened.is_newest);
            assert_eq!(opened, Ok(true));
            let back = sealed(&mut listens, content);
            assert_eq!(open(&mut dials, &back), Ok(vec![content; 40]));
        }
    }

    /// A restarted side that was held up for more than a second had its keys too late, and never learnt the peer's
    /// address.
    #[test]
    fn issue_late_side_missed_all_greetings() {
        let [mut here, _] = sets(b"former peer");
        let secret = Salt::new(HKDF_SHA256, b"test").extract(b"restarted peer");
        let [answered, asked] =
            [false, true].map(|it| KeySet::derive(&secret, "peer", it).expect("derived"));
        here.add(answered);
        let greeting = |here: &mut KeySets| {
            let mut datagram = sealed(here, 1).to_vec();
            let length = here.seal_greeting(&mut datagram);
            length.map(|length| datagram[..length].to_vec())
        };
        // for two seconds the restarted side has no keys
        for _ in 0..2 * GREETINGS_DENSE {
            greeting(&mut here);
        }
        let mut late = KeySets::default();
        late.add(asked);
        let mut later = (0..GREETING_PERIOD).filter_map(|_| greeting(&mut here));
        assert!(later.any(|datagram| open(&mut late, &datagram) == Ok(Vec::new())));
    }

    proptest! {
        #[test]
        fn every_change_of_a_datagram_is_refused(bit in 0..8 * BYTES, cut in 0..BYTES) {
            let [mut here, mut there] = sets(b"secret");
            let datagram = sealed(&mut here, 9);
            let mut changed = datagram;
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(open(&mut there, &changed), Err(Refusal::Unopened));
            prop_assert_eq!(open(&mut there, &datagram[..cut]), Err(Refusal::Unopened));
            prop_assert_eq!(open(&mut there, &datagram), Ok(vec![9; 40]));
        }

        /// Judged by a list of all numbers seen.
        #[test]
        fn window_accepts_each_number_once(steps in prop::collection::vec(-3000_i64..3000, 1..60)) {
            let mut window = ReplayWindow::EMPTY;
            let (mut seen, mut newest) = (Vec::new(), 0_u64);
            for step in steps {
                let number = newest.saturating_add_signed(step).max(1);
                let expected = if number + WINDOW <= newest {
                    Err(Refusal::Late)
                } else if seen.contains(&number) {
                    Err(Refusal::Repeated)
                } else {
                    Ok(())
                };
                prop_assert_eq!(window.admit(number), expected);
                seen.push(number);
                newest = newest.max(number);
            }
        }
    }
}
