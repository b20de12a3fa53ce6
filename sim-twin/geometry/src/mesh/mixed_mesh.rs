//! Content of a mesh file: tetrahedra, hexahedra and triangles over one list of nodes.
//!
//! Source: ours. Meshes are read, viewed, checked, converted and written in this form; a surface has triangles only. The
//! implicit solver is built from the tetrahedra of a scene with a `[mesh]`,
//! or from a [`super::hex::HexMesh`] as the offline truth. `fem` is built from nested grids, the springs from a lattice. Numbering
//! of a cell's nodes as in VTK (cell types 5, 10 and 12).

use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Cells with the same number of nodes, each with the number of its region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellList<const N: usize> {
    /// Nodes of every cell.
    pub nodes: Vec<[u32; N]>,
    /// Region of every cell, as many as there are cells; 0 where the file has none.
    pub regions: Vec<u32>,
}

impl<const N: usize> Default for CellList<N> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            regions: Vec::new(),
        }
    }
}

impl<const N: usize> CellList<N> {
    /// Appends a cell.
    pub fn push(&mut self, nodes: [u32; N], region: u32) {
        self.nodes.push(nodes);
        self.regions.push(region);
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Iterates over the cells with their regions.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32; N], u32)> {
        self.nodes.iter().zip(self.regions.iter().copied())
    }
}

/// Mesh as read from a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MixedMesh {
    /// Positions of the nodes \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub triangles: CellList<3>,
    /// Tetrahedra: the first three counter-clockwise seen from the fourth's other side.
    pub tets: CellList<4>,
    /// Hexahedra, numbered as in [`super::hex::HexMesh`].
    pub hexes: CellList<8>,
    /// Names of regions by dimension (2 or 3) and number, where the file has them.
    pub names: BTreeMap<(u8, u32), String>,
}

impl MixedMesh {
    /// Number of cells that fill space.
    #[must_use]
    pub fn volume_cells(&self) -> usize {
        self.tets.len() + self.hexes.len()
    }

    /// Names the regions of its cells, from 1.
    pub fn name_cells(&mut self, names: impl IntoIterator<Item = String>) {
        self.names = (1..).map(|number| (3, number)).zip(names).collect();
    }

    /// Sides of the box around all nodes \[m\]; zero without nodes.
    #[must_use]
    pub fn size_m(&self) -> Vec3 {
        size_m(&self.nodes_m)
    }
}

/// Lowest and highest corner of the box around positions \[m\]; zero without any.
#[must_use]
pub fn bounds_m(mut places_m: impl Iterator<Item = Vec3>) -> [Vec3; 2] {
    let first = places_m.next().unwrap_or_default();
    let spread = |[low, high]: [Vec3; 2], at_m: Vec3| [low.inf(&at_m), high.sup(&at_m)];
    places_m.fold([first; 2], spread)
}

/// Sides of the box around positions \[m\]; zero without any.
pub(super) fn size_m(nodes_m: &[Vec3]) -> Vec3 {
    let [low, high] = bounds_m(nodes_m.iter().copied());
    high - low
}
