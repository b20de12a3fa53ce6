//! Depth to which a ball is pressed in the model for a depth in the tissue, so that the force is that of converged
//! meshes.
//!
//! Source: ours. A coarse mesh and a soft penalty give a wrong force at a depth `d`. Let `W(d)` be the work of a slow
//! press on this mesh and `W*(d)` the work on converged ones. The ball is placed at the depth `g(d)` with `W(g(d)) =
//! W*(d)`, and the force on the tool is the model's force `F(g)` times `dg/dd`: by the principle of virtual work, it is
//! the derivative of `W*`. The map is a function of place alone, so no motion of the tool gains energy from it. It varies
//! over a face too, which cancels the ripple of a slide.
//!
//! A ball that is smaller than a face would feel the nodes of the mesh. It acts as four balls, shifted by a part
//! of a face's edges along both axes, each with a quarter of the stiffness: the weights of the nodes under it then
//! have about the same sum of squares over a node and over the middle of a face.

use super::contact_lag::MappedContact;
use palpate_twin::Vec3;
use palpate_twin::twin::{Reaction, Tool};
use std::f64::consts::TAU;

/// Shift of the four balls over the edges of a face.
pub(super) const SPREAD: f64 = 0.27;
/// Error of the force over the force that is left at the places of the knots: everywhere, and the part that falls with
/// the square of the depth, at its depth \[m\]. Measured against the reference presses.
const LEFT: f64 = 0.005;
const LEFT_SHALLOW: (f64, f64) = (0.02, 2e-4);
/// Error over the force for each of its depths that the ball is deeper than the last knot.
const LEFT_BEYOND: f64 = 0.2;
/// Error over the force at an edge of the top; it falls to zero over the ball's diameter. The map is that of the middle.
pub const LEFT_AT_EDGE: f64 = 0.03;
/// Change of depth below which the slope replaces the difference quotient \[m\].
const STEP_MIN_M: f64 = 1e-9;

/// Places of a face for which a [`DepthKnot`] has a depth.
pub const PLACES: usize = 5;

/// One depth of a [`DepthMap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DepthKnot {
    /// Depth below first contact \[m\].
    pub depth_m: f64,
    /// Depth in the model \[m\], over a node, over the edges of a face along both axes, over its middle, and over the
    /// point halfway from the node to the middle.
    pub model_m: [f64; PLACES],
    /// Derivatives of the depths in the model by the depth.
    pub slope: [f64; PLACES],
    /// Part of the force that is wrong halfway from the node to the edges, where it is largest.
    pub doubt: f64,
    /// Part of the relaxed compliance of the model that is the contact's; 0 over elastic tissue, which needs none.
    pub contact_share: f64,
}

/// Map from depth to depth in the model, for a ball of one radius and stiffness; the identity without knots.
///
/// Over the faces of the finest grid it varies as the force on the mesh does: by the first harmonic along both axes, and
/// by the second harmonics along both with one amplitude.
#[derive(Debug, Clone, PartialEq)]
pub struct DepthMap {
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Stiffness of its boundary \[N/m\].
    pub stiffness_npm: f64,
    /// Place of a node of the finest grid \[m\].
    pub node_m: [f64; 2],
    /// Edges of its faces along both axes \[m\].
    pub edge_m: [f64; 2],
    /// Halves of the edges of the top, whose middle is at the origin \[m\].
    pub half_m: [f64; 2],
    /// Knots by depth; depth 0 is mapped to 0.
    pub knots: Vec<DepthKnot>,
}

/// Value and gradient of the map by both axes of the top and by depth, and the part of the force that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MapPoint {
    model_m: f64,
    slopes: Vec3,
    /// Second derivative by depth \[1/m\].
    curvature_pm: f64,
    doubt: f64,
    contact_share: f64,
}

impl DepthMap {
    /// Returns the first knot at a depth \[m\] or below it, and the largest part of the force that is wrong there, over
    /// all places between nodes.
    #[must_use]
    pub fn largest_error(&self, depth_m: f64) -> Option<(f64, f64)> {
        let knot = self.knots.iter().find(|knot| knot.depth_m >= depth_m)?;
        Some((knot.depth_m, own_error(knot.depth_m) + knot.doubt))
    }

    /// True for a ball that the map is for.
    pub(super) fn fits(&self, tool: &Tool) -> bool {
        tool.radius_m == self.radius_m
            && tool.stiffness_npm == self.stiffness_npm
            && tool.shaft_m == Vec3::zeros()
    }

