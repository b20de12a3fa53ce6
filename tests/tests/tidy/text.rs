//! Documents and marks: nothing is left for later, and every path that is named exists. Source: ARCHITECTURE.md.

use std::fs;

use super::scan::{files, root};

#[test]
fn nothing_is_left_for_later() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        "dbg!(",
    ];
    let mut found = Vec::new();
    let mut all = Vec::new();
    files(&root(), &mut all);
    for path in all {
        let kind = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        if !["rs", "toml", "md", "sh", "py", "js", "css", "html"].contains(&kind) {
            continue;
        }
        if path.ends_with("tests/tests/tidy/text.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("UTF-8 text");
        for mark in marks.iter().filter(|mark| text.contains(**mark)) {
            found.push(format!("{}: {mark}", path.display()));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_path_in_the_architecture_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut seen = 0;
    for quoted in text.split('`').skip(1).step_by(2) {
        let is_path = quoted.contains('/') && !quoted.contains([' ', ':', '<', '*']);
        if is_path {
            assert!(
                root().join(quoted).exists(),
                "ARCHITECTURE.md names {quoted}"
            );
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} paths found");
}
