//! Finished rows, and their file in the folder of a trial.
//!
//! Source: ours. `rows.jsonl` has one line of JSON for the trial and one for every finished row, in the
//! order of their completion. A line counts if it is complete, its end included: a partial line after a kill is cut
//! off when the file is opened again, and that row is run anew.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::path::Path;

use palpate_analysis::Failure;
use palpate_analysis::output::refused;
use palpate_analysis::summary::Summary;
use palpate_analysis::table::check_words;
use serde::{Deserialize, Serialize};

use super::Trial;
use super::check_table::RowCheck;
use super::json_lines::{self, JsonLines};
use super::number_text;
use super::psycho::ForcedChoice;

/// Name of the file in the folder of a trial.
pub(crate) const ROWS: &str = "rows.jsonl";

/// First line of the file: the trial of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialHeader {
    /// Hash of the trial.
    pub trial: String,
    /// Name of the trial.
    pub name: String,
    /// Rows of the whole trial.
    pub rows: usize,
    /// Code of the person who answers, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
}

/// One finished row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrialRow {
    /// Number in the whole trial.
    pub index: usize,
    /// True if all stated checks passed; none if there are no checks: for tones, answers of an
    /// observer, and sessions in mode `direct`, which state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// First check that failed, with its value and its limit in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<String>,
    /// Hash of all port traces, for a row that is one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// Metrics in order; none for an unknown value. Texts in the file.
    #[serde(with = "number_text")]
    pub values: Vec<Option<f64>>,
    /// Checks of the session, if its condition was drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<RowCheck>,
    /// Every comparison of a run with an observer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<ForcedChoice>,
}

impl TrialRow {
    /// Row of a session of a trial by its summary.
    pub(crate) fn of_session(trial: &Trial, index: usize, summary: &Summary) -> Self {
        let failed = summary.checks.iter().find(|check| !check.held);
        Self {
            index,
            held: Some(summary.is_good()),
            failed_check: failed.filter(|_| !summary.is_good()).map(check_words),
            values: trial.session_values(summary),
            checks: trial.row_checks(summary),
            trace_hash: summary.trace_hash.clone(),
            ..Self::default()
        }
    }

    /// Number of rows with checks, and of rows whose checks all passed.
    pub(crate) fn count_checked<'a>(rows: impl Iterator<Item = &'a Self>) -> (usize, usize) {
        let with_checks = rows.filter_map(|row| row.held);
        with_checks.fold((0, 0), |(checked, held), one| {
            (checked + 1, held + usize::from(one))
        })
    }
}

/// Failure for unusable rows in a file.
fn unusable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

impl TrialHeader {
    /// Refuses the rows of another trial.
    ///
    /// # Errors
    /// [`Failure::Usage`] with both hashes, or both counts of rows.
    pub(crate) fn require_same(&self, found: &Self, path: &Path) -> Result<(), Failure> {
        if found.trial != self.trial {
            return Err(unusable(
                path,
                format_args!(
                    "rows of trial `{}` with hash {}, not of this one with hash {}; choose another folder, or take the \
                     file, the scenes with their meshes and the version of Palpate that they were made with",
                    found.name, found.trial, self.trial
                ),
            ));
        }
        if found.rows == self.rows {
            return Ok(());
        }
        let (found, expected) = (found.rows, self.rows);
        let why = format!("it says {found} rows, and the trial has {expected}");
        Err(unusable(path, invalid_header(&why)))
    }
}

/// Message about an invalid first line.
fn invalid_header(why: &str) -> String {
    format!(
        "line 1 is not the head of a trial's rows ({why}); expected a file that `palpate trial` wrote"
    )
}

/// Content of a file of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredRows {
    /// First line.
    pub(crate) header: TrialHeader,
    /// Rows by number.
    pub(crate) rows: BTreeMap<usize, TrialRow>,
}

/// Reads the rows of a folder; none if there is no file yet.
///
/// # Errors
/// [`Failure`] naming file and line. A partial last line is no error.
pub(crate) fn read(folder: &Path) -> Result<Option<StoredRows>, Failure> {
    let path = folder.join(ROWS);
    let text = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&path, &error)),
    };
    let mut lines = json_lines::whole(&text);
    let Some(first) = lines.next() else {
        // killed before the first line was complete: nothing is lost
        return Ok(None);
    };
    let header: TrialHeader = serde_json::from_slice(first)
        .map_err(|error| unusable(&path, invalid_header(&error.to_string())))?;
    let mut rows = BTreeMap::new();
    for (number, line) in lines.enumerate() {
        let wrong = |why: String| {
            let line = number + 2;
            let expected = "expected a row that `palpate trial` wrote";
            unusable(
                &path,
                format_args!("line {line} is no row of this trial ({why}); {expected}"),
            )
        };
        let row: TrialRow =
            serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        if row.index >= header.rows {
            return Err(wrong(format!(
                "index {} of {} rows",
                row.index, header.rows
            )));
        }
        rows.insert(row.index, row);
    }
    Ok(Some(StoredRows { header, rows }))
}

