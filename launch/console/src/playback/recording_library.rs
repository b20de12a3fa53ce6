//! Recordings of a folder and its subfolders, which a page opens by number.
//!
//! Source: ours. A page names no path. Links are not followed, so nothing outside the folder is listed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

/// Depth of subfolders that are searched.
const DEPTH: usize = 4;

/// Most recordings that are listed.
const LISTED_MAX: usize = 1000;

/// Longest summary that is read for a list \[bytes\].
const SUMMARY_MAX: u64 = 1 << 20;

/// One recording of a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingEntry {
    /// Its number, by which it is opened.
    pub number: u32,
    /// Its name, from the folder.
    pub name: String,
    /// Its size \[bytes\].
    pub bytes: u64,
    /// Duration of the session \[s\], if a summary beside it has one.
    pub duration_s: Option<f64>,
    /// Command of the session, if a summary beside it has one.
    pub command: Option<String>,
}

/// The recordings of a folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordingLibrary {
    folder: Option<PathBuf>,
    /// All of them.
    pub entries: Vec<RecordingEntry>,
}

impl RecordingLibrary {
    /// Lists a folder; empty without one.
    #[must_use]
    pub fn of(folder: Option<PathBuf>) -> Self {
        let mut library = Self {
            folder,
            entries: Vec::new(),
        };
        library.refresh();
        library
    }

    /// Lists the folder again; a recording keeps its number, a missing one is removed.
    pub(crate) fn refresh(&mut self) {
        let Some(folder) = &self.folder else { return };
        let mut names = Vec::new();
        below(folder, Path::new(""), DEPTH, &mut names);
        names.sort();
        names.truncate(LISTED_MAX);
        let before = core::mem::take(&mut self.entries);
        let mut free = before.iter().map(|one| one.number + 1).max().unwrap_or(0)..;
        for name in names {
            let known = before.iter().find(|one| Path::new(&one.name) == name);
            let number = known.map(|known| known.number).or_else(|| free.next());
            self.entries
                .extend(number.and_then(|number| entry(folder, &name, number)));
        }
    }

    /// Returns the file of a number, and its name.
    #[must_use]
    pub fn file(&self, number: u32) -> Option<(PathBuf, &str)> {
        let one = self.entries.iter().find(|one| one.number == number)?;
        let path = self.folder.as_ref()?.join(&one.name);
        // a file that was replaced by a link is not opened
        let folder = self.folder.as_ref()?.canonicalize().ok()?;
        let real = path.canonicalize().ok()?;
        real.starts_with(folder)
            .then_some((path, one.name.as_str()))
    }
}

/// Collects the names of the recordings below a folder, relative to `root`.
fn below(root: &Path, folder: &Path, depth: usize, names: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = folder.join(entry.file_name());
        // the kind of the entry itself: a link is neither
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && depth > 0 {
            below(root, &name, depth - 1, names);
        } else if kind.is_file() && name.extension().is_some_and(|end| end == "mcap") {
            names.push(name);
        }
        if names.len() > LISTED_MAX {
            return;
        }
    }
}

fn entry(folder: &Path, name: &Path, number: u32) -> Option<RecordingEntry> {
    let path = folder.join(name);
    let bytes = fs::metadata(&path).ok()?.len();
    let summary = summary(&path.with_file_name("summary.json"));
    let of = |field: &str| summary.as_ref().map(|summary| summary[field].clone());
    Some(RecordingEntry {
        number,
        name: name.to_str()?.to_owned(),
        bytes,
        duration_s: of("duration_s").and_then(|value| value.as_f64()),
        command: of("command").and_then(|value| value.as_str().map(str::to_owned)),
    })
}

fn summary(path: &Path) -> Option<Value> {
    let known = fs::symlink_metadata(path).ok()?;
    if !known.is_file() || known.len() > SUMMARY_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recordings_below_the_folder_are_listed_and_numbers_stay() {
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("secret.mcap"), b"x").expect("written");
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("b")).expect("made");
        fs::write(root.path().join("b/recording.mcap"), b"12345").expect("written");
        fs::write(
            root.path().join("b/summary.json"),
            "{\"duration_s\": 7, \"command\": \"lab\"}",
        )
        .expect("written");
        fs::write(root.path().join("c.txt"), b"x").expect("written");
        let link = |from: &str, to: &Path| {
            std::os::unix::fs::symlink(to, root.path().join(from)).expect("linked");
        };
        link("out.mcap", &outside.path().join("secret.mcap"));
        link("out", outside.path());
        let mut library = RecordingLibrary::of(Some(root.path().to_owned()));
        let [one] = &library.entries[..] else {
            panic!("{:?}", library.entries);
        };
        assert_eq!((one.name.as_str(), one.bytes), ("b/recording.mcap", 5));
        assert_eq!(
            (one.duration_s, one.command.as_deref()),
            (Some(7.0), Some("lab"))
        );
        let number = one.number;
        fs::write(root.path().join("a.mcap"), b"x").expect("written");
        library.refresh();
        assert_eq!(library.entries.len(), 2);
        assert_eq!(
            library.file(number).map(|(_, name)| name),
            Some("b/recording.mcap")
        );
        assert_eq!(library.file(77), None);
        // a recording that became a link
        fs::remove_file(root.path().join("a.mcap")).expect("removed");
        link("a.mcap", &outside.path().join("secret.mcap"));
        let replaced = library.entries.iter().find(|one| one.name == "a.mcap");
        assert_eq!(library.file(replaced.expect("listed").number), None);
    }
}
