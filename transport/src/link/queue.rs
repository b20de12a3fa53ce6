//! Link that also keeps the packets in flight.
//!
//! Source: ours. A binary heap of fixed capacity by (due time, order of offering), so that packets
//! due at the same time leave in their order of arrival.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::model::{DropCause, Fate, LinkModel, LinkStats};
use super::params::{LinkError, LinkParams};
use crate::clock::Time;

/// One direction of a network with the packets in flight. Allocates at construction only.
#[derive(Debug, Clone)]
pub struct LinkQueue<T> {
    model: LinkModel,
    flight: BinaryHeap<Packet<T>>,
    capacity: usize,
    pushed: u64,
}

#[derive(Debug, Clone)]
struct Packet<T> {
    due: Time,
    order: u64,
    item: T,
}

impl<T: Clone> LinkQueue<T> {
    /// Creates a link with room for `capacity` packets in flight; further ones are dropped and counted
    /// as queue loss.
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`].
    pub fn new(params: LinkParams, seed: u64, capacity: usize) -> Result<Self, LinkError> {
        Ok(Self {
            model: LinkModel::new(params, seed)?,
            flight: BinaryHeap::with_capacity(capacity),
            capacity,
            pushed: 0,
        })
    }

    /// Sends `item` as a packet of `bytes` bytes at `now`.
    pub fn push(&mut self, now: Time, bytes: usize, item: T) -> Fate {
        let fate = self.model.offer(now, bytes);
        let Fate::Delivered { due, copy_due } = fate else {
            return fate;
        };
        if copy_due.is_some() && self.free() < 2 {
            self.model.refuse_copy();
        }
        if self.free() == 0 {
            self.model.refuse();
            return Fate::Dropped(DropCause::Queue);
        }
        self.enqueue(due, item.clone());
        let copy_due = copy_due.filter(|_| self.free() > 0);
        if let Some(copy_due) = copy_due {
            self.enqueue(copy_due, item);
        }
        Fate::Delivered { due, copy_due }
    }

    /// Removes and returns the next packet that is due at `now`.
    pub fn pop_due(&mut self, now: Time) -> Option<T> {
        if self.next_due()? > now {
            return None;
        }
        self.flight.pop().map(|packet| packet.item)
    }

    /// Due time of the next packet; none if nothing is in flight.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.flight.peek().map(|packet| packet.due)
    }

    /// Changes the network while it runs, see [`LinkModel::set_params`].
    ///
    /// # Errors
    /// [`LinkError`] of [`LinkParams::validate`]; then nothing changes.
    pub fn set_params(&mut self, params: LinkParams) -> Result<(), LinkError> {
        self.model.set_params(params)
    }

    /// Parameters in use.
    #[must_use]
    pub fn params(&self) -> &LinkParams {
        self.model.params()
    }

    /// Counters of the link so far.
    #[must_use]
    pub fn stats(&self) -> &LinkStats {
        self.model.stats()
    }

    fn free(&self) -> usize {
        self.capacity - self.flight.len()
    }

    fn enqueue(&mut self, due: Time, item: T) {
        let order = self.pushed;
        self.pushed += 1;
        self.flight.push(Packet { due, order, item });
    }
}

// The heap gives its greatest element first, so the earliest packet has to be the greatest.
impl<T> Ord for Packet<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl<T> PartialOrd for Packet<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Packet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Packet<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queue(params: LinkParams, capacity: usize) -> LinkQueue<u64> {
        LinkQueue::new(params, 6, capacity).expect("valid parameters")
    }

    #[test]
    fn packets_due_together_leave_in_their_order() {
        let params = LinkParams {
            oneway_ms: 1.0,
            ..LinkParams::default()
        };
        let mut link = queue(params, 64);
        for item in 0..64 {
            link.push(Time(0), 1, item);
        }
        assert_eq!(link.pop_due(Time(999_999)), None);
        assert_eq!(link.next_due(), Some(Time(1_000_000)));
        let mut left = Vec::new();
        while let Some(item) = link.pop_due(Time(1_000_000)) {
            left.push(item);
        }
        assert_eq!(left, (0..64).collect::<Vec<_>>());
        assert!(link.flight.is_empty() && link.next_due().is_none());
    }

    #[test]
    fn a_full_link_drops_and_counts() {
        let params = LinkParams {
            oneway_ms: 1.0,
            duplicate: 1.0,
            ..LinkParams::default()
        };
        let mut link = queue(params, 3);
        assert!(matches!(
            link.push(Time(0), 1, 0),
            Fate::Delivered {
                copy_due: Some(_),
                ..
            }
        ));
        assert!(matches!(
            link.push(Time(0), 1, 1),
            Fate::Delivered { copy_due: None, .. }
        ));
        assert_eq!(link.push(Time(0), 1, 2), Fate::Dropped(DropCause::Queue));
        let stats = link.stats();
        assert_eq!((stats.delivered, stats.duplicated), (2, 1));
        // The second packet's copy, the third packet and its copy.
        assert_eq!(stats.overflowed, 3);
        assert_eq!(link.flight.len(), 3);
    }

    #[test]
    fn overtaking_packets_come_out_first() {
        let params = LinkParams {
            oneway_ms: 20.0,
            reorder: 0.1,
            ..LinkParams::default()
        };
        let mut link = queue(params, 1000);
        let (mut newest, mut late) = (0, 0);
        for item in 1..=20_000 {
            let now = Time(item as i64 * 1_000_000);
            link.push(now, 200, item);
            while let Some(arrived) = link.pop_due(now) {
                late += u64::from(arrived < newest);
                newest = newest.max(arrived);
            }
        }
        // A run of n overtaking packets in a row makes n packets late: as many as overtook.
        let overtook = link.stats().reordered;
        assert!(
            overtook > 1800 && late.abs_diff(overtook) <= 25,
            "{late} {overtook}"
        );
    }

    proptest! {
        #[test]
        fn accepted_packets_leave_in_order_of_time(
            jitter_ms in 0.0..50.0,
            (loss, duplicate) in (0.0..0.5, 0.0..0.5),
            capacity in 0_usize..300,
            gaps in prop::collection::vec(0_i64..5_000_000, 0..200),
        ) {
            let params = LinkParams {
                oneway_ms: 30.0, jitter_ms, jitter_reorders: true, loss, duplicate,
                ..LinkParams::default()
            };
            let mut link = queue(params, capacity);
            let room = link.flight.capacity();
            let mut now = Time(0);
            for (item, gap) in gaps.iter().enumerate() {
                now = Time(now.0 + gap);
                link.push(now, 100, item as u64);
                prop_assert!(link.flight.len() <= capacity);
            }
            prop_assert_eq!(link.flight.capacity(), room, "it allocated");
            let stats = *link.stats();
            let (mut out, mut last) = (0, Time(0));
            while let Some(due) = link.next_due() {
                prop_assert!(due >= last);
                last = due;
                prop_assert!(link.pop_due(Time(due.0 - 1)).is_none());
                prop_assert!(link.pop_due(due).is_some());
                out += 1;
            }
            prop_assert_eq!(out, stats.delivered + stats.duplicated);
        }
    }
}
