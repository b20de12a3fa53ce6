//! Interpolation between voxels, and resampling of volumes.
//!
//! Source: ours. Labels are taken from the nearest voxel, since a mean of labels is no tissue;
//! intensities are interpolated trilinearly.

use super::grid::{VoxelGrid, VoxelVolume};
use crate::Defect;

/// Value of the voxel nearest to a position in fractional indices; none outside of all voxels.
#[must_use]
pub fn nearest<T: Copy>(volume: &VoxelVolume<T>, index: [f64; 3]) -> Option<T> {
    // infinite indices saturate to one outside as well; NaN becomes 0
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let whole = index.map(|along| libm::round(along) as i64);
    if index.iter().any(|along| along.is_nan()) {
        return None;
    }
    volume.get(whole)
}

/// Trilinear value at a position in fractional indices; none outside of all voxels. Constant beyond the centres of
/// the outermost voxels.
#[must_use]
pub fn linear(volume: &VoxelVolume<f32>, index: [f64; 3]) -> Option<f32> {
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
            value += weight * f64::from(volume.values[volume.grid.linear_index(at)]);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "as exact as the inputs")]
    let value = value as f32;
    Some(value)
}

/// Resamples a volume along its own axes and about its own centre by `value`: labels by [`nearest`], intensities by
/// [`linear`]. Returns samples at a distance of `spacing_m` \[m\] that cover no more than the old box; the old samples
/// if their distance is the same, or none is given.
///
/// # Errors
/// [`Defect`] if the new grid is invalid.
pub fn resample<T: Copy + Default>(
    volume: &VoxelVolume<T>,
    spacing_m: Option<f64>,
    value: impl Fn(&VoxelVolume<T>, [f64; 3]) -> Option<T>,
) -> Result<VoxelVolume<T>, Defect> {
    let old = &volume.grid;
    let own_m = old.spacing_m();
    let step = own_m.map(|own_m| spacing_m.unwrap_or(own_m) / own_m);
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
    // fractional index of the first new sample in the old grid
    let first: [f64; 3] =
        std::array::from_fn(|axis| middle(old.counts, axis) - step[axis] * middle(counts, axis));
    let grid = VoxelGrid {
        counts,
        origin_m: old.position_m(first),
        steps_m: std::array::from_fn(|axis| old.steps_m[axis] * step[axis]),
    };
    grid.check()?;
    let index = |at: [usize; 3]| -> [f64; 3] {
        std::array::from_fn(|axis| first[axis] + step[axis] * at[axis] as f64)
    };
    let values = grid.indices();
    let values = values.map(|at| value(volume, index(at)).unwrap_or_default());
    VoxelVolume::new(grid, values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::Vec3;
    use proptest::prelude::*;

    fn ramp(counts: [usize; 3]) -> VoxelVolume<f32> {
        let grid =
            VoxelGrid::axis_aligned(counts, Vec3::new(0.01, 0.0, -0.02), [1e-3, 1.5e-3, 2e-3]);
        let value = |[x, y, z]: [usize; 3]| (x + 10 * y + 100 * z) as f32;
        VoxelVolume::new(grid, grid.indices().map(value).collect()).expect("fits")
    }

    proptest! {
        /// Trilinear interpolation reproduces linear functions, and never leaves the range of values.
        #[test]
        fn linear_functions_are_reproduced(x in 0.0..4.0, y in 0.0..3.0, z in 0.0..2.0) {
            let value = linear(&ramp([5, 4, 3]), [x, y, z]).expect("inside");
            prop_assert!((f64::from(value) - (x + 10.0 * y + 100.0 * z)).abs() < 1e-3);
        }

        #[test]
        fn any_position_is_sampled_without_a_panic(x in any::<f64>(), y in any::<f64>(), z in any::<f64>()) {
            for index in [[x, y, z], [0.0, y, 0.0], [x, 1.0, f64::NAN]] {
                let _ = (nearest(&ramp([3, 1, 2]), index), linear(&ramp([3, 1, 2]), index));
            }
        }
    }

    #[test]
    fn the_same_distance_gives_the_same_volume() {
        let volume = ramp([7, 4, 5]);
        let again = resample(&volume, None, linear).expect("fits");
        assert_eq!(again.values, volume.values);
        assert!((again.grid.origin_m - volume.grid.origin_m).amax() < 1e-15);
        let labels = volume.map(|value| value as u16);
        let again = resample(&labels, None, nearest).expect("fits");
        assert_eq!(again.values, labels.values);
    }

    #[test]
    fn labels_are_never_mixed_and_the_centre_stays() {
        let labels = ramp([6, 4, 4]).map(|value| if value < 100.0 { 1 } else { 7 });
        let fine = resample(&labels, Some(0.3e-3), nearest).expect("fits");
        assert!(fine.values.iter().all(|label| [1, 7].contains(label)));
        let middle =
            |grid: &VoxelGrid| grid.position_m(grid.counts.map(|n| 0.5 * (n as f64 - 1.0)));
        assert!((middle(&fine.grid) - middle(&labels.grid)).amax() < 1e-12);
        let share = |volume: &VoxelVolume<u16>| {
            let ones = volume.values.iter().filter(|&&label| label == 1).count();
            ones as f64 / volume.values.len() as f64
        };
        assert!((share(&fine) - share(&labels)).abs() < 0.05);
        assert!(resample(&labels, Some(1e-9), nearest).is_err());
    }
}
