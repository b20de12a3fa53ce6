//! Straight-line models of touch: linear least squares with errors, and stiffness by segments.
//!
//! Source: seed-004 3.12 (row S4-60, Figs 6-2 and 6-3) for the piecewise readout; S4-P09 for the
//! model `F = c + K x + B v`. The solution goes through the eigenvectors of the normal matrix of
//! scaled columns, so that directions which the data cannot tell apart are found and left at zero
//! instead of being guessed. Symbols: `F` force \[N\], `x` depth \[m\], `v` rate of depth \[m/s\],
//! `c` offset \[N\], `K` stiffness \[N/m\], `B` damping \[N s/m\].

use nalgebra::{DMatrix, DVector};

/// Eigenvalues of the normal matrix below this share of the largest count as zero.
const RANK_SHARE: f64 = 1e-9;

/// Why nothing could be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// There are fewer observations than coefficients.
    #[error("{found} observations; expected at least {expected}")]
    Few {
        /// Observations found.
        found: usize,
        /// Observations needed.
        expected: usize,
    },
    /// The columns and the observations are not of one length.
    #[error("column {column} has {found} values; expected {expected}, one an observation")]
    Length {
        /// Index of the column.
        column: usize,
        /// Values found.
        found: usize,
        /// Values needed.
        expected: usize,
    },
    /// A value is not finite.
    #[error("observation {observation} of {column} is {value}; expected a finite number")]
    Value {
        /// Index of the observation.
        observation: usize,
        /// Name of the column.
        column: String,
        /// Value found.
        value: f64,
    },
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Coefficients, in the units of the observations over those of their columns.
    pub coefficients: Vec<f64>,
    /// Their standard errors, in the same units; infinite where [`Fit::unidentifiable`] reaches.
    pub errors: Vec<f64>,
    /// Unit directions in the space of the scaled coefficients that leave the model unchanged.
    ///
    /// Entry i of a direction belongs to coefficient i times the root mean square of column i.
    /// Empty if the data tell all coefficients apart.
    pub unidentifiable: Vec<Vec<f64>>,
    /// Root mean square of the residual, over the degrees of freedom.
    pub residual: f64,
    /// Share of the variance that the model explains; 1 for constant observations that it meets.
    pub r_squared: f64,
    /// Number of observations.
    pub observations: usize,
}

/// Fit `observed = sum of coefficient_i * column_i` by least squares.
///
/// Where the data leave a direction free, the shortest scaled solution is taken.
///
/// # Errors
/// [`FitError`] if there are too few observations, lengths differ or a value is not finite.
pub fn least_squares(columns: &[&[f64]], observed: &[f64]) -> Result<Fit, FitError> {
    check(columns, observed)?;
    let (rows, count) = (observed.len(), columns.len());
    // Columns are brought to one size first: rank must not depend on units.
    let scales: Vec<f64> = columns
        .iter()
        .map(|column| root_mean_square(column))
        .collect();
    let usable = |scale: f64| if scale > 0.0 { scale } else { 1.0 };
    let design = DMatrix::from_fn(rows, count, |row, column| {
        columns[column][row] / usable(scales[column])
    });
    let target = DVector::from_column_slice(observed);
    let normal = design.tr_mul(&design);
    // Eigenvectors of the normal matrix are the right singular vectors; the columns are few.
    let eigen = normal.symmetric_eigen();
    let largest = eigen
        .eigenvalues
        .iter()
        .fold(0.0_f64, |largest, &value| largest.max(value));
    let projected = design.tr_mul(&target);
    let mut scaled = DVector::zeros(count);
    let mut spread = DVector::zeros(count);
    let mut unidentifiable = Vec::new();
    for (direction, &value) in eigen
        .eigenvectors
        .column_iter()
        .zip(eigen.eigenvalues.iter())
    {
        if value <= largest * RANK_SHARE || value <= 0.0 {
            unidentifiable.push(direction.iter().copied().collect::<Vec<f64>>());
            continue;
        }
        scaled += direction * (direction.dot(&projected) / value);
        spread += direction.component_mul(&direction) / value;
    }
    let residuals = &target - &design * &scaled;
    let squares = residuals.norm_squared();
    let freedom = rows.saturating_sub(count - unidentifiable.len());
    let variance = if freedom > 0 {
        squares / freedom as f64
    } else {
        0.0
    };
    let error = |index: usize| {
        let free = unidentifiable
            .iter()
            .any(|direction| direction[index].abs() > 1e-6);
        let known = (variance * spread[index]).sqrt() / usable(scales[index]);
        if free { f64::INFINITY } else { known }
    };
    Ok(Fit {
        coefficients: (0..count)
            .map(|index| scaled[index] / usable(scales[index]))
            .collect(),
        errors: (0..count).map(error).collect(),
        residual: variance.sqrt(),
        r_squared: explained(observed, squares),
        observations: rows,
        unidentifiable,
    })
}

