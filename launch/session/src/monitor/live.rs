//! Changes of the coupling while a session runs, from a thread that was told to the tick that makes them.
//!
//! A change is the schedule that a configuration could have had (`coupling.retune`, `coupling.switch`), beginning
//! now: so it makes no energy for the reasons that those two state. It ends what is left of a schedule. The
//! remote side takes on either from the frames, but believes only modes that it was told of, so it is told
//! first. Source: ours.

use palpate_transport::coupling::retune::{Retune, Schedule};
use palpate_transport::coupling::switch::{Switch, Switches};
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::mailbox::{LatestReader, RingReceiver, RingSender, ring};
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Time that a change of the impedance takes \[s\].
const OVER_S: f64 = 0.2;

/// What is wanted, each with a number that says whether it is new; 0 is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wanted {
    /// Wave impedance \[N s/m\].
    pub impedance_nspm: (u64, f64),
    /// Method.
    pub mode: (u64, Mode),
}

/// A change of the coupling, as a tick made it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Wave impedance that it goes to \[N s/m\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impedance_nspm: Option<f64>,
    /// Method that it goes over to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl Change {
    /// Make it, `since_s` after the side's first tick \[s\].
    pub fn apply(&self, coupling: &mut CouplingParams, since_s: f64) {
        if let Some(impedance_nspm) = self.impedance_nspm {
            let now_nspm = coupling
                .retune
                .impedance_nspm(coupling.impedance_nspm, since_s);
            coupling.impedance_nspm = now_nspm;
            coupling.retune = Schedule::once(Retune {
                at_s: since_s,
                impedance_nspm,
                over_s: OVER_S,
            });
        }
        if let Some(mode) = self.mode {
            let at_s = since_s;
            // whoever passed it on has refused the modes that cannot be
            if let Ok(switches) = Switches::once(Switch { at_s, mode }) {
                coupling.mode = coupling.switch.mode(coupling.mode, since_s);
                coupling.switch = switches;
            }
        }
    }
}

/// The end in a tick.
pub struct Tuner {
    wanted: LatestReader<Wanted>,
    done: (u64, u64),
    made: RingSender<(u64, Change)>,
}

/// Changes that may wait for the recorder.
const WAITING: usize = 256;

impl Tuner {
    /// Make the changes that are told through `wanted`, and give each with its tick to whoever records them.
    #[must_use]
    pub fn new(wanted: LatestReader<Wanted>) -> (Self, RingReceiver<(u64, Change)>) {
        let (made, changes) = ring(WAITING);
        let tuner = Self {
            wanted,
            done: (0, 0),
            made,
        };
        (tuner, changes)
    }

    /// Change `coupling` in a tick, `since_s` after this side's first one \[s\], if anything is wanted anew.
    pub fn tune(&mut self, coupling: &mut CouplingParams, tick: u64, since_s: f64) {
        let Wanted {
            impedance_nspm: (retune, impedance_nspm),
            mode: (switch, mode),
        } = *self.wanted.read();
        let change = Change {
            impedance_nspm: (retune != self.done.0).then_some(impedance_nspm),
            mode: (switch != self.done.1).then_some(mode),
        };
        if change == Change::default() {
            return;
        }
        self.done = (retune, switch);
        change.apply(coupling, since_s);
        // one that finds no place is not in the recording, whose replay then differs and says where
        self.made.push((tick, change));
    }
}

/// Whether an impedance can be had.
///
/// # Errors
/// Why not, in words.
pub fn check_impedance(nspm: f64) -> Result<(), String> {
    match (0.1..=1000.0).contains(&nspm) {
        true => Ok(()),
        false => Err(format!(
            "the impedance is {nspm}; expected 0.1 to 1000 N s/m"
        )),
    }
}

/// Whether a session of this configuration can go over to a mode.
///
/// # Errors
/// Why not, in words.
pub fn check_mode(config: &Config, mode: Mode) -> Result<(), String> {
    let coupling = &config.coupling;
    let spring = |mode: Mode| mode.resolved() == Mode::Pspm;
    let had = |wanted: fn(Mode) -> bool| wanted(coupling.mode) || coupling.switch.any(wanted);
    if !coupling.mode.is_passive() || !mode.is_passive() {
        let name = if mode.is_passive() {
            coupling.mode
        } else {
            mode
        }
        .name();
        return Err(format!(
            "{name} promises no passivity, so nothing goes over from or to it"
        ));
    }
    if config.codec.is_on() {
        return Err("a codec judges what the first mode lets feel; start with --codec off".into());
    }
    if spring(mode) && !had(|mode| mode.resolved() == Mode::Pspm) {
        return Err("pspm sets the robot's stiffness; a session must begin with it".into());
    }
    if mode.resolved() == Mode::Mmt && !coupling.needs_twin() {
        return Err("this session has no twin; start it with --mode auto or mmt".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use palpate_transport::mailbox::latest;

    use super::*;

    #[test]
    fn a_change_begins_where_the_coupling_is() {
        let (mut told, wanted) = latest(Wanted::default());
        let (mut tuner, mut made) = Tuner::new(wanted);
        let mut coupling = CouplingParams {
            mode: Mode::Wave,
            ..CouplingParams::default()
        };
        let first = coupling;
        tuner.tune(&mut coupling, 500, 0.5);
        assert_eq!(coupling, first);
        let mut wanted = Wanted {
            impedance_nspm: (1, 30.0),
            ..Wanted::default()
        };
        told.write(wanted);
        tuner.tune(&mut coupling, 1000, 1.0);
        let at = |coupling: &CouplingParams, since_s| {
            let of = (coupling.impedance_nspm, since_s);
            coupling.retune.impedance_nspm(of.0, of.1)
        };
        assert_eq!(at(&coupling, 1.0), first.impedance_nspm);
        let half = at(&coupling, 1.1);
        wanted.impedance_nspm = (2, 5.0);
        wanted.mode = (1, Mode::Tank);
        told.write(wanted);
        tuner.tune(&mut coupling, 1100, 1.1);
        assert_eq!((at(&coupling, 1.1), at(&coupling, 1.4)), (half, 5.0));
        let mode =
            |coupling: &CouplingParams, since_s| coupling.switch.mode(coupling.mode, since_s);
        assert_eq!(
            (mode(&coupling, 1.0), mode(&coupling, 1.1)),
            (Mode::Wave, Mode::Tank)
        );
        assert_eq!(coupling.validate(), Ok(()));
        // what was made, made again at its ticks, comes to the same
        let mut again = first;
        while let Some((tick, change)) = made.pop() {
            change.apply(&mut again, 1e-3 * tick as f64);
        }
        assert_eq!(again, coupling);
    }

    #[test]
    fn modes_that_cannot_be_had_are_named() {
        let mut config = Config::default();
        assert_eq!(check_mode(&config, Mode::Wave), Ok(()));
        for (mode, why) in [(Mode::Direct, "passivity"), (Mode::Pspm, "stiffness")] {
            let said = check_mode(&config, mode).expect_err("refused");
            assert!(said.contains(why), "{said}");
        }
        config.coupling.mode = Mode::Wave;
        let said = check_mode(&config, Mode::Auto).expect_err("no twin");
        assert!(said.contains("no twin"), "{said}");
        assert!(check_impedance(20.0).is_ok() && check_impedance(f64::NAN).is_err());
    }
}
