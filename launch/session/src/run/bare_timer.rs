//! A timer beside a live servo that does nothing else: what the machine alone makes late. Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use palpate_bus::threads::raise_current;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, Ticker};
use palpate_transport::{Span, Time};

use crate::stat::spans::Stats;

/// Phase of the bare timer.
pub const BARE_PHASE: Span = Span(100_000);
/// Most samples that a bare timer keeps: ten minutes.
const BARE_SAMPLES: usize = 600_000;
/// Fewest samples that say anything.
const SAMPLES_MIN: usize = 100;

/// Lateness of a timer; the name that a live session uses for [`Stats`].
pub type Lateness = Stats;

/// A bare `clock_nanosleep` loop on a thread of its own, to stand beside a live servo.
pub struct BareTimer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Span>>,
}

impl BareTimer {
    /// Start it under SCHED_FIFO `priority`, or without where the system refuses.
    #[must_use]
    pub fn start(priority: u8) -> Self {
        Self::start_at(priority, MonotonicClock.now() + BARE_PHASE)
    }

    /// Start it at a time, under SCHED_FIFO `priority`, or without where the system refuses.
    #[must_use]
    pub fn start_at(priority: u8, first: Time) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let _ = raise_current(i32::from(priority));
            let mut spans = Vec::with_capacity(BARE_SAMPLES);
            let mut ticker = Ticker::new(first, PERIOD, Span(0));
            while !stopped.load(Ordering::Relaxed) && spans.len() < BARE_SAMPLES {
                spans.push(ticker.wait().late);
            }
            spans
        });
        Self { stop, thread }
    }

    /// Stop it; `None` if it ran too shortly to say anything.
    #[must_use]
    pub fn finish(self) -> Option<Lateness> {
        self.stop.store(true, Ordering::Relaxed);
        let spans = self.thread.join().ok()?;
        if spans.len() < SAMPLES_MIN {
            return None;
        }
        Stats::of(&spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_timer_that_hardly_ran_says_nothing() {
        // one that a busy machine let run meanwhile may have something to say
        assert!((0..100).any(|_| BareTimer::start(10).finish().is_none()));
    }
}
