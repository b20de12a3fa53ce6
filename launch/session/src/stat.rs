//! Small statistics with their definitions. Source: textbook.

pub mod spans;

/// Percentile by nearest rank: the smallest value that at least the fraction `p` (0..1) of the values does not
/// exceed, so always one of them. It is the one definition for all reports. Values that are not finite are ignored;
/// none without values.
#[must_use]
pub fn percentile(values: &mut [f64], p: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    // total_cmp sorts NaN to the ends; only finite values have a rank
    let finite: &[f64] = {
        let first = values.iter().position(|v| v.is_finite())?;
        let last = values.iter().rposition(|v| v.is_finite())?;
        &values[first..=last]
    };
    // slightly less, so that 0.07 of 100 is 7 and not rounded to 8
    let share = p.clamp(0.0, 1.0) * (1.0 - 4.0 * f64::EPSILON);
    let rank = (share * finite.len() as f64).ceil() as usize;
    finite.get(rank.saturating_sub(1)).copied()
}

/// Upper median: of two values in the middle, the larger one; none without values.
#[must_use]
pub fn upper_median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Median of sorted values; of two in the middle, their mean. None without values.
#[must_use]
pub fn mean_median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => 0.5 * (sorted[middle - 1] + upper),
        _ => upper,
    })
}

/// Root of the mean of squares; none without values.
#[must_use]
pub fn root_mean_square(squares: &[f64]) -> Option<f64> {
    mean(squares).map(f64::sqrt)
}

/// Mean of the values; none without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of the values (divisor n); none without values.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// Index of the last entry not after `at_ns`, in non-decreasing times, from index `from` on. It walks, so a
/// loop over rising times costs linear time altogether.
#[must_use]
pub fn latest_index(times_ns: &[i64], from: usize, at_ns: i64) -> Option<usize> {
    let mut index = from;
    if *times_ns.get(index)? > at_ns {
        return None;
    }
    while times_ns.get(index + 1).is_some_and(|&next| next <= at_ns) {
        index += 1;
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_sample_values() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        values.push(f64::NAN);
        assert_eq!(percentile(&mut values, 0.5), Some(50.0));
        assert_eq!(percentile(&mut values, 0.99), Some(99.0));
        assert_eq!(percentile(&mut values, 1.0), Some(100.0));
        for percent in 1..=100 {
            let found = percentile(&mut values, f64::from(percent) / 100.0);
            assert_eq!(found, Some(f64::from(percent)));
        }
        assert_eq!(percentile(&mut [], 0.5), None);
        assert_eq!(percentile(&mut [f64::NAN], 0.5), None);
    }

    #[test]
    fn medians_of_even_counts_follow_their_definitions() {
        let mut values = [4.0, 1.0, 2.0, 3.0];
        assert_eq!(upper_median(&mut values), Some(3.0));
        assert_eq!(mean_median(&values), Some(2.5));
        assert_eq!(percentile(&mut values, 0.5), Some(2.0));
        assert_eq!((upper_median(&mut []), mean_median(&[])), (None, None));
        assert_eq!(root_mean_square(&[1.0, 7.0]), Some(2.0));
    }

    #[test]
    fn deviation_of_two() {
        assert_eq!(deviation(&[1.0, 3.0]), Some(1.0));
        assert_eq!(deviation(&[]), None);
    }

    #[test]
    fn latest_index_finds_last_not_after() {
        let times = [10, 20, 30];
        assert_eq!(latest_index(&times, 0, 9), None);
        assert_eq!(latest_index(&times, 0, 20), Some(1));
        assert_eq!(latest_index(&times, 1, 99), Some(2));
        assert_eq!(latest_index(&times, 3, 99), None);
    }
}
