//! Glue: links elements that lack a neighbour with the nearest ones that lack the opposite.
//!
//! Source: seed-001 section 3.5 "Join" and 3.3.6(e) (rows TP-06 and TP-07). The nearest is found as the source's
//! search outward finds it, no farther than links reach: in the cells that are so near or, where these are more, as wide
//! limits make them, among the elements that lack a neighbour. Ties go to the lower slot. A join may not break a limit,
//! nor may it close a loop of links whose places at rest disagree: a piece that was moved before it is glued is carried
//! to rest beside its new neighbours first, and within one piece only elements that rest beside each other are joined.

use crate::cells::{Cells, Extent};
use crate::elements::{Elements, NONE, to_f64};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// A search for who may be joined.
#[derive(Debug, Clone)]
pub(super) struct Glue {
    /// Elements of a neighbourhood that lack a neighbour, by object, then by the site where they rest.
    open: Vec<u32>,
    /// Elements near one place.
    near: Vec<u32>,
    /// Farthest from where it should be that any limit lets a neighbour be \[m\].
    give_m: f64,
    /// Whether fewer cells than elements surveyed are within that, so that cells are asked.
    pub(super) by_cells: bool,
}

impl Glue {
    /// Room for a volume; it does not grow.
    pub(super) fn new<R: Real>(elements: &Elements<R>) -> Self {
        Self {
            open: Vec::with_capacity(elements.slots() as usize),
            near: Vec::with_capacity(elements.slots() as usize),
            give_m: give_m(elements),
            by_cells: false,
        }
    }

    /// Farthest from where it should be that any limit lets a neighbour be \[m\].
    pub(super) const fn give_m(&self) -> f64 {
        self.give_m
    }

    /// Lists who may be a partner of elements within a ball.
    pub(super) fn survey<R: Real>(
        &mut self,
        elements: &Elements<R>,
        cells: &mut Cells,
        centre_m: &Vec3,
        radius_m: f64,
    ) {
        let reach_m = radius_m + self.give_m + cells.pitch_m();
        cells.gather(&Extent::around(centre_m, reach_m), &mut self.open);
        self.open.retain(|&element| {
            let lacks = |to: &Direction| elements.neighbour(element, *to).is_none();
            elements.alive(element) && Direction::ALL.iter().any(lacks)
        });
        let across = 2.0 * (self.give_m / cells.pitch_m()).ceil() + 1.0;
        self.by_cells = across * across * across < self.open.len() as f64;
        self.regroup(elements);
    }

    /// Finds out anew who belongs to which object.
    pub(super) fn regroup<R: Real>(&mut self, elements: &Elements<R>) {
        self.open
            .sort_unstable_by_key(|&e| (elements.object(e), elements.site(e), e));
    }

    /// The nearest of those surveyed that may be linked to an element in a direction.
    pub(super) fn partner<R: Real>(
        &mut self,
        elements: &Elements<R>,
        cells: &mut Cells,
        element: u32,
        to: Direction,
    ) -> Option<u32> {
        if !elements.alive(element) || elements.neighbour(element, to).is_some() {
            return None;
        }
        let expected_m = expected_m(elements, element, to);
        let mut best = (self.give_m * self.give_m * (1.0 + 1e-9), NONE);
        let mut try_one = |other: u32| {
            let far = (elements.at_m(other) - expected_m).norm_squared();
            // ties go to the lower slot
            if (far, other) < best && may_join(elements, element, to, other) {
                best = (far, other);
            }
        };
        if self.by_cells {
            let near = Extent::around(&expected_m, self.give_m * (1.0 + 1e-9));
            cells.gather(&near, &mut self.near);
            self.near.iter().for_each(|&other| try_one(other));
            return (best.1 != NONE).then_some(best.1);
        }
        let (own, beside) = (elements.object(element), to.from(elements.site(element)));
        // of its own object only what rests beside it, of the others all
        let from = |end: u32, site| (elements.object(end), elements.site(end)) < (own, site);
        let first = self.open.partition_point(|&e| elements.object(e) < own);
        let after = self.open.partition_point(|&e| elements.object(e) <= own);
        let rests = self.open.partition_point(|&e| from(e, beside));
        let own_ones = self.open[rests..after].iter();
        let own_ones = own_ones.take_while(|&&e| elements.site(e) == beside);
        let others = self.open[..first].iter().chain(&self.open[after..]);
        own_ones.chain(others).for_each(|&other| try_one(other));
        (best.1 != NONE).then_some(best.1)
    }
}

/// Where the neighbour of an element rests beside it \[m\].
fn expected_m<R: Real>(elements: &Elements<R>, element: u32, to: Direction) -> Vec3 {
    let mut at_m = elements.at_m(element);
    let length_m = elements.frame().spacing_m[to.axis()];
    at_m[to.axis()] += if to.is_up() { length_m } else { -length_m };
    at_m
}

/// Whether two elements lack each other, and a link between them would keep its limits where they are and close no
/// loop that disagrees at rest.
pub(super) fn may_join<R: Real>(
    elements: &Elements<R>,
    element: u32,
    to: Direction,
    other: u32,
) -> bool {
    let free = other != element
        && elements.alive(other)
        && elements.neighbour(element, to).is_none()
        && elements.neighbour(other, to.opposite()).is_none();
    if !free {
        return false;
    }
    let linked = |d: &Direction| elements.neighbour(element, *d) == Some(other);
    let one = elements.object(element) == elements.object(other);
    if Direction::ALL.iter().any(linked) || one && carried(elements, element, to, other) != [0; 3] {
        return false;
    }
    let apart_m = elements.at_m(other) - expected_m(elements, element, to);
    let pair = [elements.matter(element), elements.matter(other)];
    (0..3).all(|along| {
        let (least, most) = elements.bonds().range_m(pair, to, along);
        (to_f64(least)..=to_f64(most)).contains(&apart_m[along])
    })
}

/// Energy that a link between two elements would store where they are \[J\].
pub(super) fn to_store_j<R: Real>(
    elements: &Elements<R>,
    element: u32,
    to: Direction,
    other: u32,
) -> f64 {
    let k = to_f64(elements.stiffness_npm(element, other, to.axis()));
    0.5 * k * (elements.at_m(other) - expected_m(elements, element, to)).norm_squared()
}

/// Sites by which `other` must be carried to rest beside `element`.
pub(super) fn carried<R: Real>(
    elements: &Elements<R>,
    element: u32,
    to: Direction,
    other: u32,
) -> [i32; 3] {
    let (beside, site) = (to.from(elements.site(element)), elements.site(other));
    std::array::from_fn(|axis| beside[axis] - site[axis])
}

/// See [`Glue::give_m`].
fn give_m<R: Real>(elements: &Elements<R>) -> f64 {
    let far = elements.bonds().all().map(|(_, bond)| {
        let worst = (0..3).map(|along| {
            let (least, most) = (to_f64(bond.least_m[along]), to_f64(bond.most_m[along]));
            let far = least.abs().max(most.abs());
            far * far
        });
        worst.sum::<f64>().sqrt()
    });
    far.fold(0.0, f64::max)
}
