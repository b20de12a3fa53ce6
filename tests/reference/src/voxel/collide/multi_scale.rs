//! Collision map with several cell sizes, without holes in stretched volumes.
//!
//! Source: seed-001 row FU-03 ("multi-scale maps / volume filling"). Every node fills the box half-way to its
//! neighbours, and is stored in the map whose cells are no smaller than that box. A query tests the adjacent cells of
//! every map, and then the boxes. So no node is missed at any stretch, and none is found outside of its box.

use crate::voxel::collide::collision_grid::{CollisionGrid, CollisionGridError};
use crate::voxel::collide::occupancy::{MapMoveError, OccupancyMap};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Greatest number of cell sizes, each twice the one before.
const SIZES: usize = 16;

/// A node with the box that it fills.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeBox {
    /// Slot of the node.
    pub node: u32,
    /// Position \[m\].
    pub at_m: Vec3,
    /// Half size of the box \[m\].
    pub half_m: Vec3,
}

impl NodeBox {
    /// Returns the box half-way to the farthest neighbour along every axis; half the rest spacing where there is
    /// none.
    #[must_use]
    pub fn of<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> Self {
        let at_m = nodes.position_m(node);
        let mut half_m = Vec3::from(nodes.frame().spacing_m) * 0.5;
        for to in NeighbourDirection::ALL {
            if let Some(other) = nodes.neighbour(node, to) {
                let way_m = nodes.position_m(other) - at_m;
                half_m = half_m.sup(&(way_m.abs() * 0.5));
            }
        }
        Self { node, at_m, half_m }
    }
}

/// Nodes of one body by box size.
#[derive(Debug, Clone)]
pub struct MultiScaleMap {
    maps: Vec<(OccupancyMap, Vec<NodeBox>)>,
}

impl MultiScaleMap {
    /// Returns maps with cells from a size \[m\] up, in a box from `low_m` to `high_m`.
    ///
    /// # Errors
    /// [`MultiScaleError`] if the box or the cells have no size or a node is outside.
    pub fn new(
        [low_m, high_m]: [Vec3; 2],
        pitch_m: f64,
        fills: &[NodeBox],
    ) -> Result<Self, MultiScaleError> {
        let mut by_size: Vec<Vec<NodeBox>> = vec![Vec::new(); SIZES];
        for &fill in fills {
            let mut size = 0;
            let mut cell_m = pitch_m;
            while cell_m < 2.0 * fill.half_m.amax() && size + 1 < SIZES {
                size += 1;
                cell_m *= 2.0;
            }
            by_size[size].push(fill);
        }
        let mut maps = Vec::new();
        let mut cell_m = pitch_m;
        for fills in by_size {
            if !fills.is_empty() {
                let size = std::array::from_fn(|axis| count(high_m[axis] - low_m[axis], cell_m));
                let mut map = OccupancyMap::hashed(CollisionGrid::new(low_m, cell_m, size)?);
                let placed: Vec<(u32, Vec3)> = (0..)
                    .zip(&fills)
                    .map(|(nth, fill)| (nth, fill.at_m))
                    .collect();
                map.add(&placed)?;
                maps.push((map, fills));
            }
            cell_m *= 2.0;
        }
        Ok(Self { maps })
    }

    /// Calls `found` for the nodes whose boxes contain a place.
    pub fn at(&self, at_m: &Vec3, mut found: impl FnMut(u32)) {
        for (map, fills) in &self.maps {
            let Some(middle) = map.grid().cell(at_m) else {
                continue;
            };
            for beside in 0..27 {
                let off = [beside % 3 - 1, beside / 3 % 3 - 1, beside / 9 - 1];
                let cell = std::array::from_fn(|axis| middle[axis] + off[axis]);
                for (map_node, place_m) in map.in_cell(cell) {
                    let fill = &fills[map_node.node as usize];
                    let way_m = (at_m - place_m).abs();
                    if (0..3).all(|axis| way_m[axis] <= fill.half_m[axis]) {
                        found(fill.node);
                    }
                }
            }
        }
    }
}

/// Returns the number of cells that a length needs.
fn count(length_m: f64, cell_m: f64) -> u32 {
    let cells = (length_m / cell_m).floor() + 1.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "cut to what a grid refuses"
    )]
    let cells = cells.clamp(0.0, f64::from(u32::MAX)) as u32;
    cells
}

/// Error of an invalid map.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum MultiScaleError {
    /// The box or the cells have no size.
    #[error(transparent)]
    Grid(#[from] CollisionGridError),
    /// A node is outside.
    #[error(transparent)]
    Refused(#[from] MapMoveError),
}
