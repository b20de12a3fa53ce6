//! Graded coordinates along one axis: fine in a contact zone, geometrically coarser away from it.
//!
//! Source: ours. The largest error of a probed mesh is its cell size under the probe, so cells are small
//! there and not in the far field. A growth of at most 1.3 from cell to cell keeps the far field
//! smooth.

use crate::Defect;

/// Most cells along one axis: a bound on what a wrong number can allocate.
const CELLS_MAX: usize = 4096;

/// Fine zone of an axis, and growth of the cells away from it.
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

impl Grading {
    /// Returns coordinates from 0 to `length_m`, both exact, ascending.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn axis(&self, length_m: f64) -> Result<Vec<f64>, Defect> {
        self.check(length_m)?;
        // a rest of less than a tenth of a cell beside the zone is rounding and becomes part of the zone
        let near = |distance_m: f64| distance_m < 0.1 * self.cell_m.min(length_m);
        let from_m = if near(self.from_m) { 0.0 } else { self.from_m };
        let to_m = if near(length_m - self.to_m) {
            length_m
        } else {
            self.to_m
        };
        let fine = ((to_m - from_m) / self.cell_m - 1e-6).ceil().max(1.0);
        if fine > CELLS_MAX as f64 {
            return Err(too_many());
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
            return Err(too_many());
        }
        Ok(axis_m)
    }

    fn check(&self, length_m: f64) -> Result<(), Defect> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let refuse = |found: String, expected: &str| Err(Defect::new(found, expected));
        let (from_m, to_m, cell_m, growth) = (self.from_m, self.to_m, self.cell_m, self.growth);
        if !positive(length_m) {
            return refuse(
                format!("an axis of {length_m} m"),
                "a finite length above 0",
            );
        }
        if !(from_m >= 0.0 && from_m < to_m && to_m <= length_m) {
            let found = format!("a fine zone from {from_m} to {to_m} m");
            return refuse(found, &format!("it inside 0 to {length_m} m"));
        }
        if !positive(cell_m) {
            return refuse(format!("a cell of {cell_m} m"), "a finite size above 0");
        }
        if !(growth.is_finite() && growth > 1.0) {
            return refuse(format!("a growth of {growth}"), "a finite ratio above 1");
        }
        Ok(())
    }
}

/// Returns ascending coordinates \[m\] that include all of `breaks_m`, from the first to the last. `breaks_m` must
/// ascend. The edge at a place is about as long as `size_m` of that place, which is above 0. At least two edges lie
/// between neighbouring breaks.
///
/// # Errors
/// If breaks are missing, do not ascend, or need too many cells.
pub fn aligned_axis(breaks_m: &[f64], size_m: impl Fn(f64) -> f64) -> Result<Vec<f64>, Defect> {
    /// Steps of the integral of the number of edges between two breaks.
    const STEPS: u32 = 400;
    let ascends = breaks_m.windows(2).all(|pair| pair[0] < pair[1]);
    if breaks_m.len() < 2 || !ascends {
        let found = format!("breaks at {breaks_m:?} m");
        return Err(Defect::new(found, "two or more that ascend"));
    }
    let mut axis_m = vec![breaks_m[0]];
    for pair in breaks_m.windows(2) {
        let (low_m, high_m) = (pair[0], pair[1]);
        let step_m = (high_m - low_m) / f64::from(STEPS);
        let place_m = |step: f64| low_m + step_m * step;
        let density = |step: u32| step_m / size_m(place_m(f64::from(step) + 0.5));
        let total: f64 = (0..STEPS).map(density).sum();
        let edges = total.ceil().max(2.0);
        let is_few = edges < CELLS_MAX as f64;
        if !is_few || axis_m.len() > CELLS_MAX {
            return Err(too_many());
        }
        let (mut reached, mut next) = (0.0, 1.0);
        for step in 0..STEPS {
            let own = density(step) * edges / total;
            while next < edges && reached + own >= next {
                axis_m.push(place_m(f64::from(step) + (next - reached) / own));
                next += 1.0;
            }
            reached += own;
        }
        axis_m.push(high_m);
    }
    Ok(axis_m)
}

fn too_many() -> Defect {
    Defect::from_text(format!("the axis needs more than {CELLS_MAX} cells"))
}

/// Sizes of the fewest cells that fill `distance_m` beside a cell of `cell_m`, each larger than the one before by a
/// constant ratio of at most `growth`.
fn growing(distance_m: f64, cell_m: f64, growth: f64) -> Result<Vec<f64>, Defect> {
    let (mut count, mut reach, mut size) = (0_usize, 0.0, cell_m);
    while reach < distance_m {
        size *= growth;
        reach += size;
        count += 1;
        if count > CELLS_MAX {
            return Err(too_many());
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
    fn zone_at_the_end_grades_to_one_side_only() {
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
    fn aligned_axis_has_all_breaks_and_the_sizes_of_their_place() {
        let size_m = |x_m: f64| 0.001 + 0.1 * x_m.abs();
        let breaks_m = [-0.032, -0.01, -0.002, 0.0];
        let axis_m = aligned_axis(&breaks_m, size_m).unwrap();
        assert!(breaks_m.iter().all(|x_m| axis_m.contains(x_m)));
        for pair in axis_m.windows(2) {
            let expected_m = size_m(0.5 * (pair[0] + pair[1]));
            let edge_m = pair[1] - pair[0];
            assert!(
                edge_m < 1.1 * expected_m && edge_m > 0.5 * expected_m,
                "{pair:?}"
            );
        }
        assert!(
            aligned_axis(&[0.0], size_m).is_err() && aligned_axis(&[0.1, 0.0], size_m).is_err()
        );
        assert!(aligned_axis(&[0.0, 1.0], |_| 1e-9).is_err());
    }

    #[test]
    fn wrong_numbers_are_named() {
        let good = Grading {
            from_m: 0.0,
            to_m: 0.1,
            cell_m: 0.01,
            growth: 1.2,
        };
        let refused = |grading: Grading, length_m, text: &str| {
            let refusal = grading.axis(length_m).unwrap_err().to_string();
            assert!(refusal.starts_with(text), "{refusal}");
        };
        refused(good, -1.0, "an axis of -1 m; ");
        refused(good, 0.05, "a fine zone from 0 to 0.1 m; ");
        let cell = |cell_m| Grading { cell_m, ..good };
        refused(cell(0.0), 0.1, "a cell of 0 m; ");
        let growth = Grading {
            growth: 1.0,
            ..good
        };
        refused(growth, 0.1, "a growth of 1; ");
        refused(cell(1e-9), 0.1, "the axis needs more than 4096 cells");
    }
}
