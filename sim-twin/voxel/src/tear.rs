//! Tearing: breaks links where a pull exceeds the limits of a chain of links.
//!
//! Source: seed-001 section 3.5 "Tear" (row TP-05). If the propagation fails at a held node, the chain of links from
//! there back to the moving target is traced. All its links are at their limits. The weakest link that is not
//! compressed breaks, of equal ones the nearest to the target, and the propagation is tried again. Small excesses
//! break nothing, so noise does not tear.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::chainmail::{Chainmail, InfeasibleMove, NodeTarget, PropagationStats, usable};
use crate::edits::link_cut;
use crate::knife::cut_energy_j;
use crate::nodes::{NONE, VoxelNodes, to_f64};
use palpate_twin::edits::{NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;

/// Excess below which nothing breaks, over the spacing.
const MARGIN: f64 = 0.02;
/// Greatest number of links that break in one call.
const MOST: usize = 8;

/// A required displacement of a node, and the node that requires it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct QueuedMotion {
    to_m: f64,
    node: u32,
    from: u32,
}

impl Eq for QueuedMotion {}

impl Ord for QueuedMotion {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_displacement = self.to_m.total_cmp(&other.to_m);
        by_displacement
            .then_with(|| other.node.cmp(&self.node))
            .then_with(|| other.from.cmp(&self.from))
    }
}

impl PartialOrd for QueuedMotion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Displacement that a held node would need beyond its present one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Excess {
    by_m: f64,
    axis: usize,
    up: bool,
}

/// Search for the chain of links that blocks a motion. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct TearSearch {
    queue: BinaryHeap<QueuedMotion>,
    /// Pass in which a node was reached last, and the node before it in the chain.
    queued_by: Vec<(u32, u32)>,
    pass: u32,
    /// Nodes from the held node back to the target.
    pub(super) link_chain: Vec<u32>,
}

impl TearSearch {
    /// Returns a search for a model of this number of slots.
    pub(super) fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            queue: BinaryHeap::with_capacity(6 * slots),
            queued_by: vec![(0, NONE); slots],
            pass: 0,
            link_chain: Vec::with_capacity(slots),
        }
    }

    /// Moves targets as [`Chainmail::propagate`] does; while that fails, breaks links through `cut`.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if it still fails because the excess is too small or too many links would break. Nothing
    /// has moved then.
    pub(super) fn propagate_or_tear<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        chainmail: &mut Chainmail<R>,
        targets: &[NodeTarget<R>],
        mut cut: impl FnMut(&mut VoxelNodes<R>, TopologyChange),
    ) -> Result<PropagationStats, InfeasibleMove> {
        let mut torn = 0;
        loop {
            let moved = chainmail.propagate(nodes, targets);
            if moved.is_ok() || torn == MOST {
                return moved;
            }
            let excess = self.trace(nodes, chainmail, targets);
            let enough = |e: &Excess| e.by_m > MARGIN * nodes.frame().spacing_m[e.axis];
            let weakest = excess
                .filter(enough)
                .and_then(|excess| self.weakest(nodes, excess));
            let Some(change) = weakest else {
                return moved;
            };
            cut(nodes, change);
            torn += 1;
        }
    }

    /// Finds the held node of the greatest excess, and the chain from there to its target, after a propagation of
    /// these targets. Moves nothing.
    fn trace<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        chainmail: &Chainmail<R>,
        targets: &[NodeTarget<R>],
    ) -> Option<Excess> {
        self.link_chain.clear();
        let mut worst: Option<Excess> = None;
        for (axis, up) in (0..3).flat_map(|axis| [(axis, true), (axis, false)]) {
            let sense = if up { 1.0 } else { -1.0 };
            self.queue.clear();
            for target in targets.iter().filter(|c| usable(nodes, c)) {
                let to_m = sense * to_f64(target.displacement_m[axis]);
                let node = target.node;
                if to_m > sense * to_f64(nodes.displacement_m(node)[axis]) {
                    self.queue.push(QueuedMotion {
                        to_m,
                        node,
                        from: NONE,
                    });
                }
            }
            let least = Excess {
                by_m: worst.map_or(0.0, |worst| worst.by_m),
                axis,
                up,
            };
            worst = self.search_sense(nodes, chainmail, least).or(worst);
        }
        worst
    }

    /// Searches along one axis and sense; stores the chain if a held node's excess is greater than `worst`.
    fn search_sense<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        chainmail: &Chainmail<R>,
        mut worst: Excess,
    ) -> Option<Excess> {
        let Excess { axis, up, .. } = worst;
        let sense = if up { 1.0 } else { -1.0 };
        self.pass = self.pass.wrapping_add(1);
        let mut found = None;
        while let Some(QueuedMotion { to_m, node, from }) = self.queue.pop() {
            let slot = node as usize;
            let at_m = sense * to_f64(nodes.displacement_m(node)[axis]);
            if at_m >= to_m || self.queued_by[slot].0 == self.pass {
                continue;
            }
            if from != NONE && chainmail.is_held(nodes, node) {
                if to_m - at_m > worst.by_m {
                    worst.by_m = to_m - at_m;
                    found = Some(worst);
                    self.trace_chain(node, from);
                }
                continue;
            }
            self.queued_by[slot] = (self.pass, from);
            for (to, other) in nodes.neighbours(node, NeighbourDirection::ALL) {
                let pair = [nodes.material(node), nodes.material(other)];
                let (least, most) = nodes.bonds().range_m(pair, to, axis);
                let limit_m = to_f64(if up { least } else { -most });
                let motion = QueuedMotion {
                    to_m: to_m + limit_m,
                    node: other,
                    from: node,
                };
                if sense * to_f64(nodes.displacement_m(other)[axis]) < motion.to_m {
                    self.queue.push(motion);
                }
            }
        }
        found
    }

    /// Stores the chain that ends at a held node.
    fn trace_chain(&mut self, held: u32, mut from: u32) {
        self.link_chain.clear();
        self.link_chain.push(held);
        while from != NONE && self.link_chain.len() <= self.queued_by.len() {
            self.link_chain.push(from);
            from = self.queued_by[from as usize].1;
        }
    }

    /// Returns the link of the chain that costs least to break, of equal ones the nearest to the target; none if all
    /// are compressed.
    fn weakest<R: Real>(&self, nodes: &VoxelNodes<R>, excess: Excess) -> Option<TopologyChange> {
        let mut weakest: Option<(f64, TopologyChange)> = None;
        for pair in self.link_chain.windows(2).rev() {
            let (node, other) = (pair[1], pair[0]);
            let links = nodes.neighbours(node, NeighbourDirection::ALL);
            for (to, _) in links.filter(|&(_, beside)| beside == other) {
                // the link ahead is compressed, the link behind stretched, the link beside sheared
                if to.axis() == excess.axis && to.is_positive() == excess.up {
                    continue;
                }
                let strength_j = cut_energy_j(nodes, node, to, other);
                if weakest.is_none_or(|(least_j, _)| strength_j < least_j) {
                    weakest = Some((strength_j, link_cut(node, to, other)));
                }
            }
        }
        weakest.map(|(_, change)| change)
    }
}
