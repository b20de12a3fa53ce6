//! Contact of tools with nodes, and the equilibrium of a node in contact.
//!
//! Source: seed-001 section 3.7, with the force of section 3.4.2 as the gradient of an energy. A spring pushes every
//! node inside a tool outwards: `E = k/2 (R - r)^2`, with `r` the distance from the tool's axis. With fixed
//! neighbours, a node's least energy has a closed form along the ray from the axis: `r = (S r_b + k R) / (S + k)`.
//! `S` is the sum of its links' stiffness, and `r_b` the distance at the equilibrium of its links alone.

use crate::VoxelModel;
use crate::axis_box::AxisBox;
use crate::gauss_seidel;
use crate::nodes::to_f32;
use palpate_twin::contact::{ToolCore, jaw_axis};
use palpate_twin::{Tool, Vec3, snapshot_parts};

/// Greatest number of tools.
pub(super) const TOOLS: usize = 4;

/// The pressing part of a tool: a rounded rod or plate, a ball if it has no length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct PressingShape {
    /// One end of the axis \[m\].
    pub(super) from_m: Vec3,
    /// To the other end \[m\].
    pub(super) shaft_m: Vec3,
    /// To the other edge of a plate \[m\].
    pub(super) side_m: Vec3,
    /// Radius \[m\].
    pub(super) radius_m: f64,
    /// Stiffness of the spring of one node \[N/m\].
    pub(super) stiffness_npm: f64,
    /// From its position to the inner side of its first jaw \[m\]; zero without jaws.
    pub(super) jaw_m: Vec3,
}

snapshot_parts!(PressingShape: from_m, shaft_m, side_m, radius_m, stiffness_npm, jaw_m);

/// A spring that ties a node to a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TieSpring {
    /// Tie point \[m\].
    pub(super) place_m: Vec3,
    /// Direction in which the node is free, a unit vector or zero.
    pub(super) free: Vec3,
    /// Stiffness \[N/m\].
    pub(super) stiffness_npm: f64,
}

impl TieSpring {
    /// Returns the stretch: from the tie point to a place, without the free direction \[m\].
    pub(super) fn stretch_m(&self, at_m: &Vec3) -> Vec3 {
        let r = at_m - self.place_m;
        r - self.free * self.free.dot(&r)
    }

    /// Returns the equilibrium of this spring and of links with equilibrium `alone_m` \[m\], and their joint
    /// stiffness \[N/m\].
    fn with(&self, alone_m: &Vec3, sum: f64) -> (Vec3, f64) {
        let both = sum + self.stiffness_npm;
        let best_m = alone_m - self.stretch_m(alone_m) * (self.stiffness_npm / both);
        // across the normal it adds no stiffness to the contact
        let stiff_npm = if self.free == Vec3::zeros() {
            both
        } else {
            sum
        };
        (best_m, stiff_npm)
    }

    /// Returns the energy of the spring \[J\].
    pub(super) fn energy_j(&self, at_m: &Vec3) -> f64 {
        0.5 * self.stiffness_npm * self.stretch_m(at_m).norm_squared()
    }
}

impl PressingShape {
    pub(super) fn of(tool: &Tool) -> Self {
        Self {
            from_m: tool.position_m,
            shaft_m: tool.shaft_m,
            side_m: tool.side_m,
            radius_m: tool.radius_m,
            stiffness_npm: tool.stiffness_npm,
            jaw_m: tool.jaws.map_or_else(Vec3::zeros, |jaws| {
                jaw_axis(&tool.shaft_m) * (0.5 * jaws.opening_m.max(0.0))
            }),
        }
    }

    /// Returns the point of the axis, or of the plate's middle, nearest to a place \[m\].
    pub(super) fn nearest_m(&self, at_m: &Vec3) -> Vec3 {
        let span = ToolCore {
            shaft_m: self.shaft_m,
            side_m: self.side_m,
        };
        self.from_m + span.nearest_offset_m(&(at_m - self.from_m))
    }

