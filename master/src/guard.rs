//! Limits on what the operator's hand may feel, always last and outside the passivity argument.
//!
//! Any input gives a finite force within magnitude and slew limits. A fault latches to a damped
//! force that fades; the operator re-arms it (DESIGN, "the contract with the hand is total").

use palpate_port::FieldError;
use palpate_port::guard::{self, check_limits, check_times};
use palpate_transport::{AXES, Axes, trace::Events};
use serde::{Deserialize, Serialize};

/// Limits of the operator's side, by axis x, y, z, opening.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardParams {
    /// Largest force on the hand \[N\]; 6 N is the ceiling of palpation (teleop section 4).
    pub force_n_max: Axes,
    /// Largest change of force \[N/s\].
    pub slew_nps_max: Axes,
    /// Time without a fresh frame after which a force that came through it fades \[s\].
    pub stale_s: f64,
    /// Age of the newest frame beyond which the same happens, by the clocks of both sides \[s\].
    pub age_s: f64,
    /// Time constant with which a force fades after a fault or when stale \[s\].
    pub fade_s: f64,
    /// Damping that is left after a fault \[N s/m\].
    pub fault_nspm: f64,
}

impl Default for GuardParams {
    fn default() -> Self {
        Self {
            force_n_max: [6.0, 6.0, 6.0, 4.0],
            slew_nps_max: [1000.0; AXES],
            stale_s: 0.05,
            // a delay of 0.5 s may double on its way before its frames are too old to act on
            age_s: 1.0,
            fade_s: 0.05,
            fault_nspm: 2.0,
        }
    }
}

impl GuardParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        check_limits(&[
            ("master.guard.force_n_max", self.force_n_max),
            ("master.guard.slew_nps_max", self.slew_nps_max),
        ])?;
        check_times(&[
            ("master.guard.stale_s", self.stale_s),
            ("master.guard.age_s", self.age_s),
            ("master.guard.fade_s", self.fade_s),
        ])?;
        let (field, expected) = ("master.guard.fault_nspm", "0 to 50 N s/m");
        FieldError::within(field, self.fault_nspm, 0.0..=50.0, expected)
    }

    /// The force of one axis within magnitude and slew; `last_n` is what was written last tick.
    ///
    /// The slew limits how fast a force grows. It may always fall to zero at once: a force that the
    /// energy account can no longer pay must not be held for softness.
    ///
    /// Returns the force \[N\] and the bits of [`Events`] of the limits that acted.
    #[must_use]
    pub fn limit(&self, axis: usize, wanted_n: f64, last_n: f64, dt_s: f64) -> (f64, u32) {
        let mut events = 0;
        if !wanted_n.is_finite() {
            return (self.faded(last_n, dt_s), Events::INVALID);
        }
        let max = self.force_n_max[axis];
        let mut force = wanted_n;
        if force.abs() > max {
            force = force.clamp(-max, max);
            events |= Events::FORCE;
        }
        let step = self.slew_nps_max[axis] * dt_s;
        let within = force.clamp(last_n.min(0.0) - step, last_n.max(0.0) + step);
        if within != force {
            force = within;
            events |= Events::SLEW;
        }
        (force.clamp(-max, max), events)
    }

    /// `force_n` one tick later while it fades \[N\].
    #[must_use]
    pub fn faded(&self, force_n: f64, dt_s: f64) -> f64 {
        guard::faded(force_n, self.fade_s, dt_s)
    }

    /// Port force during a latched fault: what is left of the last force, and damping \[N\].
    #[must_use]
    pub fn fault_force(&self, axis: usize, fading_n: f64, velocity_mps: f64) -> f64 {
        let velocity = if velocity_mps.is_finite() {
            velocity_mps
        } else {
            0.0
        };
        let damped = fading_n + self.fault_nspm * velocity;
        damped.clamp(-self.force_n_max[axis], self.force_n_max[axis])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(GuardParams::default().validate(), Ok(()));
        let bad = GuardParams {
            fault_nspm: -1.0,
            ..GuardParams::default()
        };
        assert!(
            bad.validate()
                .expect_err("negative")
                .to_string()
                .contains("fault_nspm is -1")
        );
    }

    #[test]
    fn issue_a_slew_limit_held_a_force_that_could_not_be_paid() {
        let guard = GuardParams::default();
        assert_eq!(guard.limit(2, 0.0, -5.8, 1e-3), (0.0, 0));
        assert_eq!(guard.limit(2, -5.9, 0.0, 1e-3), (-1.0, Events::SLEW));
        assert_eq!(guard.limit(2, 5.0, -5.8, 1e-3), (1.0, Events::SLEW));
    }

    proptest! {
        #[test]
        fn any_demand_gives_a_finite_limited_force(
            wanted in prop::num::f64::ANY, last in -6.0f64..6.0,
        ) {
            let guard = GuardParams::default();
            let (force, _) = guard.limit(2, wanted, last, 1e-3);
            prop_assert!(force.abs() <= 6.0 && force.abs() <= last.abs() + 1.0 + 1e-12);
        }

        #[test]
        fn a_fault_fades_to_its_damping(last in -6.0f64..6.0, velocity in -0.5f64..0.5) {
            let guard = GuardParams::default();
            let mut fading = last;
            for _ in 0..1000 {
                fading = guard.faded(fading, 1e-3);
            }
            let force = guard.fault_force(0, fading, velocity);
            prop_assert!((force - guard.fault_nspm * velocity).abs() < 1e-6);
            prop_assert!(guard.fault_force(0, last, f64::NAN).is_finite());
        }
    }
}
