//! One step: contact, then motion, then the forces of the new state, then the books.
//!
//! Source: seed-004 3.3 with its corrections (rows S4-11 to S4-14) and 3.14 (row S4-20). Forces
//! are kept with the state they belong to, so that energies reported after a step belong to it.
//!
//! Symbols: `s` vector from end a to end b \[m\], `w` its rate \[m/s\], `h` sub-step \[s\].

use crate::idms::Idms;
use crate::idms::build::Model;
use crate::idms::law::Law;
use crate::idms::params::Scheme;
use crate::idms::plain::Links;
use crate::idms::state::{TOOLS, ToolState};
use palpate_twin::Vec3;
use palpate_twin::contact;
use palpate_twin::twin::{Reaction, Tool};

/// Squared length below which a link has no direction \[m^2\].
pub(super) const LENGTH_FLOOR: f64 = 1e-24;
/// Longest step that is taken at all \[s\]; energies stay finite below it whatever happens.
const DT_MAX_S: f64 = 1.0;
/// Speed bound over the displacement bound \[1/s\]: the whole range in a millisecond.
pub(super) const SPEED_HZ: f64 = 1e3;

/// Sums of one pass over nodes and links.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    pub(super) kinetic_j: f64,
    pub(super) elastic_j: f64,
    /// Power into dashpots and drag \[W\].
    pub(super) power_w: f64,
    /// Power of outer forces on nodes \[W\].
    pub(super) outer_w: f64,
    /// Largest squared speed at which a node moved.
    pub(super) speed2: f64,
}

/// What the printed scheme does to its filtered rates in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lag {
    /// Take the new lengths in: factor `lambda`, and `lambda / h`.
    Take(f64, f64),
    /// Use the rates as they are.
    Hold,
}

