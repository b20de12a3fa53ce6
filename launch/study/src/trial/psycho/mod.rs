//! Psychophysics with a simulated observer: detectability of differences through the channel.
//!
//! Nothing here is about people. The observer ([`observer`]) is a formula with a programmed Weber fraction
//! and lapses; its stimuli come from sessions in virtual time ([`stimulus`]), and a protocol chooses the
//! differences ([`forced_choice`] stores questions and answers): [`constant`] stimuli, the weighted up-down
//! [`staircase`] of Kaernbach 1991, or [`quest`] of Watson and Pelli 1983. All of them estimate the same threshold:
//! the relative difference with the share `TARGET` of right two-alternative answers without lapses.

mod constant;
pub(crate) mod forced_choice;
mod observer;
mod quest;
mod staircase;
pub(crate) mod stimulus;

use serde::{Deserialize, Serialize};

use crate::messages::{within, wrong};

pub(crate) use forced_choice::ForcedChoice;
pub(crate) use observer::Observer;

/// Share of right answers that defines the threshold, lapses aside.
pub(crate) const TARGET: f64 = 0.75;

/// Largest share of comparisons without a measured press for which a threshold is estimated (ours): with
/// more, the prior or a few presses would decide it.
pub(crate) const UNMEASURED_MAX: f64 = 0.1;

/// Quantile of the normal distribution at [`TARGET`].
pub(crate) const Z_TARGET: f64 = 0.674_489_750_196_081_7;

/// Least and largest relative difference of a protocol.
pub(crate) const LEVELS: (f64, f64) = (0.002, 1.5);

/// Protocol: choice of the next difference, and estimation of the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PsychoProtocol {
    /// Constant stimuli: the same differences repeatedly, and a psychometric function through the answers.
    Constant,
    /// Weighted up-down staircase: easier after a wrong answer, a third of that harder after a right one.
    WeightedUpDown,
    /// QUEST: at the posterior mean of the threshold.
    #[default]
    Quest,
}

/// Parameters of protocol and observer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PsychoParams {
    /// The protocol.
    pub protocol: PsychoProtocol,
    /// Answers in a run.
    pub trials: u32,
    /// Programmed Weber fraction of the observer: the relative difference with three right answers in
    /// four.
    pub weber: f64,
    /// Share of the observer's answers that are guesses.
    pub lapse: f64,
    /// Reference of the comparison: stiffness \[N/m\], round trip \[ms\], or stiffness beside the lump \[N/m\];
    /// none for the default of the kind.
    pub reference: Option<f64>,
    /// Relative differences of constant stimuli; empty for six from a fifth of the programmed
    /// fraction to three times it.
    pub levels: Vec<f64>,
    /// Length of one interval \[s\]: one press of a sine.
    pub interval_s: f64,
}

impl Default for PsychoParams {
    fn default() -> Self {
        Self {
            protocol: PsychoProtocol::Quest,
            trials: 60,
            weber: 0.15,
            lapse: 0.02,
            reference: None,
            levels: Vec::new(),
            interval_s: 2.0,
        }
    }
}

impl PsychoParams {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub(crate) fn validate(&self) -> Result<(), String> {
        within("psycho.trials", self.trials.into(), 4.0..=1e4, "")?;
        within("psycho.weber", self.weber, 0.01..=1.0, "")?;
        within("psycho.lapse", self.lapse, 0.0..=0.2, "")?;
        within("psycho.interval_s", self.interval_s, 0.2..=60.0, "s")?;
        if let Some(reference) = self.reference {
            within("psycho.reference", reference, 0.1..=1e5, "")?;
        }
        let refused = |found: String| {
            let expected = "differences from 0.002 to 1.5, at least three";
            Err(wrong("psycho.levels", found, expected))
        };
        if !self.levels.is_empty() && self.levels.len() < 3 {
            return refused(format!("{:?}", self.levels));
        }
        let outside = |level: &&f64| !(LEVELS.0..=LEVELS.1).contains(*level);
        let first = self.levels.iter().find(outside);
        first.map_or(Ok(()), |level| refused(level.to_string()))
    }

