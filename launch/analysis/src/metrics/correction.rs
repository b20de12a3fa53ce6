//! Cost of the twin's corrections for the hand, against the error of the displayed force and the age of frames.
//!
//! Source: teleop goal 3 ("prediction error vs correction cost vs horizon", the curve the field lacks);
//! definitions ours. Contact is cut into windows of 100 ms. Of each:
//!
//! | quantity | is | unit |
//! |---|---|---|
//! | error | root mean square of the displayed force minus the remote force in the same motion | N |
//! | horizon | mean age of the newest frame of the robot, which is the youngest that a correction can use | s |
//! | change | sizes of the changes that corrections made to the displayed force, summed | N |
//! | energy | energy that corrections added to the displayed model; negative if removed | J |
//!
//! The friction that fills the energy tanks is in the error. Windows are grouped in cells of error and horizon, by
//! `ERRORS_N` and `HORIZONS_S`.

use palpate_session::stat::{mean, root_mean_square};
use palpate_transport::trace::TickRecord;
use serde::{Deserialize, Serialize};

use super::loops::is_twin_contact;
use super::{SessionFacts, Traces, newest_of, norm_xyz, press};
use crate::summary::TwinSummary;

/// Borders of the cells along the error \[N\]; the first begins at 0, the last is unbounded.
pub(crate) const ERRORS_N: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Borders of the cells along the horizon \[s\], in the same form.
pub(crate) const HORIZONS_S: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// Windows of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CorrectionCell {
    /// Least error of the cell \[N\].
    pub error_n_min: f64,
    /// Largest error of the cell \[N\]; null if it is unbounded.
    pub error_n_max: Option<f64>,
    /// Least horizon of the cell \[s\].
    pub horizon_s_min: f64,
    /// Largest horizon of the cell \[s\]; null if it is unbounded.
    pub horizon_s_max: Option<f64>,
    /// Number of windows of 100 ms.
    pub windows: u64,
    /// Change of the displayed force in a window, mean \[N\].
    pub change_n_mean: f64,
    /// Largest change of the displayed force in a window \[N\].
    pub change_n_max: f64,
    /// Energy that corrections added to the displayed model, all windows together \[J\].
    pub energy_j: f64,
}

/// One window of contact.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ContactWindow {
    error_n: f64,
    horizon_s: f64,
    change_n: f64,
    energy_j: f64,
}

/// Adds the cost to a summary: the fields `correction*`, with the cells by horizon and then by error. They stay unknown
/// without a twin, contact, or a remote side.
pub fn add(traces: &Traces<'_>, facts: &SessionFacts, twin: &mut TwinSummary) {
    if facts.feels_twin() != Some(true) {
        return;
    }
    let Some(shift) = press::alignment(traces, facts) else {
        return;
    };
    let ticks: Vec<Tick<'_>> = newest_of(traces.master, shift, traces.slave).collect();
    let windows: Vec<ContactWindow> = whole_windows(&ticks).filter_map(window).collect();
    let all = |of: fn(&ContactWindow) -> f64| mean(&windows.iter().map(of).collect::<Vec<_>>());
    twin.correction_error_n = all(|w| w.error_n * w.error_n).map(f64::sqrt);
    twin.correction_horizon_s = all(|w| w.horizon_s);
    twin.correction_change_n = all(|w| w.change_n);
    twin.correction = (!windows.is_empty()).then(|| cells(&windows));
}

/// Length of a window \[ns\].
const WINDOW_NS: i64 = 100_000_000;

/// Least span of the records of a window. It excludes the last window of a session and one that a pause interrupted.
const SPANNED_NS: i64 = WINDOW_NS / 10 * 9;

/// Record of the master, with the remote record of the same motion.
type Tick<'a> = (&'a TickRecord, Option<&'a TickRecord>);

