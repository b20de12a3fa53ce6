//! Edits as a list of small changes that can be taken back: undo, redo, replay, and one number for it all.
//!
//! Source: seed-001 section 3.5 "undo log" and 5.3; the rest ours. Whatever a tool does to links is made of
//! seven [`Change`]s, each with an inverse; a stroke is all that one motion of a tool did, and is undone as one. The
//! log is a ring of fixed size: when it is full the oldest strokes are forgotten, and nothing is allocated.
//! [`EditLog::hash`] is of the links as they are and not of the way there, so that both ends of a network
//! can compare it.

use crate::model::linked::direction::Direction;
use crate::model::linked::links::Links;
use crate::model::linked::walk::Walk;

/// The least that can be done to links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A link was cut.
    Cut {
        /// One end.
        element: u32,
        /// Where the other is.
        to: Direction,
        /// The other end.
        other: u32,
    },
    /// A link was made.
    Join {
        /// One end.
        element: u32,
        /// Where the other is.
        to: Direction,
        /// The other end.
        other: u32,
    },
    /// An element without links, that nobody holds, was taken out.
    Take {
        /// Which.
        element: u32,
    },
    /// An element was put back, without links.
    Put {
        /// Which.
        element: u32,
    },
    /// An element is held where it is.
    Hold {
        /// Which.
        element: u32,
    },
    /// It is not held any more.
    Free {
        /// Which.
        element: u32,
    },
    /// All that is linked to an element rests `by` sites further on, see [`Links::carry`].
    Carry {
        /// One of the piece.
        element: u32,
        /// Sites by axis.
        by: [i16; 3],
    },
}

/// What changes that are told of are to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// They begin an edit, which is taken back as one.
    #[default]
    Begins,
    /// They belong to the edit before.
    GoesOn,
    /// They take back what was made last, or some of it.
    Undone,
    /// They make again what was taken back last, or some of it.
    Redone,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Begins, Self::GoesOn, Self::Undone, Self::Redone];
}

