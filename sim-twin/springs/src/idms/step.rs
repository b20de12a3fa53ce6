//! One step: contact, then motion, then the forces of the new state, then the energy balance.
//!
//! Source: seed-004 3.3 with its corrections (rows S4-11 to S4-14) and 3.14 (row S4-20). Forces
//! are kept with the state they belong to, so that energies reported after a step belong to it.
//!
//! Symbols: `s` vector from end a to end b \[m\], `w` its rate \[m/s\], `h` sub-step \[s\].

use crate::idms::Idms;
use crate::idms::active_set::{WAKE_DISPLACEMENT_M2, WAKE_SPEED_M2PS2};
use crate::idms::build::Model;
use crate::idms::law::SpringLaw;
use crate::idms::params::TimeIntegration;
use crate::idms::state::{Lengths, TOOLS, ToolState};
use palpate_twin::Vec3;
use palpate_twin::contact;
use palpate_twin::twin::{Reaction, Tool};

/// Squared length below which a link has no direction \[m^2\].
const LENGTH_FLOOR: f64 = 1e-24;
/// Longest step that is accepted \[s\]; below it energies stay finite for any input.
const DT_MAX_S: f64 = 1.0;
/// Speed bound over the displacement bound \[1/s\]: the whole range in a millisecond.
const SPEED_BOUND_PER_S: f64 = 1e3;

/// Sums of one pass over nodes and links.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassSums {
    pub(super) kinetic_j: f64,
    pub(super) elastic_j: f64,
    /// Power into dashpots and drag \[W\].
    pub(super) power_w: f64,
    /// Power of external forces on nodes \[W\].
    pub(super) outer_w: f64,
    /// Largest squared speed at which a node moved.
    pub(super) speed2: f64,
}

/// Treatment of the filtered rates of the filtered Euler scheme in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RateFilter {
    /// Updates them with the new lengths: factor `lambda`, and `lambda / h`.
    Update(f64, f64),
    /// Uses the rates unchanged.
    Reuse,
}

impl Idms {
    /// Advances by one step; body of [`palpate_twin::Tissue::step`].
    pub(super) fn advance(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        if !(dt_s > 0.0 && dt_s <= DT_MAX_S) {
            return;
        }
        let (before, escapes) = (self.state.ledger, self.state.escapes);
        let tools = self.admit_tools(tools);
        self.charge_tool_work(&tools);
        self.apply_instant_window();
        let substeps = self.model.params.substeps;
        let h = dt_s / f64::from(substeps);
        let mut sums = [Reaction::default(); TOOLS];
        for _ in 0..substeps {
            self.substep(&tools, h, 1.0 / f64::from(substeps), &mut sums);
        }
        for (index, sum) in sums.iter().enumerate() {
            self.state.tools[index].force_n = sum.force_n;
            self.state.tools[index].grip_n = sum.grip_force_n;
            if let Some(slot) = reactions.get_mut(index) {
                *slot = *sum;
            }
        }
        self.settle();
        self.state.steps = self.state.steps.wrapping_add(1);
        let energy = &mut self.state.ledger;
        let change = energy.stored_j() - before.stored_j();
        let accounted =
            (energy.tool_work_j - before.tool_work_j) - (energy.dissipated_j - before.dissipated_j);
        energy.residual_j = before.residual_j + change - accounted;
        let is_finite = energy.sum_j().is_finite();
        if self.state.escapes > escapes || !is_finite {
            self.state.rebuild(&self.model, &before);
            self.reload();
            reactions.fill(Reaction::of_collapse());
        }
    }

