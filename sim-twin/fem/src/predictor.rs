//! A rigid sphere on a patch whose compliance is known: a force in microseconds.
//!
//! Source: linear complementarity of frictionless contact by conjugate gradients with a changing set of
//! faces (Polyak 1969; Polonsky and Keer 1999), begun from the pressure of Hertz. The tissue is linear, the sphere exact. An answer
//! follows from the pose alone, so that the way to it cannot show and a late tick may ask for any
//! two. Against the nonlinear truth it holds to a depth of 0.4 radii
//! ([`DEPTH_OVER_RADIUS_MAX`]); its weight falls to zero on the way there and to the border of the
//! patch, beyond which a full solver has to know. A touch of fewer faces than show how its circle grows
//! is answered by Hertz's law, force as depth to the power of 3/2, from the least one that does.
//!
//! Symbols: `n` normal from the sphere's centre to a face, `l` force along it, `W_ab = n_a T_ab n_b`
//! with the table `T`, `gap_a = n_a (X_a - c) - r + sum_b W_ab l_b`. A face in contact lies on the
//! sphere, so its normal follows from where it is across; that it also shifts across, by a few
//! percent of the contact's radius, is left out (0.9 % of the force at 0.4 radii, measured).

use super::compliance::Compliance;
use multiversion::multiversion;
use palpate_twin::Vec3;

/// Depth over radius to which the answer is within a few percent of the nonlinear solution.
pub(crate) const DEPTH_OVER_RADIUS_MAX: f64 = 0.4;
/// Most faces under the tool: a bound on the time of an answer. A larger tool is known less deep.
pub(crate) const FACES_MAX: usize = 64;
/// Faces in the circle, whose square is radius times depth, of the least touch that the mesh resolves.
/// With fewer it is a punch whose size grows in leaps: at a third of that depth the force is a quarter
/// too large and its slope as much too small (measured, block test).
const RESOLVED: f64 = 12.0;
/// Share of its greatest depth to which an answer has its whole weight.
const WHOLE: f64 = 0.75;
/// Distance to the border of the patch, over the tool's radius, from which an answer has it.
const INSIDE: f64 = 0.25;
/// Squared radius over the sphere's radius times depth of the circle that is looked at first: 1 is
/// Hertz's contact, and a thin soft layer has up to 2. Two fifths less to do than in the whole circle.
const LIKELY: f64 = 1.3;
/// Share of that square beyond which force on a face says that the contact is wider still.
const RIM: f64 = 0.9;
/// Most products with the matrix that a query spends.
const PRODUCTS_MAX: usize = 32;
/// Share of the depth by which a face that carries force may miss the sphere.
const SETTLED: f32 = 5e-4;

/// A number a face.
type Lanes = [f32; FACES_MAX];

/// A rigid sphere, as a query sees it, in metres and newtons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    /// Its centre in the frame of the mesh \[m\].
    pub centre_m: Vec3,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// Stiffness of its boundary \[N/m\], spread over its disc; infinite for a rigid one.
    pub stiffness_npm: f64,
}

/// What a query says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Force on the sphere \[N\]; deeper than an answer holds, that of the deepest that does.
    pub force_n: Vec3,
    /// Depth of its lowest point below the surface at rest \[m\]; negative above it.
    pub depth_m: f64,
    /// How far the answer may be trusted: 1 inside the range in which it holds, smoothly to 0 at its
    /// ends.
    pub weight: f64,
    /// Faces that carry force.
    pub touched: usize,
    /// Products with the matrix spent.
    pub products: usize,
}

/// Room to work in; no query allocates, and none leaves anything for the next.
#[derive(Debug, Clone)]
pub struct Contacts {
    near: Vec<u32>,
    normals: Vec<[f32; 3]>,
    /// Gaps without forces, and with those in `loads`.
    at_rest: Lanes,
    gaps: Lanes,
    loads: Lanes,
    matrix: Vec<Lanes>,
}

impl Default for Contacts {
    fn default() -> Self {
        Self {
            near: Vec::with_capacity(FACES_MAX),
            normals: Vec::with_capacity(FACES_MAX),
            at_rest: [0.0; FACES_MAX],
            gaps: [0.0; FACES_MAX],
            loads: [0.0; FACES_MAX],
            matrix: vec![[0.0; FACES_MAX]; FACES_MAX],
        }
    }
}

