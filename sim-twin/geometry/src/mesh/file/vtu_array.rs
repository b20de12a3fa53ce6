//! The arrays of a `.vtu` file: text, base64 or appended, whole or in zlib blocks.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024). A header in front of binary data states its
//! length or the number of blocks; it is checked against the bytes of the file.

use super::scan::{FilePosition, WHOLE};
use crate::Defect;
use crate::error::lossy;
use crate::number::{Number, NumberFormat, NumberKind};
use base64::Engine as _;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use roxmltree::Node;

/// Deflate cannot make more of a byte than this (Deutsch 1996, RFC 1951: 258 bytes from 2 bits).
const RATIO_MAX: usize = 1032;

/// Base64 whose last letter may have unused bits.
const GROUPS: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Names of number types; values above 2^63 are read as negative, and refused where that is invalid.
const TYPES: [(&str, NumberFormat); 10] = [
    ("Int8", NumberFormat::I8),
    ("UInt8", NumberFormat::U8),
    ("Int16", NumberFormat::I16),
    ("UInt16", NumberFormat::U16),
    ("Int32", NumberFormat::I32),
    ("UInt32", NumberFormat::U32),
    ("Int64", NumberFormat::I64),
    ("UInt64", NumberFormat::I64),
    ("Float32", NumberFormat::F32),
    ("Float64", NumberFormat::F64),
];

/// Layout of a file's arrays, and its lines.
pub(super) struct VtuFile<'a> {
    /// Positions of line ends, for the line of an element.
    newlines: Vec<usize>,
    appended: &'a [u8],
    big_endian: bool,
    /// Type of the numbers of a header.
    header: NumberFormat,
    compressed: bool,
    raw: bool,
}

/// Array with its line and the name of its field.
pub(super) struct VtuArray {
    pub(super) place: FilePosition,
    pub(super) field: &'static str,
    pub(super) numbers: Vec<Number>,
}

impl VtuArray {
    /// Checks that the array has `expected` numbers.
    pub(super) fn demand(&self, field: &str, expected: usize) -> Result<(), Defect> {
        if self.numbers.len() == expected {
            return Ok(());
        }
        let found = format!("{} numbers", self.numbers.len());
        Err(self.place.field_error(field, found, expected))
    }

    /// Reads a number that must be whole and not negative.
    pub(super) fn whole(&self, index: usize) -> Result<u64, Defect> {
        let number = self.numbers.get(index).copied();
        let whole = number.and_then(Number::whole);
        whole.ok_or_else(|| self.number_error(index, format!("{WHOLE} (number {index})")))
    }

    /// Error of one number.
    pub(super) fn number_error(&self, index: usize, expected: String) -> Defect {
        let found = self.numbers.get(index).map(ToString::to_string);
        self.place
            .field_error(self.field, found.unwrap_or_default(), expected)
    }
}

