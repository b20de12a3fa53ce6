//! Offset of the other side's clock and one-way delay, each with a bound of its error.
//!
//! Source: teleop E17; window, drift allowance and skew fit are ours. A message is sent at t1 (our
//! clock), received at t2 (their clock), answered at t3 (their clock) and received back at t4:
//!
//! ```text
//! offset = ((t2 - t1) + (t3 - t4)) / 2      theirs minus ours
//! rtt    = (t4 - t1) - (t3 - t2)            time on the way, both directions
//! ```
//!
//! The offset is then wrong by at most rtt / 2, whatever the asymmetry of the path. A sample ages:
//! clocks whose rates differ by at most 500 ppm drift apart by that much a second. The bound of a
//! sample, a time `age` after its t1, is therefore
//!
//! ```text
//! bound = rtt / 2 + SKEW_LIMIT (t3 - t2) / 2 + (SKEW_LIMIT + |skew|) age
//! ```
//!
//! where `skew` is the fitted rate by which the sample's offset is carried forward. The sample with
//! the smallest bound in a sliding window of 16 s is used; with equal ages that is the one of least
//! round trip. The bound holds as long as no packet arrives before it was sent and the clocks keep
//! within the limit; it assumes nothing about symmetry, jitter or loss.
//!
//! Two samples that both bound the same offset cannot contradict each other. A sample that contradicts the best one
//! thus shows that a clock was set: the window restarts with it.

use crate::clock::{Span, Time};
use crate::frame::HapticFrame;

/// Largest difference of the two clocks' rates for which the bound is claimed \[ppm\]: the limit of NTP
/// for a clock that it disciplines.
const SKEW_LIMIT_PPM: f64 = 500.0;

/// The same as a divisor: a span over this is its drift allowance.
const DRIFT_DIVISOR: i64 = 2000;
const BUCKETS: usize = 32;
const BUCKET_NS: i64 = 500_000_000;
/// Expected spread of clock rates before any measurement \[s/s\].
const SKEW_PRIOR: f64 = 100e-6;
/// Error of an offset that has the least round trip of the window \[s\]: time stamping.
const STAMP_ERROR_S: f64 = 10e-6;
/// Upper bound of every span of a session; keeps sums of spans within 64 bits.
const SPAN_NS_MAX: i64 = i64::MAX / 16;

/// Clock offset, skew and delay from four timestamps. Fixed size, allocates nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockSync {
    buckets: [Option<Bucket>; BUCKETS],
    best: Option<Sample>,
    /// Fitted rate of their clock against ours \[s/s\].
    skew: f64,
    rtt_latest: Option<Span>,
}

/// One exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    /// Start and end of the exchange, t1 and t4.
    began: Time,
    ended: Time,
    offset: Span,
    rtt: Span,
    /// Largest error of the offset at any moment of the exchange, drift since t1 apart.
    half: Span,
}

/// Best of the samples that ended within one interval of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    index: i64,
    best: Sample,
}

impl Sample {
    /// Creates the sample of four timestamps; none if they contradict each other.
    fn new(t1: Time, t2: Time, t3: Time, t4: Time) -> Option<Self> {
        let took = span_between(t1, t4)?;
        let held = span_between(t2, t3)?;
        let out = i128::from(t2.0) - i128::from(t1.0);
        let back = i128::from(t3.0) - i128::from(t4.0);
        let offset = i64::try_from((out + back) / 2).ok()?;
        // Their clock may have run ahead of ours meanwhile, by at most the drift.
        let rtt = took - held;
        let half = Span((rtt.0 + drift(held).0) / 2 + 1);
        if half.0 < 0 || offset.unsigned_abs() > SPAN_NS_MAX.unsigned_abs() {
            return None;
        }
        Some(Self {
            began: t1,
            ended: t4,
            offset: Span(offset),
            rtt: rtt.max(Span(0)),
            half,
        })
    }

    /// Bound of the sample, up to a term that is the same for all samples at one time.
    fn score(&self) -> Span {
        self.half - Span(self.began.0 / DRIFT_DIVISOR)
    }

    fn is_better_than(&self, other: &Self) -> bool {
        self.score() <= other.score()
    }

    /// Middle of the exchange on our clock, to which its offset belongs.
    fn middle(&self) -> Time {
        Time(self.began.0 / 2 + self.ended.0 / 2)
    }
}

