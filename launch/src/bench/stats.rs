//! Order statistics of times, and the cost of a closure.

use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use serde::{Deserialize, Serialize};

/// Order statistics of so many times \[us\].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// How many.
    pub samples: usize,
    /// Median \[us\].
    pub us_p50: f64,
    /// 90 of 100 are not above \[us\].
    pub us_p90: f64,
    /// 99 of 100 are not above \[us\].
    pub us_p99: f64,
    /// Largest \[us\]; on a shared machine it tells of the machine.
    pub us_max: f64,
}

impl Stats {
    /// Of these times, which are sorted in place; `None` if there are none. Nearest rank: the
    /// smallest sample that so many per cent are not above.
    #[must_use]
    pub fn of(spans: &mut [Span]) -> Option<Self> {
        spans.sort_unstable();
        let samples = spans.len();
        let at = |per_cent: usize| {
            let rank = (samples * per_cent).div_ceil(100).max(1);
            spans.get(rank - 1).map(|span| span.0 as f64 * 1e-3)
        };
        Some(Self {
            samples,
            us_p50: at(50)?,
            us_p90: at(90)?,
            us_p99: at(99)?,
            us_max: at(100)?,
        })
    }
}

/// The cost of something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was measured.
    pub name: String,
    /// Own CPU time of one call.
    pub stats: Stats,
}

/// Call `body` so often and take the thread's CPU time of each call; a tenth more calls come first
/// and are not counted. The two clock readings cost some 0.3 us, which are not taken off.
pub fn measure(name: &str, iterations: u32, mut body: impl FnMut()) -> Measurement {
    for _ in 0..iterations / 10 {
        body();
    }
    let mut spans: Vec<Span> = (0..iterations)
        .map(|_| {
            let start = thread_cpu_now();
            body();
            thread_cpu_now() - start
        })
        .collect();
    let stats = Stats::of(&mut spans).unwrap_or_default();
    Measurement {
        name: name.to_owned(),
        stats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest_and_order_does_not_matter() {
        let mut spans: Vec<Span> = (1..=200).rev().map(|us| Span(us * 1000)).collect();
        let stats = Stats::of(&mut spans).expect("200 samples");
        assert_eq!(
            stats,
            Stats {
                samples: 200,
                us_p50: 100.0,
                us_p90: 180.0,
                us_p99: 198.0,
                us_max: 200.0
            }
        );
        let one = Stats::of(&mut [Span(7000)]).expect("one sample");
        assert_eq!((one.us_p50, one.us_max), (7.0, 7.0));
        assert_eq!(Stats::of(&mut []), None);
    }

    #[test]
    fn every_call_is_counted() {
        let mut calls = 0;
        let cost = measure("nothing", 50, || calls += 1);
        assert_eq!((calls, cost.stats.samples), (55, 50));
    }
}
