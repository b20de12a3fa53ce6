//! Rules about reachability: public items are named by product code outside their crate, ticks are called in
//! one place, and every path and proof of `docs/rows.md` and `docs/safety.md` exists.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{MAY_USE, dependencies, manifest, table};
use super::scan::{Source, has_word, in_backticks, product_sources, read, root, sources, words};
use super::signature::{Item, imports, public_items, without_tests};

/// Public items that no product code outside their crate names, as `path::name: the reason why it is public`.
const SEEN_ELSEWHERE: &str = "\
launch/analysis/src/conclusion.rs::topology_note: tests of cutting read the sentence that a report says
launch/study/src/atlas/plant_session.rs::plant: tests of couplings press the walls of the atlas
launch/analysis/src/metrics/press.rs::fit_press: launch/tests measures presses of held-out scenes with it
launch/console/src/playback/timeline.rs::length_s: launch/tests plays recordings with it
launch/console/src/playback/timeline.rs::surface_end: launch/tests plays recordings with it
launch/console/src/playback/timeline.rs::surface_at: launch/tests plays recordings with it
launch/console/src/rehearsal/solo.rs::with_handle: tests give a rehearsal a handle of their own
launch/console/src/rehearsal/solo.rs::twin: launch/tests looks at what a script leaves
launch/console/src/rehearsal/solo.rs::trace_hash: tests compare rehearsals with it
launch/console/src/server.rs::port: launch/tests reaches a console at a free port
launch/session/src/lab.rs::restart: tests start a side anew, which live is a process
launch/session/src/lab.rs::inject_fault: tests see a fault on the line found
launch/session/src/lab.rs::miss_ticks: the adversary pauses a side with it
launch/session/src/lab.rs::halt_ticks: the adversary stops a side with it
transport/src/coupling/retune.rs::TooManyChanges: the error of a public `TryFrom`
launch/session/src/run/allocation.rs::held_bytes: `palpate bench` measures the memory of a tissue
sim-twin/fem/src/explicit/mod.rs::collapses: `palpate bench` has the goal that no cell falls in
sim-twin/fem/src/explicit/mod.rs::squeezed_added_mass_kg: `palpate bench` measures the mass that a step adds
sim-twin/fem/src/predictor.rs::ContactSolver: its criterion bench and its fuzz target drive it
launch/session/src/keys.rs::make_pair: `palpate bench` times the secured bus without a session
transport/bus/src/seal.rs::time_seal: `palpate bench` times the seal of a frame
transport/bus/src/stream.rs::FramePublisher: `palpate bench` times the bus without a session
transport/bus/src/stream.rs::FrameSubscription: `palpate bench` times the bus without a session
transport/bus/src/stream.rs::frame_publisher: `palpate bench` times the bus without a session
transport/bus/src/stream.rs::subscribe_frames: `palpate bench` times the bus without a session
transport/bus/src/threads.rs::raise_threads: `palpate bench` times the bus without a session
";

/// Returns true for modules of the bench: items that only these name are not reached by a user.
fn is_bench(path: &str) -> bool {
    path.contains("/src/bench")
}

/// Public items of a crate by file, and the crates it is built with, whose items it may name.
#[derive(Default)]
struct Crate {
    items: Vec<(String, Item)>,
    /// Items exported under another name: `pub use` with `as`.
    renamed: Vec<(String, String)>,
    knows: BTreeSet<String>,
    names: Names,
}

/// Names in code: all words in type position, and those that may be functions.
#[derive(Default)]
struct Names {
    words: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Names {
    fn add(&mut self, code: &str) {
        self.words.extend(words(code).map(str::to_owned));
        self.functions.extend(
            imports(code)
                .iter()
                .flat_map(|path| words(path))
                .map(str::to_owned),
        );
        let mut before = 0;
        for word in words(code) {
            let at = before + code[before..].find(word).unwrap_or_default();
            before = at + word.len();
            let called = code[..at].ends_with('.') && code[before..].starts_with(['(', ':']);
            if called || code[..at].ends_with("::") {
                self.functions.insert(word.to_owned());
            }
        }
    }

    fn has(&self, name: &str, is_function: bool) -> bool {
        let names = if is_function {
            &self.functions
        } else {
            &self.words
        };
        names.contains(name)
    }
}

/// Folder of every crate by its package.
fn folders() -> BTreeMap<String, &'static str> {
    let name = |folder| {
        table(&manifest(folder), "package")["name"]
            .as_str()
            .map(str::to_owned)
    };
    MAY_USE
        .into_iter()
        .filter_map(|(folder, _)| Some((name(folder)?, folder)))
        .collect()
}

