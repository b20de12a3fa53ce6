//! Selection of a volume's nodes for a collision map, and check of the map's resolution.
//!
//! Source: seed-001 rows CD-03 (spacing against cells) and CD-10 (surface nodes only).

use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Ratio of spacing to cell size from which a map can miss a tool two cells wide (seed-001 L166).
pub const SPACING_MAX: f64 = 2.0;

/// Returns the surface nodes: those that lack a neighbour.
#[must_use]
pub fn surface_nodes<R: Real>(links: &VoxelNodes<R>) -> Vec<u32> {
    let bare = |&e: &u32| {
        let mut all = NeighbourDirection::ALL.iter();
        links.alive(e) && all.any(|&to| links.neighbour(e, to).is_none())
    };
    (0..links.slots()).filter(bare).collect()
}

/// Returns all nodes that are alive.
#[must_use]
pub fn all<R: Real>(links: &VoxelNodes<R>) -> Vec<u32> {
    (0..links.slots()).filter(|&e| links.alive(e)).collect()
}

/// Returns nodes with their places \[m\], as maps require them.
#[must_use]
pub fn placed<R: Real>(nodes: &VoxelNodes<R>, indices: &[u32]) -> Vec<(u32, Vec3)> {
    let place = |&node: &u32| (node, nodes.position_m(node));
    indices.iter().map(place).collect()
}

/// Resolution of a deformed volume in a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapResolution {
    /// Greatest distance of linked nodes along an axis of the world, over the cell size.
    pub spacing: f64,
}

impl MapResolution {
    /// Returns the resolution of a volume in cells of this size \[m\].
    #[must_use]
    pub fn of<R: Real>(nodes: &VoxelNodes<R>, pitch_m: f64) -> Self {
        let mut apart_m: f64 = 0.0;
        for node in 0..nodes.slots() {
            for to in NeighbourDirection::POSITIVE {
                if let Some(other) = nodes.neighbour(node, to) {
                    let offset_m = nodes.position_m(other) - nodes.position_m(node);
                    apart_m = apart_m.max(offset_m.amax());
                }
            }
        }
        Self {
            spacing: apart_m / pitch_m,
        }
    }

    /// True if the map is under-resolved: a tool may slip between nodes. A
    /// [`MultiScaleMap`](super::multi_scale::MultiScaleMap) finds it.
    #[must_use]
    pub fn is_under_resolved(&self) -> bool {
        self.spacing.is_nan() || self.spacing > SPACING_MAX
    }
}
