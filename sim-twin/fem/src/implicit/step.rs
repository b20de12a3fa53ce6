//! One tick: tools in contact, the end of the step, its energy balance and the reactions.
//!
//! A tool moves straight from its last position to its new one. The force on it is that at the end. Its work
//! is computed with the mean of the forces at both ends, as by a controller that samples the force.

use super::cells::{Heat, StepStart};
use super::newton::{Potential, Solver, place};
use super::state::{TOOLS, ToolState};
use super::{ImplicitTissue, STEP_MAX, STEP_MIN};
use crate::sphere_contact::{Sphere, SphereContact};
use palpate_twin::Vec3;
use palpate_twin::contact::is_usable;
use palpate_twin::twin::{Reaction, Tool};

/// Largest radius of a tool over the extent of the mesh.
const RADIUS_MAX: f64 = 10.0;

/// Motion of a tool in this tick, without units.
#[derive(Debug, Clone, Copy)]
struct ToolPath {
    end: Sphere,
    displacement: Vec3,
    continues: bool,
}

/// Energies of the contacts of a step.
#[derive(Debug, Clone, Copy, Default)]
struct Contacts {
    energy: f64,
    /// Work of the tools.
    work: f64,
    /// Numerical dissipation of the contacts.
    numerical: f64,
}

impl ImplicitTissue {
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        let dt = dt_s / self.model.time_s;
        // a range contains no NaN
        if !(STEP_MIN..=STEP_MAX).contains(&dt) {
            return;
        }
        let before = self.state.ledger;
        let paths = self.admit(tools);
        for material in &mut self.model.materials {
            material.series = material.viscosity.series(dt_s);
        }
        let (end, converged) = Solver {
            model: &self.model,
            state: &mut self.state,
            work: &mut self.work,
            spheres: paths.map(|path| path.map(|path| path.end)),
            dt,
        }
        .solve();
        self.update_energy_balance(&paths, &end, dt, converged, reactions);
        // a sum over all of the state: one number that is not finite makes it so
        if !self.state.ledger.sum_j().is_finite() {
            self.state.rebuild(&before);
            self.work.stale = true;
            reactions.fill(Reaction::of_collapse());
        }
        self.update_surface();
    }

    /// Returns the paths of the tools that can touch. A new, moved or changed tool is placed at its position,
    /// and its contact energy counts as its work. The energy of a withdrawn one is dissipated.
    fn admit(&mut self, tools: &[Tool]) -> [Option<ToolPath>; TOOLS] {
        let unit_j = self.model.energy_j();
        let mut paths = [None; TOOLS];
        place(&mut self.work.at, &self.model.rest, &self.state.u);
        for (index, path) in paths.iter_mut().enumerate() {
            let slot = &mut self.state.tools[index];
            let balance = &mut self.state.ledger;
            let is_valid =
                |tool: &&Tool| is_usable(tool) && tool.radius_m <= RADIUS_MAX * self.model.length_m;
            let Some(tool) = tools.get(index).filter(is_valid) else {
                balance.dissipated_j += slot.energy * unit_j;
                balance.contact_j -= slot.energy * unit_j;
                *slot = ToolState::default();
                continue;
            };
            let displacement_m = tool.position_m - slot.position_m;
            let unchanged = slot.present
                && slot.radius_m == tool.radius_m
                && slot.stiffness_npm == tool.stiffness_npm
                && displacement_m.norm() <= 2.0 * tool.radius_m;
            let end = self.model.sphere(tool);
            if !unchanged {
                let contact = self
                    .model
                    .surface
                    .sphere_contact(&self.work.at, &self.state.v, &end);
                balance.tool_work_j += (contact.energy - slot.energy) * unit_j;
                balance.contact_j += (contact.energy - slot.energy) * unit_j;
                slot.energy = contact.energy;
            }
            slot.present = true;
            slot.position_m = tool.position_m;
            (slot.radius_m, slot.stiffness_npm) = (tool.radius_m, tool.stiffness_npm);
            let displacement = if unchanged {
                displacement_m
            } else {
                Vec3::zeros()
            };
            *path = Some(ToolPath {
                end,
                displacement: displacement / self.model.length_m,
                continues: unchanged,
            });
        }
        paths
    }

    /// Accepts the end of the step, and updates every energy by its own formula.
    fn update_energy_balance(
        &mut self,
        paths: &[Option<ToolPath>; TOOLS],
        end: &Potential,
        dt: f64,
        converged: bool,
        reactions: &mut [Reaction],
    ) {
        let before = self.state.kinetic(&self.model.masses)
            + self.state.elastic
            + self.state.branch_energy
            + self.contact_energy();
        let heat = self.advance_memories(dt);
        let square = self.accept_step(dt);
        let kinetic = self.state.kinetic(&self.model.masses);
        let contacts = self.touch(paths, reactions);
        let dissipated = heat.physical
            + heat.numerical
            + 2.0 * self.model.damping * dt * kinetic
            + 0.5 * square
            + end.cells.work
            - (end.cells.elastic - self.state.elastic)
            + contacts.numerical;
        let stored = end.cells.elastic + heat.stored + contacts.energy;
        let residual = kinetic + stored - before - contacts.work + dissipated;
        let removed = if converged {
            0.0
        } else {
            self.slow_by_gain(residual)
        };
        (self.state.elastic, self.state.branch_energy) = (end.cells.elastic, heat.stored);
        let unit_j = self.model.energy_j();
        let balance = &mut self.state.ledger;
        balance.kinetic_j = (kinetic - removed) * unit_j;
        balance.elastic_j = (end.cells.elastic + heat.stored) * unit_j;
        balance.contact_j = contacts.energy * unit_j;
        balance.tool_work_j += contacts.work * unit_j;
        balance.dissipated_j += (dissipated + removed) * unit_j;
        balance.residual_j += residual * unit_j;
    }

    /// Advances the memories to the end of the step.
    fn advance_memories(&mut self, dt: f64) -> Heat {
        let begin = StepStart {
            dt,
            u: &self.state.u,
            materials: &self.model.materials,
            memories: &self.state.memories,
        };
        let mut sum = Heat::default();
        // in a copy, since a cell compares both
        self.work.memories.copy_from_slice(&self.state.memories);
        let (u, memories) = (&self.work.u, &mut self.work.memories);
        for cell in &self.model.hexes {
            sum.add(cell.advance_viscous(&begin, u, memories));
        }
        for cell in &self.model.tets {
            sum.add(cell.advance_viscous(&begin, u, memories));
        }
        std::mem::swap(&mut self.state.memories, &mut self.work.memories);
        sum
    }

    /// Moves the nodes to the end of the step, and stores their displacements over the step in its place.
    /// Returns the squared change of velocities times the masses.
    fn accept_step(&mut self, dt: f64) -> f64 {
        let mut square = 0.0;
        for (node, mass) in self.model.masses.iter().enumerate() {
            let displacement = self.work.u[node] - self.state.u[node];
            let v = displacement / dt;
            square += mass * (v - self.state.v[node]).norm_squared();
            self.state.v[node] = v;
            self.state.u[node] = self.work.u[node];
            self.work.u[node] = displacement;
        }
        square
    }

    /// Reduces velocities so that a step that did not converge generates no energy. Returns the energy
    /// removed.
    fn slow_by_gain(&mut self, gain: f64) -> f64 {
        let kinetic = self.state.kinetic(&self.model.masses);
        if gain <= 0.0 || kinetic <= 0.0 {
            return 0.0;
        }
        let factor = (1.0 - gain / kinetic).max(0.0).sqrt();
        for v in &mut self.state.v {
            *v *= factor;
        }
        kinetic - self.state.kinetic(&self.model.masses)
    }

    fn contact_energy(&self) -> f64 {
        self.state.tools.iter().map(|tool| tool.energy).sum()
    }

    /// Evaluates every contact at the end of the step; the displacements of the nodes over the step are those
    /// of [`Self::accept_step`].
    fn touch(&mut self, paths: &[Option<ToolPath>; TOOLS], reactions: &mut [Reaction]) -> Contacts {
        let mut sum = Contacts::default();
        place(&mut self.work.at, &self.model.rest, &self.state.u);
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else {
                continue;
            };
            let (at, displacement) = (&self.work.at, &self.work.u);
            let contact = self
                .model
                .surface
                .sphere_contact(at, displacement, &path.end);
            let slot = &mut self.state.tools[index];
            let last_force = if path.continues {
                slot.force
            } else {
                contact.force
            };
            let work = -0.5 * (last_force + contact.force).dot(&path.displacement);
            sum.energy += contact.energy;
            sum.work += work;
            // the surface received its part at the forces of the end
            sum.numerical += work - contact.work - (contact.energy - slot.energy);
            (slot.force, slot.energy) = (contact.force, contact.energy);
            if let Some(reaction) = reactions.get_mut(index) {
                *reaction = self.model.reaction(&contact);
            }
        }
        sum
    }
}

