//! Links of a voxel model in the layout of a Gauss-Seidel pass: stiffness by direction, gains, and runs of nodes.
//!
//! Source: ours, after seed-001 sections 3.4.2 (weighted rule) and 3.4.3 (red and black). A run is a stretch of every
//! second node along x. In each direction the neighbours of a run lie at one distance in the arrays, so a pass reads
//! memory in order. A node whose neighbours lie elsewhere, as after a join, is irregular and is relaxed one by one.

use crate::index_sets::BitSet;
use crate::nodes::{NONE, VoxelNodes, colour_of};
use crate::uniform_run::{UniformRun, Uniformity};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::snapshot_parts;

/// A stretch of every second node along x, all of one colour.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StencilRun {
    /// Its colour, 0 or 1.
    pub(super) colour: usize,
    /// First slot.
    pub(super) start: usize,
    /// Number of nodes.
    pub(super) len: usize,
    /// First slot of the neighbours, by direction; equal to `start` where there are none.
    pub(super) neighbour_starts: [usize; 6],
}

snapshot_parts!(StencilRun: colour, start, len, neighbour_starts);

/// Links of a voxel model, prepared for passes.
#[derive(Debug, Clone, Default)]
pub(super) struct Stencil {
    pub(super) runs: Vec<StencilRun>,
    /// Runs of colour 0.
    even: BitSet,
    /// Uniformity of the links, by run.
    pub(super) uniformity: Vec<Uniformity>,
    /// Run of every slot; [`NONE`] for irregular nodes.
    pub(super) run_of: Vec<u32>,
    /// Slots that belong to no run, in order.
    pub(super) irregular: Vec<u32>,
    /// Runs that the links of a run lead to, each once, concatenated by run.
    adjacent: Vec<u32>,
    /// Start of each run's part in `adjacent`, and the end of the last part.
    adjacent_start: Vec<u32>,
    /// Stiffness of the link \[N/m\] by direction and slot; 0 without one.
    pub(super) stiffness_npm: [Vec<f32>; 6],
    /// Sum of the six stiffnesses \[N/m\].
    pub(super) stiffness_sum_npm: Vec<f32>,
    /// One over the sum for nodes that may move \[m/N\]; 0 for all others.
    pub(super) gain: Vec<f32>,
    /// Least slack of any bond \[m\], by link axis and world axis.
    pub(super) slack_m: [[f32; 3]; 3],
}

impl Stencil {
    /// Returns the stencil of the present links.
    pub(super) fn new(nodes: &VoxelNodes<f32>) -> Self {
        let count = nodes.slots() as usize;
        let mut stencil = Self {
            runs: Vec::with_capacity(count),
            even: BitSet::new(count),
            uniformity: Vec::with_capacity(count),
            run_of: vec![NONE; count],
            irregular: Vec::with_capacity(count),
            adjacent: Vec::with_capacity(6 * count),
            adjacent_start: Vec::with_capacity(count + 1),
            stiffness_npm: std::array::from_fn(|_| vec![0.0; count]),
            stiffness_sum_npm: vec![0.0; count],
            gain: vec![0.0; count],
            slack_m: least_slack_m(nodes),
        };
        stencil.rebuild_runs(nodes);
        for node in 0..nodes.slots() {
            stencil.update_node(nodes, node);
        }
        stencil
    }

    /// Updates the links of one node, after an edit of it.
    pub(super) fn update_node(&mut self, nodes: &VoxelNodes<f32>, node: u32) {
        let slot = node as usize;
        let mut sum = 0.0;
        for to in NeighbourDirection::ALL {
            let other = nodes.neighbour(node, to);
            let k = other.map_or(0.0, |other| nodes.stiffness_npm(node, other, to.axis()));
            self.stiffness_npm[to.index()][slot] = k;
            sum += k;
        }
        self.stiffness_sum_npm[slot] = sum;
        if let Some(uniformity) = self.uniformity.get_mut(self.run_of[slot] as usize) {
            *uniformity = Uniformity::Unknown;
        }
        self.restore_gain(nodes, node);
    }

    /// Restores a node to the passes over runs, if it may move.
    pub(super) fn restore_gain(&mut self, nodes: &VoxelNodes<f32>, node: u32) {
        let slot = node as usize;
        let sum = self.stiffness_sum_npm[slot];
        let free = nodes.alive(node) && !nodes.pinned(node) && sum > 0.0;
        self.gain[slot] = if free { 1.0 / sum } else { 0.0 };
    }

    /// Finds the runs. Only a join moves neighbours to other slots, so only a join requires this.
    pub(super) fn rebuild_runs(&mut self, nodes: &VoxelNodes<f32>) {
        self.runs.clear();
        let mut node = 0;
        while node < nodes.slots() {
            let run = longest_run(nodes, node);
            self.runs.extend(run);
            // no run is longer than the slots
            node += run.map_or(1, |run| run.len as u32);
        }
        self.index_runs();
    }

