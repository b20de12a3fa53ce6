//! Full storage of the source: a list of nodes with all their properties and six neighbours.
//!
//! Source: seed-001 section 3.1 (its reconstruction of the structure) and rows LV-03 and CL-05. Empty space costs
//! nothing, and nodes may be added without a known count: [`NodeList::paint`] links a new node to its existing
//! neighbours. It is for comparison; sessions use [`VoxelNodes`](palpate_voxel::nodes::VoxelNodes).

use std::collections::BTreeMap;

use crate::voxel::storage::{JoinError, NONE, PlaceError, VoxelStorage, check_join};
use palpate_twin::edits::NeighbourDirection;

const GONE: u32 = 1 << 31;
const HELD: u32 = 1 << 30;

/// A node of 44 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct ListedNode {
    /// Red, green, blue, alpha.
    pub rgba: [u8; 4],
    /// Object id; the two highest bits mark removed and pinned nodes.
    kind: u32,
    /// Position \[m\].
    pub place_m: [f32; 3],
    neighbour: [u32; 6],
}

impl ListedNode {
    /// Returns the object of the node.
    #[must_use]
    pub const fn object(&self) -> u32 {
        self.kind & !(GONE | HELD)
    }
}

/// Error of a node that cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaintError {
    /// The site is occupied.
    #[error("node {node} is at {site:?} already")]
    Taken {
        /// Site of the node.
        site: [i32; 3],
        /// Slot of the present node.
        node: u32,
    },
    /// The object id needs more bits than available.
    #[error("object {0}; expected less than 2^30")]
    Object(u32),
    /// No slot is left.
    #[error("no slot is left; expected less than 2^32 - 1 nodes")]
    Full,
}

/// Nodes in a list. Slots are in the order of painting.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeList {
    spacing_m: [f32; 3],
    nodes: Vec<ListedNode>,
    /// Slots by site, to find the neighbours of a new node.
    painted: BTreeMap<[i32; 3], u32>,
    sites: Vec<[i32; 3]>,
}

impl NodeList {
    /// Returns an empty list with sites `spacing_m` \[m\] apart.
    #[must_use]
    pub const fn new(spacing_m: [f32; 3]) -> Self {
        Self {
            spacing_m,
            nodes: Vec::new(),
            painted: BTreeMap::new(),
            sites: Vec::new(),
        }
    }

    /// Adds a node at rest, linked to its neighbours in the same object; a removed node is restored in its slot.
    ///
    /// # Errors
    /// [`PaintError`] if the site is occupied, or an id is out of range.
    pub fn paint(&mut self, site: [i32; 3], object: u32, rgba: [u8; 4]) -> Result<u32, PaintError> {
        if object >= HELD {
            return Err(PaintError::Object(object));
        }
        let before = self.painted.get(&site).copied();
        if let Some(node) = before.filter(|&e| self.alive(e)) {
            return Err(PaintError::Taken { site, node });
        }
        let listed = ListedNode {
            rgba,
            kind: object,
            place_m: self.rest_m(site),
            neighbour: [NONE; 6],
        };
        let node = match before {
            Some(node) => {
                self.nodes[node as usize] = listed;
                node
            }
            None => {
                let slot = u32::try_from(self.nodes.len()).ok();
                let node = slot.filter(|&e| e != NONE).ok_or(PaintError::Full)?;
                self.nodes.push(listed);
                self.sites.push(site);
                self.painted.insert(site, node);
                node
            }
        };
        for to in NeighbourDirection::ALL {
            let other = self.painted.get(&to.neighbour_site(site)).copied();
            let same = |&e: &u32| self.alive(e) && self.nodes[e as usize].object() == object;
            if let Some(other) = other.filter(same) {
                self.link(node, to, other);
            }
        }
        Ok(node)
    }

    /// Returns a node that is alive.
    #[must_use]
    pub fn node(&self, node: u32) -> Option<&ListedNode> {
        let listed = self.nodes.get(node as usize);
        listed.filter(|listed| listed.kind & GONE == 0)
    }

    /// Returns the slot of a site, alive or removed.
    #[must_use]
    pub fn at_site(&self, site: [i32; 3]) -> Option<u32> {
        self.painted.get(&site).copied()
    }

    /// Returns the site of a slot.
    #[must_use]
    pub fn site(&self, node: u32) -> [i32; 3] {
        self.sites[node as usize]
    }

    /// Returns the memory of the nodes \[bytes\], without the index of sites.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<ListedNode>()
    }

    #[expect(clippy::cast_precision_loss, reason = "a lattice is small")]
    fn rest_m(&self, site: [i32; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| site[axis] as f32 * self.spacing_m[axis])
    }

    fn link(&mut self, node: u32, to: NeighbourDirection, other: u32) {
        self.nodes[node as usize].neighbour[to.index()] = other;
        self.nodes[other as usize].neighbour[to.opposite().index()] = node;
    }
}

impl VoxelStorage for NodeList {
    fn slots(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(NONE)
    }

    fn alive(&self, node: u32) -> bool {
        self.node(node).is_some()
    }

    fn neighbour(&self, node: u32, to: NeighbourDirection) -> Option<u32> {
        let listed = self.nodes.get(node as usize)?;
        Some(listed.neighbour[to.index()]).filter(|&other| other != NONE)
    }

    fn cut(&mut self, node: u32, to: NeighbourDirection) -> bool {
        let Some(other) = self.neighbour(node, to) else {
            return false;
        };
        self.nodes[node as usize].neighbour[to.index()] = NONE;
        self.nodes[other as usize].neighbour[to.opposite().index()] = NONE;
        true
    }

    fn join(&mut self, node: u32, to: NeighbourDirection, other: u32) -> Result<(), JoinError> {
        check_join(self, node, to, other)?;
        self.link(node, to, other);
        Ok(())
    }

    fn carve(&mut self, node: u32) -> bool {
        if !self.alive(node) {
            return false;
        }
        for to in NeighbourDirection::ALL {
            self.cut(node, to);
        }
        self.nodes[node as usize].kind |= GONE;
        true
    }

    fn revive(&mut self, node: u32) -> bool {
        if self.alive(node) || node >= self.slots() {
            return false;
        }
        self.nodes[node as usize].kind &= !GONE;
        true
    }

    fn pinned(&self, node: u32) -> bool {
        self.node(node)
            .is_some_and(|listed| listed.kind & HELD != 0)
    }

    fn set_pinned(&mut self, node: u32, held: bool) -> bool {
        let changes = self.alive(node) && self.pinned(node) != held;
        if changes {
            self.nodes[node as usize].kind ^= HELD;
        }
        changes
    }

    fn set_displacement_m(&mut self, node: u32, moved_m: [f64; 3]) -> Result<(), PlaceError> {
        if !self.alive(node) {
            return Err(PlaceError::Gone(node));
        }
        let rest_m = self.rest_m(self.site(node));
        #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
        let place_m = std::array::from_fn(|axis| rest_m[axis] + moved_m[axis] as f32);
        self.nodes[node as usize].place_m = place_m;
        Ok(())
    }
}
