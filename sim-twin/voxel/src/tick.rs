//! One simulation step: tools move the touched nodes, ChainMail resolves deep contact, and passes relax the rest.
//!
//! Source: seed-001 section 3.4.6 and 3.7 (rows TP-11, FU-10), with an energy balance. Only the motion of the tools,
//! and of the nodes that follow them, is work. All that follows dissipates energy and is recorded so. A ChainMail
//! motion is kept only if it adds no energy, so it cannot feed the hand.

use crate::VoxelModel;
use crate::blade::BladeStep;
use crate::chainmail::{Chainmail, NodeTarget};
use crate::index_sets::InsertionSet;
use crate::instruments::ActiveInstrument;
use crate::knife::upward_link_energies_j;
use crate::nodes::{NONE, colour_of, to_f32};
use crate::touch::{PressingShape, TOOLS};
use palpate_twin::Vec3;
use palpate_twin::contact::is_usable;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::twin::{Instrument, Reaction, Tool};

/// Greatest time step \[s\].
const DT_MAX_S: f64 = 1.0;
/// Greatest number of passes of one step.
const PASSES_MAX: u32 = 64;
/// Rounds in which touched nodes follow a moved tool.
const FOLLOW_ROUNDS: usize = 2;
/// Steps between two recounts of the energy; the difference by rounding becomes the residual.
const RECOUNT_STEPS: u64 = 256;
/// Distance from a tool, over the spacing, within which a node might enter it during a pass.
const MARGIN: f64 = 0.5;

/// ChainMail solver with its targets and moves. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct ChainmailState {
    pub(super) solver: Chainmail<f32>,
    pub(super) targets: Vec<NodeTarget<f32>>,
    /// Moved nodes.
    moved: InsertionSet,
    /// Their displacements \[m\].
    to_m: Vec<[f32; 3]>,
}

impl ChainmailState {
    /// Returns a state for this number of slots.
    pub(super) fn new(slots: u32) -> Self {
        let count = slots as usize;
        Self {
            solver: Chainmail::new(slots),
            targets: Vec::with_capacity(count),
            moved: InsertionSet::new(count),
            to_m: Vec::with_capacity(count),
        }
    }
}

/// Energy that touched nodes lost when they gave way \[J\].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContactLoss {
    /// Part of nodes that a tool holds, and of nodes that follow these.
    pub(super) held_j: f64,
    /// Part of nodes that tools have left, and of nodes that a limit had stopped.
    pub(super) released_j: f64,
}

impl ContactLoss {
    fn add(&mut self, other: Self) {
        self.held_j += other.held_j;
        self.released_j += other.released_j;
    }
}