    /// Returns the depth of a place inside \[m\], negative outside, and the outward unit vector.
    pub(super) fn depth_m(&self, at_m: &Vec3) -> (f64, Vec3) {
        let from_axis = at_m - self.nearest_m(at_m);
        let distance_m = from_axis.norm();
        let out = if distance_m > 0.0 {
            from_axis / distance_m
        } else {
            // on the axis all directions are equal: take down, where the tissue is
            -Vec3::z()
        };
        (self.radius_m - distance_m, out)
    }

    /// True if a place is at least this far outside \[m\]; near the limit the depth decides.
    pub(super) fn is_far(&self, at_m: &Vec3, by_m: f64) -> bool {
        let reach_m = self.radius_m + by_m;
        let distance2 = (at_m - self.nearest_m(at_m)).norm_squared();
        // a little more, for rounding
        distance2 > reach_m * reach_m * (1.0 + 1e-9) || self.depth_m(at_m).0 <= -by_m
    }

    /// Returns the energy of a node's contact spring at a place \[J\].
    pub(super) fn energy_j(&self, at_m: &Vec3) -> f64 {
        let depth_m = self.depth_m(at_m).0.max(0.0);
        0.5 * self.stiffness_npm * depth_m * depth_m
    }

    /// Returns a bounding box, `wider_m` larger on all sides \[m\].
    pub(super) fn axis_box(&self, wider_m: f64) -> AxisBox {
        let by = Vec3::repeat(self.radius_m + wider_m);
        let edges = [&self.shaft_m, &self.side_m];
        let of = |bound: fn(&Vec3, &Vec3) -> Vec3| {
            let none = Vec3::zeros();
            edges
                .iter()
                .map(|edge_m| bound(&none, edge_m))
                .sum::<Vec3>()
                + self.from_m
        };
        AxisBox {
            low_m: of(Vec3::inf) - by,
            high_m: of(Vec3::sup) + by,
        }
    }
}

/// Result of relaxing a touched node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ContactStep {
    /// Dissipated energy of its links and contacts \[J\].
    pub(super) lost_j: f64,
    /// Part of it that is not work of a tool's motion \[J\].
    pub(super) freed_j: f64,
    /// Greatest step along an axis \[m\].
    pub(super) farthest_m: f32,
    /// True if the node is still in a tool, whose work the loss then is.
    pub(super) in_contact: bool,
}

impl VoxelModel {
    /// Moves a touched node to its least energy, with fixed neighbours and within its links' limits. The shapes of
    /// the tools moved from the `previous` ones.
    ///
    /// Never adds energy: tries the equilibrium with the deepest tool, then half and a quarter of that step, and
    /// takes the first that is no worse. Limits may have stopped the node, and its neighbours may now release it.
    /// Energy that this sets free would be lost under tools at rest too; it does not count as their work.
    pub(super) fn relax_touched_node(
        &mut self,
        node: u32,
        previous: &[Option<PressingShape>; TOOLS],
    ) -> ContactStep {
        let (slot, tie) = (node as usize, self.tie_spring(node));
        let (nodes, stencil, shapes) = (&mut self.nodes, &self.stencil, &self.contact.shapes);
        let sum = f64::from(stencil.stiffness_sum_npm[slot]);
        let free = !nodes.pinned(node) && sum > 0.0;
        if !free {
            return ContactStep::default();
        }
        let at_m = nodes.position_m(node);
        let pull = Vec3::from(gauss_seidel::link_force_n(nodes, stencil, slot).map(f64::from));
        let alone_m = at_m + pull / sum;
        let (best_m, stiff_npm) = tie.map_or((alone_m, sum), |tie| tie.with(&alone_m, sum));
        let to_m = equilibrium_m(&best_m, &at_m, stiff_npm, shapes);
        let energy_under = |place_m: &Vec3, shapes: &[Option<PressingShape>; TOOLS]| {
            let contacts = shapes.iter().flatten();
            0.5 * sum * (place_m - alone_m).norm_squared()
                + contacts.map(|shape| shape.energy_j(place_m)).sum::<f64>()
                + tie.map_or(0.0, |tie| tie.energy_j(place_m))
        };
        let before_j = energy_under(&at_m, shapes);
        let rest_m = nodes.rest_m(node);
        let allowed = gauss_seidel::allowed_range_m(nodes, node);
        let within = |place_m: &Vec3| -> [f32; 3] {
            std::array::from_fn(|along| {
                let to = to_f32(place_m[along] - rest_m[along]);
                to.clamp(allowed[along].0, allowed[along].1)
            })
        };
        for share in [1.0, 0.5, 0.25] {
            let moved = within(&(at_m + (to_m - at_m) * share));
            let there_m = rest_m + Vec3::from(moved.map(f64::from));
            let lost_j = before_j - energy_under(&there_m, shapes);
            if lost_j >= 0.0 {
                let own = nodes.displacement_m(node);
                let stopped = |along: usize| {
                    let (least, most) = allowed[along];
                    own[along] <= least || own[along] >= most
                };
                let freed_j = if (0..3).any(stopped) {
                    energy_under(&at_m, previous) - energy_under(&there_m, previous)
                } else {
                    0.0
                };
                for (moved_m, to) in nodes.displacement_m.iter_mut().zip(moved) {
                    moved_m[slot] = to;
                }
                let farther = |distance_m: f32, along: usize| {
                    distance_m.max((moved[along] - own[along]).abs())
                };
                let inside = |shape: &PressingShape| shape.depth_m(&there_m).0 > 0.0;
                return ContactStep {
                    lost_j,
                    freed_j: freed_j.clamp(0.0, lost_j),
                    farthest_m: (0..3).fold(0.0, farther),
                    in_contact: tie.is_some() || shapes.iter().flatten().any(inside),
                };
            }
        }
        ContactStep::default()
    }
}

