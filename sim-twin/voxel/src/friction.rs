//! Ties of nodes to tools: Coulomb friction and jaws that grasp.
//!
//! Source: ours. Friction is Coulomb's law with a slipping spring (Dahl 1968 without its bend); jaws follow seed-004
//! row S4-24, which ties a node. A node that a rough tool presses is tied to the tool at the point of first contact.
//! The spring acts across the normal and is as stiff as the contact. Force beyond the coefficient times the node's
//! normal force is released by slip.
//!
//! A node between closing jaws is tied in all directions, at its share of the opening, so closing further squeezes
//! it. It slips where it is pulled by more than one spacing, so a jump of the jaws causes no greater force.
//!
//! Smooth jaws hold a node across their axis by at most their coefficient times its squeeze force. The squeeze force
//! is the spring force along the axis times the node's share of half the opening. The grip is half the sum over all
//! grasped nodes, so a pull beyond twice the coefficient times the grip slips (row S4-P12). Where all nodes are
//! pulled alike, as in a lifted fold, every smaller pull holds. This test runs after the nodes followed the tool.
//! Within a tick, fast jaws pull more than the limit on nodes that have not followed yet, and dissipate the excess as
//! a damper does.
//!
//! All energy is stored by position or dissipated, so no closed motion yields energy.
//!
//! Symbols: `r` from the tie point to the node \[m\], `k` spring stiffness \[N/m\].

use crate::VoxelModel;
use crate::axis_box::AxisBox;
use crate::nodes::NONE;
use crate::touch::{PressingShape, TOOLS, TieSpring};
use palpate_twin::Vec3;
use palpate_twin::contact::jaw_axis;
use palpate_twin::twin::{Reaction, Tool};

/// Distance of a tool from a tied node, over the spacing, beyond which the tie is lost.
const LEAP: f64 = 8.0;

/// A node that is tied to a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ToolTie {
    pub(super) node: u32,
    /// Index of the tool.
    pub(super) tool: usize,
    /// From the tool's position to the tie point \[m\], without the node's share of the opening.
    pub(super) arm_m: Vec3,
    /// The node's share of half the jaw opening, -1 to 1; 0 for friction ties.
    pub(super) opening_share: f64,
    /// Direction in which it is free, a unit vector; zero for grasped nodes.
    pub(super) free: Vec3,
}

impl ToolTie {
    /// True if jaws grasp the node.
    pub(super) fn is_grasped(&self) -> bool {
        self.free == Vec3::zeros()
    }

    /// Returns the tie point \[m\].
    pub(super) fn place_m(&self, shape: &PressingShape) -> Vec3 {
        shape.from_m + self.arm_m + shape.jaw_m * self.opening_share
    }

    pub(super) fn spring(&self, shape: &PressingShape) -> TieSpring {
        TieSpring {
            place_m: self.place_m(shape),
            free: self.free,
            stiffness_npm: shape.stiffness_npm,
        }
    }
}

/// Contacts and ties of all tools. Allocated once.
#[derive(Debug, Clone, Default)]
pub(super) struct ContactState {
    pub(super) shapes: [Option<PressingShape>; TOOLS],
    /// Force on every tool at the end of the last step \[N\].
    pub(super) tool_force_n: [Vec3; TOOLS],
    /// State of the jaws of every tool: true if closed.
    pub(super) closed: [bool; TOOLS],
    /// Nodes that tools touch or might touch, by colour.
    pub(super) touched: [Vec<u32>; 2],
    /// Pinned nodes that tools touch or might touch.
    pub(super) touched_pinned: Vec<u32>,
    /// Ties, and the index of every node's tie.
    pub(super) ties: Vec<ToolTie>,
    pub(super) tie_of: Vec<u32>,
    /// Slots that may be near a tool; see [`VoxelModel::find_near`].
    pub(super) near: Vec<u32>,
}

impl ContactState {
    /// Returns the state without contacts.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            touched: std::array::from_fn(|_| Vec::with_capacity(slots)),
            // twice: two tools may touch the same node before it is deduplicated
            touched_pinned: Vec::with_capacity(TOOLS * slots),
            ties: Vec::with_capacity(slots),
            tie_of: vec![NONE; slots],
            near: Vec::with_capacity(slots),
            ..Self::default()
        }
    }

    /// Iterates over nodes that tools touch or might touch, by colour, then the pinned ones.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.touched.iter().chain([&self.touched_pinned]);
        all.flatten().copied()
    }
}

/// Energy of slip.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SlipEnergy {
    /// Dissipated energy \[J\].
    pub(super) lost_j: f64,
    /// Energy that the tool's motion did not put in: the spring slipped before it stretched so far \[J\].
    pub(super) excess_j: f64,
}

impl VoxelModel {
    /// Returns the spring that ties a node, if any.
    pub(super) fn tie_spring(&self, node: u32) -> Option<TieSpring> {
        let tie = self.tie_of(node)?;
        let shape = self.contact.shapes[tie.tool].as_ref()?;
        Some(tie.spring(shape))
    }

