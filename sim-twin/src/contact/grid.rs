//! Uniform grid over the rest x-y plane that finds the points near a position.
//!
//! Source: ours, after W1. Built once from rest points; a query widens its rectangle by the sideways
//! motion of the points since then.

use crate::Vec3;

/// Points sorted into square cells of the x-y plane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PointGrid {
    origin_m: [f64; 2],
    cell_m: f64,
    columns: usize,
    rows: usize,
    /// Start of each cell in `items`; one more entry than cells.
    begins: Vec<u32>,
    items: Vec<u32>,
}

/// Most cells along one side: a bound on the size of the table for unusual shapes.
const CELLS_MAX: f64 = 512.0;

impl PointGrid {
    /// Sorts `points` into cells about `cell_m` wide; larger if the area would need too many.
    #[must_use]
    pub(crate) fn new(points: &[Vec3], cell_m: f64) -> Self {
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        for point in points {
            for axis in 0..2 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        if points.is_empty() {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let extent = (high[0] - low[0]).max(high[1] - low[1]);
        let cell_m = cell_m.max(extent / CELLS_MAX).max(f64::MIN_POSITIVE);
        let count = |axis: usize| ((high[axis] - low[axis]) / cell_m) as usize + 1;
        let mut grid = Self {
            origin_m: low,
            cell_m,
            columns: count(0),
            rows: count(1),
            begins: Vec::new(),
            items: vec![0; points.len()],
        };
        grid.fill(points);
        grid
    }

    /// Counting sort, so that items of a cell stay in ascending order.
    fn fill(&mut self, points: &[Vec3]) {
        let mut begins = vec![0_u32; self.columns * self.rows + 1];
        for point in points {
            begins[self.cell_of(point) + 1] += 1;
        }
        for cell in 1..begins.len() {
            begins[cell] += begins[cell - 1];
        }
        let mut next = begins.clone();
        for (item, point) in points.iter().enumerate() {
            let place = &mut next[self.cell_of(point)];
            self.items[*place as usize] = item as u32;
            *place += 1;
        }
        self.begins = begins;
    }

    #[inline]
    fn cell_of(&self, point: &Vec3) -> usize {
        let (column, _) = self.cell_range(0, point.x, 0.0);
        let (row, _) = self.cell_range(1, point.y, 0.0);
        row * self.columns + column
    }

    /// Cells that `center +- reach` covers along one axis, clamped into the grid.
    #[inline]
    fn cell_range(&self, axis: usize, center_m: f64, reach_m: f64) -> (usize, usize) {
        let cells = if axis == 0 { self.columns } else { self.rows };
        let cell = |at: f64| {
            // A cast clamps below at zero and takes NaN to zero.
            (((at - self.origin_m[axis]) / self.cell_m) as usize).min(cells - 1)
        };
        (cell(center_m - reach_m), cell(center_m + reach_m))
    }

    /// Calls `visit` for every point whose rest x-y may lie within `reach_m` of `center_m`.
    ///
    /// Visits a superset, in a fixed order that is not sorted.
    pub(super) fn for_near(&self, center_m: &Vec3, reach_m: f64, mut visit: impl FnMut(u32)) {
        let (left, right) = self.cell_range(0, center_m.x, reach_m);
        let (bottom, top) = self.cell_range(1, center_m.y, reach_m);
        for row in bottom..=top {
            let begin = self.begins[row * self.columns + left] as usize;
            let end = self.begins[row * self.columns + right + 1] as usize;
            self.items[begin..end].iter().for_each(|&item| visit(item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn finds_every_point_within_reach(
            points in prop::collection::vec((-3.0..3.0_f64, -1.0..5.0_f64), 0..60),
            center in (-6.0..6.0_f64, -6.0..6.0_f64),
            reach in 0.0..3.0_f64,
            cell in 0.01..2.0_f64,
        ) {
            let points: Vec<Vec3> = points.iter().map(|&(x, y)| Vec3::new(x, y, 0.0)).collect();
            let center = Vec3::new(center.0, center.1, 0.0);
            let mut visits = vec![0; points.len()];
            PointGrid::new(&points, cell).for_near(&center, reach, |item| visits[item as usize] += 1);
            for (point, &times) in points.iter().zip(&visits) {
                let inside = (point - center).norm() <= reach;
                prop_assert!(times == 1 || (times == 0 && !inside));
            }
        }
    }

    #[test]
    fn unusual_inputs_build_a_grid() {
        let one = PointGrid::new(&[Vec3::zeros()], 0.0);
        let mut found = 0;
        one.for_near(&Vec3::new(f64::NAN, 0.0, 0.0), 1.0, |_| found += 1);
        assert_eq!(found, 1);
        PointGrid::new(&[], 1.0).for_near(&Vec3::zeros(), 1.0, |_| found += 1);
        assert_eq!(found, 1);
    }
}
