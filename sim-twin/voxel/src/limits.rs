//! How far a link may give: limits of stretch along it and of shear across it.
//!
//! Source: seed-001 section 3.3.1 (row DF-05). A link along axis `A` with rest length `h` keeps
//! `lo h <= length along A <= hi h` and, across it, `|offset along C| <= shear h`. Every axis of the
//! world has its own interval, so the three decouple; nothing turns with the tissue (W-11 there).
//! Shear limits are ours: the source prints none.

/// Limits of one material, in rest lengths of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Shortest, by the link's axis; 0 to 1.
    pub shortest: [f64; 3],
    /// Longest, by the link's axis; at least 1.
    pub longest: [f64; 3],
    /// Farthest aside, by the link's axis and then the axis of the offset (that of the link itself is not
    /// read); at least 0.
    pub shear: [[f64; 3]; 3],
}

/// Why limits cannot be kept by a volume at rest.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("limit `{field}` of axis {axis} is {value}; expected {expected}")]
pub struct LimitError {
    /// Which limit.
    pub field: &'static str,
    /// Axis of the link.
    pub axis: usize,
    /// Value found.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl Limits {
    /// The source's medium: 0.8 to 1.2 of the length; shear ours.
    pub(super) const MEDIUM: Self = Self::even(0.8, 1.2, 0.2);
    /// The source's loose: 0.5 to 2.5 of the length; shear ours.
    pub const LOOSE: Self = Self::even(0.5, 2.5, 0.5);

    /// The same along all axes.
    #[must_use]
    pub const fn even(shortest: f64, longest: f64, shear: f64) -> Self {
        Self {
            shortest: [shortest; 3],
            longest: [longest; 3],
            shear: [[shear; 3]; 3],
        }
    }

    /// Whether a volume at rest keeps them.
    ///
    /// # Errors
    /// [`LimitError`] of the first that it does not.
    pub fn check(&self) -> Result<(), LimitError> {
        for axis in 0..3 {
            let refuse = |field, value, expected| LimitError {
                field,
                axis,
                value,
                expected,
            };
            let shortest = self.shortest[axis];
            if !(0.0..=1.0).contains(&shortest) {
                return Err(refuse("shortest", shortest, "0 to 1"));
            }
            let longest = self.longest[axis];
            if !(longest >= 1.0 && longest.is_finite()) {
                return Err(refuse("longest", longest, "a finite number, at least 1"));
            }
            for &shear in &self.shear[axis] {
                if !(shear >= 0.0 && shear.is_finite()) {
                    return Err(refuse("shear", shear, "a finite number, at least 0"));
                }
            }
        }
        Ok(())
    }

    /// Of a link between two materials: the mean (seed-001 section 3.3.6).
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

    /// Least and most of the upper end's displacement beyond the lower end's \[m\], along `along`, for a
    /// link along `axis` of rest length `rest_m`.
    pub(super) fn range_m(&self, axis: usize, along: usize, rest_m: f64) -> (f64, f64) {
        if axis == along {
            let give = |limit: f64| (limit - 1.0) * rest_m;
            (give(self.shortest[axis]), give(self.longest[axis]))
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
    fn limits_that_rest_breaks_are_refused_by_name() {
        for good in [Limits::RIGID, Limits::MEDIUM, Limits::LOOSE] {
            assert_eq!(good.check(), Ok(()));
        }
        for (bad, field) in [
            (Limits::even(1.1, 1.2, 0.1), "shortest"),
            (Limits::even(-0.1, 1.2, 0.1), "shortest"),
            (Limits::even(0.9, 0.95, 0.1), "longest"),
            (Limits::even(0.9, f64::INFINITY, 0.1), "longest"),
            (Limits::even(0.9, 1.2, -0.1), "shear"),
            (Limits::even(0.9, 1.2, f64::NAN), "shear"),
        ] {
            assert_eq!(bad.check().expect_err("bad").field, field, "{bad:?}");
        }
    }

    #[test]
    fn a_range_holds_rest_and_is_the_mean_of_both_materials() {
        let mixed = Limits::MEDIUM.between(&Limits::LOOSE);
        let (least, most) = mixed.range_m(0, 0, 2.0);
        assert!((least + 0.7).abs() < 1e-12 && (most - 1.7).abs() < 1e-12);
        assert_eq!(mixed.range_m(0, 2, 2.0), (-0.35 * 2.0, 0.35 * 2.0));
    }
}
