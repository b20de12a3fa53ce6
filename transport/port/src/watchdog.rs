//! Watchdog of a device: releases a command that is not renewed.
//!
//! A process that stops leaves its motors with the last force; a hand that moves on under it draws energy
//! that was never paid. So a device holds a force for a stated time and then releases it, whatever
//! happened to the commanding process. Source: ours; servo drives and haptic devices time out likewise.

use palpate_transport::Span;

use crate::fixed_stepper::SUBSTEP;

/// Time for which a simulated device holds a force by default \[s\]: one tick may be missed, as on a
/// machine that is not quite real-time, before the force drops.
pub const COMMAND_TIMEOUT_S: f64 = 2e-3;

/// Counter of the time for which a force is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// Longest time that a force is held; `None` is unlimited.
    most: Option<Span>,
    step: Span,
    held: Span,
}

impl Watchdog {
    /// Creates the watchdog of a device that releases a force after `timeout_s` \[s\]; `step` is the step of its plant.
    #[must_use]
    pub fn new(timeout_s: Option<f64>, step: Span) -> Self {
        Self {
            most: timeout_s.map(Span::from_s),
            step,
            held: Span(0),
        }
    }

    /// Creates the watchdog of a plant that runs on [`crate::fixed_stepper`].
    #[must_use]
    pub fn for_plant(timeout_s: Option<f64>) -> Self {
        Self::new(timeout_s, SUBSTEP)
    }

    /// Time after which a force is released \[s\]; none if never.
    #[must_use]
    pub fn timeout_s(&self) -> Option<f64> {
        self.most.map(Span::s)
    }

    /// Restarts the time-out, as a force was commanded.
    pub fn renew(&mut self) {
        self.held = Span(0);
    }

    /// Counts a step that is about to run; returns true once, before the first step without the force.
    pub fn expires(&mut self) -> bool {
        let due = self.most.is_some_and(|most| {
            let after = Span(self.held.0.saturating_add(self.step.0));
            self.held <= most && after > most
        });
        self.held = Span(self.held.0.saturating_add(self.step.0));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_is_released_once_after_the_timeout() {
        let mut watchdog = Watchdog::for_plant(Some(2e-3));
        for _ in 0..3 {
            watchdog.renew();
            let expired: Vec<_> = (0..100).filter(|_| watchdog.expires()).collect();
            // twenty steps of 0.1 ms run under the force
            assert_eq!(expired, [20]);
        }
        let mut never = Watchdog::for_plant(None);
        assert!((0..10_000).all(|_| !never.expires()));
        assert_eq!(watchdog.timeout_s(), Some(2e-3));
    }
}
