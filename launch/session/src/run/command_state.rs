//! Command state of a side: the cell between commands and the servo, with the state that the side reports.
//!
//! Commands come on the bus's thread, the servo reads them every tick; all that the servo reads is single atomics,
//! so neither waits. A live session starts enabled, except after a hand-over. Every peer that the bus admits may stop a
//! side. Only its own host, the other side, or the peer that stopped it may start it again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use palpate_bus::command::{CommandReply, CommandSender};
use palpate_transport::msg::crtk::{CrtkCommand, OperatingState};

use crate::monitor::controller::lock;

/// Commands to one side, and its reported state.
#[derive(Debug)]
pub struct CommandState {
    /// Number of the commanded operating state.
    wanted: AtomicU8,
    /// Number of commands to clear a fault.
    rearms: AtomicU32,
    /// True if the tick has latched a fault.
    fault: AtomicBool,
    /// True if the newest reading was plausible.
    healthy: AtomicBool,
    /// Peer that owns this side's motion, and the peer that stopped it; the servo does not read them.
    authority: Mutex<Authority>,
}

/// Peers on the bus that may start a side.
#[derive(Debug, Clone, Copy, Default)]
struct Authority {
    peer: Option<CommandSender>,
    halted_by: Option<CommandSender>,
}

impl Default for CommandState {
    fn default() -> Self {
        Self {
            wanted: AtomicU8::new(OperatingState::Enabled as u8),
            rearms: AtomicU32::new(0),
            fault: AtomicBool::new(false),
            healthy: AtomicBool::new(true),
            authority: Mutex::default(),
        }
    }
}

impl CommandState {
    /// Sets the peer, which may set this side in motion.
    pub(crate) fn set_peer(&self, peer: CommandSender) {
        lock(&self.authority).peer = Some(peer);
    }

    /// Executes a CRTK command from the bus; as [`Self::execute`].
    ///
    /// # Errors
    /// As [`Self::execute`]; also if the command starts motion and `sender` may not.
    pub(crate) fn execute_remote(&self, word: &str, sender: Option<CommandSender>) -> CommandReply {
        let starts = matches!(word.parse()?, CrtkCommand::Enable | CrtkCommand::Resume);
        let mut authority = lock(&self.authority);
        let may_start =
            sender.is_some() && (sender == authority.peer || sender == authority.halted_by);
        if starts && !may_start {
            return Err(format!(
                "{word} is taken from the other side, from this side's own host, or from the peer that stopped it"
            ));
        }
        let moved = self.state() == OperatingState::Enabled;
        let reply = self.carry_out(word);
        if reply.is_ok() {
            // who stops a side that stands already may not start it
            let stops = moved && self.state() != OperatingState::Enabled;
            let again = authority.halted_by == sender && !starts;
            authority.halted_by = sender.filter(|_| stops || again);
        }
        reply
    }

    /// Executes a CRTK command of this host; returns the resulting state, or the reason for its refusal.
    ///
    /// # Errors
    /// The refusal in words, for the sender.
    pub(crate) fn execute(&self, word: &str) -> CommandReply {
        lock(&self.authority).halted_by = None;
        self.carry_out(word)
    }

    fn carry_out(&self, word: &str) -> CommandReply {
        let command: CrtkCommand = word.parse()?;
        let state = self.state();
        let next = state
            .after_command(command, self.healthy.load(Ordering::Relaxed))
            .map_err(|refusal| refusal.to_string())?;
        self.wanted.store(next as u8, Ordering::Relaxed);
        if state == OperatingState::Fault {
            self.rearms.fetch_add(1, Ordering::Relaxed);
        }
        Ok(next.name().to_owned())
    }

    /// Stops motion until enabled, whatever the state was.
    pub(crate) fn halt(&self) {
        lock(&self.authority).halted_by = None;
        self.wanted
            .store(OperatingState::Disabled as u8, Ordering::Relaxed);
    }

