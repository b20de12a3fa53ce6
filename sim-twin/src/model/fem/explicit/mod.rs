//! Continuum tissue at the servo's rate: explicit dynamics in single precision.
//!
//! Source: total-Lagrangian explicit dynamics (Miller, Joldes, Lance and Wittek 2007). `lane` is the
//! law, `cells` the elements, `nodes` their motion, `skin` the contact, `build` makes all of them
//! with their levels, `step` is one tick, `state` what a snapshot holds. Inside, lengths are over the
//! shortest edge, stresses over the largest shear modulus.
//!
//! Cells must be boxes along the axes, of any grading; only the top can be touched, without friction;
//! the law is [`crate::law::NeoHookean`]. Damping is proportional to mass.

mod build;
mod cells;
mod lane;
mod nodes;
mod skin;
mod state;
mod step;
#[cfg(test)]
mod tests;

use crate::Vec3;
use crate::law::Moduli;
use crate::mesh::hex::HexMesh;
use crate::model::fem::solid::{SolidError, Support};
use crate::twin::{
    Caps, Edit, EditError, EditReport, Reaction, Snapshot, ThawError, Tissue, Tool, View,
};
use build::{LEVELS, Model};
use skin::Met;
use state::{State, TOOLS};
use std::sync::Arc;

/// What one may choose; all but the damping without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Rate at which motion dies out \[1/s\], proportional to mass; at least 0.
    pub damping_hz: f64,
    /// Stiffness of the hourglass modes over that of a Laplacian with the cell's shear modulus.
    pub hourglass: f64,
    /// Step over the largest that the tissue at rest bears, in (0, 1).
    pub safety: f64,
    /// Contact stiffness over shear modulus a face's shorter edge.
    pub contact_stiffness: f64,
    /// Gauss points along each edge of a face, 1 to 4.
    pub order: usize,
    /// Levels of sub-steps, 1 (all cells alike) to 4 (the coarsest go 8 times less often).
    pub levels: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            damping_hz: 10.0,
            hourglass: 2.0,
            safety: 0.7,
            contact_stiffness: 100.0,
            order: 3,
            levels: 3,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), ExplicitError> {
        let rules = [
            (
                "damping_hz",
                self.damping_hz,
                (0.0..=1e6).contains(&self.damping_hz),
            ),
            (
                "hourglass",
                self.hourglass,
                self.hourglass > 0.0 && self.hourglass <= 10.0,
            ),
            (
                "safety",
                self.safety,
                self.safety > 0.0 && self.safety < 1.0,
            ),
            (
                "contact_stiffness",
                self.contact_stiffness,
                self.contact_stiffness > 0.0 && self.contact_stiffness <= 1e4,
            ),
            ("order", self.order as f64, (1..=4).contains(&self.order)),
            (
                "levels",
                self.levels as f64,
                (1..=LEVELS).contains(&self.levels),
            ),
        ];
        match rules.into_iter().find(|(_, _, right)| !right) {
            Some((field, value, _)) => Err(ExplicitError::Param { field, value }),
            None => Ok(()),
        }
    }
}

/// Why there is no such tissue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ExplicitError {
    /// Mesh, moduli or supports are unfit.
    #[error(transparent)]
    Solid(#[from] SolidError),
    /// A cell is no box along the axes.
    #[error("cell {cell} is not a box along the axes")]
    Skew {
        /// The cell.
        cell: usize,
    },
    /// Densities are not one a cell.
    #[error("{found} densities for {cells} cells")]
    Densities {
        /// Cells of the mesh.
        cells: usize,
        /// Densities given.
        found: usize,
    },
    /// A density is out of range.
    #[error("cell {cell} has a density of {density_kgpm3} kg/m3; expected a finite number above 0")]
    Density {
        /// The cell.
        cell: usize,
        /// Its density \[kg/m^3\].
        density_kgpm3: f64,
    },
    /// A parameter is out of range.
    #[error("`{field}` is {value}, out of its range")]
    Param {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: f64,
    },
}

