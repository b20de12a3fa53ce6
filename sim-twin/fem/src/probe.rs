//! A rigid, frictionless sphere against the faces of a surface.
//!
//! Source: surface-to-surface penalty contact at quadrature points (Fischer and Wriggers 2005) with
//! multipliers after Simo and Laursen 1992. Points lie inside the faces, never at nodes: a sphere
//! that touches nodes only slips between them and misses the force by a factor.
//!
//! Symbols: `gap` distance of a point of the surface from the sphere, negative inside; `t` pressure a
//! reference area, `t = max(0, l - k gap)` with multiplier `l` and stiffness `k`.

use nalgebra::Matrix3;
use palpate_twin::Vec3;

/// A sphere, without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sphere {
    /// Its centre.
    pub(crate) centre: Vec3,
    /// Its radius.
    pub(crate) radius: f64,
    /// Depth a pressure of its own boundary; 0 if it is rigid.
    pub(crate) give: f64,
}

/// What a sphere met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Met {
    /// Force on the sphere.
    pub(crate) force: Vec3,
    /// Energy of the contact.
    pub(crate) energy: f64,
    /// Work that the sphere did on the surface along its last way, at the present forces.
    pub(crate) work: f64,
    /// Depth of the deepest point.
    pub(crate) depth: f64,
    /// Touched area at rest.
    pub(crate) area: f64,
    /// Slope of the force against depth, with the surface held.
    pub(crate) slope: f64,
    /// Number of touched points.
    pub(crate) contacts: u32,
}

/// One quadrature point of the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    nodes: [u32; 6],
    shares: [f64; 6],
    /// Nodes of the face: 4, or 6.
    count: u8,
    area: f64,
    multiplier: f64,
}

impl Point {
    fn new<const F: usize>(face: &[u32; F], shares: &[f64; F], area: f64) -> Self {
        let mut point = Self {
            nodes: [0; 6],
            shares: [0.0; 6],
            count: F as u8,
            area,
            multiplier: 0.0,
        };
        point.nodes[..F].copy_from_slice(face);
        point.shares[..F].copy_from_slice(shares);
        point
    }

    /// Nodes of the face, with what each has of the point.
    fn parts(&self) -> impl Iterator<Item = (usize, f64)> {
        let count = usize::from(self.count);
        let nodes = self.nodes[..count].iter().map(|&node| node as usize);
        nodes.zip(self.shares[..count].iter().copied())
    }
}

/// A surface of quadrilaterals, or of triangles with a node on every edge, that a sphere may touch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Surface {
    points: Vec<Point>,
    /// Pressure a depth.
    pub(crate) stiffness: f64,
    /// Depth to which the pressure grows, so that no tool meets an unlimited force.
    pub(crate) deepest: f64,
}

/// Where a point of the surface stands to the sphere.
struct Touching {
    normal: Vec3,
    distance: f64,
    pressure: f64,
    /// Energy an area.
    energy: f64,
    /// Slope of the pressure against depth.
    slope: f64,
}

impl Surface {
    /// Surface of `faces` with `order`^2 Gauss points each, 1 to 4; `stiffness` is pressure a depth.
    #[must_use]
    pub(crate) fn new(nodes: &[Vec3], faces: &[[u32; 4]], order: usize, stiffness: f64) -> Self {
        let rule = gauss(order);
        let mut points = Vec::with_capacity(faces.len() * rule.len() * rule.len());
        for face in faces {
            let corners = face.map(|node| nodes[node as usize]);
            for &(x, wx) in rule {
                for &(y, wy) in rule {
                    let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
                    let shares = signs.map(|(a, b)| 0.25 * (1.0 + a * x) * (1.0 + b * y));
                    let (mut along, mut across) = (Vec3::zeros(), Vec3::zeros());
                    for (corner, (a, b)) in corners.iter().zip(signs) {
                        along += corner * (0.25 * a * (1.0 + b * y));
                        across += corner * (0.25 * b * (1.0 + a * x));
                    }
                    let area = along.cross(&across).norm() * wx * wy;
                    points.push(Point::new(face, &shares, area));
                }
            }
        }
        Self {
            points,
            stiffness,
            deepest: f64::INFINITY,
        }
    }

