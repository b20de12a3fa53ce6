//! What a side is told to do while it runs, and how it is: the cell between commands and the servo.
//!
//! Commands come on the bus's thread, the servo reads them every tick; all of it is single atomics,
//! so neither waits. A live session begins enabled, because it was started to run.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use palpate_bus::command::Answer;
use palpate_transport::msg::crtk::{Command, OperatingState};

/// Orders to one side, and what it says of itself.
#[derive(Debug)]
pub struct Duty {
    /// Number of the operating state that was asked for.
    wanted: AtomicU8,
    /// Times that a fault was to be cleared.
    rearms: AtomicU32,
    /// Whether the tick has latched a fault.
    fault: AtomicBool,
    /// Whether the newest reading was plausible.
    healthy: AtomicBool,
}

/// What the servo reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orders {
    /// Motion must not pass.
    pub halt: bool,
    /// Times that a fault was to be cleared so far.
    pub rearms: u32,
}

impl Default for Duty {
    fn default() -> Self {
        Self {
            wanted: AtomicU8::new(OperatingState::Enabled as u8),
            rearms: AtomicU32::new(0),
            fault: AtomicBool::new(false),
            healthy: AtomicBool::new(true),
        }
    }
}

impl Duty {
    /// Take a CRTK command; the answer is the state that it leads to, or why it is refused.
    ///
    /// # Errors
    /// The refusal in words, for whoever asked.
    pub fn obey(&self, word: &str) -> Answer {
        let command: Command = word.parse().map_err(|error| format!("{error}"))?;
        let state = self.state();
        let next = state
            .after(command, self.healthy.load(Ordering::Relaxed))
            .map_err(|refusal| refusal.to_string())?;
        self.wanted.store(next as u8, Ordering::Relaxed);
        if state == OperatingState::Fault {
            self.rearms.fetch_add(1, Ordering::Relaxed);
        }
        Ok(next.name().to_owned())
    }

    /// Stand still until told otherwise, whatever was before.
    pub fn halt(&self) {
        self.wanted
            .store(OperatingState::Disabled as u8, Ordering::Relaxed);
    }

    /// State towards commands: a fault before what was asked for.
    #[must_use]
    pub fn state(&self) -> OperatingState {
        if self.fault.load(Ordering::Relaxed) {
            return OperatingState::Fault;
        }
        let wanted = self.wanted.load(Ordering::Relaxed);
        OperatingState::ALL
            .into_iter()
            .find(|state| *state as u8 == wanted)
            .unwrap_or_default()
    }

    /// State towards whoever watches; `record_state` is what the tick says of itself.
    #[must_use]
    pub fn shown(&self, record_state: u8) -> OperatingState {
        let of_tick = OperatingState::ALL
            .into_iter()
            .find(|state| *state as u8 == record_state);
        match self.state() {
            OperatingState::Enabled => of_tick.unwrap_or_default(),
            other => other,
        }
    }

    /// What the servo must do now.
    #[must_use]
    pub fn orders(&self) -> Orders {
        Orders {
            halt: self.wanted.load(Ordering::Relaxed) != OperatingState::Enabled as u8,
            rearms: self.rearms.load(Ordering::Relaxed),
        }
    }

    /// Note how the side is after a tick.
    pub fn note(&self, record_state: u8, healthy: bool) {
        let fault = record_state == OperatingState::Fault as u8;
        self.fault.store(fault, Ordering::Relaxed);
        self.healthy.store(healthy, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_halts_and_a_resume_does_not() {
        let duty = Duty::default();
        assert!(!duty.orders().halt);
        assert_eq!(duty.obey("pause").as_deref(), Ok("PAUSED"));
        assert!(duty.orders().halt);
        assert_eq!(duty.shown(1), OperatingState::Paused);
        assert!(duty.obey("enable").expect_err("paused").contains("resume"));
        assert_eq!(duty.obey("resume").as_deref(), Ok("ENABLED"));
        assert_eq!(duty.obey("disable").as_deref(), Ok("DISABLED"));
        assert!(duty.orders().halt && duty.obey("dance").is_err());
        assert_eq!(duty.obey("enable").as_deref(), Ok("ENABLED"));
        duty.halt();
        assert!(duty.orders().halt && duty.obey("resume").is_err());
    }

    #[test]
    fn a_fault_is_cleared_only_by_a_command_and_only_when_its_cause_is_gone() {
        let duty = Duty::default();
        duty.note(3, false);
        assert_eq!(duty.state(), OperatingState::Fault);
        assert!(
            duty.obey("enable")
                .expect_err("sick")
                .contains("cause of the fault")
        );
        assert_eq!(duty.orders().rearms, 0);
        duty.note(3, true);
        assert!(duty.obey("resume").is_err());
        assert_eq!(duty.obey("enable").as_deref(), Ok("ENABLED"));
        assert_eq!(
            duty.orders(),
            Orders {
                halt: false,
                rearms: 1
            }
        );
        duty.note(1, true);
        assert_eq!(duty.shown(2), OperatingState::Paused);
    }
}
