//! Time offset and value offset of a signal against its reference, separated by time warping.
//!
//! This is not the published ETVO, and no table uses that name: it is the `time offset` and `value offset` of a force.
//!
//! Source: ours, after the idea of ETVO, effective time-offset and value-offset (Verburg, Kroep, Gokhale, Prasad and
//! Rao 2020, arXiv:2001.01770; Kroep, Gokhale, Verburg and Prasad 2023, arXiv:2107.05343). A plain RMSE mixes delay
//! with distortion; time warping separates them. Only their abstracts and a line of a table (teleop section 7: "time-
//! and value-offset by refined DTW") were available. They state a refined warping, an effective delay derivative and
//! an effective RMSE, without the method. The computation here, and its necessary differences:
//!
//! 1. Both signals at 100 Hz, the newest record before each sample, for a minute at most.
//! 2. The cheapest monotone path of matched samples (Sakoe and Chiba 1978) with the cost
//!    `|signal(j) - reference(i)|`, and `|j - i|` at most 1.5 s. A step of one signal alone costs 2 % of the
//!    reference's spread besides. Begin and end of the signal may stay unmatched. Window, price and free ends are
//!    ours; nothing else refines the path.
//! 3. Time offset: the median of `j - i` over path points at which the reference changes by more than a fifth of
//!    its largest change. Ours: not an effective delay derivative.
//! 4. Value offset: the root mean square of `signal(j) - reference(i)` along the path. It excludes the distortion of
//!    time, which the warping removes.
//! 5. In a session, two pairs are compared: robot with handle, and displayed force with remote force. The time offset
//!    is the sum of both; the value offset is that of the force.
//!
//! Numbers may be compared among reports of Palpate, and not with published ETVO.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | i, j | sample of the reference, of the signal that it is matched with | - |
//! | time offset | median of (j - i) over samples at which the reference changes | s |
//! | value offset | root mean square of signal(j) - reference(i) along the path | as given |

use palpate_session::stat::{latest_index, percentile, root_mean_square};
use palpate_transport::Span;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

use super::{Traces, press};

/// Sampling of both signals \[ns\]: 100 Hz, enough for the content of a press.
const SAMPLE_NS: i64 = 10_000_000;

/// Largest offset that is searched, either way \[samples\]: 1.5 s.
const OFFSET_SAMPLES_MAX: usize = 150;

/// Longest stretch that is searched \[samples\]: a minute.
const SAMPLES_MAX: usize = 6000;

/// Price of a step of one signal alone, as a share of the reference's spread; without one, noise at rest would be
/// matched with anything.
const STEP_PRICE: f64 = 0.02;

/// Share of the largest change of the reference from which a sample counts for the time offset; a signal at rest has
/// none.
const CHANGE_SHARE_MIN: f64 = 0.2;

/// Offsets of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalOffset {
    /// Delay of the signal after its reference \[s\]; negative if it is earlier.
    pub time_s: f64,
    /// Value offset from the reference, in the unit of both.
    pub value: f64,
}

/// Measures the delay and the distortion that a session adds between motion and force.
///
/// The handle's motion reaches the robot after one delay, and the force returns after another, which a twin can make
/// negative. The hand feels their sum as delay \[s\]. The value is that of the force \[N\]. None without contact.
#[must_use]
pub fn of_session(traces: &Traces<'_>) -> Option<SignalOffset> {
    let begin_ns = traces.master.first()?.now_ns;
    let end_ns = traces.master.last()?.now_ns;
    let sample = |records: &[TickRecord], quantity: &dyn Fn(&TickRecord) -> f64| {
        sampled(records, begin_ns, end_ns, quantity)
    };
    let handle = sample(traces.master, &press::depth_m);
    let robot = sample(traces.slave, &press::depth_m);
    let displayed = sample(traces.master, &press::push_n);
    let remote = sample(traces.slave, &|record| record.tissue_force_n[2]);
    let forward = offset(&handle, &robot)?;
    let back = offset(&remote, &displayed)?;
    Some(SignalOffset {
        time_s: forward.time_s + back.time_s,
        value: back.value,
    })
}

/// Returns true if a mode displays a force that the remote side has at another time: a relayed force, or that of the
/// twin. Only such a force has a time offset. A wave line and a local spring respond at once, with another stiffness;
/// matching such a force with the remote one gives a number that is no delay.
pub(crate) fn has_time_offset(mode: Mode) -> bool {
    let relayed = mode.relays_force() && mode.resolved() != Mode::Pspm;
    relayed || mode.resolved() == Mode::Mmt
}

/// Samples a trace at even times from the newest record before each; 0 before the first.
fn sampled(
    records: &[TickRecord],
    begin_ns: i64,
    end_ns: i64,
    quantity: &dyn Fn(&TickRecord) -> f64,
) -> Vec<f64> {
    let times: Vec<i64> = records.iter().map(|r| r.now_ns).collect();
    let count = ((end_ns - begin_ns) / SAMPLE_NS).clamp(0, SAMPLES_MAX as i64);
    let mut from = 0;
    let value = |k: i64| {
        let Some(index) = latest_index(&times, from, begin_ns + k * SAMPLE_NS) else {
            return 0.0;
        };
        from = index;
        quantity(&records[index])
    };
    (0..count).map(value).collect()
}

