//! What is wanted of a measurement, beside it.
//!
//! Source: the specification of tissue engines, section 7, transport section 3 for the bus, and what Palpate promises of its twin. A goal
//! that this machine misses is said and is no failure; `palpate bench --strict` makes it one.

use serde::{Deserialize, Serialize};

/// Which side of the limit is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// The limit or less.
    AtMost,
    /// The limit or more.
    AtLeast,
}

/// A number, what is wanted of it, and whether it is so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// What is measured.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// Which side of the limit is wanted.
    pub wanted: Wanted,
    /// The limit.
    pub goal: f64,
    /// Unit of both.
    pub unit: String,
    /// Whether the value is on that side.
    pub held: bool,
}

impl Goal {
    /// A value that should be the limit or less; what is not a number is not.
    #[must_use]
    pub fn at_most(name: &str, value: f64, goal: f64, unit: &str) -> Self {
        Self::of(name, value, Wanted::AtMost, goal, unit)
    }

    /// A value that should be the limit or more; what is not a number is not.
    #[must_use]
    pub fn at_least(name: &str, value: f64, goal: f64, unit: &str) -> Self {
        Self::of(name, value, Wanted::AtLeast, goal, unit)
    }

    fn of(name: &str, value: f64, wanted: Wanted, goal: f64, unit: &str) -> Self {
        let held = match wanted {
            Wanted::AtMost => value <= goal,
            Wanted::AtLeast => value >= goal,
        };
        Self {
            name: name.to_owned(),
            value,
            wanted,
            goal,
            unit: unit.to_owned(),
            held,
        }
    }

    /// As a line for people, of what it belongs to.
    #[must_use]
    pub fn line(&self, of: &str) -> String {
        let sign = match self.wanted {
            Wanted::AtMost => "at most",
            Wanted::AtLeast => "at least",
        };
        let verdict = if self.held { "held" } else { "MISSED" };
        let what = format!("{of}: {}", self.name);
        format!(
            "  {what:<44}{:>9.3} {}, goal {sign} {} {}: {verdict}\n",
            self.value, self.unit, self.goal, self.unit
        )
    }
}

/// All goals of one thing, as lines for people.
#[must_use]
pub fn lines(of: &str, goals: &[Goal]) -> String {
    goals.iter().map(|goal| goal.line(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_held_on_their_own_side_and_no_number_is_on_neither() {
        assert!(Goal::at_most("a", 1.0, 1.0, "s").held && Goal::at_least("a", 1.0, 1.0, "s").held);
        assert!(
            !Goal::at_most("a", 1.1, 1.0, "s").held && !Goal::at_least("a", 0.9, 1.0, "s").held
        );
        assert!(!Goal::at_most("a", f64::NAN, 1.0, "s").held);
        assert!(!Goal::at_least("a", f64::NAN, 1.0, "s").held);
        let line = Goal::at_most("tick, p99", 812.0, 750.0, "us").line("graded");
        for word in ["graded: tick, p99", "812", "at most 750 us", "MISSED"] {
            assert!(line.contains(word), "{line}");
        }
        let two = [
            Goal::at_most("a", 1.0, 1.0, "s"),
            Goal::at_most("b", 2.0, 1.0, "s"),
        ];
        assert_eq!(lines("x", &two), two[0].line("x") + &two[1].line("x"));
    }
}
