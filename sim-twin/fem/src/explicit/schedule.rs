//! Step schedule: classes of planes of cells, and their division into slabs, ranges and chunks.
//!
//! Source: ours; multiple time stepping by impulses, see [`super::step`].

use super::ExplicitParams;
use super::build::CLASSES;
use super::cells::{RUN_MAX, Run};
use super::grid::{Chunk, Grid, NodeRange, Slab};
use super::material::{CellMaterials, unreplaced_cells};
use super::simd::SIMD_WIDTH;
use palpate_geometry::mesh::nested_grid::LEVELS_MAX;
use std::ops::Range;

/// Returns the class of every plane of cells of every grid: the slowest that is stable for its cells, and at
/// most one slower than those of adjacent planes. Impulses accumulated over `n` sub-steps excite oscillations
/// of `2 n` sub-steps (Biesiadecki and Skeel 1993). With a factor of two between neighbours that is near the
/// fastest oscillation that the step allows. A factor of four was unstable (measured).
pub(super) fn classes(materials: &CellMaterials, greatest: f64) -> Vec<Vec<usize>> {
    let (nested, params) = (materials.nested, materials.params);
    let levels = nested.levels.iter().enumerate();
    let planes = levels.map(|(index, level)| {
        let mut demands = vec![0.0_f64; level.cells[2]];
        for (place, cell) in unreplaced_cells(level) {
            let demand = materials.step_demand(index, cell).on_own_steps();
            demands[place[2]] = demands[place[2]].max(demand);
        }
        let class = |demand: &f64| slowest_class(*demand, greatest, params);
        demands.iter().map(class).collect()
    });
    let mut planes: Vec<Vec<usize>> = planes.collect();
    // a bound moves at least one plane per pass, and no further than there are classes
    for _ in 0..CLASSES {
        for own in &mut planes {
            for k in 1..own.len() {
                let (below, above) = own.split_at_mut(k);
                limit_class_gap(&mut below[k - 1], &mut above[0]);
            }
        }
        for (index, next) in nested.levels.iter().enumerate().skip(1) {
            let (above, fine) = planes.split_at_mut(index);
            for (k, fine) in fine[0].iter_mut().enumerate() {
                // the adjacent plane and, for the first and last, the one beyond the border
                let (adjacent, cells) = (next.parent_cell[2] + k / 2, next.cells[2]);
                let from = adjacent.saturating_sub(usize::from(k == 0));
                let to = adjacent + usize::from(k + 1 == cells);
                let coarse = above[index - 1].iter_mut().take(to + 1).skip(from);
                coarse.for_each(|coarse| limit_class_gap(coarse, fine));
            }
        }
    }
    planes
}

/// Limits both classes to one above the other.
pub(super) fn limit_class_gap(one: &mut usize, other: &mut usize) {
    *one = (*one).min(*other + 1);
    *other = (*other).min(*one + 1);
}

/// Returns the slowest class that is stable for a bound `demand`; one class is a factor of four.
pub(super) fn slowest_class(demand: f64, greatest: f64, params: &ExplicitParams) -> usize {
    let fits = |class: &usize| demand * f64::from(1_u32 << (2 * class)) <= greatest;
    (0..params.classes).rev().find(fits).unwrap_or(0)
}

/// Largest number of chunks of all grids. Chunks define the order of sums, and so their last bits.
const CHUNKS: usize = 30;
/// Largest number of chunks of a grid.
const CHUNKS_OF_GRID: usize = 8;
/// Smallest number of cells of a chunk.
const CHUNK_CELLS: usize = 500;

const _: () = assert!(CHUNKS / LEVELS_MAX > 1);

