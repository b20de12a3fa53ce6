//! Who is stepped: the active set, its sleeping and waking, and the haptic window.
//!
//! Source: ours after W14 and seed-004 3.8 (row S4-21). A node sleeps only where it has come to
//! rest, and wakes when a tool touches it or a neighbour moves; with a window, only nodes near a
//! tool may be woken by neighbours, so that cost stays bounded and nothing freezes deformed. The
//! window as printed freezes at once.

use crate::idms::Idms;
use crate::idms::build::Model;
use crate::idms::params::Window;
use crate::idms::state::{Hot, TOOLS};
use palpate_twin::Vec3;
use palpate_twin::twin::Tool;

/// Steps between two looks for nodes that have come to rest.
const SETTLE_STEPS: u64 = 16;
/// Share of the waking threshold below which a node is at rest.
const REST_RATIO: f64 = 0.5;

impl Model {
    /// Whether nodes may sleep at all.
    pub(super) fn may_sleep(&self) -> bool {
        self.params.rest.is_some() && self.params.gravity_mps2 == Vec3::zeros()
    }

    /// Squared displacement and speed beyond which a node wakes its neighbours.
    pub(super) fn stirring(&self) -> (f64, f64) {
        self.params.rest.map_or((0.0, 0.0), |rest| {
            (
                rest.displacement_m * rest.displacement_m,
                rest.speed_mps * rest.speed_mps,
            )
        })
    }
}

impl Idms {
    /// Remember that `node` takes part from the next sub-step on.
    pub(super) fn wake(&mut self, node: usize) {
        if !self.state.awake[node] && self.model.inverse_mass[node] > 0.0 {
            self.state.awake[node] = true;
            self.scratch.woken.push(node as u32);
            self.scratch.stale = true;
        }
    }

    /// Whether a tool's window, if there are windows, holds a node.
    fn in_window(&self, window: &Window, node: usize) -> bool {
        let near2 = window.radius_m * window.radius_m;
        let x_m = self.state.x_m[node];
        let near = |tool: &super::state::ToolState| {
            tool.seen && (x_m - tool.position_m).norm_squared() < near2
        };
        self.state.tools.iter().any(near)
    }

    /// The printed window: local nodes take part, all others freeze where they are.
    pub(super) fn open_window(&mut self, tools: &[Option<Tool>; TOOLS]) {
        for (state, tool) in self.state.tools.iter_mut().zip(tools) {
            if let Some(tool) = tool {
                let known = state.seen;
                state.came_from_m = if known {
                    state.position_m
                } else {
                    tool.position_m
                };
                state.seen = true;
                state.position_m = tool.position_m;
            }
        }
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

    /// Stop stepping a node where it is; what speed it has left is lost.
    fn sleep(&mut self, node: usize) {
        let v_mps = &mut self.state.v_mps[node];
        let lost_j = 0.5 * self.model.mass_kg[node] * v_mps.norm_squared();
        *v_mps = Vec3::zeros();
        self.state.awake[node] = false;
        self.state.ledger.kinetic_j = (self.state.ledger.kinetic_j - lost_j).max(0.0);
        self.state.ledger.dissipated_j += lost_j;
        self.scratch.stale = true;
    }

    /// Wake the sleeping neighbours of nodes that moved.
    pub(super) fn spread_waking(&mut self) {
        while let Some(node) = self.scratch.stirred.pop() {
            let node = node as usize;
            let model = std::sync::Arc::clone(&self.model);
            for &spring in model.star.of(node) {
                let other = model.springs[spring as usize].other(node);
                if self.state.awake[other] || !self.state.spring_alive[spring as usize] {
                    continue;
                }
                if model
                    .params
                    .window
                    .is_none_or(|window| self.in_window(&window, other))
                {
                    self.wake(other);
                }
            }
        }
    }

    /// Let nodes sleep that are at rest among neighbours at rest.
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
        let (stir2, stir_speed2) = self.model.stirring();
        let (near2, slow2) = (
            REST_RATIO * REST_RATIO * stir2,
            REST_RATIO * REST_RATIO * stir_speed2,
        );
        for &node in &self.scratch.active {
            let i = node as usize;
            let u2 = (self.state.x_m[i] - self.model.rest_m[i]).norm_squared();
            let v2 = self.state.v_mps[i].norm_squared();
            self.scratch.quiet[i] = u2 < near2 && v2 < slow2;
        }
        for index in 0..self.scratch.active.len() {
            let i = self.scratch.active[index] as usize;
            let calm = |&spring: &u32| {
                let other = self.model.springs[spring as usize].other(i);
                // A neighbour that fell asleep in this very pass was quiet too.
                !self.state.awake[other] || self.scratch.quiet[other]
            };
            if self.scratch.quiet[i] && self.model.star.of(i).iter().all(calm) {
                self.sleep(i);
            }
        }
    }

