//! Relaxation as the source prints it: every node steps towards the target that its neighbours define.
//!
//! Source: seed-001 section 3.4 (its Eqs. 1 and 2; rows DF-06 to DF-09, FU-02 of the limits). It is for study and
//! golden numbers. Sessions use the weighted form of Eq. 2 with an energy balance (`palpate_voxel`, module
//! `gauss_seidel`). All steps are by axis of the world, as the limits are.
//!
//! Symbols: `u` displacement from rest, `d` distance to the mean target of the neighbours, `g` the gain: `u += g
//! phi(d)`.

use crate::voxel::response::ResponseLaw;
use crate::voxel::to_f64;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Target position that a neighbour defines for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NeighbourTarget {
    /// The neighbour's position (Eq. 1): objects shrink to a point.
    Neighbour,
    /// Beside the neighbour, at the rest distance (Eq. 2).
    #[default]
    Beside,
    /// Beside the neighbour, weighted by stiffness (section 3.4.2): stiff inclusions become palpable.
    Weighted,
}

/// Order of node updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateOrder {
    /// All at once, from the state before the pass.
    Jacobi,
    /// One after the other, by rows, as the source states; over-relaxed with a gain beyond 1.
    #[default]
    Sequential,
}

/// Parameters of a relaxation.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaxationParams {
    /// Target position that a neighbour defines.
    pub target: NeighbourTarget,
    /// Order of updates.
    pub order: UpdateOrder,
    /// Share of the distance that a pass moves: more than 0, below 1 for Jacobi and below 2 in sequence. For a
    /// nonlinear response it is the share at a `d` of one spacing.
    pub gain: f64,
    /// Step as a function of the distance, in spacings.
    pub response: ResponseLaw,
    /// Dead band of the relative displacement, in spacings (row DF-08).
    pub band: f64,
    /// Least step, in spacings (row DF-08, second form).
    pub least_step: f64,
    /// Share of the strain beyond the band that becomes permanent in every pass, 0 to 1: plastic flow, ours.
    pub flow: f64,
    /// Clamps steps at the limits of links; in sequence only.
    pub limits: bool,
}

impl Default for RelaxationParams {
    fn default() -> Self {
        Self {
            target: NeighbourTarget::Beside,
            order: UpdateOrder::Sequential,
            gain: 1.0,
            response: ResponseLaw::Linear,
            band: 0.0,
            least_step: 0.0,
            flow: 0.0,
            limits: true,
        }
    }
}

/// Error of an invalid parameter.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("relaxation field `{field}` is {value}; expected {expected}")]
pub struct RelaxationError {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// Expected range.
    pub expected: &'static str,
}

impl RelaxationParams {
    /// Checks that passes with these parameters converge.
    ///
    /// # Errors
    /// [`RelaxationError`] of the first field that is out of range.
    pub fn check(&self) -> Result<(), RelaxationError> {
        let refuse = |field, value, expected| {
            Err(RelaxationError {
                field,
                value,
                expected,
            })
        };
        let (most, expected) = match self.order {
            UpdateOrder::Jacobi => (1.0, "more than 0 and less than 1 for Jacobi"),
            UpdateOrder::Sequential => (2.0, "more than 0 and less than 2"),
        };
        if !(self.gain > 0.0 && self.gain < most) {
            return refuse("gain", self.gain, expected);
        }
        for (field, value) in [("band", self.band), ("least_step", self.least_step)] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(field, value, "a finite number, at least 0");
            }
        }
        if !(0.0..=1.0).contains(&self.flow) {
            return refuse("flow", self.flow, "0 to 1");
        }
        if self.limits && self.order == UpdateOrder::Jacobi {
            // both ends of a link would reach its limit at once
            return refuse("limits", 1.0, "no limits with Jacobi");
        }
        Ok(())
    }
}

/// A relaxation with its state and its plastic flow.
#[derive(Debug, Clone)]
pub struct Relaxation<R> {
    params: RelaxationParams,
    /// Slots by rows.
    order: Vec<u32>,
    /// Displacements before the pass, for Jacobi.
    before_m: [Vec<R>; 3],
    /// Permanent offset of the links to the right, top and front, by axis of the world \[m\]; empty without flow.
    flowed_m: [[Vec<R>; 3]; 3],
    held: Vec<bool>,
}

impl<R: Real> Relaxation<R> {
    /// Returns a relaxation of a volume.
    ///
    /// # Errors
    /// [`RelaxationError`] if a parameter is out of range.
    pub fn new(params: RelaxationParams, nodes: &VoxelNodes<R>) -> Result<Self, RelaxationError> {
        params.check()?;
        let mut order: Vec<u32> = (0..nodes.slots()).collect();
        order.sort_by_key(|&node| {
            let [x, y, z] = nodes.site(node);
            (z, y, x)
        });
        let slots = order.len();
        let flows = if params.flow > 0.0 { slots } else { 0 };
        Ok(Self {
            params,
            order,
            before_m: std::array::from_fn(|_| Vec::with_capacity(slots)),
            flowed_m: std::array::from_fn(|_| std::array::from_fn(|_| vec![R::zero(); flows])),
            held: vec![false; slots],
        })
    }

