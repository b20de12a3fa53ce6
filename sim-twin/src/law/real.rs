//! The numbers a law computes with: `f64` for the truth, `f32` for the explicit solver.
//!
//! Logarithm, exponential and cube root come from `libm`, so that the bits are the same on every
//! machine.

use nalgebra::RealField;

/// A floating point number whose functions give the same bits everywhere.
pub trait Real: RealField + Copy {
    /// The nearest value to `value`.
    fn of(value: f64) -> Self;
    /// Natural logarithm; not a number below zero.
    #[must_use]
    fn logarithm(self) -> Self;
    /// `e` to this power.
    #[must_use]
    fn exponential(self) -> Self;
    /// Cube root, of either sign.
    #[must_use]
    fn cube_root(self) -> Self;
}

impl Real for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
    }
    #[inline]
    fn logarithm(self) -> Self {
        libm::log(self)
    }
    #[inline]
    fn exponential(self) -> Self {
        libm::exp(self)
    }
    #[inline]
    fn cube_root(self) -> Self {
        libm::cbrt(self)
    }
}

impl Real for f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what is asked for"
    )]
    #[inline]
    fn of(value: f64) -> Self {
        value as Self
    }
    #[inline]
    fn logarithm(self) -> Self {
        libm::logf(self)
    }
    #[inline]
    fn exponential(self) -> Self {
        libm::expf(self)
    }
    #[inline]
    fn cube_root(self) -> Self {
        libm::cbrtf(self)
    }
}
