//! Grid of a voxel volume: a box of samples with the axes of its file.
//!
//! Source: ours. The first index of values runs fastest, as in NRRD, NIfTI and DICOM. Positions are those of
//! voxel centres.

use nalgebra::Matrix3;

use crate::Defect;
use palpate_twin::Vec3;

/// Most voxels of a volume, 512 x 512 x 512: a bound on what a wrong file can allocate.
pub(super) const VOXELS_MAX: usize = 1 << 27;
/// Least and largest distance of neighbours \[m\]; others indicate a mistaken unit.
const SPACING_M: (f64, f64) = (1e-7, 1.0);
/// Largest coordinate of an origin \[m\].
const ORIGIN_M_MAX: f64 = 1e3;

/// A box of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VoxelGrid {
    /// Samples along each axis, at least 1.
    pub counts: [usize; 3],
    /// Position of the first sample \[m\].
    pub origin_m: Vec3,
    /// Vector from a sample to the next, by axis \[m\].
    pub steps_m: [Vec3; 3],
}

impl VoxelGrid {
    /// Creates a grid along the axes of the world.
    #[must_use]
    pub fn axis_aligned(counts: [usize; 3], origin_m: Vec3, spacing_m: [f64; 3]) -> Self {
        let [x, y, z] = spacing_m;
        Self {
            counts,
            origin_m,
            steps_m: [
                Vec3::new(x, 0.0, 0.0),
                Vec3::new(0.0, y, 0.0),
                Vec3::new(0.0, 0.0, z),
            ],
        }
    }

    /// Checks that the grid is valid.
    ///
    /// # Errors
    /// [`Defect`] of the first error: no samples or more than `VOXELS_MAX`, steps of zero
    /// length, in one plane, or of an implausible size.
    pub fn check(&self) -> Result<(), Defect> {
        let product = self
            .counts
            .iter()
            .try_fold(1_usize, |product, &count| product.checked_mul(count));
        if !product.is_some_and(|product| (1..=VOXELS_MAX).contains(&product)) {
            let expected = format!("1 to {VOXELS_MAX} voxels together");
            return Err(refuse("sizes", &self.counts, &expected));
        }
        for (axis, length_m) in self.spacing_m().into_iter().enumerate() {
            if !(SPACING_M.0..=SPACING_M.1).contains(&length_m) {
                let expected = "0.0001 to 1000 mm between voxels; is the unit right?";
                let value = format!("{} mm along axis {axis}", length_m * 1e3);
                return Err(Defect::field("spacing", value, expected));
            }
        }
        let directions = Matrix3::from_columns(&self.steps_m.map(|step_m| step_m.normalize()));
        if directions.determinant().abs() < 1e-3 {
            let found = self.steps_m.map(<[f64; 3]>::from);
            let expected = "three axes that are not in one plane";
            return Err(refuse("directions", &found, expected));
        }
        if !self.origin_m.iter().all(|x_m| x_m.abs() <= ORIGIN_M_MAX) {
            let found = <[f64; 3]>::from(self.origin_m);
            return Err(refuse("origin", &found, "within 1 km"));
        }
        Ok(())
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// True if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.contains(&0)
    }

    /// Distance of neighbours by axis \[m\].
    #[must_use]
    pub fn spacing_m(&self) -> [f64; 3] {
        self.steps_m.map(|step_m| step_m.norm())
    }

    /// Volume of a voxel \[m^3\].
    #[must_use]
    pub fn voxel_volume_m3(&self) -> f64 {
        self.determinant().abs()
    }

    /// True if its axes are right-handed.
    #[must_use]
    pub fn is_right_handed(&self) -> bool {
        self.determinant() > 0.0
    }

    fn determinant(&self) -> f64 {
        Matrix3::from_columns(&self.steps_m).determinant()
    }

    /// Largest cosine between two of its axes: 0 if they are at right angles.
    #[must_use]
    pub fn skew(&self) -> f64 {
        let [a, b, c] = self.steps_m.map(|step_m| step_m.normalize());
        let cosines = [a.dot(&b), b.dot(&c), c.dot(&a)];
        cosines
            .iter()
            .fold(0.0, |most, cosine| cosine.abs().max(most))
    }

    /// Index of a sample in the list of values.
    #[must_use]
    pub fn linear_index(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.counts[0] * (y + self.counts[1] * z)
    }

