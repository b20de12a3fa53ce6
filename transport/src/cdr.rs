//! Encoding and decoding of messages: OMG CDR, little-endian, behind its four-byte header.
//!
//! The crate `cdr` writes and reads. It trusts every length that it reads, so that sixty bytes can
//! cost it seconds and a gibibyte (transport fact 9). Therefore [`decode`] first *walks* the bytes
//! along the [`MessageDescription`]: each string must lie within the bytes and end in a zero, each
//! sequence must leave room for its elements at their smallest size, and no byte may be left over.
//! Every step of the walk takes at least one byte of the input, so its time is linear in the input
//! and it allocates nothing. What `cdr` then allocates is bounded by the bytes that exist. A message
//! of fixed size must have exactly that size; another may have up to three bytes of padding behind
//! it, which some DDS writers add.
//!
//! [`encode`] into a slice allocates nothing.

use std::io::Cursor;

use byte_walk::Walker;
use cdr::{CdrLe, Infinite, LittleEndian};

use crate::FieldError;
use crate::edit_batch::EditBatch;
use crate::frame::HapticFrame;
use crate::msg::{FieldKind, Message, MessageDescription};

/// Encapsulation header: CDR, little-endian, no options.
pub const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Longest message that is decoded \[bytes\]; ours: a hundred times the longest that Palpate sends.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Padding that may follow a message of variable size \[bytes\].
const PADDING_MAX: usize = 3;

/// Exact length of an encoded [`HapticFrame`] \[bytes\].
pub const HAPTIC_FRAME_BYTES: usize = match encoded_len(HapticFrame::DESCRIPTION) {
    Some(length) => length,
    None => panic!("a haptic frame has a fixed size"),
};

/// Exact length of an encoded [`EditBatch`] \[bytes\].
pub const EDIT_BATCH_BYTES: usize = match encoded_len(EditBatch::DESCRIPTION) {
    Some(length) => length,
    None => panic!("an edit batch has a fixed size"),
};

/// Reasons why bytes are not the expected message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message is longer than any that Palpate sends.
    #[error("message has {found} bytes; expected at most {MESSAGE_BYTES_MAX}")]
    TooLong {
        /// Bytes found.
        found: usize,
    },
    /// The encapsulation header is wrong.
    #[error("message starts with {found:02x?}; expected 00 01 (CDR, little-endian) and options")]
    Header {
        /// The first bytes, at most four.
        found: Vec<u8>,
    },
    /// A message of fixed size has another size.
    #[error("{name} has {found} bytes; expected exactly {expected}")]
    Size {
        /// Message type.
        name: &'static str,
        /// Bytes found.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// The bytes end within a field.
    #[error("bytes end at {offset} within field {field}, which needs {needed} more")]
    Short {
        /// Field.
        field: &'static str,
        /// Offset of the end of the bytes, after the header.
        offset: usize,
        /// Bytes that the field needs beyond them.
        needed: usize,
    },
    /// A string or sequence declares more elements than the bytes can hold.
    #[error("field {field} claims {declared} elements, but only {remaining} bytes remain")]
    Length {
        /// Field.
        field: &'static str,
        /// Declared length.
        declared: u32,
        /// Bytes that follow it.
        remaining: usize,
    },
    /// A string does not end in a zero byte.
    #[error("text of field {field} ends in {found:#04x}; expected 0x00")]
    Terminator {
        /// Field.
        field: &'static str,
        /// Last byte of the text.
        found: u8,
    },
    /// Bytes follow the last field.
    #[error("{found} bytes behind the last field; expected at most {PADDING_MAX}")]
    Trailing {
        /// Surplus bytes.
        found: usize,
    },
    /// The lengths are right and the content is not: bad UTF-8, a bool that is neither 0 nor 1, no such variant.
    #[error("content: {reason}")]
    Content {
        /// Reason that `cdr` gives.
        reason: String,
    },
    /// A number of an edit batch is out of range.
    #[error(transparent)]
    EditBatch(#[from] FieldError),
    /// A number of a haptic frame is infinite or not a number.
    #[error("field {field} of the haptic frame is not finite")]
    NotFinite {
        /// Field.
        field: &'static str,
    },
}

/// Reasons why a message cannot be encoded.
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
    /// The message is longer than a receiver accepts.
    #[error("message has {found} bytes; expected at most {MESSAGE_BYTES_MAX}")]
    TooLong {
        /// Bytes of the message.
        found: usize,
    },
    /// `cdr` refused the message.
    #[error("message cannot be written: {reason}")]
    Content {
        /// Reason that `cdr` gives.
        reason: String,
    },
}

/// Writes a message behind its header into `out`; allocates nothing. Returns the length \[bytes\].
///
/// # Errors
/// [`EncodeError::Full`] when `out` is too small, [`EncodeError::TooLong`] above 1 MiB.
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