/// Cuts one of `grids` grids into chunks of whole planes, with the slabs and node ranges of each.
pub(super) fn cut_chunks(grid: &mut Grid, classes: &[usize], grids: usize) {
    let cells = classes.len() * (grid.nodes[0] - 1) * (grid.nodes[1] - 1);
    let most = (CHUNKS / grids).min(CHUNKS_OF_GRID).min(classes.len());
    let count = (cells / CHUNK_CELLS).clamp(1, most);
    let mut from = 0;
    for chunk in 1..=count {
        let planes = from..classes.len() * chunk / count;
        let (slab, range) = (grid.slabs.len(), grid.node_ranges.len());
        let end = if chunk == count {
            grid.mass.len()
        } else {
            planes.end * grid.plane
        };
        let (slabs, ranges) = (
            slabs(grid, classes, planes.clone()),
            node_ranges(grid, classes, planes.clone()),
        );
        grid.slabs.extend(slabs);
        grid.node_ranges.extend(ranges);
        grid.chunks.push(Chunk {
            slabs: slab..grid.slabs.len(),
            node_ranges: range..grid.node_ranges.len(),
            places: planes.start * grid.plane..end,
        });
        from = planes.end;
    }
}

/// Returns slabs: adjacent planes of equal class, with the runs of their cells.
fn slabs(grid: &Grid, classes: &[usize], planes: Range<usize>) -> Vec<Slab> {
    let mut slabs: Vec<Slab> = Vec::new();
    let mut first = planes.start;
    for group in classes[planes].chunk_by(|a, b| a == b) {
        let (from, to) = (first * grid.plane, (first + group.len()) * grid.plane);
        first += group.len();
        let holds = |start: usize| {
            grid.cells.mu[start..start + SIMD_WIDTH]
                .iter()
                .any(|&mu| mu != 0.0)
        };
        let runs = runs_where(&[(from, to - from)], holds);
        let viscous = match &grid.viscous {
            Some(viscous) => runs_where(&runs, |start| viscous.any(start)),
            None => Vec::new(),
        };
        let law_runs = law_runs(grid, &runs);
        slabs.push(Slab {
            class: group[0],
            runs,
            law_runs,
            viscous,
        });
    }
    slabs
}

/// Returns runs by law, for a grid with several.
fn law_runs(grid: &Grid, runs: &[Run]) -> Vec<(u32, Vec<Run>)> {
    let most = grid.laws.iter().max().copied();
    let of = |law: u32| {
        let has = |at: usize| grid.laws[at] == law && grid.cells.mu[at] != 0.0;
        (
            law,
            runs_where(runs, |start| (start..start + SIMD_WIDTH).any(has)),
        )
    };
    let all = most.into_iter().flat_map(|most| (0..=most).map(of));
    all.filter(|(_, runs)| !runs.is_empty()).collect()
}

/// Returns the parts of runs in whose SIMD blocks `wanted` is true.
pub(super) fn runs_where(runs: &[Run], wanted: impl Fn(usize) -> bool) -> Vec<Run> {
    let mut parts: Vec<Run> = Vec::new();
    for &(from, length) in runs {
        for start in (from..from + length)
            .step_by(SIMD_WIDTH)
            .filter(|&at| wanted(at))
        {
            match parts.last_mut() {
                Some((at, length)) if *at + *length == start && *length < RUN_MAX => {
                    *length += SIMD_WIDTH
                }
                _ => parts.push((start, SIMD_WIDTH)),
            }
        }
    }
    parts
}

/// Returns ranges of adjacent planes of nodes with one class: that of the faster adjacent cells.
fn node_ranges(grid: &Grid, classes: &[usize], planes: Range<usize>) -> Vec<NodeRange> {
    let class = |k: usize| {
        let below = k.checked_sub(1).map_or(usize::MAX, |k| classes[k]);
        below.min(classes.get(k).copied().unwrap_or(usize::MAX))
    };
    let last = usize::from(planes.end == classes.len());
    let mut ranges: Vec<NodeRange> = Vec::new();
    for k in planes.start..planes.end + last {
        let nodes = k * grid.plane..(k + 1) * grid.plane;
        match ranges.last_mut() {
            Some(range) if range.class == class(k) => range.nodes.end = nodes.end,
            _ => ranges.push(NodeRange {
                class: class(k),
                nodes,
            }),
        }
    }
    ranges
}