/// Offsets of `signal` against `reference`, both sampled alike; None if the reference is flat.
#[must_use]
pub(crate) fn offset(reference: &[f64], signal: &[f64]) -> Option<SignalOffset> {
    let count = reference.len().min(signal.len());
    let (reference, signal) = (reference.get(..count)?, signal.get(..count)?);
    let spread = spread(reference)?;
    let path = warp(reference, signal, STEP_PRICE * spread);
    let change = |i: usize| {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(count - 1));
        (reference[after] - reference[before]).abs()
    };
    let most = (0..count).map(change).fold(0.0, f64::max);
    let sample_s = Span(SAMPLE_NS).s();
    let moving = path
        .iter()
        .filter(|(i, _)| change(*i) > CHANGE_SHARE_MIN * most);
    let times = moving.map(|&(i, j)| (j as f64 - i as f64) * sample_s);
    let mut times: Vec<f64> = times.collect();
    let off = path.iter().map(|&(i, j)| signal[j] - reference[i]);
    let squares: Vec<f64> = off.map(|off| off * off).collect();
    Some(SignalOffset {
        time_s: percentile(&mut times, 0.5)?,
        value: root_mean_square(&squares)?,
    })
}

/// Largest minus least; None for a signal that is flat or not finite.
fn spread(values: &[f64]) -> Option<f64> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let spread = high - low;
    (spread.is_finite() && spread > 0.0).then_some(spread)
}

/// Returns the cheapest path from both beginnings to both ends, within the window. Beginning and end of the signal may
/// stay unmatched by up to the window: a late signal has no partner for its last samples.
fn warp(reference: &[f64], signal: &[f64], standing: f64) -> Vec<(usize, usize)> {
    let count = reference.len();
    let width = 2 * OFFSET_SAMPLES_MAX + 1;
    // cell (i, w) is sample j = i + w - OFFSET_SAMPLES_MAX of the signal
    let partner = |i: usize, w: usize| {
        (i + w)
            .checked_sub(OFFSET_SAMPLES_MAX)
            .filter(|&j| j < count)
    };
    let mut cost = vec![f64::INFINITY; count * width];
    let mut from = vec![0_u8; count * width];
    for i in 0..count {
        for w in 0..width {
            let Some(j) = partner(i, w) else { continue };
            let own = (signal[j] - reference[i]).abs();
            let (mut best, mut step) = (if i == 0 { 0.0 } else { f64::INFINITY }, 0);
            // both advance; the reference alone; the signal alone
            let steps = [
                (i.checked_sub(1), Some(w), 0.0),
                (i.checked_sub(1), (w + 1 < width).then_some(w + 1), standing),
                (Some(i), w.checked_sub(1), standing),
            ];
            for (number, (at, place, price)) in steps.into_iter().enumerate() {
                let Some((at, place)) = at.zip(place) else {
                    continue;
                };
                let total = cost[at * width + place] + price;
                if total < best {
                    (best, step) = (total, number as u8 + 1);
                }
            }
            (cost[i * width + w], from[i * width + w]) = (best + own, step);
        }
    }
    let last = count - 1;
    let ends = (0..width).filter(|&w| partner(last, w).is_some());
    let by_cost = |a: &usize, b: &usize| cost[last * width + a].total_cmp(&cost[last * width + b]);
    let Some(mut w) = ends.min_by(by_cost) else {
        return Vec::new();
    };
    let (mut i, mut path) = (last, Vec::with_capacity(2 * count));
    loop {
        path.extend(partner(i, w).map(|j| (i, j)));
        match from[i * width + w] {
            1 => i -= 1,
            2 => (i, w) = (i - 1, w + 1),
            3 => w -= 1,
            _ => break,
        }
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three smooth pushes of different height.
    fn push(at_s: f64) -> f64 {
        let bump = |centre: f64, height: f64| {
            let x = (at_s - centre) / 0.3;
            height * libm::exp(-x * x)
        };
        bump(1.5, 2.0) + bump(3.5, 1.0) + bump(6.0, 3.0)
    }

    fn signal(late_s: f64, gain: f64, shift: f64) -> Vec<f64> {
        (0..900)
            .map(|k| gain * push(f64::from(k) * 0.01 - late_s) + shift)
            .collect()
    }

    #[test]
    fn delay_and_distortion_are_separated() {
        let reference = signal(0.0, 1.0, 0.0);
        for late_s in [-0.2, 0.0, 0.05, 0.4] {
            let found = offset(&reference, &signal(late_s, 1.0, 0.0)).expect("pushes");
            assert!(
                (found.time_s - late_s).abs() <= 0.011,
                "{late_s}: {found:?}"
            );
            assert!(found.value < 0.02, "{late_s}: {found:?}");
        }
        let shifted = offset(&reference, &signal(0.1, 1.0, 0.1)).expect("pushes");
        assert!((shifted.time_s - 0.1).abs() <= 0.021, "{shifted:?}");
        assert!((0.05..0.12).contains(&shifted.value), "{shifted:?}");
        let halved = offset(&reference, &signal(0.0, 0.5, 0.0)).expect("pushes");
        assert!(halved.value > 10.0 * offset(&reference, &reference).expect("itself").value);
    }

    #[test]
    fn wave_line_modes_have_no_time_offset() {
        let with = Mode::ALL.into_iter().filter(|&mode| has_time_offset(mode));
        let names: Vec<&str> = with.map(Mode::name).collect();
        assert_eq!(names, ["direct", "tdpa", "tank", "iss", "mmt", "auto"]);
    }

    #[test]
    fn a_flat_reference_has_no_offset() {
        assert_eq!(offset(&[1.0; 50], &signal(0.0, 1.0, 0.0)), None);
        assert_eq!(offset(&[], &[]), None);
        assert_eq!(offset(&[f64::NAN; 9], &[0.0; 9]), None);
    }
}