impl<'a> VtuFile<'a> {
    /// Creates the layout of a file with this text, as its root element states it.
    pub(super) fn new(text: &str, appended: &'a [u8], root: Node<'_, '_>) -> Result<Self, Defect> {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let mut file = Self {
            newlines: newlines.map(|(at, _)| at).collect(),
            appended,
            big_endian: false,
            header: NumberFormat::U32,
            compressed: false,
            raw: false,
        };
        let choose = |node: Node<'_, '_>, field, [usual, other]: [&str; 2]| {
            let value = node.attribute(field);
            match value.filter(|&value| value != usual) {
                None => Ok(false),
                Some(value) if value == other => Ok(true),
                Some(value) => {
                    let usual = if usual.is_empty() { "none" } else { usual };
                    let expected = format!("{other} or {usual}");
                    Err(file.place(node).field_error(field, value, expected))
                }
            }
        };
        let big_endian = choose(root, "byte_order", ["LittleEndian", "BigEndian"])?;
        let long = choose(root, "header_type", ["UInt32", "UInt64"])?;
        let compressed = choose(root, "compressor", ["", "vtkZLibDataCompressor"])?;
        let mut children = root.children();
        let appended = children.find(|node| node.has_tag_name("AppendedData"));
        let raw = match appended {
            Some(node) => choose(node, "encoding", ["base64", "raw"])?,
            None => false,
        };
        (file.big_endian, file.compressed, file.raw) = (big_endian, compressed, raw);
        if long {
            file.header = NumberFormat::I64;
        }
        Ok(file)
    }

    /// Line of an element.
    pub(super) fn place(&self, node: Node<'_, '_>) -> FilePosition {
        let start = node.range().start;
        FilePosition::Line(1 + self.newlines.partition_point(|&at| at < start))
    }

    pub(super) fn child<'b>(&self, node: Node<'b, 'b>, name: &str) -> Result<Node<'b, 'b>, Defect> {
        let found = node.children().find(|child| child.has_tag_name(name));
        let expected = "an element of this name inside";
        found.ok_or_else(|| self.place(node).missing_error(name, expected))
    }

    pub(super) fn count(&self, node: Node<'_, '_>, name: &str) -> Result<usize, Defect> {
        let place = self.place(node);
        let text = node.attribute(name);
        let text = text.ok_or_else(|| place.missing_error(name, WHOLE))?;
        let count = text.trim().parse();
        count.map_err(|_| place.field_error(name, text, WHOLE))
    }

    /// Reads the numbers of a `DataArray`, each of which is a `field`.
    pub(super) fn read(
        &self,
        array: Node<'_, '_>,
        field: &'static str,
    ) -> Result<VtuArray, Defect> {
        let place = self.place(array);
        Ok(VtuArray {
            place,
            field,
            numbers: self.numbers(place, array)?,
        })
    }

    fn numbers(&self, place: FilePosition, array: Node<'_, '_>) -> Result<Vec<Number>, Defect> {
        let (kind, expected) = (
            "type of an array",
            "Int8 to Int64, UInt8 to UInt64, Float32 or Float64",
        );
        let name = array.attribute("type");
        let name = name.ok_or_else(|| place.missing_error(kind, expected))?;
        let stored = NumberFormat::named(&TYPES, name);
        let stored = stored.ok_or_else(|| place.field_error(kind, name, expected))?;
        let text = array.text().unwrap_or_default();
        let bytes = match array.attribute("format").unwrap_or("ascii") {
            "ascii" => return of_text(place, stored.kind, text),
            "binary" => self.unpack(place, Source::Base64(text.trim().as_bytes()))?,
            "appended" => {
                let offset = array.attribute("offset").unwrap_or("0");
                let start = offset.trim().parse().ok();
                let content = start.and_then(|start: usize| self.appended.get(start..));
                let content = content.ok_or_else(|| {
                    let expected = format!("at most {}, the appended bytes", self.appended.len());
                    place.field_error("offset", offset, expected)
                })?;
                let source = match self.raw {
                    true => Source::Raw(content),
                    false => Source::Base64(content),
                };
                self.unpack(place, source)?
            }
            other => return Err(place.field_error("format", other, "ascii, binary or appended")),
        };
        if bytes.len() % stored.width != 0 {
            let expected = format!("a multiple of {}", stored.width);
            return Err(place.field_error("bytes of an array", bytes.len(), expected));
        }
        Ok(stored.numbers(&bytes, self.big_endian).collect())
    }

    /// Reads the bytes after a header, decompressed block by block.
    fn unpack(&self, place: FilePosition, mut source: Source<'_>) -> Result<Vec<u8>, Defect> {
        let width = self.header.width;
        let first = self.head(place, &source.peek(place, width)?, 0)?;
        if !self.compressed {
            let end = first.saturating_add(width);
            let mut bytes = source.peek(place, end)?;
            if bytes.len() < end {
                let expected = as_follow(bytes.len().saturating_sub(width));
                return Err(place.field_error("length of an array", first, expected));
            }
            bytes.truncate(end);
            return Ok(bytes.split_off(width));
        }
        let count = first;
        let head = count
            .checked_add(3)
            .and_then(|words| words.checked_mul(width));
        let head = head.filter(|&bytes| bytes <= source.remaining());
        let head = head.ok_or_else(|| {
            place.field_error("number of blocks", count, "as many as there are sizes for")
        })?;
        let heads = source.take(place, head)?;
        let sizes = (0..count).map(|block| self.head(place, &heads, 3 + block));
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let packed = sizes.iter().copied().fold(0, usize::saturating_add);
        let blocks = source.peek(place, packed)?;
        let block_max = self.head(place, &heads, 1)?;
        let (mut data, mut start) = (Vec::new(), 0_usize);
        for (block, size) in sizes.into_iter().enumerate() {
            let end = start.checked_add(size);
            let packed = end.and_then(|end| blocks.get(start..end)).ok_or_else(|| {
                let expected = as_follow(blocks.len().saturating_sub(start));
                place.field_error("size of a block", size, expected)
            })?;
            start = start.saturating_add(size);
            let limit = block_max.min(packed.len().saturating_mul(RATIO_MAX));
            let plain = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, limit);
            data.extend(plain.map_err(|error| {
                let expected = format!("zlib data of at most {block_max} bytes");
                place.field_error(
                    "compressed array",
                    format!("block {block}: {error}"),
                    expected,
                )
            })?);
        }
        Ok(data)
    }

    /// Reads one number of a header.
    fn head(&self, place: FilePosition, bytes: &[u8], index: usize) -> Result<usize, Defect> {
        let width = self.header.width;
        let start = index.saturating_mul(width);
        let item = bytes.get(start..).and_then(|rest| rest.get(..width));
        let field = "header of an array";
        let item = item.ok_or_else(|| {
            place.missing_error(field, format!("{width} bytes for each of its numbers"))
        })?;
        let value = self.header.number(item, self.big_endian).whole();
        let value = value.and_then(|value| usize::try_from(value).ok());
        value.ok_or_else(|| place.missing_error(field, "a length that fits"))
    }
}

