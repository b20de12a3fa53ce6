//! The recordings of one folder and the folders in it: what a page may open, by number.
//!
//! Source: ours. A page names no path. Links are not followed, so nothing outside the folder is ever listed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

/// Folders in folders that are looked into.
const DEPTH: usize = 4;

/// Most recordings that are listed.
const LISTED_MAX: usize = 1000;

/// Longest summary that is read for a list \[bytes\].
const SUMMARY_MAX: u64 = 1 << 20;

/// One recording of a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// Its number, by which it is opened.
    pub number: u32,
    /// Its name, from the folder.
    pub name: String,
    /// Its size \[bytes\].
    pub bytes: u64,
    /// How long the session was \[s\], if a summary beside it says so.
    pub duration_s: Option<f64>,
    /// What made it, likewise.
    pub command: Option<String>,
}

/// The recordings of a folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shelf {
    folder: Option<PathBuf>,
    listed: Vec<Listed>,
}

impl Shelf {
    /// Of a folder; none of a single file.
    #[must_use]
    pub fn of(folder: Option<PathBuf>) -> Self {
        let mut shelf = Self {
            folder,
            listed: Vec::new(),
        };
        shelf.look();
        shelf
    }

    /// Look again; a recording that was there keeps its number, one that is gone is left out.
    pub fn look(&mut self) {
        let Some(folder) = &self.folder else { return };
        let mut names = Vec::new();
        below(folder, Path::new(""), DEPTH, &mut names);
        names.sort();
        names.truncate(LISTED_MAX);
        let mut next = self
            .listed
            .iter()
            .map(|one| one.number + 1)
            .max()
            .unwrap_or(0);
        let before = core::mem::take(&mut self.listed);
        for name in names {
            let known = before.iter().find(|one| Path::new(&one.name) == name);
            let number = known.map_or_else(
                || {
                    next += 1;
                    next - 1
                },
                |known| known.number,
            );
            self.listed.extend(listed(folder, &name, number));
        }
    }

    /// All of them.
    #[must_use]
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// The file of a number, and its name.
    #[must_use]
    pub fn file(&self, number: u32) -> Option<(PathBuf, &str)> {
        let one = self.listed.iter().find(|one| one.number == number)?;
        let path = self.folder.as_ref()?.join(&one.name);
        // what was replaced by a link since it was listed is not opened
        let folder = self.folder.as_ref()?.canonicalize().ok()?;
        let real = path.canonicalize().ok()?;
        real.starts_with(folder)
            .then_some((path, one.name.as_str()))
    }
}

/// Names of the recordings below a folder, from `root`.
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

fn listed(folder: &Path, name: &Path, number: u32) -> Option<Listed> {
    let path = folder.join(name);
    let bytes = fs::metadata(&path).ok()?.len();
    let summary = summary(&path.with_file_name("summary.json"));
    let of = |field: &str| summary.as_ref().map(|summary| summary[field].clone());
    Some(Listed {
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
    fn only_what_lies_below_is_listed_and_a_number_stays() {
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
        let mut shelf = Shelf::of(Some(root.path().to_owned()));
        let [one] = shelf.listed() else {
            panic!("{:?}", shelf.listed());
        };
        assert_eq!((one.name.as_str(), one.bytes), ("b/recording.mcap", 5));
        assert_eq!(
            (one.duration_s, one.command.as_deref()),
            (Some(7.0), Some("lab"))
        );
        let number = one.number;
        fs::write(root.path().join("a.mcap"), b"x").expect("written");
        shelf.look();
        assert_eq!(shelf.listed().len(), 2);
        assert_eq!(
            shelf.file(number).map(|(_, name)| name),
            Some("b/recording.mcap")
        );
        assert_eq!(shelf.file(77), None);
        // one that became a link since
        fs::remove_file(root.path().join("a.mcap")).expect("removed");
        link("a.mcap", &outside.path().join("secret.mcap"));
        let replaced = shelf.listed().iter().find(|one| one.name == "a.mcap");
        assert_eq!(shelf.file(replaced.expect("listed").number), None);
    }
}
