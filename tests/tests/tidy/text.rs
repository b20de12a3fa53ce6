//! Documents, comments and names: lengths, plain sentences, words of the field, and keys and paths that resolve.
//!
//! Source: ARCHITECTURE.md, CONTRIBUTING.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::scan::{files, in_backticks, read, root, sources, word_at};
use super::signature::{named, public_items};

const README_LINES_MAX: usize = 150;
const ARCHITECTURE_WORDS_MAX: usize = 1200;
const ARCHITECTURE_PATHS_MAX: usize = 25;
const SENTENCE_WORDS_MAX: usize = 30;

#[test]
fn nothing_is_left_for_later() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        concat!("db", "g!("),
    ];
    let kinds = ["rs", "toml", "md", "sh", "py", "js", "css", "html"];
    let mut found = Vec::new();
    for path in all_files() {
        if !kinds.contains(&extension(&path)) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("UTF-8 text");
        for mark in marks.iter().filter(|mark| text.contains(**mark)) {
            found.push(format!("{}: {mark}", path.display()));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

fn all_files() -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(&root(), &mut all);
    all
}

fn extension(path: &Path) -> &str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or_default()
}

/// Markdown files below a folder, as paths from the root.
fn markdown(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    files(&root().join(folder), &mut found);
    found.retain(|path| extension(path) == "md");
    let from_root = found.iter().map(|path| path.strip_prefix(root()));
    from_root
        .map(|path| path.expect("below the root").display().to_string())
        .collect()
}

/// Documents in plain English: all but tables of rows and sources.
fn first_documents() -> Vec<String> {
    let mut found = markdown("docs/guide");
    found.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "docs/limits.md",
        ]
        .map(str::to_owned),
    );
    found
}

/// Text of a document with the lines of its code blocks blanked.
fn without_code_blocks(text: &str) -> String {
    let mut in_block = false;
    let mut kept = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fence && !in_block {
            kept.push_str(line);
        }
        kept.push('\n');
        in_block ^= fence;
    }
    kept
}

/// Words of a text: what has a letter or a digit.
fn count_words(text: &str) -> usize {
    let words = text.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

/// Quoted texts of a document that are written as paths.
fn quoted_paths(text: &str) -> Vec<String> {
    in_backticks(text)
        .filter(|quoted| quoted.contains('/') && !quoted.contains([' ', ':', '<', '*']))
        .map(str::to_owned)
        .collect()
}

#[test]
fn documents_are_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");
    let text = read("ARCHITECTURE.md");
    let words = count_words(&text);
    assert!(
        words <= ARCHITECTURE_WORDS_MAX,
        "ARCHITECTURE.md has {words} words"
    );
    let paths = quoted_paths(&without_code_blocks(&text)).len();
    assert!(
        paths <= ARCHITECTURE_PATHS_MAX,
        "ARCHITECTURE.md has {paths} paths"
    );
}

#[test]
fn every_path_in_the_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let quoted = quoted_paths(&without_code_blocks(&text));
    assert!(quoted.len() > 10, "only {quoted:?} found");
    let drawn: Vec<String> = (text.split_whitespace())
        .filter(|word| word.len() > 1 && word.ends_with('/'))
        .map(str::to_owned)
        .collect();
    assert!(drawn.len() > 15, "only {drawn:?} found");
    for path in quoted.iter().chain(&drawn) {
        let path = path.trim_matches('`');
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}");
    }
}

#[test]
fn links_and_paths_in_documents_exist() {
    let mut documents = markdown("docs");
    documents.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned));
    let mut found = Vec::new();
    for document in documents.iter().filter(|name| *name != "docs/rows.md") {
        let text = without_code_blocks(&read(document));
        let place = root().join(document);
        let folder = place.parent().expect("a folder");
        for target in link_targets(&text) {
            if !folder.join(target).exists() {
                found.push(format!("{document}: {target}"));
            }
        }
        for path in quoted_paths(&text) {
            let first = path.split('/').next().unwrap_or_default();
            let ours = !["", "runs", "target"].contains(&first) && root().join(first).is_dir();
            let placeholder = path.contains("NAME");
            if ours && !placeholder && !root().join(&path).exists() {
                found.push(format!("{document}: `{path}`"));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Files that the links of a document name.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("](").skip(1);
    let targets = after.filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.starts_with("http"))
}

/// Sentences of a document, without code blocks, tables and headings; a quoted text is one word.
fn sentences(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in without_code_blocks(text).lines() {
        let line = line.trim();
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item =
            line.starts_with("- ") || (number.len() < line.len() && number.starts_with(". "));
        let apart = line.is_empty() || line.starts_with(['|', '#', '!']);
        if item || apart {
            paragraphs.push(String::new());
        }
        if !apart {
            let paragraph = paragraphs.last_mut().expect("one at least");
            let begin = if item { line.find(' ').unwrap_or(0) } else { 0 };
            paragraph.push_str(&line[begin..]);
            paragraph.push(' ');
        }
    }
    let plain = paragraphs.iter().map(|paragraph| without_quotes(paragraph));
    plain
        .flat_map(|paragraph| split_sentences(&paragraph))
        .collect()
}

/// A paragraph in which each quoted text and each target of a link is one word or none.
fn without_quotes(paragraph: &str) -> String {
    let parts = paragraph.split('`').enumerate();
    let text: String = parts
        .map(|(at, part)| if at % 2 == 0 { part } else { "quoted" })
        .collect();
    let mut plain = String::new();
    for (at, part) in text.split("](").enumerate() {
        let rest = part.split_once(')').map_or(part, |(_, rest)| rest);
        plain.push_str(if at == 0 { part } else { rest });
    }
    plain
}

fn split_sentences(paragraph: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let sentence = found.last_mut().expect("one at least");
        sentence.push_str(word);
        sentence.push(' ');
        if word
            .trim_end_matches(['*', ')', '"'])
            .ends_with(['.', '?', '!'])
        {
            found.push(String::new());
        }
    }
    found
}

