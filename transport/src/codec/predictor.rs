//! What a receiver believes of a signal between frames; both ends run the same one.
//!
//! Source: ours, an alpha-beta tracker of two moods. A value that the line did not foresee is taken
//! as it is and turns the line at once. One that it foresaw tells it from the line mostly by its
//! noise: it counts half, and tilts the line only as far as its distance in time warrants.

use super::params::Prediction;
use super::signal::Threshold;
use crate::{Axes, Span, Time};

/// Distance of two frames at which half of a foreseen difference goes into the slope \[s\]: the tremor
/// of a hand is not followed, its presses are (ours, from the corpus in the tests).
const SETTLE_S: f64 = 0.07;

/// The same of a difference that was not foreseen \[s\]; it is well above the noise.
const SURPRISED_S: f64 = 0.004;

/// Share of a foreseen value's difference that is believed.
const FORESEEN: f64 = 0.5;

/// Silence after which a line begins anew \[s\].
const FORGET_S: f64 = 0.25;

/// What a frame says of its signal.
#[derive(Debug, Clone, Copy)]
pub struct News<'a> {
    /// How the line goes on.
    pub kind: Prediction,
    /// When two values can be told apart.
    pub threshold: &'a Threshold,
    /// The value.
    pub value: Axes,
    /// Speed of the hand or the robot \[m/s\].
    pub speed_mps: f64,
    /// When it was sent, on the sender's clock.
    pub sent: Time,
}

/// A signal as a receiver knows it. Fixed size; the default knows nothing and believes zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Line {
    value: Axes,
    slope: Axes,
    /// When the value was sent, on the sender's clock; none before the first.
    sent: Option<Time>,
}

impl Line {
    /// Take a newer frame's value.
    pub fn take(&mut self, news: &News<'_>) {
        let gap_s = self
            .sent
            .map_or(f64::NAN, |before| (news.sent - before).s());
        let goes_on = gap_s > 0.0 && gap_s < FORGET_S;
        if news.kind == Prediction::Linear && goes_on {
            let believed: Axes =
                std::array::from_fn(|axis| self.value[axis] + self.slope[axis] * gap_s);
            let surprised = news
                .threshold
                .is_crossed(&believed, &news.value, news.speed_mps);
            let (share, settle_s) = if surprised {
                (1.0, SURPRISED_S)
            } else {
                (FORESEEN, SETTLE_S)
            };
            for (axis, believed) in believed.into_iter().enumerate() {
                let apart = news.value[axis] - believed;
                self.value[axis] = believed + share * apart;
                self.slope[axis] += apart / (gap_s + settle_s);
            }
        } else {
            (self.value, self.slope) = (news.value, [0.0; 4]);
        }
        self.sent = Some(news.sent);
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
