//! Where elements are now, by cells of space: what a tool may meet, found without a look at all the others.
//!
//! Source: seed-001 section 3.2.1 "sparse alternative": a hash grid of fixed size. Room is made once; an element
//! that moves costs one look at its old and its new cell. Answers are in the order of slots.

use crate::elements::{Elements, NONE, to_f64};
use palpate_twin::Vec3;
use palpate_twin::law::Real;

/// The cell of no element.
const NOWHERE: [i32; 3] = [i32::MIN; 3];

/// A box along the axes of the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    /// Its least corner \[m\].
    pub(super) low_m: Vec3,
    /// The most of it \[m\].
    pub(super) high_m: Vec3,
}

impl Extent {
    /// So far around a place \[m\].
    pub(super) fn around(at_m: &Vec3, reach_m: f64) -> Self {
        let by = Vec3::repeat(reach_m);
        Self {
            low_m: at_m - by,
            high_m: at_m + by,
        }
    }

    /// Whether a place is in it.
    pub(super) fn holds(&self, at_m: &Vec3) -> bool {
        (0..3).all(|axis| (self.low_m[axis]..=self.high_m[axis]).contains(&at_m[axis]))
    }
}

/// The cells of a volume.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    pitch_m: f64,
    /// First slot of a bucket.
    head: Vec<u32>,
    /// The next slot of the same bucket.
    next: Vec<u32>,
    cell: Vec<[i32; 3]>,
    /// Elements that were looked at so far.
    pub(super) looked: u64,
}

impl Cells {
    /// The cells of a volume as it is; as wide as its largest spacing.
    pub(super) fn new<R: Real>(elements: &Elements<R>) -> Self {
        let slots = elements.slots() as usize;
        let spacing_m = elements.frame().spacing_m;
        let mut cells = Self {
            pitch_m: spacing_m.into_iter().fold(0.0, f64::max),
            head: vec![NONE; slots.next_power_of_two()],
            next: vec![NONE; slots],
            cell: vec![NOWHERE; slots],
            looked: 0,
        };
        cells.follow_all(elements);
        cells
    }

    /// Width of a cell \[m\].
    pub(super) const fn pitch_m(&self) -> f64 {
        self.pitch_m
    }

    /// The cell of a place.
    pub(super) fn of(&self, at_m: &Vec3) -> [i32; 3] {
        // beyond the numbers of cells all is one cell
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        std::array::from_fn(|axis| ((at_m[axis] / self.pitch_m).floor() as i32).max(-i32::MAX))
    }

    /// Brings one element up to date, moved, gone or back.
    pub(super) fn follow<R: Real>(&mut self, elements: &Elements<R>, element: u32) {
        let slot = element as usize;
        let cell = if elements.alive(element) {
            self.of(&elements.at_m(element))
        } else {
            NOWHERE
        };
        let was = self.cell[slot];
        if cell == was {
            return;
        }
        if was != NOWHERE {
            self.unhook(self.bucket(was), element);
        }
        self.cell[slot] = cell;
        if cell != NOWHERE {
            let bucket = self.bucket(cell);
            self.next[slot] = std::mem::replace(&mut self.head[bucket], element);
        }
    }

    /// Brings all up to date.
    pub(super) fn follow_all<R: Real>(&mut self, elements: &Elements<R>) {
        for element in 0..elements.slots() {
            self.follow(elements, element);
        }
    }

    /// Lists the elements of all cells that a box meets, in order.
    pub(super) fn near(&mut self, extent: &Extent, found: &mut Vec<u32>) {
        self.gather(extent, found);
        found.sort_unstable();
    }

    /// Lists the same as they come.
    pub(super) fn gather(&mut self, extent: &Extent, found: &mut Vec<u32>) {
        found.clear();
        let (low, high) = (self.of(&extent.low_m), self.of(&extent.high_m));
        let wide: [i64; 3] = std::array::from_fn(|a| i64::from(high[a]) - i64::from(low[a]) + 1);
        if wide.iter().any(|&n| n <= 0) {
            return;
        }
        let cells = wide.iter().fold(1_i64, |all, &n| all.saturating_mul(n));
        let inside = |cell: &[i32; 3]| (0..3).all(|a| low[a] <= cell[a] && cell[a] <= high[a]);
        if usize::try_from(cells).is_ok_and(|cells| cells <= self.cell.len()) {
            for z in low[2]..=high[2] {
                for y in low[1]..=high[1] {
                    for x in low[0]..=high[0] {
                        self.list([x, y, z], found);
                    }
                }
            }
        } else {
            // a box of more cells than elements: these are the shorter list
            let slots = (0_u32..).zip(&self.cell);
            found.extend(slots.filter(|(_, cell)| inside(cell)).map(|(slot, _)| slot));
            self.looked += self.cell.len() as u64;
        }
    }

    /// Appends the elements of one cell.
    fn list(&mut self, cell: [i32; 3], found: &mut Vec<u32>) {
        let mut at = self.head[self.bucket(cell)];
        while at != NONE {
            self.looked += 1;
            if self.cell[at as usize] == cell {
                found.push(at);
            }
            at = self.next[at as usize];
        }
    }

    fn unhook(&mut self, bucket: usize, element: u32) {
        let after = self.next[element as usize];
        if self.head[bucket] == element {
            self.head[bucket] = after;
            return;
        }
        let mut at = self.head[bucket];
        while at != NONE {
            if self.next[at as usize] == element {
                self.next[at as usize] = after;
                return;
            }
            at = self.next[at as usize];
        }
    }

    fn bucket(&self, cell: [i32; 3]) -> usize {
        // primes of Teschner 2003, then mixed, so that the low bits know of all
        let [x, y, z] = cell.map(|c| c as u32);
        let mut mixed =
            x.wrapping_mul(73_856_093) ^ y.wrapping_mul(19_349_663) ^ z.wrapping_mul(83_492_791);
        mixed ^= mixed >> 15;
        mixed = mixed.wrapping_mul(0x2c1b_3c6d);
        mixed ^= mixed >> 13;
        mixed as usize & (self.head.len() - 1)
    }
}

/// The farthest that two linked elements can be from each other \[m\], whatever their material.
pub(super) fn reach_m<R: Real>(elements: &Elements<R>) -> f64 {
    let spacing_m = elements.frame().spacing_m;
    let mut farthest: f64 = 0.0;
    for (axis, bond) in elements.bonds().all() {
        let far2 = (0..3).map(|along| {
            let rest_m = if along == axis { spacing_m[axis] } else { 0.0 };
            let (least, most) = (to_f64(bond.least_m[along]), to_f64(bond.most_m[along]));
            let far = (rest_m + least).abs().max((rest_m + most).abs());
            far * far
        });
        farthest = farthest.max(far2.sum::<f64>());
    }
    // a little for rounding
    farthest.sqrt() * (1.0 + 1e-6)
}
