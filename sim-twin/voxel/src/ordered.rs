//! Enhanced ChainMail: whoever breaks a limit most is moved first, and once.
//!
//! Source: seed-001 section 3.3.6(a), after Schill, Gibson, Bender and Manner 1998 from memory; row FU-01. One
//! control leaves nothing broken on any shape and mixture. With two at once the vector form, which moves an
//! element along all axes when its turn comes, leaves links overstretched; one order per axis
//! does not. Kept beside [`super::exact`] to compare with.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::elements::{Elements, to_f64};
use crate::exact::{Control, Held, Infeasible, Log, Moved, slack, usable};
use crate::links::Links;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// What is one violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// That along one axis of the world, one axis after the other.
    #[default]
    PerAxis,
    /// The length over all axes; leaves links overstretched with two controls.
    Vector,
}

/// A link that is overstretched: the most first, then the lowest slots.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Broken<R> {
    by_m: R,
    element: u32,
    sponsor: u32,
    to: Direction,
}

impl<R: Real> Eq for Broken<R> {}

impl<R: Real> Ord for Broken<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by = self.by_m.partial_cmp(&other.by_m);
        by.unwrap_or(Ordering::Equal)
            .then_with(|| other.element.cmp(&self.element))
            .then_with(|| other.sponsor.cmp(&self.sponsor))
    }
}

impl<R: Real> PartialOrd for Broken<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Room for the work, made once.
#[derive(Debug, Clone)]
pub struct Ordered<R> {
    measure: Measure,
    due: BinaryHeap<Broken<R>>,
    /// Pass in which an element was last moved.
    stamp: Vec<u32>,
    pass: u32,
    held: Held,
    was: Log<R>,
}

impl<R: Real> Ordered<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(slots: u32, measure: Measure) -> Self {
        let slots = slots as usize;
        Self {
            measure,
            // one entry a link, from the end that moved
            due: BinaryHeap::with_capacity(6 * slots),
            stamp: vec![0; slots],
            pass: 0,
            held: Held::new(slots),
            was: Log::new(slots),
        }
    }

    /// Puts controls where they must be, all at once, and moves whoever follows.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is held would have to give; nothing has moved then.
    pub fn propagate(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
    ) -> Result<Moved, Infeasible> {
        self.was.clear();
        self.held.mark(elements, controls);
        self.stamp.resize(elements.slots() as usize, 0);
        let mut moved = Moved::default();
        let passes: &[&[usize]] = match self.measure {
            Measure::PerAxis => &[&[0], &[1], &[2]],
            Measure::Vector => &[&[0, 1, 2]],
        };
        for axes in passes {
            if let Err(why) = self.pass(elements, controls, axes, &mut moved) {
                self.was.restore(elements);
                return Err(why);
            }
        }
        Ok(moved)
    }

    fn pass(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
        axes: &[usize],
        moved: &mut Moved,
    ) -> Result<(), Infeasible> {
        self.pass = self.pass.wrapping_add(1).max(1);
        self.due.clear();
        let fit = |elements: &Elements<R>, control: &&Control<R>| usable(elements, control);
        for control in controls {
            if !fit(elements, &control) {
                continue;
            }
            self.stamp[control.element as usize] = self.pass;
            for &axis in axes {
                self.was
                    .put(elements, (axis, control.element), control.to_m[axis]);
            }
        }
        for control in controls {
            if fit(elements, &control) {
                self.ask(elements, control.element, axes, moved)?;
            }
        }
        while let Some(broken) = self.due.pop() {
            if self.stamp[broken.element as usize] == self.pass {
                continue;
            }
            self.stamp[broken.element as usize] = self.pass;
            for &axis in axes {
                let to_m = kept(elements, &broken, axis);
                if to_m != elements.moved_m[axis][broken.element as usize] {
                    self.was.put(elements, (axis, broken.element), to_m);
                }
            }
            moved.moved += 1;
            self.ask(elements, broken.element, axes, moved)?;
        }
        Ok(())
    }

    /// Queues the neighbours that an element has left too far behind.
    fn ask(
        &mut self,
        elements: &Elements<R>,
        sponsor: u32,
        axes: &[usize],
        moved: &mut Moved,
    ) -> Result<(), Infeasible> {
        for to in Direction::ALL {
            let Some(element) = elements.neighbour(sponsor, to) else {
                continue;
            };
            moved.considered += 1;
            let mut broken = Broken {
                by_m: R::zero(),
                element,
                sponsor,
                to,
            };
            let held = self.held.has(elements, element);
            let mut sum = R::zero();
            for &axis in axes {
                let by_m = kept(elements, &broken, axis) - elements.moved_m[axis][element as usize];
                sum += by_m * by_m;
                let by_m = to_f64(by_m.abs());
                if held && by_m > slack(elements, axis) {
                    return Err(Infeasible {
                        element,
                        for_element: sponsor,
                        axis,
                        by_m,
                    });
                }
            }
            broken.by_m = sum.sqrt();
            let free = !held && self.stamp[element as usize] != self.pass;
            if free && sum > R::zero() {
                self.due.push(broken);
            }
        }
        Ok(())
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, usize, R)> + '_ {
        self.was.changes()
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        self.was.restore(elements);
    }
}

/// The nearest displacement along an axis that keeps the limit with the sponsor \[m\].
fn kept<R: Real>(elements: &Elements<R>, broken: &Broken<R>, axis: usize) -> R {
    let pair = [
        elements.matter(broken.sponsor),
        elements.matter(broken.element),
    ];
    let (least, most) = elements.bonds().range_m(pair, broken.to, axis);
    let from_m = elements.moved_m[axis][broken.sponsor as usize];
    elements.moved_m[axis][broken.element as usize].clamp(from_m + least, from_m + most)
}
