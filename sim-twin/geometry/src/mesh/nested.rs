//! Nested grids: a block of even cells, halved in boxes under the place that is touched.
//!
//! Source: ours. The largest error of a probed mesh is its cell size under the probe. Tensor grading
//! carries fine cells to every side of the block; nested boxes keep them where contact may come, at
//! the price of hanging nodes, which `palpate_fem::explicit` ties to the coarser grid.
//! Every level is a full grid, so that a solver needs no lists of neighbours.

use crate::mesh::hex::{HexError, HexMesh};
use palpate_twin::Vec3;
use std::ops::Range;

/// Most levels: cells differ by a factor of 32 at most.
pub const LEVELS_MAX: usize = 6;
/// Most cells of all levels: a bound on what a wrong number can allocate.
pub const CELLS_MAX: usize = 4_000_000;
/// Cells of a level between the border of its box and that of the next.
const MARGIN: f64 = 2.0;

/// Where the block is fine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    /// Longest edge of the finest cells \[m\]; shrunk so that the block holds a whole number.
    pub cell_m: f64,
    /// Number of levels, 1 (even cells throughout) to [`LEVELS_MAX`].
    pub levels: usize,
    /// Centre of the finest zone on the top \[m\], within the block. Away from the zone cells are up
    /// to `2^(levels - 1)` times as large, and a press there is wrong by a factor.
    pub centre_m: [f64; 2],
    /// Half of its edges \[m\].
    pub half_m: [f64; 2],
    /// Its depth under the top \[m\].
    pub depth_m: f64,
}

/// One grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its lowest corner \[m\].
    pub low_m: Vec3,
    /// Edges of its cells \[m\].
    pub edge_m: [f64; 3],
    /// Number of cells along the axes.
    pub cells: [usize; 3],
    /// First cell of the level above that it replaces; zero for the coarsest.
    pub corner: [usize; 3],
    /// Cells that the next level replaces.
    pub hole: Option<[Range<usize>; 3]>,
}

impl Level {
    /// Number of cells of its box, replaced ones included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cells.iter().product()
    }

    /// Whether the next level replaces a cell.
    #[must_use]
    pub fn is_replaced(&self, cell: [usize; 3]) -> bool {
        let inside = |hole: &[Range<usize>; 3]| (0..3).all(|a| hole[a].contains(&cell[a]));
        self.hole.as_ref().is_some_and(inside)
    }

    /// All cells of its box as a mesh, x fastest, replaced ones included.
    ///
    /// # Errors
    /// None for a level of a [`Nested`] that was made.
    pub fn mesh(&self) -> Result<HexMesh, HexError> {
        let axis = |a: usize| -> Vec<f64> {
            (0..=self.cells[a])
                .map(|i| self.low_m[a] + self.edge_m[a] * i as f64)
                .collect()
        };
        HexMesh::block([&axis(0), &axis(1), &axis(2)])
    }
}

/// A block of nested grids, coarsest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Nested {
    /// The grids; never empty.
    pub levels: Vec<Level>,
}

/// Why there is no such block.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NestedError {
    /// A number is out of its range.
    #[error("`{field}` is {value}; expected {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// The zone is not on the block.
    #[error("`fine_centre_m[{axis}]` is {value_m}; expected {low_m} to {high_m}, within the block")]
    Centre {
        /// 0 or 1.
        axis: usize,
        /// Its value \[m\].
        value_m: f64,
        /// Lowest place of the block \[m\].
        low_m: f64,
        /// Highest place of the block \[m\].
        high_m: f64,
    },
    /// Too many cells.
    #[error("{0} cells; expected at most {CELLS_MAX}")]
    Cells(f64),
}

