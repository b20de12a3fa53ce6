//! Contact force of a rigid sphere on a patch of depth compliance, in microseconds.
//!
//! Source: linear complementarity of frictionless contact by conjugate gradients with a changing set of faces
//! (Polyak 1969; Polonsky and Keer 1999). The start is Hertz's pressure. The tissue is linear, the sphere
//! exact. The force depends on the pose alone, so the history does not matter and a late tick may evaluate
//! any two poses. It agrees with the nonlinear solution to a depth of 0.4 radii ([`DEPTH_OVER_RADIUS_MAX`]).
//! Its weight falls to zero towards that depth and towards the border of the patch, beyond which a full
//! solver is needed. A contact with fewer faces than [`FACES_RESOLVED`] follows Hertz's law, force as depth
//! to the power 3/2, from the shallowest resolved depth.
//!
//! Symbols: `n` normal from the sphere's centre to a face, `l` force along it, `W_ab = n_a T_ab n_b` with the
//! table `T`, `gap_a = n_a (X_a - c) - r + sum_b W_ab l_b`. A face in contact lies on the sphere, so its
//! normal follows from its lateral position. The lateral displacement of a few percent of the contact radius
//! is neglected (0.9 % of the force at 0.4 radii, measured).

use super::compliance::ComplianceTable;
use multiversion::multiversion;
use palpate_twin::Vec3;

/// Depth over radius up to which the force is within a few percent of the nonlinear solution.
pub(crate) const DEPTH_OVER_RADIUS_MAX: f64 = 0.4;
/// Largest number of faces under the tool: bounds the time of a query. A larger tool has a smaller valid
/// depth.
pub(crate) const FACES_MAX: usize = 64;
/// Faces in the circle of the shallowest contact that the mesh resolves; the square of its radius is the
/// sphere's radius times the depth. With fewer faces the contact area grows in jumps: at a third of that
/// depth the force is 25 % too large and its slope 25 % too small (measured, block test).
const FACES_RESOLVED: f64 = 12.0;
/// Fraction of the largest depth up to which the weight is 1.
const FULL_WEIGHT_DEPTH_RATIO: f64 = 0.75;
/// Distance to the border of the patch, over the tool's radius, from which the weight is 1.
const INSIDE: f64 = 0.25;
/// Squared radius of the first search circle over the sphere's radius times the depth: 1 is Hertz's contact,
/// and a thin soft layer has up to 2. This circle costs 40 % less than the whole one.
const FIRST_CIRCLE_RATIO: f64 = 1.3;
/// Fraction of that square beyond which a loaded face means that the contact is wider than the circle.
const RIM: f64 = 0.9;
/// Largest number of matrix products of a query.
const PRODUCTS_MAX: usize = 32;
/// Fraction of the depth by which a loaded face may miss the sphere.
const GAP_TOLERANCE: f32 = 5e-4;

/// One number per face.
type PerFace = [f32; FACES_MAX];

/// Sphere of a query, in metres and newtons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactSphere {
    /// Centre in the frame of the mesh \[m\].
    pub centre_m: Vec3,
    /// Radius \[m\].
    pub radius_m: f64,
    /// Stiffness of the sphere's boundary \[N/m\], spread over its disc; infinite for a rigid one.
    pub stiffness_npm: f64,
}

/// Result of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SphereForce {
    /// Force on the sphere \[N\]; beyond the valid depth, that of the deepest valid one.
    pub force_n: Vec3,
    /// Depth of the lowest point of the sphere below the surface at rest \[m\]; negative above it.
    pub depth_m: f64,
    /// Validity of the force: 1 inside the valid range, falling smoothly to 0 at its ends.
    pub weight: f64,
    /// Faces that carry force.
    pub touched: usize,
    /// Number of matrix products.
    pub products: usize,
}

/// Working memory of queries; a query neither allocates nor affects the next one.
#[derive(Debug, Clone)]
pub struct ContactSolver {
    near_faces: Vec<u32>,
    normals: Vec<[f32; 3]>,
    /// Gaps without forces, and gaps with the forces in `loads`.
    at_rest: PerFace,
    gaps: PerFace,
    loads: PerFace,
    matrix: Vec<PerFace>,
}

impl Default for ContactSolver {
    fn default() -> Self {
        Self {
            near_faces: Vec::with_capacity(FACES_MAX),
            normals: Vec::with_capacity(FACES_MAX),
            at_rest: [0.0; FACES_MAX],
            gaps: [0.0; FACES_MAX],
            loads: [0.0; FACES_MAX],
            matrix: vec![[0.0; FACES_MAX]; FACES_MAX],
        }
    }
}

