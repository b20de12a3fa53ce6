//! Priority queue of ChainMail propagation: nodes by required displacement, greatest first, in a ring of buckets.
//!
//! Source: ours, after Dial 1969 (a ring of buckets for Dijkstra's algorithm) and Denardo and Fox 1979. No neighbour
//! lags by more than the greatest slack of a link, so all queued nodes are within that span. 64 buckets hold it, and
//! one word marks those in use. Nodes of a bucket are chained through a table by slot, so nothing is allocated. A
//! node whose required displacement grows changes its bucket.

use crate::nodes::NONE;
use palpate_twin::law::Real;

/// Buckets of the ring, the bits of a word.
const RING: usize = 64;
/// Buckets that the greatest slack spans: the others absorb rounding.
const SPAN: f64 = 61.0;

/// Greatest bucket number; farther nodes share it.
const FAR: f64 = 4e18;

/// A node's position in the queue.
#[derive(Debug, Clone, Copy)]
struct QueueEntry {
    before: u32,
    after: u32,
    /// Its bucket in the ring; [`NOT_QUEUED`] if it is in none.
    bucket: u8,
    /// Pass in which it was queued last.
    pass: u32,
}

/// Marks a node that is in no bucket.
const NOT_QUEUED: u8 = u8::MAX;

/// A monotone bucket queue of nodes.
#[derive(Debug, Clone)]
pub(super) struct BucketQueue<R> {
    places: Vec<QueueEntry>,
    /// First and last node of every bucket.
    ends: [[u32; 2]; RING],
    /// Bits of buckets that are not empty.
    occupied: u64,
    /// The present bucket, counted from the top.
    current: i64,
    top_m: R,
    per_m: R,
    pass: u32,
}

impl<R: Real> BucketQueue<R> {
    /// Returns an empty queue for this number of slots.
    pub(super) fn new(slots: usize) -> Self {
        let place = QueueEntry {
            before: NONE,
            after: NONE,
            bucket: NOT_QUEUED,
            pass: 0,
        };
        Self {
            places: vec![place; slots],
            ends: [[NONE; 2]; RING],
            occupied: 0,
            current: 0,
            top_m: R::zero(),
            per_m: R::zero(),
            pass: 0,
        }
    }

    /// Starts a pass: no node moves farther than `top_m`, and no neighbour lags by more than `give_m`.
    pub(super) fn begin(&mut self, top_m: R, give_m: R) {
        self.pass = self.pass.wrapping_add(1).max(1);
        self.top_m = top_m;
        // rigid links: all nodes move equally far
        let per_m = R::of(SPAN) / give_m;
        self.per_m = if per_m.is_finite() { per_m } else { R::zero() };
        self.current = 0;
    }

    /// Returns the bucket of a displacement, counted from the top.
    #[inline(always)]
    fn bucket_of(&self, to_m: R) -> i64 {
        let buckets = (self.top_m - to_m) * self.per_m;
        // clamped; NaN goes to the present bucket
        nalgebra::try_convert(buckets)
            .map_or(self.current, |buckets: f64| buckets.clamp(0.0, FAR) as i64)
    }

    /// True if a displacement precedes all that is queued.
    pub(super) fn is_next(&mut self, to_m: R) -> bool {
        let count = self.bucket_of(to_m);
        if self.occupied == 0 {
            self.current = count.max(self.current);
            return true;
        }
        count <= self.current + i64::from(self.buckets_to_next())
    }

    /// Returns the distance from the present bucket to the next occupied one.
    #[inline(always)]
    const fn buckets_to_next(&self) -> u32 {
        self.occupied
            .rotate_right((self.current & 63) as u32)
            .trailing_zeros()
    }

    /// Queues a node or changes its bucket; returns true if this is the first time in this pass.
    #[inline(always)]
    pub(super) fn push(&mut self, node: u32, to_m: R) -> bool {
        let count = self.bucket_of(to_m).clamp(self.current, self.current + 63);
        let bucket = (count & 63) as u8;
        let place = self.places[node as usize];
        let new = place.pass != self.pass;
        if !new {
            if place.bucket == bucket {
                return false;
            }
            if place.bucket != NOT_QUEUED {
                self.take(node);
            }
        }
        let last = std::mem::replace(&mut self.ends[usize::from(bucket)][1], node);
        if self.occupied >> bucket & 1 == 0 {
            self.ends[usize::from(bucket)][0] = node;
            self.occupied |= 1 << bucket;
        } else {
            self.places[last as usize].after = node;
        }
        self.places[node as usize] = QueueEntry {
            before: last,
            after: NONE,
            bucket,
            pass: self.pass,
        };
        new
    }

    /// Removes and returns the next node.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.occupied == 0 {
            return None;
        }
        self.current += i64::from(self.buckets_to_next());
        let node = self.ends[(self.current & 63) as usize][0];
        self.take(node);
        Some(node)
    }

    /// Removes a node from its bucket.
    #[inline(always)]
    fn take(&mut self, node: u32) {
        let place = &mut self.places[node as usize];
        let bucket = usize::from(std::mem::replace(&mut place.bucket, NOT_QUEUED));
        let (before, after) = (place.before, place.after);
        let [first, last] = self.ends[bucket];
        if node == first {
            self.ends[bucket][0] = after;
        } else {
            self.places[before as usize].after = after;
        }
        if node == last {
            self.ends[bucket][1] = before;
        } else {
            self.places[after as usize].before = before;
        }
        if first == last {
            self.occupied &= !(1 << bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greatest_displacement_comes_first_and_growth_changes_the_bucket() {
        let mut queue = BucketQueue::<f64>::new(8);
        for _ in 0..2 {
            queue.begin(10.0, 1.0);
            assert!(queue.push(0, 10.0));
            assert_eq!(queue.pop(), Some(0));
            for (node, to_m) in [(1, 9.2), (2, 9.5), (3, 9.2), (4, 9.05)] {
                assert!(queue.push(node, to_m));
            }
            assert!(!queue.push(4, 9.8));
            assert!(!queue.push(3, 9.9));
            assert!(queue.is_next(9.95) && !queue.is_next(9.85));
            let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!(order, [3, 4, 2, 1]);
            assert!(queue.is_next(-50.0));
            assert!(queue.push(5, -50.0));
            assert!(!queue.push(4, -50.0));
            assert_eq!(
                (queue.pop(), queue.pop(), queue.pop()),
                (Some(5), Some(4), None)
            );
        }
    }
}
