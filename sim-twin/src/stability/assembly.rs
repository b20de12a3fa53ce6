//! Linearised lattice: its largest eigenvalue and the largest stable step.
//!
//! Source: power iteration on the assembled lattice after W4.

use crate::Vec3;
use crate::conjugate_gradient::dot;
use crate::lattice::Lattice;

const ITERATIONS_MAX: usize = 400;
const TOLERANCE: f64 = 1e-9;

/// A lattice linearised about its rest: links act along themselves, homes in all directions.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearizedLattice {
    inverse_mass: Vec<f64>,
    links: Vec<Bar>,
    ground_k: Vec<f64>,
    ground_b: Vec<f64>,
    surface: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar {
    atoms: [usize; 2],
    along: Vec3,
    stiffness_npm: f64,
    damping_nspm: f64,
}

impl LinearizedLattice {
    /// Linearises a lattice. Links to atoms that do not exist are left out.
    #[must_use]
    pub fn new(lattice: &Lattice) -> Self {
        let atoms = &lattice.atoms;
        let mut assembly = Self {
            inverse_mass: atoms
                .iter()
                .map(|atom| if atom.fixed { 0.0 } else { 1.0 / atom.mass_kg })
                .collect(),
            links: Vec::with_capacity(lattice.links.len()),
            ground_k: vec![0.0; atoms.len()],
            ground_b: vec![0.0; atoms.len()],
            surface: atoms.iter().map(|atom| atom.surface).collect(),
        };
        for link in &lattice.links {
            let ends = link.atoms.map(|atom| atom as usize);
            let (Some(first), Some(second)) = (atoms.get(ends[0]), atoms.get(ends[1])) else {
                continue;
            };
            let span = second.position_m - first.position_m;
            let length_m = span.norm();
            if length_m > 0.0 {
                assembly.links.push(Bar {
                    atoms: ends,
                    along: span / length_m,
                    stiffness_npm: link.stiffness_npm,
                    damping_nspm: link.damping_nspm,
                });
            } else {
                for end in ends {
                    assembly.ground_k[end] += link.stiffness_npm;
                    assembly.ground_b[end] += link.damping_nspm;
                }
            }
        }
        assembly
    }

    /// Ties every surface atom to the ground by one more spring and dashpot, as a contact or a
    /// grasp does.
    pub fn add_surface_contact(&mut self, stiffness_npm: f64, damping_nspm: f64) {
        for (atom, &surface) in self.surface.iter().enumerate() {
            if surface {
                self.ground_k[atom] += stiffness_npm;
                self.ground_b[atom] += damping_nspm;
            }
        }
    }

    /// Multiplies every stiffness, contact included.
    pub fn scale_stiffness(&mut self, factor: f64) {
        self.ground_k.iter_mut().for_each(|k| *k *= factor);
        self.links
            .iter_mut()
            .for_each(|bar| bar.stiffness_npm *= factor);
    }

    /// Largest eigenvalue of `M^-1 (p K + q B)` by power iteration, zero if nothing can move.
    ///
    /// `p K + q B` in the units that `p` and `q` give it; with `p = T^2` and `q = 2 T` it is the
    /// largest `kappa + 2 beta` of any shape.
    #[must_use]
    pub fn largest_eigenvalue(&self, p: f64, q: f64) -> f64 {
        self.iterate(p, q, &mut self.start()).0
    }

    /// Largest step with `kappa + 2 beta <= gate` \[s\]; infinite without springs and dashpots.
    ///
    /// For the worst shape of a step, the largest step has a closed form; a few
    /// iterations suffice, since the worst shape hardly depends on the step.
    #[must_use]
    pub fn dt_s_max(&self, gate: f64) -> f64 {
        let mut shape = self.start();
        let stiffness = self.iterate(1.0, 0.0, &mut shape).0;
        let damping = self.iterate(0.0, 1.0, &mut shape.clone()).0;
        let mut dt_s = root(stiffness, damping, gate);
        for _ in 0..20 {
            if !dt_s.is_finite() || dt_s <= 0.0 {
                return dt_s;
            }
            let (_, k, b) = self.iterate(dt_s * dt_s, 2.0 * dt_s, &mut shape);
            let next = root(k, b, gate);
            if (next - dt_s).abs() <= 1e-9 * dt_s {
                return next;
            }
            dt_s = next;
        }
        dt_s
    }

    fn start(&self) -> Vec<Vec3> {
        // A fixed vector that no symmetry of a mesh annihilates.
        let noise = |i: usize| libm::sin(1.0 + 1.7 * i as f64);
        (0..self.inverse_mass.len())
            .map(|i| Vec3::new(noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)))
            .collect()
    }

    /// Power iteration from `shape`; returns the eigenvalue and the shape's own K and B quotients.
    ///
    /// Iterates the symmetric `M^-1/2 (p K + q B) M^-1/2`, so that the Rayleigh quotient
    /// converges twice as fast as the shape.
    fn iterate(&self, p: f64, q: f64, shape: &mut [Vec3]) -> (f64, f64, f64) {
        let count = self.inverse_mass.len();
        let (mut stiff, mut damp) = (vec![Vec3::zeros(); count], vec![Vec3::zeros(); count]);
        let mut last = 0.0;
        let mut quotients = (0.0, 0.0);
        for _ in 0..ITERATIONS_MAX {
            let norm = shape.iter().map(Vec3::norm_squared).sum::<f64>().sqrt();
            if norm <= 0.0 || !norm.is_finite() {
                return (0.0, 0.0, 0.0);
            }
            for (row, &inverse) in shape.iter_mut().zip(&self.inverse_mass) {
                *row *= if inverse > 0.0 { 1.0 / norm } else { 0.0 };
            }
            self.apply(shape, &mut stiff, &mut damp);
            quotients = (dot(shape, &stiff), dot(shape, &damp));
            let value = p * quotients.0 + q * quotients.1;
            for (row, (k, b)) in shape.iter_mut().zip(stiff.iter().zip(&damp)) {
                *row = p * k + q * b;
            }
            if (value - last).abs() <= TOLERANCE * value.abs() {
                return (value, quotients.0, quotients.1);
            }
            last = value;
        }
        (last, quotients.0, quotients.1)
    }

    fn apply(&self, shape: &[Vec3], stiff: &mut [Vec3], damp: &mut [Vec3]) {
        let root = |i: usize| self.inverse_mass[i].sqrt();
        for (i, &u) in shape.iter().enumerate() {
            stiff[i] = self.ground_k[i] * self.inverse_mass[i] * u;
            damp[i] = self.ground_b[i] * self.inverse_mass[i] * u;
        }
        for bar in &self.links {
            let [a, b] = bar.atoms;
            let stretch = bar.along.dot(&(root(b) * shape[b] - root(a) * shape[a]));
            let pull = stretch * bar.along;
            stiff[a] -= root(a) * bar.stiffness_npm * pull;
            stiff[b] += root(b) * bar.stiffness_npm * pull;
            damp[a] -= root(a) * bar.damping_nspm * pull;
            damp[b] += root(b) * bar.damping_nspm * pull;
        }
    }
}

/// The step at which `k T^2 + 2 b T` reaches `gate`.
fn root(k: f64, b: f64, gate: f64) -> f64 {
    gate / (b + (b * b + k * gate).sqrt())
}