/// Crates that one is built with, directly or through others.
fn beneath(folder: &str, folders: &BTreeMap<String, &'static str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let known = dependencies(&manifest(&folder));
        let ours = known.iter().filter_map(|name| folders.get(name));
        for folder in ours {
            if found.insert((*folder).to_owned()) {
                open.push((*folder).to_owned());
            }
        }
    }
    found
}

/// Sources of a crate that only verifies; it may name exports of `palpate-voxel`.
const JUDGE: (&str, &str) = ("tests/reference", "sim-twin/voxel");

/// The binary beside the library of its crate.
const BINARY: &str = "launch/src/main.rs";

fn crates() -> BTreeMap<String, Crate> {
    let folders = folders();
    let mut crates: BTreeMap<String, Crate> = MAY_USE
        .into_iter()
        .map(|(folder, _)| {
            let knows = beneath(folder, &folders);
            let of = Crate {
                knows,
                ..Crate::default()
            };
            (folder.to_owned(), of)
        })
        .collect();
    let judge = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("tests/reference/src/"));
    for source in product_sources().into_iter().chain(judge) {
        let Source { path, code, .. } = &source;
        let code = without_tests(code);
        if path == BINARY {
            // the binary is a crate of its own, next to the library
            let mut knows = beneath("launch", &folders);
            knows.insert("launch".to_owned());
            let of = crates.entry(path.clone()).or_default();
            of.knows = knows;
            of.names.add(&code);
            continue;
        }
        let of = crates
            .get_mut(&source.crate_folder())
            .expect("a known crate");
        if !path.starts_with(JUDGE.0) {
            of.items.extend(
                public_items(&code)
                    .into_iter()
                    .map(|item| (path.clone(), item)),
            );
        }
        let renamed = imports(&code)
            .into_iter()
            .filter_map(|path| path.split_once(" as "));
        of.renamed.extend(renamed.map(|(path, name)| {
            let old = words(path).last().unwrap_or_default();
            (old.to_owned(), name.trim().to_owned())
        }));
        if !is_bench(path) {
            of.names.add(&code);
        }
    }
    crates
}

/// Public items of a crate, by index, that crates above it name; the oracles of `tests/reference` count for
/// `palpate-voxel` only, as they drive its parts one by one.
fn named_outside(folder: &str, crates: &BTreeMap<String, Crate>) -> BTreeSet<usize> {
    let own = &crates[folder];
    let above: Vec<&Names> = crates
        .iter()
        .filter(|(other, of)| of.knows.contains(folder) && (*other != JUDGE.0 || folder == JUDGE.1))
        .map(|(_, of)| &of.names)
        .collect();
    let named = |item: &Item| {
        let renamed = own.renamed.iter().filter(|(name, _)| *name == item.name);
        let mut names = renamed.map(|(_, name)| name).chain([&item.name]);
        names.any(|name| above.iter().any(|names| names.has(name, item.is_function)))
    };
    let items = own.items.iter().enumerate();
    let seen = items.filter(|(_, (_, item))| named(item));
    shown(own, seen.map(|(index, _)| index).collect())
}

/// Adds the types in the signatures of these items.
fn shown(own: &Crate, mut seen: BTreeSet<usize>) -> BTreeSet<usize> {
    loop {
        let shown: BTreeSet<&str> = seen
            .iter()
            .flat_map(|&index| words(&own.items[index].1.signature))
            .collect();
        let before = seen.len();
        let items = own.items.iter().enumerate();
        let more =
            items.filter(|(_, (_, item))| !item.is_function && shown.contains(item.name.as_str()));
        seen.extend(more.map(|(index, _)| index).collect::<Vec<_>>());
        if seen.len() == before {
            return seen;
        }
    }
}