impl ClockSync {
    /// Takes the four timestamps of one exchange: sent `t1` and received back `t4` on our clock,
    /// received `t2` and answered `t3` on theirs. Returns false, and drops them, if the timestamps
    /// contradict each other.
    pub fn sample(&mut self, t1: Time, t2: Time, t3: Time, t4: Time) -> bool {
        let Some(sample) = Sample::new(t1, t2, t3, t4) else {
            return false;
        };
        if self.contradicts(&sample) {
            *self = Self::default();
        }
        self.rtt_latest = Some(sample.rtt);
        let index = t4.0.div_euclid(BUCKET_NS);
        let place = index.rem_euclid(BUCKETS as i64) as usize;
        match &mut self.buckets[place] {
            Some(bucket) if bucket.index == index => {
                if sample.is_better_than(&bucket.best) {
                    bucket.best = sample;
                }
                if self.best.is_none_or(|best| sample.is_better_than(&best)) {
                    self.best = Some(sample);
                }
            }
            opened => {
                *opened = Some(Bucket {
                    index,
                    best: sample,
                });
                self.slide(index);
            }
        }
        true
    }

    /// Takes the echo in a frame that was received at `received` on our clock (teleop E17): t1 and
    /// t2 are its echo of our newest frame, t3 its own sending. Returns false for a frame without an
    /// echo, whose sender has received nothing yet.
    pub fn on_frame(&mut self, frame: &HapticFrame, received: Time) -> bool {
        if frame.echo_sent_ns == 0 && frame.echo_received_ns == 0 {
            return false;
        }
        let (t1, t2) = (Time(frame.echo_sent_ns), Time(frame.echo_received_ns));
        self.sample(t1, t2, Time(frame.sent_ns), received)
    }

    /// Age at `now` on our clock of something stamped `sent_remote_ns` on theirs: (age, largest error).
    /// Never negative, as nothing arrives before it was sent.
    #[must_use]
    pub fn age(&self, sent_remote_ns: i64, now: Time) -> Option<(Span, Span)> {
        let (offset, bound) = self.offset_at(now)?;
        let age = (now + offset) - Time(sent_remote_ns);
        Some((age.max(Span(0)), bound))
    }

    /// One-way delay of a frame stamped `sent_remote_ns` on their clock that was received at
    /// `received` on ours: (delay, largest error).
    #[must_use]
    pub fn oneway(&self, sent_remote_ns: i64, received: Time) -> Option<(Span, Span)> {
        self.age(sent_remote_ns, received)
    }

    /// Newest round trip.
    #[must_use]
    pub fn rtt_latest(&self) -> Option<Span> {
        self.rtt_latest
    }

    /// Their clock minus ours at a time of ours, and its largest error; none before the first sample.
    #[must_use]
    pub fn offset_at(&self, now: Time) -> Option<(Span, Span)> {
        let best = self.best?;
        let carried = Span::from_s(self.skew * (now - best.middle()).s());
        // The offset was exact at some unknown time of the exchange.
        let age = magnitude(now - best.began).max(magnitude(now - best.ended));
        let bound = best.half + drift(age) + magnitude(carried);
        Some((best.offset + carried, bound))
    }

    /// True if no offset lies within the bounds of both a sample and the best one before it.
    fn contradicts(&self, sample: &Sample) -> bool {
        let before = self.offset_at(sample.ended);
        before.is_some_and(|(offset, bound)| {
            let own = sample.half + drift(sample.ended - sample.began);
            magnitude(sample.offset - offset) > bound + own
        })
    }

    fn windowed(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().flatten()
    }

    /// Removes buckets that left the window ending with bucket `index`, and fits the skew again.
    fn slide(&mut self, index: i64) {
        for place in &mut self.buckets {
            *place = place.filter(|bucket| bucket.index.abs_diff(index) < BUCKETS as u64);
        }
        self.best = self
            .windowed()
            .map(|bucket| bucket.best)
            .min_by_key(Sample::score);
        self.skew = self.fit();
    }

