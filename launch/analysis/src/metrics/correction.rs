//! What correcting the twin costs the hand, against how wrong it was felt and how old the news was.
//!
//! Source: teleop goal 3 ("prediction error vs correction cost vs horizon", the curve the field lacks);
//! definitions ours. Contact is cut into windows of 100 ms. Of each:
//!
//! | quantity | is | unit |
//! |---|---|---|
//! | error | root mean square of the felt force minus the force that the robot met in the same motion | N |
//! | horizon | mean age of the newest frame of the robot, which is the youngest that a correction can rest on | s |
//! | change | sizes of the changes that corrections made to the felt force, summed | N |
//! | energy | what corrections put into the felt model; negative is taken out | J |
//!
//! The friction that fills the tanks is in the error. Windows are gathered in cells of error and horizon, by `ERRORS_N` and `HORIZONS_S`.

use palpate_session::stat::{latest, mean};
use palpate_transport::trace::TickRecord;
use serde::{Deserialize, Serialize};

use super::loops::touches;
use super::{SessionFacts, Traces, press};

/// Borders of the cells along the error \[N\]; the first begins at 0, the last has no end.
pub(crate) const ERRORS_N: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Borders of the cells along the horizon \[s\], alike.
pub(crate) const HORIZONS_S: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// The windows of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CorrectionCell {
    /// Errors from here \[N\].
    pub error_n_min: f64,
    /// Up to here \[N\]; nothing if there is no end.
    pub error_n_max: Option<f64>,
    /// Horizons from here \[s\].
    pub horizon_s_min: f64,
    /// Up to here \[s\]; nothing if there is no end.
    pub horizon_s_max: Option<f64>,
    /// Windows of 100 ms.
    pub windows: u64,
    /// Change of the felt force in a window, mean \[N\].
    pub change_n_mean: f64,
    /// The largest \[N\].
    pub change_n_max: f64,
    /// Energy that corrections put into the felt model, all windows together \[J\].
    pub energy_j: f64,
}

/// What corrections cost in a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cost {
    /// Error of the felt force, root mean square over the windows \[N\].
    pub error_n: f64,
    /// Horizon, mean \[s\].
    pub horizon_s: f64,
    /// Change of the felt force in a window, mean \[N\].
    pub change_n: f64,
    /// Cells that hold a window, by horizon and then by error.
    pub cells: Vec<CorrectionCell>,
}

/// One window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Window {
    error_n: f64,
    horizon_s: f64,
    change_n: f64,
    energy_j: f64,
}

/// Measures the cost; nothing without a twin, contact, or a remote side.
#[must_use]
pub fn measure(traces: &Traces<'_>, facts: &SessionFacts) -> Option<Cost> {
    if facts.feels_twin() != Some(true) {
        return None;
    }
    let windows = windows(traces, facts)?;
    let all = |of: fn(&Window) -> f64| mean(&windows.iter().map(of).collect::<Vec<_>>());
    Some(Cost {
        error_n: all(|w| w.error_n * w.error_n)?.sqrt(),
        horizon_s: all(|w| w.horizon_s)?,
        change_n: all(|w| w.change_n)?,
        cells: cells(&windows),
    })
}

/// Length of a window \[ns\].
const WINDOW_NS: i64 = 100_000_000;

/// Least part of a window that its records must span: the last one of a session, and one that a pause tore, are
/// none.
const SPANNED_NS: i64 = WINDOW_NS / 10 * 9;

/// Records of whole windows, by when they ran: where ticks were missed, 100 records are more than 100 ms.
fn whole_windows(master: &[TickRecord]) -> impl Iterator<Item = &[TickRecord]> {
    let begun_ns = master.first().map_or(0, |first| first.now_ns);
    let number = move |r: &TickRecord| r.now_ns.saturating_sub(begun_ns).div_euclid(WINDOW_NS);
    let all = master.chunk_by(move |a, b| number(a) == number(b));
    all.filter(|records| {
        let (first, last) = (&records[0], &records[records.len() - 1]);
        last.now_ns.saturating_sub(first.now_ns) >= SPANNED_NS
    })
}

fn windows(traces: &Traces<'_>, facts: &SessionFacts) -> Option<Vec<Window>> {
    let shift = press::alignment(traces, facts)?;
    let times: Vec<i64> = traces.slave.iter().map(|r| r.now_ns).collect();
    let mut from = 0;
    let mut windows = Vec::new();
    for records in whole_windows(traces.master) {
        let (first, last) = (&records[0], &records[records.len() - 1]);
        if !(touches(first) && touches(last)) {
            continue;
        }
        let mut squares = Vec::with_capacity(records.len());
        for record in records {
            let at = latest(&times, from, record.now_ns.saturating_add(shift.0));
            let Some(index) = at else { continue };
            from = index;
            squares.push(miss2_n2(record, &traces.slave[index]));
        }
        let known = records.iter().filter(|record| record.age_ns >= 0);
        let ages_s: Vec<f64> = known.map(|record| record.age_ns as f64 * 1e-9).collect();
        let (Some(square), Some(horizon_s)) = (mean(&squares), mean(&ages_s)) else {
            continue;
        };
        let steps = records.windows(2);
        windows.push(Window {
            error_n: square.sqrt(),
            horizon_s,
            change_n: steps
                .map(|pair| (pair[1].corrected - pair[0].corrected) * felt_n(&pair[1]))
                .sum(),
            energy_j: last.update_energy_j - first.update_energy_j,
        });
    }
    Some(windows)
}

