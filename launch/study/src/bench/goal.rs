//! Goals of measurements.
//!
//! Source: the specification of tissue engines, section 7, transport section 3 for the bus, and Palpate's own limits
//! for its twin. A goal that this machine misses is reported and is no failure; `palpate bench --strict` makes it
//! one.

use serde::Serialize;

/// Side of the limit on which the goal is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalSide {
    /// The limit or less.
    AtMost,
    /// The limit or more.
    AtLeast,
}

/// A value, its goal, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchGoal {
    /// Name of the quantity.
    pub name: String,
    /// Measured value.
    pub value: f64,
    /// Side of the limit on which the goal is met.
    pub wanted: GoalSide,
    /// The limit.
    pub goal: f64,
    /// Unit of both.
    pub unit: String,
    /// True if the value is on that side.
    pub held: bool,
}

impl BenchGoal {
    /// Goal for a value at or below a limit; NaN misses it.
    #[must_use]
    pub fn at_most(name: &str, value: f64, goal: f64, unit: &str) -> Self {
        Self::of(name, value, GoalSide::AtMost, goal, unit)
    }

    /// Goal for a value at or above a limit; NaN misses it.
    pub(crate) fn at_least(name: &str, value: f64, goal: f64, unit: &str) -> Self {
        Self::of(name, value, GoalSide::AtLeast, goal, unit)
    }

    fn of(name: &str, value: f64, wanted: GoalSide, goal: f64, unit: &str) -> Self {
        let held = match wanted {
            GoalSide::AtMost => value <= goal,
            GoalSide::AtLeast => value >= goal,
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

    /// Formats the goal as a line that begins with `of`.
    #[must_use]
    pub(crate) fn line(&self, of: &str) -> String {
        let sign = match self.wanted {
            GoalSide::AtMost => "at most",
            GoalSide::AtLeast => "at least",
        };
        let verdict = if self.held { "held" } else { "MISSED" };
        let title = format!("{of}: {}", self.name);
        format!(
            "  {title:<44}{:>9.3} {}, goal {sign} {} {}: {verdict}\n",
            self.value, self.unit, self.goal, self.unit
        )
    }
}

/// Formats all goals of one result as lines.
#[must_use]
pub fn lines(of: &str, goals: &[BenchGoal]) -> String {
    goals.iter().map(|goal| goal.line(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_on_their_side_and_nan_misses_both() {
        assert!(
            BenchGoal::at_most("a", 1.0, 1.0, "s").held
                && BenchGoal::at_least("a", 1.0, 1.0, "s").held
        );
        assert!(
            !BenchGoal::at_most("a", 1.1, 1.0, "s").held
                && !BenchGoal::at_least("a", 0.9, 1.0, "s").held
        );
        assert!(!BenchGoal::at_most("a", f64::NAN, 1.0, "s").held);
        assert!(!BenchGoal::at_least("a", f64::NAN, 1.0, "s").held);
        let line = BenchGoal::at_most("tick, p99", 812.0, 750.0, "us").line("graded");
        for word in ["graded: tick, p99", "812", "at most 750 us", "MISSED"] {
            assert!(line.contains(word), "{line}");
        }
        let two = [
            BenchGoal::at_most("a", 1.0, 1.0, "s"),
            BenchGoal::at_most("b", 2.0, 1.0, "s"),
        ];
        assert_eq!(lines("x", &two), two[0].line("x") + &two[1].line("x"));
    }
}
