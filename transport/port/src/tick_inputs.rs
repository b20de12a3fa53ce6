//! Inputs of a tick on either side, besides its device's reading.

use palpate_transport::clock::{PERIOD, PERIODS_PER_TICK_MAX};
use palpate_transport::{HapticFrame, Time};

/// Times and inputs of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TickInputs {
    /// Number of the tick.
    pub tick: u64,
    /// Current time on this side's clock.
    pub now: Time,
    /// Current time on the device's clock, which begins with the side.
    pub device_now: Time,
    /// Time since the previous tick in whole periods, bounded \[s\].
    pub dt_s: f64,
    /// True if more periods were missed than one tick may account for.
    pub long_gap: bool,
    /// True if the tick woke too late for a step of the twin, which then returns its force without one; never in two
    /// successive ticks.
    pub deadline_fallback: bool,
    /// True if motion must not pass: the session is ending or paused.
    pub halt: bool,
    /// True if a latched fault is to be cleared.
    pub rearm: bool,
    /// True if the tissue refused an edit before this tick.
    pub edit_refused: bool,
    /// Newest frame from the other side and its time of arrival; the same one may come again.
    pub frame: Option<(HapticFrame, Time)>,
}

impl TickInputs {
    /// Creates the inputs of a tick in virtual time, with nothing received.
    #[must_use]
    pub fn at_tick(tick: u64) -> Self {
        let now = Time(PERIOD.0 * tick as i64);
        let inputs = Self {
            tick,
            now,
            device_now: now,
            ..Self::default()
        };
        inputs.after_missed(0)
    }

    /// Returns the inputs for a side that missed `missed` ticks before this one.
    #[must_use]
    pub fn after_missed(self, missed: u64) -> Self {
        let periods = missed.saturating_add(1);
        Self {
            dt_s: PERIOD.s() * periods.min(PERIODS_PER_TICK_MAX) as f64,
            long_gap: periods > PERIODS_PER_TICK_MAX,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_missed_ticks_counted_as_one_period() {
        let after = |missed| TickInputs::at_tick(7).after_missed(missed);
        assert_eq!(after(0).dt_s, PERIOD.s());
        assert!((after(4).dt_s - 5e-3).abs() < 1e-12 && !after(4).long_gap);
        assert!(!after(19).long_gap && after(20).long_gap);
        assert!((after(u64::MAX).dt_s - 0.02).abs() < 1e-12);
    }
}
