//! QUEST: the threshold as a probability that every answer sharpens.
//!
//! Source: Watson and Pelli 1983; the difference is placed at the posterior mean, as King-Smith et al.
//! 1994 advise. Psychometric function with guess rate 1/2 and lapse rate l, in x = log10 of the
//! difference: `P(x) = l/2 + (1 - l) (1 - 1/2 exp(-10^(beta (x - T))))`. Its slope beta = 1.35 is that of a
//! normal observer whose discriminability grows with the difference (Pelli 1985 gives 1.24 to 1.4).
//! Watson and Pelli's T is told right in 82 %; the threshold given here is where it is 75 %:
//! `x75 = T + log10(ln 2) / beta`.

use super::LEVELS;

/// Slope of the psychometric function.
const BETA: f64 = 1.35;

/// Places of the threshold that are thought of.
const PLACES: usize = 400;

/// What is believed before any answer: log10 of the threshold, mean and deviation (15 %, and a factor of
/// 2.5 either way).
const PRIOR: (f64, f64) = (-0.82, 0.4);

/// Least lapse rate that is thought of: without one a single slip would never be forgiven.
const LAPSE_MIN: f64 = 0.01;

/// A run of QUEST on its way.
#[derive(Debug, Clone)]
pub struct Quest {
    lapse: f64,
    /// Logarithm of what is believed of each place, up to a constant.
    belief: Vec<f64>,
}

impl Quest {
    /// Before any answer, with the lapse rate that is thought of.
    #[must_use]
    pub fn new(lapse: f64) -> Self {
        let (mean, deviation) = PRIOR;
        let prior = |k: usize| {
            let z = (place(k) - mean) / deviation;
            -0.5 * z * z
        };
        Self {
            lapse: lapse.max(LAPSE_MIN),
            belief: (0..PLACES).map(prior).collect(),
        }
    }

    /// The next difference.
    #[must_use]
    pub fn next(&self) -> f64 {
        self.threshold().clamp(LEVELS.0, LEVELS.1)
    }

    /// Takes the answer to a difference.
    pub fn answer(&mut self, difference: f64, right: bool) {
        let x = libm::log10(difference.max(1e-12));
        for (k, belief) in self.belief.iter_mut().enumerate() {
            let p = right_at(x, place(k), self.lapse);
            *belief += libm::log(if right { p } else { 1.0 - p });
        }
    }

    /// The difference told right in `TARGET` of the answers: posterior mean of its
    /// logarithm.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        let most = self.belief.iter().copied().fold(f64::MIN, f64::max);
        let (mut sum, mut weight) = (0.0, 0.0);
        for (k, belief) in self.belief.iter().enumerate() {
            let share = libm::exp(belief - most);
            sum += share * place(k);
            weight += share;
        }
        libm::exp10(sum / weight)
    }
}

/// log10 of the threshold (75 %) at a place.
fn place(k: usize) -> f64 {
    let (low, high) = (libm::log10(LEVELS.0), libm::log10(LEVELS.1));
    low + (high - low) * k as f64 / (PLACES - 1) as f64
}

/// Probability of a right answer at log10 difference `x`, for a threshold (75 %) at `x75`.
fn right_at(x: f64, x75: f64, lapse: f64) -> f64 {
    let growth = core::f64::consts::LN_2 * libm::exp10(BETA * (x - x75));
    0.5 * lapse + (1.0 - lapse) * (1.0 - 0.5 * libm::exp(-growth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_where_three_of_four_are_right() {
        assert!((right_at(-1.0, -1.0, 0.0) - 0.75).abs() < 1e-12);
        assert!(right_at(-9.0, -1.0, 0.0) - 0.5 < 1e-6 && right_at(1.0, -1.0, 0.02) > 0.98);
    }

    #[test]
    fn answers_move_the_belief_their_way() {
        let mut quest = Quest::new(0.02);
        let before = quest.next();
        quest.answer(before, true);
        let easier = quest.next();
        assert!(easier < before);
        quest.answer(easier, false);
        assert!(quest.next() > easier);
    }
}
