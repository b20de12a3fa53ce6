//! The 33 bytes that rmw_zenoh sends beside every sample.
//!
//! Source: transport section 5: sequence number (`i64`), source time \[ns\] (`i64`), the length 16 in
//! one byte, the publisher's global id; little-endian.

use xxhash_rust::xxh3::xxh3_128;

/// Length of an attachment \[bytes\].
const ATTACHMENT_BYTES: usize = 33;

/// Global id of an endpoint.
pub type Gid = [u8; 16];

/// Who sent a sample, its number and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attachment {
    /// Counts the publisher's samples, from 1.
    pub sequence: i64,
    /// When the sample was made, on the sender's clock \[ns\].
    pub source_ns: i64,
    /// Publisher.
    pub gid: Gid,
}

/// Bytes that are not an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    /// Wrong length.
    #[error("attachment has {0} bytes; expected {ATTACHMENT_BYTES}")]
    Length(usize),
    /// The byte before the global id is not its length.
    #[error("attachment announces a global id of {0} bytes; expected 16")]
    GidLength(u8),
}

/// Global id of the endpoint that declares this liveliness token: its XXH3-128.
#[must_use]
pub fn gid_of(token: &str) -> Gid {
    xxh3_128(token.as_bytes()).to_le_bytes()
}

impl Attachment {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ATTACHMENT_BYTES] {
        let mut bytes = [0; ATTACHMENT_BYTES];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.source_ns.to_le_bytes());
        bytes[16] = 16;
        bytes[17..].copy_from_slice(&self.gid);
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// [`AttachmentError`] when the length, or the length inside, is another.
    pub fn decode(bytes: &[u8]) -> Result<Self, AttachmentError> {
        let bytes: &[u8; ATTACHMENT_BYTES] = bytes
            .try_into()
            .map_err(|_| AttachmentError::Length(bytes.len()))?;
        if bytes[16] != 16 {
            return Err(AttachmentError::GidLength(bytes[16]));
        }
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[..8]);
        let sequence = i64::from_le_bytes(word);
        word.copy_from_slice(&bytes[8..16]);
        let source_ns = i64::from_le_bytes(word);
        let mut gid = [0; 16];
        gid.copy_from_slice(&bytes[17..]);
        Ok(Self {
            sequence,
            source_ns,
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
        assert_eq!(
            Attachment::decode(&[0; 32]),
            Err(AttachmentError::Length(32))
        );
        assert_eq!(
            Attachment::decode(&[0; 33]),
            Err(AttachmentError::GidLength(0))
        );
    }

    /// XXH3-128 of nothing, as printed with the algorithm: high 99aa06d3014798d8, low
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
            prop_assert_eq!(Attachment::decode(&attachment.encode()), Ok(attachment));
        }

        #[test]
        fn what_decodes_encodes_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(attachment) = Attachment::decode(&bytes) {
                prop_assert_eq!(&attachment.encode()[..], &bytes[..]);
            }
        }
    }
}
