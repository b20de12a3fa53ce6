//! Extrapolation of the last reaction between two steps, by its local stiffness.
//!
//! Source: ours. A caller that is late, or that steps more often than the tissue requires, steps with a
//! `dt` of zero. No time passes and the state of the tissue stays the same. Every model then returns the
//! result of this [`ReactionExtrapolator`]; `palpate_fem::FallbackPredictor` is more accurate where it has a
//! compliance table.

use crate::Vec3;
use crate::contact::is_usable;
use crate::snapshot_parts;
use crate::twin::{Reaction, Tool};

/// Most tools of any model.
const TOOLS_MAX: usize = 4;

/// Position of a tool at the end of the last step, and its reaction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LastReaction {
    /// Position of the tool \[m\].
    pub position_m: Vec3,
    /// Reaction of the tissue.
    pub reaction: Reaction,
}

/// Reactions to all tools at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReactionExtrapolator {
    tools: [LastReaction; TOOLS_MAX],
}

impl ReactionExtrapolator {
    /// Stores the reactions of a step, if the step took time.
    pub fn record(&mut self, tools: &[Tool], dt_s: f64, reactions: &[Reaction]) {
        if !(dt_s > 0.0 && dt_s.is_finite()) {
            return;
        }
        self.tools = [LastReaction::default(); TOOLS_MAX];
        for (last, (tool, reaction)) in self.tools.iter_mut().zip(tools.iter().zip(reactions)) {
            if is_usable(tool) {
                (last.position_m, last.reaction) = (tool.position_m, *reaction);
            }
        }
    }

    /// Reaction of the tool of this index at the end of the last step; none if the tool moved by more than its
    /// radius since then.
    #[inline]
    pub fn last(&self, index: usize, tool: &Tool) -> Option<&LastReaction> {
        let last = self.tools.get(index)?;
        let leap_m = (tool.position_m - last.position_m).norm();
        (is_usable(tool) && leap_m <= tool.radius_m).then_some(last)
    }

    /// Writes the reactions now, while no time passes: [`Reaction::extrapolated`], and zero for a tool that is
    /// unusable, new or moved by more than its radius.
    pub fn extrapolate(&self, tools: &[Tool], reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        for (index, (slot, tool)) in reactions.iter_mut().zip(tools).enumerate() {
            if let Some(last) = self.last(index, tool) {
                *slot = last
                    .reaction
                    .extrapolated(&(tool.position_m - last.position_m));
            }
        }
    }
}

snapshot_parts!(ReactionExtrapolator: tools);
snapshot_parts!(LastReaction: position_m, reaction.force_n, reaction.torque_nm, reaction.normal, reaction.proxy_offset_m, reaction.grip_force_n, reaction.penetration_m,
    reaction.stiffness_npm, reaction.damping_nspm, reaction.contacts, reaction.mesh_error_n, reaction.blade_force_n);
