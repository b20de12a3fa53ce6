//! Strands: short rows of linked elements taken as one, so that who hangs together is found without asking all of them.
//!
//! Source: ours, for the search of seed-001 section 3.5 (row CL-01). A strand is what is left of so many elements that
//! were made side by side along x, are linked still, and belong to one object; its name is its first element. What
//! lies beside a strand is known by direction, where it is one other strand; where it is several, its
//! elements are asked. An edit has the strands of its ends and those beside them looked at anew: one across strands costs
//! those of all rows that it cuts, one along them a look each.

use crate::elements::{Elements, NONE};
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// Most elements of a strand: an edit costs no more in a large volume.
const LENGTH: i32 = 32;
/// Ends of links by slot that are noted with their direction, at most.
const ASIDE: usize = 4;
/// Stands for several strands; slots are at most 100 million.
const SEVERAL: u32 = NONE - 1;

/// What is known of a strand.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    /// The strand beside it, by direction: one, none or [`SEVERAL`].
    beside: [u32; 6],
    /// Number of its elements.
    length: u32,
}

/// The strands of a volume. Room is made once.
#[derive(Debug, Clone)]
pub(super) struct Strands {
    /// The strand of every slot.
    of: Vec<u32>,
    /// What is known of strands, by their first element.
    known: Vec<Known>,
    /// Elements whose strands may be others now.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    /// Elements whose strands may have others beside them now, and where.
    aside: Vec<(u32, Direction)>,
    /// Strands that are looked at anew.
    fresh: Vec<u32>,
    is_fresh: Vec<bool>,
    /// Links that were followed so far: the cost.
    pub(super) looked: u64,
}

/// The next element of a strand to the right or to the left.
fn along<R: Real>(elements: &Elements<R>, element: u32, to: Direction) -> Option<u32> {
    let other = elements.neighbour(element, to)?;
    let (own, made) = (elements.made(element), elements.made(other));
    let one = made == to.from(own)
        && own[0].div_euclid(LENGTH) == made[0].div_euclid(LENGTH)
        && elements.object(element) == elements.object(other);
    one.then_some(other)
}

impl Strands {
    /// The strands of a volume.
    pub(super) fn new<R: Real>(elements: &Elements<R>) -> Self {
        let slots = elements.slots() as usize;
        let mut strands = Self {
            of: vec![NONE; slots],
            known: vec![
                Known {
                    beside: [NONE; 6],
                    length: 0,
                };
                slots
            ],
            stale: Vec::with_capacity(slots),
            is_stale: vec![false; slots],
            aside: Vec::with_capacity(ASIDE * slots),
            fresh: Vec::with_capacity(slots),
            is_fresh: vec![false; slots],
            looked: 0,
        };
        strands.lay(elements);
        strands
    }

    /// Finds all of them anew.
    pub(super) fn lay<R: Real>(&mut self, elements: &Elements<R>) {
        let looked = self.looked;
        self.stale.clear();
        self.is_stale.fill(false);
        self.aside.clear();
        for element in 0..elements.slots() {
            if along(elements, element, Direction::Left).is_none() {
                self.name(elements, element);
            }
        }
        for element in 0..elements.slots() {
            if self.of[element as usize] == element {
                self.look(elements, element);
            }
        }
        // no edit's cost
        self.looked = looked;
    }

    /// Notes that an element is there or gone, or belongs to another object.
    pub(super) fn note(&mut self, element: u32) {
        if !std::mem::replace(&mut self.is_stale[element as usize], true) {
            self.stale.push(element);
        }
    }

    /// Notes that a link is there or gone.
    pub(super) fn note_link(&mut self, element: u32, to: Direction, other: u32) {
        for (end, to) in [(element, to), (other, to.opposite())] {
            if to.axis() == 0 {
                self.note(end);
            } else if self.aside.len() < ASIDE * self.of.len() {
                self.aside.push((end, to));
            } else {
                // as good, and noted once
                self.note(end);
            }
        }
    }

    /// Brings the strands up to date with all that was noted.
    pub(super) fn refresh<R: Real>(&mut self, elements: &Elements<R>) {
        for nth in 0..self.stale.len() {
            let mut first = self.stale[nth];
            self.is_stale[first as usize] = false;
            while let Some(before) = along(elements, first, Direction::Left) {
                self.looked += 1;
                first = before;
            }
            if self.renew(first) {
                self.name(elements, first);
            }
        }
        self.stale.clear();
        // all have their names; those beside them may know old ones
        for nth in 0..self.fresh.len() {
            let strand = self.fresh[nth];
            for to in Direction::ALL {
                self.each(elements, strand, to, |strands, other| {
                    strands.renew(other);
                });
            }
        }
        for nth in 0..self.fresh.len() {
            let strand = self.fresh[nth];
            self.is_fresh[strand as usize] = false;
            self.look(elements, strand);
        }
        self.fresh.clear();
        // many links of a strand are cut at once: it is asked once in a direction
        for (element, _) in &mut self.aside {
            *element = self.of[*element as usize];
        }
        self.aside
            .sort_unstable_by_key(|&(strand, to)| (strand, to.index()));
        self.aside.dedup();
        for nth in 0..self.aside.len() {
            let (strand, to) = self.aside[nth];
            self.look_to(elements, strand, to);
        }
        self.aside.clear();
    }

