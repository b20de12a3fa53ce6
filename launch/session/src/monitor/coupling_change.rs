//! Changes of the coupling while a session runs, passed from the monitor thread to the tick that applies them.
//!
//! A change is a schedule that a configuration could have had (`coupling.retune`, `coupling.switch`), starting
//! now; so it generates no energy, for the reasons stated there. It replaces the rest of a schedule. The
//! remote side adopts both from the frames, but accepts only announced modes, so it receives the change
//! first. Source: ours.

use palpate_transport::coupling::mode_switch::{ModeSchedule, ModeSwitch};
use palpate_transport::coupling::retune::{ImpedanceChange, ImpedanceSchedule};
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::mailbox::{RingReceiver, RingSender, ring};
use palpate_transport::params::RangeChecked as _;
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Duration of a change of the impedance \[s\].
const OVER_S: f64 = 0.2;

/// A change of the coupling, as a tick applied it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CouplingChange {
    /// New wave impedance \[N s/m\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impedance_nspm: Option<f64>,
    /// New coupling method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl CouplingChange {
    /// Applies the change, `since_s` after the side's first tick \[s\].
    pub(crate) fn apply(&self, coupling: &mut CouplingParams, since_s: f64) {
        if let Some(impedance_nspm) = self.impedance_nspm {
            let now_nspm = coupling
                .retune
                .impedance_nspm(coupling.impedance_nspm, since_s);
            coupling.impedance_nspm = now_nspm;
            coupling.retune = ImpedanceSchedule::single(ImpedanceChange {
                at_s: since_s,
                impedance_nspm,
                over_s: OVER_S,
            });
        }
        if let Some(mode) = self.mode {
            let at_s = since_s;
            // impossible modes were refused before
            if let Ok(switches) = ModeSchedule::single(ModeSwitch { at_s, mode }) {
                coupling.mode = coupling.switch.mode_at(coupling.mode, since_s);
                coupling.switch = switches;
            }
        }
    }
}

/// Servo-side receiver of coupling changes.
pub(crate) struct Tuner {
    wanted: RingReceiver<CouplingChange>,
    applied: RingSender<(u64, CouplingChange)>,
}

/// Most changes that wait for a tick, or for the recorder.
const WAITING: usize = 256;

impl Tuner {
    /// Returns the sender of changes, the tuner that applies them in a tick, and the receiver of applied changes
    /// with their tick numbers, for the recorder.
    pub(crate) fn new() -> (
        RingSender<CouplingChange>,
        Self,
        RingReceiver<(u64, CouplingChange)>,
    ) {
        let (request_sender, wanted) = ring(WAITING);
        let (applied, changes) = ring(WAITING);
        (request_sender, Self { wanted, applied }, changes)
    }

    /// Applies the waiting changes to `coupling` in a tick, `since_s` after this side's first one \[s\]; the last
    /// wins.
    pub(crate) fn tune(&mut self, coupling: &mut CouplingParams, tick: u64, since_s: f64) {
        let mut change = CouplingChange::default();
        for next in core::iter::from_fn(|| self.wanted.pop()).take(WAITING) {
            change.impedance_nspm = next.impedance_nspm.or(change.impedance_nspm);
            change.mode = next.mode.or(change.mode);
        }
        if change == CouplingChange::default() {
            return;
        }
        change.apply(coupling, since_s);
        // a change that does not fit is missing in the recording, whose replay then reports the difference
        self.applied.push((tick, change));
    }
}

/// Checks that an impedance is in its range.
///
/// # Errors
/// The reason against it.
pub(crate) fn check_impedance(nspm: f64) -> Result<(), String> {
    let checked = nspm.check("the impedance", &(0.1..=1000.0), Some("0.1 to 1000 N s/m"));
    checked.map_err(|error| error.to_string())
}

/// Checks that a session of this configuration can change to a mode.
///
/// # Errors
/// The reason against it.
pub(crate) fn check_mode(config: &Config, mode: Mode) -> Result<(), String> {
    let coupling = &config.coupling;
    let spring = |mode: Mode| mode.resolved() == Mode::Pspm;
    let has_mode = |wanted: fn(Mode) -> bool| wanted(coupling.mode) || coupling.switch.any(wanted);
    let unsafe_mode = [mode, coupling.mode]
        .into_iter()
        .find(|of| !of.is_passive());
    if let Some(unsafe_mode) = unsafe_mode {
        return Err(format!(
            "{} promises no passivity, so nothing goes over from or to it",
            unsafe_mode.name()
        ));
    }
    if config.codec.is_on() {
        return Err("a codec judges the force of the first mode; start with --codec off".into());
    }
    if spring(mode) && !has_mode(|mode| mode.resolved() == Mode::Pspm) {
        return Err("pspm sets the robot's stiffness; a session must begin with it".into());
    }
    if mode.resolved() == Mode::Mmt && !coupling.needs_twin() {
        return Err("this session has no twin; start it with --mode auto or mmt".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coupling_change_starts_from_current_values() {
        let (mut requests, mut tuner, mut applied) = Tuner::new();
        let mut coupling = CouplingParams {
            mode: Mode::Wave,
            ..CouplingParams::default()
        };
        let first = coupling;
        tuner.tune(&mut coupling, 500, 0.5);
        assert_eq!(coupling, first);
        let wanted = |impedance_nspm, mode| CouplingChange {
            impedance_nspm,
            mode,
        };
        assert!(requests.push(wanted(Some(30.0), None)));
        tuner.tune(&mut coupling, 1000, 1.0);
        let at = |coupling: &CouplingParams, since_s| {
            let of = (coupling.impedance_nspm, since_s);
            coupling.retune.impedance_nspm(of.0, of.1)
        };
        assert_eq!(at(&coupling, 1.0), first.impedance_nspm);
        let half = at(&coupling, 1.1);
        // of changes in one tick, the last wins
        for change in [wanted(Some(7.0), Some(Mode::Tank)), wanted(Some(5.0), None)] {
            assert!(requests.push(change));
        }
        tuner.tune(&mut coupling, 1100, 1.1);
        assert_eq!((at(&coupling, 1.1), at(&coupling, 1.4)), (half, 5.0));
        let mode =
            |coupling: &CouplingParams, since_s| coupling.switch.mode_at(coupling.mode, since_s);
        assert_eq!(
            (mode(&coupling, 1.0), mode(&coupling, 1.1)),
            (Mode::Wave, Mode::Tank)
        );
        assert_eq!(coupling.validate(), Ok(()));
        // applied changes, applied again at their ticks, give the same coupling
        let mut again = first;
        while let Some((tick, change)) = applied.pop() {
            change.apply(&mut again, 1e-3 * tick as f64);
        }
        assert_eq!(again, coupling);
    }

    #[test]
    fn impossible_mode_changes_are_refused() {
        let mut config = Config::default();
        assert_eq!(check_mode(&config, Mode::Wave), Ok(()));
        for (mode, why) in [(Mode::Direct, "passivity"), (Mode::Pspm, "stiffness")] {
            let error = check_mode(&config, mode).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
        config.coupling.mode = Mode::Wave;
        let error = check_mode(&config, Mode::Auto).expect_err("no twin");
        assert!(error.contains("no twin"), "{error}");
        assert!(check_impedance(20.0).is_ok() && check_impedance(f64::NAN).is_err());
    }
}
