//! Nodes and links of a voxel model: one array per quantity, displacements from rest, neighbours by slot.
//!
//! Source: ours, after seed-001 section 3.1 "recommended" (rows LV-01, LV-05, LV-06, FU-07). Slots go through the
//! lattice at rest by rows along x; each row has its even nodes first and then its odd ones, as on a chessboard. So
//! the nodes that a pass moves at once are contiguous, and their neighbours are at one distance each. Displacements
//! are from rest, so a link at rest has no force, and single precision suffices for contact forces.

use crate::material::{BondTable, VoxelMaterial, VoxelMaterialError};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_twin::{Vec3, snapshot_parts};

/// Rest lattice of sites.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeFrame {
    /// Position of the site (0, 0, 0) \[m\].
    pub origin_m: Vec3,
    /// Spacing by axis \[m\], greater than zero.
    pub spacing_m: [f64; 3],
}

impl LatticeFrame {
    /// Returns the position of a site at rest \[m\].
    #[must_use]
    pub fn rest_m(&self, site: [i32; 3]) -> Vec3 {
        let along = |a: usize| f64::from(site[a]) * self.spacing_m[a];
        self.origin_m + Vec3::new(along(0), along(1), along(2))
    }
}

/// Input for one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSeed {
    /// Site of the node.
    pub site: [i32; 3],
    /// Index of its material.
    pub material: u8,
    /// Object of the node; links do not cross objects.
    pub object: u32,
}

/// Error of invalid nodes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VoxelNodesError {
    /// A material is invalid.
    #[error(transparent)]
    Material(#[from] VoxelMaterialError),
    /// A spacing is out of range.
    #[error("spacing of axis {axis} is {value_m} m; expected a finite number greater than 0")]
    Spacing {
        /// Axis of the spacing.
        axis: usize,
        /// Value found \[m\].
        value_m: f64,
    },
    /// No nodes, or more than the maximum.
    #[error("{0} nodes; expected 1 to 100 million")]
    Count(usize),
    /// A material index is out of range.
    #[error("node at {site:?} is of material {material}; expected one of {count} materials")]
    Unknown {
        /// Site of the node.
        site: [i32; 3],
        /// Material index of the node.
        material: u8,
        /// Number of materials.
        count: usize,
    },
    /// Two nodes have one site.
    #[error("two nodes at {0:?}")]
    DuplicateSite([i32; 3]),
}

/// Greatest number of nodes.
const COUNT_MAX: usize = 100_000_000;

/// Marks a missing neighbour.
pub(super) const NONE: u32 = u32::MAX;

/// Bits of [`VoxelNodes::flags`].
const ALIVE: u8 = 1;
const PINNED: u8 = 2;

/// Nodes and links of a voxel model.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelNodes<R> {
    frame: LatticeFrame,
    bonds: BondTable<R>,
    /// The site for which a slot was created; slots are in its order.
    pub(super) initial_site: Vec<[i32; 3]>,
    /// The present rest site, which differs after a piece was joined elsewhere.
    site: Vec<[i32; 3]>,
    /// Displacement from rest \[m\], by axis and slot.
    pub displacement_m: [Vec<R>; 3],
    pub(super) neighbour: [Vec<u32>; 6],
    pub(super) material: Vec<u8>,
    /// Factor on the material's stiffness, by slot.
    pub(super) stiffness_factor: Vec<R>,
    pub(super) object: Vec<u32>,
    flags: Vec<u8>,
}

// all state that can change
snapshot_parts!(VoxelNodes<f32>: displacement_m, neighbour, site, stiffness_factor, object, flags);

impl<R: Real> VoxelNodes<R> {
    /// Returns nodes at rest, linked wherever two of one object are neighbours (row LV-04).
    ///
    /// # Errors
    /// [`VoxelNodesError`] if the materials, the spacing or the seeds are invalid.
    pub fn new(
        frame: LatticeFrame,
        materials: Vec<VoxelMaterial>,
        seeds: &[NodeSeed],
    ) -> Result<Self, VoxelNodesError> {
        for (axis, &value_m) in frame.spacing_m.iter().enumerate() {
            if !(value_m > 0.0 && value_m.is_finite()) {
                return Err(VoxelNodesError::Spacing { axis, value_m });
            }
        }
        if !(1..=COUNT_MAX).contains(&seeds.len()) {
            return Err(VoxelNodesError::Count(seeds.len()));
        }
        let bonds = BondTable::new(materials, frame.spacing_m)?;
        let seeds = in_slot_order(seeds, bonds.materials().len())?;
        let count = seeds.len();
        let mut nodes = Self {
            frame,
            initial_site: seeds.iter().map(|seed| seed.site).collect(),
            site: seeds.iter().map(|seed| seed.site).collect(),
            displacement_m: std::array::from_fn(|_| vec![R::zero(); count]),
            neighbour: std::array::from_fn(|_| vec![NONE; count]),
            material: seeds.iter().map(|seed| seed.material).collect(),
            stiffness_factor: vec![R::one(); count],
            object: seeds.iter().map(|seed| seed.object).collect(),
            flags: vec![ALIVE; count],
            bonds,
        };
        nodes.link_all();
        Ok(nodes)
    }

