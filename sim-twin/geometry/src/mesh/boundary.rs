//! Boundary of a mesh, as a surface of its own.
//!
//! Source: ours.

use crate::mesh::MixedMesh;
use crate::mesh::tet::FACES;
use palpate_twin::Vec3;
use palpate_twin::lattice::Face;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl MixedMesh {
    /// Creates a mesh of faces with only the nodes that they use, in the order of their first use.
    ///
    /// Faces with an invalid node index are left out.
    #[must_use]
    pub fn compact(nodes_m: &[Vec3], faces: &[Face]) -> Self {
        let mut surface = Self::default();
        let mut renamed: BTreeMap<u32, u32> = BTreeMap::new();
        for face in faces {
            if face.iter().any(|&node| node as usize >= nodes_m.len()) {
                continue;
            }
            let face = face.map(|node| {
                *renamed.entry(node).or_insert_with(|| {
                    surface.nodes_m.push(nodes_m[node as usize]);
                    // at most as many nodes as before, whose indices fitted
                    u32::try_from(surface.nodes_m.len() - 1).unwrap_or(u32::MAX)
                })
            });
            surface.triangles.push(face, 0);
        }
        surface
    }

    /// Returns the boundary of its cells with the nodes that it uses, or the mesh itself if it has no cells.
    #[must_use]
    pub fn boundary_mesh(&self) -> Cow<'_, Self> {
        if self.volume_cells() == 0 {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self::compact(&self.nodes_m, &self.tetrahedra().boundary()))
    }

    /// Faces that belong to only one of its tetrahedra, counter-clockwise seen from outside, in the
    /// order of the cells.
    pub(super) fn boundary(&self) -> Vec<Face> {
        let faces = || {
            let cells = self.tets.nodes.iter();
            cells.flat_map(|cell| FACES.map(|face| face.map(|corner| cell[corner])))
        };
        let sorted = |mut face: Face| {
            face.sort_unstable();
            face
        };
        let mut counts: BTreeMap<Face, usize> = BTreeMap::new();
        for face in faces() {
            *counts.entry(sorted(face)).or_default() += 1;
        }
        let outer = faces().filter(|face| counts.get(&sorted(*face)) == Some(&1));
        outer.collect()
    }

    /// Volume inside its triangles \[m^3\]; negative if they face inward, undefined if they are open.
    ///
    /// # Panics
    /// If a triangle has an invalid node index; [`super::mesh_check::findings`] names such triangles.
    pub(super) fn enclosed_m3(&self) -> f64 {
        let origin = self.nodes_m.first().copied().unwrap_or_default();
        let cone = |face: &Face| {
            let [a, b, c] = face.map(|node| self.nodes_m[node as usize] - origin);
            a.dot(&b.cross(&c)) / 6.0
        };
        self.triangles.nodes.iter().map(cone).sum()
    }
}
