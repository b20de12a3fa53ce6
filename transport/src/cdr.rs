//! Messages to bytes and back: OMG CDR, little-endian, behind its four-byte header.
//!
//! The crate `cdr` writes and reads; it believes every length it reads, so that sixty bytes can
//! cost it seconds and a gibibyte (transport fact 9). Therefore [`decode`] first *walks* the bytes
//! along the message's [`Description`]: each string must lie within the bytes and end in a zero,
//! each sequence must leave room for its elements at their smallest size, and nothing may be left
//! over. Every step of the walk takes at least one byte of the input, so its time is linear in the
//! input and it allocates nothing; what `cdr` then allocates is bounded by what is really there.
//! A message of fixed size must have exactly that size; another may carry up to three bytes of
//! padding behind it, which some DDS writers add.
//!
//! [`encode`] into a slice allocates nothing.

use std::io::Cursor;

use byte_walk::Walker;
use cdr::{CdrLe, Infinite, LittleEndian};

use crate::Axes;
use crate::frame::HapticFrame;
use crate::msg::{Description, Kind, Message};
use crate::stroke::Stroke;

/// Encapsulation header: CDR, little-endian, no options.
pub const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Longest message that is decoded \[bytes\]; ours. A hundred times the longest that we send.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Padding that may follow a message of variable size \[bytes\].
const PADDING_MAX: usize = 3;

/// Exact length of an encoded [`HapticFrame`] \[bytes\].
pub const HAPTIC_FRAME_BYTES: usize = match encoded_len(HapticFrame::DESCRIPTION) {
    Some(length) => length,
    None => panic!("a haptic frame has a fixed size"),
};

/// Exact length of an encoded [`Stroke`] \[bytes\].
pub const STROKE_BYTES: usize = match encoded_len(Stroke::DESCRIPTION) {
    Some(length) => length,
    None => panic!("a stroke has a fixed size"),
};

/// Bytes that are not the message they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// More bytes than any message of ours.
    #[error("message has {found} bytes; expected at most {MESSAGE_BYTES_MAX}")]
    TooLong {
        /// Bytes found.
        found: usize,
    },
    /// Not the encapsulation header.
    #[error("message starts with {found:02x?}; expected 00 01 (CDR, little-endian) and options")]
    Header {
        /// The first bytes, at most four.
        found: Vec<u8>,
    },
    /// A message of fixed size has another.
    #[error("{name} has {found} bytes; expected exactly {expected}")]
    Size {
        /// Message type.
        name: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes that would be right.
        expected: usize,
    },
    /// The bytes end within a field.
    #[error("bytes end at {offset} within field {field}, which needs {needed} more")]
    Short {
        /// Field.
        field: &'static str,
        /// Where the bytes end, after the header.
        offset: usize,
        /// Bytes that the field needs beyond them.
        needed: usize,
    },
    /// A string or sequence claims more than the bytes can hold.
    #[error("field {field} claims {declared} elements, but only {remaining} bytes remain")]
    Length {
        /// Field.
        field: &'static str,
        /// Length as declared.
        declared: u32,
        /// Bytes behind it.
        remaining: usize,
    },
    /// A string does not end in a zero.
    #[error("text of field {field} ends in {found:#04x}; expected 0x00")]
    Terminator {
        /// Field.
        field: &'static str,
        /// Last byte of the text.
        found: u8,
    },
    /// Bytes behind the last field.
    #[error("{found} bytes behind the last field; expected at most {PADDING_MAX}")]
    Trailing {
        /// Bytes left over.
        found: usize,
    },
    /// Right lengths, wrong content: bad UTF-8, a bool that is neither 0 nor 1, no such variant.
    #[error("content: {reason}")]
    Content {
        /// As `cdr` says it.
        reason: String,
    },
    /// A number that no stroke has.
    #[error("field {field} of the stroke is {found}; expected {expected}")]
    Stroke {
        /// Field.
        field: &'static str,
        /// What was found.
        found: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// A number of a haptic frame is infinite or not a number.
    #[error("field {field} of the haptic frame is not finite")]
    NotFinite {
        /// Field.
        field: &'static str,
    },
}

/// A message that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("message needs {needed} bytes; the buffer has {found}")]
    Full {
        /// Bytes of the message.
        needed: usize,
        /// Bytes of the buffer.
        found: usize,
    },
    /// The message is longer than a receiver takes.
    #[error("message has {found} bytes; expected at most {MESSAGE_BYTES_MAX}")]
    TooLong {
        /// Bytes of the message.
        found: usize,
    },
    /// `cdr` refused it.
    #[error("message cannot be written: {reason}")]
    Content {
        /// As `cdr` says it.
        reason: String,
    },
}

