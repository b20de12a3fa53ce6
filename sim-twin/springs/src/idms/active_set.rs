//! Active set: the nodes that are stepped, their deactivation and activation, and the haptic window.
//!
//! Source: ours after W14 and seed-004 3.8 (row S4-21). A node becomes inactive only at rest, and active when a tool
//! touches it or a neighbour moves. With a window, neighbours activate only nodes near a tool, so that the cost stays
//! bounded and no deformation freezes. The window of the source, selected by `at_once`, freezes nodes as soon as they
//! are outside.

use crate::idms::Idms;
use crate::idms::build::Model;
use crate::idms::params::HapticWindow;
use crate::idms::state::{ActiveSpring, ToolState};
use palpate_twin::Vec3;
use palpate_twin::contact::NeighbourList;

/// Steps between two searches for nodes at rest.
const SETTLE_STEPS: u64 = 16;
/// Squared displacement from rest \[m^2\] and speed \[m^2/s^2\] above which a node activates its neighbours.
pub(super) const WAKE_DISPLACEMENT_M2: f64 = 5e-6 * 5e-6;
pub(super) const WAKE_SPEED_M2PS2: f64 = 1e-4 * 1e-4;
/// Share of the activation threshold below which a node is at rest.
const REST_RATIO: f64 = 0.5;

impl Model {
    /// True if nodes may become inactive at all.
    pub(super) fn may_sleep(&self) -> bool {
        self.params.sleeps && self.params.gravity_mps2 == Vec3::zeros()
    }
}

impl Idms {
    /// Adds `node` to the active set from the next sub-step on.
    pub(super) fn wake(&mut self, node: usize) {
        if !self.state.awake[node] && self.model.inverse_mass[node] > 0.0 {
            self.state.awake[node] = true;
            self.scratch.woken.push(node as u32);
            self.scratch.stale = true;
        }
    }

    /// True if a node is within the window of a tool.
    fn in_window(&self, window: &HapticWindow, node: usize) -> bool {
        let near2 = window.radius_m * window.radius_m;
        let x_m = self.state.x_m[node];
        let near =
            |tool: &ToolState| tool.present && (x_m - tool.position_m).norm_squared() < near2;
        self.state.tools.iter().any(near)
    }

    /// Applies the window of the source, `at_once`: nodes inside are active, all others freeze in place.
    pub(super) fn apply_instant_window(&mut self) {
        let Some(window) = self.model.params.window.filter(|window| window.at_once) else {
            return;
        };
        for node in 0..self.state.awake.len() {
            if self.model.inverse_mass[node] == 0.0 {
                continue;
            }
            match (self.in_window(&window, node), self.state.awake[node]) {
                (true, false) => self.wake(node),
                (false, true) => self.sleep(node),
                _ => {}
            }
        }
    }

    /// Deactivates a node in place; its remaining kinetic energy counts as dissipated.
    pub(super) fn sleep(&mut self, node: usize) {
        let v_mps = &mut self.state.v_mps[node];
        let lost_j = 0.5 * self.model.mass_kg[node] * v_mps.norm_squared();
        *v_mps = Vec3::zeros();
        self.state.awake[node] = false;
        self.state.ledger.kinetic_j = (self.state.ledger.kinetic_j - lost_j).max(0.0);
        self.state.ledger.dissipated_j += lost_j;
        self.scratch.stale = true;
    }

    /// Activates the inactive neighbours of nodes that moved.
    pub(super) fn wake_neighbours(&mut self) {
        while let Some(node) = self.scratch.disturbed.pop() {
            let node = node as usize;
            for index in 0..self.model.node_springs.of(node).len() {
                let spring = self.model.node_springs.of(node)[index] as usize;
                let other = self.model.springs[spring].other_end(node);
                let near = |window| self.in_window(&window, other);
                if !self.state.awake[other] && self.model.params.window.is_none_or(near) {
                    self.wake(other);
                }
            }
        }
    }