/// Size of the felt force \[N\].
fn felt_n(record: &TickRecord) -> f64 {
    let squares = record.port_force_n[..3].iter().map(|f| f * f);
    squares.sum::<f64>().sqrt()
}

/// Square of the felt force minus the met one, x to z \[N^2\].
fn miss2_n2(master: &TickRecord, slave: &TickRecord) -> f64 {
    let pairs = master.port_force_n.iter().zip(&slave.tissue_force_n);
    // the port pushes against the tissue's force
    pairs
        .take(3)
        .map(|(port, met)| (port + met) * (port + met))
        .sum()
}

/// In which cell a value is, and its borders.
fn cell_of(value: f64, borders: &[f64]) -> (usize, f64, Option<f64>) {
    let index = borders.partition_point(|&border| border <= value);
    let low = index.checked_sub(1).map_or(0.0, |below| borders[below]);
    (index, low, borders.get(index).copied())
}

fn cells(windows: &[Window]) -> Vec<CorrectionCell> {
    let place = |w: &Window| {
        let horizon = cell_of(w.horizon_s, &HORIZONS_S);
        let error = cell_of(w.error_n, &ERRORS_N);
        (horizon, error)
    };
    let key = |w: &Window| {
        let (horizon, error) = place(w);
        (horizon.0, error.0)
    };
    let mut sorted = windows.to_vec();
    sorted.sort_by_key(key);
    let same = sorted.chunk_by(|a, b| key(a) == key(b));
    let cell = |of: &[Window]| {
        let ((_, horizon_s_min, horizon_s_max), (_, error_n_min, error_n_max)) = place(&of[0]);
        CorrectionCell {
            error_n_min,
            error_n_max,
            horizon_s_min,
            horizon_s_max,
            windows: of.len() as u64,
            change_n_mean: of.iter().map(|w| w.change_n).sum::<f64>() / of.len() as f64,
            change_n_max: of.iter().map(|w| w.change_n).fold(0.0, f64::max),
            energy_j: of.iter().map(|w| w.energy_j).sum(),
        }
    };
    same.map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_windows_were_a_hundred_records_and_not_100_ms() {
        let at = |ms: i64| TickRecord {
            now_ns: 7_000_000 + ms * 1_000_000,
            ..TickRecord::default()
        };
        // every tick, every other tick, a pause, and an end before its time
        let times = (0..100).chain((100..200).step_by(2)).chain(200..230);
        let records: Vec<TickRecord> = times.chain(300..440).map(at).collect();
        let counts: Vec<usize> = whole_windows(&records).map(<[_]>::len).collect();
        assert_eq!(counts, [100, 50, 100]);
        assert_eq!(whole_windows(&[]).count(), 0);
    }

    #[test]
    fn windows_fall_into_the_cells_of_their_error_and_horizon() {
        let window = |error_n: f64, horizon_s: f64, change_n: f64| Window {
            error_n,
            horizon_s,
            change_n,
            energy_j: -change_n * 1e-3,
        };
        let windows = [
            window(0.2, 0.05, 0.01),
            window(5.0, 0.05, 0.2),
            window(0.15, 0.05, 0.03),
            window(0.2, 2.0, 0.0),
        ];
        let cells = cells(&windows);
        assert_eq!(cells.len(), 3);
        assert_eq!(cells.iter().map(|cell| cell.windows).sum::<u64>(), 4);
        let first = &cells[0];
        assert_eq!((first.error_n_min, first.error_n_max), (0.1, Some(0.3)));
        assert_eq!(
            (first.horizon_s_min, first.horizon_s_max),
            (0.03, Some(0.1))
        );
        assert!((first.change_n_mean - 0.02).abs() < 1e-12 && first.change_n_max == 0.03);
        assert!((first.energy_j + 4e-5).abs() < 1e-12);
        assert_eq!((cells[1].error_n_min, cells[1].error_n_max), (3.0, None));
        assert_eq!(
            (cells[2].horizon_s_min, cells[2].horizon_s_max),
            (1.0, None)
        );
        // a border belongs to what begins there
        assert_eq!(cell_of(0.01, &ERRORS_N), (1, 0.01, Some(0.03)));
        assert_eq!(cell_of(0.0, &ERRORS_N), (0, 0.0, Some(0.01)));
    }
}
