//! Return to rest of a model whose numbers are no longer finite.
//!
//! Source: ours. Links, pins, stiffness and the log of edits have no number that a motion could break, so they stay.
//! Without displacement every link is at rest, whatever came before.

use crate::VoxelModel;
use crate::model::VoxelBalance;
use crate::nodes::NONE;
use palpate_twin::twin::Reaction;

impl VoxelModel {
    /// Sets the model to rest, without tools, if a step from the balance `before` left a number that is not finite;
    /// its energy before the step counts as dissipated.
    pub(super) fn rebuild_if_collapsed(
        &mut self,
        before: &VoxelBalance,
        reactions: &mut [Reaction],
    ) {
        if self.balance.ledger.sum_j().is_finite() {
            return;
        }
        for axis in &mut self.nodes.displacement_m {
            axis.fill(0.0);
        }
        let contact = &mut self.contact;
        (contact.shapes, contact.tool_force_n) = Default::default();
        contact.closed = Default::default();
        contact.touched.iter_mut().for_each(Vec::clear);
        contact.touched_pinned.clear();
        contact.ties.clear();
        contact.tie_of.fill(NONE);
        self.instruments.active = Default::default();
        self.active_set.last_step_m.fill(0.0);
        self.active_set.margin_m.fill(-1.0);
        self.rebuild_derived();
        self.balance.ledger = before.ledger.at_rest();
        self.balance.granted_j = before.granted_j;
        self.recount_energy();
        reactions.fill(Reaction::of_collapse());
    }
}
