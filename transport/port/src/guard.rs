//! Common parts of both sides' guards: ranges of their times, and the fading of a force.
//!
//! A fault latches and the force becomes damping after a fade; the operator re-arms the side.

use core::ops::RangeInclusive;

/// Range of the times of a guard \[s\].
pub const GUARD_TIME_S: RangeInclusive<f64> = 0.001..=10.0;

/// Force `force_n` \[N\] after fading for `dt_s` with the time constant `fade_s`, both \[s\].
#[must_use]
pub fn faded(force_n: f64, fade_s: f64, dt_s: f64) -> f64 {
    force_n * (1.0 - dt_s / fade_s).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_fades_to_zero_without_overshoot() {
        assert_eq!(faded(2.0, 0.05, 0.0), 2.0);
        assert!((faded(2.0, 0.05, 0.02) - 1.2).abs() < 1e-12);
        assert_eq!(faded(2.0, 0.05, 1.0), 0.0);
    }
}
