//! What one tool does to the nodes in one sub-step, and what they answer.
//!
//! Source: seed-004 3.5 (rows S4-16 to S4-18), W21; the local stiffness is ours.

use crate::idms::Idms;
use crate::idms::params::Contact;
use palpate_twin::Vec3;
use palpate_twin::contact::{Span, Sphere, Touch, face, node};
use palpate_twin::twin::{Reaction, Tool};

impl Idms {
    /// Contact, grasp and pinch of tool `index`; forces go to the nodes.
    pub(super) fn touch(&mut self, index: usize, tool: &Tool, h: f64) -> Reaction {
        let sphere = Sphere {
            center_m: tool.position_m,
            radius_m: tool.radius_m,
            stiffness_npm: tool.stiffness_npm,
            span: match self.model.params.contact {
                Contact::Node => Span::of(tool),
                Contact::Face { .. } => Span::default(),
            },
        };
        self.scratch.loads.clear();
        let touch = match self.model.params.contact {
            Contact::Node => self.touch_nodes(index, &sphere),
            Contact::Face { .. } => self.touch_faces(index, &sphere),
        };
        let (damping_nspm, damped_n) = self.damp(tool, &touch, h);
        for load in 0..self.scratch.loads.len() {
            let (node, force_n) = self.scratch.loads[load];
            let force_n = (1.0 + damped_n) * force_n;
            self.push(node as usize, force_n);
        }
        let state = &mut self.state.tools[index];
        state.normal = touch.normal;
        state.energy_j[0] = touch.energy_j;
        let mut reaction = Reaction {
            force_n: (1.0 + damped_n) * touch.force_n,
            penetration_m: touch.penetration_m,
            contacts: touch.contacts,
            damping_nspm,
            ..Reaction::default()
        };
        if touch.contacts > 0 {
            reaction.normal = touch.normal;
            reaction.to_proxy_m = touch.normal * touch.penetration_m;
            reaction.stiffness_npm = self.slope(&sphere, &touch);
        }
        self.hold(index, tool, &touch, h, &mut reaction);
        reaction
    }

    /// Put an outer force on a node, which wakes it.
    pub(super) fn push(&mut self, node: usize, force_n: Vec3) {
        if self.model.inverse_mass[node] > 0.0 {
            self.scratch.outer_n[node] += force_n;
            self.wake(node);
        }
    }

    fn touch_nodes(&mut self, index: usize, sphere: &Sphere) -> Touch {
        let (state, scratch, skin) = (&self.state, &mut self.scratch, &self.model.skin);
        let near = &mut scratch.near[index];
        if !near.covers(&sphere.center_m, state.travel_m, sphere.reach_m()) {
            node::gather(near, skin, &state.x_m, sphere, state.travel_m);
        }
        let loads = &mut scratch.loads;
        let normal = state.tools[index].normal;
        node::press(near.items(), &state.x_m, sphere, normal, |node, force_n| {
            loads.push((node, force_n));
        })
    }

    fn touch_faces(&mut self, index: usize, sphere: &Sphere) -> Touch {
        let (state, scratch) = (&mut self.state, &mut self.scratch);
        let surface = face::Surface {
            skin: &self.model.skin,
            positions_m: &state.x_m,
            alive: &state.face_alive,
        };
        let memory = &mut state.tools[index];
        let near = &mut scratch.near[index];
        let reach_m = face::reach_m(sphere, &memory.came_from_m, memory.deep);
        if memory.side == 0 && reach_m > sphere.radius_m {
            memory.side = face::crossed(&surface, &memory.came_from_m, &sphere.center_m);
        }
        memory.came_from_m = sphere.center_m;
        if !near.covers(&sphere.center_m, state.travel_m, reach_m) {
            let travel_m = state.travel_m;
            scratch
                .work
                .gather(near, &surface, sphere, travel_m, reach_m);
        }
        let loads = &mut scratch.loads;
        let before = face::Memory {
            side: &mut memory.side,
            normal: memory.normal,
        };
        let push = |node, force_n| loads.push((node, force_n));
        let touch = scratch
            .work
            .press(near.items(), &surface, sphere, before, push);
        memory.deep = touch.penetration_m > 0.5 * sphere.radius_m;
        touch
    }

    /// Contact damping: its coefficient, and its force over the elastic one (W21).
    ///
    /// Critical against the mass that the loads share; never more than the elastic force, so
    /// that it neither sticks nor jumps at first touch.
    fn damp(&mut self, tool: &Tool, touch: &Touch, h: f64) -> (f64, f64) {
        let ratio = self.model.params.contact_damping_ratio;
        let force_n = touch.force_n.norm();
        if ratio == 0.0 || force_n == 0.0 {
            return (0.0, 0.0);
        }
        let (mut mobility, mut speed_mps) = (0.0, 0.0);
        for &(node, load_n) in &self.scratch.loads {
            let node = node as usize;
            let share = -load_n.dot(&touch.normal) / force_n;
            mobility += share * share * self.model.inverse_mass[node];
            speed_mps += share * self.state.v_mps[node].dot(&touch.normal);
        }
        if mobility <= 0.0 {
            return (0.0, 0.0);
        }
        let damping_nspm = 2.0 * ratio * (tool.stiffness_npm / mobility).sqrt();
        let closing_mps = speed_mps - tool.velocity_mps.dot(&touch.normal);
        let damped_n = (damping_nspm * closing_mps).clamp(-force_n, force_n);
        self.state.ledger.dissipated_j += h * damped_n * closing_mps;
        (damping_nspm, damped_n / force_n)
    }

    /// Slope of the normal force against depth: tool and tissue in series \[N/m\].
    fn slope(&self, sphere: &Sphere, touch: &Touch) -> f64 {
        let series =
            |compliance: f64, scale: f64| 1.0 / (1.0 / sphere.stiffness_npm + compliance / scale);
        match self.model.params.contact {
            Contact::Node => {
                let loads = self.scratch.loads.iter().map(|&(node, _)| node as usize);
                loads
                    .map(|i| series(self.model.compliance.node(i), self.state.scale[i]))
                    .sum()
            }
            Contact::Face { .. } => {
                let Some((index, weights)) = face::place(&self.scratch.work) else {
                    return 0.0;
                };
                let nodes = self.model.faces[index as usize];
                let scale: f64 = (0..3)
                    .map(|i| weights[i] * self.state.scale[nodes[i] as usize])
                    .sum();
                let compliance = self
                    .model
                    .compliance
                    .face(&self.model, index as usize, &weights);
                if touch.contacts > 0 {
                    series(compliance, scale)
                } else {
                    0.0
                }
            }
        }
    }
}
