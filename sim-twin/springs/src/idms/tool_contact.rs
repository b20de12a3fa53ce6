//! Contact of one tool with the nodes in one sub-step: forces on the nodes, and the reaction.
//!
//! Source: seed-004 3.5 (rows S4-16 to S4-18), W21; the local stiffness is ours.

use crate::idms::Idms;
use crate::idms::params::LatticeContact;
use palpate_twin::Vec3;
use palpate_twin::contact::{SurfaceContact, face, node};
use palpate_twin::twin::{Reaction, Tool};

impl Idms {
    /// Applies contact, grasp and pinch of tool `index` to the nodes; returns the reaction.
    pub(super) fn apply_tool(&mut self, index: usize, tool: &Tool, h: f64) -> Reaction {
        self.scratch.loads.clear();
        let contact = match self.model.params.contact {
            LatticeContact::Node => self.touch_nodes(index, tool),
            LatticeContact::Face { .. } => self.touch_faces(index, tool),
        };
        let (damping_nspm, damped_n) = self.damp(tool, &contact, h);
        for load in 0..self.scratch.loads.len() {
            let (node, force_n) = self.scratch.loads[load];
            let force_n = (1.0 + damped_n) * force_n;
            self.add_external_force(node as usize, force_n);
        }
        let state = &mut self.state.tools[index];
        state.normal = contact.normal;
        state.energy_j[0] = contact.energy_j;
        let mut reaction = Reaction {
            force_n: (1.0 + damped_n) * contact.force_n,
            penetration_m: contact.penetration_m,
            contacts: contact.contacts,
            damping_nspm,
            ..Reaction::default()
        };
        if contact.contacts > 0 {
            reaction.normal = contact.normal;
            reaction.proxy_offset_m = contact.normal * contact.penetration_m;
            reaction.stiffness_npm = self.contact_stiffness_npm(tool);
        }
        self.apply_jaws(index, tool, &contact, h, &mut reaction);
        reaction
    }

    /// Adds an external force to a node, and activates it.
    pub(super) fn add_external_force(&mut self, node: usize, force_n: Vec3) {
        if self.model.inverse_mass[node] > 0.0 {
            self.scratch.outer_n[node] += force_n;
            self.wake(node);
        }
    }

    fn touch_nodes(&mut self, index: usize, tool: &Tool) -> SurfaceContact {
        let (state, scratch, skin) = (&self.state, &mut self.scratch, &self.model.skin);
        let near = &mut scratch.near[index];
        node::update_list(near, skin, &state.x_m, tool, state.travel_m);
        let loads = &mut scratch.loads;
        let normal = state.tools[index].normal;
        node::press(near.items(), &state.x_m, tool, normal, |node, force_n| {
            loads.push((node, force_n));
        })
    }

    fn touch_faces(&mut self, index: usize, tool: &Tool) -> SurfaceContact {
        let (state, scratch) = (&mut self.state, &mut self.scratch);
        let surface = face::DeformedSurface {
            rest: &self.model.skin,
            positions_m: &state.x_m,
        };
        let tool_state = &mut state.tools[index];
        let near = &mut scratch.near[index];
        let reach_m = face::search_radius_m(tool, &tool_state.previous_m, tool_state.maybe_crossed);
        if tool_state.side == 0 && reach_m > tool.radius_m {
            tool_state.side =
                face::crossing_side(&surface, &tool_state.previous_m, &tool.position_m);
        }
        tool_state.previous_m = tool.position_m;
        let workspace = &mut scratch.face_workspace;
        workspace.update_list(near, &surface, tool, state.travel_m, reach_m);
        let loads = &mut scratch.loads;
        let history = face::ContactHistory {
            side: &mut tool_state.side,
            normal: tool_state.normal,
        };
        let push = |node, force_n| loads.push((node, force_n));
        let contact = scratch
            .face_workspace
            .press(near.items(), &surface, tool, history, push);
        let deep = contact.penetration_m > 0.5 * tool.radius_m;
        tool_state.maybe_crossed = contact.behind || deep;
        contact
    }

    /// Contact damping: its coefficient, and its force over the elastic one (W21).
    ///
    /// Critical for the mass that the loads share; never more than the elastic force, so
    /// that it neither pulls nor jumps at first contact.
    fn damp(&mut self, tool: &Tool, contact: &SurfaceContact, h: f64) -> (f64, f64) {
        let ratio = self.model.params.contact_damping_ratio;
        let force_n = contact.force_n.norm();
        if ratio == 0.0 || force_n == 0.0 {
            return (0.0, 0.0);
        }
        let (mut mobility, mut speed_mps) = (0.0, 0.0);
        for &(node, load_n) in &self.scratch.loads {
            let node = node as usize;
            let share = -load_n.dot(&contact.normal) / force_n;
            mobility += share * share * self.model.inverse_mass[node];
            speed_mps += share * self.state.v_mps[node].dot(&contact.normal);
        }
        if mobility <= 0.0 {
            return (0.0, 0.0);
        }
        let damping_nspm = 2.0 * ratio * (tool.stiffness_npm / mobility).sqrt();
        let closing_mps = speed_mps - tool.velocity_mps.dot(&contact.normal);
        let damped_n = (damping_nspm * closing_mps).clamp(-force_n, force_n);
        self.state.ledger.dissipated_j += h * damped_n * closing_mps;
        (damping_nspm, damped_n / force_n)
    }

    /// Slope of the normal force against depth: tool and tissue in series \[N/m\].
    fn contact_stiffness_npm(&self, tool: &Tool) -> f64 {
        let series = |compliance: f64| 1.0 / (1.0 / tool.stiffness_npm + compliance);
        let compliance = &self.model.compliance;
        match self.model.params.contact {
            LatticeContact::Node => {
                let loads = self.scratch.loads.iter();
                loads
                    .map(|&(node, _)| series(compliance.own[node as usize]))
                    .sum()
            }
            LatticeContact::Face { .. } => {
                face::deepest_face(&self.scratch.face_workspace).map_or(0.0, |(face, weights)| {
                    // the weights sum to 1 except for rounding
                    let whole: f64 = weights.iter().sum();
                    series(compliance.face(&self.model, face as usize, &weights) / whole)
                })
            }
        }
    }
}
