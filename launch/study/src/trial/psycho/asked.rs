//! One comparison of a run: what was shown, whether it was told right, and what is thought of the threshold since.
//!
//! Source: ours. The estimate is not kept but derived, as it is a function of the answers before it.

use serde::{Deserialize, Serialize};

use super::{Answer, Protocol, PsychoParams, constant, quest};
use crate::trial::exact;

/// What was shown of two alternatives, and told of them. A formula has no bias to either, so they have no order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Told {
    /// Quantity shown of the reference, in the unit of the kind; nothing if it could not be measured.
    pub less: Option<f64>,
    /// Quantity shown of the other alternative.
    pub more: Option<f64>,
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
            right: told.right,
        }
    }

    /// Difference and answer, if there was one.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        let difference = self.difference;
        self.right.map(|right| Answer { difference, right })
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

#[cfg(test)]
mod tests {
    use super::*;

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
