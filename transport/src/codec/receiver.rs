//! What the receiver may believe when frames can be lost, as the sender sees it.
//!
//! Source: ours, after the error-resilient deadband of Kammerl, Brandi, Schweiger and Steinbach (known
//! by its abstract): no acknowledgements, but a frame is sent again while the receiver's state is
//! likely to be off. Possibility `j` is that the last `j` frames were lost and all before came. Every
//! frame of the peer echoes the newest of ours that it had (teleop E17): that one came for certain, and
//! one that should have come before the echo was sent, and is not in it, is as good as lost.

use super::params::Prediction;
use super::predictor::Line;
use crate::{Axes, Span, Time};

/// Frames back that may be the newest that came.
const DEPTH: usize = 8;

/// Probability that a frame is lost that should have come and was not echoed.
const OVERDUE: f64 = 0.99;

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
    /// Probability that the frame which would have made it is lost.
    lost: f64,
}

/// All that the receiver may believe, newest first. Fixed size.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    beliefs: [Belief; DEPTH],
    count: usize,
}

impl Receiver {
    /// Note a frame that was sent at `sent` with a value and marks; `lost` is the probability
    /// that it will not come.
    pub fn send(
        &mut self,
        kind: Prediction,
        (value, marks): (&Axes, Marks),
        sent: Time,
        lost: f64,
    ) {
        let mut line = self.beliefs[0].line;
        line.take(kind, value, sent);
        self.beliefs.rotate_right(1);
        self.beliefs[0] = Belief { line, marks, lost };
        self.count = (self.count + 1).min(DEPTH);
    }

    /// Note what the peer says that it had.
    pub fn hear(&mut self, echo: &Echo) {
        if echo.sent_ns == 0 {
            return;
        }
        // by the peer's clock, which need not be known: the way of one frame is that of the next
        let way = Span(echo.received_ns.saturating_sub(echo.sent_ns));
        for index in 0..self.count {
            let belief = &mut self.beliefs[index];
            let Some(sent) = belief.line.sent() else {
                continue;
            };
            if sent.0 <= echo.sent_ns {
                // what is older cannot be the newest any more
                belief.lost = if sent.0 == echo.sent_ns { 0.0 } else { belief.lost };
                self.count = index + 1;
                return;
            }
            if (sent + way + LATENESS).0 < echo.answered_ns {
                belief.lost = OVERDUE;
            }
        }
    }

    /// Probability that what the receiver believes at `now` is off in the eyes of `is_off`, and
    /// stops counting above `enough`.
    #[must_use]
    pub fn doubt(
        &self,
        (now, horizon): (Time, Span),
        enough: f64,
        is_off: impl Fn(&Axes, &Marks) -> bool,
    ) -> f64 {
        let (mut left, mut doubt) = (1.0, 0.0);
        for (index, belief) in self.beliefs[..self.count].iter().enumerate() {
            let oldest = index + 1 == self.count;
            let share = if oldest { left } else { left * (1.0 - belief.lost) };
            left -= share;
            let after = now - belief.line.sent().unwrap_or(now);
            if is_off(&belief.line.at(after, horizon), &belief.marks) {
                doubt += share;
            }
            if doubt > enough || doubt + left <= enough {
                break;
            }
        }
        doubt
    }
}
