//! The refusal of a parameter: its name, what was found, and what would be right.

use core::fmt::Display;
use core::ops::RangeInclusive;
use std::borrow::Cow;

/// A parameter that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {value}; expected {expected}")]
pub struct FieldError {
    /// Name of the field.
    pub field: Cow<'static, str>,
    /// Value found.
    pub value: String,
    /// What would be right.
    pub expected: Cow<'static, str>,
}

impl FieldError {
    /// Refusal of `value`.
    #[must_use]
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        value: impl Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// Check that a value lies within `low..=high`, which not-a-number does not.
    ///
    /// # Errors
    /// The refusal names both ends.
    pub fn between(
        field: impl Into<Cow<'static, str>>,
        value: f64,
        low: f64,
        high: f64,
    ) -> Result<(), Self> {
        if (low..=high).contains(&value) {
            return Ok(());
        }
        Err(Self::new(field, value, format!("{low} to {high}")))
    }

    /// Check that a value lies within `range`, which `expected` says in words.
    ///
    /// # Errors
    /// The refusal says `expected`.
    pub fn within(
        field: &'static str,
        value: f64,
        range: RangeInclusive<f64>,
        expected: &'static str,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self::new(field, value, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_name_value_and_range() {
        assert_eq!(FieldError::between("a.b", 1.0, 0.0, 1.0), Ok(()));
        let text = |refused: Result<(), FieldError>| refused.expect_err("outside").to_string();
        let low = FieldError::between("a.b", -0.5, 0.0, 1.5);
        assert_eq!(text(low), "a.b is -0.5; expected 0 to 1.5");
        let odd = FieldError::within("c_s", f64::NAN, 0.0..=1.0, "0 to 1 s");
        assert_eq!(text(odd), "c_s is NaN; expected 0 to 1 s");
    }
}
