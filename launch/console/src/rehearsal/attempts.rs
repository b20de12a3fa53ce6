//! Store of attempts: one JSON line each, in an append-only file of the user.
//!
//! Source: ours. The file is `palpate/attempts.jsonl` in `$XDG_DATA_HOME`, else in `.local/share` of the home folder.
//! Each line is appended by a single write, so that an interrupted process leaves at most one incomplete line. A line
//! that cannot be read is counted, reported and left in place.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use palpate_analysis::rehearsal::task::Attempt;

/// Format version of a line.
pub(super) const VERSION: u32 = 1;

/// Longest file that is read \[bytes\]: some hundred thousand attempts.
const BYTES_MAX: u64 = 64 << 20;

/// Name of the file.
pub const FILE: &str = "attempts.jsonl";

/// An attempt as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    /// Format version.
    pub version: u32,
    /// Time of the answer, since 1970 \[s\].
    pub at_unix_s: u64,
    /// Seed of the task's placement.
    pub seed: u64,
    /// Tool that was selected last.
    pub tool: String,
    /// The attempt.
    pub attempt: Attempt,
}

/// Attempts read from a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AttemptHistory {
    /// The attempts, in their order.
    pub attempts: Vec<Attempt>,
    /// Report on lines that could not be read; they stay in the file.
    pub problem: Option<String>,
}

/// Returns the path of the user's attempts; None without a home folder.
#[must_use]
pub fn user_path() -> Option<PathBuf> {
    let named = |name| {
        std::env::var_os(name)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    let data = named("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(named("HOME")?.join(".local/share")));
    Some(data?.join("palpate").join(FILE))
}

/// Returns true if two paths lead to one file, which need not exist; its folder must.
#[must_use]
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let absolute = |path: &Path| {
        let found = path.canonicalize();
        found.or_else(|_| {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
            Ok::<_, io::Error>(folder.join(path.file_name().unwrap_or_default()))
        })
    };
    match (absolute(one), absolute(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Reads the attempts of a file; a missing file is empty.
#[must_use]
pub fn read(path: &Path) -> AttemptHistory {
    let unread = |reason: String| AttemptHistory {
        problem: Some(format!("{}: {reason}", path.display())),
        ..AttemptHistory::default()
    };
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return AttemptHistory::default(),
        Err(error) => return unread(error.to_string()),
        Ok(file) => {
            if let Err(error) = file.take(BYTES_MAX).read_to_end(&mut bytes) {
                return unread(error.to_string());
            }
        }
    }
    let mut history = AttemptHistory::default();
    let mut invalid = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<AttemptRecord>(line) {
            Ok(entry) if entry.version == VERSION => history.attempts.push(entry.attempt),
            Ok(entry) => invalid.push(format!(
                "line {} is of version {}",
                index + 1,
                entry.version
            )),
            Err(error) => invalid.push(format!("line {}: {error}", index + 1)),
        }
    }
    if let Some(first) = invalid.first() {
        let count = invalid.len();
        let lines = if count == 1 { "line" } else { "lines" };
        history.problem = Some(format!(
            "{}: {count} {lines} left out ({first})",
            path.display()
        ));
    }
    history
}

/// Appends one attempt.
///
/// # Errors
/// If the file or its folder cannot be created or written.
pub fn add(path: &Path, record: &AttemptRecord) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    // an incomplete last line must not damage this one
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    file.write_all(&line)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use palpate_analysis::rehearsal::task::Score;

    use super::*;

    fn record(score: f64) -> AttemptRecord {
        let attempt = Attempt {
            task: "trace".into(),
            scene: "sheet".into(),
            operator: "a person".into(),
            score: Score {
                score,
                ..Score::default()
            },
        };
        AttemptRecord {
            version: VERSION,
            at_unix_s: 1,
            seed: 7,
            tool: "fingertip".into(),
            attempt,
        }
    }

    #[test]
    fn attempts_are_appended_and_an_invalid_line_is_reported_and_left_out() {
        let folder = std::env::temp_dir().join(format!("palpate-attempts-{}", std::process::id()));
        let path = folder.join("data").join(FILE);
        assert_eq!(read(&path), AttemptHistory::default());
        add(&path, &record(0.5)).expect("a new file");
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        // the last of these is incomplete
        file.write_all(b"{\"version\":9}\nnonsense\n\xff\n{\"version\":1,\"at_un")
            .expect("room");
        add(&path, &record(0.75)).expect("at the end");
        let history = read(&path);
        let scores: Vec<f64> = history.attempts.iter().map(|one| one.score.score).collect();
        assert_eq!(scores, [0.5, 0.75]);
        let problem = history.problem.expect("four lines");
        assert!(
            problem.contains("4 lines") && problem.contains("line 2"),
            "{problem}"
        );
        let text = std::fs::read(&path).expect("there");
        assert!(
            text.windows(8).any(|part| part == b"nonsense"),
            "nothing is lost"
        );
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
