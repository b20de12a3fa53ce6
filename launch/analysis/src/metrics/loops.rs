//! Metrics of the servo loops and of the twin's updates.
//!
//! Source: ours; the bound on a correction's force step is teleop section 4.

use palpate_session::stat::percentile;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{EventFlags, TickRecord};

use super::{SessionFacts, Traces, correction, paired, press, relative_rms};
use crate::summary::{ServoSummary, TwinSummary};

/// Window over which force steps of updates are summed \[ticks\]: 100 ms, teleop section 4.
const STEP_WINDOW: usize = 100;

/// Force below which a step has no relative size \[N\]: the least contact that is felt.
const STEP_FORCE_N: f64 = 0.1;

fn both<'a>(traces: &Traces<'a>) -> impl Iterator<Item = &'a TickRecord> + use<'a> {
    traces.master.iter().chain(traces.slave)
}

/// Measures the servo loops; virtual time has a period and no other value.
#[must_use]
pub fn servo(traces: &Traces<'_>, facts: &SessionFacts) -> ServoSummary {
    let known = ServoSummary {
        period_us: Some(PERIOD.0 as f64 * 1e-3),
        ..facts.prefilled.servo.clone()
    };
    if facts.live_parts.is_none() {
        return known;
    }
    let us = |ns: i64| ns as f64 * 1e-3;
    let mut wake: Vec<f64> = both(traces).map(|r| us(r.late_ns)).collect();
    let mut compute: Vec<f64> = both(traces).map(|r| us(r.compute_ns)).collect();
    ServoSummary {
        wake_us_p50: percentile(&mut wake, 0.5),
        wake_us_p99: percentile(&mut wake, 0.99),
        wake_us_max: percentile(&mut wake, 1.0),
        compute_us_p50: percentile(&mut compute, 0.5),
        compute_us_p999: percentile(&mut compute, 0.999),
        compute_us_max: percentile(&mut compute, 1.0),
        late_ticks: Some(both(traces).filter(|r| r.late_ns >= PERIOD.0).count() as u64),
        ..known
    }
}

/// Measures the twin; unknown without one.
#[must_use]
pub fn twin(traces: &Traces<'_>, facts: &SessionFacts) -> TwinSummary {
    let known = &facts.prefilled.twin;
    if known.method.is_none() {
        return TwinSummary::default();
    }
    let master = traces.master;
    let updates = master
        .iter()
        .filter(|r| r.events & EventFlags::TWIN_UPDATED != 0);
    let [stiffness_error, contrast_transmission] = press::twin_fidelity(traces, facts);
    let mut twin = TwinSummary {
        prediction_error: prediction_error(traces, facts),
        stiffness_error,
        contrast_transmission,
        updates: Some(updates.count() as u64),
        confidence: contact_mean(master, |record| record.confidence),
        twin_share: contact_mean(master, |record| record.twin_share),
        height_m: master.last().map(|record| record.twin_height_m),
        switches: Some(switches(master)),
        update_energy_j: master.last().map(|r| r.update_energy_j),
        force_step_max_fraction_per_100ms: force_step(master),
        ..known.clone()
    };
    correction::add(traces, facts, &mut twin);
    twin
}

/// Mean over the ticks with a twin force that could be felt; None without any.
fn contact_mean(master: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Option<f64> {
    let touched = master.iter().filter(|record| is_twin_contact(record));
    let (count, sum) = touched.fold((0_u64, 0.0), |(n, sum), record| (n + 1, sum + of(record)));
    (count > 0).then(|| sum / count as f64)
}

/// Counts the switches between the twin's force and the relayed one, by which of them is more than half.
fn switches(master: &[TickRecord]) -> u64 {
    let twins = |record: &TickRecord| record.twin_share > 0.5;
    let pairs = master.windows(2);
    pairs.filter(|w| twins(&w[0]) != twins(&w[1])).count() as u64
}

/// Returns true if the twin's force is large enough to be felt.
pub(super) fn is_twin_contact(record: &TickRecord) -> bool {
    let squares = record.tissue_force_n[..3].iter().map(|f| f * f);
    squares.sum::<f64>() >= STEP_FORCE_N * STEP_FORCE_N
}

/// Prediction error of the twin before correction, against the remote side in the same motion. It is the root mean
/// square of the difference of their forces over that of the remote force; its horizon is the delay from master to
/// slave. None without contact.
fn prediction_error(traces: &Traces<'_>, facts: &SessionFacts) -> Option<f64> {
    let shift = press::alignment(traces, facts)?;
    let pairs = paired(traces.master, shift, traces.slave);
    let forces = pairs.flat_map(|(master, slave)| {
        (0..3).map(|axis| (master.tissue_force_n[axis], slave.tissue_force_n[axis]))
    });
    relative_rms(forces).filter(|_| facts.feels_twin() == Some(true))
}

/// Largest relative change that corrections and updates made to the force within 100 ms of contact. None without a
/// twin that was ever corrected.
fn force_step(master: &[TickRecord]) -> Option<f64> {
    let corrected = master.iter().any(|record| record.corrected > 0.0);
    let windows = master.windows(STEP_WINDOW + 1);
    let changes = windows
        .map(|w| (&w[0], &w[STEP_WINDOW]))
        .filter(|(first, last)| is_twin_contact(first) && is_twin_contact(last))
        .map(|(first, last)| last.corrected - first.corrected);
    changes.reduce(f64::max).filter(|_| corrected)
}
