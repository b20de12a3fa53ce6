//! Agreement on the keys that seal frames: one line before the text of the query for terms, and one before its answer.
//!
//! Each side sends an ephemeral X25519 key, signed by the key of its host, which the other side has pinned. So keys are
//! fresh at each start, and only a trusted peer can agree on them, whatever carries the query. A line is `palpate-seal/1`, name of
//! the host, ephemeral key and signature in hexadecimal digits. Source: ours; the exchange is
//! signed as that of SIGMA, without its MAC: both lines and both pinned keys go into the derivation.

use std::fmt::Write as _;

use palpate_transport::trace::Side;
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::digest::{SHA256, digest};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::SystemRandom;

use super::BusError;
use super::keys::{HostCertificate, Keyring, KeyringError};
use super::seal::{CipherError, KeySet};

/// First word of a line: the version of the agreement.
const VERSION: &str = "palpate-seal/1";

/// Bytes of an ephemeral key.
const EPHEMERAL_BYTES: usize = 32;

/// Failure of an agreement on keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    /// The other side sent no key, or one in another format.
    #[error(
        "the other side offers no key for the seal; expected a line that begins with {VERSION}"
    )]
    NoOffer,
    /// The other side is a host that is not trusted here.
    #[error("the other side is {name:?}, which is not trusted here; see `palpate keys trust`")]
    Untrusted {
        /// Name that it gives.
        name: String,
    },
    /// The host is trusted as the other side only.
    #[error(
        "the other side is {name:?}, which may not be the {side} here; see `palpate keys trust --as`"
    )]
    WrongSide {
        /// Name of the host.
        name: String,
        /// Side that it would be.
        side: &'static str,
    },
    /// The signature is not that of the pinned key.
    #[error(
        "the other side says that it is {name:?}, but another key than the trusted one signed this"
    )]
    Signature {
        /// Name that it gives.
        name: String,
    },
    /// The own key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyringError),
    /// The cipher failed.
    #[error("the cipher failed")]
    Cipher,
}

impl From<CipherError> for SealError {
    fn from(_: CipherError) -> Self {
        Self::Cipher
    }
}

impl From<ring::error::Unspecified> for SealError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self::Cipher
    }
}

impl From<SealError> for BusError {
    fn from(error: SealError) -> Self {
        Self::Seal {
            reason: error.to_string(),
        }
    }
}

/// Offer of a side, until its answer arrives.
pub(crate) struct Offer {
    key: EphemeralPrivateKey,
    line: String,
}

impl Offer {
    /// Makes an offer of `side`.
    pub(crate) fn new(keyring: &Keyring, side: Side) -> Result<Self, SealError> {
        let key = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new())?;
        let line = signed_line(keyring, &key, side, "")?;
        Ok(Self { key, line })
    }

    /// Line to send.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Derives the keys from the answer of the other side.
    pub(crate) fn conclude(
        self,
        keyring: &Keyring,
        side: Side,
        answer: &str,
    ) -> Result<KeySet, SealError> {
        let line = ParsedLine::read(keyring, answer, side.other(), &self.line)?;
        let prints = [
            keyring.own.certificate().fingerprint(),
            line.peer.fingerprint(),
        ];
        let transcript = format!("{} {}\n{}\n{answer}", prints[0], prints[1], self.line);
        derive(self.key, &line, &transcript, true)
    }
}

/// Answers an offer of the other side; returns the line to send, and the keys.
pub(crate) fn answer(
    keyring: &Keyring,
    side: Side,
    offer: &str,
) -> Result<(String, KeySet), SealError> {
    let line = ParsedLine::read(keyring, offer, side.other(), "")?;
    let key = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new())?;
    let answer = signed_line(keyring, &key, side, offer)?;
    let prints = [
        line.peer.fingerprint(),
        keyring.own.certificate().fingerprint(),
    ];
    let transcript = format!("{} {}\n{offer}\n{answer}", prints[0], prints[1]);
    let keys = derive(key, &line, &transcript, false)?;
    Ok((answer, keys))
}

