//! Continuous contact of a sphere with a triangulated surface.
//!
//! Source: ours, after seed-004 3.5 and W8, W18, W19, W21. Every face has a depth, radius less
//! distance; the depths are blended by their 8-norm and the energy is `k depth^2 / 2`. Forces are
//! its exact gradient, shared by barycentric weights and patches, so the law cannot make energy,
//! begins at the surface itself and stays continuous over convex and concave edges. Each tool
//! remembers its side, so that a deep or fast tool is pushed back to where it came from.

use crate::Vec3;
use crate::contact::triangle::{self, Foot};
use crate::contact::{Near, Skin, Sphere, Touch};

/// Faces with less than this share of the largest depth weigh under 1e-7 and are skipped.
const SHARE_MIN: f64 = 0.1;
/// How far beyond its radius a tool that went through is still held, over its radius.
const HOLD_RATIO: f64 = 4.0;
/// Distance of the centre from the surface, over the radius, below which other faces fade.
const CLEAR: f64 = 0.25;
/// Relative distance within which several faces share the closest point.
const TIE: f64 = 1e-9;

/// The side of the surface that a tool is on: +1 outside, -1 behind, 0 not in contact.
pub type Side = i8;

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
pub struct Workspace {
    corners: Vec<Corner>,
    loaded: Vec<u32>,
    hits: Vec<Hit>,
    epoch: u64,
}

#[derive(Debug, Clone, Copy)]
struct Corner {
    epoch: u64,
    position_m: Vec3,
    loaded: bool,
    load_n: Vec3,
}

impl Workspace {
    /// Storage for `skin`; nothing allocates afterwards.
    #[must_use]
    pub fn new(skin: &Skin) -> Self {
        let empty = Corner {
            epoch: 0,
            position_m: Vec3::zeros(),
            loaded: false,
            load_n: Vec3::zeros(),
        };
        Self {
            corners: vec![empty; skin.nodes()],
            loaded: Vec::with_capacity(skin.nodes()),
            hits: Vec::with_capacity(skin.faces().len()),
            epoch: 0,
        }
    }

    fn corner(&mut self, skin: &Skin, node: u32, positions_m: &[Vec3]) -> Vec3 {
        let slot = &mut self.corners[node as usize];
        if slot.epoch != self.epoch {
            slot.epoch = self.epoch;
            slot.position_m = skin.corner(node as usize, positions_m);
            slot.loaded = false;
            slot.load_n = Vec3::zeros();
        }
        slot.position_m
    }

