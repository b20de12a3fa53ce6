//! Edit batches over a lossy, reordering network, and senders and receivers that restart.

use proptest::prelude::*;

use super::*;
use crate::link::{LinkParams, LinkQueue, Outage};

const RUN: u64 = 7;
const MS: Span = Span(1_000_000);

fn batch(number: u64) -> EditBatch {
    let change = |element| BatchChange {
        element,
        ..BatchChange::default()
    };
    EditBatch::from_changes(RUN, number, [number as u32, 9].map(change))
}

/// A tissue that applies batches and acknowledges them in frames; both directions over `link`.
struct Wire {
    sender: EditBatchSender,
    receiver: EditBatchReceiver,
    forward: LinkQueue<EditBatch>,
    back: LinkQueue<u64>,
    heard: u64,
    did: Vec<u64>,
}

impl Wire {
    fn new(params: LinkParams, seed: u64) -> Self {
        let queue = |seed| LinkQueue::new(params, seed, 8192).expect("valid");
        Self {
            sender: EditBatchSender::default(),
            receiver: EditBatchReceiver::default(),
            forward: queue(seed),
            back: LinkQueue::new(params, seed + 1, 8192).expect("valid"),
            heard: 0,
            did: Vec::new(),
        }
    }

    /// One tick of both sides, with `made` batches made so far.
    fn tick(&mut self, now: Time, made: u64, again_after: Span) {
        while let Some(applied) = self.back.pop_due(now) {
            self.heard = self.heard.max(applied);
        }
        self.sender.acknowledge(self.heard);
        for _ in 0..4 {
            if let Some(number) = self.sender.due(made, now, again_after) {
                self.forward.push(now, 600, batch(number));
            }
        }
        while let Some(received) = self.forward.pop_due(now) {
            self.receiver.set_expected(RUN, self.did.len() as u64);
            self.receiver.accept(&received);
        }
        for _ in 0..4 {
            self.receiver.set_expected(RUN, self.did.len() as u64);
            if let Some(next) = self.receiver.next() {
                self.did.push(u64::from(next.changes()[0].element));
            }
        }
        self.back.push(now, 400, self.did.len() as u64);
    }
}

fn link() -> impl Strategy<Value = LinkParams> {
    let outage = prop::option::of((0.05..1.0, 0.01..1.0));
    (
        0.0..500.0,
        0.0..100.0,
        any::<bool>(),
        0.0..0.3,
        0.0..0.3,
        0.0..0.3,
        outage,
    )
        .prop_map(
            |(oneway_ms, jitter_ms, jitter_reorders, loss, duplicate, reorder, outage)| {
                LinkParams {
                    oneway_ms,
                    jitter_ms,
                    jitter_reorders,
                    loss,
                    duplicate,
                    reorder,
                    outage: outage.map(|(on_s, off_s)| Outage { on_s, off_s }),
                    ..LinkParams::default()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Every batch is applied once and in order under any loss, delay and reordering.
    #[test]
    fn every_batch_is_applied_once_and_in_order(params in link(), seed: u64, count in 1_u64..300) {
        let mut wire = Wire::new(params, seed >> 1);
        for tick in 0..60_000_i64 {
            let made = count.min(tick as u64 / 3);
            wire.tick(Time(MS.0 * tick), made, Span(MS.0 * 100));
            if wire.heard == count {
                break;
            }
        }
        prop_assert_eq!(&wire.did, &(1..=count).collect::<Vec<_>>());
        prop_assert_eq!(wire.sender.due(count, Time(i64::MAX), MS), None);
    }

    /// Any acknowledgement is accepted without panic, and at most a window is in flight.
    #[test]
    fn any_acknowledgement_is_accepted(acknowledgements in prop::collection::vec(any::<(u64, u64)>(), 1..40)) {
        let mut sender = EditBatchSender::default();
        for (applied, made) in acknowledgements {
            sender.acknowledge(applied);
            let sent: Vec<u64> =
                std::iter::from_fn(|| sender.due(made, Time(0), MS)).take(BATCH_WINDOW + 1).collect();
            prop_assert!(sent.len() <= BATCH_WINDOW);
            prop_assert!(sent.iter().all(|&number| number > applied && number <= made));
        }
    }

    #[test]
    fn any_batch_is_accepted_or_dropped(batches in prop::collection::vec(any::<(u8, u64)>(), 1..99)) {
        let mut receiver = EditBatchReceiver::default();
        for (run, number) in batches {
            receiver.set_expected(u64::from(run % 3), number / 2);
            receiver.accept(&EditBatch { run: u64::from(run % 5), number, ..EditBatch::default() });
            if let Some(next) = receiver.next() {
                prop_assert_eq!((next.run, next.number), (u64::from(run % 3), number / 2 + 1));
            }
        }
    }
}

#[test]
fn restarted_tissue_receives_all_batches_again() {
    let mut sender = EditBatchSender::default();
    let all = |sender: &mut EditBatchSender, now| -> Vec<u64> {
        std::iter::from_fn(|| sender.due(5, Time(now), MS))
            .take(99)
            .collect()
    };
    assert_eq!(all(&mut sender, 0), [1, 2, 3, 4, 5]);
    assert_eq!(all(&mut sender, 999_999), [0; 0]);
    sender.acknowledge(3);
    assert_eq!(all(&mut sender, 1_000_000), [4, 5]);
    sender.acknowledge(5);
    assert_eq!(all(&mut sender, 9_000_000), [0; 0]);
    sender.acknowledge(0);
    assert_eq!(all(&mut sender, 9_000_001), [1, 2, 3, 4, 5]);
}

#[test]
fn batches_of_another_run_or_beyond_the_window_are_dropped() {
    let mut receiver = EditBatchReceiver::default();
    receiver.set_expected(RUN, 10);
    assert!(!receiver.accept(&batch(10)));
    assert!(receiver.accept(&batch(12)));
    assert!(!receiver.accept(&batch(12)));
    assert_eq!(receiver.next(), None);
    assert!(receiver.accept(&batch(11)));
    assert_eq!(receiver.next(), Some(&batch(11)));
    assert!(!receiver.accept(&batch(11 + BATCH_WINDOW as u64)));
    let foreign = EditBatch {
        run: RUN + 1,
        ..batch(11)
    };
    assert!(!receiver.accept(&foreign));
    // batches of the former run are not released
    receiver.set_expected(RUN + 1, 10);
    assert_eq!(receiver.next(), None);
    assert!(receiver.accept(&foreign));
    assert_eq!(receiver.next(), Some(&foreign));
}