    /// Returns the ball where the model has it; `top_m` is the height of the surface at rest \[m\].
    pub(super) fn in_model(&self, tool: &Tool, top_m: f64) -> Tool {
        if !self.fits(tool) {
            return *tool;
        }
        let place_m = self.place_m(&tool.position_m, top_m);
        let mut moved = *tool;
        moved.position_m.z -= self.at(&place_m).model_m - place_m.z;
        moved
    }

    /// Contact of a ball of the map; none under other tools.
    pub(super) fn contact(&self, tool: &Tool, top_m: f64) -> MappedContact {
        if !self.fits(tool) {
            return MappedContact::default();
        }
        let point = self.at(&self.place_m(&tool.position_m, top_m));
        MappedContact {
            share: point.contact_share,
            slope: point.slopes.z,
        }
    }

    /// Corrects the reaction to a ball that moved from `from_m` \[m\], if it was there in the last step.
    ///
    /// The gradient of the map is that between both places, corrected along the motion (discrete gradient, Gonzalez 1996),
    /// so that the work of the step is that in the model.
    pub(super) fn correct(
        &self,
        tool: &Tool,
        from_m: Option<Vec3>,
        top_m: f64,
        reaction: &mut Reaction,
    ) {
        if !self.fits(tool) || reaction.force_n == Vec3::zeros() {
            return;
        }
        let here_m = self.place_m(&tool.position_m, top_m);
        let before_m = from_m.map_or(here_m, |from_m| self.place_m(&from_m, top_m));
        let way_m = here_m - before_m;
        let mut slopes = self.at(&(before_m + 0.5 * way_m)).slopes;
        if way_m.norm() > STEP_MIN_M {
            let gained_m = self.at(&here_m).model_m - self.at(&before_m).model_m;
            slopes += way_m * ((gained_m - slopes.dot(&way_m)) / way_m.norm_squared());
        }
        let up_n = reaction.force_n.z;
        reaction.force_n -= Vec3::new(slopes.x, slopes.y, 1.0 - slopes.z) * up_n;
        reaction.normal = reaction.force_n.try_normalize(0.0).unwrap_or_default();
        let point = self.at(&here_m);
        // the surface is that of the model, so the ball is deeper in it than the model has it; it stays in it
        let deeper_m = (here_m.z - point.model_m).max(-0.5 * reaction.penetration_m);
        reaction.penetration_m += deeper_m;
        reaction.proxy_offset_m.z = (reaction.proxy_offset_m.z + deeper_m).max(0.0);
        let squared = point.slopes.z * point.slopes.z;
        let stiffness_npm = squared * reaction.stiffness_npm + point.curvature_pm * up_n;
        reaction.stiffness_npm = stiffness_npm.max(0.0);
        reaction.damping_nspm *= squared;
        reaction.mesh_error_n = Some(point.doubt * reaction.force_n.norm());
    }

    /// Returns the position over the top, with the depth in the place of the height \[m\].
    fn place_m(&self, position_m: &Vec3, top_m: f64) -> Vec3 {
        Vec3::new(
            position_m.x,
            position_m.y,
            top_m + self.radius_m - position_m.z,
        )
    }

    /// Error over the force that an edge of the top adds.
    fn edge_error(&self, place_m: &Vec3) -> f64 {
        let [to_x_m, to_y_m] = [0, 1].map(|axis| self.half_m[axis] - place_m[axis].abs());
        let at_edge = 1.0 - to_x_m.min(to_y_m) / (2.0 * self.radius_m);
        LEFT_AT_EDGE * at_edge.clamp(0.0, 1.0)
    }

