//! Gauss-Seidel pass: every free node moves towards the equilibrium of its links.
//!
//! Source: seed-001 Eq. 2 in its weighted form (section 3.4.2), red and black (3.4.3), limit-aware (3.4.6) (rows
//! DF-07, DF-09, FU-07). One pass moves the nodes of one colour, which are linked to the other colour only. Each node
//! moves by `omega` (0 to 2) times the distance to the least energy of its own links, clamped at their limits. So no
//! pass adds energy, however large the strain, and none breaks a limit that was kept.
//!
//! Symbols: `u` displacement from rest \[m\], `k` stiffness \[N/m\], `pull` the sum of `k (u_n - u)` \[N\].

use multiversion::multiversion;

use crate::nodes::VoxelNodes;
use crate::simd::{
    LANES_MAX, LaneRange, LaneSteps, NO_RANGES, NodeLanes, OffsetRanges, RunArrays, RunLinks,
    RunPass, lane_steps, larger, largest, load_lanes, smaller, smallest,
};
use crate::stencil::{Stencil, StencilRun};
use crate::uniform_run::NOT_UNIFORM;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// Result of relaxing one node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct NodeStep {
    /// Greatest step along an axis \[m\].
    pub(super) farthest_m: f32,
    /// Dissipated energy of its links \[J\].
    pub(super) lost_j: f64,
}

/// Greatest number of runs in a batch: the bits of a word of [`BitSet`](super::index_sets::BitSet).
pub(super) const BATCH: usize = 64;

/// Result of a pass over a batch of runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassResult {
    /// Dissipated energy of the links \[J\].
    pub(super) lost_j: f64,
    /// Greatest step, by index in the batch \[m\].
    pub(super) farthest_m: [f32; BATCH],
}

/// Relaxes the nodes of runs of one colour.
///
/// `margin_m`, by run, is the distance that its nodes may move before one of their links can reach a limit \[m\]. It
/// is measured again when it does not suffice.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn pass_runs(
    nodes: &mut VoxelNodes<f32>,
    stencil: &Stencil,
    runs: &[u32],
    omega: f32,
    margin_m: &mut [f32],
) -> PassResult {
    let mut totals = PassTotals::new();
    for (place, &index) in runs.iter().enumerate().take(BATCH) {
        let run = stencil.runs.get(index as usize);
        let (Some(run), Some(margin_m)) = (run, margin_m.get_mut(index as usize)) else {
            continue;
        };
        let on = RunPass { run, omega, place };
        let links = |uniform| RunLinks { stencil, uniform };
        let totals = &mut totals;
        match (run.len, stencil.uniform_run(index)) {
            (16.., Some(uniform)) => {
                pass_chunks::<16, true>(nodes, links(uniform), on, margin_m, totals);
            }
            (16.., None) => {
                pass_chunks::<16, false>(nodes, links(&NOT_UNIFORM), on, margin_m, totals)
            }
            (4.., Some(uniform)) => {
                pass_chunks::<4, true>(nodes, links(uniform), on, margin_m, totals);
            }
            (4.., None) => {
                pass_chunks::<4, false>(nodes, links(&NOT_UNIFORM), on, margin_m, totals)
            }
            _ => pass_chunks::<1, false>(nodes, links(&NOT_UNIFORM), on, margin_m, totals),
        }
    }
    PassResult {
        lost_j: totals.lost_j(omega),
        farthest_m: totals.farthest_m,
    }
}

