//! IDMS: a lattice of point masses with home springs, stepped explicitly, touched by spheres.
//!
//! Source: seed-004 (rows S4-01 to S4-26). [`Idms`] implements [`Tissue`]; `build` checks a
//! lattice, `state` is what a snapshot holds, `step` one step and `plain` its inner loops in the
//! common case, `touch` and `grasp` what tools do, `window` who is stepped at all, `edit` what
//! may change, `law` the force laws. The numbers may be in any consistent units; names say SI.

mod build;
mod compliance;
mod edit;
mod grasp;
mod law;
mod params;
mod plain;
mod state;
mod step;
mod touch;
mod window;

pub use law::Law;
pub use params::{Contact, GraspLaw, IdmsError, IdmsParams, Pinch, Rest, Scheme, Window};

use build::Model;
use palpate_twin::hold::Hold;
use palpate_twin::lattice::Lattice;
use palpate_twin::twin::{
    Caps, Edit, EditError, EditReport, Reaction, Snapshot, ThawError, Tissue, Tool, View,
};
use state::{Scratch, State};
use std::sync::Arc;

/// A tissue of the IDMS kind.
///
/// Steps are pure: same state, tools and `dt_s`, same bits. Tools of the same index are the same
/// tool from step to step. Between steps a tool is held where it was last; its reaction is the
/// mean force over the step, so that impulse and work are exact. A `dt_s` that is not in
/// \[0, 1\] s does nothing.
#[derive(Debug)]
pub struct Idms {
    model: Arc<Model>,
    state: State,
    scratch: Scratch,
    hold: Hold,
}

impl Idms {
    /// Build a tissue at rest.
    ///
    /// # Errors
    /// [`IdmsError`] if a parameter, atom, link or face is out of range, or if the stability
    /// advisor refuses the step for this lattice with its contact and grasp springs.
    pub fn new(lattice: &Lattice, params: &IdmsParams) -> Result<Self, IdmsError> {
        let model = Arc::new(Model::new(lattice, params)?);
        let state = State::new(&model);
        let scratch = Scratch::new(&model);
        let mut tissue = Self {
            model,
            state,
            scratch,
            hold: Hold::default(),
        };
        tissue.reload();
        Ok(tissue)
    }

    /// The parameters it was built with.
    fn params(&self) -> &IdmsParams {
        &self.model.params
    }

    /// Number of surface nodes.
    fn surface_nodes(&self) -> usize {
        self.model.skin.nodes()
    }
}

impl Clone for Idms {
    /// Shares the model and copies the state; the copy's scratch has its full capacity.
    fn clone(&self) -> Self {
        let mut copy = Self {
            model: Arc::clone(&self.model),
            state: self.state.clone(),
            scratch: Scratch::new(&self.model),
            hold: self.hold,
        };
        copy.reload();
        copy
    }
}

impl Tissue for Idms {
    fn caps(&self) -> Caps {
        let by_node = self.model.params.contact == params::Contact::Node;
        let free = self
            .model
            .inverse_mass
            .iter()
            .filter(|&&inverse| inverse > 0.0);
        Caps {
            shafts: by_node,
            plates: by_node,
            jaws: true,
            dt_s_max: self.model.dt_s_max,
            dt_s_best: 1e-4_f64.min(self.params().dt_s),
            stiffness_edits: true,
            edits_keep_force: true,
            cuts: true,
            ..Caps::new("idms", free.count(), self.model.elements, state::TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.hold.answer(tools, reactions);
            return;
        }
        self.advance(tools, dt_s, reactions);
        self.hold.keep(tools, dt_s, reactions);
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.change(edit)
    }

    fn view(&self) -> View<'_> {
        let surface = self.surface_nodes();
        let (at_m, rest_m) = (&self.state.x_m[..surface], &self.model.rest_m[..surface]);
        View::new(at_m, rest_m, &self.scratch.faces, self.state.ledger)
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        snapshot.fill(&[&self.state, &self.hold], None);
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        snapshot.pour(&mut [&mut self.state, &mut self.hold], None)?;
        for tool in &mut self.state.tools {
            tool.came_from_m = tool.position_m;
        }
        self.reload();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
