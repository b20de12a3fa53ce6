//! Edits as a list of small changes that can be taken back: undo, redo, replay, and one number for it all.
//!
//! Source: seed-001 section 3.5 "undo log" and 5.3; the rest ours. A stroke is all the [`Change`]s that one motion of
//! a tool made, and is undone as one. The log is a ring of fixed size: when it is full the oldest strokes are
//! forgotten, and nothing is allocated. [`EditLog::hash`] is of the links as they are and not of the way there, so that
//! both ends of a network can compare it.

use crate::elements::Elements;
use crate::walk::Walk;
use palpate_twin::edits::{Change, Direction, link_weight};
use palpate_twin::law::Real;

/// Integers of a log without changes.
const LOG: usize = 4;

/// Makes a change, if it can be made just now; whether it was.
fn make<R: Real>(change: Change, links: &mut Elements<R>, walk: &mut Walk) -> bool {
    match change {
        Change::Cut { element, to, other } => {
            links.neighbour(element, to) == Some(other) && links.cut(element, to)
        }
        Change::Join { element, to, other } => links.join(element, to, other),
        Change::Take { element } => {
            let linked = |to: &Direction| links.neighbour(element, *to).is_some();
            !links.pinned(element) && !Direction::ALL.iter().any(linked) && links.carve(element)
        }
        Change::Put { element } => links.revive(element),
        Change::Hold { element } => links.hold(element, true),
        Change::Free { element } => links.hold(element, false),
        Change::Carry { element, by } => {
            let by = by.map(i32::from);
            let piece = walk.piece(links, element);
            let can = !piece.is_empty() && piece.iter().all(|&e| links.carries(e, by));
            if can {
                piece.iter().for_each(|&e| links.carry(e, by));
            }
            can
        }
    }
}

/// One number for which elements are there, linked and held: the same however that came about, and, but for
/// one chance in 2^64, no other.
#[must_use]
pub fn topology<R: Real>(links: &Elements<R>) -> u64 {
    let mut hash = 0_u64;
    for element in (0..links.slots()).filter(|&e| links.alive(e)) {
        hash = hash.wrapping_add(Change::Put { element }.weight());
        if links.pinned(element) {
            hash = hash.wrapping_add(Change::Hold { element }.weight());
        }
        for to in Direction::UP {
            if let Some(other) = links.neighbour(element, to) {
                hash = hash.wrapping_add(link_weight(element, to, other));
            }
        }
    }
    hash
}

/// What was done and can be taken back.
#[derive(Debug, Clone)]
pub struct EditLog {
    /// Changes with the number of their stroke, in a ring.
    ring: Vec<(u32, Change)>,
    first: usize,
    /// Changes that can be undone, from `first` on.
    done: usize,
    /// Changes that can be redone, after those.
    undone: usize,
    stroke: u32,
    /// The stroke at hand is longer than the ring: nothing of it is kept.
    too_long: bool,
    hash: u64,
    walk: Walk,
}

impl EditLog {
    /// A log of at most so many changes; 0 keeps none.
    #[must_use]
    pub fn new<R: Real>(links: &Elements<R>, changes: usize) -> Self {
        Self {
            ring: vec![(0, Change::Take { element: 0 }); changes],
            first: 0,
            done: 0,
            undone: 0,
            stroke: 0,
            too_long: false,
            hash: topology(links),
            walk: Walk::new(links.slots()),
        }
    }

    /// See [`topology`]; kept along with every change, not counted anew.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether there is anything to undo, and to redo.
    #[must_use]
    pub const fn can(&self) -> (bool, bool) {
        (self.done > 0, self.undone > 0)
    }

    /// Number of the stroke at hand.
    #[must_use]
    pub const fn stroke(&self) -> u32 {
        self.stroke
    }

    /// Makes a change by which another log went back, or forth again, and goes so itself; whether it could be made.
    /// One that this log does not know is noted as any.
    pub(super) fn retrace<R: Real>(
        &mut self,
        links: &mut Elements<R>,
        change: Change,
        back: bool,
    ) -> bool {
        let made = self.apply(links, change);
        let nth = if back {
            self.done.checked_sub(1)
        } else {
            (self.undone > 0).then_some(self.done)
        };
        let known = nth.map(|nth| self.ring[(self.first + nth) % self.ring.len()].1);
        let sought = if back { change.inverse() } else { change };
        if known != Some(sought) {
            if made {
                self.note(change);
            }
        } else if back {
            (self.done, self.undone) = (self.done - 1, self.undone + 1);
        } else {
            (self.done, self.undone) = (self.done + 1, self.undone - 1);
        }
        made
    }

    /// Begins a stroke: what is made from now on is undone as one.
    pub const fn begin(&mut self) {
        self.stroke = self.stroke.wrapping_add(1);
        self.too_long = false;
    }

    /// Makes a change and notes it; whether it could be made. What was undone is forgotten then.
    pub fn make<R: Real>(&mut self, links: &mut Elements<R>, change: Change) -> bool {
        let made = self.apply(links, change);
        if made {
            self.note(change);
        }
        made
    }

