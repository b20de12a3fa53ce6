//! The feel of a blade: it is held by the tissue ahead of its edge until the hand pulls more than parting that costs.
//! A curette is felt so too, by its middle.
//!
//! Source: ours, a rate-independent law (row CL-02, FU-10). The edge has a proxy, where the tissue is parted, which a
//! spring at either end ties to the tool's. The proxy is drawn straight towards the tool's edge, and only while the
//! springs pull more than the resistance; so no energy comes of any motion, and what is dissipated is what
//! the way costs. A link's cost is its toughness over its area, as far as that is across the way: so a surface
//! costs its area times the toughness however it lies on the lattice. It is paid on the two spacings before
//! the link is met, least at both ends, so that rows of links are felt as even matter and cutting one is no step of
//! force. An edge that moves along itself parts nothing and is not held. The tissue is not drawn along by
//! the blade, and its flat is not felt. What a curette pays is in `carve`.
//!
//! Symbols: `S` from the tool's edge to the proxy \[m\], six numbers, whose square is the mean of both ends'; `D` its
//! length when the tool has moved; `k` the tool's stiffness \[N/m\].

use crate::knife::{Blade, Crossing, Sweep};
use palpate_twin::Vec3;

/// Steps in which a proxy is drawn over one spacing, and most of them.
const STEPS: f64 = 8.0;
const STEPS_MAX: f64 = 64.0;
/// Nearer than this to its tool \[m\], a proxy goes nowhere.
const NEAR_M: f64 = 1e-10;
/// Nearer than this share of its way to its tool, a proxy is where that is.
const ROUND: f64 = 1e-12;

/// What a blade is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Held {
    /// Where the tissue is parted.
    pub(super) proxy: Blade,
    /// Stiffness of both springs together \[N/m\].
    pub(super) stiffness_npm: f64,
}

impl Held {
    /// From an edge of the tool to the proxy \[m\].
    pub(super) fn from(&self, edge: &Blade) -> [Vec3; 2] {
        [self.proxy.from_m - edge.from_m, self.proxy.to_m - edge.to_m]
    }

    /// Energy of the springs \[J\].
    pub(super) fn stored_j(&self, edge: &Blade) -> f64 {
        let far = self.from(edge);
        0.5 * self.stiffness_npm * dot(&far, &far)
    }

    /// Force on both ends of the tool's edge \[N\].
    pub(super) fn forces_n(&self, edge: &Blade) -> [Vec3; 2] {
        self.from(edge).map(|far| far * (0.5 * self.stiffness_npm))
    }

    /// The sweep on which an edge meets what it will be drawn through, and what is so near that it is felt.
    pub(super) fn ahead(&self, edge: &Blade, spacing_m: f64) -> Option<(Sweep, f64)> {
        let far = self.from(edge);
        let far_m = dot(&far, &far).sqrt();
        if far_m < NEAR_M {
            return None;
        }
        let share = 1.0 + 2.0 * spacing_m / far_m;
        let after = Blade {
            from_m: self.proxy.from_m - far[0] * share,
            to_m: self.proxy.to_m - far[1] * share,
        };
        let sweep = Sweep {
            before: self.proxy,
            after,
        };
        Some((sweep, share))
    }

    /// Takes the stiffness of its tool as it is now \[N/m\], which gives no energy: a softer spring loses some, and
    /// a stiffer one is taken where nothing pulls. Gives what is lost \[J\].
    pub(super) fn retune(&mut self, edge: &Blade, stiffness_npm: f64) -> f64 {
        let before_j = self.stored_j(edge);
        if stiffness_npm > self.stiffness_npm && before_j > 0.0 {
            return 0.0;
        }
        self.stiffness_npm = stiffness_npm;
        before_j - self.stored_j(edge)
    }

