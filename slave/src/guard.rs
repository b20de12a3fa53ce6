//! Limits on the robot's motion and force, independent of the coupling.
//!
//! Passive is not safe (teleop section 11): speed, force, workspace and the age of the data are
//! limited here, after the coupling's demand and before the energy tank pays.

use palpate_port::guard;
use palpate_transport::params::ABOVE_0;
use palpate_transport::trace::EventFlags;
use palpate_transport::{AXES, Axes, FieldError, params};

params! {
    /// Limits of the remote side, by axis x, y, z, opening.
    #[derive(Copy)]
    pub struct SlaveGuardParams: "slave.guard." then corners_are_in_order {
        /// Largest desired speed \[m/s\].
        pub velocity_mps_max: Axes = [0.3, 0.3, 0.3, 0.2]
            => (ABOVE_0, "four finite numbers above 0"),
        /// Largest coupling force \[N\].
        pub force_n_max: Axes = [12.0, 12.0, 12.0, 8.0] => (ABOVE_0, "four finite numbers above 0"),
        /// Measured contact force beyond which the probe may not press on \[N\].
        // the operator feels at most 6 N (teleop section 4); the tissue gets little more
        pub contact_n_max: Axes = [8.0, 8.0, 8.0, 6.0] => (ABOVE_0, "four finite numbers above 0"),
        /// Lower corner of the workspace \[m\].
        pub workspace_m_min: Axes = [-0.08, -0.08, -0.03, 0.0],
        /// Upper corner of the workspace \[m\].
        pub workspace_m_max: Axes = [0.08, 0.08, 0.08, 0.05],
        /// Time without a fresh frame after which the robot stands still \[s\] (teleop: 10 to 50 ms).
        pub watchdog_s: f64 = 0.05 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Age of the newest frame beyond which the robot stands still, by the clocks of both sides \[s\].
        // a delay of 0.5 s may double before its frames are too old to act on
        pub age_s: f64 = 1.0 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Time constant with which the coupling force fades after a fault \[s\].
        pub fade_s: f64 = 0.05 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
        /// Damping of the robot that remains after a fault, by axis \[N s/m\].
        // less than the coupling's own damping, with which the robot is stable
        pub fault_nspm: Axes = [20.0, 20.0, 20.0, 10.0]
            => (0.0..=1e3, "four numbers from 0 to 1000 N s/m"),
        /// Time over which the speed limit rises from 0 again after a stop \[s\].
        pub ramp_s: f64 = 0.2 => (guard::GUARD_TIME_S, "0.001 to 10 s"),
    }
}

fn corners_are_in_order(guard: &SlaveGuardParams) -> Result<(), FieldError> {
    for axis in 0..AXES {
        let (low, high) = (guard.workspace_m_min[axis], guard.workspace_m_max[axis]);
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(FieldError::new(
                "slave.guard.workspace_m_min",
                format!("{low} .. {high} on axis {axis}"),
                "a lower corner below the upper one",
            ));
        }
    }
    Ok(())
}

impl SlaveGuardParams {
    /// Fraction of the speed limit that holds `engaged_s` after motion was enabled, 0 to 1.
    #[must_use]
    pub(crate) fn speed_fraction(&self, engaged_s: f64) -> f64 {
        (engaged_s / self.ramp_s).clamp(0.0, 1.0)
    }

    /// Force of one axis during a latched fault: the remainder of the last force `dt_s` later, and
    /// damping of the robot \[N\]. Returns the force and the remainder.
    #[must_use]
    pub(crate) fn fault_force(
        &self,
        axis: usize,
        fading_n: f64,
        robot_velocity_mps: f64,
        dt_s: f64,
    ) -> (f64, f64) {
        let remaining_n = guard::faded(fading_n, self.fade_s, dt_s);
        let damped = remaining_n - self.fault_nspm[axis] * robot_velocity_mps;
        let force_max = self.force_n_max[axis];
        (damped.clamp(-force_max, force_max), remaining_n)
    }

