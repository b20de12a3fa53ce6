//! The receiving end: what a side is shown between frames.
//!
//! Source: ours. The judged signal goes on by the same line as at the encoder; the position, which is
//! not judged, by its velocity. Everything else is as in the newest frame, above all what is
//! cumulative. Nothing goes on for longer than two keep-alives: one frame may be missing, and after
//! that the receiver's own limits on silence have the word.

use super::params::CodecParams;
use super::predictor::{Line, News};
use super::signal::{Judged, Threshold, length};
use crate::frame::HapticFrame;
use crate::{Span, Time};

/// Carries the newest frame on. Fixed size, allocates nothing.
#[derive(Debug, Clone)]
pub struct Decoder {
    params: CodecParams,
    judged: Judged,
    threshold: Threshold,
    horizon: Span,
    session: u64,
    sequence: u64,
    line: Line,
}

impl Decoder {
    /// For frames of which `judged` decided; nothing received yet.
    #[must_use]
    pub fn new(params: &CodecParams, judged: Judged) -> Self {
        Self {
            params: *params,
            judged,
            threshold: Threshold::new(params, judged),
            horizon: params.horizon(),
            session: 0,
            sequence: 0,
            line: Line::default(),
        }
    }

    /// The newest frame as it would be `now`, on the clock by which it was received. A codec that is
    /// off gives it as it is, and so does one whose result no machine could have sent.
    pub fn decode(
        &mut self,
        inbound: Option<(HapticFrame, Time)>,
        now: Time,
    ) -> Option<(HapticFrame, Time)> {
        let (frame, received) = inbound?;
        if !self.params.is_on() || !frame.is_plausible() {
            return inbound;
        }
        if frame.session != self.session {
            (self.session, self.sequence) = (frame.session, 0);
            self.line = Line::default();
        }
        if frame.sequence > self.sequence {
            self.sequence = frame.sequence;
            self.line.take(&News {
                kind: self.params.predictor,
                threshold: &self.threshold,
                value: self.judged.read(&frame),
                speed_mps: length(&frame.velocity_mps),
                sent: Time(frame.sent_ns),
            });
        }
        let shown = self.carried(&frame, now - received);
        Some((if shown.is_plausible() { shown } else { frame }, received))
    }

    fn carried(&self, frame: &HapticFrame, after: Span) -> HapticFrame {
        let mut shown = *frame;
        let on_s = Span(after.0.clamp(0, self.horizon.0)).s();
        let bend = match self.judged {
            Judged::Velocity => *self.line.slope(),
            _ => [0.0; 4],
        };
        for (axis, place) in shown.position_m.iter_mut().enumerate() {
            *place += (frame.velocity_mps[axis] + 0.5 * bend[axis] * on_s) * on_s;
        }
        self.judged
            .write(&mut shown, self.line.at(after, self.horizon));
        shown
    }
}
