//! A condensed table as bytes: what a cache keeps.
//!
//! Source: ours. Little-endian: eight letters with the version of the layout, a CRC-32 of all that
//! follows, the numbers of columns and rows of faces as `u32`; then as `f64` the metres and newtons of
//! a unit, the height of the surface and the coordinates of the columns and of the rows; then as `f32`
//! the nine numbers of every block `(a, b)` with `b <= a`, row after row: the table is symmetric.

use super::compliance::{Compliance, finest};

/// First bytes, with the version of the layout.
const MAGIC: &[u8; 8] = b"palpcmp2";
/// Bytes before the coordinates: letters, checksum, two counts, three numbers.
const HEAD: usize = 8 + 4 + 8 + 24;
/// Most faces of a table: 144 MB of memory, above what any session needs.
const FACES_MAX: usize = 2000;

/// Why bytes are no stored table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// They begin otherwise, or are of another version.
    #[error("no stored table of this version: expected the first bytes to be `palpcmp2`")]
    Magic,
    /// There are more or fewer than the header asks for.
    #[error("{found} bytes; expected {expected}")]
    Length {
        /// Bytes that the header asks for.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The header asks for no face or too many.
    #[error("{columns} columns and {rows} rows of faces; expected 1 to {FACES_MAX} faces")]
    Faces {
        /// Columns.
        columns: u32,
        /// Rows.
        rows: u32,
    },
    /// They have changed since they were written.
    #[error("checksum {found:08x}; expected {expected:08x}: the bytes are damaged")]
    Checksum {
        /// Checksum that they hold.
        expected: u32,
        /// Checksum that they have.
        found: u32,
    },
    /// A number is not finite or a scale or coordinate out of order.
    #[error("{0} is out of its range")]
    Number(&'static str),
}

/// Numbers of the blocks of a table's lower triangle.
fn numbers(faces: usize) -> usize {
    9 * (faces * (faces + 1) / 2)
}

impl Compliance {
    /// The table as bytes, as the head of `super::stored` says.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let faces = self.faces();
        let [columns, rows] = self.lines.each_ref().map(Vec::len);
        let mut bytes = Vec::with_capacity(HEAD + 8 * (columns + rows) + 4 * numbers(faces));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        for count in [columns, rows] {
            // no mesh that was made has more than `u32` counts
            bytes.extend_from_slice(&u32::try_from(count).unwrap_or(0).to_le_bytes());
        }
        let scales = [self.length_m, self.force_n, self.top];
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

    /// The table that [`Compliance::to_bytes`] made.
    ///
    /// # Errors
    /// [`StoredError`] if the bytes are not one, not all of one, damaged, or no table that can be used.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoredError> {
        if !bytes.starts_with(MAGIC) {
            return Err(StoredError::Magic);
        }
        let length = |expected| StoredError::Length {
            expected,
            found: bytes.len(),
        };
        if bytes.len() < HEAD {
            return Err(length(HEAD));
        }
        let word = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4]));
        let (columns, rows) = (word(12), word(16));
        let (wide, high) = (columns as usize, rows as usize);
        let faces = wide.saturating_mul(high);
        if faces == 0 || faces > FACES_MAX {
            return Err(StoredError::Faces { columns, rows });
        }
        let expected = HEAD + 8 * (wide + high) + 4 * numbers(faces);
        if bytes.len() != expected {
            return Err(length(expected));
        }
        let (stored, found) = (word(8), crc32fast::hash(&bytes[12..]));
        if stored != found {
            return Err(StoredError::Checksum {
                expected: stored,
                found,
            });
        }
        let (doubles, singles) = bytes[20..].split_at(24 + 8 * (wide + high));
        let doubles = doubles
            .as_chunks::<8>()
            .0
            .iter()
            .copied()
            .map(f64::from_le_bytes);
        let doubles: Vec<f64> = doubles.collect();
        let singles = singles
            .as_chunks::<4>()
            .0
            .iter()
            .copied()
            .map(f32::from_le_bytes);
        let lines = [doubles[3..3 + wide].to_vec(), doubles[3 + wide..].to_vec()];
        check(&doubles[..3], &lines)?;
        Ok(Self {
            length_m: doubles[0],
            force_n: doubles[1],
            top: doubles[2],
            finest: [0, 1].map(|axis| finest(&lines, axis)),
            lines,
            table: mirrored(singles, faces)?,
        })
    }
}

fn check(scales: &[f64], lines: &[Vec<f64>; 2]) -> Result<(), StoredError> {
    let named = ["the unit of length", "the unit of force", "the height"];
    for (index, (&value, name)) in scales.iter().zip(named).enumerate() {
        if !value.is_finite() || (index < 2 && value <= 0.0) {
            return Err(StoredError::Number(name));
        }
    }
    for line in lines {
        let ascends = line.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends || line.iter().any(|x| !x.is_finite()) {
            return Err(StoredError::Number("a coordinate"));
        }
    }
    Ok(())
}

/// The whole table from the blocks of its lower triangle.
fn mirrored(
    mut values: impl Iterator<Item = f32>,
    faces: usize,
) -> Result<Vec<[f32; 9]>, StoredError> {
    let mut table = vec![[0.0_f32; 9]; faces * faces];
    for a in 0..faces {
        for b in 0..=a {
            // the length was checked, so no default is ever used
            let block: [f32; 9] = std::array::from_fn(|_| values.next().unwrap_or_default());
            let own = a != b || [0, 4, 8].iter().all(|&entry| block[entry] > 0.0);
            if !own || block.iter().any(|x| !x.is_finite()) {
                return Err(StoredError::Number("a block of the table"));
            }
            table[a * faces + b] = block;
            table[b * faces + a] = std::array::from_fn(|entry| block[entry % 3 * 3 + entry / 3]);
        }
    }
    Ok(table)
}

/// A slice of exactly `N` as an array; zeros never show, since the slices are exact.
fn array<const N: usize>(slice: &[u8]) -> [u8; N] {
    slice.try_into().unwrap_or([0; N])
}