impl super::Model {
    pub(super) fn sphere(&self, tool: &Tool) -> Sphere {
        let radius = tool.radius_m / self.length_m;
        // the tool's boundary as an elastic foundation over its disc
        let foundation = tool.stiffness_npm
            / (self.stress_pa * self.length_m)
            / (std::f64::consts::PI * radius * radius);
        Sphere {
            centre: tool.position_m / self.length_m,
            radius,
            boundary_compliance: 1.0 / foundation,
        }
    }

    fn reaction(&self, contact: &SphereContact) -> Reaction {
        let size = contact.force.norm();
        if size == 0.0 || !size.is_finite() {
            return Reaction::default();
        }
        // a rigid contact of that area on a half-space, in series with the contact itself
        let radius = (contact.area / std::f64::consts::PI).sqrt();
        let (tissue, penalty) = (2.0 * radius * self.contact_modulus, contact.slope);
        Reaction {
            force_n: contact.force * self.force_n(),
            normal: contact.force / size,
            penetration_m: contact.depth * self.length_m,
            proxy_offset_m: contact.force * (contact.depth * self.length_m / size),
            stiffness_npm: tissue * penalty / (tissue + penalty) * self.stress_pa * self.length_m,
            contacts: contact.contacts,
            ..Reaction::default()
        }
    }
}
