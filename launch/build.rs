//! Tells the crate what it was built from: a hash of all sources of the workspace and its built-in scenes, as
//! `PALPATE_SOURCES`.
//!
//! Rows of a trial are continued, and joined, only if the same code makes them; a version alone does not
//! say that while it is worked on. The same sources give the same hash on every machine.
//! FNV-1a (Fowler, Noll and Vo), because a build script should need no other crate.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders with code that rows depend on, beside this one.
const CRATES: [&str; 6] = [
    "calib",
    "launch",
    "master",
    "sim-twin",
    "slave",
    "transport",
];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = here.parent().unwrap_or(&here);
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    for name in CRATES {
        files.push(root.join(name).join("Cargo.toml"));
        collect(&root.join(name).join("src"), &mut files);
    }
    collect(&root.join("scenes"), &mut files);
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        let content = fs::read(file).unwrap_or_default();
        for byte in name
            .bytes()
            .filter(|byte| !b"/\\".contains(byte))
            .chain(content)
        {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        println!("cargo:rerun-if-changed={}", file.display());
    }
    println!("cargo:rustc-env=PALPATE_SOURCES={hash:016x}");
}

/// All files below a folder; a new one changes the folder, which is watched too.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