    /// Relaxes all nodes once but the pinned ones and those of `held`; returns the greatest step \[m\].
    pub fn pass(&mut self, nodes: &mut VoxelNodes<R>, held: &[u32]) -> R {
        for &node in held {
            self.held[node as usize] = true;
        }
        if self.params.order == UpdateOrder::Jacobi {
            for (before, now) in self.before_m.iter_mut().zip(&nodes.displacement_m) {
                before.clone_from(now);
            }
        }
        let mut farthest_m = R::zero();
        for index in 0..self.order.len() {
            let node = self.order[index];
            let free = nodes.alive(node) && !nodes.pinned(node) && !self.held[node as usize];
            if free {
                farthest_m = farthest_m.max(self.relax_node(nodes, node));
            }
        }
        for &node in held {
            self.held[node as usize] = false;
        }
        if self.params.flow > 0.0 {
            self.flow(nodes);
        }
        farthest_m
    }

    /// Relaxes one node; returns its greatest step \[m\].
    fn relax_node(&self, nodes: &mut VoxelNodes<R>, node: u32) -> R {
        let slot = node as usize;
        let mut farthest_m = R::zero();
        let room = self.params.limits.then(|| allowed_range_m(nodes, node));
        for along in 0..3 {
            let spacing_m = nodes.frame().spacing_m[along];
            let from = match self.params.order {
                UpdateOrder::Jacobi => &self.before_m[along],
                UpdateOrder::Sequential => &nodes.displacement_m[along],
            };
            let Some(distance_m) = self.step_to_target_m(nodes, from, node, along) else {
                return farthest_m;
            };
            let step =
                self.params.gain * self.params.response.value(to_f64(distance_m) / spacing_m);
            if step.abs() <= self.params.least_step {
                continue;
            }
            let own = from[slot];
            let mut to_m = own + R::of(step * spacing_m);
            if let Some(room) = room {
                let (least, most) = room[along];
                to_m = to_m.clamp(least, most);
            }
            nodes.displacement_m[along][slot] = to_m;
            farthest_m = farthest_m.max((to_m - own).abs());
        }
        farthest_m
    }

    /// Returns the distance along an axis to the mean target of the neighbours \[m\]; none without neighbours.
    fn step_to_target_m(
        &self,
        nodes: &VoxelNodes<R>,
        from: &[R],
        node: u32,
        along: usize,
    ) -> Option<R> {
        let slot = node as usize;
        let own = from[slot];
        let band_m = R::of(self.params.band * nodes.frame().spacing_m[along]);
        let (mut sum, mut weights) = (R::zero(), R::zero());
        for to in NeighbourDirection::ALL {
            let Some(other) = nodes.neighbour(node, to) else {
                continue;
            };
            let mut apart = from[other as usize] - own - self.flowed(node, other, to, along);
            if self.params.target == NeighbourTarget::Neighbour && to.axis() == along {
                let rest_m = R::of(nodes.frame().spacing_m[along]);
                apart += if to.is_positive() { rest_m } else { -rest_m };
            }
            let weight = if self.params.target == NeighbourTarget::Weighted {
                let (own, other) = (nodes.material(node), nodes.material(other));
                nodes.bonds().of(own, other, to.axis()).stiffness_npm
            } else {
                R::one()
            };
            sum += weight * beyond(apart, band_m);
            weights += weight;
        }
        (weights > R::zero()).then(|| sum / weights)
    }

    /// Returns the permanent offset of a link, seen from a node \[m\].
    fn flowed(&self, node: u32, other: u32, to: NeighbourDirection, along: usize) -> R {
        if self.params.flow <= 0.0 {
            return R::zero();
        }
        let flowed_m = &self.flowed_m[to.axis()][along];
        if to.is_positive() {
            flowed_m[node as usize]
        } else {
            -flowed_m[other as usize]
        }
    }

    /// Makes part of the strain beyond the band permanent.
    fn flow(&mut self, nodes: &VoxelNodes<R>) {
        let share = R::of(self.params.flow);
        for to in NeighbourDirection::POSITIVE {
            for along in 0..3 {
                let band_m = R::of(self.params.band * nodes.frame().spacing_m[along]);
                let moved_m = &nodes.displacement_m[along];
                let flowed_m = &mut self.flowed_m[to.axis()][along];
                for ((node, &own), flowed) in (0..).zip(moved_m).zip(flowed_m) {
                    if let Some(other) = nodes.neighbour(node, to) {
                        let apart = moved_m[other as usize] - own - *flowed;
                        *flowed += share * beyond(apart, band_m);
                    }
                }
            }
        }
    }
}

/// Returns the part of a displacement outside a band around 0.
fn beyond<R: Real>(apart: R, band: R) -> R {
    apart - apart.clamp(-band, band)
}

/// Returns the allowed displacement of a node by axis, with its neighbours fixed \[m\]; it always contains the
/// present one.
pub(crate) fn allowed_range_m<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> [(R, R); 3] {
    let mut room = [(-R::of(f64::MAX), R::of(f64::MAX)); 3];
    for to in NeighbourDirection::ALL {
        let Some(other) = nodes.neighbour(node, to) else {
            continue;
        };
        let pair = [nodes.material(node), nodes.material(other)];
        for (along, (least, most)) in room.iter_mut().enumerate() {
            let (nearest, farthest) = nodes.bonds().range_m(pair, to, along);
            let at = nodes.displacement_m[along][other as usize];
            *least = least.max(at - farthest);
            *most = most.min(at - nearest);
        }
    }
    for ((least, most), moved_m) in room.iter_mut().zip(&nodes.displacement_m) {
        // rounding may leave a link past its limit by one bit
        let own = moved_m[node as usize];
        (*least, *most) = (least.min(own), most.max(own));
    }
    room
}
