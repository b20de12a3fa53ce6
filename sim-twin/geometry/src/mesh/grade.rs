//! Coordinates along one axis: fine where contact may come, geometrically coarser away from it.
//!
//! Source: ours. The largest error of a probed mesh is its cell size under the probe, so cells go
//! there and not into the far field; a growth of at most 1.3 from cell to cell keeps the far field
//! smooth.

/// Most cells along one axis: a bound on what a wrong number can allocate.
pub const CELLS_MAX: usize = 4096;

/// Where an axis is fine, and how it grows away from there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grading {
    /// Start of the fine zone \[m\], at least 0.
    pub from_m: f64,
    /// End of the fine zone \[m\], at most the length of the axis.
    pub to_m: f64,
    /// Size of a cell in the fine zone \[m\]; shrunk so that the zone holds a whole number.
    pub cell_m: f64,
    /// Largest ratio of neighbouring cells outside, above 1.
    pub growth: f64,
}

/// Why an axis cannot be graded.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GradeError {
    /// The axis has no length.
    #[error("an axis of {0} m; expected a finite length above 0")]
    Length(f64),
    /// The fine zone is not inside the axis.
    #[error("a fine zone from {from_m} to {to_m} m; expected it inside 0 to {length_m} m")]
    Zone {
        /// Its start \[m\].
        from_m: f64,
        /// Its end \[m\].
        to_m: f64,
        /// Length of the axis \[m\].
        length_m: f64,
    },
    /// The cell is out of range.
    #[error("a cell of {0} m; expected a finite size above 0")]
    Cell(f64),
    /// The growth is out of range.
    #[error("a growth of {0}; expected a finite ratio above 1")]
    Growth(f64),
    /// Too many cells.
    #[error("the axis needs more than {CELLS_MAX} cells")]
    Cells,
}

impl Grading {
    /// Coordinates from 0 to `length_m`, both exact, ascending.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn axis(&self, length_m: f64) -> Result<Vec<f64>, GradeError> {
        self.check(length_m)?;
        // a rest of less than a tenth of a cell beside the zone is rounding: the zone takes it
        let near = |distance_m: f64| distance_m < 0.1 * self.cell_m.min(length_m);
        let from_m = if near(self.from_m) { 0.0 } else { self.from_m };
        let to_m = if near(length_m - self.to_m) {
            length_m
        } else {
            self.to_m
        };
        let fine = ((to_m - from_m) / self.cell_m - 1e-6).ceil().max(1.0);
        if fine > CELLS_MAX as f64 {
            return Err(GradeError::Cells);
        }
        let cell_m = (to_m - from_m) / fine;
        let mut axis_m = vec![0.0];
        // the ends of the zone and of the axis are set, not summed, so that they are exact
        let before = growing(from_m, cell_m, self.growth)?;
        for size in before.iter().skip(1).rev() {
            axis_m.push(axis_m[axis_m.len() - 1] + size);
        }
        if from_m > 0.0 {
            axis_m.push(from_m);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let fine = fine as u32;
        axis_m.extend((1..fine).map(|i| from_m + cell_m * f64::from(i)));
        axis_m.push(to_m);
        let after = growing(length_m - to_m, cell_m, self.growth)?;
        for size in after.split_last().map_or(&[][..], |(_, inner)| inner) {
            axis_m.push(axis_m[axis_m.len() - 1] + size);
        }
        if to_m < length_m {
            axis_m.push(length_m);
        }
        if axis_m.len() > CELLS_MAX {
            return Err(GradeError::Cells);
        }
        Ok(axis_m)
    }

    fn check(&self, length_m: f64) -> Result<(), GradeError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(length_m) {
            return Err(GradeError::Length(length_m));
        }
        let inside = self.from_m >= 0.0 && self.from_m < self.to_m && self.to_m <= length_m;
        if !inside {
            return Err(GradeError::Zone {
                from_m: self.from_m,
                to_m: self.to_m,
                length_m,
            });
        }
        if !positive(self.cell_m) {
            return Err(GradeError::Cell(self.cell_m));
        }
        if !(self.growth.is_finite() && self.growth > 1.0) {
            return Err(GradeError::Growth(self.growth));
        }
        Ok(())
    }
}

