//! Identity of a host, and the certificates of the peers that it trusts; no files.
//!
//! A host has one Ed25519 key and one certificate, which that key signed itself. A peer is trusted by pinning its
//! certificate, as SSH pins host keys. A guest may only look, and this host issues its certificate.
//! A guest is not pinned: with a pinned key one can sign a certificate of any name, and access control compares names.
//! Source: ours.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fmt;

use palpate_transport::Time;
use palpate_transport::trace::Side;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, PKCS_ED25519, SigningKey as _,
    date_time_ymd,
};
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, UnparsedPublicKey};
use x509_parser::parse_x509_certificate;
use x509_parser::pem::parse_x509_pem;
use x509_parser::time::ASN1Time;

/// Time by which a certificate is valid before it was made \[s\], because clocks differ; ours.
const EARLIER_S: i64 = 86_400;

/// Length of a certificate's life \[s\]: ten years. A pinned key is trusted until it is revoked.
const LIFE_S: i64 = 10 * 365 * 86_400;

/// Longest name of a host.
const NAME_CHARS_MAX: usize = 32;

/// Failure with an identity or a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// A name cannot be used.
    #[error("the name is {found:?}; expected 1 to 32 letters, digits, - and _")]
    Name {
        /// Name found.
        found: String,
    },
    /// A certificate cannot be read.
    #[error("the certificate: {reason}; expected one that `palpate keys new` wrote")]
    Certificate {
        /// Reason.
        reason: String,
    },
    /// A private key cannot be made, read or used.
    #[error("the private key: {reason}")]
    PrivateKey {
        /// Reason.
        reason: String,
    },
    /// The clock of this host is outside of the dates of a certificate.
    #[error(
        "the clock of this host shows {now}, but the certificate of {name} is valid from {from} to {until}; set the \
         clock, or make new keys"
    )]
    Dates {
        /// Name in the certificate.
        name: String,
        /// Time of the clock.
        now: String,
        /// Begin of the validity.
        from: String,
        /// End of the validity.
        until: String,
    },
    /// No peer is trusted.
    #[error("no peer is trusted; expected at least one certificate of `palpate keys trust`")]
    NoPeer,
}

/// Checks the name of a host or a guest. It has no dot, so that no public certificate authority signs it.
///
/// # Errors
/// [`KeyringError::Name`].
pub fn check_name(name: &str) -> Result<(), KeyringError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let good = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(allowed);
    good.then_some(()).ok_or_else(|| KeyringError::Name {
        found: name.chars().take(64).collect(),
    })
}

/// Hash of a public key for people who compare keys: groups of four hexadecimal digits.
fn fingerprint(public_key_der: &[u8]) -> String {
    let hash = digest(&SHA256, public_key_der);
    let groups = hash.as_ref().chunks(2);
    let groups: Vec<String> = groups
        .map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    groups.join(" ")
}

/// Certificate of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCertificate {
    name: String,
    public_key: Vec<u8>,
    fingerprint: String,
    valid_s: [i64; 2],
    pem: String,
}

impl HostCertificate {
    /// Reads a certificate.
    ///
    /// # Errors
    /// [`KeyringError::Certificate`] and [`KeyringError::Name`].
    pub fn parse(pem: &str) -> Result<Self, KeyringError> {
        let bad = |reason: String| KeyringError::Certificate { reason };
        let (rest, block) =
            parse_x509_pem(pem.as_bytes()).map_err(|_| bad("it is not in PEM format".into()))?;
        // a second certificate would be trusted unseen
        let is_one = pem.matches("-----BEGIN").count() == 1 && rest.trim_ascii().is_empty();
        if block.label != "CERTIFICATE" || !is_one {
            return Err(bad("it is not one certificate and nothing else".into()));
        }
        let certificate = parse_x509_certificate(&block.contents)
            .ok()
            .filter(|(rest, _)| rest.is_empty());
        let (_, certificate) =
            certificate.ok_or_else(|| bad("it is not an X.509 certificate".into()))?;
        let name = certificate.subject().iter_common_name().next();
        let name = name.and_then(|name| name.as_str().ok()).unwrap_or_default();
        check_name(name)?;
        let key = certificate.public_key();
        let public_key = key.subject_public_key.data.to_vec();
        // OID 1.3.101.112, RFC 8410
        if key.algorithm.algorithm.to_id_string() != "1.3.101.112" {
            return Err(bad("its key is not an Ed25519 key".into()));
        }
        let validity = certificate.validity();
        Ok(Self {
            name: name.to_owned(),
            public_key,
            fingerprint: fingerprint(key.raw),
            valid_s: [&validity.not_before, &validity.not_after].map(ASN1Time::timestamp),
            pem: pem.to_owned(),
        })
    }

