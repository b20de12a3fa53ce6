//! Three-mass chain of the source's own stability analysis (rows S4-14, S4-15).

use super::{StabilityScheme, mode_radius};
use nalgebra::SMatrix;

/// Parameters of the chain: three equal masses in a line, each linked to its neighbours and to its home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreeMassChain {
    /// Stiffness of every link \[N/m\].
    pub stiffness_npm: f64,
    /// Dashpot of every link \[N s/m\].
    pub damping_nspm: f64,
    /// Mass of each body \[kg\].
    pub mass_kg: f64,
    /// Step \[s\].
    pub dt_s: f64,
}

/// Parameter that a root locus varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainParameter {
    /// [`ThreeMassChain::stiffness_npm`].
    Stiffness,
    /// [`ThreeMassChain::damping_nspm`].
    Damping,
    /// [`ThreeMassChain::mass_kg`].
    Mass,
    /// [`ThreeMassChain::dt_s`].
    Step,
}

/// Returns the eigenvalues of the unit chain, `3 - 2 cos(j pi / 4)` for j = 1, 2, 3.
pub fn chain_modes() -> [f64; 3] {
    let half = 2.0_f64.sqrt();
    [3.0 - half, 3.0, 3.0 + half]
}

impl ThreeMassChain {
    /// Returns the parameters of the source's own analysis (N10), in its unitless numbers.
    pub fn nominal() -> Self {
        Self {
            stiffness_npm: 15.0,
            damping_nspm: 0.45,
            mass_kg: 0.002,
            dt_s: 0.001,
        }
    }

    /// Returns `kappa` and `beta` of the mode with lattice eigenvalue `mu`.
    pub fn numbers(&self, mu: f64) -> (f64, f64) {
        let per_mass = mu * self.dt_s / self.mass_kg;
        let kappa = self.stiffness_npm * per_mass * self.dt_s;
        (kappa, self.damping_nspm * per_mass)
    }

    /// Returns the spectral radius of the chain: the greatest of its three modes.
    pub fn radius(&self, stepper: StabilityScheme) -> f64 {
        chain_modes()
            .iter()
            .map(|&mu| {
                let (kappa, beta) = self.numbers(mu);
                mode_radius(stepper, kappa, beta)
            })
            .fold(0.0, f64::max)
    }

    /// Returns the six poles of `I + A T` from the full matrix, sorted by magnitude (row S4-14).
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

    /// Returns the chain with one parameter replaced.
    pub fn with_parameter(mut self, swept: ChainParameter, value: f64) -> Self {
        match swept {
            ChainParameter::Stiffness => self.stiffness_npm = value,
            ChainParameter::Damping => self.damping_nspm = value,
            ChainParameter::Mass => self.mass_kg = value,
            ChainParameter::Step => self.dt_s = value,
        }
        self
    }

    /// Returns spectral radii at `count` values spread evenly over `range`, ends included: the root locus of the
    /// source's Figures 4-2 to 4-6, reduced to its greatest pole.
    pub fn root_locus(
        self,
        stepper: StabilityScheme,
        swept: ChainParameter,
        range: (f64, f64),
        count: usize,
    ) -> impl Iterator<Item = (f64, f64)> {
        let step = (range.1 - range.0) / (count.max(2) - 1) as f64;
        (0..count).map(move |i| {
            let value = range.0 + step * i as f64;
            (value, self.with_parameter(swept, value).radius(stepper))
        })
    }

    /// Returns the value between a stable `inside` and an unstable `outside` at which rho passes 1.
    ///
    /// Bisects to 1e-12 of the interval; returns none if the two ends do not differ in stability.
    pub fn limit(
        &self,
        stepper: StabilityScheme,
        swept: ChainParameter,
        inside: f64,
        outside: f64,
    ) -> Option<f64> {
        let stable = |value| self.with_parameter(swept, value).radius(stepper) < 1.0;
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
