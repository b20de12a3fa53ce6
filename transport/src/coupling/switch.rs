//! Switches of the method while a session runs.
//!
//! Any two passive methods may follow each other, because they share one account and one wire format. What
//! each end holds, and what is on its way, was paid for, whoever spends it: `E_ch = level_m + level_s + in
//! flight` says nothing of methods ([`super::reservoir`]). So a switch carries the levels and the cumulative
//! sums over, and every tick after it is paid from them as before (ours). What only one method remembers
//! begins anew: a decoder of waves begins at the sum that it finds, so no old wave is played out; an observer
//! of time-domain passivity at the level that it finds, owing nothing; a blend at the twin.
//!
//! The master switches by its clock and writes the mode into every frame
//! ([`crate::frame::FrameFlags::with_mode`]); the slave runs the mode of its newest frame. For one round trip
//! the ends differ, which costs feel and no energy. A force leaps at most as fast as the guard lets it, and
//! what the new method wants otherwise is taken on over a tenth of a second: the force in the hand, and how far the robot
//! is behind it. The stiffness of the robot's controller
//! must stay, as a spring that is stretched and made stiffer is given energy: a session that will come by
//! `pspm` has that mode's stiffness all the time ([`super::CouplingParams::robot_npm`]).
//!
//! `direct` and `iss` make debts, so a session may neither begin with them nor come to them.

use serde::{Deserialize, Serialize};

use super::{CouplingError, Mode};

/// Most switches of one session.
pub const SWITCHES_MAX: usize = 8;

/// Time constant over which the force in the hand, and the robot's place, go over to what a new method
/// wants \[s\].
const EASE_S: f64 = 0.1;

/// A switch at a moment of the session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// When, since the master's first tick \[s\].
    pub at_s: f64,
    /// The method from then on.
    pub mode: Mode,
}

/// All switches of a session in their order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Switch>", into = "Vec<Switch>")]
pub struct Switches {
    switches: [Option<Switch>; SWITCHES_MAX],
}

/// Switches that a session cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// More than a session can hold.
    #[error("coupling.switch has {0} switches; expected at most {SWITCHES_MAX}")]
    TooMany(usize),
    /// To a mode whose account may be overdrawn.
    #[error(
        "coupling.switch.mode is {0}, which promises no passivity; expected wave, tdpa, wave-tdpa, tank, \
         pspm, mmt or auto"
    )]
    NotPassive(&'static str),
}

impl TryFrom<Vec<Switch>> for Switches {
    type Error = SwitchError;

    fn try_from(switches: Vec<Switch>) -> Result<Self, SwitchError> {
        if switches.len() > SWITCHES_MAX {
            return Err(SwitchError::TooMany(switches.len()));
        }
        let mut all = Self::default();
        for (place, switch) in all.switches.iter_mut().zip(switches) {
            if !switch.mode.is_passive() {
                return Err(SwitchError::NotPassive(switch.mode.name()));
            }
            *place = Some(switch);
        }
        Ok(all)
    }
}

impl From<Switches> for Vec<Switch> {
    fn from(all: Switches) -> Self {
        all.switches.into_iter().flatten().collect()
    }
}

impl Switches {
    /// One switch and no other.
    ///
    /// # Errors
    /// [`SwitchError::NotPassive`] for a mode whose account may be overdrawn.
    pub fn once(switch: Switch) -> Result<Self, SwitchError> {
        if !switch.mode.is_passive() {
            return Err(SwitchError::NotPassive(switch.mode.name()));
        }
        let mut all = Self::default();
        all.switches[0] = Some(switch);
        Ok(all)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.switches[0].is_none()
    }

    /// Whether one of them is to a mode that `wanted` holds of.
    #[must_use]
    pub fn any(&self, wanted: impl Fn(Mode) -> bool) -> bool {
        let mut modes = self.switches.iter().flatten().map(|switch| switch.mode);
        modes.any(wanted)
    }

    /// Mode at `since_s` after the master's first tick, for a session that begins in `first` \[s\].
    #[must_use]
    pub fn mode(&self, first: Mode, since_s: f64) -> Mode {
        let done = self.switches.iter().flatten();
        let last = done.take_while(|switch| since_s >= switch.at_s).last();
        last.map_or(first, |switch| switch.mode)
    }

