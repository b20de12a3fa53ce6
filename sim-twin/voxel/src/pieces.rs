//! Which elements hang together: a piece that is cut off becomes an object of its own.
//!
//! Source: seed-001 section 3.5 (bidirectional search), rows CL-01 and LV-06. After a stroke of cuts, fronts set
//! out from all ends of cut links, a strand of elements each in turn; fronts that meet become one, and when only
//! one of an object is left, what the others went through are its pieces. The largest piece keeps the object's number,
//! of equal ones that of the lowest end; it is walked through only as far as shows that it is the largest, and a cut that
//! parts nothing costs the way round its edge.
//!
//! Links never cross objects: a join of two has the smaller one take the other's number, of equal ones the first.

use crate::elements::{Elements, NONE};
use crate::strands::Strands;
use crate::walk::Walk;
use palpate_twin::edits::Change;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// Strands in a chain, each naming the next in [`Seen::next`].
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
    /// Elements of the strands of both.
    count: u32,
}

/// A strand in a search.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The front that found it.
    by: u32,
    /// The strand after it in its chain.
    next: u32,
}

/// One that was not found.
const UNSEEN: Seen = Seen {
    by: NONE,
    next: NONE,
};

/// Searches that go on in turn; room is made once.
#[derive(Debug, Clone)]
struct Fronts {
    fronts: Vec<Front>,
    /// Fronts that still have somewhere to go.
    open: Vec<u32>,
    /// What is known of strands, by their first element.
    seen: Vec<Seen>,
}

impl Fronts {
    fn new(slots: usize) -> Self {
        Self {
            fronts: Vec::with_capacity(slots),
            open: Vec::with_capacity(slots),
            seen: vec![UNSEEN; slots],
        }
    }

    fn append(&mut self, chain: Chain, more: Chain) -> Chain {
        if chain.is_empty() {
            return more;
        }
        if more.is_empty() {
            return chain;
        }
        self.seen[chain.tail as usize].next = more.head;
        Chain {
            head: chain.head,
            tail: more.tail,
        }
    }

