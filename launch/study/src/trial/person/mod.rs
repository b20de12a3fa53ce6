//! Trials with a person: what is asked in a page, in which order, and what the page may know.
//!
//! A person is asked the same as a simulated observer, by the same protocols, and the answers go to the same tables
//! under another name: a folder holds rows of one observer, as whose they are is part of the trial's hash. The order of
//! rows, and which interval of a comparison has the more, are drawn from seeds, so an aborted row is gone on with as it
//! was ([`kept`]). What a page is told ([`sight`]) names neither. Source: ours; two intervals after Green and Swets 1966.

pub mod desk;
pub mod kept;
pub mod search;
pub mod sitting;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::file::Kind;
use super::plan::Cell;
use super::psycho::WrongField;

/// Relative difference of a practice comparison: plain to anybody.
pub(crate) const PRACTICE: f64 = 1.5;

/// Whose answers those of a trial are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Who {
    /// A formula's.
    #[default]
    Simulated,
    /// A person's, by a code that says nothing else of them.
    Person(String),
    /// Those of a program that clicks, by its name.
    Machine(String),
}

/// How a program that clicks names itself.
const MACHINE: &str = "machine";

impl Who {
    /// Of a code: letters, digits, `-` and `_`; what begins with `machine` is no person.
    ///
    /// # Errors
    /// What a code may be.
    pub fn coded(code: &str) -> Result<Self, String> {
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

    /// What answers: the column `observer`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Person(_) => "person",
            Self::Machine(_) => MACHINE,
        }
    }

    /// Who answers: the column `participant`, which a formula has not.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Simulated => None,
            Self::Person(code) | Self::Machine(code) => Some(code),
        }
    }

    /// In words, for a page; `handle` is what led the handle.
    #[must_use]
    pub fn words(&self, handle: &str) -> String {
        match self {
            Self::Simulated => "simulated observer".into(),
            Self::Person(code) => format!("person {code}, with the {handle}"),
            Self::Machine(code) => {
                format!("a program that clicks, {code}, with the {handle}, and no person")
            }
        }
    }
}

/// How a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PersonParams {
    /// Comparisons or searches to begin with that do not count, and whose answers are told.
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
    pub fn validate(&self) -> Result<(), WrongField> {
        let within =
            |name, value: f64, low: f64, high: f64, expected| match (low..=high).contains(&value) {
                true => Ok(()),
                false => Err((name, value.to_string(), expected)),
            };
        within(
            "person.practice",
            self.practice.into(),
            0.0,
            100.0,
            "0 to 100",
        )?;
        within(
            "person.pause_every",
            self.pause_every.into(),
            1.0,
            10_000.0,
            "1 to 10000",
        )?;
        within(
            "person.interval_s",
            self.interval_s,
            1.0,
            120.0,
            "1 to 120 s",
        )?;
        within("person.search_s", self.search_s, 1.0, 3600.0, "1 to 3600 s")
    }
}

/// Where in a trial a person is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// Before the first, or after a break.
    Ready,
    /// Feeling one of two intervals, 1 or 2.
    Interval(u8),
    /// Stopped, until it is enabled; what was stopped is then felt again.
    Stopped,
    /// Between the two.
    Gap,
    /// To answer.
    Ask,
    /// Looking for a lump.
    Search,
    /// A break.
    Break,
    /// Told what was right, which only practice is.
    Told(bool),
    /// All is done.
    Done,
}

/// Where in the trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Number of the comparison in its block, from 1; 0 before it begins.
    pub number: u32,
    /// Comparisons of a block.
    pub of: u32,
    /// Number of the block, from 1.
    pub block: usize,
    /// Blocks.
    pub blocks: usize,
    /// Whether it does not count.
    pub practice: bool,
}

/// What a page is told: where it is, what is asked, and how long there is. Neither condition nor order.
#[must_use]
pub fn sight(kind: Kind, place: &Place, phase: Phase, limit_s: f64) -> Value {
    let (name, interval) = match phase {
        Phase::Ready => ("ready", 0),
        Phase::Interval(number) => ("interval", number),
        Phase::Stopped => ("stopped", 0),
        Phase::Gap => ("gap", 0),
        Phase::Ask => ("ask", 0),
        Phase::Search => ("search", 0),
        Phase::Break => ("break", 0),
        Phase::Told(_) => ("told", 0),
        Phase::Done => ("done", 0),
    };
    let right = match phase {
        Phase::Told(right) => Some(right),
        _ => None,
    };
    json!({
        "phase": name,
        "interval": interval,
        "right": right,
        "question": question(kind),
        "search": kind == Kind::Search,
        "limit_s": limit_s,
        "number": place.number,
        "of": place.of,
        "block": place.block,
        "blocks": place.blocks,
        "practice": place.practice,
    })
}

fn question(kind: Kind) -> &'static str {
    match kind {
        Kind::Delay => "Which of the two answered later?",
        Kind::Search => "Where is the lump?",
        _ => "Which of the two was stiffer?",
    }
}

/// Whether the first interval has the more, of a comparison of a row: drawn from the row's seed.
#[must_use]
pub(crate) fn more_is_first(row_seed: u64, number: u32) -> bool {
    draw(row_seed, b"order", u64::from(number)) & 1 == 0
}

/// The rows in the order in which a person meets them: drawn from the trial's hash and the code.
pub(crate) fn deal(cells: &mut [Cell], hash: &str, code: &str) {
    let mut seed = Xxh3::new();
    seed.update(hash.as_bytes());
    seed.update(code.as_bytes());
    let seed = seed.digest();
    cells.sort_by_key(|cell| draw(seed, b"row", cell.index as u64));
}

/// A number of a seed, a purpose and a count.
#[must_use]
pub fn draw(seed: u64, what: &[u8], count: u64) -> u64 {
    let mut hash = Xxh3::with_seed(seed);
    hash.update(what);
    hash.update(&count.to_le_bytes());
    // the lowest bit of this hash is as good as any
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_no_name_and_a_machine_is_no_person() {
        assert_eq!(Who::coded("P07"), Ok(Who::Person("P07".into())));
        let machine = Who::coded("machine-test").expect("a code");
        assert_eq!(
            (machine.kind(), machine.code()),
            ("machine", Some("machine-test"))
        );
        for bad in ["", "a b", "x/../y", &"x".repeat(33)] {
            assert!(Who::coded(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn either_interval_has_the_more_equally_often_and_the_seed_says_which() {
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
    fn rows_are_dealt_by_code() {
        let cells = |code| {
            let cell = |index| Cell {
                index,
                condition: 0,
                seed: 1,
                repeat: index,
            };
            let mut cells: Vec<Cell> = (0..20).map(cell).collect();
            deal(&mut cells, "hash", code);
            cells.iter().map(|cell| cell.index).collect::<Vec<_>>()
        };
        assert_eq!(cells("a"), cells("a"));
        assert_ne!(cells("a"), cells("b"));
        assert_ne!(cells("a"), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_page_is_told_of_both_intervals_differs_by_their_number_only() {
        let place = Place {
            number: 3,
            of: 40,
            block: 1,
            blocks: 4,
            practice: false,
        };
        let of = |number| sight(Kind::Stiffness, &place, Phase::Interval(number), 8.0);
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
