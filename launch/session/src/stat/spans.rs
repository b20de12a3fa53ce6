//! Order statistics of times.

use palpate_transport::Span;
use serde::{Deserialize, Serialize};

use crate::stat::percentile;

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
    /// Of these times; `None` if there are none. Nearest rank, as everywhere.
    #[must_use]
    pub fn of(spans: &[Span]) -> Option<Self> {
        let mut us: Vec<f64> = spans.iter().map(|span| span.0 as f64 * 1e-3).collect();
        let mut at = |share: f64| percentile(&mut us, share);
        Some(Self {
            samples: spans.len(),
            us_p50: at(0.5)?,
            us_p90: at(0.9)?,
            us_p99: at(0.99)?,
            us_max: at(1.0)?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest_and_order_does_not_matter() {
        let spans: Vec<Span> = (1..=200).rev().map(|us| Span(us * 1000)).collect();
        let stats = Stats::of(&spans).expect("200 samples");
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
        let one = Stats::of(&[Span(7000)]).expect("one sample");
        assert_eq!((one.us_p50, one.us_max), (7.0, 7.0));
        assert_eq!(Stats::of(&[]), None);
    }
}
