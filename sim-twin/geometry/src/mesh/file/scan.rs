//! Walking through the bytes of a file: words with their lines, and numbers in binary.
//!
//! Source: ours.

use super::{MeshError, Place, missing, wrong};
use palpate_twin::Vec3;

/// A place in the bytes of a file.
#[derive(Debug, Clone)]
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Scan<'a> {
    /// At the start of a file.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            line: 1,
        }
    }

    /// The line that the next byte is in.
    pub(super) fn line(&self) -> Place {
        Place::Line(self.line)
    }

    /// The next byte.
    pub(super) fn byte(&self) -> Place {
        Place::Byte(self.at)
    }

    /// Number of bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The rest of the line without blanks around it, and the line's number; none at the end.
    pub(super) fn row(&mut self) -> Option<(Place, &'a [u8])> {
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

    /// The next word on this line or a later one; none at the end.
    pub(super) fn next_word(&mut self) -> Option<(Place, &'a [u8])> {
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

    /// The next word, which must be there.
    pub(super) fn word(
        &mut self,
        field: &'static str,
        expected: &str,
    ) -> Result<(Place, &'a [u8]), MeshError> {
        self.next_word()
            .ok_or_else(|| missing(self.line(), field, expected))
    }

    /// The next word as a whole number that is not negative.
    pub(super) fn whole(&mut self, field: &'static str) -> Result<u64, MeshError> {
        let (place, word) = self.word(field, WHOLE)?;
        whole(place, field, word)
    }

    /// The next word as a whole number.
    pub(super) fn signed(&mut self, field: &'static str) -> Result<i64, MeshError> {
        let expected = "a whole number";
        let (place, word) = self.word(field, expected)?;
        parse(word).ok_or_else(|| wrong(place, field, word, expected))
    }

    /// The next word as a finite number.
    pub(super) fn number(&mut self, field: &'static str) -> Result<f64, MeshError> {
        let (place, word) = self.word(field, NUMBER)?;
        number(place, field, word)
    }

    /// Three numbers.
    pub(super) fn place_of(&mut self) -> Result<Vec3, MeshError> {
        Ok(Vec3::new(
            self.number("x")?,
            self.number("y")?,
            self.number("z")?,
        ))
    }

    /// The next bytes as they are.
    pub(super) fn take<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], MeshError> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.first_chunk::<N>() else {
            let expected = format!("{N} bytes, {} are left", rest.len());
            return Err(missing(self.byte(), field, &expected));
        };
        self.at += N;
        Ok(*taken)
    }
}

const WHOLE: &str = "a whole number that is not negative";
const NUMBER: &str = "a finite number";

/// A word as a whole number that is not negative.
pub(super) fn whole(place: Place, field: &'static str, word: &[u8]) -> Result<u64, MeshError> {
    parse(word).ok_or_else(|| wrong(place, field, word, WHOLE))
}

/// A word as a finite number.
pub(super) fn number(place: Place, field: &'static str, word: &[u8]) -> Result<f64, MeshError> {
    let value = parse(word).filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| wrong(place, field, word, NUMBER))
}

/// A word as a value, if it is one.
pub(super) fn parse<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Triangles of a polygon, all from its first corner.
pub(super) fn fan(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let pairs = corners.get(1..).unwrap_or_default().windows(2);
    pairs.map(|pair| [corners[0], pair[0], pair[1]])
}
