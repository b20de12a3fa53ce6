//! The record of attempts: a line of JSON each, in a file of the user that only grows.
//!
//! Source: ours. The file is `palpate/attempts.jsonl` in `$XDG_DATA_HOME`, else in `.local/share` of the home folder.
//! A line is written at once and at the end, so that whatever ends the process leaves whole lines and at most one
//! torn one; a line that cannot be read is counted, named and left where it is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use palpate_analysis::rehearsed::task::{Attempt, Attempts};

/// Version of a line.
const VERSION: u32 = 1;

/// Longest file that is read \[bytes\]: some hundred thousand attempts.
const BYTES_MAX: u64 = 64 << 20;

/// Name of the file.
pub const FILE: &str = "attempts.jsonl";

/// An attempt as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Version of this layout.
    pub version: u32,
    /// When it was answered, in seconds since 1970 \[s\].
    pub at_unix_s: u64,
    /// Seed by which it was placed.
    pub seed: u64,
    /// Tool that was chosen last.
    pub tool: String,
    /// The attempt.
    pub attempt: Attempt,
}

impl Kept {
    /// An attempt of now.
    #[must_use]
    pub fn new(at_unix_s: u64, seed: u64, tool: &str, attempt: Attempt) -> Self {
        Self {
            version: VERSION,
            at_unix_s,
            seed,
            tool: tool.to_owned(),
            attempt,
        }
    }
}

/// What was read of a record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// The attempts, in their order.
    pub attempts: Attempts,
    /// Lines that could not be read, in words; none is lost.
    pub problem: Option<String>,
}

/// Where the user's attempts are; none without a home.
#[must_use]
pub fn of_user() -> Option<PathBuf> {
    let named = |name| {
        std::env::var_os(name)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    let data = named("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(named("HOME")?.join(".local/share")));
    Some(data?.join("palpate").join(FILE))
}

/// Whether two paths lead to one file, which need not be there yet; its folder must.
#[must_use]
pub fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let found = path.canonicalize();
        found.or_else(|_| {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
            Ok::<_, io::Error>(folder.join(path.file_name().unwrap_or_default()))
        })
    };
    match (whole(one), whole(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Read a record; a file that is not there is an empty one.
#[must_use]
pub fn read(path: &Path) -> Known {
    let unread = |what: String| Known {
        problem: Some(format!("{}: {what}", path.display())),
        ..Known::default()
    };
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Known::default(),
        Err(error) => return unread(error.to_string()),
        Ok(file) => {
            if let Err(error) = file.take(BYTES_MAX).read_to_end(&mut bytes) {
                return unread(error.to_string());
            }
        }
    }
    let mut known = Known::default();
    let mut broken = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Kept>(line) {
            Ok(kept) if kept.version == VERSION => known.attempts.attempt.push(kept.attempt),
            Ok(kept) => broken.push(format!("line {} is of version {}", index + 1, kept.version)),
            Err(error) => broken.push(format!("line {}: {error}", index + 1)),
        }
    }
    if let Some(first) = broken.first() {
        let count = broken.len();
        let lines = if count == 1 { "line" } else { "lines" };
        known.problem = Some(format!(
            "{}: {count} {lines} left out ({first})",
            path.display()
        ));
    }
    known
}

/// Add one attempt at the end.
///
/// # Errors
/// If the file or its folder cannot be made or written.
pub fn add(path: &Path, kept: &Kept) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    let mut line = serde_json::to_vec(kept)?;
    line.push(b'\n');
    // what was torn before must not tear this
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
    use palpate_analysis::rehearsed::task::Score;

    use super::*;

    fn kept(score: f64) -> Kept {
        let attempt = Attempt {
            task: "trace".into(),
            scene: "sheet".into(),
            operator: "a person".into(),
            score: Score {
                score,
                ..Score::default()
            },
        };
        Kept::new(1, 7, "fingertip", attempt)
    }

    #[test]
    fn attempts_are_added_and_a_broken_line_is_named_and_left_out() {
        let folder = std::env::temp_dir().join(format!("palpate-attempts-{}", std::process::id()));
        let path = folder.join("data").join(FILE);
        assert_eq!(read(&path), Known::default());
        add(&path, &kept(0.5)).expect("a new file");
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        // the last of these is torn
        file.write_all(b"{\"version\":9}\nnonsense\n\xff\n{\"version\":1,\"at_un")
            .expect("room");
        add(&path, &kept(0.75)).expect("at the end");
        let known = read(&path);
        let scores: Vec<f64> = known
            .attempts
            .attempt
            .iter()
            .map(|one| one.score.score)
            .collect();
        assert_eq!(scores, [0.5, 0.75]);
        let problem = known.problem.expect("four lines");
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
