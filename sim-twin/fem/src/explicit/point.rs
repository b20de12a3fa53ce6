//! A point on the top of the block: a god-object on its faces.
//!
//! Source: Zilles and Salisbury 1995; Ruspini, Kolarov and Khatib 1997; seed-004 3.15, on a surface
//! that deforms. A point that comes through a triangle of the top from outside is held by the place of
//! it where it came, a place of the tissue with its shares of three nodes. A spring ties tool and place;
//! the nodes get its force by these shares, so that action is reaction. Without friction the place goes
//! to the nearest one around it, with friction only so far that the force is within Coulomb's cone.
//! A point is let go where it has come out, and at the rim, below which there is nothing to hold it.
//! Out it is where the nearest place is on the other side of it, by the normals around that place and by
//! the way to where it was held before: the walls of the pit under a point hang over if that is deep.
//!
//! Crossings are seen by the side of every triangle that the point was on before and is on now, so that
//! both may move, and no speed that the list of near faces is made for is too fast. One set down in
//! the tissue is on no outer side and touches nothing until it has come out.
//!
//! A point load on a continuum has no finite answer: what is felt is that of the mesh, about a sphere
//! as large as a cell, and softer with finer cells. One that is pressed deeper than a good part of a cell
//! is caught in the pit of the node that it is at: it slides from node to node, by steps.

use super::grid::Motion;
use super::skin::{Beat, Face, Met, Skin, give};
use palpate_twin::Vec3;
use palpate_twin::contact::triangle::{Foot, closest};
use palpate_twin::law::Real;

/// Distance within which a triangle has a place of its neighbour, over the shortest edge.
const BESIDE: f64 = 1e-3;
/// Depth to which a point counts as outside where a tick begins, over the shortest edge: beyond what
/// rounding makes of a place.
const OUTSIDE: f64 = 1e-6;
/// Most triangles that a place goes over at once.
const STRIDES: usize = 16;
/// Area of a rigid touch that is as stiff as a point load on a face, over that face (measured in presses
/// of a block by one to five cells).
const SPREAD: f32 = 0.25;
/// Times that a place which slips is set, so that its force ends within the cone.
const SLIPS: usize = 3;

/// The place of the tissue that holds a point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Grip {
    /// Triangle, twice the number of its face plus which half of it; none if nothing is held.
    pub(super) triangle: Option<u32>,
    /// Shares of its corners.
    pub(super) shares: [f64; 3],
}

/// What ties a point to its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spring {
    pub(super) stiffness: f64,
    /// Length from which its force grows no more.
    pub(super) longest: f64,
    /// Coulomb's coefficient.
    pub(super) friction: f64,
}

impl Spring {
    /// Force on the tool, and energy, with its place that far from it.
    fn pull(&self, offset: &Vec3) -> (Vec3, f64) {
        let long = offset.norm();
        if !(long > 0.0 && long.is_finite()) {
            return (Vec3::zeros(), 0.0);
        }
        let counted = long.min(self.longest);
        let force = self.stiffness * counted;
        (offset * (force / long), force * (long - 0.5 * counted))
    }
}

/// What is known of a point since it was last looked at. A tick begins with [`Top::begin`], so nothing
/// of it outlives one.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    /// Whether it is outside the halves of every listed face.
    outside: Vec<[bool; 2]>,
    /// Where it was, where its place was, and the force on it.
    at: Vec3,
    place: Vec3,
    force: Vec3,
    energy: f64,
}

impl Watch {
    pub(super) fn new(faces: usize) -> Self {
        Self {
            outside: Vec::with_capacity(faces),
            at: Vec3::zeros(),
            place: Vec3::zeros(),
            force: Vec3::zeros(),
            energy: 0.0,
        }
    }
}

/// A sub-step of a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Where it is.
    pub(super) at: Vec3,
    /// How far it, and what it may meet, can have gone since the last sub-step.
    pub(super) way: f64,
}

/// The listed faces of the top as they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Top<'a> {
    pub(super) skin: &'a Skin,
    pub(super) near: &'a [u32],
    pub(super) motions: &'a [Motion],
}

/// The place that is nearest to a point.
struct Nearest {
    triangle: u32,
    foot: Foot,
    /// Whether that is within its triangle, not at an edge or a corner of it.
    within: bool,
    /// Outward normals of all triangles that have it, summed.
    normal: Vec3,
}

impl Nearest {
    fn of(triangle: u32, foot: Foot) -> Self {
        Self {
            triangle,
            within: foot.weights.iter().all(|&share| share > 0.0),
            foot,
            normal: Vec3::zeros(),
        }
    }
}

/// Corners of a face that are those of one of its halves.
fn half(triangle: u32) -> [usize; 3] {
    if triangle.is_multiple_of(2) {
        [0, 1, 2]
    } else {
        [0, 2, 3]
    }
}

