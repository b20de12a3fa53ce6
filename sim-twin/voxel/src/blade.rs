//! Cutting force: the tissue holds a blade at a proxy until the pull exceeds the resistance ahead of its edge. A
//! curette is resisted in the same way at its centre.
//!
//! Source: ours, a rate-independent law (row CL-02, FU-10). The proxy is the edge at which the tissue is parted; a
//! spring at either end ties it to the tool's edge. It moves straight towards the tool, and only while the springs
//! pull more than the resistance. So no motion yields energy, and the dissipation is the cost of the path.
//!
//! A link costs its toughness times its area, projected across the path, so a surface costs its area times the
//! toughness in any orientation to the lattice. The cost is spread over the two spacings ahead of the link as a
//! triangle. So rows of links resist like homogeneous material, and cutting one causes no step of force.
//!
//! An edge that moves along itself cuts nothing and is not held. The blade does not drag the tissue, and its flat
//! causes no force. The module `carve` gives the cost of a curette.
//!
//! Symbol: `k`, the tool's stiffness \[N/m\].

use crate::knife::{BladeEdge, BladeMotion, CutEvent};
use palpate_twin::{Vec3, snapshot_parts};

/// Steps of a proxy over one spacing, and the greatest number of steps.
const STEPS: f64 = 8.0;
const STEPS_MAX: f64 = 64.0;
/// Distance from its tool \[m\] below which a proxy stays.
const NEAR_M: f64 = 1e-10;
/// Share of its displacement below which a proxy coincides with its tool.
const ROUND: f64 = 1e-12;

/// Proxy of a blade, tied to it by springs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BladeProxy {
    /// Edge at which the tissue is parted.
    pub(super) edge: BladeEdge,
    /// Stiffness of both springs together \[N/m\].
    pub(super) stiffness_npm: f64,
}

snapshot_parts!(BladeProxy: edge, stiffness_npm);

impl BladeProxy {
    /// Returns the offsets of the proxy from an edge of the tool, at both ends \[m\].
    pub(super) fn offset_m(&self, edge: &BladeEdge) -> [Vec3; 2] {
        [0, 1].map(|end| self.edge.0[end] - edge.0[end])
    }

    /// Returns the energy of the springs \[J\].
    pub(super) fn stored_j(&self, edge: &BladeEdge) -> f64 {
        let offset = self.offset_m(edge);
        0.5 * self.stiffness_npm * dot(&offset, &offset)
    }

    /// Returns the forces on both ends of the tool's edge \[N\].
    pub(super) fn forces_n(&self, edge: &BladeEdge) -> [Vec3; 2] {
        self.offset_m(edge)
            .map(|offset| offset * (0.5 * self.stiffness_npm))
    }

    /// Returns the motion on which the proxy can meet tissue, two spacings past the tool, and its length over the
    /// distance to the tool.
    pub(super) fn lookahead(&self, edge: &BladeEdge, spacing_m: f64) -> Option<(BladeMotion, f64)> {
        let offset = self.offset_m(edge);
        let distance_m = dot(&offset, &offset).sqrt();
        if distance_m < NEAR_M {
            return None;
        }
        let share = 1.0 + 2.0 * spacing_m / distance_m;
        let ends_m = [0, 1].map(|end| self.edge.0[end] - offset[end] * share);
        let motion = BladeMotion {
            before: self.edge,
            after: BladeEdge(ends_m),
        };
        Some((motion, share))
    }

    /// Sets the stiffness to that of the tool \[N/m\] without adding energy: a softer spring loses some, and a
    /// stiffer one is set only at zero offset. Returns the loss \[J\].
    pub(super) fn set_stiffness(&mut self, edge: &BladeEdge, stiffness_npm: f64) -> f64 {
        let before_j = self.stored_j(edge);
        if stiffness_npm > self.stiffness_npm && before_j > 0.0 {
            return 0.0;
        }
        self.stiffness_npm = stiffness_npm;
        before_j - self.stored_j(edge)
    }

