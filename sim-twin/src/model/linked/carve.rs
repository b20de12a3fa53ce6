//! The curette: takes out the elements that a ball or a rod sweeps over.
//!
//! Source: seed-001 section 3.5 (rows TP-01 and TP-10). The source visits the cells of an occupancy map that
//! samples of the tool's motion meet; here every element in a cell near the motion is asked whether it
//! is in the volume that the tool sweeps, exactly. What this costs depends on the tool and not on the size
//! of the volume.

use crate::Vec3;
use crate::law::Real;
use crate::model::linked::cells::Cells;
use crate::model::linked::elements::Elements;
use crate::model::linked::knife::{Blade, Sweep};

/// A motion of a round tool: a ball if its axis has no length, a rod otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoop {
    /// What the axis sweeps.
    pub axis: Sweep,
    /// Radius \[m\].
    pub radius_m: f64,
}

impl Scoop {
    /// A ball's motion from one place to another \[m\].
    #[must_use]
    pub const fn ball(before_m: Vec3, after_m: Vec3, radius_m: f64) -> Self {
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
    #[must_use]
    pub fn holds(&self, at_m: &Vec3) -> bool {
        let (before, after) = (self.axis.before, self.axis.after);
        let (p, q, r, s) = (before.from_m, before.to_m, after.from_m, after.to_m);
        let far2 = far2_m2([p, q, s], at_m).min(far2_m2([p, s, r], at_m));
        far2 <= self.radius_m * self.radius_m
    }

    /// Lists the elements that the tool comes over, in order; none if it is nowhere.
    pub fn find<R: Real>(&self, elements: &Elements<R>, cells: &mut Cells, found: &mut Vec<u32>) {
        found.clear();
        let (low_m, high_m) = self.axis.corners_m(self.radius_m);
        let usable = (0.0..f64::INFINITY).contains(&self.radius_m) && self.axis.is_finite();
        if usable {
            cells.near((&low_m, &high_m), found);
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