impl Contacts {
    /// Force on a ball; none on one that is not finite.
    pub fn press(&mut self, on: &Compliance, ball: &Ball) -> Answer {
        let finite = ball.centre_m.iter().all(|x| x.is_finite()) && ball.radius_m.is_finite();
        if !finite || ball.radius_m <= 0.0 || ball.stiffness_npm.is_nan() {
            return nothing(f64::NEG_INFINITY, 0.0);
        }
        let (mut centre, radius) = (ball.centre_m / on.length_m, ball.radius_m / on.length_m);
        let depth = on.top - (centre.z - radius);
        let deepest = deepest(on, radius);
        // a depth beyond the known is answered as the deepest known, one below the resolved by Hertz's law
        let felt = depth.clamp(shallowest(on, radius).min(deepest), deepest);
        let depths = Depths {
            asked: depth,
            deepest,
            felt,
        };
        let weight = weight(on, &centre, &depths, radius);
        if depth <= 0.0 {
            return nothing(depth * on.length_m, weight);
        }
        let share = (depth / felt).min(1.0);
        centre.z += depth - felt;
        let mut products = 0;
        for spread in [LIKELY, 2.0] {
            self.gather(on, &centre, radius, felt, spread);
            if self.near.is_empty() {
                continue;
            }
            let give = give(on, ball, self.area(on));
            products += solve(self, on, felt, radius, give);
            if !self.at_rim(RIM * LIKELY * felt / radius) {
                break;
            }
        }
        if self.near.is_empty() {
            return nothing(depth * on.length_m, weight);
        }
        let mut force = Vec3::zeros();
        let mut touched = 0;
        for (normal, &load) in self.normals.iter().zip(&self.loads) {
            touched += usize::from(load > 0.0);
            force -= Vec3::from(normal.map(f64::from)) * f64::from(load);
        }
        if !force.iter().all(|x| x.is_finite()) {
            return nothing(depth * on.length_m, 0.0);
        }
        Answer {
            force_n: force * (on.force_n * share * share.sqrt()),
            depth_m: depth * on.length_m,
            weight,
            touched,
            products,
        }
    }

    /// Whether a face beyond this squared sine of its normal carries force: a contact wider than what
    /// was looked at.
    fn at_rim(&self, square: f64) -> bool {
        let mut pairs = self.normals.iter().zip(&self.loads);
        pairs.any(|(n, &load)| load > 0.0 && f64::from(n[0].mul_add(n[0], n[1] * n[1])) > square)
    }

    /// Lists the faces that the sphere may press on, with their normals: those in a circle whose square
    /// is `spread` times radius times depth, as far as the sphere is below the surface at rest there;
    /// tissue never rises into it beyond.
    fn gather(&mut self, on: &Compliance, centre: &Vec3, radius: f64, depth: f64, spread: f64) {
        self.near.clear();
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
                if off > square || self.near.len() == FACES_MAX {
                    continue;
                }
                let down = -(radius * radius - off).sqrt();
                #[expect(clippy::cast_possible_truncation, reason = "indices are small")]
                self.near.push((row * on.lines[0].len() + column) as u32);
                let normal = [dx, dy, down].map(|x| narrow(x / radius));
                self.normals.push(normal);
            }
        }
    }

    /// Mean area of a face here.
    fn area(&self, on: &Compliance) -> f64 {
        let middle = self.near[self.near.len() / 2] as usize;
        let columns = on.lines[0].len();
        let size = |axis: usize, index: usize| {
            let line = &on.lines[axis];
            let (low, high) = (index.saturating_sub(1), (index + 1).min(line.len() - 1));
            let gap = line[high] - line[low];
            gap / (high - low).max(1) as f64
        };
        let (x, y) = (size(0, middle % columns), size(1, middle / columns));
        // one line alone has no distance to the next
        match (x > 0.0, y > 0.0) {
            (true, true) => x * y,
            (true, false) => x * x,
            _ => y * y,
        }
    }
}

/// Depth of a touch, the deepest that is known, and that which is answered.
struct Depths {
    asked: f64,
    deepest: f64,
    felt: f64,
}

/// Compliance of the ball's boundary over one face of `area`, all without units.
fn give(on: &Compliance, ball: &Ball, area: f64) -> f32 {
    let radius = ball.radius_m / on.length_m;
    let stiffness = ball.stiffness_npm.max(0.0) * on.length_m / on.force_n;
    let give = std::f64::consts::PI * radius * radius / (stiffness * area);
    narrow(give.min(1e12))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "single precision is enough"
)]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn nothing(depth_m: f64, weight: f64) -> Answer {
    Answer {
        force_n: Vec3::zeros(),
        depth_m,
        weight,
        touched: 0,
        products: 0,
    }
}

/// Deepest touch of a sphere that is known: that of [`DEPTH_OVER_RADIUS_MAX`], or of the most faces.
fn deepest(on: &Compliance, radius: f64) -> f64 {
    // a circle of whole faces has up to a face more along its rim than its area says
    let fine = [0, 1].map(|axis| on.finest[axis]);
    let side = (FACES_MAX as f64 * fine[0] * fine[1] / std::f64::consts::PI).sqrt();
    let reach = (side - 0.5 * fine[0].max(fine[1])).max(0.0).min(radius);
    let known = radius - (radius * radius - reach * reach).sqrt();
    // the square of a wild radius is beyond all numbers
    known.clamp(0.0, DEPTH_OVER_RADIUS_MAX * radius)
}

/// Shallowest touch of a sphere that the mesh resolves.
fn shallowest(on: &Compliance, radius: f64) -> f64 {
    RESOLVED * on.finest[0] * on.finest[1] / (std::f64::consts::PI * radius)
}

