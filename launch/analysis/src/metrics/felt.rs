//! The map of what was felt where a hand went as it liked: the secant stiffness of slow presses, cell by cell, all at
//! one depth.
//!
//! Tissue is not linear, so secants of unequal depths are no map: a shallow press over a lump may be softer than a
//! deep one beside it. The depth is that at which the most cells were pressed. Source: ours.

use std::collections::BTreeMap;

use palpate_transport::trace::TickRecord;

use palpate_session::stat::percentile;

/// Edge of a cell \[m\].
pub(crate) const CELL_M: f64 = 0.003;

/// Depths that are tried \[m\].
const DEPTHS_M: [f64; 5] = [0.002, 0.003, 0.004, 0.005, 0.006];

/// How far from that depth a tick may be \[m\].
const NEAR_M: f64 = 5e-4;

/// Fastest motion that is a slow press \[m/s\].
const SLOW_MPS: f64 = 0.06;

/// Least force that is a touch \[N\].
const FORCE_N_MIN: f64 = 0.1;

/// A place of the plane in cells, x and y.
pub type Cell = [i32; 2];

/// Stiffness felt, cell by cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeltMap {
    /// Depth of all presses \[m\].
    pub depth_m: f64,
    /// Median secant of the ticks in each cell \[N/m\].
    pub cells: BTreeMap<Cell, f64>,
}

/// Middle of a cell \[m\].
#[must_use]
pub fn middle_m(cell: Cell) -> [f64; 2] {
    cell.map(|at| (f64::from(at) + 0.5) * CELL_M)
}

/// The map of `records`, by the upward force of each as `force_n` tells it \[N\]; a tool of `radius_m` touches the
/// tissue at rest with its middle at that height. Nothing if no cell was pressed slowly.
#[must_use]
pub fn map(
    records: &[TickRecord],
    force_n: impl Fn(&TickRecord) -> f64,
    radius_m: f64,
) -> Option<FeltMap> {
    let pressed = |record: &&TickRecord| {
        let [x, y, z, _] = record.velocity_mps;
        let slow = (x * x + y * y + z * z).sqrt() < SLOW_MPS;
        slow && force_n(record) > FORCE_N_MIN
    };
    let slow: Vec<(Cell, f64, f64)> = records
        .iter()
        .filter(pressed)
        .map(|record| {
            let [x, y, z, _] = record.position_m;
            let cell = [x, y].map(|at| (at / CELL_M).floor() as i32);
            (cell, radius_m - z, force_n(record))
        })
        .collect();
    let at = |depth_m: f64| {
        let mut secants: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
        for &(cell, deep_m, force_n) in &slow {
            if (deep_m - depth_m).abs() < NEAR_M {
                secants.entry(cell).or_default().push(force_n / deep_m);
            }
        }
        secants
    };
    let (depth_m, secants) = DEPTHS_M
        .into_iter()
        .map(|depth_m| (depth_m, at(depth_m)))
        .reduce(|a, b| if b.1.len() > a.1.len() { b } else { a })?;
    let cells: BTreeMap<Cell, f64> = secants
        .into_iter()
        .filter_map(|(cell, mut secants)| Some((cell, percentile(&mut secants, 0.5)?)))
        .collect();
    (!cells.is_empty()).then_some(FeltMap { depth_m, cells })
}

impl FeltMap {
    /// Middle of the stiffest cell \[m\], and its stiffness over that of the middling one: an answer to where the
    /// lump is that anyone would read off the map. Nothing of less than three cells.
    #[must_use]
    pub fn stiffest(&self) -> Option<([f64; 2], f64)> {
        let mut all: Vec<f64> = self.cells.values().copied().collect();
        let enough = all.len() > 2;
        let middling = percentile(&mut all, 0.5).filter(|_| enough)?;
        let (&cell, &npm) = self.cells.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((middle_m(cell), npm / middling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A press at a place, of tissue of `npm`, to a depth, by a tool of 8 mm.
    fn press([x, y]: [f64; 2], npm: f64, depth_m: f64) -> TickRecord {
        TickRecord {
            position_m: [x, y, 0.008 - depth_m, 0.0],
            tissue_force_n: [0.0, 0.0, npm * depth_m, 0.0],
            ..TickRecord::default()
        }
    }

    fn force_n(record: &TickRecord) -> f64 {
        record.tissue_force_n[2]
    }

    #[test]
    fn a_cell_has_the_stiffness_of_its_presses_at_the_depth_of_most() {
        let mut records: Vec<TickRecord> = (0..5)
            .map(|k| press([0.006 * f64::from(k), -0.001], 70.0, 0.004))
            .collect();
        // deeper, where tissue is stiffer: of another depth than the others
        records.push(press([0.0, 0.01], 200.0, 0.006));
        records.push(press([0.021, 0.01], 120.0, 0.0041));
        let map = map(&records, force_n, 0.008).expect("pressed");
        assert_eq!((map.depth_m, map.cells.len()), (0.004, 6));
        assert!((map.cells[&[0, -1]] - 70.0).abs() < 1e-9);
        let (place_m, more) = map.stiffest().expect("six cells");
        assert!((place_m[0] - 0.0225).abs() < 1e-12 && (place_m[1] - 0.0105).abs() < 1e-12);
        assert!((more - 120.0 / 70.0).abs() < 1e-9, "{more}");
    }

    #[test]
    fn what_is_fast_light_or_in_the_air_is_not_felt() {
        let mut fast = press([0.0; 2], 70.0, 0.004);
        fast.velocity_mps[0] = 0.1;
        let light = press([0.0; 2], 20.0, 0.004);
        let air = press([0.0; 2], 70.0, -0.004);
        assert_eq!(map(&[fast, light, air], force_n, 0.008), None);
        let one = map(&[press([0.0; 2], 70.0, 0.004)], force_n, 0.008).expect("one cell");
        assert_eq!(one.stiffest(), None);
    }
}
