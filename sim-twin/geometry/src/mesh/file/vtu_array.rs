//! The arrays of a `.vtu` file: text, base64 or appended, whole or in zlib blocks.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024). A header in front of binary data says how
//! long it is, or how many blocks follow; it is believed only as far as there are bytes.

use super::vtu::File;
use super::{MeshError, Place, missing, wrong};
use roxmltree::Node;

/// Deflate cannot make more of a byte than this (Deutsch 1996, RFC 1951: 258 bytes from 2 bits).
const RATIO_MAX: usize = 1032;

/// How the arrays of a file stand.
pub(super) struct Arrays<'a> {
    little: bool,
    long_headers: bool,
    compressed: bool,
    appended: &'a [u8],
    base64: bool,
}

/// The numbers of an array.
#[derive(Debug)]
pub(super) enum Numbers {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

impl Numbers {
    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// One as a real number; NaN if it is not there.
    pub(super) fn number(&self, index: usize) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "a place needs no 64 bits")]
            Self::Whole(values) => values.get(index).map_or(f64::NAN, |&value| value as f64),
            Self::Real(values) => values.get(index).copied().unwrap_or(f64::NAN),
        }
    }

    /// One as a whole number that is not negative, if it is one.
    pub(super) fn whole(&self, index: usize) -> Option<u64> {
        match self {
            Self::Whole(values) => u64::try_from(*values.get(index)?).ok(),
            Self::Real(values) => {
                let value = *values.get(index)?;
                let whole = value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked"
                )]
                whole.then_some(value as u64)
            }
        }
    }

    /// One as text, for a message.
    pub(super) fn text(&self, index: usize) -> String {
        match self {
            Self::Whole(values) => values.get(index).map(ToString::to_string),
            Self::Real(values) => values.get(index).map(ToString::to_string),
        }
        .unwrap_or_default()
    }
}

/// Type of a number: its letter (signed, unsigned, float) and its bytes.
#[derive(Debug, Clone, Copy)]
struct Kind {
    letter: u8,
    bytes: usize,
}

impl Kind {
    fn of(place: Place, name: Option<&str>) -> Result<Self, MeshError> {
        let (letter, bytes) = match name {
            Some("Int8") => (b'i', 1),
            Some("UInt8") => (b'u', 1),
            Some("Int16") => (b'i', 2),
            Some("UInt16") => (b'u', 2),
            Some("Int32") => (b'i', 4),
            Some("UInt32") => (b'u', 4),
            Some("Int64") => (b'i', 8),
            Some("UInt64") => (b'u', 8),
            Some("Float32") => (b'f', 4),
            Some("Float64") => (b'f', 8),
            other => {
                let expected = "Int8 to Int64, UInt8 to UInt64, Float32 or Float64";
                return Err(match other {
                    Some(name) => wrong(place, "type of an array", name.as_bytes(), expected),
                    None => missing(place, "type of an array", expected),
                });
            }
        };
        Ok(Self { letter, bytes })
    }

    fn numbers(self, bytes: &[u8], little: bool) -> Numbers {
        let items = bytes.chunks_exact(self.bytes);
        let word = |item: &[u8]| {
            let shifted = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
            if little {
                item.iter().rev().fold(0, shifted)
            } else {
                item.iter().fold(0, shifted)
            }
        };
        let unused = 64 - 8 * u32::try_from(self.bytes).unwrap_or(8);
        match (self.letter, self.bytes) {
            #[expect(clippy::cast_possible_truncation, reason = "four bytes were taken")]
            (b'f', 4) => Numbers::Real(
                items
                    .map(|item| f64::from(f32::from_bits(word(item) as u32)))
                    .collect(),
            ),
            (b'f', _) => Numbers::Real(items.map(|item| f64::from_bits(word(item))).collect()),
            // the sign is at the top after the shift; more than 2^63 becomes negative, and is refused
            (b'i', _) => Numbers::Whole(
                items
                    .map(|item| (word(item) << unused).cast_signed() >> unused)
                    .collect(),
            ),
            _ => Numbers::Whole(items.map(|item| word(item).cast_signed()).collect()),
        }
    }
}

