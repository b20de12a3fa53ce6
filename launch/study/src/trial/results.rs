//! Finished rows of a trial, and their output: tables, a page, and text for a terminal.
//!
//! Source: ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use serde::Serialize;

use super::bootstrap::Interval;
use super::condition::flat;
use super::matrix::MatrixCell;
use super::{Condition, Trial, TrialRow, check_table, field, parquet, table};
use crate::{messages, report};

/// Metrics on the terminal, if the trial has them.
const SHOWN: [&str; 9] = [
    "violations",
    "stiffness_error",
    "contrast_transmission",
    "force_rmse_n",
    "drift_mm_max",
    "threshold",
    "threshold_over_programmed",
    "unmeasured_share",
    "missed_share",
];

/// Finished rows of a trial.
pub struct TrialResults {
    /// The trial.
    pub trial: Trial,
    /// Hash of the trial.
    pub hash: String,
    /// The rows by their numbers.
    pub rows: BTreeMap<usize, TrialRow>,
    /// Notes for the reader: missing or duplicate rows, an early end.
    pub notes: Vec<String>,
    /// Sessions that this run played in a second, if it played any \[1/s\].
    pub sessions_per_s: Option<f64>,
}

/// State of a cell of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CellState {
    /// All checks of all its sessions passed.
    Held,
    /// A check of a session failed.
    Failed,
    /// The file leaves it out.
    NotApplicable,
    /// Its configuration is refused.
    Refused,
    /// Sessions are missing.
    Missing,
}

impl CellState {
    /// All states.
    pub(crate) const ALL: [Self; 5] = [
        Self::Held,
        Self::Failed,
        Self::Refused,
        Self::NotApplicable,
        Self::Missing,
    ];
}

/// Result of a cell of a matrix.
pub(crate) struct CellResult {
    /// Levels of its factors.
    pub(crate) title: String,
    /// State.
    pub(crate) state: CellState,
    /// Held and all sessions, the first failed check, or a reason; never empty.
    pub(crate) text: String,
    /// Numbers of its failed rows.
    pub(crate) failed_rows: Vec<usize>,
}

impl CellResult {
    /// True if it has a reason instead of sessions.
    pub(crate) fn has_reason(&self) -> bool {
        matches!(self.state, CellState::NotApplicable | CellState::Refused)
    }
}

/// Results of a condition.
pub(crate) struct ConditionResults<'a> {
    /// The condition.
    pub(crate) condition: &'a Condition,
    /// Its rows.
    pub(crate) rows: Vec<&'a TrialRow>,
    /// Interval of each metric over its rows; none where no value is known.
    pub(crate) intervals: Vec<Option<Interval>>,
}

