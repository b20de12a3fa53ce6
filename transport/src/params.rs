//! Tables of parameters, each with its meaning, type, default and range, and the error for an invalid value.

use core::fmt::Display;
use core::ops::RangeInclusive;
use std::borrow::Cow;

/// An invalid parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; expected {expected}")]
pub struct FieldError {
    /// Name of the field.
    pub field: Cow<'static, str>,
    /// Value found.
    pub value: String,
    /// Values that would be valid.
    pub expected: Cow<'static, str>,
}

impl FieldError {
    /// Creates the error for `value`.
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

    /// Checks that a value lies within `low..=high`, which not-a-number does not.
    ///
    /// # Errors
    /// [`FieldError`] names both ends.
    pub fn check_range(
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
}

/// Range of finite numbers above 0.
pub const ABOVE_0: RangeInclusive<f64> = f64::from_bits(1)..=f64::MAX;

/// Value whose numbers can be checked against a range.
pub trait RangeChecked {
    /// Checks that it lies within `range`, described by `expected`; without a description the error names both ends.
    ///
    /// # Errors
    /// [`FieldError`] names the field.
    fn check(
        &self,
        field: &'static str,
        range: &RangeInclusive<f64>,
        expected: Option<&'static str>,
    ) -> Result<(), FieldError>;
}

impl RangeChecked for f64 {
    fn check(
        &self,
        field: &'static str,
        range: &RangeInclusive<f64>,
        expected: Option<&'static str>,
    ) -> Result<(), FieldError> {
        let checked = FieldError::check_range(field, *self, *range.start(), *range.end());
        checked.map_err(|error| FieldError {
            expected: expected.map_or(error.expected, Cow::Borrowed),
            ..error
        })
    }
}

macro_rules! integers_are_checked {
    ($($integer:ty),+) => {$(
        impl RangeChecked for $integer {
            fn check(
                &self,
                field: &'static str,
                range: &RangeInclusive<f64>,
                expected: Option<&'static str>,
            ) -> Result<(), FieldError> {
                f64::from(*self).check(field, range, expected)
            }
        }
    )+};
}

integers_are_checked!(u8, u16, u32);

/// A description holds for all the numbers together, and the error shows all of them.
impl<const N: usize> RangeChecked for [f64; N] {
    fn check(
        &self,
        field: &'static str,
        range: &RangeInclusive<f64>,
        expected: Option<&'static str>,
    ) -> Result<(), FieldError> {
        let checked = self
            .iter()
            .try_for_each(|value| value.check(field, range, expected));
        checked.map_err(|error| match expected {
            Some(expected) => FieldError::new(field, format!("{self:?}"), expected),
            None => error,
        })
    }
}

/// Defines a structure of parameters by its fields, each with its type, its default and, for numbers, their range
/// and an optional description of that range.
///
/// The text after the name precedes every field in an error. A function after `then` checks conditions that involve
/// several fields.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $($table:tt)+) => {
        $crate::params! { @table $(#[$meta])* $vis $($table)+ }
    };
    (
        @table $(#[$meta:meta])*
        $vis:vis $name:ident: $prefix:literal $(then $more:path)? {
            $(
                $(#[$about:meta])*
                pub $field:ident: $type:ty = $default:expr $(=> ($range:expr $(, $expected:literal)?))?,
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        $vis struct $name {
            $($(#[$about])* pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $name {
            /// Checks every field.
            ///
            /// # Errors
            /// `FieldError` names the first invalid field.
            $vis fn validate(&self) -> Result<(), $crate::FieldError> {
                $($($crate::params::RangeChecked::check(
                    &self.$field,
                    concat!($prefix, stringify!($field)),
                    &$range,
                    [$(Some($expected),)? None][0],
                )?;)?)+
                $($more(self)?;)?
                Ok(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    params! {
        /// A lamp.
        struct Lamp: "lamp." then sum {
            /// Power.
            pub power_w: f64 = 1.0 => (0.0..=40.0),
            /// Places.
            pub places: [f64; 2] = [3.0; 2] => (0.0..=10.0, "two places from 0 to 10"),
            /// Spots.
            pub spots: [f64; 2] = [0.5; 2] => (0.0..=1.0),
            /// Age.
            pub age_s: f64 = 0.5 => (ABOVE_0, "a time above 0 s"),
            /// Count.
            pub count: u32 = 2 => (1.0..=8.0),
            /// Name.
            pub name: String = "lamp".into(),
        }
    }

    fn sum(lamp: &Lamp) -> Result<(), FieldError> {
        FieldError::check_range("lamp.sum", lamp.power_w, 0.0, lamp.places[0])
    }

    #[test]
    fn error_names_field_value_and_range() {
        assert_eq!(FieldError::check_range("a.b", 1.0, 0.0, 1.0), Ok(()));
        assert_eq!(Lamp::default().validate(), Ok(()));
        let refused = |change: fn(&mut Lamp)| {
            let mut lamp = Lamp::default();
            change(&mut lamp);
            lamp.validate().expect_err("outside").to_string()
        };
        for (change, text) in [
            (
                (|lamp| lamp.power_w = -0.5) as fn(&mut Lamp),
                "lamp.power_w is -0.5; expected 0 to 40",
            ),
            (
                |lamp| lamp.power_w = 4.5,
                "lamp.sum is 4.5; expected 0 to 3",
            ),
            (
                |lamp| lamp.places[1] = f64::NAN,
                "lamp.places is [3.0, NaN]; expected two places from 0 to 10",
            ),
            (
                |lamp| lamp.spots[1] = 2.0,
                "lamp.spots is 2; expected 0 to 1",
            ),
            (
                |lamp| lamp.age_s = 0.0,
                "lamp.age_s is 0; expected a time above 0 s",
            ),
            (
                |lamp| lamp.age_s = f64::INFINITY,
                "lamp.age_s is inf; expected a time above 0 s",
            ),
            (|lamp| lamp.count = 9, "lamp.count is 9; expected 1 to 8"),
        ] {
            assert_eq!(refused(change), text);
        }
    }
}