impl<'a> Arrays<'a> {
    /// As the root element says.
    pub(super) fn of(
        root: Node<'_, '_>,
        appended: &'a [u8],
        file: &File,
    ) -> Result<Self, MeshError> {
        let mut arrays = Self {
            little: true,
            long_headers: false,
            compressed: false,
            appended,
            base64: true,
        };
        let choose = |node: Node<'_, '_>, field: &'static str, allowed: [&str; 2]| {
            let Some(value) = node.attribute(field) else {
                return Ok(false);
            };
            if allowed.contains(&value) {
                return Ok(value == allowed[1]);
            }
            let other = if allowed[0].is_empty() {
                "none"
            } else {
                allowed[0]
            };
            let expected = format!("{} or {other}", allowed[1]);
            Err(wrong(file.place(node), field, value.as_bytes(), &expected))
        };
        arrays.little = !choose(root, "byte_order", ["LittleEndian", "BigEndian"])?;
        arrays.long_headers = choose(root, "header_type", ["UInt32", "UInt64"])?;
        arrays.compressed = choose(root, "compressor", ["", "vtkZLibDataCompressor"])?;
        if let Some(node) = root
            .children()
            .find(|node| node.has_tag_name("AppendedData"))
        {
            arrays.base64 = !choose(node, "encoding", ["base64", "raw"])?;
        }
        Ok(arrays)
    }

    /// The numbers of a `DataArray`.
    pub(super) fn read(&self, file: &File, array: Node<'_, '_>) -> Result<Numbers, MeshError> {
        let place = file.place(array);
        let kind = Kind::of(place, array.attribute("type"))?;
        let bytes = match array.attribute("format").unwrap_or("ascii") {
            "ascii" => return text(place, kind, array.text().unwrap_or_default()),
            "binary" => {
                let text = array.text().unwrap_or_default().trim().as_bytes();
                self.unpack(place, Source::Base64(text))?
            }
            "appended" => {
                let offset = array.attribute("offset").unwrap_or("0");
                let start = offset.trim().parse().ok();
                let content = start.and_then(|start: usize| self.appended.get(start..));
                let content = content.ok_or_else(|| {
                    let expected = format!("at most {}, the appended bytes", self.appended.len());
                    wrong(place, "offset", offset.as_bytes(), &expected)
                })?;
                let source = if self.base64 {
                    Source::Base64(content)
                } else {
                    Source::Raw(content)
                };
                self.unpack(place, source)?
            }
            other => {
                let expected = "ascii, binary or appended";
                return Err(wrong(place, "format", other.as_bytes(), expected));
            }
        };
        if bytes.len() % kind.bytes != 0 {
            let expected = format!("a multiple of {}", kind.bytes);
            return Err(wrong(
                place,
                "bytes of an array",
                bytes.len().to_string().as_bytes(),
                &expected,
            ));
        }
        Ok(kind.numbers(&bytes, self.little))
    }

    /// The bytes behind a header, out of their blocks.
    fn unpack(&self, place: Place, mut source: Source<'_>) -> Result<Vec<u8>, MeshError> {
        let width = if self.long_headers { 8 } else { 4 };
        let first = self.header(place, &source.peek(place, width)?, 0)?;
        if !self.compressed {
            let end = first.saturating_add(width);
            let mut bytes = source.peek(place, end)?;
            if bytes.len() < end {
                let expected = format!(
                    "at most {} bytes, as follow",
                    bytes.len().saturating_sub(width)
                );
                let length = first.to_string();
                return Err(wrong(
                    place,
                    "length of an array",
                    length.as_bytes(),
                    &expected,
                ));
            }
            bytes.truncate(end);
            return Ok(bytes.split_off(width));
        }
        let count = first;
        let head = count
            .checked_add(3)
            .and_then(|words| words.checked_mul(width));
        let head = head
            .filter(|&bytes| bytes <= source.left())
            .ok_or_else(|| {
                wrong(
                    place,
                    "number of blocks",
                    count.to_string().as_bytes(),
                    "as many as there are sizes for",
                )
            })?;
        let sizes = source.take(place, head)?;
        let mut packed = 0_usize;
        for block in 0..count {
            packed = packed.saturating_add(self.header(place, &sizes, 3 + block)?);
        }
        let blocks = source.peek(place, packed)?;
        let block_max = self.header(place, &sizes, 1)?;
        let (mut data, mut start) = (Vec::new(), 0_usize);
        for block in 0..count {
            let size = self.header(place, &sizes, 3 + block)?;
            let end = start.checked_add(size);
            let packed = end.and_then(|end| blocks.get(start..end)).ok_or_else(|| {
                let expected = format!(
                    "at most {} bytes, as follow",
                    blocks.len().saturating_sub(start)
                );
                wrong(
                    place,
                    "size of a block",
                    size.to_string().as_bytes(),
                    &expected,
                )
            })?;
            start = start.saturating_add(size);
            let limit = block_max.min(packed.len().saturating_mul(RATIO_MAX));
            let plain = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, limit);
            data.extend(plain.map_err(|error| {
                let found = format!("block {block}: {error}");
                let expected = format!("zlib data of at most {block_max} bytes");
                wrong(place, "compressed array", found.as_bytes(), &expected)
            })?);
        }
        Ok(data)
    }

    /// One number of a header.
    fn header(&self, place: Place, bytes: &[u8], index: usize) -> Result<usize, MeshError> {
        let width = if self.long_headers { 8 } else { 4 };
        let letter = b'u';
        let start = index.saturating_mul(width);
        let item = bytes.get(start..).and_then(|rest| rest.get(..width));
        let item = item.ok_or_else(|| {
            let expected = format!("{width} bytes for each of its numbers");
            missing(place, "header of an array", &expected)
        })?;
        let value = Kind {
            letter,
            bytes: width,
        }
        .numbers(item, self.little)
        .whole(0);
        let value = value.and_then(|value| usize::try_from(value).ok());
        value.ok_or_else(|| missing(place, "header of an array", "a length that fits"))
    }
}

