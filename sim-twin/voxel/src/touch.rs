//! Tools against elements: who is in contact, and where contact lets an element be.
//!
//! Source: seed-001 section 3.7, with the force of section 3.4.2 made the gradient of an energy: every
//! element inside a tool is pushed out by a spring, `E = k/2 (R - r)^2`, `r` its distance from the tool's
//! axis. With its neighbours held, an element's least energy has a closed form along the ray from the
//! axis: `r = (S r_b + k R) / (S + k)`, `S` the sum of its links' stiffness and `r_b` where they alone would
//! have it.

use crate::cells::Extent;
use crate::elements::{Elements, single};
use crate::sweep;
use crate::weave::Weave;
use palpate_twin::contact::{Span, jaw_axis};
use palpate_twin::{Tool, Vec3};

/// Most tools at once.
pub(super) const TOOLS: usize = 4;

/// The part of a tool that elements feel: a rounded rod or plate, a ball if it has no length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rod {
    /// One end of the axis \[m\].
    pub(super) from_m: Vec3,
    /// To the other end \[m\].
    pub(super) shaft_m: Vec3,
    /// To the other edge of a plate \[m\].
    pub(super) side_m: Vec3,
    /// Radius \[m\].
    pub(super) radius_m: f64,
    /// Stiffness of the spring of one element \[N/m\].
    pub(super) stiffness_npm: f64,
    /// From its place to the inner side of its first jaw \[m\]; zero without jaws.
    pub(super) jaw_m: Vec3,
}

/// A spring that ties an element to a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grip {
    /// Where the element is held \[m\].
    pub(super) place_m: Vec3,
    /// The direction in which it is not, a unit vector or zero.
    pub(super) free: Vec3,
    /// Stiffness \[N/m\].
    pub(super) stiffness_npm: f64,
}

impl Grip {
    /// From where an element is held to where it is, but for the free direction \[m\].
    pub(super) fn stretch_m(&self, at_m: &Vec3) -> Vec3 {
        let r = at_m - self.place_m;
        r - self.free * self.free.dot(&r)
    }

    /// Where it and links that alone would have an element at a place want it \[m\], and how stiff they are together
    /// \[N/m\].
    fn with(&self, alone_m: &Vec3, sum: f64) -> (Vec3, f64) {
        let both = sum + self.stiffness_npm;
        let best_m = alone_m - self.stretch_m(alone_m) * (self.stiffness_npm / both);
        // across the normal it does not stiffen what presses
        let stiff_npm = if self.free == Vec3::zeros() {
            both
        } else {
            sum
        };
        (best_m, stiff_npm)
    }

    /// Energy of the spring \[J\].
    pub(super) fn energy_j(&self, at_m: &Vec3) -> f64 {
        0.5 * self.stiffness_npm * self.stretch_m(at_m).norm_squared()
    }
}

impl Rod {
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

    /// The point of the axis, or of the plate's middle, that is nearest to a place \[m\].
    pub(super) fn nearest_m(&self, at_m: &Vec3) -> Vec3 {
        let span = Span {
            shaft_m: self.shaft_m,
            side_m: self.side_m,
        };
        self.from_m + span.nearest_m(&(at_m - self.from_m))
    }

    /// How deep a place is inside \[m\], negative outside, and the unit vector out of the tool there.
    pub(super) fn depth_m(&self, at_m: &Vec3) -> (f64, Vec3) {
        let from_axis = at_m - self.nearest_m(at_m);
        let far_m = from_axis.norm();
        let out = if far_m > 0.0 {
            from_axis / far_m
        } else {
            // on the axis every way out is as long: down, where tissue is
            -Vec3::z()
        };
        (self.radius_m - far_m, out)
    }

    /// Whether a place is this far or farther outside \[m\]; of one that is near, only its depth says so.
    pub(super) fn is_far(&self, at_m: &Vec3, by_m: f64) -> bool {
        let reach_m = self.radius_m + by_m;
        let far2 = (at_m - self.nearest_m(at_m)).norm_squared();
        // a little more, for rounding
        far2 > reach_m * reach_m * (1.0 + 1e-9) || self.depth_m(at_m).0 <= -by_m
    }

    /// Energy of an element's contact spring at a place \[J\].
    pub(super) fn energy_j(&self, at_m: &Vec3) -> f64 {
        let depth_m = self.depth_m(at_m).0.max(0.0);
        0.5 * self.stiffness_npm * depth_m * depth_m
    }

    /// A box around it, `wider_m` larger on all sides \[m\].
    pub(super) fn extent(&self, wider_m: f64) -> Extent {
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
        Extent {
            low_m: of(Vec3::inf) - by,
            high_m: of(Vec3::sup) + by,
        }
    }
}

/// The tools that an element gives way to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pressing<'a> {
    /// Where they are.
    pub(super) rods: &'a [Option<Rod>; TOOLS],
    /// Where they were before.
    pub(super) were: &'a [Option<Rod>; TOOLS],
    /// What ties the element to one of them.
    pub(super) grip: Option<Grip>,
}

/// What an element lost and where it is after it gave way to a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Gave {
    /// Energy of its links and its contact taken out \[J\].
    pub(super) lost_j: f64,
    /// What of that no tool's motion did \[J\].
    pub(super) freed_j: f64,
    /// Farthest way along an axis \[m\].
    pub(super) farthest_m: f32,
    /// Whether it is in a tool still, which then did this as work.
    pub(super) held: bool,
}

