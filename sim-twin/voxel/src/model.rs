//! The voxel model as a tissue: nodes, stencil, active set and energy balance.
//!
//! Source: ours.

use crate::active_set::ActiveSet;
use crate::friction::ContactState;
use crate::instruments::InstrumentState;
use crate::nodes::{VoxelNodes, to_f32};
use crate::params::{VoxelParams, VoxelParamsError};
use crate::state;
use crate::stencil::Stencil;
use crate::surface::VoxelSurface;
use crate::surface_positions::SurfacePositions;
use crate::tick::ChainmailState;
use crate::topology_editor::TopologyEditor;
use crate::touch::TOOLS;
use palpate_twin::checksum::verify_checksum;
use palpate_twin::extrapolation::ReactionExtrapolator;
use palpate_twin::snapshot::{SnapshotPart as _, SnapshotReader};
use palpate_twin::snapshot_parts;
use palpate_twin::twin::{
    Edit, EditError, EditReport, Reaction, Snapshot, SnapshotError, Tissue, TissueCaps,
    TissueEnergy, TissueView, Tool,
};

/// A deformable tissue of nodes and links that tools touch, cut and join.
///
/// Steps are deterministic: equal state, tools and `dt_s` give equal bits. A tool keeps its index from step to step.
#[derive(Debug, Clone)]
pub struct VoxelModel {
    pub(super) nodes: VoxelNodes<f32>,
    pub(super) stencil: Stencil,
    pub(super) params: VoxelParams,
    /// Least spacing of the lattice \[m\].
    pub(super) spacing_m: f64,
    /// Step of a pass below which a run counts as settled \[m\].
    pub(super) settled_step_m: f32,
    /// Motion and bounds of runs, and the runs that the next pass updates.
    pub(super) active_set: ActiveSet,
    /// Contacts, grasps and friction ties of tools.
    pub(super) contact: ContactState,
    /// Propagation that moves nodes out of deep contact.
    pub(super) chainmail: ChainmailState,
    /// State of the instruments from step to step.
    pub(super) instruments: InstrumentState,
    pub(super) editor: TopologyEditor,
    pub(super) balance: VoxelBalance,
    /// Stiffness factors of nodes before the last stiffness edit.
    pub(super) stiffness_before: Vec<f32>,
    pub(super) extrapolation: ReactionExtrapolator,
    /// Hash of this model's construction; the checksum of its snapshots starts from it.
    pub(super) model_hash: u64,
    surface_positions: SurfacePositions,
}

/// Energy balance and pass clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VoxelBalance {
    pub(super) ledger: TissueEnergy,
    /// Part of the dissipated energy that was granted to passive edits and new contacts \[J\].
    pub(super) granted_j: f64,
    /// Time that no pass has covered yet \[s\].
    pub(super) pending_s: f64,
    pub(super) steps: u64,
}

snapshot_parts!(VoxelBalance: ledger, granted_j, pending_s, steps);

impl VoxelModel {
    /// Returns a tissue at rest.
    ///
    /// # Errors
    /// [`VoxelParamsError`] if a parameter is out of range.
    pub fn new(mut nodes: VoxelNodes<f32>, params: VoxelParams) -> Result<Self, VoxelParamsError> {
        params.check()?;
        let editor = TopologyEditor::new(&mut nodes, params.undo_changes);
        let stencil = Stencil::new(&nodes);
        let slots = nodes.slots() as usize;
        let [x, y, z] = nodes.frame().spacing_m;
        let spacing_m = x.min(y).min(z);
        let settled_step_m = params.settled_step * to_f32(spacing_m);
        let mut tissue = Self {
            spacing_m,
            settled_step_m,
            active_set: ActiveSet::new(slots),
            contact: ContactState::new(slots),
            chainmail: ChainmailState::new(nodes.slots()),
            instruments: InstrumentState::new(nodes.slots(), params.tears),
            editor,
            balance: VoxelBalance::default(),
            stiffness_before: vec![1.0; slots],
            extrapolation: ReactionExtrapolator::default(),
            model_hash: state::model_hash(&nodes, &params),
            surface_positions: SurfacePositions::new(slots),
            nodes,
            stencil,
            params,
        };
        tissue.recount_energy();
        tissue.rebuild_surface();
        Ok(tissue)
    }

    /// Returns the nodes.
    #[must_use]
    pub const fn nodes(&self) -> &VoxelNodes<f32> {
        &self.nodes
    }

    /// Returns the surface; it maps every vertex of the [`TissueView`] to its node.
    #[must_use]
    pub const fn surface(&self) -> &VoxelSurface {
        &self.editor.derived.surface
    }

    /// Returns the energy balance.
    #[cfg(test)]
    pub(crate) const fn ledger(&self) -> TissueEnergy {
        self.balance.ledger
    }

    /// Rebuilds the surface positions, after the surface's nodes or their runs changed.
    pub(super) fn rebuild_surface(&mut self) {
        let vertices = self.editor.derived.surface.vertices();
        self.surface_positions
            .rebuild(vertices, &self.nodes, &self.stencil);
        self.active_set.moved_since_view.clear();
    }

    /// Updates the surface positions of nodes that moved.
    pub(super) fn update_surface(&mut self) {
        self.surface_positions.update(
            &self.active_set.moved_since_view,
            &self.nodes,
            &self.stencil,
        );
        self.active_set.moved_since_view.clear();
    }
}

impl Tissue for VoxelModel {
    fn caps(&self) -> TissueCaps {
        let free = |&node: &u32| self.nodes.alive(node) && !self.nodes.pinned(node);
        let nodes = (0..self.nodes.slots()).filter(free).count();
        TissueCaps {
            shafts: true,
            plates: true,
            jaws: true,
            preferred_dt_s: self.params.pass_s,
            region_edits: true,
            cuts: true,
            instruments: true,
            ..TissueCaps::new("linked", nodes, self.nodes.count(), TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.extrapolation.extrapolate(tools, reactions);
            return;
        }
        let before = self.balance;
        self.advance(tools, dt_s, reactions);
        self.rebuild_if_collapsed(&before, reactions);
        self.extrapolation.record(tools, dt_s, reactions);
        self.update_surface();
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.apply_edit(edit)
    }

    fn view(&self) -> TissueView<'_> {
        TissueView {
            positions_m: &self.surface_positions.at_m,
            rest_m: &self.surface_positions.rest_m,
            faces: self.editor.derived.surface.faces(),
            energy: self.balance.ledger,
            topology_hash: Some(self.editor.log.hash),
            changes: &self.editor.derived.changes,
            edit_number: self.editor.log.batch,
        }
    }

    fn save(&self, snapshot: &mut Snapshot) {
        snapshot.encode(&[self], Some(self.model_hash));
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        // a snapshot with this checksum was written by this model, so its sizes fit
        verify_checksum(self.model_hash, snapshot)?;
        self.decode_from(&mut SnapshotReader::new(snapshot));
        self.rebuild_derived();
        Ok(())
    }
}