impl VoxelModel {
    /// Implements [`palpate_twin::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        // a curette is open at its front
        let presses = |tool: &&Tool| is_usable(tool) && tool.instrument != Instrument::Curette;
        let shapes: [Option<PressingShape>; TOOLS] =
            std::array::from_fn(|index| tools.get(index).filter(presses).map(PressingShape::of));
        let before_j = self.balance.ledger.stored_j();
        let previous = self.contact.shapes;
        // instruments cut the tissue in their way before it is pressed
        let contact_j = self.contact_energy_j();
        let instrument_energy = self.apply_instruments(tools);
        self.release_ties(tools, &shapes);
        let before_motion_j = self.contact_energy_j();
        self.find_touched(&shapes);
        let new_contact_j = self.new_contact_energy_j(&previous);
        let motion_j = self.contact_energy_j() - before_motion_j - new_contact_j;
        let realigned_j = self.realign_ties();
        let slip = self.slip_ties(false);
        let grasped_j = self.close_jaws(tools);
        let contact_loss = self.follow_tools(&previous);
        let work_j = instrument_energy.work_j + motion_j - slip.excess_j - contact_loss.held_j;
        let mut lost_j = instrument_energy.lost_j + contact_j - before_motion_j + slip.lost_j;
        // force at the end of the motion; ChainMail and relaxation come after it
        let motion_force_n = self.tool_forces_n();
        lost_j += realigned_j + grasped_j + contact_loss.released_j + self.resolve_deep_contact();
        for _ in 0..self.passes_due(dt_s) {
            lost_j += self.gauss_seidel_pass();
        }
        // the next motion starts in equilibrium under the tools, so its energy change is work alone
        let contact_loss = self.follow_tools(&shapes);
        let slip = self.slip_ties(true);
        lost_j += contact_loss.held_j
            + contact_loss.released_j
            + slip.lost_j
            + slip.excess_j
            + self.update_friction_ties();
        self.balance.ledger.tool_work_j += work_j;
        self.balance.ledger.dissipated_j += lost_j;
        self.balance.ledger.edit_j += new_contact_j;
        // energy of a new contact is no work, so it may not pay for passive edits
        self.balance.granted_j += new_contact_j;
        self.balance.ledger.contact_j = self.tool_energy_j();
        self.balance.ledger.elastic_j =
            before_j + work_j + new_contact_j - lost_j - self.balance.ledger.contact_j;
        self.balance.steps += 1;
        if self.balance.steps.is_multiple_of(RECOUNT_STEPS) {
            self.recount_energy();
        }
        self.update_drifted_bounds();
        for (index, (motion_force_n, blade_step)) in motion_force_n
            .iter()
            .zip(&instrument_energy.blade_steps)
            .enumerate()
        {
            let reaction = self.tool_reaction(index, motion_force_n, blade_step.as_ref());
            if let Some(slot) = reactions.get_mut(index) {
                *slot = reaction;
            }
        }
    }

    /// Returns the reaction of a tool, from the force at the end of its motion \[N\] and the step of its blade.
    fn tool_reaction(
        &mut self,
        index: usize,
        motion_force_n: &Vec3,
        blade_step: Option<&BladeStep>,
    ) -> Reaction {
        let shape = self.contact.shapes[index].as_ref();
        let mut reaction = shape.map_or_else(Reaction::default, |shape| {
            self.contact_reaction(index, shape)
        });
        let was_n = std::mem::replace(&mut self.contact.tool_force_n[index], reaction.force_n);
        // mean over the motion: its product with the displacement is the recorded work
        let mut mean_n = if shape.is_some() {
            0.5 * (was_n + motion_force_n)
        } else {
            Vec3::zeros()
        };
        if let (Some(instrument), Some(blade_step)) = (&self.instruments.active[index], blade_step)
        {
            reaction.blade_force_n = blade_step.mean_force_n[0] + blade_step.mean_force_n[1];
            mean_n += reaction.blade_force_n;
            instrument.add_to(blade_step, &mut reaction);
        }
        reaction.force_n = mean_n;
        reaction
    }

    /// Returns the present force on every tool \[N\].
    fn tool_forces_n(&self) -> [Vec3; TOOLS] {
        let of = |index: usize| {
            let shape = self.contact.shapes[index].as_ref()?;
            Some(self.contact_reaction(index, shape).force_n)
        };
        std::array::from_fn(|index| of(index).unwrap_or_default())
    }

    /// Returns the number of passes that are due after `dt_s` more.
    fn passes_due(&mut self, dt_s: f64) -> u32 {
        self.balance.pending_s += dt_s;
        // a small margin for rounding, so that a thousand ticks make a thousand passes
        let passes = ((self.balance.pending_s / self.params.pass_s) + 1e-6).floor();
        self.balance.pending_s = (self.balance.pending_s - passes * self.params.pass_s).max(0.0);
        // at least 0, and clamped
        passes.min(f64::from(PASSES_MAX)) as u32
    }

    /// Finds the nodes that tools touch or might touch, and excludes them from the passes over runs.
    fn find_touched(&mut self, shapes: &[Option<PressingShape>; TOOLS]) {
        for &node in self.contact.touched.iter().flatten() {
            self.stencil.restore_gain(&self.nodes, node);
            // passes did not check nodes that they did not move
            self.active_set
                .reset_margin(self.stencil.run_of[node as usize]);
        }
        self.contact.touched.iter_mut().for_each(Vec::clear);
        self.contact.touched_pinned.clear();
        self.contact.shapes = *shapes;
        let margin_m = MARGIN * self.spacing_m;
        for shape in shapes.iter().flatten() {
            self.find_near(&shape.axis_box(margin_m));
            for nth in 0..self.contact.near.len() {
                self.touch_one(self.contact.near[nth], shape, margin_m);
            }
        }
        self.contact.touched_pinned.sort_unstable();
        self.contact.touched_pinned.dedup();
        for index in 0..self.contact.ties.len() {
            self.exclude_from_runs(self.contact.ties[index].node);
        }
    }

    /// Excludes a node from the passes over runs.
    pub(super) fn exclude_from_runs(&mut self, node: u32) {
        let gain = &mut self.stencil.gain[node as usize];
        // without a gain it is listed already, or has no links
        if *gain > 0.0 {
            *gain = 0.0;
            self.contact.touched[colour_of(self.nodes.site(node))].push(node);
        }
    }

    /// Excludes touched nodes from the passes over runs again, after the stencil was updated.
    pub(super) fn exclude_touched(&mut self) {
        for &node in self.contact.touched.iter().flatten() {
            self.stencil.gain[node as usize] = 0.0;
        }
    }

    fn touch_one(&mut self, node: u32, shape: &PressingShape, margin_m: f64) {
        let alive = self.nodes.alive(node);
        if !alive || shape.is_far(&self.nodes.position_m(node), margin_m) {
            return;
        }
        if self.nodes.pinned(node) {
            self.contact.touched_pinned.push(node);
        } else {
            self.exclude_from_runs(node);
        }
    }

    /// Returns the energy of all contact springs and ties \[J\].
    pub(super) fn contact_energy_j(&self) -> f64 {
        let touched = self.contact.nodes();
        let contact_j: f64 = touched
            .filter(|&node| self.nodes.alive(node))
            .map(|node| {
                let at_m = self.nodes.position_m(node);
                let shapes = self.contact.shapes.iter().flatten();
                shapes.map(|shape| shape.energy_j(&at_m)).sum::<f64>()
            })
            .sum();
        contact_j + self.tie_energy_j()
    }

    /// Returns the shape of a tool that pressed nothing in the step before: its contact energy is no work.
    fn new_contact(
        &self,
        previous: &[Option<PressingShape>; TOOLS],
        index: usize,
    ) -> Option<&PressingShape> {
        let is = self.contact.shapes[index].as_ref();
        is.filter(|_| previous[index].is_none())
    }

    /// Returns the contact energy of such tools \[J\].
    fn new_contact_energy_j(&self, previous: &[Option<PressingShape>; TOOLS]) -> f64 {
        let laid = (0..TOOLS).filter_map(|index| self.new_contact(previous, index));
        let of = |shape: &PressingShape| -> f64 {
            let touched = self.contact.nodes();
            let alive = touched.filter(|&node| self.nodes.alive(node));
            alive
                .map(|node| shape.energy_j(&self.nodes.position_m(node)))
                .sum()
        };
        laid.map(of).sum()
    }

    /// Returns the energy of contacts, ties and blade springs \[J\].
    pub(super) fn tool_energy_j(&self) -> f64 {
        let blades = self.instruments.active.iter().flatten();
        self.contact_energy_j() + blades.map(ActiveInstrument::stored_j).sum::<f64>()
    }

    /// Lets touched nodes follow the tools from their previous shapes.
    fn follow_tools(&mut self, previous: &[Option<PressingShape>; TOOLS]) -> ContactLoss {
        let mut contact_loss = ContactLoss::default();
        for _ in 0..FOLLOW_ROUNDS {
            for colour in 0..2 {
                contact_loss.add(self.relax_touched(colour, previous));
            }
        }
        contact_loss
    }

    /// Relaxes the touched nodes of a colour.
    ///
    /// `previous`: shapes of the tools before their motion; the present ones if they rest.
    pub(super) fn relax_touched(
        &mut self,
        colour: usize,
        previous: &[Option<PressingShape>; TOOLS],
    ) -> ContactLoss {
        let mut contact_loss = ContactLoss::default();
        for index in 0..self.contact.touched[colour].len() {
            let node = self.contact.touched[colour][index];
            let at_m = self.nodes.position_m(node);
            let step = self.relax_touched_node(node, previous);
            self.record_node_step(node, step.farthest_m);
            // a node beside the tool follows those in contact
            let was_in = |shape: &PressingShape| shape.depth_m(&at_m).0 > 0.0;
            let margin_m = MARGIN * self.spacing_m;
            let near = |shape: &PressingShape| shape.depth_m(&at_m).0 > -margin_m;
            let laid = (0..TOOLS)
                .filter_map(|index| self.new_contact(previous, index))
                .any(near);
            let released = laid || !step.in_contact && previous.iter().flatten().any(was_in);
            let released_j = if released { step.lost_j } else { step.freed_j };
            contact_loss.add(ContactLoss {
                held_j: step.lost_j - released_j,
                released_j,
            });
        }
        contact_loss
    }

    /// Returns a step that makes a run unsettled \[m\].
    pub(super) const fn activation_step_m(&self) -> f32 {
        // with a threshold of zero, any positive step suffices
        (2.0 * self.settled_step_m).max(f32::MIN_POSITIVE)
    }

    /// Records that a single node moved by this distance \[m\].
    pub(super) fn record_node_step(&mut self, node: u32, step_m: f32) {
        if step_m == 0.0 {
            return;
        }
        let run = self.stencil.run_of[node as usize];
        if run != NONE {
            self.record_run_step(run as usize, step_m);
        }
        self.reduce_margin(node, step_m);
        for to in NeighbourDirection::ALL {
            if let Some(other) = self.nodes.neighbour(node, to) {
                self.reduce_margin(other, step_m);
                let beside = self.stencil.run_of[other as usize];
                if run == NONE && beside != NONE {
                    self.mark_unsettled(beside as usize, step_m);
                }
            }
        }
    }

    /// Subtracts a step of a node or of its neighbour from the margin of its run \[m\].
    fn reduce_margin(&mut self, node: u32, step_m: f32) {
        let run = self.stencil.run_of[node as usize];
        if let Some(spare) = self.active_set.margin_m.get_mut(run as usize) {
            *spare -= step_m;
        }
    }

    /// Moves nodes out of tools by ChainMail where they are too deep to leave by relaxation. Keeps the motion if it
    /// adds no energy; returns the dissipated energy \[J\].
    fn resolve_deep_contact(&mut self) -> f64 {
        // only a tear in the previous step continues in this one
        let continues = std::mem::take(&mut self.instruments.tore_last_step);
        self.chainmail.targets.clear();
        let deep_m = f64::from(self.params.chainmail_depth) * self.spacing_m;
        for &node in self.contact.touched.iter().flatten() {
            let at_m = self.nodes.position_m(node);
            let shapes = self.contact.shapes.iter().flatten();
            let depths = shapes.map(|shape| shape.depth_m(&at_m));
            let deepest = depths.max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((depth_m, out)) = deepest.filter(|(depth_m, _)| *depth_m > deep_m) {
                let target = self.node_target(node, at_m + out * depth_m);
                self.chainmail.targets.push(target);
            }
        }
        for tie in self.contact.ties.iter().filter(|tie| tie.is_grasped()) {
            let Some(shape) = &self.contact.shapes[tie.tool] else {
                continue;
            };
            let (at_m, place_m) = (self.nodes.position_m(tie.node), tie.place_m(shape));
            if (place_m - at_m).norm() > deep_m {
                let target = self.node_target(tie.node, place_m);
                // it may be deep in its tool too
                let others = |other: &NodeTarget<f32>| other.node != target.node;
                self.chainmail.targets.retain(others);
                self.chainmail.targets.push(target);
            }
        }
        if self.chainmail.targets.is_empty() {
            return 0.0;
        }
        let chain = &mut self.chainmail;
        match chain.solver.propagate(&mut self.nodes, &chain.targets) {
            Ok(_) => self.keep_if_dissipative(),
            Err(_) => self.tear_links(continues),
        }
    }

    /// Returns a target that moves a node to a place \[m\].
    fn node_target(&self, node: u32, place_m: Vec3) -> NodeTarget<f32> {
        let to_m = place_m - self.nodes.rest_m(node);
        NodeTarget {
            node,
            displacement_m: to_m.map(to_f32).into(),
        }
    }

    /// Keeps the ChainMail motion if it dissipates energy, and reverts it otherwise; returns the dissipated energy
    /// \[J\].
    fn keep_if_dissipative(&mut self) -> f64 {
        self.list_moved();
        let after_j = self.moved_link_energy_j() + self.contact_energy_j();
        self.chainmail.solver.restore(&mut self.nodes);
        let before_j = self.moved_link_energy_j() + self.contact_energy_j();
        if after_j <= before_j {
            self.apply_moved();
        }
        (before_j - after_j).max(0.0)
    }

    /// Lists the nodes that ChainMail moved, and their displacements.
    pub(super) fn list_moved(&mut self) {
        let ChainmailState {
            solver: chainmail,
            moved,
            to_m,
            ..
        } = &mut self.chainmail;
        moved.clear();
        for (node, _, _) in chainmail.changes() {
            moved.add(node);
        }
        to_m.clear();
        to_m.extend(moved.iter().map(|&node| self.nodes.displacement_m(node)));
    }

    /// Applies the listed displacements.
    pub(super) fn apply_moved(&mut self) {
        for index in 0..self.chainmail.moved.len() {
            let (node, to_m) = (self.chainmail.moved[index], self.chainmail.to_m[index]);
            let mut step_m = 0.0_f32;
            for (moved_m, to) in self.nodes.displacement_m.iter_mut().zip(to_m) {
                step_m = step_m.max((to - moved_m[node as usize]).abs());
                moved_m[node as usize] = to;
            }
            self.record_node_step(node, step_m);
        }
    }

    /// Returns the energy of all links of the moved nodes, each counted once \[J\].
    pub(super) fn moved_link_energy_j(&self) -> f64 {
        let mut sum_j = 0.0;
        for &node in &*self.chainmail.moved {
            for (to, other) in self.nodes.neighbours(node, NeighbourDirection::ALL) {
                let share = if self.chainmail.moved.has(other) {
                    0.25
                } else {
                    0.5
                };
                let k = self.stencil.stiffness_npm[to.index()][node as usize];
                let (own, other) = (
                    self.nodes.displacement_m(node),
                    self.nodes.displacement_m(other),
                );
                let offset2: f32 = own.iter().zip(other).map(|(a, b)| (b - a) * (b - a)).sum();
                sum_j += share * f64::from(k) * f64::from(offset2);
            }
        }
        sum_j
    }

    /// Recomputes the energy of all links; the difference from the ledger is added to the residual.
    pub(super) fn recount_energy(&mut self) {
        self.active_set.drift_m.fill(0.0);
        let mut elastic_j = self.update_all_bounds();
        let irregular = self.stencil.irregular.iter();
        elastic_j += irregular
            .map(|&e| upward_link_energies_j(&self.nodes, e).sum::<f64>())
            .sum::<f64>();
        self.balance.ledger.residual_j += elastic_j - self.balance.ledger.elastic_j;
        self.balance.ledger.elastic_j = elastic_j;
    }

    /// Returns the contact reaction of a tool: the gradient of the contact energy.
    fn contact_reaction(&self, index: usize, shape: &PressingShape) -> Reaction {
        let mut reaction = Reaction::default();
        let mut pairs = 0.0;
        for node in self.contact.nodes() {
            let at_m = self.nodes.position_m(node);
            let (depth_m, out) = shape.depth_m(&at_m);
            if depth_m <= 0.0 {
                continue;
            }
            let force_n = -out * (shape.stiffness_npm * depth_m);
            reaction.force_n += force_n;
            let arm_m = shape.nearest_m(&at_m) - shape.from_m;
            reaction.torque_nm += arm_m.cross(&force_n);
            reaction.penetration_m = reaction.penetration_m.max(depth_m);
            reaction.contacts += 1;
            // a pinned node is rigid
            let sum = if self.nodes.pinned(node) {
                f64::INFINITY
            } else {
                f64::from(self.stencil.stiffness_sum_npm[node as usize])
            };
            pairs += shape.stiffness_npm / (1.0 + shape.stiffness_npm / sum);
        }
        self.add_tie_forces(index, &mut reaction);
        let pressed_n = reaction.force_n.norm();
        if pressed_n > 0.0 {
            reaction.normal = reaction.force_n / pressed_n;
            reaction.proxy_offset_m = reaction.normal * reaction.penetration_m;
            reaction.stiffness_npm = pairs;
        }
        reaction
    }
}
