//! Contact of a rigid, frictionless sphere with the faces of a surface.
//!
//! Source: surface-to-surface penalty contact at quadrature points (Fischer and Wriggers 2005) with
//! multipliers after Simo and Laursen 1992. Points lie inside the faces, never at nodes: a sphere in contact
//! with nodes alone slips between them, and its force is off by a factor.
//!
//! Symbols: `gap` distance of a point of the surface from the sphere, negative inside; `t` pressure per
//! reference area, `t = max(0, l - k gap)` with multiplier `l` and stiffness `k`.

use nalgebra::Matrix3;
use palpate_twin::Vec3;

/// Sphere, without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sphere {
    /// Centre.
    pub(crate) centre: Vec3,
    /// Radius.
    pub(crate) radius: f64,
    /// Compliance of its boundary: depth per pressure; 0 if it is rigid.
    pub(crate) boundary_compliance: f64,
}

/// Contact of a sphere with the surface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SphereContact {
    /// Force on the sphere.
    pub(crate) force: Vec3,
    /// Energy of the contact.
    pub(crate) energy: f64,
    /// Work of the sphere on the surface along the last displacement, at the present forces.
    pub(crate) work: f64,
    /// Depth of the deepest point.
    pub(crate) depth: f64,
    /// Contact area at rest.
    pub(crate) area: f64,
    /// Derivative of the force by depth, with the surface fixed.
    pub(crate) slope: f64,
    /// Number of quadrature points in contact.
    pub(crate) contacts: u32,
}

/// One quadrature point of the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SurfacePoint {
    nodes: [u32; 6],
    node_weights: [f64; 6],
    /// Number of nodes of the face: 4, or 6.
    count: u8,
    area: f64,
    pub(crate) multiplier: f64,
}

impl SurfacePoint {
    fn new<const F: usize>(face: &[u32; F], weights: &[f64; F], area: f64) -> Self {
        let mut point = Self {
            nodes: [0; 6],
            node_weights: [0.0; 6],
            count: F as u8,
            area,
            multiplier: 0.0,
        };
        point.nodes[..F].copy_from_slice(face);
        point.node_weights[..F].copy_from_slice(weights);
        point
    }

    /// Returns the nodes of the face with the weight of the point at each.
    fn weighted_nodes(&self) -> impl Iterator<Item = (usize, f64)> {
        let count = usize::from(self.count);
        let nodes = self.nodes[..count].iter().map(|&node| node as usize);
        nodes.zip(self.node_weights[..count].iter().copied())
    }
}

/// Surface of quadrilaterals, or of triangles with a node on every edge, that a sphere may touch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContactSurface {
    pub(crate) points: Vec<SurfacePoint>,
    /// Pressure per depth.
    pub(crate) stiffness: f64,
    /// Depth up to which the pressure grows; it bounds the force on a tool.
    pub(crate) depth_max: f64,
}

/// Contact state of one quadrature point.
pub(crate) struct PointContact {
    normal: Vec3,
    pub(crate) distance: f64,
    pub(crate) pressure: f64,
    /// Energy per area.
    energy: f64,
    /// Derivative of the pressure by depth.
    slope: f64,
}

impl ContactSurface {
    /// Constructs the surface of `faces` with nine Gauss points each; `stiffness` is pressure per depth.
    #[must_use]
    pub(crate) fn new(nodes: &[Vec3], faces: &[[u32; 4]], stiffness: f64) -> Self {
        let mut points = Vec::with_capacity(faces.len() * GAUSS.len() * GAUSS.len());
        for face in faces {
            let corners = face.map(|node| nodes[node as usize]);
            for (x, wx) in GAUSS {
                for (y, wy) in GAUSS {
                    let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
                    let weights = signs.map(|(a, b)| 0.25 * (1.0 + a * x) * (1.0 + b * y));
                    let (mut along, mut across) = (Vec3::zeros(), Vec3::zeros());
                    for (corner, (a, b)) in corners.iter().zip(signs) {
                        along += corner * (0.25 * a * (1.0 + b * y));
                        across += corner * (0.25 * b * (1.0 + a * x));
                    }
                    let area = along.cross(&across).norm() * wx * wy;
                    points.push(SurfacePoint::new(face, &weights, area));
                }
            }
        }
        Self {
            points,
            stiffness,
            depth_max: f64::INFINITY,
        }
    }

    /// Constructs the surface of plane triangles with twelve points each. Corners come first, then the nodes
    /// between the first two, the last two, and the last and first.
    #[must_use]
    pub(crate) fn of_triangles(nodes: &[Vec3], faces: &[[u32; 6]], stiffness: f64) -> Self {
        let rule = dunavant();
        let mut points = Vec::with_capacity(faces.len() * rule.len());
        for face in faces {
            let [a, b, c] = [0, 1, 2].map(|corner| nodes[face[corner] as usize]);
            let area = 0.5 * (b - a).cross(&(c - a)).norm();
            points.extend(rule.iter().map(|&(p, q, weight)| {
                let r = 1.0 - p - q;
                let corner = |x: f64| x * (2.0 * x - 1.0);
                let between = [4.0 * p * q, 4.0 * q * r, 4.0 * r * p];
                let [d, e, f] = between;
                SurfacePoint::new(
                    face,
                    &[corner(p), corner(q), corner(r), d, e, f],
                    area * weight,
                )
            }));
        }
        Self {
            points,
            stiffness,
            depth_max: f64::INFINITY,
        }
    }

