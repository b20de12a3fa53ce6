//! Continuous contact of a sphere with a triangulated surface.
//!
//! Source: ours, after seed-004 3.5 and W8, W18, W19, W21. Every face has a depth, radius less
//! distance; the depths are blended by their 8-norm and the energy is `k depth^2 / 2`. Forces are
//! its exact gradient, shared by barycentric weights and patches. So the law creates no energy,
//! begins at the surface itself and stays continuous over convex and concave edges. The side of each
//! tool is stored, so that a deep or fast tool is pushed back to the side that it came from. `rim` continues the depth
//! around the open border of a surface.

mod rim;

use crate::Vec3;
use crate::contact::triangle::{self, Foot};
use crate::contact::{NeighbourList, RestSurface, SurfaceContact};
use crate::twin::Tool;
use rim::RimDistance;

/// Faces with less than this share of the largest depth weigh under 1e-7 and are skipped.
const SHARE_MIN: f64 = 0.1;
/// Distance beyond the radius up to which a tool that went through is still in contact, over the radius.
const RETENTION_RATIO: f64 = 4.0;
/// Distance of the centre from the surface, over the radius, below which other faces fade.
const FADE_RATIO: f64 = 0.25;
/// Relative distance within which several faces share the closest point.
const TIE: f64 = 1e-9;

/// The side of the surface that a tool is on: +1 outside, -1 behind, 0 not in contact.
pub type SurfaceSide = i8;

#[derive(Debug, Clone, Copy)]
struct Hit {
    face: u32,
    foot: Foot,
    gap_m: Vec3,
    distance_m: f64,
    depth_m: f64,
}

/// Reused storage of the contact of one surface; nothing here outlives a call.
#[derive(Debug, Clone)]
pub struct ContactWorkspace {
    corners: Vec<Corner>,
    loaded: Vec<u32>,
    hits: Vec<Hit>,
    epoch: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    epoch: u64,
    position_m: Vec3,
    loaded: bool,
    load_n: Vec3,
}

impl ContactWorkspace {
    /// Creates storage for the surface `skin`; nothing allocates afterwards.
    #[must_use]
    pub fn new(skin: &RestSurface) -> Self {
        Self {
            corners: vec![Corner::default(); skin.nodes()],
            loaded: Vec::with_capacity(skin.nodes()),
            hits: Vec::with_capacity(skin.faces().len()),
            epoch: 0,
        }
    }

    fn corner(&mut self, skin: &RestSurface, node: u32, positions_m: &[Vec3]) -> Vec3 {
        let slot = &mut self.corners[node as usize];
        if slot.epoch != self.epoch {
            slot.epoch = self.epoch;
            slot.position_m = skin.corner(node as usize, positions_m);
            slot.loaded = false;
            slot.load_n = Vec3::zeros();
        }
        slot.position_m
    }

    fn hit(&mut self, skin: &RestSurface, face: u32, positions_m: &[Vec3], center_m: &Vec3) -> Hit {
        let nodes = skin.faces()[face as usize];
        let [a, b, c] = nodes.map(|node| self.corner(skin, node, positions_m));
        let foot = triangle::closest(center_m, &a, &b, &c);
        let gap_m = center_m - foot.point_m;
        Hit {
            face,
            foot,
            gap_m,
            distance_m: gap_m.norm(),
            depth_m: 0.0,
        }
    }

    /// Unit normal of a face of the contact surface, zero if it is flat.
    fn normal(&self, skin: &RestSurface, face: u32) -> Vec3 {
        let nodes = skin.faces()[face as usize];
        let [a, b, c] = nodes.map(|node| self.corners[node as usize].position_m);
        (b - a)
            .cross(&(c - a))
            .try_normalize(0.0)
            .unwrap_or_else(Vec3::zeros)
    }

    fn load(&mut self, node: u32, force_n: Vec3) {
        let slot = &mut self.corners[node as usize];
        if !slot.loaded {
            slot.loaded = true;
            self.loaded.push(node);
        }
        slot.load_n += force_n;
    }
}

/// Surface in its deformed state.
#[derive(Debug, Clone, Copy)]
pub struct DeformedSurface<'a> {
    /// Surface at rest, with data computed in advance.
    pub rest: &'a RestSurface,
    /// Positions of the nodes, surface nodes first \[m\].
    pub positions_m: &'a [Vec3],
}

impl ContactWorkspace {
    /// Rebuilds the list of faces within `reach_m` of the centre of `tool` if the list is not complete any more.
    pub fn update_list(
        &mut self,
        near: &mut NeighbourList,
        surface: &DeformedSurface<'_>,
        tool: &Tool,
        travel_m: f64,
        reach_m: f64,
    ) {
        let (skin, at_m) = (surface.rest, tool.position_m);
        near.update(at_m, travel_m, reach_m, skin.slack_m, |far_m, found| {
            self.epoch += 1;
            let drift_m = skin.drift_m(&surface.positions_m[..skin.nodes()]);
            skin.for_faces(&at_m, far_m + drift_m, |face| {
                let hit = self.hit(skin, face, surface.positions_m, &at_m);
                if hit.distance_m < far_m {
                    found.push(face);
                }
            });
        });
    }