    /// Make the lists of the active set anew and bring forces and energies up to date.
    ///
    /// The cost follows the active set, not the mesh. Energy does not change here: what the
    /// active springs do not hold belongs to the sleeping ones.
    pub(super) fn rebuild(&mut self) {
        self.relist();
        let flow = self.refresh_forces();
        self.state.power_w = flow.power_w;
        self.state.asleep_j = self.state.ledger.elastic_j - flow.elastic_j;
    }

    /// Lists only.
    fn relist(&mut self) {
        let scratch = &mut self.scratch;
        let (state, model) = (&self.state, &self.model);
        scratch.stale = false;
        scratch.active.append(&mut scratch.woken);
        scratch.active.retain(|&node| state.awake[node as usize]);
        scratch.active.sort_unstable();
        scratch.active.dedup();
        scratch.hot.clear();
        scratch.ends.clear();
        scratch.ghosts.clear();
        for &node in &scratch.active {
            let i = node as usize;
            scratch.border[i] = false;
            for &index in model.star.of(i) {
                if !state.spring_alive[index as usize] {
                    continue;
                }
                let spring = &model.springs[index as usize];
                let other = spring.other(i);
                if state.awake[other] && other < i {
                    continue;
                }
                if !state.awake[other] {
                    scratch.ghosts.push(other as u32);
                }
                scratch.hot.push(Hot {
                    a: node,
                    b: other as u32,
                    k: state.spring_k[index as usize],
                    d: spring.damping_nspm,
                    length_m: spring.length_m + state.spring_shift_m[index as usize],
                    index,
                });
            }
            scratch.ends.push(scratch.hot.len() as u32);
        }
        for &node in &scratch.active {
            let sleeper = |&index: &u32| {
                let other = model.springs[index as usize].other(node as usize);
                !state.awake[other] && model.inverse_mass[other] > 0.0
            };
            scratch.border[node as usize] = model.star.of(node as usize).iter().any(sleeper);
        }
    }

    /// Make scratch fit a state that came from elsewhere; forces are part of the state.
    pub(super) fn reload(&mut self) {
        let nodes = self.state.awake.len();
        for tool in &mut self.state.tools {
            tool.grasped = tool.grasped.filter(|&node| (node as usize) < nodes);
        }
        let scratch = &mut self.scratch;
        scratch
            .near
            .iter_mut()
            .for_each(palpate_twin::contact::Near::forget);
        scratch.outer_n.fill(Vec3::zeros());
        scratch.stirred.clear();
        scratch.woken.clear();
        scratch.active.clear();
        let awake = (0..nodes as u32).filter(|&node| self.state.awake[node as usize]);
        scratch.active.extend(awake);
        self.reload_faces();
        self.relist();
    }

    /// The list of faces that still exist.
    pub(super) fn reload_faces(&mut self) {
        let alive = &self.state.face_alive;
        self.scratch.faces.clear();
        let faces = self
            .model
            .faces
            .iter()
            .zip(alive)
            .filter(|&(_, &alive)| alive);
        self.scratch.faces.extend(faces.map(|(&face, _)| face));
    }
}
