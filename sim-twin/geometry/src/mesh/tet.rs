//! Tetrahedral meshes with a region for every cell, and hexahedra cut into them.
//!
//! Source: ours; the cut is the pulling triangulation (De Loera, Rambau and Santos 2010, lemma
//! 4.3.6): every face is cut from its least node and every cell joined to its least node, so that
//! neighbours cut their common face alike whatever the mesh.

use crate::mesh::defect::{Finding, Pieces};
use crate::mesh::hex::SIDES;
use crate::mesh::parts::{Cells, Parts};
use crate::mesh::surface::Surface;
use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Faces of a tetrahedron, counter-clockwise seen from outside.
pub const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];

/// A volume of tetrahedra.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetMesh {
    /// Places of the nodes at rest \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Nodes of every cell, and its region.
    pub cells: Cells<4>,
}

impl TetMesh {
    /// Every hexahedron cut into six, as [`TetMesh::from_parts`].
    #[cfg(test)]
    pub(crate) fn from_hex(mesh: &super::hex::HexMesh, regions: &[u32]) -> Self {
        Self::from_parts(&Parts::from_hex(mesh, regions))
    }

    /// The tetrahedra of a file, and its hexahedra each cut into six that meet their neighbours face to face; triangles
    /// are left out. Indices of nodes stay, and the volume, if the faces of hexahedra are plane.
    #[must_use]
    pub fn from_parts(parts: &Parts) -> Self {
        let mut cells = parts.tets.clone();
        for (hex, region) in parts.hexes.iter() {
            for tet in cut(hex) {
                cells.push(tet, region);
            }
        }
        Self {
            nodes_m: parts.nodes_m.clone(),
            cells,
        }
    }

    /// The same mesh as a file holds it.
    #[must_use]
    pub fn to_parts(&self) -> Parts {
        Parts {
            nodes_m: self.nodes_m.clone(),
            tets: self.cells.clone(),
            ..Parts::default()
        }
    }

    /// Faces that belong to one cell only, counter-clockwise seen from outside, in the order of the
    /// cells.
    #[must_use]
    pub(crate) fn boundary(&self) -> Vec<[u32; 3]> {
        let faces = || {
            let cells = self.cells.nodes.iter();
            cells.flat_map(|cell| FACES.map(|face| face.map(|corner| cell[corner])))
        };
        let mut counts: BTreeMap<[u32; 3], usize> = BTreeMap::new();
        for face in faces() {
            *counts.entry(sorted(face)).or_default() += 1;
        }
        let outer = faces().filter(|face| counts.get(&sorted(*face)) == Some(&1));
        outer.collect()
    }

    /// The boundary as a surface of its own, with the nodes that it uses.
    #[must_use]
    pub fn skin(&self) -> Surface {
        Surface::compact(&self.nodes_m, &self.boundary())
    }

    /// Volume of a cell \[m^3\]; negative if it is inside out.
    ///
    /// # Panics
    /// If the cell, or a node that it names, is not there; [`TetMesh::findings`] names such cells.
    #[must_use]
    pub fn volume_m3(&self, cell: usize) -> f64 {
        let corners_m = self.cells.nodes[cell].map(|node| self.nodes_m[node as usize]);
        crate::mesh::check::volume_m3(corners_m)
    }

    /// Everything that makes the mesh unfit to simulate.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let pieces = Pieces {
            nodes_m: &self.nodes_m,
            tets: &self.cells.nodes,
            hexes: &[],
            triangles: &[],
        };
        pieces.findings()
    }

    /// Looks at every node, cell and face.
    ///
    /// # Errors
    /// The first thing that makes the mesh unfit to simulate.
    pub fn check(&self) -> Result<(), Finding> {
        self.findings().into_iter().next().map_or(Ok(()), Err)
    }
}

/// Six tetrahedra of a hexahedron, the right way round if it is.
#[must_use]
pub fn cut(hex: &[u32; 8]) -> [[u32; 4]; 6] {
    let apex = hex.iter().copied().min().unwrap_or_default();
    let mut tets = [[apex; 4]; 6];
    let mut free = tets.iter_mut();
    for side in SIDES {
        let face = side.corners().map(|corner| hex[corner]);
        if face.contains(&apex) {
            continue;
        }
        for [a, b, c] in halves(face) {
            // seen from the apex, inside, an outward face runs clockwise
            if let Some(tet) = free.next() {
                *tet = [a, c, b, apex];
            }
        }
    }
    tets
}

/// A four-cornered face as two triangles, cut from its least node.
#[must_use]
pub fn halves(face: [u32; 4]) -> [[u32; 3]; 2] {
    let least = (0..4).min_by_key(|&corner| face[corner]).unwrap_or(0);
    let at = |step: usize| face[(least + step) % 4];
    [[at(0), at(1), at(2)], [at(0), at(2), at(3)]]
}

fn sorted<const N: usize>(mut nodes: [u32; N]) -> [u32; N] {
    nodes.sort_unstable();
    nodes
}