    /// Position of a sample \[m\]; fractional indices interpolate.
    #[must_use]
    pub fn position_m(&self, index: [f64; 3]) -> Vec3 {
        let steps = self.steps_m.iter().zip(index);
        steps.fold(self.origin_m, |at_m, (step_m, along)| at_m + step_m * along)
    }

    /// All indices, in the order of values.
    pub fn indices(&self) -> impl Iterator<Item = [usize; 3]> {
        let [nx, ny, nz] = self.counts;
        (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])))
    }
}

fn refuse(field: &str, value: &impl std::fmt::Debug, expected: &str) -> Defect {
    Defect::field(field, format_args!("{value:?}"), expected)
}

/// Voxel volume: a value for each sample of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelVolume<T> {
    /// Grid of its samples.
    pub grid: VoxelGrid,
    /// Its values, the first index running fastest; as many as there are samples.
    pub values: Vec<T>,
}

impl<T: Copy> VoxelVolume<T> {
    /// Creates a volume from its values.
    ///
    /// # Errors
    /// [`Defect`] if the grid is invalid, or the number of values differs from that of samples.
    pub fn new(grid: VoxelGrid, values: Vec<T>) -> Result<Self, Defect> {
        grid.check()?;
        if values.len() != grid.len() {
            let expected = format!("{} for sizes {:?}", grid.len(), grid.counts);
            return Err(Defect::field("number of values", values.len(), expected));
        }
        Ok(Self { grid, values })
    }

    /// Value of a sample; none outside.
    #[must_use]
    pub fn get(&self, index: [i64; 3]) -> Option<T> {
        let mut inside = [0; 3];
        for (axis, place) in inside.iter_mut().enumerate() {
            let along = usize::try_from(index[axis]).ok();
            *place = along.filter(|&along| along < self.grid.counts[axis])?;
        }
        self.values.get(self.grid.linear_index(inside)).copied()
    }

    /// Maps the values to another volume on the same grid.
    #[must_use]
    pub fn map<U>(&self, of: impl FnMut(T) -> U) -> VoxelVolume<U> {
        VoxelVolume {
            grid: self.grid,
            values: self.values.iter().copied().map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> VoxelGrid {
        VoxelGrid::axis_aligned([2, 3, 4], Vec3::new(0.1, 0.2, 0.3), [1e-3, 2e-3, 3e-3])
    }

    #[test]
    fn sample_positions_follow_indices() {
        let grid = grid();
        assert_eq!(grid.indices().count(), 24);
        for (slot, index) in grid.indices().enumerate() {
            assert_eq!(grid.linear_index(index), slot);
        }
        let at_m = grid.position_m([1.0, 2.0, 0.5]);
        assert!((at_m - Vec3::new(0.101, 0.204, 0.3015)).amax() < 1e-15);
        assert!((grid.voxel_volume_m3() - 6e-9).abs() < 1e-20 && grid.is_right_handed());
        let volume = VoxelVolume::new(grid, (0..24).collect()).expect("fits");
        assert_eq!(volume.get([1, 2, 3]), Some(23));
        assert_eq!(volume.get([2, 0, 0]), None);
        assert_eq!(volume.get([0, -1, 0]), None);
    }

    #[test]
    fn invalid_grids_are_named() {
        let message = |change: &dyn Fn(&mut VoxelGrid)| {
            let mut grid = grid();
            change(&mut grid);
            grid.check().expect_err("unfit").to_string()
        };
        assert!(message(&|g| g.counts = [0, 1, 1]).starts_with("sizes is [0, 1, 1]"));
        assert!(message(&|g| g.counts = [1 << 40, 1 << 40, 2]).contains("voxels together"));
        assert!(message(&|g| g.steps_m[1] *= 0.0).contains("axis 1"));
        assert!(message(&|g| g.steps_m[2].z = f64::NAN).contains("spacing"));
        assert!(message(&|g| g.steps_m[2] = g.steps_m[1]).contains("in one plane"));
        assert!(message(&|g| g.origin_m.x = f64::INFINITY).contains("origin"));
        let short = VoxelVolume::new(grid(), vec![0; 23]).expect_err("short");
        assert!(short.to_string().contains("23; expected 24"), "{short}");
    }
}
