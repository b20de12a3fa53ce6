//! Filter of received frames by order, run and age, applied to each one.
//!
//! A reliable link replays seconds of stale frames after a cut (transport fact 7), and a network
//! may repeat and reorder frames. A new run of the sender replaces the former one for good, so it is taken only if keys
//! prove its sender, or the former one is gone. Pure; called by `stream`. Source: ours.

use palpate_transport::frame::{FrameOrder, HapticFrame, SequenceTracker};
use palpate_transport::{Span, Time};

/// Clock of one run of the sender, as the receiver estimates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderClock {
    /// Run of the sender; after a restart its clock may differ.
    pub run: u64,
    /// Sender's clock minus receiver's clock.
    pub offset: Span,
    /// Largest error of the offset.
    pub bound: Span,
}

/// Limits of the frames of one sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameLimits {
    /// Clock of the sender's run, if it is known.
    pub clock: Option<SenderClock>,
    /// Age beyond which a frame is dropped.
    pub age_max: Span,
    /// Evidence for a new run.
    pub evidence: RunEvidence,
}

/// Silence after which a peer counts as lost.
pub(crate) const LEASE: Span = Span(2_000_000_000);

/// Evidence that a new run of the sender may replace the former one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEvidence {
    /// Keys prove the sender of every frame.
    Proven,
    /// Without keys, counts of events that end a run.
    Counts {
        /// Number of times that the sender's node left the bus; of nodes with the same name the oldest counts. A new run
        /// is accepted if this number grew since the former run began, and the former run was silent for the lease.
        departures: u64,
        /// Times that this side's host gave its peer a successor. If that grew, a new run is taken at once.
        successions: u64,
    },
}

/// Gate that keeps the newest frame number of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameGate {
    tracker: SequenceTracker,
    /// Time at which the newest frame of the run arrived.
    newest: Time,
    /// Departures of the sender's node when the run began, and successions.
    counts: (u64, u64),
}

impl FrameGate {
    /// Classifies a frame received at `received`; none if it is in order, but was certainly sent more
    /// than `age_max` ago. That needs the clock of the sender's run.
    pub(crate) fn classify(
        &mut self,
        frame: &HapticFrame,
        received: Time,
        limits: &FrameLimits,
    ) -> Option<FrameOrder> {
        let FrameLimits {
            clock,
            age_max,
            evidence,
        } = *limits;
        let order = self.tracker.classify(frame, received);
        if order == FrameOrder::Restarted && !self.may_replace_run(received, evidence) {
            return Some(FrameOrder::UnprovenRun);
        }
        if !order.is_accepted() {
            return Some(order);
        }
        if let Some(clock) = clock.filter(|clock| clock.run == frame.run) {
            let age = (received + clock.offset) - Time(frame.sent_ns);
            if age - clock.bound > age_max {
                return None;
            }
        }
        self.tracker.accept(frame, received);
        self.newest = received;
        if order != FrameOrder::Next
            && let RunEvidence::Counts {
                departures,
                successions,
            } = evidence
        {
            self.counts = (departures, successions);
        }
        Some(order)
    }

