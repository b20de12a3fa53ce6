//! The 33 bytes that rmw_zenoh sends beside every sample.
//!
//! Source: transport section 5: sequence number (`i64`), source time \[ns\] (`i64`), the length 16 in
//! one byte, the publisher's global id; little-endian.

use xxhash_rust::xxh3::xxh3_128;

/// Length of an attachment \[bytes\].
const ATTACHMENT_BYTES: usize = 33;

/// Global id of an endpoint.
pub type Gid = [u8; 16];

/// Sender, number and time of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attachment {
    /// Number among the publisher's samples, from 1.
    pub sequence: i64,
    /// Time of the sample, on the sender's clock \[ns\].
    pub source_ns: i64,
    /// Publisher.
    pub gid: Gid,
}

/// Global id of the endpoint that declares this liveliness token: its XXH3-128.
#[must_use]
pub fn gid_of(token: &str) -> Gid {
    xxh3_128(token.as_bytes()).to_le_bytes()
}

impl Attachment {
    /// Converts to bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ATTACHMENT_BYTES] {
        let mut bytes = [0; ATTACHMENT_BYTES];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.source_ns.to_le_bytes());
        bytes[16] = 16;
        bytes[17..].copy_from_slice(&self.gid);
        bytes
    }

    /// Parses bytes; none if their length, or the length of the id stated in them, is wrong.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (source_ns, rest) = rest.split_first_chunk()?;
        let (announced, gid) = rest.split_first()?;
        let gid = Gid::try_from(gid).ok()?;
        (usize::from(*announced) == gid.len()).then_some(Self {
            sequence: i64::from_le_bytes(*sequence),
            source_ns: i64::from_le_bytes(*source_ns),
            gid,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_are_checked() {
        assert_eq!(Attachment::decode(&[0; 32]), None);
        assert_eq!(Attachment::decode(&[0; 33]), None);
    }

    /// XXH3-128 of the empty text, as printed with the algorithm: high 99aa06d3014798d8, low
    /// 6001c324468d497f; the low half goes first.
    #[test]
    fn gid_is_low_half_first() {
        let gid = gid_of("");
        assert_eq!(gid[..8], 0x6001_c324_468d_497f_u64.to_le_bytes());
        assert_eq!(gid[8..], 0x99aa_06d3_0147_98d8_u64.to_le_bytes());
    }

    proptest! {
        #[test]
        fn round_trip(sequence: i64, source_ns: i64, gid: [u8; 16]) {
            let attachment = Attachment { sequence, source_ns, gid };
            prop_assert_eq!(Attachment::decode(&attachment.encode()), Some(attachment));
        }

        #[test]
        fn decoded_attachments_encode_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(attachment) = Attachment::decode(&bytes) {
                prop_assert_eq!(&attachment.encode()[..], &bytes[..]);
            }
        }
    }
}
