//! Exact propagation: the least motion after which every link keeps its limits again.
//!
//! Source: seed-001 section 3.3.6(b) (row FU-01). For every axis and sense, elements are moved in the order
//! of how far from rest they must go, farthest first: Dijkstra's algorithm with places at rest as potential, on
//! the elements that break a limit and no others. It is exact for any shape, any mixture of materials
//! and any number of controls, from any state that keeps all limits, which it does after.
//!
//! Ours is the queue: a ring of buckets (`front`) instead of a heap. Elements of one bucket come
//! in no strict order, so one may have to go a second time; where all end is the same, since it is the least
//! motion that keeps all limits whatever the order.

use crate::elements::{Elements, NONE, to_f64};
use crate::front::Front;
use palpate_twin::law::Real;

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

/// A displacement before it was changed.
#[derive(Debug, Clone, Copy)]
struct Was<R> {
    axis: usize,
    element: u32,
    moved_m: R,
}

/// What was moved, so that it can be taken back.
#[derive(Debug, Clone)]
pub(super) struct Log<R>(Vec<Was<R>>);

impl<R: Real> Log<R> {
    /// Room for every axis of so many slots, twice.
    pub(super) fn new(slots: usize) -> Self {
        Self(Vec::with_capacity(6 * slots))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Elements, axes and displacements before \[m\]; first changes last.
    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, usize, R)> + '_ {
        let rows = self.0.iter().rev();
        rows.map(|was| (was.element, was.axis, was.moved_m))
    }

    /// Puts all back.
    pub(super) fn restore(&mut self, elements: &mut Elements<R>) {
        while let Some(was) = self.0.pop() {
            elements.moved_m[was.axis][was.element as usize] = was.moved_m;
        }
    }

    /// Moves an element and notes where it was \[m\].
    pub(super) fn put(&mut self, elements: &mut Elements<R>, element: u32, axis: usize, to_m: R) {
        let slot = &mut elements.moved_m[axis][element as usize];
        self.0.push(Was {
            axis,
            element,
            moved_m: *slot,
        });
        *slot = to_m;
    }
}

/// Who may not be moved by others: controls of the propagation at hand, and what is pinned.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Generation in which an element was last a control.
    last: Vec<u32>,
    generation: u32,
}

impl Held {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            last: vec![0; slots],
            // nobody is a control before the first
            generation: 1,
        }
    }

    /// Marks the controls.
    pub(super) fn mark<R: Real>(&mut self, elements: &Elements<R>, controls: &[Control<R>]) {
        self.last.resize(elements.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for control in controls {
            if usable(elements, control) {
                self.last[control.element as usize] = self.generation;
            }
        }
    }

    pub(super) fn has<R: Real>(&self, elements: &Elements<R>, element: u32) -> bool {
        self.last[element as usize] == self.generation || elements.pinned(element)
    }
}

/// Room for the work, made once: it does not grow while a session runs.
#[derive(Debug, Clone)]
pub struct Exact<R> {
    front: Front<R>,
    was: Log<R>,
    held: Held,
    /// Controls of a pass and where they go, the farthest last \[m\].
    seeds: Vec<(R, u32)>,
}

/// An axis of the world and a way along it.
#[derive(Debug, Clone, Copy)]
struct Pass<R> {
    axis: usize,
    up: bool,
    /// 1 up, -1 down.
    sense: R,
    /// What rounding may leave of a violation \[m\].
    fine_m: R,
}