/// A tissue of boxes, stepped explicitly.
///
/// Steps are pure: same state, tools and `dt_s`, same bits. Tools of the same index are the same tool
/// from step to step. A `dt_s` that is not in (0, 0.01\] s does nothing.
#[derive(Debug)]
pub struct Explicit {
    model: Arc<Model>,
    state: State,
    /// Faces near every tool.
    near: [Vec<u32>; TOOLS],
    /// What every tool met at the end of the tick.
    met: [Met; TOOLS],
    /// Mean force on every tool over the tick, without unit.
    mean: [Vec3; TOOLS],
    seen_m: Vec<Vec3>,
    passes: u64,
}

impl Explicit {
    /// A tissue at rest with moduli and density \[kg/m^3\] of every cell.
    ///
    /// # Errors
    /// Names the cell, density or parameter that is unfit.
    pub fn new(
        mesh: &HexMesh,
        (moduli, densities_kgpm3): (&[Moduli], &[f64]),
        supports: &[Support],
        params: &Params,
    ) -> Result<Self, ExplicitError> {
        let model = Model::new(mesh, (moduli, densities_kgpm3), supports, params)?;
        Ok(Self::of(Arc::new(model)))
    }

    fn of(model: Arc<Model>) -> Self {
        let faces = model.skin.faces.len();
        Self {
            state: State::new(&model),
            near: [(); TOOLS].map(|()| Vec::with_capacity(faces)),
            met: [Met::default(); TOOLS],
            mean: [Vec3::zeros(); TOOLS],
            seen_m: model.rest_m.clone(),
            passes: 0,
            model,
        }
    }

    /// Longest sub-step of the finest cells at rest \[s\].
    #[must_use]
    pub fn substep_s(&self) -> f64 {
        self.model.step() * self.model.time_s
    }

    /// Cells of every level; those of level `l` go every `2^l` sub-steps. Padding counts.
    #[must_use]
    pub fn level_cells(&self) -> [usize; LEVELS] {
        let levels = &self.model.levels;
        std::array::from_fn(|level| (levels[level + 1] - levels[level]) * lane::LANES)
    }

    /// How many times a node was slowed down or put back because it left the allowed range.
    #[must_use]
    pub fn escapes(&self) -> u64 {
        self.state.nodes.escapes
    }

    /// Times that a cell's forces were taken since construction, padding included: what a tick costs.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Demand of the deformed cells on the step, 1 at rest, as a squared frequency.
    #[must_use]
    pub fn demand(&self) -> f64 {
        f64::from(self.state.demand)
    }

    /// Brings the surface that [`Tissue::view`] shows up to date.
    fn see(&mut self) {
        let u = &self.state.nodes.u;
        let nodes = self.model.surface.iter().zip(&self.model.rest_m);
        for (seen_m, (&node, rest_m)) in self.seen_m.iter_mut().zip(nodes) {
            let u = u[node as usize];
            let moved = Vec3::new(f64::from(u[0]), f64::from(u[1]), f64::from(u[2]));
            *seen_m = rest_m + moved * self.model.length_m;
        }
    }
}

impl Clone for Explicit {
    /// Shares the model and copies the state; the copy's lists have their full capacity.
    fn clone(&self) -> Self {
        let mut copy = Self::of(Arc::clone(&self.model));
        copy.state = self.state.clone();
        copy.see();
        copy
    }
}

impl Tissue for Explicit {
    fn caps(&self) -> Caps {
        let free = |inverse: &&[f32; 4]| inverse.iter().any(|&x| x > 0.0);
        Caps {
            method: "fem-explicit",
            nodes: self.model.inverse_mass.iter().filter(free).count(),
            elements: self.model.cells,
            tools_max: TOOLS,
            dt_s_max: 1e-3,
            stiffness_edits: false,
            cuts: false,
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        self.advance(tools, dt_s, reactions);
    }

    fn edit(&mut self, edit: &Edit) -> Result<EditReport, EditError> {
        Err(EditError::Kind(match edit {
            Edit::Stiffen { .. } => "stiffen",
            Edit::Cut { .. } => "cut",
        }))
    }

    fn view(&self) -> View<'_> {
        View {
            positions_m: &self.seen_m,
            rest_m: &self.model.rest_m,
            faces: &self.model.triangles,
            ledger: self.state.ledger,
        }
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        self.state.freeze(snapshot);
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        self.state.thaw(snapshot)?;
        self.see();
        Ok(())
    }
}
