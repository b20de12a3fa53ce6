//! Limits on what the robot may do, whatever the coupling asks.
//!
//! Passive is not safe (teleop section 11): speed, force, workspace and the age of the data are
//! limited here, after the coupling has spoken and before the energy account pays.

use palpate_port::FieldError;
use palpate_port::guard::{self, check_limits, check_times};
use palpate_transport::{AXES, Axes, trace::Events};
use serde::{Deserialize, Serialize};

/// Limits of the remote side, by axis x, y, z, opening.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardParams {
    /// Largest desired speed \[m/s\].
    pub velocity_mps_max: Axes,
    /// Largest coupling force \[N\].
    pub force_n_max: Axes,
    /// Measured contact force beyond which the probe may not press on \[N\].
    pub contact_n_max: Axes,
    /// Lower corner of the workspace \[m\].
    pub workspace_m_min: Axes,
    /// Upper corner of the workspace \[m\].
    pub workspace_m_max: Axes,
    /// Time without a fresh frame after which the robot holds still \[s\] (teleop: 10 to 50 ms).
    pub watchdog_s: f64,
    /// Age of the newest frame beyond which the same happens, by the clocks of both sides \[s\].
    pub age_s: f64,
    /// Time constant with which the coupling force fades after a fault \[s\].
    pub fade_s: f64,
    /// Damping of the robot that is left after a fault, by axis \[N s/m\].
    pub fault_nspm: Axes,
    /// Time over which the speed limit opens again after a hold \[s\].
    pub ramp_s: f64,
}

impl Default for GuardParams {
    fn default() -> Self {
        Self {
            velocity_mps_max: [0.3, 0.3, 0.3, 0.2],
            force_n_max: [12.0, 12.0, 12.0, 8.0],
            // the operator feels at most 6 N (teleop section 4); the tissue gets little more
            contact_n_max: [8.0, 8.0, 8.0, 6.0],
            workspace_m_min: [-0.08, -0.08, -0.03, 0.0],
            workspace_m_max: [0.08, 0.08, 0.08, 0.05],
            watchdog_s: 0.05,
            // a delay of 0.5 s may double on its way before its frames are too old to act on
            age_s: 1.0,
            fade_s: 0.05,
            // less than the coupling's own damping, with which the robot is stable
            fault_nspm: [20.0, 20.0, 20.0, 10.0],
            ramp_s: 0.2,
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
            ("slave.guard.velocity_mps_max", self.velocity_mps_max),
            ("slave.guard.force_n_max", self.force_n_max),
            ("slave.guard.contact_n_max", self.contact_n_max),
        ])?;
        for axis in 0..AXES {
            let (low, high) = (self.workspace_m_min[axis], self.workspace_m_max[axis]);
            if !(low.is_finite() && high.is_finite() && low < high) {
                return Err(FieldError::new(
                    "slave.guard.workspace_m_min",
                    format!("{low} .. {high} on axis {axis}"),
                    "a lower corner below the upper one",
                ));
            }
        }
        if !self.fault_nspm.iter().all(|b| (0.0..=1e3).contains(b)) {
            return Err(FieldError::new(
                "slave.guard.fault_nspm",
                format!("{:?}", self.fault_nspm),
                "four numbers from 0 to 1000 N s/m",
            ));
        }
        check_times(&[
            ("slave.guard.watchdog_s", self.watchdog_s),
            ("slave.guard.age_s", self.age_s),
            ("slave.guard.fade_s", self.fade_s),
            ("slave.guard.ramp_s", self.ramp_s),
        ])
    }

    /// How far the speed limit is open `engaged_s` after motion was allowed again, 0 to 1.
    #[must_use]
    pub fn opening(&self, engaged_s: f64) -> f64 {
        (engaged_s / self.ramp_s).clamp(0.0, 1.0)
    }

    /// Force of one axis during a latched fault: what is left of the last force `dt_s` later, and
    /// damping of the robot \[N\]. Gives the force and what is left.
    #[must_use]
    pub fn fault_force(
        &self,
        axis: usize,
        fading_n: f64,
        robot_velocity_mps: f64,
        dt_s: f64,
    ) -> (f64, f64) {
        let left = guard::faded(fading_n, self.fade_s, dt_s);
        let damped = left - self.fault_nspm[axis] * robot_velocity_mps;
        let force_max = self.force_n_max[axis];
        (damped.clamp(-force_max, force_max), left)
    }

    /// The desired velocity of one axis within speed, contact force and workspace.
    ///
    /// Returns the velocity \[m/s\] and the bits of [`Events`] of the limits that acted.
    #[must_use]
    pub fn limit_velocity(&self, axis: usize, motion: &Motion) -> (f64, u32) {
        let mut events = 0;
        let speed_max = self.velocity_mps_max[axis] * motion.opening;
        let mut velocity = motion.velocity_mps;
        if !velocity.is_finite() {
            return (0.0, Events::INVALID);
        }
        if velocity.abs() > speed_max {
            velocity = velocity.clamp(-speed_max, speed_max);
            events |= Events::SPEED;
        }
        let contact = motion.contact_force_n;
        if contact.abs() > self.contact_n_max[axis] && contact * velocity < 0.0 {
            velocity = 0.0;
            events |= Events::CONTACT;
        }
        let next = motion.position_m + velocity * motion.dt_s;
        let inside = next.clamp(self.workspace_m_min[axis], self.workspace_m_max[axis]);
        if inside != next {
            // back towards the workspace no faster than the speed limit
            velocity = ((inside - motion.position_m) / motion.dt_s).clamp(-speed_max, speed_max);
            events |= Events::WORKSPACE;
        }
        (velocity, events)
    }
}

