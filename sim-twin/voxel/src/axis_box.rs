//! Axis-aligned boxes for the search of nodes near a tool.

use palpate_twin::Vec3;

/// An axis-aligned box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AxisBox {
    /// Lower corner \[m\].
    pub(super) low_m: Vec3,
    /// Upper corner \[m\].
    pub(super) high_m: Vec3,
}

impl AxisBox {
    /// Returns a cube of half width `reach_m` around a place \[m\].
    pub(super) fn around(at_m: &Vec3, reach_m: f64) -> Self {
        let by = Vec3::repeat(reach_m);
        Self {
            low_m: at_m - by,
            high_m: at_m + by,
        }
    }

    /// True if a place is inside.
    pub(super) fn contains(&self, at_m: &Vec3) -> bool {
        (0..3).all(|axis| (self.low_m[axis]..=self.high_m[axis]).contains(&at_m[axis]))
    }
}
