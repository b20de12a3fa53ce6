//! Vector code of a Gauss-Seidel pass: loads, steps and energies of several nodes of a run at once.
//!
//! Source: ours (row FU-07), after seed-001 sections 3.4.2 and 3.4.6. These functions are the body of the passes in
//! [`gauss_seidel`](super::gauss_seidel). All are inlined there, so they are compiled for its vector targets. Every
//! lane does the same operations in the same order on every machine, to the last bit.

#![expect(clippy::needless_range_loop, reason = "several lanes go together")]

use std::cell::Cell;
use std::hint::select_unpredictable;

use crate::nodes::VoxelNodes;
use crate::stencil::{Stencil, StencilRun};
use crate::uniform_run::UniformRun;

/// Shorter steps are dropped \[m\]. They are imperceptible, and their squares are denormal numbers, which cost a
/// processor a hundred times more.
const LEAST_M: f32 = 1e-13;

/// Greatest number of lanes.
pub(super) const LANES_MAX: usize = 16;

/// Displacements along one axis that other references may write to.
type CellSlice<'a> = &'a [Cell<f32>];

/// Displacements by axis, arrays of one length, with the run and its gains.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunArrays<'a> {
    all: [CellSlice<'a>; 3],
    gain: &'a [f32],
    run: &'a StencilRun,
}

impl<'a> RunArrays<'a> {
    #[inline(always)]
    pub(super) fn of(
        nodes: &'a mut VoxelNodes<f32>,
        stencil: &'a Stencil,
        run: &'a StencilRun,
    ) -> Self {
        let [x, y, z] = &mut nodes.displacement_m;
        let x = Cell::from_mut(x.as_mut_slice()).as_slice_of_cells();
        let y = Cell::from_mut(y.as_mut_slice()).as_slice_of_cells();
        let z = Cell::from_mut(z.as_mut_slice()).as_slice_of_cells();
        // all three have this length: the compiler can then drop the bounds checks
        let count = x.len().min(y.len()).min(z.len());
        Self {
            all: [&x[..count], &y[..count], &z[..count]],
            gain: &stencil.gain,
            run,
        }
    }

    /// Loads `N` nodes of the run and their neighbours, from one on; none beyond the arrays, where no run reaches.
    #[inline(always)]
    pub(super) fn load<const N: usize>(&self, begin: usize) -> Option<NodeLanes<'a, N>> {
        let own = self.run.start + begin;
        let mut lanes = NodeLanes {
            own: self.at(own)?,
            beside: [self.at(own)?; 6],
            gain: part(self.gain, own)?,
        };
        for d in 0..6 {
            lanes.beside[d] = self.at(self.run.neighbour_starts[d] + begin)?;
        }
        Some(lanes)
    }

    #[inline(always)]
    fn at<const N: usize>(&self, slot: usize) -> Option<[&'a [Cell<f32>; N]; 3]> {
        let [x, y, z] = self.all;
        Some([part(x, slot)?, part(y, slot)?, part(z, slot)?])
    }
}

/// Displacements of `N` nodes by axis, and of their neighbours by direction and axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeLanes<'a, const N: usize> {
    own: [&'a [Cell<f32>; N]; 3],
    beside: [[&'a [Cell<f32>; N]; 3]; 6],
    gain: &'a [f32; N],
}

impl<const N: usize> NodeLanes<'_, N> {
    /// Stores the new displacements.
    #[inline(always)]
    pub(super) fn store(&self, to_m: &[[f32; N]; 3]) {
        for axis in 0..3 {
            for i in 0..N {
                self.own[axis][i].set(to_m[axis][i]);
            }
        }
    }
}

/// Returns `N` entries of an array from one on.
#[inline(always)]
const fn part<T, const N: usize>(line: &[T], begin: usize) -> Option<&[T; N]> {
    match line.split_at_checked(begin) {
        Some((_, rest)) => rest.first_chunk(),
        None => None,
    }
}

/// Reads the present values.
#[inline(always)]
fn read<const N: usize>(there: &[Cell<f32>; N]) -> [f32; N] {
    let mut values = [0.0; N];
    for i in 0..N {
        values[i] = there[i].get();
    }
    values
}

/// The stencil, and the links of a run if it is uniform.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunLinks<'a> {
    pub(super) stencil: &'a Stencil,
    pub(super) uniform: &'a UniformRun,
}

