//! One comparison of a run: what was shown, which interval was told, and what is thought of the threshold since.
//!
//! Source: ours. The estimate is not kept but derived, as it is a function of the answers before it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::{Answer, Protocol, PsychoParams, constant, quest};
use crate::trial::exact;

/// What was shown in two intervals, and told of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Told {
    /// Quantity shown of the reference, in the unit of the kind; nothing if it could not be measured.
    pub less: Option<f64>,
    /// Quantity shown of the other alternative.
    pub more: Option<f64>,
    /// Whether the other alternative came in the second interval.
    pub more_second: bool,
    /// Whether it was told right; nothing if what was shown could not be measured, which is evidence neither
    /// way.
    pub right: Option<bool>,
}

/// A comparison as it is kept with the row of its run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Relative difference that was set.
    #[serde(with = "exact::one")]
    pub difference: f64,
    /// Quantity shown of the reference, in the unit of the kind; nothing if it could not be measured.
    #[serde(with = "exact::maybe")]
    pub less: Option<f64>,
    /// Quantity shown of the other alternative.
    #[serde(with = "exact::maybe")]
    pub more: Option<f64>,
    /// Whether the other alternative came in the second interval.
    pub more_second: bool,
    /// Whether it was told right; nothing if it could not be asked.
    pub right: Option<bool>,
}

impl Asked {
    /// A difference, with what was shown and told.
    #[must_use]
    pub fn new(difference: f64, told: Told) -> Self {
        Self {
            difference,
            less: told.less,
            more: told.more,
            more_second: told.more_second,
            right: told.right,
        }
    }

    /// Difference and answer, if there was one.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        let difference = self.difference;
        self.right.map(|right| Answer { difference, right })
    }

    /// Interval in which the larger difference was, 1 or 2.
    #[must_use]
    pub fn interval(&self) -> u64 {
        1 + u64::from(self.more_second)
    }

    /// Interval that the observer named, 1 or 2, if it was asked.
    #[must_use]
    pub fn told(&self) -> Option<u64> {
        let named = |right: bool| 1 + u64::from(self.more_second == right);
        self.right.map(named)
    }
}

/// Estimated threshold after the comparison of number `last`, from 0; nothing before the first answer.
#[must_use]
pub fn estimate(params: &PsychoParams, asked: &[Asked], last: usize) -> Option<f64> {
    let so_far = asked.iter().take(last.saturating_add(1));
    let answers: Vec<Answer> = so_far.filter_map(Asked::answer).collect();
    if answers.is_empty() {
        return None;
    }
    Some(match params.protocol {
        Protocol::Constant | Protocol::WeightedUpDown => {
            constant::threshold(&answers, params.lapse)
        }
        Protocol::Quest => {
            let mut quest = quest::Quest::new(params.lapse);
            for answer in &answers {
                quest.answer(answer.difference, answer.right);
            }
            quest.threshold()
        }
    })
}

/// Whether the larger difference of each comparison comes second, drawn evenly from the seed of a run.
#[derive(Debug, Clone)]
pub struct Order(Xoshiro256PlusPlus);

impl Order {
    /// Of a run.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // another stream than the observer's
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.jump();
        Self(random)
    }

    /// Of the next comparison.
    pub fn more_second(&mut self) -> bool {
        self.0.next_u64() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_named_is_that_of_the_answer() {
        for (more_second, right, interval, told) in [
            (false, Some(true), 1, Some(1)),
            (false, Some(false), 1, Some(2)),
            (true, Some(true), 2, Some(2)),
            (true, Some(false), 2, Some(1)),
            (true, None, 2, None),
        ] {
            let shown = Told {
                more_second,
                right,
                ..Told::default()
            };
            let asked = Asked::new(0.1, shown);
            assert_eq!((asked.interval(), asked.told()), (interval, told));
        }
    }

    #[test]
    fn either_interval_is_as_likely_and_a_seed_tells_which() {
        let mut order = Order::new(5);
        let drawn: Vec<bool> = (0..2000).map(|_| order.more_second()).collect();
        let second = drawn.iter().filter(|second| **second).count();
        assert!((900..1100).contains(&second), "{second}");
        let mut again = Order::new(5);
        assert!(drawn.iter().all(|second| again.more_second() == *second));
    }

    #[test]
    fn the_estimate_is_of_the_answers_so_far() {
        let of = |difference, right| {
            let told = Told {
                right,
                ..Told::default()
            };
            Asked::new(difference, told)
        };
        let asked = [of(0.3, None), of(0.3, Some(true)), of(0.1, Some(false))];
        for protocol in [Protocol::Quest, Protocol::WeightedUpDown] {
            let params = PsychoParams {
                protocol,
                ..PsychoParams::default()
            };
            let at = |last| estimate(&params, &asked, last);
            assert_eq!(at(0), None);
            assert!(at(1) < at(2), "{protocol:?}: a wrong answer raises it");
            assert_eq!(at(2), at(9));
        }
    }
}
