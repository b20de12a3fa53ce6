//! The simulated observer: a Weber fraction, lapses, and a seed. No human claims follow from it.
//!
//! Source: ours, after Fechner: what is felt is the logarithm of the quantity with normal noise,
//! `p = ln q + s n`. So a relative difference d is told right with the probability
//! `Phi(ln(1 + d) / (sqrt(2) s))`, and the programmed Weber fraction w is where that is
//! `TARGET`: `s = ln(1 + w) / (sqrt(2) z)`, with z its normal quantile.

use palpate_transport::chance;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::Z_TARGET;

/// Least quantity that is told from nothing, as a share of the other one: keeps the logarithm finite.
const LEAST: f64 = 1e-6;

/// A simulated observer.
#[derive(Debug, Clone)]
pub struct Observer {
    noise: f64,
    lapse: f64,
    random: Xoshiro256PlusPlus,
}

impl Observer {
    /// With a programmed Weber fraction above 0, a share of blind answers, and a seed.
    #[must_use]
    pub fn new(weber: f64, lapse: f64, seed: u64) -> Self {
        Self {
            noise: libm::log1p(weber.max(1e-9)) / (core::f64::consts::SQRT_2 * Z_TARGET),
            lapse,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Whether `more` is said to be more than `less`; both are what the channel displays, and what does
    /// not push back at all counts as almost nothing.
    pub fn tells(&mut self, less: f64, more: f64) -> bool {
        let blind = chance::even(&mut self.random) < self.lapse;
        let guess = chance::even(&mut self.random) < 0.5;
        let floor = LEAST * less.abs().max(more.abs()).max(1e-300);
        let felt = |value: f64| {
            let known = if value.is_finite() { value } else { 0.0 };
            libm::log(known.max(floor))
        };
        let apart = felt(more) + self.noise * chance::normal(&mut self.random) - felt(less);
        let right = apart - self.noise * chance::normal(&mut self.random) > 0.0;
        if blind { guess } else { right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_its_weber_fraction_it_is_right_in_three_of_four_answers() {
        for weber in [0.07, 0.23, 0.5] {
            let mut observer = Observer::new(weber, 0.0, 11);
            let right = (0..20_000)
                .filter(|_| observer.tells(300.0, 300.0 * (1.0 + weber)))
                .count();
            let share = right as f64 / 20_000.0;
            assert!((share - 0.75).abs() < 0.012, "{weber}: {share}");
        }
    }

    #[test]
    fn lapses_are_guesses_and_nothing_is_told_from_nothing() {
        let mut observer = Observer::new(0.01, 0.2, 5);
        let right = (0..20_000).filter(|_| observer.tells(1.0, 10.0)).count();
        assert!((right as f64 / 20_000.0 - 0.9).abs() < 0.01, "{right}");
        let right = (0..20_000)
            .filter(|_| observer.tells(0.0, f64::NAN))
            .count();
        assert!((right as f64 / 20_000.0 - 0.5).abs() < 0.02, "{right}");
    }
}
