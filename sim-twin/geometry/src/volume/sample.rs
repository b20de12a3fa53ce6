//! Values between voxels, and volumes with other samples.
//!
//! Source: ours. Labels are taken from the nearest voxel, since half a bone and half a muscle is no tissue;
//! intensities are weighted by three straight lines.

use super::grid::{Grid, Voxels};

/// The value of the voxel nearest to a place in fractions of indices; none outside of all voxels.
#[must_use]
pub fn nearest<T: Copy>(volume: &Voxels<T>, index: [f64; 3]) -> Option<T> {
    // beyond any index, infinite ones end at the farthest, which is outside as well; NaN is 0
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let whole = index.map(|along| libm::round(along) as i64);
    if index.iter().any(|along| along.is_nan()) {
        return None;
    }
    volume.get(whole)
}

/// The value at a place in fractions of indices, on three straight lines between the eight voxels around
/// it; none outside of all voxels. Beyond the middle of the outermost voxel its value stands.
#[must_use]
pub fn linear(volume: &Voxels<f32>, index: [f64; 3]) -> Option<f32> {
    let counts = volume.grid.counts;
    let mut low = [0_usize; 3];
    let mut share = [0.0; 3];
    for axis in 0..3 {
        let last = (counts[axis] - 1) as f64;
        if !(-0.5..=last + 0.5).contains(&index[axis]) {
            return None;
        }
        let along = index[axis].clamp(0.0, last);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the last index"
        )]
        let below = along as usize;
        low[axis] = below.min(counts[axis].saturating_sub(2));
        share[axis] = along - low[axis] as f64;
    }
    let mut value = 0.0;
    for corner in 0..8_usize {
        let mut at = low;
        let mut weight = 1.0;
        for axis in 0..3 {
            let up = corner >> axis & 1;
            at[axis] = (at[axis] + up).min(counts[axis] - 1);
            weight *= if up == 1 {
                share[axis]
            } else {
                1.0 - share[axis]
            };
        }
        if weight > 0.0 {
            value += weight * f64::from(volume.values[volume.grid.slot(at)]);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "as exact as what went in")]
    let value = value as f32;
    Some(value)
}

/// A volume on another lattice along its own axes and about its own middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Along {
    /// Index of the first new sample, in fractions of old ones, by axis.
    first: [f64; 3],
    /// From a new sample to the next.
    step: [f64; 3],
    /// The new box.
    pub grid: Grid,
}

impl Along {
    /// Samples at a distance of `spacing_m` that stand for no more than the old box does; the old samples if their
    /// distance is the same.
    #[must_use]
    pub fn new(old: &Grid, spacing_m: [f64; 3]) -> Self {
        let own_m = old.spacing_m();
        let step: [f64; 3] = std::array::from_fn(|axis| spacing_m[axis] / own_m[axis]);
        let counts = std::array::from_fn(|axis| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "no more than the box has at the least distance"
            )]
            let fit = libm::floor(old.counts[axis] as f64 / step[axis] + 1e-6) as usize;
            fit.max(1)
        });
        let middle = |counts: [usize; 3], axis: usize| 0.5 * (counts[axis] as f64 - 1.0);
        let first = std::array::from_fn(|axis| {
            middle(old.counts, axis) - step[axis] * middle(counts, axis)
        });
        Self {
            first,
            step,
            grid: Grid {
                counts,
                origin_m: old.at_m(first),
                steps_m: std::array::from_fn(|axis| old.steps_m[axis] * step[axis]),
            },
        }
    }

    /// Where a new sample is, in fractions of old indices.
    #[must_use]
    pub fn index(&self, at: [usize; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| self.first[axis] + self.step[axis] * at[axis] as f64)
    }
}

/// Labels at another distance \[m\], each that of its nearest voxel.
///
/// # Errors
/// [`super::GridError`] if the new box cannot be.
pub fn labels_at(
    volume: &Voxels<u16>,
    spacing_m: [f64; 3],
) -> Result<Voxels<u16>, super::GridError> {
    let along = Along::new(&volume.grid, spacing_m);
    along.grid.check()?;
    let of = |at| nearest(volume, along.index(at)).unwrap_or(0);
    Voxels::new(along.grid, along.grid.indices().map(of).collect())
}

/// Intensities at another distance \[m\], on three straight lines.
///
/// # Errors
/// [`super::GridError`] if the new box cannot be.
pub fn intensities_at(
    volume: &Voxels<f32>,
    spacing_m: [f64; 3],
) -> Result<Voxels<f32>, super::GridError> {
    let along = Along::new(&volume.grid, spacing_m);
    along.grid.check()?;
    let of = |at| linear(volume, along.index(at)).unwrap_or(0.0);
    Voxels::new(along.grid, along.grid.indices().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::Vec3;
    use proptest::prelude::*;

    fn ramp(counts: [usize; 3]) -> Voxels<f32> {
        let grid = Grid::straight(counts, Vec3::new(0.01, 0.0, -0.02), [1e-3, 1.5e-3, 2e-3]);
        let value = |[x, y, z]: [usize; 3]| (x + 10 * y + 100 * z) as f32;
        Voxels::new(grid, grid.indices().map(value).collect()).expect("fits")
    }

    proptest! {
        /// Three straight lines give back what is straight in each index, and never leave the range of values.
        #[test]
        fn what_is_straight_stays_so(x in 0.0..4.0, y in 0.0..3.0, z in 0.0..2.0) {
            let value = linear(&ramp([5, 4, 3]), [x, y, z]).expect("inside");
            prop_assert!((f64::from(value) - (x + 10.0 * y + 100.0 * z)).abs() < 1e-3);
        }

        #[test]
        fn no_place_is_a_panic(x in any::<f64>(), y in any::<f64>(), z in any::<f64>()) {
            for index in [[x, y, z], [0.0, y, 0.0], [x, 1.0, f64::NAN]] {
                let _ = (nearest(&ramp([3, 1, 2]), index), linear(&ramp([3, 1, 2]), index));
            }
        }
    }

    #[test]
    fn the_same_distance_gives_the_same_volume() {
        let volume = ramp([7, 4, 5]);
        let again = intensities_at(&volume, volume.grid.spacing_m()).expect("fits");
        assert_eq!(again.values, volume.values);
        assert!((again.grid.origin_m - volume.grid.origin_m).amax() < 1e-15);
        let labels = volume.map(|value| value as u16);
        let again = labels_at(&labels, labels.grid.spacing_m()).expect("fits");
        assert_eq!(again.values, labels.values);
    }

    #[test]
    fn labels_are_never_mixed_and_the_middle_stays() {
        let labels = ramp([6, 4, 4]).map(|value| if value < 100.0 { 1 } else { 7 });
        let fine = labels_at(&labels, [0.3e-3; 3]).expect("fits");
        assert!(fine.values.iter().all(|label| [1, 7].contains(label)));
        let middle = |grid: &Grid| grid.at_m(grid.counts.map(|n| 0.5 * (n as f64 - 1.0)));
        assert!((middle(&fine.grid) - middle(&labels.grid)).amax() < 1e-12);
        let share = |volume: &Voxels<u16>| {
            let ones = volume.values.iter().filter(|&&label| label == 1).count();
            ones as f64 / volume.values.len() as f64
        };
        assert!((share(&fine) - share(&labels)).abs() < 0.05);
        assert!(labels_at(&labels, [1e-9; 3]).is_err());
    }
}
