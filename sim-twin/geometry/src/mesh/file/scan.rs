//! Scanner over the bytes of a file: words with their lines, and binary numbers.
//!
//! Source: ours.

use crate::Defect;
use crate::error::{lossy, quoted};
use crate::number::parse;
use palpate_twin::Vec3;
use std::fmt::Display;

/// Position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilePosition {
    /// Line of a text, counted from 1.
    Line(usize),
    /// Byte of a binary file, counted from 0.
    Byte(usize),
}

impl FilePosition {
    /// Error of one field with this value.
    pub(super) fn field_error(
        self,
        field: &str,
        found: impl Display,
        expected: impl Display,
    ) -> Defect {
        Defect::field(field, quoted(found), expected).located(self)
    }

    /// Error of one field with these bytes of text.
    pub(super) fn word_error(self, field: &str, word: &[u8], expected: impl Display) -> Defect {
        self.field_error(field, lossy(word), expected)
    }

    /// Error of a missing field.
    pub(super) fn missing_error(self, field: &str, expected: impl Display) -> Defect {
        Defect::missing(field, expected).located(self)
    }

    /// Reads a word as a whole number that is not negative.
    pub(super) fn whole(self, field: &str, word: &[u8]) -> Result<u64, Defect> {
        parse(word).ok_or_else(|| self.word_error(field, word, WHOLE))
    }

    /// Reads a word as a finite number.
    pub(super) fn number(self, field: &str, word: &[u8]) -> Result<f64, Defect> {
        let value = parse(word).filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| self.word_error(field, word, NUMBER))
    }

    /// Returns a number, which must be finite.
    pub(super) fn finite(self, field: &str, value: f64) -> Result<f64, Defect> {
        if value.is_finite() {
            return Ok(value);
        }
        Err(self.field_error(field, value, NUMBER))
    }

    /// Index of the next node.
    pub(super) fn next_node(self, nodes_m: &[Vec3]) -> Result<u32, Defect> {
        // the last index is reserved as a mark for `none`
        let count = nodes_m.len();
        let index = u32::try_from(count).ok().filter(|&index| index < u32::MAX);
        index.ok_or_else(|| self.field_error("number of nodes", count, "fewer than 2^32 - 1"))
    }
}

impl Display for FilePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Scanner at a position in a file.
#[derive(Debug, Clone)]
pub(super) struct ByteScanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> ByteScanner<'a> {
    /// Creates a scanner at the start of a file.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            line: 1,
        }
    }

    /// Line of the next byte.
    pub(super) fn line(&self) -> FilePosition {
        FilePosition::Line(self.line)
    }

    /// Position of the next byte.
    pub(super) fn byte(&self) -> FilePosition {
        FilePosition::Byte(self.at)
    }

    /// Number of bytes left.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads the rest of the line without blanks around it, with the line number; none at the end.
    pub(super) fn next_line(&mut self) -> Option<(FilePosition, &'a [u8])> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let place = self.line();
        let end = rest.iter().position(|&byte| byte == b'\n');
        let (row, used) = match end {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        };
        self.at += used;
        self.line += 1;
        Some((place, row.trim_ascii()))
    }

    /// Reads the next word on this line or a later one; none at the end.
    pub(super) fn next_word(&mut self) -> Option<(FilePosition, &'a [u8])> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !byte.is_ascii_whitespace() {
                break;
            }
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        (!word.is_empty()).then_some((self.line(), word))
    }

    /// Reads the next word, which must exist.
    pub(super) fn word(
        &mut self,
        field: &str,
        expected: &str,
    ) -> Result<(FilePosition, &'a [u8]), Defect> {
        self.next_word()
            .ok_or_else(|| self.line().missing_error(field, expected))
    }

    /// Reads the next word, which must be `expected`.
    pub(super) fn keyword(
        &mut self,
        field: &str,
        word: &str,
        expected: &str,
    ) -> Result<(), Defect> {
        let (place, found) = self.word(field, expected)?;
        if found == word.as_bytes() {
            return Ok(());
        }
        Err(place.word_error(field, found, expected))
    }

    /// Reads the next word as a whole number that is not negative.
    pub(super) fn whole(&mut self, field: &str) -> Result<u64, Defect> {
        let (place, word) = self.word(field, WHOLE)?;
        place.whole(field, word)
    }

    /// Reads the next word as a whole number.
    pub(super) fn signed(&mut self, field: &str) -> Result<i64, Defect> {
        let expected = "a whole number";
        let (place, word) = self.word(field, expected)?;
        parse(word).ok_or_else(|| place.word_error(field, word, expected))
    }

    /// Reads the next word as a finite number.
    pub(super) fn number(&mut self, field: &str) -> Result<f64, Defect> {
        let (place, word) = self.word(field, NUMBER)?;
        place.number(field, word)
    }

    /// Reads three numbers.
    pub(super) fn point(&mut self) -> Result<Vec3, Defect> {
        Ok(Vec3::new(
            self.number("x")?,
            self.number("y")?,
            self.number("z")?,
        ))
    }

    /// Reads the next `count` bytes.
    pub(super) fn take(&mut self, count: usize, field: &str) -> Result<&'a [u8], Defect> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| {
            let expected = format!("{count} bytes, {} are left", rest.len());
            self.byte().missing_error(field, expected)
        })?;
        self.at += count;
        Ok(taken)
    }
}

/// Expected form of a whole number and of a real number, for messages.
pub(super) const WHOLE: &str = "a whole number that is not negative";
const NUMBER: &str = "a finite number";

/// Triangles of a polygon, all from its first corner.
pub(super) fn fan(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let pairs = corners.get(1..).unwrap_or_default().windows(2);
    pairs.map(|pair| [corners[0], pair[0], pair[1]])
}