    /// Differences of constant stimuli.
    pub(crate) fn differences(&self) -> Vec<f64> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let shares = [0.2, 0.5, 0.9, 1.3, 2.0, 3.0];
        let within = |share: f64| (share * self.weber).clamp(LEVELS.0, LEVELS.1);
        shares.map(within).to_vec()
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PsychoResult {
    /// Estimated threshold: the relative difference with the share `TARGET` of right answers; none if
    /// more than `UNMEASURED_MAX` of the comparisons could not be measured.
    pub(crate) threshold: Option<f64>,
    /// Programmed Weber fraction of a simulated observer.
    pub(crate) weber: f64,
    /// Every comparison in its order.
    pub(crate) choices: Vec<ForcedChoice>,
    /// Share of the comparisons that could not be measured and so have no answer.
    pub(crate) unmeasured_share: f64,
}

/// Runs a protocol: `answer_to` gets the number of the comparison, from 0, and a relative difference, and returns
/// stimuli and answer.
///
/// # Errors
/// Errors of `answer_to`.
pub(crate) fn run_protocol<E>(
    params: &PsychoParams,
    mut answer_to: impl FnMut(u32, f64) -> Result<ForcedChoice, E>,
) -> Result<PsychoResult, E> {
    let mut choices: Vec<ForcedChoice> = Vec::with_capacity(params.trials as usize);
    let differences = params.differences();
    let mut quest = quest::Quest::new(params.lapse);
    let mut staircase = staircase::Staircase::new();
    for number in 0..params.trials {
        let difference = match params.protocol {
            PsychoProtocol::Constant => differences[number as usize % differences.len()],
            PsychoProtocol::WeightedUpDown => staircase.next(),
            PsychoProtocol::Quest => quest.next(),
        };
        let answered = answer_to(number, difference)?;
        if let Some(right) = answered.right {
            staircase.answer(right);
            quest.answer(difference, right);
        }
        choices.push(answered);
    }
    let unmeasured = choices.iter().filter(|one| one.right.is_none()).count();
    let unmeasured_share = unmeasured as f64 / f64::from(params.trials.max(1));
    let estimable = unmeasured < choices.len() && unmeasured_share <= UNMEASURED_MAX;
    let threshold = estimable
        .then(|| forced_choice::estimate(params, &choices))
        .flatten();
    Ok(PsychoResult {
        threshold,
        weber: params.weber,
        choices,
        unmeasured_share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quartiles of the thresholds of 200 runs of 60 answers, with the differences themselves as stimuli.
    fn recovered(protocol: PsychoProtocol, weber: f64) -> [f64; 3] {
        let params = PsychoParams {
            protocol,
            weber,
            ..PsychoParams::default()
        };
        let mut found: Vec<f64> = (0..200)
            .map(|seed| {
                let mut observer = Observer::new(weber, params.lapse, seed);
                let answer_to =
                    |_, d: f64| choice(d, Some(observer.chooses_more(100.0, 100.0 * (1.0 + d))));
                let found = run_protocol(&params, answer_to).expect("answers");
                assert_eq!(found.choices.len(), 60);
                found.threshold.expect("all measured")
            })
            .collect();
        found.sort_unstable_by(f64::total_cmp);
        [49, 99, 149].map(|k| 0.5 * (found[k] + found[k + 1]))
    }

    /// Answer without measured stimuli.
    fn choice(difference: f64, right: Option<bool>) -> Result<ForcedChoice, ()> {
        Ok(ForcedChoice {
            difference,
            right,
            ..ForcedChoice::default()
        })
    }

    /// teleop goal 10: within 2 points in at most 60 answers, median of 200 runs. Its table is printed by
    /// `cargo test --release --workspace --lib recovers_the_programmed -- --nocapture`.
    #[test]
    fn every_protocol_recovers_the_programmed_weber_fraction() {
        let all = [
            PsychoProtocol::Constant,
            PsychoProtocol::WeightedUpDown,
            PsychoProtocol::Quest,
        ];
        let mut missed = Vec::new();
        for protocol in all {
            for weber in [0.07, 0.15, 0.23] {
                let [low, median, high] = recovered(protocol, weber);
                println!(
                    "{:<17} {:>5.1} % programmed: median {:>5.2} %, half of the runs in {:>5.2} to {:>5.2} %",
                    crate::messages::name(&protocol),
                    1e2 * weber,
                    1e2 * median,
                    1e2 * low,
                    1e2 * high
                );
                if (median - weber).abs() > 0.02 {
                    missed.push((protocol, weber, median));
                }
            }
        }
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn observer_without_difference_has_a_large_threshold() {
        let params = PsychoParams {
            protocol: PsychoProtocol::WeightedUpDown,
            ..PsychoParams::default()
        };
        let mut observer = Observer::new(0.15, 0.0, 4);
        // the stimuli do not differ
        let answer_to = |_, d| choice(d, Some(observer.chooses_more(100.0, 100.0)));
        let found = run_protocol(&params, answer_to).expect("answers");
        assert!(found.threshold > Some(0.5), "{:?}", found.threshold);
    }

    #[test]
    fn differences_stay_within_the_levels() {
        for protocol in [PsychoProtocol::WeightedUpDown, PsychoProtocol::Quest] {
            for right in [true, false] {
                let params = PsychoParams {
                    protocol,
                    trials: 200,
                    ..PsychoParams::default()
                };
                let found = run_protocol(&params, |_, d| choice(d, Some(right))).expect("answers");
                let within = |a: &ForcedChoice| (LEVELS.0..=LEVELS.1).contains(&a.difference);
                assert!(found.choices.iter().all(within), "{protocol:?}");
                assert!(found.threshold.is_some_and(f64::is_finite));
            }
        }
    }

    #[test]
    fn unmeasured_comparisons_are_ignored_and_too_many_yield_no_threshold() {
        for protocol in [
            PsychoProtocol::Constant,
            PsychoProtocol::WeightedUpDown,
            PsychoProtocol::Quest,
        ] {
            let params = PsychoParams {
                protocol,
                ..PsychoParams::default()
            };
            // of 60 comparisons one in `every` is not measured
            let of = |every: u32| {
                let answer_to = |number: u32, difference: f64| {
                    let measured = !(number + 1).is_multiple_of(every);
                    choice(difference, measured.then_some(difference > 0.15))
                };
                run_protocol(&params, answer_to).expect("answers")
            };
            let few = of(20);
            assert_eq!(
                (
                    few.unmeasured_share,
                    forced_choice::answers(&few.choices).count()
                ),
                (0.05, 57)
            );
            let near = |d: f64| (0.08..0.25).contains(&d);
            assert!(few.threshold.is_some_and(near), "{protocol:?} {few:?}");
            assert_eq!(of(5).threshold, None);
            assert_eq!((few.choices.len(), few.choices[19].right), (60, None));
            let none = of(1);
            assert_eq!((none.threshold, none.unmeasured_share), (None, 1.0));
        }
    }
}
