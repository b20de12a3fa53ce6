//! Orientation of a volume: the axis that points to the hand.
//!
//! Source: ours. Axes are permuted cyclically and may be reversed, so that a body is rotated and
//! never mirrored.

use palpate_geometry::volume::{VoxelGrid, VoxelVolume};

/// Orientation of a volume in a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation {
    /// Axis of the volume along x, y and z of the scene.
    axes: [usize; 3],
    /// True if the axis is reversed.
    flipped: [bool; 3],
}

/// Names of axes in a scene: those of the file, x for the first.
pub(super) const NAMES: [&str; 6] = ["x", "-x", "y", "-y", "z", "-z"];

impl Orientation {
    /// Creates an orientation with this axis up; none for an unknown name.
    pub(super) fn with_up(name: &str, grid: &VoxelGrid) -> Option<Self> {
        let number = NAMES.iter().position(|known| *known == name)?;
        let (up, down) = (number / 2, number % 2 == 1);
        // x of the scene is reversed if z is or the file is a mirror image, but not both
        let flip = down == grid.is_right_handed();
        Some(Self {
            axes: [(up + 1) % 3, (up + 2) % 3, up],
            flipped: [flip, false, down],
        })
    }

    /// Counts and spacing \[m\] by axis of the scene.
    pub(super) fn box_of(&self, grid: &VoxelGrid) -> ([usize; 3], [f64; 3]) {
        let spacing_m = grid.spacing_m();
        (
            self.axes.map(|axis| grid.counts[axis]),
            self.axes.map(|axis| spacing_m[axis]),
        )
    }

    /// Values in the order of the scene's sites.
    pub(super) fn values(&self, volume: &VoxelVolume<u16>) -> Vec<u16> {
        let (counts, _) = self.box_of(&volume.grid);
        let sites = VoxelGrid {
            counts,
            ..volume.grid
        };
        let value = |site: [usize; 3]| {
            let mut index = [0; 3];
            for (along, &axis) in self.axes.iter().enumerate() {
                let at = site[along];
                index[axis] = if self.flipped[along] {
                    counts[along] - 1 - at
                } else {
                    at
                };
            }
            volume.values[volume.grid.linear_index(index)]
        };
        sites.indices().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;
    use palpate_twin::Vec3;

    /// The axes of the scene, in the file's space, are right-handed and match their names.
    #[test]
    fn every_axis_can_be_up_and_none_is_a_mirror() {
        for mirrored in [false, true] {
            let mut grid = VoxelGrid::axis_aligned([2, 3, 4], Vec3::zeros(), [1e-3, 2e-3, 3e-3]);
            if mirrored {
                grid.steps_m[0] *= -1.0;
            }
            let volume = VoxelVolume::new(grid, (0..24).collect()).expect("fits");
            for (name, axis) in NAMES.iter().zip([0, 0, 1, 1, 2, 2]) {
                let turn = Orientation::with_up(name, &grid).expect("known");
                let sign = |along: usize| if turn.flipped[along] { -1.0 } else { 1.0 };
                let step = |along: usize| grid.steps_m[turn.axes[along]] * sign(along);
                let turned = Matrix3::from_columns(&[step(0), step(1), step(2)]);
                assert!(turned.determinant() > 0.0, "{name}");
                assert_eq!(turn.axes[2], axis);
                let mut values = turn.values(&volume);
                let last = if name.starts_with('-') {
                    0
                } else {
                    grid.counts[axis] - 1
                };
                let mut top = [0; 3];
                top[axis] = last;
                let top = volume.values[grid.linear_index(top)];
                let (counts, _) = turn.box_of(&grid);
                let upper = values.len() - counts[0] * counts[1];
                assert!(values[upper..].contains(&top), "{name}");
                values.sort_unstable();
                assert_eq!(values, volume.values);
            }
            let plain = Orientation::with_up("z", &grid).expect("known");
            assert_eq!(plain.values(&volume) == volume.values, !mirrored);
        }
    }
}
