//! Tests of several files together, and meshes for tests.

mod mound;

use crate::mesh::MixedMesh;
use crate::mesh::hex::HexMesh;

/// Uniform coordinates from 0 to `length_m`, both exact; `cells` at least 1.
pub(super) fn even(length_m: f64, cells: u32) -> Vec<f64> {
    let cells = cells.max(1);
    let count = f64::from(cells);
    (0..=cells)
        .map(|i| length_m * (f64::from(i) / count))
        .collect()
}

impl MixedMesh {
    /// Creates a mesh from a block of hexahedra, with a region for every cell; missing regions are 0.
    pub(super) fn from_hex(mesh: &HexMesh, regions: &[u32]) -> Self {
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
}
