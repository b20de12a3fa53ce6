//! Depth map of a block: what its coarse mesh needs so that a press has the force of converged meshes.
//!
//! Source: ours; see `palpate_fem::explicit::DepthMap`. The block without its inclusions is pressed slowly by the ball of
//! the scene, over a node, an edge, the middle and the point halfway to it of a face of the finest grid. The converged force is that of
//! a cylinder with the same layers ([`palpate_fem::AxialPress`]).

mod nearby;
mod shipped;

pub use nearby::NearbyMaps;

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::block::{Block, BlockSolver};
use super::press::minimum_jerk;
use super::{Scene, SceneBody, SceneError};
use palpate_fem::StaticPressError;
use palpate_fem::explicit::{DepthKnot, DepthMap, ExplicitTissue, PLACES};
use palpate_twin::checksum::hash_word;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};

/// Version of the computation of a map; it is part of the key.
const MAP_VERSION: u32 = 5;
/// Depths of the knots \[m\].
const DEPTHS_M: [f64; 14] = [
    0.0001, 0.0002, 0.00035, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0065,
    0.008, 0.01,
];
/// Factor on the edges of the cylinder's elements.
const COARSER: f64 = 1.45;
/// Deepest knot over the radius of the ball, and over the height of the block.
const DEEPEST_A_RADIUS: f64 = 1.6;
const DEEPEST_A_HEIGHT: f64 = 0.4;
/// Depths in the model beyond the deepest knot, over it.
const BEYOND: [f64; 2] = [1.2, 1.5];
/// Places of a face over its edges from a node, in the order of [`DepthKnot::model_m`].
const PLACES_A_FACE: [[f64; 2]; PLACES] =
    [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5], [0.25, 0.25]];
/// Relative difference of two edges that count as equal.
const SQUARE: f64 = 1e-6;
/// Place where the force with the map is compared.
const BETWEEN: [f64; 2] = [0.25, 0.0];
/// Damping of the calibrated press \[1/s\], near that of the slowest waves.
const DAMPING_PER_S: f64 = 80.0;
/// Step, descent from knot to knot, wait, and its end over which the force is averaged \[s\].
const STEP_S: f64 = 1e-3;
const DESCENT_S: f64 = 0.035;
const WAIT_S: f64 = 0.045;
const AVERAGED_S: f64 = 0.015;
/// Depth over the edge of a face beyond which the force depends no more on the place in the face.
const DEEP_A_EDGE: f64 = 1.3;
/// Doubt beyond which the model does not follow the ball any more.
const DOUBT_MAX: f64 = 0.1;
/// Factor on the contact stiffness of the press that tells the contact's part of the compliance; the slopes of both are
/// taken over this part of the depth.
const SOFTER: f64 = 0.8;
const SLOPE_SHARE: f64 = 0.15;
/// Range of the slope of the map.
const SLOPE: std::ops::RangeInclusive<f64> = 0.4..=2.5;

/// Map of one block, once it is computed.
type SharedMap = Arc<OnceLock<Result<Option<Arc<DepthMap>>, SceneError>>>;

/// Maps of this process, by the key of all that they depend on.
static MAPS: Mutex<BTreeMap<u64, SharedMap>> = Mutex::new(BTreeMap::new());

impl Scene {
    /// Returns the depth map for the tool of this scene. None for a scene that is no block of method `fem`, or whose tool
    /// has jaws, or without equilibrium at small depths.
    ///
    /// # Errors
    /// If the block cannot be built.
    pub fn depth_map(&self) -> Result<Option<Arc<DepthMap>>, SceneError> {
        let Some(Calibrated {
            key,
            block,
            viscous,
        }) = self.calibrated()
        else {
            return Ok(None);
        };
        let known = {
            let mut all = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(key).or_default())
        };
        let compute = || {
            let shipped = shipped::find(key, self, block.half_m());
            let map = match shipped {
                Some(map) => Some(map),
                None => block.calibrate(self, viscous)?,
            };
            Ok(map.map(Arc::new))
        };
        known.get_or_init(compute).clone()
    }
}

