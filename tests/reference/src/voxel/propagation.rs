//! Which propagation a volume is moved by: that of sessions, or ChainMail as printed.
//!
//! Source: seed-001 sections 3.3.2, 3.3.5 and 3.3.6 are the choices.

use crate::voxel::chain::{Chain, Lists};
use crate::voxel::to_f64;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::{Control, Exact, Infeasible, Moved};

/// How whoever must follow is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// Nothing is left broken, on any shape, mixture and number of controls: what sessions do.
    #[default]
    Exact,
    /// Lists of candidates as printed; right on boxes of one material with one control. Controls go one
    /// after the other.
    Chain(Lists),
}

/// A propagation with its room for work.
#[derive(Debug, Clone)]
pub enum Propagator<R> {
    /// See [`Propagation::Exact`].
    Exact(Box<Exact<R>>),
    /// See [`Propagation::Chain`].
    Chain(Box<Chain<R>>),
}

impl<R: Real> Propagator<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(how: Propagation, slots: u32) -> Self {
        match how {
            Propagation::Exact => Self::Exact(Box::new(Exact::new(slots))),
            Propagation::Chain(lists) => Self::Chain(Box::new(Chain::new(slots, lists))),
        }
    }

    /// Puts controls where they must be and moves whoever has to follow.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is held would have to give; nothing has moved then.
    pub fn propagate(
        &mut self,
        elements: &mut Elements<R>,
        controls: &[Control<R>],
    ) -> Result<Moved, Infeasible> {
        match self {
            Self::Exact(exact) => exact.propagate(elements, controls),
            Self::Chain(chain) => chain.propagate(elements, controls),
        }
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        match self {
            Self::Exact(exact) => exact.restore(elements),
            Self::Chain(chain) => chain.restore(elements),
        }
    }
}

/// What was moved, so that it can be taken back: elements, axes and displacements before \[m\].
#[derive(Debug, Clone, Default)]
pub(crate) struct Log<R>(Vec<(u32, usize, R)>);

impl<R: Real> Log<R> {
    /// Room for every axis of so many slots, twice.
    pub(crate) fn new(slots: usize) -> Self {
        Self(Vec::with_capacity(6 * slots))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Puts all back.
    pub(crate) fn restore(&mut self, elements: &mut Elements<R>) {
        while let Some((element, axis, moved_m)) = self.0.pop() {
            elements.moved_m[axis][element as usize] = moved_m;
        }
    }

    /// Moves an element along an axis and notes where it was \[m\].
    pub(crate) fn put(&mut self, elements: &mut Elements<R>, element: u32, axis: usize, to_m: R) {
        let slot = &mut elements.moved_m[axis][element as usize];
        self.0.push((element, axis, *slot));
        *slot = to_m;
    }
}

/// Who may not be moved by others: controls of the propagation at hand, and what is pinned.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// Generation in which an element was last a control.
    last: Vec<u32>,
    generation: u32,
}

impl Held {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            last: vec![0; slots],
            // nobody is a control before the first
            generation: 1,
        }
    }

    /// Marks the controls.
    pub(crate) fn mark<R: Real>(&mut self, elements: &Elements<R>, controls: &[Control<R>]) {
        self.last.resize(elements.slots() as usize, 0);
        self.generation = self.generation.wrapping_add(1).max(1);
        for control in controls.iter().filter(|control| usable(elements, control)) {
            self.last[control.element as usize] = self.generation;
        }
    }

    pub(crate) fn has<R: Real>(&self, elements: &Elements<R>, element: u32) -> bool {
        self.last[element as usize] == self.generation || elements.pinned(element)
    }
}

/// What rounding may ask of an element that is held \[m\].
pub(crate) fn slack<R: Real>(elements: &Elements<R>, axis: usize) -> f64 {
    32.0 * to_f64(R::default_epsilon()) * elements.frame().spacing_m[axis]
}

/// Whether a control can be put anywhere.
pub(crate) fn usable<R: Real>(elements: &Elements<R>, control: &Control<R>) -> bool {
    elements.alive(control.element)
        && !elements.pinned(control.element)
        && control.to_m.iter().all(R::is_finite)
}