    /// Links neighbours of one object.
    fn link_all(&mut self) {
        for node in 0..self.slots() {
            for to in NeighbourDirection::POSITIVE {
                let site = to.neighbour_site(self.site[node as usize]);
                let Some(other) = self.at_site(site) else {
                    continue;
                };
                if self.object[node as usize] == self.object[other as usize] {
                    self.set_link(node, to, other);
                }
            }
        }
    }

    /// Returns the node that was created for a site.
    #[must_use]
    pub fn at_site(&self, site: [i32; 3]) -> Option<u32> {
        let found = self
            .initial_site
            .binary_search_by_key(&order(site), |&site| order(site));
        found.ok().and_then(|slot| u32::try_from(slot).ok())
    }

    /// Returns the rest lattice.
    #[must_use]
    pub const fn frame(&self) -> &LatticeFrame {
        &self.frame
    }

    /// Returns the properties of links.
    #[must_use]
    pub const fn bonds(&self) -> &BondTable<R> {
        &self.bonds
    }

    /// Returns the rest site of a node.
    #[must_use]
    pub fn site(&self, node: u32) -> [i32; 3] {
        self.site[node as usize]
    }

    /// Returns the position of a node at rest \[m\].
    #[must_use]
    pub fn rest_m(&self, node: u32) -> Vec3 {
        self.frame.rest_m(self.site[node as usize])
    }

    /// Returns the displacement of a node from rest \[m\].
    #[must_use]
    pub fn displacement_m(&self, node: u32) -> [R; 3] {
        std::array::from_fn(|axis| self.displacement_m[axis][node as usize])
    }

    /// Returns the present position of a node \[m\].
    #[must_use]
    pub fn position_m(&self, node: u32) -> Vec3 {
        let moved_m = self.displacement_m(node);
        self.rest_m(node) + Vec3::from(moved_m.map(to_f64))
    }

    /// Returns the material index of a node.
    #[must_use]
    pub fn material(&self, node: u32) -> u8 {
        self.material[node as usize]
    }

    /// Returns the stiffness \[N/m\] of a present or possible link along an axis: its halves in series.
    #[must_use]
    pub fn stiffness_npm(&self, node: u32, other: u32, axis: usize) -> R {
        let (own, beside) = (self.material(node), self.material(other));
        let bond_npm = self.bonds.of(own, beside, axis).stiffness_npm;
        let [a, b] = [node, other].map(|end| self.stiffness_factor[end as usize]);
        if a == R::one() && b == R::one() {
            return bond_npm;
        }
        let pa = |material: u8| R::of(self.bonds.materials()[usize::from(material)].modulus_pa);
        let (own_pa, beside_pa) = (pa(own), pa(beside));
        bond_npm * (a * b * (own_pa + beside_pa) / (a * own_pa + b * beside_pa))
    }

    /// Returns the object of a node (row LV-06).
    #[must_use]
    pub fn object(&self, node: u32) -> u32 {
        self.object[node as usize]
    }

    /// Returns the colour of a node (row LV-05): red, green, blue, alpha.
    #[must_use]
    pub fn colour(&self, node: u32) -> [u8; 4] {
        self.bonds.materials()[usize::from(self.material(node))].colour
    }
}

/// Links. A node keeps its slot for life. Links are symmetric: if `b` is the right neighbour of `a`, then `a` is the
/// left neighbour of `b`.
impl<R: Real> VoxelNodes<R> {
    /// Returns the number of slots.
    #[must_use]
    pub fn slots(&self) -> u32 {
        // at most COUNT_MAX
        u32::try_from(self.site.len()).unwrap_or(NONE)
    }

    /// True if a node exists and is not removed.
    #[must_use]
    pub fn alive(&self, node: u32) -> bool {
        self.flags
            .get(node as usize)
            .is_some_and(|mark| mark & ALIVE != 0)
    }

    /// Returns the number of nodes that are alive.
    #[must_use]
    pub fn count(&self) -> usize {
        (0..self.slots()).filter(|&e| self.alive(e)).count()
    }

    /// Returns the number of links.
    #[must_use]
    pub fn link_count(&self) -> usize {
        let all = 0..self.slots();
        all.map(|e| self.neighbours(e, NeighbourDirection::POSITIVE).count())
            .sum()
    }

    /// Returns the neighbour in a direction; none for a removed node.
    #[must_use]
    pub fn neighbour(&self, node: u32, to: NeighbourDirection) -> Option<u32> {
        let neighbour = self.neighbour[to.index()].get(node as usize);
        neighbour.copied().filter(|&n| n != NONE)
    }

    /// Iterates over the neighbours in some directions.
    pub(super) fn neighbours<const N: usize>(
        &self,
        node: u32,
        to: [NeighbourDirection; N],
    ) -> impl Iterator<Item = (NeighbourDirection, u32)> {
        let all = to.into_iter();
        all.filter_map(move |to| Some((to, self.neighbour(node, to)?)))
    }

