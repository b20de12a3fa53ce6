//! How the faces of a patch of the surface move under forces on them: a table, made once.
//!
//! Source: Green's functions of a discrete elastic body (James and Pai 1999), by static condensation
//! ([`super::condense`]) of the tangent at rest. Entry `(a, b)` is the mean displacement of face `a`
//! under a unit force spread over face `b`, three by three, in single precision and without units.

use super::condense::condense;
use super::front::NotPositive;
use super::solid::Solid;
use super::sparse::BlockMatrix;
use crate::Vec3;
use crate::mesh::hex::{HexMesh, Side};

/// First bytes of a stored table, with the version of its layout.
const MAGIC: &[u8; 8] = b"palpcmp1";

/// A square of the top that a tool may touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patch {
    /// Its centre \[m\].
    pub centre_m: [f64; 2],
    /// Half of its edge \[m\]; faces with their centre inside belong to it.
    pub half_m: f64,
}

/// The table.
#[derive(Debug, Clone, PartialEq)]
pub struct Compliance {
    /// Metres a unit of length.
    pub length_m: f64,
    /// Newtons a unit of force.
    pub force_n: f64,
    /// Coordinates of the faces' centres along x and y, ascending.
    pub(super) lines: [Vec<f64>; 2],
    /// Centres of the faces at rest, x fastest.
    pub(super) centres: Vec<Vec3>,
    /// Blocks by row and column, each column after column.
    pub(super) table: Vec<[f32; 9]>,
}

/// Why there is no table.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ComplianceError {
    /// The patch has no face.
    #[error("no face of the top has its centre in the patch")]
    Empty,
    /// The faces of the patch are not a full grid.
    #[error("{faces} faces make no grid of {columns} by {rows}; expected a structured top")]
    Grid {
        /// Faces found.
        faces: usize,
        /// Different x.
        columns: usize,
        /// Different y.
        rows: usize,
    },
    /// The tissue is not stable at rest.
    #[error(transparent)]
    Unstable(#[from] NotPositive),
    /// Stored bytes are not a table.
    #[error("{found} bytes are no stored table; expected {expected}")]
    Bytes {
        /// Bytes that the header asks for.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
}

impl Compliance {
    /// The table of a patch of the top of `mesh`, made of `solid` at rest.
    ///
    /// # Errors
    /// If the patch is empty or no grid, or the tissue not held.
    pub fn new(solid: &Solid, mesh: &HexMesh, patch: Patch) -> Result<Self, ComplianceError> {
        let inside = |face: &&[u32; 4]| {
            let at_m = centre(face, &mesh.nodes_m);
            let off = |axis: usize| (at_m[axis] - patch.centre_m[axis]).abs() <= patch.half_m;
            off(0) && off(1)
        };
        let faces: Vec<[u32; 4]> = mesh
            .side(Side::ZMax)
            .iter()
            .filter(inside)
            .copied()
            .collect();
        let centres: Vec<Vec3> = faces.iter().map(|f| centre(f, &solid.nodes)).collect();
        let lines = [0, 1].map(|axis| lines(&centres, axis));
        let (columns, rows) = (lines[0].len(), lines[1].len());
        if faces.is_empty() {
            return Err(ComplianceError::Empty);
        }
        if columns * rows != faces.len() {
            return Err(ComplianceError::Grid {
                faces: faces.len(),
                columns,
                rows,
            });
        }
        Ok(Self {
            length_m: solid.length_m,
            force_n: solid.force_n(),
            table: table(solid, &faces)?,
            lines,
            centres,
        })
    }

    /// Number of faces of the patch.
    #[must_use]
    pub fn faces(&self) -> usize {
        self.centres.len()
    }

    /// The table as bytes, little-endian: what a cache keeps.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.table.len() * 36 + 1024);
        bytes.extend_from_slice(MAGIC);
        for line in &self.lines {
            bytes.extend_from_slice(&(line.len() as u64).to_le_bytes());
        }
        let scales = [self.length_m, self.force_n];
        let places = self.centres.iter().flat_map(|c| [c.x, c.y, c.z]);
        for value in scales.into_iter().chain(places) {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for value in self.table.iter().flatten() {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// The table that [`Compliance::to_bytes`] made.
    ///
    /// # Errors
    /// If the bytes are not one, or not all of one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ComplianceError> {
        let wrong = |expected| ComplianceError::Bytes {
            expected,
            found: bytes.len(),
        };
        let (Some(head), true) = (bytes.get(8..24), bytes.starts_with(MAGIC)) else {
            return Err(wrong(24));
        };
        let count = |at: usize| {
            let word = head[at..at + 8].iter().rev();
            word.fold(0_usize, |sum, &byte| {
                sum.saturating_mul(256).saturating_add(byte.into())
            })
        };
        let (columns, rows) = (count(0), count(8));
        let faces = columns.saturating_mul(rows);
        let blocks = faces.saturating_mul(faces);
        let expected = (blocks.saturating_mul(36)).saturating_add(40 + faces.saturating_mul(24));
        if faces == 0 || bytes.len() != expected {
            return Err(wrong(expected));
        }
        let (wide, narrow) = bytes[24..].split_at(16 + 24 * faces);
        let wide: Vec<f64> = wide
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(array(b)))
            .collect();
        let narrow: Vec<f32> = narrow
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(array(b)))
            .collect();
        let centres: Vec<Vec3> = wide[2..]
            .chunks_exact(3)
            .map(Vec3::from_column_slice)
            .collect();
        Ok(Self {
            length_m: wide[0],
            force_n: wide[1],
            lines: [0, 1].map(|axis| lines(&centres, axis)),
            centres,
            table: narrow.chunks_exact(9).map(array).collect(),
        })
    }
}

