//! Short rows of linked nodes, so that a search for connected pieces need not visit every node.
//!
//! Source: ours, for the search of seed-001 section 3.5 (row CL-01). A node run is a maximal row of nodes along x
//! that were created side by side, are still linked, and belong to one object. Its id is its first node. Per
//! direction a run stores its one adjacent run; where there are several, the links of its nodes are followed. An edit
//! refreshes the runs at its ends and those beside them. A cut across runs costs all runs of the rows it crosses; a
//! cut along them costs one lookup per run.

use crate::index_sets::InsertionSet;
use crate::nodes::{NONE, VoxelNodes};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// Greatest number of nodes of a run: it bounds the cost of an edit in a large model.
const LENGTH: i32 = 32;
/// Greatest number of recorded link ends, per slot.
const CHANGED_LINKS_PER_SLOT: usize = 4;
/// Marks several adjacent runs; slots are at most 100 million.
const SEVERAL: u32 = NONE - 1;

/// Length and adjacency of a node run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NodeRun {
    /// The adjacent run by direction: one, none or [`SEVERAL`].
    adjacent: [u32; 6],
    /// Number of its nodes.
    length: u32,
}

/// The node runs of a voxel model. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct NodeRuns {
    /// The run of every slot.
    run_of: Vec<u32>,
    /// Runs by their first node.
    runs: Vec<NodeRun>,
    /// Nodes whose run may have changed.
    stale: InsertionSet,
    /// Nodes whose run may have other adjacent runs now, with the direction.
    changed_links: Vec<(u32, NeighbourDirection)>,
    /// Runs that were reassigned and need their adjacency.
    fresh: InsertionSet,
    /// Number of links followed so far: the cost measure of the tests.
    pub(super) links_visited: u64,
}

/// Returns the next node of a run to the right or to the left.
fn next_in_run<R: Real>(nodes: &VoxelNodes<R>, node: u32, to: NeighbourDirection) -> Option<u32> {
    let other = nodes.neighbour(node, to)?;
    let [own, created] = [node, other].map(|end| nodes.initial_site[end as usize]);
    let one = created == to.neighbour_site(own)
        && own[0].div_euclid(LENGTH) == created[0].div_euclid(LENGTH)
        && nodes.object(node) == nodes.object(other);
    one.then_some(other)
}

impl NodeRuns {
    /// Returns the node runs of a voxel model.
    pub(super) fn new<R: Real>(nodes: &VoxelNodes<R>) -> Self {
        let slots = nodes.slots() as usize;
        let mut node_runs = Self {
            run_of: vec![NONE; slots],
            runs: vec![
                NodeRun {
                    adjacent: [NONE; 6],
                    length: 0,
                };
                slots
            ],
            stale: InsertionSet::new(slots),
            changed_links: Vec::with_capacity(CHANGED_LINKS_PER_SLOT * slots),
            fresh: InsertionSet::new(slots),
            links_visited: 0,
        };
        node_runs.rebuild(nodes);
        node_runs
    }

