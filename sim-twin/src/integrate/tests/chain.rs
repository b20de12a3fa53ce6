//! The window model of the source's own analysis (rows S4-14, S4-15).

use super::*;
use nalgebra::SMatrix;

/// Parameters of the window model: three equal masses in a line, each linked to its neighbours
/// and to its home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chain {
    /// Stiffness of every link \[N/m\].
    pub(super) stiffness_npm: f64,
    /// Dashpot of every link \[N s/m\].
    pub(super) damping_nspm: f64,
    /// Mass of each atom \[kg\].
    pub(super) mass_kg: f64,
    /// Step \[s\].
    pub(super) dt_s: f64,
}

/// The parameter that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swept {
    /// [`Chain::stiffness_npm`].
    Stiffness,
    /// [`Chain::damping_nspm`].
    Damping,
    /// [`Chain::mass_kg`].
    Mass,
    /// [`Chain::dt_s`].
    Step,
}

/// Eigenvalues of the unit window model, `3 - 2 cos(j pi / 4)` for j = 1, 2, 3.
pub(super) fn chain_modes() -> [f64; 3] {
    let half = 2.0_f64.sqrt();
    [3.0 - half, 3.0, 3.0 + half]
}

impl Chain {
    /// The preset of the source's own analysis (N10), in its unitless numbers.
    pub(super) fn nominal() -> Self {
        Self {
            stiffness_npm: 15.0,
            damping_nspm: 0.45,
            mass_kg: 0.002,
            dt_s: 0.001,
        }
    }

    /// `kappa` and `beta` of the mode with lattice eigenvalue `mu`.
    pub(super) fn numbers(&self, mu: f64) -> (f64, f64) {
        let per_mass = mu * self.dt_s / self.mass_kg;
        let kappa = self.stiffness_npm * per_mass * self.dt_s;
        (kappa, self.damping_nspm * per_mass)
    }

    /// Spectral radius of the window model: the worst of its three modes.
    pub(super) fn radius(&self, stepper: Stepper) -> f64 {
        chain_modes()
            .iter()
            .map(|&mu| {
                let (kappa, beta) = self.numbers(mu);
                mode_radius(stepper, kappa, beta)
            })
            .fold(0.0, f64::max)
    }

    /// The six poles of `I + A T` from the full matrix, sorted by magnitude (row S4-14).
    pub(super) fn explicit_poles(&self) -> [nalgebra::Complex<f64>; 6] {
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
    pub(super) fn with(mut self, swept: Swept, value: f64) -> Self {
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
    pub(super) fn sweep(
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
    pub(super) fn limit(
        &self,
        stepper: Stepper,
        swept: Swept,
        inside: f64,
        outside: f64,
    ) -> Option<f64> {
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