impl ContactSolver {
    /// Returns the force on a sphere; zero if the sphere is not finite.
    pub fn press(&mut self, on: &ComplianceTable, sphere: &ContactSphere) -> SphereForce {
        let finite = sphere.centre_m.iter().all(|x| x.is_finite()) && sphere.radius_m.is_finite();
        if !finite || sphere.radius_m <= 0.0 || sphere.stiffness_npm.is_nan() {
            return no_force(f64::NEG_INFINITY, 0.0);
        }
        let (mut centre, radius) = (sphere.centre_m / on.length_m, sphere.radius_m / on.length_m);
        let depth = on.top_height - (centre.z - radius);
        let deepest = depth_max(on, radius);
        // depths beyond the valid range use its deepest, unresolved ones Hertz's law
        let used = depth.clamp(depth_resolved(on, radius).min(deepest), deepest);
        let depths = TouchDepths {
            actual: depth,
            deepest,
            used,
        };
        let weight = trust_weight(on, &centre, &depths, radius);
        if depth <= 0.0 {
            return no_force(depth * on.length_m, weight);
        }
        let share = (depth / used).min(1.0);
        centre.z += depth - used;
        let mut products = 0;
        for spread in [FIRST_CIRCLE_RATIO, 2.0] {
            self.gather(on, &centre, radius, used, spread);
            if self.near_faces.is_empty() {
                continue;
            }
            let boundary = boundary_compliance(on, sphere, self.area(on));
            assemble(self, on, boundary);
            guess(self, used, radius);
            products += solve_gaps(self, narrow(used));
            if !self.at_rim(RIM * FIRST_CIRCLE_RATIO * used / radius) {
                break;
            }
        }
        if self.near_faces.is_empty() {
            return no_force(depth * on.length_m, weight);
        }
        let mut force = Vec3::zeros();
        let mut touched = 0;
        for (normal, &load) in self.normals.iter().zip(&self.loads) {
            touched += usize::from(load > 0.0);
            force -= Vec3::from(normal.map(f64::from)) * f64::from(load);
        }
        if !force.iter().all(|x| x.is_finite()) {
            return no_force(depth * on.length_m, 0.0);
        }
        SphereForce {
            force_n: force * (on.force_n * share * share.sqrt()),
            depth_m: depth * on.length_m,
            weight,
            touched,
            products,
        }
    }

    /// True if a face carries force whose normal has a squared sine above `square`: the contact is wider than
    /// the search circle.
    fn at_rim(&self, square: f64) -> bool {
        let mut pairs = self.normals.iter().zip(&self.loads);
        pairs.any(|(n, &load)| load > 0.0 && f64::from(n[0].mul_add(n[0], n[1] * n[1])) > square)
    }

    /// Lists the faces that the sphere may press on, with their normals. They are those in a circle of
    /// squared radius `spread` times radius times depth, limited to where the sphere is below the surface at
    /// rest. The tissue never rises into it beyond.
    fn gather(
        &mut self,
        on: &ComplianceTable,
        centre: &Vec3,
        radius: f64,
        depth: f64,
        spread: f64,
    ) {
        self.near_faces.clear();
        self.normals.clear();
        if depth.is_nan() || depth <= 0.0 {
            return;
        }
        let square = depth * (2.0 * radius - depth).min(spread * radius);
        let reach = square.sqrt();
        let columns = range(&on.lines[0], centre.x, reach);
        for row in range(&on.lines[1], centre.y, reach) {
            let dy = on.lines[1][row] - centre.y;
            for column in columns.clone() {
                let dx = on.lines[0][column] - centre.x;
                let off = dx * dx + dy * dy;
                if off > square || self.near_faces.len() == FACES_MAX {
                    continue;
                }
                let down = -(radius * radius - off).sqrt();
                #[expect(clippy::cast_possible_truncation, reason = "indices are small")]
                self.near_faces
                    .push((row * on.lines[0].len() + column) as u32);
                let normal = [dx, dy, down].map(|x| narrow(x / radius));
                self.normals.push(normal);
            }
        }
    }

    /// Returns the mean area of a face at the contact.
    fn area(&self, on: &ComplianceTable) -> f64 {
        let middle = self.near_faces[self.near_faces.len() / 2] as usize;
        let columns = on.lines[0].len();
        let size = |axis: usize, index: usize| {
            let line = &on.lines[axis];
            let (low, high) = (index.saturating_sub(1), (index + 1).min(line.len() - 1));
            let gap = line[high] - line[low];
            gap / (high - low).max(1) as f64
        };
        let (x, y) = (size(0, middle % columns), size(1, middle / columns));
        // a single line has no distance to the next
        match (x > 0.0, y > 0.0) {
            (true, true) => x * y,
            (true, false) => x * x,
            _ => y * y,
        }
    }
}