/// File of rows, open for appending, by one process at a time.
#[derive(Debug)]
pub struct RowStore(JsonLines);

impl RowStore {
    /// Opens the rows of a folder, which may contain rows of the same trial.
    ///
    /// # Errors
    /// [`Failure`]: it cannot be written, is being written by another process, or belongs to another trial.
    pub fn open(
        folder: &Path,
        header: &TrialHeader,
    ) -> Result<(Self, BTreeMap<usize, TrialRow>), Failure> {
        let path = folder.join(ROWS);
        let lines = JsonLines::open(&path).map_err(|error| refused(&path, &error))?;
        lines.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => unusable(
                &path,
                "another `palpate trial` is writing rows there; expected it to have ended, or another folder by --out \
                 for this one",
            ),
            TryLockError::Error(error) => refused(&path, &error),
        })?;
        let stored = read(folder)?;
        if let Some(stored) = &stored {
            header.require_same(&stored.header, &path)?;
        }
        let mut store = Self(lines);
        store
            .0
            .truncate_partial()
            .map_err(|error| refused(&path, &error))?;
        if stored.is_none() {
            store.push(header)?;
        }
        Ok((store, stored.map(|stored| stored.rows).unwrap_or_default()))
    }

    /// Appends a finished row, or the header.
    ///
    /// # Errors
    /// [`Failure::Refused`] if it cannot be written.
    pub(crate) fn push(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let pushed = self.0.push(line);
        pushed.map_err(|error| refused(&self.0.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(trial: &str) -> TrialHeader {
        TrialHeader {
            trial: trial.to_owned(),
            name: "n".to_owned(),
            rows: 9,
            participant: None,
        }
    }

    fn row(index: usize) -> TrialRow {
        TrialRow {
            index,
            held: Some(true),
            values: vec![Some(0.1 + index as f64), None],
            ..TrialRow::default()
        }
    }

    #[test]
    fn finished_rows_persist_and_partial_line_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, rows) = RowStore::open(folder.path(), &header("a")).expect("new");
        assert!(rows.is_empty());
        store.push(&row(3)).expect("written");
        store.push(&row(1)).expect("written");
        drop(store);
        let path = folder.path().join(ROWS);
        let whole = std::fs::read_to_string(&path).expect("text");
        // killed in the middle of a line
        std::fs::write(&path, format!("{whole}{{\"index\":5,\"he")).expect("written");
        let (mut store, rows) = RowStore::open(folder.path(), &header("a")).expect("again");
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(rows[&3], row(3));
        store.push(&row(5)).expect("written");
        let stored = read(folder.path()).expect("whole").expect("there");
        assert_eq!(stored.rows.keys().copied().collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn issue_numbers_lost_their_last_bit_between_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, _) = RowStore::open(folder.path(), &header("a")).expect("new");
        let mut computed = row(0);
        computed.values = (1..2000)
            .map(|k| Some(libm::sin(f64::from(k)) / 3.0 * libm::exp10(f64::from(k % 40 - 20))))
            .collect();
        store.push(&computed).expect("written");
        let stored = read(folder.path()).expect("whole").expect("there");
        assert_eq!(stored.rows[&0], computed);
    }

    #[test]
    fn foreign_rows_and_invalid_lines_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, _) = RowStore::open(folder.path(), &header("a")).expect("new");
        store.push(&row(3)).expect("written");
        let text = RowStore::open(folder.path(), &header("a"));
        let text = text.expect_err("two at once").to_string();
        assert!(
            text.contains("rows.jsonl") && text.contains("another"),
            "{text}"
        );
        drop(store);
        let text = RowStore::open(folder.path(), &header("b"));
        let text = text.expect_err("another").to_string();
        assert!(text.contains("hash a") && text.contains("hash b"), "{text}");
        // and the file is unchanged
        assert!(
            read(folder.path())
                .is_ok_and(|stored| stored.is_some_and(|stored| stored.rows.len() == 1))
        );
        let mut fewer = header("a");
        fewer.rows = 2;
        let text = RowStore::open(folder.path(), &fewer).expect_err("row 3 of 2");
        assert!(text.to_string().contains("9 rows"), "{text}");
        let path = folder.path().join(ROWS);
        let whole = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, format!("{whole}nonsense\n")).expect("written");
        let text = read(folder.path()).expect_err("broken").to_string();
        assert!(text.contains("line 3"), "{text}");
    }
}
