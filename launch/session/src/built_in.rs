//! Built-in texts that are found by name from any folder: scenes, scripts and trials.
//!
//! Source: ours. A name wins over a file of the same name; such a file needs its folder in front, as in
//! `./layered`. A path means the file there. The paths that built-in files once had in a clone, such as
//! `trials/codec.toml`, mean the built-in texts if no such file exists.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use crate::files;

/// Built-in texts of one kind.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInTexts {
    /// Singular noun for one of them, such as `scene`.
    pub kind: &'static str,
    /// Name and text of each.
    pub texts: &'static [(&'static str, &'static str)],
}

impl BuiltInTexts {
    /// Names of all, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.texts.iter().map(|&(name, _)| name).collect()
    }

    /// Returns the text of a built-in by its name or former path, borrowed, or of a file by its path, owned.
    ///
    /// # Errors
    /// The error of reading the file, if no built-in matches.
    pub fn find(&self, name: &Path) -> io::Result<Cow<'static, str>> {
        let word = name.to_str().map_or("", str::trim);
        if let Some(text) = self.by_name(word) {
            return Ok(Cow::Borrowed(text));
        }
        match (files::read_text(name), self.by_former_path(word)) {
            (Err(error), Some(text)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Cow::Borrowed(text))
            }
            (read, _) => read.map(Cow::Owned),
        }
    }

    fn by_name(&self, name: &str) -> Option<&'static str> {
        let mut texts = self.texts.iter();
        texts
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// The text of `KINDs/NAME.toml`.
    fn by_former_path(&self, path: &str) -> Option<&'static str> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let file = path.strip_prefix(self.kind)?.strip_prefix("s/")?;
        self.by_name(file.strip_suffix(".toml")?)
    }
}

/// True if a name is written as the path of a file.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: BuiltInTexts = BuiltInTexts {
        kind: "scene",
        texts: &[("soft", "s = 1"), ("hard", "h = 1")],
    };

    #[test]
    fn names_and_former_paths_find_built_in_texts() {
        for name in ["soft", " soft ", "scenes/soft.toml", "./scenes/soft.toml"] {
            let found = KIND.find(Path::new(name)).expect(name);
            assert!(matches!(found, Cow::Borrowed("s = 1")), "{name}");
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
        assert_eq!(KIND.find(&own).expect("there"), "own = 1");
        assert_eq!(KIND.names(), ["soft", "hard"]);
    }
}
