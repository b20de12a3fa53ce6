//! Trials with a person: questions on a page, their order, and the facts that the page receives.
//!
//! A person answers the same questions as a simulated observer, by the same protocols, and the answers go to the same
//! tables under another name. A folder holds rows of one observer, who is part of the trial's hash. The order of
//! rows, and the interval of a comparison with the larger stimulus, are drawn from seeds, so an interrupted row is
//! continued unchanged ([`answer_file`]). The facts of a page (`page_facts`) contain neither. Source: ours; two
//! intervals after Green and Swets 1966.

pub mod answer_file;
pub mod controller;
pub mod search;
pub mod sitting;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::file::TrialKind;
use super::plan::PlannedRow;
use crate::messages::within;

/// Relative difference of a practice comparison: obvious to anybody.
pub(crate) const PRACTICE_DIFFERENCE: f64 = 1.5;

/// Source of the answers of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Respondent {
    /// Simulated observer.
    #[default]
    Simulated,
    /// Person, by a code without personal data.
    Person(String),
    /// Program that clicks, by its name.
    Machine(String),
}

/// Prefix of the codes of programs.
const MACHINE: &str = "machine";

impl Respondent {
    /// Respondent of a code: letters, digits, `-` and `_`; a code that begins with `machine` is a program.
    ///
    /// # Errors
    /// Description of a valid code.
    pub fn from_code(code: &str) -> Result<Self, String> {
        let known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if code.is_empty() || code.len() > 32 || !code.chars().all(known) {
            return Err(
                "expected a code of up to 32 letters, digits, - and _, and no name of a person"
                    .into(),
            );
        }
        let of = if code.starts_with(MACHINE) {
            Self::Machine
        } else {
            Self::Person
        };
        Ok(of(code.to_owned()))
    }

    /// Kind of respondent: the column `observer`.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Person(_) => "person",
            Self::Machine(_) => MACHINE,
        }
    }

    /// Code: the column `participant`; none for a simulated observer.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Simulated => None,
            Self::Person(code) | Self::Machine(code) => Some(code),
        }
    }

    /// Description for a page; `handle` is the device of the handle.
    #[must_use]
    pub(crate) fn description(&self, handle: &str) -> String {
        match self {
            Self::Simulated => "simulated observer".into(),
            Self::Person(code) => format!("person {code}, with the {handle}"),
            Self::Machine(code) => {
                format!("a program that clicks, {code}, with the {handle}, and no person")
            }
        }
    }
}

/// Parameters of a trial with a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PersonParams {
    /// Number of initial practice comparisons or searches, which do not count and give feedback.
    pub practice: u32,
    /// Comparisons between two breaks.
    pub pause_every: u32,
    /// Longest time for one of the two intervals \[s\].
    pub interval_s: f64,
    /// Longest time for a search \[s\].
    pub search_s: f64,
}

impl Default for PersonParams {
    fn default() -> Self {
        Self {
            practice: 2,
            pause_every: 15,
            interval_s: 8.0,
            search_s: 60.0,
        }
    }
}

impl PersonParams {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub(crate) fn validate(&self) -> Result<(), String> {
        within("person.practice", self.practice.into(), 0.0..=100.0, "")?;
        within("person.pause_every", self.pause_every.into(), 1.0..=1e4, "")?;
        within("person.interval_s", self.interval_s, 1.0..=120.0, "s")?;
        within("person.search_s", self.search_s, 1.0..=3600.0, "s")
    }
}

/// Phase of a sitting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SittingPhase {
    /// Waits before the first comparison, or after a break.
    Ready,
    /// Presents interval 1 or 2.
    Interval(u8),
    /// Stopped until enabled again; the interval is then repeated.
    Stopped,
    /// Pauses between the intervals.
    Gap,
    /// Waits for the answer.
    Ask,
    /// Searches for a lump.
    Search,
    /// A break.
    Break,
    /// Feedback of practice: true for a right answer.
    Feedback(bool),
    /// All rows are done.
    Done,
}

/// Progress of a sitting.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SittingProgress {
    /// Number of the comparison in its block, from 1; 0 before it begins.
    pub number: u32,
    /// Comparisons of a block.
    pub of: u32,
    /// Number of the block, from 1.
    pub block: usize,
    /// Blocks.
    pub blocks: usize,
    /// True for practice, which does not count.
    pub practice: bool,
}

