//! Exact ChainMail propagation: the least motion after which every link keeps its limits.
//!
//! Source: seed-001 section 3.3.6(b) (row FU-01). For every axis and sense, nodes move in the order of their required
//! displacement, greatest first. This is Dijkstra's algorithm on the nodes that break a limit, with the displacement
//! as potential. It is exact for any shape, any mixture of materials and any number of targets. It starts from any
//! state that keeps all limits, and ends in such a state.
//!
//! The queue is ours: a ring of buckets (`bucket_queue`) instead of a heap. Nodes of one
//! bucket come in no strict order, so a node may move a second time. The result is the same: it is the least motion
//! that keeps all limits, whatever the order.

use crate::bucket_queue::BucketQueue;
use crate::index_sets::InsertionSet;
use crate::nodes::{NONE, VoxelNodes, to_f64};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// A node with a prescribed displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeTarget<R> {
    /// Slot of the node.
    pub node: u32,
    /// Displacement from rest \[m\].
    pub displacement_m: [R; 3],
}

/// Statistics of a propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PropagationStats {
    /// Nodes that moved along an axis, each counted by axis and sense.
    pub moved: usize,
    /// Number of links that were checked.
    pub considered: usize,
}

/// Error of a propagation that would have to move a held node.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("node {node} is held, but node {for_node} requires it to move {by_m} m along axis {axis}")]
pub struct InfeasibleMove {
    /// Slot of the held node: pinned or a target.
    pub node: u32,
    /// Slot of the neighbour whose link to it would exceed its limits.
    pub for_node: u32,
    /// Axis of the world.
    pub axis: usize,
    /// Distance that the held node would have to move \[m\].
    pub by_m: f64,
}

/// Propagation solver. Allocated once: it does not grow during a session.
#[derive(Debug, Clone)]
pub struct Chainmail<R> {
    queue: BucketQueue<R>,
    /// Moves done: node, axis and displacement before \[m\].
    moves: Vec<(u32, usize, R)>,
    /// Targets of the present propagation.
    targets: InsertionSet,
    /// Targets of a pass and their displacements, the greatest last \[m\].
    seeds: Vec<(R, u32)>,
}

/// An axis of the world and a sense along it.
#[derive(Debug, Clone, Copy)]
struct Pass<R> {
    axis: usize,
    up: bool,
    /// 1 for up, -1 for down.
    sense: R,
    /// Violation that rounding may leave \[m\].
    fine_m: R,
}

