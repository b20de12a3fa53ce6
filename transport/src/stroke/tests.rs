//! Strokes over a network that does its worst, and senders and receivers that begin anew.

use proptest::prelude::*;

use super::*;
use crate::link::{LinkParams, LinkQueue, Outage};

const RUN: u64 = 7;
const MS: Span = Span(1_000_000);

fn stroke(number: u64) -> Stroke {
    let change = |element| StrokeChange {
        element,
        ..StrokeChange::default()
    };
    Stroke::of(RUN, number, [number as u32, 9].map(change))
}

/// A tissue that does strokes and says so in frames; both ways over `link`.
struct Wire {
    sender: StrokeSender,
    receiver: StrokeReceiver,
    forward: LinkQueue<Stroke>,
    back: LinkQueue<u64>,
    heard: u64,
    did: Vec<u64>,
}

impl Wire {
    fn new(params: LinkParams, seed: u64) -> Self {
        let queue = |seed| LinkQueue::new(params, seed, 8192).expect("valid");
        Self {
            sender: StrokeSender::default(),
            receiver: StrokeReceiver::default(),
            forward: queue(seed),
            back: LinkQueue::new(params, seed + 1, 8192).expect("valid"),
            heard: 0,
            did: Vec::new(),
        }
    }

    /// One tick of both sides, with so many strokes made.
    fn tick(&mut self, now: Time, made: u64, again_after: Span) {
        while let Some(done) = self.back.pop_due(now) {
            self.heard = self.heard.max(done);
        }
        self.sender.acknowledge(self.heard);
        for _ in 0..4 {
            if let Some(number) = self.sender.due(made, now, again_after) {
                self.forward.push(now, 600, stroke(number));
            }
        }
        while let Some(came) = self.forward.pop_due(now) {
            self.receiver.expect(RUN, self.did.len() as u64);
            self.receiver.take(&came);
        }
        for _ in 0..4 {
            self.receiver.expect(RUN, self.did.len() as u64);
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
    /// Every stroke is done once and in its order, whatever the network does.
    #[test]
    fn every_stroke_is_done_once_and_in_order(params in link(), seed: u64, count in 1_u64..300) {
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

    /// Whatever a peer says, nothing panics and no more than a window is on its way.
    #[test]
    fn any_acknowledgement_is_borne(said in prop::collection::vec(any::<(u64, u64)>(), 1..40)) {
        let mut sender = StrokeSender::default();
        for (done, made) in said {
            sender.acknowledge(done);
            let sent: Vec<u64> =
                std::iter::from_fn(|| sender.due(made, Time(0), MS)).take(WINDOW + 1).collect();
            prop_assert!(sent.len() <= WINDOW);
            prop_assert!(sent.iter().all(|&number| number > done && number <= made));
        }
    }

    #[test]
    fn any_stroke_is_taken_or_not(strokes in prop::collection::vec(any::<(u8, u64)>(), 1..99)) {
        let mut receiver = StrokeReceiver::default();
        for (run, number) in strokes {
            receiver.expect(u64::from(run % 3), number / 2);
            receiver.take(&Stroke { run: u64::from(run % 5), number, ..Stroke::default() });
            if let Some(next) = receiver.next() {
                prop_assert_eq!((next.run, next.number), (u64::from(run % 3), number / 2 + 1));
            }
        }
    }
}

#[test]
fn a_tissue_that_began_anew_is_told_all_again() {
    let mut sender = StrokeSender::default();
    let all = |sender: &mut StrokeSender, now| -> Vec<u64> {
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
fn strokes_of_another_run_and_beyond_the_window_are_left() {
    let mut receiver = StrokeReceiver::default();
    receiver.expect(RUN, 10);
    assert_eq!(receiver.take(&stroke(10)), Came::Repeated);
    assert_eq!(receiver.take(&stroke(12)), Came::Kept);
    assert_eq!(receiver.take(&stroke(12)), Came::Repeated);
    assert_eq!(receiver.next(), None);
    assert_eq!(receiver.take(&stroke(11)), Came::Kept);
    assert_eq!(receiver.next(), Some(&stroke(11)));
    assert_eq!(receiver.take(&stroke(11 + WINDOW as u64)), Came::Ahead);
    let foreign = Stroke {
        run: RUN + 1,
        ..stroke(11)
    };
    assert_eq!(receiver.take(&foreign), Came::Foreign);
    // the former run's strokes wait for nobody
    receiver.expect(RUN + 1, 10);
    assert_eq!(receiver.next(), None);
    assert_eq!(receiver.take(&foreign), Came::Kept);
    assert_eq!(receiver.next(), Some(&foreign));
}
