//! How the faces of a patch of the surface move under forces on them: a table, made once.
//!
//! Source: Green's functions of a discrete elastic body (James and Pai 1999), by static condensation
//! ([`super::condense`]) of the tangent at rest. Entry `(a, b)` is the mean displacement of face `a`
//! under a unit force spread over face `b`, three by three, in single precision and without units.

use super::condense::condense;
use super::front::NotPositive;
use super::solid::Solid;
use super::sparse::BlockMatrix;
use palpate_geometry::mesh::hex::{HexMesh, Side};
use palpate_twin::Vec3;

/// A rectangle of the top that a tool may touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patch {
    /// Its centre \[m\].
    pub centre_m: [f64; 2],
    /// Half of its edges \[m\]; faces with their centre inside belong to it.
    pub half_m: [f64; 2],
}

/// The table.
#[derive(Debug, Clone, PartialEq)]
pub struct Compliance {
    /// Metres a unit of length.
    pub(crate) length_m: f64,
    /// Newtons a unit of force.
    pub(crate) force_n: f64,
    /// Coordinates of the faces' centres along x and y, ascending.
    pub(super) lines: [Vec<f64>; 2],
    /// Least distance of two neighbours along x and y.
    pub(super) finest: [f64; 2],
    /// Height of the surface at rest.
    pub(super) top: f64,
    /// Blocks by row and column, x fastest, each column after column; symmetric.
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
    /// The faces of the patch are not in one plane.
    #[error("the top of the patch is not level")]
    Level,
}

impl Compliance {
    /// The table of a patch of the top of `mesh`, made of `solid` at rest.
    ///
    /// # Errors
    /// If the patch is empty or no grid, or the tissue not held.
    pub fn new(solid: &Solid, mesh: &HexMesh, patch: Patch) -> Result<Self, ComplianceError> {
        let inside = |face: &&[u32; 4]| {
            let at_m = centre(face, &mesh.nodes_m);
            let off = |axis: usize| (at_m[axis] - patch.centre_m[axis]).abs() <= patch.half_m[axis];
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
        let top = centres[0].z;
        // a billionth of the whole is rounding
        if centres.iter().any(|centre| (centre.z - top).abs() > 1e-9) {
            return Err(ComplianceError::Level);
        }
        Ok(Self {
            length_m: solid.length_m,
            force_n: solid.force_n(),
            table: table(solid, &faces)?,
            finest: [0, 1].map(|axis| finest(&lines, axis)),
            lines,
            top,
        })
    }

    /// Memory that the table takes \[bytes\].
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&self.table[..])
    }

    /// Number of faces of the patch.
    #[must_use]
    pub fn faces(&self) -> usize {
        self.lines[0].len() * self.lines[1].len()
    }
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

/// Least distance of two neighbours along an axis; along the other one if there is one line only.
pub(super) fn finest(lines: &[Vec<f64>; 2], axis: usize) -> f64 {
    let least = |line: &[f64]| {
        let gaps = line.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold(f64::INFINITY, f64::min)
    };
    let own = least(&lines[axis]);
    if own.is_finite() {
        return own;
    }
    let other = least(&lines[1 - axis]);
    if other.is_finite() { other } else { 0.0 }
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