impl<R: Real> Chainmail<R> {
    /// Returns a solver for a model of this number of slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            queue: BucketQueue::new(slots),
            // every axis of every slot, twice
            moves: Vec::with_capacity(6 * slots),
            targets: InsertionSet::new(slots),
            seeds: Vec::with_capacity(slots),
        }
    }

    /// Moves targets to their displacements, and all nodes that must follow.
    ///
    /// A target that is absent or not finite is ignored. Pinned nodes do not move, as targets or otherwise.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if a held node would have to move. It names the node of the greatest excess along the first
    /// axis and sense where this occurs. Nothing has moved then.
    pub fn propagate(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        targets: &[NodeTarget<R>],
    ) -> Result<PropagationStats, InfeasibleMove> {
        self.moves.clear();
        self.targets.clear();
        for target in targets.iter().filter(|c| usable(nodes, c)) {
            self.targets.add(target.node);
        }
        let mut moved = PropagationStats::default();
        for axis in 0..3 {
            for up in [true, false] {
                if let Err(why) = self.pass(nodes, targets, axis, up, &mut moved) {
                    self.restore(nodes);
                    return Err(why);
                }
            }
        }
        Ok(moved)
    }

    /// Returns the nodes that the last propagation moved, with the axis and their displacement before \[m\]; last
    /// changes first.
    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, usize, R)> + '_ {
        self.moves.iter().rev().copied()
    }

    /// True if a node may not be moved by others: it is pinned, or a target of the last propagation.
    pub(super) fn is_held(&self, nodes: &VoxelNodes<R>, node: u32) -> bool {
        self.targets.has(node) || nodes.pinned(node)
    }

    /// Reverts the last propagation.
    pub fn restore(&mut self, nodes: &mut VoxelNodes<R>) {
        while let Some((node, axis, moved_m)) = self.moves.pop() {
            nodes.displacement_m[axis][node as usize] = moved_m;
        }
    }

    /// Moves a node and records its displacement before \[m\].
    fn put(&mut self, nodes: &mut VoxelNodes<R>, node: u32, axis: usize, to_m: R) {
        let slot = &mut nodes.displacement_m[axis][node as usize];
        self.moves.push((node, axis, *slot));
        *slot = to_m;
    }

    /// Propagates along one axis and sense.
    fn pass(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        targets: &[NodeTarget<R>],
        axis: usize,
        up: bool,
        moved: &mut PropagationStats,
    ) -> Result<(), InfeasibleMove> {
        let sense = if up { R::one() } else { -R::one() };
        self.seed(nodes, targets, axis, sense);
        let Some(&(top_m, _)) = self.seeds.last() else {
            return Ok(());
        };
        let most_m = nodes.bonds().slack_m[axis];
        let pass = Pass {
            axis,
            up,
            sense,
            fine_m: R::of(4.0) * R::default_epsilon() * (top_m.abs() + most_m),
        };
        self.queue.begin(top_m, most_m);
        let mut why = None;
        loop {
            let next_m = self.seeds.last().map(|&(to_m, _)| to_m);
            if next_m.is_some_and(|to_m| self.queue.is_next(to_m)) {
                if let Some((to_m, node)) = self.seeds.pop() {
                    self.start(nodes, pass, node, to_m);
                }
                continue;
            }
            let Some(node) = self.queue.pop() else {
                break;
            };
            self.move_neighbours(nodes, pass, node, moved, &mut why);
        }
        why.map_or(Ok(()), Err)
    }

    /// Lists the targets that move along this axis and sense.
    fn seed(&mut self, nodes: &VoxelNodes<R>, targets: &[NodeTarget<R>], axis: usize, sense: R) {
        self.seeds.clear();
        for target in targets.iter().filter(|c| usable(nodes, c)) {
            let to_m = sense * target.displacement_m[axis];
            if to_m > sense * nodes.displacement_m[axis][target.node as usize] {
                self.seeds.push((to_m, target.node));
            }
        }
        self.seeds.sort_unstable_by(|a, b| {
            let by_displacement = a.0.partial_cmp(&b.0);
            by_displacement
                .unwrap_or(std::cmp::Ordering::Equal)
                .then_with(|| b.1.cmp(&a.1))
        });
    }

    /// Moves a target and queues it.
    fn start(&mut self, nodes: &mut VoxelNodes<R>, pass: Pass<R>, node: u32, to_m: R) {
        // the same node may be listed twice
        if to_m > pass.sense * nodes.displacement_m[pass.axis][node as usize] {
            self.put(nodes, node, pass.axis, pass.sense * to_m);
        }
        self.queue.push(node, to_m);
    }

    /// Moves the neighbours that must follow a node, and queues them.
    fn move_neighbours(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        pass: Pass<R>,
        node: u32,
        moved: &mut PropagationStats,
        why: &mut Option<InfeasibleMove>,
    ) {
        let (axis, slot) = (pass.axis, node as usize);
        let at_m = pass.sense * nodes.displacement_m[axis][slot];
        let own = nodes.material[slot];
        for d in 0..6 {
            let other = nodes.neighbour[d][slot];
            if other == NONE {
                continue;
            }
            moved.considered += 1;
            let pair = [own, nodes.material[other as usize]];
            let (least_m, most_m) = nodes
                .bonds()
                .range_m(pair, NeighbourDirection::ALL[d], axis);
            let to_m = at_m - if pass.up { -least_m } else { most_m };
            let now_m = pass.sense * nodes.displacement_m[axis][other as usize];
            if now_m + pass.fine_m >= to_m {
                continue;
            }
            if self.is_held(nodes, other) {
                let by_m = to_f64(to_m - now_m);
                let most_m = why.map_or(rounding_m(nodes, axis), |why: InfeasibleMove| why.by_m);
                if by_m > most_m {
                    *why = Some(InfeasibleMove {
                        node: other,
                        for_node: node,
                        axis,
                        by_m,
                    });
                }
                continue;
            }
            if self.queue.push(other, to_m) {
                moved.moved += 1;
                self.put(nodes, other, axis, pass.sense * to_m);
            } else {
                nodes.displacement_m[axis][other as usize] = pass.sense * to_m;
            }
        }
    }
}

/// Excess that rounding may cause at a held node \[m\].
fn rounding_m<R: Real>(nodes: &VoxelNodes<R>, axis: usize) -> f64 {
    32.0 * to_f64(R::default_epsilon()) * nodes.frame().spacing_m[axis]
}

/// True if a target names a free node and a finite displacement.
pub(super) fn usable<R: Real>(nodes: &VoxelNodes<R>, target: &NodeTarget<R>) -> bool {
    nodes.alive(target.node)
        && !nodes.pinned(target.node)
        && target.displacement_m.iter().all(R::is_finite)
}
