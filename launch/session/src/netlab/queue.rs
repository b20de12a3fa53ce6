//! Packets that wait for their time: a slab of buffers and a heap of due times.
//!
//! Source: ours. The slab is allocated once; a packet that does not fit its slot makes that slot
//! grow, and a packet for which no slot is free is refused, as a full queue of a router does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use palpate_transport::{Span, Time};

/// One buffer and what it is for.
#[derive(Debug)]
struct Slot<T> {
    bytes: Vec<u8>,
    tag: T,
    /// Deliveries still to come.
    copies: usize,
}

/// Packets in the order of their due times; of two with the same time, the earlier one first.
#[derive(Debug)]
pub(super) struct DueQueue<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(Time, u64, usize)>>,
    stored: u64,
}

impl<T: Copy + Default> DueQueue<T> {
    /// Room for `packets` of `packet_byte` bytes each, allocated here.
    pub(super) fn new(packets: usize, packet_byte: usize) -> Self {
        let slot = |_| Slot {
            bytes: Vec::with_capacity(packet_byte),
            tag: T::default(),
            copies: 0,
        };
        Self {
            slots: (0..packets).map(slot).collect(),
            free: (0..packets).rev().collect(),
            // Twice, because a packet may be duplicated.
            due: BinaryHeap::with_capacity(2 * packets),
            stored: 0,
        }
    }

    /// Keeps `bytes` until each of `times`; false if no slot is free.
    pub(super) fn store(
        &mut self,
        bytes: &[u8],
        tag: T,
        times: impl IntoIterator<Item = Time>,
    ) -> bool {
        let Some(index) = self.free.pop() else {
            return false;
        };
        let mut copies = 0;
        for time in times {
            self.due.push(Reverse((time, self.stored, index)));
            self.stored += 1;
            copies += 1;
        }
        if copies == 0 {
            self.free.push(index);
            return true;
        }
        let slot = &mut self.slots[index];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        slot.tag = tag;
        slot.copies = copies;
        true
    }

    /// When the next packet is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((time, ..))| *time)
    }

    /// Hands every packet that is due at `now` to `deliver`, with its tag and its lateness.
    pub(super) fn release(&mut self, now: Time, mut deliver: impl FnMut(&[u8], T, Span)) {
        while let Some(&Reverse((time, _, index))) = self.due.peek()
            && time <= now
        {
            self.due.pop();
            let slot = &mut self.slots[index];
            deliver(&slot.bytes, slot.tag, now - time);
            slot.copies -= 1;
            if slot.copies == 0 {
                self.free.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_slab_refuses_and_takes_again_once_one_is_out() {
        let mut queue = DueQueue::new(2, 8);
        assert!(queue.store(b"a", 0_u8, [Time(5), Time(7)]));
        assert!(queue.store(b"b", 1, [Time(1)]));
        assert!(!queue.store(b"c", 2, [Time(0)]));
        let mut seen = Vec::new();
        queue.release(Time(5), |bytes, tag, late| {
            seen.push((bytes.to_vec(), tag, late))
        });
        assert_eq!(
            seen,
            [(b"b".to_vec(), 1, Span(4)), (b"a".to_vec(), 0, Span(0))]
        );
        // The duplicate still holds its slot, the other is free.
        assert!(queue.store(b"longer than a slot", 3, [Time(6)]));
        assert!(!queue.store(b"d", 4, [Time(6)]));
        assert_eq!((queue.due.len(), queue.next_due()), (2, Some(Time(6))));
        queue.release(Time(9), |_, _, _| ());
        assert_eq!(
            (queue.due.len(), queue.next_due(), queue.free.len()),
            (0, None, 2)
        );
    }

    #[test]
    fn a_lost_packet_takes_no_slot() {
        let mut queue = DueQueue::new(1, 8);
        for _ in 0..3 {
            assert!(queue.store(b"lost", 0_u8, []));
        }
        assert!(queue.store(b"kept", 0, [Time(0)]));
    }

    proptest! {
        #[test]
        fn packets_leave_by_time_and_equals_in_order(
            times in prop::collection::vec(0..20_i64, 1..60),
        ) {
            let mut queue = DueQueue::new(times.len(), 1);
            for (n, time) in times.iter().enumerate() {
                prop_assert!(queue.store(&[0], n, [Time(*time)]));
            }
            let mut left = Vec::new();
            for now in 0..20 {
                queue.release(Time(now), |_, n, late| left.push((times[n], n, late)));
            }
            // The second route: a stable sort.
            let mut sorted: Vec<_> = times.iter().copied().zip(0..).collect();
            sorted.sort_by_key(|(time, _)| *time);
            let got: Vec<_> = left.iter().map(|(time, n, _)| (*time, *n)).collect();
            prop_assert_eq!(got, sorted);
            prop_assert!(left.iter().all(|(.., late)| *late == Span(0)));
        }
    }
}