    /// How far along its sweep an edge is drawn, whose tool is at `1 / share` of it, through what it meets in
    /// this order; `of` tells where on the sweep that is and what it costs \[J\].
    pub(super) fn way<T>(
        &self,
        edge: &Blade,
        share: f64,
        met: &[T],
        spacing_m: f64,
        of: impl Fn(&T) -> (f64, f64),
    ) -> f64 {
        let far = self.from(edge);
        let far_m = dot(&far, &far).sqrt();
        let all_m = far_m * share;
        let stride_m = (spacing_m / STEPS).max(far_m / STEPS_MAX);
        let mut at_m = 0.0;
        let mut first = 0;
        // every step but the last is a whole stride
        while at_m < far_m {
            while met.get(first).is_some_and(|m| of(m).0 * all_m < at_m) {
                first += 1;
            }
            let resists_n: f64 = met[first..]
                .iter()
                .map(&of)
                .map(|(way, cost_j)| (way * all_m - at_m, cost_j))
                .take_while(|(ahead_m, _)| *ahead_m < 2.0 * spacing_m)
                .map(|(ahead_m, cost_j)| {
                    let share = 1.0 - ((ahead_m - spacing_m) / spacing_m).abs();
                    cost_j * share.max(0.0) / spacing_m
                })
                .sum();
            let free_m = far_m - at_m - resists_n / self.stiffness_npm;
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

    /// Goes with its tool from one edge to another, the proxy to a share of a sweep from where it is.
    pub(super) fn draw(&mut self, was: &Blade, now: &Blade, to: Option<(&Sweep, f64)>) -> Drawn {
        let before = self.from(was);
        let after = self.from(now);
        let way = [before[0] - after[0], before[1] - after[1]];
        // nearest to each other on the way: the springs give back until there, and then are drawn
        let size2 = dot(&way, &way);
        let turn = if size2 > 0.0 {
            (dot(&before, &way) / size2).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let least = [0, 1].map(|end| before[end] - way[end] * turn);
        if let Some((sweep, share)) = to {
            let between = |a: Vec3, b: Vec3| a + (b - a) * share;
            self.proxy = Blade {
                from_m: between(sweep.before.from_m, sweep.after.from_m),
                to_m: between(sweep.before.to_m, sweep.after.to_m),
            };
        }
        let mut end = self.from(now);
        if dot(&end, &end) <= ROUND * ROUND * size2.max(dot(&before, &before)) {
            // what is left of a long way by rounding would be held as if it were far
            (self.proxy, end) = (*now, [Vec3::zeros(); 2]);
        }
        let k = self.stiffness_npm;
        let (first, last) = ([before, least], [least, end]);
        let mean = |[a, b]: [[Vec3; 2]; 2], end: usize| (a[end] + b[end]) * 0.5;
        let mean_n = [0, 1]
            .map(|side| (mean(first, side) * turn + mean(last, side) * (1.0 - turn)) * (0.5 * k));
        // against the mean force; twice since dot is a mean
        let work_j = -2.0 * dot(&mean_n, &way);
        let gained_j = 0.5 * k * (dot(&end, &end) - dot(&before, &before));
        Drawn {
            mean_n,
            work_j,
            lost_j: work_j - gained_j,
        }
    }
}

/// What a motion of a blade was like.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Drawn {
    /// Mean force on both ends of the tool's edge \[N\].
    pub(super) mean_n: [Vec3; 2],
    /// Energy that the tool put in \[J\].
    pub(super) work_j: f64,
    /// Energy that parting took \[J\].
    pub(super) lost_j: f64,
}

/// Product of six numbers with six, those of each end counted half.
fn dot(a: &[Vec3; 2], b: &[Vec3; 2]) -> f64 {
    0.5 * (a[0].dot(&b[0]) + a[1].dot(&b[1]))
}

/// What it costs to go through a link with a sweep of this normal \[J\].
pub(super) fn cost_j(crossing: &Crossing, across: &Vec3) -> f64 {
    crossing.tough_j * across[crossing.to.axis()].abs()
}
