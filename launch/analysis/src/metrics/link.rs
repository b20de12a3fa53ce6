//! Metrics of the network as both sides saw it. Source: teleop section 7 (QoS), E17.

use palpate_session::stat::{deviation, percentile};
use palpate_transport::trace::TickRecord;
use palpate_transport::{Span, Time};

use super::{DirectionCounts, SessionFacts, Tally, Traces, known_ns, relative_rms, worse};
use crate::summary::LinkSummary;

/// Measures the network; counts of the network itself take precedence over sequence numbers.
#[must_use]
pub fn measure(traces: &Traces<'_>, tally: &Tally, facts: &SessionFacts) -> LinkSummary {
    let trips = traces.master.iter().filter(|r| r.rtt_ns > 0);
    let mut rtt_ms: Vec<f64> = trips.map(|r| r.rtt_ns as f64 * 1e-6).collect();
    // the network counts the whole session, sequence numbers only the kept records
    let seconds = match facts.frames {
        Some(_) => tally.duration_s(),
        None => super::duration_s(traces),
    }
    .filter(|&s| s > 0.0);
    let streams = match &facts.frames {
        Some(frames) => frames.streams.map(Some),
        None => [
            DirectionCounts::of(traces.slave),
            DirectionCounts::of(traces.master),
        ],
    };
    let [frames_used_fwd, frames_used_back] = tally.frames_used();
    let [sent_fwd, sent_back] = streams.map(|stream| stream.map(|stream| stream.sent));
    let per_s = |count: Option<u64>| count.zip(seconds).map(|(n, s)| n as f64 / s);
    LinkSummary {
        rtt_ms_p50: percentile(&mut rtt_ms, 0.5),
        rtt_ms_p99: percentile(&mut rtt_ms, 0.99),
        jitter_ms: worse(jitter_ms, traces),
        loss: loss(streams),
        oneway_bound_ok_fraction: bound_ok(traces, facts),
        packets_per_s_fwd: per_s(sent_fwd),
        packets_per_s_back: per_s(sent_back),
        bytes_per_s: match (&facts.frames, facts.frame_bytes) {
            (Some(frames), _) if frames.bytes > 0 => per_s(Some(frames.bytes)),
            (_, Some(bytes)) => per_s(sent_fwd.zip(sent_back).map(|(a, b)| (a + b) * bytes)),
            _ => None,
        },
        frames_used_fwd,
        frames_used_back,
        reconstruction_inside_fwd: facts.reconstruction[0].and_then(|r| r.inside_fraction()),
        reconstruction_inside_back: facts.reconstruction[1].and_then(|r| r.inside_fraction()),
        reconstruction_rmse_fwd_mps: facts.reconstruction[0].and_then(|r| r.rmse()),
        reconstruction_rmse_back_n: facts.reconstruction[1].and_then(|r| r.rmse()),
        age_ms_p50: age_ms(traces, 0.5),
        age_ms_p999: age_ms(traces, 0.999),
        reconstruction_error: reconstruction_error(traces),
        secured: facts.prefilled.link.secured,
    }
}

/// Age of the newest frame, as its receiver estimates it, over all ticks of the worse side \[ms\].
fn age_ms(traces: &Traces<'_>, share: f64) -> Option<f64> {
    let of = |records: &[TickRecord]| percentile(&mut known_ns(records, |r| r.age_ns), share);
    worse(of, traces).map(|ns| ns * 1e-6)
}