    /// Name of the host.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hash of its public key, for people.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The certificate in PEM format.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Checks that the time of day is within the dates of the certificate.
    ///
    /// # Errors
    /// [`KeyringError::Dates`].
    pub fn check_dates(&self, wall: Time) -> Result<(), KeyringError> {
        let now_s = wall.0.div_euclid(1_000_000_000);
        let [from_s, until_s] = self.valid_s;
        if (from_s..=until_s).contains(&now_s) {
            return Ok(());
        }
        let text = |s: i64| {
            ASN1Time::from_timestamp(s).map_or_else(|_| format!("{s} s"), |time| time.to_string())
        };
        Err(KeyringError::Dates {
            name: self.name.clone(),
            now: text(now_s),
            from: text(from_s),
            until: text(until_s),
        })
    }

    /// True if the host's key signed `message`.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.public_key);
        key.verify(message, signature).is_ok()
    }
}

/// Private key of a host with its certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct HostKey {
    certificate: HostCertificate,
    key_pem: String,
}

impl fmt::Debug for HostKey {
    /// Writes the certificate and hides the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostKey").field(&self.certificate).finish()
    }
}

fn key_error(error: rcgen::Error) -> KeyringError {
    KeyringError::PrivateKey {
        reason: error.to_string(),
    }
}

/// Contents of a certificate that is made at `wall`.
fn contents(name: &str, wall: Time) -> Result<CertificateParams, KeyringError> {
    check_name(name)?;
    let mut params = CertificateParams::new(Vec::new()).map_err(key_error)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let from_s = wall.0.div_euclid(1_000_000_000) - EARLIER_S;
    let at = |s: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(s.max(0).unsigned_abs());
    params.not_before = at(from_s);
    params.not_after = at(from_s + LIFE_S);
    Ok(params)
}

impl HostKey {
    /// Makes a key for a host, and its certificate.
    ///
    /// # Errors
    /// [`KeyringError`] if the name is bad or the system has no random numbers.
    pub fn generate(name: &str, wall: Time) -> Result<Self, KeyringError> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(key_error)?;
        let certificate = contents(name, wall)?.self_signed(&key);
        let certificate = certificate.map_err(key_error)?.pem();
        Self::parse(&certificate, &key.serialize_pem())
    }

    /// Makes a key for a guest, and its certificate, which this host signs.
    ///
    /// # Errors
    /// As [`Self::generate`].
    pub fn issue(&self, guest: &str, wall: Time) -> Result<Self, KeyringError> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(key_error)?;
        let own = contents(self.name(), wall)?;
        let issuer = Issuer::from_params(&own, self.key_pair()?);
        let certificate = contents(guest, wall)?.signed_by(&key, &issuer);
        let certificate = certificate.map_err(key_error)?.pem();
        Self::parse(&certificate, &key.serialize_pem())
    }

    /// Reads a key with its certificate.
    ///
    /// # Errors
    /// [`KeyringError`]; the key must be that of the certificate.
    pub fn parse(certificate_pem: &str, key_pem: &str) -> Result<Self, KeyringError> {
        let host = Self {
            certificate: HostCertificate::parse(certificate_pem)?,
            key_pem: key_pem.to_owned(),
        };
        if host.key_pair()?.public_key_raw() != host.certificate.public_key {
            let reason = "it is not that of the certificate beside it".into();
            return Err(KeyringError::PrivateKey { reason });
        }
        Ok(host)
    }

    fn key_pair(&self) -> Result<KeyPair, KeyringError> {
        KeyPair::from_pem(&self.key_pem).map_err(key_error)
    }

    /// Name of the host.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.certificate.name
    }

    /// The certificate, which may be shown to everybody.
    #[must_use]
    pub fn certificate(&self) -> &HostCertificate {
        &self.certificate
    }

    /// The private key in PEM format.
    #[must_use]
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// Signs a message.
    ///
    /// # Errors
    /// [`KeyringError::PrivateKey`].
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyringError> {
        self.key_pair()?.sign(message).map_err(key_error)
    }
}

/// Keys of a secured session: the host's own, its trusted peers, and the names of its guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyring {
    /// Key of this host.
    pub own: HostKey,
    /// Hosts that may command.
    pub peers: Vec<HostCertificate>,
    /// Names of those that may be one side only, with that side.
    pub only: BTreeMap<String, Side>,
    /// Certificates issued to guests, who may only look.
    pub guests: Vec<HostCertificate>,
}

impl Keyring {
    /// Checks that a peer is trusted, and that the time of day is within the dates of all certificates.
    ///
    /// # Errors
    /// [`KeyringError::NoPeer`] and [`KeyringError::Dates`].
    pub fn check(&self, wall: Time) -> Result<(), KeyringError> {
        if self.peers.is_empty() {
            return Err(KeyringError::NoPeer);
        }
        let all = [&self.own.certificate].into_iter().chain(&self.peers);
        all.chain(&self.guests)
            .try_for_each(|certificate| certificate.check_dates(wall))
    }