/// The numbers of an array of text.
fn text(place: Place, kind: Kind, text: &str) -> Result<Numbers, MeshError> {
    let refuse =
        |word: &str, expected| wrong(place, "number of an array", word.as_bytes(), expected);
    let words = text.split_ascii_whitespace();
    Ok(if kind.letter == b'f' {
        let value = |word: &str| word.parse().map_err(|_| refuse(word, "a number"));
        Numbers::Real(words.map(value).collect::<Result<_, _>>()?)
    } else {
        let value = |word: &str| word.parse().map_err(|_| refuse(word, "a whole number"));
        Numbers::Whole(words.map(value).collect::<Result<_, _>>()?)
    })
}

/// Bytes that may be in base64.
enum Source<'a> {
    Raw(&'a [u8]),
    Base64(&'a [u8]),
}

impl Source<'_> {
    /// The bytes that are left, or a little more.
    fn left(&self) -> usize {
        match self {
            Self::Raw(bytes) => bytes.len(),
            Self::Base64(text) => text.len() / 4 * 3 + 3,
        }
    }

    /// The next bytes, at least so many if they are there, without going on.
    fn peek(&self, place: Place, count: usize) -> Result<Vec<u8>, MeshError> {
        match self {
            Self::Raw(bytes) => Ok(bytes[..count.min(bytes.len())].to_vec()),
            Self::Base64(text) => {
                // one group more: a header may be padded for itself
                let text = &text[..groups(count).saturating_add(4).min(text.len())];
                let end = text
                    .iter()
                    .position(|&byte| byte == b'<' || byte.is_ascii_whitespace());
                base64(place, &text[..end.unwrap_or(text.len())])
            }
        }
    }

    /// The next bytes without those after them; in base64 they end a group.
    fn take(&mut self, place: Place, count: usize) -> Result<Vec<u8>, MeshError> {
        let mut taken = self.peek(place, count)?;
        taken.truncate(count);
        match self {
            Self::Raw(bytes) => *bytes = &bytes[count.min(bytes.len())..],
            Self::Base64(text) => *text = &text[groups(count).min(text.len())..],
        }
        Ok(taken)
    }
}

/// Letters of base64 that so many bytes take.
fn groups(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Base64 with padding anywhere: VTK sets several encoded runs one behind the other, which the
/// usual decoders refuse.
fn base64(place: Place, text: &[u8]) -> Result<Vec<u8>, MeshError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.chunks(4) {
        let digits = group.iter().take_while(|&&byte| byte != b'=').count();
        let padded =
            group.len() == 4 && digits >= 2 && group[digits..].iter().all(|&byte| byte == b'=');
        let mut word = 0_u32;
        for &byte in &group[..digits] {
            let digit = match byte {
                b'A'..=b'Z' => Some(byte - b'A'),
                b'a'..=b'z' => Some(byte - b'a' + 26),
                b'0'..=b'9' => Some(byte - b'0' + 52),
                b'+' => Some(62),
                b'/' => Some(63),
                _ => None,
            };
            let digit = digit.filter(|_| padded);
            let digit =
                digit.ok_or_else(|| wrong(place, "base64", group, "groups of four letters"))?;
            word = word << 6 | u32::from(digit);
        }
        if !padded {
            return Err(wrong(place, "base64", group, "groups of four letters"));
        }
        word <<= 6 * (4 - digits);
        bytes.extend(&word.to_be_bytes()[1..digits]);
    }
    Ok(bytes)
}
