//! Runs with equal links, as in the interior of a tissue layer: a pass reads one stiffness per direction and checks
//! limits in vector code.
//!
//! Source: ours (row FU-07). All nodes of a uniform run have one material, and so have their neighbours in each
//! direction. In each direction all nodes are linked or none; only the two end nodes may lack a neighbour in line.

use crate::nodes::VoxelNodes;
use crate::stencil::{Stencil, StencilRun};
use palpate_twin::edits::NeighbourDirection;

/// Classification of the links of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Uniformity {
    /// Not classified yet, or changed since.
    #[default]
    Unknown,
    /// The links differ.
    Mixed,
    /// The links are equal.
    Uniform(UniformRun),
}

/// The links of every node of a uniform run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UniformRun {
    /// Stiffness by direction \[N/m\]; 0 where there are none.
    pub(super) stiffness_npm: [f32; 6],
    /// Missing right neighbour of the last node, and missing left neighbour of the first node.
    pub(super) open_ends: [bool; 2],
    /// Material of the nodes.
    own: u8,
    /// Material of their neighbours by direction.
    neighbour_materials: [u8; 6],
}

/// Placeholder for runs that are not uniform; no code path reads it.
pub(super) const NOT_UNIFORM: UniformRun = UniformRun {
    stiffness_npm: [0.0; 6],
    open_ends: [false; 2],
    own: 0,
    neighbour_materials: [0; 6],
};

impl Uniformity {
    /// Classifies a run.
    pub(super) fn of(nodes: &VoxelNodes<f32>, stencil: &Stencil, run: &StencilRun) -> Self {
        let slots = run.start..run.start + run.len;
        let own = nodes.material[run.start];
        if run.len < 2 || nodes.material[slots.clone()].iter().any(|&m| m != own) {
            return Self::Mixed;
        }
        let mut uniform = UniformRun { own, ..NOT_UNIFORM };
        for (d, stiffness_npm) in stencil.stiffness_npm.iter().enumerate() {
            // the end that may lack a neighbour, and a node that stands for all others
            let (end, model) = match NeighbourDirection::ALL[d] {
                NeighbourDirection::Right => (slots.end - 1, slots.start),
                NeighbourDirection::Left => (slots.start, slots.end - 1),
                _ => (usize::MAX, slots.start),
            };
            let of = |slot: usize| (stiffness_npm[slot], neighbour_material(nodes, d, slot));
            if slots
                .clone()
                .any(|slot| slot != end && of(slot) != of(model))
            {
                return Self::Mixed;
            }
            (uniform.stiffness_npm[d], uniform.neighbour_materials[d]) = of(model);
            if d < 2 && of(end) != of(model) {
                if stiffness_npm[end] > 0.0 {
                    return Self::Mixed;
                }
                uniform.open_ends[d] = true;
            }
        }
        Self::Uniform(uniform)
    }
}

/// Material of a neighbour; 0 without one.
fn neighbour_material(nodes: &VoxelNodes<f32>, d: usize, slot: usize) -> u8 {
    let other = nodes.neighbour[d][slot];
    nodes.material.get(other as usize).copied().unwrap_or(0)
}

impl UniformRun {
    /// Returns the range of a neighbour's displacement relative to the node's own along an axis \[m\].
    #[inline(always)]
    pub(super) fn range_m(&self, nodes: &VoxelNodes<f32>, d: usize, along: usize) -> (f32, f32) {
        let pair = [self.own, self.neighbour_materials[d]];
        nodes
            .bonds()
            .range_m(pair, NeighbourDirection::ALL[d], along)
    }
}
