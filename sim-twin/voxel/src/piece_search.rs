//! Search for all nodes that are connected with a node.
//!
//! Source: ours. [`edits`](super::edits) translates such a piece as a whole. Allocated once.

use crate::index_sets::InsertionSet;
use crate::nodes::VoxelNodes;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// Search over the links of a voxel model.
#[derive(Debug, Clone)]
pub struct PieceSearch(InsertionSet);

impl PieceSearch {
    /// Returns a search for this number of slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self(InsertionSet::new(slots as usize))
    }

    /// Returns all nodes that links connect with `node`, itself first; empty if it is removed.
    pub fn piece<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32) -> &[u32] {
        self.0.clear();
        if nodes.alive(node) {
            self.0.add(node);
        }
        self.0.visit_growing(|found, at| {
            for (_, other) in nodes.neighbours(at, NeighbourDirection::ALL) {
                found.add(other);
            }
        });
        &self.0
    }
}
