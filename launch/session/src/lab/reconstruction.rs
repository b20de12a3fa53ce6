//! Reconstruction error of one direction of the stream in virtual time: the difference between the
//! signal that the receiver reconstructs and the signal of the sender.
//!
//! Source: ours; teleop section 7, "reconstruction error". Compared is the codec's own signal, one delay
//! before. The value used `s` after a frame was received is compared with the true value `s` after that
//! frame was made. So the delay counts as no error, and a lost or omitted frame counts as one.

use std::collections::VecDeque;

use palpate_transport::clock::PERIOD;
use palpate_transport::codec::{CodecParams, PerceivedSignal, WeberThreshold};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::Side;
use palpate_transport::{Axes, HapticFrame, Time};
use serde::{Deserialize, Serialize};

use crate::pipeline::TickOutputs;

/// Most sent frames whose tick is stored: five minutes of every tick.
const SENT_TICKS_MAX: usize = 300_000;

/// Reconstruction error at a codec's receiver.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Reconstruction {
    /// Ticks judged.
    pub ticks: u64,
    /// Of those, ticks with an error within max(k |x|, floor).
    pub inside: u64,
    /// Sum of the squared errors, in the signal's unit squared.
    pub squared: f64,
}

impl Reconstruction {
    /// Share of the ticks within the threshold; none if none was judged.
    #[must_use]
    pub fn inside_fraction(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.inside as f64 / self.ticks as f64)
    }

    /// Root of the mean squared error, in the signal's unit \[m/s or N\].
    #[must_use]
    pub fn rmse(&self) -> Option<f64> {
        (self.ticks > 0).then(|| (self.squared / self.ticks as f64).sqrt())
    }
}

/// Meter of one direction while a codec is on; else it does nothing. It assumes that the sides miss no tick.
#[derive(Debug, Clone)]
pub(crate) struct ReconstructionMeter {
    judged: PerceivedSignal,
    threshold: WeberThreshold,
    on: bool,
    /// Signal of the sender in the last ticks, the newest last.
    truth: VecDeque<(Axes, f64)>,
    sender_values_max: usize,
    tick_count: u64,
    /// Tick in which each frame was sent, by its number less one.
    sent: Vec<u64>,
    reconstruction: Reconstruction,
}

impl ReconstructionMeter {
    /// Returns a meter of the frames of `side`; frames of the last `kept_ticks` ticks may still be used.
    pub(crate) fn new(
        params: &CodecParams,
        side: Side,
        coupling: &CouplingParams,
        kept_ticks: usize,
    ) -> Self {
        let judged = PerceivedSignal::sent_by(side, coupling);
        Self {
            judged,
            threshold: WeberThreshold::new(params, judged),
            on: params.is_on(),
            truth: VecDeque::new(),
            sender_values_max: kept_ticks,
            tick_count: 0,
            sent: Vec::new(),
            reconstruction: Reconstruction::default(),
        }
    }

    /// Records a frame of the sender, once a tick; it was sent if it has a number.
    pub(crate) fn on_sender_tick(&mut self, outputs: &TickOutputs) {
        if !self.on {
            return;
        }
        let [x, y, z, _] = outputs.frame.velocity_mps;
        let speed_mps = (x * x + y * y + z * z).sqrt();
        if self.truth.len() == self.sender_values_max {
            self.truth.pop_front();
        }
        self.truth.push_back((
            outputs
                .codec_signal
                .unwrap_or(self.judged.read(&outputs.frame)),
            speed_mps,
        ));
        if let Some(frame) = outputs.sent_frame {
            // a side that restarted counts from one again
            self.sent
                .truncate(frame.sequence.saturating_sub(1) as usize);
            if self.sent.len() < SENT_TICKS_MAX {
                self.sent.push(self.tick_count);
            }
        }
        self.tick_count += 1;
    }

    /// Compares the frame that the receiver uses at `now`; `received` is the time of its arrival on the same clock.
    pub(crate) fn on_receiver_tick(&mut self, used_frame: Option<(HapticFrame, Time)>, now: Time) {
        let Some((frame, received)) = used_frame.filter(|_| self.on) else {
            return;
        };
        let sent = self.sent.get(frame.sequence.wrapping_sub(1) as usize);
        // half a period of tolerance, for a clock that runs slow
        let after = ((now - received).0 + PERIOD.0 / 2) / PERIOD.0;
        let Some(then) = sent.and_then(|tick| tick.checked_add_signed(after)) else {
            return;
        };
        let first = self.tick_count - self.truth.len() as u64;
        let index = then.checked_sub(first).map(|index| index as usize);
        let Some((truth, speed_mps)) = index.and_then(|index| self.truth.get(index)) else {
            return;
        };
        let value = self.judged.read(&frame);
        let exceeded = self.threshold.is_exceeded(truth, &value, *speed_mps);
        self.reconstruction.ticks += 1;
        self.reconstruction.inside += u64::from(!exceeded);
        let errors = (0..3).map(|axis| value[axis] - truth[axis]);
        self.reconstruction.squared += errors.map(|n| n * n).sum::<f64>();
    }

    /// Tick in which each frame was sent, by its number less one; empty if each tick sent one.
    pub(crate) fn sent_ticks(&self) -> &[u64] {
        &self.sent
    }

    /// Result so far; none if no codec is on.
    pub(crate) fn reconstruction(&self) -> Option<Reconstruction> {
        self.on.then_some(self.reconstruction)
    }
}