/// Normal of a triangle, not of unit length.
fn normal(corners: &[Vec3; 3]) -> Vec3 {
    (corners[1] - corners[0]).cross(&(corners[2] - corners[0]))
}

impl Top<'_> {
    fn face(&self, triangle: u32) -> &Face {
        &self.skin.faces[(triangle / 2) as usize]
    }

    fn corners(&self, triangle: u32) -> [Vec3; 3] {
        let face = self.face(triangle);
        let u = &self.motions[face.grid as usize].u;
        half(triangle).map(|corner| {
            let node = face.nodes[corner] as usize;
            let of = |axis: usize| f64::from(face.rest[corner][axis]) + f64::from(u[axis][node]);
            Vec3::new(of(0), of(1), of(2))
        })
    }

    /// Where the place of a grip is.
    pub(super) fn place(&self, grip: &Grip) -> Option<Vec3> {
        let corners = self.corners(grip.triangle?);
        let parts = corners.iter().zip(grip.shares);
        Some(parts.map(|(corner, share)| corner * share).sum())
    }

    /// Looks at a point at the beginning of a tick.
    pub(super) fn begin(&self, at: Vec3, grip: &Grip, spring: &Spring, watch: &mut Watch) {
        watch.outside.clear();
        for &face in self.near {
            watch.outside.push([0, 1].map(|side| {
                let corners = self.corners(2 * face + side);
                let normal = normal(&corners);
                (at - corners[0]).dot(&normal) >= -OUTSIDE * normal.norm()
            }));
        }
        watch.at = at;
        watch.place = self.place(grip).unwrap_or(at);
        (watch.force, watch.energy) = spring.pull(&(watch.place - at));
    }

    /// What a point that is held gets where it and the tissue are, its place kept.
    pub(super) fn hold(&self, at: Vec3, grip: &Grip, spring: &Spring) -> Met {
        let offset = self.place(grip).map_or(Vec3::zeros(), |place| place - at);
        self.met(grip, &offset, spring)
    }

    /// The same a sub-step later: comes, goes, slides. Gives what the point met and the energy that
    /// sliding took.
    pub(super) fn go(
        &self,
        step: &Step,
        (beat, spring): (&Beat, &Spring),
        (grip, watch): (&mut Grip, &mut Watch),
    ) -> (Met, f64) {
        let Some(triangle) = grip.triangle.or_else(|| self.caught(step, watch)) else {
            watch.at = step.at;
            return (Met::default(), 0.0);
        };
        let held = grip.triangle.is_some();
        if held && beat.count(self.face(triangle)) == 0.0 {
            return (Met::default(), 0.0);
        }
        let nearest = self.nearest(&step.at, triangle);
        let place = self.place(grip).unwrap_or(nearest.foot.point_m);
        if !held {
            (watch.at, watch.place) = (step.at, place);
        }
        let out = nearest.foot.point_m - step.at;
        let is_out =
            out.dot(&nearest.normal) <= 0.0 && (nearest.within || out.dot(&watch.force) <= 0.0);
        if is_out || self.is_rim(&nearest) {
            *grip = Grip::default();
            // the triangles around tell whether it comes again
            watch.outside.fill([true; 2]);
        } else {
            *grip = self.slide(&step.at, (grip, &place), nearest, spring.friction);
        }
        let now = self.place(grip).unwrap_or(step.at);
        let offset = now - step.at;
        let (force, energy) = spring.pull(&offset);
        // the tool went with it against the place that was held
        let relative = (step.at - watch.at) - (place - watch.place);
        let work = -0.5 * (watch.force + force).dot(&relative);
        let spent = watch.energy + work - energy;
        (watch.at, watch.place) = (step.at, now);
        (watch.force, watch.energy) = (force, energy);
        (self.met(grip, &offset, spring), spent)
    }

    /// The triangle through which a point has come from outside, the nearest of them.
    fn caught(&self, step: &Step, watch: &mut Watch) -> Option<u32> {
        let (mut found, mut least) = (None, step.way * step.way);
        for (&face, outside) in self.near.iter().zip(&mut watch.outside) {
            for (triangle, outside) in (2 * face..).zip(outside) {
                let corners = self.corners(triangle);
                let out = (step.at - corners[0]).dot(&normal(&corners)) >= 0.0;
                if *outside && !out {
                    let [a, b, c] = &corners;
                    let far = (step.at - closest(&step.at, a, b, c).point_m).norm_squared();
                    if far <= least {
                        (found, least) = (Some(triangle), far);
                    }
                }
                *outside = out;
            }
        }
        found
    }

    /// The nearest place of a point, from that of a triangle down to where no triangle that has it too
    /// has a nearer one.
    fn nearest(&self, at: &Vec3, from: u32) -> Nearest {
        let [a, b, c] = self.corners(from);
        let mut now = Nearest::of(from, closest(at, &a, &b, &c));
        for _ in 0..STRIDES {
            let place = now.foot.point_m;
            let mut least = (at - place).norm_squared() * (1.0 - 1e-9);
            let (mut sum, mut next) = (Vec3::zeros(), None);
            for triangle in self.around(&now) {
                let corners = self.corners(triangle);
                let [a, b, c] = &corners;
                if (closest(&place, a, b, c).point_m - place).norm_squared() > BESIDE * BESIDE {
                    continue;
                }
                sum += normal(&corners)
                    .try_normalize(0.0)
                    .unwrap_or_else(Vec3::zeros);
                let foot = closest(at, a, b, c);
                let far = (at - foot.point_m).norm_squared();
                if far < least {
                    (next, least) = (Some((triangle, foot)), far);
                }
            }
            now.normal = sum;
            let Some((triangle, foot)) = next else { break };
            now = Nearest::of(triangle, foot);
        }
        now
    }

    /// Triangles that may have a place too: its own alone if it is within that.
    fn around(&self, place: &Nearest) -> impl Iterator<Item = u32> + '_ {
        let own = place.triangle;
        let face = self.face(own);
        let listed = if place.within { &[] } else { self.near };
        let beside = listed
            .iter()
            .filter(move |&&other| face.is_beside(&self.skin.faces[other as usize]))
            .flat_map(|&other| [2 * other, 2 * other + 1]);
        std::iter::once(own).chain(beside.filter(move |&triangle| triangle != own))
    }

    /// Whether a nearest place is on the rim of the top.
    fn is_rim(&self, nearest: &Nearest) -> bool {
        let face = self.face(nearest.triangle);
        let mut rest = [0.0; 2];
        for (corner, share) in half(nearest.triangle).into_iter().zip(nearest.foot.weights) {
            for (axis, rest) in rest.iter_mut().enumerate() {
                *rest += share * f64::from(face.rest[corner][axis]);
            }
        }
        let [low, high] = self.skin.rim;
        let out =
            |axis: usize| rest[axis] <= low[axis] + BESIDE || rest[axis] >= high[axis] - BESIDE;
        out(0) || out(1)
    }

    /// Where a point is held now that was held at a place and has a nearest one.
    fn slide(
        &self,
        at: &Vec3,
        (grip, place): (&Grip, &Vec3),
        nearest: Nearest,
        friction: f64,
    ) -> Grip {
        let target = nearest.foot.point_m;
        let free = Grip {
            triangle: Some(nearest.triangle),
            shares: nearest.foot.weights,
        };
        if friction == 0.0 || grip.triangle.is_none() {
            return free;
        }
        let normal = (target - at).normalize();
        let (mut now, mut aside) = (*grip, place - target);
        for _ in 0..SLIPS {
            // what is across the normal, against what is along
            let reach = friction * (target + aside - at).dot(&normal);
            let across = aside - normal * aside.dot(&normal);
            let long = across.norm();
            if long <= reach {
                break;
            }
            if reach <= 0.0 {
                return free;
            }
            let wish = target + across * (reach / long);
            let slipped = self.nearest(&wish, now.triangle.unwrap_or(nearest.triangle));
            aside = slipped.foot.point_m - target;
            now = Grip {
                triangle: Some(slipped.triangle),
                shares: slipped.foot.weights,
            };
        }
        now
    }

    fn met(&self, grip: &Grip, offset: &Vec3, spring: &Spring) -> Met {
        let Some(triangle) = grip.triangle else {
            return Met::default();
        };
        let (force, energy) = spring.pull(offset);
        Met {
            force: force.into(),
            energy,
            depth: f32::of(offset.norm()),
            area: SPREAD * self.face(triangle).area,
            slope: f32::of(spring.stiffness),
            contacts: 1,
            ..Met::default()
        }
    }
}

/// Gives the corners that hold a point its force, as often as they are due.
pub(super) fn push(skin: &Skin, grip: &Grip, beat: &Beat, motions: &mut [Motion], met: &mut Met) {
    let Some(triangle) = grip.triangle else {
        return;
    };
    let face = &skin.faces[(triangle / 2) as usize];
    let count = beat.count(face);
    let down = met.force.map(|f| -f32::of(f));
    let mut corners = [[0.0; 3]; 4];
    for (corner, share) in half(triangle).into_iter().zip(grip.shares) {
        corners[corner] = down.map(|f| f * f32::of(share));
    }
    met.push(count, &down, &[0.0; 3]);
    let motion = &mut motions[face.grid as usize];
    give(face, beat.weight * count, &corners, motion);
}
