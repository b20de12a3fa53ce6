//! Grid of cells for collision maps.
//!
//! Source: seed-001 section 3.2.1. The source leaves the rounding open; ours is the floor, with the corner of cell
//! (0, 0, 0) at the origin of the grid. [`CollisionGrid::around`] puts a site at the centre of a cell.

use palpate_twin::Vec3;

/// Greatest number of cells along an axis: three such counts fit into one index.
pub const SIDE_MAX: u32 = 1 << 21;

/// A box of cubic cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollisionGrid {
    origin_m: Vec3,
    pitch_m: f64,
    /// Cells per metre \[1/m\].
    per_m: f64,
    size: [u32; 3],
}

/// Error of an invalid grid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CollisionGridError {
    /// The cells have no size.
    #[error("cells of {0} m; expected a finite number greater than 0")]
    Pitch(f64),
    /// The origin is not finite.
    #[error("the grid begins at {0:?} m; expected finite numbers")]
    Origin([f64; 3]),
    /// The number of cells along an axis is out of range.
    #[error("{count} cells along axis {axis}; expected 1 to 2097152")]
    Size {
        /// Axis of the count.
        axis: usize,
        /// Value found.
        count: u32,
    },
}

impl CollisionGrid {
    /// Returns a grid of `size` cells from a corner \[m\].
    ///
    /// # Errors
    /// [`CollisionGridError`] of the first value that is out of range.
    pub fn new(origin_m: Vec3, pitch_m: f64, size: [u32; 3]) -> Result<Self, CollisionGridError> {
        if !(pitch_m > 0.0 && pitch_m.is_finite()) {
            return Err(CollisionGridError::Pitch(pitch_m));
        }
        if !origin_m.iter().all(|x| x.is_finite()) {
            return Err(CollisionGridError::Origin(origin_m.into()));
        }
        let bad = |&axis: &usize| !(1..=SIDE_MAX).contains(&size[axis]);
        if let Some(axis) = (0..3).find(bad) {
            let count = size[axis];
            return Err(CollisionGridError::Size { axis, count });
        }
        Ok(Self {
            origin_m,
            pitch_m,
            per_m: 1.0 / pitch_m,
            size,
        })
    }

    /// Returns a grid whose cell (0, 0, 0) has its centre at a place \[m\].
    ///
    /// # Errors
    /// [`CollisionGridError`] of the first value that is out of range.
    pub fn around(
        middle_m: Vec3,
        pitch_m: f64,
        size: [u32; 3],
    ) -> Result<Self, CollisionGridError> {
        Self::new(middle_m - Vec3::repeat(0.5 * pitch_m), pitch_m, size)
    }

    /// Returns the edge of a cell \[m\].
    #[must_use]
    pub const fn pitch_m(&self) -> f64 {
        self.pitch_m
    }

    /// Returns the corner of the first cell \[m\].
    #[must_use]
    pub const fn origin_m(&self) -> Vec3 {
        self.origin_m
    }

    /// Returns the number of cells by axis.
    #[must_use]
    pub const fn size(&self) -> [u32; 3] {
        self.size
    }

    /// Returns the number of cells.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.size.iter().map(|&side| u64::from(side)).product()
    }

    /// Returns the cell of a place, also outside of the grid; none if it is not finite or out of the range of
    /// indices.
    #[must_use]
    #[inline]
    pub fn cell(&self, at_m: &Vec3) -> Option<[i32; 3]> {
        let along = (at_m - self.origin_m) * self.per_m;
        // NaN is in no range
        let counted = along.iter().all(|x| x.abs() < f64::from(i32::MAX / 2));
        counted.then(|| {
            [
                whole_below(along.x),
                whole_below(along.y),
                whole_below(along.z),
            ]
        })
    }

    /// Returns the index of a cell; none outside of the grid.
    #[must_use]
    #[inline]
    pub fn index(&self, cell: [i32; 3]) -> Option<u64> {
        let mut index = 0;
        for axis in [2, 1, 0] {
            let along = u32::try_from(cell[axis]).ok()?;
            if along >= self.size[axis] {
                return None;
            }
            index = index * u64::from(self.size[axis]) + u64::from(along);
        }
        Some(index)
    }

    /// Returns the index of the cell of a place; none outside of the grid.
    #[must_use]
    #[inline]
    pub fn index_at(&self, at_m: &Vec3) -> Option<u64> {
        self.index(self.cell(at_m)?)
    }

    /// Visits the cells on a straight line between two places, until `visit` returns true; returns true if it did.
    /// The first cell is visited only if it is also the last. Successive cells share a face, so the line cannot slip
    /// through an edge between two cells (Amanatides and Woo 1987, in integers).
    pub fn visit_line(
        &self,
        from_m: &Vec3,
        to_m: &Vec3,
        mut visit: impl FnMut([i32; 3]) -> bool,
    ) -> bool {
        let (Some(mut cell), Some(last)) = (self.cell(from_m), self.cell(to_m)) else {
            return false;
        };
        if cell == last {
            return visit(cell);
        }
        loop {
            // of the axes that still lack a cell, the one whose border comes first
            let mut next = None;
            for axis in 0..3 {
                if cell[axis] == last[axis] {
                    continue;
                }
                let ahead = f64::from(cell[axis] + i32::from(last[axis] > cell[axis]));
                let border_m = self.origin_m[axis] + ahead * self.pitch_m;
                let share = (border_m - from_m[axis]) / (to_m[axis] - from_m[axis]);
                if next.is_none_or(|(_, first)| share < first) {
                    next = Some((axis, share));
                }
            }
            let Some((axis, _)) = next else {
                return false;
            };
            cell[axis] += (last[axis] - cell[axis]).signum();
            if visit(cell) {
                return true;
            }
        }
    }
}

/// Returns the floor of a number in range: a cast with a correction, faster than the library's.
#[inline]
fn whole_below(along: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "in range; cut towards 0")]
    let cut = along as i32;
    cut - i32::from(f64::from(cut) > along)
}