/// Facts for a page: progress, question, and time limit. Neither condition nor order.
pub(crate) fn page_facts(
    kind: TrialKind,
    progress: &SittingProgress,
    phase: SittingPhase,
    limit_s: f64,
) -> Value {
    let (name, interval, right) = match phase {
        SittingPhase::Ready => ("ready", 0, None),
        SittingPhase::Interval(number) => ("interval", number, None),
        SittingPhase::Stopped => ("stopped", 0, None),
        SittingPhase::Gap => ("gap", 0, None),
        SittingPhase::Ask => ("ask", 0, None),
        SittingPhase::Search => ("search", 0, None),
        SittingPhase::Break => ("break", 0, None),
        SittingPhase::Feedback(right) => ("told", 0, Some(right)),
        SittingPhase::Done => ("done", 0, None),
    };
    json!({
        "phase": name,
        "interval": interval,
        "right": right,
        "question": question(kind),
        "search": kind == TrialKind::Search,
        "limit_s": limit_s,
        "number": progress.number,
        "of": progress.of,
        "block": progress.block,
        "blocks": progress.blocks,
        "practice": progress.practice,
    })
}

fn question(kind: TrialKind) -> &'static str {
    match kind {
        TrialKind::Delay => "Which of the two answered later?",
        TrialKind::Search => "Where is the lump?",
        _ => "Which of the two was stiffer?",
    }
}

/// True if the first interval of a comparison has the larger stimulus: drawn from the row's seed.
pub(crate) fn more_is_first(row_seed: u64, number: u32) -> bool {
    draw_number(row_seed, b"order", u64::from(number)) & 1 == 0
}

/// Shuffles the rows into the order for a person: drawn from the trial's hash and the code.
pub(crate) fn shuffle_rows(planned_rows: &mut [PlannedRow], hash: &str, code: &str) {
    let seed = xxh3_64([hash, code].concat().as_bytes());
    planned_rows.sort_by_key(|planned| draw_number(seed, b"row", planned.index as u64));
}

/// Number drawn from a seed, a purpose and a count.
#[must_use]
pub(crate) fn draw_number(seed: u64, purpose: &[u8], count: u64) -> u64 {
    let mut hash = Xxh3::with_seed(seed);
    hash.update(purpose);
    hash.update(&count.to_le_bytes());
    // all bits of this hash are equally good
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_distinguish_persons_and_machines() {
        assert_eq!(
            Respondent::from_code("P07"),
            Ok(Respondent::Person("P07".into()))
        );
        let machine = Respondent::from_code("machine-test").expect("a code");
        assert_eq!(
            (machine.kind(), machine.code()),
            ("machine", Some("machine-test"))
        );
        for bad in ["", "a b", "x/../y", &"x".repeat(33)] {
            assert!(Respondent::from_code(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn larger_interval_is_balanced_and_drawn_from_seed() {
        let of = |seed| {
            (0..2000)
                .filter(|&number| more_is_first(seed, number))
                .count()
        };
        for seed in [1, 2, 99] {
            assert!((900..1100).contains(&of(seed)), "{}", of(seed));
            assert_eq!(of(seed), of(seed));
        }
        let same = (0..2000)
            .filter(|&n| more_is_first(1, n) == more_is_first(2, n))
            .count();
        assert!(
            (900..1100).contains(&same),
            "seeds do not go together: {same}"
        );
    }

    #[test]
    fn row_order_is_drawn_from_code() {
        let order = |code| {
            let planned = |index| PlannedRow {
                index,
                condition: 0,
                seed: 1,
                repeat: index,
            };
            let mut planned_rows: Vec<PlannedRow> = (0..20).map(planned).collect();
            shuffle_rows(&mut planned_rows, "hash", code);
            planned_rows
                .iter()
                .map(|planned| planned.index)
                .collect::<Vec<_>>()
        };
        assert_eq!(order("a"), order("a"));
        assert_ne!(order("a"), order("b"));
        assert_ne!(order("a"), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn page_facts_of_intervals_differ_only_by_number() {
        let progress = SittingProgress {
            number: 3,
            of: 40,
            block: 1,
            blocks: 4,
            practice: false,
        };
        let of = |number| {
            page_facts(
                TrialKind::Stiffness,
                &progress,
                SittingPhase::Interval(number),
                8.0,
            )
        };
        let (mut first, mut second) = (of(1), of(2));
        for one in [&mut first, &mut second] {
            let number = one.as_object_mut().expect("an object").remove("interval");
            assert!(number.is_some());
        }
        assert_eq!(first, second);
        let known = [
            "phase", "right", "question", "search", "limit_s", "number", "of", "block", "blocks",
            "practice",
        ];
        let names: Vec<_> = first
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        assert!(
            names.iter().all(|name| known.contains(&name.as_str())),
            "{names:?}"
        );
    }
}
