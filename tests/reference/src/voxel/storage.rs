//! Common interface of the voxel storages: follow links, cut, join and carve.
//!
//! Source: seed-001 section 3.1 (rows LV-01 to LV-03). [`VoxelNodes`] is the layout of sessions;
//! [`compact_grid`](super::compact_grid) and [`node_list`](super::node_list) are the two that the source prints.

use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Marks a missing neighbour.
pub const NONE: u32 = u32::MAX;

/// Error of a join; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// A node is removed.
    #[error("node {0} is not there")]
    Gone(u32),
    /// A node has a neighbour in this direction.
    #[error("node {node} is linked to {neighbour} there already")]
    Taken {
        /// Slot of the node.
        node: u32,
        /// Slot of its neighbour.
        neighbour: u32,
    },
    /// Both nodes are the same.
    #[error("node {0} cannot be linked to itself")]
    Itself(u32),
    /// The storage holds only links between grid neighbours.
    #[error("nodes {0} and {1} are not neighbours on the grid")]
    Apart(u32, u32),
}

/// Error of a displacement; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The node is removed.
    #[error("node {0} is not there")]
    Gone(u32),
    /// The storage keeps no positions (row LV-02).
    #[error("node {0} has no place of its own: this volume can be cut and carved, not deformed")]
    Fixed(u32),
}

/// A set of nodes, each with up to six links.
///
/// A node keeps its slot for life. Links are symmetric: if `b` is the right neighbour of `a`, then `a` is the left
/// neighbour of `b`.
pub trait VoxelStorage {
    /// Returns the number of slots.
    fn slots(&self) -> u32;

    /// True if a node exists and is not removed.
    fn alive(&self, node: u32) -> bool;

    /// Returns the neighbour in a direction; none for a removed node.
    fn neighbour(&self, node: u32, to: NeighbourDirection) -> Option<u32>;

    /// Cuts a link on both sides; returns true if it existed.
    fn cut(&mut self, node: u32, to: NeighbourDirection) -> bool;

    /// Links two nodes; the caller ensures that they are near enough.
    ///
    /// # Errors
    /// [`JoinError`] if one is removed or has a neighbour there, or if the storage cannot hold this link.
    fn join(&mut self, node: u32, to: NeighbourDirection, other: u32) -> Result<(), JoinError>;

    /// Removes a node and its links; returns true if it was alive.
    fn carve(&mut self, node: u32) -> bool;

    /// Restores a removed node without links; returns true if it was removed.
    fn revive(&mut self, node: u32) -> bool;

    /// True if a node is alive and pinned (row TP-09).
    fn pinned(&self, node: u32) -> bool;

    /// Pins or unpins a node; returns true if that changed it.
    fn set_pinned(&mut self, node: u32, held: bool) -> bool;

    /// Sets a node's displacement from rest \[m\] without regard to links.
    ///
    /// # Errors
    /// [`PlaceError`] if it is removed, or if the storage keeps no positions.
    fn set_displacement_m(&mut self, node: u32, moved_m: [f64; 3]) -> Result<(), PlaceError>;

    /// Returns the number of nodes that are alive.
    fn count(&self) -> usize {
        (0..self.slots()).filter(|&e| self.alive(e)).count()
    }

    /// Returns the number of links.
    fn link_count(&self) -> usize {
        let linked = |e| move |&to: &NeighbourDirection| self.neighbour(e, to).is_some();
        (0..self.slots())
            .map(|e| {
                NeighbourDirection::POSITIVE
                    .iter()
                    .filter(|to| linked(e)(to))
                    .count()
            })
            .sum()
    }

    /// Returns a node and direction whose link is not symmetric, if any: a bug (row LV-01).
    fn asymmetric_link(&self) -> Option<(u32, NeighbourDirection)> {
        let all = (0..self.slots()).flat_map(|e| NeighbourDirection::ALL.map(|to| (e, to)));
        all.into_iter().find(|&(e, to)| {
            self.neighbour(e, to)
                .is_some_and(|n| !self.alive(n) || self.neighbour(n, to.opposite()) != Some(e))
        })
    }
}

/// Checks that two nodes may be joined in any storage.
pub(crate) fn check_join(
    links: &(impl VoxelStorage + ?Sized),
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> Result<(), JoinError> {
    if node == other {
        return Err(JoinError::Itself(node));
    }
    for (end, to) in [(node, to), (other, to.opposite())] {
        if !links.alive(end) {
            return Err(JoinError::Gone(end));
        }
        if let Some(neighbour) = links.neighbour(end, to) {
            return Err(JoinError::Taken {
                node: end,
                neighbour,
            });
        }
    }
    Ok(())
}

impl<R: Real> VoxelStorage for VoxelNodes<R> {
    fn slots(&self) -> u32 {
        Self::slots(self)
    }

    fn alive(&self, node: u32) -> bool {
        Self::alive(self, node)
    }

    fn neighbour(&self, node: u32, to: NeighbourDirection) -> Option<u32> {
        Self::neighbour(self, node, to)
    }

    fn cut(&mut self, node: u32, to: NeighbourDirection) -> bool {
        Self::cut(self, node, to)
    }

    fn join(&mut self, node: u32, to: NeighbourDirection, other: u32) -> Result<(), JoinError> {
        check_join(self, node, to, other)?;
        let joined = Self::join(self, node, to, other);
        joined.then_some(()).ok_or(JoinError::Apart(node, other))
    }

    fn carve(&mut self, node: u32) -> bool {
        Self::carve(self, node)
    }

    fn revive(&mut self, node: u32) -> bool {
        Self::revive(self, node)
    }

    fn pinned(&self, node: u32) -> bool {
        Self::alive(self, node) && Self::pinned(self, node)
    }

    fn set_pinned(&mut self, node: u32, held: bool) -> bool {
        Self::change_pinned(self, node, held)
    }

    fn set_displacement_m(&mut self, node: u32, moved_m: [f64; 3]) -> Result<(), PlaceError> {
        if !Self::alive(self, node) {
            return Err(PlaceError::Gone(node));
        }
        for (own, to) in self.displacement_m.iter_mut().zip(moved_m) {
            own[node as usize] = R::of(to);
        }
        Ok(())
    }
}
