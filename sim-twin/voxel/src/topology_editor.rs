//! Editor of the topology: applies changes and updates the undo log, the pieces and the surface.
//!
//! Source: seed-001 section 3.5; ours is that all tools edit by batches of small changes, each of which updates all
//! derived state. Nothing here allocates after [`TopologyEditor::new`].

use crate::carve::RoundToolMotion;
use crate::chainmail::{Chainmail, NodeTarget};
use crate::edits::{UndoLog, link_cut};
use crate::index_sets::InsertionSet;
use crate::join::{GlueSearch, carry_sites, join_energy_j};
use crate::knife::{CutEvent, link_energy_j, link_length_max_m};
use crate::nodes::VoxelNodes;
use crate::pieces::Pieces;
use crate::surface::VoxelSurface;
use crate::tear::TearSearch;
use palpate_twin::edits::{EditPhase, NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;
use palpate_twin::{Vec3, snapshot_parts};

/// Result of an edit batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct EditOutcome {
    /// Number of links cut or made.
    pub(super) links: usize,
    /// Number of nodes removed, restored, pinned or unpinned; a pinned node that is removed counts twice.
    pub(super) nodes: usize,
    /// Energy added to links \[J\]; negative if removed.
    pub(super) stored_j: f64,
}

snapshot_parts!(TopologyEditor: derived.pieces.next, derived.surface, log);

/// State derived from the topology.
#[derive(Debug, Clone)]
pub(super) struct DerivedTopology {
    pub(super) pieces: Pieces,
    pub(super) surface: VoxelSurface,
    /// Nodes whose links or flags the last batch changed.
    pub(super) changed_nodes: InsertionSet,
    /// Changes of the last batch, or since this was cleared, in order. The capacity is the number of links, flags and
    /// nodes; changes beyond it are not made.
    pub(super) changes: Vec<TopologyChange>,
    /// Greatest number of changes.
    changes_max: usize,
    outcome: EditOutcome,
}

impl DerivedTopology {
    /// True if there is capacity for `more` changes.
    fn has_room(&self, more: usize) -> bool {
        self.changes.len() + more <= self.changes_max
    }

    fn record<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, change: TopologyChange) {
        self.changes.push(change);
        self.pieces.record(nodes, change);
        match change {
            TopologyChange::Cut {
                node,
                direction: to,
                neighbour: other,
            } => {
                self.outcome.links += 1;
                self.outcome.stored_j -= link_energy_j(nodes, node, to, other);
            }
            TopologyChange::Join {
                node,
                direction: to,
                neighbour: other,
            } => {
                self.outcome.links += 1;
                self.outcome.stored_j += link_energy_j(nodes, node, to, other);
            }
            TopologyChange::Translate { .. } => {}
            _ => self.outcome.nodes += 1,
        }
        for end in change.nodes() {
            self.surface.mark_changed(nodes, end);
            self.changed_nodes.add(end);
        }
    }
}

/// Editor of a voxel model's topology.
#[derive(Debug, Clone)]
pub(super) struct TopologyEditor {
    pub(super) log: UndoLog,
    pub(super) derived: DerivedTopology,
    /// Greatest length of a link \[m\].
    pub(super) link_length_max_m: f64,
    glue: GlueSearch,
    found: Vec<u32>,
    cut_events: Vec<CutEvent>,
    /// True if the next changes belong to the previous batch and are undone with it.
    pub(super) continues_batch: bool,
}

/// Greatest number of changes to remove one node.
const TAKE: usize = 8;
/// Greatest number of changes of a batch, per slot: all links, all flags and all nodes.
const CHANGES: usize = 5;

