//! QUEST: Bayesian estimation of the threshold, updated by every answer.
//!
//! Source: Watson and Pelli 1983; the difference is placed at the posterior mean, as King-Smith et al.
//! 1994 advise. Psychometric function with guess rate 1/2 and lapse rate l, in x = log10 of the
//! difference: `P(x) = l/2 + (1 - l) (1 - 1/2 exp(-10^(beta (x - T))))`. Its slope beta = 1.35 is that of a
//! normal observer whose discriminability grows with the difference (Pelli 1985 gives 1.24 to 1.4).
//! Watson and Pelli's T has 82 % right answers; the threshold of this module has 75 %:
//! `x75 = T + log10(ln 2) / beta`.

use super::LEVELS;

/// Slope of the psychometric function.
const BETA: f64 = 1.35;

/// Candidate thresholds.
const CANDIDATES: usize = 400;

/// Prior of the threshold: its log10, mean and deviation (15 %, and a factor of
/// 2.5 either way).
const PRIOR: (f64, f64) = (-0.82, 0.4);

/// Least lapse rate of the model: without one, a single slip would never be forgiven.
pub(super) const LAPSE_MIN: f64 = 0.01;

/// State of a run of QUEST.
#[derive(Debug, Clone)]
pub(crate) struct Quest {
    lapse: f64,
    /// Logarithm of the posterior of each candidate, up to a constant.
    log_posterior: Vec<f64>,
}

impl Quest {
    /// Run before any answer, with a lapse rate.
    pub(crate) fn new(lapse: f64) -> Self {
        let (mean, deviation) = PRIOR;
        let prior = |k: usize| {
            let z = (candidate(k) - mean) / deviation;
            -0.5 * z * z
        };
        Self {
            lapse: lapse.max(LAPSE_MIN),
            log_posterior: (0..CANDIDATES).map(prior).collect(),
        }
    }

    /// Next difference.
    pub(crate) fn next(&self) -> f64 {
        self.threshold().clamp(LEVELS.0, LEVELS.1)
    }

    /// Takes the answer to a difference.
    pub(crate) fn answer(&mut self, difference: f64, right: bool) {
        let x = libm::log10(difference.max(1e-12));
        for (k, log_posterior) in self.log_posterior.iter_mut().enumerate() {
            let p = right_at(x, candidate(k), self.lapse);
            *log_posterior += libm::log(if right { p } else { 1.0 - p });
        }
    }

    /// Difference with the share `TARGET` of right answers: posterior mean of its
    /// logarithm.
    pub(crate) fn threshold(&self) -> f64 {
        let most = self.log_posterior.iter().copied().fold(f64::MIN, f64::max);
        let (mut sum, mut weight) = (0.0, 0.0);
        for (k, log_posterior) in self.log_posterior.iter().enumerate() {
            let share = libm::exp(log_posterior - most);
            sum += share * candidate(k);
            weight += share;
        }
        libm::exp10(sum / weight)
    }
}

/// log10 of the threshold (75 %) of a candidate.
fn candidate(k: usize) -> f64 {
    let (low, high) = (libm::log10(LEVELS.0), libm::log10(LEVELS.1));
    low + (high - low) * k as f64 / (CANDIDATES - 1) as f64
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
    fn threshold_has_three_right_of_four() {
        assert!((right_at(-1.0, -1.0, 0.0) - 0.75).abs() < 1e-12);
        assert!(right_at(-9.0, -1.0, 0.0) - 0.5 < 1e-6 && right_at(1.0, -1.0, 0.02) > 0.98);
    }

    #[test]
    fn answers_move_the_estimate() {
        let mut quest = Quest::new(0.02);
        let before = quest.next();
        quest.answer(before, true);
        let easier = quest.next();
        assert!(easier < before);
        quest.answer(easier, false);
        assert!(quest.next() > easier);
    }
}
