//! Nested grids: a block of uniform cells, halved in boxes around the zone of contact.
//!
//! Source: ours. The largest error of a probed mesh is its cell size under the probe. Tensor grading
//! extends fine cells to every side of the block. Nested boxes keep them in the zone of contact, at
//! the cost of hanging nodes, which `palpate_fem::explicit` constrains to the coarser grid.
//! Every level is a full grid, so that a solver needs no lists of neighbours.

use crate::Defect;
use crate::mesh::hex::HexMesh;
use palpate_twin::Vec3;
use std::ops::Range;

/// Most levels: cells differ by a factor of 32 at most.
pub const LEVELS_MAX: usize = 6;
/// Most cells of all levels: a bound on what a wrong number can allocate.
pub const CELLS_MAX: usize = 4_000_000;
/// Cells of a level between the border of its box and that of the next.
const MARGIN: f64 = 2.0;

/// Zone in which the block is fine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefinementZone {
    /// Longest edge of the finest cells \[m\]; shrunk so that the block holds a whole number.
    pub cell_m: f64,
    /// Number of levels, 1 (uniform cells) to [`LEVELS_MAX`].
    pub levels: usize,
    /// Centre of the finest zone on the top \[m\], within the block. Away from the zone cells are up
    /// to `2^(levels - 1)` times as large, and the force of a press there is inaccurate by a factor.
    pub centre_m: [f64; 2],
    /// Half of its edges \[m\].
    pub half_m: [f64; 2],
    /// Its depth under the top \[m\].
    pub depth_m: f64,
}

/// One grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GridLevel {
    /// Its lowest corner \[m\].
    pub low_m: Vec3,
    /// Edges of its cells \[m\].
    pub edge_m: [f64; 3],
    /// Number of cells along the axes.
    pub cells: [usize; 3],
    /// First cell of the level above that it replaces; zero for the coarsest.
    pub parent_cell: [usize; 3],
    /// Cells that the next level replaces.
    pub refined_cells: Option<[Range<usize>; 3]>,
}

