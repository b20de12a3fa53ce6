//! One tick: as many sub-steps as the finest cells need now, fewer for coarser levels.
//!
//! Source: reversible multiple time stepping by impulses (Tuckerman, Berne and Martyna 1992): a
//! cell of level `l` pushes for `2^l` sub-steps at once, every `2^l` sub-steps; nodes go in steps of
//! the finest cell around them. Half impulses begin and end a tick, so that the state after it is
//! one in time. Tools go evenly from where they were to where they are; the reaction is the mean
//! force over that way, so that its work is what the ledger books.

use super::Explicit;
use super::build::{LEVELS, Model};
use super::cells::{Found, pull};
use super::lane::LANES;
use super::nodes::Bounds;
use super::skin::{Met, Sphere};
use super::state::{TOOLS, ToolState};
use crate::Vec3;
use crate::contact::usable;
use crate::law::Real;
use crate::twin::{Reaction, Tool};

/// Longest tick that is taken at all \[s\].
const DT_MAX_S: f64 = 1e-2;
/// Fastest that a node may go, over the speed of pressure waves.
const FAST: f64 = 2.0;
/// Most sub-steps over what the tissue at rest needs.
const HASTE_MAX: f64 = 3.0;

/// How a tick is cut.
#[derive(Debug, Clone, Copy)]
struct Plan {
    substeps: u32,
    /// Highest level in use; cells of higher ones go with it.
    cap: usize,
    dt: f64,
}

/// Where a tool goes within a tick.
#[derive(Debug, Clone, Copy)]
struct Path {
    from: Vec3,
    way: Vec3,
    sphere: Sphere,
}

impl Path {
    fn at(&self, share: f64) -> Sphere {
        let centre = self.from + self.way * share;
        Sphere {
            centre: [0, 1, 2].map(|axis| f32::of(centre[axis])),
            ..self.sphere
        }
    }
}

