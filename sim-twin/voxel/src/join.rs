//! Glue: links nodes that lack a neighbour to the nearest nodes that lack the opposite one.
//!
//! Source: seed-001 section 3.5 "Join" and 3.3.6(e) (rows TP-06 and TP-07). The partner is the nearest node within
//! reach, as in the outward search of the source; here candidates are sorted along x. The lower slot wins ties. A
//! join may not break a limit, nor close a loop of links whose places at rest disagree. A piece that was moved before
//! a join is first translated on the rest lattice. Within one piece, only nodes that are neighbours at rest are
//! joined.

use crate::knife::upper_end_max_m;
use crate::nodes::{NONE, VoxelNodes, to_f64};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// Search for pairs of nodes that may be joined. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct GlueSearch {
    /// Nodes of a neighbourhood that lack a neighbour, by their x coordinate \[m\].
    open: Vec<(f64, u32)>,
    /// Greatest distance of a neighbour from its ideal place that any limit allows \[m\].
    pub(super) slack_m: f64,
}

impl GlueSearch {
    /// Returns a search for a voxel model.
    pub(super) fn new<R: Real>(nodes: &VoxelNodes<R>) -> Self {
        Self {
            open: Vec::with_capacity(nodes.slots() as usize),
            slack_m: upper_end_max_m(nodes, [0.0; 3]),
        }
    }

    /// Lists those of the nodes `near` that lack a neighbour.
    pub(super) fn list_open_nodes<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        near: impl Iterator<Item = u32>,
    ) {
        let open = near.filter(|&e| nodes.alive(e) && nodes.lacks_neighbour(e));
        self.open.clear();
        self.open.extend(open.map(|e| (nodes.position_m(e).x, e)));
        self.open
            .sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    /// Returns the nearest listed node that may be linked to a node in a direction.
    pub(super) fn partner<R: Real>(
        &self,
        nodes: &VoxelNodes<R>,
        node: u32,
        to: NeighbourDirection,
    ) -> Option<u32> {
        if !nodes.alive(node) || nodes.neighbour(node, to).is_some() {
            return None;
        }
        let expected_m = neighbour_rest_m(nodes, node, to);
        // a little wider, for rounding, also by a translation since the listing
        let wide_m = 1.01 * self.slack_m;
        let first = self
            .open
            .partition_point(|&(x, _)| x < expected_m.x - wide_m);
        let mut best = (self.slack_m * self.slack_m * (1.0 + 1e-9), NONE);
        for &(x, other) in &self.open[first..] {
            if x > expected_m.x + wide_m {
                break;
            }
            let distance = (nodes.position_m(other) - expected_m).norm_squared();
            // the lower slot wins ties
            if (distance, other) < best && may_join(nodes, node, to, other) {
                best = (distance, other);
            }
        }
        Some(best.1).filter(|&other| other != NONE)
    }
}

/// Returns the ideal place of a node's neighbour \[m\].
fn neighbour_rest_m<R: Real>(nodes: &VoxelNodes<R>, node: u32, to: NeighbourDirection) -> Vec3 {
    let mut at_m = nodes.position_m(node);
    let length_m = nodes.frame().spacing_m[to.axis()];
    at_m[to.axis()] += if to.is_positive() {
        length_m
    } else {
        -length_m
    };
    at_m
}

/// True if two nodes lack each other, and a link between them would keep its limits and close no loop that disagrees
/// at rest.
pub(super) fn may_join<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> bool {
    let free = other != node
        && nodes.alive(other)
        && nodes.neighbour(node, to).is_none()
        && nodes.neighbour(other, to.opposite()).is_none();
    if !free {
        return false;
    }
    let one = nodes.object(node) == nodes.object(other);
    let mut beside = nodes.neighbours(node, NeighbourDirection::ALL);
    if beside.any(|(_, linked)| linked == other)
        || one && carry_sites(nodes, node, to, other) != [0; 3]
    {
        return false;
    }
    let apart_m = nodes.position_m(other) - neighbour_rest_m(nodes, node, to);
    let pair = [nodes.material(node), nodes.material(other)];
    (0..3).all(|along| {
        let (least, most) = nodes.bonds().range_m(pair, to, along);
        (to_f64(least)..=to_f64(most)).contains(&apart_m[along])
    })
}

/// Energy that a link between two nodes would store where they are \[J\].
pub(super) fn join_energy_j<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> f64 {
    let k = to_f64(nodes.stiffness_npm(node, other, to.axis()));
    0.5 * k * (nodes.position_m(other) - neighbour_rest_m(nodes, node, to)).norm_squared()
}

/// Returns the lattice steps by which `other` must be translated to rest beside `node`.
pub(super) fn carry_sites<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> [i32; 3] {
    let (beside, site) = (to.neighbour_site(nodes.site(node)), nodes.site(other));
    std::array::from_fn(|axis| beside[axis] - site[axis])
}
