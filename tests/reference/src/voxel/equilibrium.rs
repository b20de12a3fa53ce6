//! Equilibrium of a volume by a direct solve: least energy of its links, and the holding forces.
//!
//! Source: seed-001 section 3.4.2. It is the fixed point of the weighted rule, which passes reach in a number of
//! steps of order size squared; ours is the solve by conjugate gradients. Limits are ignored: this is the linear
//! reference of forces, such as those of a punch or over a nodule.

use crate::voxel::propagation::usable;
use crate::voxel::to_f64;
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::{CgWorkspace, LinearOperator, SolveReport};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::nodes::VoxelNodes;

/// Stiffness matrix of the links.
struct LinkMatrix<'a, R> {
    nodes: &'a VoxelNodes<R>,
    /// Stiffness by direction and slot \[N/m\].
    stiffness: [Vec<f64>; 6],
    /// One over the sum of stiffness \[m/N\]; 0 for fixed nodes.
    gain: Vec<f64>,
}

impl<R: Real> LinkMatrix<'_, R> {
    /// Returns the force of the links on a node at displacements `x` \[N\].
    fn link_force_n(&self, x: &[Vec3], slot: usize) -> Vec3 {
        let mut sum = Vec3::zeros();
        for (to, k) in NeighbourDirection::ALL.into_iter().zip(&self.stiffness) {
            // no more than slots
            if let Some(other) = self.nodes.neighbour(slot as u32, to) {
                sum += (x[other as usize] - x[slot]) * k[slot];
            }
        }
        sum
    }
}

impl<R: Real> LinearOperator for LinkMatrix<'_, R> {
    fn multiply(&self, x: &[Vec3], out: &mut [Vec3]) {
        for (slot, out) in out.iter_mut().enumerate() {
            // a fixed node has x = 0, and stays
            *out = if self.gain[slot] > 0.0 {
                -self.link_force_n(x, slot)
            } else {
                x[slot]
            };
        }
    }

    fn precondition(&self, x: &[Vec3], out: &mut [Vec3]) {
        for ((out, x), &gain) in out.iter_mut().zip(x).zip(&self.gain) {
            *out = if gain > 0.0 { x * gain } else { *x };
        }
    }
}

/// Moves targets, and all other nodes to equilibrium; pinned nodes and those without links stay. `tolerance` is the
/// final residual over the initial one.
///
/// Solves in double precision, starting at the present displacements.
pub fn solve_equilibrium<R: Real>(
    nodes: &mut VoxelNodes<R>,
    targets: &[NodeTarget<R>],
    tolerance: f64,
    limit: usize,
) -> SolveReport {
    let slots = nodes.slots() as usize;
    let mut held = vec![false; slots];
    for target in targets {
        if !usable(nodes, target) {
            continue;
        }
        held[target.node as usize] = true;
        for (moved_m, to_m) in nodes.displacement_m.iter_mut().zip(target.displacement_m) {
            moved_m[target.node as usize] = to_m;
        }
    }
    let stiffness = NeighbourDirection::ALL.map(|to| {
        let all = 0..nodes.slots();
        all.map(|node| stiffness_npm(nodes, node, to))
            .collect::<Vec<f64>>()
    });
    let gain = (0..nodes.slots()).map(|node| {
        let slot = node as usize;
        let sum: f64 = stiffness.iter().map(|k| k[slot]).sum();
        let free = sum > 0.0 && !held[slot] && !nodes.pinned(node);
        if free { 1.0 / sum } else { 0.0 }
    });
    let pulls = LinkMatrix {
        nodes,
        gain: gain.collect(),
        stiffness,
    };
    let now: Vec<Vec3> = (0..nodes.slots())
        .map(|node| Vec3::from(nodes.displacement_m(node).map(to_f64)))
        .collect();
    let residual: Vec<Vec3> = (0..slots)
        .map(|slot| {
            if pulls.gain[slot] > 0.0 {
                pulls.link_force_n(&now, slot)
            } else {
                Vec3::zeros()
            }
        })
        .collect();
    let mut step = vec![Vec3::zeros(); slots];
    let solved = CgWorkspace::new(slots).solve(&pulls, &residual, &mut step, tolerance, limit);
    for (along, moved_m) in nodes.displacement_m.iter_mut().enumerate() {
        for (slot, moved_m) in moved_m.iter_mut().enumerate() {
            *moved_m = R::of(now[slot][along] + step[slot][along]);
        }
    }
    solved
}

/// Returns the force of the links on a node \[N\] (section 3.4.2); a holding force is its opposite.
#[must_use]
pub fn link_force_n<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> Vec3 {
    let mut sum_n = Vec3::zeros();
    for to in NeighbourDirection::ALL {
        if let Some(other) = nodes.neighbour(node, to) {
            let [own, other] = [node, other].map(|e| nodes.displacement_m(e).map(to_f64));
            let apart_m = Vec3::from(other) - Vec3::from(own);
            sum_n += apart_m * stiffness_npm(nodes, node, to);
        }
    }
    sum_n
}

/// Returns the stiffness of a link \[N/m\]; 0 where there is none.
fn stiffness_npm<R: Real>(nodes: &VoxelNodes<R>, node: u32, to: NeighbourDirection) -> f64 {
    nodes.neighbour(node, to).map_or(0.0, |other| {
        to_f64(nodes.stiffness_npm(node, other, to.axis()))
    })
}