    fn hit(&mut self, skin: &Skin, face: u32, positions_m: &[Vec3], center_m: &Vec3) -> Hit {
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
    fn normal(&self, skin: &Skin, face: u32) -> Vec3 {
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

/// What a surface looks like at this instant.
#[derive(Debug, Clone, Copy)]
pub struct Surface<'a> {
    /// What is known in advance.
    pub skin: &'a Skin,
    /// Positions of the nodes, surface nodes first \[m\].
    pub positions_m: &'a [Vec3],
    /// Whether each face still exists.
    pub alive: &'a [bool],
}

impl Workspace {
    /// Make the list of faces within `reach_m` of the centre of `sphere`.
    pub fn gather(
        &mut self,
        near: &mut Near,
        surface: &Surface<'_>,
        sphere: &Sphere,
        travel_m: f64,
        reach_m: f64,
    ) {
        let skin = surface.skin;
        let slack_m = skin.slack_m();
        near.restart(sphere.center_m, travel_m, reach_m, slack_m);
        self.epoch += 1;
        let far_m = reach_m + slack_m;
        let drift_m = skin.drift_m(&surface.positions_m[..skin.nodes()]);
        skin.for_faces(&sphere.center_m, far_m + drift_m, |face| {
            if surface.alive[face as usize] {
                let hit = self.hit(skin, face, surface.positions_m, &sphere.center_m);
                if hit.distance_m < far_m {
                    near.push(face);
                }
            }
        });
        near.sort();
    }

    /// Press `sphere` into the listed faces; `push(node, force)` receives every node's force \[N\].
    ///
    /// Updates the side of `memory`. Without contact, its normal is handed back.
    pub fn press(
        &mut self,
        faces: &[u32],
        surface: &Surface<'_>,
        sphere: &Sphere,
        memory: Memory<'_>,
        mut push: impl FnMut(u32, Vec3),
    ) -> Touch {
        let Memory {
            side,
            normal: last_normal,
        } = memory;
        let Some(closest) = find(faces, self, surface, sphere) else {
            *side = 0;
            return Touch::none(last_normal);
        };
        let judged = judge(closest, self, surface, sphere, side);
        if *side == 0 {
            return Touch::none(last_normal);
        }
        let depth_m = deepen(closest, self, sphere, judged.through);
        let touch = self.resolve(closest, surface.skin, sphere, depth_m, &judged);
        for &node in &self.loaded {
            let load_n = self.corners[node as usize].load_n;
            for &(other, weight) in surface.skin.patch(node as usize) {
                push(other, weight * load_n);
            }
        }
        Touch {
            normal: touch.force_n.try_normalize(0.0).unwrap_or(last_normal),
            ..touch
        }
    }

    /// Turn depths into loads on the corners of the contact surface.
    fn resolve(
        &mut self,
        closest: usize,
        skin: &Skin,
        sphere: &Sphere,
        depth_m: f64,
        judged: &Judged,
    ) -> Touch {
        let Judged { outward, through } = *judged;
        let mut touch = Touch::none(outward);
        let least_m = SHARE_MIN * self.hits[closest].depth_m;
        for index in 0..self.hits.len() {
            let hit = self.hits[index];
            if hit.depth_m <= least_m {
                continue;
            }
            let share = hit.depth_m / depth_m;
            let cube = share * share * share;
            let scale_n = sphere.stiffness_npm * depth_m * cube * cube * share;
            let turned = if through && index == closest {
                -1.0
            } else {
                1.0
            };
            let direction = if hit.distance_m > TIE * sphere.radius_m {
                turned / hit.distance_m * hit.gap_m
            } else {
                outward
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
        touch.energy_j = 0.5 * sphere.stiffness_npm * depth_m * depth_m;
        touch.penetration_m = self.hits[closest].depth_m;
        touch.nearest = nearest_corner(&self.hits[closest], skin, self, sphere);
        touch
    }
}

/// What is remembered of a tool from one press to the next.
#[derive(Debug)]
pub struct Memory<'a> {
    /// Side of the surface that it is on.
    pub side: &'a mut Side,
    /// Normal of its last contact.
    pub normal: Vec3,
}

/// Where a tool stands to the surface.
struct Judged {
    /// Normal on the tool's side.
    outward: Vec3,
    /// Whether its centre has gone through.
    through: bool,
}

/// How far a list must reach for a tool that came from `from_m` \[m\].
///
/// A tool that was deep in the surface, or moved by more than half its radius in one step, may
/// have gone through; otherwise its own radius will do.
#[must_use]
pub fn reach_m(sphere: &Sphere, from_m: &Vec3, deep: bool) -> f64 {
    if deep || (sphere.center_m - from_m).norm() > 0.5 * sphere.radius_m {
        sphere.radius_m * (1.0 + HOLD_RATIO)
    } else {
        sphere.radius_m
    }
}

/// The side a tool was on when it crossed the surface between two steps; 0 if it did not.
#[must_use]
pub fn crossed(surface: &Surface<'_>, from_m: &Vec3, to_m: &Vec3) -> Side {
    let skin = surface.skin;
    let middle = 0.5 * (from_m + to_m);
    let half_m = 0.5 * (to_m - from_m).norm();
    let drift_m = skin.drift_m(&surface.positions_m[..skin.nodes()]);
    let mut first = f64::INFINITY;
    let mut side = 0;
    skin.for_faces(&middle, half_m + drift_m, |face| {
        if !surface.alive[face as usize] {
            return;
        }
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

/// Measure every listed face; gives the index of the closest hit.
fn find(
    faces: &[u32],
    work: &mut Workspace,
    surface: &Surface<'_>,
    sphere: &Sphere,
) -> Option<usize> {
    work.epoch += 1;
    work.hits.clear();
    work.loaded.clear();
    let mut closest: Option<usize> = None;
    let mut least_m = f64::INFINITY;
    for &face in faces {
        if !surface.alive[face as usize] {
            continue;
        }
        let hit = work.hit(surface.skin, face, surface.positions_m, &sphere.center_m);
        if hit.distance_m < least_m {
            least_m = hit.distance_m;
            closest = Some(work.hits.len());
        }
        work.hits.push(hit);
    }
    closest
}

/// Decide the side; gives the normal on that side and whether the centre has gone through.
fn judge(
    closest: usize,
    work: &Workspace,
    surface: &Surface<'_>,
    sphere: &Sphere,
    side: &mut Side,
) -> Judged {
    let best = work.hits[closest];
    let tie_m = best.distance_m + TIE * sphere.radius_m;
    let tied = work.hits.iter().filter(|hit| hit.distance_m <= tie_m);
    let sum: Vec3 = tied.map(|hit| work.normal(surface.skin, hit.face)).sum();
    let normal = sum.try_normalize(0.0).unwrap_or_else(Vec3::z);
    let height_m = best.gap_m.dot(&normal);
    let here: Side = if height_m >= 0.0 { 1 } else { -1 };
    // Beside the rim there is no "through": the sheet just ends.
    let beside = surface.skin.on_rim(best.face as usize, &best.foot.weights)
        && height_m.abs() < 0.5 * best.distance_m;
    let outside = beside || *side == 0 || here == *side;
    if outside && best.distance_m >= sphere.radius_m
        || best.distance_m >= HOLD_RATIO * sphere.radius_m
    {
        *side = 0;
    } else if *side == 0 {
        *side = here;
    }
    Judged {
        outward: f64::from(*side) * normal,
        through: !outside,
    }
}

/// Give every hit its depth and blend them \[m\].
///
/// With its centre nearly in the surface a tool would be pulled sideways by all the other faces;
/// there they fade out, and a tool that went through answers to the closest face alone.
fn deepen(closest: usize, work: &mut Workspace, sphere: &Sphere, through: bool) -> f64 {
    let clear = work.hits[closest].distance_m / (CLEAR * sphere.radius_m);
    let fade = if through { 0.0 } else { clear.min(1.0) };
    for hit in &mut work.hits {
        hit.depth_m = fade * (sphere.radius_m - hit.distance_m);
    }
    let best = &mut work.hits[closest];
    let over_m = if through {
        best.distance_m
    } else {
        -best.distance_m
    };
    best.depth_m = sphere.radius_m + over_m;
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

/// The corner of a hit's face that is nearest to the tool, the lowest index if two tie.
fn nearest_corner(hit: &Hit, skin: &Skin, work: &Workspace, sphere: &Sphere) -> Option<u32> {
    let far_m = |node: u32| (work.corners[node as usize].position_m - sphere.center_m).norm();
    skin.faces()[hit.face as usize]
        .into_iter()
        .min_by(|&a, &b| far_m(a).total_cmp(&far_m(b)).then(a.cmp(&b)))
}

/// Barycentric place of the last closest hit: its face and weights, for a local model.
#[must_use]
pub fn place(work: &Workspace) -> Option<(u32, [f64; 3])> {
    let deepest = work
        .hits
        .iter()
        .max_by(|a, b| a.depth_m.total_cmp(&b.depth_m))?;
    Some((deepest.face, deepest.foot.weights))
}

#[cfg(test)]
mod tests;
