//! The servo loops, and the updates of the twin.
//!
//! Source: ours; the bound on a correction's force step is teleop section 4.

use palpate_session::stat::percentile;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Events, TickRecord};

use super::{SessionFacts, Traces, correction, paired, press};
use crate::summary::{ContactLaw, ServoSummary, TwinSummary};

/// Window in which force steps of updates add up \[ticks\]: 100 ms, teleop section 4.
const STEP_WINDOW: usize = 100;

/// Force below which a step is not put in proportion \[N\]: the least contact that is felt.
const STEP_FORCE_N: f64 = 0.1;

fn both<'a>(traces: &Traces<'a>) -> impl Iterator<Item = &'a TickRecord> + use<'a> {
    traces.master.iter().chain(traces.slave)
}

/// Measures the servo loops; only the period is known of virtual time.
#[must_use]
pub fn servo(traces: &Traces<'_>, facts: &SessionFacts) -> ServoSummary {
    let period_us = Some(PERIOD.0 as f64 * 1e-3);
    let Some(live) = &facts.live else {
        return ServoSummary {
            period_us,
            missed_ticks: facts.losses.missed_ticks,
            records_lost: facts.losses.records_lost,
            ..ServoSummary::default()
        };
    };
    let us = |ns: i64| ns as f64 * 1e-3;
    let mut wake: Vec<f64> = both(traces).map(|r| us(r.late_ns)).collect();
    let mut compute: Vec<f64> = both(traces).map(|r| us(r.compute_ns)).collect();
    ServoSummary {
        period_us,
        wake_us_p50: percentile(&mut wake, 0.5),
        wake_us_p99: percentile(&mut wake, 0.99),
        wake_us_max: percentile(&mut wake, 1.0),
        compute_us_p50: percentile(&mut compute, 0.5),
        compute_us_p999: percentile(&mut compute, 0.999),
        compute_us_max: percentile(&mut compute, 1.0),
        late_ticks: Some(both(traces).filter(|r| r.late_ns >= PERIOD.0).count() as u64),
        missed_ticks: facts.losses.missed_ticks,
        records_lost: facts.losses.records_lost,
        late_causes: live.late_causes.clone(),
        allocations: live.allocations,
        bare_timer_us_p99: live.bare_timer_us_p99,
        // counted over all ticks by the tally
        masked_ticks: None,
    }
}

/// Measures the twin; unknown without one.
#[must_use]
pub fn twin(traces: &Traces<'_>, facts: &SessionFacts) -> TwinSummary {
    let Some(twin) = &facts.twin else {
        return TwinSummary::default();
    };
    let mut step_us = twin.step_us.clone();
    let [stiffness_error, contrast_transmission] = press::twin(traces, facts);
    let cost = correction::measure(traces, facts);
    let of_cost = |of: fn(&correction::Cost) -> f64| cost.as_ref().map(of);
    TwinSummary {
        prediction_error: prediction_error(traces, facts),
        stiffness_error,
        contrast_transmission,
        method: Some(twin.method.clone()),
        nodes: Some(twin.nodes),
        elements: Some(twin.elements),
        step_us_p50: percentile(&mut step_us, 0.5),
        step_us_p99: percentile(&mut step_us, 0.99),
        step_us_max: percentile(&mut step_us, 1.0),
        updates: Some(
            traces
                .master
                .iter()
                .filter(|r| r.events & Events::UPDATED != 0)
                .count() as u64,
        ),
        confidence: touched_mean(traces.master, |record| record.confidence),
        twin_share: touched_mean(traces.master, |record| record.twin_share),
        switches: Some(switches(traces.master)),
        mesh_error_rms_n: twin.mesh_error.map(|error| error.rms_n),
        mesh_error: twin.mesh_error.map(|error| error.share),
        contact: twin.contact.map(ContactLaw::from),
        update_energy_j: traces.master.last().map(|r| r.update_energy_j),
        force_step_max_fraction_per_100ms: force_step(traces.master),
        correction_error_n: of_cost(|cost| cost.error_n),
        correction_horizon_s: of_cost(|cost| cost.horizon_s),
        correction_change_n: of_cost(|cost| cost.change_n),
        correction: cost.map(|cost| cost.cells),
    }
}

/// Mean over the ticks in which the hand felt the twin's tissue or would have; nothing without any.
fn touched_mean(master: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Option<f64> {
    let touched = master.iter().filter(|record| touches(record));
    let (count, sum) = touched.fold((0_u64, 0.0), |(n, sum), record| (n + 1, sum + of(record)));
    (count > 0).then(|| sum / count as f64)
}

/// How often more than half of what was felt became the twin's, or the other side's.
fn switches(master: &[TickRecord]) -> u64 {
    let twins = |record: &TickRecord| record.twin_share > 0.5;
    let pairs = master.windows(2);
    pairs.filter(|w| twins(&w[0]) != twins(&w[1])).count() as u64
}

/// Whether the twin's force is one to be felt.
pub(super) fn touches(record: &TickRecord) -> bool {
    let squares = record.tissue_force_n[..3].iter().map(|f| f * f);
    squares.sum::<f64>() >= STEP_FORCE_N * STEP_FORCE_N
}

/// How far the twin was from what the remote side met in the same motion, before it was corrected: root
/// mean square of the difference of their forces over that of the remote force. The horizon of this
/// prediction is the delay from master to slave. Nothing without contact.
fn prediction_error(traces: &Traces<'_>, facts: &SessionFacts) -> Option<f64> {
    let shift = press::alignment(traces, facts)?;
    let (mut squares, mut power) = (0.0, 0.0);
    for (master, slave) in paired(traces.master, shift, traces.slave) {
        let forces = master.tissue_force_n.iter().zip(&slave.tissue_force_n);
        for (own, there) in forces.take(3) {
            squares += (own - there) * (own - there);
            power += there * there;
        }
    }
    (facts.feels_twin()? && power > 0.0).then(|| (squares / power).sqrt())
}

/// Largest relative change that corrections and updates made to the force within 100 ms of contact.
/// Nothing without a twin that was ever corrected.
fn force_step(master: &[TickRecord]) -> Option<f64> {
    let corrected = master.iter().any(|record| record.corrected > 0.0);
    let windows = master.windows(STEP_WINDOW + 1);
    let changes = windows
        .map(|w| (&w[0], &w[STEP_WINDOW]))
        .filter(|(first, last)| touches(first) && touches(last))
        .map(|(first, last)| last.corrected - first.corrected);
    changes.reduce(f64::max).filter(|_| corrected)
}
