//! Maps that exist only where two bodies may overlap.
//!
//! Source: seed-001 section 3.2.5 (row CD-11): boxes around bodies are compared along one axis in their order, and
//! cells are made for what two boxes have in common, one cell wider, and dropped.

use crate::voxel::collide::grid::Grid;
use crate::voxel::links::NONE;
use palpate_twin::Vec3;

/// A box around places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Around {
    /// Least coordinates \[m\].
    pub low_m: Vec3,
    /// Greatest \[m\].
    pub high_m: Vec3,
}

impl Around {
    /// All of these; none of no places.
    #[must_use]
    pub fn of(places_m: &[Vec3]) -> Option<Self> {
        let first = *places_m.first()?;
        let mut around = Self {
            low_m: first,
            high_m: first,
        };
        for place_m in places_m {
            around.low_m = around.low_m.inf(place_m);
            around.high_m = around.high_m.sup(place_m);
        }
        Some(around)
    }

    /// What both have in common, after each has grown by a margin \[m\]; none if nothing.
    #[must_use]
    pub fn common(&self, other: &Self, wider_m: f64) -> Option<Self> {
        let by = Vec3::repeat(wider_m);
        let low_m = self.low_m.sup(&other.low_m) - by;
        let high_m = self.high_m.inf(&other.high_m) + by;
        let some = (0..3).all(|axis| low_m[axis] <= high_m[axis]);
        some.then_some(Self { low_m, high_m })
    }
}

/// Pairs of boxes that are nearer than `wider_m` twice, by sweep and prune along x: lower number first, in order.
#[must_use]
pub fn pairs(boxes: &[Around], wider_m: f64) -> Vec<[usize; 2]> {
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|&a, &b| boxes[a].low_m.x.total_cmp(&boxes[b].low_m.x));
    let mut pairs = Vec::new();
    for (nth, &a) in order.iter().enumerate() {
        for &b in &order[nth + 1..] {
            if boxes[b].low_m.x > boxes[a].high_m.x + 2.0 * wider_m {
                break;
            }
            if boxes[a].common(&boxes[b], wider_m).is_some() {
                pairs.push([a.min(b), a.max(b)]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Room for a map, kept from one use to the next.
#[derive(Debug, Clone, Default)]
pub struct Local {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Local {
    /// Cells that memory is taken for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.heads.capacity()
    }

    /// Pairs of elements, by their number in `a_m` and in `b_m`, that share a cell of the grid: those that a map
    /// of everything would find. Memory is taken by the volume of the overlap, none where there is none.
    ///
    /// The grid need not reach to where the bodies are, but says where its cells would be.
    #[must_use]
    pub fn hits(&mut self, grid: &Grid, a_m: &[Vec3], b_m: &[Vec3]) -> Vec<[u32; 2]> {
        let mut hits = Vec::new();
        let around = Around::of(a_m).zip(Around::of(b_m));
        let common = around.and_then(|(a, b)| a.common(&b, grid.pitch_m()));
        let Some((low, patch)) = common.and_then(|common| patch(grid, &common)) else {
            return hits;
        };
        let index = |at_m: &Vec3| {
            let cell = grid.cell(at_m)?;
            let near: [i32; 3] = std::array::from_fn(|axis| cell[axis] - low[axis]);
            patch
                .index(near)
                .and_then(|index| usize::try_from(index).ok())
        };
        self.heads.clear();
        self.heads
            .resize(usize::try_from(patch.count()).unwrap_or(0), NONE);
        self.next.clear();
        self.next.resize(b_m.len(), NONE);
        // last first, so that lists are in order
        for nth in (0..u32::try_from(b_m.len()).unwrap_or(NONE)).rev() {
            let at_m = &b_m[nth as usize];
            if let Some(cell) = index(at_m) {
                self.next[nth as usize] = self.heads[cell];
                self.heads[cell] = nth;
            }
        }
        for (nth, at_m) in (0..).zip(a_m) {
            let Some(cell) = index(at_m) else { continue };
            let mut other = self.heads[cell];
            while other != NONE {
                hits.push([nth, other]);
                other = self.next[other as usize];
            }
        }
        hits
    }
}

/// The first cell of a box, and a grid of as many cells as it takes.
fn patch(grid: &Grid, common: &Around) -> Option<([i32; 3], Grid)> {
    let (low, high) = (grid.cell(&common.low_m)?, grid.cell(&common.high_m)?);
    let size = std::array::from_fn(|axis| (high[axis] - low[axis]).unsigned_abs() + 1);
    let patch = Grid::new(Vec3::zeros(), grid.pitch_m(), size).ok()?;
    Some((low, patch))
}
