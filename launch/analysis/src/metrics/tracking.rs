//! Tracking of the hand by the robot, and drift between the two.
//!
//! Source: teleop section 7 (position RMSE, drift), E7 (drift d = x_m delayed - x_sd). The robot is compared with the
//! handle one forward delay earlier, x to z only.

use palpate_session::stat::{percentile, root_mean_square};
use palpate_transport::trace::TickRecord;
use palpate_transport::{Axes, Span};

use super::{SessionFacts, Traces, known_ns, norm_xyz, paired};
use crate::summary::TrackingSummary;

/// Window of the drift's mean \[records\]: 100 ms, so that delay jitter does not count as drift.
const DRIFT_WINDOW: usize = 100;

/// Offset at which the robot counts as following again \[m\]; ours.
const RESYNCED_M: f64 = 2e-3;

/// Age beyond the median at which the newest frame counts as an outage \[ns\]; ours.
const OUTAGE_NS: i64 = 100_000_000;

/// Measures the tracking; all unknown without a slave.
#[must_use]
pub fn measure(traces: &Traces<'_>, facts: &SessionFacts) -> TrackingSummary {
    let delay = forward_delay(traces, facts);
    let offsets = offsets(traces, delay);
    if offsets.is_empty() {
        return TrackingSummary::default();
    }
    let square = |o: &PortOffset<'_>| o.robot.iter().map(|d| d * d).sum();
    let squares: Vec<f64> = offsets.iter().map(square).collect();
    let lasting_mm = |window: &[PortOffset<'_>]| {
        let mean = |a: usize| window.iter().map(|o| o.port[a]).sum::<f64>() / window.len() as f64;
        norm_xyz(&[0, 1, 2].map(mean)) * 1e3
    };
    let windows = offsets.windows(DRIFT_WINDOW.min(offsets.len()));
    let drift: Vec<f64> = windows.map(lasting_mm).collect();
    TrackingSummary {
        position_rmse_mm: root_mean_square(&squares).map(|off_m| off_m * 1e3),
        drift_mm_max: drift.iter().copied().reduce(f64::max),
        drift_mm_end: drift.last().copied(),
        resync_ms_max: resync_ms(traces.slave, &offsets),
    }
}

/// Delay from master to slave: as known, else the median of the slave's estimates, else zero.
pub(crate) fn forward_delay(traces: &Traces<'_>, facts: &SessionFacts) -> Span {
    facts.oneway[0].unwrap_or_else(|| median_oneway(traces.slave))
}

/// Delay from slave to master, likewise.
pub(crate) fn backward_delay(traces: &Traces<'_>, facts: &SessionFacts) -> Span {
    facts.oneway[1].unwrap_or_else(|| median_oneway(traces.master))
}

fn median_oneway(receiver: &[TickRecord]) -> Span {
    let median_ns = percentile(&mut known_ns(receiver, |r| r.oneway_ns), 0.5);
    Span(median_ns.unwrap_or(0.0) as i64)
}

/// Offsets at one tick of the slave \[m\].
struct PortOffset<'a> {
    slave: &'a TickRecord,
    robot: [f64; 3],
    port: [f64; 3],
}

fn offsets<'a>(traces: &Traces<'a>, delay: Span) -> Vec<PortOffset<'a>> {
    let offset = |(slave, master): (&'a TickRecord, &'a TickRecord)| PortOffset {
        slave,
        robot: difference(&master.position_m, &slave.position_m),
        port: difference(&master.port_position_m, &slave.port_position_m),
    };
    let pairs = paired(traces.slave, Span(-delay.0), traces.master);
    pairs.map(offset).collect()
}

fn difference(a: &Axes, b: &Axes) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

/// Longest time from the first fresh frame after an outage to an offset below [`RESYNCED_M`] \[ms\]. An outage without
/// recovery counts to the end of the records. None without an outage.
fn resync_ms(slave: &[TickRecord], offsets: &[PortOffset<'_>]) -> Option<f64> {
    let usual_ns = percentile(&mut known_ns(slave, |r| r.age_ns), 0.5)?;
    let limit_ns = usual_ns as i64 + OUTAGE_NS;
    let (mut out, mut since_ns, mut worst_ms) = (false, None, None::<f64>);
    for offset in offsets {
        let record = offset.slave;
        if record.age_ns > limit_ns {
            (out, since_ns) = (true, None);
        } else if std::mem::take(&mut out) {
            since_ns = Some(record.now_ns);
        }
        if let Some(start_ns) = since_ns {
            let passed_ms = Span(record.now_ns - start_ns).ms();
            worst_ms = Some(worst_ms.map_or(passed_ms, |w| w.max(passed_ms)));
            if norm_xyz(&offset.port) <= RESYNCED_M {
                since_ns = None;
            }
        }
    }
    worst_ms
}