    /// Has a strand looked at anew; whether it was not listed yet.
    fn renew(&mut self, strand: u32) -> bool {
        let new = !std::mem::replace(&mut self.is_fresh[strand as usize], true);
        if new {
            self.fresh.push(strand);
        }
        new
    }

    /// Names the elements of a strand after its first.
    fn name<R: Real>(&mut self, elements: &Elements<R>, first: u32) {
        let mut length = 1;
        self.of[first as usize] = first;
        let mut at = first;
        while let Some(next) = along(elements, at, Direction::Right) {
            self.of[next as usize] = first;
            (at, length) = (next, length + 1);
        }
        self.looked += u64::from(length);
        self.known[first as usize].length = length;
    }

    /// Finds what is beside a strand.
    fn look<R: Real>(&mut self, elements: &Elements<R>, strand: u32) {
        for to in Direction::ALL {
            self.look_to(elements, strand, to);
        }
    }

    /// Finds what is beside a strand in a direction.
    fn look_to<R: Real>(&mut self, elements: &Elements<R>, strand: u32, to: Direction) {
        let mut found = NONE;
        self.each(elements, strand, to, |_, other| {
            found = match found {
                NONE => other,
                one if one == other => one,
                _ => SEVERAL,
            };
        });
        self.known[strand as usize].beside[to.index()] = found;
    }

    /// Visits the strands that links of a strand's elements lead to in a direction; some more than once.
    fn each<R: Real>(
        &mut self,
        elements: &Elements<R>,
        strand: u32,
        to: Direction,
        mut visit: impl FnMut(&mut Self, u32),
    ) {
        let object = elements.object(strand);
        let (mut at, length) = (Some(strand), self.length(strand));
        for _ in 0..length {
            let Some(element) = at else {
                return;
            };
            if let Some(other) = elements.neighbour(element, to) {
                self.looked += 1;
                let beside = self.of[other as usize];
                // a join of two objects is followed once they are one
                if beside != strand && elements.object(other) == object {
                    visit(self, beside);
                }
            }
            at = elements.neighbour(element, Direction::Right);
        }
    }

    /// The strand of an element.
    pub(super) fn of(&self, element: u32) -> u32 {
        self.of[element as usize]
    }

    /// Number of elements of a strand.
    pub(super) fn length(&self, strand: u32) -> u32 {
        self.known[strand as usize].length
    }

    /// Visits the strands beside one, with their numbers of elements; some more than once.
    pub(super) fn beside<R: Real>(
        &mut self,
        elements: &Elements<R>,
        strand: u32,
        mut visit: impl FnMut(u32, u32),
    ) {
        let beside = self.known[strand as usize].beside;
        for to in Direction::ALL {
            match beside[to.index()] {
                NONE => {}
                SEVERAL => self.each(elements, strand, to, |strands, other| {
                    visit(other, strands.length(other));
                }),
                one => {
                    self.looked += 1;
                    visit(one, self.length(one));
                }
            }
        }
    }

    /// Gives the elements of a strand to an object.
    pub(super) fn give<R: Real>(&self, elements: &mut Elements<R>, strand: u32, object: u32) {
        let mut at = Some(strand);
        for _ in 0..self.length(strand) {
            let Some(element) = at else {
                return;
            };
            elements.set_object(element, object);
            at = elements.neighbour(element, Direction::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::tests::{Draw, block};

    /// What is kept up with edits is what is found anew.
    #[test]
    fn strands_follow_edits() {
        let mut elements: Elements<f32> = block([70, 6, 5], Limits::MEDIUM);
        let mut strands = Strands::new(&elements);
        let mut draw = Draw::new(3);
        for _ in 0..300 {
            for _ in 0..draw.below(9) {
                let element = draw.below(elements.slots());
                let to = Direction::ALL[draw.below(6) as usize];
                let other = elements.at_site(to.from(elements.made(element)));
                if let Some(other) = elements.neighbour(element, to).or(other) {
                    // links that were cut are made again
                    let linked = elements.cut(element, to);
                    if linked || elements.join(element, to, other) {
                        strands.note_link(element, to, other);
                    }
                }
            }
            strands.refresh(&elements);
            let anew = Strands::new(&elements);
            assert_eq!(strands.of, anew.of);
            for element in 0..elements.slots() {
                if strands.of(element) == element {
                    let slot = element as usize;
                    assert_eq!(strands.known[slot], anew.known[slot]);
                }
            }
        }
    }
}
