//! Quadratic quadrilateral in axial symmetry, with nine nodes and nine points.
//!
//! Source: Bonet and Wood 2008, section 9.4. Symbols: r distance from the axis, z height, `u` displacements along
//! both, of each node in turn. The hoop strain is `u_r / r`.

use nalgebra::Matrix3;
use palpate_twin::law::{ElasticLaw, MaterialLaw};

/// Nodes of an element: three along r, three downwards.
pub(super) const NODES: usize = 9;
/// Unknowns of an element.
const UNKNOWNS: usize = 2 * NODES;
/// Entries of the gradient that can change: rr, rz, zr, zz and the hoop.
const ENTRIES: [(usize, usize); 5] = [(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)];

const GAUSS_THREE: [(f64, f64); 3] = crate::sphere_contact::GAUSS;
/// Points and weights of Gauss's rule with five points on `[-1, 1]`.
pub(super) const GAUSS_FIVE: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];

/// Values of the three quadratic functions on `[-1, 1]`.
pub(super) fn shapes(x: f64) -> [f64; 3] {
    [0.5 * x * (x - 1.0), 1.0 - x * x, 0.5 * x * (x + 1.0)]
}

fn slopes(x: f64) -> [f64; 3] {
    [x - 0.5, -2.0 * x, x + 0.5]
}

/// Point of an element, with the derivatives of its nodes' functions by r and z, and their values over r.
struct Point {
    slopes: [[f64; 3]; NODES],
    volume: f64,
}

/// Element between two radii and two depths.
pub(super) struct Element {
    /// First unknown of every node, three along r and then downwards.
    pub(super) nodes: [usize; NODES],
    /// Layer.
    pub(super) layer: usize,
    points: Vec<Point>,
}

impl Element {
    pub(super) fn new(
        radii: [f64; 2],
        depths: [f64; 2],
        nodes: [usize; NODES],
        layer: usize,
    ) -> Self {
        let [wide, high] = [0.5 * (radii[1] - radii[0]), 0.5 * (depths[1] - depths[0])];
        let mut points = Vec::with_capacity(NODES);
        for (x, wx) in GAUSS_THREE {
            for (y, wy) in GAUSS_THREE {
                let radius = 0.5 * (radii[0] + radii[1]) + x * wide;
                let (nx, ny, dx, dy) = (shapes(x), shapes(y), slopes(x), slopes(y));
                let slopes = std::array::from_fn(|node| {
                    let (i, j) = (node % 3, node / 3);
                    // the second coordinate is a depth
                    [
                        dx[i] * ny[j] / wide,
                        -nx[i] * dy[j] / high,
                        nx[i] * ny[j] / radius,
                    ]
                });
                let volume = 2.0 * std::f64::consts::PI * radius * wide * high * wx * wy;
                points.push(Point { slopes, volume });
            }
        }
        Self {
            nodes,
            layer,
            points,
        }
    }

    fn gradient(&self, point: &Point, u: &[f64]) -> Matrix3<f64> {
        let mut f = Matrix3::identity();
        for (node, [by_r, by_z, over_r]) in self.nodes.iter().zip(point.slopes) {
            let [across, up] = [u[*node], u[node + 1]];
            f[(0, 0)] += across * by_r;
            f[(0, 2)] += across * by_z;
            f[(2, 0)] += up * by_r;
            f[(2, 2)] += up * by_z;
            f[(1, 1)] += across * over_r;
        }
        f
    }

    /// Returns the elastic energy; infinite if a point is inverted.
    pub(super) fn energy(&self, law: &MaterialLaw, u: &[f64]) -> f64 {
        let energy = |point: &Point| point.volume * law.energy(&self.gradient(point, u));
        self.points.iter().map(energy).sum()
    }

    /// Adds the gradient of the energy.
    pub(super) fn add_forces(&self, law: &MaterialLaw, u: &[f64], forces: &mut [f64]) {
        for point in &self.points {
            let stress = law.stress(&self.gradient(point, u)) * point.volume;
            for (node, [by_r, by_z, over_r]) in self.nodes.iter().zip(point.slopes) {
                forces[*node] +=
                    stress[(0, 0)] * by_r + stress[(0, 2)] * by_z + stress[(1, 1)] * over_r;
                forces[node + 1] += stress[(2, 0)] * by_r + stress[(2, 2)] * by_z;
            }
        }
    }

    /// Returns the second derivative of the energy.
    pub(super) fn stiffness(&self, law: &MaterialLaw, u: &[f64]) -> [[f64; UNKNOWNS]; UNKNOWNS] {
        let mut stiffness = [[0.0; UNKNOWNS]; UNKNOWNS];
        for point in &self.points {
            let f = self.gradient(point, u);
            let mut tangent = [[0.0; 5]; 5];
            for (column, entry) in ENTRIES.into_iter().enumerate() {
                let mut change = Matrix3::zeros();
                change[entry] = point.volume;
                let stress = law.tangent(&f, &change);
                for (row, entry) in ENTRIES.into_iter().enumerate() {
                    tangent[row][column] = stress[entry];
                }
            }
            // entries of the gradient that an unknown changes: rr, rz and the hoop, or zr and zz
            for (b, [by_r, by_z, over_r]) in point.slopes.into_iter().enumerate() {
                let across = tangent.map(|row| row[0] * by_r + row[1] * by_z + row[4] * over_r);
                let up = tangent.map(|row| row[2] * by_r + row[3] * by_z);
                for (a, [by_r, by_z, over_r]) in point.slopes.into_iter().enumerate() {
                    for (j, moved) in [across, up].into_iter().enumerate() {
                        stiffness[2 * a][2 * b + j] +=
                            moved[0] * by_r + moved[1] * by_z + moved[4] * over_r;
                        stiffness[2 * a + 1][2 * b + j] += moved[2] * by_r + moved[3] * by_z;
                    }
                }
            }
        }
        stiffness
    }
}
