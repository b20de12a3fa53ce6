//! The watchdog of a device: a command that nobody renews is let go.
//!
//! A process that stops leaves its motors with the last force; a hand that moves on under it draws
//! energy that nobody paid. So a device holds a force for a stated time and then gives none, whatever
//! became of who commanded it. Source: ours; servo drives and haptic devices time out likewise.

use palpate_transport::Span;

use crate::pace::SUBSTEP;

/// For how long a simulated device holds a force by default \[s\]: one tick may be missed, as on a
/// machine that is not quite real-time, before the hand feels nothing.
pub const LET_GO_S: f64 = 2e-3;

/// Counts how long a force is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// Longest time that a force is held; none for ever.
    most: Option<Span>,
    step: Span,
    held: Span,
}

impl Watchdog {
    /// Of a device that lets go after `let_go_s` \[s\], if ever, and whose plant runs in steps of `step`.
    #[must_use]
    pub fn new(let_go_s: Option<f64>, step: Span) -> Self {
        Self {
            most: let_go_s.map(Span::from_s),
            step,
            held: Span(0),
        }
    }

    /// Of a plant that runs on [`crate::pace`].
    #[must_use]
    pub fn of_plant(let_go_s: Option<f64>) -> Self {
        Self::new(let_go_s, SUBSTEP)
    }

    /// After how long a force is let go \[s\]; none if never.
    #[must_use]
    pub fn let_go_s(&self) -> Option<f64> {
        self.most.map(Span::s)
    }

    /// A force was commanded.
    pub fn renew(&mut self) {
        self.held = Span(0);
    }

    /// Count a step that is about to run: whether the force is let go before it, which is once.
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
    fn a_force_is_let_go_once_after_its_time() {
        let mut watchdog = Watchdog::of_plant(Some(2e-3));
        for _ in 0..3 {
            watchdog.renew();
            let expired: Vec<_> = (0..100).filter(|_| watchdog.expires()).collect();
            // twenty steps of 0.1 ms run under the force
            assert_eq!(expired, [20]);
        }
        let mut never = Watchdog::of_plant(None);
        assert!((0..10_000).all(|_| !never.expires()));
        assert_eq!(watchdog.let_go_s(), Some(2e-3));
    }
}