/// A record of touch: three columns of equal length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    /// Depth `x` \[m\].
    pub depth_m: &'a [f64],
    /// Rate of the depth `v` \[m/s\].
    pub rate_mps: &'a [f64],
    /// Force `F` \[N\].
    pub force_n: &'a [f64],
}

/// Fit `F = c + K x + B v`; the coefficients are `[c, K, B]`.
///
/// # Errors
/// As [`least_squares`].
pub fn touch(record: &Record<'_>) -> Result<Fit, FitError> {
    let ones = vec![1.0; record.force_n.len()];
    least_squares(&[&ones, record.depth_m, record.rate_mps], record.force_n)
}

/// The stiffness of one stretch of a record during which the number of contacts was constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Index of its first observation.
    pub start: usize,
    /// Index after its last observation.
    pub end: usize,
    /// Number of contacts.
    pub contacts: u32,
    /// Fit of `F = c + K x`; the coefficients are `[c, K]`.
    pub fit: Fit,
}

/// Fit one line a stretch of constant contact count (seed-004 3.12).
///
/// Stretches without contact or with fewer than `least` observations are passed over.
///
/// # Errors
/// As [`least_squares`], and [`FitError::Length`] with column 3 for the contact counts.
pub fn segments(
    record: &Record<'_>,
    contacts: &[u32],
    least: usize,
) -> Result<Vec<Segment>, FitError> {
    let expected = record.force_n.len();
    check(&[record.depth_m], record.force_n)?;
    if contacts.len() != expected {
        return Err(FitError::Length {
            column: 3,
            found: contacts.len(),
            expected,
        });
    }
    let mut found = Vec::new();
    let mut start = 0;
    for run in contacts.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        if run[0] > 0 && run.len() >= least.max(2) {
            let ones = vec![1.0; run.len()];
            let columns = [&ones, &record.depth_m[start..end]];
            let fit = least_squares(&columns, &record.force_n[start..end])?;
            found.push(Segment {
                start,
                end,
                contacts: run[0],
                fit,
            });
        }
        start = end;
    }
    Ok(found)
}

fn check(columns: &[&[f64]], observed: &[f64]) -> Result<(), FitError> {
    let expected = columns.len().max(1);
    if observed.len() < expected {
        return Err(FitError::Few {
            found: observed.len(),
            expected,
        });
    }
    for (column, values) in columns.iter().enumerate() {
        if values.len() != observed.len() {
            let (found, expected) = (values.len(), observed.len());
            return Err(FitError::Length {
                column,
                found,
                expected,
            });
        }
    }
    let named = columns
        .iter()
        .enumerate()
        .map(|(index, values)| (Some(index), *values));
    for (index, values) in named.chain([(None, observed)]) {
        if let Some(observation) = values.iter().position(|value| !value.is_finite()) {
            let column = index.map_or("the observed values".to_owned(), |i| format!("column {i}"));
            return Err(FitError::Value {
                observation,
                column,
                value: values[observation],
            });
        }
    }
    Ok(())
}

