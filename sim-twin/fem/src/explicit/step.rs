//! One tick: as many sub-steps as the finest cells need, fewer for coarser ones.
//!
//! Source: reversible multiple time stepping by impulses (Tuckerman, Berne and Martyna 1992). Cells of class
//! `c` act for `2^c` sub-steps at once, every `2^c` sub-steps; nodes step with the fastest adjacent cells.
//! Half impulses begin and end a tick, so that the state after it belongs to one time. Tools move uniformly
//! from their last to their present pose. The reaction is the mean force over that displacement, so that its
//! work is the one in the energy balance.

use super::ExplicitTissue;
use super::build::Model;
use super::cells::PassTotals;
use super::contact_lag::{BodyTick, ContactLag, LagForce, MappedContact};
use super::depth_map::{DepthMap, SPREAD};
use super::estimate::TouchEstimate;
use super::friction;
use super::grid::Grid;
use super::jaws;
use super::leapfrog::{self, StepFactors};
use super::mass_scaling::{LOAD_SLOW_PRESS_MAX, MassTime};
use super::skin::{DueForces, ToolContact};
use super::state::{BODIES, TOOLS, ToolState};
use super::tool_path::ToolPath;
use palpate_twin::Vec3;
use palpate_twin::contact::is_usable;
use palpate_twin::law::Real;
use palpate_twin::twin::{Reaction, Tool};
use std::sync::Arc;

/// Longest accepted tick \[s\].
const DT_MAX_S: f64 = 1e-2;
/// Largest velocity of a node, over the speed of the slowest shear wave, and its least value \[m/s\]. A tool that leaps
/// is moved more slowly, at the speed of that wave (see [`super::collapse`]).
const SPEED_MAX_RATIO: f64 = 3.0;
const SPEED_MAX_MPS: f64 = 1.0;

/// Cells are squeezed fast if a demand is above the first limit, and a tool moves in a tick by more than the second, over
/// the shortest edge.
const DEMAND_FAST: f32 = 8.0;
const DISPLACEMENT_FAST: f64 = 0.1;

/// Energy below which an untouched tissue is set to rest, over that of one cell under unit strain: 1e-9 of
/// the energy of a press.
const SETTLED_ENERGY_RATIO: f64 = 1e-6;

/// Mean area of touched faces, over that of the finest faces, beyond which a depth map says nothing about the error.
const COARSE: f64 = 1.3;

/// Sub-steps of a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) substeps: u32,
    pub(super) dt: f64,
}

impl ExplicitTissue {
    /// Advances the tissue by one tick of [`palpate_twin::Tissue::step`]; tools that the depth map is for are where it
    /// places them in the model.
    pub(super) fn advance_mapped(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        self.mapped_contacts = [MappedContact::default(); BODIES];
        let map = self.depth_map.clone();
        let (Some(map), Some(first)) = (map, tools.first()) else {
            return self.advance(tools, dt_s, reactions);
        };
        let top_m = self.model.origin_m.z + self.model.top() * self.model.length_m;
        let mut moved = [*first; TOOLS];
        for (index, (moved, tool)) in moved.iter_mut().zip(tools).enumerate() {
            *moved = map.in_model(tool, top_m);
            self.mapped_contacts[index] = map.contact(tool, top_m);
        }
        let continues: [bool; TOOLS] =
            std::array::from_fn(|index| self.state.tools[index].continues_as(&moved[index]));
        self.advance(&moved[..tools.len().min(TOOLS)], dt_s, reactions);
        for (index, (reaction, tool)) in reactions.iter_mut().zip(tools).enumerate().take(TOOLS) {
            let last = self.extrapolator.last(index, tool);
            let from_m = last
                .filter(|_| continues[index])
                .map(|last| last.position_m);
            let estimated_n = reaction.mesh_error_n;
            map.correct(tool, from_m, top_m, reaction);
            if map.fits(tool) && self.touches_coarse_faces(index, &map) {
                reaction.mesh_error_n = estimated_n;
            }
        }
    }