    /// Trusted peer of a name.
    pub(crate) fn peer(&self, name: &str) -> Option<&HostCertificate> {
        self.peers.iter().find(|peer| peer.name == name)
    }

    /// True if a trusted peer may be a side.
    pub(crate) fn permits(&self, name: &str, side: Side) -> bool {
        self.only.get(name).is_none_or(|only| *only == side)
    }

    /// Certificates by which a connection is accepted: those of the peers, and for guests the own one.
    pub(crate) fn anchors_pem(&self) -> String {
        let own = (!self.guests.is_empty()).then_some(&self.own.certificate);
        let all = self.peers.iter().chain(own);
        all.map(|certificate| certificate.pem.trim_end().to_owned() + "\n")
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_800_000_000_000_000_000);

    #[test]
    fn certificate_and_key_are_read_back() {
        let host = HostKey::generate("operator", NOW).expect("made");
        let again = HostKey::parse(host.certificate().pem(), host.key_pem()).expect("read");
        assert_eq!((&again, again.name()), (&host, "operator"));
        assert!(!format!("{host:?}").contains("PRIVATE KEY"));
        let other = HostKey::generate("operator", NOW).expect("made");
        assert_ne!(
            other.certificate().fingerprint(),
            host.certificate().fingerprint()
        );
        let mixed = HostKey::parse(host.certificate().pem(), other.key_pem());
        assert!(matches!(mixed, Err(KeyringError::PrivateKey { .. })));
        let signature = host.sign(b"terms").expect("signed");
        assert!(host.certificate().has_signed(b"terms", &signature));
        assert!(!host.certificate().has_signed(b"other", &signature));
        assert!(!other.certificate().has_signed(b"terms", &signature));
        let print = host.certificate().fingerprint();
        assert_eq!(print.len(), 16 * 5 - 1, "{print}");
    }

    #[test]
    fn issue_second_certificate_of_a_file_was_trusted_unseen() {
        let [own, hidden] = ["operator", "robot"].map(|name| HostKey::generate(name, NOW));
        let (own, hidden) = (own.expect("made"), hidden.expect("made"));
        let own = own.certificate().pem();
        assert!(HostCertificate::parse(own).is_ok());
        let hidden = hidden.certificate().pem();
        for text in [
            format!("{own}{hidden}"),
            format!("{own}more"),
            hidden.replace("CERTIFICATE", "KEY"),
        ] {
            let read = HostCertificate::parse(&text);
            assert!(
                matches!(read, Err(KeyringError::Certificate { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn clock_outside_the_dates_has_its_own_message() {
        let host = HostKey::generate("robot", NOW).expect("made");
        let at = |s: i64| {
            host.certificate()
                .check_dates(Time(NOW.0 + s * 1_000_000_000))
        };
        assert_eq!(at(0), Ok(()));
        assert_eq!(at(LIFE_S - EARLIER_S - 1), Ok(()));
        for outside_s in [-EARLIER_S - 1, LIFE_S] {
            let error = at(outside_s).expect_err("outside").to_string();
            for part in ["clock of this host", "robot", "valid from", "set the clock"] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn wrong_names_and_texts_are_refused() {
        for name in ["", "a.b", "a/b", "a b", &"x".repeat(33)] {
            let error = HostKey::generate(name, NOW).expect_err("bad");
            assert!(
                matches!(error, KeyringError::Name { .. }),
                "{name}: {error}"
            );
        }
        for text in [
            "",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            let error = HostCertificate::parse(text).expect_err("bad");
            assert!(matches!(error, KeyringError::Certificate { .. }), "{error}");
        }
    }

    #[test]
    fn guest_is_signed_by_its_host() {
        let host = HostKey::generate("robot", NOW).expect("made");
        let guest = host.issue("viewer", NOW).expect("made");
        let (_, block) = parse_x509_pem(guest.certificate().pem().as_bytes()).expect("PEM");
        let certificate = block.parse_x509().expect("X.509");
        let issuer = certificate.issuer().iter_common_name().next();
        assert_eq!(issuer.and_then(|name| name.as_str().ok()), Some("robot"));
        let signature = certificate.signature_value.data.as_ref();
        let body = certificate.tbs_certificate.as_ref();
        assert!(host.certificate().has_signed(body, signature));
        let keyring = Keyring {
            own: host,
            peers: Vec::new(),
            only: BTreeMap::new(),
            guests: vec![guest.certificate().clone()],
        };
        assert_eq!(keyring.check(NOW), Err(KeyringError::NoPeer));
    }
}
