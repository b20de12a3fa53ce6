//! Occupancy map: nodes by cell, updated as bodies move.
//!
//! Source: seed-001 section 3.2.1 (rows CD-01, CD-02, CD-05). The source stores one node per cell. Two nodes in one
//! cell then overwrite each other, and a body that penetrates another erases its cells. Here a cell has a list,
//! linked through the nodes and sorted by number. So the map depends only on the present positions, nothing is stale,
//! and a move allocates nothing.

use std::ops::Range;

use crate::voxel::collide::cell_heads::{CellHeads, HashTable};
use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::storage::NONE;
use palpate_twin::Vec3;

/// Marks a node that is not in the map.
const OUT: u64 = u64::MAX;
/// Greatest number of cells of a dense map.
const DENSE_MAX: u64 = 1 << 30;

/// A node of a body in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapNode {
    /// Number of the body.
    pub body: u32,
    /// The caller's id of the node.
    pub node: u32,
}

/// Two nodes in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellHit {
    /// Node that moved.
    pub mover: MapNode,
    /// Node that was there.
    pub other: MapNode,
}

/// Behaviour of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapMoveRule {
    /// Moves and lists all hits.
    Detect,
    /// Does not move if there is a hit, and lists that one.
    Prevent,
    /// As `Prevent`, also for hits on the straight path; cells that a node leaves do not stop it.
    Sweep,
}

/// Error of a move; nothing has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MapMoveError {
    /// The body does not exist.
    #[error("there is no body {0} in the map")]
    Unknown(u32),
    /// A node would leave the grid.
    #[error("node {0:?} would leave the space of the map")]
    OutOfSpace(MapNode),
    /// A node of another body is there.
    #[error("node {0:?} would meet another")]
    Hit(CellHit),
}

/// Work since the last reading: cells tested and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapWork {
    /// Cells that were tested for hits.
    pub tested: u64,
    /// Nodes that were removed from a cell.
    pub cleared: u64,
    /// Nodes that were added to a cell.
    pub written: u64,
}

/// Map of all bodies.
#[derive(Debug, Clone)]
pub struct OccupancyMap {
    grid: CollisionGrid,
    heads: CellHeads,
    /// First entry of every body, and the end of the last.
    starts: Vec<u32>,
    nodes: Vec<MapNode>,
    place_m: Vec<Vec3>,
    cell: Vec<u64>,
    next: Vec<u32>,
    /// New cells of the nodes of a moving body.
    to_cell: Vec<u64>,
    work: MapWork,
}

impl OccupancyMap {
    /// Returns an empty map with one entry per cell; none if there are more than 2^30.
    #[must_use]
    pub fn dense(grid: CollisionGrid) -> Option<Self> {
        let count = Some(grid.count()).filter(|&count| count <= DENSE_MAX)?;
        let heads = vec![NONE; usize::try_from(count).ok()?];
        Some(Self::with(grid, CellHeads::Dense(heads)))
    }

    /// Returns an empty map whose memory grows with the nodes.
    #[must_use]
    pub fn hashed(grid: CollisionGrid) -> Self {
        Self::with(grid, CellHeads::Hashed(HashTable::default()))
    }

    fn with(grid: CollisionGrid, heads: CellHeads) -> Self {
        Self {
            grid,
            heads,
            starts: vec![0],
            nodes: Vec::new(),
            place_m: Vec::new(),
            cell: Vec::new(),
            next: Vec::new(),
            to_cell: Vec::new(),
            work: MapWork::default(),
        }
    }

