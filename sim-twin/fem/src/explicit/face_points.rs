//! Contact forces at the quadrature points of faces under a tool, and their sums.
//!
//! Source: [`super::skin`]. The same point of many faces is processed at once.

use super::skin::{Face, ToolRod};
use crate::sphere_contact::GAUSS;
use multiversion::multiversion;
use palpate_twin::law::Real;

/// Number of faces that are processed at once.
pub(super) const FACES_PER_BATCH: usize = 16;
/// One number per face.
pub(super) type Row = [f32; FACES_PER_BATCH];
/// Ratio of depth to the largest depth at which a point has half its area as weight in friction.
const FRICTION_RAMP_RATIO: f32 = 2.5e-5;
/// Directions in which the copies of a tool are shifted.
const COPIES: [[f32; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]];
/// Coordinate of the corners of absent faces: out of every tool's reach.
const OUT_OF_REACH: f32 = 1e9;

/// Point of a quadrature rule: weights of the corners and of the area.
#[derive(Debug, Clone, Copy)]
pub(super) struct RulePoint {
    corner_weights: [f32; 4],
    area: f32,
}

/// Batch of faces that are processed together.
#[derive(Debug, Clone)]
pub(super) struct FaceBatch {
    /// Corners relative to the tool's centre, by corner and axis.
    corners: [[Row; 3]; 4],
    /// Pressure per depth.
    pub(super) stiffness: Row,
    depth_max: Row,
    /// Largest areas that count for the force.
    area_max: Row,
    /// Shift of the copies of the tool along both axes of the top.
    shift: [Row; 2],
}

impl FaceBatch {
    pub(super) const NONE: Self = Self {
        corners: [[[OUT_OF_REACH; FACES_PER_BATCH]; 3]; 4],
        stiffness: [0.0; FACES_PER_BATCH],
        depth_max: [0.0; FACES_PER_BATCH],
        area_max: [f32::MAX; FACES_PER_BATCH],
        shift: [[0.0; FACES_PER_BATCH]; 2],
    };

    /// Stores a face in a lane of the batch.
    pub(super) fn set(&mut self, lane: usize, face: &Face, corners: &[[f32; 3]; 4], rod: &ToolRod) {
        for (rows, corner) in self.corners.iter_mut().zip(corners) {
            for (row, x) in rows.iter_mut().zip(corner) {
                row[lane] = *x;
            }
        }
        self.stiffness[lane] = face.stiffness / (1.0 + face.stiffness * rod.boundary_compliance);
        for (row, edge) in self.shift.iter_mut().zip(face.edges) {
            row[lane] = rod.spread * edge;
        }
        self.depth_max[lane] = face.depth_max;
        self.area_max[lane] = face.area_max;
    }

    /// Clears the faces from a lane on.
    pub(super) fn clear_from(&mut self, lane: usize) {
        for row in self.corners.iter_mut().flatten() {
            row[lane..].fill(OUT_OF_REACH);
        }
        self.stiffness[lane..].fill(0.0);
    }
}

/// Loads at the points of faces, summed by face.
#[derive(Debug, Clone)]
pub(super) struct FaceLoads {
    /// Forces by corner and axis.
    pub(super) corners: [[Row; 3]; 4],
    /// Weights in friction, by corner.
    pub(super) friction_weights: [Row; 4],
    /// Positions weighted by the weights in friction.
    pub(super) moment: [Row; 3],
    pub(super) total: [Row; 3],
    pub(super) torque: [Row; 3],
    pub(super) energy: Row,
    pub(super) depth: Row,
    pub(super) area: Row,
    pub(super) count: Row,
}

impl FaceLoads {
    pub(super) const NONE: Self = Self {
        corners: [[[0.0; FACES_PER_BATCH]; 3]; 4],
        friction_weights: [[0.0; FACES_PER_BATCH]; 4],
        moment: [[0.0; FACES_PER_BATCH]; 3],
        total: [[0.0; FACES_PER_BATCH]; 3],
        torque: [[0.0; FACES_PER_BATCH]; 3],
        energy: [0.0; FACES_PER_BATCH],
        depth: [0.0; FACES_PER_BATCH],
        area: [0.0; FACES_PER_BATCH],
        count: [0.0; FACES_PER_BATCH],
    };
}

