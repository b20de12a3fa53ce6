//! The network as the two sides saw it. Source: teleop section 7 (QoS), E17.

use palpate_session::stat::{deviation, percentile};
use palpate_transport::trace::TickRecord;

use super::{SessionFacts, Tally, Traces};
use crate::summary::LinkSummary;

/// Measures the network; counts of the network itself win over what sequence numbers show.
#[must_use]
pub fn measure(traces: &Traces<'_>, tally: &Tally, facts: &SessionFacts) -> LinkSummary {
    let mut rtt_ms: Vec<f64> = traces
        .master
        .iter()
        .filter(|r| r.rtt_ns > 0)
        .map(|r| r.rtt_ns as f64 * 1e-6)
        .collect();
    // the network counts the whole session, sequence numbers only what is kept of it
    let seconds = match facts.frames {
        Some(_) => tally.duration_s(),
        None => super::duration_s(traces),
    }
    .filter(|&s| s > 0.0);
    let (fwd, back) = (Stream::of(traces.slave), Stream::of(traces.master));
    let sent = match (&facts.frames, &fwd, &back) {
        (Some(frames), _, _) => (Some(frames.sent_fwd), Some(frames.sent_back)),
        (None, fwd, back) => (fwd.map(|s| s.sent), back.map(|s| s.sent)),
    };
    let per_s = |count: Option<u64>| count.zip(seconds).map(|(n, s)| n as f64 / s);
    LinkSummary {
        rtt_ms_p50: percentile(&mut rtt_ms, 0.5),
        rtt_ms_p99: percentile(&mut rtt_ms, 0.99),
        jitter_ms: [jitter_ms(traces.master), jitter_ms(traces.slave)]
            .into_iter()
            .flatten()
            .reduce(f64::max),
        loss: loss(facts, fwd, back),
        oneway_bound_ok_fraction: bound_ok(traces, facts),
        packets_per_s_fwd: per_s(sent.0),
        packets_per_s_back: per_s(sent.1),
        bytes_per_s: match (&facts.frames, facts.frame_bytes) {
            (Some(frames), _) if frames.bytes > 0 => per_s(Some(frames.bytes)),
            (_, Some(bytes)) => per_s(sent.0.zip(sent.1).map(|(a, b)| (a + b) * bytes)),
            _ => None,
        },
        reconstruction_inside_fwd: facts.reconstruction[0].and_then(|r| r.inside_fraction()),
        reconstruction_inside_back: facts.reconstruction[1].and_then(|r| r.inside_fraction()),
        reconstruction_rmse_fwd_mps: facts.reconstruction[0].and_then(|r| r.rmse()),
        reconstruction_rmse_back_n: facts.reconstruction[1].and_then(|r| r.rmse()),
        age_ms_p50: age_ms(traces, 0.5),
        age_ms_p999: age_ms(traces, 0.999),
        reconstruction_error: reconstruction_error(traces),
        ..LinkSummary::default()
    }
}

/// Age of the newest frame, as its receiver knows it, over all ticks of the worse side \[ms\].
fn age_ms(traces: &Traces<'_>, share: f64) -> Option<f64> {
    let of = |records: &[TickRecord]| {
        let known = records.iter().filter(|r| r.age_ns >= 0);
        let mut ages: Vec<f64> = known.map(|r| r.age_ns as f64 * 1e-6).collect();
        percentile(&mut ages, share)
    };
    let sides = [of(traces.master), of(traces.slave)];
    sides.into_iter().flatten().reduce(f64::max)
}