/// Relaxes a run, `N` nodes at once. The last chunk starts early enough to fill its lanes, so some of its nodes may
/// be relaxed already.
#[inline(always)]
fn pass_chunks<const N: usize, const UNIFORM: bool>(
    nodes: &mut VoxelNodes<f32>,
    links: RunLinks<'_>,
    on: RunPass<'_>,
    margin_m: &mut f32,
    totals: &mut PassTotals,
) {
    let mut at = 0;
    if *margin_m > 0.0 {
        at = pass_unchecked::<N, UNIFORM>(nodes, links, on, *margin_m, totals);
    }
    // a new margin is valid only if all nodes were checked
    let all = at == 0;
    let mut run_totals = RunTotals::<N>::new();
    while at < on.run.len {
        let range = LaneRange::at::<N>(at, on.run.len);
        // no closures here: a closure is not compiled for the vectors of its caller
        let ranges = OffsetRanges::of::<UNIFORM>(nodes, links);
        let Some(lanes) = RunArrays::of(nodes, links.stencil, on.run).load::<N>(range.begin) else {
            return;
        };
        let steps = lane_steps::<N, true, UNIFORM>(&lanes, links, &ranges, on, range);
        if UNIFORM || !steps.exceeds(0.0) {
            lanes.store(&steps.to_m);
            run_totals.add::<N, true>(&steps);
        } else {
            // some nodes are near their limits
            run_totals.margin_m = [-1.0; N];
            for slot in on.run.start + at..on.run.start + range.begin + N {
                let step = pass_node(nodes, links.stencil, slot, on.omega);
                run_totals.farthest_m[0] = larger(run_totals.farthest_m[0], step.farthest_m);
                totals.lost_j += step.lost_j;
            }
        }
        at = range.begin + N;
        *margin_m = -1.0;
    }
    if *margin_m <= 0.0 {
        totals.add(&run_totals, on.place);
        if all {
            *margin_m = smallest(&run_totals.margin_m);
        }
    }
}

/// Relaxes a run without limit checks, up to its end or to the chunk in which a link might reach a limit; returns the
/// number of nodes done.
#[inline(always)]
fn pass_unchecked<const N: usize, const UNIFORM: bool>(
    nodes: &mut VoxelNodes<f32>,
    links: RunLinks<'_>,
    on: RunPass<'_>,
    margin_m: f32,
    totals: &mut PassTotals,
) -> usize {
    let mut run_totals = RunTotals::<N>::new();
    let mut at = 0;
    let arrays = RunArrays::of(nodes, links.stencil, on.run);
    // a chunk is stored only after the next one is loaded, which may overlap it: loading numbers that are still on
    // their way to memory would stall
    let Some(mut previous) = arrays.load::<N>(0) else {
        return 0;
    };
    let mut to_m = [[0.0; N]; 3];
    let mut remaining = on.run.len;
    // a short remainder is relaxed in narrower chunks, which load faster
    while remaining > 0 && (N < LANES_MAX || remaining > LANES_MAX / 2) {
        let range = LaneRange::at::<N>(at, on.run.len);
        let Some(lanes) = arrays.load::<N>(range.begin) else {
            break;
        };
        let steps = lane_steps::<N, false, UNIFORM>(&lanes, links, &NO_RANGES, on, range);
        if at > 0 {
            previous.store(&to_m);
        }
        if steps.exceeds(margin_m) {
            totals.add(&run_totals, on.place);
            return at;
        }
        (to_m, previous) = (steps.to_m, lanes);
        run_totals.add::<N, false>(&steps);
        at = range.begin + N;
        remaining = on.run.len - at;
    }
    let pending = PendingStore {
        arrays: &arrays,
        previous: &previous,
        to_m: &to_m,
    };
    at = match remaining {
        0 => {
            previous.store(&to_m);
            at
        }
        // all chunks had this width
        _ if N < LANES_MAX => at,
        1..=4 => run_totals.finish_run::<4, UNIFORM>(pending, links, on, at, margin_m),
        _ => run_totals.finish_run::<8, UNIFORM>(pending, links, on, at, margin_m),
    };
    totals.add(&run_totals, on.place);
    at
}

/// Nodes of a chunk that were computed and not stored yet, with their new displacements \[m\].
#[derive(Debug, Clone, Copy)]
struct PendingStore<'a, const N: usize> {
    arrays: &'a RunArrays<'a>,
    previous: &'a NodeLanes<'a, N>,
    to_m: &'a [[f32; N]; 3],
}

/// Totals of a pass, by lane; the lanes are summed at its end.
#[derive(Debug, Clone, Copy)]
struct PassTotals {
    /// Greatest step, by index in the batch \[m\].
    farthest_m: [f32; BATCH],
    /// Sum of step times pull, over nodes that were not clamped \[J\].
    work_j: [f64; LANES_MAX],
    /// Energy dissipated by clamped nodes \[J\].
    clamped_j: [f64; LANES_MAX],
    /// Energy dissipated by nodes that were relaxed one by one \[J\].
    lost_j: f64,
}

