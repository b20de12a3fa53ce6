//! Pyramid of node counts over cells, to skip empty space.
//!
//! Source: seed-001 row FU-04 ("octree-like sub-volume culling"). Every level halves the cells of the one before; a
//! count is the number of nodes below. An edit changes one count per level, so carving and deformation cause no
//! rebuild, of which the source warns.

/// Counts of a body in boxes of 1, 2, 4 ... cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountPyramid {
    low: [i32; 3],
    levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    size: [i32; 3],
    counts: Vec<u32>,
}

impl Level {
    fn slot(&self, node: [i32; 3]) -> Option<usize> {
        let inside = (0..3).all(|axis| (0..self.size[axis]).contains(&node[axis]));
        let flat = (node[2] * self.size[1] + node[1]) * self.size[0] + node[0];
        if inside {
            usize::try_from(flat).ok()
        } else {
            None
        }
    }
}

impl CountPyramid {
    /// Returns an empty pyramid over the cells from `low` to `high`, both included. None if it would have more than
    /// 2^30 cells, or none.
    #[must_use]
    pub fn new(low: [i32; 3], high: [i32; 3]) -> Option<Self> {
        let mut size = [0; 3];
        for axis in 0..3 {
            size[axis] = high[axis].checked_sub(low[axis])?.checked_add(1)?;
        }
        let mut levels = Vec::new();
        loop {
            let sides = size.map(i64::from);
            if sides.iter().any(|side| !(1..=1 << 20).contains(side)) {
                return None;
            }
            let count = usize::try_from(sides.iter().product::<i64>()).ok()?;
            if count > 1 << 30 {
                return None;
            }
            levels.push(Level {
                size,
                counts: vec![0; count],
            });
            if size == [1; 3] {
                return Some(Self { low, levels });
            }
            size = size.map(|side| (side + 1) / 2);
        }
    }

    /// Returns the pyramid of these cells.
    #[must_use]
    pub fn of(cells: &[[i32; 3]]) -> Option<Self> {
        let edge = |pick: fn(i32, i32) -> i32| {
            let fold = |a: [i32; 3], b: &[i32; 3]| std::array::from_fn(|k| pick(a[k], b[k]));
            cells
                .iter()
                .fold(cells.first().copied().unwrap_or_default(), fold)
        };
        let mut pyramid = Self::new(edge(i32::min), edge(i32::max))?;
        for &cell in cells {
            pyramid.insert(cell);
        }
        Some(pyramid)
    }

    /// Changes the counts above a cell; returns true if the cell is in the box.
    fn change(&mut self, cell: [i32; 3], by: impl Fn(u32) -> Option<u32>) -> bool {
        let mut node: [i32; 3] =
            std::array::from_fn(|axis| cell[axis].wrapping_sub(self.low[axis]));
        let bottom = &self.levels[0];
        let held = bottom.slot(node).and_then(|slot| by(bottom.counts[slot]));
        if held.is_none() {
            return false;
        }
        for level in &mut self.levels {
            if let Some(slot) = level.slot(node) {
                level.counts[slot] = by(level.counts[slot]).unwrap_or(0);
            }
            node = node.map(|along| along >> 1);
        }
        true
    }

    /// Adds a node to a cell; returns true if the cell is in the box.
    pub fn insert(&mut self, cell: [i32; 3]) -> bool {
        self.change(cell, |count| count.checked_add(1))
    }

    /// Removes a node from a cell; returns true if there was one.
    pub fn remove(&mut self, cell: [i32; 3]) -> bool {
        self.change(cell, |count| count.checked_sub(1))
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.levels.last().map_or(0, |top| top.counts[0])
    }

    /// Returns the number of nodes in a box of 2^`level` cells that begins at `corner`, or in a larger one; 0 only if
    /// there is none.
    fn some_in(&self, level: usize, corner: [i64; 3], tests: &mut u64) -> bool {
        let width = 1_i64 << level;
        // a pyramid with fewer levels has one box at its top for all
        let level = level.min(self.levels.len() - 1);
        let (tier, edge) = (&self.levels[level], 1_i64 << level);
        let from: [i64; 3] = std::array::from_fn(|axis| corner[axis] - i64::from(self.low[axis]));
        let range = |axis: usize| {
            let first = from[axis].div_euclid(edge).max(0);
            let last = (from[axis] + width - 1).div_euclid(edge);
            first..=last.min(i64::from(tier.size[axis]) - 1)
        };
        for z in range(2) {
            for y in range(1) {
                for x in range(0) {
                    *tests += 1;
                    let flat = (z * i64::from(tier.size[1]) + y) * i64::from(tier.size[0]) + x;
                    if usize::try_from(flat).is_ok_and(|slot| tier.counts[slot] > 0) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Calls `found` for cells of this body in which another body has nodes, at an offset of `shift` cells. Returns
    /// the number of boxes and cells that were tested.
    pub fn overlap(&self, other: &Self, shift: [i32; 3], mut found: impl FnMut([i32; 3])) -> u64 {
        let mut tests = 0;
        // boxes to test: at most seven remain per level
        let mut open = vec![(self.levels.len() - 1, [0_i32; 3])];
        while let Some((level, node)) = open.pop() {
            tests += 1;
            let tier = &self.levels[level];
            if tier.slot(node).is_none_or(|slot| tier.counts[slot] == 0) {
                continue;
            }
            let corner: [i64; 3] = std::array::from_fn(|axis| {
                let own = (i64::from(node[axis]) << level) + i64::from(self.low[axis]);
                own - i64::from(shift[axis])
            });
            if !other.near(level, corner) || !other.some_in(level, corner, &mut tests) {
                continue;
            }
            if level == 0 {
                found(std::array::from_fn(|axis| node[axis] + self.low[axis]));
                continue;
            }
            let below = &self.levels[level - 1];
            for child in (0..8).rev() {
                let part = [child & 1, child >> 1 & 1, child >> 2];
                let node = std::array::from_fn(|axis| 2 * node[axis] + part[axis]);
                if below.slot(node).is_some() {
                    open.push((level - 1, node));
                }
            }
        }
        tests
    }

    /// True if a box of 2^`level` cells from `corner` overlaps this body's box.
    fn near(&self, level: usize, corner: [i64; 3]) -> bool {
        (0..3).all(|axis| {
            let low = i64::from(self.low[axis]);
            let side = i64::from(self.levels[0].size[axis]);
            corner[axis] < low + side && corner[axis] + (1_i64 << level) > low
        })
    }
}