impl Explicit {
    /// The body of [`crate::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        let before = self.state.ledger;
        let plan = self.plan(dt_s);
        let paths = self.admit(tools);
        self.list(&paths, plan.dt * f64::from(plan.substeps));
        if self.state.stale || self.state.cap != plan.cap {
            self.begin(&paths, plan.cap);
        }
        self.go(&paths, &plan);
        self.answer(&paths, reactions);
        self.see();
        let books = &mut self.state.ledger;
        let gained = books.stored_j() - before.stored_j();
        let explained =
            (books.tool_work_j - before.tool_work_j) - (books.dissipated_j - before.dissipated_j);
        books.residual_j = before.residual_j + gained - explained;
    }

    /// The cheapest cut of a tick that the cells bear as they are deformed now.
    fn plan(&self, dt_s: f64) -> Plan {
        let model = &self.model;
        let dt = dt_s / model.time_s;
        let bare = dt / model.step();
        let haste = f64::from(self.state.demand).max(1.0).sqrt().min(HASTE_MAX);
        let count = |need: f64, cap: usize| {
            let unit = f64::from(1_u32 << cap);
            (need / unit).ceil().max(1.0) * unit
        };
        let cost = |cap: usize| -> f64 {
            let blocks = |level: usize| (model.levels[level + 1] - model.levels[level]) as f64;
            let passes = |level: usize| count(bare, cap) / f64::from(1_u32 << level.min(cap));
            (0..LEVELS).map(|level| blocks(level) * passes(level)).sum()
        };
        // not from the deformed need: another cap costs a pass, and the state must not flip
        let cap = (1..LEVELS).fold(
            0,
            |best, cap| if cost(cap) < cost(best) { cap } else { best },
        );
        let substeps = count(bare * haste, cap);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        Plan {
            substeps: substeps as u32,
            cap,
            dt: dt / substeps,
        }
    }

    /// The tools that can touch, with the way they go. A tool that was not there, jumped or changed
    /// is set down where it is; one that went takes its energy along.
    fn admit(&mut self, tools: &[Tool]) -> [Option<Path>; TOOLS] {
        let mut paths = [None; TOOLS];
        for (index, path) in paths.iter_mut().enumerate() {
            let old = self.state.tools[index];
            let extent_m = self.model.extent * self.model.length_m;
            let fits = |tool: &&Tool| usable(tool) && tool.radius_m <= 10.0 * extent_m;
            let Some(tool) = tools.get(index).filter(fits) else {
                if old.seen {
                    self.state.ledger.dissipated_j += old.energy_j;
                    self.state.ledger.contact_j -= old.energy_j;
                    self.state.tools[index] = ToolState::NEW;
                    self.state.stale = true;
                }
                continue;
            };
            let way_m = tool.position_m - old.position_m;
            let same = old.seen
                && old.radius_m == tool.radius_m
                && old.stiffness_npm == tool.stiffness_npm
                && way_m.norm() <= 2.0 * tool.radius_m;
            let from_m = if same {
                old.position_m
            } else {
                tool.position_m
            };
            self.state.stale |= !same;
            let slot = &mut self.state.tools[index];
            (slot.seen, slot.position_m) = (true, tool.position_m);
            (slot.radius_m, slot.stiffness_npm) = (tool.radius_m, tool.stiffness_npm);
            *path = Some(self.model.path(from_m, tool));
        }
        paths
    }

    fn list(&mut self, paths: &[Option<Path>; TOOLS], dt: f64) {
        let sound = 0.5 * self.model.wave * dt;
        for (path, list) in paths.iter().zip(&mut self.near) {
            list.clear();
            if let Some(path) = path {
                let way = f32::of(path.way.norm() + sound);
                self.model
                    .skin
                    .near(&path.at(0.0), way, &self.state.nodes.u, list);
            }
        }
    }

    /// Takes all forces anew; what energy tools then have more or less, they brought.
    fn begin(&mut self, paths: &[Option<Path>; TOOLS], cap: usize) {
        self.state.nodes.impulse.fill([0.0; 4]);
        let (levels, cap_level) = (LEVELS - 1, cap);
        self.pull_levels::<false>(levels, cap_level, 0.5);
        let mut met = [Met::default(); TOOLS];
        self.press(paths, 0.0, 0.5, &mut met);
        let unit_j = self.model.energy_j();
        let books = &mut self.state.ledger;
        for (tool, met) in self.state.tools.iter_mut().zip(met) {
            let energy_j = met.energy * unit_j;
            books.tool_work_j += energy_j - tool.energy_j;
            books.contact_j += energy_j - tool.energy_j;
            (tool.energy_j, tool.force) = (energy_j, met.force);
        }
        (self.state.stale, self.state.cap) = (false, cap);
    }

    fn pull_levels<const BOOKS: bool>(&mut self, top: usize, cap: usize, weight: f32) -> Found {
        let mut all = Found::default();
        for level in 0..LEVELS {
            let own = level.min(cap);
            if own > top {
                continue;
            }
            let weight = weight * f32::of(f64::from(1_u32 << own));
            let range = self.model.levels[level]..self.model.levels[level + 1];
            let nodes = &mut self.state.nodes;
            let blocks = &self.model.blocks[range];
            self.passes += (blocks.len() * LANES) as u64;
            let found = pull::<BOOKS>(blocks, weight, &nodes.u, &mut nodes.impulse);
            all.energy += found.energy;
            all.demand = all.demand.max(found.demand);
        }
        all
    }

    fn press(
        &mut self,
        paths: &[Option<Path>; TOOLS],
        share: f64,
        weight: f32,
        met: &mut [Met; TOOLS],
    ) {
        let nodes = &mut self.state.nodes;
        for (index, path) in paths.iter().enumerate() {
            if let Some(path) = path {
                let sphere = path.at(share);
                let with = (&self.near[index][..], &sphere);
                let skin = &self.model.skin;
                met[index] = skin.press(with, weight, &nodes.u, &mut nodes.impulse);
            }
        }
    }

    fn go(&mut self, paths: &[Option<Path>; TOOLS], plan: &Plan) {
        let (substeps, cap) = (plan.substeps, plan.cap);
        let model = std::sync::Arc::clone(&self.model);
        let dt = f32::of(plan.dt);
        let bounds = Bounds {
            speed: f32::of(FAST * model.wave),
            way: f32::of(model.extent),
        };
        let mut taken = 0.0;
        let mut sums = self.state.tools.map(|tool| tool.force.map(|f| 0.5 * f));
        let mut found = Found::default();
        let mut met = [Met::default(); TOOLS];
        for substep in 0..substeps {
            let due = level_of(substep, cap);
            let end = model.node_end(due, cap);
            self.state.nodes.kick(&model.inverse_mass[..end], dt, false);
            for level in 0..=due {
                let range = model.node_start(level)..model.node_end(level, cap);
                let long = plan.dt * f64::from(1_u32 << level);
                let slow = 1.0 / (1.0 + model.params.damping_hz * model.time_s * long);
                let step = (f32::of(long), f32::of(slow));
                taken += self.state.nodes.drift(range, &model.mass, step, bounds);
            }
            let now = substep + 1;
            let last = now == substeps;
            let weight = if last { 0.5 } else { 1.0 };
            let due = if last { cap } else { level_of(now, cap) };
            if last {
                found = self.pull_levels::<true>(due, cap, weight);
            } else {
                self.pull_levels::<false>(due, cap, weight);
            }
            let share = f64::from(now) / f64::from(substeps);
            self.press(paths, share, weight, &mut met);
            for (sum, met) in sums.iter_mut().zip(&met) {
                for (sum, force) in sum.iter_mut().zip(met.force) {
                    *sum += f64::from(weight) * force;
                }
            }
        }
        self.state.nodes.kick(&model.inverse_mass, dt, true);
        self.state.demand = found.demand;
        self.met = met;
        self.mean = sums.map(|sum| Vec3::from(sum) / f64::from(substeps));
        self.book(paths, taken, found.energy);
    }

    fn book(&mut self, paths: &[Option<Path>; TOOLS], taken: f64, elastic: f64) {
        let (model, unit_j) = (&self.model, self.model.energy_j());
        let books = &mut self.state.ledger;
        books.kinetic_j = self.state.nodes.kinetic(&model.mass) * unit_j;
        books.elastic_j = elastic * unit_j;
        books.dissipated_j += taken * unit_j;
        books.contact_j = 0.0;
        for (index, tool) in self.state.tools.iter_mut().enumerate() {
            if let Some(path) = &paths[index] {
                books.tool_work_j -= self.mean[index].dot(&path.way) * unit_j;
            }
            tool.force = self.met[index].force;
            tool.energy_j = self.met[index].energy * unit_j;
            books.contact_j += tool.energy_j;
        }
    }

    fn answer(&self, paths: &[Option<Path>; TOOLS], reactions: &mut [Reaction]) {
        let (model, length_m) = (&self.model, self.model.length_m);
        for (index, slot) in reactions.iter_mut().enumerate().take(TOOLS) {
            let (force, met) = (self.mean[index], &self.met[index]);
            let size = force.norm();
            if paths[index].is_none() || size == 0.0 || !size.is_finite() {
                continue;
            }
            // a rigid touch of that area on a half-space, in series with the contact itself
            let radius = (f64::from(met.area) / std::f64::consts::PI).sqrt();
            let (tissue, contact) = (2.0 * radius * model.contact_modulus, f64::from(met.slope));
            let stiffness = if met.contacts > 0 {
                tissue * contact / (tissue + contact)
            } else {
                0.0
            };
            *slot = Reaction {
                force_n: force * model.force_n(),
                normal: force / size,
                penetration_m: f64::from(met.depth) * length_m,
                stiffness_npm: stiffness * model.stress_pa * length_m,
                contacts: met.contacts,
                ..Reaction::default()
            };
        }
    }
}

