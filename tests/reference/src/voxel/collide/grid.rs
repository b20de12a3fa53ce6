//! The cells of the space that bodies move in.
//!
//! Source: seed-001 section 3.2.1. The source leaves the rule of rounding open; ours is the floor, with the
//! corner of cell (0, 0, 0) at the origin of the grid, so that [`Grid::around`] puts a site at the middle
//! of a cell.

use palpate_twin::Vec3;

/// Most cells along an axis: three such counts fit into one index.
pub const SIDE_MAX: u32 = 1 << 21;

/// A box of cubes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    origin_m: Vec3,
    pitch_m: f64,
    /// Cells of a metre \[1/m\].
    per_m: f64,
    size: [u32; 3],
}

/// Why there is no such grid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GridError {
    /// Cells without size.
    #[error("cells of {0} m; expected a finite number greater than 0")]
    Pitch(f64),
    /// No place.
    #[error("the grid begins at {0:?} m; expected finite numbers")]
    Origin([f64; 3]),
    /// None or too many cells along an axis.
    #[error("{count} cells along axis {axis}; expected 1 to 2097152")]
    Size {
        /// Which axis.
        axis: usize,
        /// Value found.
        count: u32,
    },
}

impl Grid {
    /// So many cells from a corner \[m\] on.
    ///
    /// # Errors
    /// [`GridError`] of the first value that is out of range.
    pub fn new(origin_m: Vec3, pitch_m: f64, size: [u32; 3]) -> Result<Self, GridError> {
        if !(pitch_m > 0.0 && pitch_m.is_finite()) {
            return Err(GridError::Pitch(pitch_m));
        }
        if !origin_m.iter().all(|x| x.is_finite()) {
            return Err(GridError::Origin(origin_m.into()));
        }
        let bad = |&axis: &usize| !(1..=SIDE_MAX).contains(&size[axis]);
        if let Some(axis) = (0..3).find(bad) {
            let count = size[axis];
            return Err(GridError::Size { axis, count });
        }
        Ok(Self {
            origin_m,
            pitch_m,
            per_m: 1.0 / pitch_m,
            size,
        })
    }

    /// Cells of which that at (0, 0, 0) has its middle at a place \[m\].
    ///
    /// # Errors
    /// [`GridError`] of the first value that is out of range.
    pub fn around(middle_m: Vec3, pitch_m: f64, size: [u32; 3]) -> Result<Self, GridError> {
        Self::new(middle_m - Vec3::repeat(0.5 * pitch_m), pitch_m, size)
    }

    /// Edge of a cell \[m\].
    #[must_use]
    pub const fn pitch_m(&self) -> f64 {
        self.pitch_m
    }

    /// Where the first cell begins \[m\].
    #[must_use]
    pub const fn origin_m(&self) -> Vec3 {
        self.origin_m
    }

    /// Cells along the axes.
    #[must_use]
    pub const fn size(&self) -> [u32; 3] {
        self.size
    }

    /// Number of cells.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.size.iter().map(|&side| u64::from(side)).product()
    }

    /// The cell of a place, also outside of the grid; none if it is not finite or beyond all counting.
    #[must_use]
    #[inline]
    pub fn cell(&self, at_m: &Vec3) -> Option<[i32; 3]> {
        let along = (at_m - self.origin_m) * self.per_m;
        // not a number is in no range
        let counted = along.iter().all(|x| x.abs() < f64::from(i32::MAX / 2));
        counted.then(|| {
            [
                whole_below(along.x),
                whole_below(along.y),
                whole_below(along.z),
            ]
        })
    }

    /// The number of a cell; none outside of the grid.
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

    /// The number of the cell of a place; none outside of the grid.
    #[must_use]
    #[inline]
    pub fn index_at(&self, at_m: &Vec3) -> Option<u64> {
        self.index(self.cell(at_m)?)
    }

    /// Cells that a straight way between two places passes, the last too and the first if it is no other, to `visit`
    /// until this says stop; whether it did. Every cell shares a face with the next one, so that the way cannot slip through an
    /// edge between two cells (Amanatides and Woo 1987, in whole cells).
    pub fn pass(
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

/// The floor of a number that is in range: a cast and a correction, which is quicker than the library's.
#[inline]
fn whole_below(along: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "in range; cut towards 0")]
    let cut = along as i32;
    cut - i32::from(f64::from(cut) > along)
}
