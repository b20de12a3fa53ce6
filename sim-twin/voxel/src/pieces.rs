//! Connected pieces of a voxel model: a piece that is cut off becomes an object of its own.
//!
//! Source: seed-001 section 3.5 (bidirectional search), rows CL-01 and LV-06. After a batch of cuts, search fronts
//! start from all ends of cut links and advance in turn by one node run. Fronts that meet are merged. When one front
//! of an object remains, the closed ones are its separate pieces. The largest piece keeps the object's id, of equal
//! ones that of the lowest end. It is searched only until it is known to be the largest, so a cut that separates
//! nothing costs the path around its edge.
//!
//! Links never cross objects: a join of two gives the smaller object the id of the other, of equal ones the first.

use crate::index_sets::InsertionSet;
use crate::node_runs::NodeRuns;
use crate::nodes::{NONE, VoxelNodes};
use palpate_twin::edits::{NeighbourDirection, TopologyChange};
use palpate_twin::law::Real;

/// Linked list of node runs, through [`RunMark::next`].
#[derive(Debug, Clone, Copy)]
struct RunQueue {
    head: u32,
    tail: u32,
}

impl RunQueue {
    const fn of(node_run: u32) -> Self {
        Self {
            head: node_run,
            tail: node_run,
        }
    }

    const fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// A search front.
#[derive(Debug, Clone, Copy)]
struct SearchFront {
    /// The front that it was merged into; itself if none.
    merged_into: u32,
    /// Node runs that it found and has not visited.
    pending: RunQueue,
    /// Number of nodes in all node runs that it found.
    count: u32,
    /// Object id of its nodes, if they are a separate piece.
    object: u32,
}

/// Search state of a node run.
#[derive(Debug, Clone, Copy)]
struct RunMark {
    /// The front that found it.
    front: u32,
    /// Next node run in its list.
    next: u32,
}

/// State of a node run that was not found.
const UNMARKED: RunMark = RunMark {
    front: NONE,
    next: NONE,
};

/// Search fronts that advance in turn. Allocated once.
#[derive(Debug, Clone)]
struct SearchFronts {
    fronts: Vec<SearchFront>,
    /// Fronts with node runs left to visit.
    active: Vec<u32>,
    /// Search state by the first node of a run.
    marks: Vec<RunMark>,
    /// Node runs that were found.
    found: Vec<u32>,
}

impl SearchFronts {
    fn new(slots: usize) -> Self {
        Self {
            fronts: Vec::with_capacity(slots),
            active: Vec::with_capacity(slots),
            marks: vec![UNMARKED; slots],
            found: Vec::with_capacity(slots),
        }
    }

    fn append(&mut self, chain: RunQueue, more: RunQueue) -> RunQueue {
        if chain.is_empty() {
            return more;
        }
        if more.is_empty() {
            return chain;
        }
        self.marks[chain.tail as usize].next = more.head;
        RunQueue {
            head: chain.head,
            tail: more.tail,
        }
    }

    /// Starts a front at the run of a node, unless one started there.
    fn start_from(&mut self, node_runs: &NodeRuns, node: u32) {
        let node_run = node_runs.run_of(node);
        if self.marks[node_run as usize].front != NONE {
            return;
        }
        // no more fronts than slots
        let front = u32::try_from(self.fronts.len()).unwrap_or(NONE);
        self.marks[node_run as usize].front = front;
        self.found.push(node_run);
        self.fronts.push(SearchFront {
            merged_into: front,
            pending: RunQueue::of(node_run),
            count: node_runs.length(node_run),
            object: NONE,
        });
        self.active.push(front);
    }

    fn root(&mut self, mut front: u32) -> u32 {
        while self.fronts[front as usize].merged_into != front {
            let above = self.fronts[front as usize].merged_into;
            self.fronts[front as usize].merged_into = self.fronts[above as usize].merged_into;
            front = above;
        }
        front
    }

    /// Advances all fronts in turn until the largest is known, and returns it.
    fn find_largest<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        node_runs: &mut NodeRuns,
    ) -> Option<u32> {
        while self.active.len() > 1 {
            for nth in 0..self.active.len() {
                let front = self.active[nth];
                if self.fronts[front as usize].merged_into == front {
                    self.advance(nodes, node_runs, front);
                }
            }
            // a front that was merged advances as part of the older one
            let fronts = &self.fronts;
            self.active.retain(|&front| {
                let front_is = &fronts[front as usize];
                front_is.merged_into == front && !front_is.pending.is_empty()
            });
        }
        let Some(&last) = self.active.first() else {
            return self.largest();
        };
        // it may have found fewer nodes so far than a closed one
        let others = self.roots().filter(|&(at, _)| at != last);
        let most = others.map(|(_, front)| front.count).max().unwrap_or(0);
        loop {
            let front = &self.fronts[last as usize];
            if front.count > most || front.pending.is_empty() {
                return self.largest();
            }
            self.advance(nodes, node_runs, last);
        }
    }

