//! First entry of every cell: one number per cell, in an array or in a hash table.
//!
//! Source: seed-001 section 3.2.1, "sparse alternative". Both return equal results; the table uses memory by content,
//! the array is faster.

use crate::voxel::storage::NONE;

/// Marks a free place of the table.
const FREE: u64 = u64::MAX;

/// Heads of the lists of cells.
#[derive(Debug, Clone)]
pub(super) enum CellHeads {
    /// One entry per cell.
    Dense(Vec<u32>),
    /// Entries of occupied cells only.
    Hashed(HashTable),
}

impl CellHeads {
    /// Returns the head of a cell; [`NONE`] if it is empty.
    #[inline]
    pub(super) fn get(&self, cell: u64) -> u32 {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "made to this length")]
            Self::Dense(heads) => heads.get(cell as usize).copied().unwrap_or(NONE),
            Self::Hashed(table) => table.get(cell),
        }
    }

    /// Sets the head of a cell, or empties it with [`NONE`].
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

    /// Reserves memory for this number of cells in all.
    pub(super) fn reserve(&mut self, cells: usize) {
        if let Self::Hashed(table) = self {
            table.reserve(cells);
        }
    }

    /// Returns all occupied cells, by number.
    pub(super) fn used(&self) -> Vec<(u64, u32)> {
        let mut used: Vec<(u64, u32)> = match self {
            Self::Dense(heads) => (0..).zip(heads.iter().copied()).collect(),
            Self::Hashed(table) => table.places.clone(),
        };
        used.retain(|&(cell, head)| cell != FREE && head != NONE);
        used.sort_unstable();
        used
    }

    /// Returns the number of cells with allocated memory.
    pub(super) fn allocated_cells(&self) -> usize {
        match self {
            Self::Dense(heads) => heads.len(),
            Self::Hashed(table) => table.places.len(),
        }
    }
}

/// A hash table with open addressing, at most half full; a removal moves later entries up, so it leaves no markers.
#[derive(Debug, Clone, Default)]
pub(super) struct HashTable {
    places: Vec<(u64, u32)>,
}

impl HashTable {
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

    /// Returns the first place of a cell's search.
    fn home(&self, cell: u64) -> usize {
        let bits = self.places.len().trailing_zeros();
        // rows of cells have even strides, which one product alone would cluster (Steele et al. 2014, SplitMix)
        let mut mixed = cell.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_possible_truncation, reason = "less than the length")]
        let home = (mixed >> (64 - bits)) as usize;
        home
    }

    /// Returns the place of a cell, or the free one for it.
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

    /// Frees a place, and moves up the entries behind it that a search would miss.
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
    fn hash_table_matches_a_tree_map() {
        let mut table = CellHeads::Hashed(HashTable::default());
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