impl Nested {
    /// A block from `low_m` to `high_m` \[m\], fine in `zone`.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn new(low_m: Vec3, high_m: Vec3, zone: &Zone) -> Result<Self, NestedError> {
        check(low_m, high_m, zone)?;
        let coarse_m = zone.cell_m * f64::from(1_u32 << (zone.levels - 1));
        let size_m = high_m - low_m;
        let cells = [0, 1, 2].map(|a| (size_m[a] / coarse_m - 1e-9).ceil().max(1.0));
        let total = cells.iter().product::<f64>();
        if total > CELLS_MAX as f64 {
            return Err(NestedError::Cells(total));
        }
        let mut levels = vec![Level {
            low_m,
            edge_m: [0, 1, 2].map(|a| size_m[a] / cells[a]),
            cells: cells.map(whole),
            corner: [0; 3],
            hole: None,
        }];
        for level in 1..zone.levels {
            let Some(above) = levels.last_mut() else {
                break;
            };
            let hole = refined(above, high_m, zone, level);
            let edge_m = above.edge_m.map(|e| 0.5 * e);
            let corner = [0, 1, 2].map(|a| hole[a].start);
            let next = Level {
                low_m: above.low_m + Vec3::from_fn(|a, _| above.edge_m[a] * corner[a] as f64),
                edge_m,
                cells: [0, 1, 2].map(|a| 2 * hole[a].len()),
                corner,
                hole: None,
            };
            above.hole = Some(hole);
            levels.push(next);
        }
        let nested = Self { levels };
        let total = nested.levels.iter().map(Level::count).sum::<usize>();
        if total > CELLS_MAX {
            return Err(NestedError::Cells(total as f64));
        }
        Ok(nested)
    }

    /// Number of cells, each place counted once.
    #[must_use]
    pub fn cells(&self) -> usize {
        let own = |level: &Level| {
            let hole = level.hole.as_ref();
            level.count() - hole.map_or(0, |h| h.iter().map(Range::len).product())
        };
        self.levels.iter().map(own).sum()
    }

    /// The sides of a level that hang on the level above: not those on the border of the block. In
    /// the order low x, high x, low y, high y, low z, high z.
    #[must_use]
    pub fn hangs(&self, level: usize) -> [bool; 6] {
        let mut hangs = [false; 6];
        if level == 0 {
            return hangs;
        }
        // a side is on the border if every level from here up has it at the end of the one above
        let border = |axis: usize, high: bool| {
            (1..=level).all(|l| {
                let (own, above) = (&self.levels[l], &self.levels[l - 1]);
                if high {
                    own.corner[axis] + own.cells[axis] / 2 == above.cells[axis]
                } else {
                    own.corner[axis] == 0
                }
            })
        };
        for (side, hangs) in hangs.iter_mut().enumerate() {
            *hangs = !border(side / 2, side % 2 == 1);
        }
        hangs
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers pass small whole numbers"
)]
fn whole(x: f64) -> usize {
    x.max(0.0) as usize
}

/// Cells of `above` that level `level` replaces: those that its zone needs, at least one.
fn refined(above: &Level, high_m: Vec3, zone: &Zone, level: usize) -> [Range<usize>; 3] {
    // the zone of a level has the margins of all finer ones around it
    let finest_m = above.edge_m.iter().fold(f64::MAX, |a, &b| a.min(b))
        / f64::from(1_u32 << (zone.levels - level));
    let margin_m: f64 = (level..zone.levels - 1)
        .map(|l| MARGIN * finest_m * f64::from(1_u32 << (zone.levels - 1 - l)))
        .sum();
    let mut hole = [0..0, 0..0, 0..0];
    for (axis, hole) in hole.iter_mut().enumerate() {
        let (from_m, to_m) = if axis == 2 {
            (high_m.z - zone.depth_m - margin_m, high_m.z)
        } else {
            let reach_m = zone.half_m[axis] + margin_m;
            (zone.centre_m[axis] - reach_m, zone.centre_m[axis] + reach_m)
        };
        let place = |at_m: f64| (at_m - above.low_m[axis]) / above.edge_m[axis];
        let count = above.cells[axis];
        let from = whole((place(from_m) + 1e-6).floor()).min(count - 1);
        let to = whole((place(to_m) - 1e-6).ceil()).min(count);
        *hole = from..to.max(from + 1);
    }
    hole
}

