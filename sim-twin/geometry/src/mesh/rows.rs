//! The lines of a model file and what can be wrong with them.
//!
//! Source: seed-004 3.9. Both file kinds are a header `name count count` and then one record a
//! line; blank lines separate and mean nothing.

use std::str::FromStr;

use crate::mesh::units::UnitError;

/// Why a model file is refused, or why a lattice cannot be written as one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FileError {
    /// The bytes are no text.
    #[error("line {line}: byte {byte:#04x} is not UTF-8 text")]
    Encoding {
        /// Line, counted from 1.
        line: usize,
        /// The first byte that is none.
        byte: u8,
    },
    /// There is no header.
    #[error("the file is empty; expected a first line `{expected}`")]
    Empty {
        /// Form of the header.
        expected: &'static str,
    },
    /// A line has too few or too many fields.
    #[error("line {line}: {found} fields; expected `{expected}`")]
    Fields {
        /// Line, counted from 1.
        line: usize,
        /// Number of fields found.
        found: usize,
        /// Form of the line.
        expected: &'static str,
    },
    /// A field is not what it should be.
    #[error("line {line}: {field} is `{value}`; expected {expected}")]
    Field {
        /// Line, counted from 1.
        line: usize,
        /// Name of the field.
        field: &'static str,
        /// Text found, cut after 40 characters.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The header promises another number of lines than there are.
    #[error("line {line}: the header promises {stated} records; {found} lines follow")]
    Count {
        /// Line of the header, counted from 1.
        line: usize,
        /// Sum of the counts in the header.
        stated: u64,
        /// Lines after the header that are not blank.
        found: usize,
    },
    /// The two files of a pair disagree.
    #[error("vertex {vertex} of the plg file is {value}; expected {expected}")]
    Pair {
        /// Index of the vertex, or the number of vertices if the counts differ.
        vertex: usize,
        /// What the plg file says.
        value: String,
        /// What the fem file says.
        expected: String,
    },
    /// A unit is unusable.
    #[error(transparent)]
    Units(#[from] UnitError),
    /// A lattice holds something that the format cannot carry.
    #[error("{element} cannot be written with {field} `{value}`; expected {expected}")]
    Unwritable {
        /// The element, with its index.
        element: String,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// The lines of a file that are not blank, with their numbers.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// Name in the header.
    pub(super) name: &'a str,
    /// The two counts in the header.
    pub(super) counts: [usize; 2],
    /// The records: line counted from 1, and text.
    pub(super) records: Vec<(usize, &'a str)>,
}

impl<'a> Rows<'a> {
    /// Split a file, check its header against its lines.
    ///
    /// Memory is bounded by the bytes: the counts reserve nothing before they are proven.
    pub(super) fn read(
        bytes: &'a [u8],
        header: &'static str,
        fields: [&'static str; 2],
    ) -> Result<Self, FileError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = error.valid_up_to();
            let line = 1 + bytes[..good].iter().filter(|&&byte| byte == b'\n').count();
            FileError::Encoding {
                line,
                byte: bytes.get(good).copied().unwrap_or(0),
            }
        })?;
        let numbered = text
            .lines()
            .enumerate()
            .map(|(index, row)| (index + 1, row.trim()));
        let mut rows = numbered.filter(|(_, row)| !row.is_empty());
        let (line, head) = rows.next().ok_or(FileError::Empty { expected: header })?;
        let (name, counts) = split_header(line, head, header, fields)?;
        let records: Vec<_> = rows.collect();
        let stated = counts[0].saturating_add(counts[1]);
        if usize::try_from(stated) != Ok(records.len()) {
            return Err(FileError::Count {
                line,
                stated,
                found: records.len(),
            });
        }
        // Neither count exceeds the number of records now, so both fit.
        let counts = counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Self {
            name,
            counts,
            records,
        })
    }
}

fn split_header<'a>(
    line: usize,
    head: &'a str,
    form: &'static str,
    fields: [&'static str; 2],
) -> Result<(&'a str, [u64; 2]), FileError> {
    // A name may hold blanks, so the counts are taken from the end.
    let last = |text: &'a str| {
        let (rest, word) = text.trim_end().rsplit_once(char::is_whitespace)?;
        Some((rest.trim_end(), word))
    };
    let found = head.split_whitespace().count();
    let short = FileError::Fields {
        line,
        found,
        expected: form,
    };
    let Some((rest, second)) = last(head) else {
        return Err(short);
    };
    let Some((name, first)) = last(rest) else {
        return Err(short);
    };
    let expected = "a whole number that is not negative";
    let first = parse(line, fields[0], first, expected)?;
    let second = parse(line, fields[1], second, expected)?;
    Ok((name, [first, second]))
}

/// The fields of one record, of which there must be exactly `N`.
pub(super) fn fields<'a, const N: usize>(
    line: usize,
    row: &'a str,
    expected: &'static str,
) -> Result<[&'a str; N], FileError> {
    let mut words = row.split_whitespace();
    let mut fields = [""; N];
    for field in &mut fields {
        let Some(word) = words.next() else {
            let found = row.split_whitespace().count();
            return Err(FileError::Fields {
                line,
                found,
                expected,
            });
        };
        *field = word;
    }
    let found = N + words.count();
    if found > N {
        Err(FileError::Fields {
            line,
            found,
            expected,
        })
    } else {
        Ok(fields)
    }
}

/// One field as a value.
pub(super) fn parse<T: FromStr>(
    line: usize,
    field: &'static str,
    word: &str,
    expected: &str,
) -> Result<T, FileError> {
    word.parse().map_err(|_| wrong(line, field, word, expected))
}

/// One field as a finite number that is at least `least`.
pub(super) fn number(
    line: usize,
    field: &'static str,
    word: &str,
    least: f64,
) -> Result<f64, FileError> {
    let ok = |value: &f64| value.is_finite() && *value >= least;
    word.parse().ok().filter(ok).ok_or_else(|| {
        let bound = if least.is_finite() {
            format!(", at least {least}")
        } else {
            String::new()
        };
        wrong(line, field, word, &format!("a finite number{bound}"))
    })
}

/// The error for one field.
pub(super) fn wrong(line: usize, field: &'static str, word: &str, expected: &str) -> FileError {
    let value = word.chars().take(40).collect();
    FileError::Field {
        line,
        field,
        value,
        expected: expected.to_owned(),
    }
}

/// A name that the header can carry, or why not.
pub(super) fn writable_name(name: &str) -> Result<&str, FileError> {
    let plain = !name.is_empty() && name.trim() == name && !name.contains(char::is_control);
    if plain {
        return Ok(name);
    }
    Err(FileError::Unwritable {
        element: "a lattice".to_owned(),
        field: "name",
        value: name.chars().take(40).collect(),
        expected: "a name on one line, without blanks around it",
    })
}

/// A number that the file can carry, or why not.
pub(super) fn writable(
    element: impl Fn() -> String,
    field: &'static str,
    value: f64,
    least: f64,
) -> Result<f64, FileError> {
    if value.is_finite() && value >= least {
        return Ok(value);
    }
    Err(FileError::Unwritable {
        element: element(),
        field,
        value: format!("{value:?}"),
        expected: if least.is_finite() {
            "a finite number, not negative"
        } else {
            "a finite number"
        },
    })
}
