//! Undo log of topology changes: undo, redo, replay and a topology hash.
//!
//! Source: seed-001 section 3.5 "undo log" and 5.3; the rest ours. An edit batch holds the [`TopologyChange`]s of one
//! tool motion and is undone as a whole. The log is a ring of fixed size: when it is full, the oldest batches are
//! dropped, and nothing is allocated. The hash depends on the present topology and not on its history, so both ends
//! of a network can compare it.

use crate::nodes::VoxelNodes;
use crate::piece_search::PieceSearch;
use palpate_twin::edits::{NeighbourDirection, TopologyChange, link_hash_term};
use palpate_twin::law::Real;
use palpate_twin::snapshot::{SnapshotPart, SnapshotReader};
use palpate_twin::twin::Snapshot;

/// Returns the cut of a link.
pub(super) fn link_cut(node: u32, direction: NeighbourDirection, neighbour: u32) -> TopologyChange {
    TopologyChange::Cut {
        node,
        direction,
        neighbour,
    }
}

/// Applies a change if the present topology allows it; returns true if it did.
fn apply_change<R: Real>(
    change: TopologyChange,
    nodes: &mut VoxelNodes<R>,
    piece_search: &mut PieceSearch,
) -> bool {
    match change {
        TopologyChange::Cut {
            node,
            direction: to,
            neighbour: other,
        } => nodes.neighbour(node, to) == Some(other) && nodes.cut(node, to),
        TopologyChange::Join {
            node,
            direction: to,
            neighbour: other,
        } => nodes.join(node, to, other),
        TopologyChange::Remove { node } => {
            let alone = nodes
                .neighbours(node, NeighbourDirection::ALL)
                .next()
                .is_none();
            alone && !nodes.pinned(node) && nodes.carve(node)
        }
        TopologyChange::Restore { node } => nodes.revive(node),
        TopologyChange::Pin { node } => nodes.change_pinned(node, true),
        TopologyChange::Unpin { node } => nodes.change_pinned(node, false),
        TopologyChange::Translate { node, offset: by } => {
            let by = by.map(i32::from);
            let piece = piece_search.piece(nodes, node);
            let can = !piece.is_empty() && piece.iter().all(|&e| nodes.carries(e, by));
            if can {
                piece.iter().for_each(|&e| nodes.carry(e, by));
            }
            can
        }
    }
}

/// Returns a hash of the nodes that are alive, linked and pinned. It does not depend on the history; two topologies
/// collide with a chance of 2^-64.
#[must_use]
pub fn topology_hash<R: Real>(nodes: &VoxelNodes<R>) -> u64 {
    let mut hash = 0_u64;
    for node in (0..nodes.slots()).filter(|&e| nodes.alive(e)) {
        hash = hash.wrapping_add(TopologyChange::Restore { node }.hash_term());
        if nodes.pinned(node) {
            hash = hash.wrapping_add(TopologyChange::Pin { node }.hash_term());
        }
        for (to, other) in nodes.neighbours(node, NeighbourDirection::POSITIVE) {
            hash = hash.wrapping_add(link_hash_term(node, to, other));
        }
    }
    hash
}

/// Ring of changes that can be undone and redone.
#[derive(Debug, Clone)]
pub(super) struct UndoLog {
    /// Changes with the number of their batch, in a ring.
    ring: Vec<(u32, TopologyChange)>,
    first: usize,
    /// Changes that can be undone, from `first` on.
    pub(super) done: usize,
    /// Changes that can be redone, after the former.
    pub(super) undone: usize,
    /// Number of the present batch.
    pub(super) batch: u32,
    /// True if the present batch exceeds the ring; none of its changes is kept.
    overflowed: bool,
    /// Topology hash, updated with every change; see [`topology_hash`].
    pub(super) hash: u64,
    piece_search: PieceSearch,
}

impl UndoLog {
    /// Returns a log of at most `changes` changes; 0 keeps none.
    pub(super) fn new<R: Real>(nodes: &VoxelNodes<R>, changes: usize) -> Self {
        Self {
            ring: vec![(0, TopologyChange::Remove { node: 0 }); changes],
            first: 0,
            done: 0,
            undone: 0,
            batch: 0,
            overflowed: false,
            hash: topology_hash(nodes),
            piece_search: PieceSearch::new(nodes.slots()),
        }
    }

