//! Cache of condensed compliance tables in the user's home: made once per scene, read by sessions.
//!
//! Source: ours. The folder is `palpate` in `$XDG_CACHE_HOME`, else in `.cache` of the home folder. A
//! file is named by a hash of everything that its table depends on, so the file of another scene is never
//! read. A file that cannot be used counts as missing, with a warning.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palpate_fem::ComplianceTable;
use palpate_scene::{Scene, SceneError};
use xxhash_rust::xxh3::xxh3_128;

/// Folder of the cache; none without a home.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    // the standard requires to ignore a relative path
    let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(named("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("palpate"))
}

/// File of a scene's table in a folder; none for a scene without one.
#[must_use]
pub fn file(folder: &Path, scene: &Scene) -> Option<PathBuf> {
    let source = scene.table_key_text()?;
    let hash = xxh3_128(source.as_bytes());
    Some(folder.join(format!("{hash:032x}.table")))
}

/// Looks up the table of a scene in a folder; none without a file.
///
/// # Errors
/// The fault of the existing file, in words.
pub fn find(folder: &Path, scene: &Scene) -> Result<Option<Arc<ComplianceTable>>, String> {
    let Some(file) = file(folder, scene) else {
        return Ok(None);
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let bytes = match std::fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| wrong(&error))?,
    };
    let table = ComplianceTable::from_bytes(&bytes).map_err(|error| wrong(&error))?;
    Ok(Some(Arc::new(table)))
}

/// Writes the table of a scene and returns its file. The write is atomic for concurrent readers.
///
/// # Errors
/// The error of writing the folder or the file.
pub fn store(folder: &Path, scene: &Scene, table: &ComplianceTable) -> io::Result<PathBuf> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "a scene without a table");
    let file = file(folder, scene).ok_or_else(none)?;
    std::fs::create_dir_all(folder)?;
    let part = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, table.to_bytes())?;
    std::fs::rename(&part, &file)?;
    Ok(file)
}

/// Looks up the table of a scene in the user's cache; none without a cache.
///
/// # Errors
/// As [`find`].
pub fn cached(scene: &Scene) -> Result<Option<Arc<ComplianceTable>>, String> {
    folder().map_or(Ok(None), |folder| find(&folder, scene))
}

/// Table of a scene for virtual time. A missing one is condensed, and stored if possible, so that the bits
/// of a session do not depend on the cache. None for a scene without a table.
///
/// # Errors
/// The error of condensing the scene.
pub(crate) fn cached_or_condensed(
    scene: &Scene,
) -> Result<Option<Arc<ComplianceTable>>, SceneError> {
    if scene.table_key_text().is_none() {
        return Ok(None);
    }
    if let Ok(Some(table)) = cached(scene) {
        return Ok(Some(table));
    }
    let table = scene.condense()?;
    if let Some(folder) = folder() {
        // a cache that cannot be written costs only time
        let _ = store(&folder, scene, &table);
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
    fn stored_table_is_found_and_damaged_one_is_replaced() {
        let (folder, scene) = (tempfile::tempdir().expect("a folder"), scene());
        let folder = folder.path().join("palpate");
        assert_eq!(find(&folder, &scene), Ok(None));
        let table = scene.condense().expect("a block");
        let file = store(&folder, &scene, &table).expect("writable");
        let stored = || find(&folder, &scene).expect("a valid file");
        assert_eq!(stored().as_deref(), Some(&table));
        let mut bytes = std::fs::read(&file).expect("there");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        for damaged in [&bytes[..], &bytes[..last], &[], b"palpcmp1"] {
            std::fs::write(&file, damaged).expect("writable");
            let warning = find(&folder, &scene).expect_err("damaged");
            assert!(warning.contains(".table"), "{warning}");
        }
        store(&folder, &scene, &table).expect("writable");
        assert_eq!(stored().as_deref(), Some(&table));
    }
}
