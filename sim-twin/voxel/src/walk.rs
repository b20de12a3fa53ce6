//! Walks over links: all that hangs together with an element.
//!
//! Source: ours; what `super::pieces` and [`super::edits`] know of a piece begins here. Room is made once.

use crate::elements::Elements;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// Room for walks over a volume.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Walk in which a slot was last seen.
    seen: Vec<u32>,
    walk: u32,
    found: Vec<u32>,
}

impl Walk {
    /// Room for so many slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self {
            seen: vec![0; slots as usize],
            walk: 0,
            found: Vec::with_capacity(slots as usize),
        }
    }

    /// All elements that links connect with one, itself first; none if it is gone. Allocates only if
    /// slots were added since.
    pub fn piece<R: Real>(&mut self, links: &Elements<R>, element: u32) -> &[u32] {
        self.found.clear();
        self.seen.resize(links.slots() as usize, 0);
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.seen.fill(0);
            self.walk = 1;
        }
        if links.alive(element) {
            self.visit(element);
        }
        let mut next = 0;
        while let Some(&at) = self.found.get(next) {
            for to in Direction::ALL {
                if let Some(other) = links.neighbour(at, to) {
                    self.visit(other);
                }
            }
            next += 1;
        }
        &self.found
    }

    fn visit(&mut self, element: u32) {
        let seen = &mut self.seen[element as usize];
        if *seen != self.walk {
            *seen = self.walk;
            self.found.push(element);
        }
    }
}