    /// Presses the sphere of `tool` into the listed faces; `push(node, force)` receives every node's force \[N\].
    ///
    /// Updates the side in `memory`. Without contact, the normal of `memory` is returned.
    pub fn press(
        &mut self,
        faces: &[u32],
        surface: &DeformedSurface<'_>,
        tool: &Tool,
        memory: ContactHistory<'_>,
        mut push: impl FnMut(u32, Vec3),
    ) -> SurfaceContact {
        let apart = SurfaceContact {
            normal: memory.normal,
            ..SurfaceContact::default()
        };
        let Some(closest) = find(faces, self, surface, tool) else {
            *memory.side = 0;
            return apart;
        };
        let judged = decide_side(closest, self, surface, tool, memory.side);
        if *memory.side == 0 {
            return apart;
        }
        let depth_m = blend_depths(closest, self, tool, &judged);
        let touch = self.resolve(closest, surface.rest, tool, depth_m, &judged);
        for &node in &self.loaded {
            let load_n = self.corners[node as usize].load_n;
            for &(other, weight) in surface.rest.patch(node as usize) {
                push(other, weight * load_n);
            }
        }
        SurfaceContact {
            normal: touch.force_n.try_normalize(0.0).unwrap_or(memory.normal),
            behind: judged.through || judged.rim.is_some(),
            ..touch
        }
    }

    /// Converts depths to loads on the corners of the contact surface.
    fn resolve(
        &mut self,
        closest: usize,
        skin: &RestSurface,
        tool: &Tool,
        depth_m: f64,
        judged: &SideDecision,
    ) -> SurfaceContact {
        let SideDecision {
            outward, through, ..
        } = *judged;
        let mut touch = SurfaceContact {
            normal: outward,
            ..SurfaceContact::default()
        };
        let least_m = SHARE_MIN * self.hits[closest].depth_m;
        for index in 0..self.hits.len() {
            let hit = self.hits[index];
            if hit.depth_m <= least_m {
                continue;
            }
            let share = hit.depth_m / depth_m;
            let cube = share * share * share;
            let scale_n = tool.stiffness_npm * depth_m * cube * cube * share;
            let turned = if through && index == closest {
                -1.0
            } else {
                1.0
            };
            let direction = match judged.rim.filter(|_| index == closest) {
                Some(rim) => rim.direction,
                None if hit.distance_m > TIE * tool.radius_m => turned / hit.distance_m * hit.gap_m,
                None => outward,
            };
            for (node, weight) in skin.faces()[hit.face as usize]
                .into_iter()
                .zip(hit.foot.weights)
            {
                if weight > 0.0 {
                    let load_n = -(weight * scale_n) * direction;
                    self.load(node, load_n);
                    touch.force_n -= load_n;
                }
            }
            touch.contacts += 1;
        }
        touch.energy_j = 0.5 * tool.stiffness_npm * depth_m * depth_m;
        touch.penetration_m = self.hits[closest].depth_m;
        touch.nearest = nearest_corner(&self.hits[closest], skin, self, tool);
        touch
    }
}

/// State of a tool's contact from one press to the next.
#[derive(Debug)]
pub struct ContactHistory<'a> {
    /// Side of the surface that it is on.
    pub side: &'a mut SurfaceSide,
    /// Normal of its last contact.
    pub normal: Vec3,
}

/// Side of a tool relative to the surface.
struct SideDecision {
    /// Normal on the tool's side.
    outward: Vec3,
    /// True if the centre of the tool has gone through the surface.
    through: bool,
    /// Distance beside the rim, of a tool that is not well above it.
    rim: Option<RimDistance>,
}

/// Radius that the list of faces must cover for a tool that came from `from_m` \[m\].
///
/// A tool that was deep in the surface, or moved by more than half its radius in one step, may
/// have gone through. Otherwise the radius of the tool is sufficient.
#[must_use]
pub fn search_radius_m(tool: &Tool, from_m: &Vec3, deep: bool) -> f64 {
    if deep || (tool.position_m - from_m).norm() > 0.5 * tool.radius_m {
        tool.radius_m * (1.0 + RETENTION_RATIO)
    } else {
        tool.radius_m
    }
}

/// Side of a tool before it crossed the surface between two steps; 0 if it did not cross.
#[must_use]
pub fn crossing_side(surface: &DeformedSurface<'_>, from_m: &Vec3, to_m: &Vec3) -> SurfaceSide {
    let skin = surface.rest;
    let middle = 0.5 * (from_m + to_m);
    let half_m = 0.5 * (to_m - from_m).norm();
    let drift_m = skin.drift_m(&surface.positions_m[..skin.nodes()]);
    let mut first = f64::INFINITY;
    let mut side = 0;
    skin.for_faces(&middle, half_m + drift_m, |face| {
        let nodes = skin.faces()[face as usize];
        let [a, b, c] = nodes.map(|node| skin.corner(node as usize, surface.positions_m));
        let normal = (b - a).cross(&(c - a));
        let (before, after) = ((from_m - a).dot(&normal), (to_m - a).dot(&normal));
        if before * after > 0.0 || before == after {
            return;
        }
        let along = before / (before - after);
        let point = from_m + along * (to_m - from_m);
        let inside = [(a, b), (b, c), (c, a)]
            .iter()
            .all(|(from, to)| (to - from).cross(&(point - from)).dot(&normal) >= 0.0);
        if inside && along < first {
            first = along;
            side = if before >= 0.0 { 1 } else { -1 };
        }
    });
    side
}

