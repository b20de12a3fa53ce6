//! Simulated force sensor: first-order low-pass, bias, white noise, range, and its failure (seed-004 section 5:
//! 0.01 N noise for a palpator; the rest ours).

use palpate_port::encoder::low_pass_gain;
use palpate_transport::{AXES, Axes, FieldError, params, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

params! {
    /// Parameters of a force sensor.
    #[derive(Copy)]
    pub struct SensorParams: "palpator.sensor." then failure_is_in_a_day {
        /// Standard deviation of the noise of one reading \[N\].
        pub noise_n: f64 = 0.010 => (0.0..=1.0),
        /// Cut-off of the low-pass \[Hz\].
        pub cutoff_hz: f64 = 200.0 => (1.0..=5000.0),
        /// Constant error, by axis \[N\].
        pub bias_n: Axes = [0.0; AXES] => (-10.0..=10.0),
        /// Largest force that it can read \[N\].
        pub range_n: f64 = 20.0 => (0.1..=1000.0),
        /// Time from which it reads 0, without a sign that it failed \[s\]; none for never.
        pub dead_at_s: Option<f64> = None,
    }
}

fn failure_is_in_a_day(sensor: &SensorParams) -> Result<(), FieldError> {
    sensor.dead_at_s.map_or(Ok(()), |at_s| {
        FieldError::check_range("palpator.sensor.dead_at_s", at_s, 0.0, 86_400.0)
    })
}

/// State of a force sensor.
#[derive(Debug, Clone)]
pub(super) struct Sensor {
    params: SensorParams,
    share: f64,
    filtered_n: Axes,
    /// Steps that it still works; none if it does not fail.
    steps_left: Option<u64>,
    random: Xoshiro256PlusPlus,
}

impl Sensor {
    /// Creates a sensor at zero force, stepped every `dt_s` \[s\].
    pub(super) fn new(params: SensorParams, dt_s: f64, seed: u64) -> Self {
        Self {
            params,
            share: low_pass_gain(params.cutoff_hz, dt_s),
            filtered_n: [0.0; AXES],
            steps_left: params.dead_at_s.map(|at_s| (at_s / dt_s).round() as u64),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Filters `force_n` \[N\] for one step.
    pub(super) fn filter(&mut self, force_n: &Axes) {
        for (filtered_n, force_n) in self.filtered_n.iter_mut().zip(force_n) {
            *filtered_n += self.share * (force_n - *filtered_n);
        }
        self.steps_left = self.steps_left.map(|steps| steps.saturating_sub(1));
    }

    /// Returns one reading \[N\].
    pub(super) fn read(&mut self) -> Axes {
        let [[a, b], [c, d]] = [(); 2].map(|()| random::normal_pair(&mut self.random));
        let noise = [a, b, c, d];
        if self.steps_left == Some(0) {
            return [0.0; AXES];
        }
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
    fn noise_has_the_stated_mean_and_deviation() {
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
    fn step_is_read_through_a_first_order_filter() {
        let quiet = SensorParams {
            noise_n: 0.0,
            ..SensorParams::default()
        };
        let mut sensor = Sensor::new(quiet, 1e-4, 7);
        for step in 1..100 {
            sensor.filter(&[2.0; AXES]);
            let wanted_n = 2.0 * (1.0 - libm::exp(-2.0 * PI * 200.0 * f64::from(step) * 1e-4));
            assert!((sensor.read()[2] - wanted_n).abs() < 1e-9);
        }
        sensor.filtered_n = [100.0; AXES];
        assert_eq!(sensor.read(), [20.0; AXES]);
    }

    #[test]
    fn dead_sensor_reads_0_from_its_time_on() {
        let params = SensorParams {
            dead_at_s: Some(0.01),
            ..SensorParams::default()
        };
        let (mut failing, mut whole) = [params, SensorParams::default()]
            .map(|params| Sensor::new(params, 1e-4, 7))
            .into();
        for step in 1..200 {
            for sensor in [&mut failing, &mut whole] {
                sensor.filter(&[2.0; AXES]);
            }
            let expected_n = whole.read();
            let is_dead = step >= 100;
            assert_eq!(
                failing.read(),
                if is_dead { [0.0; AXES] } else { expected_n }
            );
        }
        let never = SensorParams {
            dead_at_s: Some(-1.0),
            ..params
        };
        let error = never.validate().expect_err("before the start").to_string();
        assert_eq!(
            error,
            "palpator.sensor.dead_at_s is -1; expected 0 to 86400"
        );
    }
}
