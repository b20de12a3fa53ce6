//! Linear contact models: stiffness and damping of a record, and stiffness by segments.
//!
//! Source: seed-004 3.12 (row S4-60, Figs 6-2 and 6-3) for the piecewise readout; S4-P09 for the
//! model `F = c + K x + B v`. Symbols: `F` force \[N\], `x` depth \[m\], `v` rate of depth \[m/s\],
//! `c` offset \[N\], `K` stiffness \[N/m\], `B` damping \[N s/m\].

use palpate_calib::fit::{FitError, LinearFit, least_squares};

/// A contact record: three columns of equal length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchColumns<'a> {
    /// Depth `x` \[m\].
    pub depth_m: &'a [f64],
    /// Rate of the depth `v` \[m/s\].
    pub rate_mps: &'a [f64],
    /// Force `F` \[N\].
    pub force_n: &'a [f64],
}

/// Fits `F = c + K x + B v`; the coefficients are `[c, K, B]`.
///
/// # Errors
/// Those of [`least_squares`].
pub fn fit_touch(record: &TouchColumns<'_>) -> Result<LinearFit, FitError> {
    let ones = vec![1.0; record.force_n.len()];
    least_squares(&[&ones, record.depth_m, record.rate_mps], record.force_n)
}

/// Stiffness of a segment with a constant number of contacts.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Index of its first observation.
    pub start: usize,
    /// Index after its last observation.
    pub end: usize,
    /// Number of contacts.
    pub contacts: u32,
    /// Fit of `F = c + K x`; the coefficients are `[c, K]`.
    pub fit: LinearFit,
}

/// Fits one line to each segment of constant contact count (seed-004 3.12).
///
/// Segments without contact or with fewer than `least` observations are skipped.
///
/// # Errors
/// Those of [`least_squares`], and [`FitError::Length`] with column 3 for the contact counts.
pub fn segments(
    record: &TouchColumns<'_>,
    contacts: &[u32],
    least: usize,
) -> Result<Vec<Segment>, FitError> {
    let expected = record.force_n.len();
    least_squares(&[record.depth_m], record.force_n)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unidentifiable_coefficients_are_reported() {
        // at constant speed from the start, depth and offset differ, but v repeats the offset
        let x: Vec<f64> = (0..100).map(|i| f64::from(i) * 1e-4).collect();
        let force: Vec<f64> = x.iter().map(|x| 1.0 + 300.0 * x).collect();
        let record = TouchColumns {
            depth_m: &x,
            rate_mps: &[0.1; 100],
            force_n: &force,
        };
        let fit = fit_touch(&record).unwrap();
        assert_eq!(fit.unidentifiable.len(), 1);
        let direction = &fit.unidentifiable[0];
        assert!(direction[1].abs() < 1e-9 && (direction[0] + direction[2]).abs() < 1e-9);
        assert!(fit.errors[0].is_infinite() && fit.errors[2].is_infinite());
        assert!((fit.coefficients[1] - 300.0).abs() < 1e-9 && fit.errors[1] < 1e-6);
    }

    #[test]
    fn s4_60_stiffness_is_fitted_by_segments() {
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
        let record = TouchColumns {
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn exact_model_is_recovered(
            offset_n in -5.0..5.0_f64, k_npm in 10.0..5000.0_f64, b_nspm in 0.0..50.0_f64,
        ) {
            let time = |i: u32| f64::from(i) * 0.01;
            let depth: Vec<f64> = (0..400).map(|i| 0.01 * (3.0 * time(i)).sin()).collect();
            let rate: Vec<f64> = (0..400).map(|i| 0.03 * (3.0 * time(i)).cos()).collect();
            let force: Vec<f64> = depth.iter().zip(&rate)
                .map(|(x, v)| offset_n + k_npm * x + b_nspm * v).collect();
            let record = TouchColumns { depth_m: &depth, rate_mps: &rate, force_n: &force };
            let fit = fit_touch(&record).unwrap();
            prop_assert!(fit.unidentifiable.is_empty());
            let size = offset_n.abs() + 0.01 * k_npm + 0.03 * b_nspm;
            prop_assert!((fit.coefficients[0] - offset_n).abs() < 1e-9 * size);
            prop_assert!((fit.coefficients[1] - k_npm).abs() < 1e-7 * size);
            prop_assert!((fit.coefficients[2] - b_nspm).abs() < 1e-7 * size);
        }
    }
}
