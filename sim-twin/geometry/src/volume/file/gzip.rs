//! Bounded decompression of gzip.
//!
//! Source: RFC 1952, by `flate2`. Memory grows with the output, never with a stated size.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;

use crate::Defect;

/// First bytes of a compressed file.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads the next `count` bytes of a decompressed stream.
pub(super) fn take(
    stream: &mut MultiGzDecoder<&[u8]>,
    count: usize,
    field: &str,
) -> Result<Vec<u8>, Defect> {
    let mut taken = Vec::new();
    let limit = u64::try_from(count).unwrap_or(u64::MAX);
    let read = stream.by_ref().take(limit).read_to_end(&mut taken);
    let expected = format!("{count} bytes out of gzip");
    match read {
        Ok(_) if taken.len() == count => Ok(taken),
        Ok(found) => Err(Defect::field(
            field,
            format_args!("{found} bytes"),
            expected,
        )),
        Err(error) => Err(Defect::field(field, error, expected)),
    }
}
