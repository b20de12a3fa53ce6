//! The source's small storage: two bytes an element, in a dense grid.
//!
//! Source: seed-001 section 3.1 and row LV-02. A byte of intensity and one of links: bit `d` says whether the
//! element is linked to the neighbour in direction `d` of [`Direction::ALL`], which is always at the same
//! distance in the grid. So no place is stored: it can be cut and carved, joined to its neighbours again,
//! and not deformed. Two bits that the source leaves free say whether an element is there and held.

use crate::voxel::links::{JoinError, Links, PlaceError, joinable};
use palpate_twin::edits::Direction;

const THERE: u8 = 1 << 6;
const HELD: u8 = 1 << 7;

/// An element, two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Voxel {
    /// What was measured there.
    pub intensity: u8,
    links: u8,
}

/// Why there is no such grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{found} samples for a grid of {size:?}; expected {expected}, at most 2^31")]
pub struct CompactError {
    /// Sites by axis.
    pub size: [u32; 3],
    /// Samples that it needs.
    pub expected: u64,
    /// Samples found.
    pub found: u64,
}

/// A volume in a dense grid. A slot is a site: x goes fastest, then y, then z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    size: [u32; 3],
    voxels: Vec<Voxel>,
}

impl Compact {
    /// A volume of all samples that are not 0, neighbours linked (row LV-04).
    ///
    /// # Errors
    /// [`CompactError`] if the number of samples is not that of the grid.
    pub fn new(size: [u32; 3], intensities: &[u8]) -> Result<Self, CompactError> {
        let wide = size.map(u64::from);
        let expected = wide[0].saturating_mul(wide[1]).saturating_mul(wide[2]);
        let found = intensities.len() as u64;
        if found != expected || expected > 1 << 31 {
            return Err(CompactError {
                size,
                expected,
                found,
            });
        }
        let voxel = |&intensity: &u8| Voxel {
            intensity,
            links: if intensity == 0 { 0 } else { THERE },
        };
        let mut grid = Self {
            size,
            voxels: intensities.iter().map(voxel).collect(),
        };
        for element in (0..grid.slots()).filter(|&e| intensities[e as usize] != 0) {
            for to in Direction::UP {
                if let Some(other) = grid.beside(element, to).filter(|&e| grid.alive(e)) {
                    grid.flag(element, to, other);
                }
            }
        }
        Ok(grid)
    }

    /// Sites by axis.
    #[must_use]
    pub const fn size(&self) -> [u32; 3] {
        self.size
    }

    /// What was measured at a site; 0 beyond the grid.
    #[must_use]
    pub fn intensity(&self, element: u32) -> u8 {
        let voxel = self.voxels.get(element as usize);
        voxel.map_or(0, |voxel| voxel.intensity)
    }

    /// Memory of the elements \[bytes\].
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.voxels.len() * size_of::<Voxel>()
    }

    /// The slot of a site.
    #[must_use]
    pub fn at_site(&self, site: [u32; 3]) -> Option<u32> {
        let inside = (0..3).all(|axis| site[axis] < self.size[axis]);
        inside.then(|| site[0] + self.size[0] * (site[1] + self.size[1] * site[2]))
    }

    /// The site of a slot.
    #[must_use]
    pub const fn site(&self, element: u32) -> [u32; 3] {
        let row = element / self.size[0];
        [
            element % self.size[0],
            row % self.size[1],
            row / self.size[1],
        ]
    }

    /// From a slot to the next in a direction.
    const fn stride(&self, axis: usize) -> u32 {
        match axis {
            0 => 1,
            1 => self.size[0],
            _ => self.size[0] * self.size[1],
        }
    }

    /// The slot beside, unless the grid ends there.
    fn beside(&self, element: u32, to: Direction) -> Option<u32> {
        let axis = to.axis();
        let at = self.site(element)[axis];
        if to.is_up() {
            (at + 1 < self.size[axis]).then(|| element + self.stride(axis))
        } else {
            (at > 0).then(|| element - self.stride(axis))
        }
    }

    fn flag(&mut self, element: u32, to: Direction, other: u32) {
        self.voxels[element as usize].links |= 1 << to.index();
        self.voxels[other as usize].links |= 1 << to.opposite().index();
    }
}

impl Links for Compact {
    fn slots(&self) -> u32 {
        // at most 2^31
        u32::try_from(self.voxels.len()).unwrap_or(u32::MAX)
    }

    fn alive(&self, element: u32) -> bool {
        let voxel = self.voxels.get(element as usize);
        voxel.is_some_and(|voxel| voxel.links & THERE != 0)
    }

    fn neighbour(&self, element: u32, to: Direction) -> Option<u32> {
        let voxel = self.voxels.get(element as usize)?;
        // a link is never across the border: its slot needs no look at where that is
        (voxel.links & 1 << to.index() != 0).then(|| {
            let stride = self.stride(to.axis());
            if to.is_up() {
                element + stride
            } else {
                element - stride
            }
        })
    }

    fn cut(&mut self, element: u32, to: Direction) -> bool {
        let Some(other) = self.neighbour(element, to) else {
            return false;
        };
        self.voxels[element as usize].links &= !(1 << to.index());
        self.voxels[other as usize].links &= !(1 << to.opposite().index());
        true
    }

    fn join(&mut self, element: u32, to: Direction, other: u32) -> Result<(), JoinError> {
        joinable(self, element, to, other)?;
        if self.beside(element, to) != Some(other) {
            return Err(JoinError::Apart(element, other));
        }
        self.flag(element, to, other);
        Ok(())
    }

    fn carve(&mut self, element: u32) -> bool {
        if !self.alive(element) {
            return false;
        }
        for to in Direction::ALL {
            self.cut(element, to);
        }
        self.voxels[element as usize].links &= !THERE;
        true
    }

    fn revive(&mut self, element: u32) -> bool {
        if self.alive(element) || element >= self.slots() {
            return false;
        }
        self.voxels[element as usize].links |= THERE;
        true
    }

    fn pinned(&self, element: u32) -> bool {
        self.alive(element) && self.voxels[element as usize].links & HELD != 0
    }

    fn pin(&mut self, element: u32, held: bool) -> bool {
        let changes = self.alive(element) && self.pinned(element) != held;
        if changes {
            self.voxels[element as usize].links ^= HELD;
        }
        changes
    }

    fn place(&mut self, element: u32, _moved_m: [f64; 3]) -> Result<(), PlaceError> {
        Err(if self.alive(element) {
            PlaceError::Fixed(element)
        } else {
            PlaceError::Gone(element)
        })
    }
}