/// Even coordinates from 0 to `length_m`, both exact; `cells` at least 1.
#[cfg(test)]
pub(crate) fn even(length_m: f64, cells: u32) -> Vec<f64> {
    let cells = cells.max(1);
    let count = f64::from(cells);
    (0..=cells)
        .map(|i| length_m * (f64::from(i) / count))
        .collect()
}

/// Sizes of the fewest cells that fill `distance_m` after a cell of `cell_m`, each a constant ratio
/// of at most `growth` larger than the one before.
fn growing(distance_m: f64, cell_m: f64, growth: f64) -> Result<Vec<f64>, GradeError> {
    let (mut count, mut reach, mut size) = (0_usize, 0.0, cell_m);
    while reach < distance_m {
        size *= growth;
        reach += size;
        count += 1;
        if count > CELLS_MAX {
            return Err(GradeError::Cells);
        }
    }
    let sizes = |ratio: f64| {
        let mut size = cell_m;
        (0..count).map(move |_| {
            size *= ratio;
            size
        })
    };
    // the sum grows with the ratio; a ratio below 1 is possible for one or two cells only
    let (mut low, mut high) = (0.0, growth);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if sizes(middle).sum::<f64>() < distance_m {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(sizes(high).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn axes_are_exact_ascending_and_smooth(
            length_m in 0.01..1.0_f64, a in 0.0..1.0_f64, b in 0.0..1.0_f64,
            cell in 0.002..0.2_f64, growth in 1.05..2.0_f64,
        ) {
            let (from_m, to_m) = (a.min(b) * length_m, a.max(b) * length_m);
            prop_assume!(to_m - from_m > 1e-3 * length_m);
            let grading = Grading { from_m, to_m, cell_m: cell * length_m, growth };
            let axis_m = grading.axis(length_m).unwrap();
            prop_assert_eq!(axis_m[0], 0.0);
            prop_assert_eq!(axis_m[axis_m.len() - 1], length_m);
            let sizes: Vec<f64> = axis_m.windows(2).map(|w| w[1] - w[0]).collect();
            prop_assert!(sizes.iter().all(|&size| size > 0.0));
            for pair in sizes.windows(2) {
                let ratio = (pair[1] / pair[0]).max(pair[0] / pair[1]);
                // a lone last cell may be small, down to a tenth
                prop_assert!(ratio < 12.0, "{ratio}");
                let growing = pair[1] > pair[0];
                let outward = if growing { pair[1] / pair[0] } else { 1.0 };
                prop_assert!(outward < 12.0);
            }
            let fine = sizes.iter().copied().filter(|&s| s <= cell * length_m * (1.0 + 1e-9));
            prop_assert!(fine.count() >= 1);
        }
    }

    #[test]
    fn a_zone_at_the_end_grows_to_the_other_side_only() {
        let grading = Grading {
            from_m: 0.092,
            to_m: 0.1,
            cell_m: 0.001,
            growth: 1.25,
        };
        let axis_m = grading.axis(0.1).unwrap();
        assert!((axis_m[axis_m.len() - 9] - 0.092).abs() < 1e-15);
        let sizes: Vec<f64> = axis_m.windows(2).map(|w| w[1] - w[0]).collect();
        for pair in sizes.windows(2) {
            assert!(pair[1] <= pair[0] * (1.0 + 1e-9) && pair[0] <= 1.2501 * pair[1]);
        }
    }

    #[test]
    fn wrong_numbers_are_named() {
        let good = Grading {
            from_m: 0.0,
            to_m: 0.1,
            cell_m: 0.01,
            growth: 1.2,
        };
        assert_eq!(good.axis(-1.0), Err(GradeError::Length(-1.0)));
        assert!(matches!(good.axis(0.05), Err(GradeError::Zone { .. })));
        let cell = Grading {
            cell_m: 0.0,
            ..good
        };
        assert_eq!(cell.axis(0.1), Err(GradeError::Cell(0.0)));
        let growth = Grading {
            growth: 1.0,
            ..good
        };
        assert_eq!(growth.axis(0.1), Err(GradeError::Growth(1.0)));
        let tiny = Grading {
            cell_m: 1e-9,
            ..good
        };
        assert_eq!(tiny.axis(0.1), Err(GradeError::Cells));
    }
}
