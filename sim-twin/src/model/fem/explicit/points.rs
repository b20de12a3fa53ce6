//! The points of one face under a tool: how deep they are, what they push, and the sums.
//!
//! Source: [`super::skin`]. All points of a face are worked on at once.

use super::skin::{Face, Rod};
use crate::law::Real;
use crate::model::fem::probe::gauss;
use multiversion::multiversion;

/// Points of a face, as many as a rule has, the rest without area.
pub(super) const POINTS: usize = 16;
pub(super) type Points = [f32; POINTS];

/// Quadrature: shares of the corners and of the area at every point.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) shares: [Points; 4],
    pub(super) area: Points,
}

/// What the points of one face got.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pressed {
    /// By corner.
    pub(super) corners: [[f32; 3]; 4],
    pub(super) total: [f32; 3],
    pub(super) torque: [f32; 3],
    pub(super) normal: f32,
    pub(super) energy: f32,
    pub(super) depth: f32,
    pub(super) area: f32,
    pub(super) count: u32,
}

/// The rule of Gauss with `order` points along each edge.
pub(super) fn rule(order: usize) -> Rule {
    let mut rule = Rule {
        shares: [[0.0; POINTS]; 4],
        area: [0.0; POINTS],
    };
    let mut point = 0;
    for &(x, wx) in gauss(order) {
        for &(y, wy) in gauss(order) {
            let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            for (shares, (a, b)) in rule.shares.iter_mut().zip(signs) {
                shares[point] = f32::of(0.25 * (1.0 + a * x) * (1.0 + b * y));
            }
            rule.area[point] = f32::of(0.25 * wx * wy);
            point += 1;
        }
    }
    rule
}

/// Where the points of a face are, what each gets, and the sums; none if the tool misses all.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn on_face(
    rule: &Rule,
    (face, corners): (&Face, &[[f32; 3]; 4]),
    rod: &Rod,
) -> Option<([Points; 3], Points, Pressed)> {
    let place = places(rule, corners);
    let (mut depths, mut normals) = ([0.0_f32; POINTS], [[0.0_f32; POINTS]; 3]);
    for p in 0..POINTS {
        let (depth, normal) = depth(&[place[0][p], place[1][p], place[2][p]], rod);
        depths[p] = if rule.area[p] > 0.0 { depth } else { 0.0 };
        for axis in 0..3 {
            normals[axis][p] = normal[axis];
        }
    }
    let deepest = depths.iter().fold(0.0_f32, |a, &b| a.max(b));
    if deepest <= 0.0 {
        return None;
    }
    let stiffness = face.stiffness / (1.0 + face.stiffness * rod.give);
    let (whole, slopes) = area(corners);
    let mut force = [0.0_f32; POINTS];
    let mut pressed = Pressed {
        depth: deepest,
        ..Pressed::default()
    };
    let (mut energy, mut areas) = ([0.0_f32; POINTS], [0.0_f32; POINTS]);
    for p in 0..POINTS {
        let counted = depths[p].min(face.deepest);
        areas[p] = if depths[p] > 0.0 {
            whole * rule.area[p]
        } else {
            0.0
        };
        force[p] = stiffness * counted * areas[p];
        energy[p] = force[p] * (depths[p] - 0.5 * counted);
        pressed.count += u32::from(depths[p] > 0.0);
    }
    pressed.energy = sum(&energy);
    pressed.area = sum(&areas);
    pressed.normal = sum(&force);
    let mut part = [0.0_f32; POINTS];
    for axis in 0..3 {
        for p in 0..POINTS {
            normals[axis][p] *= force[p];
        }
        pressed.total[axis] = sum(&normals[axis]);
        for (corner, shares) in pressed.corners.iter_mut().zip(&rule.shares) {
            for p in 0..POINTS {
                part[p] = normals[axis][p] * shares[p];
            }
            corner[axis] = sum(&part);
        }
    }
    // less area would store less
    let tension = pressed.energy / whole.max(f32::MIN_POSITIVE);
    for (corner, slope) in pressed.corners.iter_mut().zip(&slopes) {
        for axis in 0..3 {
            corner[axis] -= tension * slope[axis];
        }
    }
    // a sphere that only pushes is not turned
    if square(&rod.shaft) > 0.0 {
        pressed.torque = turn(&place, &normals);
    }
    Some((place, force, pressed))
}

