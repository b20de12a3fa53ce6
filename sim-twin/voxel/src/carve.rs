//! The curette: takes out the elements that a ball or a rod sweeps over.
//!
//! Source: seed-001 section 3.5 (rows TP-01 and TP-10). The source visits the cells of an occupancy map that
//! samples of the tool's motion meet; here every element in a cell near the motion is asked whether it
//! is in the volume that the tool sweeps, exactly. What this costs depends on the tool and not on the size
//! of the volume.
//!
//! What taking out costs is ours (row CL-02): the wall of the channel that a ball leaves behind it, its area times
//! the toughness. A link costs its own over its area, as far as that lies in the wall, if the ball takes one end of it
//! and would pass by the other. So it depends neither on the lattice nor on how finely the ball minces what
//! it takes: it is held by toughness times its outline. What comes into a ball that does not move costs nothing.

use crate::cells::Cells;
use crate::elements::Elements;
use crate::knife::{Blade, Sweep, tough_j};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// A motion of a round tool: a ball if its axis has no length, a rod otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scoop {
    /// What the axis sweeps.
    pub(super) axis: Sweep,
    /// Radius \[m\].
    pub(super) radius_m: f64,
}

/// An element that a ball comes over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Met {
    /// Which.
    pub(super) element: u32,
    /// How far along its way the ball meets it, 0 to 1.
    pub(super) way: f64,
    /// What taking it out costs \[J\].
    pub(super) tough_j: f64,
}

impl Scoop {
    /// A ball's motion from one place to another \[m\].
    pub(super) const fn ball(before_m: Vec3, after_m: Vec3, radius_m: f64) -> Self {
        Self {
            axis: Sweep {
                before: Blade {
                    from_m: before_m,
                    to_m: before_m,
                },
                after: Blade {
                    from_m: after_m,
                    to_m: after_m,
                },
            },
            radius_m,
        }
    }

    /// Whether the tool comes over a place \[m\].
    pub(super) fn holds(&self, at_m: &Vec3) -> bool {
        let (before, after) = (self.axis.before, self.axis.after);
        let (p, q, r, s) = (before.from_m, before.to_m, after.from_m, after.to_m);
        let far2 = far2_m2([p, q, s], at_m).min(far2_m2([p, s, r], at_m));
        far2 <= self.radius_m * self.radius_m
    }

    /// Lists what a ball meets of what [`Scoop::find`] found, in the order in which it does.
    pub(super) fn meet<R: Real>(&self, elements: &Elements<R>, found: &[u32], met: &mut Vec<Met>) {
        met.clear();
        met.extend(found.iter().map(|&element| Met {
            element,
            way: self.way_to(&elements.at_m(element)),
            tough_j: self.wall_j(elements, element),
        }));
        met.sort_unstable_by(|a, b| {
            let ways = a.way.total_cmp(&b.way);
            ways.then(a.element.cmp(&b.element))
        });
    }

    /// How far along its way a ball comes over a place that it does come over, 0 to 1.
    fn way_to(&self, at_m: &Vec3) -> f64 {
        let from_m = self.axis.before.from_m - at_m;
        let way_m = self.axis.after.from_m - self.axis.before.from_m;
        let outside = from_m.norm_squared() - self.radius_m * self.radius_m;
        let (nearer, size2) = (-from_m.dot(&way_m), way_m.norm_squared());
        if outside <= 0.0 || size2 <= 0.0 {
            return 0.0;
        }
        // where the line of its middle enters a ball around the place
        let half2 = (nearer * nearer - size2 * outside).max(0.0);
        ((nearer - half2.sqrt()) / size2).clamp(0.0, 1.0)
    }

    /// What taking an element out costs \[J\]: its part of the wall.
    fn wall_j<R: Real>(&self, elements: &Elements<R>, element: u32) -> f64 {
        let from_m = self.axis.before.from_m;
        let way_m = self.axis.after.from_m - from_m;
        let far_m = way_m.norm();
        if far_m <= 0.0 {
            return 0.0;
        }
        let along = way_m / far_m;
        let aside_m = |at_m: Vec3| {
            let r = at_m - from_m;
            r - along * along.dot(&r)
        };
        let own_m = aside_m(elements.at_m(element));
        let mut sum_j = 0.0;
        for to in Direction::ALL {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            let other_m = aside_m(elements.at_m(other));
            let middle_m = 0.5 * (own_m + other_m);
            let size_m = middle_m.norm();
            if other_m.norm() > self.radius_m && size_m > 0.0 {
                let in_wall = (middle_m[to.axis()] / size_m).abs();
                sum_j += tough_j(elements, element, to, other) * in_wall;
            }
        }
        sum_j
    }

    /// Lists the elements that the tool comes over, in order; none if it is nowhere.
    pub(super) fn find<R: Real>(
        &self,
        elements: &Elements<R>,
        cells: &mut Cells,
        found: &mut Vec<u32>,
    ) {
        found.clear();
        let usable = (0.0..f64::INFINITY).contains(&self.radius_m) && self.axis.is_finite();
        if usable {
            cells.near(&self.axis.extent(self.radius_m), found);
            found.retain(|&element| self.holds(&elements.at_m(element)));
        }
    }
}

/// Square of the distance of a place from a triangle \[m^2\], which may be a line or a point.
fn far2_m2([p, q, r]: [Vec3; 3], at_m: &Vec3) -> f64 {
    let edges = [(p, q), (q, r), (r, p)];
    let to_edges = edges.map(|(from, to)| far2_edge_m2(from, to, at_m));
    let to_edge = to_edges.into_iter().fold(f64::INFINITY, f64::min);
    let normal = (q - p).cross(&(r - p));
    let size2 = normal.norm_squared();
    // over the triangle, its plane is nearer than its edges
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

/// Square of the distance of a place from an edge \[m^2\].
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