/// Write a message behind its header into `out`; allocates nothing. Returns the length \[bytes\].
///
/// # Errors
/// [`EncodeError::Full`] when `out` is too small, [`EncodeError::TooLong`] above
/// 1 MiB.
pub fn encode<T: Message>(message: &T, out: &mut [u8]) -> Result<usize, EncodeError> {
    let found = out.len();
    let mut cursor = Cursor::new(out);
    match cdr::serialize_into::<_, T, _, CdrLe>(&mut cursor, message, Infinite) {
        Ok(()) => bounded(cursor.position() as usize),
        Err(cdr::Error::Io(_)) => Err(EncodeError::Full {
            needed: message_len(message),
            found,
        }),
        Err(error) => Err(EncodeError::Content {
            reason: error.to_string(),
        }),
    }
}

/// Write a message behind its header into `out`, whose old content goes and whose capacity stays.
///
/// # Errors
/// [`EncodeError::TooLong`] above 1 MiB.
pub fn encode_into<T: Message>(message: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    bounded(message_len(message))?;
    out.clear();
    cdr::serialize_into::<_, T, _, CdrLe>(&mut *out, message, Infinite).map_err(|error| {
        EncodeError::Content {
            reason: error.to_string(),
        }
    })
}

/// Read a message; see the file's head for what is checked.
///
/// # Errors
/// [`DecodeError`] names the field and what is wrong with it.
pub fn decode<T: Message>(bytes: &[u8]) -> Result<T, DecodeError> {
    let body = body(bytes)?;
    match const { encoded_len(T::DESCRIPTION) } {
        Some(expected) if bytes.len() != expected => {
            let (name, found) = (T::DESCRIPTION.name, bytes.len());
            return Err(DecodeError::Size {
                name,
                found,
                expected,
            });
        }
        Some(_) => {}
        None => walk(T::DESCRIPTION, body)?,
    }
    cdr::de::deserialize_data::<T, LittleEndian>(body).map_err(|error| DecodeError::Content {
        reason: error.to_string(),
    })
}

/// Read a haptic frame of exactly [`HAPTIC_FRAME_BYTES`], all of whose numbers are finite.
///
/// # Errors
/// As [`decode`], and [`DecodeError::NotFinite`].
pub fn decode_frame(bytes: &[u8]) -> Result<HapticFrame, DecodeError> {
    let frame: HapticFrame = decode(bytes)?;
    let fields: [(&'static str, &Axes); 8] = [
        ("position_m", &frame.position_m),
        ("velocity_mps", &frame.velocity_mps),
        ("port_force_n", &frame.port_force_n),
        ("contact_force_n", &frame.contact_force_n),
        ("wave", &frame.wave),
        ("wave_integral", &frame.wave_integral),
        ("energy_sent_j", &frame.energy_sent_j),
        ("reservoir_j", &frame.reservoir_j),
    ];
    for (field, values) in fields {
        if !values.iter().all(|value| value.is_finite()) {
            return Err(DecodeError::NotFinite { field });
        }
    }
    if !frame.impedance_nspm.is_finite() {
        return Err(DecodeError::NotFinite {
            field: "impedance_nspm",
        });
    }
    Ok(frame)
}

/// Read a stroke of exactly [`STROKE_BYTES`], all of whose changes are of a kind that there is.
///
/// # Errors
/// As [`decode`], and [`DecodeError::Stroke`].
pub fn decode_stroke(bytes: &[u8]) -> Result<Stroke, DecodeError> {
    let stroke: Stroke = decode(bytes)?;
    if let Some((field, found, expected)) = stroke.wrong() {
        return Err(DecodeError::Stroke {
            field,
            found,
            expected,
        });
    }
    Ok(stroke)
}

/// Length of every encoded message of this type, header included \[bytes\]; `None` if it varies.
#[must_use]
const fn encoded_len(description: &Description) -> Option<usize> {
    match fields_end(description, 0) {
        Some(end) => Some(HEADER.len() + end),
        None => None,
    }
}

fn message_len<T: Message>(message: &T) -> usize {
    cdr::calc_serialized_size(message) as usize
}

fn bounded(length: usize) -> Result<usize, EncodeError> {
    if length > MESSAGE_BYTES_MAX {
        return Err(EncodeError::TooLong { found: length });
    }
    Ok(length)
}

fn body(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(DecodeError::TooLong { found: bytes.len() });
    }
    match bytes {
        [0, 1, _, _, body @ ..] => Ok(body),
        _ => Err(DecodeError::Header {
            found: bytes.iter().copied().take(4).collect(),
        }),
    }
}

fn walk(description: &Description, body: &[u8]) -> Result<(), DecodeError> {
    let mut walker = Walker::new(body);
    walker.fields(description)?;
    let found = walker.remaining();
    if found > PADDING_MAX {
        return Err(DecodeError::Trailing { found });
    }
    Ok(())
}

const fn aligned(at: usize, width: usize) -> usize {
    at.next_multiple_of(width)
}