    /// True if the faces that a tool touches are on the mean larger than those of the map.
    fn touches_coarse_faces(&self, index: usize, map: &DepthMap) -> bool {
        let contact = &self.tool_contacts[index];
        let face = f64::from(contact.area) / f64::from(contact.rest_area_ratio);
        let [wide_m, long_m] = map.edge_m;
        face * self.model.length_m * self.model.length_m > COARSE * wide_m * long_m
    }

    /// Advances the tissue by one tick, with tools in the model.
    fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        let before = self.state.ledger;
        let plan = self.plan(dt_s);
        let bodies = jaws::bodies(tools, self.model.params.jaw_friction.is_some());
        let paths = self.admit(&bodies, dt_s);
        self.list_near_faces(&paths, plan.dt * f64::from(plan.substeps));
        if self.settle_if_quiet() {
            return;
        }
        self.state.settled = false;
        if self.state.stale {
            self.recompute_forces(&paths);
        }
        self.run_substeps(&paths, &plan);
        if !self.is_sound() {
            self.rebuild(&before);
            self.update_surface();
            reactions.fill(Reaction::of_collapse());
            return;
        }
        self.write_reactions(&paths, tools, reactions);
        self.update_surface();
        let balance = &mut self.state.ledger;
        let gained = balance.stored_j() - before.stored_j();
        let explained = (balance.tool_work_j - before.tool_work_j)
            + (balance.edit_j - before.edit_j)
            + (balance.mass_j - before.mass_j)
            - (balance.dissipated_j - before.dissipated_j);
        balance.residual_j = before.residual_j + gained - explained;
    }

    /// Sets the tissue to rest if nothing touches it and its energy is negligible; the tick then costs
    /// hardly anything. The remaining energy counts as dissipated. Returns true if the tissue is at rest.
    fn settle_if_quiet(&mut self) -> bool {
        let balance = &mut self.state.ledger;
        let stored_j = balance.kinetic_j + balance.elastic_j;
        let touched = self.near.iter().any(|list| !list.is_empty());
        if touched || stored_j.is_nan() || stored_j > SETTLED_ENERGY_RATIO * self.model.energy_j() {
            return false;
        }
        if !self.state.settled {
            balance.dissipated_j += balance.stored_j();
            (balance.kinetic_j, balance.elastic_j, balance.contact_j) = (0.0, 0.0, 0.0);
            self.state.settle();
            self.update_surface();
        }
        true
    }

    /// Updates the masses of squeezed cells and records the change of kinetic energy in the balance. Returns
    /// the kinetic energy of coupled cells before, without units.
    pub(super) fn update_masses(&mut self, time: MassTime) -> f64 {
        let before = self.coupled_energy();
        let (grids, hanging_nodes) = (&self.model.grids, &self.model.hanging_nodes);
        let greatest = self.state.demand * self.state.stiffest;
        let unchanged = !self.loads.changes(greatest);
        let motions = &mut self.state.motions;
        let (light, heavy) = self
            .loads
            .apply(greatest, time, grids, hanging_nodes, motions);
        let after = if unchanged {
            before
        } else {
            self.coupled_energy()
        };
        let (unit_j, balance) = (self.model.energy_j(), &mut self.state.ledger);
        balance.kinetic_j = (heavy + after) * unit_j;
        balance.mass_j += (heavy + after - light - before) * unit_j;
        before
    }

    /// Returns the kinetic energy of the coupled inertia, without units.
    fn coupled_energy(&mut self) -> f64 {
        let coupled = self.model.coupled_inertia.as_ref();
        let twice = coupled.map(|coupled| {
            coupled.twice_kinetic_energy(
                &self.state.motions,
                |motion| &motion.v,
                &mut self.coupled_scratch,
            )
        });
        0.5 * twice.unwrap_or_default()
    }

    /// Returns the smallest number of sub-steps that is stable at rest; [`super::mass_scaling`] covers
    /// deformed cells.
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

    /// Returns the paths of the bodies that can touch. A new, moved or changed body is placed at its pose
    /// without a path; the energy of a withdrawn one is dissipated.
    fn admit(&mut self, bodies: &[Option<Tool>; BODIES], dt_s: f64) -> [Option<ToolPath>; BODIES] {
        let mut paths = [None; BODIES];
        let model = Arc::clone(&self.model);
        let extent_m = model.extent * model.length_m;
        for (index, path) in paths.iter_mut().enumerate() {
            let old = self.state.tools[index];
            let is_valid = |tool: &&Tool| {
                is_usable(tool)
                    && tool.radius_m <= 10.0 * extent_m
                    && tool.shaft_m.norm() < 1e3 * extent_m
            };
            let Some(tool) = bodies[index].as_ref().filter(is_valid) else {
                if old.present {
                    self.state.ledger.dissipated_j += old.energy_j;
                    self.state.ledger.contact_j -= old.energy_j;
                    self.state.stale = true;
                }
                // an absent tool has left the block
                self.state.tools[index] = ToolState::default();
                continue;
            };
            if old.expelled && !model.is_clear(tool) {
                continue;
            }
            let tool = &model.swept(&old, tool, dt_s);
            let jaw = self
                .model
                .params
                .jaw_friction
                .filter(|_| tool.jaws.is_some());
            let unchanged = old.continues_as(tool) && old.jaw == jaw.is_some();
            let (from_m, shaft_m) = if unchanged {
                (old.position_m, old.shaft_m)
            } else {
                (tool.position_m, tool.shaft_m)
            };
            self.state.stale |= !unchanged;
            let slot = &mut self.state.tools[index];
            if !unchanged {
                // its energy is still stored in the slot, which `recompute_forces` compares with
                slot.friction_spring = friction::FrictionSpring::default();
                slot.contact_lag = ContactLag::default();
            }
            (slot.present, slot.expelled) = (true, false);
            slot.position_m = tool.position_m;
            (slot.radius_m, slot.stiffness_npm) = (tool.radius_m, tool.stiffness_npm);
            (slot.shaft_m, slot.jaw) = (tool.shaft_m, jaw.is_some());
            let friction = self.model.params.friction.max(jaw.unwrap_or_default());
            let mapped = self.depth_map.as_ref().is_some_and(|map| map.fits(tool));
            let spread = if mapped { SPREAD } else { 0.0 };
            let from = self
                .model
                .tool_path(from_m, shaft_m, tool, friction, spread);
            *path = Some(from);
        }
        paths
    }

    /// Recomputes all forces; the change of contact energy counts as work of the tools.
    fn recompute_forces(&mut self, paths: &[Option<ToolPath>; BODIES]) {
        for motion in &mut self.state.motions {
            motion.f.iter_mut().for_each(|f| f.fill(0.0));
        }
        self.chunk_scratch.clear();
        let due = DueForces::all(0.5, self.model.slowest);
        self.add_due_forces::<false>(&due);
        let mut contacts = [ToolContact::default(); BODIES];
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let rod = path.rod_at(0.0);
            let near = &self.near[index];
            let (skin, motions) = (&self.model.skin, &mut self.state.motions);
            let contact = &mut contacts[index];
            let (balance, tool) = (&mut self.state.ledger, &mut self.state.tools[index]);
            *contact = skin.press(near, &rod, &due, motions, &mut self.touches);
            skin.apply_friction(
                &self.touches,
                &due,
                tool.friction_spring.force(),
                motions,
                contact,
            );
            let kept = tool.friction_spring.energy() + tool.contact_lag.energy;
            let energy_j = (contact.energy + kept) * self.model.energy_j();
            balance.tool_work_j += energy_j - tool.energy_j;
            balance.contact_j += energy_j - tool.energy_j;
            tool.energy_j = energy_j;
            (tool.impulse, tool.angular_impulse) = (contact.impulse, contact.angular_impulse);
        }
        self.gather();
        self.state.stale = false;
    }

    /// Adds the forces of the cells that are due.
    fn add_due_forces<const WITH_ENERGY: bool>(&mut self, due: &DueForces) -> PassTotals {
        let (motions, demands) = (&mut self.state.motions, &mut self.loads.demands);
        let (totals, heat) =
            self.chunk_scratch
                .add_due_forces::<WITH_ENERGY>(due, &self.model, motions, demands);
        self.heat += heat;
        totals
    }

    /// Returns energies and demands of all cells; their impulses must be recomputed after it.
    pub(super) fn energies(&mut self) -> PassTotals {
        self.add_due_forces::<true>(&DueForces::all(1.0, self.model.slowest))
    }

    /// Transfers impulses of hanging nodes to their rims, finest first, and applies the coupled inertia.
    fn gather(&mut self) {
        self.chunk_scratch
            .join_overlaps_early(&self.model.grids, &mut self.state.motions);
        for (index, hanging) in self.model.hanging_nodes.iter().enumerate().rev() {
            let (above, fine) = self.state.motions.split_at_mut(index + 1);
            hanging.gather_forces(&mut above[index], &mut fine[0]);
        }
        if let Some(coupled) = &self.model.coupled_inertia {
            coupled.apply(&mut self.state.motions, &mut self.coupled_scratch);
        }
    }

    /// Interpolates velocities of hanging nodes, for friction.
    fn follow_speeds(&mut self) {
        for (index, hanging) in self.model.hanging_nodes.iter().enumerate() {
            let (above, fine) = self.state.motions.split_at_mut(index + 1);
            hanging.interpolate(&above[index].v, &mut fine[0].v);
        }
    }

    /// Moves the nodes whose class is due; the `LAST` time of a tick changes only their velocities. Returns
    /// the energy dissipated by damping.
    fn integrate_due<const LAST: bool>(&mut self, due: usize, plan: &Plan) -> f64 {
        let model = Arc::clone(&self.model);
        let factors = |class: usize| model.step_factors(plan, class);
        let mut dissipated = 0.0;
        for (hanging, above) in model.hanging_nodes.iter().zip(&mut self.state.motions) {
            if hanging.rim_separate && hanging.class <= due {
                let (rim, factors) = (&hanging.rim_rows.nodes, factors(hanging.class));
                dissipated += leapfrog::integrate_nodes::<LAST>(rim, above, &factors);
            }
        }
        let motions = &mut self.state.motions;
        dissipated += self
            .chunk_scratch
            .integrate_due::<LAST>(due, factors, &model.grids, motions);
        for (index, hanging) in model.hanging_nodes.iter().enumerate() {
            if !LAST && hanging.class <= due {
                let (above, fine) = self.state.motions.split_at_mut(index + 1);
                hanging.interpolate(&above[index].u, &mut fine[0].u);
            }
        }
        dissipated
    }

    /// True if cells may be squeezed much further within the tick: their masses then follow in every sub-step.
    fn is_squeezed_fast(&self, paths: &[Option<ToolPath>; BODIES]) -> bool {
        let greatest = self.state.demand * self.state.stiffest;
        let moved = paths.iter().flatten().map(|path| path.displacement.norm());
        greatest > LOAD_SLOW_PRESS_MAX
            || (greatest > DEMAND_FAST && moved.fold(0.0, f64::max) > DISPLACEMENT_FAST)
    }

    fn run_substeps(&mut self, paths: &[Option<ToolPath>; BODIES], plan: &Plan) {
        let slowest = self.model.slowest;
        // impulses on the tools and their moments, summed over the tick
        let half =
            |tool: ToolState| [tool.impulse, tool.angular_impulse].map(|own| 0.5 * Vec3::from(own));
        let mut sums = self.state.tools.map(half);
        let mut totals = PassTotals::default();
        // friction needs the sum of the normal force over all classes
        let with_friction = paths.iter().flatten().any(|path| path.friction > 0.0);
        let mut contacts = [ToolContact::default(); BODIES];
        let follows = self.is_squeezed_fast(paths);
        if follows {
            self.loads.clear_demands();
        }
        for substep in 0..plan.substeps {
            self.integrate_due::<false>(class_of(substep, slowest), plan);
            let now = substep + 1;
            let last = now == plan.substeps;
            let weight = if last { 0.5 } else { 1.0 };
            let class = if last {
                slowest
            } else {
                class_of(now, slowest)
            };
            let due = DueForces {
                weight,
                class,
                dt: plan.dt,
                sum_all: with_friction,
            };
            if last || follows {
                totals = self.add_due_forces::<true>(&due);
            } else {
                self.add_due_forces::<false>(&due);
            }
            let share = f64::from(now) / f64::from(plan.substeps);
            if with_friction {
                self.follow_speeds();
            }
            self.press_tools(paths, share, plan, &due, &mut contacts);
            self.gather();
            for (sum, contact) in sums.iter_mut().zip(&contacts) {
                sum[0] += f64::from(weight) * Vec3::from(contact.impulse);
                sum[1] += f64::from(weight) * Vec3::from(contact.angular_impulse);
            }
            if follows && !last {
                self.state.demand = self.state.demand.max(totals.demand);
                self.update_masses(MassTime::Within);
            }
        }
        let dissipated = self.integrate_due::<true>(slowest, plan);
        self.state.demand = totals.demand;
        self.tool_contacts = contacts;
        let mean = 1.0 / f64::from(plan.substeps);
        self.mean = sums.map(|sum| (sum[0] * mean, sum[1] * mean));
        self.lag_contacts(paths, plan);
        let damping_factor = self.model.damping_factor(plan);
        self.update_energy_balance(paths, dissipated, totals.energy, damping_factor);
    }

    /// Advances the lags of the contacts, in viscous tissue.
    fn lag_contacts(&mut self, paths: &[Option<ToolPath>; BODIES], plan: &Plan) {
        let viscosity = &self.model.skin.viscosity;
        if viscosity.is_elastic() {
            return;
        }
        for (index, path) in paths.iter().enumerate() {
            self.lag_forces[index] = path.as_ref().map_or(LagForce::default(), |path| {
                let tick = BodyTick {
                    dt_s: plan.dt * f64::from(plan.substeps) * self.model.time_s,
                    displacement: path.displacement,
                    mean: self.mean[index].0,
                };
                let (mapped, contact) = (self.mapped_contacts[index], &self.tool_contacts[index]);
                let lag = &mut self.state.tools[index].contact_lag;
                lag.advance(viscosity, mapped, contact, &tick)
            });
        }
    }

    fn update_energy_balance(
        &mut self,
        paths: &[Option<ToolPath>; BODIES],
        dissipated: f64,
        elastic: f64,
        damping_factor: f64,
    ) {
        let unit_j = self.model.energy_j();
        // damping is proportional to all inertia
        let dissipated = dissipated
            + self.update_masses(MassTime::End) * (1.0 / (damping_factor * damping_factor) - 1.0);
        let balance = &mut self.state.ledger;
        balance.elastic_j = elastic * unit_j;
        balance.dissipated_j += (dissipated + std::mem::take(&mut self.heat)) * unit_j;
        balance.contact_j = 0.0;
        for (index, tool) in self.state.tools.iter_mut().enumerate() {
            if let Some(path) = &paths[index] {
                let (force, torque) = self.mean[index];
                let lag = &self.lag_forces[index];
                balance.tool_work_j +=
                    (lag.work - force.dot(&path.displacement) - torque.dot(&path.turn())) * unit_j;
                balance.dissipated_j += lag.dissipated * unit_j;
            }
            let contact = &self.tool_contacts[index];
            (tool.impulse, tool.angular_impulse) = (contact.impulse, contact.angular_impulse);
            let kept = tool.friction_spring.energy() + tool.contact_lag.energy;
            balance.dissipated_j += std::mem::take(&mut tool.friction_spring.dissipated) * unit_j;
            tool.energy_j = (contact.energy + kept) * unit_j;
            balance.contact_j += tool.energy_j;
        }
    }

    fn write_reactions(
        &self,
        paths: &[Option<ToolPath>; BODIES],
        tools: &[Tool],
        reactions: &mut [Reaction],
    ) {
        let slots = reactions.iter_mut().zip(tools).enumerate().take(TOOLS);
        for (index, (slot, tool)) in slots {
            *slot = self.body_reaction(index, paths);
            if paths[index + TOOLS].is_some() {
                *slot =
                    jaws::combine_reactions(tool, slot, &self.body_reaction(index + TOOLS, paths));
            }
        }
    }

    /// Returns the reaction of one body.
    fn body_reaction(&self, index: usize, paths: &[Option<ToolPath>; BODIES]) -> Reaction {
        let (model, length_m) = (&self.model, self.model.length_m);
        let ((force, torque), contact) = (self.mean[index], &self.tool_contacts[index]);
        // zero would change the sign of a zero
        let force = match self.model.skin.viscosity.is_elastic() {
            true => force,
            false => force + self.lag_forces[index].force,
        };
        let size = force.norm();
        let Some(path) = paths[index].filter(|_| size > 0.0 && size.is_finite()) else {
            return Reaction::default();
        };
        let out = Vec3::from(contact.force).try_normalize(0.0);
        let penetration = out.map_or(Vec3::zeros(), |out| out * f64::from(contact.depth));
        let to_proxy = penetration - Vec3::from(self.state.tools[index].friction_spring.extension);
        let touch = TouchEstimate {
            force: size,
            contact,
            rod: path.rod_at(1.0),
            top: model.top(),
        };
        let stiffness = touch.stiffness();
        Reaction {
            force_n: force * model.force_n(),
            torque_nm: torque * model.energy_j(),
            normal: force / size,
            penetration_m: f64::from(contact.depth) * length_m,
            proxy_offset_m: to_proxy * length_m,
            stiffness_npm: stiffness * model.stress_pa * length_m,
            damping_nspm: stiffness * self.viscous_lag * model.stress_pa * length_m * model.time_s,
            mesh_error_n: Some(touch.error() * model.force_n()),
            contacts: contact.contacts,
            ..Reaction::default()
        }
    }
}

