//! Jaws of a tool: grasp of a node, and pinch of the tissue between them.
//!
//! Source: seed-004 3.6 (rows S4-24 to S4-26), W22; the pinch law is ours.

use crate::idms::Idms;
use crate::idms::params::GraspLaw;
use palpate_twin::Vec3;
use palpate_twin::contact::SurfaceContact;
use palpate_twin::twin::{Jaws, Reaction, Tool};

/// Time over which a grasp's damping rises \[s\], so that grasping causes no force step.
const RAMP_S: f64 = 0.01;

impl Idms {
    /// Updates the closure switch, then adds the forces of grasp and pinch to `reaction`.
    pub(super) fn apply_jaws(
        &mut self,
        index: usize,
        tool: &Tool,
        contact: &SurfaceContact,
        h: f64,
        reaction: &mut Reaction,
    ) {
        let closed = tool.jaws.is_some_and(|jaws| jaws.closed);
        let edge = closed && !self.state.tools[index].closed;
        self.state.tools[index].closed = closed || tool.jaws.is_none();
        if !closed {
            self.release(index);
        }
        if let Some(node) = contact.nearest.filter(|_| edge) {
            let offset_m = self.state.x_m[node as usize] - tool.position_m;
            let state = &mut self.state.tools[index];
            state.grasped = Some(node);
            state.grasp_offset_m = offset_m;
            state.grasp_age_s = 0.0;
        }
        if let Some(node) = self.state.tools[index].grasped {
            reaction.force_n += self.pull_grasped(index, node as usize, tool, h);
        }
        let engaged = contact.contacts > 0 || self.state.tools[index].grasped.is_some();
        reaction.grip_force_n = self.pinch(index, tool.jaws, engaged);
    }

    /// Deletes the grasp spring; its energy counts as dissipated.
    fn release(&mut self, index: usize) {
        let state = &mut self.state.tools[index];
        if state.grasped.take().is_some() {
            self.state.ledger.dissipated_j += state.energy_j[1];
            state.energy_j[1] = 0.0;
        }
    }

    /// Force on the tool from a grasped node; its opposite acts on the node \[N\].
    ///
    /// The damping uses the node's speed after the sub-step, which is stable at any step
    /// length.
    fn pull_grasped(&mut self, index: usize, node: usize, tool: &Tool, h: f64) -> Vec3 {
        let stiffness_npm = tool.stiffness_npm;
        let state = &mut self.state.tools[index];
        let d_m = self.state.x_m[node] - tool.position_m;
        // with the full damping [N s/m]
        let (stretch_m, full_nspm) = match self.model.params.grasp {
            GraspLaw::Fixed => {
                let critical_nspm = 2.0 * (stiffness_npm * self.model.mass_kg[node]).sqrt();
                (d_m - state.grasp_offset_m, critical_nspm)
            }
            GraspLaw::Shell => {
                let length_m = d_m.norm();
                let excess_m = length_m - state.grasp_offset_m.norm();
                if length_m > 0.0 {
                    (excess_m / length_m * d_m, 0.0)
                } else {
                    (Vec3::zeros(), 0.0)
                }
            }
        };
        let mut force_n = stiffness_npm * stretch_m;
        state.energy_j[1] = 0.5 * stiffness_npm * stretch_m.norm_squared();
        let damping_nspm = full_nspm * (state.grasp_age_s / RAMP_S).min(1.0);
        state.grasp_age_s += h;
        self.add_external_force(node, -force_n);
        let gain = h * self.model.inverse_mass[node];
        let total_n = self.state.f_n[node] + self.scratch.outer_n[node];
        let free_mps = self.state.v_mps[node] + gain * total_n - tool.velocity_mps;
        let closing_mps = free_mps / (1.0 + gain * damping_nspm);
        let damped_n = damping_nspm * closing_mps;
        self.state.ledger.dissipated_j += h * damping_nspm * closing_mps.norm_squared();
        self.add_external_force(node, -damped_n);
        force_n += damped_n;
        force_n
    }

    /// Force that opens the jaws \[N\].
    ///
    /// Squeezing starts at the opening at which the jaws touch the tissue, at most the
    /// width of the law, so that first contact causes no force step and no energy.
    fn pinch(&mut self, index: usize, jaws: Option<Jaws>, engaged: bool) -> f64 {
        let law = self.model.params.pinch;
        let state = &mut self.state.tools[index];
        let Some(jaws) = jaws.filter(|_| engaged) else {
            self.state.ledger.dissipated_j += state.energy_j[2];
            state.energy_j[2] = 0.0;
            state.pinch_width_m = 0.0;
            state.opening_m = jaws.map_or(0.0, |jaws| jaws.opening_m);
            return 0.0;
        };
        state.opening_m = jaws.opening_m;
        state.pinch_width_m = state
            .pinch_width_m
            .max(jaws.opening_m.clamp(0.0, law.width_m));
        let squeeze_m = (state.pinch_width_m - jaws.opening_m).clamp(0.0, law.width_m);
        state.energy_j[2] = 0.5 * law.stiffness_npm * squeeze_m * squeeze_m;
        law.stiffness_npm * squeeze_m
    }
}