impl Change {
    /// What takes it back.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Cut { element, to, other } => Self::Join { element, to, other },
            Self::Join { element, to, other } => Self::Cut { element, to, other },
            Self::Take { element } => Self::Put { element },
            Self::Put { element } => Self::Take { element },
            Self::Hold { element } => Self::Free { element },
            Self::Free { element } => Self::Hold { element },
            Self::Carry { element, by } => Self::Carry {
                element,
                // no volume carries as far as the least number: see Links::carries
                by: by.map(i16::saturating_neg),
            },
        }
    }

    /// The two elements that it is about; twice the same if it is about one.
    #[must_use]
    pub const fn ends(self) -> [u32; 2] {
        match self {
            Self::Cut { element, other, .. } | Self::Join { element, other, .. } => {
                [element, other]
            }
            Self::Take { element }
            | Self::Put { element }
            | Self::Hold { element }
            | Self::Free { element }
            | Self::Carry { element, .. } => [element, element],
        }
    }

    /// Makes it, if it can be made just now; whether it was.
    fn make(self, links: &mut impl Links, walk: &mut Walk) -> bool {
        match self {
            Self::Cut { element, to, other } => {
                links.neighbour(element, to) == Some(other) && links.cut(element, to)
            }
            Self::Join { element, to, other } => links.join(element, to, other).is_ok(),
            Self::Take { element } => {
                let linked = |to: &Direction| links.neighbour(element, *to).is_some();
                !links.pinned(element) && !Direction::ALL.iter().any(linked) && links.carve(element)
            }
            Self::Put { element } => links.revive(element),
            Self::Hold { element } => links.pin(element, true),
            Self::Free { element } => links.pin(element, false),
            Self::Carry { element, by } => {
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

    /// What it adds to the hash.
    fn weight(self) -> u64 {
        match self {
            Self::Join { element, to, other } => link_weight(element, to, other),
            Self::Put { element } => mixed(1, element, 0),
            Self::Hold { element } => mixed(2, element, 0),
            Self::Carry { .. } => 0,
            Self::Cut { .. } | Self::Take { .. } | Self::Free { .. } => {
                self.inverse().weight().wrapping_neg()
            }
        }
    }
}

/// Integers of a log without changes.
const LOG: usize = 4;

impl Change {
    /// As two integers of a snapshot, with the number of its stroke.
    fn packed(self, stroke: u32) -> [u64; 2] {
        let (kind, to, other, along) = match self {
            Self::Cut { to, other, .. } => (0, to.index(), other, 0),
            Self::Join { to, other, .. } => (1, to.index(), other, 0),
            Self::Take { .. } => (2, 0, 0, 0),
            Self::Put { .. } => (3, 0, 0, 0),
            Self::Hold { .. } => (4, 0, 0, 0),
            Self::Free { .. } => (5, 0, 0, 0),
            Self::Carry { by: [x, y, z], .. } => {
                let [x, y, z] = [x, y, z].map(|steps| u32::from(steps as u16));
                (6, 0, y << 16 | z, x)
            }
        };
        let [element, _] = self.ends();
        let low = u64::from(along) << 16 | kind << 8 | to as u64;
        let pair = |high: u32, low: u64| u64::from(high) << 32 | low;
        [pair(stroke, low), pair(element, other.into())]
    }

    /// See [`Change::packed`].
    fn unpacked([first, second]: [u64; 2]) -> (u32, Self) {
        // every number is where it was put
        let (stroke, element, other) = ((first >> 32) as u32, (second >> 32) as u32, second as u32);
        let [to, kind, x0, x1, ..] = first.to_le_bytes();
        let to = Direction::ALL[usize::from(to) % 6];
        let by = [
            i16::from_le_bytes([x0, x1]),
            (other >> 16) as i16,
            other as i16,
        ];
        let change = match kind {
            0 => Self::Cut { element, to, other },
            1 => Self::Join { element, to, other },
            2 => Self::Take { element },
            3 => Self::Put { element },
            4 => Self::Hold { element },
            5 => Self::Free { element },
            _ => Self::Carry { element, by },
        };
        (stroke, change)
    }
}

/// A link's part of the hash, the same from both ends.
fn link_weight(element: u32, to: Direction, other: u32) -> u64 {
    let (low, high) = if to.is_up() {
        (element, other)
    } else {
        (other, element)
    };
    // up to 2: fits
    mixed(3 + to.axis() as u64, low, high)
}

/// A number that looks random and is not: splitmix64 (Steele, Lea and Flood 2014) of what goes in.
fn mixed(kind: u64, a: u32, b: u32) -> u64 {
    let mut z = (u64::from(a) << 32 | u64::from(b)) ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

/// One number for which elements are there, linked and held: the same however that came about, and, but for
/// one chance in 2^64, no other.
#[must_use]
pub fn topology(links: &impl Links) -> u64 {
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
    pub fn new(links: &impl Links, changes: usize) -> Self {
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
    pub(super) fn retrace(&mut self, links: &mut impl Links, change: Change, back: bool) -> bool {
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
    pub fn make(&mut self, links: &mut impl Links, change: Change) -> bool {
        let made = self.apply(links, change);
        if made {
            self.note(change);
        }
        made
    }

    fn apply(&mut self, links: &mut impl Links, change: Change) -> bool {
        let made = change.make(links, &mut self.walk);
        if made {
            self.hash = self.hash.wrapping_add(change.weight());
        }
        made
    }

    /// Frees an element, cuts its links and takes it out, if it is there; tells every change.
    pub fn carve<L: Links>(
        &mut self,
        links: &mut L,
        element: u32,
        mut told: impl FnMut(&mut L, Change),
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
    pub fn undo<L: Links>(&mut self, links: &mut L, mut told: impl FnMut(&mut L, Change)) -> usize {
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
    pub fn redo<L: Links>(&mut self, links: &mut L, mut told: impl FnMut(&mut L, Change)) -> usize {
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