    /// Returns the fraction of a motion that the proxy advances. The tool is at `1 / share` of it; `events` holds the
    /// cut events on it in order, and `cost_j` their costs \[J\].
    pub(super) fn advance_share(
        &self,
        edge: &BladeEdge,
        share: f64,
        events: &[CutEvent],
        spacing_m: f64,
        cost_j: impl Fn(&CutEvent) -> f64,
    ) -> f64 {
        let offset = self.offset_m(edge);
        let distance_m = dot(&offset, &offset).sqrt();
        let all_m = distance_m * share;
        let stride_m = (spacing_m / STEPS).max(distance_m / STEPS_MAX);
        let mut at_m = 0.0;
        let mut first = 0;
        // every step but the last has the full stride
        while at_m < distance_m {
            while events
                .get(first)
                .is_some_and(|m| m.path_fraction * all_m < at_m)
            {
                first += 1;
            }
            let resistance_n: f64 = events[first..]
                .iter()
                .map(|m| (m.path_fraction * all_m - at_m, m))
                .take_while(|(ahead_m, _)| *ahead_m < 2.0 * spacing_m)
                .map(|(ahead_m, m)| {
                    let share = 1.0 - ((ahead_m - spacing_m) / spacing_m).abs();
                    cost_j(m) * share.max(0.0) / spacing_m
                })
                .sum();
            let free_m = distance_m - at_m - resistance_n / self.stiffness_npm;
            if free_m <= 0.0 {
                break;
            }
            at_m += free_m.min(stride_m);
            if free_m <= stride_m {
                break;
            }
        }
        (at_m / all_m).min(1.0 / share)
    }

    /// Moves the tool from one edge to another, and the proxy to a fraction of a motion.
    pub(super) fn advance(
        &mut self,
        was: &BladeEdge,
        now: &BladeEdge,
        to: Option<(&BladeMotion, f64)>,
    ) -> BladeStep {
        let before = self.offset_m(was);
        let after = self.offset_m(now);
        let way = [before[0] - after[0], before[1] - after[1]];
        // the closest approach on the path: the springs unload up to it, and load after it
        let size2 = dot(&way, &way);
        let turn = if size2 > 0.0 {
            (dot(&before, &way) / size2).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let least = [0, 1].map(|end| before[end] - way[end] * turn);
        if let Some((motion, share)) = to {
            let (from, to) = (motion.before.0, motion.after.0);
            self.edge.0 = [0, 1].map(|end| from[end] + (to[end] - from[end]) * share);
        }
        let mut end = self.offset_m(now);
        if dot(&end, &end) <= ROUND * ROUND * size2.max(dot(&before, &before)) {
            // a rounding remainder of a long path would count as an offset
            (self.edge, end) = (*now, [Vec3::zeros(); 2]);
        }
        let k = self.stiffness_npm;
        let (first, last) = ([before, least], [least, end]);
        let mean = |[a, b]: [[Vec3; 2]; 2], end: usize| (a[end] + b[end]) * 0.5;
        let mean_n = [0, 1]
            .map(|side| (mean(first, side) * turn + mean(last, side) * (1.0 - turn)) * (0.5 * k));
        // work against the mean force; twice since dot is a mean
        let work_j = -2.0 * dot(&mean_n, &way);
        let gained_j = 0.5 * k * (dot(&end, &end) - dot(&before, &before));
        BladeStep {
            mean_force_n: mean_n,
            work_j,
            lost_j: work_j - gained_j,
        }
    }
}

/// Forces and energies of a blade in one step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BladeStep {
    /// Mean force on both ends of the tool's edge \[N\].
    pub(super) mean_force_n: [Vec3; 2],
    /// Work of the tool \[J\].
    pub(super) work_j: f64,
    /// Energy dissipated by cutting \[J\].
    pub(super) lost_j: f64,
}

/// Returns the product of two offsets: the mean of both ends.
fn dot(a: &[Vec3; 2], b: &[Vec3; 2]) -> f64 {
    0.5 * (a[0].dot(&b[0]) + a[1].dot(&b[1]))
}
