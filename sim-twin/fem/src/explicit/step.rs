//! One tick: as many sub-steps as the finest cells need now, fewer for coarser ones.
//!
//! Source: reversible multiple time stepping by impulses (Tuckerman, Berne and Martyna 1992): cells
//! of class `c` push for `2^c` sub-steps at once, every `2^c` sub-steps; nodes go in steps of the
//! fastest cells around them. Half impulses begin and end a tick, so that the state after it is
//! one in time. Tools go evenly from where they were to where they are; the reaction is the mean
//! force over that way, so that its work is what the ledger books.

use super::Explicit;
use super::build::Model;
use super::cells::Found;
use super::estimate::Touch;
use super::friction;
use super::grid::Grid;
use super::jaws;
use super::motion::Pace;
use super::path::Path;
use super::shares::Due;
use super::skin::{Beat, Met};
use super::squeeze::FALLEN;
use super::state::{BODIES, TOOLS, ToolState};
use palpate_twin::Vec3;
use palpate_twin::contact::usable;
use palpate_twin::law::Real;
use palpate_twin::twin::{Ledger, Reaction, Tool};
use std::sync::Arc;

/// Longest tick that is taken at all \[s\].
const DT_MAX_S: f64 = 1e-2;
/// Fastest that a node may go, over the speed of pressure waves.
const FAST: f64 = 2.0;

/// Energy below which an untouched tissue lies still, over that of one cell strained by one: a
/// thousandth of a millionth of a press.
const STILL: f64 = 1e-6;

/// How a tick is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) substeps: u32,
    pub(super) dt: f64,
}

/// Impulses on the tools, summed over a tick.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    push: Vec3,
    twist: Vec3,
}

