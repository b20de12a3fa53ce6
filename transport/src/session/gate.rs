//! Which received frame is news: order and age, checked on every one.
//!
//! A reliable link replays seconds of stale frames after a cut (transport fact 7), and a network
//! may repeat and reorder. Pure; `stream` feeds it. Source: ours.

use crate::frame::HapticFrame;
use crate::{Span, Time};

/// Silence after which a sender that starts anew from a lower number is believed; ours.
pub const RESTART_SILENCE: Span = Span(1_000_000_000);

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Newer than all before: use it.
    Fresh,
    /// The first of a sender that started again: use it.
    Restarted,
    /// The newest once more.
    Duplicate,
    /// Overtaken by a newer one.
    Late,
    /// In order, but older than the limit.
    Stale,
    /// Number 0, which is no frame.
    Void,
}

impl Verdict {
    /// Whether the frame may be used.
    #[must_use]
    pub fn admits(self) -> bool {
        matches!(self, Self::Fresh | Self::Restarted)
    }
}

/// Remembers the newest frame of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameGate {
    newest: u64,
    newest_sent_ns: i64,
    admitted: Time,
}

impl FrameGate {
    /// Judge a frame received at `received`. `offset` is receiver's clock minus sender's clock; age
    /// is judged against `age_max` only if it is known.
    pub fn judge(
        &mut self,
        frame: &HapticFrame,
        received: Time,
        offset: Option<Span>,
        age_max: Span,
    ) -> Verdict {
        if frame.sequence == 0 {
            return Verdict::Void;
        }
        let mut verdict = Verdict::Fresh;
        if frame.sequence <= self.newest {
            // A lower number sent later, or after a long silence, is a new start.
            let silence = received - self.admitted;
            let again = frame.sequence < self.newest && frame.sent_ns > self.newest_sent_ns;
            if !again && silence <= RESTART_SILENCE {
                let same = frame.sequence == self.newest;
                return if same {
                    Verdict::Duplicate
                } else {
                    Verdict::Late
                };
            }
            verdict = Verdict::Restarted;
        }
        if let Some(offset) = offset {
            let sent = Time(frame.sent_ns) + offset;
            if received - sent > age_max {
                return Verdict::Stale;
            }
        }
        self.newest = frame.sequence;
        self.newest_sent_ns = frame.sent_ns;
        self.admitted = received;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;

    fn frame(sequence: u64, sent_ms: i64) -> HapticFrame {
        HapticFrame {
            sequence,
            sent_ns: sent_ms * MS,
            ..HapticFrame::default()
        }
    }

    fn judge(gate: &mut FrameGate, sequence: u64, sent_ms: i64, received_ms: i64) -> Verdict {
        let received = Time(received_ms * MS);
        gate.judge(
            &frame(sequence, sent_ms),
            received,
            Some(Span(0)),
            Span(200 * MS),
        )
    }

    #[test]
    fn order_and_age_are_judged() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 0, 0, 0), Verdict::Void);
        assert_eq!(judge(&mut gate, 5, 10, 20), Verdict::Fresh);
        assert_eq!(judge(&mut gate, 5, 10, 21), Verdict::Duplicate);
        assert_eq!(judge(&mut gate, 4, 9, 22), Verdict::Late);
        assert_eq!(judge(&mut gate, 9, 14, 30), Verdict::Fresh);
        assert_eq!(judge(&mut gate, 10, 15, 216), Verdict::Stale);
        assert_eq!(judge(&mut gate, 11, 16, 216), Verdict::Fresh);
    }

    #[test]
    fn a_sender_that_starts_again_is_believed() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 500, 1000, 1001), Verdict::Fresh);
        assert_eq!(judge(&mut gate, 1, 1100, 1101), Verdict::Restarted);
        assert_eq!(judge(&mut gate, 2, 1101, 1102), Verdict::Fresh);
        let mut rebooted = FrameGate::default();
        let unknown = |gate: &mut FrameGate, frame, ms| {
            gate.judge(&frame, Time(ms * MS), None, Span(200 * MS))
        };
        assert_eq!(
            unknown(&mut rebooted, frame(500, 90_000), 100),
            Verdict::Fresh
        );
        assert_eq!(unknown(&mut rebooted, frame(1, 5), 900), Verdict::Late);
        assert_eq!(
            unknown(&mut rebooted, frame(2, 6), 1101),
            Verdict::Restarted
        );
    }

    proptest! {
        /// Whatever the network does to one sender's frames, those admitted go up.
        #[test]
        fn admitted_frames_go_up(order in prop::collection::vec(1_u64..60, 1..80)) {
            let mut gate = FrameGate::default();
            let mut newest = 0;
            for (index, sequence) in order.into_iter().enumerate() {
                let verdict = judge(&mut gate, sequence, sequence as i64, 60 + index as i64);
                prop_assert_eq!(verdict.admits(), sequence > newest);
                newest = newest.max(sequence);
            }
        }

        #[test]
        fn any_frame_is_judged(sequence: u64, sent: i64, received: i64, offset: i64) {
            let mut gate = FrameGate::default();
            let frame = HapticFrame { sequence, sent_ns: sent, ..HapticFrame::default() };
            let offset = Some(Span(offset));
            let verdict = gate.judge(&frame, Time(received), offset, Span(i64::MAX));
            prop_assert_eq!(verdict.admits(), sequence != 0);
        }
    }
}
