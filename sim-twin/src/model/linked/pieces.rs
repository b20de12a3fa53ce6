//! Which elements hang together: a piece that is cut off becomes an object of its own.
//!
//! Source: seed-001 section 3.5 (bidirectional search), rows CL-01 and LV-06. After a stroke of cuts, fronts set
//! out from all ends of cut links, one element each in turn; fronts that meet become one, and when only
//! one of an object is left, what the others went through are its pieces. So all but the largest are walked through, the
//! largest only as far, and a cut that parts nothing costs the way round its edge.
//!
//! Links never cross objects: a join of two has the smaller one take the other's number.

use crate::law::Real;
use crate::model::linked::direction::Direction;
use crate::model::linked::edits::Change;
use crate::model::linked::elements::Elements;
use crate::model::linked::links::{Links, NONE};
use crate::model::linked::walk::Walk;

/// Elements in a chain, each naming the next in [`Fronts::next`].
#[derive(Debug, Clone, Copy)]
struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
    };

    const fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// A search that has set out from somewhere.
#[derive(Debug, Clone, Copy)]
struct Front {
    /// The front that this one has become part of; itself if none.
    part_of: u32,
    /// Found and gone through.
    done: Chain,
    /// Found, to be gone through.
    due: Chain,
    /// Elements of both.
    count: u32,
}

/// Searches that go on in turn; room is made once.
#[derive(Debug, Clone)]
struct Fronts {
    fronts: Vec<Front>,
    /// Fronts that still have somewhere to go.
    open: Vec<u32>,
    /// The front that found a slot.
    of: Vec<u32>,
    next: Vec<u32>,
    /// Links that were followed: the cost.
    looked: u64,
}

impl Fronts {
    fn new(slots: usize) -> Self {
        Self {
            fronts: Vec::with_capacity(slots),
            open: Vec::with_capacity(slots),
            of: vec![NONE; slots],
            next: vec![NONE; slots],
            looked: 0,
        }
    }

    fn append(&mut self, chain: Chain, more: Chain) -> Chain {
        if chain.is_empty() {
            return more;
        }
        if more.is_empty() {
            return chain;
        }
        self.next[chain.tail as usize] = more.head;
        Chain {
            head: chain.head,
            tail: more.tail,
        }
    }

    /// A front from an element that none has found.
    fn begin(&mut self, element: u32) {
        // no more fronts than slots
        let front = u32::try_from(self.fronts.len()).unwrap_or(NONE);
        self.of[element as usize] = front;
        self.next[element as usize] = NONE;
        let due = Chain {
            head: element,
            tail: element,
        };
        self.fronts.push(Front {
            part_of: front,
            done: Chain::EMPTY,
            due,
            count: 1,
        });
        self.open.push(front);
    }

    fn root(&mut self, mut front: u32) -> u32 {
        while self.fronts[front as usize].part_of != front {
            let above = self.fronts[front as usize].part_of;
            self.fronts[front as usize].part_of = self.fronts[above as usize].part_of;
            front = above;
        }
        front
    }

    /// Goes on in turn until at most one front has somewhere to go.
    fn run<R: Real>(&mut self, elements: &Elements<R>) {
        while self.open.len() > 1 {
            let mut kept = 0;
            for nth in 0..self.open.len() {
                let front = self.open[nth];
                if self.fronts[front as usize].part_of != front {
                    continue;
                }
                let root = self.advance(elements, front);
                // one that joined an older front goes on as that
                if root == front && !self.fronts[front as usize].due.is_empty() {
                    self.open[kept] = front;
                    kept += 1;
                }
            }
            self.open.truncate(kept);
            let fronts = &self.fronts;
            self.open.retain(|&front| {
                let front_is = &fronts[front as usize];
                front_is.part_of == front && !front_is.due.is_empty()
            });
        }
    }

    /// Goes through one element of a front; the front that this is part of after.
    fn advance<R: Real>(&mut self, elements: &Elements<R>, front: u32) -> u32 {
        let mut root = front;
        let Front { due, done, .. } = self.fronts[front as usize];
        let element = due.head;
        if element == NONE {
            return root;
        }
        let rest = self.next[element as usize];
        self.next[element as usize] = NONE;
        let own = Chain {
            head: element,
            tail: element,
        };
        let done = self.append(done, own);
        self.fronts[front as usize].done = done;
        self.fronts[front as usize].due = Chain {
            head: rest,
            tail: if rest == NONE { NONE } else { due.tail },
        };
        let object = elements.object(element);
        for to in Direction::ALL {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            self.looked += 1;
            if elements.object(other) != object {
                continue;
            }
            if self.of[other as usize] == NONE {
                self.of[other as usize] = root;
                self.next[other as usize] = NONE;
                let more = Chain {
                    head: other,
                    tail: other,
                };
                let due = self.append(self.fronts[root as usize].due, more);
                self.fronts[root as usize].due = due;
                self.fronts[root as usize].count += 1;
            } else {
                let met = self.root(self.of[other as usize]);
                if met != root {
                    root = self.merge(root, met);
                }
            }
        }
        root
    }

