//! CRTK topic names, and the operating state of a device.
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
/// Desired pose of the controller, [`super::PoseStamped`].
pub const SETPOINT_CP: &str = "setpoint_cp";
/// Gripper opening \[m\] and force \[N\], [`super::JointState`].
pub const GRIPPER_MEASURED_JS: &str = "gripper/measured_js";
/// Operating state, [`super::OperatingStateReport`].
pub const OPERATING_STATE: &str = "operating_state";
/// Commands, [`super::StringStamped`].
pub const STATE_COMMAND: &str = "state_command";

/// Returns the topic of a device: `<namespace>/<name>`, no slash in front.
#[must_use]
pub fn topic(namespace: &str, name: &str) -> String {
    match namespace.trim_matches('/') {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// Operating state of a device; exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[repr(u8)]
pub enum OperatingState {
    /// No power, no motion.
    #[default]
    Disabled = 0,
    /// Follows its inputs.
    Enabled = 1,
    /// Powered, holds still.
    Paused = 2,
    /// Stopped by a fault; only a new `enable` or `disable` leaves this state, once the cause is gone.
    Fault = 3,
}

impl OperatingState {
    /// All states, by number.
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Enabled, Self::Paused, Self::Fault];

    /// Returns the name in CRTK.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Enabled => "ENABLED",
            Self::Paused => "PAUSED",
            Self::Fault => "FAULT",
        }
    }

    /// State after a command. `healthy` is true if no cause for a fault is present.
    ///
    /// | from | enable | disable | pause | resume | home, unhome |
    /// |---|---|---|---|---|---|
    /// | disabled | enabled | disabled | refused | refused | refused |
    /// | enabled | enabled | disabled | paused | refused | enabled |
    /// | paused | refused | disabled | paused | enabled | refused |
    /// | fault | enabled if healthy | disabled if healthy | refused | refused | refused |
    ///
    /// # Errors
    /// [`CommandRefusal`] when the state does not allow the command; the state then stays.
    pub fn after_command(
        self,
        command: CrtkCommand,
        healthy: bool,
    ) -> Result<Self, CommandRefusal> {
        use CrtkCommand as C;
        use OperatingState as S;
        let refusal = |reason| {
            Err(CommandRefusal {
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

/// Commands of the topic `state_command`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrtkCommand {
    /// Start, or try again after a fault.
    Enable,
    /// Stop and release, also after a fault.
    Disable,
    /// Hold still.
    Pause,
    /// Go on after a pause.
    Resume,
    /// Find the reference position.
    Home,
    /// Forget the reference position.
    Unhome,
}

impl CrtkCommand {
    /// All commands.
    pub const ALL: [Self; 6] = [
        Self::Enable,
        Self::Disable,
        Self::Pause,
        Self::Resume,
        Self::Home,
        Self::Unhome,
    ];

    /// Returns the name in CRTK.
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

impl fmt::Display for CrtkCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CrtkCommand {
    /// The word, cut after 32 characters, and the valid ones.
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|command| command.name() == word);
        let excerpt: String = word.chars().take(32).collect();
        let expected = "expected enable, disable, pause, resume, home or unhome";
        found.ok_or_else(|| format!("found {excerpt:?}; {expected}"))
    }
}

/// Refusal of a command that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{command} refused in {state}: {reason}")]
pub struct CommandRefusal {
    /// State that stays.
    pub state: OperatingState,
    /// Command refused.
    pub command: CrtkCommand,
    /// Reason.
    pub reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, row by row in the order of [`OperatingState::ALL`]; `None` is refused.
    #[test]
    fn transition_table() {
        use OperatingState::{Disabled as D, Enabled as E, Paused as P};
        // Columns as CrtkCommand::ALL: enable, disable, pause, resume, home, unhome.
        let healthy = [
            [Some(E), Some(D), None, None, None, None],
            [Some(E), Some(D), Some(P), None, Some(E), Some(E)],
            [None, Some(D), Some(P), Some(E), None, None],
            [Some(E), Some(D), None, None, None, None],
        ];
        for (state, row) in OperatingState::ALL.into_iter().zip(healthy) {
            for (command, expected) in CrtkCommand::ALL.into_iter().zip(row) {
                assert_eq!(
                    state.after_command(command, true).ok(),
                    expected,
                    "{state} {command}"
                );
                let expected_unhealthy = if state == OperatingState::Fault {
                    None
                } else {
                    expected
                };
                assert_eq!(
                    state.after_command(command, false).ok(),
                    expected_unhealthy,
                    "{state} {command} sick"
                );
            }
        }
    }

    #[test]
    fn no_command_leads_to_fault() {
        for state in OperatingState::ALL {
            for command in CrtkCommand::ALL {
                for healthy in [false, true] {
                    assert_ne!(
                        state.after_command(command, healthy),
                        Ok(OperatingState::Fault)
                    );
                }
            }
        }
    }

    #[test]
    fn command_words_round_trip_and_others_are_refused() {
        for command in CrtkCommand::ALL {
            assert_eq!(command.name().parse(), Ok(command));
        }
        let error = "ENABLE".parse::<CrtkCommand>().expect_err("upper case");
        assert!(
            error.to_string().contains("\"ENABLE\"; expected enable"),
            "{error}"
        );
    }

    #[test]
    fn refusals_name_the_right_command() {
        let refusal = OperatingState::Paused.after_command(CrtkCommand::Enable, true);
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