/// A run, the relaxation factor, and its index in the batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunPass<'a> {
    pub(super) run: &'a StencilRun,
    pub(super) omega: f32,
    pub(super) place: usize,
}

/// Returns the larger of two numbers, the second if one is NaN: one instruction, other than `f32::max`. Without a
/// branch, which would become a masked store.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    select_unpredictable(a > b, a, b)
}

/// Returns the smaller of two numbers, the second if one is NaN.
#[inline(always)]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    select_unpredictable(a < b, a, b)
}

/// Returns the largest of all lanes.
#[inline(always)]
pub(super) fn largest(lanes: &[f32; LANES_MAX]) -> f32 {
    let mut four = [0.0; 4];
    for i in 0..4 {
        let halves = [
            larger(lanes[i], lanes[i + 4]),
            larger(lanes[i + 8], lanes[i + 12]),
        ];
        four[i] = larger(halves[0], halves[1]);
    }
    larger(larger(four[0], four[1]), larger(four[2], four[3]))
}

#[inline(always)]
pub(super) fn smallest<const N: usize>(lanes: &[f32; N]) -> f32 {
    let mut least = f32::INFINITY;
    for &lane in lanes {
        least = smaller(lane, least);
    }
    least
}

/// A chunk of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneRange {
    /// First node of the chunk, in the run.
    pub(super) begin: usize,
    /// Number of its nodes that are relaxed already.
    done: usize,
}

impl LaneRange {
    /// Returns the chunk at `at` in a run of length `len`; it starts earlier if it would not fill its lanes.
    #[inline(always)]
    pub(super) const fn at<const N: usize>(at: usize, len: usize) -> Self {
        let last = len - N;
        let begin = if at < last { at } else { last };
        Self {
            begin,
            done: at - begin,
        }
    }
}

/// Weights of lanes, 0 if relaxed already; read from `LANES_MAX` less their number on.
const LANE_WEIGHTS: [f32; 2 * LANES_MAX] = {
    let mut weights = [0.0; 2 * LANES_MAX];
    let mut i = LANES_MAX;
    while i < 2 * LANES_MAX {
        weights[i] = 1.0;
        i += 1;
    }
    weights
};

/// Returns `N` numbers of an array from a slot on; zeros beyond its end, where no run reaches.
#[inline(always)]
pub(super) fn load_lanes<const N: usize>(array: &[f32], slot: usize) -> [f32; N] {
    let mut values = [0.0; N];
    if let Some(some) = array.get(slot..slot + N) {
        values.copy_from_slice(some);
    }
    values
}

/// Returns the stiffness of the links of `N` nodes by direction \[N/m\].
#[inline(always)]
fn link_stiffness_npm<const N: usize, const UNIFORM: bool>(
    RunLinks { stencil, uniform }: RunLinks<'_>,
    run: &StencilRun,
    begin: usize,
) -> [[f32; N]; 6] {
    let mut stiffness = [[0.0; N]; 6];
    for d in 0..6 {
        stiffness[d] = if UNIFORM {
            [uniform.stiffness_npm[d]; N]
        } else {
            load_lanes(&stencil.stiffness_npm[d], run.start + begin)
        };
    }
    if UNIFORM {
        let [right, margin] = uniform.open_ends;
        if right && begin + N == run.len {
            stiffness[0][N - 1] = 0.0;
        }
        if margin && begin == 0 {
            stiffness[1][0] = 0.0;
        }
    }
    stiffness
}

/// Range of a neighbour's displacement relative to the node's own, by axis of the world and direction \[m\].
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetRanges([[(f32, f32); 6]; 3]);

