//! What a receiver believes of a signal between frames; both ends run the same one.
//!
//! Source: ours. The line's slope follows the frames by a tracker whose gain grows with their distance:
//! `slope += (x - believed) / (dt + SETTLE)`, so that two frames in a row, which differ by noise,
//! do not tilt it.

use super::params::Prediction;
use crate::{Axes, Span, Time};

/// Distance of two frames at which half of their difference goes into the slope \[s\].
const SETTLE_S: f64 = 0.02;

/// Silence after which a line begins anew \[s\].
const FORGET_S: f64 = 0.25;

/// A signal as a receiver knows it. Fixed size; the default knows nothing and believes zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Line {
    value: Axes,
    slope: Axes,
    /// When the value was sent, on the sender's clock; none before the first.
    sent: Option<Time>,
}

impl Line {
    /// Take the value of a frame sent at `sent` on the sender's clock.
    pub fn take(&mut self, kind: Prediction, value: &Axes, sent: Time) {
        let gap_s = self.sent.map(|before| (sent - before).s());
        match (kind, gap_s) {
            (Prediction::Linear, Some(gap_s)) if gap_s > 0.0 && gap_s < FORGET_S => {
                for (axis, slope) in self.slope.iter_mut().enumerate() {
                    let believed = self.value[axis] + *slope * gap_s;
                    *slope += (value[axis] - believed) / (gap_s + SETTLE_S);
                }
            }
            _ => self.slope = [0.0; 4],
        }
        self.value = *value;
        self.sent = Some(sent);
    }

    /// What is believed `after` the value was sent, at most `horizon` on.
    #[must_use]
    pub fn at(&self, after: Span, horizon: Span) -> Axes {
        let on_s = Span(after.0.clamp(0, horizon.0.max(0))).s();
        std::array::from_fn(|axis| self.value[axis] + self.slope[axis] * on_s)
    }

    /// Its rate of change, in its unit a second.
    #[must_use]
    pub fn slope(&self) -> &Axes {
        &self.slope
    }

    /// When its value was sent; none before the first.
    #[must_use]
    pub fn sent(&self) -> Option<Time> {
        self.sent
    }
}