    /// A front from the strand of an element, unless one has set out from there.
    fn begin(&mut self, strands: &Strands, element: u32) {
        let strand = strands.of(element);
        if self.seen[strand as usize].by != NONE {
            return;
        }
        // no more fronts than slots
        let front = u32::try_from(self.fronts.len()).unwrap_or(NONE);
        self.seen[strand as usize].by = front;
        let due = Chain {
            head: strand,
            tail: strand,
        };
        self.fronts.push(Front {
            part_of: front,
            done: Chain::EMPTY,
            due,
            count: strands.length(strand),
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

    /// Goes on in turn until it is known which one is the largest; that one.
    fn run<R: Real>(&mut self, elements: &Elements<R>, strands: &mut Strands) -> Option<u32> {
        while self.open.len() > 1 {
            let mut kept = 0;
            for nth in 0..self.open.len() {
                let front = self.open[nth];
                if self.fronts[front as usize].part_of != front {
                    continue;
                }
                let root = self.advance(elements, strands, front);
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
        let Some(&last) = self.open.first() else {
            return self.largest();
        };
        // it may have found less so far than one that is at its end
        let others = self.roots().filter(|&(at, _)| at != last);
        let most = others.map(|(_, front)| front.count).max().unwrap_or(0);
        loop {
            let front = &self.fronts[last as usize];
            if front.count > most || front.due.is_empty() {
                return self.largest();
            }
            self.advance(elements, strands, last);
        }
    }

    /// Fronts that are part of no other.
    fn roots(&self) -> impl Iterator<Item = (u32, &Front)> {
        (0..)
            .zip(&self.fronts)
            .filter(|(at, front)| front.part_of == *at)
    }

    /// The front that found most; of equal ones that which set out first.
    fn largest(&self) -> Option<u32> {
        let most = self
            .roots()
            .max_by_key(|(at, front)| (front.count, std::cmp::Reverse(*at)));
        most.map(|(at, _)| at)
    }

    /// Goes through one strand of a front; the front that this is part of after.
    fn advance<R: Real>(
        &mut self,
        elements: &Elements<R>,
        strands: &mut Strands,
        front: u32,
    ) -> u32 {
        let Front { due, done, .. } = self.fronts[front as usize];
        let strand = due.head;
        if strand == NONE {
            return front;
        }
        let rest = self.seen[strand as usize].next;
        self.seen[strand as usize].next = NONE;
        let own = Chain {
            head: strand,
            tail: strand,
        };
        let done = self.append(done, own);
        self.fronts[front as usize].done = done;
        self.fronts[front as usize].due = Chain {
            head: rest,
            tail: if rest == NONE { NONE } else { due.tail },
        };
        let mut root = front;
        strands.beside(elements, strand, |other, length| {
            root = self.meet(root, other, length);
        });
        root
    }

    /// A front finds a strand of so many elements; the front that this is part of after.
    fn meet(&mut self, root: u32, strand: u32, length: u32) -> u32 {
        if self.seen[strand as usize].by != NONE {
            let met = self.root(self.seen[strand as usize].by);
            return if met == root {
                root
            } else {
                self.merge(root, met)
            };
        }
        self.seen[strand as usize].by = root;
        let more = Chain {
            head: strand,
            tail: strand,
        };
        let due = self.append(self.fronts[root as usize].due, more);
        self.fronts[root as usize].due = due;
        self.fronts[root as usize].count += length;
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
    fn give<R: Real>(
        &self,
        elements: &mut Elements<R>,
        strands: &Strands,
        front: u32,
        object: u32,
    ) {
        let mut at = self.fronts[front as usize].done.head;
        while at != NONE {
            strands.give(elements, at, object);
            at = self.seen[at as usize].next;
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
                    at = std::mem::replace(&mut self.seen[at as usize], UNSEEN).next;
                }
            }
        }
        self.fronts.clear();
        self.open.clear();
    }
}

/// The pieces of a volume: every one an object with a number of its own.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    /// Numbers and their elements' count, numbers growing.
    pub(super) live: Vec<(u32, u32)>,
    next: u32,
    /// Ends of cut links since the last [`Pieces::settle`].
    ends: Vec<u32>,
    is_end: Vec<bool>,
    pub(super) strands: Strands,
    fronts: Fronts,
}

impl Pieces {
    /// The pieces of a volume. Parts of an object that are not linked get numbers of their own.
    pub(super) fn new<R: Real>(elements: &mut Elements<R>) -> Self {
        let slots = elements.slots();
        let mut pieces = Self {
            live: Vec::with_capacity(slots as usize + 1),
            next: 0,
            ends: Vec::with_capacity(slots as usize),
            is_end: vec![false; slots as usize],
            strands: Strands::new(elements),
            fronts: Fronts::new(slots as usize),
        };
        pieces.count(elements);
        pieces
    }

    /// Finds all pieces anew: the whole volume is walked through.
    fn count<R: Real>(&mut self, elements: &mut Elements<R>) {
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
        self.strands.lay(elements);
    }

    /// The number that the next new piece gets.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Counts the elements of all objects anew, where every object is known to be one piece, as after a thaw, in which
    /// links may have changed.
    pub(super) fn recount<R: Real>(&mut self, elements: &Elements<R>, next: u32, changed: bool) {
        self.next = next;
        if changed {
            self.strands.lay(elements);
        }
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

    /// Number of elements of an object.
    pub(super) fn size(&self, object: u32) -> u32 {
        let found = self.live.binary_search_by_key(&object, |&(id, _)| id);
        found.map_or(0, |at| self.live[at].1)
    }

    /// Notes a change that was made; cuts part nothing before [`Pieces::settle`].
    pub(super) fn note<R: Real>(&mut self, elements: &mut Elements<R>, change: Change) {
        match change {
            Change::Cut { element, to, other } => {
                self.strands.note_link(element, to, other);
                for end in [element, other] {
                    if !self.is_end[end as usize] {
                        self.is_end[end as usize] = true;
                        self.ends.push(end);
                    }
                }
            }
            Change::Join { element, to, other } => {
                self.merge(elements, [element, other]);
                self.strands.note_link(element, to, other);
            }
            Change::Take { element } => {
                self.strands.note(element);
                self.add(elements.object(element), -1);
            }
            Change::Put { element } => {
                self.strands.note(element);
                let object = self.number();
                elements.set_object(element, object);
                self.add(object, 1);
            }
            Change::Hold { .. } | Change::Free { .. } | Change::Carry { .. } => {}
        }
    }

    /// Finds what the cuts since the last time have parted; how many new pieces there are.
    pub(super) fn settle<R: Real>(&mut self, elements: &mut Elements<R>) -> usize {
        let mut ends = std::mem::take(&mut self.ends);
        for &end in &ends {
            self.is_end[end as usize] = false;
        }
        self.strands.refresh(elements);
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
            self.fronts.begin(&self.strands, end);
        }
        let keeper = self.fronts.run(elements, &mut self.strands);
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
            self.fronts.give(elements, &self.strands, at, object);
            self.add(own, -i64::from(front.count));
            self.add(object, front.count.into());
            parted += 1;
        }
        self.fronts.clear();
        parted
    }

    /// Makes the objects of two elements one that were linked just now.
    fn merge<R: Real>(&mut self, elements: &mut Elements<R>, ends: [u32; 2]) {
        let objects = ends.map(|end| elements.object(end));
        if objects[0] == objects[1] {
            return;
        }
        // one that was put back has no link but this
        let links = |end: &u32| {
            let linked = |to: &&Direction| elements.neighbour(*end, **to).is_some();
            Direction::ALL.iter().filter(linked).count()
        };
        let (small, count) = if let Some(alone) = ends.iter().position(|end| links(end) == 1) {
            elements.set_object(ends[alone], objects[1 - alone]);
            self.strands.note(ends[alone]);
            (alone, 1)
        } else {
            self.join(elements, ends, objects)
        };
        self.add(objects[small], -i64::from(count));
        self.add(objects[1 - small], count.into());
    }

    /// Gives the smaller one of two objects, of equal ones the first, to the other; which one, and its elements.
    fn join<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        ends: [u32; 2],
        objects: [u32; 2],
    ) -> (usize, u32) {
        self.strands.refresh(elements);
        // the larger first: of equal ones the front that set out first counts as that
        for end in [ends[1], ends[0]] {
            self.fronts.begin(&self.strands, end);
        }
        let large = self.fronts.run(elements, &mut self.strands);
        // strands stay in their objects, and so do fronts
        let small = usize::from(large != Some(0));
        let front = u32::from(small == 0);
        let count = self.fronts.fronts[front as usize].count;
        self.fronts
            .give(elements, &self.strands, front, objects[1 - small]);
        self.fronts.clear();
        (small, count)
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
