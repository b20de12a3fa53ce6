//! The stability advisor: how large a step may be before a lattice gains energy by itself.
//!
//! Source: seed-004 3.4 and rows S4-14, S4-15 (three-mass window model, characteristic
//! polynomials, sweeps); power iteration on the assembled lattice after W4.
//!
//! Symbols: `mu` eigenvalue of the unit lattice, `kappa = k mu T^2 / m`, `beta = b mu T / m`, both
//! without unit; `rho` spectral radius of one step, stable below 1.

use crate::Vec3;
use crate::mesh::lattice::Lattice;
use nalgebra::{Matrix4, SMatrix};

/// How forces turn into motion, as the analyser sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stepper {
    /// Explicit Euler with the exact velocity in the dashpot: `A_z = I + A T`.
    Explicit,
    /// Explicit Euler with the filtered backward difference in the dashpot.
    Printed {
        /// Weight of the newest difference, in (0, 1].
        lambda: f64,
    },
    /// Velocity first, then position with the new velocity.
    SemiImplicit,
}

/// Parameters of the window model: three equal masses in a line, each linked to its neighbours
/// and to its home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// Stiffness of every link \[N/m\].
    pub stiffness_npm: f64,
    /// Dashpot of every link \[N s/m\].
    pub damping_nspm: f64,
    /// Mass of each atom \[kg\].
    pub mass_kg: f64,
    /// Step \[s\].
    pub dt_s: f64,
}

/// The parameter that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// [`Chain::stiffness_npm`].
    Stiffness,
    /// [`Chain::damping_nspm`].
    Damping,
    /// [`Chain::mass_kg`].
    Mass,
    /// [`Chain::dt_s`].
    Step,
}

/// Largest `kappa + 2 beta` that the advisor accepts: half of the semi-implicit limit of 4.
pub const GATE: f64 = 2.0;

const ITERATIONS_MAX: usize = 400;
const TOLERANCE: f64 = 1e-9;

/// Eigenvalues of the unit window model, `3 - 2 cos(j pi / 4)` for j = 1, 2, 3.
#[must_use]
pub fn chain_modes() -> [f64; 3] {
    let half = 2.0_f64.sqrt();
    [3.0 - half, 3.0, 3.0 + half]
}

/// Spectral radius of one step of a single mode (seed-004 3.4, table of polynomials).
///
/// Not finite arguments give infinity.
#[must_use]
pub fn mode_radius(stepper: Stepper, kappa: f64, beta: f64) -> f64 {
    if !(kappa.is_finite() && beta.is_finite()) {
        return f64::INFINITY;
    }
    match stepper {
        Stepper::Explicit => quadratic_radius(2.0 - beta, 1.0 - beta + kappa),
        Stepper::SemiImplicit => quadratic_radius(2.0 - kappa - beta, 1.0 - beta),
        Stepper::Printed { lambda } => delayed_radius(kappa, beta, lambda),
    }
}

/// Radius of `z^2 - sum z + product`.
fn quadratic_radius(sum: f64, product: f64) -> f64 {
    let discriminant = 0.25 * sum * sum - product;
    if discriminant < 0.0 {
        product.sqrt()
    } else {
        0.5 * sum.abs() + discriminant.sqrt()
    }
}

/// Radius of the step whose dashpot sees a filtered difference; state x, T v, last x, T l_dot.
fn delayed_radius(kappa: f64, beta: f64, lambda: f64) -> f64 {
    let keep = 1.0 - lambda;
    #[rustfmt::skip]
    let step = Matrix4::new(
        1.0, 1.0, 0.0, 0.0,
        -kappa - beta * lambda, 1.0, beta * lambda, -beta * keep,
        1.0, 0.0, 0.0, 0.0,
        lambda, 0.0, -lambda, keep,
    );
    radius(&step.complex_eigenvalues())
}

fn radius<const N: usize>(poles: &nalgebra::SVector<nalgebra::Complex<f64>, N>) -> f64 {
    poles.iter().map(|pole| pole.norm()).fold(0.0, f64::max)
}

impl Chain {
    /// The preset of the source's own analysis (N10), in its unitless numbers.
    #[must_use]
    pub fn nominal() -> Self {
        Self {
            stiffness_npm: 15.0,
            damping_nspm: 0.45,
            mass_kg: 0.002,
            dt_s: 0.001,
        }
    }