/// A slice of exactly `N` as an array; zeros never show, since the chunks are exact.
fn array<T: Copy + Default, const N: usize>(slice: &[T]) -> [T; N] {
    slice.try_into().unwrap_or([T::default(); N])
}

fn centre(face: &[u32; 4], nodes: &[Vec3]) -> Vec3 {
    face.iter().map(|&node| nodes[node as usize]).sum::<Vec3>() * 0.25
}

/// Different coordinates of the centres along an axis, ascending.
fn lines(centres: &[Vec3], axis: usize) -> Vec<f64> {
    let mut lines: Vec<f64> = centres.iter().map(|c| c[axis]).collect();
    lines.sort_by(f64::total_cmp);
    lines.dedup();
    lines
}

fn table(solid: &Solid, faces: &[[u32; 4]]) -> Result<Vec<[f32; 9]>, NotPositive> {
    let mut keep: Vec<u32> = faces.iter().flatten().copied().collect();
    keep.sort_unstable();
    keep.dedup();
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    solid.add_stiffness(&vec![Vec3::zeros(); solid.nodes.len()], &mut matrix);
    matrix.fix(&solid.fixed);
    let schur = condense(&matrix, &solid.nodes, &keep)?;
    let mut weights = Vec::with_capacity(3 * faces.len());
    for face in faces {
        let places = face.map(|node| keep.partition_point(|&kept| kept < node));
        weights.extend((0..3).map(|axis| places.map(|p| (3 * p + axis, 0.25)).to_vec()));
    }
    let response = schur.respond(&weights)?;
    let count = faces.len();
    let mut table = Vec::with_capacity(count * count);
    for a in 0..count {
        for b in 0..count {
            let mut block = [0.0_f32; 9];
            for (entry, value) in block.iter_mut().enumerate() {
                let (row, column) = (3 * a + entry % 3, 3 * b + entry / 3);
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "stored in single precision"
                )]
                let narrow = response.entries[response.size * column + row] as f32;
                *value = narrow;
            }
            table.push(block);
        }
    }
    Ok(table)
}