fn as_follow(bytes: usize) -> String {
    format!("at most {bytes} bytes, as follow")
}

/// Reads the numbers of a text array.
fn of_text(place: FilePosition, kind: NumberKind, text: &str) -> Result<Vec<Number>, Defect> {
    let number = |word: &str| {
        let (number, expected) = match kind {
            NumberKind::Float => (word.parse().ok().map(Number::Real), "a number"),
            _ => (word.parse().ok().map(Number::Signed), "a whole number"),
        };
        number.ok_or_else(|| place.field_error("number of an array", word, expected))
    };
    text.split_ascii_whitespace().map(number).collect()
}

/// Bytes, raw or in base64.
enum Source<'a> {
    Raw(&'a [u8]),
    Base64(&'a [u8]),
}

impl Source<'_> {
    /// Number of bytes left, or a little more.
    fn remaining(&self) -> usize {
        match self {
            Self::Raw(bytes) => bytes.len(),
            Self::Base64(text) => text.len() / 4 * 3 + 3,
        }
    }

    /// Returns the next bytes without consuming them, at least `count` if they exist.
    fn peek(&self, place: FilePosition, count: usize) -> Result<Vec<u8>, Defect> {
        match self {
            Self::Raw(bytes) => Ok(bytes[..count.min(bytes.len())].to_vec()),
            Self::Base64(text) => {
                // one group more: a header may have its own padding
                let text = &text[..groups(count).saturating_add(4).min(text.len())];
                let end = text
                    .iter()
                    .position(|&byte| byte == b'<' || byte.is_ascii_whitespace());
                base64(place, &text[..end.unwrap_or(text.len())])
            }
        }
    }

    /// Reads the next bytes; in base64 they end with a group.
    fn take(&mut self, place: FilePosition, count: usize) -> Result<Vec<u8>, Defect> {
        let mut taken = self.peek(place, count)?;
        taken.truncate(count);
        match self {
            Self::Raw(bytes) => *bytes = &bytes[count.min(bytes.len())..],
            Self::Base64(text) => *text = &text[groups(count).min(text.len())..],
        }
        Ok(taken)
    }
}

/// Number of base64 letters for `bytes` bytes.
fn groups(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Decodes base64 with padding anywhere: VTK concatenates several encoded runs, which a decoder of the whole
/// refuses.
fn base64(place: FilePosition, text: &[u8]) -> Result<Vec<u8>, Defect> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.chunks(4) {
        let refuse = |_| place.field_error("base64", lossy(group), "groups of four letters");
        GROUPS.decode_vec(group, &mut bytes).map_err(refuse)?;
    }
    Ok(bytes)
}
