//! The watchdog of a drive: when nobody renews its command, it holds its place.
//!
//! A process that stops leaves the actuators with the last force, under which the robot would go on
//! without anybody's command. So a drive holds a command for a stated time; then it keeps the force,
//! which balances what the robot leans on, and adds its own stiff loop around the place where it is. The
//! channel's port stands meanwhile and no energy passes it. Source: ours, as servo drives do.

use palpate_transport::{AXES, Axes};

use super::pace::SUBSTEP_S;

/// For how long a simulated drive holds a command \[s\]: as long as a handle holds a force.
const LET_GO_S: f64 = 2e-3;

/// Stiffness of the drive's own loop \[N/m\].
const HOLD_NPM: f64 = 20_000.0;

/// Damping of the drive's own loop \[N s/m\]: critical for 0.5 kg.
const HOLD_NSPM: f64 = 200.0;

/// What a drive does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Brake {
    /// Sub-steps since the last command.
    since: u32,
    /// Where it holds \[m\], once it does.
    place_m: Option<Axes>,
}

impl Brake {
    /// A command came.
    pub(crate) fn renew(&mut self) {
        *self = Self::default();
    }

    /// What the drive adds to a command in the next sub-step \[N\], by where it is and how it moves.
    pub(crate) fn added_n(&mut self, position_m: &Axes, velocity_mps: &Axes) -> Axes {
        self.since = self.since.saturating_add(1);
        if f64::from(self.since) * SUBSTEP_S < LET_GO_S + 0.5 * SUBSTEP_S {
            return [0.0; AXES];
        }
        let place_m = self.place_m.get_or_insert(*position_m);
        core::array::from_fn(|axis| {
            HOLD_NPM * (place_m[axis] - position_m[axis]) - HOLD_NSPM * velocity_mps[axis]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_held_for_two_periods_and_the_place_then() {
        let mut brake = Brake::default();
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
}