/// Measures every listed face; returns the index of the closest hit.
fn find(
    faces: &[u32],
    work: &mut ContactWorkspace,
    surface: &DeformedSurface<'_>,
    tool: &Tool,
) -> Option<usize> {
    work.epoch += 1;
    work.hits.clear();
    work.loaded.clear();
    let mut closest: Option<usize> = None;
    let mut least_m = f64::INFINITY;
    for &face in faces {
        let hit = work.hit(surface.rest, face, surface.positions_m, &tool.position_m);
        if hit.distance_m < least_m {
            least_m = hit.distance_m;
            closest = Some(work.hits.len());
        }
        work.hits.push(hit);
    }
    closest
}

/// Decides the side; returns the normal on that side and whether the centre has gone through.
fn decide_side(
    closest: usize,
    work: &ContactWorkspace,
    surface: &DeformedSurface<'_>,
    tool: &Tool,
    side: &mut SurfaceSide,
) -> SideDecision {
    let best = work.hits[closest];
    let tie_m = best.distance_m + TIE * tool.radius_m;
    let tied = work.hits.iter().filter(|hit| hit.distance_m <= tie_m);
    let sum: Vec3 = tied.map(|hit| work.normal(surface.rest, hit.face)).sum();
    let normal = sum.try_normalize(0.0).unwrap_or_else(Vec3::z);
    let height_m = best.gap_m.dot(&normal);
    let here: SurfaceSide = if height_m >= 0.0 { 1 } else { -1 };
    let own = if *side == 0 { here } else { *side };
    let outward = f64::from(own) * normal;
    let on_rim = surface.rest.on_rim(best.face as usize, &best.foot.weights);
    let rim = on_rim
        .then(|| RimDistance::new(&best.gap_m, &outward, tool.radius_m))
        .flatten();
    // a tool beside the rim cannot go through: the surface ends there
    let outside = on_rim || here == own;
    let apart = match rim {
        Some(rim) => rim.distance_m >= tool.radius_m,
        None => outside && best.distance_m >= tool.radius_m,
    };
    let lost = best.distance_m >= RETENTION_RATIO * tool.radius_m;
    *side = if apart || lost { 0 } else { own };
    SideDecision {
        outward,
        through: !outside,
        rim,
    }
}

/// Computes the depth of every hit and blends the depths \[m\].
///
/// With its centre nearly in the surface a tool would be pulled sideways by all other faces, so
/// these fade out there. A tool that went through touches the closest face alone.
fn blend_depths(
    closest: usize,
    work: &mut ContactWorkspace,
    tool: &Tool,
    judged: &SideDecision,
) -> f64 {
    let clear_m = match (judged.rim, judged.through) {
        (Some(rim), _) => rim.clear_m,
        (None, true) => 0.0,
        (None, false) => work.hits[closest].distance_m,
    };
    let fade = (clear_m / (FADE_RATIO * tool.radius_m)).min(1.0);
    for hit in &mut work.hits {
        hit.depth_m = fade * (tool.radius_m - hit.distance_m);
    }
    let best = &mut work.hits[closest];
    let distance_m = match (judged.rim, judged.through) {
        (Some(rim), _) => rim.distance_m,
        (None, true) => -best.distance_m,
        (None, false) => best.distance_m,
    };
    best.depth_m = tool.radius_m - distance_m;
    let most_m = best.depth_m;
    let mut sum = 0.0;
    for hit in &work.hits {
        let share = hit.depth_m / most_m;
        if share > SHARE_MIN {
            let square = share * share;
            let fourth = square * square;
            sum += fourth * fourth;
        }
    }
    most_m * sum.sqrt().sqrt().sqrt()
}

/// Corner of a hit's face nearest to the tool, the lowest index for a tie.
fn nearest_corner(
    hit: &Hit,
    skin: &RestSurface,
    work: &ContactWorkspace,
    tool: &Tool,
) -> Option<u32> {
    let far_m = |node: u32| (work.corners[node as usize].position_m - tool.position_m).norm();
    skin.faces()[hit.face as usize]
        .into_iter()
        .min_by(|&a, &b| far_m(a).total_cmp(&far_m(b)).then(a.cmp(&b)))
}

/// Face and barycentric weights of the last closest hit, for a local model.
#[must_use]
pub fn deepest_face(work: &ContactWorkspace) -> Option<(u32, [f64; 3])> {
    let deepest = work
        .hits
        .iter()
        .max_by(|a, b| a.depth_m.total_cmp(&b.depth_m))?;
    Some((deepest.face, deepest.foot.weights))
}

#[cfg(test)]
mod tests;