    /// `kappa` and `beta` of the mode with lattice eigenvalue `mu`.
    #[must_use]
    pub fn numbers(&self, mu: f64) -> (f64, f64) {
        let per_mass = mu * self.dt_s / self.mass_kg;
        let kappa = self.stiffness_npm * per_mass * self.dt_s;
        (kappa, self.damping_nspm * per_mass)
    }

    /// Spectral radius of the window model: the worst of its three modes.
    #[must_use]
    pub fn radius(&self, stepper: Stepper) -> f64 {
        chain_modes()
            .iter()
            .map(|&mu| {
                let (kappa, beta) = self.numbers(mu);
                mode_radius(stepper, kappa, beta)
            })
            .fold(0.0, f64::max)
    }

    /// The six poles of `I + A T` from the full matrix, sorted by magnitude (row S4-14).
    #[must_use]
    pub fn explicit_poles(&self) -> [nalgebra::Complex<f64>; 6] {
        let mut step = SMatrix::<f64, 6, 6>::identity();
        let (k, b) = (
            self.stiffness_npm / self.mass_kg * self.dt_s,
            self.damping_nspm / self.mass_kg * self.dt_s,
        );
        for i in 0..3 {
            step[(2 * i, 2 * i + 1)] += self.dt_s;
            for j in 0..3 {
                let link = match i.abs_diff(j) {
                    0 => -3.0,
                    1 => 1.0,
                    _ => 0.0,
                };
                step[(2 * i + 1, 2 * j)] += link * k;
                step[(2 * i + 1, 2 * j + 1)] += link * b;
            }
        }
        let mut poles: [nalgebra::Complex<f64>; 6] = step.complex_eigenvalues().into();
        poles.sort_by(|p, q| p.norm().total_cmp(&q.norm()));
        poles
    }

    /// The same chain with one parameter replaced.
    #[must_use]
    pub fn with(mut self, swept: Swept, value: f64) -> Self {
        match swept {
            Swept::Stiffness => self.stiffness_npm = value,
            Swept::Damping => self.damping_nspm = value,
            Swept::Mass => self.mass_kg = value,
            Swept::Step => self.dt_s = value,
        }
        self
    }

    /// Spectral radii at `count` values spread evenly over `range`, ends included: the root locus
    /// of the source's Figures 4-2 to 4-6, condensed to its worst pole.
    pub fn sweep(
        self,
        stepper: Stepper,
        swept: Swept,
        range: (f64, f64),
        count: usize,
    ) -> impl Iterator<Item = (f64, f64)> {
        let step = (range.1 - range.0) / (count.max(2) - 1) as f64;
        (0..count).map(move |i| {
            let value = range.0 + step * i as f64;
            (value, self.with(swept, value).radius(stepper))
        })
    }

    /// The value between a stable `inside` and an unstable `outside` at which rho passes 1.
    ///
    /// Bisection to 1e-12 of the interval; gives nothing if the two ends do not differ in
    /// stability.
    #[must_use]
    pub fn limit(&self, stepper: Stepper, swept: Swept, inside: f64, outside: f64) -> Option<f64> {
        let stable = |value| self.with(swept, value).radius(stepper) < 1.0;
        if !stable(inside) || stable(outside) {
            return None;
        }
        let (mut low, mut high) = (inside, outside);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if stable(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(0.5 * (low + high))
    }
}

/// A lattice linearised about its rest: links act along themselves, homes in all directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Assembly {
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

impl Assembly {
    /// Linearise a lattice. Links to atoms that do not exist are left out.
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

    /// Tie every surface atom to the ground by one more spring and dashpot, as a touching or
    /// grasping tool does.
    pub fn touch_surface(&mut self, stiffness_npm: f64, damping_nspm: f64) {
        for (atom, &surface) in self.surface.iter().enumerate() {
            if surface {
                self.ground_k[atom] += stiffness_npm;
                self.ground_b[atom] += damping_nspm;
            }
        }
    }

    /// Multiply every stiffness, contact included.
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
    pub fn largest(&self, p: f64, q: f64) -> f64 {
        self.iterate(p, q, &mut self.start()).0
    }