    /// State for commands: a fault has priority over the commanded state.
    #[must_use]
    pub(crate) fn state(&self) -> OperatingState {
        if self.fault.load(Ordering::Relaxed) {
            return OperatingState::Fault;
        }
        numbered(self.wanted.load(Ordering::Relaxed))
    }

    /// State for observers; `record_state` is the state in the tick's record.
    #[must_use]
    pub(crate) fn reported_state(&self, record_state: u8) -> OperatingState {
        match self.state() {
            OperatingState::Enabled => numbered(record_state),
            other => other,
        }
    }

    /// Commands to the servo: true to block motion, and the number of commands so far to clear a fault.
    #[must_use]
    pub(crate) fn servo_commands(&self) -> (bool, u32) {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let halt = wanted != OperatingState::Enabled as u8;
        (halt, self.rearms.load(Ordering::Relaxed))
    }

    /// Stores the state of the side after a tick.
    pub fn update(&self, record_state: u8, healthy: bool) {
        let fault = record_state == OperatingState::Fault as u8;
        self.fault.store(fault, Ordering::Relaxed);
        self.healthy.store(healthy, Ordering::Relaxed);
    }
}

/// Operating state by its number.
fn numbered(number: u8) -> OperatingState {
    let mut all = OperatingState::ALL.into_iter();
    all.find(|state| *state as u8 == number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_halts_and_resume_enables() {
        let command_state = CommandState::default();
        assert!(!command_state.servo_commands().0);
        assert_eq!(command_state.execute("pause").as_deref(), Ok("PAUSED"));
        assert!(command_state.servo_commands().0);
        assert_eq!(command_state.reported_state(1), OperatingState::Paused);
        assert!(
            command_state
                .execute("enable")
                .expect_err("paused")
                .contains("resume")
        );
        assert_eq!(command_state.execute("resume").as_deref(), Ok("ENABLED"));
        assert_eq!(command_state.execute("disable").as_deref(), Ok("DISABLED"));
        assert!(command_state.servo_commands().0 && command_state.execute("dance").is_err());
        assert_eq!(command_state.execute("enable").as_deref(), Ok("ENABLED"));
        command_state.halt();
        assert!(command_state.servo_commands().0 && command_state.execute("resume").is_err());
    }

    #[test]
    fn issue_a_stranger_that_stopped_a_stopped_side_could_start_it() {
        let [peer, pauser, stranger] = [1, 2, 3].map(|number| CommandSender([number; 16]));
        let state = CommandState::default();
        state.set_peer(peer);
        let by = |word: &str, sender| state.execute_remote(word, Some(sender)).is_ok();
        assert!(by("pause", pauser) && !by("resume", stranger) && by("resume", pauser));
        // stopped by the own host
        assert!(state.execute("disable").is_ok());
        assert!(by("disable", stranger) && !by("enable", stranger) && by("enable", peer));
        state.halt();
        assert!(by("pause", stranger) || by("disable", stranger));
        assert!(!by("enable", stranger) && by("enable", peer));
        assert!(state.execute_remote("enable", None).is_err());
    }

    #[test]
    fn fault_clears_only_by_command_after_its_cause() {
        let command_state = CommandState::default();
        command_state.update(3, false);
        assert_eq!(command_state.state(), OperatingState::Fault);
        assert_eq!(command_state.reported_state(3), OperatingState::Fault);
        assert!(
            command_state
                .execute("enable")
                .expect_err("sick")
                .contains("cause of the fault")
        );
        assert_eq!(command_state.servo_commands().1, 0);
        command_state.update(3, true);
        assert!(command_state.execute("resume").is_err());
        assert_eq!(command_state.execute("enable").as_deref(), Ok("ENABLED"));
        assert_eq!(command_state.servo_commands(), (false, 1));
        command_state.update(1, true);
        assert_eq!(command_state.reported_state(2), OperatingState::Paused);
    }
}
