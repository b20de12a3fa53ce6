//! The occupancy map: which elements are in which cell, kept as bodies move.
//!
//! Source: seed-001 section 3.2.1 (rows CD-01, CD-02, CD-05). The source keeps one element a cell; two that
//! share one then lose each other, and where penetration is allowed a body wipes out the cells of another. Here a
//! cell has a list, threaded through the elements themselves and ordered by their number: the map is a function of
//! where elements are and nothing else, so that there is nothing stale, and a move allocates nothing.

use std::ops::Range;

use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::heads::{Heads, Table};
use crate::voxel::links::NONE;
use palpate_twin::Vec3;

/// Cell of an element that is not in the map.
const OUT: u64 = u64::MAX;
/// Most cells of a dense map.
const DENSE_MAX: u64 = 1 << 30;

/// An element of a body, as the map knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Which body.
    pub body: u32,
    /// What its owner calls the element.
    pub element: u32,
}

/// Two elements in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Who was moved.
    pub mover: Who,
    /// Who was there.
    pub other: Who,
}

/// What a move may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Go there and list all hits.
    Detect,
    /// Do not go there if there is a hit, and list that one.
    Prevent,
    /// Neither if there is one on the straight way there; cells that an element leaves do not stop it.
    Sweep,
}

/// Why nothing moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such body.
    #[error("there is no body {0} in the map")]
    Unknown(u32),
    /// An element would leave the cells.
    #[error("element {0:?} would leave the space of the map")]
    OutOfSpace(Who),
    /// An element of another body is there.
    #[error("element {0:?} would meet another")]
    Met(Hit),
}

/// Work that was done since the count was taken last: cells looked at and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Cells that were looked at for hits.
    pub tested: u64,
    /// Elements that were taken out of a cell.
    pub cleared: u64,
    /// Elements that were put into a cell.
    pub written: u64,
}

/// Where bodies are.
#[derive(Debug, Clone)]
pub struct Occupancy {
    grid: Grid,
    heads: Heads,
    /// First entry of every body, and one more.
    starts: Vec<u32>,
    who: Vec<Who>,
    place_m: Vec<Vec3>,
    cell: Vec<u64>,
    next: Vec<u32>,
    /// Cells where a move would put the elements of its body.
    to_cell: Vec<u64>,
    work: Work,
}

impl Occupancy {
    /// An empty map with one place a cell; none if there are more than 2^30.
    #[must_use]
    pub fn dense(grid: Grid) -> Option<Self> {
        let count = Some(grid.count()).filter(|&count| count <= DENSE_MAX)?;
        let heads = vec![NONE; usize::try_from(count).ok()?];
        Some(Self::with(grid, Heads::Dense(heads)))
    }

    /// An empty map that takes memory by element.
    #[must_use]
    pub fn hashed(grid: Grid) -> Self {
        Self::with(grid, Heads::Hashed(Table::default()))
    }

    fn with(grid: Grid, heads: Heads) -> Self {
        Self {
            grid,
            heads,
            starts: vec![0],
            who: Vec::new(),
            place_m: Vec::new(),
            cell: Vec::new(),
            next: Vec::new(),
            to_cell: Vec::new(),
            work: Work::default(),
        }
    }

    /// Adds a body of elements and their places \[m\]; gives its number. It is not asked whether it hits others.
    ///
    /// # Errors
    /// [`Refused::OutOfSpace`] if an element is outside of the cells; nothing is added then.
    pub fn add(&mut self, elements: &[(u32, Vec3)]) -> Result<u32, Refused> {
        // as many as slots have numbers
        let body = u32::try_from(self.starts.len() - 1).unwrap_or(NONE);
        for &(element, at_m) in elements {
            if self.grid.index_at(&at_m).is_none() {
                return Err(Refused::OutOfSpace(Who { body, element }));
            }
        }
        for &(element, at_m) in elements {
            self.who.push(Who { body, element });
            self.place_m.push(at_m);
            self.cell.push(self.grid.index_at(&at_m).unwrap_or(OUT));
            self.next.push(NONE);
        }
        self.heads.reserve(self.who.len());
        self.to_cell.resize(self.who.len(), OUT);
        let end = u32::try_from(self.who.len()).unwrap_or(NONE);
        for entry in self.starts[body as usize]..end {
            self.put(entry);
        }
        self.starts.push(end);
        Ok(body)
    }