impl TrialResults {
    /// Results of each condition, in order.
    pub(crate) fn by_condition<'a>(&'a self) -> Vec<ConditionResults<'a>> {
        let metrics = self.trial.metrics();
        let mut rows_of = vec![Vec::new(); self.trial.conditions.len()];
        for row in self.rows.values() {
            rows_of[self.trial.planned_row(row.index).condition].push(row);
        }
        let of = |condition: &'a Condition, rows: Vec<&'a TrialRow>| {
            let found = metrics.iter().enumerate().map(|(k, metric)| {
                let values = rows.iter().filter_map(|row| row.values.get(k).copied()?);
                metric.interval(&values.collect::<Vec<_>>())
            });
            ConditionResults {
                condition,
                intervals: found.collect(),
                rows,
            }
        };
        let conditions = self.trial.conditions.iter().zip(rows_of);
        conditions.map(|both| of(both.0, both.1)).collect()
    }

    /// Results of the cells of the trial's matrix, in their order; none without one.
    pub(crate) fn cells(&self) -> Vec<CellResult> {
        let Some(matrix) = &self.trial.matrix else {
            return Vec::new();
        };
        let each = self.trial.seeds.len() * self.trial.repeats;
        let sessions = |condition: usize| {
            let rows = condition * each..(condition + 1) * each;
            self.rows.range(rows).map(|(_, row)| row)
        };
        let cell = |(number, content): (usize, &MatrixCell)| {
            let (state, text, failed_rows) = match content {
                MatrixCell::Excluded(reason) => (
                    CellState::NotApplicable,
                    format!("n/a: {reason}"),
                    Vec::new(),
                ),
                MatrixCell::Refused(reason) => {
                    (CellState::Refused, format!("refused: {reason}"), Vec::new())
                }
                MatrixCell::Sessions(condition) => {
                    let rows: Vec<&TrialRow> = sessions(*condition).collect();
                    let (state, text) = cell_of_sessions(&rows, each);
                    let failed = rows.iter().filter(|row| row.held == Some(false));
                    (state, text, failed.map(|row| row.index).collect())
                }
            };
            CellResult {
                title: matrix.title(number),
                state,
                text,
                failed_rows,
            }
        };
        matrix.cells().iter().enumerate().map(cell).collect()
    }

    /// Numbers of cells in each state, in words; empty without a matrix.
    pub(crate) fn cell_counts(&self) -> String {
        let cells = self.cells();
        let count = |state| cells.iter().filter(|cell| cell.state == state).count();
        let counts = CellState::ALL.map(|state| (state, count(state)));
        let known = counts.iter().filter(|(_, count)| *count > 0);
        let words = known
            .map(|(state, count)| format!("{count} {}", messages::name(state).replace('-', " ")));
        words.collect::<Vec<_>>().join(", ")
    }

    /// True if a check of any row failed.
    #[must_use]
    pub fn any_check_failed(&self) -> bool {
        self.rows.values().any(|row| row.held == Some(false))
    }

    /// True if all rows of the trial are present.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rows.len() == self.trial.row_count()
    }

    /// Command that repeats the session of a row alone: every field that differs from the default.
    pub(crate) fn repeat_command(&self, row: &TrialRow) -> String {
        let planned = self.trial.planned_row(row.index);
        if self.trial.conditions[planned.condition].process.is_some() {
            // only one row of a live trial runs at a time, and its shard has no other
            let (part, rows) = (row.index + 1, self.trial.row_count());
            return format!("palpate trial {} --shard {part}/{rows}", self.trial.name);
        }
        let own = planned.config(&self.trial);
        let fields = |config: &Config| {
            let table: toml::Table = config.to_toml().parse().unwrap_or_default();
            flat(&table)
        };
        let default = fields(&Config::default());
        let mut text = String::from("palpate lab");
        let mut own = fields(&own);
        // another kind resets the fields beside it
        own.sort_by_key(|own| !own.0.ends_with(".kind"));
        for (field, value) in own {
            if field != "name" && !default.contains(&(field.clone(), value.clone())) {
                let _ = write!(text, " --set '{field}={}'", field::formatted(&value));
            }
        }
        text
    }

    /// Writes the tables and the page.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the file.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        write_table(folder, "trials", &table::columns(self))?;
        if self.trial.kind.is_psycho() {
            write_table(folder, "answers", &table::answers(self))?;
        }
        output::write(&folder.join("report.html"), report::trial(self))
    }

    /// Formats the conditions and metrics as JSON.
    ///
    /// # Errors
    /// [`Failure::Refused`] if it cannot be serialised.
    pub fn json(&self) -> Result<String, Failure> {
        messages::json(&table::json(self), "trial")
    }

    /// Formats the result for a terminal: a table, the failed rows, and their number.
    #[must_use]
    pub fn summary_text(&self, folder: &Path, verbose: bool) -> String {
        let mut text = match self.trial.refused {
            Some(refused) => format!(
                "{}\nrefused    {refused} drawn sessions, not run\n",
                check_table::text(&check_table::lines(&self.rows))
            ),
            None if self.trial.matrix.is_some() && !verbose => String::new(),
            None => self.condition_text(verbose),
        };
        if let Some(rate) = self.sessions_per_s {
            let _ = writeln!(text, "rate       {rate:.1} sessions/s");
        }
        for row in self.rows.values().filter(|row| row.held == Some(false)) {
            let check = row.failed_check.as_deref().unwrap_or("a check");
            let condition = &self.trial.conditions[self.trial.planned_row(row.index).condition];
            let title = match self.trial.refused {
                Some(_) => String::new(),
                None => format!(" ({})", condition.title()),
            };
            let _ = writeln!(
                text,
                "failed     row {}{title}, {check}: {}",
                row.index,
                self.repeat_command(row)
            );
        }
        if let Some(matrix) = &self.trial.matrix {
            let (all, counts) = (matrix.cells().len(), self.cell_counts());
            let _ = writeln!(text, "\ncells      {all}: {counts}");
        }
        let (checked, held) = TrialRow::count_checked(self.rows.values());
        let _ = writeln!(
            text,
            "\nrows       {} of {}; {checked} checked, {held} held\nresults    {}",
            self.rows.len(),
            self.trial.row_count(),
            folder.display()
        );
        text
    }

    /// Formats medians, or worst values, of the main metrics or of all, condition by condition.
    fn condition_text(&self, verbose: bool) -> String {
        let metrics = self.trial.metrics();
        let place = |name: &&str| metrics.iter().position(|metric| metric.name == **name);
        let shown: Vec<usize> = match verbose {
            true => (0..metrics.len()).collect(),
            false => SHOWN.iter().filter_map(place).collect(),
        };
        let titles = self.trial.conditions.iter().map(Condition::title);
        let width = titles.map(|title| title.chars().count()).max().unwrap_or(0);
        let mut text = format!("{:<width$}", "median");
        let headings: Vec<String> = shown.iter().map(|&k| metrics[k].heading()).collect();
        for heading in &headings {
            let _ = write!(text, "  {heading}");
        }
        text += "\n";
        for of in self.by_condition() {
            let _ = write!(text, "{:<width$}", of.condition.title());
            for (&k, heading) in shown.iter().zip(&headings) {
                let value = of.intervals[k].map(|found| format!("{:.4}", found.center));
                let value = value.unwrap_or_else(|| "-".to_owned());
                let _ = write!(text, "  {value:>columns$}", columns = heading.len());
            }
            text += "\n";
        }
        text
    }
}

/// State and text of a cell by its sessions, of which `wanted` are to run.
fn cell_of_sessions(rows: &[&TrialRow], wanted: usize) -> (CellState, String) {
    let (checked, held) = TrialRow::count_checked(rows.iter().copied());
    let count = format!("{held} of {wanted} held");
    let failed = rows.iter().find(|row| row.held == Some(false));
    match failed {
        Some(row) => {
            let check = row.failed_check.as_deref().unwrap_or("a check failed");
            (CellState::Failed, format!("{count}; {check}"))
        }
        None if checked < wanted => (CellState::Missing, format!("{count}, the rest not run")),
        None => (CellState::Held, count),
    }
}

/// Writes a table as `NAME.csv` and `NAME.parquet`.
fn write_table(folder: &Path, name: &str, columns: &[table::Column]) -> Result<(), Failure> {
    output::write(&folder.join(format!("{name}.csv")), table::csv(columns))?;
    let mut bytes = Vec::new();
    let path = folder.join(format!("{name}.parquet"));
    parquet::write(columns, &mut bytes)
        .map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))?;
    output::write(&path, &bytes)
}