    /// Limits the desired velocity of one axis by speed, contact force and workspace.
    ///
    /// Returns the velocity \[m/s\] and the bits of [`EventFlags`] of the limits that acted.
    #[must_use]
    pub(crate) fn limit_velocity(&self, axis: usize, motion: &PortMotion) -> (f64, u32) {
        let mut events = 0;
        let speed_max = motion.speed_mps_max;
        let mut velocity = motion.velocity_mps;
        if !velocity.is_finite() {
            return (0.0, EventFlags::INVALID_READING);
        }
        if velocity.abs() > speed_max {
            velocity = velocity.clamp(-speed_max, speed_max);
            events |= EventFlags::SPEED_LIMIT;
        }
        let contact = motion.contact_force_n;
        if contact.abs() > self.contact_n_max[axis] && contact * velocity < 0.0 {
            velocity = 0.0;
            events |= EventFlags::CONTACT_LIMIT;
        }
        let room_m = if velocity > 0.0 {
            self.workspace_m_max[axis] - motion.position_m
        } else {
            motion.position_m - self.workspace_m_min[axis]
        };
        let border_mps = room_m.max(0.0) / BORDER_S;
        if velocity.abs() > border_mps {
            velocity = velocity.clamp(-border_mps, border_mps);
            events |= EventFlags::WORKSPACE_LIMIT;
        }
        let next = motion.position_m + velocity * motion.dt_s;
        let inside = next.clamp(self.workspace_m_min[axis], self.workspace_m_max[axis]);
        if inside != next {
            // back towards the workspace no faster than the speed limit
            velocity = ((inside - motion.position_m) / motion.dt_s).clamp(-speed_max, speed_max);
            events |= EventFlags::WORKSPACE_LIMIT;
        }
        (velocity, events)
    }
}

/// Least time in which the port may reach a border of the workspace \[s\]; ours. With a port that braked only at the
/// border, a robot with a soft servo swung over it by 1.8 mm; with half of this time, by 1.5 mm.
const BORDER_S: f64 = 0.06;

/// Desired motion of one axis, before the limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PortMotion {
    /// Desired position now \[m\].
    pub position_m: f64,
    /// Desired velocity \[m/s\].
    pub velocity_mps: f64,
    /// Contact force of the tissue on the probe, measured or expected \[N\], 0 if unknown.
    pub contact_force_n: f64,
    /// Largest speed \[m/s\].
    pub speed_mps_max: f64,
    /// Tick period \[s\].
    pub dt_s: f64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn issue_port_reached_the_border_at_full_speed_and_the_robot_swung_over_it() {
        let guard = SlaveGuardParams::default();
        let mut motion = PortMotion {
            position_m: 0.05,
            velocity_mps: 0.3,
            contact_force_n: 0.0,
            speed_mps_max: 0.3,
            dt_s: 1e-3,
        };
        let mut last_mps = 0.3;
        for _ in 0..1000 {
            let (velocity_mps, _) = guard.limit_velocity(0, &motion);
            let slowing_mps2 = (last_mps - velocity_mps) / motion.dt_s;
            assert!(
                (0.0..=0.3 / BORDER_S + 1e-6).contains(&slowing_mps2),
                "{slowing_mps2}"
            );
            last_mps = velocity_mps;
            motion.position_m += velocity_mps * motion.dt_s;
        }
        assert!((motion.position_m - guard.workspace_m_max[0]).abs() < 1e-6);
    }

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(SlaveGuardParams::default().validate(), Ok(()));
        let bad = SlaveGuardParams {
            watchdog_s: 5.0e3,
            ..SlaveGuardParams::default()
        };
        assert_eq!(
            bad.validate().expect_err("too long").field,
            "slave.guard.watchdog_s"
        );
        let bad = SlaveGuardParams {
            force_n_max: [1.0, f64::NAN, 1.0, 1.0],
            ..SlaveGuardParams::default()
        };
        assert!(bad.validate().expect_err("nan").to_string().contains("NaN"));
    }

    #[test]
    fn contact_limit_allows_only_retraction() {
        let guard = SlaveGuardParams::default();
        let motion = PortMotion {
            position_m: 0.0,
            velocity_mps: -0.1,
            contact_force_n: 9.0,
            speed_mps_max: 0.3,
            dt_s: 1e-3,
        };
        assert_eq!(
            guard.limit_velocity(2, &motion),
            (0.0, EventFlags::CONTACT_LIMIT)
        );
        let leaving = PortMotion {
            velocity_mps: 0.1,
            ..motion
        };
        assert_eq!(guard.limit_velocity(2, &leaving), (0.1, 0));
    }

    proptest! {
        #[test]
        fn any_demand_stays_within_the_limits(
            velocity in prop::num::f64::ANY, position in -0.2f64..0.2, fraction in 0.0f64..1.0,
        ) {
            let guard = SlaveGuardParams::default();
            let motion = PortMotion {
                position_m: position, velocity_mps: velocity, contact_force_n: 0.0, speed_mps_max: 0.3 * fraction, dt_s: 1e-3,
            };
            let (limited, _) = guard.limit_velocity(0, &motion);
            prop_assert!(limited.abs() <= 0.3 * fraction + 1e-12);
            let next = position + limited * 1e-3;
            prop_assert!(next.abs() <= position.abs().max(0.08) + 1e-12);
        }
    }
}