impl<R: Real> Exact<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            front: Front::new(slots),
            was: Log::new(slots),
            held: Held::new(slots),
            seeds: Vec::with_capacity(slots),
        }
    }

    /// Puts controls where they must be and moves whoever has to follow.
    ///
    /// A control that is not there or not finite is left out. Pinned elements do not move, as controls or
    /// otherwise.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is held would have to give: the one that would have to give
    /// most along the first axis and sense where this is so; nothing has moved then.
    pub fn propagate(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
    ) -> Result<Moved, Infeasible> {
        self.was.clear();
        self.held.mark(elements, controls);
        self.front.fit(elements.slots() as usize);
        let mut moved = Moved::default();
        for axis in 0..3 {
            for up in [true, false] {
                if let Err(why) = self.pass(elements, controls, axis, up, &mut moved) {
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
        self.was.changes()
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        self.was.restore(elements);
    }

    /// One axis, one sense.
    fn pass(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
        axis: usize,
        up: bool,
        moved: &mut Moved,
    ) -> Result<(), Infeasible> {
        let sense = if up { R::one() } else { -R::one() };
        self.seed(elements, controls, axis, sense);
        let Some(&(top_m, _)) = self.seeds.last() else {
            return Ok(());
        };
        let most_m = elements.bonds().gives(axis, up).most_m;
        let pass = Pass {
            axis,
            up,
            sense,
            fine_m: R::of(4.0) * R::default_epsilon() * (top_m.abs() + most_m),
        };
        self.front.begin(top_m, most_m);
        let mut why = None;
        loop {
            let next_m = self.seeds.last().map(|&(to_m, _)| to_m);
            if next_m.is_some_and(|to_m| self.front.is_next(to_m)) {
                if let Some((to_m, element)) = self.seeds.pop() {
                    self.start(elements, pass, element, to_m);
                }
                continue;
            }
            let Some(element) = self.front.pop() else {
                break;
            };
            self.ask(elements, pass, element, moved, &mut why);
        }
        why.map_or(Ok(()), Err)
    }

    /// Lists the controls that go this way.
    fn seed(&mut self, elements: &Elements<R>, controls: &[Control<R>], axis: usize, sense: R) {
        self.seeds.clear();
        for control in controls.iter().filter(|c| usable(elements, c)) {
            let to_m = sense * control.to_m[axis];
            if to_m > sense * elements.moved_m[axis][control.element as usize] {
                self.seeds.push((to_m, control.element));
            }
        }
        self.seeds.sort_unstable_by(|a, b| {
            let by_way = a.0.partial_cmp(&b.0);
            by_way
                .unwrap_or(std::cmp::Ordering::Equal)
                .then_with(|| b.1.cmp(&a.1))
        });
    }

    /// Puts a control where it must be.
    fn start(&mut self, elements: &mut Elements<R>, pass: Pass<R>, element: u32, to_m: R) {
        // the same element may be listed twice
        if to_m > pass.sense * elements.moved_m[pass.axis][element as usize] {
            self.was
                .put(elements, element, pass.axis, pass.sense * to_m);
        }
        self.front.push(element, to_m);
    }

    /// Moves the neighbours that must follow an element, and queues them.
    fn ask(
        &mut self,
        elements: &mut Elements<R>,
        pass: Pass<R>,
        element: u32,
        moved: &mut Moved,
        why: &mut Option<Infeasible>,
    ) {
        let (axis, slot) = (pass.axis, element as usize);
        let at_m = pass.sense * elements.moved_m[axis][slot];
        let own = elements.matter[slot];
        for d in 0..6 {
            let other = elements.neighbour[d][slot];
            if other == NONE {
                continue;
            }
            moved.considered += 1;
            let kind = usize::from(elements.matter[other as usize]);
            let give_m = elements.bonds().gives(axis, pass.up).row(own)[kind][d];
            let to_m = at_m - give_m;
            let now_m = pass.sense * elements.moved_m[axis][other as usize];
            if now_m + pass.fine_m >= to_m {
                continue;
            }
            if self.held.has(elements, other) {
                let by_m = to_f64(to_m - now_m);
                let most_m = why.map_or(slack(elements, axis), |why: Infeasible| why.by_m);
                if by_m > most_m {
                    *why = Some(Infeasible {
                        element: other,
                        for_element: element,
                        axis,
                        by_m,
                    });
                }
                continue;
            }
            if self.front.push(other, to_m) {
                moved.moved += 1;
                self.was.put(elements, other, axis, pass.sense * to_m);
            } else {
                elements.moved_m[axis][other as usize] = pass.sense * to_m;
            }
        }
    }
}

/// What rounding may ask of an element that is held \[m\].
pub(super) fn slack<R: Real>(elements: &Elements<R>, axis: usize) -> f64 {
    32.0 * to_f64(R::default_epsilon()) * elements.frame().spacing_m[axis]
}

/// Whether a control can be put anywhere.
pub(super) fn usable<R: Real>(elements: &Elements<R>, control: &Control<R>) -> bool {
    elements.alive(control.element)
        && !elements.pinned(control.element)
        && control.to_m.iter().all(R::is_finite)
}
