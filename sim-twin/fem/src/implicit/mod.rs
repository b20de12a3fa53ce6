//! Continuum tissue by implicit dynamics, in double precision.
//!
//! Source: backward Euler as the minimum of an incremental potential (Kane, Marsden, Ortiz and West
//! 2000; Martin et al. 2011), found by Newton's method with a line search; linear systems by
//! conjugate gradients. For bodies of any shape, stiff or thin layers, any law, viscous materials, and
//! as the judge in time of faster solvers: hexahedra, or tetrahedra with ten nodes, which averaged
//! volume keeps from locking and which, unlike those with four, bend. It is stable at any step and far
//! from the servo's rate on all but small meshes.
//!
//! `build` makes the model, `cells` is one element with its viscous parts, `newton` finds the end of
//! a step, `step` is one tick with its books, `state` what a snapshot holds. Inside, lengths are over
//! the extent of the mesh, stresses over the largest shear modulus, densities over the largest.
//!
//! What the scheme itself takes out is booked as dissipated, by its own formula: of a function `W`
//! of the displacements `x` it is `dW(x1) . (x1 - x0) - (W(x1) - W(x0))`, which is half the slope of
//! the force times the square of the way, and `|v1 - v0|^2 / 2` of the kinetic energy. The residual
//! of the ledger is then what Newton's method left unbalanced, and rounding.

mod build;
mod cells;
mod newton;
mod state;
mod step;
#[cfg(test)]
mod tests;

use crate::solid::{SolidError, Support};
use build::Model;
use newton::Work;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_geometry::mesh::quadratic::Quadratic;
use palpate_twin::Vec3;
use palpate_twin::hold::Hold;
use palpate_twin::law;
use palpate_twin::law::viscous::{KelvinVoigt, Prony, ViscousError};
use palpate_twin::law::{Family, Moduli};
use palpate_twin::twin::{Caps, Reaction, Snapshot, ThawError, Tissue, Tool, View};
use state::{State, TOOLS};

/// Longest step, in the time that a shear wave takes through the mesh.
const STEP_MAX: f64 = 100.0;
/// Shortest step, in the same unit; below it a square of the step is lost in rounding.
const STEP_MIN: f64 = 1e-9;

/// What one may choose; all but the damping without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Rate at which motion dies out \[1/s\], proportional to mass; at least 0.
    pub damping_hz: f64,
    /// Contact stiffness over the surface's shear modulus a shortest face edge.
    pub contact_stiffness: f64,
    /// Gauss points along each edge of a face, 1 to 4.
    pub order: usize,
    /// Residual over the forces at which a step is solved.
    pub tolerance: f64,
    /// Newton iterations a step, 1 to 100.
    pub newton_max: usize,
    /// Conjugate-gradient iterations a Newton iteration, 1 to 10 000.
    pub krylov_max: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            damping_hz: 10.0,
            contact_stiffness: 300.0,
            order: 3,
            tolerance: 2e-7,
            newton_max: 12,
            krylov_max: 200,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), ImplicitError> {
        let within = |value: f64, low: f64, high: f64| value >= low && value <= high;
        let rules = [
            ("damping_hz", self.damping_hz, 0.0, 1e6),
            ("contact_stiffness", self.contact_stiffness, 1e-3, 1e5),
            ("order", self.order as f64, 1.0, 4.0),
            ("tolerance", self.tolerance, 1e-12, 0.1),
            ("newton_max", self.newton_max as f64, 1.0, 100.0),
            ("krylov_max", self.krylov_max as f64, 1.0, 1e4),
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

/// What the material of a cell has beside its elastic law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viscosity {
    /// A dashpot beside the law; it sees the mean rate of volume of the cell, as the law its volume.
    pub kelvin_voigt: KelvinVoigt<f64>,
    /// Branches that forget. Shear only: the law keeps the share of its shear modulus that the
    /// branches leave, each branch is linear in the shape part of the Green strain (finite linear
    /// viscoelasticity, Coleman and Noll 1961), and volume does not relax.
    pub prony: Prony,
}

impl Viscosity {
    /// Those of cells, none if nothing is viscous.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn of_cells(all: &[law::Viscosity]) -> Result<Vec<Self>, ViscousError> {
        if all.iter().all(|own| *own == law::Viscosity::NONE) {
            return Ok(Vec::new());
        }
        let of = |own: &law::Viscosity| {
            let branch = [(own.share, own.time_s)];
            let branches = if own.share > 0.0 { &branch[..] } else { &[] };
            Ok(Self {
                kelvin_voigt: KelvinVoigt::new(own.shear_pas, own.bulk_pas)?,
                prony: Prony::new(branches)?,
            })
        };
        all.iter().map(of).collect()
    }
}

