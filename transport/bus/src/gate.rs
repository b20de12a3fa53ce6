//! Which received frame is news: order, run and age, checked on every one.
//!
//! A reliable link replays seconds of stale frames after a cut (transport fact 7), and a network
//! may repeat and reorder. Pure; `stream` feeds it. Source: ours.

use palpate_transport::frame::{HapticFrame, Order, Succession};
use palpate_transport::{Span, Time};

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Newer than all before: use it.
    Fresh,
    /// The first of a sender that started again: use it.
    Restarted,
    /// The newest once more.
    Duplicate,
    /// Overtaken by a newer one, or of a sender's former run.
    Late,
    /// In order, but older than the limit.
    Stale,
    /// Number 0, which is no frame.
    Void,
}

impl Verdict {
    /// Whether the frame may be used.
    #[must_use]
    pub(crate) fn admits(self) -> bool {
        matches!(self, Self::Fresh | Self::Restarted)
    }
}

/// The clock of one run of the sender, as the receiver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderClock {
    /// Run of the sender; after a restart its clock may be another.
    pub session: u64,
    /// Sender's clock minus receiver's.
    pub offset: Span,
    /// Largest error of that.
    pub bound: Span,
}

/// Remembers the newest frame of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameGate {
    order: Succession,
}

impl FrameGate {
    /// Judge a frame received at `received`. It is stale if it was certainly sent more than
    /// `age_max` ago; that can be said only if the clock of its sender's run is known.
    pub(crate) fn judge(
        &mut self,
        frame: &HapticFrame,
        received: Time,
        clock: Option<SenderClock>,
        age_max: Span,
    ) -> Verdict {
        let verdict = match self.order.judge(frame) {
            Order::First | Order::Next => Verdict::Fresh,
            Order::Restarted => Verdict::Restarted,
            Order::Repeated => return Verdict::Duplicate,
            Order::Late => return Verdict::Late,
            Order::Void => return Verdict::Void,
        };
        if let Some(clock) = clock.filter(|clock| clock.session == frame.session) {
            let age = (received + clock.offset) - Time(frame.sent_ns);
            if age - clock.bound > age_max {
                return Verdict::Stale;
            }
        }
        self.order.advance(frame);
        verdict
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;
    const RUN: u64 = 3;

    fn frame(session: u64, sequence: u64, sent_ms: i64) -> HapticFrame {
        HapticFrame {
            session,
            sequence,
            sent_ns: sent_ms * MS,
            ..HapticFrame::default()
        }
    }

    fn clock(bound_ms: i64) -> Option<SenderClock> {
        Some(SenderClock {
            session: RUN,
            offset: Span(0),
            bound: Span(bound_ms * MS),
        })
    }

    fn judge(gate: &mut FrameGate, sequence: u64, sent_ms: i64, received_ms: i64) -> Verdict {
        let received = Time(received_ms * MS);
        gate.judge(
            &frame(RUN, sequence, sent_ms),
            received,
            clock(0),
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
    fn only_what_is_certainly_too_old_is_stale() {
        let mut gate = FrameGate::default();
        let late = frame(RUN, 1, 0);
        let at = Time(230 * MS);
        assert_eq!(
            gate.judge(&late, at, clock(20), Span(200 * MS)),
            Verdict::Stale
        );
        assert_eq!(
            gate.judge(&late, at, clock(40), Span(200 * MS)),
            Verdict::Fresh
        );
    }

    #[test]
    fn a_sender_that_starts_again_is_believed_at_once_whatever_its_clock_shows() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 500, 1000, 1001), Verdict::Fresh);
        let again = frame(RUN + 1, 1, -90_000);
        let at = Time(1002 * MS);
        assert_eq!(
            gate.judge(&again, at, clock(0), Span(200 * MS)),
            Verdict::Restarted
        );
        // a straggler of the former run
        assert_eq!(judge(&mut gate, 501, 1001, 1003), Verdict::Late);
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
        fn any_frame_is_judged(
            (session, sequence) in any::<(u64, u64)>(),
            sent: i64, received: i64, offset: i64, bound: i64,
        ) {
            let mut gate = FrameGate::default();
            let frame = HapticFrame { session, sequence, sent_ns: sent, ..HapticFrame::default() };
            let clock = SenderClock { session, offset: Span(offset), bound: Span(bound) };
            let verdict = gate.judge(&frame, Time(received), Some(clock), Span(i64::MAX));
            prop_assert_eq!(verdict.admits(), sequence != 0);
        }
    }
}