    /// Slope of a weighted line through the windowed offsets \[s/s\]. The error of a sample's offset is at
    /// most half of the excess of its round trip over that of the empty path, whose asymmetry is constant.
    /// The least round trip of the window stands for the empty path, with less weight the more the others
    /// differ. The prior keeps a short or noisy line from swinging.
    fn fit(&self) -> f64 {
        let samples = || self.windowed().map(|bucket| &bucket.best);
        let (Some(least), Some(origin)) = (samples().map(|s| s.half).min(), self.best) else {
            return 0.0;
        };
        let excess = |sample: &Sample| (sample.half - least).s();
        let doubt_s = samples().map(excess).sum::<f64>() / samples().count() as f64;
        let points = || {
            samples().map(|sample| {
                let error_s = excess(sample) + doubt_s + STAMP_ERROR_S;
                let time_s = (sample.middle() - origin.middle()).s();
                let offset_s = (sample.offset - origin.offset).s();
                (1.0 / (error_s * error_s), time_s, offset_s)
            })
        };
        let (weight, times, offsets) = points().fold((0.0, 0.0, 0.0), |sum, (w, t, x)| {
            (sum.0 + w, sum.1 + w * t, sum.2 + w * x)
        });
        let (mean_s, mean_offset_s) = (times / weight, offsets / weight);
        let prior = 1.0 / (SKEW_PRIOR * SKEW_PRIOR);
        let (spread, slope) = points().fold((prior, 0.0), |sum, (w, t, x)| {
            let t = t - mean_s;
            (sum.0 + w * t * t, sum.1 + w * t * (x - mean_offset_s))
        });
        let limit = SKEW_LIMIT_PPM * 1e-6;
        let skew = slope / spread;
        if skew.is_finite() {
            skew.clamp(-limit, limit)
        } else {
            0.0
        }
    }
}

/// Time from one time to a later one of the same clock; none if it is not later, or beyond the bound.
fn span_between(from: Time, to: Time) -> Option<Span> {
    let span = to.0.checked_sub(from.0)?;
    (0..=SPAN_NS_MAX).contains(&span).then_some(Span(span))
}

/// Largest drift of two clocks in a span, rounded up.
fn drift(span: Span) -> Span {
    Span(span.0 / DRIFT_DIVISOR + 1)
}

