//! A finished row, and the file in which a folder keeps them.
//!
//! Source: ours. `rows.jsonl` has one line of JSON for the trial and one for every finished row, in the
//! order in which they finished. A line counts when it is whole, its end included: what a kill left
//! half-written is cut off when the file is opened again, and that row is run anew.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exact;
use super::psycho::Asked;

/// Name of the file in the folder of a trial.
pub const ROWS: &str = "rows.jsonl";

/// First line of the file: which trial its rows are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Hash of the trial.
    pub trial: String,
    /// Its name.
    pub name: String,
    /// Rows of the whole trial.
    pub rows: usize,
    /// Code of the person who answers, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
}

/// One finished row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number in the whole trial.
    pub index: usize,
    /// Whether every check that the session stated held; nothing for what states none: tones, answers of an
    /// observer, and sessions in mode `direct`, which promise nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// Hash of all port traces, of a row that is one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// Metrics in their order; nothing for what this row could not know. As texts in the file.
    #[serde(with = "exact::many")]
    pub values: Vec<Option<f64>>,
    /// Every comparison of a run of a simulated observer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
}

impl Row {
    /// Whether a check broke.
    #[must_use]
    pub fn broke(&self) -> bool {
        self.held == Some(false)
    }

    /// How many of some rows stated checks, and in how many of those all held.
    pub fn checked<'a>(rows: impl Iterator<Item = &'a Self>) -> (usize, usize) {
        let stated = rows.filter_map(|row| row.held);
        stated.fold((0, 0), |(checked, held), one| {
            (checked + 1, held + usize::from(one))
        })
    }
}

/// What can go wrong with the file of rows.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The first line is not that of a trial.
    #[error(
        "{path}: line 1 is not the head of a trial's rows ({why}); expected a file that `palpate trial` wrote"
    )]
    Head {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        why: String,
    },
    /// The rows are of another trial.
    #[error(
        "{path}: rows of trial `{name}` with hash {found}, not of this one with hash {expected}; choose \
         another folder, or take the file, the scenes with their meshes and the version of Palpate that they were made with"
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// Name of the trial found.
        name: String,
        /// Its hash.
        found: String,
        /// The hash of this trial.
        expected: String,
    },
    /// Another process has the file open for more rows.
    #[error(
        "{path}: another `palpate trial` is writing rows there; expected it to have ended, or another folder \
         by --out for this one"
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A whole line that is no row of this trial.
    #[error(
        "{path}: line {line} is no row of this trial ({why}); expected what `palpate trial` wrote there"
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// What a file of rows holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its head.
    pub header: Header,
    /// Rows by number.
    pub rows: BTreeMap<usize, Row>,
    /// Length of what is whole \[bytes\].
    whole: u64,
}

/// Reads the rows of a folder; nothing if there are none yet.
///
/// # Errors
/// [`RowsError`] naming file and line. A last line without its end is no error.
pub fn read(folder: &Path) -> Result<Option<Kept>, RowsError> {
    let path = folder.join(ROWS);
    let text = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RowsError::File { path, source }),
    };
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let whole = |line: &&[u8]| line.ends_with(b"\n");
    let Some(first) = lines.next().filter(whole) else {
        // killed before the head was whole: nothing is lost
        return Ok(None);
    };
    let header: Header = serde_json::from_slice(first).map_err(|error| RowsError::Head {
        path: path.clone(),
        why: error.to_string(),
    })?;
    let mut kept = Kept {
        rows: BTreeMap::new(),
        whole: first.len() as u64,
        header,
    };
    for (number, line) in lines.enumerate().take_while(|(_, line)| whole(line)) {
        let wrong = |why: String| RowsError::Line {
            path: path.clone(),
            line: number + 2,
            why,
        };
        let row: Row = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        if row.index >= kept.header.rows {
            let why = format!("index {} of {} rows", row.index, kept.header.rows);
            return Err(wrong(why));
        }
        kept.whole += line.len() as u64;
        kept.rows.insert(row.index, row);
    }
    Ok(Some(kept))
}

/// Whether a head speaks of as many rows as another one of the same trial.
///
/// # Errors
/// [`RowsError::Head`] with both counts.
pub(crate) fn same_count(path: &Path, found: &Header, expected: &Header) -> Result<(), RowsError> {
    if found.rows == expected.rows {
        return Ok(());
    }
    Err(RowsError::Head {
        path: path.to_owned(),
        why: format!(
            "it says {} rows, and the trial has {}",
            found.rows, expected.rows
        ),
    })
}

/// The file of rows, open for more, by one process at a time.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
}

