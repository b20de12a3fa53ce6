//! Bare timer beside a live servo: measures the lateness of the machine alone. Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use palpate_bus::threads::raise_current;
use palpate_transport::clock::{PERIOD, Ticker};
use palpate_transport::{Span, Time};

use crate::stat::spans::DurationStats;

/// Phase of the bare timer.
const BARE_PHASE: Span = Span(100_000);
/// Most samples of a bare timer: ten minutes.
const BARE_SAMPLES: usize = 600_000;
/// Fewest samples for a result.
const SAMPLES_MIN: usize = 100;

/// Bare `clock_nanosleep` loop on a separate thread, for comparison with a live servo.
pub struct BareTimer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Span>>,
}

impl BareTimer {
    /// Starts it at `now` and a phase, under SCHED_FIFO `priority` if the system permits.
    #[must_use]
    pub fn start(priority: u8, now: Time) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let _ = raise_current(i32::from(priority));
            let mut spans = Vec::with_capacity(BARE_SAMPLES);
            let mut ticker = Ticker::new(now + BARE_PHASE, PERIOD, Span(0));
            while !stopped.load(Ordering::Relaxed) && spans.len() < BARE_SAMPLES {
                spans.push(ticker.wait().late);
            }
            spans
        });
        Self { stop, thread }
    }

    /// Stops it; `None` if there are too few samples.
    #[must_use]
    pub fn finish(self) -> Option<DurationStats> {
        self.stop.store(true, Ordering::Relaxed);
        let spans = self.thread.join().ok()?;
        if spans.len() < SAMPLES_MIN {
            return None;
        }
        DurationStats::of(&spans)
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::clock::{Clock as _, MonotonicClock};

    use super::*;

    #[test]
    fn short_bare_timer_gives_no_result() {
        // on a busy machine one of them may have run long enough
        assert!((0..100).any(|_| {
            BareTimer::start(10, MonotonicClock.now())
                .finish()
                .is_none()
        }));
    }
}