/// Error of the contact force at the master beyond a constant delay. Compares the force of the master's newest frame
/// with the one that a link of the median age would carry, as root mean square of the difference over that of the
/// force. Ours. None unless both sides have every tick of one clock and send a frame in each.
fn reconstruction_error(traces: &Traces<'_>) -> Option<f64> {
    let slave = traces.slave;
    let base = slave.first()?.tick;
    let whole = slave.last()?.tick.checked_sub(base)? + 1 == slave.len() as u64;
    if !whole || traces.master.first()?.tick != base || base != 0 {
        return None;
    }
    // frame n is made in tick n - 1
    let lag = |record: &TickRecord| (record.tick + 1).checked_sub(record.received_sequence);
    let receiving = || traces.master.iter().filter(|r| r.received_sequence > 0);
    let mut lags: Vec<f64> = receiving().filter_map(lag).map(|n| n as f64).collect();
    let usual = percentile(&mut lags, 0.5)? as u64;
    let force = |tick: Option<u64>| {
        slave
            .get(usize::try_from(tick?).ok()?)
            .map(|r| r.tissue_force_n)
    };
    let pairs = receiving().filter_map(|record| {
        let carried = force(Some(record.received_sequence - 1))?;
        let meant = force((record.tick + 1).checked_sub(usual + 1))?;
        Some((0..3).map(move |axis| (carried[axis], meant[axis])))
    });
    relative_rms(pairs.flatten())
}

impl DirectionCounts {
    /// Counts from a receiver's counters: sent is the span of sequence numbers; an overtaken frame is not used.
    fn of(receiver: &[TickRecord]) -> Option<Self> {
        let first = receiver.iter().find(|r| r.received_sequence > 0)?;
        let last = receiver.last()?;
        let since = |now: u64, then: u64| Some(now.checked_sub(then)? + 1);
        Some(Self {
            sent: since(last.received_sequence, first.received_sequence)?,
            arrived: since(last.received_count, first.received_count)?,
        })
    }
}

/// Lost over sent, both directions together. By sequence numbers alone, a frame that a newer one overtook counts as
/// lost, because the receiver cannot use it.
fn loss(streams: [Option<DirectionCounts>; 2]) -> Option<f64> {
    let known = streams.into_iter().flatten();
    let (sent, arrived) = known.fold((0, 0), |(sent, came), s| (sent + s.sent, came + s.arrived));
    (sent > 0).then(|| (1.0 - arrived as f64 / sent as f64).clamp(0.0, 1.0))
}

/// Standard deviation of the delay of the frames used, each counted once \[ms\].
fn jitter_ms(receiver: &[TickRecord]) -> Option<f64> {
    let mut sequence = 0;
    let mut is_new = |r: &TickRecord| {
        std::mem::replace(&mut sequence, r.received_sequence) != r.received_sequence
    };
    let fresh = receiver.iter().filter(|r| r.oneway_ns >= 0 && is_new(r));
    deviation(&fresh.map(|r| r.oneway_ns as f64 * 1e-6).collect::<Vec<_>>())
}

/// Time after a step of a clock in which estimates of delays are not judged \[s\]: no side can know of it before a frame
/// has come back.
const STEP_UNKNOWN_S: f64 = 0.5;

fn bound_ok(traces: &Traces<'_>, facts: &SessionFacts) -> Option<f64> {
    let truth = facts.oneway_truth.as_ref()?;
    let master = traces.master.iter().zip(&truth.master_ns);
    let slave = traces.slave.iter().zip(&truth.slave_ns);
    let (mut known, mut within) = (0_u64, 0_u64);
    let is_unknown = |record: &TickRecord| {
        let since = |step_s: f64| Time(record.now_ns) - (Time(0) + Span::from_s(step_s));
        let since_s = facts.clock_step_s.map(|step_s| since(step_s).s());
        since_s.is_some_and(|since_s| (0.0..STEP_UNKNOWN_S).contains(&since_s))
    };
    for (record, &true_ns) in master.chain(slave) {
        if is_unknown(record) {
            continue;
        }
        if true_ns >= 0 && record.oneway_ns >= 0 && record.oneway_bound_ns >= 0 {
            known += 1;
            within += u64::from((record.oneway_ns - true_ns).abs() <= record.oneway_bound_ns);
        }
    }
    (known > 0).then(|| within as f64 / known as f64)
}