/// Placeholder for passes without limit checks.
pub(super) const NO_RANGES: OffsetRanges = OffsetRanges([[(0.0, 0.0); 6]; 3]);

impl OffsetRanges {
    /// Returns the ranges of a uniform run; for other runs, the least slack of any bond.
    #[inline(always)]
    pub(super) fn of<const UNIFORM: bool>(
        nodes: &VoxelNodes<f32>,
        RunLinks { stencil, uniform }: RunLinks<'_>,
    ) -> Self {
        let mut ranges = NO_RANGES;
        for along in 0..3 {
            for d in 0..6 {
                ranges.0[along][d] = if UNIFORM {
                    uniform.range_m(nodes, d, along)
                } else {
                    (
                        -stencil.slack_m[d / 2][along],
                        stencil.slack_m[d / 2][along],
                    )
                };
            }
        }
        ranges
    }
}

/// Steps of `N` nodes along one axis of the world.
#[derive(Debug, Clone, Copy)]
struct AxisStep<const N: usize> {
    to_m: [f32; N],
    step_m: [f32; N],
    /// Step times pull \[J\].
    work_j: [f32; N],
    /// Energy dissipated by a clamped step \[J\].
    clamped_j: [f32; N],
    /// Distance that the node might move before a link is at its limit \[m\].
    margin_m: [f32; N],
}

/// Gains of `N` nodes, and the stiffness of their links by direction.
#[derive(Debug, Clone, Copy)]
struct LaneStiffness<'a, const N: usize> {
    gain: &'a [f32; N],
    stiffness: &'a [[f32; N]; 6],
}

/// Position of a chunk: a run and the first of its nodes.
#[derive(Debug, Clone, Copy)]
struct RunOffset<'a> {
    stencil: &'a Stencil,
    run: &'a StencilRun,
    begin: usize,
}

/// Computes the steps of `N` nodes along an axis. With `CHECK_LIMITS`, it also measures margins and clamps the steps
/// of a uniform run.
#[inline(always)]
fn axis_step<const N: usize, const CHECK_LIMITS: bool, const UNIFORM: bool>(
    lanes: &NodeLanes<'_, N>,
    axis: usize,
    ranges: &[(f32, f32); 6],
    RunOffset {
        stencil,
        run,
        begin,
    }: RunOffset<'_>,
    LaneStiffness { gain, stiffness }: LaneStiffness<'_, N>,
) -> AxisStep<N> {
    let own = read(lanes.own[axis]);
    let mut pull = [0.0_f32; N];
    let (mut least, mut most) = ([f32::NEG_INFINITY; N], [f32::INFINITY; N]);
    for d in 0..6 {
        let beside = read(lanes.beside[d][axis]);
        let (nearest, farthest) = ranges[d];
        for i in 0..N {
            pull[i] = stiffness[d][i].mul_add(beside[i] - own[i], pull[i]);
            if CHECK_LIMITS {
                let linked = stiffness[d][i] > 0.0;
                let (low, high) = (beside[i] - farthest, beside[i] - nearest);
                least[i] = larger(
                    select_unpredictable(linked, low, f32::NEG_INFINITY),
                    least[i],
                );
                most[i] = smaller(select_unpredictable(linked, high, f32::INFINITY), most[i]);
            }
        }
    }
    let mut step = AxisStep {
        to_m: own,
        step_m: [0.0; N],
        work_j: [0.0; N],
        clamped_j: [0.0; N],
        margin_m: [f32::INFINITY; N],
    };
    let mut sum = [0.0; N];
    if CHECK_LIMITS && UNIFORM {
        sum = load_lanes(&stencil.stiffness_sum_npm, run.start + begin);
    }
    for i in 0..N {
        let delta = gain[i] * pull[i];
        let mut delta = select_unpredictable(delta.abs() >= LEAST_M, delta, 0.0);
        step.to_m[i] = own[i] + delta;
        if CHECK_LIMITS && UNIFORM {
            // rounding may leave a link past its limit by one bit
            let (low, high) = (smaller(least[i], own[i]), larger(most[i], own[i]));
            step.to_m[i] = smaller(larger(step.to_m[i], low), high);
            delta = step.to_m[i] - own[i];
            step.clamped_j[i] = delta * (pull[i] - 0.5 * sum[i] * delta);
        } else {
            step.work_j[i] = delta * pull[i];
        }
        step.step_m[i] = delta.abs();
        if CHECK_LIMITS {
            let margin = smaller(own[i] - least[i], most[i] - own[i]);
            // a fixed node brings no link nearer to its limits
            step.margin_m[i] = select_unpredictable(gain[i] > 0.0, margin, f32::INFINITY);
        }
    }
    step
}

