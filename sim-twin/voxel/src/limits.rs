//! Deformation limits of a link: stretch along it and shear across it.
//!
//! Source: seed-001 section 3.3.1 (row DF-05). A link along axis `A` with rest length `h` keeps `lo h <= length along
//! A <= hi h` and, across it, `|offset along C| <= shear h`. Every axis of the world has its own interval, so the
//! three axes decouple. The limits do not rotate with the tissue (W-11 there). The shear limits are ours: the source
//! prints none.

use crate::material::VoxelMaterialError;

/// Limits of one material, in rest lengths of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BondLimits {
    /// Least length, by the link's axis; 0 to 1.
    pub shortest: [f64; 3],
    /// Greatest length, by the link's axis; at least 1.
    pub longest: [f64; 3],
    /// Greatest lateral offset, by the link's axis and then by the axis of the offset; at least 0. The entry of the
    /// link's own axis is not read.
    pub shear: [[f64; 3]; 3],
}

impl BondLimits {
    /// Medium limits of the source: 0.8 to 1.2 of the length; shear ours.
    pub(super) const MEDIUM: Self = Self::even(0.8, 1.2, 0.2);
    /// Loose limits of the source: 0.5 to 2.5 of the length; shear ours.
    pub const LOOSE: Self = Self::even(0.5, 2.5, 0.5);

    /// Returns equal limits for all axes.
    #[must_use]
    pub const fn even(shortest: f64, longest: f64, shear: f64) -> Self {
        Self {
            shortest: [shortest; 3],
            longest: [longest; 3],
            shear: [[shear; 3]; 3],
        }
    }

    /// Checks that a link at rest keeps these limits; `name` is the material's name for the error.
    ///
    /// # Errors
    /// [`VoxelMaterialError::Limit`] of the first limit that a link at rest breaks.
    pub(super) fn check(&self, name: &str) -> Result<(), VoxelMaterialError> {
        for axis in 0..3 {
            let (shortest, longest) = (self.shortest[axis], self.longest[axis]);
            let is_long = longest >= 1.0 && longest.is_finite();
            let along = [
                (
                    "shortest",
                    shortest,
                    (0.0..=1.0).contains(&shortest),
                    "0 to 1",
                ),
                ("longest", longest, is_long, "a finite number, at least 1"),
            ];
            let aside = self.shear[axis].map(|shear| {
                let is_wide = shear >= 0.0 && shear.is_finite();
                ("shear", shear, is_wide, "a finite number, at least 0")
            });
            let mut all = along.into_iter().chain(aside);
            if let Some((field, value, _, expected)) = all.find(|(_, _, is_right, _)| !is_right) {
                return Err(VoxelMaterialError::Limit {
                    name: name.to_owned(),
                    field,
                    axis,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Returns the limits of a link between two materials: their mean (seed-001 section 3.3.6).
    #[must_use]
    pub fn between(&self, other: &Self) -> Self {
        let mean = |a: f64, b: f64| 0.5 * (a + b);
        Self {
            shortest: std::array::from_fn(|a| mean(self.shortest[a], other.shortest[a])),
            longest: std::array::from_fn(|a| mean(self.longest[a], other.longest[a])),
            shear: std::array::from_fn(|a| {
                std::array::from_fn(|c| mean(self.shear[a][c], other.shear[a][c]))
            }),
        }
    }

    /// Returns the range of the upper end's displacement relative to the lower end's \[m\] along `along`, for a link
    /// along `axis` of rest length `rest_m`.
    pub(super) fn range_m(&self, axis: usize, along: usize, rest_m: f64) -> (f64, f64) {
        if axis == along {
            let change_m = |limit: f64| (limit - 1.0) * rest_m;
            (change_m(self.shortest[axis]), change_m(self.longest[axis]))
        } else {
            let aside_m = self.shear[axis][along] * rest_m;
            (-aside_m, aside_m)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_exclude_rest_are_refused_by_name() {
        for good in [BondLimits::RIGID, BondLimits::MEDIUM, BondLimits::LOOSE] {
            assert_eq!(good.check("good"), Ok(()));
        }
        for (bad, field) in [
            (BondLimits::even(1.1, 1.2, 0.1), "shortest"),
            (BondLimits::even(-0.1, 1.2, 0.1), "shortest"),
            (BondLimits::even(0.9, 0.95, 0.1), "longest"),
            (BondLimits::even(0.9, f64::INFINITY, 0.1), "longest"),
            (BondLimits::even(0.9, 1.2, -0.1), "shear"),
            (BondLimits::even(0.9, 1.2, f64::NAN), "shear"),
        ] {
            let message = bad.check("bad").expect_err("bad").to_string();
            assert!(message.contains(&format!("`{field}`")), "{message}");
        }
    }

    #[test]
    fn range_contains_rest_and_is_the_mean_of_both_materials() {
        let mixed = BondLimits::MEDIUM.between(&BondLimits::LOOSE);
        let (least, most) = mixed.range_m(0, 0, 2.0);
        assert!((least + 0.7).abs() < 1e-12 && (most - 1.7).abs() < 1e-12);
        assert_eq!(mixed.range_m(0, 2, 2.0), (-0.35 * 2.0, 0.35 * 2.0));
    }
}
