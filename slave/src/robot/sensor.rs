//! A simulated force sensor: first-order low-pass, bias, white noise, range (seed-004 section 5:
//! 0.01 N noise for a palpator; the rest ours).

use palpate_port::encoder::low_pass_share;
use palpate_transport::{AXES, Axes, chance};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// Parameters of a force sensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SensorParams {
    /// Standard deviation of the noise of one reading \[N\].
    pub noise_n: f64,
    /// Cut-off of the low-pass \[Hz\].
    pub cutoff_hz: f64,
    /// Constant error, by axis \[N\].
    pub bias_n: Axes,
    /// Largest force that it can read \[N\].
    pub range_n: f64,
}

impl Default for SensorParams {
    fn default() -> Self {
        Self {
            noise_n: 0.010,
            cutoff_hz: 200.0,
            bias_n: [0.0; AXES],
            range_n: 20.0,
        }
    }
}

/// A force sensor at work.
#[derive(Debug, Clone)]
pub(super) struct Sensor {
    params: SensorParams,
    share: f64,
    filtered_n: Axes,
    random: Xoshiro256PlusPlus,
}

impl Sensor {
    /// A sensor that has seen no force, looked at every `dt_s` \[s\].
    pub(super) fn new(params: SensorParams, dt_s: f64, seed: u64) -> Self {
        Self {
            params,
            share: low_pass_share(params.cutoff_hz, dt_s),
            filtered_n: [0.0; AXES],
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Feel `force_n` \[N\] for one step.
    pub(super) fn feel(&mut self, force_n: &Axes) {
        for (filtered_n, force_n) in self.filtered_n.iter_mut().zip(force_n) {
            *filtered_n += self.share * (force_n - *filtered_n);
        }
    }

    /// One reading \[N\].
    pub(super) fn read(&mut self) -> Axes {
        let [[a, b], [c, d]] = [(); 2].map(|()| chance::normal_pair(&mut self.random));
        let noise = [a, b, c, d];
        let range_n = self.params.range_n;
        core::array::from_fn(|axis| {
            let read_n = self.filtered_n[axis] + self.params.bias_n[axis];
            (read_n + self.params.noise_n * noise[axis]).clamp(-range_n, range_n)
        })
    }
}

#[cfg(test)]
mod tests {
    use core::f64::consts::PI;

    use super::*;

    #[test]
    fn noise_has_its_mean_and_spread() {
        let params = SensorParams {
            bias_n: [0.5, 0.0, -0.25, 0.0],
            ..SensorParams::default()
        };
        let mut sensor = Sensor::new(params, 1e-4, 7);
        let readings: Vec<Axes> = (0..20_000).map(|_| sensor.read()).collect();
        for axis in 0..AXES {
            let count = readings.len() as f64;
            let mean = readings.iter().map(|reading| reading[axis]).sum::<f64>() / count;
            let square = readings.iter().map(|r| (r[axis] - mean) * (r[axis] - mean));
            let spread = libm::sqrt(square.sum::<f64>() / count);
            // five standard errors
            assert!((mean - params.bias_n[axis]).abs() < 5.0 * 0.010 / libm::sqrt(count));
            assert!((spread - 0.010).abs() < 5.0 * 0.010 / libm::sqrt(2.0 * count));
        }
    }

    #[test]
    fn a_step_is_seen_as_by_a_first_order_filter() {
        let quiet = SensorParams {
            noise_n: 0.0,
            ..SensorParams::default()
        };
        let mut sensor = Sensor::new(quiet, 1e-4, 7);
        for step in 1..100 {
            sensor.feel(&[2.0; AXES]);
            let wanted_n = 2.0 * (1.0 - libm::exp(-2.0 * PI * 200.0 * f64::from(step) * 1e-4));
            assert!((sensor.read()[2] - wanted_n).abs() < 1e-9);
        }
        sensor.filtered_n = [100.0; AXES];
        assert_eq!(sensor.read(), [20.0; AXES]);
    }
}
