//! One tick: which tools touch, the end of the step, its books and what the tools feel.
//!
//! A tool goes straight from its last place to its new one. The force on it is that at the end; its
//! work goes along the way with the mean of the forces at both ends, as a hand that samples it would
//! reckon.

use super::cells::{Begin, Heat};
use super::newton::{Potential, Solver, place};
use super::state::{TOOLS, ToolState};
use super::{Implicit, STEP_MAX, STEP_MIN};
use crate::probe::{Met, Sphere};
use palpate_twin::Vec3;
use palpate_twin::contact::usable;
use palpate_twin::twin::{Reaction, Tool};

/// Largest radius of a tool over the extent of the mesh.
const RADIUS_MAX: f64 = 10.0;

/// A tool's way in this tick, without units.
#[derive(Debug, Clone, Copy)]
struct Path {
    end: Sphere,
    way: Vec3,
    same: bool,
}

/// What the contacts of a step come to.
#[derive(Debug, Clone, Copy, Default)]
struct Contacts {
    energy: f64,
    /// Work of the tools.
    work: f64,
    /// What the scheme took.
    numerical: f64,
}

impl Implicit {
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        let dt = dt_s / self.model.time_s;
        // a range has no place for what is not a number
        if !(STEP_MIN..=STEP_MAX).contains(&dt) {
            return;
        }
        self.effort.steps += 1;
        let paths = self.admit(tools);
        for material in &mut self.model.materials {
            material.step = material.prony.step(dt_s);
        }
        let (end, settled) = Solver {
            model: &self.model,
            state: &mut self.state,
            work: &mut self.work,
            effort: &mut self.effort,
            spheres: paths.map(|path| path.map(|path| path.end)),
            dt,
        }
        .solve();
        self.book(&paths, &end, dt, settled, reactions);
        self.see();
    }

    /// The tools that can touch. A tool that was not there, jumped or changed is set down where it
    /// is, and brings the energy that it then has; one that went takes its energy along.
    fn admit(&mut self, tools: &[Tool]) -> [Option<Path>; TOOLS] {
        let unit_j = self.model.energy_j();
        let mut paths = [None; TOOLS];
        place(&mut self.work.at, &self.model.rest, &self.state.u);
        for (index, path) in paths.iter_mut().enumerate() {
            let slot = &mut self.state.tools[index];
            let books = &mut self.state.ledger;
            let fits =
                |tool: &&Tool| usable(tool) && tool.radius_m <= RADIUS_MAX * self.model.length_m;
            let Some(tool) = tools.get(index).filter(fits) else {
                books.dissipated_j += slot.energy * unit_j;
                books.contact_j -= slot.energy * unit_j;
                *slot = ToolState::NEW;
                continue;
            };
            let way_m = tool.position_m - slot.position_m;
            let same = slot.seen
                && slot.radius_m == tool.radius_m
                && slot.stiffness_npm == tool.stiffness_npm
                && way_m.norm() <= 2.0 * tool.radius_m;
            let end = self.model.sphere(tool);
            if !same {
                let met = self.model.surface.meet(&self.work.at, &self.state.v, &end);
                books.tool_work_j += (met.energy - slot.energy) * unit_j;
                books.contact_j += (met.energy - slot.energy) * unit_j;
                slot.energy = met.energy;
            }
            slot.seen = true;
            slot.position_m = tool.position_m;
            (slot.radius_m, slot.stiffness_npm) = (tool.radius_m, tool.stiffness_npm);
            let way = if same { way_m } else { Vec3::zeros() };
            *path = Some(Path {
                end,
                way: way / self.model.length_m,
                same,
            });
        }
        paths
    }

    /// Takes the end of the step for the state, and accounts for every energy by its own formula.
    fn book(
        &mut self,
        paths: &[Option<Path>; TOOLS],
        end: &Potential,
        dt: f64,
        settled: bool,
        reactions: &mut [Reaction],
    ) {
        let before = self.state.kinetic(&self.model.masses)
            + self.state.elastic
            + self.state.held
            + self.contact_energy();
        let heat = self.remember(dt);
        let square = self.move_on(dt);
        let kinetic = self.state.kinetic(&self.model.masses);
        let contacts = self.touch(paths, reactions);
        let taken = heat.physical
            + heat.numerical
            + 2.0 * self.model.damping * dt * kinetic
            + 0.5 * square
            + end.cells.work
            - (end.cells.elastic - self.state.elastic)
            + contacts.numerical;
        let stored = end.cells.elastic + heat.held + contacts.energy;
        let residual = kinetic + stored - before - contacts.work + taken;
        let stopped = if settled { 0.0 } else { self.stop(residual) };
        (self.state.elastic, self.state.held) = (end.cells.elastic, heat.held);
        let unit_j = self.model.energy_j();
        let books = &mut self.state.ledger;
        books.kinetic_j = (kinetic - stopped) * unit_j;
        books.elastic_j = (end.cells.elastic + heat.held) * unit_j;
        books.contact_j = contacts.energy * unit_j;
        books.tool_work_j += contacts.work * unit_j;
        books.dissipated_j += (taken + stopped) * unit_j;
        books.residual_j += residual * unit_j;
    }

    /// Lets the memories go on to the end of the step.
    fn remember(&mut self, dt: f64) -> Heat {
        let begin = Begin {
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
            sum.add(cell.book(&begin, u, memories));
        }
        for cell in &self.model.tets {
            sum.add(cell.book(&begin, u, memories));
        }
        std::mem::swap(&mut self.state.memories, &mut self.work.memories);
        sum
    }

    /// Moves the nodes to the end of the step, and leaves their ways where that stood; gives the
    /// squared change of velocities times the masses.
    fn move_on(&mut self, dt: f64) -> f64 {
        let mut square = 0.0;
        for (node, mass) in self.model.masses.iter().enumerate() {
            let way = self.work.u[node] - self.state.u[node];
            let v = way / dt;
            square += mass * (v - self.state.v[node]).norm_squared();
            self.state.v[node] = v;
            self.state.u[node] = self.work.u[node];
            self.work.u[node] = way;
        }
        square
    }

    /// A step that found no end must not give energy: motion pays for what it gave. Gives what was
    /// paid.
    fn stop(&mut self, given: f64) -> f64 {
        let kinetic = self.state.kinetic(&self.model.masses);
        if given <= 0.0 || kinetic <= 0.0 {
            return 0.0;
        }
        let left = (1.0 - given / kinetic).max(0.0).sqrt();
        for v in &mut self.state.v {
            *v *= left;
        }
        kinetic - self.state.kinetic(&self.model.masses)
    }

    fn contact_energy(&self) -> f64 {
        self.state.tools.iter().map(|tool| tool.energy).sum()
    }

    /// Looks at every contact at the end of the step; the ways of the nodes are where
    /// [`Self::move_on`] left them.
    fn touch(&mut self, paths: &[Option<Path>; TOOLS], reactions: &mut [Reaction]) -> Contacts {
        let mut sum = Contacts::default();
        place(&mut self.work.at, &self.model.rest, &self.state.u);
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else {
                continue;
            };
            let (at, way) = (&self.work.at, &self.work.u);
            let met = self.model.surface.meet(at, way, &path.end);
            let slot = &mut self.state.tools[index];
            let last = if path.same { slot.force } else { met.force };
            let work = -0.5 * (last + met.force).dot(&path.way);
            sum.energy += met.energy;
            sum.work += work;
            // the surface got its share at the forces of the end
            sum.numerical += work - met.work - (met.energy - slot.energy);
            (slot.force, slot.energy) = (met.force, met.energy);
            if let Some(reaction) = reactions.get_mut(index) {
                *reaction = self.model.reaction(&met);
            }
        }
        sum
    }
}

impl super::Model {
    pub(super) fn sphere(&self, tool: &Tool) -> Sphere {
        let radius = tool.radius_m / self.length_m;
        // the tool's boundary as a bed of springs over its disc
        let bed = tool.stiffness_npm
            / (self.stress_pa * self.length_m)
            / (std::f64::consts::PI * radius * radius);
        Sphere {
            centre: tool.position_m / self.length_m,
            radius,
            give: 1.0 / bed,
        }
    }

    fn reaction(&self, met: &Met) -> Reaction {
        let size = met.force.norm();
        if size == 0.0 || !size.is_finite() {
            return Reaction::default();
        }
        // a rigid touch of that area on a half-space, in series with the contact itself
        let radius = (met.area / std::f64::consts::PI).sqrt();
        let (tissue, contact) = (2.0 * radius * self.contact_modulus, met.slope);
        Reaction {
            force_n: met.force * self.force_n(),
            normal: met.force / size,
            penetration_m: met.depth * self.length_m,
            to_proxy_m: met.force * (met.depth * self.length_m / size),
            stiffness_npm: tissue * contact / (tissue + contact) * self.stress_pa * self.length_m,
            contacts: met.contacts,
            ..Reaction::default()
        }
    }
}