    /// Adds a body of nodes with their places \[m\] without a test for hits; returns its number.
    ///
    /// # Errors
    /// [`MapMoveError::OutOfSpace`] if a node is outside of the grid; nothing is added then.
    pub fn add(&mut self, nodes: &[(u32, Vec3)]) -> Result<u32, MapMoveError> {
        // at most one per slot
        let body = u32::try_from(self.starts.len() - 1).unwrap_or(NONE);
        for &(node, at_m) in nodes {
            if self.grid.index_at(&at_m).is_none() {
                return Err(MapMoveError::OutOfSpace(MapNode { body, node }));
            }
        }
        for &(node, at_m) in nodes {
            self.nodes.push(MapNode { body, node });
            self.place_m.push(at_m);
            self.cell.push(self.grid.index_at(&at_m).unwrap_or(OUT));
            self.next.push(NONE);
        }
        self.heads.reserve(self.nodes.len());
        self.to_cell.resize(self.nodes.len(), OUT);
        let end = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        for entry in self.starts[body as usize]..end {
            self.put(entry);
        }
        self.starts.push(end);
        Ok(body)
    }

    /// Returns the grid.
    #[must_use]
    pub const fn grid(&self) -> &CollisionGrid {
        &self.grid
    }

    /// Returns the number of cells with allocated memory.
    #[must_use]
    pub fn allocated_cells(&self) -> usize {
        self.heads.allocated_cells()
    }

    fn entries(&self, body: u32) -> Range<usize> {
        let at = |nth: usize| self.starts.get(nth).map_or(0, |&start| start as usize);
        let body = body as usize;
        at(body)..at(body + 1).max(at(body))
    }