/// Depth of a contact, the deepest valid one, and the one used.
struct TouchDepths {
    actual: f64,
    deepest: f64,
    used: f64,
}

/// Returns the compliance of the sphere's boundary over one face of `area`, all without units.
fn boundary_compliance(on: &ComplianceTable, sphere: &ContactSphere, area: f64) -> f32 {
    let radius = sphere.radius_m / on.length_m;
    let stiffness = sphere.stiffness_npm.max(0.0) * on.length_m / on.force_n;
    let boundary = std::f64::consts::PI * radius * radius / (stiffness * area);
    narrow(boundary.min(1e12))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "single precision is enough"
)]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn no_force(depth_m: f64, weight: f64) -> SphereForce {
    SphereForce {
        force_n: Vec3::zeros(),
        depth_m,
        weight,
        touched: 0,
        products: 0,
    }
}

/// Returns the largest valid depth of a sphere: that of [`DEPTH_OVER_RADIUS_MAX`], or that of [`FACES_MAX`].
fn depth_max(on: &ComplianceTable, radius: f64) -> f64 {
    // a circle of whole faces has up to one face more along its rim than its area implies
    let fine = [0, 1].map(|axis| on.spacing_min[axis]);
    let side = (FACES_MAX as f64 * fine[0] * fine[1] / std::f64::consts::PI).sqrt();
    let reach = (side - 0.5 * fine[0].max(fine[1])).max(0.0).min(radius);
    let depth = radius - (radius * radius - reach * reach).sqrt();
    // the square of a huge radius overflows
    depth.clamp(0.0, DEPTH_OVER_RADIUS_MAX * radius)
}

/// Returns the shallowest depth of a sphere that the mesh resolves.
fn depth_resolved(on: &ComplianceTable, radius: f64) -> f64 {
    FACES_RESOLVED * on.spacing_min[0] * on.spacing_min[1] / (std::f64::consts::PI * radius)
}

/// Returns 1 inside the valid range, falling smoothly to 0 at the largest depth and at the border of the
/// patch.
fn trust_weight(on: &ComplianceTable, centre: &Vec3, depths: &TouchDepths, radius: f64) -> f64 {
    let TouchDepths {
        actual: depth,
        deepest,
        used,
    } = *depths;
    let deep = fade(
        (deepest - depth) / ((1.0 - FULL_WEIGHT_DEPTH_RATIO) * deepest).max(f64::MIN_POSITIVE),
    );
    let reach = (used * (2.0 * radius - used)).sqrt();
    let beside = |axis: usize| {
        let line = &on.lines[axis];
        let (first, last) = (line[0], line[line.len() - 1]);
        let room = (centre[axis] - reach - first).min(last - centre[axis] - reach);
        fade(room / (INSIDE * radius))
    };
    deep * beside(0) * beside(1)
}

/// Smooth step: 0 below 0, 1 above 1.
fn fade(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Returns the indices of the ascending coordinates within `reach` of `at`.
fn range(line: &[f64], at: f64, reach: f64) -> std::ops::Range<usize> {
    let from = line.partition_point(|&x| x < at - reach);
    from..line.partition_point(|&x| x <= at + reach)
}

/// Fills the matrix for the near faces.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn assemble(contacts: &mut ContactSolver, on: &ComplianceTable, boundary: f32) {
    let count = contacts.near_faces.len();
    for row in 0..count {
        let normal = contacts.normals[row];
        let blocks = &on.table[contacts.near_faces[row] as usize * on.faces()..][..on.faces()];
        let pairs = contacts.near_faces.iter().zip(&contacts.normals);
        let (done, rest) = contacts.matrix.split_at_mut(row);
        let own = &mut rest[0];
        own[row..].fill(0.0);
        for ((own, done), (&b, across)) in own.iter_mut().zip(done).zip(pairs.clone()) {
            let value = normal_compliance(&blocks[b as usize], &normal, across);
            (*own, done[row]) = (value, value);
        }
        let block = &blocks[contacts.near_faces[row] as usize];
        own[row] = normal_compliance(block, &normal, &normal) + boundary;
    }
}

/// `n_a T_ab n_b`.
#[inline(always)]
fn normal_compliance(t: &[f32; 9], a: &[f32; 3], b: &[f32; 3]) -> f32 {
    let x = a[2].mul_add(t[2], a[1].mul_add(t[1], a[0] * t[0]));
    let y = a[2].mul_add(t[5], a[1].mul_add(t[4], a[0] * t[3]));
    let z = a[2].mul_add(t[8], a[1].mul_add(t[7], a[0] * t[6]));
    b[2].mul_add(z, b[1].mul_add(y, b[0] * x))
}

