//! Fewer frames while the delay grows: congestion control for a stream that must not queue.
//!
//! Source: after DPM, "Congestion Control for Network-Aware Telehaptic Communication" 2016 (teleop
//! section 3), which packs k = 1..4 samples into a packet by the trend of the one-way delay. Our frame holds
//! one sample, as its sums include those of omitted frames. So k is here the least number of periods
//! between two frames. It rises at once to its maximum when the delay rises, and falls by one when the delay
//! is steady, as there. The echo of our frames shows their delay up to a constant, so no clock offset is
//! needed.

use super::receiver_model::Echo;
use crate::Span;

/// Rise of the smoothed delay above its least value that counts as a queue, beside 3/2 of the jitter \[ns\].
const QUEUE_DELAY: Span = Span(3_000_000);

/// Successive echoes that must rise, or stay, before the rate changes.
const TREND_ECHOES: u32 = 12;

/// Share of a new delay in the smoothed one, as a divisor.
const SMOOTH: i64 = 8;

/// Echoes after which the least delay is determined anew, so that a changed path does not count as a queue.
const WINDOW: u32 = 2000;

/// Frame rate of one sender. Fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RateControl {
    newest_ns: i64,
    smoothed_delay_ns: Option<i64>,
    least_ns: i64,
    last_ns: i64,
    /// Mean change from one delay to the next (RFC 3550); small for a growing queue.
    jitter_ns: i64,
    /// Least delay of the current window.
    next_delay_ns_min: i64,
    window_echoes: u32,
    rising: u32,
    steady: u32,
    periods_min: u32,
}

impl RateControl {
    /// Takes the newest echo; it may repeat. `most` is the largest number of periods between frames.
    pub(crate) fn on_echo(&mut self, echo: &Echo, most: u32) {
        if echo.sent_ns == 0 || echo.sent_ns == self.newest_ns {
            return;
        }
        self.newest_ns = echo.sent_ns;
        let delay_ns = echo.received_ns.saturating_sub(echo.sent_ns);
        let Some(before_ns) = self.smoothed_delay_ns else {
            self.smoothed_delay_ns = Some(delay_ns);
            (self.least_ns, self.next_delay_ns_min, self.last_ns) = (delay_ns, delay_ns, delay_ns);
            return;
        };
        let smooth_ns = before_ns.saturating_add(delay_ns.saturating_sub(before_ns) / SMOOTH);
        self.smoothed_delay_ns = Some(smooth_ns);
        let change_ns = delay_ns.saturating_sub(self.last_ns).saturating_abs();
        self.last_ns = delay_ns;
        self.jitter_ns += change_ns.saturating_sub(self.jitter_ns) / (2 * SMOOTH);
        self.least_ns = self.least_ns.min(smooth_ns);
        self.next_delay_ns_min = self.next_delay_ns_min.min(smooth_ns);
        self.window_echoes += 1;
        if self.window_echoes >= WINDOW {
            (self.window_echoes, self.least_ns) = (0, self.next_delay_ns_min);
            self.next_delay_ns_min = smooth_ns;
        }
        let queued = smooth_ns.saturating_sub(self.least_ns)
            > QUEUE_DELAY.0.saturating_add(self.jitter_ns / 2 * 3);
        (self.rising, self.steady) = match (queued, smooth_ns > before_ns) {
            (true, true) => (self.rising + 1, 0),
            (true, false) => (self.rising, 0),
            (false, _) => (0, self.steady + 1),
        };
        let most = most.max(1);
        if self.rising >= TREND_ECHOES {
            (self.periods_min, self.rising) = (most, 0);
        } else if self.steady >= TREND_ECHOES {
            (self.periods_min, self.steady) = (self.periods_min().saturating_sub(1).max(1), 0);
        }
    }

    /// Least number of periods between two frames.
    #[must_use]
    pub(crate) fn periods_min(&self) -> u32 {
        self.periods_min.max(1)
    }
}
