//! Surfaces of triangles: what a tool, a bone or the skin of a volume is outside.
//!
//! Source: ours.

use crate::mesh::defect::{Finding, Pieces};
use crate::mesh::parts::Parts;
use crate::mesh::tet::TetMesh;
use palpate_twin::Vec3;
use palpate_twin::lattice::Face;
use std::collections::BTreeMap;

/// Triangles over a list of nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surface {
    /// Places of the nodes \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub faces: Vec<Face>,
}

impl Surface {
    /// Some faces with only the nodes that they use, in the order of their first use.
    ///
    /// Faces that name a node that is not there are left out.
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
                    // no more nodes than an index could name before
                    u32::try_from(surface.nodes_m.len() - 1).unwrap_or(u32::MAX)
                })
            });
            surface.faces.push(face);
        }
        surface
    }

    /// The outside of what a file holds: the boundary of its cells, or its triangles if it has none.
    #[must_use]
    pub fn from_parts(parts: &Parts) -> Self {
        if parts.volume_cells() > 0 {
            return TetMesh::from_parts(parts).skin();
        }
        Self {
            nodes_m: parts.nodes_m.clone(),
            faces: parts.triangles.nodes.clone(),
        }
    }

    /// The same surface as a file holds it.
    #[must_use]
    pub fn to_parts(&self) -> Parts {
        let mut parts = Parts {
            nodes_m: self.nodes_m.clone(),
            ..Parts::default()
        };
        for face in &self.faces {
            parts.triangles.push(*face, 0);
        }
        parts
    }

    /// Volume inside \[m^3\]; negative if the faces look inward. Means nothing if the surface is open.
    ///
    /// # Panics
    /// If a face names a node that is not there; [`Surface::findings`] names such faces.
    #[must_use]
    pub fn volume_m3(&self) -> f64 {
        let origin = self.nodes_m.first().copied().unwrap_or_default();
        let cone = |face: &Face| {
            let [a, b, c] = face.map(|node| self.nodes_m[node as usize] - origin);
            a.dot(&b.cross(&c)) / 6.0
        };
        self.faces.iter().map(cone).sum()
    }

    /// Everything that makes the surface unfit for contact. A rim is a warning, not a finding.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let pieces = Pieces {
            nodes_m: &self.nodes_m,
            tets: &[],
            hexes: &[],
            triangles: &self.faces,
        };
        pieces.findings()
    }

    /// Looks at every node, face and edge.
    ///
    /// # Errors
    /// The first thing that makes the surface unfit for contact.
    pub fn check(&self) -> Result<(), Finding> {
        self.findings().into_iter().next().map_or(Ok(()), Err)
    }
}
