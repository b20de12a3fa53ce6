//! ChainMail as printed: ordered candidate lists, each node processed once.
//!
//! Source: seed-001 section 3.3.2 (its Figs. 9 and 10; rows DF-01 to DF-04, DF-11, DF-19) and 3.3.5 (Fig. 17; row
//! DF-12). A node that breaks a limit with its sponsor moves as little as keeps it, and its neighbours become
//! candidates. The list of a node decides which neighbours. Lists are processed in a fixed order, so a homogeneous
//! box takes one pass. In two dimensions, a volume of one layer, the front and back lists stay empty, as in Fig. 9.
//!
//! It keeps all limits on homogeneous boxes with one target, and guarantees nothing elsewhere. On other shapes it
//! leaves links beyond their limits, with Fig. 17 too (a sphere, a hole). Sessions use [`palpate_voxel::chainmail`].

use crate::voxel::propagation::{HeldNodes, MoveLog, rounding_m, usable};
use crate::voxel::to_f64;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::chainmail::{InfeasibleMove, NodeTarget, PropagationStats};
use palpate_voxel::nodes::VoxelNodes;

/// Lists in the order of processing.
pub const ORDER: [NeighbourDirection; 6] = [
    NeighbourDirection::Front,
    NeighbourDirection::Back,
    NeighbourDirection::Right,
    NeighbourDirection::Left,
    NeighbourDirection::Top,
    NeighbourDirection::Bottom,
];

/// Rule for the neighbours that become candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CandidateRule {
    /// Rule of Figs. 9 and 10: for boxes.
    #[default]
    Box,
    /// Rule of Fig. 17 for its right list, applied to all lists: also neighbours whose own sponsor is missing. It
    /// handles slots and corners; holes and round shapes still fail.
    Corners,
}

impl CandidateRule {
    /// Returns the directions in which a node of a list queues its neighbours.
    #[must_use]
    pub const fn queued_from(list: NeighbourDirection) -> &'static [NeighbourDirection] {
        use NeighbourDirection::{Back, Bottom, Front, Left, Right, Top};
        match list {
            Front => &[Top, Bottom, Left, Right, Front],
            Back => &[Top, Bottom, Left, Right, Back],
            Right => &[Top, Bottom, Right],
            Left => &[Top, Bottom, Left],
            Top => &[Top],
            Bottom => &[Bottom],
        }
    }
}

/// A node that may have to follow its sponsor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveCandidate {
    /// Slot of the node.
    pub node: u32,
    /// Slot of the node that moved.
    pub sponsor: u32,
}

/// A list of candidates with the index of the next one; processed candidates stay in it.
#[derive(Debug, Clone, Default)]
struct CandidateList {
    queued: Vec<MoveCandidate>,
    next: usize,
}

/// Result of processing one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateResult {
    /// The candidate.
    pub candidate: MoveCandidate,
    /// List of the candidate.
    pub list: NeighbourDirection,
    /// True if it had moved already and was skipped.
    pub passed: bool,
    /// True if it moved.
    pub moved: bool,
}

/// Solver state. Allocated once.
#[derive(Debug, Clone)]
pub struct PrintedChainmail<R> {
    lists: [CandidateList; 6],
    /// Index of the present list in [`ORDER`].
    at: usize,
    rule: CandidateRule,
    /// Generation in which a node moved last: nothing is cleared.
    stamp: Vec<u32>,
    generation: u32,
    /// Moved nodes, the target first.
    order: Vec<u32>,
    considered: usize,
    held: HeldNodes,
    was: MoveLog<R>,
}

impl<R: Real> PrintedChainmail<R> {
    /// Returns a solver for this number of slots.
    #[must_use]
    pub fn new(slots: u32, rule: CandidateRule) -> Self {
        let slots = slots as usize;
        Self {
            lists: std::array::from_fn(|_| CandidateList {
                queued: Vec::with_capacity(slots),
                next: 0,
            }),
            at: 0,
            rule,
            stamp: vec![0; slots],
            generation: 0,
            order: Vec::with_capacity(slots),
            considered: 0,
            held: HeldNodes::new(slots),
            was: MoveLog::new(slots),
        }
    }