/// Returns Gauss's rule with three points along each edge.
pub(super) fn gauss_rule() -> Vec<RulePoint> {
    let mut points = Vec::with_capacity(GAUSS.len() * GAUSS.len());
    for (x, wx) in GAUSS {
        for (y, wy) in GAUSS {
            let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            let shares = signs.map(|(a, b)| f32::of(0.25 * (1.0 + a * x) * (1.0 + b * y)));
            let area = f32::of(0.25 * wx * wy);
            points.push(RulePoint {
                corner_weights: shares,
                area,
            });
        }
    }
    points
}

/// Computes the forces of a tool on the points of faces, and their sums.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn press_faces(rule: &[RulePoint], batch: &FaceBatch, rod: &ToolRod) -> FaceLoads {
    let mut all = FaceLoads::NONE;
    let (mut whole, slopes) = areas(&batch.corners);
    let mut growing = [0.0_f32; FACES_PER_BATCH];
    for l in 0..FACES_PER_BATCH {
        let free = whole[l] < batch.area_max[l];
        growing[l] = if free { 1.0 } else { 0.0 };
        whole[l] = if free { whole[l] } else { batch.area_max[l] };
    }
    let copies: &[[f32; 2]] = if rod.spread > 0.0 {
        &COPIES
    } else {
        &[[0.0; 2]]
    };
    let part = 1.0 / copies.len() as f32;
    for signs in copies {
        let copy = RodCopy {
            rod,
            shift: [0, 1].map(|axis| batch.shift[axis].map(|shift| signs[axis] * shift)),
            area: whole.map(|area| part * area),
        };
        for point in rule {
            press(batch, point, &copy, &mut all);
        }
    }
    // the energy falls with the area, which is a tension
    let mut tension = all.energy;
    for l in 0..FACES_PER_BATCH {
        tension[l] = growing[l] * tension[l] / whole[l];
    }
    // the derivatives at opposite corners are opposite
    for (corner, sign) in [(0, -1.0), (1, -1.0), (2, 1.0), (3, 1.0)] {
        let to = all.corners[corner].iter_mut().zip(&slopes[corner % 2]);
        for (to, slope) in to {
            for l in 0..FACES_PER_BATCH {
                to[l] -= tension[l] * (sign * slope[l]);
            }
        }
    }
    all
}

/// Copy of a tool above every face.
struct RodCopy<'a> {
    rod: &'a ToolRod,
    /// Shift of the points from the copy along both axes of the top.
    shift: [Row; 2],
    /// Areas that press on it.
    area: Row,
}

/// Adds the loads at one point of every face.
#[inline(always)]
fn press(batch: &FaceBatch, point: &RulePoint, copy: &RodCopy<'_>, all: &mut FaceLoads) {
    // by value: a load through a reference behind the condition below would prevent vectorisation
    let RulePoint {
        corner_weights: shares,
        area,
    } = *point;
    let (mut position, mut push) = (
        [[0.0_f32; FACES_PER_BATCH]; 3],
        [[0.0_f32; FACES_PER_BATCH]; 3],
    );
    let [mut force, mut own, mut weight, mut energy, mut depths] = [[0.0_f32; FACES_PER_BATCH]; 5];
    for axis in 0..3 {
        for (corner, share) in batch.corners.iter().zip(&shares) {
            for l in 0..FACES_PER_BATCH {
                position[axis][l] = corner[axis][l].mul_add(*share, position[axis][l]);
            }
        }
    }
    for l in 0..FACES_PER_BATCH {
        let [x, y] = [0, 1].map(|axis| position[axis][l] + copy.shift[axis][l]);
        let (depth, normal) = depth(&[x, y, position[2][l]], copy.rod);
        let deepest = batch.depth_max[l];
        let counted = if depth < deepest { depth } else { deepest };
        own[l] = if depth > 0.0 {
            copy.area[l] * area
        } else {
            0.0
        };
        force[l] = batch.stiffness[l] * counted * own[l];
        energy[l] = force[l] * (depth - 0.5 * counted);
        // by area, with a ramp so that points that come and go cause no step
        weight[l] =
            own[l] * (depth / (depth + FRICTION_RAMP_RATIO * deepest).max(f32::MIN_POSITIVE));
        depths[l] = depth;
        push[0][l] = normal[0] * force[l];
        push[1][l] = normal[1] * force[l];
        push[2][l] = normal[2] * force[l];
    }
    for l in 0..FACES_PER_BATCH {
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
        for l in 0..FACES_PER_BATCH {
            all.total[axis][l] += push[axis][l];
            all.moment[axis][l] = weight[l].mul_add(position[axis][l], all.moment[axis][l]);
            all.torque[axis][l] += position[b][l] * push[c][l] - position[c][l] * push[b][l];
        }
    }
    for ((corner, sums), share) in all
        .corners
        .iter_mut()
        .zip(&mut all.friction_weights)
        .zip(&shares)
    {
        for l in 0..FACES_PER_BATCH {
            sums[l] = weight[l].mul_add(*share, sums[l]);
            corner[0][l] = push[0][l].mul_add(*share, corner[0][l]);
            corner[1][l] = push[1][l].mul_add(*share, corner[1][l]);
            corner[2][l] = push[2][l].mul_add(*share, corner[2][l]);
        }
    }
}