    /// Rebuilds all runs.
    pub(super) fn rebuild<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        let visited = self.links_visited;
        self.stale.clear();
        self.changed_links.clear();
        for node in 0..nodes.slots() {
            if next_in_run(nodes, node, NeighbourDirection::Left).is_none() {
                self.assign_nodes(nodes, node);
            }
        }
        for node in 0..nodes.slots() {
            if self.run_of[node as usize] == node {
                self.find_adjacent(nodes, node);
            }
        }
        // a rebuild is not part of an edit's cost
        self.links_visited = visited;
    }

    /// Records that a node was removed, restored, or moved to another object.
    pub(super) fn mark_stale(&mut self, node: u32) {
        self.stale.add(node);
    }

    /// Records that a link was cut or made.
    pub(super) fn mark_link(&mut self, node: u32, to: NeighbourDirection, other: u32) {
        for (end, to) in [(node, to), (other, to.opposite())] {
            if to.axis() == 0 {
                self.mark_stale(end);
            } else if self.changed_links.len() < CHANGED_LINKS_PER_SLOT * self.run_of.len() {
                self.changed_links.push((end, to));
            } else {
                // equivalent, and recorded once
                self.mark_stale(end);
            }
        }
    }

    /// Updates the runs for all recorded changes.
    pub(super) fn refresh<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        for nth in 0..self.stale.len() {
            let mut first = self.stale[nth];
            while let Some(before) = next_in_run(nodes, first, NeighbourDirection::Left) {
                self.links_visited += 1;
                first = before;
            }
            if self.fresh.add(first) {
                self.assign_nodes(nodes, first);
            }
        }
        self.stale.clear();
        // all runs have their ids; the adjacent ones may hold old ids
        for nth in 0..self.fresh.len() {
            let node_run = self.fresh[nth];
            for to in NeighbourDirection::ALL {
                self.visit_neighbour_runs(nodes, node_run, to, |node_runs, other| {
                    node_runs.fresh.add(other);
                });
            }
        }
        for nth in 0..self.fresh.len() {
            let node_run = self.fresh[nth];
            self.find_adjacent(nodes, node_run);
        }
        self.fresh.clear();
        // a batch cuts many links of one run: each direction is looked up once
        for (node, _) in &mut self.changed_links {
            *node = self.run_of[*node as usize];
        }
        self.changed_links
            .sort_unstable_by_key(|&(node_run, to)| (node_run, to.index()));
        self.changed_links.dedup();
        for nth in 0..self.changed_links.len() {
            let (node_run, to) = self.changed_links[nth];
            self.find_adjacent_towards(nodes, node_run, to);
        }
        self.changed_links.clear();
    }

    /// Assigns the nodes of a run to its first node.
    fn assign_nodes<R: Real>(&mut self, nodes: &VoxelNodes<R>, first: u32) {
        let mut length = 1;
        self.run_of[first as usize] = first;
        let mut at = first;
        while let Some(next) = next_in_run(nodes, at, NeighbourDirection::Right) {
            self.run_of[next as usize] = first;
            (at, length) = (next, length + 1);
        }
        self.links_visited += u64::from(length);
        self.runs[first as usize].length = length;
    }

    /// Finds the adjacent runs in all directions.
    fn find_adjacent<R: Real>(&mut self, nodes: &VoxelNodes<R>, node_run: u32) {
        for to in NeighbourDirection::ALL {
            self.find_adjacent_towards(nodes, node_run, to);
        }
    }

    /// Finds the adjacent run in one direction.
    fn find_adjacent_towards<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        node_run: u32,
        to: NeighbourDirection,
    ) {
        let mut found = NONE;
        self.visit_neighbour_runs(nodes, node_run, to, |_, other| {
            found = match found {
                NONE => other,
                one if one == other => one,
                _ => SEVERAL,
            };
        });
        self.runs[node_run as usize].adjacent[to.index()] = found;
    }

    /// Visits the runs that the nodes of a run are linked to in one direction; some more than once.
    fn visit_neighbour_runs<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        node_run: u32,
        to: NeighbourDirection,
        mut visit: impl FnMut(&mut Self, u32),
    ) {
        let object = nodes.object(node_run);
        let (mut at, length) = (Some(node_run), self.length(node_run));
        for _ in 0..length {
            let Some(node) = at else {
                return;
            };
            if let Some(other) = nodes.neighbour(node, to) {
                self.links_visited += 1;
                let beside = self.run_of[other as usize];
                // a join of two objects counts once they have merged
                if beside != node_run && nodes.object(other) == object {
                    visit(self, beside);
                }
            }
            at = nodes.neighbour(node, NeighbourDirection::Right);
        }
    }

    /// Returns the run of a node.
    pub(super) fn run_of(&self, node: u32) -> u32 {
        self.run_of[node as usize]
    }

    /// Returns the number of nodes of a run.
    pub(super) fn length(&self, node_run: u32) -> u32 {
        self.runs[node_run as usize].length
    }

    /// Visits the adjacent runs with their numbers of nodes; some more than once.
    pub(super) fn visit_adjacent<R: Real>(
        &mut self,
        nodes: &VoxelNodes<R>,
        node_run: u32,
        mut visit: impl FnMut(u32, u32),
    ) {
        let beside = self.runs[node_run as usize].adjacent;
        for to in NeighbourDirection::ALL {
            match beside[to.index()] {
                NONE => {}
                SEVERAL => self.visit_neighbour_runs(nodes, node_run, to, |node_runs, other| {
                    visit(other, node_runs.length(other));
                }),
                one => {
                    self.links_visited += 1;
                    visit(one, self.length(one));
                }
            }
        }
    }

    /// Assigns the nodes of a run to an object.
    pub(super) fn set_object<R: Real>(
        &self,
        nodes: &mut VoxelNodes<R>,
        node_run: u32,
        object: u32,
    ) {
        let mut at = Some(node_run);
        for _ in 0..self.length(node_run) {
            let Some(node) = at else {
                return;
            };
            nodes.object[node as usize] = object;
            at = nodes.neighbour(node, NeighbourDirection::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BondLimits;
    use crate::tests::{TestRng, block};

    /// Runs that are updated through edits equal runs that are rebuilt.
    #[test]
    fn node_runs_follow_edits() {
        let mut nodes: VoxelNodes<f32> = block([70, 6, 5], BondLimits::MEDIUM);
        let mut node_runs = NodeRuns::new(&nodes);
        let mut rng = TestRng::new(3);
        for _ in 0..300 {
            for _ in 0..rng.below(9) {
                let node = rng.below(nodes.slots());
                let to = NeighbourDirection::ALL[rng.below(6) as usize];
                let other = nodes.at_site(to.neighbour_site(nodes.initial_site[node as usize]));
                if let Some(other) = nodes.neighbour(node, to).or(other) {
                    // a link that was cut is made again
                    let linked = nodes.cut(node, to);
                    if linked || nodes.join(node, to, other) {
                        node_runs.mark_link(node, to, other);
                    }
                }
            }
            node_runs.refresh(&nodes);
            let anew = NodeRuns::new(&nodes);
            assert_eq!(node_runs.run_of, anew.run_of);
            for node in 0..nodes.slots() {
                if node_runs.run_of(node) == node {
                    let slot = node as usize;
                    assert_eq!(node_runs.runs[slot], anew.runs[slot]);
                }
            }
        }
    }
}