/// Returns the equilibrium of a node's links and its deepest tool \[m\].
fn equilibrium_m(
    best_m: &Vec3,
    at_m: &Vec3,
    sum: f64,
    shapes: &[Option<PressingShape>; TOOLS],
) -> Vec3 {
    let depths = shapes
        .iter()
        .flatten()
        .map(|shape| (shape, shape.depth_m(best_m)));
    let deepest = depths
        .filter(|(_, (depth_m, _))| *depth_m > 0.0)
        .max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    let Some((shape, (depth_m, mut out))) = deepest else {
        return *best_m;
    };
    let axis_m = shape.nearest_m(best_m);
    let distance_m = shape.radius_m - depth_m;
    // the links pull it through the axis: it leaves on its present side
    let now = at_m - axis_m;
    if now.dot(&out) < 0.0 && now.norm() > 0.0 {
        out = now.normalize();
        let along = (best_m - axis_m).dot(&out);
        let distance_m =
            (sum * along + shape.stiffness_npm * shape.radius_m) / (sum + shape.stiffness_npm);
        return axis_m + out * distance_m.max(0.0);
    }
    let distance_m =
        (sum * distance_m + shape.stiffness_npm * shape.radius_m) / (sum + shape.stiffness_npm);
    axis_m + out * distance_m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_measured_from_the_axis_and_ends_of_a_rod() {
        let shape = PressingShape {
            from_m: Vec3::zeros(),
            shaft_m: Vec3::new(0.0, 0.0, 2.0),
            side_m: Vec3::zeros(),
            radius_m: 0.5,
            stiffness_npm: 8.0,
            jaw_m: Vec3::zeros(),
        };
        let (depth_m, out) = shape.depth_m(&Vec3::new(0.3, 0.0, 1.0));
        assert!((depth_m - 0.2).abs() < 1e-15 && (out - Vec3::x()).norm() < 1e-15);
        let (depth_m, out) = shape.depth_m(&Vec3::new(0.0, 0.0, -0.75));
        assert!((depth_m + 0.25).abs() < 1e-15 && (out + Vec3::z()).norm() < 1e-15);
        assert!((shape.energy_j(&Vec3::new(0.3, 0.0, 1.0)) - 0.16).abs() < 1e-12);
        assert_eq!(shape.energy_j(&Vec3::new(0.0, 0.0, -0.75)), 0.0);
        assert!(shape.depth_m(&Vec3::new(0.0, 0.0, 1.0)).1.norm() > 0.99);
    }
}
