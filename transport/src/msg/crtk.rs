//! CRTK: names of topics, and the operating state of a device.
//!
//! Source: transport section 5 (collaborative-robotics, 2024-09). A name is level, space (`j` joint,
//! `c` Cartesian) and type (`p` position, `v` velocity, `f` force, `s` state), below the device's
//! namespace. A gripper is a namespace of its own with joints only.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Measured pose, [`super::PoseStamped`].
pub const MEASURED_CP: &str = "measured_cp";
/// Measured velocity, [`super::TwistStamped`].
pub const MEASURED_CV: &str = "measured_cv";
/// Measured contact force, [`super::WrenchStamped`].
pub const MEASURED_CF: &str = "measured_cf";
/// Force to be applied, [`super::WrenchStamped`].
pub const SERVO_CF: &str = "servo_cf";
/// Pose that the controller aims at, [`super::PoseStamped`].
pub const SETPOINT_CP: &str = "setpoint_cp";
/// Gripper opening \[m\] and force \[N\], [`super::JointState`].
pub const GRIPPER_MEASURED_JS: &str = "gripper/measured_js";
/// Operating state, [`super::OperatingStateReport`].
pub const OPERATING_STATE: &str = "operating_state";
/// Commands, [`super::StringStamped`].
pub const STATE_COMMAND: &str = "state_command";

/// Topic of a device: `<namespace>/<name>`, no slash in front.
#[must_use]
pub fn topic(namespace: &str, name: &str) -> String {
    match namespace.trim_matches('/') {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// Whether and how a device obeys; exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[repr(u8)]
pub enum OperatingState {
    /// No power, no motion.
    #[default]
    Disabled = 0,
    /// Follows what it is told.
    Enabled = 1,
    /// Powered, holds still.
    Paused = 2,
    /// Stopped by itself; only a new `enable` or `disable` leads out, once the cause is gone.
    Fault = 3,
}

impl OperatingState {
    /// All of them, by number.
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Enabled, Self::Paused, Self::Fault];

    /// As CRTK spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Enabled => "ENABLED",
            Self::Paused => "PAUSED",
            Self::Fault => "FAULT",
        }
    }

    /// Where a command leads. `healthy` says that no cause for a fault is present.
    ///
    /// | from | enable | disable | pause | resume | home, unhome |
    /// |---|---|---|---|---|---|
    /// | disabled | enabled | disabled | refused | refused | refused |
    /// | enabled | enabled | disabled | paused | refused | enabled |
    /// | paused | refused | disabled | paused | enabled | refused |
    /// | fault | enabled if healthy | disabled if healthy | refused | refused | refused |
    ///
    /// # Errors
    /// [`Refusal`] when the state does not allow the command; the state then stays.
    pub fn after(self, command: Command, healthy: bool) -> Result<Self, Refusal> {
        use Command as C;
        use OperatingState as S;
        let refusal = |reason| {
            Err(Refusal {
                state: self,
                command,
                reason,
            })
        };
        match (self, command) {
            (S::Fault, C::Enable | C::Disable) if !healthy => {
                refusal("the cause of the fault is still there")
            }
            (S::Disabled | S::Enabled | S::Fault, C::Enable) => Ok(S::Enabled),
            (_, C::Disable) => Ok(S::Disabled),
            (S::Paused, C::Enable) => refusal("use resume"),
            (S::Enabled | S::Paused, C::Pause) => Ok(S::Paused),
            (S::Paused, C::Resume) => Ok(S::Enabled),
            (S::Enabled, C::Home | C::Unhome) => Ok(S::Enabled),
            (S::Fault, _) => refusal("use enable or disable to leave the fault"),
            (_, C::Resume) => refusal("it is not paused"),
            (_, C::Pause | C::Home | C::Unhome) => refusal("it is not enabled"),
        }
    }
}

impl fmt::Display for OperatingState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for OperatingState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|state| state.name() == word);
        found.ok_or_else(|| UnknownWord::new(word, "DISABLED, ENABLED, PAUSED or FAULT"))
    }
}

/// What can be asked of a device on `state_command`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Start to obey, or try again after a fault.
    Enable,
    /// Stop and release, or give up after a fault.
    Disable,
    /// Hold still.
    Pause,
    /// Go on after a pause.
    Resume,
    /// Find the reference position.
    Home,
    /// Forget it.
    Unhome,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Enable,
        Self::Disable,
        Self::Pause,
        Self::Resume,
        Self::Home,
        Self::Unhome,
    ];

    /// As CRTK spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Home => "home",
            Self::Unhome => "unhome",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Command {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|command| command.name() == word);
        found
            .ok_or_else(|| UnknownWord::new(word, "enable, disable, pause, resume, home or unhome"))
    }
}

/// A command that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{command} refused in {state}: {reason}")]
pub struct Refusal {
    /// State that stays.
    pub state: OperatingState,
    /// Command refused.
    pub command: Command,
    /// Why.
    pub reason: &'static str,
}

/// A word that CRTK does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found:?}; expected {expected}")]
pub struct UnknownWord {
    /// Word found, cut after 32 characters.
    pub found: String,
    /// Words that would be right.
    pub expected: &'static str,
}

impl UnknownWord {
    fn new(word: &str, expected: &'static str) -> Self {
        Self {
            found: word.chars().take(32).collect(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, row by row in the order of [`OperatingState::ALL`]; `None` is refused.
    #[test]
    fn transition_table() {
        use OperatingState::{Disabled as D, Enabled as E, Paused as P};
        // Columns as Command::ALL: enable, disable, pause, resume, home, unhome.
        let healthy = [
            [Some(E), Some(D), None, None, None, None],
            [Some(E), Some(D), Some(P), None, Some(E), Some(E)],
            [None, Some(D), Some(P), Some(E), None, None],
            [Some(E), Some(D), None, None, None, None],
        ];
        for (state, row) in OperatingState::ALL.into_iter().zip(healthy) {
            for (command, expected) in Command::ALL.into_iter().zip(row) {
                assert_eq!(
                    state.after(command, true).ok(),
                    expected,
                    "{state} {command}"
                );
                let sick = if state == OperatingState::Fault {
                    None
                } else {
                    expected
                };
                assert_eq!(
                    state.after(command, false).ok(),
                    sick,
                    "{state} {command} sick"
                );
            }
        }
    }

    #[test]
    fn no_command_leads_to_fault() {
        for state in OperatingState::ALL {
            for command in Command::ALL {
                for healthy in [false, true] {
                    assert_ne!(state.after(command, healthy), Ok(OperatingState::Fault));
                }
            }
        }
    }

    #[test]
    fn words_round_trip_and_others_are_named() {
        for state in OperatingState::ALL {
            assert_eq!(state.name().parse(), Ok(state));
        }
        for command in Command::ALL {
            assert_eq!(command.name().parse(), Ok(command));
        }
        let error = "ENABLE".parse::<Command>().expect_err("upper case");
        assert!(
            error.to_string().contains("\"ENABLE\"; expected enable"),
            "{error}"
        );
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let refusal = OperatingState::Paused.after(Command::Enable, true);
        assert_eq!(
            refusal.map_err(|refusal| refusal.to_string()),
            Err("enable refused in PAUSED: use resume".to_owned())
        );
    }

    #[test]
    fn topics_have_no_slash_in_front() {
        assert_eq!(topic("/palpate/", MEASURED_CF), "palpate/measured_cf");
        assert_eq!(topic("", GRIPPER_MEASURED_JS), "gripper/measured_js");
    }
}
