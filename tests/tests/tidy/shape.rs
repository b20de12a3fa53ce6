//! Lengths and shapes: headers, files, functions, parameters and fields. Source: ARCHITECTURE.md.

use super::scan::{is_word, own_sources, product_sources};
use super::signature::{signatures, structs, without_tests};

const LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

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

/// Functions that still take tuples apart or have more than five parameters: it may only fall, and ends at none.
const CROWDED_MAX: usize = 19;

#[test]
fn parameters_are_few_and_no_tuples_in_their_place() {
    let mut found = Vec::new();
    for source in product_sources() {
        for head in signatures(&without_tests(&source.code)) {
            let tuple = head
                .parameters
                .iter()
                .any(|p| p.trim_start_matches('&').starts_with('('));
            if tuple || head.parameters.len() > 5 {
                found.push(format!("{}:{}: {}", source.path, head.line, head.name));
            }
        }
    }
    assert!(
        found.len() <= CROWDED_MAX,
        "{} of {CROWDED_MAX}: {found:#?}",
        found.len()
    );
}

/// Records of the wire, of a recording and of `summary.json` are as long as what they tell.
const WIRE_RECORDS: [&str; 2] = ["TickRecord", "TwinSummary"];

#[test]
fn structs_have_few_fields() {
    let mut found = Vec::new();
    for source in product_sources() {
        for fields in structs(&without_tests(&source.code)) {
            if fields.count > 20 && !WIRE_RECORDS.contains(&fields.name.as_str()) {
                found.push(format!(
                    "{}:{}: {} has {}",
                    source.path, fields.line, fields.name, fields.count
                ));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
