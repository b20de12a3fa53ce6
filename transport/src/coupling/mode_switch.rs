//! Switches of the coupling method while a session runs.
//!
//! Any two passive methods may follow each other, because they share one energy tank and one wire format. The levels
//! at both ends and the energy in flight were paid for, whichever method spends them: `E_ch = level_m + level_s + in
//! flight` does not depend on methods ([`super::energy_tank`]). So a switch keeps the levels and the cumulative
//! sums, and every later tick is paid from them as before (ours). The state of a single method begins anew: a decoder
//! of waves begins at the sum that it finds, so no old wave is played out. An observer of time-domain passivity
//! begins at the level that it finds, owing nothing; a blend begins at the twin.
//!
//! The master switches by its clock and writes the mode into every frame ([`crate::frame::FrameFlags::with_mode`]);
//! the slave runs the mode of its newest frame. For one round trip the ends differ, which affects the rendered force
//! and no energy. The guard limits the slew of the force. A crossfade of a tenth of a second blends the remaining
//! difference in the handle's force and in the robot's distance to it. The stiffness of the robot's controller must
//! stay, as stiffening a stretched spring adds energy. A session that will reach `pspm` therefore has that mode's
//! stiffness all the time ([`super::CouplingParams::robot_stiffness_npm`]).
//!
//! `direct` and `iss` make levels negative, so a session with switches contains neither.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::FieldError;
use crate::params::RangeChecked as _;

/// Most switches of one session.
const SWITCHES_MAX: usize = 8;

/// Time constant of the crossfade of the handle's force, and of the robot's position, to those of a new
/// method \[s\].
const CROSSFADE_S: f64 = 0.1;

/// A switch at a time of the session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeSwitch {
    /// Time since the master's first tick \[s\].
    pub at_s: f64,
    /// Method from then on.
    pub mode: Mode,
}

/// All switches of a session in order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<ModeSwitch>", into = "Vec<ModeSwitch>")]
pub struct ModeSchedule {
    switches: [Option<ModeSwitch>; SWITCHES_MAX],
}

/// Invalid switches of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModeScheduleError {
    /// More switches than a session can hold.
    #[error("coupling.switch has {0} switches; expected at most {SWITCHES_MAX}")]
    TooMany(usize),
    /// A switch to a mode that is not passive.
    #[error(
        "coupling.switch.mode is {0}, which promises no passivity; expected wave, tdpa, wave-tdpa, tank, \
         pspm, mmt or auto"
    )]
    NotPassive(&'static str),
}

impl TryFrom<Vec<ModeSwitch>> for ModeSchedule {
    type Error = ModeScheduleError;

    fn try_from(switches: Vec<ModeSwitch>) -> Result<Self, ModeScheduleError> {
        if switches.len() > SWITCHES_MAX {
            return Err(ModeScheduleError::TooMany(switches.len()));
        }
        let mut all = Self::default();
        for (place, switch) in all.switches.iter_mut().zip(switches) {
            if !switch.mode.is_passive() {
                return Err(ModeScheduleError::NotPassive(switch.mode.name()));
            }
            *place = Some(switch);
        }
        Ok(all)
    }
}

impl From<ModeSchedule> for Vec<ModeSwitch> {
    fn from(all: ModeSchedule) -> Self {
        all.switches.into_iter().flatten().collect()
    }
}

impl ModeSchedule {
    /// Creates a schedule of one switch.
    ///
    /// # Errors
    /// [`ModeScheduleError::NotPassive`] for a mode that is not passive.
    pub fn single(switch: ModeSwitch) -> Result<Self, ModeScheduleError> {
        if !switch.mode.is_passive() {
            return Err(ModeScheduleError::NotPassive(switch.mode.name()));
        }
        let mut all = Self::default();
        all.switches[0] = Some(switch);
        Ok(all)
    }

    /// True if there are no switches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.switches[0].is_none()
    }

    /// True if one of them is to a mode for which `wanted` returns true.
    #[must_use]
    pub fn any(&self, wanted: impl Fn(Mode) -> bool) -> bool {
        let mut modes = self.switches.iter().flatten().map(|switch| switch.mode);
        modes.any(wanted)
    }

    /// Mode at `since_s` \[s\] after the master's first tick, for a session that begins in `first`.
    #[must_use]
    pub fn mode_at(&self, first: Mode, since_s: f64) -> Mode {
        let done = self.switches.iter().flatten();
        let last = done.take_while(|switch| since_s >= switch.at_s).last();
        last.map_or(first, |switch| switch.mode)
    }

    /// Checks that a session of this first mode may have switches, and that they follow each other.
    ///
    /// # Errors
    /// [`FieldError`] names the first invalid field.
    pub(super) fn validate(&self, first: Mode) -> Result<(), FieldError> {
        let count = self.switches.iter().flatten().count();
        if count > 0 && !first.is_passive() {
            let expected = "no switches in a session that begins in a mode without passivity";
            return Err(FieldError::new("coupling.switch", count, expected));
        }
        let mut free_s = 0.0;
        for switch in self.switches.iter().flatten() {
            let free = "0 to 86400 s, after the switch before";
            let field = "coupling.switch.at_s";
            switch.at_s.check(field, &(free_s..=86_400.0), Some(free))?;
            free_s = switch.at_s;
        }
        Ok(())
    }
}