/// Moves an element that tools touch to its least energy, its neighbours held, within its links' limits.
///
/// Never adds energy: of the place that the deepest tool alone would give and the places half and a
/// quarter of the way there, the first that is no worse than where it is. What its limits had stopped, and its
/// neighbours now let go, it would have lost under tools that stay: that is none of their work.
pub(super) fn give_way(
    elements: &mut Elements<f32>,
    weave: &Weave,
    slot: usize,
    Pressing { rods, were, grip }: Pressing<'_>,
) -> Gave {
    let sum = f64::from(weave.sum[slot]);
    let free = |element: &u32| !elements.pinned(*element) && sum > 0.0;
    let Some(element) = u32::try_from(slot).ok().filter(free) else {
        return Gave::default();
    };
    let at_m = elements.at_m(element);
    let pull = Vec3::from(sweep::pull(elements, weave, slot).map(f64::from));
    let alone_m = at_m + pull / sum;
    let (best_m, stiff_npm) = grip.map_or((alone_m, sum), |grip| grip.with(&alone_m, sum));
    let to_m = resting_m(&best_m, &at_m, stiff_npm, rods);
    let energy_under = |place_m: &Vec3, rods: &[Option<Rod>; TOOLS]| {
        let contacts = rods.iter().flatten();
        0.5 * sum * (place_m - alone_m).norm_squared()
            + contacts.map(|rod| rod.energy_j(place_m)).sum::<f64>()
            + grip.map_or(0.0, |grip| grip.energy_j(place_m))
    };
    let before_j = energy_under(&at_m, rods);
    let rest_m = elements.rest_m(element);
    let room = sweep::room(elements, element);
    let within = |place_m: &Vec3| -> [f32; 3] {
        std::array::from_fn(|along| {
            let to = single(place_m[along] - rest_m[along]);
            to.clamp(room[along].0, room[along].1)
        })
    };
    for share in [1.0, 0.5, 0.25] {
        let moved = within(&(at_m + (to_m - at_m) * share));
        let there_m = rest_m + Vec3::from(moved.map(f64::from));
        let lost_j = before_j - energy_under(&there_m, rods);
        if lost_j >= 0.0 {
            let own = elements.moved_m(element);
            let stopped = |along: usize| {
                let (least, most) = room[along];
                own[along] <= least || own[along] >= most
            };
            let freed_j = if (0..3).any(stopped) {
                energy_under(&at_m, were) - energy_under(&there_m, were)
            } else {
                0.0
            };
            for (moved_m, to) in elements.moved_m.iter_mut().zip(moved) {
                moved_m[slot] = to;
            }
            let farther = |far_m: f32, along: usize| far_m.max((moved[along] - own[along]).abs());
            let inside = |rod: &Rod| rod.depth_m(&there_m).0 > 0.0;
            return Gave {
                lost_j,
                freed_j: freed_j.clamp(0.0, lost_j),
                farthest_m: (0..3).fold(0.0, farther),
                held: grip.is_some() || rods.iter().flatten().any(inside),
            };
        }
    }
    Gave::default()
}

/// Where links and the deepest tool together want an element \[m\].
fn resting_m(best_m: &Vec3, at_m: &Vec3, sum: f64, rods: &[Option<Rod>; TOOLS]) -> Vec3 {
    let depths = rods.iter().flatten().map(|rod| (rod, rod.depth_m(best_m)));
    let deepest = depths
        .filter(|(_, (depth_m, _))| *depth_m > 0.0)
        .max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    let Some((rod, (depth_m, mut out))) = deepest else {
        return *best_m;
    };
    let axis_m = rod.nearest_m(best_m);
    let far_m = rod.radius_m - depth_m;
    // links would have it through the axis: it leaves on the side where it is
    let now = at_m - axis_m;
    if now.dot(&out) < 0.0 && now.norm() > 0.0 {
        out = now.normalize();
        let along = (best_m - axis_m).dot(&out);
        let far_m = (sum * along + rod.stiffness_npm * rod.radius_m) / (sum + rod.stiffness_npm);
        return axis_m + out * far_m.max(0.0);
    }
    let far_m = (sum * far_m + rod.stiffness_npm * rod.radius_m) / (sum + rod.stiffness_npm);
    axis_m + out * far_m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_from_the_axis_of_a_rod_and_from_its_ends() {
        let rod = Rod {
            from_m: Vec3::zeros(),
            shaft_m: Vec3::new(0.0, 0.0, 2.0),
            side_m: Vec3::zeros(),
            radius_m: 0.5,
            stiffness_npm: 8.0,
            jaw_m: Vec3::zeros(),
        };
        let (depth_m, out) = rod.depth_m(&Vec3::new(0.3, 0.0, 1.0));
        assert!((depth_m - 0.2).abs() < 1e-15 && (out - Vec3::x()).norm() < 1e-15);
        let (depth_m, out) = rod.depth_m(&Vec3::new(0.0, 0.0, -0.75));
        assert!((depth_m + 0.25).abs() < 1e-15 && (out + Vec3::z()).norm() < 1e-15);
        assert!((rod.energy_j(&Vec3::new(0.3, 0.0, 1.0)) - 0.16).abs() < 1e-12);
        assert_eq!(rod.energy_j(&Vec3::new(0.0, 0.0, -0.75)), 0.0);
        assert!(rod.depth_m(&Vec3::new(0.0, 0.0, 1.0)).1.norm() > 0.99);
    }
}