impl Explicit {
    /// The body of [`palpate_twin::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        let before = self.state.ledger;
        let plan = self.plan(dt_s);
        let bodies = jaws::bodies(tools, self.model.params.jaw_friction.is_some());
        let paths = self.admit(&bodies);
        self.list(&paths, plan.dt * f64::from(plan.substeps));
        if self.rest() {
            return;
        }
        self.state.still = false;
        if self.state.stale {
            self.begin(&paths);
        }
        self.go(&paths, &plan);
        // written so that what is not a number counts too
        let sound = self.state.demand < FALLEN && self.state.ledger.stored_j().is_finite();
        if sound {
            self.answer(&paths, tools, reactions);
        } else {
            self.collapse(&before);
        }
        self.see();
        let books = &mut self.state.ledger;
        let gained = books.stored_j() - before.stored_j();
        let explained = (books.tool_work_j - before.tool_work_j)
            + (books.edit_j - before.edit_j)
            + (books.mass_j - before.mass_j)
            - (books.dissipated_j - before.dissipated_j);
        books.residual_j = before.residual_j + gained - explained;
    }

    /// Whether nothing touches and next to nothing moves: the tissue then lies still at no cost. What
    /// little energy it had counts as dissipated.
    fn rest(&mut self) -> bool {
        let books = &mut self.state.ledger;
        let stored_j = books.kinetic_j + books.elastic_j;
        let touched = self.near.iter().any(|list| !list.is_empty());
        if touched || stored_j.is_nan() || stored_j > STILL * self.model.energy_j() {
            return false;
        }
        if !self.state.still {
            books.dissipated_j += books.stored_j();
            (books.kinetic_j, books.elastic_j, books.contact_j) = (0.0, 0.0, 0.0);
            self.state.lie_still();
            self.see();
        }
        true
    }

    /// Cells have fallen in: the tissue goes back towards its rest, and tools feel nothing until it
    /// is sound again. What energy that takes counts as dissipated.
    fn collapse(&mut self, before: &Ledger) {
        self.state.let_back();
        for tool in &mut self.state.tools {
            *tool = ToolState::NEW;
        }
        let found = self.energies();
        let stored_j = before.stored_j();
        // what cannot be known yet stays in the books until the next tick
        let left_j = (found.energy * self.model.energy_j()).min(stored_j);
        self.state.ledger = Ledger {
            kinetic_j: 0.0,
            elastic_j: left_j,
            contact_j: 0.0,
            dissipated_j: before.dissipated_j + (stored_j - left_j),
            ..*before
        };
        self.state.demand = found.demand;
        self.weigh();
    }

    /// Gives squeezed cells the mass that they need; books the kinetic energy that goes with it.
    /// Gives what stiff cells had of it before, without unit.
    pub(super) fn weigh(&mut self) -> f64 {
        let before = self.coupled_energy();
        let (grids, seams) = (&self.model.grids, &self.model.seams);
        let greatest = self.state.demand * self.state.stiffest;
        let same = !self.loads.changes(greatest);
        let motions = &mut self.state.motions;
        let (light, heavy) = self.loads.apply(greatest, grids, seams, motions);
        let after = if same { before } else { self.coupled_energy() };
        let (unit_j, books) = (self.model.energy_j(), &mut self.state.ledger);
        books.kinetic_j = (heavy + after) * unit_j;
        books.mass_j += (heavy + after - light - before) * unit_j;
        before
    }

    /// Kinetic energy in what couples the nodes of stiff cells, without unit.
    fn coupled_energy(&mut self) -> f64 {
        let coupled = self.model.coupled.as_ref();
        let twice = coupled
            .map(|coupled| coupled.twice(&self.state.motions, |motion| &motion.v, &mut self.room));
        0.5 * twice.unwrap_or_default()
    }

    /// The fewest sub-steps that the cells bear; [`super::squeeze`] sees to those that are deformed.
    fn plan(&self, dt_s: f64) -> Plan {
        let model = &self.model;
        let dt = dt_s / model.time_s;
        let unit = f64::from(1_u32 << model.slowest);
        let substeps = (dt / model.step() / unit).ceil().max(1.0) * unit;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        Plan {
            substeps: substeps as u32,
            dt: dt / substeps,
        }
    }

    /// The bodies that can touch, with the way they go. One that was not there, jumped or changed
    /// is set down where it is; one that went takes its energy along.
    fn admit(&mut self, bodies: &[Option<Tool>; BODIES]) -> [Option<Path>; BODIES] {
        let mut paths = [None; BODIES];
        let model = Arc::clone(&self.model);
        let extent_m = model.extent * model.length_m;
        for (index, path) in paths.iter_mut().enumerate() {
            let old = self.state.tools[index];
            let fits = |tool: &&Tool| {
                usable(tool)
                    && tool.radius_m <= 10.0 * extent_m
                    && tool.shaft_m.norm() < 1e3 * extent_m
            };
            let Some(tool) = bodies[index].as_ref().filter(fits) else {
                if old.seen {
                    self.state.ledger.dissipated_j += old.energy_j;
                    self.state.ledger.contact_j -= old.energy_j;
                    self.state.tools[index] = ToolState::NEW;
                    self.state.stale = true;
                }
                continue;
            };
            let jaw = self
                .model
                .params
                .jaw_friction
                .filter(|_| tool.jaws.is_some());
            let same = old.goes_on_to(tool) && old.jaw == jaw.is_some();
            let (from_m, shaft_m) = if same {
                (old.position_m, old.shaft_m)
            } else {
                (tool.position_m, tool.shaft_m)
            };
            self.state.stale |= !same;
            let slot = &mut self.state.tools[index];
            if !same {
                // what it held is in its energy still, which `begin` compares with
                slot.stick = friction::Stick::default();
            }
            (slot.seen, slot.position_m) = (true, tool.position_m);
            (slot.radius_m, slot.stiffness_npm) = (tool.radius_m, tool.stiffness_npm);
            (slot.shaft_m, slot.jaw) = (tool.shaft_m, jaw.is_some());
            let friction = self.model.params.friction.max(jaw.unwrap_or_default());
            *path = Some(self.model.path(from_m, shaft_m, tool, friction));
        }
        paths
    }

    /// Takes all forces anew; what energy tools then have more or less, they brought.
    fn begin(&mut self, paths: &[Option<Path>; BODIES]) {
        for motion in &mut self.state.motions {
            motion.f.iter_mut().for_each(|f| f.fill(0.0));
        }
        self.shares.clear();
        let slowest = self.model.slowest;
        let due = Due {
            class: slowest,
            weight: 0.5,
            dt: 0.0,
        };
        self.pull_due::<false>(&due);
        let mut met = [Met::default(); BODIES];
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let rod = path.at(0.0);
            let (near, beat) = (&self.near[index], Beat::all(0.5, slowest));
            let (skin, motions) = (&self.model.skin, &mut self.state.motions);
            let met = &mut met[index];
            let (books, tool) = (&mut self.state.ledger, &mut self.state.tools[index]);
            *met = skin.press(near, &rod, &beat, motions, &mut self.touches);
            skin.drag(&self.touches, &beat, tool.stick.force(), motions, met);
            let energy_j = (met.energy + tool.stick.energy()) * self.model.energy_j();
            books.tool_work_j += energy_j - tool.energy_j;
            books.contact_j += energy_j - tool.energy_j;
            tool.energy_j = energy_j;
            (tool.push, tool.twist) = (met.push, met.twist);
        }
        self.gather();
        self.state.stale = false;
    }

    /// Forces of the cells that are due, on what they touch.
    fn pull_due<const BOOKS: bool>(&mut self, due: &Due) -> Found {
        let (grids, motions) = (&self.model.grids, &mut self.state.motions);
        let needs = &mut self.loads.needs;
        let (found, heat) = self.shares.pull::<BOOKS>(due, grids, motions, needs);
        self.heat += heat;
        found
    }

    /// Energies and demands of all cells as they are; their impulses have to be taken anew after it.
    pub(super) fn energies(&mut self) -> Found {
        let due = Due {
            class: self.model.slowest,
            weight: 1.0,
            dt: 0.0,
        };
        self.pull_due::<true>(&due)
    }

    /// Impulses of hanging nodes to their rims, finest first, and of stiff cells to one another.
    fn gather(&mut self) {
        self.shares
            .join_early(&self.model.grids, &mut self.state.motions);
        for (index, seam) in self.model.seams.iter().enumerate().rev() {
            let (above, fine) = self.state.motions.split_at_mut(index + 1);
            seam.gather_forces(&mut above[index], &mut fine[0]);
        }
        if let Some(coupled) = &self.model.coupled {
            coupled.spread(&mut self.state.motions, &mut self.room);
        }
    }

    /// Speeds of hanging nodes, for friction.
    fn follow_speeds(&mut self) {
        for (index, seam) in self.model.seams.iter().enumerate() {
            let (above, fine) = self.state.motions.split_at_mut(index + 1);
            seam.follow_speeds(&above[index], &mut fine[0]);
        }
    }

    /// Moves the nodes whose class is due; the `LAST` time of a tick only their speeds change.
    fn move_due<const LAST: bool>(&mut self, due: usize, plan: &Plan) -> f64 {
        let model = Arc::clone(&self.model);
        let pace = |class: usize| model.pace(plan, class);
        let mut taken = 0.0;
        for (seam, above) in model.seams.iter().zip(&mut self.state.motions) {
            if seam.class <= due {
                taken += seam.go::<LAST>(above, &pace(seam.class));
            }
        }
        let motions = &mut self.state.motions;
        taken += self.shares.go::<LAST>(due, pace, &model.grids, motions);
        for (index, seam) in model.seams.iter().enumerate() {
            if !LAST && seam.class <= due {
                let (above, fine) = self.state.motions.split_at_mut(index + 1);
                seam.follow_rim(&above[index], &mut fine[0]);
            }
        }
        taken
    }

    fn go(&mut self, paths: &[Option<Path>; BODIES], plan: &Plan) {
        let slowest = self.model.slowest;
        let mut sums = self.state.tools.map(|tool| Sum {
            push: 0.5 * Vec3::from(tool.push),
            twist: 0.5 * Vec3::from(tool.twist),
        });
        let mut found = Found::default();
        // friction needs all of the normal force
        let whole = paths.iter().flatten().any(|path| path.friction > 0.0);
        let mut met = [Met::default(); BODIES];
        for substep in 0..plan.substeps {
            self.move_due::<false>(class_of(substep, slowest), plan);
            let now = substep + 1;
            let last = now == plan.substeps;
            let weight = if last { 0.5 } else { 1.0 };
            let class = if last {
                slowest
            } else {
                class_of(now, slowest)
            };
            let due = Due {
                class,
                weight,
                dt: plan.dt,
            };
            if last {
                found = self.pull_due::<true>(&due);
            } else {
                self.pull_due::<false>(&due);
            }
            let share = f64::from(now) / f64::from(plan.substeps);
            let beat = Beat {
                weight,
                due: class,
                whole,
            };
            if whole {
                self.follow_speeds();
            }
            self.press(paths, share, plan, &beat, &mut met);
            self.gather();
            for (sum, met) in sums.iter_mut().zip(&met) {
                sum.push += f64::from(weight) * Vec3::from(met.push);
                sum.twist += f64::from(weight) * Vec3::from(met.twist);
            }
        }
        let taken = self.move_due::<true>(slowest, plan);
        self.state.demand = found.demand;
        self.met = met;
        let mean = 1.0 / f64::from(plan.substeps);
        self.mean = sums.map(|sum| (sum.push * mean, sum.twist * mean));
        let slow = self.model.slow(plan);
        self.book(paths, taken, found.energy, slow);
    }

    fn book(&mut self, paths: &[Option<Path>; BODIES], taken: f64, elastic: f64, slow: f64) {
        let unit_j = self.model.energy_j();
        // damping is proportional to all inertia
        let taken = taken + self.weigh() * (1.0 / (slow * slow) - 1.0);
        let books = &mut self.state.ledger;
        books.elastic_j = elastic * unit_j;
        books.dissipated_j += (taken + std::mem::take(&mut self.heat)) * unit_j;
        books.contact_j = 0.0;
        for (index, tool) in self.state.tools.iter_mut().enumerate() {
            if let Some(path) = &paths[index] {
                let (push, twist) = self.mean[index];
                books.tool_work_j -= (push.dot(&path.way) + twist.dot(&path.turn())) * unit_j;
            }
            let met = &self.met[index];
            (tool.push, tool.twist) = (met.push, met.twist);
            let held = tool.stick.energy();
            books.dissipated_j += tool.stick.take_spent() * unit_j;
            tool.energy_j = (met.energy + held) * unit_j;
            books.contact_j += tool.energy_j;
        }
    }

    fn answer(&self, paths: &[Option<Path>; BODIES], tools: &[Tool], reactions: &mut [Reaction]) {
        let slots = reactions.iter_mut().zip(tools).enumerate().take(TOOLS);
        for (index, (slot, tool)) in slots {
            *slot = self.felt(index, paths);
            if paths[index + TOOLS].is_some() {
                *slot = jaws::join(tool, [*slot, self.felt(index + TOOLS, paths)]);
            }
        }
    }

    /// What one body felt.
    fn felt(&self, index: usize, paths: &[Option<Path>; BODIES]) -> Reaction {
        let (model, length_m) = (&self.model, self.model.length_m);
        let ((force, torque), met) = (self.mean[index], &self.met[index]);
        let size = force.norm();
        let Some(path) = paths[index].filter(|_| size > 0.0 && size.is_finite()) else {
            return Reaction::default();
        };
        let out = Vec3::from(met.force).try_normalize(0.0);
        let sunk = out.map_or(Vec3::zeros(), |out| out * f64::from(met.depth));
        let to_proxy = sunk - Vec3::from(self.state.tools[index].stick.way);
        let touch = Touch {
            force: size,
            met,
            rod: path.at(1.0),
            top: model.top(),
        };
        let stiffness = touch.stiffness();
        Reaction {
            force_n: force * model.force_n(),
            torque_nm: torque * model.energy_j(),
            normal: force / size,
            penetration_m: f64::from(met.depth) * length_m,
            to_proxy_m: to_proxy * length_m,
            stiffness_npm: stiffness * model.stress_pa * length_m,
            damping_nspm: stiffness * self.lag * model.stress_pa * length_m * model.time_s,
            error_n: Some(touch.error() * model.force_n()),
            contacts: met.contacts,
            ..Reaction::default()
        }
    }
}

