//! IDMS tissue: a lattice of point masses with home springs, stepped explicitly, in contact with spheres.
//!
//! Source: seed-004 (rows S4-01 to S4-26). [`Idms`] implements [`Tissue`]. `build` creates the model from a
//! checked lattice, `state` is the content of a snapshot, `step` is one step. `tool_contact` and `grasp` apply tools,
//! `active_set` selects the nodes that are stepped, `law` has the force laws, `compliance` the stiffness of the
//! surface, `params` the parameters. The numbers may be in any consistent units; names assume SI.

mod active_set;
mod build;
mod compliance;
mod grasp;
mod law;
mod params;
mod state;
mod step;
mod tool_contact;

pub use law::SpringLaw;
pub use params::{
    GraspLaw, HapticWindow, IdmsError, IdmsParams, LatticeContact, PinchLaw, TimeIntegration,
};

use build::Model;
use palpate_twin::extrapolation::ReactionExtrapolator;
use palpate_twin::lattice::Lattice;
use palpate_twin::twin::{Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueView, Tool};
use state::{Scratch, State};

/// Tissue of the IDMS kind.
///
/// Steps are pure: equal state, tools and `dt_s` yield equal bits. Tools of the same index are the same
/// tool from step to step. Between steps a tool is held at its last position; its reaction is the
/// mean force over the step, so that impulse and work are exact. A `dt_s` outside
/// \[0, 1\] s does nothing.
#[derive(Debug)]
pub struct Idms {
    model: Model,
    state: State,
    scratch: Scratch,
    extrapolator: ReactionExtrapolator,
}

impl Idms {
    /// Builds a tissue at rest from a sound lattice: numbers finite and not negative, masses of free atoms positive,
    /// indices of existing atoms, surface atoms first, and links without length only between a free atom and a
    /// fixed one.
    ///
    /// # Errors
    /// [`IdmsError`] if a parameter is out of range, or if the stability advisor refuses the step for this lattice
    /// with its contact and grasp springs.
    ///
    /// # Panics
    /// If a link or a face names an atom that does not exist.
    pub fn new(lattice: &Lattice, params: &IdmsParams) -> Result<Self, IdmsError> {
        let model = Model::new(lattice, params)?;
        let state = State::new(&model);
        let scratch = Scratch::new(&model);
        let mut tissue = Self {
            model,
            state,
            scratch,
            extrapolator: ReactionExtrapolator::default(),
        };
        tissue.reload();
        Ok(tissue)
    }
}

impl Tissue for Idms {
    fn caps(&self) -> TissueCaps {
        let by_node = self.model.params.contact == params::LatticeContact::Node;
        let free = self
            .model
            .inverse_mass
            .iter()
            .filter(|&&inverse| inverse > 0.0);
        TissueCaps {
            shafts: by_node,
            plates: by_node,
            jaws: true,
            dt_s_max: self.model.dt_s_max,
            preferred_dt_s: 1e-4_f64.min(self.model.params.dt_s),
            ..TissueCaps::new("idms", free.count(), self.model.elements, state::TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.extrapolator.extrapolate(tools, reactions);
            return;
        }
        self.advance(tools, dt_s, reactions);
        self.extrapolator.record(tools, dt_s, reactions);
    }

    fn view(&self) -> TissueView<'_> {
        let surface = self.model.skin.nodes();
        let (at_m, rest_m) = (&self.state.x_m[..surface], &self.model.rest_m[..surface]);
        TissueView::new(at_m, rest_m, &self.model.faces, self.state.ledger)
    }

    fn save(&self, snapshot: &mut Snapshot) {
        snapshot.encode(&[&self.state, &self.extrapolator], None);
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        snapshot.decode(&mut [&mut self.state, &mut self.extrapolator], None)?;
        for tool in &mut self.state.tools {
            tool.previous_m = tool.position_m;
        }
        self.reload();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
