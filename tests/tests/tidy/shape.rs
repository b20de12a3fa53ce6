//! Lengths and shapes: headers, files, functions, parameters and fields. Source: ARCHITECTURE.md.

use super::scan::{is_word, own_sources, product_sources, sources, words};
use super::signature::{signatures, structs, without_attributes, without_tests};

const LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

#[test]
fn files_begin_with_their_purpose() {
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
    for source in sources() {
        let lines = source.text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", source.path);
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

/// Returns the end of the next body; `None` for a declaration without one.
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
fn parameters_are_few_and_not_packed_into_tuples() {
    let mut found = Vec::new();
    for source in product_sources() {
        for head in signatures(&without_tests(&source.code)) {
            let packed = head.parameters.iter().any(|p| packs_several(p));
            if packed || head.parameters.len() > 5 {
                found.push(format!("{}:{}: {}", source.path, head.line, head.name));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// True if a parameter packs several values without a named type: a tuple, or an array with a pattern.
/// Single-letter coordinates (`[x_m, y_m]`, `[a, b, c]`) and destructured structs count as one; closures are
/// free.
fn packs_several(parameter: &str) -> bool {
    let (pattern, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
    let pattern = pattern.trim_start_matches(['&', ' ']);
    let kind = kind.trim_start_matches(['&', ' ']);
    let kind = kind.strip_prefix("mut ").unwrap_or(kind);
    let names: Vec<&str> = words(pattern)
        .map(|name| name.split('_').next().unwrap_or_default())
        .collect();
    // modes of a cell are named by their axes, as `xyz`
    let coordinates = names.iter().all(|name| name.len() <= 1)
        || names
            .iter()
            .all(|name| name.bytes().all(|b| b"xyz".contains(&b)));
    let tuple = kind.starts_with('(') && !kind.starts_with("(dyn ") && !kind.starts_with("()");
    pattern.starts_with('(') || tuple || (pattern.starts_with('[') && !coordinates)
}

#[test]
fn packed_parameters_are_found() {
    for packed in [
        "(a, b): (A, B)",
        "wall: (f64, f64)",
        "wall: &mut (f64, f64)",
        "[depth_m, radius_m, contrast]: [f64; 3]",
        "&[raw_lost, zenoh_lost]: &[u32; 2]",
    ] {
        assert!(packs_several(packed), "{packed}");
    }
    for free in [
        "[x_m, y_m, _]: [f64; 3]",
        "[xy, xyz]: [f32; 2]",
        "Place { run, begin }: Place<'_>",
        "pairs: &[(u32, f64)]",
        "done: &(dyn Fn(u64) + Sync)",
    ] {
        assert!(!packs_several(free), "{free}");
    }
}

/// Structs that may be longer, with the reason.
const LONG: [(&str, &str); 4] = [
    ("BlockText", "the table `block` of a scene, likewise flat"),
    ("TickRecord", "a record of the wire and of a recording"),
    ("TwinSummary", "a record of `summary.json`"),
    (
        "CouplingParams",
        "the table `coupling` of a user's file, whose keys are flat: serde refuses unknown keys of a table only where no \
         part of it is flattened",
    ),
];

#[test]
fn structs_have_few_fields() {
    let (mut found, mut needed) = (Vec::new(), [false; LONG.len()]);
    for source in product_sources() {
        for fields in structs(&without_tests(&source.code)) {
            if fields.count > 20 {
                if let Some(at) = LONG.iter().position(|(name, _)| *name == fields.name) {
                    needed[at] = true;
                    continue;
                }
                found.push(format!(
                    "{}:{}: {} has {}",
                    source.path, fields.line, fields.name, fields.count
                ));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(needed, [true; LONG.len()], "{LONG:?} are long");
}

#[test]
fn tables_of_parameters_are_structs() {
    for source in product_sources() {
        for (at, _) in source.code.match_indices("params! {") {
            let block = without_attributes(&source.code[at + "params! {".len()..]);
            let head = block.split(':').next().unwrap_or_default();
            let counted = words(head).any(|word| word == "struct")
                || source.path == "transport/src/params.rs";
            assert!(counted, "{}: `params!` without `struct`", source.path);
        }
    }
}
