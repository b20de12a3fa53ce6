//! Bytes out of gzip, no more than were announced.
//!
//! Source: RFC 1952, by `flate2`. Memory grows with what comes out, never with what is promised.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;

use super::{VolumeFileError, wrong};

/// First bytes of a packed file.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A stream of what is packed.
pub(super) struct Unpack<'a> {
    inner: MultiGzDecoder<&'a [u8]>,
}

impl<'a> Unpack<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            inner: MultiGzDecoder::new(bytes),
        }
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize, field: &str) -> Result<Vec<u8>, VolumeFileError> {
        let mut taken = Vec::new();
        let limit = u64::try_from(count).unwrap_or(u64::MAX);
        let read = self.inner.by_ref().take(limit).read_to_end(&mut taken);
        let expected = format!("{count} bytes out of gzip");
        match read {
            Ok(_) if taken.len() == count => Ok(taken),
            Ok(found) => Err(wrong(field, format!("{found} bytes"), &expected)),
            Err(error) => Err(wrong(field, error, &expected)),
        }
    }
}
