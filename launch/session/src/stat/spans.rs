//! Order statistics of durations.

use palpate_transport::Span;
use serde::{Deserialize, Serialize};

use crate::stat::percentile;

/// Order statistics of durations \[us\].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DurationStats {
    /// Number of samples.
    pub samples: usize,
    /// Median \[us\].
    pub us_p50: f64,
    /// 90th percentile \[us\].
    pub us_p90: f64,
    /// 99th percentile \[us\].
    pub us_p99: f64,
    /// Largest \[us\]; on a shared machine it depends on the load.
    pub us_max: f64,
}

impl DurationStats {
    /// Statistics of these durations; `None` if there are none. Nearest rank.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_use_nearest_rank_in_any_order() {
        let spans: Vec<Span> = (1..=200).rev().map(|us| Span(us * 1000)).collect();
        let stats = DurationStats::of(&spans).expect("200 samples");
        assert_eq!(
            stats,
            DurationStats {
                samples: 200,
                us_p50: 100.0,
                us_p90: 180.0,
                us_p99: 198.0,
                us_max: 200.0
            }
        );
        let one = DurationStats::of(&[Span(7000)]).expect("one sample");
        assert_eq!((one.us_p50, one.us_max), (7.0, 7.0));
        assert_eq!(DurationStats::of(&[]), None);
    }
}
