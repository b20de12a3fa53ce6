//! Fewer frames while the delay grows: congestion control for a stream that must not queue.
//!
//! Source: after DPM, "Congestion Control for Network-Aware Telehaptic Communication" 2016 (teleop
//! section 3), which packs k = 1..4 samples into a packet by the trend of the one-way delay. Our frame holds
//! one sample, and needs no more: its sums say what was left out. So k is here the least number of
//! periods between two frames. Up at once to the largest when the delay rises, down by one when it
//! is steady, as there. The echo of our frames shows the delay of their way up to a constant, so no
//! clock has to be known.

use super::receiver::Echo;
use crate::Span;

/// Rise of the smoothed delay above its least that counts as a queue, beside 3/2 of the jitter \[ns\].
const QUEUE: Span = Span(3_000_000);

/// Echoes in a row that must rise, or stay, before the pace changes.
const PATIENCE: u32 = 12;

/// Share of a new delay in the smoothed one, as a divisor.
const SMOOTH: i64 = 8;

/// Echoes after which the least delay is looked for anew, so that a path that changed is not taken for a queue.
const WINDOW: u32 = 2000;

/// The pace of one sender. Fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    newest_ns: i64,
    smooth_ns: Option<i64>,
    least_ns: i64,
    last_ns: i64,
    /// Mean change from one delay to the next (RFC 3550); a queue that grows hardly has any.
    jitter_ns: i64,
    /// Least delay of the window that is being seen.
    coming_ns: i64,
    seen: u32,
    rising: u32,
    steady: u32,
    periods: u32,
}

impl Pace {
    /// Take the newest echo; the same one may come again.
    pub fn hear(&mut self, echo: &Echo, most: u32) {
        if echo.sent_ns == 0 || echo.sent_ns == self.newest_ns {
            return;
        }
        self.newest_ns = echo.sent_ns;
        let delay_ns = echo.received_ns.saturating_sub(echo.sent_ns);
        let Some(before_ns) = self.smooth_ns else {
            self.smooth_ns = Some(delay_ns);
            (self.least_ns, self.coming_ns, self.last_ns) = (delay_ns, delay_ns, delay_ns);
            return;
        };
        let smooth_ns = before_ns.saturating_add(delay_ns.saturating_sub(before_ns) / SMOOTH);
        self.smooth_ns = Some(smooth_ns);
        let change_ns = delay_ns.saturating_sub(self.last_ns).saturating_abs();
        self.last_ns = delay_ns;
        self.jitter_ns += change_ns.saturating_sub(self.jitter_ns) / (2 * SMOOTH);
        self.least_ns = self.least_ns.min(smooth_ns);
        self.coming_ns = self.coming_ns.min(smooth_ns);
        self.seen += 1;
        if self.seen >= WINDOW {
            (self.seen, self.least_ns) = (0, self.coming_ns);
            self.coming_ns = smooth_ns;
        }
        let queued = smooth_ns.saturating_sub(self.least_ns)
            > QUEUE.0.saturating_add(self.jitter_ns / 2 * 3);
        (self.rising, self.steady) = match (queued, smooth_ns > before_ns) {
            (true, true) => (self.rising + 1, 0),
            (true, false) => (self.rising, 0),
            (false, _) => (0, self.steady + 1),
        };
        let most = most.max(1);
        if self.rising >= PATIENCE {
            (self.periods, self.rising) = (most, 0);
        } else if self.steady >= PATIENCE {
            (self.periods, self.steady) = (self.periods().saturating_sub(1).max(1), 0);
        }
    }

    /// Least number of periods between two frames.
    #[must_use]
    pub fn periods(&self) -> u32 {
        self.periods.max(1)
    }
}
