//! Binary encoding of a compliance table for the cache.
//!
//! Source: ours. Little-endian. Header: eight letters with the version of the layout, a CRC-32 of all
//! following bytes, the numbers of columns and rows of faces as `u32`. Then as `f64`: the unit of length
//! \[m\], the unit of force \[N\], the height of the surface, the coordinates of the columns and of the rows.
//! Then as `f32` the nine numbers of every block `(a, b)` with `b <= a`, row after row; the table is
//! symmetric.

use super::compliance::{ComplianceTable, spacing_min};

/// First bytes, including the version of the layout.
const MAGIC: &[u8; 8] = b"palpcmp2";
/// Bytes before the coordinates: letters, checksum, two counts, three numbers.
const HEAD: usize = 8 + 4 + 8 + 24;
/// Most faces of a table: 144 MB of memory, more than any session needs.
const FACES_MAX: usize = 2000;

/// Reason why bytes cannot be decoded as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ComplianceDecodeError {
    /// First bytes that differ from `palpcmp2`.
    #[error("no stored table of this version: expected the first bytes to be `palpcmp2`")]
    Magic,
    /// Number of bytes that differs from the one the header requires.
    #[error("{found} bytes; expected {expected}")]
    Length {
        /// Bytes required by the header.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// Header with no face or too many.
    #[error("{columns} columns and {rows} rows of faces; expected 1 to {FACES_MAX} faces")]
    Faces {
        /// Columns.
        columns: u32,
        /// Rows.
        rows: u32,
    },
    /// Bytes that do not match their checksum.
    #[error("checksum {found:08x}; expected {expected:08x}: the bytes are damaged")]
    Checksum {
        /// Checksum stored in the bytes.
        expected: u32,
        /// Checksum computed from the bytes.
        found: u32,
    },
    /// Number that is not finite, or scale or coordinate out of range.
    #[error("{0} is out of its range")]
    Number(&'static str),
}

/// Count of `f32` numbers in the lower triangle of blocks.
fn numbers(faces: usize) -> usize {
    9 * (faces * (faces + 1) / 2)
}

impl ComplianceTable {
    /// Encodes the table in the layout described at the head of this file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let faces = self.faces();
        let [columns, rows] = self.lines.each_ref().map(Vec::len);
        let mut bytes = Vec::with_capacity(HEAD + 8 * (columns + rows) + 4 * numbers(faces));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        for count in [columns, rows] {
            // no mesh has more than `u32::MAX` columns or rows
            bytes.extend_from_slice(&u32::try_from(count).unwrap_or(0).to_le_bytes());
        }
        let scales = [self.length_m, self.force_n, self.top_height];
        for value in scales.iter().chain(self.lines.iter().flatten()) {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for (row, blocks) in self.table.chunks_exact(faces).enumerate() {
            for value in blocks[..=row].iter().flatten() {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
        let sum = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a table written by [`ComplianceTable::to_bytes`].
    ///
    /// # Errors
    /// [`ComplianceDecodeError`] if the bytes are of another format, incomplete, damaged, or hold an
    /// unusable table.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ComplianceDecodeError> {
        if !bytes.starts_with(MAGIC) {
            return Err(ComplianceDecodeError::Magic);
        }
        let length = |expected| ComplianceDecodeError::Length {
            expected,
            found: bytes.len(),
        };
        if bytes.len() < HEAD {
            return Err(length(HEAD));
        }
        let (words, _) = bytes.as_chunks::<4>();
        let [stored, columns, rows] = [2, 3, 4].map(|word| u32::from_le_bytes(words[word]));
        let (wide, high) = (columns as usize, rows as usize);
        let faces = wide.saturating_mul(high);
        if faces == 0 || faces > FACES_MAX {
            return Err(ComplianceDecodeError::Faces { columns, rows });
        }
        let expected = HEAD + 8 * (wide + high) + 4 * numbers(faces);
        if bytes.len() != expected {
            return Err(length(expected));
        }
        let found = crc32fast::hash(&bytes[12..]);
        if stored != found {
            return Err(ComplianceDecodeError::Checksum {
                expected: stored,
                found,
            });
        }
        let (doubles, singles) = bytes[20..].split_at(24 + 8 * (wide + high));
        let (doubles, singles) = (doubles.as_chunks::<8>().0, singles.as_chunks::<4>().0);
        let doubles: Vec<f64> = doubles.iter().copied().map(f64::from_le_bytes).collect();
        let singles = singles.iter().copied().map(f32::from_le_bytes);
        let lines = [doubles[3..3 + wide].to_vec(), doubles[3 + wide..].to_vec()];
        check(&doubles[..3], &lines)?;
        Ok(Self {
            length_m: doubles[0],
            force_n: doubles[1],
            top_height: doubles[2],
            spacing_min: [0, 1].map(|axis| spacing_min(&lines, axis)),
            lines,
            table: mirrored(singles, faces)?,
        })
    }
}

fn check(scales: &[f64], lines: &[Vec<f64>; 2]) -> Result<(), ComplianceDecodeError> {
    let named = ["the unit of length", "the unit of force", "the height"];
    for (index, (&value, name)) in scales.iter().zip(named).enumerate() {
        if !value.is_finite() || (index < 2 && value <= 0.0) {
            return Err(ComplianceDecodeError::Number(name));
        }
    }
    for line in lines {
        let ascends = line.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends || line.iter().any(|x| !x.is_finite()) {
            return Err(ComplianceDecodeError::Number("a coordinate"));
        }
    }
    Ok(())
}

/// Expands the blocks of the lower triangle to the whole table.
fn mirrored(
    mut values: impl Iterator<Item = f32>,
    faces: usize,
) -> Result<Vec<[f32; 9]>, ComplianceDecodeError> {
    let mut table = vec![[0.0_f32; 9]; faces * faces];
    for a in 0..faces {
        for b in 0..=a {
            // the length was checked, so the default is never used
            let block: [f32; 9] = std::array::from_fn(|_| values.next().unwrap_or_default());
            let own = a != b || [0, 4, 8].iter().all(|&entry| block[entry] > 0.0);
            if !own || block.iter().any(|x| !x.is_finite()) {
                return Err(ComplianceDecodeError::Number("a block of the table"));
            }
            table[a * faces + b] = block;
            table[b * faces + a] = std::array::from_fn(|entry| block[entry % 3 * 3 + entry / 3]);
        }
    }
    Ok(table)
}
