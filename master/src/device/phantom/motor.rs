//! Limits of the arm's motors: a peak force, and less when they are hot.
//!
//! A force beyond the limit keeps its direction (seed-004 3.7). Heat is the low-passed square of
//! the force; near the square of the continuous force the limit fades from peak to continuous
//! (ours).

use nalgebra::Vector3;
use palpate_transport::params;

params! {
    /// Parameters of the motors; 8.5 N and 1.4 N are data-sheet values (seed-004 3.15, unverified).
    #[derive(Copy)]
    pub struct MotorParams: "phantom.motor." {
        /// Largest force at the tip \[N\].
        pub force_n_peak: f64 = 8.5 => (0.1..=50.0),
        /// Force that can be held without time limit \[N\].
        pub force_n_continuous: f64 = 1.4 => (0.1..=50.0),
        /// True if heat limits the force.
        pub thermal: bool = false,
        /// Time constant of the heat \[s\].
        pub thermal_s: f64 = 30.0 => (0.1..=1e4),
    }
}

/// Share of the continuous heat above which the limit fades.
const FADE_START_SHARE: f64 = 0.9;

/// The motors' heat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motor {
    params: MotorParams,
    heat_n2: f64,
}

impl Motor {
    /// Cold motors.
    #[must_use]
    pub(super) fn new(params: MotorParams) -> Self {
        Self {
            params,
            heat_n2: 0.0,
        }
    }

    /// Present largest force \[N\].
    #[must_use]
    pub(super) fn limit_n(&self) -> f64 {
        let (peak, continuous) = (self.params.force_n_peak, self.params.force_n_continuous);
        if !self.params.thermal {
            return peak;
        }
        let load = self.heat_n2 / (continuous * continuous);
        let cool = ((1.0 - load) / (1.0 - FADE_START_SHARE)).clamp(0.0, 1.0);
        continuous + (peak - continuous) * cool
    }

    /// `force_n` \[N\], scaled down to the limit.
    #[must_use]
    pub(super) fn limited(&self, force_n: &Vector3<f64>) -> Vector3<f64> {
        let limit_n = self.limit_n();
        let length_n = force_n.norm();
        if length_n <= limit_n {
            return *force_n;
        }
        // components are finite and at most 1000 N, so the length is finite and above 0
        force_n * (limit_n / length_n)
    }

    /// Heats the motors by `force_n` \[N\] for `dt_s` \[s\].
    pub(super) fn warm(&mut self, force_n: &Vector3<f64>, dt_s: f64) {
        if self.params.thermal {
            let share = (dt_s / self.params.thermal_s).min(1.0);
            self.heat_n2 += share * (force_n.norm_squared() - self.heat_n2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_force_keeps_its_direction() {
        let motor = Motor::new(MotorParams::default());
        let cut_n = motor.limited(&Vector3::new(30.0, 0.0, 40.0));
        assert!((cut_n - Vector3::new(5.1, 0.0, 6.8)).norm() < 1e-12);
        let small_n = Vector3::new(3.0, 0.0, 4.0);
        assert_eq!(motor.limited(&small_n), small_n);
    }

    #[test]
    fn hot_motors_settle_at_the_continuous_force() {
        let mut motor = Motor::new(MotorParams {
            thermal: true,
            ..MotorParams::default()
        });
        assert_eq!(motor.limit_n(), 8.5);
        for _ in 0..600_000 {
            let force_n = motor.limited(&Vector3::new(0.0, 6.0, 0.0));
            motor.warm(&force_n, 1e-3);
        }
        assert!((motor.limit_n() - 1.4).abs() < 0.05, "{}", motor.limit_n());
    }
}