/// Block whose map a scene needs, and the key of the map.
struct Calibrated {
    key: u64,
    block: Block,
    /// True if the top is viscous: the map then has the contact's part of the compliance.
    viscous: bool,
}

impl Scene {
    fn calibrated(&self) -> Option<Calibrated> {
        let SceneBody::Block(block) = &self.body else {
            return None;
        };
        if block.solver != BlockSolver::Explicit || block.params.jaw_friction.is_some() {
            return None;
        }
        let top = block.layers.first();
        let viscous = top.is_some_and(|top| {
            let viscosity = top.material.viscosity();
            viscosity.shear_pas > 0.0 || viscosity.share() > 0.0
        });
        let block = block.without_inclusions();
        Some(Calibrated {
            key: block.map_key(self.tool_radius_m, self.tool_stiffness_npm, viscous),
            block,
            viscous,
        })
    }
}

impl Block {
    /// Its layers, relaxed, with what decides on the static force alone.
    fn without_inclusions(&self) -> Self {
        let mut plain = self.clone();
        plain.inclusions.clear();
        plain.params.damping_per_s = DAMPING_PER_S;
        plain.params.friction = 0.0;
        // the contact is as stiff as the sudden tissue
        if let Some(top) = self.layers.first() {
            plain.params.contact_stiffness /= 1.0 - top.material.viscosity().share();
        }
        for layer in &mut plain.layers {
            layer.material = layer.material.relaxed();
        }
        plain
    }

    /// Key of all that the map depends on.
    fn map_key(&self, radius_m: f64, stiffness_npm: f64, viscous: bool) -> u64 {
        let viscous = if viscous { " viscous" } else { "" };
        let text = format!("{MAP_VERSION} {self:?} {radius_m} {stiffness_npm}{viscous}");
        text.bytes().map(u64::from).fold(0, hash_word)
    }

