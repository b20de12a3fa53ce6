//! Crates: who knows whom, where versions stand, and how large a crate may be. Source: ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::fs;

use super::scan::{product_sources, root};
use super::signature::without_tests;

/// Crates of ours that a crate may depend on; development dependencies are free.
pub(crate) const KNOWS: [(&str, &[&str]); 19] = [
    ("sim-twin", &[]),
    ("sim-twin/geometry", &["palpate-twin"]),
    ("sim-twin/fem", &["palpate-geometry", "palpate-twin"]),
    ("sim-twin/voxel", &["palpate-geometry", "palpate-twin"]),
    ("sim-twin/springs", &["palpate-geometry", "palpate-twin"]),
    (
        "sim-twin/scene",
        &[
            "palpate-fem",
            "palpate-geometry",
            "palpate-springs",
            "palpate-twin",
            "palpate-voxel",
        ],
    ),
    ("transport", &[]),
    ("transport/port", &["palpate-transport"]),
    ("transport/bus", &["palpate-transport"]),
    (
        "master",
        &[
            "palpate-port",
            "palpate-scene",
            "palpate-transport",
            "palpate-twin",
        ],
    ),
    ("slave", &["palpate-port", "palpate-transport"]),
    ("calib", &["palpate-scene", "palpate-twin"]),
    ("launch/session", &[]),
    ("launch/analysis", &["palpate-session"]),
    ("launch/console", &["palpate-analysis", "palpate-session"]),
    (
        "launch/study",
        &["palpate-analysis", "palpate-console", "palpate-session"],
    ),
    (
        "launch",
        &[
            "palpate-analysis",
            "palpate-console",
            "palpate-session",
            "palpate-study",
        ],
    ),
    ("tests", &[]),
    ("tests/reference", &["palpate-twin", "palpate-voxel"]),
];

/// Crates beneath the shell, which every crate of `launch/` may know besides.
pub(crate) const BELOW: [&str; 12] = [
    "palpate-bus",
    "palpate-calib",
    "palpate-fem",
    "palpate-geometry",
    "palpate-master",
    "palpate-port",
    "palpate-scene",
    "palpate-slave",
    "palpate-springs",
    "palpate-transport",
    "palpate-twin",
    "palpate-voxel",
];

pub(crate) fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    fs::read_to_string(path)
        .expect("a manifest")
        .parse()
        .expect("TOML")
}

pub(crate) fn table<'a>(
    manifest: &'a toml::Table,
    name: &str,
) -> BTreeMap<&'a str, &'a toml::Value> {
    let table = manifest.get(name).and_then(toml::Value::as_table);
    table
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
        .collect()
}

#[test]
fn crates_know_only_whom_they_may() {
    for (folder, allowed) in KNOWS {
        let manifest = manifest(folder);
        for name in table(&manifest, "dependencies").keys() {
            let ours = name.starts_with("palpate");
            let below = folder.starts_with("launch") && BELOW.contains(name);
            assert!(
                !ours || below || allowed.contains(name),
                "{folder} must not depend on {name}"
            );
        }
    }
}

#[test]
fn versions_stand_in_the_workspace_table_only() {
    for (folder, _) in KNOWS {
        let manifest = manifest(folder);
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in table(&manifest, kind) {
                let shared = value.get("workspace").and_then(toml::Value::as_bool);
                assert_eq!(
                    shared,
                    Some(true),
                    "{folder}: {kind}.{name} is not `workspace = true`"
                );
            }
        }
    }
}

/// Most product lines of a crate.
const CRATE_LINES_MAX: usize = 15_000;

#[test]
fn crates_are_of_a_size_that_one_reads() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for source in product_sources() {
        let tests = source
            .text
            .find("#[cfg(test)]\nmod tests {")
            .unwrap_or(source.text.len());
        *lines.entry(source.crate_folder()).or_default() += source.text[..tests].lines().count();
        assert!(without_tests(&source.code).len() <= source.code.len());
    }
    let large: Vec<_> = lines
        .iter()
        .filter(|(_, lines)| **lines > CRATE_LINES_MAX)
        .collect();
    assert!(large.is_empty(), "{large:?}");
}
