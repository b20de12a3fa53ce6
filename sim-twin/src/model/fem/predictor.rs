//! A rigid sphere on a patch whose compliance is known: a force in microseconds.
//!
//! Source: linear complementarity of frictionless contact by projected Gauss-Seidel (Jourdan, Alart
//! and Jean 1998), begun from the last answer. The tissue is linear, the sphere exact: normals follow
//! the displaced faces. Against the nonlinear truth that holds to a depth of 0.4 radii
//! ([`DEPTH_OVER_RADIUS_MAX`]); beyond, the answer says so and a full solver has to take over.
//!
//! Symbols: `n` normal from the sphere's centre to a face, `l` force along it, `W_ab = n_a T_ab n_b`
//! with the table `T`, `gap_a = n_a (X_a - c) - r + sum_b W_ab l_b`.

use super::compliance::Compliance;
use crate::Vec3;

/// Depth over radius to which the answer is within a few percent of the nonlinear solution.
pub const DEPTH_OVER_RADIUS_MAX: f64 = 0.4;
/// Most faces under the tool; those beyond are left out and the answer is marked.
pub const FACES_MAX: usize = 128;
/// Most sweeps a query.
const SWEEPS_MAX: usize = 40;
/// A sweep that changes no gap by more than this share of the radius is the last.
const SETTLED: f32 = 3e-5;
/// A face without force that stands off by more than this share of the depth is left out of the
/// query; if the forces change so that it would touch, the next one has it back.
const CLEAR: f64 = 0.05;
/// Over-relaxation of a sweep: a third fewer sweeps than without on the block test (measured).
const RELAXATION: f32 = 1.3;

/// What a query says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Force on the sphere \[N\].
    pub force_n: Vec3,
    /// Depth of its lowest point below the surface at rest \[m\]; negative above it.
    pub depth_m: f64,
    /// Whether the query is inside the range in which the answer holds.
    pub valid: bool,
    /// Faces that carry force.
    pub touched: usize,
    /// Sweeps spent.
    pub sweeps: usize,
}

/// The contact at the last query, with room for the next; no query allocates.
#[derive(Debug, Clone)]
pub struct Contacts {
    /// Force of every face of the patch, along its normal.
    forces: Vec<f32>,
    /// Normals of every face at the last query.
    normals: Vec<[f32; 3]>,
    /// Faces with a force or near one.
    near: Vec<usize>,
    gaps: Vec<f32>,
    loads: Vec<f32>,
    matrix: Vec<f32>,
}

impl Contacts {
    /// No contact yet on the patch of `compliance`.
    #[must_use]
    pub fn new(compliance: &Compliance) -> Self {
        Self {
            forces: vec![0.0; compliance.faces()],
            normals: vec![[0.0, 0.0, -1.0]; compliance.faces()],
            near: Vec::with_capacity(FACES_MAX),
            gaps: Vec::with_capacity(FACES_MAX),
            loads: Vec::with_capacity(FACES_MAX),
            matrix: Vec::with_capacity(FACES_MAX * FACES_MAX),
        }
    }

    /// Force on a sphere of `radius_m` whose centre is at `centre_m`, in the frame of the mesh.
    pub fn press(&mut self, on: &Compliance, centre_m: Vec3, radius_m: f64) -> Answer {
        let finite = centre_m.iter().all(|x| x.is_finite()) && radius_m.is_finite();
        if !finite || radius_m <= 0.0 {
            self.release(&[]);
            return nothing(f64::NEG_INFINITY, false);
        }
        let (centre, radius) = (centre_m / on.length_m, radius_m / on.length_m);
        let depth = on.centres[0].z - (centre.z - radius);
        let whole = self.gather(on, &centre, radius, depth);
        if self.near.is_empty() {
            let inside = within(on, &centre, depth, radius);
            return nothing(depth * on.length_m, inside);
        }
        self.aim(on, &centre, radius + CLEAR * depth);
        self.assemble(on, &centre, radius);
        let sweeps = self.sweep(radius);
        let mut force = Vec3::zeros();
        let mut touched = 0;
        for (&face, &load) in self.near.iter().zip(&self.loads) {
            self.forces[face] = load;
            touched += usize::from(load > 0.0);
            force -= Vec3::from(self.normals[face].map(f64::from)) * f64::from(load);
        }
        Answer {
            force_n: force * on.force_n,
            depth_m: depth * on.length_m,
            valid: whole && within(on, &centre, depth, radius),
            touched,
            sweeps,
        }
    }

    /// Forgets the forces of all faces but those in `kept`, which ascends.
    fn release(&mut self, kept: &[usize]) {
        for &face in &self.near {
            if kept.binary_search(&face).is_err() {
                self.forces[face] = 0.0;
            }
        }
        self.near.clear();
    }

    /// Lists the faces that the sphere may press on; false if there are too many.
    fn gather(&mut self, on: &Compliance, centre: &Vec3, radius: f64, depth: f64) -> bool {
        let mut next = [0_usize; FACES_MAX];
        let (mut count, mut whole) = (0, true);
        if depth > 0.0 {
            // circle in which the sphere is below the surface at rest; tissue never rises into it
            let square = if depth < radius {
                depth * (2.0 * radius - depth)
            } else {
                radius * radius
            };
            let reach = square.sqrt();
            let columns = range(&on.lines[0], centre.x, reach);
            for row in range(&on.lines[1], centre.y, reach) {
                let dy = on.lines[1][row] - centre.y;
                for column in columns.clone() {
                    let dx = on.lines[0][column] - centre.x;
                    if dx * dx + dy * dy > square {
                        continue;
                    }
                    whole &= count < FACES_MAX;
                    if count < FACES_MAX {
                        next[count] = row * on.lines[0].len() + column;
                        count += 1;
                    }
                }
            }
        }
        self.release(&next[..count]);
        self.near.extend_from_slice(&next[..count]);
        whole
    }

