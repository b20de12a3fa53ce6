//! Constant stimuli: a psychometric function through all answers.
//!
//! Source: textbook; maximum likelihood of `P(d) = l/2 + (1 - l) Phi(z75 ln(1 + d) / ln(1 + w))` over w, by
//! a search on a fine grid, since the likelihood has one peak.

use super::{Answer, LEVELS, Z_TARGET};

/// Thresholds that are tried: steps of 1 %.
const TRIED: usize = 670;

/// Least lapse rate that is thought of, as in [`super::quest`].
const LAPSE_MIN: f64 = 0.01;

/// The threshold that makes the answers most likely.
#[must_use]
pub fn threshold(answers: &[Answer], lapse: f64) -> f64 {
    let lapse = lapse.max(LAPSE_MIN);
    let likelihood = |weber: f64| {
        let scale = Z_TARGET / libm::log1p(weber);
        let one = |answer: &Answer| {
            let told = phi(scale * libm::log1p(answer.difference));
            let p = 0.5 * lapse + (1.0 - lapse) * told;
            libm::log(if answer.right { p } else { 1.0 - p })
        };
        answers.iter().map(one).sum::<f64>()
    };
    let mut best = (f64::NEG_INFINITY, LEVELS.1);
    for k in 0..TRIED {
        let share = k as f64 / (TRIED - 1) as f64;
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
    fn a_share_of_three_in_four_is_the_threshold() {
        // 75 of 100 right at 0.1, lapses not thought of
        let answers: Vec<Answer> = (0..100)
            .map(|k| Answer {
                difference: 0.1,
                right: k % 4 != 0,
            })
            .collect();
        let found = threshold(&answers, 0.0);
        assert!((found - 0.1).abs() < 0.004, "{found}");
    }
}
