//! Curette: removes the nodes in the volume that a ball or rod sweeps.
//!
//! Source: seed-001 section 3.5 (rows TP-01 and TP-10). The source visits the cells of an occupancy map that samples
//! of the motion meet. Here every node near the motion is tested exactly against the swept volume. The cost depends
//! on the tool and not on the size of the model.
//!
//! The energy of a removal is ours (row CL-02): area of the wall of the channel that a ball leaves, times the
//! toughness. A link contributes its own cut energy, projected on the wall, if the ball covers one end of it and
//! would pass by the other. So the sum depends neither on the lattice nor on how finely the ball cuts: the ball is
//! resisted by toughness times its outline. A ball that does not move removes nodes at no cost.

use crate::knife::{BladeEdge, BladeMotion, CutEvent, cut_energy_j, sort_by_path};
use crate::nodes::VoxelNodes;
use palpate_twin::Vec3;
use palpate_twin::edits::{NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;

/// Motion of a round tool: a ball if its axis has no length, a rod otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RoundToolMotion {
    /// Motion of the axis.
    pub(super) axis: BladeMotion,
    /// Radius \[m\].
    pub(super) radius_m: f64,
}

impl RoundToolMotion {
    /// Returns the motion of a ball from one place to another \[m\].
    pub(super) const fn ball(before_m: Vec3, after_m: Vec3, radius_m: f64) -> Self {
        Self {
            axis: BladeMotion {
                before: BladeEdge([before_m; 2]),
                after: BladeEdge([after_m; 2]),
            },
            radius_m,
        }
    }

    /// True if the tool sweeps over a place \[m\].
    pub(super) fn covers(&self, at_m: &Vec3) -> bool {
        let [p, q, r, s] = self.axis.corners_m();
        let distance2 = far2_m2([p, q, s], at_m).min(far2_m2([p, s, r], at_m));
        distance2 <= self.radius_m * self.radius_m
    }

    /// Lists those of the nodes `near` that a ball sweeps over, in the order of its path; none if the motion is not
    /// finite.
    pub(super) fn find_removals<R: Real>(
        &self,
        nodes: &VoxelNodes<R>,
        near: impl Iterator<Item = u32>,
        events: &mut Vec<CutEvent>,
    ) {
        events.clear();
        events.extend(self.covered_nodes(nodes, near).map(|node| CutEvent {
            change: TopologyChange::Remove { node },
            path_fraction: self.path_fraction_to(&nodes.position_m(node)),
            energy_j: self.wall_energy_j(nodes, node),
        }));
        sort_by_path(events);
    }

    /// Returns the fraction of the path, 0 to 1, at which a ball reaches a place within its swept volume.
    fn path_fraction_to(&self, at_m: &Vec3) -> f64 {
        let [before_m, _, after_m, _] = self.axis.corners_m();
        let (from_m, motion_m) = (before_m - at_m, after_m - before_m);
        let outside = from_m.norm_squared() - self.radius_m * self.radius_m;
        let (nearer, size2) = (-from_m.dot(&motion_m), motion_m.norm_squared());
        if outside <= 0.0 || size2 <= 0.0 {
            return 0.0;
        }
        // the line of its centre enters a ball around the place
        let half2 = (nearer * nearer - size2 * outside).max(0.0);
        ((nearer - half2.sqrt()) / size2).clamp(0.0, 1.0)
    }

    /// Returns the energy to remove a node \[J\]: its part of the wall.
    fn wall_energy_j<R: Real>(&self, nodes: &VoxelNodes<R>, node: u32) -> f64 {
        let [from_m, _, after_m, _] = self.axis.corners_m();
        let motion_m = after_m - from_m;
        let length_m = motion_m.norm();
        if length_m <= 0.0 {
            return 0.0;
        }
        let along = motion_m / length_m;
        let aside_m = |at_m: Vec3| {
            let r = at_m - from_m;
            r - along * along.dot(&r)
        };
        let own_m = aside_m(nodes.position_m(node));
        let mut sum_j = 0.0;
        for (to, other) in nodes.neighbours(node, NeighbourDirection::ALL) {
            let other_m = aside_m(nodes.position_m(other));
            let middle_m = 0.5 * (own_m + other_m);
            let size_m = middle_m.norm();
            if other_m.norm() > self.radius_m && size_m > 0.0 {
                let in_wall = (middle_m[to.axis()] / size_m).abs();
                sum_j += cut_energy_j(nodes, node, to, other) * in_wall;
            }
        }
        sum_j
    }

    /// Lists those of the nodes `near` that the tool sweeps over, in the order of slots; none if the motion is not
    /// finite.
    pub(super) fn find_covered<R: Real>(
        &self,
        nodes: &VoxelNodes<R>,
        near: impl Iterator<Item = u32>,
        found: &mut Vec<u32>,
    ) {
        found.clear();
        found.extend(self.covered_nodes(nodes, near));
        found.sort_unstable();
    }

    /// Iterates over those of the nodes `near` that the tool sweeps over.
    fn covered_nodes<R: Real>(
        &self,
        nodes: &VoxelNodes<R>,
        near: impl Iterator<Item = u32>,
    ) -> impl Iterator<Item = u32> {
        let usable = (0.0..f64::INFINITY).contains(&self.radius_m) && self.axis.is_finite();
        near.filter(move |&e| usable && nodes.alive(e) && self.covers(&nodes.position_m(e)))
    }
}

/// Returns the squared distance of a place from a triangle \[m^2\], which may be degenerate.
fn far2_m2([p, q, r]: [Vec3; 3], at_m: &Vec3) -> f64 {
    let edges = [(p, q), (q, r), (r, p)];
    let to_edges = edges.map(|(from, to)| far2_edge_m2(from, to, at_m));
    let to_edge = to_edges.into_iter().fold(f64::INFINITY, f64::min);
    let normal = (q - p).cross(&(r - p));
    let size2 = normal.norm_squared();
    // above the triangle, its plane is nearer than its edges
    let over = edges
        .iter()
        .all(|(from, to)| normal.dot(&(to - from).cross(&(at_m - from))) >= 0.0);
    if size2 > 0.0 && over {
        let high = normal.dot(&(at_m - p));
        to_edge.min(high * high / size2)
    } else {
        to_edge
    }
}

/// Returns the squared distance of a place from an edge \[m^2\].
fn far2_edge_m2(from_m: Vec3, to_m: Vec3, at_m: &Vec3) -> f64 {
    let along = to_m - from_m;
    let length2 = along.norm_squared();
    let share = if length2 > 0.0 {
        ((at_m - from_m).dot(&along) / length2).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (at_m - from_m - along * share).norm_squared()
}
