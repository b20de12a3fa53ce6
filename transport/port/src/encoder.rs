//! Measured motion of a device: counts of its encoders, and their low-passed difference.

use core::f64::consts::PI;

use palpate_transport::{AXES, Axes};

/// Gain of a first-order low-pass over `dt_s` \[s\], the fraction of the remaining difference, for a cut-off in Hz.
#[must_use]
pub fn low_pass_gain(cutoff_hz: f64, dt_s: f64) -> f64 {
    1.0 - libm::exp(-2.0 * PI * cutoff_hz * dt_s)
}

/// Rounds `value` to the steps of an encoder; a step of 0 returns it unchanged.
#[must_use]
pub fn quantised(value: f64, step: f64) -> f64 {
    if step > 0.0 {
        (value / step).round() * step
    } else {
        value
    }
}

/// Measured position and velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredMotion {
    /// Position \[m\].
    pub position_m: Axes,
    /// Backward difference of the position over the time since the last reading, low-passed \[m/s\].
    pub velocity_mps: Axes,
}

impl MeasuredMotion {
    /// Creates the motion of a device at rest.
    #[must_use]
    pub fn at_rest(position_m: Axes) -> Self {
        Self {
            position_m,
            velocity_mps: [0.0; AXES],
        }
    }

    /// Reads a position \[m\] after `dt_s` \[s\] through a low-pass with a cut-off in Hz.
    pub fn read(&mut self, position_m: Axes, cutoff_hz: f64, dt_s: f64) {
        let share = low_pass_gain(cutoff_hz, dt_s);
        for (axis, velocity_mps) in self.velocity_mps.iter_mut().enumerate() {
            let raw_mps = (position_m[axis] - self.position_m[axis]) / dt_s;
            *velocity_mps += share * (raw_mps - *velocity_mps);
        }
        self.position_m = position_m;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_motion_is_read_through_a_first_order_filter() {
        let mut measured = MeasuredMotion::at_rest([0.0; AXES]);
        for ms in 1..50 {
            let at_m = 0.2e-3 * f64::from(ms);
            measured.read([at_m, 0.0, 0.0, 0.0], 80.0, 1e-3);
            let wanted_mps = 0.2 * (1.0 - libm::exp(-2.0 * PI * 80.0 * 1e-3 * f64::from(ms)));
            assert!((measured.velocity_mps[0] - wanted_mps).abs() < 1e-9, "{ms}");
        }
    }

    #[test]
    fn an_encoder_reads_the_nearest_step() {
        assert_eq!(quantised(0.123, 0.05), 0.1);
        assert_eq!(quantised(-0.13, 0.05), -0.15000000000000002);
        assert_eq!(quantised(0.123, 0.0), 0.123);
    }
}
