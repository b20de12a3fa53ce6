//! Cells of a block scene as a mesh, for viewing in other programs.
//!
//! Source: ours. Cells that a finer grid replaces are left out; nodes of two grids at the same position are merged.
//! Other nodes of the finer grid hang on faces of the coarser grid.

use super::SceneError;
use super::block::Block;
use palpate_geometry::mesh::MixedMesh;
use palpate_twin::Vec3;
use std::collections::BTreeMap;

impl Block {
    /// Hexahedra of all grids at rest. The region of a cell, numbered from 1 and named as in the scene,
    /// is the layer or inclusion with the largest fraction of it. Cells of two materials have mixed moduli.
    ///
    /// # Errors
    /// If the grids cannot be created.
    pub fn to_mixed_mesh(&self) -> Result<MixedMesh, SceneError> {
        let (nested, shares) = self.grids_and_fractions(&self.regions())?;
        // nodes of all grids lie on the lattice of the finest one
        let [low_m, _] = self.corners_m();
        let finest = |axis: usize| {
            let edges_m = nested.levels.iter().map(|level| level.edge_m[axis]);
            edges_m.fold(f64::MAX, f64::min)
        };
        let edge_m = Vec3::new(finest(0), finest(1), finest(2));
        let mut parts = MixedMesh::default();
        let mut known = BTreeMap::new();
        for (level, shares) in nested.levels.iter().zip(&shares) {
            let mesh = level.mesh()?;
            let MixedMesh { nodes_m, hexes, .. } = &mut parts;
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
                let most = shares.in_cell(cell).iter().copied();
                let (region, _) = most.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
                let nodes = corners.map(|node| node_of(mesh.nodes_m[node as usize]));
                hexes.push(nodes, region as u32 + 1);
            }
        }
        let layers = self.layers.iter().map(|layer| &layer.name);
        let names = layers.chain(self.inclusions.iter().map(|inclusion| &inclusion.name));
        parts.name_cells(names.cloned());
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use crate::{SceneBody, load};

    #[test]
    fn cells_fill_the_block_and_have_the_region_of_their_layer() {
        let SceneBody::Block(block) = load("layered-lump").unwrap().body else {
            panic!("a block");
        };
        let parts = block.to_mixed_mesh().unwrap();
        let mesh = parts.tetrahedra();
        let volume_m3: f64 = (0..mesh.tets.len()).map(|cell| mesh.tet_m3(cell)).sum();
        let whole_m3: f64 = block.size_m.iter().product();
        assert!(
            (volume_m3 / whole_m3 - 1.0).abs() < 1e-9,
            "{volume_m3} {whole_m3}"
        );
        assert!(palpate_geometry::mesh::mesh_check::findings(&parts).is_empty());
        let kinds = block.layers.len() + block.inclusions.len();
        assert_eq!(parts.names.len(), kinds);
        for region in 1..=kinds as u32 {
            assert!(parts.hexes.regions.contains(&region), "{region}");
        }
    }
}
