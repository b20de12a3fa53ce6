//! The sending end: which of a side's frames go.
//!
//! Source: teleop E14 with section 3's floor and keep-alive; ours where [`super`] says so. Pure: the
//! shell asks after every tick, live and in virtual time alike.

use super::pace::Pace;
use super::params::CodecParams;
use super::predictor::News;
use super::receiver::{Echo, Marks, Receiver};
use super::signal::{Judged, Threshold, length};
use crate::frame::HapticFrame;
use crate::{Axes, Span, Time};

/// Decides which frames of a side are sent. Fixed size, allocates nothing.
#[derive(Debug, Clone)]
pub struct Encoder {
    params: CodecParams,
    judged: Judged,
    threshold: Threshold,
    keep_alive: Span,
    period: Span,
    receiver: Receiver,
    pace: Pace,
    session: u64,
    sent: Option<Time>,
    marks: Marks,
    count: u64,
    /// The judged signal, smoothed; none before the first frame.
    value: Option<Axes>,
}

impl Encoder {
    /// For a side that makes a frame every `period`; nothing sent yet.
    #[must_use]
    pub fn new(params: &CodecParams, judged: Judged, period: Span) -> Self {
        Self {
            params: *params,
            judged,
            threshold: Threshold::new(params, judged),
            keep_alive: Span::from_s(params.keep_alive_s),
            period,
            receiver: Receiver::default(),
            pace: Pace::default(),
            session: 0,
            sent: None,
            marks: Marks::default(),
            count: 0,
            value: None,
        }
    }

    /// The frame to send, if it is to be sent: numbered among those sent. `peer` is the newest frame
    /// of the other side, of number 0 if there is none. A codec that is off gives every frame as it is.
    pub fn encode(&mut self, frame: &HapticFrame, peer: &HapticFrame) -> Option<HapticFrame> {
        if !self.params.is_on() {
            return Some(*frame);
        }
        if frame.session != self.session {
            *self = Self {
                session: frame.session,
                ..Self::new(&self.params, self.judged, self.period)
            };
        }
        let echo = Echo {
            sent_ns: peer.echo_sent_ns,
            received_ns: peer.echo_received_ns,
            answered_ns: peer.sent_ns,
        };
        let mut frame = *frame;
        self.smooth(&mut frame);
        self.receiver.hear(&echo);
        self.pace.hear(&echo, self.params.pace_max);
        if !self.is_due(&frame) {
            return None;
        }
        let sent = Time(frame.sent_ns);
        self.marks = marks(&frame);
        let news = News {
            kind: self.params.predictor,
            threshold: &self.threshold,
            value: self.judged.read(&frame),
            speed_mps: length(&frame.velocity_mps),
            sent,
        };
        self.receiver
            .send(&news, self.marks, self.params.loss_expected);
        self.sent = Some(sent);
        self.count += 1;
        Some(HapticFrame {
            sequence: self.count,
            ..frame
        })
    }

    /// The judged signal as it was judged last, in its unit; none before the first frame, and of a codec
    /// that is off.
    #[must_use]
    pub fn judged_value(&self) -> Option<Axes> {
        self.value
    }

    /// One step of the low-pass; a value that is not a number passes, and is forgotten.
    fn smooth(&mut self, frame: &mut HapticFrame) {
        let value = self.judged.read(frame);
        let share = self.period.s() / (self.period.s() + self.params.smooth_s);
        let smoothed = self.value.map_or(value, |before| {
            std::array::from_fn(|axis| before[axis] + share * (value[axis] - before[axis]))
        });
        let finite = smoothed.iter().all(|number| number.is_finite());
        self.value = finite.then_some(smoothed);
        self.judged
            .write(frame, if finite { smoothed } else { value });
    }

    /// Least number of periods between two frames now, see [`super::pace`].
    #[must_use]
    pub fn pace(&self) -> u32 {
        self.pace.periods()
    }

    fn is_due(&self, frame: &HapticFrame) -> bool {
        let Some(before) = self.sent else {
            return true;
        };
        let now = Time(frame.sent_ns);
        let silent = now - before;
        // a tick that would come too late for the keep-alive is the last that may send it
        if silent.0 < 0 || silent + Span(self.period.0 / 2) >= self.keep_alive {
            return true;
        }
        let marks = marks(frame);
        if marks != self.marks {
            return true;
        }
        let least = self.period.0 * i64::from(self.pace.periods());
        if silent.0 + self.period.0 / 2 < least {
            return false;
        }
        let value = self.judged.read(frame);
        let speed_mps = length(&frame.velocity_mps);
        let enough = self.params.doubt_max;
        let doubt = self
            .receiver
            .doubt(now, self.params.horizon(), enough, |known, had| {
                *had != marks || self.threshold.is_crossed(known, &value, speed_mps)
            });
        doubt > enough
    }
}

/// What must go at once when it changes: flags, whose sums these are, and the wave impedance.
fn marks(frame: &HapticFrame) -> Marks {
    [
        (u64::from(frame.flags) << 32) | u64::from(frame.impedance_epoch),
        frame.peer_session,
        frame.impedance_nspm.to_bits(),
    ]
}