fn check(low_m: Vec3, high_m: Vec3, zone: &Zone) -> Result<(), NestedError> {
    let size_m = high_m - low_m;
    let positive = |field, value: f64| {
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(NestedError::Field {
            field,
            value,
            expected: "a finite number above 0",
        })
    };
    positive("size_m", size_m.min())?;
    positive("size_m", size_m.sum())?;
    positive("cell_m", zone.cell_m)?;
    positive("fine_half_m", zone.half_m[0].min(zone.half_m[1]))?;
    positive("fine_depth_m", zone.depth_m)?;
    let finite = zone.centre_m.iter().all(|x| x.is_finite());
    if !finite || (zone.half_m[0] + zone.half_m[1]).is_infinite() {
        return Err(NestedError::Field {
            field: "fine_centre_m",
            value: zone.centre_m[0],
            expected: "finite numbers",
        });
    }
    for axis in 0..2 {
        let (value_m, low_m, high_m) = (zone.centre_m[axis], low_m[axis], high_m[axis]);
        if !(low_m..=high_m).contains(&value_m) {
            return Err(NestedError::Centre {
                axis,
                value_m,
                low_m,
                high_m,
            });
        }
    }
    if !(1..=LEVELS_MAX).contains(&zone.levels) {
        return Err(NestedError::Field {
            field: "levels",
            value: zone.levels as f64,
            expected: "a whole number from 1 to 6",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cube(zone: &Zone) -> Nested {
        let half = Vec3::new(0.05, 0.05, 0.0);
        Nested::new(-half - Vec3::new(0.0, 0.0, 0.1), half, zone).unwrap()
    }

    const ZONE: Zone = Zone {
        cell_m: 0.001,
        levels: 4,
        centre_m: [0.0; 2],
        half_m: [0.016, 0.008],
        depth_m: 0.008,
    };

    #[test]
    fn the_block_of_the_test_is_fine_where_it_is_touched() {
        let nested = cube(&ZONE);
        assert_eq!(nested.levels.len(), 4);
        let finest = &nested.levels[3];
        assert!(finest.edge_m[0] <= 0.001);
        let high_m = finest.low_m.x + finest.edge_m[0] * finest.cells[0] as f64;
        assert!(finest.low_m.x <= -0.016 && high_m >= 0.016);
        assert_eq!(nested.hangs(3), [true, true, true, true, true, false]);
        assert_eq!(nested.hangs(0), [false; 6]);
        assert!(nested.cells() < 13_000, "{}", nested.cells());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn every_box_lies_inside_the_one_above(
            x in -0.05..0.05_f64, y in -0.05..0.05_f64, half in 1e-9..0.08_f64,
            depth in 0.001..0.2_f64, cell in 0.001..0.02_f64, levels in 1..5_usize,
        ) {
            let zone = Zone { cell_m: cell, levels, centre_m: [x, y], half_m: [half; 2], depth_m: depth };
            let nested = cube(&zone);
            prop_assert_eq!(nested.levels.len(), levels);
            let volume: f64 = nested.levels.iter().map(|level| {
                let hole = level.hole.as_ref();
                let own = level.count() - hole.map_or(0, |h| h.iter().map(Range::len).product());
                own as f64 * level.edge_m.iter().product::<f64>()
            }).sum();
            prop_assert!((volume / 1e-3 - 1.0).abs() < 1e-9, "{volume}");
            for (index, level) in nested.levels.iter().enumerate().skip(1) {
                let above = &nested.levels[index - 1];
                let hangs = nested.hangs(index);
                for axis in 0..3 {
                    let end = level.corner[axis] + level.cells[axis] / 2;
                    prop_assert!(end <= above.cells[axis]);
                    // a side that hangs has cells of the level above beyond it
                    prop_assert!(!hangs[2 * axis] || level.corner[axis] > 0);
                    prop_assert!(!hangs[2 * axis + 1] || end < above.cells[axis]);
                }
            }
        }
    }

    #[test]
    fn wrong_numbers_are_named() {
        let half = Vec3::new(0.05, 0.05, 0.05);
        for (zone, field) in [
            (
                Zone {
                    cell_m: 0.0,
                    ..ZONE
                },
                "cell_m",
            ),
            (Zone { levels: 0, ..ZONE }, "levels"),
            (
                Zone {
                    depth_m: f64::NAN,
                    ..ZONE
                },
                "fine_depth_m",
            ),
        ] {
            let wrong = Nested::new(-half, half, &zone).unwrap_err();
            assert!(matches!(wrong, NestedError::Field { field: f, .. } if f == field));
        }
        let beside = Zone {
            centre_m: [0.0, -0.06],
            ..ZONE
        };
        assert!(matches!(
            Nested::new(-half, half, &beside),
            Err(NestedError::Centre { axis: 1, .. })
        ));
        let tiny = Zone {
            cell_m: 1e-6,
            levels: 1,
            ..ZONE
        };
        assert!(matches!(
            Nested::new(-half, half, &tiny),
            Err(NestedError::Cells(_))
        ));
    }
}
