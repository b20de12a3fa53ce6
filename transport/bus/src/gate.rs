//! Filter of received frames by order, run and age, applied to each one.
//!
//! A reliable link replays seconds of stale frames after a cut (transport fact 7), and a network
//! may repeat and reorder frames. Pure; called by `stream`. Source: ours.

use palpate_transport::frame::{FrameOrder, HapticFrame, SequenceTracker};
use palpate_transport::{Span, Time};

/// Clock of one run of the sender, as the receiver estimates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderClock {
    /// Run of the sender; after a restart its clock may differ.
    pub session: u64,
    /// Sender's clock minus receiver's clock.
    pub offset: Span,
    /// Largest error of the offset.
    pub bound: Span,
}

/// Gate that keeps the newest frame number of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameGate {
    tracker: SequenceTracker,
}

impl FrameGate {
    /// Classifies a frame received at `received`; none if it is in order, but was certainly sent more
    /// than `age_max` ago. That needs the clock of the sender's run.
    pub(crate) fn classify(
        &mut self,
        frame: &HapticFrame,
        received: Time,
        clock: Option<SenderClock>,
        age_max: Span,
    ) -> Option<FrameOrder> {
        let order = self.tracker.classify(frame);
        if !order.is_accepted() {
            return Some(order);
        }
        if let Some(clock) = clock.filter(|clock| clock.session == frame.session) {
            let age = (received + clock.offset) - Time(frame.sent_ns);
            if age - clock.bound > age_max {
                return None;
            }
        }
        self.tracker.accept(frame);
        Some(order)
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

    fn judge(
        gate: &mut FrameGate,
        sequence: u64,
        sent_ms: i64,
        received_ms: i64,
    ) -> Option<FrameOrder> {
        let received = Time(received_ms * MS);
        gate.classify(
            &frame(RUN, sequence, sent_ms),
            received,
            clock(0),
            Span(200 * MS),
        )
    }

    #[test]
    fn order_and_age_are_classified() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 0, 0, 0), Some(FrameOrder::Invalid));
        assert_eq!(judge(&mut gate, 5, 10, 20), Some(FrameOrder::First));
        assert_eq!(judge(&mut gate, 5, 10, 21), Some(FrameOrder::Repeated));
        assert_eq!(judge(&mut gate, 4, 9, 22), Some(FrameOrder::Late));
        assert_eq!(judge(&mut gate, 9, 14, 30), Some(FrameOrder::Next));
        assert_eq!(judge(&mut gate, 10, 15, 216), None);
        assert_eq!(judge(&mut gate, 11, 16, 216), Some(FrameOrder::Next));
    }

    #[test]
    fn only_certainly_old_frames_are_stale() {
        let mut gate = FrameGate::default();
        let late = frame(RUN, 1, 0);
        let at = Time(230 * MS);
        assert_eq!(gate.classify(&late, at, clock(20), Span(200 * MS)), None);
        assert_eq!(
            gate.classify(&late, at, clock(40), Span(200 * MS)),
            Some(FrameOrder::First)
        );
    }

    #[test]
    fn restarted_sender_is_accepted_at_once() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 500, 1000, 1001), Some(FrameOrder::First));
        let again = frame(RUN + 1, 1, -90_000);
        let at = Time(1002 * MS);
        assert_eq!(
            gate.classify(&again, at, clock(0), Span(200 * MS)),
            Some(FrameOrder::Restarted)
        );
        // a late frame of the former run
        assert_eq!(judge(&mut gate, 501, 1001, 1003), Some(FrameOrder::Late));
    }

    proptest! {
        /// Numbers of admitted frames increase under any loss, repetition and reordering.
        #[test]
        fn admitted_frame_numbers_increase(order in prop::collection::vec(1_u64..60, 1..80)) {
            let mut gate = FrameGate::default();
            let mut newest = 0;
            for (index, sequence) in order.into_iter().enumerate() {
                let verdict = judge(&mut gate, sequence, sequence as i64, 60 + index as i64);
                prop_assert_eq!(verdict.is_some_and(FrameOrder::is_accepted), sequence > newest);
                newest = newest.max(sequence);
            }
        }

        #[test]
        fn any_frame_is_classified(
            (session, sequence) in any::<(u64, u64)>(),
            sent: i64, received: i64, offset: i64, bound: i64,
        ) {
            let mut gate = FrameGate::default();
            let frame = HapticFrame { session, sequence, sent_ns: sent, ..HapticFrame::default() };
            let clock = SenderClock { session, offset: Span(offset), bound: Span(bound) };
            let verdict = gate.classify(&frame, Time(received), Some(clock), Span(i64::MAX));
            prop_assert_eq!(verdict.is_some_and(FrameOrder::is_accepted), sequence != 0);
        }
    }
}
