//! The queue of exact propagation: elements by how far they must go, farthest first, in a ring of buckets.
//!
//! Source: ours, after Dial 1969 (a ring of buckets for Dijkstra's algorithm) and Denardo and Fox 1979. No
//! neighbour may stay behind by more than the largest give of a link, so all that waits at one time is
//! within that span, and 64 buckets hold it: which of them are in use is one word. Elements are chained
//! through a table by slot, so nothing is allocated, and one that must go farther than was known changes
//! buckets.

use crate::elements::NONE;
use palpate_twin::law::Real;

/// Buckets of the ring, the bits of a word.
const RING: usize = 64;
/// Buckets of the largest give: the two beyond are for rounding.
const SPAN: f64 = 61.0;

/// Buckets that are counted: what is farther is not told apart.
const FAR: f64 = 4e18;

/// An element's place in the queue.
#[derive(Debug, Clone, Copy)]
struct Place {
    before: u32,
    after: u32,
    /// Its bucket in the ring; [`OUT`] if it does not wait.
    bucket: u8,
    /// Pass in which it last waited.
    pass: u32,
}

/// In no bucket.
const OUT: u8 = u8::MAX;

/// Elements that wait.
#[derive(Debug, Clone)]
pub(super) struct Front<R> {
    places: Vec<Place>,
    /// First and last of every bucket.
    ends: [[u32; 2]; RING],
    /// Bits of buckets that are not empty.
    full: u64,
    /// The bucket at hand, counted from the top.
    now: i64,
    top_m: R,
    per_m: R,
    pass: u32,
}

impl<R: Real> Front<R> {
    /// Room for so many slots.
    pub(super) fn new(slots: usize) -> Self {
        let mut front = Self {
            places: Vec::new(),
            ends: [[NONE; 2]; RING],
            full: 0,
            now: 0,
            top_m: R::zero(),
            per_m: R::zero(),
            pass: 0,
        };
        front.fit(slots);
        front
    }

    /// Grows to so many slots.
    pub(super) fn fit(&mut self, slots: usize) {
        if self.places.len() < slots {
            let place = Place {
                before: NONE,
                after: NONE,
                bucket: OUT,
                pass: 0,
            };
            self.places.resize(slots, place);
        }
    }

    /// Begins a pass: nobody goes farther than `top_m`, and no neighbour stays behind by more than
    /// `give_m`.
    pub(super) fn begin(&mut self, top_m: R, give_m: R) {
        self.pass = self.pass.wrapping_add(1).max(1);
        self.top_m = top_m;
        // of links that do not give at all, everybody goes equally far
        let per_m = R::of(SPAN) / give_m;
        self.per_m = if per_m.is_finite() { per_m } else { R::zero() };
        self.now = 0;
    }

    /// The bucket of a way, counted from the top.
    #[inline(always)]
    fn count(&self, to_m: R) -> i64 {
        let buckets = (self.top_m - to_m) * self.per_m;
        nalgebra::try_convert(buckets).map_or(self.now, |buckets: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "cut before; not a number is 0"
            )]
            let count = buckets.clamp(0.0, FAR) as i64;
            count
        })
    }

    /// Whether what must go this far comes before all that waits.
    pub(super) fn is_next(&mut self, to_m: R) -> bool {
        let count = self.count(to_m);
        if self.full == 0 {
            self.now = count.max(self.now);
            return true;
        }
        count <= self.now + i64::from(self.ahead())
    }

    /// Buckets from the one at hand to the next that is not empty.
    #[inline(always)]
    const fn ahead(&self) -> u32 {
        self.full
            .rotate_right((self.now & 63) as u32)
            .trailing_zeros()
    }

    /// Puts an element into the queue, or to its new place there; whether it is the first time in this
    /// pass.
    #[inline(always)]
    pub(super) fn push(&mut self, element: u32, to_m: R) -> bool {
        let count = self.count(to_m).clamp(self.now, self.now + 63);
        let bucket = (count & 63) as u8;
        let place = self.places[element as usize];
        let new = place.pass != self.pass;
        if !new {
            if place.bucket == bucket {
                return false;
            }
            if place.bucket != OUT {
                self.take(element);
            }
        }
        let last = std::mem::replace(&mut self.ends[usize::from(bucket)][1], element);
        if self.full >> bucket & 1 == 0 {
            self.ends[usize::from(bucket)][0] = element;
            self.full |= 1 << bucket;
        } else {
            self.places[last as usize].after = element;
        }
        self.places[element as usize] = Place {
            before: last,
            after: NONE,
            bucket,
            pass: self.pass,
        };
        new
    }

    /// Takes the next element out.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.full == 0 {
            return None;
        }
        self.now += i64::from(self.ahead());
        let element = self.ends[(self.now & 63) as usize][0];
        self.take(element);
        Some(element)
    }

    /// Takes an element out of its bucket.
    #[inline(always)]
    fn take(&mut self, element: u32) {
        let place = &mut self.places[element as usize];
        let bucket = usize::from(std::mem::replace(&mut place.bucket, OUT));
        let (before, after) = (place.before, place.after);
        let [first, last] = self.ends[bucket];
        if element == first {
            self.ends[bucket][0] = after;
        } else {
            self.places[before as usize].after = after;
        }
        if element == last {
            self.ends[bucket][1] = before;
        } else {
            self.places[after as usize].before = before;
        }
        if first == last {
            self.full &= !(1 << bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_comes_first_and_who_must_go_farther_changes_places() {
        let mut front = Front::<f64>::new(8);
        for _ in 0..2 {
            front.begin(10.0, 1.0);
            assert!(front.push(0, 10.0));
            assert_eq!(front.pop(), Some(0));
            for (element, to_m) in [(1, 9.2), (2, 9.5), (3, 9.2), (4, 9.05)] {
                assert!(front.push(element, to_m));
            }
            assert!(!front.push(4, 9.8));
            assert!(!front.push(3, 9.9));
            assert!(front.is_next(9.95) && !front.is_next(9.85));
            let order: Vec<_> = std::iter::from_fn(|| front.pop()).collect();
            assert_eq!(order, [3, 4, 2, 1]);
            assert!(front.is_next(-50.0));
            assert!(front.push(5, -50.0));
            assert!(!front.push(4, -50.0));
            assert_eq!(
                (front.pop(), front.pop(), front.pop()),
                (Some(5), Some(4), None)
            );
        }
    }
}
