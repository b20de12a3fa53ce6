//! Floating-point types of tissues: `f64` for reference solutions, `f32` for the solvers of the servo's tick.

use nalgebra::RealField;

/// Floating-point number with a conversion from `f64`.
pub trait Real: RealField + Copy {
    /// Returns the value nearest to `value`.
    fn of(value: f64) -> Self;
}

impl Real for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
    }
}

impl Real for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is intended")]
    #[inline]
    fn of(value: f64) -> Self {
        value as Self
    }
}