/// The slowest class that is due before sub-step `substep`.
fn class_of(substep: u32, slowest: usize) -> usize {
    (substep.trailing_zeros() as usize).min(slowest)
}

impl Model {
    /// Height of the top at rest.
    fn top(&self) -> f64 {
        let whole = |grid: &Grid| grid.low[2] + grid.edge[2] * (grid.nodes[2] - 1) as f64;
        self.grids.first().map_or(0.0, whole)
    }

    /// How nodes of a class go; the last time of a tick takes speeds to its end and no further, and
    /// leaves the half impulses for the next one. Damping is taken then, of the whole tick: only
    /// then all classes have got their impulses up to one time. Between, the speeds of nodes beside
    /// slower cells go up and down by the impulses that are saved up; damping of that would take
    /// energy that is not there (measured: 3 % of the tool's work in a press that is held).
    fn pace(&self, plan: &Plan, class: usize) -> Pace {
        Pace {
            kick: f32::of(plan.dt),
            drift: f32::of(plan.dt * f64::from(1_u32 << class)),
            slow: f32::of(self.slow(plan)),
            fast: f32::of(FAST * self.wave),
            far: f32::of(self.extent),
        }
    }

    /// Factor on speeds that damping leaves at the end of a tick.
    fn slow(&self, plan: &Plan) -> f64 {
        let tick = plan.dt * f64::from(plan.substeps);
        1.0 / (1.0 + self.params.damping_hz * self.time_s * tick)
    }
}
