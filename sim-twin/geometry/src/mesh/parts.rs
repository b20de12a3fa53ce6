//! What a mesh file may hold: tetrahedra, hexahedra and triangles over one list of nodes.
//!
//! Source: ours. This is the form in which meshes come in and go out, to be looked at, checked and
//! converted. The implicit solver is made from the tetrahedra of a scene with a `[mesh]`, or from a
//! [`super::hex::HexMesh`] as the offline truth; `fem` from nested grids, the springs from a lattice. Numbering of
//! a cell's nodes as in VTK (cell types 5, 10 and 12).

use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Cells with the same number of nodes, each with the number of its region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells<const N: usize> {
    /// Nodes of every cell.
    pub nodes: Vec<[u32; N]>,
    /// Region of every cell, as many as there are cells; 0 where a file says nothing.
    pub regions: Vec<u32>,
}

impl<const N: usize> Default for Cells<N> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            regions: Vec::new(),
        }
    }
}

impl<const N: usize> Cells<N> {
    /// One more cell.
    pub fn push(&mut self, nodes: [u32; N], region: u32) {
        self.nodes.push(nodes);
        self.regions.push(region);
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every cell with its region.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32; N], u32)> {
        self.nodes.iter().zip(self.regions.iter().copied())
    }
}

/// A mesh as a file holds it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// Places of the nodes \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: Cells<3>,
    /// Tetrahedra: the first three counter-clockwise seen from the fourth's other side.
    pub tets: Cells<4>,
    /// Hexahedra, numbered as in [`super::hex::HexMesh`].
    pub hexes: Cells<8>,
    /// Names of regions by dimension (2 or 3) and number, where a file gives them.
    pub names: BTreeMap<(u8, u32), String>,
}

impl Parts {
    /// A block of hexahedra, with a region for every cell; missing regions are 0.
    #[cfg(test)]
    pub(crate) fn from_hex(mesh: &super::hex::HexMesh, regions: &[u32]) -> Self {
        let mut parts = Self {
            nodes_m: mesh.nodes_m.clone(),
            ..Self::default()
        };
        let regions = regions.iter().copied().chain(std::iter::repeat(0));
        for (cell, region) in mesh.cells.iter().zip(regions) {
            parts.hexes.push(*cell, region);
        }
        parts
    }

    /// Number of cells that fill space.
    #[must_use]
    pub fn volume_cells(&self) -> usize {
        self.tets.len() + self.hexes.len()
    }

    /// Sides of the box around all nodes \[m\]; zero without nodes.
    #[must_use]
    pub fn size_m(&self) -> Vec3 {
        size_m(&self.nodes_m)
    }
}

/// Sides of the box around places \[m\]; zero without any.
pub(super) fn size_m(nodes_m: &[Vec3]) -> Vec3 {
    let first = nodes_m.first().copied().unwrap_or_default();
    let spread = |(low, high): (Vec3, Vec3), at_m: &Vec3| (low.inf(at_m), high.sup(at_m));
    let (low, high) = nodes_m.iter().fold((first, first), spread);
    high - low
}