    /// Surface of plane triangles, corners first and then the nodes between the first two, the last two
    /// and the last and first; `order` as for quadrilaterals, with 3, 6, 12 and 12 points.
    #[must_use]
    pub(crate) fn of_triangles(
        nodes: &[Vec3],
        faces: &[[u32; 6]],
        order: usize,
        stiffness: f64,
    ) -> Self {
        let rule = dunavant(order);
        let mut points = Vec::with_capacity(faces.len() * rule.len());
        for face in faces {
            let [a, b, c] = [0, 1, 2].map(|corner| nodes[face[corner] as usize]);
            let area = 0.5 * (b - a).cross(&(c - a)).norm();
            points.extend(rule.iter().map(|&(p, q, weight)| {
                let r = 1.0 - p - q;
                let corner = |x: f64| x * (2.0 * x - 1.0);
                let between = [4.0 * p * q, 4.0 * q * r, 4.0 * r * p];
                let [d, e, f] = between;
                Point::new(
                    face,
                    &[corner(p), corner(q), corner(r), d, e, f],
                    area * weight,
                )
            }));
        }
        Self {
            points,
            stiffness,
            deepest: f64::INFINITY,
        }
    }

    /// The point's state, if the sphere presses on it.
    fn touching(&self, point: &Point, at: &[Vec3], sphere: &Sphere) -> Option<Touching> {
        let mut place = Vec3::zeros();
        for (node, share) in point.parts() {
            place += at[node] * share;
        }
        let offset = place - sphere.centre;
        let distance = offset.norm();
        let stiffness = self.stiffness / (1.0 + self.stiffness * sphere.give);
        let asked = point.multiplier - stiffness * (distance - sphere.radius);
        let pressure = asked.min(stiffness * self.deepest);
        (pressure > 0.0 && distance > 1e-9 * sphere.radius).then(|| Touching {
            normal: offset / distance,
            distance,
            pressure,
            energy: pressure * (asked - 0.5 * pressure) / stiffness,
            slope: if asked > pressure { 0.0 } else { stiffness },
        })
    }

    /// Energy of the contact with the surface's nodes at `at`.
    #[must_use]
    pub(crate) fn energy(&self, at: &[Vec3], sphere: &Sphere) -> f64 {
        let parts = self.points.iter().filter_map(|point| {
            let touch = self.touching(point, at, sphere)?;
            Some(point.area * touch.energy)
        });
        parts.sum()
    }

    /// What the sphere meets, with the surface's nodes at `at` after a last way of `way`.
    #[must_use]
    pub(crate) fn meet(&self, at: &[Vec3], way: &[Vec3], sphere: &Sphere) -> Met {
        let mut met = Met {
            force: Vec3::zeros(),
            energy: 0.0,
            work: 0.0,
            depth: 0.0,
            area: 0.0,
            slope: 0.0,
            contacts: 0,
        };
        for point in &self.points {
            let Some(touch) = self.touching(point, at, sphere) else {
                continue;
            };
            let push = touch.normal * (touch.pressure * point.area);
            met.force -= push;
            met.energy += touch.energy * point.area;
            met.depth = met.depth.max(sphere.radius - touch.distance);
            met.area += point.area;
            met.slope += touch.slope * point.area;
            met.contacts += 1;
            for (node, share) in point.parts() {
                met.work += share * push.dot(&way[node]);
            }
        }
        met
    }

