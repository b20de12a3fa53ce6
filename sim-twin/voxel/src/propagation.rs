//! Which propagation a volume is moved by: one call for all of them.
//!
//! Source: ours; seed-001 sections 3.3.2, 3.3.5 and 3.3.6 are the choices.

use crate::chain::{Chain, Lists};
use crate::elements::Elements;
use crate::exact::{Control, Exact, Infeasible, Moved};
use crate::ordered::{Measure, Ordered};
use palpate_twin::law::Real;

/// How whoever must follow is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// Nothing is left broken, on any shape, mixture and number of controls.
    #[default]
    Exact,
    /// Lists of candidates as printed; right on boxes of one material with one control. Controls go one
    /// after the other.
    Chain(Lists),
    /// The most violated first.
    Ordered(Measure),
}

/// A propagation with its room for work.
#[derive(Debug, Clone)]
pub enum Propagator<R> {
    /// See [`Propagation::Exact`].
    Exact(Box<Exact<R>>),
    /// See [`Propagation::Chain`].
    Chain(Box<Chain<R>>),
    /// See [`Propagation::Ordered`].
    Ordered(Box<Ordered<R>>),
}

impl<R: Real> Propagator<R> {
    /// Room for a volume of so many slots.
    #[must_use]
    pub fn new(how: Propagation, slots: u32) -> Self {
        match how {
            Propagation::Exact => Self::Exact(Box::new(Exact::new(slots))),
            Propagation::Chain(lists) => Self::Chain(Box::new(Chain::new(slots, lists))),
            Propagation::Ordered(measure) => Self::Ordered(Box::new(Ordered::new(slots, measure))),
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
            Self::Ordered(ordered) => ordered.propagate(elements, controls),
        }
    }

    /// Calls `each` with every element that the last propagation moved, the axis, and its displacement
    /// before \[m\]; first changes last.
    pub(super) fn each_change(&self, each: impl FnMut((u32, usize, R))) {
        match self {
            Self::Exact(exact) => exact.changes().for_each(each),
            Self::Chain(chain) => chain.changes().for_each(each),
            Self::Ordered(ordered) => ordered.changes().for_each(each),
        }
    }

    /// Takes the last propagation back.
    pub fn restore(&mut self, elements: &mut Elements<R>) {
        match self {
            Self::Exact(exact) => exact.restore(elements),
            Self::Chain(chain) => chain.restore(elements),
            Self::Ordered(ordered) => ordered.restore(elements),
        }
    }
}