    /// Applies a change that another log undid (`back`) or redid, and moves this log accordingly; returns true if the
    /// change was possible. A change that is not next in this log is recorded as a new one.
    pub(super) fn mirror<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        change: TopologyChange,
        back: bool,
    ) -> bool {
        let applied = self.apply(nodes, change);
        let next = self.next_change(back).map(|(_, next)| next);
        let expected = if back { change.inverse() } else { change };
        if next == Some(expected) {
            self.move_cursor(back);
        } else if applied {
            self.record(change);
        }
        applied
    }

    /// Starts a batch: changes from now on are undone together.
    pub(super) const fn begin_batch(&mut self) {
        self.batch = self.batch.wrapping_add(1);
        self.overflowed = false;
    }

    /// Applies a change and records it; returns true if it was possible. The redo part of the log is then dropped.
    pub(super) fn apply_and_record<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        change: TopologyChange,
    ) -> bool {
        let applied = self.apply(nodes, change);
        if applied {
            self.record(change);
        }
        applied
    }

    fn apply<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, change: TopologyChange) -> bool {
        let applied = apply_change(change, nodes, &mut self.piece_search);
        if applied {
            self.hash = self.hash.wrapping_add(change.hash_term());
        }
        applied
    }

    fn record(&mut self, change: TopologyChange) {
        self.undone = 0;
        if self.overflowed || self.ring.is_empty() {
            return;
        }
        if self.done == self.ring.len() {
            let oldest = self.ring[self.first].0;
            if oldest == self.batch {
                (self.done, self.overflowed) = (0, true);
                return;
            }
            while self.done > 0 && self.ring[self.first].0 == oldest {
                self.first = (self.first + 1) % self.ring.len();
                self.done -= 1;
            }
        }
        let at = (self.first + self.done) % self.ring.len();
        self.ring[at] = (self.batch, change);
        self.done += 1;
    }

    /// Undoes the last batch, or redoes the last undone one. Calls `on_change` for every change; returns their
    /// number.
    pub(super) fn undo_or_redo<R: Real>(
        &mut self,
        back: bool,
        nodes: &mut VoxelNodes<R>,
        mut on_change: impl FnMut(&mut VoxelNodes<R>, TopologyChange),
    ) -> usize {
        let mut count = 0;
        let mut batch = None;
        while let Some((of, noted)) = self.next_change(back) {
            if *batch.get_or_insert(of) != of {
                break;
            }
            let change = if back { noted.inverse() } else { noted };
            if self.apply(nodes, change) {
                on_change(nodes, change);
            }
            self.move_cursor(back);
            count += 1;
        }
        self.begin_batch();
        count
    }

    /// Returns the change that the next undo or redo would revert or apply, with the number of its batch.
    fn next_change(&self, back: bool) -> Option<(u32, TopologyChange)> {
        let nth = if back {
            self.done.checked_sub(1)
        } else {
            (self.undone > 0).then_some(self.done)
        };
        nth.map(|nth| self.nth(nth))
    }

    /// Returns the nth stored change.
    pub(super) fn nth(&self, nth: usize) -> (u32, TopologyChange) {
        self.ring[(self.first + nth) % self.ring.len()]
    }

    fn move_cursor(&mut self, back: bool) {
        (self.done, self.undone) = if back {
            (self.done - 1, self.undone + 1)
        } else {
            (self.done + 1, self.undone - 1)
        };
    }
}

// its encoded size is that of the stored changes
impl SnapshotPart for UndoLog {
    fn size(&self) -> [usize; 2] {
        [1, 4 + 2 * self.ring.len()]
    }

    fn encode_into(&self, into: &mut Snapshot) {
        self.hash.encode_into(into);
        self.batch.encode_into(into);
        self.overflowed.encode_into(into);
        [self.done, self.undone].encode_into(into);
        for nth in 0..self.done + self.undone {
            let (batch, change) = self.nth(nth);
            change.pack(batch).encode_into(into);
        }
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        self.hash.decode_from(from);
        self.batch.decode_from(from);
        self.overflowed.decode_from(from);
        self.first = 0;
        self.done.decode_from(from);
        self.undone.decode_from(from);
        for own in self.ring.iter_mut().take(self.done + self.undone) {
            let mut packed = [0_u64; 2];
            packed.decode_from(from);
            *own = TopologyChange::unpack(packed);
        }
    }
}
