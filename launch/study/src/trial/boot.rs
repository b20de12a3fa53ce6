//! The median of few values, and how far it can be trusted; or the worst of them.
//!
//! Source: percentile bootstrap (Efron 1979; Efron and Tibshirani 1993, chapter 13), not corrected for
//! bias; drawn by a seed, so that a report is the same every time.

use palpate_session::stat::mean_median;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Samples that are drawn from the values.
const SAMPLES: usize = 2000;

/// Seed of all intervals (ours, any number).
const SEED: u64 = 0x5EED_0B00;

/// Fewest values of which samples have an interval: of fewer, more than one sample in 40 has the least
/// value as its median, so that the interval would be the range under another name.
const BOOTSTRAP_MIN: usize = 6;

/// What the ends of an [`Interval`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// 2.5th and 97.5th percentile of the medians of samples.
    Bootstrap,
    /// Least and largest value.
    Range,
}

/// Which value is the worst of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worst {
    /// The least.
    Least,
    /// The largest.
    Largest,
}

/// What many values are shown by: their median or the worst of them, and how far they go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median (the middle value, or the mean of the middle two), or the worst value.
    pub center: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What the ends are.
    pub ends: Ends,
    /// How many values.
    pub count: usize,
}

impl Interval {
    /// The worst of the values that are numbers, and their range; nothing of nothing.
    #[must_use]
    pub fn worst(values: &[f64], worst: Worst) -> Option<Self> {
        let mut finite = values.iter().copied().filter(|v| v.is_finite());
        let first = finite.next()?;
        let (low, high, count) = finite.fold((first, first, 1), |(low, high, count), v| {
            (v.min(low), v.max(high), count + 1)
        });
        Some(Self {
            center: match worst {
                Worst::Least => low,
                Worst::Largest => high,
            },
            low,
            high,
            ends: Ends::Range,
            count,
        })
    }

    /// The median of the values that are numbers; nothing of nothing. Of fewer than six there is no
    /// interval but their range, and [`Self::ends`] says so.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        finite.sort_unstable_by(f64::total_cmp);
        let center = mean_median(&finite)?;
        if finite.len() < BOOTSTRAP_MIN {
            return Self::worst(&finite, Worst::Least).map(|range| Self { center, ..range });
        }
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
            medians.extend(mean_median(&sample));
        }
        medians.sort_unstable_by(f64::total_cmp);
        let rank = |share: f64| medians[(share * (SAMPLES - 1) as f64).round() as usize];
        Some(Self {
            center,
            low: rank(0.025),
            high: rank(0.975),
            ends: Ends::Bootstrap,
            count: finite.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_values_give_the_same_interval_in_any_order() {
        let one = Interval::of(&[3.0, 1.0, f64::NAN, 2.0, 4.0]).expect("values");
        assert_eq!((one.center, one.low, one.high), (2.5, 1.0, 4.0));
        assert_eq!((one.ends, one.count), (Ends::Range, 4));
        assert_eq!(Interval::of(&[4.0, 3.0, 2.0, 1.0]), Some(one));
        let alone = Interval::of(&[7.0]).expect("one");
        assert_eq!((alone.low, alone.high, alone.count), (7.0, 7.0, 1));
        assert_eq!(Interval::of(&[f64::NAN]), None);
        let six = Interval::of(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).expect("values");
        assert_eq!(six.ends, Ends::Bootstrap);
        assert!(1.0 < six.low && six.low <= 3.5 && 3.5 <= six.high && six.high < 6.0);
    }

    #[test]
    fn one_bad_row_in_many_is_the_worst() {
        let mut values = [0.0; 21];
        values[7] = 3.0;
        assert_eq!(Interval::of(&values).map(|found| found.center), Some(0.0));
        let worst = Interval::worst(&values, Worst::Largest).expect("values");
        assert_eq!((worst.center, worst.low, worst.count), (3.0, 0.0, 21));
        let least = Interval::worst(&[1.0, -2.0, f64::NAN], Worst::Least).expect("values");
        assert_eq!((least.center, least.ends), (-2.0, Ends::Range));
        assert_eq!(Interval::worst(&[], Worst::Least), None);
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