/// Writes a message behind its header into `out`, replacing its content and keeping its capacity.
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

/// Reads a message after the checks listed in the head of this file.
///
/// # Errors
/// [`DecodeError`] names the field and the error.
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

/// Reads a haptic frame of exactly [`HAPTIC_FRAME_BYTES`], all of whose numbers are finite.
///
/// # Errors
/// As [`decode`], and [`DecodeError::NotFinite`].
pub fn decode_frame(bytes: &[u8]) -> Result<HapticFrame, DecodeError> {
    let frame: HapticFrame = decode(bytes)?;
    for (field, values) in frame.axes() {
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

/// Reads an edit batch of exactly [`EDIT_BATCH_BYTES`] and validates its numbers.
///
/// # Errors
/// As [`decode`], and [`DecodeError::EditBatch`].
pub fn decode_edit_batch(bytes: &[u8]) -> Result<EditBatch, DecodeError> {
    let batch: EditBatch = decode(bytes)?;
    batch.validate()?;
    Ok(batch)
}

/// Length of every encoded message of this type, header included \[bytes\]; `None` if it varies.
#[must_use]
const fn encoded_len(description: &MessageDescription) -> Option<usize> {
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

fn walk(description: &MessageDescription, body: &[u8]) -> Result<(), DecodeError> {
    let mut walker = Walker::new(body);
    walker.fields(description)?;
    let found = walker.remaining();
    if found > PADDING_MAX {
        return Err(DecodeError::Trailing { found });
    }
    Ok(())
}

const fn aligned(position: usize, width: usize) -> usize {
    position.next_multiple_of(width)
}

const fn fields_end(description: &MessageDescription, start: usize) -> Option<usize> {
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

const fn kind_end(kind: &FieldKind, start: usize) -> Option<usize> {
    match kind {
        FieldKind::Primitive(primitive) => {
            Some(aligned(start, primitive.width()) + primitive.width())
        }
        FieldKind::Nested(description) => fields_end(description, start),
        FieldKind::Array(count, element) => {
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
        FieldKind::String | FieldKind::Sequence(_) => None,
    }
}

/// Walk over the bytes that bounds every length before `cdr` reads it.
mod byte_walk {
    use super::{DecodeError, aligned};
    use crate::msg::{FieldKind, MessageDescription};

    /// Bytes of a string or sequence length.
    const LENGTH_BYTES: usize = 4;

    pub(super) struct Walker<'a> {
        bytes: &'a [u8],
        position: usize,
    }

    impl<'a> Walker<'a> {
        pub(super) fn new(bytes: &'a [u8]) -> Self {
            Self { bytes, position: 0 }
        }

        pub(super) fn remaining(&self) -> usize {
            self.bytes.len() - self.position
        }

        /// Walks some fields. The recursion is as deep as the description, which is ours and finite.
        pub(super) fn fields(
            &mut self,
            description: &MessageDescription,
        ) -> Result<(), DecodeError> {
            for (field, kind) in description.fields {
                self.kind(kind, field)?;
            }
            Ok(())
        }

        fn kind(&mut self, kind: &FieldKind, field: &'static str) -> Result<(), DecodeError> {
            match kind {
                FieldKind::Primitive(primitive) => {
                    self.align(primitive.width(), field)?;
                    self.skip(primitive.width(), field).map(|_| ())
                }
                FieldKind::String => self.string(field),
                FieldKind::Nested(description) => self.fields(description),
                FieldKind::Array(count, element) => self.elements(*count, element, field),
                FieldKind::Sequence(element) => {
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
            element: &FieldKind,
            field: &'static str,
        ) -> Result<(), DecodeError> {
            for _ in 0..count {
                self.kind(element, field)?;
            }
            Ok(())
        }

        /// Walks a string. An empty one may lack its terminator: some writers declare length 0.
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
            let padding = aligned(self.position, width) - self.position;
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
            let skipped = &self.bytes[self.position..self.position + count];
            self.position += count;
            Ok(skipped)
        }
    }

    /// Fewest bytes that an element can take, without padding; at least one, so that no length can
    /// make the walk longer than the bytes.
    fn smallest(kind: &FieldKind) -> usize {
        let bytes = match kind {
            FieldKind::Primitive(primitive) => primitive.width(),
            FieldKind::String | FieldKind::Sequence(_) => LENGTH_BYTES,
            FieldKind::Nested(nested) => nested.fields.iter().map(|(_, kind)| smallest(kind)).sum(),
            FieldKind::Array(count, element) => count.saturating_mul(smallest(element)),
        };
        bytes.max(1)
    }
}

#[cfg(test)]
mod tests;
