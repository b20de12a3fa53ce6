//! Selection of the propagation method: ChainMail of sessions, or ChainMail as printed.
//!
//! Source: seed-001 sections 3.3.2, 3.3.5 and 3.3.6 describe the methods.

use crate::voxel::printed_chainmail::{CandidateRule, PrintedChainmail};
use crate::voxel::to_f64;
use palpate_twin::law::Real;
use palpate_voxel::chainmail::{Chainmail, InfeasibleMove, NodeTarget, PropagationStats};
use palpate_voxel::nodes::VoxelNodes;

/// Propagation method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PropagationMethod {
    /// Method of sessions: keeps all limits on any shape, mixture and number of targets.
    #[default]
    Chainmail,
    /// Candidate lists as printed, correct for homogeneous boxes with one target. Targets move one after the other.
    Printed(CandidateRule),
}

/// A propagation method with its solver state.
#[derive(Debug, Clone)]
pub enum Propagator<R> {
    /// See [`PropagationMethod::Chainmail`].
    Chainmail(Box<Chainmail<R>>),
    /// See [`PropagationMethod::Printed`].
    Printed(Box<PrintedChainmail<R>>),
}

impl<R: Real> Propagator<R> {
    /// Returns a solver for this number of slots.
    #[must_use]
    pub fn new(method: PropagationMethod, slots: u32) -> Self {
        match method {
            PropagationMethod::Chainmail => Self::Chainmail(Box::new(Chainmail::new(slots))),
            PropagationMethod::Printed(lists) => {
                Self::Printed(Box::new(PrintedChainmail::new(slots, lists)))
            }
        }
    }

    /// Moves targets, and all nodes that must follow.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if a held node would have to move; nothing has moved then.
    pub fn propagate(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        targets: &[NodeTarget<R>],
    ) -> Result<PropagationStats, InfeasibleMove> {
        match self {
            Self::Chainmail(chainmail) => chainmail.propagate(nodes, targets),
            Self::Printed(chain) => chain.propagate(nodes, targets),
        }
    }

    /// Reverts the last propagation.
    pub fn restore(&mut self, nodes: &mut VoxelNodes<R>) {
        match self {
            Self::Chainmail(chainmail) => chainmail.restore(nodes),
            Self::Printed(chain) => chain.restore(nodes),
        }
    }
}

/// Moves done, to be reverted: nodes, axes and displacements before \[m\].
#[derive(Debug, Clone, Default)]
pub(crate) struct MoveLog<R>(Vec<(u32, usize, R)>);

impl<R: Real> MoveLog<R> {
    /// Returns an empty log, with capacity for twice every axis of every slot.
    pub(crate) fn new(slots: usize) -> Self {
        Self(Vec::with_capacity(6 * slots))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Reverts all moves.
    pub(crate) fn restore(&mut self, nodes: &mut VoxelNodes<R>) {
        while let Some((node, axis, moved_m)) = self.0.pop() {
            nodes.displacement_m[axis][node as usize] = moved_m;
        }
    }

    /// Moves a node along an axis and records its displacement before \[m\].
    pub(crate) fn put(&mut self, nodes: &mut VoxelNodes<R>, node: u32, axis: usize, to_m: R) {
        let slot = &mut nodes.displacement_m[axis][node as usize];
        self.0.push((node, axis, *slot));
        *slot = to_m;
    }
}

/// Held nodes: targets of the present propagation, and pinned nodes.
#[derive(Debug, Clone)]
pub(crate) struct HeldNodes {
    /// Generation in which a node was last a target.
    last: Vec<u32>,
    generation: u32,
}

impl HeldNodes {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            last: vec![0; slots],
            // no node is a target before the first
            generation: 1,
        }
    }

    /// Marks the targets.
    pub(crate) fn mark<R: Real>(&mut self, nodes: &VoxelNodes<R>, targets: &[NodeTarget<R>]) {
        self.last.resize(nodes.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for target in targets.iter().filter(|target| usable(nodes, target)) {
            self.last[target.node as usize] = self.generation;
        }
    }

    pub(crate) fn has<R: Real>(&self, nodes: &VoxelNodes<R>, node: u32) -> bool {
        self.last[node as usize] == self.generation || nodes.pinned(node)
    }
}

/// Excess that rounding may cause at a held node \[m\].
pub(crate) fn rounding_m<R: Real>(nodes: &VoxelNodes<R>, axis: usize) -> f64 {
    32.0 * to_f64(R::default_epsilon()) * nodes.frame().spacing_m[axis]
}

/// True if a target names a free node and a finite displacement.
pub(crate) fn usable<R: Real>(nodes: &VoxelNodes<R>, target: &NodeTarget<R>) -> bool {
    nodes.alive(target.node)
        && !nodes.pinned(target.node)
        && target.displacement_m.iter().all(R::is_finite)
}