    /// Check that a session of this first mode may have them, and that they follow each other.
    ///
    /// # Errors
    /// [`CouplingError`] names the first field that is out of its range.
    pub(super) fn validate(&self, first: Mode) -> Result<(), CouplingError> {
        let count = self.switches.iter().flatten().count();
        if count > 0 && !first.is_passive() {
            return Err(CouplingError {
                field: "switch",
                value: count as f64,
                expected: "no switches in a session that begins in a mode without passivity",
            });
        }
        let mut free_s = 0.0;
        for switch in self.switches.iter().flatten() {
            let free = "0 to 86400 s, after the switch before";
            CouplingError::unless_in(free_s..=86_400.0, "switch.at_s", switch.at_s, free)?;
            free_s = switch.at_s;
        }
        Ok(())
    }
}

/// What was there before a switch, which goes over to what the new method wants in [`EASE_S`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ease {
    begins: bool,
    /// What is wanted over what is given.
    rest: f64,
}

impl Ease {
    /// From the next value on.
    pub(super) fn begin(&mut self) {
        self.begins = true;
    }

    /// A wanted value nearer to the `last` one at the beginning; a rest below `negligible` is none.
    pub(super) fn eased(&mut self, wanted: f64, last: f64, negligible: f64, dt_s: f64) -> f64 {
        if core::mem::take(&mut self.begins) && wanted.is_finite() {
            self.rest = wanted - last;
        }
        if self.rest == 0.0 {
            return wanted;
        }
        let eased = wanted - self.rest;
        self.rest *= 1.0 - (dt_s / EASE_S).min(1.0);
        if self.rest.abs() < negligible {
            self.rest = 0.0;
        }
        eased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(all: &[(f64, Mode)]) -> Result<Switches, SwitchError> {
        let list: Vec<Switch> = all
            .iter()
            .map(|&(at_s, mode)| Switch { at_s, mode })
            .collect();
        Switches::try_from(list)
    }

    #[test]
    fn modes_follow_the_switches() {
        let all = switches(&[(1.0, Mode::Tank), (2.0, Mode::Wave)]).expect("passive");
        assert_eq!(all.validate(Mode::Tdpa), Ok(()));
        for (at_s, mode) in [(0.5, Mode::Tdpa), (1.0, Mode::Tank), (9.0, Mode::Wave)] {
            assert_eq!(all.mode(Mode::Tdpa, at_s), mode);
        }
        assert!(all.any(|mode| mode == Mode::Wave) && !all.any(|mode| mode == Mode::Tdpa));
        assert!(Switches::default().is_empty() && !all.is_empty());
        let once = |mode| Switches::once(Switch { at_s: 1.0, mode });
        assert_eq!(once(Mode::Tank), switches(&[(1.0, Mode::Tank)]));
        assert_eq!(once(Mode::Iss), Err(SwitchError::NotPassive("iss")));
    }

    #[test]
    fn what_makes_debts_or_goes_back_in_time_is_refused() {
        assert_eq!(
            switches(&[(1.0, Mode::Direct)]),
            Err(SwitchError::NotPassive("direct"))
        );
        assert_eq!(
            switches(&[(1.0, Mode::Tank); 9]),
            Err(SwitchError::TooMany(9))
        );
        let field = |first, all: &[_]| {
            let all = switches(all).expect("passive");
            all.validate(first).map_err(|error| error.field)
        };
        assert_eq!(field(Mode::Iss, &[(1.0, Mode::Tank)]), Err("switch"));
        let back = [(2.0, Mode::Tank), (1.0, Mode::Wave)];
        assert_eq!(field(Mode::Wave, &back), Err("switch.at_s"));
    }

    #[test]
    fn a_force_goes_over_to_the_next_method_without_a_leap() {
        let mut ease = Ease::default();
        ease.begin();
        assert_eq!(ease.eased(1.0, 3.0, 1e-6, 1e-3), 3.0);
        let mut last_n = 3.0;
        for _ in 0..2000 {
            let felt_n = ease.eased(1.0, last_n, 1e-6, 1e-3);
            assert!(felt_n <= last_n && last_n - felt_n < 0.03);
            last_n = felt_n;
        }
        // and then it is the method's own, bit for bit
        assert_eq!((last_n, ease), (1.0, Ease::default()));
        // what is no number is left to the guard, and does not stay
        ease.begin();
        assert!(ease.eased(f64::NAN, 1.0, 1e-6, 1e-3).is_nan());
        assert_eq!(ease.eased(1.0, 1.0, 1e-6, 1e-3), 1.0);
    }
}
