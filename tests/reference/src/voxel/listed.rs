//! The source's full storage: a list of elements, each with all that it is and its six neighbours.
//!
//! Source: seed-001 section 3.1 (its reconstruction of the structure) and rows LV-03 and CL-05. Empty space
//! costs nothing, and elements may be added without knowing how many there will be: [`Listed::paint`] links a new
//! one to the neighbours that are there. It is here to compare with; sessions use
//! `super::elements::Elements`.

use std::collections::BTreeMap;

use crate::voxel::links::{JoinError, Links, NONE, PlaceError, joinable};
use palpate_twin::edits::Direction;

const GONE: u32 = 1 << 31;
const HELD: u32 = 1 << 30;

/// An element, 44 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Node {
    /// Red, green, blue, alpha.
    pub rgba: [u8; 4],
    /// Its object; the two highest bits say whether it is gone and whether it is held.
    kind: u32,
    /// Where it is \[m\].
    pub place_m: [f32; 3],
    neighbour: [u32; 6],
}

impl Node {
    /// The object that it belongs to.
    #[must_use]
    pub const fn object(&self) -> u32 {
        self.kind & !(GONE | HELD)
    }
}

/// Why nothing was painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaintError {
    /// There is one.
    #[error("element {element} is at {site:?} already")]
    Taken {
        /// Where.
        site: [i32; 3],
        /// Which.
        element: u32,
    },
    /// More objects than its bits can number.
    #[error("object {0}; expected less than 2^30")]
    Object(u32),
    /// More elements than slots can number.
    #[error("no slot is left; expected less than 2^32 - 1 elements")]
    Full,
}

/// A volume in a list. Slots are in the order of painting.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    spacing_m: [f32; 3],
    nodes: Vec<Node>,
    /// Who was painted where: what finds neighbours of the next.
    painted: BTreeMap<[i32; 3], u32>,
    sites: Vec<[i32; 3]>,
}

impl Listed {
    /// An empty list; sites are `spacing_m` \[m\] apart.
    #[must_use]
    pub const fn new(spacing_m: [f32; 3]) -> Self {
        Self {
            spacing_m,
            nodes: Vec::new(),
            painted: BTreeMap::new(),
            sites: Vec::new(),
        }
    }

    /// Adds an element at rest, linked to those neighbours of its object that are there; one that was
    /// carved away is put back in its slot.
    ///
    /// # Errors
    /// [`PaintError`] if there is one already, or no number is left for it.
    pub fn paint(&mut self, site: [i32; 3], object: u32, rgba: [u8; 4]) -> Result<u32, PaintError> {
        if object >= HELD {
            return Err(PaintError::Object(object));
        }
        let before = self.painted.get(&site).copied();
        if let Some(element) = before.filter(|&e| self.alive(e)) {
            return Err(PaintError::Taken { site, element });
        }
        let node = Node {
            rgba,
            kind: object,
            place_m: self.rest_m(site),
            neighbour: [NONE; 6],
        };
        let element = match before {
            Some(element) => {
                self.nodes[element as usize] = node;
                element
            }
            None => {
                let slot = u32::try_from(self.nodes.len()).ok();
                let element = slot.filter(|&e| e != NONE).ok_or(PaintError::Full)?;
                self.nodes.push(node);
                self.sites.push(site);
                self.painted.insert(site, element);
                element
            }
        };
        for to in Direction::ALL {
            let other = self.painted.get(&to.from(site)).copied();
            let same = |&e: &u32| self.alive(e) && self.nodes[e as usize].object() == object;
            if let Some(other) = other.filter(same) {
                self.link(element, to, other);
            }
        }
        Ok(element)
    }

    /// An element that is there.
    #[must_use]
    pub fn node(&self, element: u32) -> Option<&Node> {
        let node = self.nodes.get(element as usize);
        node.filter(|node| node.kind & GONE == 0)
    }

    /// The slot of a site, its element there or gone.
    #[must_use]
    pub fn at_site(&self, site: [i32; 3]) -> Option<u32> {
        self.painted.get(&site).copied()
    }

    /// The site that a slot was painted at.
    #[must_use]
    pub fn site(&self, element: u32) -> [i32; 3] {
        self.sites[element as usize]
    }

    /// Memory of the elements \[bytes\], without what finds sites.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
    }

    #[expect(clippy::cast_precision_loss, reason = "a lattice is small")]
    fn rest_m(&self, site: [i32; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| site[axis] as f32 * self.spacing_m[axis])
    }

    fn link(&mut self, element: u32, to: Direction, other: u32) {
        self.nodes[element as usize].neighbour[to.index()] = other;
        self.nodes[other as usize].neighbour[to.opposite().index()] = element;
    }
}

impl Links for Listed {
    fn slots(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(NONE)
    }

    fn alive(&self, element: u32) -> bool {
        self.node(element).is_some()
    }

    fn neighbour(&self, element: u32, to: Direction) -> Option<u32> {
        let node = self.nodes.get(element as usize)?;
        Some(node.neighbour[to.index()]).filter(|&other| other != NONE)
    }

    fn cut(&mut self, element: u32, to: Direction) -> bool {
        let Some(other) = self.neighbour(element, to) else {
            return false;
        };
        self.nodes[element as usize].neighbour[to.index()] = NONE;
        self.nodes[other as usize].neighbour[to.opposite().index()] = NONE;
        true
    }

    fn join(&mut self, element: u32, to: Direction, other: u32) -> Result<(), JoinError> {
        joinable(self, element, to, other)?;
        self.link(element, to, other);
        Ok(())
    }

    fn carve(&mut self, element: u32) -> bool {
        if !self.alive(element) {
            return false;
        }
        for to in Direction::ALL {
            self.cut(element, to);
        }
        self.nodes[element as usize].kind |= GONE;
        true
    }

    fn revive(&mut self, element: u32) -> bool {
        if self.alive(element) || element >= self.slots() {
            return false;
        }
        self.nodes[element as usize].kind &= !GONE;
        true
    }

    fn pinned(&self, element: u32) -> bool {
        self.node(element).is_some_and(|node| node.kind & HELD != 0)
    }

    fn pin(&mut self, element: u32, held: bool) -> bool {
        let changes = self.alive(element) && self.pinned(element) != held;
        if changes {
            self.nodes[element as usize].kind ^= HELD;
        }
        changes
    }

    fn place(&mut self, element: u32, moved_m: [f64; 3]) -> Result<(), PlaceError> {
        if !self.alive(element) {
            return Err(PlaceError::Gone(element));
        }
        let rest_m = self.rest_m(self.site(element));
        #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
        let place_m = std::array::from_fn(|axis| rest_m[axis] + moved_m[axis] as f32);
        self.nodes[element as usize].place_m = place_m;
        Ok(())
    }
}
