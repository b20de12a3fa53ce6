//! Tetrahedra: their faces and volumes, and hexahedra cut into them.
//!
//! Source: ours; the cut is the pulling triangulation (De Loera, Rambau and Santos 2010, lemma
//! 4.3.6): every face is cut from its least node and every cell joined to its least node. So
//! neighbours cut their common face alike whatever the mesh.

use crate::mesh::MixedMesh;
use crate::mesh::hex::SIDES;
use palpate_twin::Vec3;

/// Faces of a tetrahedron, counter-clockwise seen from outside.
pub(super) const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];

impl MixedMesh {
    /// Returns its tetrahedra, and its hexahedra each cut into six that meet their neighbours face to face; triangles
    /// are left out. Node indices stay the same; the volume too, if the faces of hexahedra are plane.
    #[must_use]
    pub fn tetrahedra(&self) -> Self {
        let mut tets = self.tets.clone();
        for (hex, region) in self.hexes.iter() {
            for tet in cut(hex) {
                tets.push(tet, region);
            }
        }
        Self {
            nodes_m: self.nodes_m.clone(),
            tets,
            ..Self::default()
        }
    }

    /// Volume of a tetrahedron \[m^3\]; negative if it is inside out.
    ///
    /// # Panics
    /// If the cell, or one of its nodes, does not exist; [`super::mesh_check::findings`] names such cells.
    #[must_use]
    pub fn tet_m3(&self, cell: usize) -> f64 {
        volume_m3(self.tets.nodes[cell].map(|node| self.nodes_m[node as usize]))
    }
}

/// Signed volume of a tetrahedron with corners at `corners_m` \[m^3\].
pub(super) fn volume_m3(corners_m: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners_m;
    (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
}

/// Cuts a hexahedron into six tetrahedra of the same orientation.
pub(super) fn cut(hex: &[u32; 8]) -> [[u32; 4]; 6] {
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

/// Cuts a quadrilateral face into two triangles, from its least node.
pub(super) fn halves(face: [u32; 4]) -> [[u32; 3]; 2] {
    let least = (0..4).min_by_key(|&corner| face[corner]).unwrap_or(0);
    let at = |step: usize| face[(least + step) % 4];
    [[at(0), at(1), at(2)], [at(0), at(2), at(3)]]
}
