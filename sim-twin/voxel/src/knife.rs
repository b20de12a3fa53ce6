//! Knife: finds the links that a moving blade crosses.
//!
//! Source: seed-001 section 3.5 "material-conserving cut" (rows TP-02, CL-02). A blade is an edge between two points;
//! its motion between two poses sweeps two triangles. A link is cut if it crosses one of them at its present
//! position. So a fast blade misses nothing, and no node is removed. Links are sorted along the path of the blade, so
//! a blade that the cutting energy stops has cut the first of them. A node in the plane of a triangle counts as on
//! the side of its normal.

use crate::axis_box::AxisBox;
use crate::edits::link_cut;
use crate::nodes::{VoxelNodes, to_f64};
use palpate_twin::edits::{NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;
use palpate_twin::{Vec3, snapshot_parts};

/// Both ends of the edge of a blade \[m\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BladeEdge(pub(super) [Vec3; 2]);

snapshot_parts!(BladeEdge: 0);

/// Straight motion of a blade between two poses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BladeMotion {
    /// Edge before the motion.
    pub(super) before: BladeEdge,
    /// Edge after the motion.
    pub(super) after: BladeEdge,
}

impl BladeMotion {
    /// Returns both ends of the edge before, then after \[m\].
    pub(super) const fn corners_m(&self) -> [Vec3; 4] {
        let (BladeEdge([p, q]), BladeEdge([r, s])) = (self.before, self.after);
        [p, q, r, s]
    }

    /// Returns the two swept triangles, with the path fraction at their corners.
    fn triangles(&self) -> [([Vec3; 3], [f64; 3]); 2] {
        let [p, q, r, s] = self.corners_m();
        [([p, q, s], [0.0, 0.0, 1.0]), ([p, s, r], [0.0, 1.0, 1.0])]
    }

    /// Returns the path fraction, 0 to 1, at which the blade crosses a link with these ends; none if it does not.
    pub(super) fn crosses(&self, ends_m: [Vec3; 2]) -> Option<f64> {
        let triangles = self.triangles().into_iter();
        let mut fractions = triangles.filter_map(|(corners_m, fractions)| {
            let weights = pierced(&corners_m, ends_m)?;
            Some(weights.into_iter().zip(fractions).map(|(a, b)| a * b).sum())
        });
        fractions.next()
    }

    /// Returns the unit normal of the swept area; zero if that has no area.
    pub(super) fn normal(&self) -> Vec3 {
        let [p, q, r, s] = self.corners_m();
        let across = (s - p).cross(&(r - q));
        let size = across.norm();
        if size > 0.0 {
            across / size
        } else {
            Vec3::zeros()
        }
    }

    /// Returns a bounding box, `wider_m` larger on all sides \[m\].
    pub(super) fn axis_box(&self, wider_m: f64) -> AxisBox {
        let [p, q, r, s] = self.corners_m();
        let by = Vec3::repeat(wider_m);
        AxisBox {
            low_m: p.inf(&q).inf(&r).inf(&s) - by,
            high_m: p.sup(&q).sup(&r).sup(&s) + by,
        }
    }

    /// True if all coordinates are finite.
    pub(super) fn is_finite(&self) -> bool {
        self.corners_m().iter().flatten().all(|x| x.is_finite())
    }
}

/// Returns the barycentric coordinates at which a link pierces a triangle, if it does.
fn pierced(corners_m: &[Vec3; 3], [a, b]: [Vec3; 2]) -> Option<[f64; 3]> {
    let [p, q, r] = corners_m;
    let normal = (q - p).cross(&(r - p));
    let side = |at: &Vec3| normal.dot(&(at - p)) >= 0.0;
    if side(&a) == side(&b) {
        return None;
    }
    // six times the volume that the link spans with an edge: equal from both sides of the edge but for its sign, so
    // no link slips between two triangles
    let spans = |u: &Vec3, v: &Vec3| (b - a).dot(&(u - a).cross(&(v - a)));
    let volumes = [spans(q, r), spans(r, p), spans(p, q)];
    let (least, most) = (
        volumes.into_iter().fold(f64::INFINITY, f64::min),
        volumes.into_iter().fold(f64::NEG_INFINITY, f64::max),
    );
    if least < 0.0 && most > 0.0 {
        return None;
    }
    let sum: f64 = volumes.iter().sum();
    Some(if sum == 0.0 {
        [1.0 / 3.0; 3]
    } else {
        volumes.map(|volume| volume / sum)
    })
}