impl GridLevel {
    /// Number of cells of its box, replaced ones included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cells.iter().product()
    }

    /// True if the next level replaces a cell.
    #[must_use]
    pub fn is_replaced(&self, cell: [usize; 3]) -> bool {
        let inside = |hole: &[Range<usize>; 3]| (0..3).all(|a| hole[a].contains(&cell[a]));
        self.refined_cells.as_ref().is_some_and(inside)
    }

    /// All cells of its box as a mesh, x fastest, replaced ones included.
    ///
    /// # Errors
    /// None for a level of a valid [`NestedGrid`].
    pub fn mesh(&self) -> Result<HexMesh, Defect> {
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
pub struct NestedGrid {
    /// The grids; never empty.
    pub levels: Vec<GridLevel>,
}

impl NestedGrid {
    /// Creates a block from `low_m` to `high_m` \[m\], fine in `zone`.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn new(low_m: Vec3, high_m: Vec3, zone: &RefinementZone) -> Result<Self, Defect> {
        check(low_m, high_m, zone)?;
        let coarse_m = zone.cell_m * f64::from(1_u32 << (zone.levels - 1));
        let size_m = high_m - low_m;
        let cells = [0, 1, 2].map(|a| (size_m[a] / coarse_m - 1e-9).ceil().max(1.0));
        let total = cells.iter().product::<f64>();
        if total > CELLS_MAX as f64 {
            return Err(too_many(total));
        }
        let mut levels = vec![GridLevel {
            low_m,
            edge_m: [0, 1, 2].map(|a| size_m[a] / cells[a]),
            cells: cells.map(whole),
            parent_cell: [0; 3],
            refined_cells: None,
        }];
        for level in 1..zone.levels {
            let Some(above) = levels.last_mut() else {
                break;
            };
            let hole = refined_range(above, high_m, zone, level);
            let edge_m = above.edge_m.map(|e| 0.5 * e);
            let corner = [0, 1, 2].map(|a| hole[a].start);
            let next = GridLevel {
                low_m: above.low_m + Vec3::from_fn(|a, _| above.edge_m[a] * corner[a] as f64),
                edge_m,
                cells: [0, 1, 2].map(|a| 2 * hole[a].len()),
                parent_cell: corner,
                refined_cells: None,
            };
            above.refined_cells = Some(hole);
            levels.push(next);
        }
        let nested = Self { levels };
        let total = nested.levels.iter().map(GridLevel::count).sum::<usize>();
        if total > CELLS_MAX {
            return Err(too_many(total as f64));
        }
        Ok(nested)
    }

    /// Number of cells, each place counted once.
    #[must_use]
    pub fn cells(&self) -> usize {
        let own = |level: &GridLevel| {
            let hole = level.refined_cells.as_ref();
            level.count() - hole.map_or(0, |h| h.iter().map(Range::len).product())
        };
        self.levels.iter().map(own).sum()
    }

    /// Flags of the sides of a level with hanging nodes on the level above: all but those on the border of the block. In
    /// the order low x, high x, low y, high y, low z, high z.
    #[must_use]
    pub fn hanging_sides(&self, level: usize) -> [bool; 6] {
        let mut hangs = [false; 6];
        if level == 0 {
            return hangs;
        }
        // a side is on the border if every level from here up has it at the end of the one above
        let border = |axis: usize, high: bool| {
            (1..=level).all(|l| {
                let (own, above) = (&self.levels[l], &self.levels[l - 1]);
                if high {
                    own.parent_cell[axis] + own.cells[axis] / 2 == above.cells[axis]
                } else {
                    own.parent_cell[axis] == 0
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
fn refined_range(
    above: &GridLevel,
    high_m: Vec3,
    zone: &RefinementZone,
    level: usize,
) -> [Range<usize>; 3] {
    // the zone of a level includes the margins of all finer levels
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

fn too_many(cells: f64) -> Defect {
    Defect::new(
        format_args!("{cells} cells"),
        format_args!("at most {CELLS_MAX}"),
    )
}

fn check(low_m: Vec3, high_m: Vec3, zone: &RefinementZone) -> Result<(), Defect> {
    let refuse = |field: &str, value: f64, expected: &str| {
        Err(Defect::field(format_args!("`{field}`"), value, expected))
    };
    let size_m = high_m - low_m;
    for (field, value) in [
        ("size_m", size_m.min()),
        ("size_m", size_m.sum()),
        ("cell_m", zone.cell_m),
        ("fine_half_m", zone.half_m[0].min(zone.half_m[1])),
        ("fine_depth_m", zone.depth_m),
    ] {
        if !(value.is_finite() && value > 0.0) {
            return refuse(field, value, "a finite number above 0");
        }
    }
    let finite = zone.centre_m.iter().all(|x| x.is_finite());
    if !finite || (zone.half_m[0] + zone.half_m[1]).is_infinite() {
        return refuse("fine_centre_m", zone.centre_m[0], "finite numbers");
    }
    for axis in 0..2 {
        let (value_m, low_m, high_m) = (zone.centre_m[axis], low_m[axis], high_m[axis]);
        if !(low_m..=high_m).contains(&value_m) {
            let expected = format!("{low_m} to {high_m}, within the block");
            return refuse(&format!("fine_centre_m[{axis}]"), value_m, &expected);
        }
    }
    if !(1..=LEVELS_MAX).contains(&zone.levels) {
        return refuse("levels", zone.levels as f64, "a whole number from 1 to 6");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cube(zone: &RefinementZone) -> NestedGrid {
        let half = Vec3::new(0.05, 0.05, 0.0);
        NestedGrid::new(-half - Vec3::new(0.0, 0.0, 0.1), half, zone).unwrap()
    }

    const ZONE: RefinementZone = RefinementZone {
        cell_m: 0.001,
        levels: 4,
        centre_m: [0.0; 2],
        half_m: [0.016, 0.008],
        depth_m: 0.008,
    };

    #[test]
    fn test_block_is_fine_in_the_contact_zone() {
        let nested = cube(&ZONE);
        assert_eq!(nested.levels.len(), 4);
        let finest = &nested.levels[3];
        assert!(finest.edge_m[0] <= 0.001);
        let high_m = finest.low_m.x + finest.edge_m[0] * finest.cells[0] as f64;
        assert!(finest.low_m.x <= -0.016 && high_m >= 0.016);
        assert_eq!(
            nested.hanging_sides(3),
            [true, true, true, true, true, false]
        );
        assert_eq!(nested.hanging_sides(0), [false; 6]);
        assert!(nested.cells() < 13_000, "{}", nested.cells());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn every_box_lies_inside_the_one_above(
            x in -0.05..0.05_f64, y in -0.05..0.05_f64, half in 1e-9..0.08_f64,
            depth in 0.001..0.2_f64, cell in 0.001..0.02_f64, levels in 1..5_usize,
        ) {
            let zone = RefinementZone { cell_m: cell, levels, centre_m: [x, y], half_m: [half; 2], depth_m: depth };
            let nested = cube(&zone);
            prop_assert_eq!(nested.levels.len(), levels);
            let volume: f64 = nested.levels.iter().map(|level| {
                let hole = level.refined_cells.as_ref();
                let own = level.count() - hole.map_or(0, |h| h.iter().map(Range::len).product());
                own as f64 * level.edge_m.iter().product::<f64>()
            }).sum();
            prop_assert!((volume / 1e-3 - 1.0).abs() < 1e-9, "{volume}");
            for (index, level) in nested.levels.iter().enumerate().skip(1) {
                let above = &nested.levels[index - 1];
                let hangs = nested.hanging_sides(index);
                for axis in 0..3 {
                    let end = level.parent_cell[axis] + level.cells[axis] / 2;
                    prop_assert!(end <= above.cells[axis]);
                    // a side that hangs has cells of the level above beyond it
                    prop_assert!(!hangs[2 * axis] || level.parent_cell[axis] > 0);
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
                RefinementZone {
                    cell_m: 0.0,
                    ..ZONE
                },
                "cell_m",
            ),
            (RefinementZone { levels: 0, ..ZONE }, "levels"),
            (
                RefinementZone {
                    depth_m: f64::NAN,
                    ..ZONE
                },
                "fine_depth_m",
            ),
        ] {
            let wrong = NestedGrid::new(-half, half, &zone).unwrap_err();
            let start = format!("`{field}` is ");
            assert!(wrong.to_string().starts_with(&start), "{wrong}");
        }
        let beside = RefinementZone {
            centre_m: [0.0, -0.06],
            ..ZONE
        };
        let text = NestedGrid::new(-half, half, &beside)
            .unwrap_err()
            .to_string();
        assert!(text.starts_with("`fine_centre_m[1]` is -0.06;"), "{text}");
        let tiny = RefinementZone {
            cell_m: 1e-6,
            levels: 1,
            ..ZONE
        };
        let text = NestedGrid::new(-half, half, &tiny).unwrap_err().to_string();
        assert!(text.ends_with("cells; expected at most 4000000"), "{text}");
    }
}