    /// Makes two fronts one: the one that set out first.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        let (into, from) = (a.min(b), a.max(b));
        let gone = self.fronts[from as usize];
        let kept = self.fronts[into as usize];
        let done = self.append(kept.done, gone.done);
        let due = self.append(kept.due, gone.due);
        self.fronts[into as usize] = Front {
            part_of: into,
            done,
            due,
            count: kept.count + gone.count,
        };
        self.fronts[from as usize].part_of = into;
        into
    }

    /// Gives the elements that a front went through to an object.
    fn give<R: Real>(&self, elements: &mut Elements<R>, front: u32, object: u32) {
        let mut at = self.fronts[front as usize].done.head;
        while at != NONE {
            elements.set_object(at, object);
            at = self.next[at as usize];
        }
    }

    /// Forgets all fronts.
    fn clear(&mut self) {
        for front in 0..self.fronts.len() {
            let Front {
                part_of, done, due, ..
            } = self.fronts[front];
            if part_of as usize != front {
                continue;
            }
            for chain in [done, due] {
                let mut at = chain.head;
                while at != NONE {
                    self.of[at as usize] = NONE;
                    at = self.next[at as usize];
                }
            }
        }
        self.fronts.clear();
        self.open.clear();
    }
}

/// The pieces of a volume: every one an object with a number of its own.
#[derive(Debug, Clone)]
pub struct Pieces {
    /// Numbers and their elements' count, numbers growing.
    live: Vec<(u32, u32)>,
    next: u32,
    /// Ends of cut links since the last [`Pieces::settle`].
    ends: Vec<u32>,
    is_end: Vec<bool>,
    fronts: Fronts,
}

impl Pieces {
    /// The pieces of a volume. Parts of an object that are not linked get numbers of their own.
    #[must_use]
    pub fn new<R: Real>(elements: &mut Elements<R>) -> Self {
        let slots = elements.slots();
        let mut pieces = Self {
            live: Vec::with_capacity(slots as usize + 1),
            next: 0,
            ends: Vec::with_capacity(slots as usize),
            is_end: vec![false; slots as usize],
            fronts: Fronts::new(slots as usize),
        };
        pieces.count(elements);
        pieces
    }

    /// Finds all pieces anew, as after a thaw: the whole volume is walked through.
    pub fn count<R: Real>(&mut self, elements: &mut Elements<R>) {
        let slots = elements.slots();
        let alive = |e: &u32| elements.alive(*e);
        let highest = (0..slots).filter(alive).map(|e| elements.object(e)).max();
        self.next = self.next.max(highest.map_or(0, |id| id.saturating_add(1)));
        self.live.clear();
        self.ends.clear();
        self.is_end.fill(false);
        let mut walk = Walk::new(slots);
        let mut seen = vec![false; slots as usize];
        for element in 0..slots {
            if seen[element as usize] || !elements.alive(element) {
                continue;
            }
            let piece = walk.piece(elements, element);
            let own = elements.object(element);
            let object = if self.live.iter().any(|&(id, _)| id == own) {
                let new = self.next;
                self.next += 1;
                new
            } else {
                own
            };
            for &member in piece {
                seen[member as usize] = true;
                elements.set_object(member, object);
            }
            self.live.push((object, size(piece)));
        }
        self.live.sort_unstable();
    }

    /// The number that the next new piece gets.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Counts the elements of all objects anew, where every object is known to be one piece, as after a thaw.
    pub(super) fn recount<R: Real>(&mut self, elements: &Elements<R>, next: u32) {
        self.next = next;
        self.is_end.fill(false);
        self.live.clear();
        self.ends.clear();
        let alive = (0..elements.slots()).filter(|&e| elements.alive(e));
        self.ends.extend(alive.map(|e| elements.object(e)));
        self.ends.sort_unstable();
        for same in self.ends.chunk_by(|a, b| a == b) {
            self.live.push((same[0], size(same)));
        }
        self.ends.clear();
    }

    /// Objects and the number of their elements, in the order of their numbers.
    #[must_use]
    pub fn live(&self) -> &[(u32, u32)] {
        &self.live
    }

    /// Number of elements of an object.
    #[must_use]
    pub fn size(&self, object: u32) -> u32 {
        let found = self.live.binary_search_by_key(&object, |&(id, _)| id);
        found.map_or(0, |at| self.live[at].1)
    }

