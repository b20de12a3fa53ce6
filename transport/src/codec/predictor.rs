//! Extrapolation of a signal between frames; both ends run the same predictor.
//!
//! Source: ours, an alpha-beta tracker with two gains. A value that differs perceptibly from the
//! prediction is taken as it is, and turns the line at once. Another one differs mostly by its noise: it
//! counts half, and tilts the line only as far as its distance in time warrants.

use super::params::PredictorKind;
use super::signal::WeberThreshold;
use crate::{Axes, Span, Time};

/// Interval of two frames at which half of an imperceptible difference goes into the slope \[s\]: the line
/// follows the presses of a hand and not its tremor (ours, from the corpus in the tests).
const SLOPE_TIME_S: f64 = 0.07;

/// The same for a perceptible difference \[s\], which is well above the noise.
const DEVIATION_SLOPE_TIME_S: f64 = 0.004;

/// Gain of an imperceptible difference.
const VALUE_GAIN: f64 = 0.5;

/// Silence after which a line begins anew \[s\].
const RESET_SILENCE_S: f64 = 0.25;

/// Sample of a frame's signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalSample<'a> {
    /// Kind of extrapolation.
    pub predictor: PredictorKind,
    /// Threshold of perception.
    pub threshold: &'a WeberThreshold,
    /// The value.
    pub value: Axes,
    /// Speed of the hand or the robot \[m/s\].
    pub speed_mps: f64,
    /// Time of sending, on the sender's clock.
    pub sent: Time,
}

/// Signal as estimated by a receiver. Fixed size; zero by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SignalPredictor {
    value: Axes,
    slope: Axes,
    /// Time of sending of the value, on the sender's clock; none before the first.
    sent: Option<Time>,
}

impl SignalPredictor {
    /// Takes the value of a newer frame.
    pub(crate) fn update(&mut self, sample: &SignalSample<'_>) {
        let gap_s = self
            .sent
            .map_or(f64::NAN, |before| (sample.sent - before).s());
        let continuous = gap_s > 0.0 && gap_s < RESET_SILENCE_S;
        if sample.predictor == PredictorKind::Linear && continuous {
            let believed: Axes =
                std::array::from_fn(|axis| self.value[axis] + self.slope[axis] * gap_s);
            let slope_changed =
                sample
                    .threshold
                    .is_exceeded(&believed, &sample.value, sample.speed_mps);
            let (share, settle_s) = if slope_changed {
                (1.0, DEVIATION_SLOPE_TIME_S)
            } else {
                (VALUE_GAIN, SLOPE_TIME_S)
            };
            for (axis, believed) in believed.into_iter().enumerate() {
                let apart = sample.value[axis] - believed;
                self.value[axis] = believed + share * apart;
                self.slope[axis] += apart / (gap_s + settle_s);
            }
        } else {
            (self.value, self.slope) = (sample.value, [0.0; 4]);
        }
        self.sent = Some(sample.sent);
    }

    /// Value extrapolated `after` it was sent, at most by `horizon`.
    #[must_use]
    pub(crate) fn predict(&self, after: Span, horizon: Span) -> Axes {
        let on_s = Span(after.0.clamp(0, horizon.0.max(0))).s();
        std::array::from_fn(|axis| self.value[axis] + self.slope[axis] * on_s)
    }

    /// Rate of change, in the unit of the signal a second.
    #[must_use]
    pub(crate) fn slope(&self) -> &Axes {
        &self.slope
    }

    /// Time of sending of the newest value; none before the first.
    #[must_use]
    pub(crate) fn sent(&self) -> Option<Time> {
        self.sent
    }
}