    fn apply<R: Real>(&mut self, links: &mut Elements<R>, change: Change) -> bool {
        let made = make(change, links, &mut self.walk);
        if made {
            self.hash = self.hash.wrapping_add(change.weight());
        }
        made
    }

    /// Frees an element, cuts its links and takes it out, if it is there; tells every change.
    pub fn carve<R: Real>(
        &mut self,
        links: &mut Elements<R>,
        element: u32,
        mut told: impl FnMut(&mut Elements<R>, Change),
    ) -> bool {
        for to in Direction::ALL {
            if let Some(other) = links.neighbour(element, to) {
                let change = Change::Cut { element, to, other };
                if self.make(links, change) {
                    told(links, change);
                }
            }
        }
        let mut made = false;
        for change in [Change::Free { element }, Change::Take { element }] {
            made = self.make(links, change);
            if made {
                told(links, change);
            }
        }
        made
    }

    fn note(&mut self, change: Change) {
        self.undone = 0;
        if self.too_long || self.ring.is_empty() {
            return;
        }
        if self.done == self.ring.len() {
            let oldest = self.ring[self.first].0;
            if oldest == self.stroke {
                (self.done, self.too_long) = (0, true);
                return;
            }
            while self.done > 0 && self.ring[self.first].0 == oldest {
                self.first = (self.first + 1) % self.ring.len();
                self.done -= 1;
            }
        }
        let at = (self.first + self.done) % self.ring.len();
        self.ring[at] = (self.stroke, change);
        self.done += 1;
    }

    /// Takes the last stroke back and tells every change that this took; how many it were.
    pub fn undo<R: Real>(
        &mut self,
        links: &mut Elements<R>,
        mut told: impl FnMut(&mut Elements<R>, Change),
    ) -> usize {
        let mut count = 0;
        let mut stroke = None;
        while self.done > 0 {
            let at = (self.first + self.done - 1) % self.ring.len();
            let (of, change) = self.ring[at];
            if *stroke.get_or_insert(of) != of {
                break;
            }
            let back = change.inverse();
            if self.apply(links, back) {
                told(links, back);
            }
            self.done -= 1;
            self.undone += 1;
            count += 1;
        }
        self.begin();
        count
    }

    /// Makes the last stroke that was undone again, and tells its changes; how many it were.
    pub fn redo<R: Real>(
        &mut self,
        links: &mut Elements<R>,
        mut told: impl FnMut(&mut Elements<R>, Change),
    ) -> usize {
        let mut count = 0;
        let mut stroke = None;
        while self.undone > 0 {
            let at = (self.first + self.done) % self.ring.len();
            let (of, change) = self.ring[at];
            if *stroke.get_or_insert(of) != of {
                break;
            }
            if self.apply(links, change) {
                told(links, change);
            }
            self.done += 1;
            self.undone -= 1;
            count += 1;
        }
        self.begin();
        count
    }

    /// Integers that [`EditLog::write`] appends at most.
    pub(super) const fn integers_max(&self) -> usize {
        LOG + 2 * self.ring.len()
    }

    /// Integers that a log takes whose first ones these are; none if they are of no log.
    pub(super) fn integers(log: &[u64]) -> Option<usize> {
        let &[_, _, done, undone] = log.first_chunk::<LOG>()?;
        let kept = usize::try_from(done.checked_add(undone)?).ok()?;
        kept.checked_mul(2)?.checked_add(LOG)
    }

    /// Appends the log: what can be undone and redone, and the number of all links.
    pub(super) fn write(&self, integers: &mut Vec<u64>) {
        let stroke = u64::from(self.stroke) << 1 | u64::from(self.too_long);
        integers.extend([self.hash, stroke, self.done as u64, self.undone as u64]);
        for nth in 0..self.done + self.undone {
            let (stroke, change) = self.ring[(self.first + nth) % self.ring.len()];
            integers.extend(change.packed(stroke));
        }
    }

    /// Takes the log back; whether it fits, nothing has changed if not.
    pub(super) fn read(&mut self, integers: &[u64]) -> bool {
        let Some(&[hash, stroke, done, undone]) = integers.first_chunk::<LOG>() else {
            return false;
        };
        let (done, undone) = (done as usize, undone as usize);
        let changes = integers[LOG..].as_chunks::<2>().0;
        if changes.len() > self.ring.len() || changes.len() != done.saturating_add(undone) {
            return false;
        }
        for (own, &pair) in self.ring.iter_mut().zip(changes) {
            *own = Change::unpacked(pair);
        }
        self.hash = hash;
        // the number before the lowest bit
        self.stroke = (stroke >> 1) as u32;
        self.too_long = stroke & 1 != 0;
        (self.first, self.done, self.undone) = (0, done, undone);
        true
    }

    /// Changes that can be undone, oldest first.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        (0..self.done).map(|nth| self.ring[(self.first + nth) % self.ring.len()].1)
    }
}
