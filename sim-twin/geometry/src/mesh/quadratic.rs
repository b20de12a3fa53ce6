//! Tetrahedra with a node in the middle of every edge, made from those of a file.
//!
//! Source: ours; numbering as in VTK (cell type 24). Faces stay plane, since a file does not state the
//! curvature of its tissue between nodes.

use crate::mesh::mixed_mesh::size_m;
use crate::mesh::{CellList, MixedMesh};
use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Corners at the ends of the edges of a cell, in the order of its nodes 4 to 9.
pub const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]];

/// A volume of tetrahedra with ten nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QuadraticTetMesh {
    /// Positions of the nodes at rest \[m\]: corners in the order of the file, then middles of edges.
    pub nodes_m: Vec<Vec3>,
    /// Nodes of every cell: four corners, then the middles of [`EDGES`].
    pub cells: Vec<[u32; 10]>,
    /// Region of every cell.
    pub regions: Vec<u32>,
    /// Faces of the outside, counter-clockwise seen from there: corners, then the middles between the
    /// first two, the last two, and the last and first.
    pub faces: Vec<[u32; 6]>,
    /// Index in the file of every corner.
    file_indices: Vec<u32>,
}

impl QuadraticTetMesh {
    /// Creates quadratic tetrahedra from those of `mesh`. Nodes that no cell uses are left out, the others keep their order;
    /// cells with an invalid node index are left out too.
    #[must_use]
    pub fn new(mesh: &MixedMesh) -> Self {
        let limit = mesh.nodes_m.len();
        let mut kept = MixedMesh::default();
        let mut names = vec![u32::MAX; limit];
        for (cell, region) in mesh.tets.iter() {
            if cell.iter().all(|&node| (node as usize) < limit) {
                kept.tets.push(*cell, region);
                cell.iter().for_each(|&node| names[node as usize] = 0);
            }
        }
        let (mut nodes_m, mut origins) = (Vec::new(), Vec::new());
        for (node, (name, at_m)) in names.iter_mut().zip(&mesh.nodes_m).enumerate() {
            if *name == 0 {
                *name = nodes_m.len() as u32;
                nodes_m.push(*at_m);
                origins.push(node as u32);
            }
        }
        let mut known: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let mut between = |a: u32, b: u32| {
            *known.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                nodes_m.push((nodes_m[a as usize] + nodes_m[b as usize]) * 0.5);
                nodes_m.len() as u32 - 1
            })
        };
        let mut cells = Vec::with_capacity(kept.tets.len());
        for cell in &kept.tets.nodes {
            let cell = cell.map(|node| names[node as usize]);
            let middles = EDGES.map(|[i, j]| between(cell[i], cell[j]));
            cells.push(std::array::from_fn(|node| match node {
                0..4 => cell[node],
                _ => middles[node - 4],
            }));
        }
        let faces = kept.boundary().into_iter().map(|face| {
            let [a, b, c] = face.map(|node| names[node as usize]);
            [a, b, c, between(a, b), between(b, c), between(c, a)]
        });
        Self {
            faces: faces.collect(),
            nodes_m,
            cells,
            regions: kept.tets.regions,
            file_indices: origins,
        }
    }

    /// Extends flags of the file's nodes to all nodes: a node between corners is set if both ends of its edge
    /// are.
    #[must_use]
    pub fn spread_flags(&self, of_file: &[bool]) -> Vec<bool> {
        let corner = |&node: &u32| of_file.get(node as usize).copied().unwrap_or(false);
        let mut all: Vec<bool> = self.file_indices.iter().map(corner).collect();
        all.resize(self.nodes_m.len(), false);
        for cell in &self.cells {
            for (middle, [i, j]) in cell[4..].iter().zip(EDGES) {
                all[*middle as usize] = all[cell[i] as usize] && all[cell[j] as usize];
            }
        }
        all
    }

    /// Linear mesh without the nodes between corners.
    #[must_use]
    pub fn corners(&self) -> MixedMesh {
        let cells = self.cells.iter();
        let tets = CellList {
            nodes: cells.map(|&[a, b, c, d, ..]| [a, b, c, d]).collect(),
            regions: self.regions.clone(),
        };
        MixedMesh {
            nodes_m: self.nodes_m[..self.file_indices.len()].to_vec(),
            tets,
            ..MixedMesh::default()
        }
    }

    /// Longest extent along an axis \[m\].
    #[must_use]
    pub fn extent_m(&self) -> f64 {
        size_m(&self.nodes_m).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::hex::HexMesh;
    use crate::mesh::tests::even;

    #[test]
    fn every_edge_has_one_middle_node_and_cells_are_unchanged() {
        let axis_m = even(0.1, 2);
        let hexes = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
        let mut tets = MixedMesh::from_hex(&hexes, &[3, 4]).tetrahedra();
        // a node that nothing uses, before all others
        tets.nodes_m.insert(0, Vec3::repeat(7.0));
        tets.tets
            .nodes
            .iter_mut()
            .flatten()
            .for_each(|node| *node += 1);
        // and a cell of nodes that are not there
        tets.tets.push([1, 2, 3, 99], 5);
        let mesh = QuadraticTetMesh::new(&tets);
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
        crate::mesh::mesh_check::check(&mesh.corners()).unwrap();
        assert_eq!(mesh.regions[..7], [3, 3, 3, 3, 3, 3, 4]);
        assert_eq!(mesh.faces.len(), 6 * 4 * 2);
        assert!((mesh.extent_m() - 0.1).abs() < 1e-15);
        let below: Vec<bool> = tets.nodes_m.iter().map(|x| x.z < 0.01).collect();
        for (held, at_m) in mesh.spread_flags(&below).iter().zip(&mesh.nodes_m) {
            assert_eq!(*held, at_m.z < 0.01);
        }
    }
}