    /// Links that were followed so far.
    #[must_use]
    pub const fn looked(&self) -> u64 {
        self.fronts.looked
    }

    /// Notes a change that was made; cuts part nothing before [`Pieces::settle`].
    pub fn note<R: Real>(&mut self, elements: &mut Elements<R>, change: Change) {
        match change {
            Change::Cut { element, other, .. } => {
                for end in [element, other] {
                    if !self.is_end[end as usize] {
                        self.is_end[end as usize] = true;
                        self.ends.push(end);
                    }
                }
            }
            Change::Join { element, other, .. } => self.merge(elements, [element, other]),
            Change::Take { element } => self.add(elements.object(element), -1),
            Change::Put { element } => {
                let object = self.number();
                elements.set_object(element, object);
                self.add(object, 1);
            }
            Change::Hold { .. } | Change::Free { .. } | Change::Carry { .. } => {}
        }
    }

    /// Finds what the cuts since the last time have parted; how many new pieces there are.
    pub fn settle<R: Real>(&mut self, elements: &mut Elements<R>) -> usize {
        let mut ends = std::mem::take(&mut self.ends);
        for &end in &ends {
            self.is_end[end as usize] = false;
        }
        ends.retain(|&end| elements.alive(end));
        ends.sort_unstable_by_key(|&end| (elements.object(end), end));
        let mut parted = 0;
        let mut rest = ends.as_slice();
        while let Some(&first) = rest.first() {
            // what is parted gets a new number, which is none of a later group
            let object = elements.object(first);
            let same = rest.partition_point(|&end| elements.object(end) <= object);
            let (group, later) = rest.split_at(same);
            parted += self.part(elements, group);
            rest = later;
        }
        ends.clear();
        self.ends = ends;
        parted
    }

    /// Numbers the pieces that ends of cut links of one object belong to.
    fn part<R: Real>(&mut self, elements: &mut Elements<R>, ends: &[u32]) -> usize {
        for &end in ends {
            self.fronts.begin(end);
        }
        self.fronts.run(elements);
        let roots = || (0_u32..).zip(&self.fronts.fronts);
        let roots = || roots().filter(|(at, front)| front.part_of == *at);
        let keeper = match self.fronts.open.first() {
            Some(&open) => Some(open),
            // of equal ones the first
            None => roots()
                .max_by_key(|(at, front)| (front.count, std::cmp::Reverse(*at)))
                .map(|(at, _)| at),
        };
        let mut parted = 0;
        for index in 0..self.fronts.fronts.len() {
            // no more fronts than slots
            let at = u32::try_from(index).unwrap_or(NONE);
            let front = self.fronts.fronts[index];
            if front.part_of != at || Some(at) == keeper {
                continue;
            }
            let own = elements.object(front.done.head);
            let object = self.number();
            self.fronts.give(elements, at, object);
            self.add(own, -i64::from(front.count));
            self.add(object, front.count.into());
            parted += 1;
        }
        self.fronts.clear();
        parted
    }

    /// Makes the objects of two linked elements one.
    fn merge<R: Real>(&mut self, elements: &mut Elements<R>, ends: [u32; 2]) {
        let objects = ends.map(|end| elements.object(end));
        if objects[0] == objects[1] {
            return;
        }
        for end in ends {
            self.fronts.begin(end);
        }
        self.fronts.run(elements);
        // fronts stay in their objects; who is at its end first is no larger
        let still = self.fronts.open.first().copied();
        let small = if still == Some(0) { 1 } else { 0 };
        let count = self.fronts.fronts[small].count;
        // 0 or 1
        let front = u32::from(small == 1);
        self.fronts.give(elements, front, objects[1 - small]);
        self.fronts.clear();
        self.add(objects[small], -i64::from(count));
        self.add(objects[1 - small], count.into());
    }

    /// A number that no object has had.
    const fn number(&mut self) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        number
    }

    fn add(&mut self, object: u32, count: i64) {
        let found = self.live.binary_search_by_key(&object, |&(id, _)| id);
        let had = found.map_or(0, |at| i64::from(self.live[at].1));
        let has = u32::try_from(had + count).unwrap_or(0);
        match (found, has) {
            (Ok(at), 0) => drop(self.live.remove(at)),
            (Ok(at), _) => self.live[at].1 = has,
            (Err(_), 0) => {}
            (Err(at), _) => self.live.insert(at, (object, has)),
        }
    }
}

/// Number of elements of a piece.
fn size(piece: &[u32]) -> u32 {
    // no more than slots
    u32::try_from(piece.len()).unwrap_or(u32::MAX)
}
