//! The knife: cuts the links that a blade sweeps across, and nothing else.
//!
//! Source: seed-001 section 3.5 "material-conserving cut" (rows TP-02, CL-02). A blade is an edge between two
//! points; from one pose to the next it sweeps two triangles. A link is cut if it crosses one of them, where
//! its ends are now. So a fast blade misses nothing, and no element is lost. Links are given in the order in
//! which the blade comes to them, so that one which is stopped by what cutting costs has cut the first of
//! them. An element on the very plane of a triangle counts to the side of its normal.

use crate::cells::{Cells, Extent, reach_m};
use crate::elements::{Elements, to_f64};
use palpate_twin::Vec3;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// Where a blade is: its edge.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Blade {
    /// One end \[m\].
    pub(super) from_m: Vec3,
    /// The other \[m\].
    pub(super) to_m: Vec3,
}

/// A motion of a blade, straight between two poses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sweep {
    /// Where it was.
    pub(super) before: Blade,
    /// Where it is.
    pub(super) after: Blade,
}

impl Sweep {
    /// The two triangles; the weights that their corners have of the way.
    fn triangles(&self) -> [([Vec3; 3], [f64; 3]); 2] {
        let [[p, q], [r, s]] = [self.before, self.after].map(|b| [b.from_m, b.to_m]);
        [([p, q, s], [0.0, 0.0, 1.0]), ([p, s, r], [0.0, 1.0, 1.0])]
    }

    /// How far along its way the blade crosses a link with these ends, 0 to 1; none if it does not.
    pub(super) fn crosses(&self, ends_m: [Vec3; 2]) -> Option<f64> {
        let triangles = self.triangles().into_iter();
        let mut ways = triangles.filter_map(|(corners_m, way)| {
            let shares = pierced(&corners_m, ends_m)?;
            Some(shares.into_iter().zip(way).map(|(a, b)| a * b).sum())
        });
        ways.next()
    }

    /// Unit normal of what it sweeps; zero if that has no area.
    pub(super) fn normal(&self) -> Vec3 {
        let across =
            (self.after.to_m - self.before.from_m).cross(&(self.after.from_m - self.before.to_m));
        let size = across.norm();
        if size > 0.0 {
            across / size
        } else {
            Vec3::zeros()
        }
    }

    /// A box around it, `wider_m` larger on all sides \[m\].
    pub(super) fn extent(&self, wider_m: f64) -> Extent {
        let [p, q, r, s] = [
            self.before.from_m,
            self.before.to_m,
            self.after.from_m,
            self.after.to_m,
        ];
        let by = Vec3::repeat(wider_m);
        Extent {
            low_m: p.inf(&q).inf(&r).inf(&s) - by,
            high_m: p.sup(&q).sup(&r).sup(&s) + by,
        }
    }

    /// Whether the blade is somewhere, before and after.
    pub(super) fn is_finite(&self) -> bool {
        let ends_m = [
            self.before.from_m,
            self.before.to_m,
            self.after.from_m,
            self.after.to_m,
        ];
        ends_m.iter().flatten().all(|x| x.is_finite())
    }
}

/// The shares that corners have of the point where a link goes through a triangle, if it does.
fn pierced(corners_m: &[Vec3; 3], [a, b]: [Vec3; 2]) -> Option<[f64; 3]> {
    let [p, q, r] = corners_m;
    let normal = (q - p).cross(&(r - p));
    let side = |at: &Vec3| normal.dot(&(at - p)) >= 0.0;
    if side(&a) == side(&b) {
        return None;
    }
    // six times the volume that the link spans with an edge: the same number from both sides of the
    // edge but for its sign, so nothing slips through between two triangles
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

/// A link that a blade crosses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crossing {
    /// Its lower end.
    pub(super) element: u32,
    /// Where the upper one is, from there.
    pub(super) to: Direction,
    /// The upper end.
    pub(super) other: u32,
    /// How far along its way the blade meets it, 0 to 1.
    pub(super) way: f64,
    /// What cutting it costs \[J\].
    pub(super) tough_j: f64,
}

impl Crossing {
    /// The cut of it.
    pub(super) const fn cut(&self) -> Change {
        Change::Cut {
            element: self.element,
            to: self.to,
            other: self.other,
        }
    }
}

/// Room for finding what a blade crosses.
#[derive(Debug, Clone)]
pub(super) struct Knife {
    near: Vec<u32>,
    crossings: Vec<Crossing>,
    /// The longest link \[m\].
    reach_m: f64,
}

impl Knife {
    /// Room for a volume; it does not grow.
    pub(super) fn new<R: Real>(elements: &Elements<R>) -> Self {
        let slots = elements.slots() as usize;
        Self {
            near: Vec::with_capacity(slots),
            crossings: Vec::with_capacity(3 * slots),
            reach_m: reach_m(elements),
        }
    }

    /// The longest link \[m\].
    pub(super) const fn reach_m(&self) -> f64 {
        self.reach_m
    }

    /// What the last [`Knife::find`] found.
    pub(super) fn crossings(&self) -> &[Crossing] {
        &self.crossings
    }

    /// All links that a blade crosses, in the order in which it comes to them. None if it is nowhere.
    pub(super) fn find<R: Real>(
        &mut self,
        elements: &Elements<R>,
        cells: &mut Cells,
        sweep: &Sweep,
    ) -> &[Crossing] {
        self.crossings.clear();
        if !sweep.is_finite() {
            return &[];
        }
        cells.near(&sweep.extent(self.reach_m), &mut self.near);
        // most of them are on one side of all of it; a little more than that, for rounding
        let Extent { low_m, high_m } = sweep.extent(1e-3 * self.reach_m);
        let aside = |a: &Vec3, b: &Vec3| {
            (0..3).any(|axis| {
                let both_low = a[axis] < low_m[axis] && b[axis] < low_m[axis];
                both_low || a[axis] > high_m[axis] && b[axis] > high_m[axis]
            })
        };
        for &element in &self.near {
            let own_m = elements.at_m(element);
            for to in Direction::UP {
                let Some(other) = elements.neighbour(element, to) else {
                    continue;
                };
                let other_m = elements.at_m(other);
                if aside(&own_m, &other_m) {
                    continue;
                }
                if let Some(way) = sweep.crosses([own_m, other_m]) {
                    self.crossings.push(Crossing {
                        element,
                        to,
                        other,
                        way,
                        tough_j: tough_j(elements, element, to, other),
                    });
                }
            }
        }
        let order = |c: &Crossing| (c.element, c.to.index());
        self.crossings.sort_unstable_by(|a, b| {
            a.way
                .total_cmp(&b.way)
                .then_with(|| order(a).cmp(&order(b)))
        });
        &self.crossings
    }
}

/// What cutting a link costs \[J\] (row CL-02).
pub(super) fn tough_j<R: Real>(
    elements: &Elements<R>,
    element: u32,
    to: Direction,
    other: u32,
) -> f64 {
    let (own, beside) = (elements.matter(element), elements.matter(other));
    elements.bonds().of(own, beside, to.axis()).tough_j
}

/// Energy that is stored in a link \[J\]: a cut takes it out.
pub(super) fn stored_j<R: Real>(
    elements: &Elements<R>,
    element: u32,
    to: Direction,
    other: u32,
) -> f64 {
    let stiffness_npm = elements.stiffness_npm(element, other, to.axis());
    let (own, beside) = (elements.moved_m(element), elements.moved_m(other));
    let apart = own.into_iter().zip(beside).map(|(a, b)| to_f64(b - a));
    0.5 * to_f64(stiffness_npm) * apart.map(|x| x * x).sum::<f64>()
}
