//! Nothing lies in a drawer: public items are named by product code outside their crate, ticks are called in one
//! place, and every path and proof of `docs/rows.md` exists.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Source, product_sources, read, words};
use super::signature::{Item, public_items, without_tests};

/// Public items that no product code outside their crate names, and why they are public all the same.
const SEEN_ELSEWHERE: [(&str, &str); 12] = [
    ("moved_m", "tests/reference drives it"),
    ("cut", "tests/reference drives it"),
    ("join", "tests/reference drives it"),
    ("carve", "tests/reference drives it"),
    ("revive", "tests/reference drives it"),
    ("hold", "tests/reference drives it"),
    ("propagate", "tests/reference compares with it"),
    ("restore", "tests/reference compares with it"),
    ("range_m", "tests/reference compares with it"),
    ("Cli", "the binary beside the library parses it"),
    ("into_command", "the binary beside the library calls it"),
    ("dispatch", "the binary beside the library calls it"),
];

/// Public items that are still named by nobody: it may only fall, and ends at none.
const LEFT_MAX: usize = 117;

/// Modules of the bench: what only they name is not reached by a user.
fn is_bench(path: &str) -> bool {
    path.contains("/src/bench")
}

struct Crate {
    items: Vec<(String, Item)>,
    words: BTreeSet<String>,
}

fn crates(sources: &[Source]) -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for source in sources {
        let code = without_tests(&source.code);
        let entry = crates
            .entry(source.crate_folder())
            .or_insert_with(|| Crate {
                items: Vec::new(),
                words: BTreeSet::new(),
            });
        let path = source.path.clone();
        entry.items.extend(
            public_items(&code)
                .into_iter()
                .map(|item| (path.clone(), item)),
        );
        if !is_bench(&source.path) {
            entry.words.extend(words(&code).map(str::to_owned));
        }
    }
    crates
}

#[test]
fn public_items_are_named_outside_their_crate() {
    let crates = crates(&product_sources());
    let mut found = Vec::new();
    for (folder, own) in &crates {
        let others = crates.iter().filter(|(other, _)| *other != folder);
        let outside: BTreeSet<&str> = others
            .flat_map(|(_, other)| other.words.iter().map(String::as_str))
            .collect();
        let mut seen: BTreeSet<usize> = (own.items.iter().enumerate())
            .filter(|(_, (_, item))| outside.contains(item.name.as_str()))
            .map(|(index, _)| index)
            .collect();
        // a type may be shown by the signature of what is named
        loop {
            let shown: BTreeSet<&str> = seen
                .iter()
                .flat_map(|&index| words(&own.items[index].1.signature))
                .collect();
            let more: Vec<usize> = (own.items.iter().enumerate())
                .filter(|(index, (_, item))| {
                    !seen.contains(index) && !item.is_function && shown.contains(item.name.as_str())
                })
                .map(|(index, _)| index)
                .collect();
            if more.is_empty() {
                break;
            }
            seen.extend(more);
        }
        let excused = |item: &Item| SEEN_ELSEWHERE.iter().any(|(name, _)| *name == item.name);
        for (index, (path, item)) in own.items.iter().enumerate() {
            if !seen.contains(&index) && !excused(item) && item.name != "main" {
                found.push(format!("{path}:{}: {}", item.line, item.name));
            }
        }
    }
    assert!(
        found.len() <= LEFT_MAX,
        "{} of {LEFT_MAX}: {found:#?}",
        found.len()
    );
}

#[test]
fn each_tick_is_called_in_one_place() {
    for tick in ["palpate_master::tick(", "palpate_slave::tick("] {
        let calls: Vec<String> = product_sources()
            .iter()
            .filter(|source| without_tests(&source.code).contains(tick))
            .map(|source| source.path.clone())
            .collect();
        assert_eq!(calls, ["launch/session/src/pipeline.rs"], "{tick}");
    }
}

/// The cells of a row: its id, what it is, its status, its code and its proof.
fn rows() -> Vec<Vec<String>> {
    let text = read("docs/rows.md");
    let cells = |line: &str| {
        line.trim_matches('|')
            .split(" | ")
            .map(|c| c.trim().to_owned())
            .collect()
    };
    let table = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| row"));
    let rows = table
        .map(cells)
        .filter(|cells: &Vec<String>| cells.len() == 5);
    rows.filter(|cells| {
        cells[0].contains('-') || cells[0].starts_with(['M', 'H', 'E', 'S', 'T', 'P', 'N'])
    })
    .collect()
}

#[test]
fn rows_name_code_and_proofs_that_exist() {
    let rows = rows();
    assert_eq!(rows.len(), 593, "rows of the five source documents");
    let mut wrong = Vec::new();
    for row in &rows {
        let quoted = row[3..]
            .iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2));
        for place in quoted {
            let (path, test) = place.split_once("::").unwrap_or((place, ""));
            let found = super::scan::root().join(path);
            let has =
                found.exists() && (test.is_empty() || read(path).contains(&format!("fn {test}(")));
            if !has {
                wrong.push(format!("{}: {place}", row[0]));
            }
        }
        let works = row[2].starts_with("works");
        if works && (row[3].is_empty() || row[4].is_empty()) {
            wrong.push(format!("{}: works without code or proof", row[0]));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