/// Places of the points of a face.
#[inline(always)]
fn places(rule: &Rule, corners: &[[f32; 3]; 4]) -> [Points; 3] {
    let mut place = [[0.0_f32; POINTS]; 3];
    for (corner, shares) in corners.iter().zip(&rule.shares) {
        for axis in 0..3 {
            for p in 0..POINTS {
                place[axis][p] += corner[axis] * shares[p];
            }
        }
    }
    place
}

/// Turn of pushes at places.
#[inline(always)]
fn turn(place: &[Points; 3], push: &[Points; 3]) -> [f32; 3] {
    let (mut torque, mut part) = ([0.0; 3], [0.0_f32; POINTS]);
    for (axis, (b, c)) in [(1, 2), (2, 0), (0, 1)].into_iter().enumerate() {
        for p in 0..POINTS {
            part[p] = place[b][p] * push[c][p] - place[c][p] * push[b][p];
        }
        torque[axis] = sum(&part);
    }
    torque
}

/// Sum by halves, which the compiler does at once.
#[inline(always)]
fn sum(x: &Points) -> f32 {
    let (mut eight, mut four) = ([0.0_f32; 8], [0.0_f32; 4]);
    for i in 0..8 {
        eight[i] = x[i] + x[i + 8];
    }
    for i in 0..4 {
        four[i] = eight[i] + eight[i + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Area of a face as it is, and how it grows with its corners.
#[inline(always)]
fn area(c: &[[f32; 3]; 4]) -> (f32, [[f32; 3]; 4]) {
    let (mut one, mut two) = ([0.0; 3], [0.0; 3]);
    for axis in 0..3 {
        one[axis] = c[2][axis] - c[0][axis];
        two[axis] = c[3][axis] - c[1][axis];
    }
    let across = cross(&one, &two);
    let size = square(&across).max(f32::MIN_POSITIVE).sqrt();
    let mut normal = across;
    normal.iter_mut().for_each(|n| *n /= size);
    let (a, b) = (cross(&two, &normal), cross(&normal, &one));
    let mut slopes = [[0.0; 3]; 4];
    for axis in 0..3 {
        let (a, b) = (0.5 * a[axis], 0.5 * b[axis]);
        (slopes[0][axis], slopes[1][axis]) = (-a, -b);
        (slopes[2][axis], slopes[3][axis]) = (a, b);
    }
    (0.5 * size, slopes)
}

#[inline(always)]
fn cross(a: &[f32; 3], b: &[f32; 3]) -> [f32; 3] {
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
    #[expect(clippy::manual_clamp, reason = "what is not a number becomes zero")]
    let share = (along / long.max(f32::MIN_POSITIVE)).max(0.0).min(1.0);
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
    let distance = distance2.max(1e-12 * square2).sqrt();
    // the surface comes from below: far inside and above the axis it has been run through
    let through = (offset[2] > 0.0 && across2 < 0.25 * square2) || distance2 <= 1e-12 * square2;
    let depth = if through {
        rod.radius + offset[2]
    } else {
        rod.radius - distance
    };
    let inside = distance2 < square2;
    let mut normal = [0.0; 3];
    for axis in 0..3 {
        let down = if axis == 2 { -1.0 } else { 0.0 };
        normal[axis] = if through {
            down
        } else {
            offset[axis] / distance
        };
    }
    (if inside { depth } else { 0.0 }, normal)
}

#[inline(always)]
pub(super) fn square(x: &[f32; 3]) -> f32 {
    x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
}
