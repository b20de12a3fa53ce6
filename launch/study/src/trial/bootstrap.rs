//! Interval of a few values: their median with a confidence interval, or the worst of them.
//!
//! Source: percentile bootstrap (Efron 1979; Efron and Tibshirani 1993, chapter 13), without bias
//! correction; drawn by a fixed seed, so that a report is reproducible.

use palpate_session::stat::{mean_median, percentile};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Number of bootstrap samples.
const SAMPLES: usize = 2000;

/// Seed of all intervals (ours, any number).
const SEED: u64 = 0x5EED_0B00;

/// Fewest values for a bootstrap interval: with fewer, more than one sample in 40 has the least value as its median,
/// so that the interval would equal the range.
const BOOTSTRAP_MIN: usize = 6;

/// Meaning of the ends of an [`Interval`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalEnds {
    /// 2.5th and 97.5th percentile of the medians of samples.
    Bootstrap,
    /// Least and largest value.
    Range,
}

/// Summary of many values: their median or the worst of them, and an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The median (the middle value, or the mean of the middle two), or the worst value.
    pub center: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Meaning of the ends.
    pub ends: IntervalEnds,
    /// Number of values.
    pub count: usize,
}

impl Interval {
    /// Range of the finite values, with a centre from its ends, such as the worse one; none without one.
    pub(crate) fn range(values: &[f64], center: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let mut finite = values.iter().copied().filter(|v| v.is_finite());
        let first = finite.next()?;
        let (low, high, count) = finite.fold((first, first, 1), |(low, high, count), v| {
            (v.min(low), v.max(high), count + 1)
        });
        Some(Self {
            center: center(low, high),
            low,
            high,
            ends: IntervalEnds::Range,
            count,
        })
    }

    /// Interval with the median of the finite values; none without one. With fewer than six values the
    /// interval is their range, as [`Self::ends`] states.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        finite.sort_unstable_by(f64::total_cmp);
        let center = mean_median(&finite)?;
        if finite.len() < BOOTSTRAP_MIN {
            return Self::range(&finite, |_, _| center);
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut sample = vec![0.0; finite.len()];
        let mut medians = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            for place in &mut sample {
                // a multiplication instead of a remainder; uniform to 1 in 2^64 (Lemire 2019)
                let at = (u128::from(random.next_u64()) * finite.len() as u128) >> 64;
                *place = finite[at as usize];
            }
            sample.sort_unstable_by(f64::total_cmp);
            medians.extend(mean_median(&sample));
        }
        Some(Self {
            center,
            low: percentile(&mut medians, 0.025)?,
            high: percentile(&mut medians, 0.975)?,
            ends: IntervalEnds::Bootstrap,
            count: finite.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_independent_of_order() {
        let one = Interval::of(&[3.0, 1.0, f64::NAN, 2.0, 4.0]).expect("values");
        assert_eq!((one.center, one.low, one.high), (2.5, 1.0, 4.0));
        assert_eq!((one.ends, one.count), (IntervalEnds::Range, 4));
        assert_eq!(Interval::of(&[4.0, 3.0, 2.0, 1.0]), Some(one));
        let alone = Interval::of(&[7.0]).expect("one");
        assert_eq!((alone.low, alone.high, alone.count), (7.0, 7.0, 1));
        assert_eq!(Interval::of(&[f64::NAN]), None);
        let six = Interval::of(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).expect("values");
        assert_eq!(six.ends, IntervalEnds::Bootstrap);
        assert!(1.0 < six.low && six.low <= 3.5 && 3.5 <= six.high && six.high < 6.0);
    }

    #[test]
    fn worst_value_is_found_among_many() {
        let mut values = [0.0; 21];
        values[7] = 3.0;
        assert_eq!(Interval::of(&values).map(|found| found.center), Some(0.0));
        let worst = Interval::range(&values, |_, high| high).expect("values");
        assert_eq!((worst.center, worst.low, worst.count), (3.0, 0.0, 21));
        let least = Interval::range(&[1.0, -2.0, f64::NAN], |low, _| low).expect("values");
        assert_eq!((least.center, least.ends), (-2.0, IntervalEnds::Range));
        assert_eq!(Interval::range(&[], |low, _| low), None);
    }

    /// About 95 % of the intervals of many draws from a known distribution must contain its median.
    #[test]
    fn intervals_cover_the_median_at_their_confidence() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (draws, mut covered) = (300, 0);
        for _ in 0..draws {
            // uniform on 0..1, with the median 0.5
            let values: Vec<f64> = (0..25)
                .map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
                .collect();
            let found = Interval::of(&values).expect("values");
            covered += usize::from((found.low..=found.high).contains(&0.5));
        }
        let share = covered as f64 / f64::from(draws);
        assert!((0.91..=0.99).contains(&share), "{share}");
    }
}