/// The highest level that is due before sub-step `substep`.
fn level_of(substep: u32, cap: usize) -> usize {
    (substep.trailing_zeros() as usize).min(cap)
}

impl Model {
    /// Step of the finest level at rest.
    pub(super) fn step(&self) -> f64 {
        self.params.safety * 2.0 / self.frequency2.sqrt()
    }

    fn node_start(&self, level: usize) -> usize {
        self.nodes[level]
    }

    /// One past the last node of a level; the cap has the levels above it too.
    fn node_end(&self, level: usize, cap: usize) -> usize {
        if level == cap {
            self.nodes[LEVELS]
        } else {
            self.nodes[level + 1]
        }
    }

    fn path(&self, from_m: Vec3, tool: &Tool) -> Path {
        let radius = tool.radius_m / self.length_m;
        // the tool's boundary as a bed of springs over its disc
        let bed = tool.stiffness_npm
            / (self.stress_pa * self.length_m)
            / (std::f64::consts::PI * radius * radius);
        Path {
            from: (from_m - self.origin_m) / self.length_m,
            way: (tool.position_m - from_m) / self.length_m,
            sphere: Sphere {
                centre: [0.0; 3],
                radius: f32::of(radius),
                give: f32::of(1.0 / bed),
            },
        }
    }
}
