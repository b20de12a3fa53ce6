//! Build script: sets `PALPATE_SOURCES` to a hash of all sources that determine the bits of a session, or the rows
//! of a study.
//!
//! Rows of a trial are continued, and merged, only if the same code makes them, and a recording names the code that
//! wrote it; a version does not identify code under development. The same sources give the same hash on
//! every machine and in every profile. FNV-1a (Fowler, Noll and Vo), because a build script should need no
//! other crate. Both crates that need a hash use this file as build script; the tests of one include it.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with code that determines the bits of a session.
const OF_A_SESSION: [&str; 5] = ["launch/session", "master", "sim-twin", "slave", "transport"];

/// Further folders that determine the rows of a study.
const OF_A_STUDY: [&str; 4] = ["calib", "launch/analysis", "launch/console", "launch/study"];

/// Folders of a crate that are not compiled into it.
const BESIDE: [&str; 6] = ["benches", "examples", "fuzz", "peers", "target", "tests"];

#[cfg(not(test))]
fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = here.ancestors().nth(2).unwrap_or(&here);
    let is_study = here.ends_with("study");
    let (files, folders) = sources(root, is_study);
    for path in files.iter().chain(&folders) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rustc-env=PALPATE_SOURCES={}", hash(root, &files));
}

/// Source files of the workspace, sorted, and the folders in which more may appear.
fn sources(root: &Path, is_study: bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    let mut folders = Vec::new();
    let study: &[&str] = if is_study { &OF_A_STUDY } else { &[] };
    for name in OF_A_SESSION.iter().chain(study) {
        collect(&root.join(name), &mut files, &mut folders);
    }
    files.sort();
    (files, folders)
}

/// Hash of file names and contents.
fn hash(root: &Path, files: &[PathBuf]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        let content = fs::read(file).unwrap_or_default();
        for byte in name
            .bytes()
            .filter(|byte| !b"/\\".contains(byte))
            .chain(content)
        {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// Collects all files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>, folders: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !BESIDE.iter().any(|name| path.ends_with(name)) {
                collect(&path, files, folders);
            }
        } else {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).expect("a workspace").to_owned()
    }

    #[test]
    fn source_hash_does_not_depend_on_the_profile() {
        let (files, _) = sources(&root(), false);
        // this test runs under any profile; a build script computed the constant
        assert_eq!(hash(&root(), &files), env!("PALPATE_SOURCES"));
    }

    #[test]
    fn source_hash_covers_every_product_crate() {
        let (files, _) = sources(&root(), true);
        let text = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
        let workspace: toml::Table = text.parse().expect("TOML");
        let members = workspace["workspace"]["members"].as_array();
        for member in members.expect("members") {
            let member = member.as_str().expect("a folder");
            let counted = files.contains(&root().join(member).join("Cargo.toml"));
            // the tests and the command line do not affect rows
            let beside = ["tests", "tests/reference", "launch"].contains(&member);
            assert_eq!(counted, !beside, "{member}");
        }
        let (of_a_session, _) = sources(&root(), false);
        for file in [
            "transport/src/coupling/energy_tank.rs",
            "master/src/tick.rs",
            "slave/src/tick.rs",
            "sim-twin/scene/src/lib.rs",
            "launch/session/src/lab.rs",
            "launch/session/build.rs",
            "sim-twin/scene/scenes/layered.toml",
            "sim-twin/scene/scenes/mound.msh",
        ] {
            assert!(of_a_session.contains(&root().join(file)), "{file}");
        }
        let (test, metrics) = ("master/tests/", "launch/analysis/src/metrics.rs");
        assert!(
            !of_a_session
                .iter()
                .any(|file| file.starts_with(root().join(test)))
        );
        assert!(!of_a_session.contains(&root().join(metrics)));
        assert!(files.contains(&root().join(metrics)));
    }

    #[test]
    fn issue_scene_change_did_not_change_the_hash() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let now = || hash(root.path(), &sources(root.path(), true).0);
        let mut hashes = vec![now()];
        for (path, text) in [
            ("slave/src/lib.rs", "1"),
            ("slave/src/deep/er.rs", "1"),
            ("slave/src/deep/er.rs", "2"),
            ("slave/deep/src/lib.rs", "1"),
            ("sim-twin/scene/scenes/soft.toml", "1"),
            ("sim-twin/scene/scenes/soft.toml", "2"),
            ("launch/session/build.rs", "1"),
            ("Cargo.lock", "1"),
        ] {
            write(path, text);
            let hash = now();
            assert!(!hashes.contains(&hash), "{path} {text}");
            hashes.push(hash);
        }
        for beside in ["tests/src/lib.rs", "slave/tests/all.rs"] {
            write(beside, "1");
            assert_eq!(hashes.last(), Some(&now()), "{beside}");
        }
    }
}
