//! Continuum tissue by implicit dynamics, in double precision.
//!
//! Source: backward Euler as the minimum of an incremental potential (Kane, Marsden, Ortiz and West 2000;
//! Martin et al. 2011), found by Newton's method with a line search; linear systems by conjugate gradients.
//! For bodies of any shape, stiff or thin layers, any law, viscous materials, and as the time-domain
//! reference of faster solvers. Cells are hexahedra, or tetrahedra with ten nodes, which do not lock with
//! averaged volume and, unlike those with four, bend correctly. It is stable at any step. It is far too slow
//! for the servo rate on all but small meshes.
//!
//! `build` constructs the model, `cells` is one element with its viscous parts, `newton` solves for the end
//! of a step. `step` is one tick with its energy balance, `state` the content of a snapshot. Internally,
//! lengths are divided by the extent of the mesh, stresses by the largest shear modulus, densities by the
//! largest.
//!
//! Numerical dissipation of the scheme counts as dissipated and has its own formula. For a function `W` of
//! the displacements `x` it is `dW(x1) . (x1 - x0) - (W(x1) - W(x0))`, half the derivative of the force times
//! the square of the displacement. For the kinetic energy it is `|v1 - v0|^2 / 2`. The residual of the energy
//! balance is then the imbalance left by Newton's method, and rounding.

mod build;
mod cells;
mod newton;
mod state;
mod step;
#[cfg(test)]
mod tests;

use build::Model;
use newton::NewtonScratch;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::quadratic::QuadraticTetMesh;
use palpate_twin::Vec3;
use palpate_twin::extrapolation::ReactionExtrapolator;
use palpate_twin::law::{CellMaterial, LawFamily};
use palpate_twin::twin::{Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueView, Tool};
use state::{State, TOOLS};

/// Longest step, in travel times of a shear wave through the mesh.
const STEP_MAX: f64 = 100.0;
/// Shortest step, in the same unit; for shorter ones the square of the step is lost in rounding.
const STEP_MIN: f64 = 1e-9;

/// Parameters of an [`ImplicitTissue`]; all but the damping without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImplicitParams {
    /// Rate at which motion decays \[1/s\], proportional to mass; at least 0.
    pub damping_per_s: f64,
    /// Contact stiffness over the ratio of the surface's shear modulus to the shortest face edge.
    pub contact_stiffness: f64,
    /// Ratio of residual to forces at which a step is solved.
    pub tolerance: f64,
}

impl Default for ImplicitParams {
    fn default() -> Self {
        Self {
            damping_per_s: 10.0,
            contact_stiffness: 300.0,
            tolerance: 2e-7,
        }
    }
}

impl ImplicitParams {
    fn check(&self) -> Result<(), ImplicitError> {
        let within = |value: f64, low: f64, high: f64| value >= low && value <= high;
        let rules = [
            ("damping_per_s", self.damping_per_s, 0.0, 1e6),
            ("contact_stiffness", self.contact_stiffness, 1e-3, 1e5),
            ("tolerance", self.tolerance, 1e-12, 0.1),
        ];
        match rules.iter().find(|rule| !within(rule.1, rule.2, rule.3)) {
            Some(&(field, value, low, high)) => Err(ImplicitError::Param {
                field,
                value,
                low,
                high,
            }),
            None => Ok(()),
        }
    }
}

/// Reason why a tissue cannot be constructed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImplicitError {
    /// Surface that is supported everywhere.
    #[error("every face of the outside is supported: no face is left to touch")]
    Untouchable,
    /// Parameter out of range.
    #[error("`{field}` is {value}; expected {low} to {high}")]
    Param {
        /// Name of the parameter.
        field: &'static str,
        /// Value of the parameter.
        value: f64,
        /// Smallest valid value.
        low: f64,
        /// Largest valid value.
        high: f64,
    },
}

