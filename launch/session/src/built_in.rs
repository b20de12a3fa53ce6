//! What is part of the program and found by name from any folder: scenes, scripts and trials.
//!
//! Source: ours. A name wins over a file that is called like it, which needs its folder before it, as in `./layered`. A
//! path means the file that is there. The paths that built-in files once had in a clone, as `trials/codec.toml`,
//! mean the built-in ones where no such file is.

use std::io;
use std::path::Path;

/// Built-in texts of one kind.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// What each is, in the singular.
    pub kind: &'static str,
    /// Name and text of each.
    pub texts: &'static [(&'static str, &'static str)],
}

/// A text, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Part of the program.
    BuiltIn(&'static str),
    /// Read from a file, or given as it is.
    File(String),
}

impl Found {
    /// The text itself.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::BuiltIn(text) => text,
            Self::File(text) => text,
        }
    }
}

impl BuiltIn {
    /// Names of all, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.texts.iter().map(|&(name, _)| name).collect()
    }

    /// The text of a built-in one by its name or its former path, or of a file by its path.
    ///
    /// # Errors
    /// Why the file cannot be read, if nothing built in is meant.
    pub fn find(&self, name: &Path) -> io::Result<Found> {
        let word = name.to_str().map_or("", str::trim);
        if let Some(text) = self.named(word) {
            return Ok(Found::BuiltIn(text));
        }
        match (std::fs::read_to_string(name), self.formerly(word)) {
            (Err(error), Some(text)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Found::BuiltIn(text))
            }
            (read, _) => read.map(Found::File),
        }
    }

    fn named(&self, name: &str) -> Option<&'static str> {
        let mut texts = self.texts.iter();
        texts
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// The text of `KINDs/NAME.toml`.
    fn formerly(&self, path: &str) -> Option<&'static str> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let file = path.strip_prefix(self.kind)?.strip_prefix("s/")?;
        self.named(file.strip_suffix(".toml")?)
    }
}

/// Whether a name is written as the path of a file.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: BuiltIn = BuiltIn {
        kind: "scene",
        texts: &[("soft", "s = 1"), ("hard", "h = 1")],
    };

    #[test]
    fn a_name_or_a_former_path_is_built_in_and_a_file_that_is_there_is_not() {
        for name in ["soft", " soft ", "scenes/soft.toml", "./scenes/soft.toml"] {
            let found = KIND.find(Path::new(name)).expect(name);
            assert_eq!(found, Found::BuiltIn("s = 1"), "{name}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("soft.toml");
        let path = own.display().to_string();
        for name in [
            path.as_str(),
            "softer",
            "scripts/soft.toml",
            "scenes/softer.toml",
            "soft.toml",
        ] {
            let error = KIND.find(Path::new(name)).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}");
        }
        std::fs::write(&own, "own = 1").expect("writable");
        assert_eq!(KIND.find(&own).expect("there").text(), "own = 1");
        assert_eq!(KIND.names(), ["soft", "hard"]);
    }
}