    fn tie_of(&self, node: u32) -> Option<&ToolTie> {
        let index = self.contact.tie_of[node as usize];
        self.contact.ties.get(index as usize)
    }

    /// Returns the energy of all ties \[J\].
    pub(super) fn tie_energy_j(&self) -> f64 {
        let ties = self.contact.ties.iter().map(|tie| tie.node);
        let there = ties.filter(|&node| self.nodes.alive(node));
        let of = |node| {
            Some(
                self.tie_spring(node)?
                    .energy_j(&self.nodes.position_m(node)),
            )
        };
        there.filter_map(of).sum()
    }

    /// Removes ties of tools that are absent, of nodes that are removed or pinned, of jaws that opened, and of tools
    /// that jumped away.
    pub(super) fn release_ties(&mut self, tools: &[Tool], shapes: &[Option<PressingShape>; TOOLS]) {
        for (own, now) in self.contact.shapes.iter_mut().zip(shapes) {
            // contact energy of a removed tool is dissipated, not returned to the hand
            *own = own.filter(|_| now.is_some());
        }
        for index in (0..self.contact.ties.len()).rev() {
            let tie = self.contact.ties[index];
            let closed = |tool: &Tool| tool.jaws.is_some_and(|jaws| jaws.closed);
            let at_m = self.nodes.position_m(tie.node);
            let near =
                |shape: &PressingShape| (tie.place_m(shape) - at_m).norm() <= LEAP * self.spacing_m;
            let remaining = shapes[tie.tool].as_ref().is_some_and(near)
                && self.nodes.alive(tie.node)
                && !self.nodes.pinned(tie.node)
                && (!tie.is_grasped() || tools.get(tie.tool).is_some_and(closed));
            if !remaining {
                self.remove_tie(index);
            }
        }
    }

    fn add_tie(&mut self, tie: ToolTie) {
        let at = &mut self.contact.tie_of[tie.node as usize];
        if *at == NONE {
            // no more than slots
            *at = u32::try_from(self.contact.ties.len()).unwrap_or(NONE);
            self.contact.ties.push(tie);
        } else {
            self.contact.ties[*at as usize] = tie;
        }
    }

    fn remove_tie(&mut self, index: usize) {
        let removed = self.contact.ties.swap_remove(index);
        self.contact.tie_of[removed.node as usize] = NONE;
        if let Some(moved) = self.contact.ties.get(index) {
            self.contact.tie_of[moved.node as usize] = u32::try_from(index).unwrap_or(NONE);
        }
    }

    /// Ties the nodes between jaws that close in this step; returns the energy of the friction ties that this
    /// replaces \[J\].
    pub(super) fn close_jaws(&mut self, tools: &[Tool]) -> f64 {
        let before_j = self.tie_energy_j();
        let mut taken = false;
        for index in 0..TOOLS {
            let jaws = tools.get(index).and_then(|tool| tool.jaws);
            let closed = jaws.is_none_or(|jaws| jaws.closed);
            let before = std::mem::replace(&mut self.contact.closed[index], closed);
            let (Some(jaws), Some(shape)) = (jaws, self.contact.shapes[index]) else {
                continue;
            };
            if !closed || before {
                continue;
            }
            taken = true;
            let half_m = 0.5 * jaws.opening_m.max(0.0);
            self.find_near(&AxisBox::around(&shape.from_m, half_m + shape.radius_m));
            for nth in 0..self.contact.near.len() {
                self.grasp_node(index, &shape, half_m, self.contact.near[nth]);
            }
        }
        if taken {
            before_j - self.tie_energy_j()
        } else {
            0.0
        }
    }

    /// Ties a node to jaws with an opening of twice `half_m`, if it is between them.
    fn grasp_node(&mut self, tool: usize, shape: &PressingShape, half_m: f64, node: u32) {
        if !self.nodes.alive(node) || self.nodes.pinned(node) {
            return;
        }
        let from_tool = self.nodes.position_m(node) - shape.from_m;
        let axis = jaw_axis(&shape.shaft_m);
        let along_m = from_tool.dot(&axis);
        let between = along_m.clamp(-half_m, half_m);
        if (from_tool - axis * between).norm() > shape.radius_m {
            return;
        }
        if self.tie_of(node).is_some_and(ToolTie::is_grasped) {
            return;
        }
        let share = if half_m > 1e-9 { between / half_m } else { 0.0 };
        self.exclude_from_runs(node);
        self.add_tie(ToolTie {
            node,
            tool,
            arm_m: from_tool - shape.jaw_m * share,
            opening_share: share,
            free: Vec3::zeros(),
        });
    }

    /// Rotates friction ties across the present normal of their nodes, along which they are free; returns the
    /// dissipated energy \[J\].
    pub(super) fn realign_ties(&mut self) -> f64 {
        let mut lost_j = 0.0;
        for index in 0..self.contact.ties.len() {
            let tie = self.contact.ties[index];
            let Some(shape) = self.contact.shapes[tie.tool].filter(|_| !tie.is_grasped()) else {
                continue;
            };
            let at_m = self.nodes.position_m(tie.node);
            let (_, out) = shape.depth_m(&at_m);
            let before = tie.spring(&shape).stretch_m(&at_m);
            let across = before - out * out.dot(&before);
            self.contact.ties[index].arm_m = at_m - shape.from_m - across;
            self.contact.ties[index].free = out;
            lost_j += 0.5 * shape.stiffness_npm * (before.norm_squared() - across.norm_squared());
        }
        lost_j
    }

