//! Recorded network for playback: delays and losses over time, from a text.
//!
//! Source: ours. A table with commas whose first line names its columns; `#` begins a comment:
//!
//! ```text
//! at_s,oneway_ms_fwd,loss_fwd,oneway_ms_back,loss_back
//! 0,   21.5,         0,       24.0,          0
//! 0.1, 22.0,         0.01,    ,              1
//! ```
//!
//! `at_s` is required and never falls; `oneway_ms` and `loss` stand for both directions. An empty field
//! keeps the previous value. Parameters without a column (jitter, duplicates, ...) stay as the link has them.

use super::params::LinkParams;
use crate::FieldError;

/// State of a network from one time on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePoint {
    /// Time \[s\] after the start.
    pub at_s: f64,
    /// From master to slave.
    pub forward: LinkParams,
    /// From slave to master.
    pub back: LinkParams,
}

/// Allowed columns.
const COLUMNS: [&str; 7] = [
    "at_s",
    "oneway_ms",
    "oneway_ms_fwd",
    "oneway_ms_back",
    "loss",
    "loss_fwd",
    "loss_back",
];

/// Reads a trace; parameters without a column are those of `forward` and `back`.
///
/// # Errors
/// [`FieldError`] names line, column, value and valid values.
pub fn parse(
    text: &str,
    mut forward: LinkParams,
    mut back: LinkParams,
) -> Result<Vec<TracePoint>, FieldError> {
    let lines = text.lines().enumerate().map(|(index, line)| {
        let content = line.split('#').next().unwrap_or_default().trim();
        (index + 1, content)
    });
    let mut lines = lines.filter(|(_, content)| !content.is_empty());
    let (first, names) = lines.next().unwrap_or((1, ""));
    let names = header(first, names)?;
    let mut points: Vec<TracePoint> = Vec::new();
    for (line, content) in lines {
        let fields: Vec<&str> = content.split(',').map(str::trim).collect();
        if fields.len() != names.len() {
            let expected = format!("{} fields, as the first line names", names.len());
            return Err(line_error(
                line,
                "the line",
                &format!("of {}", fields.len()),
                &expected,
            ));
        }
        let mut at_s = None;
        for (name, field) in names.iter().zip(fields) {
            if field.is_empty() && *name != "at_s" {
                continue;
            }
            let value = number(line, name, field)?;
            match *name {
                "at_s" => at_s = Some(value),
                "oneway_ms" => (forward.oneway_ms, back.oneway_ms) = (value, value),
                "oneway_ms_fwd" => forward.oneway_ms = value,
                "oneway_ms_back" => back.oneway_ms = value,
                "loss" => (forward.loss, back.loss) = (value, value),
                "loss_fwd" => forward.loss = value,
                _ => back.loss = value,
            }
        }
        let at_s = at_s.unwrap_or_default();
        if let Some(before) = points.last().filter(|before| at_s < before.at_s) {
            let expected = format!("{} or later, as times never fall", before.at_s);
            return Err(line_error(line, "at_s", &at_s.to_string(), &expected));
        }
        for link in [&forward, &back] {
            link.validate().map_err(|error| {
                line_error(line, "the link", &error.to_string(), "a valid link")
            })?;
        }
        points.push(TracePoint {
            at_s,
            forward,
            back,
        });
    }
    if points.is_empty() {
        return Err(line_error(
            first,
            "the trace",
            "empty",
            "a line for every change",
        ));
    }
    Ok(points)
}

fn header(line: usize, content: &str) -> Result<Vec<&str>, FieldError> {
    let names: Vec<&str> = content.split(',').map(str::trim).collect();
    let known = |name: &&str| COLUMNS.contains(name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let expected = format!("a first line that names columns of {}", COLUMNS.join(", "));
        return Err(line_error(line, "a column", name, &expected));
    }
    if !names.contains(&"at_s") {
        return Err(line_error(line, "the first line", content, "a column at_s"));
    }
    Ok(names)
}

fn number(line: usize, name: &str, field: &str) -> Result<f64, FieldError> {
    let (high, expected) = match name {
        "at_s" => (86_400.0, "0 to 86400 s"),
        "loss" | "loss_fwd" | "loss_back" => (1.0, "0 to 1"),
        _ => (60_000.0, "0 to 60000 ms"),
    };
    let value = field
        .parse()
        .ok()
        .filter(|value| (0.0..=high).contains(value));
    value.ok_or_else(|| line_error(line, name, field, expected))
}

fn line_error(line: usize, column: &str, value: &str, expected: &str) -> FieldError {
    // the text may come from an untrusted file and is shown on a terminal
    let excerpt: String = value.escape_debug().take(80).collect();
    FieldError::new(
        format!("line {line}: {column}"),
        excerpt,
        expected.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TracePoint>, FieldError> {
        let jitter_ms = 2.0;
        let link = LinkParams {
            jitter_ms,
            ..LinkParams::default()
        };
        parse(text, link, link)
    }

    #[test]
    fn table_gives_the_links_over_time() {
        let points = read(
            "# measured\nat_s, oneway_ms_fwd, oneway_ms_back, loss\n0, 10, 12.5, 0\n0.5, 11, ,1 # cut\n\n2,,,0\n",
        )
        .expect("a trace");
        let of = |p: &TracePoint| {
            (
                p.at_s,
                p.forward.oneway_ms,
                p.back.oneway_ms,
                p.forward.loss,
                p.back.loss,
            )
        };
        let found: Vec<_> = points.iter().map(of).collect();
        let expected = [
            (0.0, 10.0, 12.5, 0.0, 0.0),
            (0.5, 11.0, 12.5, 1.0, 1.0),
            (2.0, 11.0, 12.5, 0.0, 0.0),
        ];
        assert_eq!(found, expected);
        assert!(points.iter().all(|p| p.forward.jitter_ms == 2.0));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, parts) in [
            ("", ["line 1", "at_s"]),
            ("at_s,loss\n", ["line 1", "empty"]),
            ("time,loss\n0,0\n", ["line 1", "time"]),
            ("loss\n0\n", ["line 1", "at_s"]),
            ("at_s,loss\n0,0\n1\n", ["line 3", "2 fields"]),
            ("at_s,loss\n0,1.5\n", ["line 2: loss is 1.5", "0 to 1"]),
            (
                "at_s,oneway_ms\n0,NaN\n",
                ["line 2: oneway_ms is NaN", "60000"],
            ),
            ("at_s,loss\n,0\n", ["line 2: at_s", "86400"]),
            ("at_s,loss\n2,0\n1,0\n", ["line 3: at_s is 1", "2 or later"]),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(
                parts.iter().all(|part| error.contains(part)),
                "{text:?}: {error}"
            );
        }
    }
}
