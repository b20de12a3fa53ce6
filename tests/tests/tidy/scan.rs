//! Scanner of the tree: sources, their code without comments and strings, and positions of words. Source:
//! ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

use super::crates::MAY_USE;

pub(crate) fn root() -> PathBuf {
    // the manifest of this crate is one folder below the workspace
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a workspace")
        .to_owned()
}

/// All files below `folder`, without build output, in a fixed order.
pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("readable").flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() {
            let skipped = name.starts_with("target") || name == ".git" || name == "runs";
            if !skipped {
                files(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

/// One Rust file: its path from the root, its text, and its code without comments and strings.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) code: String,
}

/// Every Rust file of the workspace.
pub(crate) fn sources() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    // a nested crate is found in the folder of the crate around it
    for (crate_folder, _) in MAY_USE.iter().filter(|(folder, _)| !folder.contains('/')) {
        files(&root.join(crate_folder), &mut found);
    }
    // a crate lies in the folder of another
    found.sort();
    found.dedup();
    let rust = found
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"));
    rust.map(|path| {
        let text = fs::read_to_string(&path).expect("UTF-8 text");
        let code = code_of(&text);
        let path = path
            .strip_prefix(&root)
            .expect("below the root")
            .display()
            .to_string();
        Source { path, text, code }
    })
    .collect()
}

/// Sources of the crates themselves: neither integration tests nor benches.
pub(crate) fn crate_sources() -> Vec<Source> {
    sources()
        .into_iter()
        .filter(|source| source.path.contains("/src/"))
        .collect()
}

/// Sources that are not the tests of a module in a file of their own.
pub(crate) fn own_sources() -> Vec<Source> {
    let mut sources = sources();
    sources.retain(|source| !source.path.ends_with("/tests.rs"));
    sources
}

/// The text with comments and the contents of strings blanked, lines kept.
pub(crate) fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match skip(&bytes[at..], at > 0 && is_word(bytes[at - 1])) {
            0 => {
                code.push(char::from(bytes[at]));
                at += 1;
                continue;
            }
            length => (at + length).min(bytes.len()),
        };
        code.extend(
            bytes[at..end]
                .iter()
                .map(|&b| if b == b'\n' { '\n' } else { ' ' }),
        );
        at = end;
    }
    code
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the comment, string or character literal at the start, 0 if there is none.
pub(crate) fn skip(rest: &[u8], in_word: bool) -> usize {
    let find = |from: usize, end: &[u8]| {
        let tail = rest.get(from..).unwrap_or_default();
        let place = tail.windows(end.len()).position(|window| window == end);
        place.map_or(rest.len(), |place| from + place + end.len())
    };
    if rest.starts_with(b"//") {
        return find(2, b"\n") - 1;
    }
    if rest.starts_with(b"/*") {
        return find(2, b"*/");
    }
    if rest[0] == b'r' && !in_word {
        let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            return find(2 + hashes, &end);
        }
    }
    if rest[0] == b'"' {
        return quoted(rest, b'"');
    }
    // a character literal, not a lifetime: closed after one character, or escaped
    let escaped = rest[0] == b'\'' && rest.get(1) == Some(&b'\\');
    let short = rest[0] == b'\'' && (2..=5).any(|n| rest.get(n) == Some(&b'\''));
    let lifetime = rest.get(2) != Some(&b'\'') && rest.get(1).is_some_and(|&b| is_word(b));
    if escaped || (short && !lifetime) {
        quoted(rest, b'\'')
    } else {
        0
    }
}

/// Length of a literal up to its closing `quote`.
pub(crate) fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Places at which `needle` stands as a word of its own, as `path:line`.
pub(crate) fn places(
    sources: &[Source],
    needle: &str,
    allowed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !allowed(&source.path)) {
        for (line, text) in source.code.lines().enumerate() {
            if has_word(text, needle) {
                found.push(format!("{}:{}", source.path, line + 1));
            }
        }
    }
    found
}

pub(crate) fn has_word(text: &str, needle: &str) -> bool {
    let free = |byte: Option<&u8>| byte.is_none_or(|&byte| !is_word(byte));
    // a path goes on after its colons, so only the start of it must stand free
    let open = needle.ends_with("::");
    text.match_indices(needle).any(|(at, _)| {
        let bytes = text.as_bytes();
        free(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && (open || free(bytes.get(at + needle.len())))
    })
}

/// Text of a file below the root.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Parts of a document that are quoted as code.
pub(crate) fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Words of code.
pub(crate) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// The word that begins at a place.
pub(crate) fn word_at(code: &str, at: usize) -> &str {
    words(&code[at..]).next().unwrap_or_default()
}

/// Sources of what is delivered: neither tests, benches, examples and fuzz targets, nor what exists to judge.
pub(crate) fn product_sources() -> Vec<Source> {
    let other = [
        "/tests/",
        "/benches/",
        "/examples/",
        "/fuzz/",
        "/peers/",
        "/reference/",
    ];
    let mut sources = sources();
    sources.retain(|source| {
        let path = source.path.as_str();
        let tests = path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
        !(tests || path.starts_with("tests/") || other.iter().any(|folder| path.contains(folder)))
    });
    sources
}

impl Source {
    /// Folder of the crate that it belongs to.
    pub(crate) fn crate_folder(&self) -> String {
        let around = MAY_USE.iter().map(|(folder, _)| *folder).filter(|folder| {
            let below = self.path.strip_prefix(folder);
            below.is_some_and(|below| below.starts_with('/'))
        });
        around
            .max_by_key(|folder| folder.len())
            .expect("a known crate")
            .to_owned()
    }
}

#[test]
fn the_scanner_keeps_code_only() {
    let code = code_of("a \"unsafe\" // unsafe\n'\\'' 'x' &'a b r#\"un\"safe\"# /* c\nd */ e");
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words, ["a", "&'a", "b", "e"]);
    assert_eq!(code.lines().count(), 3);
    assert!(has_word("use std::time::Instant", "std::time"));
    assert!(!has_word("unsafely", "unsafe"));
    assert!(has_word("zenoh::open()", "zenoh::") && !has_word("ros_zenoh::open()", "zenoh::"));
}