    /// Rebuilds the index of slots to runs and the adjacency of runs, after the runs changed.
    pub(super) fn index_runs(&mut self) {
        self.run_of.fill(NONE);
        self.even.clear();
        for (index, run) in (0..).zip(&self.runs) {
            self.run_of[run.start..run.start + run.len].fill(index);
            if run.colour == 0 {
                self.even.add(index as usize);
            }
        }
        self.irregular.clear();
        let all = (0..).zip(&self.run_of);
        let irregular = all.filter_map(|(node, &run)| (run == NONE).then_some(node));
        self.irregular.extend(irregular);
        self.uniformity.clear();
        self.uniformity.resize(self.runs.len(), Uniformity::Unknown);
        self.adjacent.clear();
        self.adjacent_start.clear();
        for run in &self.runs {
            let from = self.adjacent.len();
            // at most six a slot
            self.adjacent_start
                .push(u32::try_from(from).unwrap_or(NONE));
            for start in run
                .neighbour_starts
                .into_iter()
                .filter(|&start| start != run.start)
            {
                let there = self.run_of.get(start..start + run.len);
                for &other in there.unwrap_or_default() {
                    if other != NONE && !self.adjacent[from..].contains(&other) {
                        self.adjacent.push(other);
                    }
                }
            }
        }
        let end = u32::try_from(self.adjacent.len()).unwrap_or(NONE);
        self.adjacent_start.push(end);
    }

    /// Returns the runs of one colour among 64 runs, one bit each.
    #[inline]
    pub(super) fn colour_mask(&self, nth: usize, colour: usize) -> u64 {
        let even = self.even.word(nth);
        if colour == 0 { even } else { !even }
    }

    /// Classifies the links of a run, if that is not cached.
    #[inline]
    pub(super) fn classify_run(&mut self, nodes: &VoxelNodes<f32>, run: usize) {
        if self.uniformity.get(run) == Some(&Uniformity::Unknown) {
            self.uniformity[run] = Uniformity::of(nodes, self, &self.runs[run]);
        }
    }

    /// Returns the links of a run, if it is known to be uniform.
    #[inline(always)]
    pub(super) fn uniform_run(&self, run: u32) -> Option<&UniformRun> {
        match self.uniformity.get(run as usize) {
            Some(Uniformity::Uniform(uniform)) => Some(uniform),
            _ => None,
        }
    }

    /// Returns the runs that the links of a run may lead to. No edit adds others before the runs are rebuilt.
    #[inline]
    pub(super) fn adjacent_runs(&self, run: usize) -> &[u32] {
        let ends = (
            self.adjacent_start.get(run),
            self.adjacent_start.get(run + 1),
        );
        let (Some(&from), Some(&to)) = ends else {
            return &[];
        };
        &self.adjacent[from as usize..to as usize]
    }
}

/// Returns the longest run from a slot; none if its neighbours are beyond the arrays.
fn longest_run(nodes: &VoxelNodes<f32>, first: u32) -> Option<StencilRun> {
    let count = nodes.slots();
    let site = nodes.site(first);
    let mut offsets: [Option<i64>; 6] = [None; 6];
    let mut last = first;
    for node in first..count {
        let along = i32::try_from(2 * (node - first)).unwrap_or(i32::MAX);
        if nodes.site(node) != [site[0].saturating_add(along), site[1], site[2]] {
            break;
        }
        let mut wider = offsets;
        let fits = NeighbourDirection::ALL.iter().all(|&to| {
            let Some(other) = nodes.neighbour(node, to) else {
                return true;
            };
            let offset = i64::from(other) - i64::from(node);
            *wider[to.index()].get_or_insert(offset) == offset
        });
        let inside = |offset: &Option<i64>| {
            let offset = offset.unwrap_or(0);
            let within = 0..i64::from(count);
            within.contains(&(i64::from(first) + offset))
                && within.contains(&(i64::from(node) + offset))
        };
        if !fits || !wider.iter().all(inside) {
            break;
        }
        (offsets, last) = (wider, node + 1);
    }
    (last > first).then(|| StencilRun {
        colour: colour_of(site),
        start: first as usize,
        len: (last - first) as usize,
        neighbour_starts: offsets.map(|offset| {
            let start = i64::from(first) + offset.unwrap_or(0);
            // checked above
            usize::try_from(start).unwrap_or(first as usize)
        }),
    })
}

/// Returns the least slack of any bond, by link axis and world axis \[m\]; smaller steps need no limit check.
fn least_slack_m(nodes: &VoxelNodes<f32>) -> [[f32; 3]; 3] {
    let mut slack_m = [[f32::INFINITY; 3]; 3];
    for (axis, bond) in nodes.bonds().all() {
        for (along, least) in slack_m[axis].iter_mut().enumerate() {
            *least = least.min(-bond.least_m[along]).min(bond.most_m[along]);
        }
    }
    slack_m
}