fn derive(
    key: EphemeralPrivateKey,
    line: &ParsedLine<'_>,
    transcript: &str,
    initiated: bool,
) -> Result<KeySet, SealError> {
    let salt = Salt::new(HKDF_SHA256, digest(&SHA256, transcript.as_bytes()).as_ref());
    let theirs = UnparsedPublicKey::new(&X25519, line.ephemeral);
    // an error also for keys that would give a known secret (RFC 7748, section 6.1)
    let secret = agree_ephemeral(key, &theirs, |secret| salt.extract(secret))?;
    Ok(KeySet::derive(&secret, line.peer.name(), initiated)?)
}

/// Text that a side signs; an answer is bound to the offer that it answers.
fn signed_text(side: Side, offer: &str, ephemeral: &str) -> String {
    format!("{VERSION} {} {offer} {ephemeral}", side.name())
}

fn signed_line(
    keyring: &Keyring,
    key: &EphemeralPrivateKey,
    side: Side,
    offer: &str,
) -> Result<String, SealError> {
    let ephemeral = hex(key.compute_public_key()?.as_ref());
    let text = signed_text(side, offer, &ephemeral);
    let signature = hex(&keyring.own.sign(text.as_bytes())?);
    let name = keyring.own.name();
    Ok(format!("{VERSION} {name} {ephemeral} {signature}"))
}

/// Line of a trusted peer, with a valid signature.
struct ParsedLine<'a> {
    peer: &'a HostCertificate,
    ephemeral: [u8; EPHEMERAL_BYTES],
}

