//! Condensed tables in the user's cache: made once a scene, read by sessions.
//!
//! Source: ours. The folder is `palpate` in `$XDG_CACHE_HOME`, else in `.cache` of the home folder. A
//! file is named by a hash of everything that its table follows from, so one of another scene is never
//! read. One that cannot be used counts as missing, with a warning.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palpate_fem::Compliance;
use palpate_scene::{Scene, TableError};
use xxhash_rust::xxh3::xxh3_128;

/// What the cache said of a scene.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lookup {
    /// The table, if there is a good one.
    pub table: Option<Arc<Compliance>>,
    /// What is wrong with the file that is there.
    pub warning: Option<String>,
}

/// The folder of the cache; none without a home.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    // the standard says that a relative path is to be ignored
    let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(named("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("palpate"))
}

/// The file of a scene's table in a folder; none for a scene without one.
#[must_use]
pub fn file(folder: &Path, scene: &Scene) -> Option<PathBuf> {
    let source = scene.table_source()?;
    let hash = xxh3_128(source.as_bytes());
    Some(folder.join(format!("{hash:032x}.table")))
}

/// The table of a scene in a folder.
#[must_use]
pub fn find(folder: &Path, scene: &Scene) -> Lookup {
    let Some(file) = file(folder, scene) else {
        return Lookup::default();
    };
    let wrong = |error: &dyn std::fmt::Display| Lookup {
        table: None,
        warning: Some(format!("{}: {error}", file.display())),
    };
    match std::fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Lookup::default(),
        Err(error) => wrong(&error),
        Ok(bytes) => match Compliance::from_bytes(&bytes) {
            Err(error) => wrong(&error),
            Ok(table) => Lookup {
                table: Some(Arc::new(table)),
                warning: None,
            },
        },
    }
}

/// Writes the table of a scene; gives its file. Whoever reads meanwhile sees the whole of it or none.
///
/// # Errors
/// If the folder or the file cannot be written.
pub fn keep(folder: &Path, scene: &Scene, table: &Compliance) -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "a scene without a table");
    let file = file(folder, scene).ok_or_else(none)?;
    std::fs::create_dir_all(folder)?;
    let part = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, table.to_bytes())?;
    std::fs::rename(&part, &file)?;
    Ok(file)
}

/// What a session in real time finds; nothing without a cache.
#[must_use]
pub fn of_session(scene: &Scene) -> Lookup {
    folder().map_or_else(Lookup::default, |folder| find(&folder, scene))
}

/// The table that virtual time asks: made, and kept if it can be, where there is none, so that the bits
/// of a session do not depend on what is in the cache. None for a scene that has none.
///
/// # Errors
/// If the scene cannot be condensed.
pub fn of_virtual_time(scene: &Scene) -> Result<Option<Arc<Compliance>>, TableError> {
    if scene.table_source().is_none() {
        return Ok(None);
    }
    if let Some(table) = of_session(scene).table {
        return Ok(Some(table));
    }
    let table = scene.condense()?;
    if let Some(folder) = folder() {
        // a cache that cannot be written costs time only
        let _ = keep(&folder, scene, &table);
    }
    Ok(Some(Arc::new(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let text = "name = \"small\"\n[block]\nsize_m = [0.04, 0.04, 0.02]\ncell_m = 0.004\n\
            levels = 1\nfine_half_m = [0.006, 0.006]\nfine_depth_m = 0.004\n\
            [[layer]]\nyoung_pa = 5000.0\n\
            [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n";
        palpate_scene::load(text).expect("a scene")
    }

    #[test]
    fn a_kept_table_is_found_and_a_damaged_one_is_named_and_made_anew() {
        let (folder, scene) = (tempfile::tempdir().expect("a folder"), scene());
        let folder = folder.path().join("palpate");
        assert_eq!(find(&folder, &scene), Lookup::default());
        let table = scene.condense().expect("a block");
        let file = keep(&folder, &scene, &table).expect("writable");
        assert_eq!(find(&folder, &scene).table.as_deref(), Some(&table));
        let mut bytes = std::fs::read(&file).expect("there");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        for damaged in [&bytes[..], &bytes[..last], &[], b"palpcmp1"] {
            std::fs::write(&file, damaged).expect("writable");
            let found = find(&folder, &scene);
            let warning = found.warning.expect("a warning");
            assert!(
                found.table.is_none() && warning.contains(".table"),
                "{warning}"
            );
        }
        keep(&folder, &scene, &table).expect("writable");
        assert_eq!(find(&folder, &scene).table.as_deref(), Some(&table));
    }
}
