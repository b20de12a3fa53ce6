//! Linear least squares with errors.
//!
//! Source: ours. The solution goes through the eigenvectors of the normal matrix of scaled columns, so that
//! directions that the data do not determine are found and set to zero.

use nalgebra::{DMatrix, DVector};

/// Eigenvalues of the normal matrix below this fraction of the largest count as zero.
const RANK_SHARE: f64 = 1e-9;

/// Reason why no fit is possible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Too few observations.
    #[error("{found} observations; expected at least {expected}")]
    Few {
        /// Observations found.
        found: usize,
        /// Observations needed.
        expected: usize,
    },
    /// A column and the observations differ in length.
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
pub struct LinearFit {
    /// Coefficients, in the units of the observations over those of their columns.
    pub coefficients: Vec<f64>,
    /// Their standard errors, in the same units; infinite where [`LinearFit::unidentifiable`] reaches.
    pub errors: Vec<f64>,
    /// Unit directions in the space of the scaled coefficients that leave the model unchanged.
    ///
    /// Entry i of a direction belongs to coefficient i times the root mean square of column i.
    /// Empty if the data determine all coefficients.
    pub unidentifiable: Vec<Vec<f64>>,
    /// Root mean square of the residual, over the degrees of freedom.
    pub residual: f64,
    /// Fraction of the variance that the model explains; 1 for constant observations without residual.
    pub r_squared: f64,
    /// Number of observations.
    pub observations: usize,
}

/// Fits `observed = sum of coefficient_i * column_i` by least squares.
///
/// If the data leave a direction undetermined, the shortest scaled solution is taken.
///
/// # Errors
/// [`FitError`] if there are too few observations, lengths differ or a value is not finite.
pub fn least_squares(columns: &[&[f64]], observed: &[f64]) -> Result<LinearFit, FitError> {
    check(columns, observed)?;
    let (rows, count) = (observed.len(), columns.len());
    // Columns are scaled to one size first: rank must not depend on units.
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
    Ok(LinearFit {
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
    fn line_fit_has_the_textbook_slope_and_error() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let y: Vec<f64> = x
            .iter()
            .zip(noise(50))
            .map(|(x, noise)| 3.0 - 0.2 * x + noise)
            .collect();
        let fit = least_squares(&[&vec![1.0; 50], &x], &y).unwrap();
        // Second route: sums about the mean.
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
    fn invalid_records_are_named() {
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