    /// The cells.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Cells that memory is taken for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.heads.room()
    }

    fn entries(&self, body: u32) -> Range<usize> {
        let at = |nth: usize| self.starts.get(nth).map_or(0, |&start| start as usize);
        let body = body as usize;
        at(body)..at(body + 1).max(at(body))
    }

    /// What a body's elements are called, in the order in which they were added.
    pub fn elements(&self, body: u32) -> impl Iterator<Item = u32> + '_ {
        self.who[self.entries(body)].iter().map(|who| who.element)
    }

    /// Where a body's elements are \[m\], in the order in which they were added.
    #[must_use]
    pub fn places_m(&self, body: u32) -> &[Vec3] {
        &self.place_m[self.entries(body)]
    }

    /// Work since the last call.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// Puts an entry into its cell's list, in its order.
    #[inline]
    fn put(&mut self, entry: u32) {
        let cell = self.cell[entry as usize];
        let head = self.heads.get(cell);
        self.work.written += 1;
        if head == NONE || head > entry {
            self.next[entry as usize] = head;
            self.heads.set(cell, entry);
            return;
        }
        let mut before = head;
        while self.next[before as usize] < entry {
            before = self.next[before as usize];
        }
        self.next[entry as usize] = self.next[before as usize];
        self.next[before as usize] = entry;
    }

    /// Takes an entry out of its cell's list: itself and no other.
    #[inline]
    fn take(&mut self, entry: u32) {
        let cell = self.cell[entry as usize];
        let head = self.heads.get(cell);
        self.work.cleared += 1;
        if head == entry {
            self.heads.set(cell, self.next[entry as usize]);
            return;
        }
        let mut before = head;
        while before != NONE {
            let next = self.next[before as usize];
            if next == entry {
                self.next[before as usize] = self.next[entry as usize];
                return;
            }
            before = next;
        }
    }

    /// Takes an element out of the map (carved), or puts it back where it was; whether that changed anything.
    pub fn set_there(&mut self, body: u32, nth: usize, there: bool) -> bool {
        let entries = self.entries(body);
        if nth >= entries.len() {
            return false;
        }
        let slot = entries.start + nth;
        let entry = u32::try_from(slot).unwrap_or(NONE);
        if there == (self.cell[slot] != OUT) {
            return false;
        }
        if there {
            self.cell[slot] = self.grid.index_at(&self.place_m[slot]).unwrap_or(OUT);
            self.put(entry);
        } else {
            self.take(entry);
            self.cell[slot] = OUT;
        }
        true
    }

    /// Who is in a cell, in the order of the bodies and of their elements.
    pub fn in_cell(&self, cell: [i32; 3]) -> impl Iterator<Item = (Who, Vec3)> + '_ {
        let head = self
            .grid
            .index(cell)
            .map_or(NONE, |index| self.heads.get(index));
        let follow = |&entry: &u32| Some(self.next[entry as usize]).filter(|&next| next != NONE);
        let chain = std::iter::successors(Some(head).filter(|&head| head != NONE), follow);
        chain.map(|entry| (self.who[entry as usize], self.place_m[entry as usize]))
    }

    /// Everything in the map, by cell: to be compared with that of a map made anew.
    #[must_use]
    pub fn contents(&self) -> Vec<(u64, Vec<Who>)> {
        let mut contents = Vec::new();
        for (cell, mut entry) in self.heads.used() {
            let mut list = Vec::new();
            while entry != NONE {
                list.push(self.who[entry as usize]);
                entry = self.next[entry as usize];
            }
            contents.push((cell, list));
        }
        contents
    }

    /// Moves a body in three phases: looks at all new cells, clears its own old ones, then takes the new ones.
    ///
    /// `to_m` gives the new place \[m\] of an element from its number in the body and its place, the same whenever it
    /// is asked. `hit` is told of hits; of a refused move only of the one that refused it.
    ///
    /// # Errors
    /// [`Refused`]; nothing has moved then, not a bit of a place.
    pub fn try_move(
        &mut self,
        body: u32,
        rule: Rule,
        to_m: impl Fn(usize, &Vec3) -> Vec3,
        mut hit: impl FnMut(Hit),
    ) -> Result<(), Refused> {
        let entries = self.entries(body);
        if body as usize + 1 >= self.starts.len() {
            return Err(Refused::Unknown(body));
        }
        for (nth, slot) in entries.clone().enumerate() {
            let there_m = to_m(nth, &self.place_m[slot]);
            let Some(cell) = self.grid.index_at(&there_m) else {
                return Err(Refused::OutOfSpace(self.who[slot]));
            };
            self.to_cell[slot] = cell;
            if self.cell[slot] == OUT {
                continue;
            }
            let mover = (slot, &entries);
            let met = match rule {
                Rule::Sweep => self.meet_on_way(mover, &there_m),
                Rule::Prevent => self.meet(mover, cell, |_| true),
                Rule::Detect => self.meet(mover, cell, |met| {
                    hit(met);
                    false
                }),
            };
            if let Some(met) = met {
                hit(met);
                return Err(Refused::Met(met));
            }
        }
        self.settle(entries, to_m);
        Ok(())
    }

    /// Phases two and three.
    fn settle(&mut self, entries: Range<usize>, to_m: impl Fn(usize, &Vec3) -> Vec3) {
        let numbers = |slot| u32::try_from(slot).unwrap_or(NONE);
        for slot in entries.clone() {
            if self.cell[slot] != OUT && self.cell[slot] != self.to_cell[slot] {
                self.take(numbers(slot));
            }
        }
        for (nth, slot) in entries.enumerate() {
            self.place_m[slot] = to_m(nth, &self.place_m[slot]);
            if self.cell[slot] != OUT && self.cell[slot] != self.to_cell[slot] {
                self.cell[slot] = self.to_cell[slot];
                self.put(numbers(slot));
            }
        }
    }

    /// The first hit of an element, one of these entries of its body, in a cell for which `enough` says so.
    #[inline]
    fn meet(
        &mut self,
        (slot, own): (usize, &Range<usize>),
        cell: u64,
        mut enough: impl FnMut(Hit) -> bool,
    ) -> Option<Hit> {
        self.work.tested += 1;
        let mut entry = self.heads.get(cell);
        while entry != NONE {
            // a number tells whose it is: who it is need not be read
            if !own.contains(&(entry as usize)) {
                let hit = Hit {
                    mover: self.who[slot],
                    other: self.who[entry as usize],
                };
                if enough(hit) {
                    return Some(hit);
                }
            }
            entry = self.next[entry as usize];
        }
        None
    }

    /// Whether an element stays in its cell or goes to one that shares a face with it: then there is no other
    /// between. Most steps of a sweep are so, and this is much quicker than to follow them.
    #[inline]
    fn beside(&self, slot: usize, to_m: &Vec3) -> bool {
        let [x, y, z] = self.grid.size();
        let ahead = self.cell[slot].abs_diff(self.to_cell[slot]);
        // in a space that is wider than these, with steps as short as these, one number is one axis
        let roomy = x.min(y).min(z) >= 8;
        let short = (to_m - self.place_m[slot]).amax() <= self.grid.pitch_m();
        let row = u64::from(x);
        ahead == 0 || (roomy && short && [1, row, row * u64::from(y)].contains(&ahead))
    }

    /// The first hit of an element on the straight way to its new place.
    #[inline]
    fn meet_on_way(&mut self, mover: (usize, &Range<usize>), to_m: &Vec3) -> Option<Hit> {
        let slot = mover.0;
        let (grid, from_m) = (self.grid, self.place_m[slot]);
        let cell = self.to_cell[slot];
        if self.beside(slot, to_m) {
            return self.meet(mover, cell, |_| true);
        }
        let mut met = None;
        grid.pass(&from_m, to_m, |cell| {
            met = grid
                .index(cell)
                .and_then(|index| self.meet(mover, index, |_| true));
            met.is_some()
        });
        met
    }

    /// Elements of one body in one cell that are farther apart than `near` sites on the lattice at rest: the body
    /// meets itself (row CD-05). `near` is 1, or 2 if a cell is larger than the least spacing.
    pub fn meet_self(
        &mut self,
        body: u32,
        near: i32,
        site: impl Fn(u32) -> [i32; 3],
        mut hit: impl FnMut(Hit),
    ) {
        for slot in self.entries(body) {
            if self.cell[slot] == OUT {
                continue;
            }
            self.work.tested += 1;
            let mover = self.who[slot];
            let own = site(mover.element);
            // those before it have met it already
            let mut entry = self.next[slot];
            while entry != NONE {
                let other = self.who[entry as usize];
                let theirs = site(other.element);
                let apart = (0..3).map(|axis| (own[axis] - theirs[axis]).abs()).max();
                if other.body == body && apart > Some(near) {
                    hit(Hit { mover, other });
                }
                entry = self.next[entry as usize];
            }
        }
    }
}
