//! Glue: links elements that lack a neighbour with the nearest ones that lack the opposite.
//!
//! Source: seed-001 section 3.5 "Join" and 3.3.6(e) (rows TP-06 and TP-07). The search goes outward from where the
//! neighbour should be, shell of cells by shell, no farther than links reach, and stops when nothing
//! nearer can come. Ties go to the lower slot. A join may not break a limit, nor may it close a loop of
//! links whose places at rest disagree: a piece that was moved before it is glued is carried to rest beside its
//! new neighbours first, and within one piece only elements that rest beside each other are joined.

use crate::Vec3;
use crate::law::Real;
use crate::model::linked::cells::Cells;
use crate::model::linked::direction::Direction;
use crate::model::linked::elements::{Elements, to_f64};
use crate::model::linked::links::Links;

/// A search for who may be joined.
#[derive(Debug, Clone)]
pub struct Glue {
    shell: Vec<u32>,
    /// Farthest from where it should be that any limit lets a neighbour be \[m\].
    give_m: f64,
}

impl Glue {
    /// Room for a volume; it does not grow.
    #[must_use]
    pub fn new<R: Real>(elements: &Elements<R>) -> Self {
        Self {
            shell: Vec::with_capacity(elements.slots() as usize),
            give_m: give_m(elements),
        }
    }

    /// Farthest from where it should be that any limit lets a neighbour be \[m\].
    pub(super) const fn give_m(&self) -> f64 {
        self.give_m
    }

    /// The nearest element that may be linked to one in a direction.
    pub fn partner<R: Real>(
        &mut self,
        elements: &Elements<R>,
        cells: &mut Cells,
        (element, to): (u32, Direction),
    ) -> Option<u32> {
        if !elements.alive(element) || elements.neighbour(element, to).is_some() {
            return None;
        }
        let expected_m = expected_m(elements, element, to);
        let centre = cells.of(&expected_m);
        let pitch_m = cells.pitch_m();
        // from there to the nearest wall of its cell
        let wall_m = (0..3)
            .map(|axis| {
                let into_m = expected_m[axis] - f64::from(centre[axis]) * pitch_m;
                into_m.min(pitch_m - into_m)
            })
            .fold(f64::INFINITY, f64::min);
        let mut best: Option<(f64, u32)> = None;
        for shell in 0_i32.. {
            let least_m = if shell == 0 {
                0.0
            } else {
                f64::from(shell - 1) * pitch_m + wall_m
            };
            let near_enough = best.map_or(self.give_m, |(far2, _)| far2.sqrt());
            // as near as the best: it may have a lower slot
            if least_m > near_enough || least_m.is_nan() {
                break;
            }
            self.shell.clear();
            list_shell(cells, centre, shell, &mut self.shell);
            for &other in &self.shell {
                if !may_join(elements, (element, to), other) {
                    continue;
                }
                let far2 = (elements.at_m(other) - expected_m).norm_squared();
                if best.is_none_or(|best| (far2, other) < best) {
                    best = Some((far2, other));
                }
            }
        }
        best.map(|(_, other)| other)
    }
}

/// Where the neighbour of an element rests beside it \[m\].
fn expected_m<R: Real>(elements: &Elements<R>, element: u32, to: Direction) -> Vec3 {
    let mut at_m = elements.at_m(element);
    let length_m = elements.frame().spacing_m[to.axis()];
    at_m[to.axis()] += if to.is_up() { length_m } else { -length_m };
    at_m
}

/// Whether two elements lack each other, and a link between them would keep its limits where they are.
#[must_use]
pub fn may_join<R: Real>(
    elements: &Elements<R>,
    (element, to): (u32, Direction),
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
    if Direction::ALL.iter().any(linked) {
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
#[must_use]
pub fn to_store_j<R: Real>(
    elements: &Elements<R>,
    (element, to): (u32, Direction),
    other: u32,
) -> f64 {
    let k = to_f64(elements.stiffness_npm(element, other, to.axis()));
    0.5 * k * (elements.at_m(other) - expected_m(elements, element, to)).norm_squared()
}

/// Sites by which `other` must be carried to rest beside `element`.
#[must_use]
pub fn carried<R: Real>(
    elements: &Elements<R>,
    (element, to): (u32, Direction),
    other: u32,
) -> [i32; 3] {
    let (beside, site) = (to.from(elements.site(element)), elements.site(other));
    std::array::from_fn(|axis| beside[axis] - site[axis])
}

/// Lists the elements in all cells at a distance from one, counted by the farthest axis.
fn list_shell(cells: &mut Cells, centre: [i32; 3], shell: i32, found: &mut Vec<u32>) {
    let span = |c: i32| c.saturating_sub(shell)..=c.saturating_add(shell);
    let [low, high] = [-shell, shell].map(|by| centre.map(|c| c.saturating_add(by)));
    for z in span(centre[2]) {
        for y in span(centre[1]) {
            let all = z == low[2] || z == high[2] || y == low[1] || y == high[1];
            if all {
                for x in span(centre[0]) {
                    cells.list([x, y, z], found);
                }
            } else {
                cells.list([low[0], y, z], found);
                cells.list([high[0], y, z], found);
            }
        }
    }
}

/// See [`Glue::give_m`].
fn give_m<R: Real>(elements: &Elements<R>) -> f64 {
    let kinds = u8::try_from(elements.bonds().matters().len()).unwrap_or(u8::MAX);
    let pairs = (0..kinds).flat_map(|a| (0..kinds).map(move |b| (a, b)));
    let bonds = pairs.flat_map(|(a, b)| (0..3).map(move |axis| (a, b, axis)));
    let far = bonds.map(|(a, b, axis)| {
        let bond = elements.bonds().of(a, b, axis);
        let worst = (0..3).map(|along| {
            let (least, most) = (to_f64(bond.least_m[along]), to_f64(bond.most_m[along]));
            let far = least.abs().max(most.abs());
            far * far
        });
        worst.sum::<f64>().sqrt()
    });
    far.fold(0.0, f64::max)
}