#[test]
fn public_items_are_named_outside_their_crate() {
    let crates = crates();
    let listed = SEEN_ELSEWHERE.lines().map(|line| line.split_once(": "));
    let listed: BTreeSet<String> = listed
        .map(|entry| entry.expect("a place and its reason").0.to_owned())
        .collect();
    let (mut found, mut needed) = (Vec::new(), BTreeSet::new());
    for (folder, own) in &crates {
        let mut seen = named_outside(folder, &crates);
        for (index, (path, item)) in own.items.iter().enumerate() {
            let place = format!("{path}::{}", item.name);
            if listed.contains(&place) && seen.insert(index) {
                needed.insert(place);
            }
        }
        let seen = shown(own, seen);
        for (index, (path, item)) in own.items.iter().enumerate() {
            if !seen.contains(&index) && item.name != "main" {
                found.push(format!("{path}:{}: {}", item.line, item.name));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(needed, listed, "listed and not needed");
}

#[test]
fn each_tick_is_called_in_one_place() {
    for side in ["palpate_master", "palpate_slave"] {
        let (tick, call) = (format!("{side}::tick"), format!("{side}::tick("));
        let mut calls = Vec::new();
        for source in product_sources() {
            let code = without_tests(&source.code);
            let named = code.lines().filter(|line| has_word(line, &tick)).count();
            assert_eq!(
                named,
                code.matches(&call).count(),
                "{}: {tick} is called only",
                source.path
            );
            calls.extend(vec![source.path.clone(); named]);
            for import in imports(&code)
                .iter()
                .filter(|import| has_word(import, side))
            {
                let renamed = import.contains(&format!("{side} as "));
                let renames = renamed
                    || words(import).any(|word| word == "tick")
                    || import.contains("::{self as ");
                assert!(!renames, "{}: `use {import}`", source.path);
            }
        }
        assert_eq!(calls, ["launch/session/src/pipeline.rs"], "{tick}");
    }
}

/// Returns the cells of each row: id, description, status, code and proof.
fn rows(text: &str) -> Vec<Vec<String>> {
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

/// True if a file has a test of this name that is not ignored.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    text.match_indices(&head).any(|(at, _)| {
        let above = text[..at].rsplit_once('\n').map_or("", |(above, _)| above);
        let marks = above.lines().rev().map(str::trim_start);
        let marks: Vec<&str> = marks
            .take_while(|line| line.starts_with(['#', '/']))
            .collect();
        marks.iter().any(|mark| mark.ends_with("test]"))
            && !marks.iter().any(|mark| mark.contains("ignore"))
    })
}

#[test]
fn rows_refer_to_existing_code_and_proofs() {
    let rows = rows(&read("docs/rows.md"));
    assert_eq!(rows.len(), 593, "rows of the five source documents");
    let ids: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(ids.len(), rows.len(), "ids are unique");
    let mut wrong = Vec::new();
    for row in &rows {
        for place in row[3..].iter().flat_map(|cell| in_backticks(cell)) {
            let (path, test) = place.split_once("::").unwrap_or((place, ""));
            let exists = root().join(path).exists();
            if !exists || !(test.is_empty() || has_test(&read(path), test)) {
                wrong.push(format!("{}: {place}", row[0]));
            }
        }
        let works = row[2].starts_with("works");
        if works && (row[3].is_empty() || row[4].is_empty()) {
            wrong.push(format!("{}: works without code or proof", row[0]));
        }
        if works && row[3].contains("tests/reference/") {
            wrong.push(format!("{}: works, and its code only judges", row[0]));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn hazards_refer_to_existing_tests() {
    let (text, sources) = (read("docs/safety.md"), sources());
    let hazards = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| hazard"));
    let mut wrong = Vec::new();
    for hazard in hazards {
        let proof = hazard.trim_end_matches(['|', ' ']).rsplit(" | ").next();
        let proofs: Vec<&str> = in_backticks(proof.unwrap_or_default()).collect();
        let exists = |proof: &&str| match proof.contains('/') {
            true => root().join(proof).exists(),
            false => sources.iter().any(|source| has_test(&source.text, proof)),
        };
        if proofs.is_empty() || !proofs.iter().all(exists) {
            wrong.push(hazard.to_owned());
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_summary_of_the_rows_adds_up() {
    const KINDS: [&str; 5] = ["works", "partly", "not reached", "missing", "n/a"];
    let text = read("docs/rows.md");
    let numbers = |name: &str| -> Vec<usize> {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("| {name}")));
        let cells = line
            .unwrap_or_else(|| panic!("no line of {name}"))
            .split('|')
            .skip(2);
        cells.filter_map(|cell| cell.trim().parse().ok()).collect()
    };
    let mut together = vec![0; 1 + KINDS.len()];
    for section in text.split("\n## S").skip(1) {
        let name = format!("s{}", section.lines().next().unwrap_or_default());
        let rows = rows(section);
        let of = |kind: &str| {
            rows.iter()
                .filter(|row| row[2].split(':').next() == Some(kind))
                .count()
        };
        let counted: Vec<usize> = [rows.len()].into_iter().chain(KINDS.map(of)).collect();
        assert_eq!(
            counted[1..].iter().sum::<usize>(),
            counted[0],
            "{name}: a status is unknown"
        );
        assert_eq!(numbers(&name), counted, "{name}");
        (0..together.len()).for_each(|at| together[at] += counted[at]);
    }
    assert_eq!(numbers("together"), together);
}
