//! Checks of the sessions of a drawn trial, as one table over all rows.
//!
//! Source: ours. A check may have another limit in every row, so its worst value is the one with the least margin, and
//! an unknown value is worse than any.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use palpate_analysis::summary::{Check, CheckBound, Summary};
use serde::{Deserialize, Serialize};

use super::row::TrialRow;
use super::{Trial, number_text};

/// One check of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowCheck {
    /// Name of the check.
    pub name: String,
    /// True if it passed.
    pub held: bool,
    /// Relation of the value to the limit.
    pub bound: CheckBound,
    /// Unit of value and limit.
    pub unit: String,
    /// Value found, if it is known.
    #[serde(with = "number_text")]
    pub value: Option<f64>,
    /// Limit of the value.
    #[serde(with = "number_text")]
    pub limit: f64,
}

impl RowCheck {
    /// Distance of the value from its limit: negative beyond it, least for an unknown value.
    fn margin(&self) -> f64 {
        let known = self.value.filter(|value| !value.is_nan());
        known.map_or(f64::NEG_INFINITY, |value| match self.bound {
            CheckBound::AtMost => self.limit - value,
            CheckBound::AtLeast => value - self.limit,
            CheckBound::Exactly | CheckBound::About => -(value - self.limit).abs(),
        })
    }

    /// True if this check is worse than `other`: it failed and the other did not, or its margin is less.
    fn is_worse(&self, other: &Self) -> bool {
        match self.held == other.held {
            true => self.margin() < other.margin(),
            false => !self.held,
        }
    }
}

impl Trial {
    /// Checks of a session for its row; none unless its condition was drawn, or has a fault of a process: nothing else
    /// keeps what such a row was judged by.
    pub(super) fn row_checks(&self, summary: &Summary) -> Vec<RowCheck> {
        let copy = |check: &Check| RowCheck {
            name: check.name.clone(),
            held: check.held,
            bound: check.bound,
            unit: check.unit.clone(),
            value: check.value,
            limit: check.limit,
        };
        let faulted = self.conditions.iter().any(|one| one.process.is_some());
        let kept = self.refused.is_some() || faulted;
        let checks = summary.checks.iter().filter(|_| kept);
        checks.map(copy).collect()
    }
}

/// One check over all rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CheckLine<'a> {
    /// Check of the row with the worst value.
    pub worst: &'a RowCheck,
    /// Number of that row.
    pub row: usize,
    /// Number of rows that state the check.
    pub judged: usize,
    /// Number of rows in which it failed.
    pub failures: usize,
}

/// Checks of all rows, in the order of their first row.
pub(crate) fn lines(rows: &BTreeMap<usize, TrialRow>) -> Vec<CheckLine<'_>> {
    let mut lines: Vec<CheckLine<'_>> = Vec::new();
    for row in rows.values() {
        for check in &row.checks {
            let failed = usize::from(!check.held);
            match lines.iter_mut().find(|line| line.worst.name == check.name) {
                Some(line) => {
                    line.judged += 1;
                    line.failures += failed;
                    if check.is_worse(line.worst) {
                        (line.worst, line.row) = (check, row.index);
                    }
                }
                None => lines.push(CheckLine {
                    worst: check,
                    row: row.index,
                    judged: 1,
                    failures: failed,
                }),
            }
        }
    }
    lines
}

/// Headings of the table.
pub(crate) const HEADINGS: [&str; 6] = [
    "check",
    "judged",
    "worst value",
    "limit",
    "failures",
    "worst row",
];

impl CheckLine<'_> {
    /// Texts of the columns of [`HEADINGS`].
    pub(crate) fn cells(&self) -> [String; 6] {
        let worst = self.worst;
        let bound = match worst.bound {
            CheckBound::AtMost => "at most",
            CheckBound::AtLeast => "at least",
            CheckBound::Exactly => "exactly",
            CheckBound::About => "about",
        };
        [
            worst.name.clone(),
            self.judged.to_string(),
            worst.value.map_or_else(|| "-".to_owned(), short),
            format!("{bound} {} {}", short(worst.limit), worst.unit),
            self.failures.to_string(),
            self.row.to_string(),
        ]
    }
}

/// Formats a number with four digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e5 => format!("{}", (value * 1e4).round() / 1e4),
        _ => format!("{value:.3e}"),
    }
}

/// Formats the table for a terminal.
pub(crate) fn text(lines: &[CheckLine<'_>]) -> String {
    let rows: Vec<[String; 6]> = lines.iter().map(CheckLine::cells).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEADINGS[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in [HEADINGS.map(str::to_owned)].iter().chain(&rows) {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // words to the left, numbers to the right
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                3 => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: usize, checks: &[(&str, CheckBound, Option<f64>, bool)]) -> TrialRow {
        let check =
            |&(name, bound, value, held): &(&str, CheckBound, Option<f64>, bool)| RowCheck {
                name: name.to_owned(),
                held,
                bound,
                unit: "N".to_owned(),
                value,
                limit: 8.8,
            };
        TrialRow {
            index,
            checks: checks.iter().map(check).collect(),
            ..TrialRow::default()
        }
    }

    #[test]
    fn worst_row_is_the_one_nearest_to_or_beyond_its_limit() {
        use CheckBound::{AtLeast, AtMost};
        let rows = [
            row(
                3,
                &[
                    ("force", AtMost, Some(8.0), true),
                    ("energy", AtLeast, Some(9.0), true),
                ],
            ),
            row(
                5,
                &[
                    ("force", AtMost, Some(9.5), false),
                    ("energy", AtLeast, Some(20.0), true),
                ],
            ),
            row(
                7,
                &[
                    ("force", AtMost, Some(8.7), true),
                    ("late", AtMost, None, false),
                ],
            ),
        ];
        let rows: BTreeMap<usize, TrialRow> = rows.map(|row| (row.index, row)).into();
        let lines = lines(&rows);
        let found = lines.iter().map(|line| {
            let name = line.worst.name.as_str();
            (name, line.judged, line.failures, line.row)
        });
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("force", 3, 1, 5), ("energy", 2, 0, 3), ("late", 1, 1, 7)]
        );
        let text = text(&lines);
        assert!(text.contains("9.5  at most 8.8 N"), "{text}");
        assert_eq!(text.lines().count(), 4);
    }
}
