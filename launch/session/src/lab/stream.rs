//! One direction of the stream as virtual time sees it: when its frames were made, and how far what
//! the receiver was shown was from what the sender knew.
//!
//! Source: ours; teleop section 7, "reconstruction error". Judged is the codec's own signal, one delay
//! before: what the receiver shows `s` after a frame came against the truth `s` after that was made, so
//! that delay is no error and a lost or omitted frame is one.

use std::collections::VecDeque;

use palpate_transport::clock::PERIOD;
use palpate_transport::codec::{CodecParams, Judged, Threshold};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::Side;
use palpate_transport::{Axes, HapticFrame, Time};
use serde::{Deserialize, Serialize};

use crate::pipeline::Made;

/// Frames sent of which the tick is remembered: five minutes of every tick.
const SENT_KEPT: usize = 300_000;

/// How well a codec's receiver was shown what its sender knew.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Reconstruction {
    /// Ticks judged.
    pub ticks: u64,
    /// Of those, at how many the value shown was within max(k |x|, floor).
    pub inside: u64,
    /// Sum of the squared errors, in the signal's unit squared.
    pub squared: f64,
}

impl Reconstruction {
    /// Part of the ticks within the threshold; none if none was judged.
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

/// Watches one direction while a codec is on; else it does nothing. Of sides that miss no tick.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    judged: Judged,
    threshold: Threshold,
    on: bool,
    /// What the sender knew in the last ticks, the newest last.
    truth: VecDeque<(Axes, f64)>,
    kept: usize,
    made: u64,
    /// Tick in which each frame was sent, by its number less one.
    sent: Vec<u64>,
    seen: Reconstruction,
}

impl Watch {
    /// Of the frames of `side`, of which those of the last `kept` ticks may still be shown.
    pub(crate) fn new(
        params: &CodecParams,
        side: Side,
        coupling: &CouplingParams,
        kept: usize,
    ) -> Self {
        let judged = Judged::of(side, coupling);
        Self {
            judged,
            threshold: Threshold::new(params, judged),
            on: params.is_on(),
            truth: VecDeque::new(),
            kept,
            made: 0,
            sent: Vec::new(),
            seen: Reconstruction::default(),
        }
    }

    /// The sender made a frame, once a tick, and sent it if it got a number.
    pub(crate) fn made(&mut self, made: &Made) {
        if !self.on {
            return;
        }
        let [x, y, z, _] = made.frame.velocity_mps;
        let speed_mps = (x * x + y * y + z * z).sqrt();
        if self.truth.len() == self.kept {
            self.truth.pop_front();
        }
        self.truth.push_back((
            made.judged.unwrap_or(self.judged.read(&made.frame)),
            speed_mps,
        ));
        if let Some(frame) = made.sent {
            // a side that began anew counts from one again
            self.sent
                .truncate(frame.sequence.saturating_sub(1) as usize);
            if self.sent.len() < SENT_KEPT {
                self.sent.push(self.made);
            }
        }
        self.made += 1;
    }

    /// The receiver is shown a frame at `now`, that it received at some time of the same clock.
    pub(crate) fn shown(&mut self, shown: Option<(HapticFrame, Time)>, now: Time) {
        let Some((frame, received)) = shown.filter(|_| self.on) else {
            return;
        };
        let sent = self.sent.get(frame.sequence.wrapping_sub(1) as usize);
        // half a period, for a clock that runs a little slow
        let after = ((now - received).0 + PERIOD.0 / 2) / PERIOD.0;
        let Some(then) = sent.and_then(|tick| tick.checked_add_signed(after)) else {
            return;
        };
        let first = self.made - self.truth.len() as u64;
        let index = then.checked_sub(first).map(|index| index as usize);
        let Some((truth, speed_mps)) = index.and_then(|index| self.truth.get(index)) else {
            return;
        };
        let value = self.judged.read(&frame);
        let crossed = self.threshold.is_crossed(truth, &value, *speed_mps);
        self.seen.ticks += 1;
        self.seen.inside += u64::from(!crossed);
        let off = (0..3).map(|axis| value[axis] - truth[axis]);
        self.seen.squared += off.map(|n| n * n).sum::<f64>();
    }

    /// Tick in which each frame was sent, by its number less one; empty if each tick sent one.
    pub(crate) fn sent_ticks(&self) -> &[u64] {
        &self.sent
    }

    /// What was seen; none if no codec is on.
    pub(crate) fn reconstruction(&self) -> Option<Reconstruction> {
        self.on.then_some(self.seen)
    }
}