/// A cut or removal on the path of an edge or ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CutEvent {
    /// The change: a cut of a link, from its lower end, or a removal of a node.
    pub(super) change: TopologyChange,
    /// Path fraction, 0 to 1.
    pub(super) path_fraction: f64,
    /// Required energy \[J\].
    pub(super) energy_j: f64,
}

/// Sorts events along the path; at one place by link or node.
pub(super) fn sort_by_path(events: &mut [CutEvent]) {
    let place = |event: &CutEvent| match event.change {
        TopologyChange::Cut {
            node,
            direction: to,
            ..
        } => (node, to.index()),
        change => (change.nodes()[0], 0),
    };
    events.sort_unstable_by(|a, b| {
        let by_path = a.path_fraction.total_cmp(&b.path_fraction);
        by_path.then_with(|| place(a).cmp(&place(b)))
    });
}

/// Lists the links of the nodes `near` that a blade crosses, in the order of its path; none if the motion is not
/// finite.
pub(super) fn find_crossed_links<R: Real>(
    nodes: &VoxelNodes<R>,
    near: impl Iterator<Item = u32>,
    motion: &BladeMotion,
    reach_m: f64,
    found: &mut Vec<CutEvent>,
) {
    found.clear();
    if !motion.is_finite() {
        return;
    }
    // most links are on one side of the box; a little wider, for rounding
    let AxisBox { low_m, high_m } = motion.axis_box(1e-3 * reach_m);
    let aside = |a: &Vec3, b: &Vec3| {
        (0..3).any(|axis| {
            let both_low = a[axis] < low_m[axis] && b[axis] < low_m[axis];
            both_low || a[axis] > high_m[axis] && b[axis] > high_m[axis]
        })
    };
    for node in near {
        let own_m = nodes.position_m(node);
        for (to, other) in nodes.neighbours(node, NeighbourDirection::POSITIVE) {
            let other_m = nodes.position_m(other);
            if aside(&own_m, &other_m) {
                continue;
            }
            if let Some(path_fraction) = motion.crosses([own_m, other_m]) {
                found.push(CutEvent {
                    change: link_cut(node, to, other),
                    path_fraction,
                    energy_j: cut_energy_j(nodes, node, to, other),
                });
            }
        }
    }
    sort_by_path(found);
}

/// Returns the greatest distance of two linked nodes \[m\], over all materials.
pub(super) fn link_length_max_m<R: Real>(nodes: &VoxelNodes<R>) -> f64 {
    // a little more, for rounding
    upper_end_max_m(nodes, nodes.frame().spacing_m) * (1.0 + 1e-6)
}

/// Returns the greatest length \[m\], over all links and their limits, of a sum of two vectors. One is `below_m[axis]`
/// along the link's axis, the other the displacement of its upper end relative to its lower end. If `below_m` is the
/// spacing, the sum is the longest link. If it is zero, the sum is the greatest relative displacement.
pub(super) fn upper_end_max_m<R: Real>(nodes: &VoxelNodes<R>, below_m: [f64; 3]) -> f64 {
    let distances2 = nodes.bonds().all().map(|(axis, bond)| {
        let distance2 = (0..3).map(|along| {
            let rest_m = if along == axis { below_m[axis] } else { 0.0 };
            let (least, most) = (to_f64(bond.least_m[along]), to_f64(bond.most_m[along]));
            let far = (rest_m + least).abs().max((rest_m + most).abs());
            far * far
        });
        distance2.sum::<f64>()
    });
    distances2.fold(0.0, f64::max).sqrt()
}

/// Returns the energy to cut a link \[J\] (row CL-02).
pub(super) fn cut_energy_j<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> f64 {
    let (own, beside) = (nodes.material(node), nodes.material(other));
    nodes.bonds().of(own, beside, to.axis()).cut_energy_j
}

/// Returns the energy stored in a link \[J\]; a cut removes it.
pub(super) fn link_energy_j<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    to: NeighbourDirection,
    other: u32,
) -> f64 {
    let stiffness_npm = nodes.stiffness_npm(node, other, to.axis());
    let (own, beside) = (nodes.displacement_m(node), nodes.displacement_m(other));
    let offset = own.into_iter().zip(beside).map(|(a, b)| to_f64(b - a));
    0.5 * to_f64(stiffness_npm) * offset.map(|x| x * x).sum::<f64>()
}

/// Iterates over the energies of a node's links to its right, top and front \[J\].
pub(super) fn upward_link_energies_j<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
) -> impl Iterator<Item = f64> {
    let links = nodes.neighbours(node, NeighbourDirection::POSITIVE);
    links.map(move |(to, other)| link_energy_j(nodes, node, to, other))
}
