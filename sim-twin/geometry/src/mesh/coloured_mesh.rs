//! Surface with a colour for each node, for files of other programs.
//!
//! Source: ours; seed-001 row RN-03 for its use: the faces of a cut show the tissue inside.

use crate::mesh::MixedMesh;

/// Mesh with optional colours and materials of its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColouredMesh {
    /// The mesh.
    pub mesh: MixedMesh,
    /// Red, green and blue of every node; empty if the mesh has no colours.
    pub colours: Vec<[u8; 3]>,
    /// Number of the material of every node, from 1; empty if it is unknown.
    pub materials: Vec<u32>,
}

impl From<MixedMesh> for ColouredMesh {
    /// A mesh without colours.
    fn from(mesh: MixedMesh) -> Self {
        Self {
            mesh,
            ..Self::default()
        }
    }
}
