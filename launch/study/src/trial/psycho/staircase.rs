//! The weighted up-down staircase.
//!
//! Source: Kaernbach 1991: with steps `up` after a wrong and `down` after a right answer the staircase
//! settles where `p down = (1 - p) up`; for p = 0.75 the step up is three times the step down. Levels are
//! logarithms of the difference, so one start serves all observers. The staircase only chooses differences:
//! the threshold is the most likely one given all answers ([`super::constant`]), because the mean of the
//! levels, or of the turns, lies 10 to 20 % too high in 60 answers (200 simulated runs). Source of the step
//! sizes: ours.

use super::{LEVELS, TARGET};

/// Step down \[natural logarithm\]: large until the second turn, then small.
const STEPS: [f64; 2] = [0.35, 0.12];

/// Turns with large steps.
const TURNS: usize = 2;

/// First difference: easy for anybody.
const START: f64 = 0.6;

/// A staircase on its way.
#[derive(Debug, Clone)]
pub(crate) struct Staircase {
    level: f64,
    last: Option<bool>,
    turns: usize,
}

impl Default for Staircase {
    fn default() -> Self {
        Self::new()
    }
}

impl Staircase {
    /// At its start.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            level: libm::log(START),
            last: None,
            turns: 0,
        }
    }

    /// The next difference.
    #[must_use]
    pub(crate) fn next(&self) -> f64 {
        libm::exp(self.level).clamp(LEVELS.0, LEVELS.1)
    }

    /// Takes the answer to it.
    pub(crate) fn answer(&mut self, right: bool) {
        if self.last.is_some_and(|last| last != right) {
            self.turns += 1;
        }
        self.last = Some(right);
        let down = STEPS[usize::from(self.turns >= TURNS)];
        let up = down * TARGET / (1.0 - TARGET);
        let moved = self.level + if right { -down } else { up };
        self.level = moved.clamp(libm::log(LEVELS.0), libm::log(LEVELS.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_right_answers_undo_a_wrong_one() {
        let mut stairs = Staircase::new();
        for right in [true, true, false, true] {
            stairs.answer(right);
        }
        let before = stairs.next();
        for right in [false, true, true, true] {
            stairs.answer(right);
        }
        assert!((stairs.next() - before).abs() < 1e-12);
    }
}