    /// Iterates over fronts that were merged into no other.
    fn roots(&self) -> impl Iterator<Item = (u32, &SearchFront)> {
        (0..)
            .zip(&self.fronts)
            .filter(|(at, front)| front.merged_into == *at)
    }

    /// Returns the front that found most nodes; of equal ones the first.
    fn largest(&self) -> Option<u32> {
        let most = self
            .roots()
            .max_by_key(|(at, front)| (front.count, std::cmp::Reverse(*at)));
        most.map(|(at, _)| at)
    }

    /// Visits one node run of a front.
    fn advance<R: Real>(&mut self, nodes: &VoxelNodes<R>, node_runs: &mut NodeRuns, front: u32) {
        let queue = &mut self.fronts[front as usize].pending;
        let node_run = queue.head;
        if node_run == NONE {
            return;
        }
        queue.head = std::mem::replace(&mut self.marks[node_run as usize].next, NONE);
        let mut root = front;
        node_runs.visit_adjacent(nodes, node_run, |other, length| {
            root = self.reach_run(root, other, length);
        });
    }

    /// Adds a run of `length` nodes to a front; returns the front after a possible merge.
    fn reach_run(&mut self, root: u32, node_run: u32, length: u32) -> u32 {
        if self.marks[node_run as usize].front != NONE {
            let other_root = self.root(self.marks[node_run as usize].front);
            return if other_root == root {
                root
            } else {
                self.merge(root, other_root)
            };
        }
        self.marks[node_run as usize].front = root;
        self.found.push(node_run);
        let queue = self.append(self.fronts[root as usize].pending, RunQueue::of(node_run));
        self.fronts[root as usize].pending = queue;
        self.fronts[root as usize].count += length;
        root
    }

    /// Merges two fronts into the older one, and returns it.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        let (into, from) = (a.min(b), a.max(b));
        let newer = self.fronts[from as usize];
        let older = self.fronts[into as usize];
        let queue = self.append(older.pending, newer.pending);
        self.fronts[into as usize] = SearchFront {
            pending: queue,
            count: older.count + newer.count,
            ..older
        };
        self.fronts[from as usize].merged_into = into;
        into
    }

    /// Assigns separate pieces to their objects, and clears all fronts.
    fn assign_objects<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, node_runs: &NodeRuns) {
        for nth in 0..self.found.len() {
            let node_run = self.found[nth];
            let front = self.root(self.marks[node_run as usize].front);
            let object = self.fronts[front as usize].object;
            if object != NONE {
                node_runs.set_object(nodes, node_run, object);
            }
        }
        for node_run in self.found.drain(..) {
            self.marks[node_run as usize] = UNMARKED;
        }
        self.fronts.clear();
        self.active.clear();
    }
}

/// The pieces of a voxel model, each an object with its own id.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    /// Object ids with their numbers of nodes, in growing order.
    pub(super) sizes: Vec<(u32, u32)>,
    /// Id of the next new piece.
    pub(super) next: u32,
    /// Ends of cut links since the last [`Pieces::split_pieces`].
    cut_ends: InsertionSet,
    /// The same, sorted by object.
    sorted: Vec<u32>,
    pub(super) node_runs: NodeRuns,
    fronts: SearchFronts,
}

impl Pieces {
    /// Returns the pieces of a voxel model. Unlinked parts of an object get their own ids.
    pub(super) fn new<R: Real>(nodes: &mut VoxelNodes<R>) -> Self {
        let slots = nodes.slots();
        let mut pieces = Self {
            sizes: Vec::with_capacity(slots as usize + 1),
            next: 0,
            cut_ends: InsertionSet::new(slots as usize),
            sorted: Vec::with_capacity(slots as usize),
            node_runs: NodeRuns::new(nodes),
            fronts: SearchFronts::new(slots as usize),
        };
        pieces.recount(nodes);
        pieces.next = pieces
            .sizes
            .last()
            .map_or(0, |&(id, _)| id.saturating_add(1));
        for node in (0..slots).filter(|&node| nodes.alive(node)) {
            pieces.cut_ends.add(node);
        }
        pieces.split_pieces(nodes);
        pieces
    }