impl Idms {
    /// The body of [`palpate_twin::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        let before = self.state.ledger;
        let tools = self.admit(tools);
        self.pay_tools(&tools);
        let substeps = self.model.params.substeps;
        let h = dt_s / f64::from(substeps);
        self.open_window(&tools);
        let mut sums = [Reaction::default(); TOOLS];
        for _ in 0..substeps {
            self.substep(&tools, h, 1.0 / f64::from(substeps), &mut sums);
        }
        for (index, sum) in sums.iter().enumerate() {
            self.state.tools[index].force_n = sum.force_n;
            self.state.tools[index].grip_n = sum.grip_n;
            if let Some(slot) = reactions.get_mut(index) {
                *slot = *sum;
            }
        }
        self.relax(dt_s);
        self.settle();
        self.state.steps = self.state.steps.wrapping_add(1);
        let books = &mut self.state.ledger;
        let gained = books.stored_j() - before.stored_j();
        let explained = (books.tool_work_j - before.tool_work_j) + (books.edit_j - before.edit_j)
            - (books.dissipated_j - before.dissipated_j);
        books.residual_j = before.residual_j + gained - explained;
    }

    /// The tools that can touch, with their stiffness limited to what the gate was run with.
    fn admit(&mut self, tools: &[Tool]) -> [Option<Tool>; TOOLS] {
        let mut admitted = [None; TOOLS];
        for (index, slot) in admitted.iter_mut().enumerate() {
            let Some(tool) = tools.get(index).filter(|tool| contact::usable(tool)) else {
                self.dismiss(index);
                continue;
            };
            let stiffest = self.model.params.tool_stiffness_npm;
            *slot = Some(Tool {
                stiffness_npm: tool.stiffness_npm.min(stiffest),
                ..*tool
            });
        }
        admitted
    }

    /// A tool that is gone leaves nothing behind; its springs' energy is lost.
    fn dismiss(&mut self, index: usize) {
        let tool = &mut self.state.tools[index];
        if tool.seen {
            self.state.ledger.dissipated_j += tool.energy_j.iter().sum::<f64>();
            *tool = ToolState::NEW;
            self.sum_contact();
        }
    }

    /// Book the work of the held forces over the motion since the last step (seed-004 3.14).
    fn pay_tools(&mut self, tools: &[Option<Tool>; TOOLS]) {
        for (state, tool) in self.state.tools.iter().zip(tools) {
            let Some(tool) = tool.as_ref().filter(|_| state.seen) else {
                continue;
            };
            let moved_m = tool.position_m - state.position_m;
            let mut work_j = -state.force_n.dot(&moved_m);
            if let Some(jaws) = tool.jaws {
                work_j -= state.grip_n * (jaws.opening_m - state.opening_m);
            }
            self.state.ledger.tool_work_j += work_j;
        }
    }

    /// Total of the tools' springs into the ledger.
    pub(super) fn sum_contact(&mut self) {
        let all = self.state.tools.iter().flat_map(|tool| tool.energy_j);
        self.state.ledger.contact_j = all.sum();
    }

    fn substep(
        &mut self,
        tools: &[Option<Tool>; TOOLS],
        h: f64,
        share: f64,
        sums: &mut [Reaction; TOOLS],
    ) {
        for (index, tool) in tools.iter().enumerate() {
            if let Some(tool) = tool {
                let reaction = self.touch(index, tool, h);
                let sum = &mut sums[index];
                *sum = Reaction {
                    force_n: sum.force_n + share * reaction.force_n,
                    grip_n: sum.grip_n + share * reaction.grip_n,
                    ..reaction
                };
            }
        }
        self.sum_contact();
        if self.scratch.stale {
            self.rebuild();
        }
        if self.scratch.active.is_empty() {
            return;
        }
        let old_w = self.state.power_w;
        let mut flow = if self.model.plain() {
            self.move_plain(h)
        } else {
            self.move_nodes(h)
        };
        let lag = match self.model.params.scheme {
            Scheme::Printed { lambda, .. } => Lag::Take(lambda, lambda / h),
            Scheme::SemiImplicit => Lag::Hold,
        };
        self.pull_links(lag, &mut flow);
        self.state.power_w = flow.power_w;
        self.state.travel_m += h * flow.speed2.sqrt();
        let books = &mut self.state.ledger;
        books.kinetic_j = flow.kinetic_j;
        books.elastic_j = self.state.asleep_j + flow.elastic_j;
        // Nodes moved out of, or into, the tool since the contact energy was taken.
        books.contact_j = (books.contact_j - h * flow.outer_w).max(0.0);
        books.dissipated_j += 0.5 * h * (old_w + flow.power_w);
        self.spread_waking();
    }

    /// Move every active node, and begin its new internal force with home, gravity and drag.
    fn move_nodes(&mut self, h: f64) -> Flow {
        let Self {
            model,
            state,
            scratch,
            ..
        } = self;
        let params = &model.params;
        let explicit = matches!(params.scheme, Scheme::Printed { .. });
        let far2 = params.displacement_max_m * params.displacement_max_m;
        let fast2 = far2 * SPEED_HZ * SPEED_HZ;
        let (stir2, stir_speed2) = model.stirring();
        let mut flow = Flow::default();
        // Cut to one length, so that each node is checked once.
        let nodes = model.rest_m.len();
        let (xs, vs) = (&mut state.x_m[..nodes], &mut state.v_mps[..nodes]);
        let (fs, outers) = (&mut state.f_n[..nodes], &mut scratch.outer_n[..nodes]);
        let (shifts, home_k) = (&state.home_shift_m[..nodes], &state.home_k[..nodes]);
        let (rests, inverse_mass) = (&model.rest_m[..nodes], &model.inverse_mass[..nodes]);
        for &node in &scratch.active {
            let i = node as usize;
            let outer = outers[i];
            let old = vs[i];
            let mut v = old + (h * inverse_mass[i]) * (fs[i] + outer);
            let moving = if explicit { old } else { v };
            let mut x = xs[i] + h * moving;
            let rest = rests[i];
            let mut u = x - rest;
            // Written so that NaN fails it too.
            if !(u.norm_squared() <= far2 && v.norm_squared() <= fast2) {
                (x, v, u) = (rest, Vec3::zeros(), Vec3::zeros());
                state.escapes += 1;
            }
            xs[i] = x;
            vs[i] = v;
            outers[i] = Vec3::zeros();
            flow.outer_w += outer.dot(&moving);
            let v2 = v.norm_squared();
            flow.kinetic_j += 0.5 * model.mass_kg[i] * v2;
            flow.speed2 = flow.speed2.max(moving.norm_squared());
            if scratch.border[i] && (u.norm_squared() > stir2 || v2 > stir_speed2) {
                scratch.stirred.push(node);
            }
            let shifted = u - shifts[i];
            let home = Home { i, u, shifted, v };
            fs[i] = home.force(model, home_k[i], &mut flow);
        }
        if let Scheme::Printed {
            lambda,
            radial_homes: true,
        } = params.scheme
        {
            self.pull_radial_homes(Lag::Take(lambda, lambda / h), &mut flow);
        }
        flow
    }

    /// Printed home dashpots: on the filtered rate of the length, along it (seed-004 3.3).
    fn pull_radial_homes(&mut self, lag: Lag, flow: &mut Flow) {
        let state = &mut self.state;
        let first = self.model.springs.len();
        for &node in &self.scratch.active {
            let i = node as usize;
            let s = self.model.rest_m[i] + state.home_shift_m[i] - state.x_m[i];
            let length_m = s.norm();
            let rate = filter(state, first + i, length_m, lag);
            if length_m > 0.0 {
                let b = self.model.home_b[i];
                state.f_n[i] += b * rate / length_m * s;
                flow.power_w += b * rate * rate;
            }
        }
    }

    /// Add the forces of every active link to the nodes at its ends.
    fn pull_links(&mut self, lag: Lag, flow: &mut Flow) {
        for &ghost in &self.scratch.ghosts {
            self.state.f_n[ghost as usize] = Vec3::zeros();
        }
        let law = self.model.params.law;
        let printed = matches!(self.model.params.scheme, Scheme::Printed { .. });
        if law == Law::Linear && !printed {
            let (state, scratch) = (&mut self.state, &self.scratch);
            let runs = scratch
                .active
                .iter()
                .copied()
                .zip(scratch.ends.iter().copied());
            let links = Links {
                runs,
                hot: &scratch.hot,
            };
            links.pull_linear(&state.x_m, &state.v_mps, &mut state.f_n, flow);
        } else {
            self.pull_curved(law, lag, flow);
        }
    }

    /// Links of a non-linear law, and those of the printed scheme, whose dashpots see filtered backward differences
    /// (Eq 4.3 to 4.11).
    fn pull_curved(&mut self, law: Law, lag: Lag, flow: &mut Flow) {
        let printed = matches!(self.model.params.scheme, Scheme::Printed { .. });
        let state = &mut self.state;
        for hot in &self.scratch.hot {
            let (a, b) = (hot.a as usize, hot.b as usize);
            let s = state.x_m[b] - state.x_m[a];
            let length_m = s.norm_squared().max(LENGTH_FLOOR).sqrt();
            let rate = if printed {
                filter(state, hot.index as usize, length_m, lag)
            } else {
                s.dot(&(state.v_mps[b] - state.v_mps[a])) / length_m
            };
            let extension_m = length_m - hot.length_m;
            let reference_m = self.model.springs[hot.index as usize].length_m;
            let pull = law.pull(extension_m, reference_m);
            let force_n = hot.k * pull.secant * extension_m + hot.d * rate;
            flow.elastic_j += hot.k * pull.energy;
            flow.power_w += hot.d * rate * rate;
            let force = force_n / length_m * s;
            state.f_n[a] += force;
            state.f_n[b] -= force;
        }
    }

    /// Recompute the internal forces of the active set without moving anything.
    pub(super) fn refresh_forces(&mut self) -> Flow {
        let mut flow = Flow::default();
        let (model, state) = (&self.model, &mut self.state);
        for &node in &self.scratch.active {
            let i = node as usize;
            let u = state.x_m[i] - model.rest_m[i];
            let v = state.v_mps[i];
            flow.kinetic_j += 0.5 * model.mass_kg[i] * v.norm_squared();
            let shifted = u - state.home_shift_m[i];
            let home = Home { i, u, shifted, v };
            state.f_n[i] = home.force(model, state.home_k[i], &mut flow);
        }
        if let Scheme::Printed {
            radial_homes: true, ..
        } = model.params.scheme
        {
            self.pull_radial_homes(Lag::Hold, &mut flow);
        }
        self.pull_links(Lag::Hold, &mut flow);
        flow
    }
}

