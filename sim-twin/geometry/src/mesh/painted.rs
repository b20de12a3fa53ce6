//! A surface with a colour for each of its nodes, as files of other programs hold it.
//!
//! Source: ours; seed-001 row RN-03 for what it is made for: faces of a cut show what lies inside.

use crate::mesh::parts::Parts;
use crate::mesh::surface::Surface;

/// A surface and, if it has any, colours.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Painted {
    /// The surface.
    pub surface: Surface,
    /// Red, green and blue of every node; none at all if the surface has no colours.
    pub colours: Vec<[u8; 3]>,
    /// Number of the material of every node, from 1; none at all if nothing says so.
    pub materials: Vec<u32>,
}

impl Painted {
    /// The outside of a mesh, without colours.
    #[must_use]
    pub fn plain(parts: &Parts) -> Self {
        Self {
            surface: Surface::from_parts(parts),
            ..Self::default()
        }
    }

    /// The colour of a node, if the surface has colours.
    #[must_use]
    pub fn colour(&self, node: usize) -> Option<[u8; 3]> {
        self.colours.get(node).copied()
    }
}