    /// Returns the map at a place: cubics between knots, lines beyond the last one.
    fn at(&self, place_m: &Vec3) -> MapPoint {
        let Some(first) = self.knots.first() else {
            return MapPoint {
                model_m: place_m.z,
                slopes: Vec3::z(),
                curvature_pm: 0.0,
                doubt: 0.0,
                contact_share: 0.0,
            };
        };
        let rest = DepthKnot {
            depth_m: 0.0,
            model_m: [0.0; PLACES],
            ..*first
        };
        let index = self.knots.partition_point(|knot| knot.depth_m <= place_m.z);
        let low = if index == 0 {
            &rest
        } else {
            &self.knots[index - 1]
        };
        let high = self.knots.get(index).filter(|_| place_m.z > 0.0);
        let lines: [[f64; 3]; PLACES] = std::array::from_fn(|at| {
            let line = [
                low.model_m[at] + (place_m.z - low.depth_m) * low.slope[at],
                low.slope[at],
                0.0,
            ];
            high.map_or(line, |high| cubic(low, high, at, place_m.z))
        });
        let t = high.map_or(0.0, |high| {
            (place_m.z - low.depth_m) / (high.depth_m - low.depth_m)
        });
        let between =
            |of: fn(&DepthKnot) -> f64| of(low) + high.map_or(0.0, |high| t * (of(high) - of(low)));
        let doubt_between = between(|knot| knot.doubt);
        let share = [0, 1].map(|axis| shares(place_m[axis] - self.node_m[axis], self.edge_m[axis]));
        let [[x, dx, off_x, doff_x], [y, dy, off_y, doff_y]] = share;
        let beyond = high.map_or(place_m.z / low.depth_m.max(first.depth_m) - 1.0, |_| 0.0);
        let doubt = own_error(place_m.z)
            + self.edge_error(place_m)
            + LEFT_BEYOND * beyond.max(0.0)
            + 2.0 * (off_x + off_y - 4.0 * off_x * off_y) * doubt_between;
        let halfway = off_x + off_y;
        let parts = [x * y, (1.0 - x) * y, x * (1.0 - y), (1.0 - x) * (1.0 - y)];
        let parts = parts
            .map(|part| part - 0.25 * halfway)
            .into_iter()
            .chain([halfway]);
        let mean = |order: usize| {
            let pairs = parts.clone().zip(&lines);
            pairs.map(|(part, line)| part * line[order]).sum::<f64>()
        };
        let [node_m, along_m, across_m, middle_m, halfway_m] = lines.map(|line| line[0]);
        let more_m = halfway_m - 0.25 * (node_m + along_m + across_m + middle_m);
        let by_x = dx * (y * (node_m - along_m) + (1.0 - y) * (across_m - middle_m));
        let by_y = dy * (x * (node_m - across_m) + (1.0 - x) * (along_m - middle_m));
        let (by_x, by_y) = (by_x + doff_x * more_m, by_y + doff_y * more_m);
        MapPoint {
            model_m: mean(0),
            slopes: Vec3::new(by_x, by_y, mean(1)),
            curvature_pm: mean(2),
            doubt,
            contact_share: between(|knot| knot.contact_share),
        }
    }
}

/// Share of the node along an axis, where the rest is that of the middle of the edge, and half of that of the point
/// between both; each with its derivative.
fn shares(from_node_m: f64, edge_m: f64) -> [f64; 4] {
    let turn = TAU / edge_m;
    let (sine, cosine) = libm::sincos(turn * from_node_m);
    let node = [0.5 + 0.5 * cosine, -0.5 * sine * turn];
    [node[0], node[1], 0.5 * sine * sine, sine * cosine * turn]
}

/// Error over the force at the places of the knots.
fn own_error(depth_m: f64) -> f64 {
    let (shallow, shallow_m) = LEFT_SHALLOW;
    let ratio = shallow_m / depth_m.max(shallow_m);
    LEFT + shallow * ratio * ratio
}

/// Hermite's cubic between two knots: value, slope and second derivative.
fn cubic(low: &DepthKnot, high: &DepthKnot, at: usize, depth_m: f64) -> [f64; 3] {
    let width_m = high.depth_m - low.depth_m;
    let t = (depth_m - low.depth_m) / width_m;
    let s = 1.0 - t;
    let (from, to) = (low.slope[at], high.slope[at]);
    let value_m = low.model_m[at] * (s * s * (1.0 + 2.0 * t))
        + high.model_m[at] * (t * t * (3.0 - 2.0 * t))
        + width_m * (from * (t * s * s) - to * (t * t * s));
    let chord = (high.model_m[at] - low.model_m[at]) / width_m;
    let slope = 6.0 * t * s * chord + from * (s * (1.0 - 3.0 * t)) + to * (t * (3.0 * t - 2.0));
    let bend = 6.0 * (s - t) * chord + from * (6.0 * t - 4.0) + to * (6.0 * t - 2.0);
    [value_m, slope, bend / width_m]
}
