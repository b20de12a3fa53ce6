//! How far a simulated plant still has to run to reach a moment (ours).
//!
//! Plants run on a fixed grid of sub-steps of 0.1 ms that starts at the first reading; what is left below
//! one sub-step waits for the next reading. A reading never runs more than 300 ms of
//! plant time, so a stalled process costs bounded work; the plant's time then jumps.

use palpate_transport::{Span, Time};

/// Length of one plant sub-step (teleop RP-1: 0.1 ms).
pub(crate) const SUBSTEP: Span = Span(100_000);

/// sub-steps of 0.1 ms in seconds.
pub const SUBSTEP_S: f64 = 1e-4;

/// Longest stretch of plant time that one reading runs: more than the pauses that a process is judged
/// by, 250 ms, so that a hand does not jump in one.
const CATCH_UP_MAX: Span = Span(300_000_000);

/// The plant's own time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    epoch: Option<Time>,
    at: Time,
    jumps: u64,
}

impl Pace {
    /// Sub-steps to run now.
    ///
    /// The first call sets the epoch and gives none; a moment that is not later gives none.
    pub fn advance(&mut self, now: Time) -> u32 {
        if self.epoch.is_none() {
            self.epoch = Some(now);
            self.at = now;
        }
        let behind = (now - self.at).0.max(0);
        let steps = behind.min(CATCH_UP_MAX.0) / SUBSTEP.0;
        if behind > CATCH_UP_MAX.0 {
            self.jumps += 1;
            self.at = now;
        } else {
            self.at = self.at + Span(steps * SUBSTEP.0);
        }
        // at most CATCH_UP_MAX / SUBSTEP = 3000
        steps as u32
    }

    /// Time of the plant since the first reading \[s\].
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.epoch.map_or(0.0, |epoch| (self.at - epoch).s())
    }

    /// How often the plant's time jumped because it was too far behind.
    #[must_use]
    pub fn jumps(&self) -> u64 {
        self.jumps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_whole_substeps_and_keeps_the_rest() {
        let mut pace = Pace::default();
        assert_eq!(pace.advance(Time(7)), 0);
        assert_eq!(pace.advance(Time(7 + 250_000)), 2);
        assert_eq!(pace.advance(Time(7 + 300_000)), 1);
        assert_eq!(pace.advance(Time(7)), 0);
        assert_eq!(pace.advance(Time(7 + 300_000)), 0);
        assert!((pace.elapsed_s() - 3e-4).abs() < 1e-15);
    }

    #[test]
    fn jumps_when_too_far_behind() {
        let mut pace = Pace::default();
        pace.advance(Time(0));
        assert_eq!(pace.advance(Time(1_000_000_000)), 3000);
        assert_eq!(pace.jumps(), 1);
        assert_eq!(pace.elapsed_s(), 1.0);
        assert_eq!(pace.advance(Time(1_000_200_000)), 2);
        pace.advance(Time(i64::MAX));
        pace.advance(Time(i64::MIN));
        assert_eq!(pace.jumps(), 2);
    }
}
