//! Records of `.fem` and `.plg` files: reading, writing and errors.
//!
//! Source: seed-004 3.9. Both kinds of file have a header `name count count` and then one record per
//! line; blank lines are ignored.

use crate::Defect;
use palpate_twin::Vec3;

/// A line of a file that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// Line number, counted from 1.
    line: usize,
    pub(super) text: &'a str,
}

/// A file split into lines.
#[derive(Debug)]
pub(super) struct RecordFile<'a> {
    /// Name in the header.
    pub(super) name: &'a str,
    /// Records, as many as the first count in the header and as the second.
    pub(super) records: [Vec<Record<'a>>; 2],
}

/// Splits a file into records and checks its header against its lines.
///
/// Memory is bounded by the size of the file: the counts reserve nothing before they are verified.
pub(super) fn read<'a>(
    bytes: &'a [u8],
    header: &str,
    counts: [&str; 2],
) -> Result<RecordFile<'a>, Defect> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = error.valid_up_to();
        let line = 1 + bytes[..good].iter().filter(|&&byte| byte == b'\n').count();
        let byte = bytes.get(good).copied().unwrap_or(0);
        Defect::from_text(format!("line {line}: byte {byte:#04x} is not UTF-8 text"))
    })?;
    let numbered = (1..).zip(text.lines()).map(|(line, text)| Record {
        line,
        text: text.trim(),
    });
    let mut rows = numbered.filter(|row| !row.text.is_empty());
    let head = rows.next().ok_or_else(|| {
        let expected = format_args!("a first line `{header}`");
        Defect::new("the file is empty", expected)
    })?;
    // a name may hold blanks, so the counts are taken from the end
    let last = |text: &'a str| {
        let (rest, word) = text.trim_end().rsplit_once(char::is_whitespace)?;
        Some((rest.trim_end(), word))
    };
    let ends = last(head.text).and_then(|(rest, second)| Some((last(rest)?, second)));
    let ((name, first), second) = ends.ok_or_else(|| head.other_count(header))?;
    let count = |field, word: &str| {
        let expected = "a whole number that is not negative";
        let count = word.parse::<u64>();
        count.map_err(|_| head.field_error(field, word, expected))
    };
    let (first, second) = (count(counts[0], first)?, count(counts[1], second)?);
    let mut records: Vec<Record<'a>> = rows.collect();
    let (stated, found) = (first.saturating_add(second), records.len());
    if usize::try_from(stated) != Ok(found) {
        return Err(Defect::from_text(format!(
            "line {}: the header promises {stated} records; {found} lines follow",
            head.line
        )));
    }
    // it does not exceed the number of records now, so it fits
    let others = records.split_off(usize::try_from(first).unwrap_or(found));
    let records = [records, others];
    Ok(RecordFile { name, records })
}

impl<'a> Record<'a> {
    /// Error of a record with the wrong number of fields.
    fn other_count(&self, form: &str) -> Defect {
        let found = self.text.split_whitespace().count();
        let found = format_args!("line {}: {found} fields", self.line);
        Defect::new(found, format_args!("`{form}`"))
    }

    /// Fields of a record, of which there must be exactly `N`.
    pub(super) fn fields<const N: usize>(&self, form: &str) -> Result<[&'a str; N], Defect> {
        let words: Vec<&str> = self.text.split_whitespace().take(N + 1).collect();
        <[&str; N]>::try_from(words).map_err(|_| self.other_count(form))
    }

    /// Reads a field as a finite number that is at least `least`.
    pub(super) fn number(&self, field: &str, word: &str, least: f64) -> Result<f64, Defect> {
        let ok = |value: &f64| value.is_finite() && *value >= least;
        word.parse().ok().filter(ok).ok_or_else(|| {
            let bound = match least.is_finite() {
                true => format!(", at least {least}"),
                false => String::new(),
            };
            self.field_error(field, word, &format!("a finite number{bound}"))
        })
    }

    /// Reads three fields as a position.
    pub(super) fn place(&self, [x, y, z]: [&str; 3]) -> Result<Vec3, Defect> {
        let number = |field, word| self.number(field, word, f64::NEG_INFINITY);
        Ok(Vec3::new(number("x", x)?, number("y", y)?, number("z", z)?))
    }

    /// Reads a field as the index of one of `count` atoms or vertices.
    pub(super) fn index(&self, field: &str, word: &str, count: usize) -> Result<u32, Defect> {
        let index = word.parse::<u32>().ok();
        let index = index.filter(|&index| (index as usize) < count);
        index.ok_or_else(|| {
            let all = if field == "atom" { "atoms" } else { "vertices" };
            let expected = format!("the index of one of {count} {all}, counted from 0");
            self.field_error(field, word, &expected)
        })
    }

    /// Error of one field.
    pub(super) fn field_error(&self, field: &str, word: &str, expected: &str) -> Defect {
        let value: String = word.chars().take(40).collect();
        Defect::field(field, format_args!("`{value}`"), expected)
            .located(format_args!("line {}", self.line))
    }
}

/// Checks that the header can store a name.
pub(super) fn writable_name(name: &str) -> Result<&str, Defect> {
    let plain = !name.is_empty() && name.trim() == name && !name.contains(char::is_control);
    if plain {
        return Ok(name);
    }
    let value: String = name.chars().take(40).collect();
    let expected = "a name on one line, without blanks around it";
    let value = format_args!("name `{value}`");
    Err(Defect::unwritable("a lattice", value, expected))
}

/// Formats a number in the fewest digits that read back as the same value, if the file can store it.
pub(super) fn writable(
    element: &str,
    field: &str,
    value: f64,
    least: f64,
) -> Result<String, Defect> {
    if value.is_finite() && value >= least {
        return Ok(format!("{value:?}"));
    }
    let expected = match least.is_finite() {
        true => "a finite number, not negative",
        false => "a finite number",
    };
    let value = format_args!("{field} `{value:?}`");
    Err(Defect::unwritable(element, value, expected))
}

/// Formats a position as numbers with a blank between them, if the file can store it.
pub(super) fn writable_place(element: &str, at: &Vec3) -> Result<String, Defect> {
    let fields = ["x", "y", "z"].into_iter().zip(at.iter());
    let words = fields.map(|(field, &value)| writable(element, field, value, f64::NEG_INFINITY));
    Ok(words.collect::<Result<Vec<_>, _>>()?.join(" "))
}
