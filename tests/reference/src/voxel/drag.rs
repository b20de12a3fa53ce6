//! Dragging of nodes: propagation follows the held nodes and one pass relaxes the rest.
//!
//! Source: seed-001 Fig. 11 and section 3.4.6 (row DF-13: interactive manipulation of a volume). Sessions pull with
//! jaws instead, with force and energy balance.

use crate::voxel::propagation::{PropagationMethod, Propagator};
use crate::voxel::relaxation::{NeighbourTarget, Relaxation, RelaxationError, RelaxationParams};
use palpate_twin::law::Real;
use palpate_voxel::chainmail::{InfeasibleMove, NodeTarget, PropagationStats};
use palpate_voxel::nodes::VoxelNodes;

/// A volume that is dragged by held nodes.
#[derive(Debug, Clone)]
pub struct DraggedVolume<R> {
    nodes: VoxelNodes<R>,
    propagator: Propagator<R>,
    relaxation: Relaxation<R>,
    held: Vec<u32>,
}

impl<R: Real> DraggedVolume<R> {
    /// Returns a drag of these nodes.
    ///
    /// # Errors
    /// [`RelaxationError`] never: the parameters are fixed.
    pub fn new(nodes: VoxelNodes<R>, method: PropagationMethod) -> Result<Self, RelaxationError> {
        let params = RelaxationParams {
            target: NeighbourTarget::Weighted,
            gain: 1.7,
            ..RelaxationParams::default()
        };
        Ok(Self {
            propagator: Propagator::new(method, nodes.slots()),
            relaxation: Relaxation::new(params, &nodes)?,
            held: Vec::new(),
            nodes,
        })
    }

    /// Returns the nodes.
    #[must_use]
    pub const fn nodes(&self) -> &VoxelNodes<R> {
        &self.nodes
    }

    /// Moves held nodes and those that must follow, then relaxes the others once; without held nodes it only relaxes.
    /// With ChainMail propagation no limit breaks, if none was broken before.
    ///
    /// # Errors
    /// [`InfeasibleMove`] if a pinned node would have to move; nothing has moved then.
    pub fn move_to(
        &mut self,
        targets: &[NodeTarget<R>],
    ) -> Result<PropagationStats, InfeasibleMove> {
        let moved = self.propagator.propagate(&mut self.nodes, targets)?;
        self.held.clear();
        self.held.extend(targets.iter().map(|c| c.node));
        self.relaxation.pass(&mut self.nodes, &self.held);
        Ok(moved)
    }
}
