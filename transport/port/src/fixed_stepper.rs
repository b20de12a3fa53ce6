//! Number of fixed sub-steps that a simulated plant must run to reach a time (ours).
//!
//! Plants run on a fixed grid of sub-steps of 0.1 ms that starts at the first reading; a remainder below one
//! sub-step waits for the next reading. A reading never runs more than 300 ms of plant time, so a stalled
//! process costs bounded work; the plant's time then jumps.

use palpate_transport::{Span, Time};

/// Length of one plant sub-step (teleop RP-1: 0.1 ms).
pub(crate) const SUBSTEP: Span = Span(100_000);

/// Length of one plant sub-step \[s\].
pub const SUBSTEP_S: f64 = 1e-4;

/// Longest plant time that one reading runs: more than the longest judged pause of a process, 250 ms, so
/// that a hand does not jump in one.
const CATCH_UP_MAX: Span = Span(300_000_000);

/// Time of the plant on a fixed grid.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedStepper {
    epoch: Option<Time>,
    plant_now: Time,
    jumps: u64,
}

impl FixedStepper {
    /// Returns the number of sub-steps to run now.
    ///
    /// The first call sets the start and returns 0, as does a time that is not later.
    pub fn advance(&mut self, now: Time) -> u32 {
        if self.epoch.is_none() {
            self.epoch = Some(now);
            self.plant_now = now;
        }
        let behind = (now - self.plant_now).0.max(0);
        let steps = behind.min(CATCH_UP_MAX.0) / SUBSTEP.0;
        if behind > CATCH_UP_MAX.0 {
            self.jumps += 1;
            self.plant_now = now;
        } else {
            self.plant_now = self.plant_now + Span(steps * SUBSTEP.0);
        }
        // at most CATCH_UP_MAX / SUBSTEP = 3000
        steps as u32
    }

    /// Plant time since the first reading \[s\].
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.epoch.map_or(0.0, |epoch| (self.plant_now - epoch).s())
    }

    /// Number of jumps of the plant's time because it was too far behind.
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
        let mut stepper = FixedStepper::default();
        assert_eq!(stepper.advance(Time(7)), 0);
        assert_eq!(stepper.advance(Time(7 + 250_000)), 2);
        assert_eq!(stepper.advance(Time(7 + 300_000)), 1);
        assert_eq!(stepper.advance(Time(7)), 0);
        assert_eq!(stepper.advance(Time(7 + 300_000)), 0);
        assert!((stepper.elapsed_s() - 3e-4).abs() < 1e-15);
    }

    #[test]
    fn jumps_when_too_far_behind() {
        let mut stepper = FixedStepper::default();
        stepper.advance(Time(0));
        assert_eq!(stepper.advance(Time(1_000_000_000)), 3000);
        assert_eq!(stepper.jumps(), 1);
        assert_eq!(stepper.elapsed_s(), 1.0);
        assert_eq!(stepper.advance(Time(1_000_200_000)), 2);
        stepper.advance(Time(i64::MAX));
        stepper.advance(Time(i64::MIN));
        assert_eq!(stepper.jumps(), 2);
    }
}
