//! Parser of functions, structs and public items in code without comments and strings.

use super::scan::{is_word, word_at};

/// Head of a function: line, name and parameters without `self`.
pub(crate) struct Signature {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
}

/// Struct with named fields.
pub(crate) struct Fields {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) count: usize,
}

/// Public item: its name, and the text in which it names other items.
pub(crate) struct Item {
    pub(crate) line: usize,
    pub(crate) name: String,
    /// True if it is a function, which no signature can name.
    pub(crate) is_function: bool,
    pub(crate) signature: String,
}

/// Code without the modules that hold its tests.
pub(crate) fn without_tests(code: &str) -> String {
    let mut kept = code.to_owned();
    while let Some(at) = kept.find("#[cfg(test)]") {
        let rest = &kept[at + "#[cfg(test)]".len()..];
        let opens = rest.find('{').filter(|open| !rest[..*open].contains(';'));
        let end = match opens {
            Some(open) => closing(rest, open),
            None => rest.find(';').map_or(rest.len(), |end| end + 1),
        };
        let end = at + "#[cfg(test)]".len() + end;
        let blank: String = (kept[at..end].chars())
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        kept.replace_range(at..end, &blank);
    }
    kept
}

/// Place after the bracket that closes the one at `open`.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let bytes = code.as_bytes();
    let (opens, closes) = match bytes[open] {
        b'(' => (b'(', b')'),
        b'[' => (b'[', b']'),
        b'<' => (b'<', b'>'),
        _ => (b'{', b'}'),
    };
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        let arrow = *byte == b'>' && matches!(bytes[at - 1], b'-' | b'=');
        if *byte == opens {
            depth += 1;
        } else if *byte == closes && !arrow {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    code.len()
}

/// Parts between commas that stand in no bracket.
pub(crate) fn parts(list: &str) -> Vec<String> {
    let (mut found, mut part, mut depth) = (Vec::new(), String::new(), 0_i32);
    let mut before = ' ';
    for c in list.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !matches!(before, '-' | '=') => depth -= 1,
            _ => {}
        }
        before = c;
        if c == ',' && depth == 0 {
            found.push(std::mem::take(&mut part).trim().to_owned());
        } else {
            part.push(c);
        }
    }
    found.push(part.trim().to_owned());
    found.retain(|part| !part.is_empty());
    found
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Places of a keyword that is followed by a name, each with the place of that name.
pub(crate) fn named<'a>(
    code: &'a str,
    keyword: &'a str,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let free = at == 0 || !is_word(code.as_bytes()[at - 1]);
        let name = at + keyword.len();
        let begins = code.as_bytes().get(name).is_some_and(|&byte| is_word(byte));
        (free && begins).then_some((at, name))
    })
}

/// Heads of all functions.
pub(crate) fn signatures(code: &str) -> Vec<Signature> {
    let heads = named(code, "fn ").filter_map(|(at, name_at)| {
        let name = word_at(code, name_at);
        let mut open = name_at + name.len();
        if code[open..].starts_with('<') {
            open = closing(code, open);
        }
        if !code[open..].starts_with('(') {
            return None;
        }
        let mut parameters = parts(&code[open + 1..closing(code, open) - 1]);
        parameters.retain(|part| {
            let own = part.split(':').next().unwrap_or_default();
            !own.split_whitespace()
                .any(|word| word.trim_start_matches('&') == "self")
        });
        Some(Signature {
            line: line_of(code, at),
            name: name.to_owned(),
            parameters,
        })
    });
    heads.collect()
}

/// All structs with named fields.
pub(crate) fn structs(code: &str) -> Vec<Fields> {
    let found = named(code, "struct ").filter_map(|(at, name_at)| {
        let rest = &code[name_at..];
        let open = rest
            .find(['{', ';', '('])
            .filter(|&open| rest.as_bytes()[open] == b'{')?;
        let body = &rest[open + 1..closing(rest, open) - 1];
        let fields = parts(&without_attributes(body));
        Some(Fields {
            line: line_of(code, at),
            name: word_at(code, name_at).to_owned(),
            count: fields.len(),
        })
    });
    found.collect()
}

pub(crate) fn without_attributes(code: &str) -> String {
    let mut kept = code.to_owned();
    while let Some(at) = kept.find("#[") {
        let end = closing(&kept, at + 1);
        kept.replace_range(at..end, "");
    }
    kept
}

/// The paths of all `use` items, as they stand.
pub(crate) fn imports(code: &str) -> Vec<&str> {
    let paths = named(code, "use ").map(|(_, at)| &code[at..]);
    paths
        .map(|path| path.split(';').next().unwrap_or_default())
        .collect()
}

/// All items that are `pub` without a restriction, methods included.
pub(crate) fn public_items(code: &str) -> Vec<Item> {
    let mut found = Vec::new();
    for (at, _) in named(code, "pub ") {
        let mut words = code[at + 4..].split_whitespace();
        let mut kind = words.next().unwrap_or_default();
        let after = |kind: &str| {
            code[at + 4..]
                .find(&format!("{kind} "))
                .map(|k| at + 4 + k + kind.len() + 1)
        };
        let mut rest = after(kind);
        while matches!(kind, "const" | "unsafe" | "async")
            && rest.is_some_and(|r| {
                ["fn ", "unsafe ", "async "]
                    .iter()
                    .any(|next| code[r..].starts_with(next))
            })
        {
            kind = words.next().unwrap_or_default();
            rest = after(kind);
        }
        let Some(name_at) = rest else { continue };
        if !["fn", "struct", "enum", "trait", "const", "static", "type"].contains(&kind) {
            continue;
        }
        found.push(Item {
            line: line_of(code, at),
            name: word_at(code, name_at).to_owned(),
            is_function: kind == "fn",
            signature: signature_of(kind, &code[name_at..]),
        });
    }
    found
}

/// Returns the part of an item that exposes other types: the head of a function, the public fields of a
/// struct, all of an enum or a trait.
fn signature_of(kind: &str, rest: &str) -> String {
    let open = rest.find(['{', ';', '(']).unwrap_or(rest.len());
    let whole = |open: usize| rest[..closing(rest, open)].to_owned();
    match (kind, rest.as_bytes().get(open)) {
        ("struct", Some(b'{')) => {
            let body = &rest[open + 1..closing(rest, open) - 1];
            let mut fields = parts(&without_attributes(body));
            fields.retain(|field| field.starts_with("pub "));
            format!("{} {}", &rest[..open], fields.join(" "))
        }
        ("enum" | "trait", Some(b'{')) | ("struct", Some(b'(')) => whole(open),
        _ => rest[..rest.find(['{', ';']).unwrap_or(rest.len())].to_owned(),
    }
}

#[test]
fn heads_and_fields_are_counted() {
    let code = "fn a<T: Fn(u8) -> u8>(&mut self, x: T, (y, z): (A, B)) {}\nstruct S { a: u8, pub b: HashMap<u8, u8> }\n\
                pub const fn c() -> Shown {}\n#[cfg(test)]\nmod tests { fn d(e: u8) {} }\npub struct P { q: A, pub r: B }";
    let heads = signatures(&without_tests(code));
    assert_eq!(heads.len(), 2);
    assert_eq!(heads[0].parameters, ["x: T", "(y, z): (A, B)"]);
    let counts: Vec<_> = structs(code).iter().map(|s| s.count).collect();
    assert_eq!(counts, [2, 2]);
    let items = public_items(code);
    let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["c", "P"]);
    assert!(items[0].signature.contains("Shown") && items[0].is_function);
    assert!(items[1].signature.contains('B') && !items[1].signature.contains('A'));
}
