//! Error of the crate: a defect of a file, a mesh, a volume or a number.
//!
//! Source: ours. No caller distinguishes defects, so there is one type, whose text is for a person.

use std::fmt::Display;

/// Reason of a refusal: the element or field, the value found and the valid form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Defect(String);

impl Defect {
    /// Creates a defect from a description.
    pub(crate) fn from_text(found: impl Into<String>) -> Self {
        Self(found.into())
    }

    /// Creates a defect from the value found and the expected form.
    pub(crate) fn new(found: impl Display, expected: impl Display) -> Self {
        Self(format!("{found}; expected {expected}"))
    }

    /// Creates a defect of a field with its value and the expected form.
    pub(crate) fn field(field: impl Display, value: impl Display, expected: impl Display) -> Self {
        Self::new(format_args!("{field} is {value}"), expected)
    }

    /// Creates a defect of a missing field.
    pub(crate) fn missing(field: impl Display, expected: impl Display) -> Self {
        Self::field(field, "missing", expected)
    }

    /// Creates a defect of an element whose value a format cannot represent.
    pub(crate) fn unwritable(element: impl Display, value: impl Display, expected: &str) -> Self {
        Self::new(
            format_args!("{element} cannot be written with {value}"),
            expected,
        )
    }

    /// Adds a location: a line, a byte, or one file of several.
    pub(crate) fn located(self, place: impl Display) -> Self {
        Self(format!("{place}: {self}"))
    }
}

/// Text of a file in backquotes, cut after 40 characters.
pub(crate) fn quoted(text: impl Display) -> String {
    let text: String = text.to_string().chars().take(40).collect();
    format!("`{}`", text.escape_default())
}

/// Bytes of a file as text, no more than a message needs.
pub(crate) fn lossy(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(160)])
}
