//! Sender's model of the receiver's possible states when frames can be lost.
//!
//! Source: ours, after the error-resilient deadband of Kammerl, Brandi, Schweiger and Steinbach (known
//! by its abstract): no acknowledgements, but a frame is sent while the receiver is likely to be off.
//! Every frame sent doubles the hypotheses, as it arrived or was lost. The most likely ones are kept.
//! Every frame of the peer echoes the newest of ours that it received (teleop E17). That one arrived for
//! certain. One that should have arrived before the echo was sent, and is not in it, counts as lost with
//! high probability. So an echo sorts the hypotheses, and nothing waits for it.

use super::predictor::{SignalPredictor, SignalSample};
use crate::{Axes, Span, Time};

/// Hypotheses that are kept.
const HYPOTHESES_MAX: usize = 64;

/// Newest frames whose arrival a hypothesis records.
const TRACKED_FRAMES: usize = 64;

/// Likelihood that a frame arrived although it was overdue in the peer's echo.
const OVERDUE_LIKELIHOOD: f64 = 0.01;

/// Margin after the expected arrival from which a frame missing in an echo counts as overdue \[ns\].
const LATENESS: Span = Span(20_000_000);

/// Echo in the peer's newest frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Echo {
    /// Time at which our frame was sent, on our clock \[ns\]; 0 for none.
    pub sent_ns: i64,
    /// Time at which the peer received that frame, on its clock \[ns\].
    pub received_ns: i64,
    /// Time at which the peer sent the echo, on its clock \[ns\].
    pub answered_ns: i64,
}

/// Fields of a frame whose change is always sent.
pub(crate) type UrgentFields = [u64; 3];

/// One possible state of the receiver.
#[derive(Debug, Clone, Copy, Default)]
struct Hypothesis {
    predictor: SignalPredictor,
    urgent: UrgentFields,
    /// Its probability.
    probability: f64,
    /// Bits of the newest frames that arrived; the newest is the lowest bit.
    received_bits: u64,
}

/// Likely states of the receiver. Fixed size.
#[derive(Debug, Clone)]
pub(crate) struct ReceiverModel {
    hypotheses: [Hypothesis; 2 * HYPOTHESES_MAX],
    count: usize,
    /// Times of sending of the newest frames, newest first.
    sent_at: [Time; TRACKED_FRAMES],
    last_echo: Echo,
}

impl Default for ReceiverModel {
    /// One hypothesis: a receiver that has received nothing.
    fn default() -> Self {
        let mut hypotheses = [Hypothesis::default(); 2 * HYPOTHESES_MAX];
        hypotheses[0].probability = 1.0;
        Self {
            hypotheses,
            count: 1,
            sent_at: [Time(0); TRACKED_FRAMES],
            last_echo: Echo::default(),
        }
    }
}

impl ReceiverModel {
    /// Records a frame that was sent; `loss` is the probability that it is lost.
    pub(crate) fn on_sent(&mut self, sample: &SignalSample<'_>, urgent: UrgentFields, loss: f64) {
        self.sent_at.rotate_right(1);
        self.sent_at[0] = sample.sent;
        let before = self.count;
        for index in 0..before {
            let lost = &mut self.hypotheses[index];
            lost.received_bits <<= 1;
            let mut arrived = *lost;
            lost.probability *= loss;
            arrived.probability *= 1.0 - loss;
            arrived.received_bits |= 1;
            arrived.predictor.update(sample);
            arrived.urgent = urgent;
            self.hypotheses[before + index] = arrived;
        }
        self.count = 2 * before;
        self.prune();
    }

    /// Takes an echo of the peer; it may repeat.
    pub(crate) fn on_echo(&mut self, echo: &Echo) {
        if echo.sent_ns == 0 || *echo == self.last_echo {
            return;
        }
        self.last_echo = *echo;
        // by the peer's clock, whose offset cancels: delays of successive frames are alike
        let oneway = Span(echo.received_ns.saturating_sub(echo.sent_ns));
        let Some(place) = self.sent_at.iter().position(|sent| sent.0 == echo.sent_ns) else {
            return;
        };
        let overdue = |sent: &&Time| (**sent + oneway + LATENESS).0 < echo.answered_ns;
        let late = self.sent_at[..place].iter().filter(overdue).count();
        // the oldest of those sent after the echoed one
        let missing = ((1_u64 << late) - 1) << (place - late);
        for hypothesis in &mut self.hypotheses[..self.count] {
            if (hypothesis.received_bits >> place) & 1 == 0 {
                hypothesis.probability = 0.0;
            }
            let odd = (hypothesis.received_bits & missing).count_ones();
            for _ in 0..odd {
                hypothesis.probability *= OVERDUE_LIKELIHOOD;
            }
        }
        self.prune();
    }

    /// Probability that the receiver's state at `now` is off by `is_off`; summation stops above
    /// `enough`.
    #[must_use]
    pub(crate) fn mismatch_probability(
        &self,
        now: Time,
        horizon: Span,
        enough: f64,
        is_off: impl Fn(&Axes, &UrgentFields) -> bool,
    ) -> f64 {
        let mut probability = 0.0;
        for hypothesis in &self.hypotheses[..self.count] {
            let after = now - hypothesis.predictor.sent().unwrap_or(now);
            if is_off(
                &hypothesis.predictor.predict(after, horizon),
                &hypothesis.urgent,
            ) {
                probability += hypothesis.probability;
            }
            if probability > enough {
                break;
            }
        }
        probability
    }

    /// Keeps the likeliest hypotheses, merges equal ones and normalises their probabilities.
    fn prune(&mut self) {
        let hypotheses = &mut self.hypotheses[..self.count];
        hypotheses.sort_unstable_by(|a, b| b.probability.total_cmp(&a.probability));
        let mut count = 0;
        for index in 0..hypotheses.len() {
            let hypothesis = hypotheses[index];
            if hypothesis.probability <= 0.0 {
                break;
            }
            let same = |other: &&mut Hypothesis| {
                other.predictor == hypothesis.predictor && other.urgent == hypothesis.urgent
            };
            if let Some(other) = hypotheses[..count].iter_mut().find(same) {
                other.probability += hypothesis.probability;
            } else if count < HYPOTHESES_MAX {
                hypotheses[count] = hypothesis;
                count += 1;
            }
        }
        let sum: f64 = hypotheses[..count]
            .iter()
            .map(|hypothesis| hypothesis.probability)
            .sum();
        if count == 0 {
            // the echo excludes every hypothesis: start again with a receiver that received nothing
            let (sent, echo) = (self.sent_at, self.last_echo);
            *self = Self {
                sent_at: sent,
                last_echo: echo,
                ..Self::default()
            };
            return;
        }
        for hypothesis in &mut hypotheses[..count] {
            hypothesis.probability /= sum;
        }
        self.count = count;
    }
}