    /// Adds the energy's gradient to `forces`; gives the force on the sphere and the touched area.
    pub(crate) fn add_forces(
        &self,
        at: &[Vec3],
        sphere: &Sphere,
        forces: &mut [Vec3],
    ) -> (Vec3, f64) {
        let (mut on_sphere, mut area) = (Vec3::zeros(), 0.0);
        for point in &self.points {
            let Some(touch) = self.touching(point, at, sphere) else {
                continue;
            };
            let push = touch.normal * (touch.pressure * point.area);
            on_sphere -= push;
            area += point.area;
            for (node, share) in point.parts() {
                forces[node] -= push * share;
            }
        }
        (on_sphere, area)
    }

    /// Gives the slope of the forces, block by block.
    pub(crate) fn each_slope(
        &self,
        at: &[Vec3],
        sphere: &Sphere,
        mut take: impl FnMut(u32, u32, Matrix3<f64>),
    ) {
        for point in &self.points {
            let Some(touch) = self.touching(point, at, sphere) else {
                continue;
            };
            let along = touch.normal * touch.normal.transpose();
            let across = Matrix3::identity() - along;
            let slope = along * touch.slope - across * (touch.pressure / touch.distance);
            for (row, a) in point.parts() {
                for (column, b) in point.parts() {
                    take(row as u32, column as u32, slope * (a * b * point.area));
                }
            }
        }
    }

    /// Takes the pressures of the offline truth for multipliers, so that the same force needs less depth; gives the
    /// largest depth before.
    #[cfg(test)]
    pub(crate) fn augment(&mut self, at: &[Vec3], sphere: &Sphere) -> f64 {
        let mut depth: f64 = 0.0;
        let mut pressures = Vec::with_capacity(self.points.len());
        for point in &self.points {
            let touch = self.touching(point, at, sphere);
            pressures.push(touch.as_ref().map_or(0.0, |touch| touch.pressure));
            if let Some(touch) = touch {
                depth = depth.max(sphere.radius - touch.distance);
            }
        }
        for (point, pressure) in self.points.iter_mut().zip(pressures) {
            point.multiplier = pressure;
        }
        depth
    }
}

/// Places and weights of Gauss's rule on `[-1, 1]`; orders beyond 4 count as 4, 0 as 1.
pub(super) fn gauss(order: usize) -> &'static [(f64, f64)] {
    match order {
        0 | 1 => &[(0.0, 2.0)],
        2 => &[
            (-0.577_350_269_189_625_8, 1.0),
            (0.577_350_269_189_625_8, 1.0),
        ],
        3 => &[
            (-0.774_596_669_241_483_4, 5.0 / 9.0),
            (0.0, 8.0 / 9.0),
            (0.774_596_669_241_483_4, 5.0 / 9.0),
        ],
        _ => &[
            (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
            (-0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
            (0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
            (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
        ],
    }
}

/// Barycentric places and weights of symmetric rules on a triangle (Dunavant 1985, degrees 2, 4 and
/// 6); orders beyond 3 count as 3, 0 as 1.
fn dunavant(order: usize) -> Vec<(f64, f64, f64)> {
    // a place with two equal coordinates, and one with three different ones
    let pair = |x: f64, w: f64| [(x, x, w), (1.0 - 2.0 * x, x, w), (x, 1.0 - 2.0 * x, w)];
    match order {
        0 | 1 => pair(1.0 / 6.0, 1.0 / 3.0).to_vec(),
        2 => [
            pair(0.445_948_490_915_965, 0.223_381_589_678_011),
            pair(0.091_576_213_509_771, 0.109_951_743_655_322),
        ]
        .concat(),
        _ => {
            let (x, y, w) = (
                0.053_145_049_844_817,
                0.310_352_451_033_784,
                0.082_851_075_618_374,
            );
            let z = 1.0 - x - y;
            let mixed = [(x, y), (x, z), (y, x), (y, z), (z, x), (z, y)].map(|(p, q)| (p, q, w));
            let pairs = [
                pair(0.249_286_745_170_910, 0.116_786_275_726_379),
                pair(0.063_089_014_491_502, 0.050_844_906_370_207),
            ];
            [pairs.concat(), mixed.to_vec()].concat()
        }
    }
}
