//! Simulated observer: a Weber fraction, lapses, and a seed. It supports no claims about people.
//!
//! Source: ours, after Fechner: the percept is the logarithm of the quantity with normal noise,
//! `p = ln q + s n`. So a relative difference d is judged right with the probability
//! `Phi(ln(1 + d) / (sqrt(2) s))`, and the programmed Weber fraction w has the probability
//! `TARGET`: `s = ln(1 + w) / (sqrt(2) z)`, with z its normal quantile.

use palpate_transport::random;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::Z_TARGET;

/// Least distinguishable quantity, as a share of the other one: keeps the logarithm finite.
const LEAST: f64 = 1e-6;

/// Simulated observer.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    noise: f64,
    lapse: f64,
    random: Xoshiro256PlusPlus,
}

impl Observer {
    /// Observer with a programmed Weber fraction above 0, a share of guesses, and a seed.
    pub(crate) fn new(weber: f64, lapse: f64, seed: u64) -> Self {
        Self {
            noise: libm::log1p(weber.max(1e-9)) / (core::f64::consts::SQRT_2 * Z_TARGET),
            lapse,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// True if the observer judges `more` larger than `less`; both are quantities that the channel displays, and one
    /// that is not finite counts as almost nothing.
    pub(crate) fn chooses_more(&mut self, less: f64, more: f64) -> bool {
        let lapses = random::uniform(&mut self.random) < self.lapse;
        let guess = random::uniform(&mut self.random) < 0.5;
        let floor = LEAST * less.abs().max(more.abs()).max(1e-300);
        let percept = |value: f64| {
            let known = if value.is_finite() { value } else { 0.0 };
            libm::log(known.max(floor))
        };
        let difference =
            percept(more) + self.noise * random::normal(&mut self.random) - percept(less);
        let right = difference - self.noise * random::normal(&mut self.random) > 0.0;
        if lapses { guess } else { right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observer_is_right_in_three_of_four_at_its_weber_fraction() {
        for weber in [0.07, 0.23, 0.5] {
            let mut observer = Observer::new(weber, 0.0, 11);
            let right = (0..20_000)
                .filter(|_| observer.chooses_more(300.0, 300.0 * (1.0 + weber)))
                .count();
            let share = right as f64 / 20_000.0;
            assert!((share - 0.75).abs() < 0.012, "{weber}: {share}");
        }
    }

    #[test]
    fn lapses_are_guesses_and_equal_stimuli_are_indistinguishable() {
        let mut observer = Observer::new(0.01, 0.2, 5);
        let right = (0..20_000)
            .filter(|_| observer.chooses_more(1.0, 10.0))
            .count();
        assert!((right as f64 / 20_000.0 - 0.9).abs() < 0.01, "{right}");
        let right = (0..20_000)
            .filter(|_| observer.chooses_more(0.0, f64::NAN))
            .count();
        assert!((right as f64 / 20_000.0 - 0.5).abs() < 0.02, "{right}");
    }
}