/// Computes the gaps of the sphere at rest and starting loads: Hertz's pressure, scaled so that the gaps
/// vanish on average.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn guess(contacts: &mut ContactSolver, depth: f64, radius: f64) {
    let (depth, radius) = (narrow(depth), narrow(radius));
    contacts.at_rest = [0.0; FACES_MAX];
    let mut trial = [0.0_f32; FACES_MAX];
    for (index, normal) in contacts.normals.iter().enumerate() {
        let across = normal[0].mul_add(normal[0], normal[1] * normal[1]);
        // n (X - c) - r with the centre `radius - depth` above the surface
        contacts.at_rest[index] = radius.mul_add(across, -normal[2] * (radius - depth)) - radius;
        // for a circle whose square is the radius times the depth
        trial[index] = (1.0 - across * radius / depth).max(0.0).sqrt();
    }
    let mut moved = [0.0_f32; FACES_MAX];
    add_product(
        &mut moved,
        &contacts.matrix[..contacts.near_faces.len()],
        &trial,
    );
    let (work, push) = (dot(&trial, &moved), -dot(&trial, &contacts.at_rest));
    let size = if work > 0.0 {
        (push / work).max(0.0)
    } else {
        0.0
    };
    for index in 0..FACES_MAX {
        contacts.loads[index] = size * trial[index];
        contacts.gaps[index] = size.mul_add(moved[index], contacts.at_rest[index]);
    }
}

/// `to += W x`.
#[inline(always)]
fn add_product(to: &mut PerFace, matrix: &[PerFace], x: &PerFace) {
    let mut sum = *to;
    for (row, &factor) in matrix.iter().zip(x) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum = factor.mul_add(*value, *sum);
        }
    }
    *to = sum;
}

/// Dot product in eight partial sums, so that the compiler vectorises it.
#[inline(always)]
fn dot(a: &PerFace, b: &PerFace) -> f32 {
    let mut parts = [0.0_f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for (part, (a, b)) in parts.iter_mut().zip(a.iter().zip(b)) {
            *part = a.mul_add(*b, *part);
        }
    }
    parts.iter().sum()
}

/// Conjugate gradients on the active faces. A face that would pull is released, and the remaining ones
/// restart. Returns the number of matrix products.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn solve_gaps(contacts: &mut ContactSolver, depth: f32) -> usize {
    let count = contacts.near_faces.len();
    let (matrix, loads) = (&contacts.matrix[..count], &mut contacts.loads);
    let (at_rest, gaps) = (&contacts.at_rest, &mut contacts.gaps);
    let tolerance = GAP_TOLERANCE * depth;
    let (mut along, mut last) = ([0.0_f32; FACES_MAX], 0.0_f32);
    for product in 0..PRODUCTS_MAX {
        let mut residual = [0.0_f32; FACES_MAX];
        let mut open = [0_u32; FACES_MAX];
        for index in 0..FACES_MAX {
            let (gap, load) = (gaps[index], loads[index]);
            let free = (load > 0.0) | (gap < -tolerance);
            residual[index] = if free { -gap } else { 0.0 };
            open[index] = u32::from(free & (gap.abs() > tolerance));
        }
        if open.iter().sum::<u32>() == 0 {
            return product;
        }
        let now = dot(&residual, &residual);
        let keep = if last > 0.0 { now / last } else { 0.0 };
        for index in 0..FACES_MAX {
            // released faces stay out of the earlier directions
            let before = if residual[index] == 0.0 {
                0.0
            } else {
                along[index]
            };
            along[index] = keep.mul_add(before, residual[index]);
        }
        let mut image = [0.0_f32; FACES_MAX];
        add_product(&mut image, matrix, &along);
        let curvature = dot(&along, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            return product;
        }
        let step = dot(&residual, &along) / curvature;
        let mut pulled = [0_u32; FACES_MAX];
        for index in 0..FACES_MAX {
            let load = step.mul_add(along[index], loads[index]);
            pulled[index] = u32::from(load < 0.0);
            loads[index] = if load > 0.0 { load } else { 0.0 };
            gaps[index] = step.mul_add(image[index], gaps[index]);
        }
        last = now;
        if pulled.iter().sum::<u32>() > 0 {
            *gaps = *at_rest;
            add_product(gaps, matrix, loads);
            last = 0.0;
        }
    }
    PRODUCTS_MAX
}
