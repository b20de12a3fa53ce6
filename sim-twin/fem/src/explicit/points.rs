//! The points of faces under a tool: how deep they are, what they push, and the sums.
//!
//! Source: [`super::skin`]. The same point of many faces is worked on at once.

use super::skin::{Face, Rod};
use crate::probe::gauss;
use multiversion::multiversion;
use palpate_twin::law::Real;

/// Most points of a face.
const POINTS: usize = 16;
/// Faces that are worked on at once.
pub(super) const FACES: usize = 16;
/// One number a face.
pub(super) type Row = [f32; FACES];
/// Depth over the deepest at which a point counts by half its area in friction.
const LIGHT: f32 = 2.5e-5;
/// Where the corners of no face are: out of every tool's reach.
const AWAY: f32 = 1e9;

/// Quadrature: shares of the corners and of the area at every point.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    points: Vec<RulePoint>,
}

#[derive(Debug, Clone, Copy)]
struct RulePoint {
    shares: [f32; 4],
    area: f32,
}

/// Faces to be looked at together.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// Corners from the tool's centre, by corner and axis.
    corners: [[Row; 3]; 4],
    stiffness: Row,
    deepest: Row,
    /// Areas beyond which a face pushes no more.
    most: Row,
}

impl Batch {
    pub(super) const NONE: Self = Self {
        corners: [[[AWAY; FACES]; 3]; 4],
        stiffness: [0.0; FACES],
        deepest: [0.0; FACES],
        most: [f32::MAX; FACES],
    };

    /// Takes a face in, at a place of the batch.
    pub(super) fn set(&mut self, lane: usize, face: &Face, corners: &[[f32; 3]; 4], give: f32) {
        for (rows, corner) in self.corners.iter_mut().zip(corners) {
            for (row, x) in rows.iter_mut().zip(corner) {
                row[lane] = *x;
            }
        }
        self.stiffness[lane] = face.stiffness / (1.0 + face.stiffness * give);
        self.deepest[lane] = face.deepest;
        self.most[lane] = face.most;
    }

    /// Leaves no face at a place and beyond it.
    pub(super) fn clear_from(&mut self, lane: usize) {
        for row in self.corners.iter_mut().flatten() {
            row[lane..].fill(AWAY);
        }
        self.stiffness[lane..].fill(0.0);
    }

    /// Pressure a depth of a face.
    pub(super) fn stiffness(&self, lane: usize) -> f32 {
        self.stiffness[lane]
    }
}

/// What the points of faces got, summed by face.
#[derive(Debug, Clone)]
pub(super) struct Pressed {
    /// Forces by corner and axis.
    pub(super) corners: [[Row; 3]; 4],
    /// Weights in friction, by corner.
    pub(super) shares: [Row; 4],
    /// Weights in friction times where they are.
    pub(super) moment: [Row; 3],
    pub(super) total: [Row; 3],
    pub(super) torque: [Row; 3],
    pub(super) energy: Row,
    pub(super) depth: Row,
    pub(super) area: Row,
    pub(super) count: Row,
}

impl Pressed {
    pub(super) const NONE: Self = Self {
        corners: [[[0.0; FACES]; 3]; 4],
        shares: [[0.0; FACES]; 4],
        moment: [[0.0; FACES]; 3],
        total: [[0.0; FACES]; 3],
        torque: [[0.0; FACES]; 3],
        energy: [0.0; FACES],
        depth: [0.0; FACES],
        area: [0.0; FACES],
        count: [0.0; FACES],
    };
}

/// The rule of Gauss with `order` points along each edge, at most 4.
pub(super) fn rule(order: usize) -> Rule {
    let mut points = Vec::with_capacity(POINTS);
    for &(x, wx) in gauss(order) {
        for &(y, wy) in gauss(order) {
            let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            let shares = signs.map(|(a, b)| f32::of(0.25 * (1.0 + a * x) * (1.0 + b * y)));
            let area = f32::of(0.25 * wx * wy);
            points.push(RulePoint { shares, area });
        }
    }
    Rule { points }
}

/// What a tool pushes the points of faces with, and the sums.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn on_faces(rule: &Rule, batch: &Batch, rod: &Rod) -> Pressed {
    let mut all = Pressed::NONE;
    let (mut whole, slopes) = areas(&batch.corners);
    let mut grows = [0.0_f32; FACES];
    for l in 0..FACES {
        let free = whole[l] < batch.most[l];
        grows[l] = if free { 1.0 } else { 0.0 };
        whole[l] = if free { whole[l] } else { batch.most[l] };
    }
    for point in &rule.points {
        press(batch, point, &whole, rod, &mut all);
    }
    // less area would store less
    let mut tension = all.energy;
    for l in 0..FACES {
        tension[l] = grows[l] * tension[l] / whole[l];
    }
    // the slopes of opposite corners are opposite
    for (corner, sign) in [(0, -1.0), (1, -1.0), (2, 1.0), (3, 1.0)] {
        let to = all.corners[corner].iter_mut().zip(&slopes[corner % 2]);
        for (to, slope) in to {
            for l in 0..FACES {
                to[l] -= tension[l] * (sign * slope[l]);
            }
        }
    }
    all
}