impl<'a> ParsedLine<'a> {
    /// Reads and verifies a line that `side` sent: the answer to `offer`, or an offer if `offer` is empty.
    fn read(keyring: &'a Keyring, line: &str, side: Side, offer: &str) -> Result<Self, SealError> {
        let mut words = line.split(' ');
        let [version, name, key, signature] = [(); 4].map(|()| words.next().unwrap_or_default());
        if version != VERSION || words.next().is_some() {
            return Err(SealError::NoOffer);
        }
        let Some(peer) = keyring.peer(name) else {
            let name = name.chars().take(64).collect();
            return Err(SealError::Untrusted { name });
        };
        if !keyring.permits(name, side) {
            let (name, side) = (peer.name().to_owned(), side.name());
            return Err(SealError::WrongSide { name, side });
        }
        let ephemeral = bytes(key).and_then(|key| key.try_into().ok());
        let (Some(ephemeral), Some(signature)) = (ephemeral, bytes(signature)) else {
            return Err(SealError::NoOffer);
        };
        if !peer.has_signed(signed_text(side, offer, key).as_bytes(), &signature) {
            let name = peer.name().to_owned();
            return Err(SealError::Signature { name });
        }
        Ok(Self { peer, ephemeral })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let text = std::str::from_utf8(pair)
                .ok()
                .filter(|text| text.len() == 2)?;
            u8::from_str_radix(text, 16).ok()
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use palpate_transport::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::keys::HostKey;
    use crate::seal::{KeySets, SEAL_BYTES, plain_part};

    /// Keyrings of two hosts that trust each other.
    pub(crate) fn keyrings(wall: Time) -> [Keyring; 2] {
        let hosts =
            ["operator", "robot"].map(|name| HostKey::generate(name, wall).expect("generated"));
        [0, 1].map(|k: usize| Keyring {
            own: hosts[k].clone(),
            peers: vec![hosts[1 - k].certificate().clone()],
            only: BTreeMap::new(),
            guests: Vec::new(),
        })
    }

    const NOW: Time = Time(1_800_000_000_000_000_000);

    #[test]
    fn both_sides_derive_the_same_fresh_keys() {
        let [operator, robot] = keyrings(NOW);
        let mut datagrams = Vec::new();
        for _ in 0..2 {
            let offer = Offer::new(&operator, Side::Master).expect("offers");
            let (line, theirs) = answer(&robot, Side::Slave, offer.line()).expect("answers");
            let ours = offer
                .conclude(&operator, Side::Master, &line)
                .expect("agrees");
            let [mut here, mut there] = [ours, theirs].map(|set| {
                let mut sets = KeySets::default();
                sets.add(set);
                sets
            });
            assert_eq!(here.peer(), Some("robot"));
            let mut datagram = [0; 4 + SEAL_BYTES];
            plain_part(&mut datagram).fill(5);
            here.seal(&mut datagram, 4).expect("seals");
            datagrams.push(datagram);
            let opened = there
                .open(&mut datagram)
                .map(|opened| opened.plain.to_vec());
            assert_eq!(opened, Ok(vec![5; 4]));
            assert_eq!(there.peer(), Some("operator"));
        }
        assert_ne!(datagrams[0], datagrams[1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Mutations of a good line belong to the hostile corpus; the words of a line are not public.
        #[test]
        fn changed_line_is_refused(
            at in 0_usize..1000,
            removed in 0_usize..40,
            inserted in proptest::collection::vec(any::<char>(), 0..8),
        ) {
            let [operator, robot] = keyrings(NOW);
            let offer = Offer::new(&operator, Side::Master).expect("offers");
            let characters: Vec<char> = offer.line().chars().collect();
            let at = at % characters.len();
            let after = (at + removed).min(characters.len());
            let changed = [&characters[..at], &inserted, &characters[after..]].concat();
            let changed: String = changed.into_iter().collect();
            // hexadecimal digits have two cases
            let is_same = changed.eq_ignore_ascii_case(offer.line());
            let answered = answer(&robot, Side::Slave, &changed).is_ok();
            prop_assert!(!answered || is_same, "{changed:?}");
            let second = Offer::new(&operator, Side::Master).expect("offers");
            prop_assert!(second.conclude(&operator, Side::Master, &changed).is_err());
        }
    }

    #[test]
    fn host_may_be_its_permitted_side_only() {
        let [operator, mut robot] = keyrings(NOW);
        for (only, is_permitted) in [(Side::Master, true), (Side::Slave, false)] {
            robot.only.insert("operator".to_owned(), only);
            let offer = Offer::new(&operator, Side::Master).expect("offers");
            let answered = answer(&robot, Side::Slave, offer.line());
            let refused = matches!(answered, Err(SealError::WrongSide { .. }));
            assert_eq!((answered.is_ok(), refused), (is_permitted, !is_permitted));
        }
    }

    #[test]
    fn only_the_pinned_key_of_the_right_side_is_accepted() {
        let [operator, robot] = keyrings(NOW);
        // a host of the same name with another key, and one that nobody trusts
        let [impostor, _] = keyrings(NOW);
        let stranger = Keyring {
            own: HostKey::generate("stranger", NOW).expect("generated"),
            ..impostor.clone()
        };
        let refusal = |from: &Keyring, side| {
            let offer = Offer::new(from, side).expect("offers");
            let answered = answer(&robot, Side::Slave, offer.line());
            answered.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(refusal(&operator, Side::Master), Ok(()));
        let error = refusal(&impostor, Side::Master).expect_err("another key");
        assert!(error.contains("another key"), "{error}");
        let error = refusal(&stranger, Side::Master).expect_err("unknown");
        assert!(
            error.contains("stranger") && error.contains("not trusted"),
            "{error}"
        );
        assert!(refusal(&operator, Side::Slave).is_err());
        for line in [
            "",
            "palpate-seal/2 operator 00 00",
            "palpate-seal/1 operator zz 0",
        ] {
            let answered = answer(&robot, Side::Slave, line).map(drop);
            assert!(matches!(answered, Err(SealError::NoOffer)), "{line}");
        }
    }

    #[test]
    fn answer_to_another_offer_is_refused() {
        let [operator, robot] = keyrings(NOW);
        let [first, second] =
            [(); 2].map(|()| Offer::new(&operator, Side::Master).expect("offers"));
        let (line, _) = answer(&robot, Side::Slave, first.line()).expect("answers");
        let replayed = second.conclude(&operator, Side::Master, &line);
        assert!(matches!(replayed, Err(SealError::Signature { .. })));
    }
}