    /// True if a new run may replace the present one.
    fn may_replace_run(&self, received: Time, evidence: RunEvidence) -> bool {
        match evidence {
            RunEvidence::Proven => true,
            RunEvidence::Counts {
                departures,
                successions,
            } => {
                let is_gone = departures > self.counts.0 && received - self.newest >= LEASE;
                is_gone || successions > self.counts.1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;
    const RUN: u64 = 3;

    fn frame(run: u64, sequence: u64, sent_ms: i64) -> HapticFrame {
        HapticFrame {
            run,
            sequence,
            sent_ns: sent_ms * MS,
            ..HapticFrame::default()
        }
    }

    fn counts(departures: u64, successions: u64) -> RunEvidence {
        RunEvidence::Counts {
            departures,
            successions,
        }
    }

    fn limits(bound_ms: i64) -> FrameLimits {
        FrameLimits {
            clock: Some(SenderClock {
                run: RUN,
                offset: Span(0),
                bound: Span(bound_ms * MS),
            }),
            age_max: Span(200 * MS),
            evidence: RunEvidence::Proven,
        }
    }

    fn judge(
        gate: &mut FrameGate,
        sequence: u64,
        sent_ms: i64,
        received_ms: i64,
    ) -> Option<FrameOrder> {
        let received = Time(received_ms * MS);
        gate.classify(&frame(RUN, sequence, sent_ms), received, &limits(0))
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
        assert_eq!(gate.classify(&late, at, &limits(20)), None);
        assert_eq!(
            gate.classify(&late, at, &limits(40)),
            Some(FrameOrder::First)
        );
    }

    #[test]
    fn restarted_sender_that_keys_prove_is_accepted_at_once() {
        let mut gate = FrameGate::default();
        assert_eq!(judge(&mut gate, 500, 1000, 1001), Some(FrameOrder::First));
        let again = frame(RUN + 1, 1, -90_000);
        let at = Time(1002 * MS);
        assert_eq!(
            gate.classify(&again, at, &limits(0)),
            Some(FrameOrder::Restarted)
        );
        // a late frame of the former run
        assert_eq!(judge(&mut gate, 501, 1001, 1003), Some(FrameOrder::Late));
    }

    #[test]
    fn issue_one_frame_of_a_new_run_retired_the_true_sender() {
        let mut gate = FrameGate::default();
        let mut take = |run, sequence, received_ms: i64, departures| {
            let limits = FrameLimits {
                clock: None,
                evidence: counts(departures, 0),
                ..limits(0)
            };
            let frame = frame(run, sequence, received_ms);
            gate.classify(&frame, Time(received_ms * MS), &limits)
        };
        assert_eq!(take(RUN, 1, 0, 1), Some(FrameOrder::First));
        // the true sender is there
        assert_eq!(take(8, 1, 1, 1), Some(FrameOrder::UnprovenRun));
        assert_eq!(take(RUN, 2, 2, 1), Some(FrameOrder::Next));
        // it is silent, but its node is there
        assert_eq!(take(8, 2, 5000, 1), Some(FrameOrder::UnprovenRun));
        // its node left, but not for long
        assert_eq!(take(RUN, 3, 5001, 1), Some(FrameOrder::Next));
        assert_eq!(take(8, 3, 6900, 2), Some(FrameOrder::UnprovenRun));
        assert_eq!(take(8, 4, 7001, 2), Some(FrameOrder::Restarted));
        // the node of the new run is there
        assert_eq!(take(9, 1, 12_000, 2), Some(FrameOrder::UnprovenRun));
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
            (run, sequence) in any::<(u64, u64)>(),
            sent: i64, received: i64, offset: i64, bound: i64,
        ) {
            let mut gate = FrameGate::default();
            let frame = HapticFrame { run, sequence, sent_ns: sent, ..HapticFrame::default() };
            let limits = FrameLimits {
                clock: Some(SenderClock { run, offset: Span(offset), bound: Span(bound) }),
                age_max: Span(i64::MAX),
                evidence: counts(0, 0),
            };
            let verdict = gate.classify(&frame, Time(received), &limits);
            prop_assert_eq!(verdict.is_some_and(FrameOrder::is_accepted), sequence != 0);
        }
    }

    #[test]
    fn successor_is_taken_at_once_and_its_predecessor_no_more() {
        let mut gate = FrameGate::default();
        let mut take = |run, sequence, successions| {
            let limits = FrameLimits {
                evidence: counts(0, successions),
                ..limits(0)
            };
            let at = Time(sequence as i64 * MS);
            gate.classify(&frame(run, sequence, 0), at, &limits)
        };
        assert_eq!(take(RUN, 1, 0), Some(FrameOrder::First));
        assert_eq!(take(RUN + 1, 2, 0), Some(FrameOrder::UnprovenRun));
        assert_eq!(take(RUN + 1, 3, 1), Some(FrameOrder::Restarted));
        assert_ne!(take(RUN, 4, 1), Some(FrameOrder::Next));
        assert_eq!(take(RUN + 2, 5, 1), Some(FrameOrder::UnprovenRun));
    }
}