    /// Moves targets one after the other, and all nodes that must follow.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if a held node would have to move: pinned, or another target. Nothing has moved then. This
    /// rule is ours; the source does not treat held nodes (W-19).
    pub fn propagate(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        targets: &[NodeTarget<R>],
    ) -> Result<PropagationStats, InfeasibleMove> {
        self.was.clear();
        self.held.mark(nodes, targets);
        let mut moved = PropagationStats::default();
        for target in targets {
            self.start(nodes, target);
            loop {
                match self.process_next(nodes) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(why) => {
                        self.was.restore(nodes);
                        return Err(why);
                    }
                }
            }
            moved.moved += self.order.len();
            moved.considered += self.considered;
        }
        Ok(moved)
    }

    /// Moves a target and queues its neighbours; an infeasible target leaves all lists empty. With
    /// [`PrintedChainmail::process_next`] this equals [`PrintedChainmail::propagate`], candidate by candidate.
    pub fn begin(&mut self, nodes: &mut VoxelNodes<R>, target: &NodeTarget<R>) {
        self.was.clear();
        self.held.mark(nodes, std::slice::from_ref(target));
        self.start(nodes, target);
    }

    fn start(&mut self, nodes: &mut VoxelNodes<R>, target: &NodeTarget<R>) {
        self.stamp.resize(nodes.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for list in &mut self.lists {
            list.queued.clear();
            list.next = 0;
        }
        (self.at, self.considered) = (0, 0);
        self.order.clear();
        if !usable(nodes, target) {
            return;
        }
        for (axis, &to_m) in target.displacement_m.iter().enumerate() {
            self.was.put(nodes, target.node, axis, to_m);
        }
        self.stamp[target.node as usize] = self.generation;
        self.order.push(target.node);
        for to in NeighbourDirection::ALL {
            self.queue(nodes, target.node, to);
        }
    }

    /// Processes the next candidate; returns none if all lists are done.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if it is held and would have to move.
    pub fn process_next(
        &mut self,
        nodes: &mut VoxelNodes<R>,
    ) -> Result<Option<CandidateResult>, InfeasibleMove> {
        let Some(list) = self.current_list() else {
            return Ok(None);
        };
        let own = &mut self.lists[list.index()];
        let candidate = own.queued[own.next];
        own.next += 1;
        let mut result = CandidateResult {
            candidate,
            list,
            passed: self.stamp[candidate.node as usize] == self.generation,
            moved: false,
        };
        if !result.passed {
            self.considered += 1;
            result.moved = self.move_to_sponsor(nodes, candidate, list)?;
        }
        if result.moved {
            self.stamp[candidate.node as usize] = self.generation;
            self.order.push(candidate.node);
            for &to in CandidateRule::queued_from(list) {
                self.queue(nodes, candidate.node, to);
            }
            if self.rule == CandidateRule::Corners {
                self.queue_round_corners(nodes, candidate.node, list);
            }
        }
        Ok(Some(result))
    }

    /// Returns the present list: the next one that is not empty.
    fn current_list(&mut self) -> Option<NeighbourDirection> {
        for _ in 0..ORDER.len() {
            let list = ORDER[self.at];
            let own = &self.lists[list.index()];
            if own.next < own.queued.len() {
                return Some(list);
            }
            self.at = (self.at + 1) % ORDER.len();
        }
        None
    }

    /// Moves a candidate as little as keeps its limits with its sponsor; returns true if it moved.
    fn move_to_sponsor(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        MoveCandidate { node, sponsor }: MoveCandidate,
        to: NeighbourDirection,
    ) -> Result<bool, InfeasibleMove> {
        let pair = [nodes.material(sponsor), nodes.material(node)];
        let mut moved = false;
        for axis in 0..3 {
            let (least, most) = nodes.bonds().range_m(pair, to, axis);
            let from_m = nodes.displacement_m[axis][sponsor as usize];
            let at_m = nodes.displacement_m[axis][node as usize];
            let to_m = at_m.clamp(from_m + least, from_m + most);
            if to_m == at_m {
                continue;
            }
            if self.held.has(nodes, node) {
                let by_m = to_f64((to_m - at_m).abs());
                if by_m <= rounding_m(nodes, axis) {
                    continue;
                }
                return Err(InfeasibleMove {
                    node,
                    for_node: sponsor,
                    axis,
                    by_m,
                });
            }
            self.was.put(nodes, node, axis, to_m);
            moved = true;
        }
        Ok(moved)
    }

    /// Queues a neighbour that has not moved.
    fn queue(&mut self, nodes: &VoxelNodes<R>, sponsor: u32, to: NeighbourDirection) {
        let Some(node) = nodes.neighbour(sponsor, to) else {
            return;
        };
        if self.stamp[node as usize] != self.generation {
            let list = &mut self.lists[to.index()];
            list.queued.push(MoveCandidate { node, sponsor });
        }
    }

    /// Queues neighbours that this list leaves to other sponsors, if those are missing (Fig. 17).
    fn queue_round_corners(
        &mut self,
        nodes: &VoxelNodes<R>,
        sponsor: u32,
        list: NeighbourDirection,
    ) {
        for to in NeighbourDirection::ALL {
            if to == list.opposite() || CandidateRule::queued_from(list).contains(&to) {
                continue;
            }
            let alone = nodes
                .neighbour(sponsor, to)
                .is_some_and(|n| nodes.neighbour(n, list.opposite()).is_none());
            if alone {
                self.queue(nodes, sponsor, to);
            }
        }
    }

    /// Returns the nodes that moved for the last target, in order; the target comes first.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the number of processed candidates of the last target, without skipped ones.
    #[must_use]
    pub const fn considered(&self) -> usize {
        self.considered
    }

    /// Returns all candidates of a list for the last target, and the number processed.
    #[must_use]
    pub fn list(&self, list: NeighbourDirection) -> (&[MoveCandidate], usize) {
        let own = &self.lists[list.index()];
        (&own.queued, own.next)
    }

    /// Reverts the last propagation.
    pub fn restore(&mut self, nodes: &mut VoxelNodes<R>) {
        self.was.restore(nodes);
    }
}
