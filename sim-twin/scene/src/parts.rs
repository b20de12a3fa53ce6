//! The cells of a block scene as a mesh, to be looked at in other programs.
//!
//! Source: ours. Cells that a finer grid replaces are left out; nodes of two grids at one place are one,
//! and those of the finer one between them hang on the coarser one's faces.

use super::block::{Block, BlockError, SAMPLES};
use palpate_geometry::mesh::Parts;
use palpate_geometry::mesh::region::Shares;
use palpate_twin::Vec3;
use std::collections::BTreeMap;

impl Block {
    /// Hexahedra of all grids at rest; the region of a cell, numbered from 1 and named as in the scene,
    /// is the layer or inclusion that fills most of it. Cells of two materials have moduli between.
    ///
    /// # Errors
    /// If the grids cannot be made.
    pub fn parts(&self) -> Result<Parts, BlockError> {
        let (nested, _) = self.grids()?;
        let regions = self.regions();
        // nodes of all grids lie on that of the finest
        let [low_m, _] = self.corners_m();
        let finest = |axis: usize| {
            let edges_m = nested.levels.iter().map(|level| level.edge_m[axis]);
            edges_m.fold(f64::MAX, f64::min)
        };
        let edge_m = Vec3::new(finest(0), finest(1), finest(2));
        let mut parts = Parts::default();
        let mut known = BTreeMap::new();
        for level in &nested.levels {
            let mesh = level.mesh()?;
            let shares = Shares::take(&mesh, &regions, SAMPLES)?;
            let Parts { nodes_m, hexes, .. } = &mut parts;
            let mut node_of = |at_m: Vec3| {
                let steps = (at_m - low_m).component_div(&edge_m);
                let key: [i64; 3] = steps.map(|step| step.round() as i64).into();
                *known.entry(key).or_insert_with(|| {
                    nodes_m.push(at_m);
                    nodes_m.len() as u32 - 1
                })
            };
            let [wide, long, _] = level.cells;
            for (cell, corners) in mesh.cells.iter().enumerate() {
                let at = [cell % wide, cell / wide % long, cell / (wide * long)];
                if level.is_replaced(at) {
                    continue;
                }
                let most = shares.of(cell).iter().copied();
                let (region, _) = most.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
                let nodes = corners.map(|node| node_of(mesh.nodes_m[node as usize]));
                hexes.push(nodes, region as u32 + 1);
            }
        }
        let layers = self.layers.iter().map(|layer| &layer.name);
        let names = layers.chain(self.inclusions.iter().map(|inclusion| &inclusion.name));
        parts.names = (1..)
            .map(|number| (3, number))
            .zip(names.cloned())
            .collect();
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Body, load};

    #[test]
    fn cells_fill_the_block_and_know_their_layer() {
        let Body::Block(block) = load("layered-lump").unwrap().body else {
            panic!("a block");
        };
        let parts = block.parts().unwrap();
        let mesh = palpate_geometry::mesh::TetMesh::from_parts(&parts);
        let volume_m3: f64 = (0..mesh.cells.len()).map(|cell| mesh.volume_m3(cell)).sum();
        let whole_m3: f64 = block.size_m.iter().product();
        assert!(
            (volume_m3 / whole_m3 - 1.0).abs() < 1e-9,
            "{volume_m3} {whole_m3}"
        );
        assert!(palpate_geometry::mesh::defect::findings(&parts).is_empty());
        let kinds = block.layers.len() + block.inclusions.len();
        assert_eq!(parts.names.len(), kinds);
        for region in 1..=kinds as u32 {
            assert!(parts.hexes.regions.contains(&region), "{region}");
        }
    }
}