    /// Converged force against depth, as the ball's boundary feels it; none without equilibrium.
    fn truth(&self, scene: &Scene) -> Result<Option<PressCurve>, SceneError> {
        let radius_m = scene.tool_radius_m;
        let deepest_m = (DEEPEST_A_RADIUS * radius_m).min(DEEPEST_A_HEIGHT * self.size_m[2]);
        let depths_m: Vec<f64> = DEPTHS_M.into_iter().filter(|d| *d <= deepest_m).collect();
        let outer_m = (self.size_m[0] * self.size_m[1] / PI).sqrt();
        let forces_n = match self.axial_forces_n(radius_m, outer_m, &depths_m, COARSER) {
            Ok(forces_n) => forces_n,
            Err(SceneError::Press(StaticPressError::Stalled { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        // the ball's boundary is a spring in series
        let soft = |(depth_m, force_n): (&f64, &f64)| {
            (depth_m + force_n / scene.tool_stiffness_npm, *force_n)
        };
        Ok(Some(PressCurve::new(
            depths_m.iter().zip(&forces_n).map(soft),
        )))
    }

    /// Map for the ball of a scene.
    fn calibrate(&self, scene: &Scene, viscous: bool) -> Result<Option<DepthMap>, SceneError> {
        let Some(truth) = self.truth(scene)? else {
            return Ok(None);
        };
        let Some([node_m, edge_m]) = self.node_and_edges_m()? else {
            return Ok(None);
        };
        // the first point is no press
        let last_m = truth.points[truth.points.len() - 1].depth_m;
        let mut map = DepthMap {
            radius_m: scene.tool_radius_m,
            stiffness_npm: scene.tool_stiffness_npm,
            node_m,
            edge_m,
            half_m: self.half_m(),
            knots: Vec::new(),
        };
        let place_only = Arc::new(map.clone());
        let tissue = self
            .explicit_solver()?
            .with_depth_map(Arc::clone(&place_only));
        let beyond_m = BEYOND.map(|times| times * last_m);
        let model_m = truth.points.iter().skip(1).map(|point| point.depth_m);
        let model_m: Vec<f64> = model_m.chain(beyond_m).collect();
        let curve_of = |tissue: &ExplicitTissue, [x, y]: [f64; 2], model_m: &[f64]| {
            let at_m = [node_m[0] + x * edge_m[0], node_m[1] + y * edge_m[1]];
            let forces_n = model_curve(tissue.clone(), &map, at_m, model_m);
            PressCurve::new(model_m.iter().copied().zip(forces_n))
        };
        let curve = |place: [f64; 2], model_m: &[f64]| curve_of(&tissue, place, model_m);
        let deep_m = DEEP_A_EDGE * edge_m[0].max(edge_m[1]);
        let shallow = model_m.partition_point(|depth_m| *depth_m < deep_m);
        let [node, along, across, middle, halfway] = PLACES_A_FACE;
        let softer = viscous
            .then(|| self.with_softer_contact(place_only))
            .transpose()?
            .map(|softer| curve_of(&softer, halfway, &model_m));
        let halfway = curve(halfway, &model_m);
        let own = |place: [f64; 2]| curve(place, &model_m[..shallow]).continued(&halfway);
        let along = own(along);
        // both edges of a square face are alike
        let across = match (edge_m[0] - edge_m[1]).abs() < SQUARE * edge_m[0] {
            true => along.clone(),
            false => own(across),
        };
        let check = own(BETWEEN);
        let curves = [own(node), along, across, own(middle), halfway.clone()];
        let knots = truth.points.iter().skip(1).map(|point| {
            let model_m = curves.each_ref().map(|curve| curve.depth_m(point.work));
            let ratio = |at: usize| point.force_n() / curves[at].force_n(model_m[at]);
            let slope: [f64; PLACES] =
                std::array::from_fn(|at| ratio(at).clamp(*SLOPE.start(), *SLOPE.end()));
            let found_n = check.force_n(between(&model_m)) * between(&slope);
            DepthKnot {
                depth_m: point.depth_m,
                model_m,
                slope,
                doubt: (found_n / point.force_n() - 1.0).abs(),
                contact_share: softer.as_ref().map_or(0.0, |softer| {
                    contact_share(&halfway, softer, model_m[PLACES - 1])
                }),
            }
        });
        // a mesh that is too coarse does not follow a deep ball
        map.knots = knots
            .take_while(|knot| knot.depth_m < deep_m || knot.doubt < DOUBT_MAX)
            .collect();
        Ok(Some(map))
    }

    /// Tissue with a softer contact.
    fn with_softer_contact(&self, map: Arc<DepthMap>) -> Result<ExplicitTissue, SceneError> {
        let mut softer = self.clone();
        softer.params.contact_stiffness *= SOFTER;
        Ok(softer.explicit_solver()?.with_depth_map(map))
    }

    /// Halves of the edges of the top \[m\].
    fn half_m(&self) -> [f64; 2] {
        [0.5 * self.size_m[0], 0.5 * self.size_m[1]]
    }

    /// Node of the finest grid nearest to the middle of the block, and edges of the faces there \[m\].
    fn node_and_edges_m(&self) -> Result<Option<[[f64; 2]; 2]>, SceneError> {
        let (nested, _) = self.grids_and_fractions(&self.regions())?;
        Ok(nested.levels.last().map(|finest| {
            let node_m = [0, 1].map(|axis| {
                let (low_m, edge_m) = (finest.low_m[axis], finest.edge_m[axis]);
                let (centre_m, half_m) = (self.zone.centre_m[axis], self.zone.half_m[axis]);
                // the converged force is that in the middle, without the effect of an edge
                let near_m = 0.0_f64.clamp(centre_m - half_m, centre_m + half_m);
                low_m + ((near_m - low_m) / edge_m).round() * edge_m
            });
            [node_m, [finest.edge_m[0], finest.edge_m[1]]]
        }))
    }
}

/// Contact's part of the compliance at a depth \[m\]. With the compliance `c` of the contact and `t` of the tissue, the
/// slopes of both presses are `1 / (t + c)` and `1 / (t + c / SOFTER)`.
fn contact_share(press: &PressCurve, softer: &PressCurve, depth_m: f64) -> f64 {
    let half_m = 0.5 * SLOPE_SHARE * depth_m;
    let rise =
        |curve: &PressCurve| curve.force_n(depth_m + half_m) - curve.force_n(depth_m - half_m);
    ((rise(press) / rise(softer) - 1.0) / (1.0 / SOFTER - 1.0)).clamp(0.0, 1.0)
}

/// Value of a map at [`BETWEEN`].
fn between(values: &[f64; PLACES]) -> f64 {
    let [node, along, across, middle, halfway] = values;
    let first = 0.5 * (node + along);
    first + 0.5 * (halfway - 0.25 * (node + along + across + middle))
}

/// Forces \[N\] of a slow press on a tissue at rest.
fn model_curve(
    mut tissue: ExplicitTissue,
    ball: &DepthMap,
    at_m: [f64; 2],
    depths_m: &[f64],
) -> Vec<f64> {
    let mut reaction = [Reaction::default()];
    let (mut from_m, steps) = (0.0, (DESCENT_S / STEP_S).round());
    let (all, averaged) = (
        ((DESCENT_S + WAIT_S) / STEP_S).round(),
        (AVERAGED_S / STEP_S).round(),
    );
    let force = |&to_m: &f64| {
        let mut sum_n = 0.0;
        for step in 1..=all as u32 {
            let (share, _) = minimum_jerk((f64::from(step) / steps).min(1.0));
            let depth_m = from_m + share * (to_m - from_m);
            let tool = Tool {
                position_m: Vec3::new(at_m[0], at_m[1], ball.radius_m - depth_m),
                velocity_mps: Vec3::zeros(),
                radius_m: ball.radius_m,
                stiffness_npm: ball.stiffness_npm,
                shaft_m: Vec3::zeros(),
                side_m: Vec3::zeros(),
                jaws: None,
                instrument: Instrument::Blunt,
            };
            tissue.step(&[tool], STEP_S, &mut reaction);
            if f64::from(step) > all - averaged {
                sum_n += reaction[0].force_n.z;
            }
        }
        from_m = to_m;
        sum_n / averaged
    };
    depths_m.iter().map(force).collect()
}

/// Point of a curve: depth \[m\], force to the power of two thirds, and work \[J\].
#[derive(Debug, Clone, Copy)]
struct CurvePoint {
    depth_m: f64,
    root: f64,
    work: f64,
}

impl CurvePoint {
    fn force_n(&self) -> f64 {
        self.root * libm::sqrt(self.root)
    }
}

/// Force of a press against depth. Between points, the force to the power of two thirds is a line, as that of a ball on a
/// half-space is.
#[derive(Debug, Clone)]
struct PressCurve {
    points: Vec<CurvePoint>,
}

impl PressCurve {
    fn new(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut last = CurvePoint {
            depth_m: 0.0,
            root: 0.0,
            work: 0.0,
        };
        let mut all = vec![last];
        for (depth_m, force_n) in points {
            let root = libm::cbrt(force_n.max(0.0) * force_n.max(0.0));
            last = CurvePoint {
                depth_m,
                root,
                work: last.work + work(last.root, root, depth_m - last.depth_m),
            };
            all.push(last);
        }
        Self { points: all }
    }

    /// Continues with the points of another curve beyond the last one of this.
    fn continued(mut self, other: &Self) -> Self {
        let last = self.points[self.points.len() - 1];
        for pair in other
            .points
            .windows(2)
            .filter(|pair| pair[1].depth_m > last.depth_m)
        {
            let before = self.points[self.points.len() - 1];
            let width_m = pair[1].depth_m - before.depth_m;
            self.points.push(CurvePoint {
                work: before.work + work(before.root, pair[1].root, width_m),
                ..pair[1]
            });
        }
        self
    }

    /// Points on both sides of the first that is not below a bound; the last two beyond all.
    fn around(&self, is_below: impl Fn(&CurvePoint) -> bool) -> (CurvePoint, CurvePoint) {
        let index = self.points.partition_point(is_below);
        let index = index.clamp(1, self.points.len() - 1);
        (self.points[index - 1], self.points[index])
    }

    fn force_n(&self, depth_m: f64) -> f64 {
        let (low, high) = self.around(|point| point.depth_m < depth_m);
        let share = (depth_m - low.depth_m) / (high.depth_m - low.depth_m);
        let root = (low.root + share * (high.root - low.root)).max(0.0);
        root * libm::sqrt(root)
    }

    /// Depth at which the work of the press is `work_j`.
    fn depth_m(&self, work_j: f64) -> f64 {
        let (low, high) = self.around(|point| point.work < work_j);
        let slope = (high.root - low.root) / (high.depth_m - low.depth_m);
        let (mut near_m, mut far_m) = (low.depth_m, high.depth_m + (high.depth_m - low.depth_m));
        for _ in 0..60 {
            let middle_m = 0.5 * (near_m + far_m);
            let root = low.root + slope * (middle_m - low.depth_m);
            if low.work + work(low.root, root, middle_m - low.depth_m) < work_j {
                near_m = middle_m;
            } else {
                far_m = middle_m;
            }
        }
        0.5 * (near_m + far_m)
    }
}

/// Integral of `x^1.5` where `x` goes from `a` to `b` over a width, by the mean of the integrand at Simpson's points.
fn work(a: f64, b: f64, width_m: f64) -> f64 {
    let force = |x: f64| x.max(0.0) * libm::sqrt(x.max(0.0));
    let at = |t: f64| force(a + t * (b - a));
    let ends = force(a) + force(b);
    let sum = ends + 4.0 * (at(0.25) + at(0.75)) + 2.0 * at(0.5);
    width_m * sum / 12.0
}

#[cfg(test)]
mod tests {
    use crate::{BallPress, PressMotion, load};

    /// Layered block under a ball, with cells that are wider than a shallow contact.
    const SCENE: &str = "name = \"own\"\n[block]\nsize_m = [0.08, 0.08, 0.024]\ncell_m = 0.0034\nlevels = 2\n\
        substeps_max = 6\nstiff = \"mass\"\nfine_half_m = [0.04, 0.04]\nfine_depth_m = 0.004\ndamping_per_s = 30.0\n\
        [[layer]]\nyoung_pa = 30000.0\nthickness_m = 0.0015\n[[layer]]\nyoung_pa = 4000.0\n\
        [tool]\nradius_m = 0.007\nstiffness_npm = 1e5\n";

    #[test]
    fn press_has_the_converged_force_within_three_percent_or_its_estimate_at_every_place_of_a_face()
    {
        let scene = load(SCENE).unwrap();
        for depth_m in [0.7e-3, 2.5e-3] {
            let press = |at_m: [f64; 2]| BallPress {
                at_m,
                radius_m: 7e-3,
                depth_m,
            };
            let truth = scene.press_truth(&press([0.0; 2]), PressMotion::Slow);
            let truth_n = truth.unwrap().unwrap().force_n;
            for at_m in [[0.0, 0.0], [3.1e-3, 1.2e-3], [-9.2e-3, 4.4e-3]] {
                let run = scene.press(&press(at_m), PressMotion::Slow).unwrap();
                let error = run.force_n / truth_n - 1.0;
                let estimate = run.error_n.unwrap() / run.force_n;
                let bound = 0.03_f64.max(2.0 * estimate);
                assert!(error.abs() < bound, "{at_m:?} {depth_m}: {error:+.3}");
            }
        }
    }
}