/// 1 inside the range, smoothly to 0 at the deepest touch and at the border of the patch.
fn weight(on: &Compliance, centre: &Vec3, depths: &Depths, radius: f64) -> f64 {
    let Depths {
        asked: depth,
        deepest,
        felt,
    } = *depths;
    let deep = fade((deepest - depth) / ((1.0 - WHOLE) * deepest).max(f64::MIN_POSITIVE));
    let reach = (felt * (2.0 * radius - felt)).sqrt();
    let beside = |axis: usize| {
        let line = &on.lines[axis];
        let (first, last) = (line[0], line[line.len() - 1]);
        let room = (centre[axis] - reach - first).min(last - centre[axis] - reach);
        fade(room / (INSIDE * radius))
    };
    deep * beside(0) * beside(1)
}

/// 0 below 0, 1 above 1, without a kink between.
fn fade(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Indices of the ascending coordinates within `reach` of `at`.
fn range(line: &[f64], at: f64, reach: f64) -> std::ops::Range<usize> {
    let from = line.partition_point(|&x| x < at - reach);
    from..line.partition_point(|&x| x <= at + reach)
}

/// Fills matrix and gaps for the faces that are near, guesses and settles; gives the products spent.
fn solve(contacts: &mut Contacts, on: &Compliance, depth: f64, radius: f64, give: f32) -> usize {
    assemble(contacts, on, give);
    guess(contacts, depth, radius);
    settle(contacts, narrow(depth))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn assemble(contacts: &mut Contacts, on: &Compliance, give: f32) {
    let count = contacts.near.len();
    for row in 0..count {
        let normal = contacts.normals[row];
        let blocks = &on.table[contacts.near[row] as usize * on.faces()..][..on.faces()];
        let pairs = contacts.near.iter().zip(&contacts.normals);
        let (done, rest) = contacts.matrix.split_at_mut(row);
        let own = &mut rest[0];
        own[row..].fill(0.0);
        for ((own, done), (&b, across)) in own.iter_mut().zip(done).zip(pairs.clone()) {
            let value = through(&blocks[b as usize], &normal, across);
            (*own, done[row]) = (value, value);
        }
        let block = &blocks[contacts.near[row] as usize];
        own[row] = through(block, &normal, &normal) + give;
    }
}

/// `n_a T_ab n_b`.
#[inline(always)]
fn through(t: &[f32; 9], a: &[f32; 3], b: &[f32; 3]) -> f32 {
    let x = a[2].mul_add(t[2], a[1].mul_add(t[1], a[0] * t[0]));
    let y = a[2].mul_add(t[5], a[1].mul_add(t[4], a[0] * t[3]));
    let z = a[2].mul_add(t[8], a[1].mul_add(t[7], a[0] * t[6]));
    b[2].mul_add(z, b[1].mul_add(y, b[0] * x))
}

/// Gaps of the sphere at rest, then loads as Hertz's pressure, as high as they take the gaps to
/// nothing on the whole.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn guess(contacts: &mut Contacts, depth: f64, radius: f64) {
    let (depth, radius) = (narrow(depth), narrow(radius));
    contacts.at_rest = [0.0; FACES_MAX];
    let mut trial = [0.0_f32; FACES_MAX];
    for (index, normal) in contacts.normals.iter().enumerate() {
        let across = normal[0].mul_add(normal[0], normal[1] * normal[1]);
        // n (X - c) - r with the centre `radius - depth` above the surface
        contacts.at_rest[index] = radius.mul_add(across, -normal[2] * (radius - depth)) - radius;
        // of a circle whose square is the radius times the depth
        trial[index] = (1.0 - across * radius / depth).max(0.0).sqrt();
    }
    let mut moved = [0.0_f32; FACES_MAX];
    add_product(&mut moved, &contacts.matrix[..contacts.near.len()], &trial);
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
fn add_product(to: &mut Lanes, matrix: &[Lanes], x: &Lanes) {
    let mut sum = *to;
    for (row, &factor) in matrix.iter().zip(x) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum = factor.mul_add(*value, *sum);
        }
    }
    *to = sum;
}

/// In eight parts, so that the compiler takes them at once.
#[inline(always)]
fn dot(a: &Lanes, b: &Lanes) -> f32 {
    let mut parts = [0.0_f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for (part, (a, b)) in parts.iter_mut().zip(a.iter().zip(b)) {
            *part = a.mul_add(*b, *part);
        }
    }
    parts.iter().sum()
}

/// Conjugate gradients on the faces that may move; one that would pull is let go, and those left
/// begin anew. Gives the products spent.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn settle(contacts: &mut Contacts, depth: f32) -> usize {
    let count = contacts.near.len();
    let (matrix, loads) = (&contacts.matrix[..count], &mut contacts.loads);
    let (at_rest, gaps) = (&contacts.at_rest, &mut contacts.gaps);
    let tolerance = SETTLED * depth;
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
            // what was let go stays out of the directions taken before
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