/// What the network does to the contact force on its way to the master, beyond a constant delay: the
/// force that the master's newest frame carries against the one that a link of the median age would
/// carry at that moment, root mean square of the difference over that of the force. Ours. Needs both
/// sides at every tick of one clock, and a frame a tick; else nothing.
fn reconstruction_error(traces: &Traces<'_>) -> Option<f64> {
    let slave = traces.slave;
    let base = slave.first()?.tick;
    let whole = slave.last()?.tick.checked_sub(base)? + 1 == slave.len() as u64;
    if !whole || traces.master.first()?.tick != base || base != 0 {
        return None;
    }
    // frame n is made in tick n - 1
    let lag = |record: &TickRecord| (record.tick + 1).checked_sub(record.received_sequence);
    let heard = || traces.master.iter().filter(|r| r.received_sequence > 0);
    let mut lags: Vec<f64> = heard().filter_map(lag).map(|n| n as f64).collect();
    let usual = percentile(&mut lags, 0.5)? as u64;
    let (mut squares, mut power) = (0.0, 0.0);
    for record in heard() {
        let carried = usize::try_from(record.received_sequence - 1).ok();
        let meant = (record.tick + 1).checked_sub(usual + 1);
        let meant = meant.and_then(|tick| usize::try_from(tick).ok());
        let both = carried.and_then(|at| slave.get(at));
        let Some((got, want)) = both.zip(meant.and_then(|at| slave.get(at))) else {
            continue;
        };
        for axis in 0..3 {
            let (got, want) = (got.tissue_force_n[axis], want.tissue_force_n[axis]);
            squares += (got - want) * (got - want);
            power += want * want;
        }
    }
    (power > 0.0).then(|| (squares / power).sqrt())
}

/// One direction as its receiver's counters show it.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// Frames that the sender must have sent: the span of sequence numbers.
    sent: u64,
    /// Frames used; overtaken ones are not among them.
    used: u64,
}

impl Stream {
    fn of(receiver: &[TickRecord]) -> Option<Self> {
        let first = receiver.iter().find(|r| r.received_sequence > 0)?;
        let last = receiver.last()?;
        Some(Self {
            sent: last
                .received_sequence
                .checked_sub(first.received_sequence)?
                + 1,
            used: last.received_count.checked_sub(first.received_count)? + 1,
        })
    }
}

/// Lost over sent, both directions together. From sequence numbers alone a frame that was
/// overtaken by a newer one counts as lost, because the receiver cannot use it.
fn loss(facts: &SessionFacts, fwd: Option<Stream>, back: Option<Stream>) -> Option<f64> {
    let (sent, arrived) = match &facts.frames {
        Some(f) => (f.sent_fwd + f.sent_back, f.arrived_fwd + f.arrived_back),
        None => [fwd, back]
            .into_iter()
            .flatten()
            .fold((0, 0), |(sent, used), s| (sent + s.sent, used + s.used)),
    };
    (sent > 0).then(|| (1.0 - arrived as f64 / sent as f64).clamp(0.0, 1.0))
}

/// Standard deviation of the delay of the frames used, each counted once \[ms\].
fn jitter_ms(receiver: &[TickRecord]) -> Option<f64> {
    let mut sequence = 0;
    let delays: Vec<f64> = receiver
        .iter()
        .filter(|r| {
            r.oneway_ns >= 0
                && std::mem::replace(&mut sequence, r.received_sequence) != r.received_sequence
        })
        .map(|r| r.oneway_ns as f64 * 1e-6)
        .collect();
    deviation(&delays)
}

fn bound_ok(traces: &Traces<'_>, facts: &SessionFacts) -> Option<f64> {
    let truth = facts.oneway_truth.as_ref()?;
    let master = traces.master.iter().zip(&truth.master_ns);
    let slave = traces.slave.iter().zip(&truth.slave_ns);
    let (mut known, mut held) = (0_u64, 0_u64);
    for (record, &true_ns) in master.chain(slave) {
        if true_ns >= 0 && record.oneway_ns >= 0 && record.oneway_bound_ns >= 0 {
            known += 1;
            held += u64::from((record.oneway_ns - true_ns).abs() <= record.oneway_bound_ns);
        }
    }
    (known > 0).then(|| held as f64 / known as f64)
}