impl Store {
    /// Opens the rows of a folder, which may have some of the same trial.
    ///
    /// # Errors
    /// [`RowsError`]: it cannot be written, is being written by another process, or is of another trial.
    pub fn open(folder: &Path, header: &Header) -> Result<(Self, BTreeMap<usize, Row>), RowsError> {
        let path = folder.join(ROWS);
        let file_error = |source| RowsError::File {
            path: path.clone(),
            source,
        };
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let mut file = opened.map_err(file_error)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => RowsError::Busy { path: path.clone() },
            TryLockError::Error(source) => file_error(source),
        })?;
        let kept = read(folder)?;
        let (whole, rows) = match kept {
            Some(kept) if kept.header.trial != header.trial => {
                return Err(RowsError::Other {
                    path: path.clone(),
                    name: kept.header.name,
                    found: kept.header.trial,
                    expected: header.trial.clone(),
                });
            }
            Some(kept) => {
                same_count(&path, &kept.header, header)?;
                (kept.whole, kept.rows)
            }
            None => (0, BTreeMap::new()),
        };
        file.set_len(whole).map_err(file_error)?;
        file.seek(SeekFrom::End(0)).map_err(file_error)?;
        let mut store = Self {
            path: path.clone(),
            file,
        };
        if whole == 0 {
            store.line(header)?;
        }
        Ok((store, rows))
    }

    /// Adds a finished row.
    ///
    /// # Errors
    /// [`RowsError::File`] if it cannot be written.
    pub fn push(&mut self, row: &Row) -> Result<(), RowsError> {
        self.line(row)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), RowsError> {
        let file_error = |source| RowsError::File {
            path: self.path.clone(),
            source,
        };
        let json = serde_json::to_string(value);
        let mut text = json.map_err(|error| file_error(std::io::Error::other(error)))?;
        text.push('\n');
        // one write: a reader sees the line or a part of it, never two mixed
        self.file.write_all(text.as_bytes()).map_err(file_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(trial: &str) -> Header {
        Header {
            trial: trial.to_owned(),
            name: "n".to_owned(),
            rows: 9,
            participant: None,
        }
    }

    fn row(index: usize) -> Row {
        Row {
            index,
            held: Some(true),
            trace_hash: None,
            values: vec![Some(0.1 + index as f64), None],
            asked: Vec::new(),
        }
    }

    #[test]
    fn finished_rows_stay_and_a_half_written_one_is_run_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, rows) = Store::open(folder.path(), &header("a")).expect("new");
        assert!(rows.is_empty());
        store.push(&row(3)).expect("written");
        store.push(&row(1)).expect("written");
        drop(store);
        let path = folder.path().join(ROWS);
        let whole = std::fs::read_to_string(&path).expect("text");
        // killed in the middle of a line
        std::fs::write(&path, format!("{whole}{{\"index\":5,\"he")).expect("written");
        let (mut store, rows) = Store::open(folder.path(), &header("a")).expect("again");
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(rows[&3], row(3));
        store.push(&row(5)).expect("written");
        let kept = read(folder.path()).expect("whole").expect("there");
        assert_eq!(kept.rows.keys().copied().collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn issue_numbers_lost_their_last_bit_between_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, _) = Store::open(folder.path(), &header("a")).expect("new");
        let mut made = row(0);
        made.values = (1..2000)
            .map(|k| Some(libm::sin(f64::from(k)) / 3.0 * libm::exp10(f64::from(k % 40 - 20))))
            .collect();
        store.push(&made).expect("written");
        let kept = read(folder.path()).expect("whole").expect("there");
        assert_eq!(kept.rows[&0], made);
    }

    #[test]
    fn rows_of_another_trial_and_broken_lines_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, _) = Store::open(folder.path(), &header("a")).expect("new");
        store.push(&row(3)).expect("written");
        let text = Store::open(folder.path(), &header("a"));
        let text = text.expect_err("two at once").to_string();
        assert!(
            text.contains("rows.jsonl") && text.contains("another"),
            "{text}"
        );
        drop(store);
        let text = Store::open(folder.path(), &header("b"));
        let text = text.expect_err("another").to_string();
        assert!(text.contains("hash a") && text.contains("hash b"), "{text}");
        // and it stays as it was
        assert!(
            read(folder.path()).is_ok_and(|kept| kept.is_some_and(|kept| kept.rows.len() == 1))
        );
        let mut fewer = header("a");
        fewer.rows = 2;
        let text = Store::open(folder.path(), &fewer).expect_err("row 3 of 2");
        assert!(text.to_string().contains("9 rows"), "{text}");
        let path = folder.path().join(ROWS);
        let whole = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, format!("{whole}nonsense\n")).expect("written");
        let text = read(folder.path()).expect_err("broken").to_string();
        assert!(text.contains("line 3"), "{text}");
    }
}