    /// Recounts the nodes of all objects, if each is known to be one piece, as after a restored snapshot.
    pub(super) fn recount<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        self.node_runs.rebuild(nodes);
        self.sizes.clear();
        self.cut_ends.clear();
        let alive = (0..nodes.slots()).filter(|&e| nodes.alive(e));
        self.sorted.clear();
        self.sorted.extend(alive.map(|e| nodes.object(e)));
        self.sorted.sort_unstable();
        for same in self.sorted.chunk_by(|a, b| a == b) {
            // no more than slots
            self.sizes.push((same[0], same.len() as u32));
        }
    }

    /// Returns the number of nodes of an object.
    pub(super) fn size(&self, object: u32) -> u32 {
        let found = self.sizes.binary_search_by_key(&object, |&(id, _)| id);
        found.map_or(0, |at| self.sizes[at].1)
    }

    /// Records a change; cuts take effect at the next [`Pieces::split_pieces`].
    pub(super) fn record<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, change: TopologyChange) {
        match change {
            TopologyChange::Cut {
                node,
                direction: to,
                neighbour: other,
            } => {
                self.node_runs.mark_link(node, to, other);
                self.cut_ends.add(node);
                self.cut_ends.add(other);
            }
            TopologyChange::Join {
                node,
                direction: to,
                neighbour: other,
            } => {
                self.merge(nodes, [node, other]);
                self.node_runs.mark_link(node, to, other);
            }
            TopologyChange::Remove { node } => {
                self.node_runs.mark_stale(node);
                self.add(nodes.object(node), -1);
            }
            TopologyChange::Restore { node } => {
                self.node_runs.mark_stale(node);
                let object = self.number();
                nodes.object[node as usize] = object;
                self.add(object, 1);
            }
            TopologyChange::Pin { .. }
            | TopologyChange::Unpin { .. }
            | TopologyChange::Translate { .. } => {}
        }
    }

    /// Splits objects along the recorded cuts.
    pub(super) fn split_pieces<R: Real>(&mut self, nodes: &mut VoxelNodes<R>) {
        self.node_runs.refresh(nodes);
        let mut ends = std::mem::take(&mut self.sorted);
        ends.clear();
        ends.extend(self.cut_ends.iter().filter(|&&end| nodes.alive(end)));
        self.cut_ends.clear();
        ends.sort_unstable_by_key(|&end| (nodes.object(end), end));
        let mut rest = ends.as_slice();
        while let Some(&first) = rest.first() {
            // a separated piece gets a new id, which is in no later group
            let object = nodes.object(first);
            let same = rest.partition_point(|&end| nodes.object(end) <= object);
            let (group, later) = rest.split_at(same);
            self.split_object(nodes, group);
            rest = later;
        }
        self.sorted = ends;
    }

    /// Assigns ids to the pieces at the ends of cut links of one object.
    fn split_object<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, ends: &[u32]) {
        let own = nodes.object(ends[0]);
        for &end in ends {
            self.fronts.start_from(&self.node_runs, end);
        }
        let largest = self.fronts.find_largest(nodes, &mut self.node_runs);
        for at in 0..self.fronts.fronts.len() {
            let SearchFront {
                merged_into: part_of,
                count,
                ..
            } = self.fronts.fronts[at];
            if part_of as usize != at || Some(part_of) == largest {
                continue;
            }
            let object = self.number();
            self.fronts.fronts[at].object = object;
            self.add(own, -i64::from(count));
            self.add(object, count.into());
        }
        self.fronts.assign_objects(nodes, &self.node_runs);
    }

    /// Merges the objects of two nodes that were just linked.
    fn merge<R: Real>(&mut self, nodes: &mut VoxelNodes<R>, ends: [u32; 2]) {
        let objects = ends.map(|end| nodes.object(end));
        if objects[0] == objects[1] {
            return;
        }
        // a restored node has this link only
        let links = |end: &u32| nodes.neighbours(*end, NeighbourDirection::ALL).count();
        let (small, count) = if let Some(alone) = ends.iter().position(|end| links(end) == 1) {
            nodes.object[ends[alone] as usize] = objects[1 - alone];
            self.node_runs.mark_stale(ends[alone]);
            (alone, 1)
        } else {
            self.join(nodes, ends, objects)
        };
        self.add(objects[small], -i64::from(count));
        self.add(objects[1 - small], count.into());
    }

    /// Merges the smaller of two objects, of equal ones the first, into the other; returns its index and its number
    /// of nodes.
    fn join<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        ends: [u32; 2],
        objects: [u32; 2],
    ) -> (usize, u32) {
        self.node_runs.refresh(nodes);
        // the larger comes first: of equal fronts the first counts as the larger
        for end in [ends[1], ends[0]] {
            self.fronts.start_from(&self.node_runs, end);
        }
        let large = self.fronts.find_largest(nodes, &mut self.node_runs);
        // node runs stay in their objects, and so do fronts
        let small = usize::from(large != Some(0));
        let front = &mut self.fronts.fronts[1 - small];
        front.object = objects[1 - small];
        let count = front.count;
        self.fronts.assign_objects(nodes, &self.node_runs);
        (small, count)
    }

    /// Returns an id that no object has had.
    const fn number(&mut self) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        number
    }

    fn add(&mut self, object: u32, count: i64) {
        let found = self.sizes.binary_search_by_key(&object, |&(id, _)| id);
        let before = found.map_or(0, |at| i64::from(self.sizes[at].1));
        let after = u32::try_from(before + count).unwrap_or(0);
        match (found, after) {
            (Ok(at), 0) => drop(self.sizes.remove(at)),
            (Ok(at), _) => self.sizes[at].1 = after,
            (Err(_), 0) => {}
            (Err(at), _) => self.sizes.insert(at, (object, after)),
        }
    }
}