fn magnitude(span: Span) -> Span {
    Span(span.0.saturating_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Fate, LinkModel, LinkParams, LinkQueue};
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;
    const APART_NS: i64 = 987_654_321_000;

    /// Their clock at a time of ours.
    fn theirs(ours: Time, skew_ppm: f64) -> Time {
        ours + Span(APART_NS) + Span::from_s((ours - Time(0)).s() * skew_ppm * 1e-6)
    }

    fn arrival(link: &mut LinkModel, now: Time) -> Option<Time> {
        match link.offer(now, 200) {
            Fate::Delivered { due, .. } => Some(due),
            Fate::Dropped(_) => None,
        }
    }

    /// Least round trip of the window.
    fn rtt_min(sync: &ClockSync) -> Span {
        let rtts = sync.windowed().map(|bucket| bucket.best.rtt);
        rtts.min().expect("there are samples")
    }

    /// Statistics of a run of exchanges.
    #[derive(Debug, Default)]
    struct ExchangeStats {
        samples: u32,
        contained: u32,
        oneway_contained: u32,
        widest: Span,
        error: Span,
        skew_ppm: f64,
        rtt_min: Span,
    }

    /// One exchange a millisecond, answered after 0.4 ms of our clock.
    fn exchange(out: LinkParams, back: LinkParams, skew_ppm: f64, count: i64) -> ExchangeStats {
        let mut links = [out, back].map(|p| LinkModel::new(p, 5).expect("valid"));
        let mut sync = ClockSync::default();
        let mut stats = ExchangeStats::default();
        for k in 1..=count {
            let began = Time(k * MS);
            let Some(there) = arrival(&mut links[0], began) else {
                continue;
            };
            let answered = there + Span(400_000);
            let Some(ended) = arrival(&mut links[1], answered) else {
                continue;
            };
            let (t2, t3) = (theirs(there, skew_ppm), theirs(answered, skew_ppm));
            assert!(sync.sample(began, t2, t3, ended));
            let (offset, width) = sync.offset_at(ended).expect("there is a sample");
            let error = magnitude(offset - (theirs(ended, skew_ppm) - ended));
            let (oneway, bound) = sync.oneway(t3.0, ended).expect("there is a sample");
            stats.samples += 1;
            stats.contained += u32::from(error <= width);
            stats.oneway_contained += u32::from(magnitude(oneway - (ended - answered)) <= bound);
            stats.widest = stats.widest.max(width);
            (stats.error, stats.skew_ppm) = (error, sync.skew * 1e6);
            stats.rtt_min = rtt_min(&sync);
        }
        stats
    }

    #[test]
    fn bound_contains_the_truth_on_asymmetric_paths() {
        let impaired = |oneway_ms| LinkParams {
            oneway_ms,
            jitter_ms: 15.0,
            loss: 0.1,
            burst: 4.0,
            ..LinkParams::default()
        };
        for skew_ppm in [-200.0, 0.0, 200.0] {
            for (out_ms, back_ms) in [(80.0, 20.0), (20.0, 80.0)] {
                let stats = exchange(impaired(out_ms), impaired(back_ms), skew_ppm, 125_000);
                assert!(stats.samples >= 100_000, "{stats:?}");
                let least = (f64::from(stats.samples) * 0.999) as u32;
                assert!(stats.contained >= least, "{stats:?}");
                assert!(stats.oneway_contained >= least, "{stats:?}");
                // Half of the empty path's round trip is 50 ms; no claim could be below 30 ms.
                assert!(stats.widest <= Span(55 * MS), "{stats:?}");
                assert!(stats.error >= Span(25 * MS), "{stats:?}");
            }
        }
    }

    #[test]
    fn symmetric_noise_free_path_gives_the_exact_offset() {
        let link = LinkParams {
            oneway_ms: 50.0,
            ..LinkParams::default()
        };
        for skew_ppm in [-200.0, 0.0, 35.0] {
            let stats = exchange(link, link, skew_ppm, 20_000);
            assert!(stats.error <= Span(1_000), "{stats:?}");
            assert!((stats.skew_ppm - skew_ppm).abs() < 0.1, "{stats:?}");
            assert!((stats.rtt_min.ms() - 100.0).abs() < 0.001, "{stats:?}");
        }
    }

    #[test]
    fn skew_is_found_under_little_jitter() {
        let link = LinkParams {
            oneway_ms: 5.0,
            jitter_ms: 0.2,
            loss: 0.02,
            ..LinkParams::default()
        };
        for skew_ppm in [-200.0, 0.0, 200.0] {
            let stats = exchange(link, link, skew_ppm, 20_000);
            assert!((stats.skew_ppm - skew_ppm).abs() < 2.0, "{stats:?}");
            assert_eq!(stats.contained, stats.samples, "{stats:?}");
        }
    }

    /// Frames both ways at 1 kHz, each echoing the newest one received.
    #[test]
    fn echoes_in_frames_give_the_offset() {
        let params = LinkParams {
            oneway_ms: 30.0,
            jitter_ms: 5.0,
            loss: 0.05,
            duplicate: 0.02,
            reorder: 0.02,
            ..LinkParams::default()
        };
        let queue = |seed| LinkQueue::<HapticFrame>::new(params, seed, 200).expect("valid");
        let (mut out, mut back) = (queue(1), queue(2));
        let (mut ours, mut remote) = (ClockSync::default(), ClockSync::default());
        let (mut to_us, mut to_them) = (HapticFrame::default(), HapticFrame::default());
        let (mut from_us, mut from_them) = (to_us, to_us);
        let skew_ppm = -120.0;
        let mut checked = 0;
        for k in 1..=20_000 {
            let now = Time(k * MS);
            let there = theirs(now, skew_ppm);
            while let Some(frame) = back.pop_due(now) {
                if frame.sequence > to_us.sequence {
                    to_us = frame;
                    ours.on_frame(&frame, now);
                    (from_us.echo_sent_ns, from_us.echo_received_ns) = (frame.sent_ns, now.0);
                }
            }
            while let Some(frame) = out.pop_due(now) {
                if frame.sequence > to_them.sequence {
                    to_them = frame;
                    remote.on_frame(&frame, there);
                    (from_them.echo_sent_ns, from_them.echo_received_ns) = (frame.sent_ns, there.0);
                }
            }
            (from_us.sequence, from_us.sent_ns) = (k as u64, now.0);
            (from_them.sequence, from_them.sent_ns) = (k as u64, there.0);
            out.push(now, 200, from_us);
            back.push(now, 200, from_them);
            let (Some(here), Some(away)) = (ours.offset_at(now), remote.offset_at(there)) else {
                continue;
            };
            let truth = there - now;
            assert!(magnitude(here.0 - truth) <= here.1);
            assert!(magnitude(away.0 - (Span(0) - truth)) <= away.1);
            let sent = Time(to_us.sequence as i64 * MS);
            let (age, bound) = ours.age(to_us.sent_ns, now).expect("there is a sample");
            assert!(magnitude(age - (now - sent)) <= bound);
            checked += 1;
        }
        assert!(checked > 19_000);
    }

    #[test]
    fn no_offset_before_an_echo() {
        let mut sync = ClockSync::default();
        let frame = HapticFrame {
            sequence: 1,
            sent_ns: 5,
            ..HapticFrame::default()
        };
        assert!(!sync.on_frame(&frame, Time(9)));
        assert_eq!(sync.offset_at(Time(9)), None);
        assert_eq!(sync.oneway(5, Time(9)), None);
        assert_eq!(sync.rtt_latest(), None);
    }

    #[test]
    fn contradictory_timestamps_are_dropped() {
        let mut sync = ClockSync::default();
        let wrong = [
            (10 * MS, 0, 0, 9 * MS),          // received back before it was sent
            (0, 5 * MS, 4 * MS, 10 * MS),     // answered before it arrived
            (0, 0, 20 * MS, 10 * MS),         // held longer than the whole exchange
            (i64::MIN, 0, 0, i64::MAX),       // longer than any session
            (0, i64::MAX, i64::MAX, 10 * MS), // clocks centuries apart
        ];
        for (t1, t2, t3, t4) in wrong {
            assert!(!sync.sample(Time(t1), Time(t2), Time(t3), Time(t4)));
        }
        assert_eq!(sync, ClockSync::default());
    }

    #[test]
    fn window_drops_samples_of_a_former_path() {
        let mut sync = ClockSync::default();
        let mut after = |from_s: i64, to_s: i64, oneway_ns: i64| {
            for k in from_s * 1000..to_s * 1000 {
                let t1 = Time(k * MS);
                let t2 = t1 + Span(oneway_ns);
                sync.sample(t1, t2, t2, t2 + Span(oneway_ns));
            }
            rtt_min(&sync)
        };
        assert_eq!(after(0, 5, 10 * MS), Span(20 * MS));
        assert_eq!(after(5, 15, 30 * MS), Span(20 * MS));
        assert_eq!(after(15, 22, 30 * MS), Span(60 * MS));
    }

    /// The old offset stayed in use for the whole window of 16 s, with a bound that did not hold.
    #[test]
    fn issue_a_clock_that_was_set_kept_its_old_offset() {
        for step in [Span::from_s(1.0), Span::from_s(-1.0)] {
            let mut sync = ClockSync::default();
            let is_set = |now: Time| now >= Time(3000 * MS);
            for k in 0..6000 {
                let t1 = Time(k * MS);
                let [t2, t3, t4] = [50, 51, 100].map(|ms| Time((k + ms) * MS));
                let there = |now: Time| theirs(now, 0.0) + if is_set(now) { step } else { Span(0) };
                sync.sample(t1, there(t2), there(t3), t4);
                let (offset, bound) = sync.offset_at(t4).expect("a sample");
                let error = magnitude(offset - (there(t4) - t4));
                // a round trip after the step, when an answer has come back
                let unknown = is_set(t4) && !is_set(t2);
                assert!(unknown || error <= bound, "{k}: {error:?} {bound:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_timestamps_give_a_finite_result(
            stamps in prop::collection::vec(prop::array::uniform4(any::<i64>()), 0..80),
            near in prop::collection::vec(
                prop::array::uniform4(-1_000_000_000_i64..20_000_000_000), 0..80),
            (sent, now) in any::<(i64, i64)>(),
        ) {
            let mut sync = ClockSync::default();
            for [t1, t2, t3, t4] in stamps.into_iter().chain(near) {
                sync.sample(Time(t1), Time(t2), Time(t3), Time(t4));
                if let Some((_, bound)) = sync.offset_at(Time(now)) {
                    prop_assert!(bound > Span(0) && rtt_min(&sync) >= Span(0));
                    prop_assert!(sync.skew.abs() <= SKEW_LIMIT_PPM * 1e-6);
                }
                if let Some((age, bound)) = sync.age(sent, Time(now)) {
                    prop_assert!(age >= Span(0) && bound > Span(0));
                }
            }
        }

        #[test]
        fn bound_holds_for_any_path_within_the_skew_limit(
            skew_ppm in -499.0..499.0,
            exchanges in prop::collection::vec(
                (0_i64..400 * MS, 0..200 * MS, 0..300 * MS, 0..200 * MS), 1..120),
            later in -20_000 * MS..20_000 * MS,
        ) {
            let mut sync = ClockSync::default();
            let mut began = Time(0);
            for (gap, out, held, back) in exchanges {
                began = began + Span(gap);
                let there = began + Span(out);
                let answered = there + Span(held);
                let ended = answered + Span(back);
                let (t2, t3) = (theirs(there, skew_ppm), theirs(answered, skew_ppm));
                prop_assert!(sync.sample(began, t2, t3, ended));
                for now in [ended, Time(ended.0 + later)] {
                    let (offset, bound) = sync.offset_at(now).expect("there is a sample");
                    let error = magnitude(offset - (theirs(now, skew_ppm) - now));
                    prop_assert!(error <= bound, "{error:?} {bound:?}");
                }
            }
        }
    }
}