/// Continuum integrated implicitly.
///
/// Steps are deterministic: the same state, tools and `dt_s` produce the same bits. Tools are identified by
/// their index from step to step. A tool that jumps by more than its diameter is placed anew, and its contact
/// energy counts as its work. A `dt_s` beyond [`TissueCaps::dt_s_max`] changes nothing.
#[derive(Debug, Clone)]
pub struct ImplicitTissue {
    model: Model,
    state: State,
    work: NewtonScratch,
    surface_m: Vec<Vec3>,
    extrapolator: ReactionExtrapolator,
}

impl ImplicitTissue {
    /// Constructs a tissue at rest from a law and cells, fixed at its bottom and touched on its top.
    ///
    /// The bulk part of a cell's dashpot acts on the mean rate of its volume, as the law acts on its mean
    /// volume. The law keeps the fraction of the shear modulus that the branch does not carry. The branch is
    /// linear in the deviatoric Green strain (finite linear viscoelasticity, Coleman and Noll 1961), and
    /// volume does not relax.
    ///
    /// # Errors
    /// The parameter that is out of range.
    ///
    /// # Panics
    /// If there is not one entry per cell.
    pub fn new(
        mesh: &HexMesh,
        family: LawFamily,
        cell_materials: &[CellMaterial],
        params: &ImplicitParams,
    ) -> Result<Self, ImplicitError> {
        Ok(Self::of_model(Model::of_block(
            mesh,
            family,
            cell_materials,
            params,
        )?))
    }

    /// Constructs a tissue of tetrahedra, touched on all faces that are not supported; `supported` has one
    /// entry per node. Otherwise as [`ImplicitTissue::new`].
    ///
    /// # Errors
    /// The parameter that is out of range, or that no face is left to touch.
    ///
    /// # Panics
    /// As [`ImplicitTissue::new`], and if no node is supported.
    pub fn of_tets(
        mesh: &QuadraticTetMesh,
        supported: &[bool],
        family: LawFamily,
        cell_materials: &[CellMaterial],
        params: &ImplicitParams,
    ) -> Result<Self, ImplicitError> {
        let model = Model::of_tets(mesh, supported, family, cell_materials, params)?;
        Ok(Self::of_model(model))
    }

    /// Makes sides of the block planes of symmetry: their nodes move in the plane only. `mesh` is that of
    /// [`ImplicitTissue::new`]. Reactions are then those of the part in the mesh.
    #[must_use]
    pub fn with_mirrors(mut self, mesh: &HexMesh, sides: &[BlockSide]) -> Self {
        for &side in sides {
            for node in mesh.side_nodes(side) {
                self.model.fixed[node as usize][side as usize / 2] = true;
            }
        }
        self
    }

    fn of_model(model: Model) -> Self {
        Self {
            state: State::new(&model),
            work: NewtonScratch::new(&model),
            surface_m: model.rest_m.clone(),
            extrapolator: ReactionExtrapolator::default(),
            model,
        }
    }

    /// Updates the surface of [`Tissue::view`].
    fn update_surface(&mut self) {
        let nodes = self.model.top.iter().zip(&self.model.rest_m);
        for (position_m, (&node, rest_m)) in self.surface_m.iter_mut().zip(nodes) {
            *position_m = rest_m + self.state.u[node as usize] * self.model.length_m;
        }
    }
}

impl Tissue for ImplicitTissue {
    fn caps(&self) -> TissueCaps {
        let free = |fixed: &&[bool; 3]| !fixed.iter().all(|&fixed| fixed);
        let nodes = self.model.fixed.iter().filter(free).count();
        let elements = self.model.hexes.len() + self.model.tets.len();
        TissueCaps {
            dt_s_max: STEP_MAX * self.model.time_s,
            ..TissueCaps::new("implicit", nodes, elements, TOOLS)
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
        let (rest_m, faces) = (&self.model.rest_m, &self.model.triangles);
        TissueView::new(&self.surface_m, rest_m, faces, self.state.ledger)
    }

    fn save(&self, snapshot: &mut Snapshot) {
        snapshot.encode(&[&self.state, &self.extrapolator], None);
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        snapshot.decode(&mut [&mut self.state, &mut self.extrapolator], None)?;
        self.work.stale = true;
        self.update_surface();
        Ok(())
    }
}
