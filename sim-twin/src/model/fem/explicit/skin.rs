//! The top of the block under rigid spheres: pressure at points inside its faces.
//!
//! Source: as [`super::super::probe`], in single precision. Every point carries the energy
//! `k d^2 / 2` an area of depth `d`, which goes on linearly beyond one face's size, so that a tool in
//! the middle of the tissue pushes with a limited force; forces are the energy's gradient.

use super::cells::Quad;

/// A face that may be touched.
#[derive(Debug, Clone)]
pub(super) struct Face {
    pub(super) nodes: [u32; 4],
    pub(super) area: f32,
    /// Pressure a depth.
    pub(super) stiffness: f32,
    /// Depth to which the pressure grows.
    pub(super) deepest: f32,
}

/// A sphere, without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sphere {
    pub(super) centre: [f32; 3],
    pub(super) radius: f32,
    /// Depth a pressure of the tool's own boundary.
    pub(super) give: f32,
}

/// What a sphere met.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Met {
    /// Force on the sphere.
    pub(super) force: [f64; 3],
    pub(super) energy: f64,
    pub(super) depth: f32,
    pub(super) area: f32,
    /// Slope of the force against depth, with the tissue held.
    pub(super) slope: f32,
    pub(super) contacts: u32,
}

/// The faces with their quadrature rule.
#[derive(Debug, Clone)]
pub(super) struct Skin {
    pub(super) faces: Vec<Face>,
    /// Shares of the corners and of the area at every point.
    pub(super) rule: Vec<([f32; 4], f32)>,
    /// Places of the nodes at rest.
    pub(super) rest: Vec<Quad>,
}

impl Skin {
    fn place(&self, node: u32, u: &[Quad], from: &[f32; 3]) -> [f32; 3] {
        let (rest, u) = (&self.rest[node as usize], &u[node as usize]);
        [0, 1, 2].map(|axis| (rest[axis] - from[axis]) + u[axis])
    }

    /// Lists the faces that the sphere can reach before it has gone `way`.
    pub(super) fn near(&self, sphere: &Sphere, way: f32, u: &[Quad], list: &mut Vec<u32>) {
        list.clear();
        for (index, face) in (0..).zip(&self.faces) {
            let corners = face.nodes.map(|node| self.place(node, u, &sphere.centre));
            let mean = |axis: usize| corners.iter().map(|c| c[axis]).sum::<f32>() * 0.25;
            let middle = [mean(0), mean(1), mean(2)];
            let out = |c: &[f32; 3]| square(&[0, 1, 2].map(|axis| c[axis] - middle[axis]));
            let wide = corners.iter().map(out).fold(0.0, f32::max).sqrt();
            let reach = sphere.radius + way + 1.5 * wide;
            if square(&middle) <= reach * reach {
                list.push(index);
            }
        }
    }

    /// Adds `weight` times the forces of the sphere on the listed faces to `impulse`.
    pub(super) fn press(
        &self,
        (near, sphere): (&[u32], &Sphere),
        weight: f32,
        u: &[Quad],
        impulse: &mut [Quad],
    ) -> Met {
        let mut met = Met::default();
        let square2 = sphere.radius * sphere.radius;
        for &index in near {
            let face = &self.faces[index as usize];
            let stiffness = face.stiffness / (1.0 + face.stiffness * sphere.give);
            let corners = face.nodes.map(|node| self.place(node, u, &sphere.centre));
            for (shares, part) in &self.rule {
                let mut offset = [0.0_f32; 3];
                for (corner, share) in corners.iter().zip(shares) {
                    for axis in 0..3 {
                        offset[axis] += corner[axis] * share;
                    }
                }
                let distance2 = square(&offset);
                if !(distance2 < square2 && distance2 > 1e-12 * square2) {
                    continue;
                }
                let distance = distance2.sqrt();
                let depth = sphere.radius - distance;
                let counted = depth.min(face.deepest);
                let area = face.area * part;
                let force = stiffness * counted * area;
                met.energy += f64::from(force * (depth - 0.5 * counted));
                met.depth = met.depth.max(depth);
                met.area += area;
                met.slope += stiffness * area;
                met.contacts += 1;
                let push = offset.map(|x| x * (force / distance));
                for (sum, push) in met.force.iter_mut().zip(push) {
                    *sum -= f64::from(push);
                }
                for (&node, share) in face.nodes.iter().zip(shares) {
                    let sum = &mut impulse[node as usize];
                    for axis in 0..3 {
                        sum[axis] += push[axis] * (share * weight);
                    }
                }
            }
        }
        met
    }
}

fn square(x: &[f32; 3]) -> f32 {
    x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
}