/// Steps of `N` nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneSteps<const N: usize> {
    pub(super) to_m: [[f32; N]; 3],
    /// Greatest step of the three axes \[m\].
    pub(super) step_max_m: [f32; N],
    pub(super) work_j: [f32; N],
    pub(super) clamped_j: [f32; N],
    /// Least margin of the three axes \[m\]; 0 without limit checks.
    pub(super) margin_m: [f32; N],
}

impl<const N: usize> LaneSteps<N> {
    /// True if a step exceeds this and the measured margin \[m\].
    #[inline(always)]
    pub(super) fn exceeds(&self, margin_m: f32) -> bool {
        let mut beyond = false;
        for i in 0..N {
            beyond |= self.step_max_m[i] > margin_m + self.margin_m[i];
        }
        beyond
    }
}

/// Computes the steps of `N` nodes of a run; see [`axis_step`].
#[inline(always)]
pub(super) fn lane_steps<const N: usize, const CHECK_LIMITS: bool, const UNIFORM: bool>(
    lanes: &NodeLanes<'_, N>,
    links: RunLinks<'_>,
    ranges: &OffsetRanges,
    RunPass { run, omega, .. }: RunPass<'_>,
    lane: LaneRange,
) -> LaneSteps<N> {
    let mut gain = *lanes.gain;
    let weight: [f32; N] = load_lanes(&LANE_WEIGHTS, LANES_MAX - lane.done);
    for i in 0..N {
        // with limit checks, relaxed nodes are loaded after their step; without, before it, and take the same step
        // again
        gain[i] *= if CHECK_LIMITS {
            omega * weight[i]
        } else {
            omega
        };
    }
    let stiffness = link_stiffness_npm::<N, UNIFORM>(links, run, lane.begin);
    let with = LaneStiffness {
        gain: &gain,
        stiffness: &stiffness,
    };
    let at = RunOffset {
        stencil: links.stencil,
        run,
        begin: lane.begin,
    };
    let x = axis_step::<N, CHECK_LIMITS, UNIFORM>(lanes, 0, &ranges.0[0], at, with);
    let y = axis_step::<N, CHECK_LIMITS, UNIFORM>(lanes, 1, &ranges.0[1], at, with);
    let z = axis_step::<N, CHECK_LIMITS, UNIFORM>(lanes, 2, &ranges.0[2], at, with);
    let mut steps = LaneSteps {
        to_m: [x.to_m, y.to_m, z.to_m],
        step_max_m: [0.0; N],
        work_j: [0.0; N],
        clamped_j: [0.0; N],
        margin_m: [0.0; N],
    };
    for i in 0..N {
        steps.step_max_m[i] = larger(larger(x.step_m[i], y.step_m[i]), z.step_m[i]);
        steps.work_j[i] = (x.work_j[i] + y.work_j[i] + z.work_j[i]) * weight[i];
    }
    if CHECK_LIMITS {
        for i in 0..N {
            steps.clamped_j[i] = x.clamped_j[i] + y.clamped_j[i] + z.clamped_j[i];
            steps.margin_m[i] = smaller(smaller(x.margin_m[i], y.margin_m[i]), z.margin_m[i]);
        }
    }
    steps
}