    /// Iterates over the ids of a body's nodes, in the order in which they were added.
    pub fn body_nodes(&self, body: u32) -> impl Iterator<Item = u32> + '_ {
        self.nodes[self.entries(body)]
            .iter()
            .map(|map_node| map_node.node)
    }

    /// Returns the places of a body's nodes \[m\], in the order in which they were added.
    #[must_use]
    pub fn places_m(&self, body: u32) -> &[Vec3] {
        &self.place_m[self.entries(body)]
    }

    /// Returns the work since the last call.
    pub fn take_work(&mut self) -> MapWork {
        std::mem::take(&mut self.work)
    }

    /// Adds an entry to its cell's sorted list.
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

    /// Removes an entry from its cell's list.
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

    /// Removes a node (carved) or restores it at its place; returns true if that changed anything.
    pub fn set_present(&mut self, body: u32, nth: usize, there: bool) -> bool {
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

    /// Iterates over the nodes in a cell, sorted by body and node.
    pub fn in_cell(&self, cell: [i32; 3]) -> impl Iterator<Item = (MapNode, Vec3)> + '_ {
        let head = self
            .grid
            .index(cell)
            .map_or(NONE, |index| self.heads.get(index));
        let follow = |&entry: &u32| Some(self.next[entry as usize]).filter(|&next| next != NONE);
        let chain = std::iter::successors(Some(head).filter(|&head| head != NONE), follow);
        chain.map(|entry| (self.nodes[entry as usize], self.place_m[entry as usize]))
    }

    /// Returns all nodes by cell, for comparison with a rebuilt map.
    #[must_use]
    pub fn contents(&self) -> Vec<(u64, Vec<MapNode>)> {
        let mut contents = Vec::new();
        for (cell, mut entry) in self.heads.used() {
            let mut list = Vec::new();
            while entry != NONE {
                list.push(self.nodes[entry as usize]);
                entry = self.next[entry as usize];
            }
            contents.push((cell, list));
        }
        contents
    }

    /// Moves a body in three phases: tests all new cells, clears the old ones, then writes the new ones.
    ///
    /// `to_m` returns the new place \[m\] of a node from its number in the body and its place; it must be
    /// deterministic. `hit` is called for every hit; of a refused move only for the one that refused it.
    ///
    /// # Errors
    /// [`MapMoveError`]; nothing has moved then.
    pub fn try_move(
        &mut self,
        body: u32,
        rule: MapMoveRule,
        to_m: impl Fn(usize, &Vec3) -> Vec3,
        mut hit: impl FnMut(CellHit),
    ) -> Result<(), MapMoveError> {
        let entries = self.entries(body);
        if body as usize + 1 >= self.starts.len() {
            return Err(MapMoveError::Unknown(body));
        }
        for (nth, slot) in entries.clone().enumerate() {
            let there_m = to_m(nth, &self.place_m[slot]);
            let Some(cell) = self.grid.index_at(&there_m) else {
                return Err(MapMoveError::OutOfSpace(self.nodes[slot]));
            };
            self.to_cell[slot] = cell;
            if self.cell[slot] == OUT {
                continue;
            }
            let mover = (slot, &entries);
            let collision = match rule {
                MapMoveRule::Sweep => self.first_hit_on_line(mover, &there_m),
                MapMoveRule::Prevent => self.first_hit(mover, cell, |_| true),
                MapMoveRule::Detect => self.first_hit(mover, cell, |collision| {
                    hit(collision);
                    false
                }),
            };
            if let Some(collision) = collision {
                hit(collision);
                return Err(MapMoveError::Hit(collision));
            }
        }
        self.settle(entries, to_m);
        Ok(())
    }

    /// Clears the old cells and writes the new ones.
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

    /// Returns the first hit of a node of the moving body, in a cell for which `enough` is true.
    #[inline]
    fn first_hit(
        &mut self,
        (slot, own): (usize, &Range<usize>),
        cell: u64,
        mut enough: impl FnMut(CellHit) -> bool,
    ) -> Option<CellHit> {
        self.work.tested += 1;
        let mut entry = self.heads.get(cell);
        while entry != NONE {
            // the entry number identifies the body: the node need not be read
            if !own.contains(&(entry as usize)) {
                let hit = CellHit {
                    mover: self.nodes[slot],
                    other: self.nodes[entry as usize],
                };
                if enough(hit) {
                    return Some(hit);
                }
            }
            entry = self.next[entry as usize];
        }
        None
    }

    /// True if a node stays in its cell or moves to one that shares a face with it: then no cell is between. Most
    /// steps do, and this test is faster than following the line.
    #[inline]
    fn beside(&self, slot: usize, to_m: &Vec3) -> bool {
        let [x, y, z] = self.grid.size();
        let ahead = self.cell[slot].abs_diff(self.to_cell[slot]);
        // in a wider space with shorter steps than these, one index difference is one axis
        let roomy = x.min(y).min(z) >= 8;
        let short = (to_m - self.place_m[slot]).amax() <= self.grid.pitch_m();
        let row = u64::from(x);
        ahead == 0 || (roomy && short && [1, row, row * u64::from(y)].contains(&ahead))
    }

    /// Returns the first hit of a node on the straight line to its new place.
    #[inline]
    fn first_hit_on_line(&mut self, mover: (usize, &Range<usize>), to_m: &Vec3) -> Option<CellHit> {
        let slot = mover.0;
        let (grid, from_m) = (self.grid, self.place_m[slot]);
        let cell = self.to_cell[slot];
        if self.beside(slot, to_m) {
            return self.first_hit(mover, cell, |_| true);
        }
        let mut collision = None;
        grid.visit_line(&from_m, to_m, |cell| {
            collision = grid
                .index(cell)
                .and_then(|index| self.first_hit(mover, index, |_| true));
            collision.is_some()
        });
        collision
    }

    /// Returns pairs of nodes of one body in one cell that are farther apart than `near` sites at rest:
    /// self-collision (row CD-05). `near` is 1, or 2 if a cell is larger than the least spacing.
    pub fn self_hits(
        &mut self,
        body: u32,
        near: i32,
        site: impl Fn(u32) -> [i32; 3],
        mut hit: impl FnMut(CellHit),
    ) {
        for slot in self.entries(body) {
            if self.cell[slot] == OUT {
                continue;
            }
            self.work.tested += 1;
            let mover = self.nodes[slot];
            let own = site(mover.node);
            // earlier entries have found it already
            let mut entry = self.next[slot];
            while entry != NONE {
                let other = self.nodes[entry as usize];
                let theirs = site(other.node);
                let apart = (0..3).map(|axis| (own[axis] - theirs[axis]).abs()).max();
                if other.body == body && apart > Some(near) {
                    hit(CellHit { mover, other });
                }
                entry = self.next[entry as usize];
            }
        }
    }
}