    /// Deactivates nodes at rest whose neighbours are at rest.
    pub(super) fn settle(&mut self) {
        let at_once = self
            .model
            .params
            .window
            .is_some_and(|window| window.at_once);
        if !self.model.may_sleep() || at_once || !self.state.steps.is_multiple_of(SETTLE_STEPS) {
            return;
        }
        if self.scratch.stale {
            self.rebuild();
        }
        let [near2, slow2] = [WAKE_DISPLACEMENT_M2, WAKE_SPEED_M2PS2]
            .map(|threshold2| REST_RATIO * REST_RATIO * threshold2);
        for &node in &self.scratch.active {
            let i = node as usize;
            let u2 = (self.state.x_m[i] - self.model.rest_m[i]).norm_squared();
            let v2 = self.state.v_mps[i].norm_squared();
            self.scratch.at_rest[i] = u2 < near2 && v2 < slow2;
        }
        for index in 0..self.scratch.active.len() {
            let i = self.scratch.active[index] as usize;
            let settled = |&spring: &u32| {
                let other = self.model.springs[spring as usize].other_end(i);
                // a neighbour that became inactive in this pass was at rest too
                !self.state.awake[other] || self.scratch.at_rest[other]
            };
            if self.scratch.at_rest[i] && self.model.node_springs.of(i).iter().all(settled) {
                self.sleep(i);
            }
        }
    }

    /// Rebuilds the lists of the active set, and updates forces and energies.
    ///
    /// The cost depends on the active set, not on the mesh. The elastic energy does not change here: the
    /// part outside the active springs belongs to the inactive ones.
    pub(super) fn rebuild(&mut self) {
        self.rebuild_lists();
        let sums = self.refresh_forces();
        self.state.power_w = sums.power_w;
        self.state.sleeping_energy_j = self.state.ledger.elastic_j - sums.elastic_j;
    }

    /// Rebuilds the lists only.
    fn rebuild_lists(&mut self) {
        let scratch = &mut self.scratch;
        let (state, model) = (&self.state, &self.model);
        scratch.stale = false;
        scratch.active.append(&mut scratch.woken);
        scratch.active.retain(|&node| state.awake[node as usize]);
        scratch.active.sort_unstable();
        scratch.active.dedup();
        scratch.active_springs.clear();
        scratch.ends.clear();
        scratch.ghosts.clear();
        for &node in &scratch.active {
            let i = node as usize;
            scratch.border[i] = false;
            for &index in model.node_springs.of(i) {
                let spring = &model.springs[index as usize];
                let other = spring.other_end(i);
                if state.awake[other] && other < i {
                    continue;
                }
                if !state.awake[other] {
                    scratch.ghosts.push(other as u32);
                }
                scratch.active_springs.push(ActiveSpring {
                    a: node,
                    b: other as u32,
                    k: spring.stiffness_npm,
                    d: spring.damping_nspm,
                    length_m: spring.length_m,
                    index,
                });
            }
            scratch.ends.push(scratch.active_springs.len() as u32);
        }
        for &node in &scratch.active {
            let may_wake = |&index: &u32| {
                let other = model.springs[index as usize].other_end(node as usize);
                !state.awake[other] && model.inverse_mass[other] > 0.0
            };
            scratch.border[node as usize] =
                model.node_springs.of(node as usize).iter().any(may_wake);
        }
    }

    /// Rebuilds the scratch storage for a restored state; forces are part of the state.
    pub(super) fn reload(&mut self) {
        let nodes = self.state.awake.len();
        for tool in &mut self.state.tools {
            tool.grasped = tool.grasped.filter(|&node| (node as usize) < nodes);
        }
        let scratch = &mut self.scratch;
        scratch.near.iter_mut().for_each(NeighbourList::invalidate);
        scratch.outer_n.fill(Vec3::zeros());
        scratch.disturbed.clear();
        scratch.woken.clear();
        scratch.active.clear();
        let active = (0..nodes as u32).filter(|&node| self.state.awake[node as usize]);
        scratch.active.extend(active);
        self.rebuild_lists();
    }
}