impl PassTotals {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            farthest_m: [0.0; BATCH],
            work_j: [0.0; LANES_MAX],
            clamped_j: [0.0; LANES_MAX],
            lost_j: 0.0,
        }
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, run_totals: &RunTotals<N>, place: usize) {
        let mut lanes = [0.0; LANES_MAX];
        lanes[..N].copy_from_slice(&run_totals.farthest_m);
        if let Some(farthest_m) = self.farthest_m.get_mut(place) {
            *farthest_m = larger(*farthest_m, largest(&lanes));
        }
        for i in 0..N {
            self.work_j[i] += f64::from(run_totals.work_j[i]);
        }
        for i in 0..N {
            self.clamped_j[i] += f64::from(run_totals.clamped_j[i]);
        }
    }

    #[inline(always)]
    fn lost_j(&self, omega: f32) -> f64 {
        let (mut work_j, mut clamped_j) = (0.0, 0.0);
        for lane_j in self.work_j {
            work_j += lane_j;
        }
        for lane_j in self.clamped_j {
            clamped_j += lane_j;
        }
        // E(u + step) = E(u) - pull step + K/2 step^2, and K step = omega pull for the sum K of stiffness
        work_j * f64::from(1.0 - 0.5 * omega) + clamped_j + self.lost_j
    }
}

/// Totals of a run, by lane.
#[derive(Debug, Clone, Copy)]
struct RunTotals<const N: usize> {
    /// Greatest step \[m\].
    farthest_m: [f32; N],
    /// Sum of step times pull \[J\].
    work_j: [f32; N],
    clamped_j: [f32; N],
    margin_m: [f32; N],
}

impl<const N: usize> RunTotals<N> {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            farthest_m: [0.0; N],
            work_j: [0.0; N],
            clamped_j: [0.0; N],
            margin_m: [f32::INFINITY; N],
        }
    }

    /// Adds the steps of a chunk to the last lanes, and its margin if limits were checked.
    #[inline(always)]
    fn add<const M: usize, const CHECK_LIMITS: bool>(&mut self, steps: &LaneSteps<M>) {
        for i in 0..M {
            let lane = N - M + i;
            self.farthest_m[lane] = larger(self.farthest_m[lane], steps.step_max_m[i]);
            self.work_j[lane] += steps.work_j[i];
            if CHECK_LIMITS {
                self.clamped_j[lane] += steps.clamped_j[i];
                // the caller of the pass subtracts the steps from it
                self.margin_m[lane] = smaller(self.margin_m[lane], steps.margin_m[i]);
            }
        }
    }

    /// Relaxes the last nodes of a run from `at` on, then stores the pending chunk; returns the number of nodes done.
    #[inline(always)]
    fn finish_run<const M: usize, const UNIFORM: bool>(
        &mut self,
        PendingStore {
            arrays,
            previous,
            to_m,
        }: PendingStore<'_, N>,
        links: RunLinks<'_>,
        on: RunPass<'_>,
        at: usize,
        margin_m: f32,
    ) -> usize {
        let range = LaneRange::at::<M>(at, on.run.len);
        let Some(lanes) = arrays.load::<M>(range.begin) else {
            previous.store(to_m);
            return at;
        };
        let steps = lane_steps::<M, false, UNIFORM>(&lanes, links, &NO_RANGES, on, range);
        previous.store(to_m);
        if steps.exceeds(margin_m) {
            return at;
        }
        lanes.store(&steps.to_m);
        self.add::<M, false>(&steps);
        range.begin + M
    }
}

/// Relaxes one node at any slot, within the limits of its links.
pub(super) fn pass_node(
    nodes: &mut VoxelNodes<f32>,
    stencil: &Stencil,
    slot: usize,
    omega: f32,
) -> NodeStep {
    let gain = stencil.gain[slot];
    let Some(node) = u32::try_from(slot).ok().filter(|_| gain > 0.0) else {
        return NodeStep::default();
    };
    let mut step = NodeStep::default();
    // a step along one axis changes neither the range nor the pull along another
    let (allowed, pull) = (
        allowed_range_m(nodes, node),
        link_force_n(nodes, stencil, slot),
    );
    for along in 0..3 {
        let own = nodes.displacement_m[along][slot];
        let ((least, most), pull) = (allowed[along], pull[along]);
        let to = (own + omega * gain * pull).clamp(least, most);
        nodes.displacement_m[along][slot] = to;
        let moved = f64::from(to - own);
        step.farthest_m = step.farthest_m.max((to - own).abs());
        step.lost_j +=
            moved * (f64::from(pull) - 0.5 * f64::from(stencil.stiffness_sum_npm[slot]) * moved);
    }
    step
}