impl TopologyEditor {
    /// Returns an editor whose log holds at most `changes` changes. Unlinked parts of an object become separate
    /// objects.
    pub(super) fn new<R: Real>(nodes: &mut VoxelNodes<R>, changes: usize) -> Self {
        let slots = nodes.slots() as usize;
        let most = CHANGES * slots + TAKE;
        Self {
            log: UndoLog::new(nodes, changes.min(most)),
            derived: DerivedTopology {
                pieces: Pieces::new(nodes),
                surface: VoxelSurface::new(nodes),
                changed_nodes: InsertionSet::new(slots),
                changes: Vec::with_capacity(most),
                changes_max: most,
                outcome: EditOutcome::default(),
            },
            link_length_max_m: link_length_max_m(nodes),
            glue: GlueSearch::new(nodes),
            found: Vec::with_capacity(slots),
            // at most all links
            cut_events: Vec::with_capacity(3 * slots),
            continues_batch: false,
        }
    }

    /// Returns the greatest distance from a node at which glue finds a partner \[m\].
    pub(super) fn glue_reach_m<R: Real>(&self, nodes: &VoxelNodes<R>) -> f64 {
        let spacing_m = nodes.frame().spacing_m.into_iter();
        self.glue.slack_m + spacing_m.fold(0.0, f64::max)
    }

    fn begin_batch(&mut self) {
        if !self.continues_batch {
            self.log.begin_batch();
            self.derived.changes.clear();
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.derived.outcome = EditOutcome::default();
        self.derived.changed_nodes.clear();
    }

    fn finish_batch<R: Real>(&mut self, nodes: &mut VoxelNodes<R>) -> EditOutcome {
        self.derived.pieces.split_pieces(nodes);
        self.derived.surface.update(nodes);
        self.derived.outcome
    }

    fn apply_change<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, change: TopologyChange) -> bool {
        let applied = self.derived.has_room(1) && self.log.apply_and_record(nodes, change);
        if applied {
            self.derived.record(nodes, change);
        }
        applied
    }