/// One node's own springs: home, gravity and drag.
struct Home {
    i: usize,
    /// Displacement from rest \[m\].
    u: Vec3,
    /// Displacement from the home spring's rest point \[m\].
    shifted: Vec3,
    v: Vec3,
}

impl Home {
    #[inline]
    fn force(&self, model: &Model, home_k: f64, flow: &mut Flow) -> Vec3 {
        let params = &model.params;
        let (i, v2) = (self.i, self.v.norm_squared());
        let mass_kg = model.mass_kg[i];
        let (secant, energy) = if params.law == Law::Linear {
            (home_k, 0.5 * home_k * self.shifted.norm_squared())
        } else {
            let pull = params.law.pull(self.shifted.norm(), model.home_length_m[i]);
            (home_k * pull.secant, home_k * pull.energy)
        };
        let radial = matches!(
            params.scheme,
            Scheme::Printed {
                radial_homes: true,
                ..
            }
        );
        let damping = params.drag_hz * mass_kg + if radial { 0.0 } else { model.home_b[i] };
        flow.elastic_j += energy - mass_kg * params.gravity_mps2.dot(&self.u);
        flow.power_w += damping * v2;
        mass_kg * params.gravity_mps2 - secant * self.shifted - damping * self.v
    }
}

/// Filtered backward difference of one length (Eq 4.4): `l_dot = lambda dl/h + (1-lambda) l_dot`.
fn filter(state: &mut super::state::State, slot: usize, length_m: f64, lag: Lag) -> f64 {
    if let Lag::Take(lambda, gain_hz) = lag {
        let newest = gain_hz * (length_m - state.lengths.last_m[slot]);
        state.lengths.rate_mps[slot] = newest + (1.0 - lambda) * state.lengths.rate_mps[slot];
        state.lengths.last_m[slot] = length_m;
    }
    state.lengths.rate_mps[slot]
}