const fn fields_end(description: &Description, start: usize) -> Option<usize> {
    let mut end = start;
    let mut index = 0;
    while index < description.fields.len() {
        end = match kind_end(&description.fields[index].1, end) {
            Some(end) => end,
            None => return None,
        };
        index += 1;
    }
    Some(end)
}

const fn kind_end(kind: &Kind, start: usize) -> Option<usize> {
    match kind {
        Kind::Primitive(primitive) => Some(aligned(start, primitive.width()) + primitive.width()),
        Kind::Nested(description) => fields_end(description, start),
        Kind::Array(count, element) => {
            let mut end = start;
            let mut index = 0;
            while index < *count {
                end = match kind_end(element, end) {
                    Some(end) => end,
                    None => return None,
                };
                index += 1;
            }
            Some(end)
        }
        Kind::String | Kind::Sequence(_) => None,
    }
}

/// The walk that bounds what `cdr` may believe.
mod byte_walk {
    use super::{DecodeError, aligned};
    use crate::msg::{Description, Kind};

    /// Bytes of a string or sequence length.
    const LENGTH_BYTES: usize = 4;

    pub(super) struct Walker<'a> {
        bytes: &'a [u8],
        at: usize,
    }

    impl<'a> Walker<'a> {
        pub(super) fn new(bytes: &'a [u8]) -> Self {
            Self { bytes, at: 0 }
        }

        pub(super) fn remaining(&self) -> usize {
            self.bytes.len() - self.at
        }

        /// Recursion is as deep as the description, which is ours and finite.
        pub(super) fn fields(&mut self, description: &Description) -> Result<(), DecodeError> {
            for (field, kind) in description.fields {
                self.kind(kind, field)?;
            }
            Ok(())
        }

        fn kind(&mut self, kind: &Kind, field: &'static str) -> Result<(), DecodeError> {
            match kind {
                Kind::Primitive(primitive) => {
                    self.align(primitive.width(), field)?;
                    self.skip(primitive.width(), field).map(|_| ())
                }
                Kind::String => self.string(field),
                Kind::Nested(description) => self.fields(description),
                Kind::Array(count, element) => self.elements(*count, element, field),
                Kind::Sequence(element) => {
                    let declared = self.length(field)?;
                    let smallest = smallest(element).saturating_mul(declared as usize);
                    if smallest > self.remaining() {
                        let remaining = self.remaining();
                        return Err(DecodeError::Length {
                            field,
                            declared,
                            remaining,
                        });
                    }
                    self.elements(declared as usize, element, field)
                }
            }
        }

        fn elements(
            &mut self,
            count: usize,
            element: &Kind,
            field: &'static str,
        ) -> Result<(), DecodeError> {
            for _ in 0..count {
                self.kind(element, field)?;
            }
            Ok(())
        }

        /// An empty string may lack its terminator: some writers declare length 0.
        fn string(&mut self, field: &'static str) -> Result<(), DecodeError> {
            let declared = self.length(field)?;
            let remaining = self.remaining();
            if declared as usize > remaining {
                return Err(DecodeError::Length {
                    field,
                    declared,
                    remaining,
                });
            }
            match self.skip(declared as usize, field)?.last() {
                None | Some(0) => Ok(()),
                Some(&found) => Err(DecodeError::Terminator { field, found }),
            }
        }

        fn length(&mut self, field: &'static str) -> Result<u32, DecodeError> {
            self.align(LENGTH_BYTES, field)?;
            let mut word = [0; LENGTH_BYTES];
            word.copy_from_slice(self.skip(LENGTH_BYTES, field)?);
            Ok(u32::from_le_bytes(word))
        }

        fn align(&mut self, width: usize, field: &'static str) -> Result<(), DecodeError> {
            let padding = aligned(self.at, width) - self.at;
            self.skip(padding, field).map(|_| ())
        }

        fn skip(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
            let remaining = self.remaining();
            if count > remaining {
                let (offset, needed) = (self.bytes.len(), count - remaining);
                return Err(DecodeError::Short {
                    field,
                    offset,
                    needed,
                });
            }
            let skipped = &self.bytes[self.at..self.at + count];
            self.at += count;
            Ok(skipped)
        }
    }

    /// Fewest bytes that an element can take, padding left out; at least one, so that no length
    /// can make the walk longer than the bytes.
    fn smallest(kind: &Kind) -> usize {
        let bytes = match kind {
            Kind::Primitive(primitive) => primitive.width(),
            Kind::String | Kind::Sequence(_) => LENGTH_BYTES,
            Kind::Nested(nested) => nested.fields.iter().map(|(_, kind)| smallest(kind)).sum(),
            Kind::Array(count, element) => count.saturating_mul(smallest(element)),
        };
        bytes.max(1)
    }
}

#[cfg(test)]
mod tests;
