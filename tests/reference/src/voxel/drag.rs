//! Elements held by whoever drags them: the chain follows and one sweep relaxes the rest.
//!
//! Source: seed-001 Fig. 11 and section 3.4.6 (row DF-13: interactive manipulation of a volume). Sessions pull with jaws
//! instead, whose force and energy are accounted for.

use crate::voxel::propagation::{Propagation, Propagator};
use crate::voxel::relax::{Relax, RelaxError, RelaxParams, Wish};
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::{Control, Infeasible, Moved};

/// A volume that is dragged.
#[derive(Debug, Clone)]
pub struct Drag<R> {
    elements: Elements<R>,
    propagator: Propagator<R>,
    relax: Relax<R>,
    held: Vec<u32>,
}

impl<R: Real> Drag<R> {
    /// Takes a volume.
    ///
    /// # Errors
    /// [`RelaxError`] never: the parameters are fixed.
    pub fn new(elements: Elements<R>, how: Propagation) -> Result<Self, RelaxError> {
        let params = RelaxParams {
            wish: Wish::Weighted,
            gain: 1.7,
            ..RelaxParams::default()
        };
        Ok(Self {
            propagator: Propagator::new(how, elements.slots()),
            relax: Relax::new(params, &elements)?,
            held: Vec::new(),
            elements,
        })
    }

    /// The volume.
    #[must_use]
    pub const fn elements(&self) -> &Elements<R> {
        &self.elements
    }

    /// Puts elements where they are held, moves whoever must follow, and relaxes once while they are held; with no
    /// elements it only relaxes. No limit of a link is broken after, if none was before and propagation is exact.
    ///
    /// # Errors
    /// [`Infeasible`] if an element that is pinned would have to give; nothing has moved then.
    pub fn to(&mut self, controls: &[Control<R>]) -> Result<Moved, Infeasible> {
        let moved = self.propagator.propagate(&mut self.elements, controls)?;
        self.held.clear();
        self.held.extend(controls.iter().map(|c| c.element));
        self.relax.sweep(&mut self.elements, &self.held);
        Ok(moved)
    }
}
