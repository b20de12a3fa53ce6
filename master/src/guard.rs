//! Limits on the force on the operator's hand, outside of the passivity argument.
//!
//! A demand fades in faults and pauses before the energy tank pays. Magnitude and slew are limited after it
//! (ARCHITECTURE, idea 5), except that a fall that the tank cannot pay for is not slowed. A fault latches to a damped
//! force that fades, until the operator re-arms.

use palpate_port::guard;
use palpate_transport::params::ABOVE_0;
use palpate_transport::trace::EventFlags;
use palpate_transport::{AXES, Axes, params};

params! {
    /// Limits of the operator's side, by axis x, y, z, opening.
    #[derive(Copy)]
    pub struct MasterGuardParams: "master.guard." {
        /// Largest force on the hand \[N\]; 6 N is the ceiling of palpation (teleop section 4).
        pub force_n_max: Axes = [6.0, 6.0, 6.0, 4.0] => (ABOVE_0, "four finite numbers above 0"),
        /// Largest change of force \[N/s\].
        pub slew_nps_max: Axes = [1000.0; AXES] => (ABOVE_0, "four finite numbers above 0"),
        /// Time without a fresh frame after which a relayed force fades \[s\].
        pub stale_s: f64 = 0.05 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Age of the newest frame, by the clocks of both sides, after which a relayed force fades \[s\].
        // a delay of 0.5 s may double before its frames are too old to act on
        pub age_s: f64 = 1.0 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Time constant with which a force fades after a fault or when stale \[s\].
        pub fade_s: f64 = 0.05 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Root mean square of the force between 8 and 200 Hz above which, after half a second, it is a limit cycle and
        /// fades \[N\].
        pub limit_cycle_n: f64 = 0.3 => (ABOVE_0, "a finite number above 0"),
        /// Damping that remains after a fault \[N s/m\].
        pub fault_nspm: f64 = 2.0 => (0.0..=50.0, "0 to 50 N s/m"),
    }
}

impl MasterGuardParams {
    /// The force of one axis within magnitude and slew, in either direction; `last_n` is what was written last tick.
    ///
    /// Returns the force \[N\] and the bits of [`EventFlags`] of the limits that acted.
    #[must_use]
    pub(crate) fn limit(&self, axis: usize, wanted_n: f64, last_n: f64, dt_s: f64) -> (f64, u32) {
        let mut events = 0;
        if !wanted_n.is_finite() {
            return (self.faded(last_n, dt_s), EventFlags::INVALID_READING);
        }
        let max = self.force_n_max[axis];
        let mut force = wanted_n;
        if force.abs() > max {
            force = force.clamp(-max, max);
            events |= EventFlags::FORCE_LIMIT;
        }
        let step = self.slew_nps_max[axis] * dt_s;
        let within = force.clamp(last_n - step, last_n + step);
        if within != force {
            force = within;
            events |= EventFlags::SLEW_LIMIT;
        }
        (force.clamp(-max, max), events)
    }

    /// `force_n` one tick later while it fades \[N\].
    #[must_use]
    pub(crate) fn faded(&self, force_n: f64, dt_s: f64) -> f64 {
        guard::faded(force_n, self.fade_s, dt_s)
    }

    /// Port force during a latched fault: the faded last force, and damping \[N\].
    #[must_use]
    pub(crate) fn fault_force(&self, axis: usize, fading_n: f64, velocity_mps: f64) -> f64 {
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
    fn defaults_are_valid_and_errors_name_the_field() {
        assert_eq!(MasterGuardParams::default().validate(), Ok(()));
        let bad = MasterGuardParams {
            fault_nspm: -1.0,
            ..MasterGuardParams::default()
        };
        assert!(
            bad.validate()
                .expect_err("negative")
                .to_string()
                .contains("fault_nspm is -1")
        );
    }

    proptest! {
        #[test]
        fn any_demand_yields_finite_limited_force(
            wanted in prop::num::f64::ANY, last in -6.0f64..6.0,
        ) {
            let guard = MasterGuardParams::default();
            let (force, _) = guard.limit(2, wanted, last, 1e-3);
            prop_assert!(force.abs() <= 6.0 && (force - last).abs() <= 1.0 + 1e-12);
        }

        #[test]
        fn fault_force_fades_to_damping(last in -6.0f64..6.0, velocity in -0.5f64..0.5) {
            let guard = MasterGuardParams::default();
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