/// What a tissue is made of, cell by cell.
#[derive(Debug, Clone, Copy)]
pub struct Matter<'a> {
    /// The law of all cells.
    pub family: Family,
    /// Moduli of every cell.
    pub moduli: &'a [Moduli],
    /// Density of every cell \[kg/m^3\].
    pub densities_kgpm3: &'a [f64],
    /// Viscosity of every cell; none of an elastic tissue.
    pub viscosities: &'a [Viscosity],
}

/// Why there is no such tissue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ImplicitError {
    /// Mesh, moduli or supports are unfit.
    #[error(transparent)]
    Solid(#[from] SolidError),
    /// Numbers are not one a cell.
    #[error("{found} {what} for {cells} cells")]
    Count {
        /// What is counted.
        what: &'static str,
        /// Cells of the mesh.
        cells: usize,
        /// Numbers given.
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
    /// All of the outside is held.
    #[error("every face of the outside is held: nothing is left to touch")]
    Untouchable,
    /// A parameter is out of range.
    #[error("`{field}` is {value}; expected {low} to {high}")]
    Param {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Smallest value that would be right.
        low: f64,
        /// Largest value that would be right.
        high: f64,
    },
}

/// What steps have cost since construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Effort {
    /// Steps taken.
    steps: u64,
    /// Newton iterations.
    newton: u64,
    /// Assemblies of the cells' stiffness.
    assemblies: u64,
    /// Conjugate-gradient iterations.
    krylov: u64,
    /// Evaluations of all cells' energies and forces.
    evaluations: u64,
    /// Steps that ended before the tolerance was met; their error is in the ledger's residual.
    unsettled: u64,
}

/// A continuum stepped implicitly.
///
/// Steps are pure: same state, tools and `dt_s`, same bits. Tools of the same index are the same tool
/// from step to step; one that jumps by more than its diameter is set down anew, and what energy it
/// then has it brought. A `dt_s` beyond [`Caps::dt_s_max`] does nothing.
#[derive(Debug, Clone)]
pub struct Implicit {
    model: Model,
    state: State,
    work: Work,
    seen_m: Vec<Vec3>,
    effort: Effort,
    hold: Hold,
}

impl Implicit {
    /// A tissue at rest, touched on its top. Moduli are those of a sudden strain.
    ///
    /// # Errors
    /// Names the cell, density or parameter that is unfit.
    pub fn new(
        mesh: &HexMesh,
        matter: &Matter<'_>,
        supports: &[Support],
        params: &Params,
    ) -> Result<Self, ImplicitError> {
        Ok(Self::of_model(Model::of_block(
            mesh, matter, supports, params,
        )?))
    }

    /// A tissue of tetrahedra, touched wherever it is not held; `held` tells of every node whether it
    /// is. Otherwise as [`Implicit::new`].
    ///
    /// # Errors
    /// Names the cell, density or parameter that is unfit.
    pub fn of_tets(
        mesh: &Quadratic,
        matter: &Matter<'_>,
        held: &[bool],
        params: &Params,
    ) -> Result<Self, ImplicitError> {
        Ok(Self::of_model(Model::of_tets(mesh, matter, held, params)?))
    }

    fn of_model(model: Model) -> Self {
        Self {
            state: State::new(&model),
            work: Work::new(&model),
            seen_m: model.rest_m.clone(),
            effort: Effort::default(),
            hold: Hold::default(),
            model,
        }
    }

    /// Brings the surface that [`Tissue::view`] shows up to date.
    fn see(&mut self) {
        let nodes = self.model.top.iter().zip(&self.model.rest_m);
        for (seen_m, (&node, rest_m)) in self.seen_m.iter_mut().zip(nodes) {
            *seen_m = rest_m + self.state.u[node as usize] * self.model.length_m;
        }
    }
}

impl Tissue for Implicit {
    fn caps(&self) -> Caps {
        let free = |fixed: &&[bool; 3]| !fixed.iter().all(|&fixed| fixed);
        let nodes = self.model.fixed.iter().filter(free).count();
        let elements = self.model.hexes.len() + self.model.tets.len();
        Caps {
            dt_s_max: STEP_MAX * self.model.time_s,
            ..Caps::new("implicit", nodes, elements, TOOLS)
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

    fn view(&self) -> View<'_> {
        let (rest_m, faces) = (&self.model.rest_m, &self.model.triangles);
        View::new(&self.seen_m, rest_m, faces, self.state.ledger)
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        snapshot.fill(&[&self.state, &self.hold], None);
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        snapshot.pour(&mut [&mut self.state, &mut self.hold], None)?;
        self.work.stale = true;
        self.see();
        Ok(())
    }
}