/// Returns the present areas of faces, and their derivatives by the third and fourth corners.
#[inline(always)]
fn areas(c: &[[Row; 3]; 4]) -> (Row, [[Row; 3]; 2]) {
    let (mut one, mut two) = ([[0.0; FACES_PER_BATCH]; 3], [[0.0; FACES_PER_BATCH]; 3]);
    for axis in 0..3 {
        for l in 0..FACES_PER_BATCH {
            one[axis][l] = c[2][axis][l] - c[0][axis][l];
            two[axis][l] = c[3][axis][l] - c[1][axis][l];
        }
    }
    let mut normal = crosses(&one, &two);
    let mut whole = [0.0; FACES_PER_BATCH];
    for l in 0..FACES_PER_BATCH {
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
    let mut out = [[0.0; FACES_PER_BATCH]; 3];
    for (axis, out) in out.iter_mut().enumerate() {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        for l in 0..FACES_PER_BATCH {
            out[l] = a[i][l] * b[j][l] - a[j][l] * b[i][l];
        }
    }
    out
}

/// Returns the vector from the nearest point of the tool's axis to a position.
#[inline(always)]
pub(super) fn from_axis(position: &[f32; 3], shaft: &[f32; 3]) -> [f32; 3] {
    let length2 = square(shaft);
    let along = position[0] * shaft[0] + position[1] * shaft[1] + position[2] * shaft[2];
    let part = along / (length2 + f32::MIN_POSITIVE);
    // NaN becomes zero
    let part = if part > 0.0 { part } else { 0.0 };
    let share = if part < 1.0 { part } else { 1.0 };
    let mut offset = [0.0; 3];
    for axis in 0..3 {
        offset[axis] = position[axis] - share * shaft[axis];
    }
    offset
}

/// Returns the depth of a position in the tool, 0 outside, and the direction of the push.
#[inline(always)]
fn depth(position: &[f32; 3], rod: &ToolRod) -> (f32, [f32; 3]) {
    let offset = from_axis(position, &rod.shaft);
    let (distance2, square2) = (square(&offset), rod.radius * rod.radius);
    // a point on the axis has no direction of its own: the surface comes from below
    let least = 1e-12 * square2;
    let on_axis = distance2 <= least;
    let distance = if on_axis { least } else { distance2 }.sqrt();
    let (mut normal, inverse) = ([0.0; 3], 1.0 / distance);
    for axis in 0..3 {
        let down = if axis == 2 { -1.0 } else { 0.0 };
        normal[axis] = if on_axis {
            down
        } else {
            offset[axis] * inverse
        };
    }
    let depth = rod.radius - distance;
    (if distance2 < square2 { depth } else { 0.0 }, normal)
}

#[inline(always)]
pub(super) fn square(x: &[f32; 3]) -> f32 {
    x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
}
