//! Sending end of the codec: selects the frames of a side to send.
//!
//! Source: teleop E14 with section 3's floor and keep-alive; ours where [`super`] says so. Pure: the
//! shell calls it after every tick, live and in virtual time alike.

use super::params::CodecParams;
use super::predictor::SignalSample;
use super::rate_control::RateControl;
use super::receiver_model::{Echo, ReceiverModel, UrgentFields};
use super::signal::{PerceivedSignal, WeberThreshold, norm_xyz};
use crate::frame::HapticFrame;
use crate::{Axes, Span, Time};

/// Selects the frames of a side to send. Fixed size, allocates nothing.
#[derive(Debug, Clone)]
pub struct Encoder {
    params: CodecParams,
    signal: PerceivedSignal,
    threshold: WeberThreshold,
    keep_alive: Span,
    period: Span,
    receiver: ReceiverModel,
    rate_control: RateControl,
    run: u64,
    sent: Option<Time>,
    urgent: UrgentFields,
    count: u64,
    /// Smoothed judged signal; none before the first frame.
    smoothed_value: Option<Axes>,
}

impl Encoder {
    /// Creates the encoder of a side that makes a frame every `period`; nothing sent yet.
    #[must_use]
    pub fn new(params: &CodecParams, judged: PerceivedSignal, period: Span) -> Self {
        Self {
            params: *params,
            signal: judged,
            threshold: WeberThreshold::new(params, judged),
            keep_alive: Span::from_s(params.keep_alive_s),
            period,
            receiver: ReceiverModel::default(),
            rate_control: RateControl::default(),
            run: 0,
            sent: None,
            urgent: UrgentFields::default(),
            count: 0,
            smoothed_value: None,
        }
    }

    /// Returns the frame if it is to be sent, numbered among sent frames. `peer` is the newest frame
    /// of the other side, of number 0 if there is none. A codec that is off returns every frame unchanged.
    pub fn encode(&mut self, frame: &HapticFrame, peer: &HapticFrame) -> Option<HapticFrame> {
        if !self.params.is_on() {
            return Some(*frame);
        }
        if frame.run != self.run {
            *self = Self {
                run: frame.run,
                ..Self::new(&self.params, self.signal, self.period)
            };
        }
        let echo = Echo {
            sent_ns: peer.echo_sent_ns,
            received_ns: peer.echo_received_ns,
            answered_ns: peer.sent_ns,
        };
        let mut frame = *frame;
        self.smooth(&mut frame);
        self.receiver.on_echo(&echo);
        self.rate_control.on_echo(&echo, self.params.pace_max);
        if !self.is_due(&frame) {
            return None;
        }
        let sent = Time(frame.sent_ns);
        self.urgent = urgent_fields(&frame);
        let sample = SignalSample {
            predictor: self.params.predictor,
            threshold: &self.threshold,
            value: self.signal.read(&frame),
            speed_mps: norm_xyz(&frame.velocity_mps),
            sent,
        };
        self.receiver
            .on_sent(&sample, self.urgent, self.params.loss_expected);
        self.sent = Some(sent);
        self.count += 1;
        Some(HapticFrame {
            sequence: self.count,
            ..frame
        })
    }

    /// Signal that was last compared with the deadband, after smoothing, in its unit; none before the first frame, and
    /// for a codec that is off.
    #[must_use]
    pub fn compared_signal(&self) -> Option<Axes> {
        self.smoothed_value
    }

    /// One step of the low-pass; a value that is not a number passes, and resets the filter.
    fn smooth(&mut self, frame: &mut HapticFrame) {
        let value = self.signal.read(frame);
        let share = self.period.s() / (self.period.s() + self.params.smooth_s);
        let smoothed = self.smoothed_value.map_or(value, |before| {
            std::array::from_fn(|axis| before[axis] + share * (value[axis] - before[axis]))
        });
        let finite = smoothed.iter().all(|number| number.is_finite());
        self.smoothed_value = finite.then_some(smoothed);
        self.signal
            .write(frame, if finite { smoothed } else { value });
    }

    fn is_due(&self, frame: &HapticFrame) -> bool {
        let Some(before) = self.sent else {
            return true;
        };
        let now = Time(frame.sent_ns);
        let silent = now - before;
        // the last tick that is not too late for the keep-alive must send it
        if silent.0 < 0 || silent + Span(self.period.0 / 2) >= self.keep_alive {
            return true;
        }
        let urgent = urgent_fields(frame);
        if urgent != self.urgent {
            return true;
        }
        let least = self.period.0 * i64::from(self.rate_control.periods_min());
        if silent.0 + self.period.0 / 2 < least {
            return false;
        }
        let value = self.signal.read(frame);
        let speed_mps = norm_xyz(&frame.velocity_mps);
        let enough = self.params.doubt_max;
        let probability =
            self.receiver
                .mismatch_probability(now, self.params.horizon(), enough, |known, had| {
                    *had != urgent || self.threshold.is_exceeded(known, &value, speed_mps)
                });
        probability > enough
    }
}

/// Fields that must be sent at once when they change: flags, peer's run, impedance epoch and wave impedance.
fn urgent_fields(frame: &HapticFrame) -> UrgentFields {
    [
        (u64::from(frame.flags) << 32) | u64::from(frame.impedance_epoch),
        frame.peer_run,
        frame.impedance_nspm.to_bits(),
    ]
}
