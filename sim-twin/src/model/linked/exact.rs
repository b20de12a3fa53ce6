//! Exact propagation: the least motion after which every link keeps its limits again.
//!
//! Source: seed-001 section 3.3.6(b) (row FU-01). For every axis and sense, elements are moved in the order
//! of how far from rest they must go, farthest first: Dijkstra's algorithm with places at rest as potential, on
//! the elements that break a limit and no others. It is exact for any shape, any mixture of materials
//! and any number of controls, from any state that keeps all limits, which it does after.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::law::Real;
use crate::model::linked::direction::Direction;
use crate::model::linked::elements::Elements;
use crate::model::linked::links::{Links, NONE};

/// An element that is held by somebody, and the place where it must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control<R> {
    /// Which element.
    pub element: u32,
    /// From its place at rest \[m\].
    pub to_m: [R; 3],
}

/// What a propagation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Elements that moved along an axis, each counted by axis and sense.
    pub moved: usize,
    /// Links that were looked at.
    pub considered: usize,
}

/// Why nothing was moved: an element that is held would have to give.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "element {element} is held and would have to give {by_m} m along axis {axis} for element {for_element}"
)]
pub struct Infeasible {
    /// The element that is held: pinned or a control.
    pub element: u32,
    /// The neighbour whose link to it would be overstretched.
    pub for_element: u32,
    /// Axis of the world.
    pub axis: usize,
    /// How far it would have to give \[m\].
    pub by_m: f64,
}

/// Who waits to be moved: the farthest from rest comes first, then the lowest slot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due<R> {
    to_m: R,
    element: u32,
    from: u32,
}

impl<R: Real> Eq for Due<R> {}

impl<R: Real> Ord for Due<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_way = self.to_m.partial_cmp(&other.to_m);
        by_way
            .unwrap_or(Ordering::Equal)
            .then_with(|| other.element.cmp(&self.element))
            .then_with(|| other.from.cmp(&self.from))
    }
}

impl<R: Real> PartialOrd for Due<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A displacement before it was changed.
#[derive(Debug, Clone, Copy)]
struct Was<R> {
    axis: usize,
    element: u32,
    moved_m: R,
}

/// Room for the work, made once: it does not grow while a session runs.
#[derive(Debug, Clone)]
pub struct Exact<R> {
    due: BinaryHeap<Due<R>>,
    was: Vec<Was<R>>,
    /// Generation in which an element was last a control.
    held: Vec<u32>,
    generation: u32,
}

impl<R: Real> Exact<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            // one entry a link and axis at the very most; a poke needs a small part
            due: BinaryHeap::with_capacity(6 * slots),
            was: Vec::with_capacity(6 * slots),
            held: vec![0; slots],
            generation: 0,
        }
    }

    /// Puts controls where they must be and moves whoever has to follow.
    ///
    /// A control that is not there or not finite is left out. Pinned elements do not move, as controls or
    /// otherwise.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is held would have to give; nothing has moved then.
    pub fn propagate(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
    ) -> Result<Moved, Infeasible> {
        self.was.clear();
        self.hold(elements, controls);
        let mut moved = Moved::default();
        for axis in 0..3 {
            for up in [true, false] {
                if let Err(why) = self.pass(elements, controls, (axis, up), &mut moved) {
                    self.restore(elements);
                    return Err(why);
                }
            }
        }
        Ok(moved)
    }

    /// Elements that the last propagation moved, with the axis and their displacement before \[m\];
    /// first changes last.
    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, usize, R)> + '_ {
        let rows = self.was.iter().rev();
        rows.map(|was| (was.element, was.axis, was.moved_m))
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        while let Some(was) = self.was.pop() {
            elements.moved_m[was.axis][was.element as usize] = was.moved_m;
        }
    }

    /// Marks who may not be moved by others.
    fn hold(&mut self, elements: &Elements<R>, controls: &[Control<R>]) {
        self.held.resize(elements.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for control in controls {
            if usable(elements, control) {
                self.held[control.element as usize] = self.generation;
            }
        }
    }

    fn pass(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
        (axis, up): (usize, bool),
        moved: &mut Moved,
    ) -> Result<(), Infeasible> {
        let sense = if up { R::one() } else { -R::one() };
        self.due.clear();
        for control in controls {
            if !usable(elements, control) {
                continue;
            }
            let to_m = sense * control.to_m[axis];
            let at_m = sense * elements.moved_m[axis][control.element as usize];
            if to_m > at_m {
                self.put(elements, (axis, control.element), sense * to_m);
                let element = control.element;
                self.due.push(Due {
                    to_m,
                    element,
                    from: NONE,
                });
            }
        }
        while let Some(due) = self.due.pop() {
            if due.from != NONE {
                let at_m = sense * elements.moved_m[axis][due.element as usize];
                if at_m >= due.to_m {
                    continue;
                }
                let kept = self.held[due.element as usize] == self.generation;
                if kept || elements.pinned(due.element) {
                    let by_m = super::elements::to_f64(due.to_m - at_m);
                    if by_m <= slack(elements, axis) {
                        continue;
                    }
                    return Err(Infeasible {
                        element: due.element,
                        for_element: due.from,
                        axis,
                        by_m,
                    });
                }
                self.put(elements, (axis, due.element), sense * due.to_m);
                moved.moved += 1;
            }
            self.ask(elements, due, (axis, up, sense), moved);
        }
        Ok(())
    }

    /// Queues the neighbours that must follow an element.
    fn ask(
        &mut self,
        elements: &Elements<R>,
        due: Due<R>,
        (axis, up, sense): (usize, bool, R),
        moved: &mut Moved,
    ) {
        let element = due.element;
        for to in Direction::ALL {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            moved.considered += 1;
            let pair = [elements.matter(element), elements.matter(other)];
            let (least, most) = elements.bonds().range_m(pair, to, axis);
            // going up, the neighbour must not fall back by more than the least; going down, by the most
            let to_m = due.to_m + if up { least } else { -most };
            if sense * elements.moved_m[axis][other as usize] < to_m {
                self.due.push(Due {
                    to_m,
                    element: other,
                    from: element,
                });
            }
        }
    }

    fn put(&mut self, elements: &mut Elements<R>, (axis, element): (usize, u32), to_m: R) {
        let slot = &mut elements.moved_m[axis][element as usize];
        self.was.push(Was {
            axis,
            element,
            moved_m: *slot,
        });
        *slot = to_m;
    }
}

/// What rounding may ask of an element that is held \[m\].
fn slack<R: Real>(elements: &Elements<R>, axis: usize) -> f64 {
    let epsilon = super::elements::to_f64(R::default_epsilon());
    32.0 * epsilon * elements.frame().spacing_m[axis]
}

fn usable<R: Real>(elements: &Elements<R>, control: &Control<R>) -> bool {
    elements.alive(control.element)
        && !elements.pinned(control.element)
        && control.to_m.iter().all(R::is_finite)
}
