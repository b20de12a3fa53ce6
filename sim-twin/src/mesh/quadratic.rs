//! Tetrahedra with a node in the middle of every edge, made from those of a file.
//!
//! Source: ours; numbering as in VTK (cell type 24). Faces stay plane: a file says nothing of how its
//! tissue is curved between its nodes.

use crate::Vec3;
use crate::mesh::Cells;
use crate::mesh::tet::TetMesh;
use std::collections::BTreeMap;

/// Corners at the ends of the edges of a cell, in the order of its nodes 4 to 9.
pub const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]];

/// A volume of tetrahedra with ten nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Quadratic {
    /// Places of the nodes at rest \[m\]: corners in the order of the file, then middles of edges.
    pub nodes_m: Vec<Vec3>,
    /// Nodes of every cell: four corners, then the middles of [`EDGES`].
    pub cells: Vec<[u32; 10]>,
    /// Region of every cell.
    pub regions: Vec<u32>,
    /// Faces of the outside, counter-clockwise seen from there: corners, then the middles between the
    /// first two, the last two, and the last and first.
    pub faces: Vec<[u32; 6]>,
    /// Number of corners.
    corners: usize,
}

impl Quadratic {
    /// The cells of `mesh`, whose indices must name its nodes; see [`TetMesh::check`]. Nodes that no
    /// cell uses are left out, the others keep their order.
    #[must_use]
    pub fn new(mesh: &TetMesh) -> Self {
        let mut names = vec![u32::MAX; mesh.nodes_m.len()];
        for &node in mesh.cells.nodes.iter().flatten() {
            names[node as usize] = 0;
        }
        let mut nodes_m = Vec::new();
        for (name, at_m) in names.iter_mut().zip(&mesh.nodes_m) {
            if *name == 0 {
                *name = nodes_m.len() as u32;
                nodes_m.push(*at_m);
            }
        }
        let corners = nodes_m.len();
        let mut known: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let mut between = |a: u32, b: u32| {
            *known.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                nodes_m.push((nodes_m[a as usize] + nodes_m[b as usize]) * 0.5);
                nodes_m.len() as u32 - 1
            })
        };
        let mut cells = Vec::with_capacity(mesh.cells.len());
        for cell in &mesh.cells.nodes {
            let cell = cell.map(|node| names[node as usize]);
            let middles = EDGES.map(|[i, j]| between(cell[i], cell[j]));
            cells.push(std::array::from_fn(|node| match node {
                0..4 => cell[node],
                _ => middles[node - 4],
            }));
        }
        let face = |face: [u32; 3]| {
            let [a, b, c] = face.map(|node| names[node as usize]);
            [a, b, c, between(a, b), between(b, c), between(c, a)]
        };
        Self {
            faces: mesh.boundary().into_iter().map(face).collect(),
            nodes_m,
            cells,
            regions: mesh.cells.regions.clone(),
            corners,
        }
    }

    /// The same without the nodes between corners.
    #[must_use]
    pub fn corners(&self) -> TetMesh {
        TetMesh {
            nodes_m: self.nodes_m[..self.corners].to_vec(),
            cells: Cells {
                nodes: self
                    .cells
                    .iter()
                    .map(|&[a, b, c, d, ..]| [a, b, c, d])
                    .collect(),
                regions: self.regions.clone(),
            },
        }
    }

    /// Longest extent along an axis \[m\].
    #[must_use]
    pub fn extent_m(&self) -> f64 {
        crate::mesh::parts::size_m(&self.nodes_m).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::grade::even;
    use crate::mesh::hex::HexMesh;

    #[test]
    fn every_edge_has_one_node_in_its_middle_and_the_cells_stay() {
        let axis_m = even(0.1, 2);
        let hexes = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
        let mut tets = TetMesh::from_hex(&hexes, &[3, 4]);
        // a node that nothing uses, before all others
        tets.nodes_m.insert(0, Vec3::repeat(7.0));
        tets.cells
            .nodes
            .iter_mut()
            .flatten()
            .for_each(|node| *node += 1);
        let mesh = Quadratic::new(&tets);
        // Euler: corners - edges + faces - cells = 1
        let cells = mesh.cells.len();
        let faces = (4 * cells + mesh.faces.len()) / 2;
        assert_eq!(mesh.nodes_m.len(), 27 + (27 + faces - cells - 1));
        for cell in &mesh.cells {
            for (middle, [i, j]) in cell[4..].iter().zip(EDGES) {
                let at = |node: u32| mesh.nodes_m[node as usize];
                assert_eq!(at(*middle), (at(cell[i]) + at(cell[j])) * 0.5);
            }
        }
        mesh.corners().check().unwrap();
        assert_eq!(mesh.regions[..7], [3, 3, 3, 3, 3, 3, 4]);
        assert_eq!(mesh.faces.len(), 6 * 4 * 2);
        assert!((mesh.extent_m() - 0.1).abs() < 1e-15);
    }
}
