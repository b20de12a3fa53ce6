//! Receiving end of the codec: extrapolates the newest frame between frames.
//!
//! Source: ours. The judged signal is extrapolated as at the encoder, and the position, which is not
//! judged, by its velocity. Everything else is as in the newest frame, above all cumulative quantities.
//! Extrapolation ends after two keep-alives: one frame may be missing, and after that the receiver's own
//! limits on silence apply.

use super::params::CodecParams;
use super::predictor::{SignalPredictor, SignalSample};
use super::signal::{PerceivedSignal, WeberThreshold, norm_xyz};
use crate::frame::HapticFrame;
use crate::{Span, Time};

/// Extrapolates the newest frame. Fixed size, allocates nothing.
#[derive(Debug, Clone)]
pub struct Decoder {
    params: CodecParams,
    signal: PerceivedSignal,
    threshold: WeberThreshold,
    horizon: Span,
    run: u64,
    sequence: u64,
    predictor: SignalPredictor,
}

impl Decoder {
    /// Creates a decoder of frames selected by `judged`; nothing received yet.
    #[must_use]
    pub fn new(params: &CodecParams, judged: PerceivedSignal) -> Self {
        Self {
            params: *params,
            signal: judged,
            threshold: WeberThreshold::new(params, judged),
            horizon: params.horizon(),
            run: 0,
            sequence: 0,
            predictor: SignalPredictor::default(),
        }
    }

    /// Returns the newest frame extrapolated to `now`, on the clock by which it was received. It is
    /// unchanged if the codec is off, or if the extrapolation would be physically impossible.
    pub fn decode(
        &mut self,
        inbound: Option<(HapticFrame, Time)>,
        now: Time,
    ) -> Option<(HapticFrame, Time)> {
        let (frame, received) = inbound?;
        if !self.params.is_on() || !frame.is_plausible() {
            return inbound;
        }
        if frame.run != self.run {
            (self.run, self.sequence) = (frame.run, 0);
            self.predictor = SignalPredictor::default();
        }
        if frame.sequence > self.sequence {
            self.sequence = frame.sequence;
            self.predictor.update(&SignalSample {
                predictor: self.params.predictor,
                threshold: &self.threshold,
                value: self.signal.read(&frame),
                speed_mps: norm_xyz(&frame.velocity_mps),
                sent: Time(frame.sent_ns),
            });
        }
        let estimate = self.extrapolated(&frame, now - received);
        Some((
            if estimate.is_plausible() {
                estimate
            } else {
                frame
            },
            received,
        ))
    }

    fn extrapolated(&self, frame: &HapticFrame, after: Span) -> HapticFrame {
        let mut estimate = *frame;
        let on_s = Span(after.0.clamp(0, self.horizon.0)).s();
        let bend = match self.signal {
            PerceivedSignal::Velocity => *self.predictor.slope(),
            _ => [0.0; 4],
        };
        for (axis, place) in estimate.position_m.iter_mut().enumerate() {
            *place += (frame.velocity_mps[axis] + 0.5 * bend[axis] * on_s) * on_s;
        }
        self.signal
            .write(&mut estimate, self.predictor.predict(after, self.horizon));
        estimate
    }
}
