//! Messages that all studies share: the form of refusals, and names as in files.
//!
//! Source: ours.

use core::ops::RangeInclusive;
use std::fmt::Display;

use palpate_analysis::Failure;
use serde::Serialize;

/// Message about an invalid field: its name, the value found, and the expected one.
pub(crate) fn wrong(field: &str, found: impl Display, expected: &str) -> String {
    format!("{field} is {found}; expected {expected}")
}

/// Refuses a number outside a range, with the message of [`wrong`]; `unit` is that of the ends, if they have one.
pub(crate) fn within(
    field: &str,
    value: f64,
    range: RangeInclusive<f64>,
    unit: &str,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    let expected = format!("{low} to {high} {unit}");
    Err(wrong(field, value, expected.trim_end()))
}

/// Name of a variant in files; empty if it has none.
pub(crate) fn name(variant: &impl Serialize) -> String {
    let value = serde_json::to_value(variant).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Formats a value as indented JSON with an end of line; `of` names the document in errors.
///
/// # Errors
/// [`Failure::Refused`] naming `of`.
pub fn json(value: &impl Serialize, of: &str) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::Refused(format!("{of}: {error}")))?;
    Ok(text + "\n")
}
