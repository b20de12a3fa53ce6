//! Small storage of the source: two bytes per node, in a dense grid.
//!
//! Source: seed-001 section 3.1 and row LV-02. One byte holds the intensity, one the links: bit `d` is set if the
//! node is linked to the neighbour in direction `d` of [`NeighbourDirection::ALL`], at a fixed distance in the grid.
//! No positions are stored, so nodes can be cut, carved and joined again, but not deformed. Two bits that the source
//! leaves free mark alive and pinned nodes.

use crate::voxel::storage::{JoinError, PlaceError, VoxelStorage, check_join};
use palpate_twin::edits::NeighbourDirection;

const THERE: u8 = 1 << 6;
const HELD: u8 = 1 << 7;

/// A node, two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactVoxel {
    /// Measured intensity.
    pub intensity: u8,
    links: u8,
}

/// Error of a grid whose size and samples do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{found} samples for a grid of {size:?}; expected {expected}, at most 2^31")]
pub struct CompactGridError {
    /// Sites by axis.
    pub size: [u32; 3],
    /// Number of samples required.
    pub expected: u64,
    /// Number of samples found.
    pub found: u64,
}

/// Nodes in a dense grid. A slot is a site: x goes fastest, then y, then z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactGrid {
    size: [u32; 3],
    voxels: Vec<CompactVoxel>,
}

impl CompactGrid {
    /// Returns nodes for all samples that are not 0, with neighbours linked (row LV-04).
    ///
    /// # Errors
    /// [`CompactGridError`] if the number of samples is not that of the grid.
    pub fn new(size: [u32; 3], intensities: &[u8]) -> Result<Self, CompactGridError> {
        let wide = size.map(u64::from);
        let expected = wide[0].saturating_mul(wide[1]).saturating_mul(wide[2]);
        let found = intensities.len() as u64;
        if found != expected || expected > 1 << 31 {
            return Err(CompactGridError {
                size,
                expected,
                found,
            });
        }
        let voxel = |&intensity: &u8| CompactVoxel {
            intensity,
            links: if intensity == 0 { 0 } else { THERE },
        };
        let mut grid = Self {
            size,
            voxels: intensities.iter().map(voxel).collect(),
        };
        for node in (0..grid.slots()).filter(|&e| intensities[e as usize] != 0) {
            for to in NeighbourDirection::POSITIVE {
                if let Some(other) = grid.beside(node, to).filter(|&e| grid.alive(e)) {
                    grid.flag(node, to, other);
                }
            }
        }
        Ok(grid)
    }

    /// Returns the number of sites by axis.
    #[must_use]
    pub const fn size(&self) -> [u32; 3] {
        self.size
    }

    /// Returns the intensity at a site; 0 beyond the grid.
    #[must_use]
    pub fn intensity(&self, node: u32) -> u8 {
        let voxel = self.voxels.get(node as usize);
        voxel.map_or(0, |voxel| voxel.intensity)
    }

    /// Returns the memory of the nodes \[bytes\].
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.voxels.len() * size_of::<CompactVoxel>()
    }

    /// Returns the slot of a site.
    #[must_use]
    pub fn at_site(&self, site: [u32; 3]) -> Option<u32> {
        let inside = (0..3).all(|axis| site[axis] < self.size[axis]);
        inside.then(|| site[0] + self.size[0] * (site[1] + self.size[1] * site[2]))
    }

    /// Returns the site of a slot.
    #[must_use]
    pub const fn site(&self, node: u32) -> [u32; 3] {
        let row = node / self.size[0];
        [node % self.size[0], row % self.size[1], row / self.size[1]]
    }

    /// Returns the distance between slots of neighbours along an axis.
    const fn stride(&self, axis: usize) -> u32 {
        match axis {
            0 => 1,
            1 => self.size[0],
            _ => self.size[0] * self.size[1],
        }
    }

    /// Returns the adjacent slot, unless the grid ends there.
    fn beside(&self, node: u32, to: NeighbourDirection) -> Option<u32> {
        let axis = to.axis();
        let at = self.site(node)[axis];
        if to.is_positive() {
            (at + 1 < self.size[axis]).then(|| node + self.stride(axis))
        } else {
            (at > 0).then(|| node - self.stride(axis))
        }
    }

    fn flag(&mut self, node: u32, to: NeighbourDirection, other: u32) {
        self.voxels[node as usize].links |= 1 << to.index();
        self.voxels[other as usize].links |= 1 << to.opposite().index();
    }
}

impl VoxelStorage for CompactGrid {
    fn slots(&self) -> u32 {
        // at most 2^31
        u32::try_from(self.voxels.len()).unwrap_or(u32::MAX)
    }

    fn alive(&self, node: u32) -> bool {
        let voxel = self.voxels.get(node as usize);
        voxel.is_some_and(|voxel| voxel.links & THERE != 0)
    }

    fn neighbour(&self, node: u32, to: NeighbourDirection) -> Option<u32> {
        let voxel = self.voxels.get(node as usize)?;
        // no link crosses the border, so its slot needs no check
        (voxel.links & 1 << to.index() != 0).then(|| {
            let stride = self.stride(to.axis());
            if to.is_positive() {
                node + stride
            } else {
                node - stride
            }
        })
    }

    fn cut(&mut self, node: u32, to: NeighbourDirection) -> bool {
        let Some(other) = self.neighbour(node, to) else {
            return false;
        };
        self.voxels[node as usize].links &= !(1 << to.index());
        self.voxels[other as usize].links &= !(1 << to.opposite().index());
        true
    }

    fn join(&mut self, node: u32, to: NeighbourDirection, other: u32) -> Result<(), JoinError> {
        check_join(self, node, to, other)?;
        if self.beside(node, to) != Some(other) {
            return Err(JoinError::Apart(node, other));
        }
        self.flag(node, to, other);
        Ok(())
    }

    fn carve(&mut self, node: u32) -> bool {
        if !self.alive(node) {
            return false;
        }
        for to in NeighbourDirection::ALL {
            self.cut(node, to);
        }
        self.voxels[node as usize].links &= !THERE;
        true
    }

    fn revive(&mut self, node: u32) -> bool {
        if self.alive(node) || node >= self.slots() {
            return false;
        }
        self.voxels[node as usize].links |= THERE;
        true
    }

    fn pinned(&self, node: u32) -> bool {
        self.alive(node) && self.voxels[node as usize].links & HELD != 0
    }

    fn set_pinned(&mut self, node: u32, held: bool) -> bool {
        let changes = self.alive(node) && self.pinned(node) != held;
        if changes {
            self.voxels[node as usize].links ^= HELD;
        }
        changes
    }

    fn set_displacement_m(&mut self, node: u32, _moved_m: [f64; 3]) -> Result<(), PlaceError> {
        Err(if self.alive(node) {
            PlaceError::Fixed(node)
        } else {
            PlaceError::Gone(node)
        })
    }
}