/// Returns the ticks of whole windows, by their time: where ticks were missed, 100 records are more than 100 ms.
fn whole_windows<'t, 'a>(ticks: &'t [Tick<'a>]) -> impl Iterator<Item = &'t [Tick<'a>]> {
    let begun_ns = ticks.first().map_or(0, |(first, _)| first.now_ns);
    let number = move |(r, _): &Tick<'_>| (r.now_ns.saturating_sub(begun_ns)).div_euclid(WINDOW_NS);
    let all = ticks.chunk_by(move |a, b| number(a) == number(b));
    all.filter(|ticks| {
        let (first, last) = (ticks[0].0, ticks[ticks.len() - 1].0);
        last.now_ns.saturating_sub(first.now_ns) >= SPANNED_NS
    })
}

/// Measures a window; None without contact at both its ends.
fn window(ticks: &[Tick<'_>]) -> Option<ContactWindow> {
    let (first, last) = (ticks[0].0, ticks[ticks.len() - 1].0);
    if !(is_twin_contact(first) && is_twin_contact(last)) {
        return None;
    }
    let squares = ticks
        .iter()
        .filter_map(|(own, there)| Some(error2_n2(own, (*there)?)));
    let ages_ns = ticks
        .iter()
        .map(|(own, _)| own.age_ns)
        .filter(|&ns| ns >= 0);
    let change_n = |pair: &[Tick<'_>]| {
        (pair[1].0.corrected - pair[0].0.corrected) * norm_xyz(&pair[1].0.port_force_n)
    };
    Some(ContactWindow {
        error_n: root_mean_square(&squares.collect::<Vec<_>>())?,
        horizon_s: mean(&ages_ns.map(|ns| ns as f64 * 1e-9).collect::<Vec<_>>())?,
        change_n: ticks.windows(2).map(change_n).sum(),
        energy_j: last.update_energy_j - first.update_energy_j,
    })
}

/// Square of the displayed force minus the remote one, x to z \[N^2\].
fn error2_n2(master: &TickRecord, slave: &TickRecord) -> f64 {
    let pairs = master.port_force_n.iter().zip(&slave.tissue_force_n);
    // the port pushes against the tissue's force
    pairs
        .take(3)
        .map(|(port, remote)| (port + remote) * (port + remote))
        .sum()
}

/// Returns the cell of a value, with its borders.
fn cell_of(value: f64, borders: &[f64]) -> (usize, f64, Option<f64>) {
    let index = borders.partition_point(|&border| border <= value);
    let low = index.checked_sub(1).map_or(0.0, |below| borders[below]);
    (index, low, borders.get(index).copied())
}

fn cells(windows: &[ContactWindow]) -> Vec<CorrectionCell> {
    let place = |w: &ContactWindow| {
        let horizon = cell_of(w.horizon_s, &HORIZONS_S);
        let error = cell_of(w.error_n, &ERRORS_N);
        (horizon, error)
    };
    let key = |w: &ContactWindow| {
        let (horizon, error) = place(w);
        (horizon.0, error.0)
    };
    let mut sorted = windows.to_vec();
    sorted.sort_by_key(key);
    let same = sorted.chunk_by(|a, b| key(a) == key(b));
    let cell = |of: &[ContactWindow]| {
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
        let ticks: Vec<Tick<'_>> = records.iter().map(|record| (record, None)).collect();
        let counts: Vec<usize> = whole_windows(&ticks).map(<[_]>::len).collect();
        assert_eq!(counts, [100, 50, 100]);
        assert_eq!(whole_windows(&[]).count(), 0);
    }

    #[test]
    fn windows_fall_into_the_cells_of_their_error_and_horizon() {
        let window = |error_n: f64, horizon_s: f64, change_n: f64| ContactWindow {
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
        // a border belongs to the cell that begins there
        assert_eq!(cell_of(0.01, &ERRORS_N), (1, 0.01, Some(0.03)));
        assert_eq!(cell_of(0.0, &ERRORS_N), (0, 0.0, Some(0.01)));
    }
}