/// Returns the force of the links on a node, by axis of the world \[N\].
pub(super) fn link_force_n(nodes: &VoxelNodes<f32>, stencil: &Stencil, slot: usize) -> [f32; 3] {
    let own = std::array::from_fn::<_, 3, _>(|along| nodes.displacement_m[along][slot]);
    // -0.0 is the neutral element of a floating-point sum
    let mut pull = [-0.0; 3];
    for (neighbour, stiffness) in nodes.neighbour.iter().zip(&stencil.stiffness_npm) {
        let k = stiffness[slot];
        for along in 0..3 {
            pull[along] += if k > 0.0 {
                k * (nodes.displacement_m[along][neighbour[slot] as usize] - own[along])
            } else {
                0.0
            };
        }
    }
    pull
}

/// Returns the allowed displacement of a node by axis, with its neighbours fixed \[m\]; it always contains the
/// present one.
pub(super) fn allowed_range_m<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> [(R, R); 3] {
    let mut allowed = [(-R::of(f64::MAX), R::of(f64::MAX)); 3];
    for to in NeighbourDirection::ALL {
        let Some(other) = nodes.neighbour(node, to) else {
            continue;
        };
        let pair = [nodes.material(node), nodes.material(other)];
        for (along, (least, most)) in allowed.iter_mut().enumerate() {
            let (nearest, farthest) = nodes.bonds().range_m(pair, to, along);
            let at = nodes.displacement_m[along][other as usize];
            *least = least.max(at - farthest);
            *most = most.min(at - nearest);
        }
    }
    for ((least, most), moved_m) in allowed.iter_mut().zip(&nodes.displacement_m) {
        // rounding may leave a link past its limit by one bit
        let own = moved_m[node as usize];
        (*least, *most) = (least.min(own), most.max(own));
    }
    allowed
}

/// Measured state of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunBounds {
    /// Energy of the links of its nodes to their right, top and front \[J\].
    pub(super) upward_energy_j: f64,
    /// Range of displacement by axis \[m\].
    pub(super) bounds_m: [(f32, f32); 3],
}

/// Measures a run.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn measure_run(
    nodes: &VoxelNodes<f32>,
    stencil: &Stencil,
    run: &StencilRun,
) -> RunBounds {
    match run.len {
        16.. => measure_chunks::<16>(nodes, stencil, run),
        8.. => measure_chunks::<8>(nodes, stencil, run),
        _ => measure_chunks::<1>(nodes, stencil, run),
    }
}

#[inline(always)]
fn measure_chunks<const N: usize>(
    nodes: &VoxelNodes<f32>,
    stencil: &Stencil,
    run: &StencilRun,
) -> RunBounds {
    let mut energy = [0.0_f32; N];
    let mut bounds = [([f32::INFINITY; N], [f32::NEG_INFINITY; N]); 3];
    let mut at = 0;
    while at < run.len {
        let begin = at.min(run.len - N);
        let slot = run.start + begin;
        let mut k = [[0.0; N]; 3];
        for (axis, k) in k.iter_mut().enumerate() {
            *k = load_lanes(&stencil.stiffness_npm[2 * axis], slot);
            // counted by the chunk before
            k[..at - begin].fill(0.0);
        }
        for (moved_m, (least, most)) in nodes.displacement_m.iter().zip(&mut bounds) {
            let own: [f32; N] = load_lanes(moved_m, slot);
            for (axis, k) in k.iter().enumerate() {
                let other: [f32; N] = load_lanes(moved_m, run.neighbour_starts[2 * axis] + begin);
                for i in 0..N {
                    let offset = other[i] - own[i];
                    energy[i] = (k[i] * offset).mul_add(offset, energy[i]);
                }
            }
            for i in 0..N {
                least[i] = least[i].min(own[i]);
                most[i] = most[i].max(own[i]);
            }
        }
        at = begin + N;
    }
    let mut result = RunBounds {
        upward_energy_j: 0.0,
        bounds_m: [(f32::INFINITY, f32::NEG_INFINITY); 3],
    };
    for i in 0..N {
        result.upward_energy_j += 0.5 * f64::from(energy[i]);
        for (found, (least, most)) in result.bounds_m.iter_mut().zip(&bounds) {
            *found = (found.0.min(least[i]), found.1.max(most[i]));
        }
    }
    result
}
