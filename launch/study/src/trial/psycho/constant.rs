//! Constant stimuli: a psychometric function through all answers.
//!
//! Source: textbook; maximum likelihood of `P(d) = l/2 + (1 - l) Phi(z75 ln(1 + d) / ln(1 + w))` over w, by
//! a search on a fine grid, since the likelihood has one peak.

use super::forced_choice::{ForcedChoice, answers};
use super::quest::LAPSE_MIN;
use super::{LEVELS, Z_TARGET};

/// Number of candidate thresholds: steps of 1 %.
const CANDIDATES: usize = 670;

/// Maximum-likelihood threshold of the answers.
pub(super) fn threshold(asked: &[ForcedChoice], lapse: f64) -> f64 {
    let lapse = lapse.max(LAPSE_MIN);
    let likelihood = |weber: f64| {
        let scale = Z_TARGET / libm::log1p(weber);
        let one = |(difference, right)| {
            let right_share = phi(scale * libm::log1p(difference));
            let p = 0.5 * lapse + (1.0 - lapse) * right_share;
            libm::log(if right { p } else { 1.0 - p })
        };
        answers(asked).map(one).sum::<f64>()
    };
    let mut best = (f64::NEG_INFINITY, LEVELS.1);
    for k in 0..CANDIDATES {
        let share = k as f64 / (CANDIDATES - 1) as f64;
        let weber = LEVELS.0 * libm::pow(LEVELS.1 / LEVELS.0, share);
        let found = likelihood(weber);
        if found > best.0 {
            best = (found, weber);
        }
    }
    best.1
}

/// Normal distribution function.
fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_right_in_four_is_the_threshold() {
        // 75 of 100 right at 0.1, no lapses
        let answers: Vec<ForcedChoice> = (0..100)
            .map(|k| ForcedChoice {
                difference: 0.1,
                right: Some(k % 4 != 0),
                ..ForcedChoice::default()
            })
            .collect();
        let found = threshold(&answers, 0.0);
        assert!((found - 0.1).abs() < 0.004, "{found}");
    }
}
