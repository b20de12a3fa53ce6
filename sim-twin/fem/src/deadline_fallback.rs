//! Deadline fallback of a continuum: extrapolation of the last full step by the condensed predictor.
//!
//! Source: ours. Let `P` be the force of the table ([`super::predictor`]), `F` and `x` force and pose of the
//! last full step, and `w` the weight of the predictor. The force at the pose `y` is
//! `w (F + s (P(y) - P(x))) + (1 - w) F'(y)`, where `F'` is the generic extrapolation of every model
//! ([`ReactionExtrapolator`]). The scale `s` is the component of `F` along `P(x)` divided by the
//! size of `P(x)`; it covers edits and oscillation of the twin. The component of `F` across `P(x)`, such as
//! friction, scales with the size of `P`. So the force equals `F` at the last pose, fades into the generic
//! one where the table ends, and never pulls. It is zero after the tool has left the surface.
//!
//! Energy: a late tick moves no node and changes no energy balance. The handle moves by the displacement of
//! one tick under a force with the error of the extrapolation. The next full step takes the whole
//! displacement with a force that is correct at its end. The energy that a late tick can generate is at most
//! its force error times its displacement.

use super::compliance::ComplianceTable;
use super::predictor::{ContactSolver, ContactSphere};
use palpate_twin::Vec3;
use palpate_twin::extrapolation::{LastReaction, ReactionExtrapolator};
use palpate_twin::twin::{Reaction, Tool};
use std::sync::Arc;

/// Largest scale of the predictor's force; the table does not describe a tissue beyond it.
const SCALE_MAX: f64 = 4.0;

/// Compliance table with a contact solver for late ticks.
#[derive(Debug, Clone)]
pub struct FallbackPredictor {
    table: Arc<ComplianceTable>,
    solver: ContactSolver,
}

impl FallbackPredictor {
    /// Constructs the fallback from the table of a scene, in its frame.
    #[must_use]
    pub fn new(table: Arc<ComplianceTable>) -> Self {
        Self {
            table,
            solver: ContactSolver::default(),
        }
    }

    /// Replaces the forces that `extrapolator` produced by those of the table where it is valid: spheres
    /// only.
    pub(crate) fn refine(
        &mut self,
        extrapolator: &ReactionExtrapolator,
        tools: &[Tool],
        reactions: &mut [Reaction],
    ) {
        for (index, (slot, tool)) in reactions.iter_mut().zip(tools).enumerate() {
            if tool.shaft_m != Vec3::zeros() {
                continue;
            }
            if let Some(last) = extrapolator.last(index, tool) {
                self.refine_one(last, tool, slot);
            }
        }
    }

    fn refine_one(&mut self, last: &LastReaction, tool: &Tool, slot: &mut Reaction) {
        let ball = |centre_m: Vec3| ContactSphere {
            centre_m,
            radius_m: tool.radius_m,
            stiffness_npm: tool.stiffness_npm,
        };
        let then = self.solver.press(&self.table, &ball(last.position_m));
        let now = self.solver.press(&self.table, &ball(tool.position_m));
        let weight = then.weight.min(now.weight);
        if weight == 0.0 {
            return;
        }
        let force_n = extrapolated_force(last.reaction.force_n, then.force_n, now.force_n);
        let force_n = force_n * weight + slot.force_n * (1.0 - weight);
        if force_n == Vec3::zeros() || !force_n.iter().all(|x| x.is_finite()) {
            return;
        }
        if last.reaction.contacts > 0 {
            // grip, torque and slopes stay those of the extrapolator
            slot.force_n = force_n;
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        let contacts = now.touched as u32;
        *slot = Reaction {
            force_n,
            normal: force_n / force_n.norm(),
            contacts: contacts.max(1),
            ..Reaction::default()
        };
    }
}

/// Force of the last step, changed as the predictor changes from `then_n` to `now_n` \[N\].
fn extrapolated_force(last_n: Vec3, then_n: Vec3, now_n: Vec3) -> Vec3 {
    let before2 = then_n.norm_squared();
    if before2 == 0.0 {
        return last_n + now_n;
    }
    let scale = (last_n.dot(&then_n) / before2).clamp(0.0, SCALE_MAX);
    let across_n = last_n - then_n * scale;
    now_n * scale + across_n * (now_n.norm_squared() / before2).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmoved_tool_keeps_its_force_and_a_withdrawn_tool_has_none() {
        let last_n = Vec3::new(0.1, 0.0, 0.9);
        let then_n = Vec3::new(0.0, 0.02, 0.7);
        assert!((extrapolated_force(last_n, then_n, then_n) - last_n).amax() < 1e-15);
        assert_eq!(
            extrapolated_force(last_n, then_n, Vec3::zeros()),
            Vec3::zeros()
        );
        let doubled = extrapolated_force(last_n, then_n, 2.0 * then_n);
        assert!((doubled - 2.0 * last_n).amax() < 1e-15);
        // at first contact the force of the table is used
        assert_eq!(
            extrapolated_force(Vec3::zeros(), Vec3::zeros(), then_n),
            then_n
        );
        // no force where the last full step measured none
        assert_eq!(
            extrapolated_force(Vec3::zeros(), then_n, then_n * 2.0),
            Vec3::zeros()
        );
    }
}
