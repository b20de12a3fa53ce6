//! Who goes when: classes of planes, what goes together, and what is worked on together.
//!
//! Source: ours; multiple time stepping by impulses, as [`super::step`].

use super::Params;
use super::build::CLASSES;
use super::cells::{RUN, Run};
use super::grid::{Chunk, Grid, Sheet, Slab};
use super::lane::LANES;
use super::matter::{Matter, own};
use palpate_geometry::mesh::nested::LEVELS_MAX;
use std::ops::Range;

/// Class of every plane of cells of every grid: the slowest that its cells bear, and at most one
/// slower than planes beside it. Impulses that are saved up for `n` sub-steps drive what swings in
/// `2 n` of them (Biesiadecki and Skeel 1993); with neighbours that differ by a factor of two, that
/// is about as fast as the step lets anything swing. Four beside one blew up (measured).
pub(super) fn classes(matter: &Matter, greatest: f64) -> Vec<Vec<usize>> {
    let (nested, params) = (matter.nested, matter.params);
    let levels = nested.levels.iter().enumerate();
    let planes = levels.map(|(index, level)| {
        let mut needs = vec![0.0_f64; level.cells[2]];
        for (place, cell) in own(level) {
            let need = matter.ask(index, cell).alone();
            needs[place[2]] = needs[place[2]].max(need);
        }
        let class = |need: &f64| class(*need, greatest, params);
        needs.iter().map(class).collect()
    });
    let mut planes: Vec<Vec<usize>> = planes.collect();
    // a bound passes at least one plane further each time, and goes no further than there are classes
    for _ in 0..CLASSES {
        for own in &mut planes {
            for k in 1..own.len() {
                let (below, above) = own.split_at_mut(k);
                agree(&mut below[k - 1], &mut above[0]);
            }
        }
        for (index, next) in nested.levels.iter().enumerate().skip(1) {
            let (above, fine) = planes.split_at_mut(index);
            for (k, fine) in fine[0].iter_mut().enumerate() {
                // beside it and, for the first and last, beyond the seam
                let (beside, cells) = (next.corner[2] + k / 2, next.cells[2]);
                let from = if k == 0 {
                    beside.saturating_sub(1)
                } else {
                    beside
                };
                let to = if k + 1 == cells { beside + 1 } else { beside };
                let coarse = above[index - 1].iter_mut().take(to + 1).skip(from);
                coarse.for_each(|coarse| agree(coarse, fine));
            }
        }
    }
    planes
}

/// Leaves neither of two classes more than one slower than the other.
pub(super) fn agree(one: &mut usize, other: &mut usize) {
    *one = (*one).min(*other + 1);
    *other = (*other).min(*one + 1);
}

/// The slowest class that cells of such a bound bear; a class is a factor of four.
pub(super) fn class(need: f64, greatest: f64, params: &Params) -> usize {
    let fits = |class: &usize| need * f64::from(1_u32 << (2 * class)) <= greatest;
    (0..params.classes).rev().find(fits).unwrap_or(0)
}

/// Most chunks of all grids. How grids are cut decides the order of sums, and so their last bits.
const CHUNKS: usize = 30;
/// Most chunks of a grid.
const CHUNKS_OF_GRID: usize = 8;
/// Fewest cells of a chunk.
const CHUNK_CELLS: usize = 500;

const _: () = assert!(CHUNKS / LEVELS_MAX > 1);

/// Cuts a grid, one of so many, into chunks of whole planes, with the slabs and sheets of each.
pub(super) fn cut(grid: &mut Grid, classes: &[usize], grids: usize) {
    let cells = classes.len() * (grid.nodes[0] - 1) * (grid.nodes[1] - 1);
    let most = (CHUNKS / grids).min(CHUNKS_OF_GRID).min(classes.len());
    let count = (cells / CHUNK_CELLS).clamp(1, most);
    let mut from = 0;
    for chunk in 1..=count {
        let planes = from..classes.len() * chunk / count;
        let (slab, sheet) = (grid.slabs.len(), grid.sheets.len());
        let end = if chunk == count {
            grid.mass.len()
        } else {
            planes.end * grid.plane
        };
        let (slabs, sheets) = (
            slabs(grid, classes, planes.clone()),
            sheets(grid, classes, planes.clone()),
        );
        grid.slabs.extend(slabs);
        grid.sheets.extend(sheets);
        grid.chunks.push(Chunk {
            slabs: slab..grid.slabs.len(),
            sheets: sheet..grid.sheets.len(),
            places: planes.start * grid.plane..end,
        });
        from = planes.end;
    }
}

/// Neighbouring planes of equal class, with the runs of their cells.
fn slabs(grid: &Grid, classes: &[usize], planes: Range<usize>) -> Vec<Slab> {
    let mut slabs: Vec<Slab> = Vec::new();
    let mut first = planes.start;
    for group in classes[planes].chunk_by(|a, b| a == b) {
        let (from, to) = (first * grid.plane, (first + group.len()) * grid.plane);
        first += group.len();
        let mut runs: Vec<Run> = Vec::new();
        for start in (from..to).step_by(LANES) {
            if grid.cells.mu[start..start + LANES]
                .iter()
                .all(|&mu| mu == 0.0)
            {
                continue;
            }
            match runs.last_mut() {
                Some((at, length)) if *at + *length == start && *length < RUN => *length += LANES,
                _ => runs.push((start, LANES)),
            }
        }
        let viscous = match &grid.viscous {
            Some(viscous) => of_lanes(&runs, |start| viscous.any(start)),
            None => Vec::new(),
        };
        slabs.push(Slab {
            class: group[0],
            runs,
            viscous,
        });
    }
    slabs
}

/// The parts of runs of which some lanes are wanted.
pub(super) fn of_lanes(runs: &[Run], wanted: impl Fn(usize) -> bool) -> Vec<Run> {
    let mut parts: Vec<Run> = Vec::new();
    for &(from, length) in runs {
        for start in (from..from + length)
            .step_by(LANES)
            .filter(|&at| wanted(at))
        {
            match parts.last_mut() {
                Some((at, length)) if *at + *length == start && *length < RUN => *length += LANES,
                _ => parts.push((start, LANES)),
            }
        }
    }
    parts
}

/// Neighbouring planes of nodes that go together: as often as the faster cells beside them.
fn sheets(grid: &Grid, classes: &[usize], planes: Range<usize>) -> Vec<Sheet> {
    let class = |k: usize| {
        let below = k.checked_sub(1).map_or(usize::MAX, |k| classes[k]);
        below.min(classes.get(k).copied().unwrap_or(usize::MAX))
    };
    let last = usize::from(planes.end == classes.len());
    let mut sheets: Vec<Sheet> = Vec::new();
    for k in planes.start..planes.end + last {
        let nodes = k * grid.plane..(k + 1) * grid.plane;
        match sheets.last_mut() {
            Some(sheet) if sheet.class == class(k) => sheet.nodes.end = nodes.end,
            _ => sheets.push(Sheet {
                class: class(k),
                nodes,
            }),
        }
    }
    sheets
}
