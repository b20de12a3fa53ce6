//! Collision maps that exist only where two bodies may overlap.
//!
//! Source: seed-001 section 3.2.5 (row CD-11). Boxes around bodies are compared along one sorted axis. Cells are
//! created for the common part of two boxes, one cell wider, and dropped after.

use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::storage::NONE;
use palpate_twin::Vec3;

/// Axis-aligned bounding box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyBox {
    /// Lower corner \[m\].
    pub low_m: Vec3,
    /// Upper corner \[m\].
    pub high_m: Vec3,
}

impl BodyBox {
    /// Returns the bounding box of places; none if there are none.
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

    /// Returns the common part of two boxes after both grew by a margin \[m\]; none if it is empty.
    #[must_use]
    pub fn common(&self, other: &Self, wider_m: f64) -> Option<Self> {
        let by = Vec3::repeat(wider_m);
        let low_m = self.low_m.sup(&other.low_m) - by;
        let high_m = self.high_m.inf(&other.high_m) + by;
        let some = (0..3).all(|axis| low_m[axis] <= high_m[axis]);
        some.then_some(Self { low_m, high_m })
    }
}

/// Returns pairs of boxes that are nearer than twice `wider_m`, by sweep and prune along x: lower number first,
/// sorted.
#[must_use]
pub fn pairs(boxes: &[BodyBox], wider_m: f64) -> Vec<[usize; 2]> {
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

/// Storage of a map, kept from one use to the next.
#[derive(Debug, Clone, Default)]
pub struct LocalMap {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl LocalMap {
    /// Returns the number of cells with allocated memory.
    #[must_use]
    pub fn allocated_cells(&self) -> usize {
        self.heads.capacity()
    }

    /// Returns pairs of nodes, by index in `a_m` and in `b_m`, that share a cell of the grid: those that a global map
    /// would find. Memory grows with the overlap.
    ///
    /// The grid need not contain the bodies; it only defines the cells.
    #[must_use]
    pub fn hits(&mut self, grid: &CollisionGrid, a_m: &[Vec3], b_m: &[Vec3]) -> Vec<[u32; 2]> {
        let mut hits = Vec::new();
        let around = BodyBox::of(a_m).zip(BodyBox::of(b_m));
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
        // last first, so that lists are sorted
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

/// Returns the first cell of a box, and a grid of the cells that it needs.
fn patch(grid: &CollisionGrid, common: &BodyBox) -> Option<([i32; 3], CollisionGrid)> {
    let (low, high) = (grid.cell(&common.low_m)?, grid.cell(&common.high_m)?);
    let size = std::array::from_fn(|axis| (high[axis] - low[axis]).unsigned_abs() + 1);
    let patch = CollisionGrid::new(Vec3::zeros(), grid.pitch_m(), size).ok()?;
    Some((low, patch))
}
