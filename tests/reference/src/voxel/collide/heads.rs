//! Who is first in a cell: one number a cell, in an array or in a table by hash.
//!
//! Source: seed-001 section 3.2.1, "sparse alternative". Both answer alike; the table takes memory by what is in
//! it, the array answers sooner.

use crate::voxel::links::NONE;

/// Free place of a table.
const FREE: u64 = u64::MAX;

/// Heads of the lists of cells.
#[derive(Debug, Clone)]
pub(super) enum Heads {
    /// One place a cell.
    Dense(Vec<u32>),
    /// Only cells that are not empty.
    Hashed(Table),
}

impl Heads {
    /// Of a cell, [`NONE`] if it is empty.
    #[inline]
    pub(super) fn get(&self, cell: u64) -> u32 {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "made to this length")]
            Self::Dense(heads) => heads.get(cell as usize).copied().unwrap_or(NONE),
            Self::Hashed(table) => table.get(cell),
        }
    }

    /// Puts it there, or empties the cell with [`NONE`].
    #[inline]
    pub(super) fn set(&mut self, cell: u64, head: u32) {
        match self {
            Self::Dense(heads) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "made to this length")]
                if let Some(place) = heads.get_mut(cell as usize) {
                    *place = head;
                }
            }
            Self::Hashed(table) => table.set(cell, head),
        }
    }

    /// Makes room for so many cells in all.
    pub(super) fn reserve(&mut self, cells: usize) {
        if let Self::Hashed(table) = self {
            table.reserve(cells);
        }
    }

    /// All cells that are not empty, by number.
    pub(super) fn used(&self) -> Vec<(u64, u32)> {
        let mut used: Vec<(u64, u32)> = match self {
            Self::Dense(heads) => (0..).zip(heads.iter().copied()).collect(),
            Self::Hashed(table) => table.places.clone(),
        };
        used.retain(|&(cell, head)| cell != FREE && head != NONE);
        used.sort_unstable();
        used
    }

    /// Cells that memory is taken for.
    pub(super) fn room(&self) -> usize {
        match self {
            Self::Dense(heads) => heads.len(),
            Self::Hashed(table) => table.places.len(),
        }
    }
}

/// A table with open addressing, at most half full; a place that gets free is filled from behind, so that it never
/// wears out.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    places: Vec<(u64, u32)>,
}

impl Table {
    fn reserve(&mut self, cells: usize) {
        let want = (2 * cells).next_power_of_two().max(16);
        if want <= self.places.len() {
            return;
        }
        let old = std::mem::replace(&mut self.places, vec![(FREE, NONE); want]);
        for (cell, head) in old.into_iter().filter(|&(cell, _)| cell != FREE) {
            self.set(cell, head);
        }
    }

    /// Where a search begins.
    fn home(&self, cell: u64) -> usize {
        let bits = self.places.len().trailing_zeros();
        // rows of cells are even steps, which one product alone would heap up (Steele et al. 2014, SplitMix)
        let mut mixed = cell.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_possible_truncation, reason = "less than the length")]
        let home = (mixed >> (64 - bits)) as usize;
        home
    }

    /// Its place, or the free one where it would be.
    fn find(&self, cell: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.home(cell);
        while self.places[place].0 != FREE && self.places[place].0 != cell {
            place = (place + 1) & mask;
        }
        place
    }

    fn get(&self, cell: u64) -> u32 {
        if self.places.is_empty() {
            return NONE;
        }
        // a free place holds no head
        self.places[self.find(cell)].1
    }

    fn set(&mut self, cell: u64, head: u32) {
        if self.places.is_empty() {
            return;
        }
        let place = self.find(cell);
        if head != NONE {
            self.places[place] = (cell, head);
        } else if self.places[place].0 == cell {
            self.free(place);
        }
    }

    /// Frees a place, and moves up who could not be found behind a free one.
    fn free(&mut self, mut hole: usize) {
        let mask = self.places.len() - 1;
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let (cell, _) = self.places[place];
            if cell == FREE {
                break;
            }
            let from_home = place.wrapping_sub(self.home(cell)) & mask;
            if from_home >= (place.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[place];
                hole = place;
            }
        }
        self.places[hole] = (FREE, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_table_answers_as_a_tree_does() {
        let mut table = Heads::Hashed(Table::default());
        table.reserve(100);
        let mut tree = BTreeMap::new();
        let mut x = 1_u64;
        for k in 0..20_000_u32 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let cell = (x >> 33) % 150;
            if x >> 63 == 0 || tree.len() >= 100 {
                table.set(cell, NONE);
                tree.remove(&cell);
            } else {
                table.set(cell, k);
                tree.insert(cell, k);
            }
            let probe = (x >> 20) % 150;
            assert_eq!(table.get(probe), tree.get(&probe).copied().unwrap_or(NONE));
        }
        assert_eq!(table.used(), tree.into_iter().collect::<Vec<_>>());
    }
}
