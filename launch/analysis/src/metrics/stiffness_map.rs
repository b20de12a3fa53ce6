//! Map of displayed stiffness of free exploration: the secant stiffness of slow presses, cell by cell, at one depth.
//!
//! Tissue is not linear, so secants of unequal depths give no map: a shallow press over a lump may be softer than a
//! deep one beside it. The depth of the map is that at which the most cells were pressed. Source: ours.

use std::collections::BTreeMap;

use palpate_transport::trace::TickRecord;

use palpate_session::stat::percentile;

use super::norm_xyz;

/// Edge of a cell \[m\].
pub(crate) const CELL_M: f64 = 0.003;

/// Depths that are tried \[m\].
const DEPTHS_M: [f64; 5] = [0.002, 0.003, 0.004, 0.005, 0.006];

/// Largest difference of a tick from that depth \[m\].
const NEAR_M: f64 = 5e-4;

/// Fastest motion that is a slow press \[m/s\].
const SLOW_MPS: f64 = 0.06;

/// Least force that is a touch \[N\].
const FORCE_N_MIN: f64 = 0.1;

/// A place of the plane in cells, x and y.
pub(crate) type MapCell = [i32; 2];

/// Displayed stiffness, cell by cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StiffnessMap {
    /// Depth of all presses \[m\].
    pub depth_m: f64,
    /// Median secant of the ticks in each cell \[N/m\].
    pub cells: BTreeMap<MapCell, f64>,
}

/// Middle of a cell \[m\].
#[must_use]
pub(crate) fn cell_centre_m(cell: MapCell) -> [f64; 2] {
    cell.map(|at| (f64::from(at) + 0.5) * CELL_M)
}

/// Returns the map of `records` by the upward force `force_n` of each \[N\]. A tool of `radius_m` touches the tissue
/// at rest with its middle at that height. None if no cell was pressed slowly.
#[must_use]
pub(crate) fn stiffness_map(
    records: &[TickRecord],
    force_n: impl Fn(&TickRecord) -> f64,
    radius_m: f64,
) -> Option<StiffnessMap> {
    let pressed = |record: &TickRecord| {
        let (slow, force_n) = (norm_xyz(&record.velocity_mps) < SLOW_MPS, force_n(record));
        let [x, y, z, _] = record.position_m;
        let cell = [x, y].map(|at| (at / CELL_M).floor() as i32);
        (slow && force_n > FORCE_N_MIN).then_some((cell, radius_m - z, force_n))
    };
    let slow: Vec<(MapCell, f64, f64)> = records.iter().filter_map(pressed).collect();
    let at = |depth_m: f64| {
        let mut secants: BTreeMap<MapCell, Vec<f64>> = BTreeMap::new();
        for &(cell, deep_m, force_n) in &slow {
            if (deep_m - depth_m).abs() < NEAR_M {
                secants.entry(cell).or_default().push(force_n / deep_m);
            }
        }
        (depth_m, secants)
    };
    let depths = DEPTHS_M.into_iter().map(at);
    let most = depths.reduce(|a, b| if b.1.len() > a.1.len() { b } else { a });
    let (depth_m, secants) = most?;
    let median =
        |(cell, mut secants): (MapCell, Vec<f64>)| Some((cell, percentile(&mut secants, 0.5)?));
    let cells: BTreeMap<MapCell, f64> = secants.into_iter().filter_map(median).collect();
    (!cells.is_empty()).then_some(StiffnessMap { depth_m, cells })
}

impl StiffnessMap {
    /// Middle of the stiffest cell \[m\], and the ratio of its stiffness to the median one: an estimate of the lump's
    /// place. None for fewer than three cells.
    #[must_use]
    pub(crate) fn stiffest(&self) -> Option<([f64; 2], f64)> {
        let mut all: Vec<f64> = self.cells.values().copied().collect();
        let enough = all.len() > 2;
        let middling = percentile(&mut all, 0.5).filter(|_| enough)?;
        let (&cell, &npm) = self.cells.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((cell_centre_m(cell), npm / middling))
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
    fn a_cell_has_the_stiffness_of_its_presses_at_the_most_frequent_depth() {
        let mut records: Vec<TickRecord> = (0..5)
            .map(|k| press([0.006 * f64::from(k), -0.001], 70.0, 0.004))
            .collect();
        // deeper, where tissue is stiffer: of another depth than the others
        records.push(press([0.0, 0.01], 200.0, 0.006));
        records.push(press([0.021, 0.01], 120.0, 0.0041));
        let map = stiffness_map(&records, force_n, 0.008).expect("pressed");
        assert_eq!((map.depth_m, map.cells.len()), (0.004, 6));
        assert!((map.cells[&[0, -1]] - 70.0).abs() < 1e-9);
        let (place_m, more) = map.stiffest().expect("six cells");
        assert!((place_m[0] - 0.0225).abs() < 1e-12 && (place_m[1] - 0.0105).abs() < 1e-12);
        assert!((more - 120.0 / 70.0).abs() < 1e-9, "{more}");
    }

    #[test]
    fn fast_light_and_airborne_ticks_are_ignored() {
        let mut fast = press([0.0; 2], 70.0, 0.004);
        fast.velocity_mps[0] = 0.1;
        let light = press([0.0; 2], 20.0, 0.004);
        let air = press([0.0; 2], 70.0, -0.004);
        assert_eq!(stiffness_map(&[fast, light, air], force_n, 0.008), None);
        let one = stiffness_map(&[press([0.0; 2], 70.0, 0.004)], force_n, 0.008).expect("one cell");
        assert_eq!(one.stiffest(), None);
    }
}