    /// True if a node lacks a neighbour.
    pub(super) fn lacks_neighbour(&self, node: u32) -> bool {
        self.neighbours(node, NeighbourDirection::ALL).count() < 6
    }

    /// Cuts a link on both sides; returns true if it existed.
    pub fn cut(&mut self, node: u32, to: NeighbourDirection) -> bool {
        let Some(other) = self.neighbour(node, to) else {
            return false;
        };
        self.neighbour[to.index()][node as usize] = NONE;
        self.neighbour[to.opposite().index()][other as usize] = NONE;
        true
    }

    /// Links two nodes if both are alive and lack this neighbour; returns true if it did. The caller ensures that
    /// they are near enough.
    pub fn join(&mut self, node: u32, to: NeighbourDirection, other: u32) -> bool {
        let free = |end, to| self.alive(end) && self.neighbour(end, to).is_none();
        let can = node != other && free(node, to) && free(other, to.opposite());
        if can {
            self.set_link(node, to, other);
        }
        can
    }

    fn set_link(&mut self, node: u32, to: NeighbourDirection, other: u32) {
        self.neighbour[to.index()][node as usize] = other;
        self.neighbour[to.opposite().index()][other as usize] = node;
    }

    /// Removes a node and its links; returns true if it was alive.
    pub fn carve(&mut self, node: u32) -> bool {
        if !self.alive(node) {
            return false;
        }
        for to in NeighbourDirection::ALL {
            self.cut(node, to);
        }
        self.flags[node as usize] &= !ALIVE;
        true
    }

    /// Restores a removed node without links; returns true if it was removed.
    pub fn revive(&mut self, node: u32) -> bool {
        if self.alive(node) || node >= self.slots() {
            return false;
        }
        self.flags[node as usize] |= ALIVE;
        true
    }

    /// True if a node is pinned: it keeps its position (row TP-09).
    #[must_use]
    pub fn pinned(&self, node: u32) -> bool {
        self.flags[node as usize] & PINNED != 0
    }

    /// Pins or unpins a node.
    pub fn set_pinned(&mut self, node: u32, held: bool) {
        let mark = &mut self.flags[node as usize];
        *mark = if held {
            *mark | PINNED
        } else {
            *mark & !PINNED
        };
    }

    /// Pins or unpins a node that is alive; returns true if that changed it.
    pub fn change_pinned(&mut self, node: u32, held: bool) -> bool {
        let changes = self.alive(node) && self.pinned(node) != held;
        if changes {
            self.set_pinned(node, held);
        }
        changes
    }

    /// True if [`VoxelNodes::carry`] can translate a node's rest site by this many sites.
    pub(super) fn carries(&self, node: u32, by: [i32; 3]) -> bool {
        let slot = node as usize;
        (0..3).all(|axis| {
            let far =
                (self.site[slot][axis] - self.initial_site[slot][axis]).saturating_add(by[axis]);
            far.abs() <= CARRY_MAX
        })
    }

    /// Translates the rest site of a node; its position stays.
    pub(super) fn carry(&mut self, node: u32, by: [i32; 3]) {
        let slot = node as usize;
        for (axis, &steps) in by.iter().enumerate() {
            self.site[slot][axis] += steps;
            let step_m = f64::from(steps) * self.frame.spacing_m[axis];
            let moved_m = &mut self.displacement_m[axis][slot];
            *moved_m = R::of(to_f64(*moved_m) - step_m);
        }
    }
}

/// Greatest translation of a rest site, by axis.
const CARRY_MAX: i32 = 511;

/// Converts to double precision.
pub(super) fn to_f64<R: Real>(value: R) -> f64 {
    nalgebra::try_convert(value).unwrap_or(f64::NAN)
}

/// Converts to single precision, the precision of nodes in sessions.
pub(super) const fn to_f32(value: f64) -> f32 {
    value as f32
}

/// Returns the colour of a site, 0 or 1: neighbours have the other one.
pub(super) fn colour_of([x, y, z]: [i32; 3]) -> usize {
    usize::from((x ^ y ^ z) & 1 != 0)
}

/// Returns the sort key of slots: z, y, colour, x.
fn order(site: [i32; 3]) -> (i32, i32, usize, i32) {
    (site[2], site[1], colour_of(site), site[0])
}

/// Returns the seeds in the order of slots.
fn in_slot_order(seeds: &[NodeSeed], materials: usize) -> Result<Vec<NodeSeed>, VoxelNodesError> {
    let mut seeds = seeds.to_vec();
    seeds.sort_by_key(|seed| order(seed.site));
    if let Some(seed) = seeds.iter().find(|s| usize::from(s.material) >= materials) {
        return Err(VoxelNodesError::Unknown {
            site: seed.site,
            material: seed.material,
            count: materials,
        });
    }
    match seeds.windows(2).find(|pair| pair[0].site == pair[1].site) {
        Some(pair) => Err(VoxelNodesError::DuplicateSite(pair[0].site)),
        None => Ok(seeds),
    }
}
