//! What the guards of both sides have in common: checks of limits and times, and the fading of a force.
//!
//! A fault latches to a damped force that fades; the operator re-arms it.

use palpate_transport::Axes;

use crate::field::FieldError;

/// Check that every limit is a finite number above 0.
///
/// # Errors
/// [`FieldError`] names the first field that has another one.
pub fn check_limits(rows: &[(&'static str, Axes)]) -> Result<(), FieldError> {
    for (field, values) in rows {
        if !values.iter().all(|value| *value > 0.0 && value.is_finite()) {
            let expected = "four finite numbers above 0";
            return Err(FieldError::new(*field, format!("{values:?}"), expected));
        }
    }
    Ok(())
}

/// Check that every time is 1 ms to 10 s.
///
/// # Errors
/// [`FieldError`] names the first field that is not.
pub fn check_times(rows: &[(&'static str, f64)]) -> Result<(), FieldError> {
    rows.iter().try_for_each(|(field, value_s)| {
        FieldError::within(field, *value_s, 0.001..=10.0, "0.001 to 10 s")
    })
}

/// `force_n` \[N\] a time `dt_s` later while it fades with the time constant `fade_s`, both \[s\].
#[must_use]
pub fn faded(force_n: f64, fade_s: f64, dt_s: f64) -> f64 {
    force_n * (1.0 - dt_s / fade_s).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_force_fades_to_nothing_and_never_beyond() {
        assert_eq!(faded(2.0, 0.05, 0.0), 2.0);
        assert!((faded(2.0, 0.05, 0.02) - 1.2).abs() < 1e-12);
        assert_eq!(faded(2.0, 0.05, 1.0), 0.0);
    }

    #[test]
    fn limits_and_times_are_refused_by_name() {
        let rows = [("one", [1.0; 4]), ("two", [1.0, f64::NAN, 1.0, 1.0])];
        assert_eq!(check_limits(&rows[..1]), Ok(()));
        let refused = check_limits(&rows).expect_err("not a number");
        assert_eq!(refused.field, "two");
        assert!(refused.to_string().contains("NaN"));
        let refused = check_times(&[("a_s", 0.5), ("b_s", 5e3)]).expect_err("too long");
        assert_eq!(refused.to_string(), "b_s is 5000; expected 0.001 to 10 s");
    }
}