fn root_mean_square(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

fn explained(observed: &[f64], squares: f64) -> f64 {
    let mean = observed.iter().sum::<f64>() / observed.len() as f64;
    let total: f64 = observed
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let size: f64 = observed.iter().map(|value| value * value).sum();
    // A constant record has no variance to explain.
    if total <= 1e-24 * size {
        f64::from(u8::from(squares <= 1e-18 * size))
    } else {
        1.0 - squares / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(count: usize) -> Vec<f64> {
        let draw = |index: usize| (index * 7919 % 1009) as f64 / 1009.0 - 0.5;
        (0..count).map(draw).collect()
    }

    #[test]
    fn a_line_has_the_textbook_slope_and_error() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let y: Vec<f64> = x
            .iter()
            .zip(noise(50))
            .map(|(x, noise)| 3.0 - 0.2 * x + noise)
            .collect();
        let fit = least_squares(&[&vec![1.0; 50], &x], &y).unwrap();
        // The other route: sums about the mean.
        let mean = |v: &[f64]| v.iter().sum::<f64>() / 50.0;
        let (mx, my) = (mean(&x), mean(&y));
        let sxx: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
        let sxy: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
        let slope = sxy / sxx;
        let rest = |(x, y): (&f64, &f64)| (y - my - slope * (x - mx)).powi(2);
        let variance = x.iter().zip(&y).map(rest).sum::<f64>() / 48.0;
        assert!((fit.coefficients[1] - slope).abs() < 1e-12);
        assert!((fit.coefficients[0] - (my - slope * mx)).abs() < 1e-11);
        assert!((fit.errors[1] / (variance / sxx).sqrt() - 1.0).abs() < 1e-9);
        assert!((fit.residual - variance.sqrt()).abs() < 1e-12);
        assert!(fit.unidentifiable.is_empty());
    }

    #[test]
    fn what_the_data_cannot_tell_is_said() {
        // At constant speed from the start, depth and offset differ, but v repeats the offset.
        let x: Vec<f64> = (0..100).map(|i| f64::from(i) * 1e-4).collect();
        let force: Vec<f64> = x.iter().map(|x| 1.0 + 300.0 * x).collect();
        let record = Record {
            depth_m: &x,
            rate_mps: &[0.1; 100],
            force_n: &force,
        };
        let fit = touch(&record).unwrap();
        assert_eq!(fit.unidentifiable.len(), 1);
        let direction = &fit.unidentifiable[0];
        assert!(direction[1].abs() < 1e-9 && (direction[0] + direction[2]).abs() < 1e-9);
        assert!(fit.errors[0].is_infinite() && fit.errors[2].is_infinite());
        assert!((fit.coefficients[1] - 300.0).abs() < 1e-9 && fit.errors[1] < 1e-6);
    }

    #[test]
    fn s4_60_stiffness_is_read_by_segments() {
        let depth: Vec<f64> = (0..300).map(|i| f64::from(i) * 1e-4).collect();
        let contacts: Vec<u32> = (0..300)
            .map(|i| {
                if i < 50 {
                    0
                } else if i < 150 {
                    2
                } else {
                    4
                }
            })
            .collect();
        let force = |x: &f64| 46.0 * (x - 0.005).clamp(0.0, 0.01) + 75.2 * (x - 0.015).max(0.0);
        let force: Vec<f64> = depth.iter().map(force).collect();
        let record = Record {
            depth_m: &depth,
            rate_mps: &[0.0; 300],
            force_n: &force,
        };
        let found = segments(&record, &contacts, 10).unwrap();
        let slopes: Vec<f64> = found.iter().map(|s| s.fit.coefficients[1]).collect();
        assert_eq!(
            (found[0].contacts, found[1].contacts, found.len()),
            (2, 4, 2)
        );
        assert!((slopes[0] - 46.0).abs() < 1e-9 && (slopes[1] - 75.2).abs() < 1e-9);
        assert!(found.iter().all(|s| s.fit.r_squared > 1.0 - 1e-12));
        let whole = least_squares(&[&[1.0; 300], &depth], &force).unwrap();
        assert!(whole.r_squared < 0.99);
    }

    #[test]
    fn bad_records_are_named() {
        let few = least_squares(&[&[1.0], &[2.0]], &[1.0]).unwrap_err();
        assert_eq!(
            few,
            FitError::Few {
                found: 1,
                expected: 2
            }
        );
        let short = least_squares(&[&[1.0]], &[1.0, 2.0]).unwrap_err();
        assert_eq!(
            short,
            FitError::Length {
                column: 0,
                found: 1,
                expected: 2
            }
        );
        let nan = least_squares(&[&[1.0, f64::NAN]], &[1.0, 2.0]).unwrap_err();
        assert!(nan.to_string().contains("observation 1 of column 0 is NaN"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_exact_model_is_recovered(
            offset_n in -5.0..5.0_f64, k_npm in 10.0..5000.0_f64, b_nspm in 0.0..50.0_f64,
        ) {
            let time = |i: u32| f64::from(i) * 0.01;
            let depth: Vec<f64> = (0..400).map(|i| 0.01 * (3.0 * time(i)).sin()).collect();
            let rate: Vec<f64> = (0..400).map(|i| 0.03 * (3.0 * time(i)).cos()).collect();
            let force: Vec<f64> = depth.iter().zip(&rate)
                .map(|(x, v)| offset_n + k_npm * x + b_nspm * v).collect();
            let record = Record { depth_m: &depth, rate_mps: &rate, force_n: &force };
            let fit = touch(&record).unwrap();
            prop_assert!(fit.unidentifiable.is_empty());
            let size = offset_n.abs() + 0.01 * k_npm + 0.03 * b_nspm;
            prop_assert!((fit.coefficients[0] - offset_n).abs() < 1e-9 * size);
            prop_assert!((fit.coefficients[1] - k_npm).abs() < 1e-7 * size);
            prop_assert!((fit.coefficients[2] - b_nspm).abs() < 1e-7 * size);
        }

        #[test]
        fn residuals_are_normal_to_the_columns(y in prop::collection::vec(-9.0..9.0_f64, 12)) {
            let x: Vec<f64> = noise(12);
            let fit = least_squares(&[&x, &[1.0; 12]], &y).unwrap();
            let model = |i: usize| fit.coefficients[0] * x[i] + fit.coefficients[1];
            let along: f64 = (0..12).map(|i| x[i] * (y[i] - model(i))).sum();
            let sum: f64 = (0..12).map(|i| y[i] - model(i)).sum();
            prop_assert!(along.abs() < 1e-10 && sum.abs() < 1e-10);
        }
    }
}
