//! Watchdog of a drive: holds its position when commands are not renewed.
//!
//! A process that stops leaves the actuators with the last force, under which the robot would move on without
//! a command. So a drive holds a command for a stated time. Then it keeps the force, which balances the
//! robot's load, and adds its own stiff loop around its current position. The channel's port stands
//! meanwhile and no energy passes it. Source: ours, as servo drives do.

use palpate_port::watchdog::{COMMAND_TIMEOUT_S, Watchdog};
use palpate_transport::{AXES, Axes};

/// Stiffness of the drive's own loop \[N/m\], unless its actuators are too slow for it.
const HOLD_NPM: f64 = 20_000.0;

/// Damping of the drive's own loop \[N s/m\]: critical for 0.5 kg.
const HOLD_NSPM: f64 = 200.0;

/// Position hold of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Brake {
    /// Stiffness of its loop \[N/m\].
    hold_npm: f64,
    /// Holds a command as long as a handle holds a force.
    watchdog: Watchdog,
    /// Position that it holds \[m\], once the watchdog has expired.
    place_m: Option<Axes>,
}

impl Brake {
    /// Creates the brake of a drive whose actuators lag by `lag_s` \[s\]. With a lag a loop is stable while
    /// `c > lag K`, for any mass (Routh 1877); a quarter of that stiffness is used.
    pub(crate) fn with_lag(lag_s: f64) -> Self {
        Self {
            hold_npm: HOLD_NPM.min(0.25 * HOLD_NSPM / lag_s),
            watchdog: Watchdog::for_plant(Some(COMMAND_TIMEOUT_S)),
            place_m: None,
        }
    }

    /// Restarts the watchdog, as a command arrived.
    pub(crate) fn renew(&mut self) {
        self.watchdog.renew();
        self.place_m = None;
    }

    /// Force that the drive adds to a command in the next sub-step \[N\], by its position and velocity.
    pub(crate) fn added_n(&mut self, position_m: &Axes, velocity_mps: &Axes) -> Axes {
        if self.watchdog.expires() {
            self.place_m = Some(*position_m);
        }
        let Some(place_m) = self.place_m else {
            return [0.0; AXES];
        };
        core::array::from_fn(|axis| {
            self.hold_npm * (place_m[axis] - position_m[axis]) - HOLD_NSPM * velocity_mps[axis]
        })
    }
}

#[cfg(test)]
mod tests {
    use palpate_port::fixed_stepper::SUBSTEP_S;

    use super::*;

    #[test]
    fn command_is_held_for_two_periods_then_the_position() {
        let mut brake = Brake::with_lag(0.0);
        let (at_m, v_mps) = ([0.1, 0.0, 0.0, 0.0], [0.2, 0.0, 0.0, 0.0]);
        let braking: Vec<_> = (0..40)
            .map(|_| brake.added_n(&at_m, &v_mps)[0] != 0.0)
            .collect();
        assert!(braking[..20].iter().all(|b| !b) && braking[20..].iter().all(|b| *b));
        let away = brake.added_n(&[0.101, 0.0, 0.0, 0.0], &[0.0; AXES]);
        assert!((away[0] + 20.0).abs() < 1e-9);
        brake.renew();
        assert_eq!(brake.added_n(&at_m, &v_mps), [0.0; AXES]);
    }

    #[test]
    fn issue_brake_oscillated_with_slow_actuators() {
        for lag_s in [1e-3, 2e-2, 0.1] {
            let mut brake = Brake::with_lag(lag_s);
            let (mut x_m, mut v_mps, mut force_n, mut last_m) = (0.0, 0.1, 0.0, 0.0_f64);
            for step in 0..100_000 {
                let added_n = brake.added_n(&[x_m, 0.0, 0.0, 0.0], &[v_mps, 0.0, 0.0, 0.0])[0];
                force_n += SUBSTEP_S / lag_s * (added_n.clamp(-15.0, 15.0) - force_n);
                v_mps += force_n / 0.3 * SUBSTEP_S;
                x_m += v_mps * SUBSTEP_S;
                if step > 90_000 {
                    last_m = last_m.max(v_mps.abs());
                }
            }
            assert!(last_m < 1e-4, "{lag_s} s: still {last_m} m/s");
        }
    }
}