    /// Applies changes that another site made, as one phase of its edit; impossible changes are skipped.
    pub(super) fn replay<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        part: EditPhase,
        changes: &[TopologyChange],
    ) -> EditOutcome {
        if part == EditPhase::Begin {
            self.log.begin_batch();
        }
        self.derived.changes.clear();
        self.clear();
        for &change in changes {
            let inside = change.nodes().into_iter().all(|end| end < nodes.slots());
            if !inside {
                continue;
            }
            match part {
                EditPhase::Begin | EditPhase::Continue => {
                    self.apply_change(nodes, change);
                }
                EditPhase::Undo | EditPhase::Redo => {
                    let back = part == EditPhase::Undo;
                    let has_room = self.derived.has_room(1);
                    if has_room && self.log.mirror(nodes, change, back) {
                        self.derived.record(nodes, change);
                    }
                }
            }
        }
        self.finish_batch(nodes)
    }

    /// Cuts all links that cross a plane; removes no node.
    pub(super) fn cut_plane<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        point_m: &Vec3,
        normal: &Vec3,
    ) -> EditOutcome {
        self.begin_batch();
        let above =
            |nodes: &VoxelNodes<R>, node| (nodes.position_m(node) - point_m).dot(normal) > 0.0;
        for node in 0..nodes.slots() {
            let side = above(nodes, node);
            for to in NeighbourDirection::POSITIVE {
                let other = nodes.neighbour(node, to);
                if let Some(other) = other.filter(|&other| above(nodes, other) != side) {
                    self.apply_change(nodes, link_cut(node, to, other));
                }
            }
        }
        self.finish_batch(nodes)
    }

    /// Applies the first `count` of the events that `find` lists along the path of an edge or ball.
    pub(super) fn apply_cut_events<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        find: impl FnOnce(&VoxelNodes<R>, &mut Vec<CutEvent>),
        count: impl FnOnce(&[CutEvent]) -> usize,
    ) -> EditOutcome {
        self.begin_batch();
        find(nodes, &mut self.cut_events);
        for nth in 0..count(&self.cut_events) {
            match self.cut_events[nth].change {
                TopologyChange::Remove { node } => self.remove_node(nodes, node),
                change => drop(self.apply_change(nodes, change)),
            }
        }
        self.finish_batch(nodes)
    }

    /// Unpins a node, cuts its links and removes it.
    fn remove_node<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, node: u32) {
        if !self.derived.has_room(TAKE) {
            return;
        }
        for to in NeighbourDirection::ALL {
            if let Some(other) = nodes.neighbour(node, to) {
                self.apply_change(nodes, link_cut(node, to, other));
            }
        }
        self.apply_change(nodes, TopologyChange::Unpin { node });
        self.apply_change(nodes, TopologyChange::Remove { node });
    }

    /// Pins or unpins the nodes that a round tool sweeps over (row TP-09).
    pub(super) fn pin_within<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        near: impl Iterator<Item = u32>,
        motion: &RoundToolMotion,
        held: bool,
    ) -> EditOutcome {
        self.begin_batch();
        motion.find_covered(nodes, near, &mut self.found);
        for nth in 0..self.found.len() {
            let node = self.found[nth];
            let change = if held {
                TopologyChange::Pin { node }
            } else {
                TopologyChange::Unpin { node }
            };
            self.apply_change(nodes, change);
        }
        self.finish_batch(nodes)
    }

    /// Joins nodes within a ball that lack a neighbour to their nearest partners (row TP-06). Skips links that store
    /// more than the rest of `budget_j` \[J\].
    pub(super) fn join_within<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        near: impl Iterator<Item = u32> + Clone,
        ball: &RoundToolMotion,
        budget_j: f64,
    ) -> EditOutcome {
        self.begin_batch();
        ball.find_covered(nodes, near.clone(), &mut self.found);
        self.glue.list_open_nodes(nodes, near);
        for nth in 0..self.found.len() {
            for to in NeighbourDirection::ALL {
                let node = self.found[nth];
                let partner = self.glue.partner(nodes, node, to);
                let left_j = budget_j - self.derived.outcome.stored_j;
                let affords = |other: &u32| join_energy_j(nodes, node, to, *other) <= left_j;
                if let Some(other) = partner.filter(affords) {
                    self.join_nodes(nodes, node, to, other);
                }
            }
        }
        self.finish_batch(nodes)
    }

    /// Joins two nodes, and first translates the smaller object if they are no neighbours at rest.
    fn join_nodes<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        node: u32,
        to: NeighbourDirection,
        other: u32,
    ) {
        let by = carry_sites(nodes, node, to, other);
        if by != [0; 3] {
            let objects = [node, other].map(|end| nodes.object(end));
            let counts = objects.map(|object| self.derived.pieces.size(object));
            let (end, by) = if counts[1] <= counts[0] {
                (other, by)
            } else {
                (node, by.map(i32::saturating_neg))
            };
            let by = by.map(|steps| i16::try_from(steps).unwrap_or(i16::MAX));
            let change = TopologyChange::Translate {
                node: end,
                offset: by,
            };
            if !self.apply_change(nodes, change) {
                return;
            }
        }
        self.apply_change(
            nodes,
            TopologyChange::Join {
                node,
                direction: to,
                neighbour: other,
            },
        );
    }

    /// Moves targets, and tears links where that is infeasible (row TP-05).
    pub(super) fn pull_and_tear<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        tearing: &mut TearSearch,
        chainmail: &mut Chainmail<R>,
        targets: &[NodeTarget<R>],
    ) -> EditOutcome {
        self.begin_batch();
        // an infeasible pull has torn all that it may
        let _ = tearing.propagate_or_tear(nodes, chainmail, targets, |nodes, change| {
            self.apply_change(nodes, change);
        });
        self.finish_batch(nodes)
    }

    /// Undoes the last batch, or redoes the last undone one. [`DerivedTopology::changes`] then holds these changes
    /// only.
    pub(super) fn undo_or_redo<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        back: bool,
    ) -> EditOutcome {
        self.clear();
        // a batch is no longer than the log, which is no longer than this list
        self.derived.changes.clear();
        let derived = &mut self.derived;
        self.log.undo_or_redo(back, nodes, |nodes, change| {
            derived.record(nodes, change);
        });
        self.finish_batch(nodes)
    }

    /// Recomputes all derived state after nodes and log were restored from a snapshot.
    pub(super) fn rebuild_derived<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        self.derived.changes.clear();
        self.clear();
        self.derived.pieces.recount(nodes);
        self.derived.surface.rebuild_from_lists(nodes);
    }
}
