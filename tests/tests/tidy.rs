//! The rules of the house as assertions: who knows whom, and what must not be where.
//!
//! Source: ARCHITECTURE.md. Read from the manifests and the sources, so that a rule and the tree
//! cannot drift apart. Comments and the contents of strings count for none of the code rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates of ours that a crate may depend on; development dependencies are free.
const KNOWS: [(&str, &[&str]); 18] = [
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
];

/// Crates beneath the shell, which every crate of `launch/` may know besides.
const BELOW: [&str; 12] = [
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

/// Files that may contain `unsafe`, each use with a `// SAFETY:` comment (clippy checks those).
const UNSAFE: [&str; 8] = [
    "launch/session/src/netlab/namespace.rs",
    "launch/session/src/netlab/privilege.rs",
    "launch/session/src/netlab/stale.rs",
    "launch/session/src/netlab/tun.rs",
    "launch/session/src/run/allocation.rs",
    "launch/session/src/run/realtime.rs",
    "transport/bus/src/config.rs",
    "transport/bus/src/threads.rs",
];

const LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

fn root() -> PathBuf {
    // the manifest of this crate is one folder below the workspace
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a workspace")
        .to_owned()
}

/// All files below `folder`, without build output, in a fixed order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
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
struct Source {
    path: String,
    text: String,
    code: String,
}

/// Every Rust file of the workspace.
fn sources() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    // a nested crate is found in the folder of the crate around it
    for (crate_folder, _) in KNOWS.iter().filter(|(folder, _)| !folder.contains('/')) {
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
fn crate_sources() -> Vec<Source> {
    sources()
        .into_iter()
        .filter(|source| source.path.contains("/src/"))
        .collect()
}

/// Sources that are not the tests of a module in a file of their own.
fn own_sources() -> Vec<Source> {
    let mut sources = sources();
    sources.retain(|source| !source.path.ends_with("/tests.rs"));
    sources
}

/// The text with comments and the contents of strings blanked, lines kept.
fn code_of(text: &str) -> String {
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

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the comment, string or character literal at the start, 0 if there is none.
fn skip(rest: &[u8], in_word: bool) -> usize {
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
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Places at which `needle` stands as a word of its own, as `path:line`.
fn places(sources: &[Source], needle: &str, allowed: impl Fn(&str) -> bool) -> Vec<String> {
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

fn has_word(text: &str, needle: &str) -> bool {
    let free = |byte: Option<&u8>| byte.is_none_or(|&byte| !is_word(byte));
    // a path goes on after its colons, so only the start of it must stand free
    let open = needle.ends_with("::");
    text.match_indices(needle).any(|(at, _)| {
        let bytes = text.as_bytes();
        free(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && (open || free(bytes.get(at + needle.len())))
    })
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    fs::read_to_string(path)
        .expect("a manifest")
        .parse()
        .expect("TOML")
}

fn table<'a>(manifest: &'a toml::Table, name: &str) -> BTreeMap<&'a str, &'a toml::Value> {
    let table = manifest.get(name).and_then(toml::Value::as_table);
    table
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
        .collect()
}

#[test]
fn the_scanner_sees_code_and_only_code() {
    let code = code_of("a \"unsafe\" // unsafe\n'\\'' 'x' &'a b r#\"un\"safe\"# /* c\nd */ e");
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words, ["a", "&'a", "b", "e"]);
    assert_eq!(code.lines().count(), 3);
    assert!(has_word("use std::time::Instant", "std::time"));
    assert!(!has_word("unsafely", "unsafe"));
    assert!(has_word("zenoh::open()", "zenoh::") && !has_word("ros_zenoh::open()", "zenoh::"));
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

#[test]
fn zenoh_is_named_in_the_bus_only() {
    let allowed = |path: &str| path.starts_with("transport/bus/");
    for needle in ["zenoh::", "use zenoh", "extern crate zenoh"] {
        assert_eq!(
            places(&sources(), needle, allowed),
            Vec::<String>::new(),
            "{needle}"
        );
    }
    for (folder, _) in KNOWS
        .iter()
        .filter(|(folder, _)| *folder != "transport/bus")
    {
        let manifest = manifest(folder);
        assert!(
            !table(&manifest, "dependencies").contains_key("zenoh"),
            "{folder} knows zenoh"
        );
    }
}

#[test]
fn clock_time_is_read_in_the_clock_only() {
    let allowed = |path: &str| path == "transport/src/clock.rs";
    assert_eq!(
        places(&crate_sources(), "std::time", allowed),
        Vec::<String>::new()
    );
}

#[test]
fn files_are_touched_in_the_launcher_only() {
    let allowed = |path: &str| path.starts_with("launch/");
    for needle in ["std::fs", "std::net", "std::process", "std::env"] {
        let found = places(&crate_sources(), needle, |path| {
            allowed(path) || path.starts_with("transport/bus/")
        });
        assert_eq!(found, Vec::<String>::new(), "{needle}");
    }
}

#[test]
fn async_stays_at_the_network() {
    let allowed = |path: &str| {
        let at = [
            "transport/bus/",
            "launch/session/src/netlab/",
            "launch/console/src/",
        ];
        at.iter().any(|place| path.starts_with(place))
    };
    for needle in ["async", "await"] {
        assert_eq!(
            places(&crate_sources(), needle, allowed),
            Vec::<String>::new(),
            "{needle}"
        );
    }
}

#[test]
fn unsafe_stands_only_where_it_is_listed() {
    let sources = crate_sources();
    assert_eq!(
        places(&sources, "unsafe", |path| UNSAFE.contains(&path)),
        Vec::<String>::new()
    );
    for path in UNSAFE {
        let source = sources.iter().find(|source| source.path == path);
        let used = source.is_some_and(|source| has_word(&source.code, "unsafe"));
        assert!(used, "{path} is listed for `unsafe` and has none");
    }
}

#[test]
fn hash_maps_stay_out_of_virtual_time() {
    let pure = [
        "sim-twin/",
        "transport/port/src/",
        "master/src/",
        "slave/src/",
        "launch/session/src/lab.rs",
        "launch/session/src/pipeline.rs",
        "launch/session/src/pipeline/",
    ];
    let outside = |path: &str| {
        let coupling = path.starts_with("transport/src/coupling/");
        !(coupling || pure.iter().any(|start| path.starts_with(start)))
    };
    for needle in ["HashMap", "HashSet"] {
        assert_eq!(
            places(&crate_sources(), needle, outside),
            Vec::<String>::new(),
            "{needle}"
        );
    }
}

#[test]
fn one_place_calls_the_ticks_of_both_sides() {
    for call in ["palpate_master::tick(", "palpate_slave::tick("] {
        let mut sources = crate_sources();
        sources.retain(|source| source.code.contains(call));
        let paths: Vec<_> = sources.iter().map(|source| source.path.as_str()).collect();
        assert_eq!(paths, ["launch/session/src/pipeline.rs"], "{call}");
    }
}

/// Functions of `f32` and `f64` that call the C library or may be built differently on another machine;
/// `libm` has all of them.
const TRANSCENDENTAL: [&str; 30] = [
    "sin",
    "cos",
    "tan",
    "sin_cos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "ln_1p",
    "log",
    "log2",
    "log10",
    "powf",
    "hypot",
    "cbrt",
    "gamma",
    "ln_gamma",
    "powc",
    "to_polar",
    "from_polar",
];

/// Places that call one all the same, with the reason.
const TRANSCENDENTAL_ALLOWED: [(&str, &str); 0] = [];

#[test]
fn virtual_time_calls_no_function_of_the_c_library() {
    let pure = ["sim-twin/", "transport/", "master/", "slave/"];
    let mut found = Vec::new();
    for source in own_sources() {
        let path = source.path.as_str();
        let mut allowed = TRANSCENDENTAL_ALLOWED.iter();
        let beside = path.contains("/tests/") || !path.contains("/src/");
        let skipped = beside || allowed.any(|(known, _)| *known == path);
        if skipped || !pure.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        let own = source.code.find("#[cfg(test)]\nmod tests {");
        let own = &source.code[..own.unwrap_or(source.code.len())];
        for (line, text) in own.lines().enumerate() {
            let calls = TRANSCENDENTAL.iter().filter(|name| calls(text, name));
            found.extend(calls.map(|name| format!("{path}:{}: {name}", line + 1)));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Whether a line calls a method of this name, or names that of `f32` or `f64` by its path.
fn calls(text: &str, name: &str) -> bool {
    let paths = ["f32::", "f64::", "Float::", "RealField::", "ComplexField::"];
    text.contains(&format!(".{name}("))
        || paths
            .iter()
            .any(|path| has_word(text, &format!("{path}{name}")))
}

#[test]
fn calls_are_told_from_names() {
    assert!(calls("let y = x.sin();", "sin") && calls("a.map(f64::exp)", "exp"));
    assert!(!calls("libm::sin(x)", "sin") && !calls("x.asinh()", "sinh"));
    assert!(!calls("self.logarithm()", "log") && !calls("f64::expected", "exp"));
}

#[test]
fn files_begin_with_what_they_are_for() {
    for source in own_sources() {
        assert!(
            source.text.starts_with("//! "),
            "{} has no header",
            source.path
        );
    }
}

#[test]
fn files_are_short() {
    for source in own_sources() {
        let tests = source
            .text
            .find("#[cfg(test)]\nmod tests {")
            .unwrap_or(source.text.len());
        let lines = source.text[..tests].lines().count();
        assert!(
            lines <= LINES_MAX,
            "{} has {lines} lines without tests",
            source.path
        );
    }
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for source in own_sources() {
        for (line, length) in functions(&source.code) {
            if length > FUNCTION_LINES_MAX {
                long.push(format!("{}:{line}: {length} lines", source.path));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new());
}

/// Line and length of every function with a body.
fn functions(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].bytes().next_back();
        let name = code[at + 3..].bytes().next();
        if before.is_some_and(is_word) || !name.is_some_and(is_word) {
            continue;
        }
        if let Some(length) = body_end(&code[at..]) {
            let line = code[..at].matches('\n').count() + 1;
            found.push((line, code[at..at + length].lines().count()));
        }
    }
    found
}

/// Where the body that opens next ends; none for a declaration without one.
fn body_end(code: &str) -> Option<usize> {
    let (mut depth, mut nested) = (0_usize, 0_usize);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' if depth == 0 => nested += 1,
            b')' | b']' if depth == 0 => nested = nested.saturating_sub(1),
            b';' if depth == 0 && nested == 0 => return None,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at + 1),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[test]
fn function_lengths_are_counted_right() {
    let code = "trait T { fn a(&self); }\nfn b(x: [u8; 2]) {\n  if x { y }\n}\nfn c() {}\n";
    assert_eq!(functions(code), [(2, 3), (5, 1)]);
}

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
        if path.ends_with("tests/tests/tidy.rs") {
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
