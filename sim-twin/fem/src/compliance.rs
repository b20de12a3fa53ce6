//! Compliance table of the faces of a surface patch, computed once.
//!
//! Source: Green's functions of a discrete elastic body (James and Pai 1999), by static condensation
//! ([`super::condensation`]) of the tangent at rest. Entry `(a, b)` is the mean displacement of face `a`
//! under a unit force spread over face `b`: a 3x3 block in single precision, without units.

use super::condensation::{condense, coordinates};
use super::front::NotPositiveDefinite;
use super::solid::Solid;
use super::sparse::BlockMatrix;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_twin::Vec3;

/// Rectangle of the top face that a tool may touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patch {
    /// Centre \[m\].
    pub centre_m: [f64; 2],
    /// Half edge lengths \[m\]; faces whose centre is inside belong to the patch.
    pub half_m: [f64; 2],
}

/// Compliance of every face of a patch under a force on every other face.
#[derive(Debug, Clone, PartialEq)]
pub struct ComplianceTable {
    /// Unit of length \[m\].
    pub(crate) length_m: f64,
    /// Unit of force \[N\].
    pub(crate) force_n: f64,
    /// Coordinates of the faces' centres along x and y, ascending.
    pub(super) lines: [Vec<f64>; 2],
    /// Least distance of two neighbouring face centres along x and y.
    pub(super) spacing_min: [f64; 2],
    /// Height of the surface at rest.
    pub(super) top_height: f64,
    /// Blocks by row and column, x fastest, each in column-major order; symmetric.
    pub(super) table: Vec<[f32; 9]>,
}

/// Reason why no table can be computed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ComplianceError {
    /// Patch without a face.
    #[error("no face of the top has its centre in the patch")]
    Empty,
    /// Tissue that is not stable at rest.
    #[error(transparent)]
    Unstable(#[from] NotPositiveDefinite),
}

impl ComplianceTable {
    /// Computes the table of a patch of the top of `mesh`, made of `solid` at rest.
    ///
    /// # Errors
    /// If the patch is empty or the tissue is not stable.
    ///
    /// # Panics
    /// If the top of the mesh is not a grid.
    pub fn new(solid: &Solid, mesh: &HexMesh, patch: Patch) -> Result<Self, ComplianceError> {
        let inside = |face: &&[u32; 4]| {
            let centre_m = centre(face, &mesh.nodes_m);
            let covers =
                |axis: usize| (centre_m[axis] - patch.centre_m[axis]).abs() <= patch.half_m[axis];
            covers(0) && covers(1)
        };
        let faces: Vec<[u32; 4]> = mesh
            .side(BlockSide::ZMax)
            .iter()
            .filter(inside)
            .copied()
            .collect();
        let centres: Vec<Vec3> = faces.iter().map(|f| centre(f, &solid.nodes)).collect();
        let lines = [0, 1].map(|axis| coordinates(centres.iter(), axis));
        if faces.is_empty() {
            return Err(ComplianceError::Empty);
        }
        // the top of a block is level and its faces form a full grid
        let top = centres[0].z;
        assert_eq!(lines[0].len() * lines[1].len(), faces.len());
        Ok(Self {
            length_m: solid.length_m,
            force_n: solid.force_n(),
            table: table(solid, &faces)?,
            spacing_min: [0, 1].map(|axis| spacing_min(&lines, axis)),
            lines,
            top_height: top,
        })
    }

    /// Returns the memory of the table \[bytes\].
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&self.table[..])
    }

    /// Returns the number of faces of the patch.
    #[must_use]
    pub fn faces(&self) -> usize {
        self.lines[0].len() * self.lines[1].len()
    }
}

fn centre(face: &[u32; 4], nodes: &[Vec3]) -> Vec3 {
    face.iter().map(|&node| nodes[node as usize]).sum::<Vec3>() * 0.25
}

/// Least distance of two neighbours along an axis; along the other axis if there is only one line.
pub(super) fn spacing_min(lines: &[Vec<f64>; 2], axis: usize) -> f64 {
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

fn table(solid: &Solid, faces: &[[u32; 4]]) -> Result<Vec<[f32; 9]>, NotPositiveDefinite> {
    let mut patch_nodes: Vec<u32> = faces.iter().flatten().copied().collect();
    patch_nodes.sort_unstable();
    patch_nodes.dedup();
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    solid.add_stiffness(&vec![Vec3::zeros(); solid.nodes.len()], &mut matrix);
    matrix.fix(&solid.fixed);
    let schur = condense(&matrix, &solid.nodes, &patch_nodes)?;
    let mut weights = Vec::with_capacity(3 * faces.len());
    for face in faces {
        let places = face.map(|node| patch_nodes.partition_point(|&other| other < node));
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
