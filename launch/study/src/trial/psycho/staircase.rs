//! Weighted up-down staircase.
//!
//! Source: Kaernbach 1991: with steps `up` after a wrong and `down` after a right answer the staircase
//! settles where `p down = (1 - p) up`; for p = 0.75 the step up is three times the step down. Levels are
//! logarithms of the difference, so one start serves all observers. The staircase only chooses differences:
//! the threshold is the most likely one given all answers ([`super::constant`]). The mean of the
//! levels, or of the reversals, is 10 to 20 % too high in 60 answers (200 simulated runs). Source of the step
//! sizes: ours.

use super::{LEVELS, TARGET};

/// Step down \[natural logarithm\]: large until the second reversal, then small.
const STEPS: [f64; 2] = [0.35, 0.12];

/// Reversals with large steps.
const LARGE_STEP_REVERSALS: usize = 2;

/// First difference: obvious to anybody.
const START: f64 = 0.6;

/// State of a staircase.
#[derive(Debug, Clone)]
pub(crate) struct Staircase {
    level: f64,
    last: Option<bool>,
    turns: usize,
}

impl Staircase {
    /// Staircase at its start.
    pub(crate) fn new() -> Self {
        Self {
            level: libm::log(START),
            last: None,
            turns: 0,
        }
    }

    /// Next difference.
    pub(crate) fn next(&self) -> f64 {
        libm::exp(self.level).clamp(LEVELS.0, LEVELS.1)
    }

    /// Takes the answer to that difference.
    pub(crate) fn answer(&mut self, right: bool) {
        if self.last.is_some_and(|last| last != right) {
            self.turns += 1;
        }
        self.last = Some(right);
        let down = STEPS[usize::from(self.turns >= LARGE_STEP_REVERSALS)];
        let up = down * TARGET / (1.0 - TARGET);
        let moved = self.level + if right { -down } else { up };
        self.level = moved.clamp(libm::log(LEVELS.0), libm::log(LEVELS.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_right_answers_undo_one_wrong() {
        let mut staircase = Staircase::new();
        for right in [true, true, false, true] {
            staircase.answer(right);
        }
        let before = staircase.next();
        for right in [false, true, true, true] {
            staircase.answer(right);
        }
        assert!((staircase.next() - before).abs() < 1e-12);
    }
}