    /// Slips friction ties beyond Coulomb's cone, and grasped ties beyond one spacing. If nodes have `followed` the
    /// tools, smooth jaws also slip beyond their cone: a node that did not follow yet has not slipped.
    pub(super) fn slip_ties(&mut self, followed: bool) -> SlipEnergy {
        let mut slip = SlipEnergy::default();
        for index in 0..self.contact.ties.len() {
            let tie = self.contact.ties[index];
            let Some(shape) = self.contact.shapes[tie.tool] else {
                continue;
            };
            let at_m = self.nodes.position_m(tie.node);
            let mut r = tie.spring(&shape).stretch_m(&at_m);
            let k = shape.stiffness_npm;
            if !tie.is_grasped() {
                let limit_m = self.params.friction * shape.depth_m(&at_m).0.max(0.0);
                self.slip_tie(index, k, r, limit_m, &mut slip);
                continue;
            }
            if let Some(friction) = self.params.jaw_friction.filter(|_| followed) {
                let axis = jaw_axis(&shape.shaft_m);
                let along = axis * r.dot(&axis);
                // squeeze force as counted by the grip; jaws that pull apart hold nothing by friction
                let squeeze_m = (tie.opening_share * r.dot(&axis)).max(0.0);
                let (across, limit_m) = (r - along, friction * squeeze_m);
                r = along + self.slip_tie(index, k, across, limit_m, &mut slip);
            }
            self.slip_tie(index, k, r, self.spacing_m, &mut slip);
        }
        slip
    }

    /// Slips a spring of `k` \[N/m\] that is stretched by `r`, down to the limit; returns the remaining stretch
    /// \[m\].
    fn slip_tie(
        &mut self,
        index: usize,
        k: f64,
        r: Vec3,
        limit_m: f64,
        slip: &mut SlipEnergy,
    ) -> Vec3 {
        let length_m = r.norm();
        if length_m <= limit_m {
            return r;
        }
        let remaining = r * (limit_m / length_m);
        self.contact.ties[index].arm_m += r - remaining;
        let excess_m = length_m - limit_m;
        slip.lost_j += k * excess_m * limit_m;
        slip.excess_j += 0.5 * k * excess_m * excess_m;
        remaining
    }

    /// Adds ties of nodes that rough tools press, and removes those of nodes that they left; returns the energy of
    /// the latter \[J\].
    pub(super) fn update_friction_ties(&mut self) -> f64 {
        if self.params.friction <= 0.0 {
            return 0.0;
        }
        let mut lost_j = 0.0;
        for index in (0..self.contact.ties.len()).rev() {
            let tie = self.contact.ties[index];
            let at_m = self.nodes.position_m(tie.node);
            let Some(shape) = self.contact.shapes[tie.tool].filter(|_| !tie.is_grasped()) else {
                continue;
            };
            if shape.depth_m(&at_m).0 <= 0.0 {
                lost_j += tie.spring(&shape).energy_j(&at_m);
                self.remove_tie(index);
            }
        }
        for colour in 0..2 {
            for nth in 0..self.contact.touched[colour].len() {
                let node = self.contact.touched[colour][nth];
                if self.contact.tie_of[node as usize] != NONE {
                    continue;
                }
                let at_m = self.nodes.position_m(node);
                let contact = (0..TOOLS).find_map(|tool| {
                    let shape = self.contact.shapes[tool]?;
                    let (depth_m, out) = shape.depth_m(&at_m);
                    (depth_m > 0.0).then_some((tool, shape, out))
                });
                if let Some((tool, shape, free)) = contact {
                    self.add_tie(ToolTie {
                        node,
                        tool,
                        arm_m: at_m - shape.from_m,
                        opening_share: 0.0,
                        free,
                    });
                }
            }
        }
        lost_j
    }

    /// Adds the forces of ties to the reaction of a tool.
    pub(super) fn add_tie_forces(&self, index: usize, reaction: &mut Reaction) {
        let Some(shape) = &self.contact.shapes[index] else {
            return;
        };
        let axis = jaw_axis(&shape.shaft_m);
        let ties = self.contact.ties.iter();
        for tie in ties.filter(|tie| tie.tool == index) {
            let at_m = self.nodes.position_m(tie.node);
            let spring = tie.spring(shape);
            let force_n = spring.stretch_m(&at_m) * shape.stiffness_npm;
            reaction.force_n += force_n;
            reaction.torque_nm += (spring.place_m - shape.from_m).cross(&force_n);
            if tie.is_grasped() {
                reaction.grip_force_n += 0.5 * tie.opening_share * force_n.dot(&axis);
                reaction.contacts += 1;
            }
        }
    }
}
