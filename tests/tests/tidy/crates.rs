//! Rules about crates: dependencies, versions, and sizes. Source: ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::scan::{product_sources, root};

/// Crates of ours that a crate may depend on; development dependencies are free.
pub(crate) const MAY_USE: [(&str, &[&str]); 19] = [
    ("sim-twin", &[]),
    ("sim-twin/geometry", &["palpate-twin"]),
    ("sim-twin/fem", &["palpate-geometry", "palpate-twin"]),
    ("sim-twin/voxel", &["palpate-twin"]),
    ("sim-twin/springs", &["palpate-twin"]),
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
    ("tests", &["palpate-session", "palpate-transport"]),
    (
        "tests/reference",
        &["palpate-calib", "palpate-twin", "palpate-voxel"],
    ),
];

/// Crates below the shell, on which every crate of `launch/` may depend too.
pub(crate) const LAUNCH_MAY_USE: [&str; 12] = [
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

/// Crates that a manifest's product code is built with, whatever the target: dependencies and build-dependencies.
pub(crate) fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let targets = table(manifest, "target").into_values();
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let kinds = ["dependencies", "build-dependencies"];
    tables
        .flat_map(|of| kinds.map(|kind| table(of, kind)))
        .flat_map(BTreeMap::into_keys)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_table_lists_the_members_of_the_workspace() {
    let manifest = manifest("");
    let members = table(&manifest, "workspace")["members"].as_array();
    let members = members.expect("an array").iter().filter_map(|m| m.as_str());
    let known = MAY_USE.map(|(folder, _)| folder);
    assert_eq!(members.collect::<BTreeSet<_>>(), BTreeSet::from(known));
}

#[test]
fn crates_depend_on_those_in_the_table() {
    for (folder, allowed) in MAY_USE {
        let known = dependencies(&manifest(folder));
        for name in &known {
            let name = name.as_str();
            let ours = name.starts_with("palpate");
            let below = folder.starts_with("launch") && LAUNCH_MAY_USE.contains(&name);
            assert!(
                !ours || below || allowed.contains(&name),
                "{folder} must not depend on {name}"
            );
        }
        for name in allowed {
            assert!(known.contains(*name), "{folder} does not depend on {name}");
        }
    }
}

#[test]
fn versions_are_in_the_workspace_table_only() {
    for (folder, _) in MAY_USE {
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

/// Largest number of product lines of a crate.
const CRATE_LINES_MAX: usize = 15_000;

#[test]
fn crates_have_a_bounded_size() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for source in product_sources() {
        let tests = source.text.find("#[cfg(test)]\nmod tests {");
        let own = &source.text[..tests.unwrap_or(source.text.len())];
        *lines.entry(source.crate_folder()).or_default() += own.lines().count();
    }
    let large: Vec<_> = lines
        .iter()
        .filter(|(_, lines)| **lines > CRATE_LINES_MAX)
        .collect();
    assert!(large.is_empty(), "{large:?}");
}