/// One axis of the desired motion, before the limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Desired position now \[m\].
    pub position_m: f64,
    /// Desired velocity \[m/s\].
    pub velocity_mps: f64,
    /// Measured contact force of the tissue on the probe \[N\], 0 if unknown.
    pub contact_force_n: f64,
    /// How far the speed limit is open, 0 to 1.
    pub opening: f64,
    /// Tick period \[s\].
    pub dt_s: f64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(GuardParams::default().validate(), Ok(()));
        let bad = GuardParams {
            watchdog_s: 5.0e3,
            ..GuardParams::default()
        };
        assert_eq!(
            bad.validate().expect_err("too long").field,
            "slave.guard.watchdog_s"
        );
        let bad = GuardParams {
            force_n_max: [1.0, f64::NAN, 1.0, 1.0],
            ..GuardParams::default()
        };
        assert!(bad.validate().expect_err("nan").to_string().contains("NaN"));
    }

    #[test]
    fn a_pressed_probe_may_only_leave() {
        let guard = GuardParams::default();
        let motion = Motion {
            position_m: 0.0,
            velocity_mps: -0.1,
            contact_force_n: 9.0,
            opening: 1.0,
            dt_s: 1e-3,
        };
        assert_eq!(guard.limit_velocity(2, &motion), (0.0, Events::CONTACT));
        let leaving = Motion {
            velocity_mps: 0.1,
            ..motion
        };
        assert_eq!(guard.limit_velocity(2, &leaving), (0.1, 0));
    }

    proptest! {
        #[test]
        fn any_demand_stays_inside(
            velocity in prop::num::f64::ANY, position in -0.2f64..0.2, opening in 0.0f64..1.0,
        ) {
            let guard = GuardParams::default();
            let motion = Motion {
                position_m: position, velocity_mps: velocity, contact_force_n: 0.0, opening, dt_s: 1e-3,
            };
            let (limited, _) = guard.limit_velocity(0, &motion);
            prop_assert!(limited.abs() <= 0.3 * opening + 1e-12);
            let next = position + limited * 1e-3;
            prop_assert!(next.abs() <= position.abs().max(0.08) + 1e-12);
        }
    }
}