/// Adds what one point of every face gets.
#[inline(always)]
fn press(batch: &Batch, point: &RulePoint, whole: &Row, rod: &Rod, all: &mut Pressed) {
    let RulePoint { shares, area } = point;
    let (mut place, mut push) = ([[0.0_f32; FACES]; 3], [[0.0_f32; FACES]; 3]);
    let (mut force, mut own) = ([0.0_f32; FACES], [0.0_f32; FACES]);
    let mut weight = [0.0_f32; FACES];
    let (mut energy, mut depths) = ([0.0_f32; FACES], [0.0_f32; FACES]);
    for axis in 0..3 {
        for (corner, share) in batch.corners.iter().zip(shares) {
            for l in 0..FACES {
                place[axis][l] = corner[axis][l].mul_add(*share, place[axis][l]);
            }
        }
    }
    for l in 0..FACES {
        let (depth, normal) = depth(&[place[0][l], place[1][l], place[2][l]], rod);
        let deepest = batch.deepest[l];
        let counted = if depth < deepest { depth } else { deepest };
        own[l] = if depth > 0.0 { whole[l] * area } else { 0.0 };
        force[l] = batch.stiffness[l] * counted * own[l];
        energy[l] = force[l] * (depth - 0.5 * counted);
        // by area, but for points that come and go, which must not make a step
        weight[l] = own[l] * (depth / (depth + LIGHT * deepest).max(f32::MIN_POSITIVE));
        depths[l] = depth;
        push[0][l] = normal[0] * force[l];
        push[1][l] = normal[1] * force[l];
        push[2][l] = normal[2] * force[l];
    }
    for l in 0..FACES {
        all.depth[l] = if depths[l] > all.depth[l] {
            depths[l]
        } else {
            all.depth[l]
        };
        all.count[l] += if depths[l] > 0.0 { 1.0 } else { 0.0 };
        all.area[l] += own[l];
        all.energy[l] += energy[l];
    }
    for axis in 0..3 {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for l in 0..FACES {
            all.total[axis][l] += push[axis][l];
            all.moment[axis][l] = weight[l].mul_add(place[axis][l], all.moment[axis][l]);
            all.torque[axis][l] += place[b][l] * push[c][l] - place[c][l] * push[b][l];
        }
    }
    for ((corner, sums), share) in all.corners.iter_mut().zip(&mut all.shares).zip(shares) {
        for l in 0..FACES {
            sums[l] = weight[l].mul_add(*share, sums[l]);
            corner[0][l] = push[0][l].mul_add(*share, corner[0][l]);
            corner[1][l] = push[1][l].mul_add(*share, corner[1][l]);
            corner[2][l] = push[2][l].mul_add(*share, corner[2][l]);
        }
    }
}

/// Areas of faces as they are, and how they grow with their third and fourth corners.
#[inline(always)]
fn areas(c: &[[Row; 3]; 4]) -> (Row, [[Row; 3]; 2]) {
    let (mut one, mut two) = ([[0.0; FACES]; 3], [[0.0; FACES]; 3]);
    for axis in 0..3 {
        for l in 0..FACES {
            one[axis][l] = c[2][axis][l] - c[0][axis][l];
            two[axis][l] = c[3][axis][l] - c[1][axis][l];
        }
    }
    let mut normal = crosses(&one, &two);
    let mut whole = [0.0; FACES];
    for l in 0..FACES {
        let square = square(&[normal[0][l], normal[1][l], normal[2][l]]);
        let size = (square + f32::MIN_POSITIVE).sqrt();
        let inverse = 0.5 / size;
        whole[l] = 0.5 * size;
        normal[0][l] *= inverse;
        normal[1][l] *= inverse;
        normal[2][l] *= inverse;
    }
    (whole, [crosses(&two, &normal), crosses(&normal, &one)])
}

#[inline(always)]
fn crosses(a: &[Row; 3], b: &[Row; 3]) -> [Row; 3] {
    let mut out = [[0.0; FACES]; 3];
    for (axis, out) in out.iter_mut().enumerate() {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        for l in 0..FACES {
            out[l] = a[i][l] * b[j][l] - a[j][l] * b[i][l];
        }
    }
    out
}

pub(super) fn cross(a: &[f32; 3], b: &[f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Where a place is from the nearest point of the tool's axis.
#[inline(always)]
pub(super) fn from_axis(place: &[f32; 3], shaft: &[f32; 3]) -> [f32; 3] {
    let long = square(shaft);
    let along = place[0] * shaft[0] + place[1] * shaft[1] + place[2] * shaft[2];
    let part = along / (long + f32::MIN_POSITIVE);
    // what is not a number becomes zero
    let part = if part > 0.0 { part } else { 0.0 };
    let share = if part < 1.0 { part } else { 1.0 };
    let mut offset = [0.0; 3];
    for axis in 0..3 {
        offset[axis] = place[axis] - share * shaft[axis];
    }
    offset
}

/// Depth of a place in the tool, 0 outside, and where the tool pushes it.
#[inline(always)]
fn depth(place: &[f32; 3], rod: &Rod) -> (f32, [f32; 3]) {
    let offset = from_axis(place, &rod.shaft);
    let (across2, square2) = (
        offset[0] * offset[0] + offset[1] * offset[1],
        rod.radius * rod.radius,
    );
    let distance2 = across2 + offset[2] * offset[2];
    let least = 1e-12 * square2;
    let distance = if distance2 > least { distance2 } else { least }.sqrt();
    // the surface comes from below: far inside and above the axis it has been run through
    let through = ((offset[2] > 0.0) & (across2 < 0.25 * square2)) | (distance2 <= least);
    let depth = if through {
        rod.radius + offset[2]
    } else {
        rod.radius - distance
    };
    let inside = distance2 < square2;
    let (mut normal, inverse) = ([0.0; 3], 1.0 / distance);
    for axis in 0..3 {
        let down = if axis == 2 { -1.0 } else { 0.0 };
        normal[axis] = if through {
            down
        } else {
            offset[axis] * inverse
        };
    }
    (if inside { depth } else { 0.0 }, normal)
}

#[inline(always)]
pub(super) fn square(x: &[f32; 3]) -> f32 {
    x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
}