    /// Returns the contact state of a point if the sphere presses on it.
    pub(crate) fn point_contact(
        &self,
        point: &SurfacePoint,
        at: &[Vec3],
        sphere: &Sphere,
    ) -> Option<PointContact> {
        let mut position = Vec3::zeros();
        for (node, weight) in point.weighted_nodes() {
            position += at[node] * weight;
        }
        let offset = position - sphere.centre;
        let distance = offset.norm();
        let stiffness = self.stiffness / (1.0 + self.stiffness * sphere.boundary_compliance);
        let unlimited = point.multiplier - stiffness * (distance - sphere.radius);
        let pressure = unlimited.min(stiffness * self.depth_max);
        (pressure > 0.0 && distance > 1e-9 * sphere.radius).then(|| PointContact {
            normal: offset / distance,
            distance,
            pressure,
            energy: pressure * (unlimited - 0.5 * pressure) / stiffness,
            slope: if unlimited > pressure { 0.0 } else { stiffness },
        })
    }

    /// Returns the points that the sphere presses on.
    fn point_contacts<'a>(
        &'a self,
        at: &'a [Vec3],
        sphere: &'a Sphere,
    ) -> impl Iterator<Item = (&'a SurfacePoint, PointContact)> {
        let points = self.points.iter();
        points.filter_map(move |point| Some((point, self.point_contact(point, at, sphere)?)))
    }

    /// Returns the energy of the contact with the surface's nodes at `at`.
    #[must_use]
    pub(crate) fn energy(&self, at: &[Vec3], sphere: &Sphere) -> f64 {
        let parts = self.point_contacts(at, sphere);
        parts.map(|(point, touch)| point.area * touch.energy).sum()
    }

    /// Returns the contact of the sphere with the surface's nodes at `at` after a last displacement of
    /// `displacement`.
    #[must_use]
    pub(crate) fn sphere_contact(
        &self,
        at: &[Vec3],
        displacement: &[Vec3],
        sphere: &Sphere,
    ) -> SphereContact {
        let mut contact = SphereContact::default();
        for (point, touch) in self.point_contacts(at, sphere) {
            let push = touch.normal * (touch.pressure * point.area);
            contact.force -= push;
            contact.energy += touch.energy * point.area;
            contact.depth = contact.depth.max(sphere.radius - touch.distance);
            contact.area += point.area;
            contact.slope += touch.slope * point.area;
            contact.contacts += 1;
            for (node, weight) in point.weighted_nodes() {
                contact.work += weight * push.dot(&displacement[node]);
            }
        }
        contact
    }

    /// Adds the gradient of the energy to `forces`; returns the force on the sphere and the contact area.
    pub(crate) fn add_forces(
        &self,
        at: &[Vec3],
        sphere: &Sphere,
        forces: &mut [Vec3],
    ) -> (Vec3, f64) {
        let (mut on_sphere, mut area) = (Vec3::zeros(), 0.0);
        for (point, touch) in self.point_contacts(at, sphere) {
            let push = touch.normal * (touch.pressure * point.area);
            on_sphere -= push;
            area += point.area;
            for (node, weight) in point.weighted_nodes() {
                forces[node] -= push * weight;
            }
        }
        (on_sphere, area)
    }

    /// Calls `take` with the derivative of the forces, block by block.
    pub(crate) fn each_stiffness_block(
        &self,
        at: &[Vec3],
        sphere: &Sphere,
        mut take: impl FnMut(u32, u32, Matrix3<f64>),
    ) {
        for (point, touch) in self.point_contacts(at, sphere) {
            let along = touch.normal * touch.normal.transpose();
            let across = Matrix3::identity() - along;
            let slope = along * touch.slope - across * (touch.pressure / touch.distance);
            for (row, a) in point.weighted_nodes() {
                for (column, b) in point.weighted_nodes() {
                    take(row as u32, column as u32, slope * (a * b * point.area));
                }
            }
        }
    }
}

/// Points and weights of Gauss's rule with three points on `[-1, 1]`.
pub(super) const GAUSS: [(f64, f64); 3] = [
    (-0.774_596_669_241_483_4, 5.0 / 9.0),
    (0.0, 8.0 / 9.0),
    (0.774_596_669_241_483_4, 5.0 / 9.0),
];

/// Barycentric points and weights of a symmetric rule on a triangle (Dunavant 1985, degree 6).
fn dunavant() -> [(f64, f64, f64); 12] {
    // points with two equal coordinates, and with three different ones
    let pair = |x: f64, w: f64| [(x, x, w), (1.0 - 2.0 * x, x, w), (x, 1.0 - 2.0 * x, w)];
    let (x, y, w) = (
        0.053_145_049_844_817,
        0.310_352_451_033_784,
        0.082_851_075_618_374,
    );
    let z = 1.0 - x - y;
    let [a, b, c] = pair(0.249_286_745_170_910, 0.116_786_275_726_379);
    let [d, e, f] = pair(0.063_089_014_491_502, 0.050_844_906_370_207);
    let [g, h, i, j, k, l] =
        [(x, y), (x, z), (y, x), (y, z), (z, x), (z, y)].map(|(p, q)| (p, q, w));
    [a, b, c, d, e, f, g, h, i, j, k, l]
}