/// Returns the slowest class that is due before sub-step `substep`.
fn class_of(substep: u32, slowest: usize) -> usize {
    (substep.trailing_zeros() as usize).min(slowest)
}

impl Model {
    /// Returns the height of the top at rest.
    pub(super) fn top(&self) -> f64 {
        let top = |grid: &Grid| grid.low[2] + grid.edge[2] * (grid.nodes[2] - 1) as f64;
        self.grids.first().map_or(0.0, top)
    }

    /// Returns the step factors of nodes of a class. The last step of a tick brings velocities to the end of the tick and
    /// keeps the half impulses for the next one. It applies the damping of the whole tick, because only
    /// then all classes have received their impulses up to one time. In between, velocities of nodes beside
    /// slower cells oscillate with the accumulated impulses. Damping these would dissipate spurious energy
    /// (measured: 3 % of the tool's work in a static press).
    fn step_factors(&self, plan: &Plan, class: usize) -> StepFactors {
        StepFactors {
            kick_dt: f32::of(plan.dt),
            drift_dt: f32::of(plan.dt * f64::from(1_u32 << class)),
            damping_factor: f32::of(self.damping_factor(plan)),
            speed_max: f32::of(
                (SPEED_MAX_RATIO * self.slowest_shear_wave)
                    .max(SPEED_MAX_MPS * self.time_s / self.length_m),
            ),
            displacement_max: f32::of(self.extent),
            lowest: std::hint::black_box(f32::NEG_INFINITY),
        }
    }

    /// Returns the factor of damping on velocities at the end of a tick.
    fn damping_factor(&self, plan: &Plan) -> f64 {
        let tick = plan.dt * f64::from(plan.substeps);
        1.0 / (1.0 + self.params.damping_per_s * self.time_s * tick)
    }
}