    /// Turns the normals to the faces as the last forces displace them, and leaves out those without
    /// force that are farther than `clear` from the centre.
    fn aim(&mut self, on: &Compliance, centre: &Vec3, clear: f64) {
        let mut offsets = [Vec3::zeros(); FACES_MAX];
        for (offset, &a) in offsets.iter_mut().zip(&self.near) {
            let mut moved = [0.0_f32; 3];
            let row = &on.table[a * on.faces()..][..on.faces()];
            for &b in &self.near {
                let force = self.forces[b];
                if force > 0.0 {
                    let push = turned(&row[b], &self.normals[b]);
                    for (moved, push) in moved.iter_mut().zip(push) {
                        *moved += force * push;
                    }
                }
            }
            *offset = on.centres[a] - centre + Vec3::from(moved.map(f64::from));
        }
        let (normals, forces) = (&mut self.normals, &self.forces);
        let mut offsets = offsets.iter();
        self.near.retain(|&face| {
            let offset = offsets.next().copied().unwrap_or_default();
            let distance = offset.norm().max(f64::MIN_POSITIVE);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "single precision is enough"
            )]
            let normal: [f32; 3] = (offset / distance).map(|x| x as f32).into();
            normals[face] = normal;
            forces[face] > 0.0 || distance < clear
        });
    }

    /// Fills matrix, loads and gaps for the faces that are near.
    fn assemble(&mut self, on: &Compliance, centre: &Vec3, radius: f64) {
        let count = self.near.len();
        self.loads.clear();
        self.gaps.clear();
        self.matrix.clear();
        self.matrix.resize(count * count, 0.0);
        for (row, &a) in self.near.iter().enumerate() {
            let normal = self.normals[a];
            let blocks = &on.table[a * on.faces()..][..on.faces()];
            for (column, &b) in self.near.iter().enumerate().take(row + 1) {
                let push = turned(&blocks[b], &self.normals[b]);
                let value = normal[0] * push[0] + normal[1] * push[1] + normal[2] * push[2];
                self.matrix[row * count + column] = value;
                self.matrix[column * count + row] = value;
            }
            let away = Vec3::from(normal.map(f64::from)).dot(&(on.centres[a] - centre));
            #[expect(
                clippy::cast_possible_truncation,
                reason = "single precision is enough"
            )]
            let gap = (away - radius) as f32;
            self.gaps.push(gap);
            self.loads.push(self.forces[a]);
        }
        for (column, &load) in self.loads.iter().enumerate() {
            if load > 0.0 {
                let source = &self.matrix[column * count..][..count];
                for (gap, value) in self.gaps.iter_mut().zip(source) {
                    *gap += load * value;
                }
            }
        }
    }

    /// Projected Gauss-Seidel; gives the sweeps spent.
    fn sweep(&mut self, radius: f64) -> usize {
        let count = self.near.len();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "single precision is enough"
        )]
        let settled = SETTLED * radius as f32;
        for sweep in 1..=SWEEPS_MAX {
            let mut largest = 0.0_f32;
            for row in 0..count {
                let source = &self.matrix[row * count..][..count];
                let aim = RELAXATION * self.gaps[row] / source[row];
                let load = (self.loads[row] - aim).max(0.0);
                let change = load - self.loads[row];
                if change == 0.0 {
                    continue;
                }
                self.loads[row] = load;
                largest = largest.max((change * source[row]).abs());
                for (gap, value) in self.gaps.iter_mut().zip(source) {
                    *gap += change * value;
                }
            }
            if largest <= settled {
                return sweep;
            }
        }
        SWEEPS_MAX
    }
}

fn nothing(depth_m: f64, valid: bool) -> Answer {
    Answer {
        force_n: Vec3::zeros(),
        depth_m,
        valid,
        touched: 0,
        sweeps: 0,
    }
}

/// Whether the contact lies on the patch and is not too deep.
fn within(on: &Compliance, centre: &Vec3, depth: f64, radius: f64) -> bool {
    // a billionth beyond is rounding of a depth that is meant to be the last valid one
    let shallow = depth <= DEPTH_OVER_RADIUS_MAX * radius * (1.0 + 1e-9);
    let reach = (depth.max(0.0) * 2.0 * radius).sqrt();
    let covered = |axis: usize| {
        let line = &on.lines[axis];
        let (first, last) = (line[0], line[line.len() - 1]);
        depth <= 0.0 || (centre[axis] - reach >= first && centre[axis] + reach <= last)
    };
    shallow && covered(0) && covered(1)
}

/// Indices of the ascending coordinates within `reach` of `at`.
fn range(line: &[f64], at: f64, reach: f64) -> std::ops::Range<usize> {
    let from = line.partition_point(|&x| x < at - reach);
    from..line.partition_point(|&x| x <= at + reach)
}

/// A block of the table times a normal.
fn turned(block: &[f32; 9], n: &[f32; 3]) -> [f32; 3] {
    [
        block[0] * n[0] + block[3] * n[1] + block[6] * n[2],
        block[1] * n[0] + block[4] * n[1] + block[7] * n[2],
        block[2] * n[0] + block[5] * n[1] + block[8] * n[2],
    ]
}