/// Offset at a switch, which decays with [`CROSSFADE_S`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Crossfade {
    begins: bool,
    /// Difference of the wanted value and the given one.
    offset: f64,
}

impl Crossfade {
    /// Starts a crossfade at the next value.
    pub(super) fn begin(&mut self) {
        self.begins = true;
    }

    /// Value between the `last` and the wanted one after a switch; an offset below `negligible` becomes zero.
    pub(super) fn blended(&mut self, wanted: f64, last: f64, negligible: f64, dt_s: f64) -> f64 {
        if core::mem::take(&mut self.begins) && wanted.is_finite() {
            self.offset = wanted - last;
        }
        if self.offset == 0.0 {
            return wanted;
        }
        let blended = wanted - self.offset;
        self.offset *= 1.0 - (dt_s / CROSSFADE_S).min(1.0);
        if self.offset.abs() < negligible {
            self.offset = 0.0;
        }
        blended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(all: &[(f64, Mode)]) -> Result<ModeSchedule, ModeScheduleError> {
        let list: Vec<ModeSwitch> = all
            .iter()
            .map(|&(at_s, mode)| ModeSwitch { at_s, mode })
            .collect();
        ModeSchedule::try_from(list)
    }

    #[test]
    fn mode_follows_the_schedule() {
        let all = switches(&[(1.0, Mode::Tank), (2.0, Mode::Wave)]).expect("passive");
        assert_eq!(all.validate(Mode::Tdpa), Ok(()));
        for (at_s, mode) in [(0.5, Mode::Tdpa), (1.0, Mode::Tank), (9.0, Mode::Wave)] {
            assert_eq!(all.mode_at(Mode::Tdpa, at_s), mode);
        }
        assert!(all.any(|mode| mode == Mode::Wave) && !all.any(|mode| mode == Mode::Tdpa));
        assert!(ModeSchedule::default().is_empty() && !all.is_empty());
        let once = |mode| ModeSchedule::single(ModeSwitch { at_s: 1.0, mode });
        assert_eq!(once(Mode::Tank), switches(&[(1.0, Mode::Tank)]));
        assert_eq!(once(Mode::Iss), Err(ModeScheduleError::NotPassive("iss")));
    }

    #[test]
    fn active_modes_and_unordered_switches_are_refused() {
        assert_eq!(
            switches(&[(1.0, Mode::Direct)]),
            Err(ModeScheduleError::NotPassive("direct"))
        );
        assert_eq!(
            switches(&[(1.0, Mode::Tank); 9]),
            Err(ModeScheduleError::TooMany(9))
        );
        let field = |first, all: &[_]| {
            let all = switches(all).expect("passive");
            all.validate(first).map_err(|error| error.field)
        };
        assert_eq!(
            field(Mode::Iss, &[(1.0, Mode::Tank)]),
            Err("coupling.switch".into())
        );
        let back = [(2.0, Mode::Tank), (1.0, Mode::Wave)];
        assert_eq!(field(Mode::Wave, &back), Err("coupling.switch.at_s".into()));
    }

    #[test]
    fn crossfade_to_the_next_method_has_no_step() {
        let mut crossfade = Crossfade::default();
        crossfade.begin();
        assert_eq!(crossfade.blended(1.0, 3.0, 1e-6, 1e-3), 3.0);
        let mut last_n = 3.0;
        for _ in 0..2000 {
            let force_n = crossfade.blended(1.0, last_n, 1e-6, 1e-3);
            assert!(force_n <= last_n && last_n - force_n < 0.03);
            last_n = force_n;
        }
        // then it equals the method's own force, bit for bit
        assert_eq!((last_n, crossfade), (1.0, Crossfade::default()));
        // not-a-number is left to the guard, and does not stay
        crossfade.begin();
        assert!(crossfade.blended(f64::NAN, 1.0, 1e-6, 1e-3).is_nan());
        assert_eq!(crossfade.blended(1.0, 1.0, 1e-6, 1e-3), 1.0);
    }
}
