//! Measured motion of a device: counts of its encoders, their noise, and their low-passed difference.

use core::f64::consts::PI;

use palpate_transport::{AXES, Axes, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

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

/// Largest noise of an encoder, in standard deviations: an outlier beyond it is no reading.
const DEVIATIONS_MAX: f64 = 4.0;

/// White noise of a device's encoders, drawn from a seed and bounded.
#[derive(Debug, Clone)]
pub struct EncoderNoise {
    deviation_m: f64,
    random: Xoshiro256PlusPlus,
}

impl EncoderNoise {
    /// Creates noise with a standard deviation \[m\]; 0 is no noise. Other noise of the same seed is independent.
    #[must_use]
    pub fn new(deviation_m: f64, seed: u64) -> Self {
        Self {
            deviation_m,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0454_4E43_4F44_4552),
        }
    }

    /// Draws the errors of one reading, by axis \[m\]; none without noise, so that a reading stays bit for bit the same.
    pub fn draw(&mut self) -> Option<Axes> {
        if self.deviation_m == 0.0 {
            return None;
        }
        let [[a, b], [c, d]] = [(); 2].map(|()| random::normal_pair(&mut self.random));
        let bounded = |normal: f64| normal.clamp(-DEVIATIONS_MAX, DEVIATIONS_MAX);
        Some([a, b, c, d].map(|normal| self.deviation_m * bounded(normal)))
    }

    /// Largest error that it adds to the distance between two readings \[m\].
    #[must_use]
    pub fn distance_error_m(&self) -> f64 {
        2.0 * DEVIATIONS_MAX * self.deviation_m
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
    fn noise_has_its_deviation_and_is_absent_at_0() {
        let mut noise = EncoderNoise::new(2e-5, 5);
        let count = 20_000;
        let square: f64 = (0..count)
            .filter_map(|_| noise.draw())
            .map(|of| of[2] * of[2])
            .sum();
        let deviation_m = libm::sqrt(square / f64::from(count));
        // five standard errors
        assert!((deviation_m / 2e-5 - 1.0).abs() < 5.0 / libm::sqrt(2.0 * f64::from(count)));
        assert_eq!(EncoderNoise::new(0.0, 5).draw(), None);
    }

    #[test]
    fn an_encoder_reads_the_nearest_step() {
        assert_eq!(quantised(0.123, 0.05), 0.1);
        assert_eq!(quantised(-0.13, 0.05), -0.15000000000000002);
        assert_eq!(quantised(0.123, 0.0), 0.123);
    }
}