#[test]
fn sentences_of_documents_are_short() {
    let mut long = Vec::new();
    for document in first_documents() {
        for sentence in sentences(&read(&document)) {
            let words = count_words(&sentence);
            if words > SENTENCE_WORDS_MAX {
                long.push(format!("{document}: {words} words: {sentence}"));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn sentences_are_split_where_they_end() {
    let text = "# A head. Of no sentence.\nOne `a b. c` two,\nthree. Four [five](six.md) 7.5 s.\n- Item\n```sh\ncode.\n```\n1. Last\n";
    let found: Vec<String> = sentences(text)
        .iter()
        .map(|sentence| sentence.trim().to_owned())
        .filter(|sentence| !sentence.is_empty())
        .collect();
    let expected = [
        "One quoted two, three.",
        "Four [five 7.5 s.",
        "Item",
        "Last",
    ];
    assert_eq!(found, expected);
}

/// Words with which no doc comment begins: it begins with a noun or a verb.
const QUESTION_WORDS: [&str; 8] = [
    "What", "Whether", "Who", "Whose", "Where", "How", "Which", "When",
];

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let mut found = Vec::new();
    for source in sources() {
        let mut before = "";
        for (line, text) in source.text.lines().enumerate() {
            let text = text.trim_start();
            let begins = |mark: &str| text.starts_with(mark) && !before.starts_with(mark);
            if (begins("///") || begins("//!")) && QUESTION_WORDS.contains(&word_at(text, 3)) {
                found.push(format!("{}:{}: {text}", source.path, line + 1));
            }
            before = text;
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Words of the former private language, which no name of a type, a file or a test has; the term that replaces each.
const BANNED: [(&str, &str); 34] = [
    ("asked", "a noun, such as request"),
    ("book", "energy balance, charge, record"),
    ("books", "energy balance"),
    ("cling", "friction, grasp"),
    ("desk", "controller"),
    ("duty", "command state"),
    ("goes", "a noun of the field"),
    ("heard", "received"),
    ("hears", "receives"),
    ("knows", "depends on"),
    ("leg", "minimum-jerk segment"),
    ("lesson", "correction"),
    ("lessons", "correction map"),
    ("pace", "fixed stepper"),
    ("reel", "timeline"),
    ("reservoir", "energy tank"),
    ("rode", "a noun of the field"),
    ("said", "reply"),
    ("says", "a noun of the field"),
    ("seam", "hanging nodes"),
    ("shelf", "recording library"),
    ("sill", "ipc"),
    ("strand", "run"),
    ("strands", "runs"),
    ("tells", "a noun of the field"),
    ("told", "a noun of the field"),
    ("weave", "stencil"),
    ("went", "a noun of the field"),
    ("who", "operator, peer, side"),
    ("whose", "a noun of the field"),
    ("wield", "tool changer"),
    ("wish", "request"),
    ("wishes", "requests"),
    ("witness", "load monitor"),
];

/// Words that no name of a type has: tests may use them as plain English.
const BANNED_IN_TYPES: [&str; 18] = [
    "exact", "felt", "given", "gives", "kept", "known", "left", "linked", "made", "masked", "met",
    "seen", "shown", "still", "stroke", "ways", "what", "which",
];

/// Words of a name, in small letters.
fn name_words(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            found.push(String::new());
        }
        if c.is_alphanumeric() {
            let word = found.last_mut().expect("one at least");
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase() || c.is_ascii_digit();
    }
    found
}

/// Types that code declares.
fn types(code: &str) -> impl Iterator<Item = &str> {
    let keywords = ["struct ", "enum ", "trait ", "type "];
    let names = keywords
        .into_iter()
        .flat_map(move |keyword| named(code, keyword).map(move |(_, at)| word_at(code, at)));
    names.filter(|name| name.starts_with(char::is_uppercase))
}

/// Functions of code that are tests.
fn tests(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("#[test]").skip(1);
    after.filter_map(|rest| named(rest, "fn ").next().map(|(_, at)| word_at(rest, at)))
}

#[test]
fn names_are_words_of_the_field() {
    let mut found = BTreeSet::new();
    let mut check = |name: &str, place: &str, in_types: bool| {
        for word in name_words(name) {
            let banned = BANNED.iter().find(|(banned, _)| *banned == word);
            let term = banned.map(|(_, term)| *term);
            let of_type = in_types && BANNED_IN_TYPES.contains(&word.as_str());
            if let Some(term) = term.or(of_type.then_some("a noun of the field")) {
                found.insert(format!("{place}: {name}: instead of `{word}`: {term}"));
            }
        }
    };
    for source in sources() {
        for name in types(&source.code) {
            // a what-if replay is a term of the command line
            check(&name.replace("WhatIf", ""), &source.path, true);
        }
        for name in tests(&source.code) {
            check(name, &source.path, false);
        }
        let stem = Path::new(&source.path).file_stem().unwrap_or_default();
        check(&stem.to_string_lossy(), &source.path, false);
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_are_split_into_words() {
    assert_eq!(name_words("WentThrough2D"), ["went", "through2", "d"]);
    assert_eq!(name_words("stale_frame-fades"), ["stale", "frame", "fades"]);
}

#[test]
fn public_type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        let types: BTreeSet<&str> = types(&source.code).collect();
        let mut items = public_items(&source.code);
        items.retain(|item| types.contains(item.name.as_str()));
        for item in items {
            let place = places.entry(item.name).or_default();
            place.push(source.path.clone());
        }
    }
    assert!(places.len() > 400, "only {} types found", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

/// Text of the comments of a source, without marks and line breaks; a comment apart begins after a line break.
fn comments(text: &str) -> String {
    let mut found = String::new();
    for line in text.lines() {
        match line.trim_start().split_once("//") {
            Some(("", rest)) => {
                found.push(' ');
                found.push_str(rest.trim_start_matches(['/', '!']).trim());
            }
            _ => found.push('\n'),
        }
    }
    found
}

/// Keys of literature in a text, as `Saad 2003` of `(Saad 2003)` or `Muller (1958)`: the last name and the year.
fn author_years(text: &str) -> Vec<String> {
    let words: Vec<&str> = text
        .split([' ', '\n'])
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let digits = word.trim_start_matches('(');
        let year = digits.get(..4).and_then(|year| year.parse::<u32>().ok());
        let ends = !digits.chars().nth(4).is_some_and(char::is_alphanumeric);
        if !(ends && year.is_some_and(|year| (1850..2031).contains(&year))) {
            continue;
        }
        let mut from = at - 1;
        let others = from >= 2 && words[from].starts_with("al.") && words[from - 1] == "et";
        from -= 2 * usize::from(others);
        let name = words[from]
            .trim_start_matches(['(', '"'])
            .trim_end_matches(',');
        let mut letters = name.chars();
        let capital = letters.next().is_some_and(char::is_uppercase);
        let small = letters.next().is_some_and(char::is_lowercase);
        let plain = name.chars().all(|c| c.is_alphabetic() || c == '-');
        if capital && small && plain && name.len() > 2 {
            let others = if others { " et al." } else { "" };
            found.push(format!("{name}{others} {}", &digits[..4]));
        }
    }
    found
}

/// Keys of source documents and reviews in a text.
fn document_keys(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("seed-00") {
        found.extend(text.get(at..at + 8).map(str::to_owned));
    }
    for start in [
        "teleop E",
        "teleop RP",
        "teleop goal ",
        "teleop section ",
        "transport fact ",
        "transport section ",
    ] {
        for (at, _) in text.match_indices(start) {
            let rest = &text[at + start.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let rest = &rest[..end.unwrap_or(rest.len())];
            if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                found.push(format!("{start}{rest}"));
            }
        }
    }
    found
}

#[test]
fn every_citation_resolves() {
    let known = read("docs/sources.md");
    let rows: String = known.lines().filter(|line| line.starts_with('|')).collect();
    let resolves = |key: &str| {
        // E6 stands for E6a and E6b
        rows.contains(&format!("{key} ")) || rows.contains(&format!("{key}a "))
    };
    let (mut missing, mut count) = (BTreeMap::new(), 0_usize);
    for source in sources() {
        let text = comments(&source.text);
        let keys = author_years(&text).into_iter().chain(document_keys(&text));
        for key in keys {
            count += 1;
            if !resolves(&key) {
                missing.insert(key, source.path.clone());
            }
        }
    }
    assert!(count > 300, "only {count} citations found");
    assert!(missing.is_empty(), "not in docs/sources.md: {missing:#?}");
}

#[test]
fn citations_are_found_in_comments() {
    let text = comments(
        "//! Source: ours, after Box and Muller\n//! (1958); Cox et al. 2004, teleop E6a.\nlet a = 1900;\n",
    );
    assert_eq!(author_years(&text), ["Muller 1958", "Cox et al. 2004"]);
    assert_eq!(document_keys(&text), ["teleop E6a"]);
    assert!(author_years("// within 2000 ticks, RFC 1951").is_empty());
}
