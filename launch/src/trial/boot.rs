//! The median of few values, and how far it can be trusted.
//!
//! Source: percentile bootstrap (Efron 1979; Efron and Tibshirani 1993, chapter 13), not corrected for
//! bias; drawn by a seed, so that a report is the same every time.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Samples that are drawn from the values.
const SAMPLES: usize = 2000;

/// Seed of all intervals (ours, any number).
const SEED: u64 = 0x5EED_0B00;

/// A median and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median: the middle value, or the mean of the middle two.
    pub median: f64,
    /// 2.5th percentile of the medians of samples.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
    /// How many values.
    pub count: usize,
}

impl Interval {
    /// Of the values that are numbers; nothing of nothing. Of one value there is no interval: both ends
    /// are that value, and [`Self::count`] says so.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        finite.sort_unstable_by(f64::total_cmp);
        let center = median(&finite)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut sample = vec![0.0; finite.len()];
        let mut medians = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            for place in &mut sample {
                // a multiply in place of a remainder; even to 1 in 2^64 (Lemire 2019)
                let at = (u128::from(random.next_u64()) * finite.len() as u128) >> 64;
                *place = finite[at as usize];
            }
            sample.sort_unstable_by(f64::total_cmp);
            medians.extend(median(&sample));
        }
        medians.sort_unstable_by(f64::total_cmp);
        let rank = |share: f64| medians[(share * (SAMPLES - 1) as f64).round() as usize];
        Some(Self {
            median: center,
            low: rank(0.025),
            high: rank(0.975),
            count: finite.len(),
        })
    }
}

/// Median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => 0.5 * (sorted[middle - 1] + upper),
        _ => upper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_values_give_the_same_interval_in_any_order() {
        let one = Interval::of(&[3.0, 1.0, f64::NAN, 2.0, 4.0]).expect("values");
        assert_eq!(one.median, 2.5);
        assert!(one.low <= 2.5 && 2.5 <= one.high && one.count == 4);
        assert_eq!(Interval::of(&[4.0, 3.0, 2.0, 1.0]), Some(one));
        let alone = Interval::of(&[7.0]).expect("one");
        assert_eq!((alone.low, alone.high, alone.count), (7.0, 7.0, 1));
        assert_eq!(Interval::of(&[f64::NAN]), None);
    }

    /// Of many draws from a known distribution about 95 % of the intervals must hold its median.
    #[test]
    fn intervals_cover_the_median_as_often_as_they_promise() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (draws, mut held) = (300, 0);
        for _ in 0..draws {
            // even on 0..1, whose median is 0.5
            let values: Vec<f64> = (0..25)
                .map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
                .collect();
            let found = Interval::of(&values).expect("values");
            held += usize::from((found.low..=found.high).contains(&0.5));
        }
        let share = held as f64 / f64::from(draws);
        assert!((0.91..=0.99).contains(&share), "{share}");
    }
}