    /// Largest step with `kappa + 2 beta <= gate` \[s\]; infinite without springs and dashpots.
    ///
    /// For the worst shape of a step, the step that this shape allows is closed form; a few
    /// rounds settle, since the worst shape hardly turns with the step.
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
        // Any fixed vector that no symmetry of a mesh annihilates.
        let noise = |i: usize| libm::sin(1.0 + 1.7 * i as f64);
        (0..self.inverse_mass.len())
            .map(|i| Vec3::new(noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)))
            .collect()
    }

    /// Power iteration from `shape`; gives the eigenvalue and the shape's own K and B quotients.
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

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

/// The step at which `k T^2 + 2 b T` reaches `gate`.
fn root(k: f64, b: f64, gate: f64) -> f64 {
    gate / (b + (b * b + k * gate).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::fixture;
    use nalgebra::{DMatrix, SymmetricEigen};

    /// Eigenvalues of the unit stiffness of a lattice with equal links, from a dense matrix.
    fn modes(lattice: &Lattice) -> Vec<f64> {
        let free: Vec<usize> = (0..lattice.atoms.len())
            .filter(|&i| !lattice.atoms[i].fixed)
            .collect();
        let row = |atom: u32| free.iter().position(|&i| i == atom as usize);
        let mut k = DMatrix::<f64>::zeros(3 * free.len(), 3 * free.len());
        for link in &lattice.links {
            let [a, b] = link.atoms.map(|i| lattice.atoms[i as usize].position_m);
            let span = b - a;
            let block = if span.norm() > 0.0 {
                span * span.transpose() / span.norm_squared()
            } else {
                nalgebra::Matrix3::identity()
            };
            for (i, j, sign) in [(0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0)] {
                if let (Some(i), Some(j)) = (row(link.atoms[i]), row(link.atoms[j])) {
                    let mut view = k.fixed_view_mut::<3, 3>(3 * i, 3 * j);
                    view += sign * block;
                }
            }
        }
        SymmetricEigen::new(k).eigenvalues.iter().copied().collect()
    }

    fn mesh_radius(stepper: Stepper, damping_nspm: f64, dt_s: f64) -> f64 {
        let chain = Chain {
            damping_nspm,
            dt_s,
            ..Chain::nominal()
        };
        modes(&fixture::regular())
            .into_iter()
            .map(|mu| {
                let (kappa, beta) = chain.numbers(mu);
                mode_radius(stepper, kappa, beta)
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn s4_14_explicit_poles_match_the_polynomials() {
        let chain = Chain::nominal();
        let poles = chain.explicit_poles();
        let expected = [0.0413, 0.3602, 0.6804, 0.9628, 0.9648, 0.9655];
        for (pole, right) in poles.iter().zip(expected) {
            assert!(
                pole.im.abs() < 1e-9 && (pole.re - right).abs() < 1e-4,
                "{pole} {right}"
            );
        }
        for damping_nspm in [0.2, 0.45, 0.9] {
            let chain = Chain {
                damping_nspm,
                ..chain
            };
            let full = chain.explicit_poles()[5].norm();
            assert!((full - chain.radius(Stepper::Explicit)).abs() < 1e-12);
        }
    }

    #[test]
    fn s4_15_n_stab_spectral_radii() {
        let nominal = Chain::nominal();
        let explicit = [
            (Swept::Stiffness, 15.0, 0.96547),
            (Swept::Stiffness, 400.0, 0.97998),
            (Swept::Stiffness, 449.0, 0.99960),
            (Swept::Stiffness, 451.0, 1.00110),
            (Swept::Damping, 0.1, 0.96571),
            (Swept::Damping, 0.9, 0.98319),
            (Swept::Mass, 0.001, 0.96609),
            (Swept::Step, 0.002, 0.93093),
        ];
        for (swept, value, right) in explicit {
            let rho = nominal.with(swept, value).radius(Stepper::Explicit);
            assert!(
                (rho - right).abs() < 1e-4,
                "{swept:?} {value}: {rho} {right}"
            );
        }
        for (lambda, right, within) in [
            (1.0, 1.01361, 1e-4),
            (0.5, 1.0231, 1e-4),
            (0.2, 1.0276, 1e-4),
        ] {
            let rho = nominal.radius(Stepper::Printed { lambda });
            assert!((rho - right).abs() < within, "{lambda}: {rho} {right}");
        }
        assert!((nominal.radius(Stepper::SemiImplicit) - 0.96666).abs() < 1e-4);
    }

    #[test]
    fn s4_15_n_stab_limits() {
        let chain = Chain {
            damping_nspm: 0.2,
            ..Chain::nominal()
        };
        let limits = [
            (Stepper::Explicit, 200.0),
            (Stepper::Printed { lambda: 1.0 }, 111.7),
            (Stepper::Printed { lambda: 0.5 }, 55.7),
            (Stepper::Printed { lambda: 0.3 }, 32.4),
            (Stepper::SemiImplicit, 1412.3),
        ];
        for (stepper, right) in limits {
            let limit = chain.limit(stepper, Swept::Stiffness, 1.0, 4000.0).unwrap();
            assert!((limit - right).abs() < 0.06, "{stepper:?}: {limit} {right}");
        }
        let nominal = Chain::nominal();
        let at = |swept, inside, outside| {
            nominal
                .limit(Stepper::Explicit, swept, inside, outside)
                .unwrap()
        };
        assert!((at(Swept::Stiffness, 15.0, 1e3) - 450.0).abs() < 0.01);
        assert!((at(Swept::Damping, 0.45, 0.001) - 0.015).abs() < 1e-6);
        assert!((at(Swept::Damping, 0.45, 2.0) - 0.914).abs() < 1e-3);
        assert!((at(Swept::Mass, 0.002, 1e-4) - 0.000_977).abs() < 1e-6);
        assert!((at(Swept::Step, 0.001, 0.01) - 0.002_086).abs() < 1e-6);
        assert_eq!(
            nominal.limit(Stepper::Explicit, Swept::Step, 0.001, 0.002),
            None
        );
    }

    #[test]
    fn s4_15_sweeps_of_the_source_stay_stable() {
        let ranges = [
            (Swept::Stiffness, (15.0, 400.0)),
            (Swept::Damping, (0.1, 0.9)),
            (Swept::Mass, (0.001, 0.002)),
            (Swept::Step, (0.001, 0.002)),
        ];
        for (swept, range) in ranges {
            let points = Chain::nominal().sweep(Stepper::Explicit, swept, range, 25);
            assert_eq!(
                points.filter(|&(_, rho)| rho < 1.0).count(),
                25,
                "{swept:?}"
            );
        }
    }

    #[test]
    fn s4_15_n_mesh_spectral_radii() {
        let printed = Stepper::Printed { lambda: 1.0 };
        let rows = [
            (printed, 0.2, 0.001, 0.9871, 1e-4),
            (Stepper::SemiImplicit, 0.2, 0.001, 0.9864, 1e-4),
            (printed, 0.2, 1.0 / 700.0, 1.0596, 1e-4),
            (Stepper::SemiImplicit, 0.2, 1.0 / 700.0, 0.9805, 1e-4),
            (printed, 0.45, 0.001, 1.279, 1e-3),
            (Stepper::SemiImplicit, 0.45, 0.001, 0.9692, 1e-4),
            (Stepper::SemiImplicit, 0.45, 1.0 / 700.0, 1.320, 1e-3),
        ];
        for (stepper, b, dt_s, right, within) in rows {
            let rho = mesh_radius(stepper, b, dt_s);
            assert!(
                (rho - right).abs() < within,
                "{stepper:?} {b} {dt_s}: {rho} {right}"
            );
        }
    }

    #[test]
    fn power_iteration_finds_the_dense_eigenvalue() {
        for (lattice, low, high) in [
            (fixture::regular(), 0.270, 7.028),
            (fixture::printed(), 0.186, 7.680),
        ] {
            let dense = modes(&lattice);
            let most = dense.iter().copied().fold(0.0, f64::max);
            let least = dense.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((most - high).abs() < 1e-3 && (least - low).abs() < 1e-3);
            let found = Assembly::new(&lattice).largest(1.0, 0.0);
            let unit = found * fixture::FILE_MASS / fixture::FILE_STIFFNESS;
            assert!((unit - most).abs() < 1e-4 * most, "{unit} {most}");
        }
    }

    #[test]
    fn dt_s_max_is_where_the_gate_closes() {
        let mut assembly = Assembly::new(&fixture::regular());
        assembly.touch_surface(400.0, 0.0);
        let dt_s = assembly.dt_s_max(GATE);
        let reached = assembly.largest(dt_s * dt_s, 2.0 * dt_s);
        assert!((reached - GATE).abs() < 1e-4, "{dt_s}: {reached}");
    }
}