    /// Returns the usable tools, with their stiffness limited to the value of the stability gate.
    fn admit_tools(&mut self, tools: &[Tool]) -> [Option<Tool>; TOOLS] {
        let mut admitted = [None; TOOLS];
        for (index, slot) in admitted.iter_mut().enumerate() {
            let Some(tool) = tools.get(index).filter(|tool| contact::is_usable(tool)) else {
                self.remove_tool(index);
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

    /// Removes a tool; the energy of its springs counts as dissipated.
    fn remove_tool(&mut self, index: usize) {
        let tool = &mut self.state.tools[index];
        if tool.present {
            self.state.ledger.dissipated_j += tool.energy_j.iter().sum::<f64>();
            *tool = ToolState::default();
            self.sum_contact();
        }
    }

    /// Accounts for the work of the held forces over the motion since the last step (seed-004 3.14), and stores the tools'
    /// positions.
    fn charge_tool_work(&mut self, tools: &[Option<Tool>; TOOLS]) {
        for (state, tool) in self.state.tools.iter_mut().zip(tools) {
            let Some(tool) = tool else {
                continue;
            };
            state.previous_m = tool.position_m;
            if state.present {
                state.previous_m = state.position_m;
                let moved_m = tool.position_m - state.position_m;
                let mut work_j = -state.force_n.dot(&moved_m);
                if let Some(jaws) = tool.jaws {
                    work_j -= state.grip_n * (jaws.opening_m - state.opening_m);
                }
                self.state.ledger.tool_work_j += work_j;
            }
            (state.present, state.position_m) = (true, tool.position_m);
        }
    }

    /// Sums the energy of the tools' springs into the ledger.
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
                let reaction = self.apply_tool(index, tool, h);
                let sum = &mut sums[index];
                *sum = Reaction {
                    force_n: sum.force_n + share * reaction.force_n,
                    grip_force_n: sum.grip_force_n + share * reaction.grip_force_n,
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
        let rate_filter = match self.model.params.scheme {
            TimeIntegration::FilteredEuler { lambda, .. } => RateFilter::Update(lambda, lambda / h),
            TimeIntegration::SemiImplicit => RateFilter::Reuse,
        };
        let mut pass = self.move_nodes(h);
        self.add_spring_forces(rate_filter, &mut pass);
        self.state.power_w = pass.power_w;
        self.state.travel_m += h * pass.speed2.sqrt();
        let energy = &mut self.state.ledger;
        energy.kinetic_j = pass.kinetic_j;
        energy.elastic_j = self.state.sleeping_energy_j + pass.elastic_j;
        // nodes moved out of, or into, the tool since the contact energy was computed
        energy.contact_j = (energy.contact_j - h * pass.outer_w).max(0.0);
        energy.dissipated_j += 0.5 * h * (old_w + pass.power_w);
        self.wake_neighbours();
    }

    /// Moves every active node, and starts its new internal force with home, gravity and drag.
    fn move_nodes(&mut self, h: f64) -> PassSums {
        let Self {
            model,
            state,
            scratch,
            ..
        } = self;
        let params = &model.params;
        let explicit = matches!(params.scheme, TimeIntegration::FilteredEuler { .. });
        let far2 = params.displacement_max_m * params.displacement_max_m;
        let fast2 = far2 * SPEED_BOUND_PER_S * SPEED_BOUND_PER_S;
        let mut sums = PassSums::default();
        // slices of one length, so that each index is checked once
        let nodes = model.rest_m.len();
        let (xs, vs) = (&mut state.x_m[..nodes], &mut state.v_mps[..nodes]);
        let (fs, external_forces) = (&mut state.f_n[..nodes], &mut scratch.outer_n[..nodes]);
        let (rests, inverse_mass) = (&model.rest_m[..nodes], &model.inverse_mass[..nodes]);
        for &node in &scratch.active {
            let i = node as usize;
            let (old, rest) = (vs[i], rests[i]);
            let external = std::mem::take(&mut external_forces[i]);
            let mut v = old + (h * inverse_mass[i]) * (fs[i] + external);
            let mut x = xs[i] + h * if explicit { old } else { v };
            let mut u = x - rest;
            // NaN fails this comparison too
            if !(u.norm_squared() <= far2 && v.norm_squared() <= fast2) {
                (x, v, u) = (rest, Vec3::zeros(), Vec3::zeros());
                state.escapes += 1;
            }
            (xs[i], vs[i]) = (x, v);
            let moving = if explicit { old } else { v };
            sums.outer_w += external.dot(&moving);
            sums.speed2 = sums.speed2.max(moving.norm_squared());
            let disturbs =
                u.norm_squared() > WAKE_DISPLACEMENT_M2 || v.norm_squared() > WAKE_SPEED_M2PS2;
            if disturbs && scratch.border[i] {
                scratch.disturbed.push(node);
            }
            fs[i] = model.own_force(i, &u, &v, &mut sums);
        }
        sums
    }

    /// Recomputes the internal forces of the active set without moving anything.
    pub(super) fn refresh_forces(&mut self) -> PassSums {
        let mut sums = PassSums::default();
        let state = &mut self.state;
        for &node in &self.scratch.active {
            let i = node as usize;
            let u = state.x_m[i] - self.model.rest_m[i];
            state.f_n[i] = self.model.own_force(i, &u, &state.v_mps[i], &mut sums);
        }
        self.add_spring_forces(RateFilter::Reuse, &mut sums);
        sums
    }

    /// Adds the forces of dashpots and links to the own forces of the nodes.
    fn add_spring_forces(&mut self, rate_filter: RateFilter, sums: &mut PassSums) {
        let params = &self.model.params;
        let filtered = matches!(params.scheme, TimeIntegration::FilteredEuler { .. });
        let law = params.law;
        if params.radial_homes() {
            self.pull_radial_homes(rate_filter, sums);
        }
        for &ghost in &self.scratch.ghosts {
            self.state.f_n[ghost as usize] = Vec3::zeros();
        }
        if law == SpringLaw::Linear && !filtered {
            self.pull_linear(sums);
        } else {
            self.pull_curved(law, filtered.then_some(rate_filter), sums);
        }
    }

    /// Applies the printed home dashpots: on the filtered rate of the length, along it (seed-004 3.3).
    fn pull_radial_homes(&mut self, rate_filter: RateFilter, sums: &mut PassSums) {
        let state = &mut self.state;
        let first = self.model.springs.len();
        for &node in &self.scratch.active {
            let i = node as usize;
            let s = self.model.rest_m[i] - state.x_m[i];
            let length_m = s.norm();
            let rate = state.lengths.filter(first + i, length_m, rate_filter);
            if length_m > 0.0 {
                let b = self.model.home_damping_nspm[i];
                state.f_n[i] += b * rate / length_m * s;
                sums.power_w += b * rate * rate;
            }
        }
    }

    /// Applies linear links with exact rates: the loop that dominates the cost of a step.
    ///
    /// It is written out to keep the instruction count low: a run keeps its own node in registers, and all slices
    /// have one length, so that each end is checked once.
    fn pull_linear(&mut self, sums: &mut PassSums) {
        let (state, scratch) = (&mut self.state, &self.scratch);
        let nodes = state.x_m.len();
        let (x, v) = (&state.x_m[..nodes], &state.v_mps[..nodes]);
        let f = &mut state.f_n[..nodes];
        let (mut elastic, mut power) = (0.0, 0.0);
        let mut begin = 0;
        for (&own, &end) in scratch.active.iter().zip(&scratch.ends) {
            let own = own as usize;
            let (xa, va) = (x[own], v[own]);
            let (mut fx, mut fy, mut fz) = (0.0, 0.0, 0.0);
            for link in &scratch.active_springs[begin..end as usize] {
                let b = link.b as usize;
                let (xb, vb) = (&x[b], &v[b]);
                let (sx, sy, sz) = (xb.x - xa.x, xb.y - xa.y, xb.z - xa.z);
                let along = sx * (vb.x - va.x) + sy * (vb.y - va.y) + sz * (vb.z - va.z);
                let square = sx * sx + sy * sy + sz * sz;
                let square = if square > LENGTH_FLOOR {
                    square
                } else {
                    LENGTH_FLOOR
                };
                let inverse2 = 1.0 / square;
                let length_m = square.sqrt();
                let extension_m = length_m - link.length_m;
                let tension = link.k * extension_m;
                let loss = link.d * along * inverse2;
                elastic += tension * extension_m;
                power += loss * along;
                let pull = tension * length_m * inverse2 + loss;
                let (px, py, pz) = (pull * sx, pull * sy, pull * sz);
                fx += px;
                fy += py;
                fz += pz;
                let fb = &mut f[b];
                fb.x -= px;
                fb.y -= py;
                fb.z -= pz;
            }
            f[own] += Vec3::new(fx, fy, fz);
            begin = end as usize;
        }
        sums.elastic_j += 0.5 * elastic;
        sums.power_w += power;
    }

    /// Applies links of a non-linear law, and those of the filtered Euler scheme, whose dashpots use filtered
    /// backward differences (Eq 4.3 to 4.11).
    fn pull_curved(
        &mut self,
        law: SpringLaw,
        rate_filter: Option<RateFilter>,
        sums: &mut PassSums,
    ) {
        let state = &mut self.state;
        for spring in &self.scratch.active_springs {
            let (a, b) = (spring.a as usize, spring.b as usize);
            let s = state.x_m[b] - state.x_m[a];
            let length_m = s.norm_squared().max(LENGTH_FLOOR).sqrt();
            let rate = match rate_filter {
                Some(rate_filter) => {
                    state
                        .lengths
                        .filter(spring.index as usize, length_m, rate_filter)
                }
                None => s.dot(&(state.v_mps[b] - state.v_mps[a])) / length_m,
            };
            let extension_m = length_m - spring.length_m;
            let pull = law.response(extension_m, spring.length_m);
            let force_n = spring.k * pull.secant * extension_m + spring.d * rate;
            sums.elastic_j += spring.k * pull.energy;
            sums.power_w += spring.d * rate * rate;
            let force = force_n / length_m * s;
            state.f_n[a] += force;
            state.f_n[b] -= force;
        }
    }
}

impl Model {
    /// Force of a node's own at a displacement `u` \[m\] and velocity `v`: home spring, gravity and drag.
    #[inline]
    fn own_force(&self, node: usize, u: &Vec3, v: &Vec3, sums: &mut PassSums) -> Vec3 {
        let params = &self.params;
        let (mass_kg, home_k, v2) = (
            self.mass_kg[node],
            self.home_stiffness_npm[node],
            v.norm_squared(),
        );
        let (secant, energy) = if params.law == SpringLaw::Linear {
            (home_k, 0.5 * home_k * u.norm_squared())
        } else {
            let pull = params.law.response(u.norm(), self.home_length_m[node]);
            (home_k * pull.secant, home_k * pull.energy)
        };
        let home_b = if params.radial_homes() {
            0.0
        } else {
            self.home_damping_nspm[node]
        };
        let damping = params.drag_per_s * mass_kg + home_b;
        sums.kinetic_j += 0.5 * mass_kg * v2;
        sums.elastic_j += energy - mass_kg * params.gravity_mps2.dot(u);
        sums.power_w += damping * v2;
        mass_kg * params.gravity_mps2 - secant * u - damping * v
    }
}

impl Lengths {
    /// Filtered backward difference of one length (Eq 4.4): `l_dot = lambda dl/h + (1-lambda) l_dot`.
    fn filter(&mut self, slot: usize, length_m: f64, rate_filter: RateFilter) -> f64 {
        if let RateFilter::Update(lambda, gain_hz) = rate_filter {
            let newest = gain_hz * (length_m - self.last_m[slot]);
            self.rate_mps[slot] = newest + (1.0 - lambda) * self.rate_mps[slot];
            self.last_m[slot] = length_m;
        }
        self.rate_mps[slot]
    }
}
