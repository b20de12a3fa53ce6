//! What the receiver may believe when frames can be lost, as the sender sees it.
//!
//! Source: ours, after the error-resilient deadband of Kammerl, Brandi, Schweiger and Steinbach (known
//! by its abstract): no acknowledgements, but a frame is sent while the receiver is likely to be off.
//! Every frame sent doubles what the receiver may believe, as it came or was lost; the most likely ones are kept.
//! Every frame of the peer echoes the newest of ours that it had (teleop E17): that one came for
//! certain, and one that should have come before the echo was sent, and is not in it, is as good
//! as lost. So the echo sorts the beliefs whenever there is one, and nothing waits for it.

use super::predictor::{Line, News};
use crate::{Axes, Span, Time};

/// Beliefs that are kept.
const KEPT: usize = 64;

/// Frames of which a belief knows whether they came.
const KNOWN: usize = 64;

/// Likelihood of a frame having come that was overdue when the peer answered.
const OVERDUE: f64 = 0.01;

/// How much later than the frame that was echoed a later one may come \[ns\].
const LATENESS: Span = Span(20_000_000);

/// What the peer's newest frame says of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Echo {
    /// When our frame that it had was sent, our clock; 0 for none.
    pub sent_ns: i64,
    /// When it received that, its clock.
    pub received_ns: i64,
    /// When it sent the echo, its clock.
    pub answered_ns: i64,
}

/// What of a frame must not be missed: a change of it is always felt.
pub type Marks = [u64; 3];

/// One thing that the receiver may believe.
#[derive(Debug, Clone, Copy, Default)]
struct Belief {
    line: Line,
    marks: Marks,
    /// Its probability.
    share: f64,
    /// Which of the last frames came; the newest is the lowest bit.
    came: u64,
}

/// All that the receiver is likely to believe. Fixed size.
#[derive(Debug, Clone)]
pub struct Receiver {
    beliefs: [Belief; 2 * KEPT],
    count: usize,
    /// When the last frames were sent, newest first.
    sent: [Time; KNOWN],
    heard: Echo,
}

impl Default for Receiver {
    /// It knows nothing.
    fn default() -> Self {
        let mut beliefs = [Belief::default(); 2 * KEPT];
        beliefs[0].share = 1.0;
        Self {
            beliefs,
            count: 1,
            sent: [Time(0); KNOWN],
            heard: Echo::default(),
        }
    }
}

impl Receiver {
    /// Note a frame that was sent; `loss` is the probability that it will not come.
    pub fn send(&mut self, news: &News<'_>, marks: Marks, loss: f64) {
        self.sent.rotate_right(1);
        self.sent[0] = news.sent;
        let before = self.count;
        for index in 0..before {
            let lost = &mut self.beliefs[index];
            lost.came <<= 1;
            let mut came = *lost;
            lost.share *= loss;
            came.share *= 1.0 - loss;
            came.came |= 1;
            came.line.take(news);
            came.marks = marks;
            self.beliefs[before + index] = came;
        }
        self.count = 2 * before;
        self.prune();
    }

    /// Note what the peer says that it had; the same may come again.
    pub fn hear(&mut self, echo: &Echo) {
        if echo.sent_ns == 0 || *echo == self.heard {
            return;
        }
        self.heard = *echo;
        // by the peer's clock, which need not be known: the way of one frame is that of the next
        let way = Span(echo.received_ns.saturating_sub(echo.sent_ns));
        let Some(place) = self.sent.iter().position(|sent| sent.0 == echo.sent_ns) else {
            return;
        };
        let overdue = |sent: &&Time| (**sent + way + LATENESS).0 < echo.answered_ns;
        let late = self.sent[..place].iter().filter(overdue).count();
        // the oldest of those sent after the echoed one
        let missing = ((1_u64 << late) - 1) << (place - late);
        for belief in &mut self.beliefs[..self.count] {
            if (belief.came >> place) & 1 == 0 {
                belief.share = 0.0;
            }
            let odd = (belief.came & missing).count_ones();
            for _ in 0..odd {
                belief.share *= OVERDUE;
            }
        }
        self.prune();
    }

    /// Probability that what the receiver believes at `now` is off in the eyes of `is_off`; counting
    /// ends above `enough`.
    #[must_use]
    pub fn doubt(
        &self,
        now: Time,
        horizon: Span,
        enough: f64,
        is_off: impl Fn(&Axes, &Marks) -> bool,
    ) -> f64 {
        let mut doubt = 0.0;
        for belief in &self.beliefs[..self.count] {
            let after = now - belief.line.sent().unwrap_or(now);
            if is_off(&belief.line.at(after, horizon), &belief.marks) {
                doubt += belief.share;
            }
            if doubt > enough {
                break;
            }
        }
        doubt
    }

    /// Keep the likeliest beliefs, the same one once, and let their shares sum to one.
    fn prune(&mut self) {
        let beliefs = &mut self.beliefs[..self.count];
        beliefs.sort_unstable_by(|a, b| b.share.total_cmp(&a.share));
        let mut kept = 0;
        for index in 0..beliefs.len() {
            let belief = beliefs[index];
            if belief.share <= 0.0 {
                break;
            }
            let same =
                |other: &&mut Belief| other.line == belief.line && other.marks == belief.marks;
            if let Some(other) = beliefs[..kept].iter_mut().find(same) {
                other.share += belief.share;
            } else if kept < KEPT {
                beliefs[kept] = belief;
                kept += 1;
            }
        }
        let sum: f64 = beliefs[..kept].iter().map(|belief| belief.share).sum();
        if kept == 0 {
            // what came was thought impossible: begin with a receiver that knows nothing
            let (sent, heard) = (self.sent, self.heard);
            *self = Self {
                sent,
                heard,
                ..Self::default()
            };
            return;
        }
        for belief in &mut beliefs[..kept] {
            belief.share /= sum;
        }
        self.count = kept;
    }
}
