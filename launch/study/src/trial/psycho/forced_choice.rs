//! Comparison of a run: its stimuli, its answer, and the threshold estimated so far.
//!
//! Source: ours. The estimate is not stored but derived, as it is a function of the answers before it.

use serde::{Deserialize, Serialize};

use super::{PsychoParams, PsychoProtocol, constant, quest};
use crate::trial::number_text;

/// Comparison as stored with the row of its run: the stimuli of two alternatives, and the answer. A formula
/// has no bias to either, so they have no order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ForcedChoice {
    /// Relative difference that was set.
    #[serde(with = "number_text")]
    pub(crate) difference: f64,
    /// Measured quantity of the reference, in the unit of the kind; none if it could not be measured.
    #[serde(with = "number_text")]
    pub(crate) less: Option<f64>,
    /// Measured quantity of the other alternative.
    #[serde(with = "number_text")]
    pub(crate) more: Option<f64>,
    /// True for a right answer; none if a stimulus could not be measured, which is no evidence either
    /// way.
    pub(crate) right: Option<bool>,
}

/// Differences with their answers, if there was one.
pub(crate) fn answers(choices: &[ForcedChoice]) -> impl Iterator<Item = (f64, bool)> {
    choices
        .iter()
        .filter_map(|one| Some((one.difference, one.right?)))
}

/// Estimated threshold after these comparisons; none before the first answer.
pub(crate) fn estimate(params: &PsychoParams, choices: &[ForcedChoice]) -> Option<f64> {
    answers(choices).next()?;
    Some(match params.protocol {
        PsychoProtocol::Constant | PsychoProtocol::WeightedUpDown => {
            constant::threshold(choices, params.lapse)
        }
        PsychoProtocol::Quest => {
            let mut quest = quest::Quest::new(params.lapse);
            for (difference, right) in answers(choices) {
                quest.answer(difference, right);
            }
            quest.threshold()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_uses_the_answers_so_far() {
        let of = |difference, right| ForcedChoice {
            difference,
            right,
            ..ForcedChoice::default()
        };
        let choices = [of(0.3, None), of(0.3, Some(true)), of(0.1, Some(false))];
        for protocol in [PsychoProtocol::Quest, PsychoProtocol::WeightedUpDown] {
            let params = PsychoParams {
                protocol,
                ..PsychoParams::default()
            };
            let of_first = |count: usize| estimate(&params, &choices[..count]);
            assert_eq!(of_first(1), None);
            assert!(
                of_first(2) < of_first(3),
                "{protocol:?}: a wrong answer raises it"
            );
        }
    }
}
