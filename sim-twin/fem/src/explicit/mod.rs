//! Continuum tissue at the servo's rate: explicit dynamics in single precision on nested grids.
//!
//! Source: total-Lagrangian explicit dynamics (Miller, Joldes, Lance and Wittek 2007). `laws` are the
//! laws, `lane` the one of the block test, `cells` the elements, `grid` one grid with what moves on it, `motion` how its nodes go,
//! `seam` what ties it to the coarser one, `skin` the contact with
//! `points` for one face, `friction` what drags, `jaws` tools of two
//! bodies, `squeeze` what deep presses cost, `estimate` what the mesh does to a force, and how that goes on,
//! `coupled` what stiff cells do instead of more sub-steps with the factor in `factor`, `viscous` what is viscous,
//! `shares` what a chunk of cells works with, `build` makes all of them, `edit` changes stiffness, `step` is one tick,
//! `path` where tools go in it, `state` what a snapshot holds. Inside, lengths are over the
//! shortest edge, stresses over the largest shear modulus, densities over the largest.
//!
//! The bottom of the block is fixed, its sides are free, and only its top can be touched. The law is
//! any [`Family`], one for all cells. Damping is proportional to mass.

mod build;
mod cells;
mod coupled;
mod edit;
mod estimate;
mod factor;
mod friction;
mod grid;
mod jaws;
mod lane;
mod laws;
mod matter;
mod motion;
mod path;
mod points;
mod schedule;
mod seam;
mod shares;
mod skin;
mod squeeze;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod viscous;

use crate::Masked;
use build::{CLASSES, Model};
pub use coupled::Stiff;
use coupled::{Coupled, Room};
use palpate_geometry::mesh::nested::Nested;
use palpate_twin::Vec3;
use palpate_twin::hold::Hold;
use palpate_twin::law::viscous::ViscousError;
use palpate_twin::law::{Family, FamilyError, Moduli, Viscosity};
use palpate_twin::twin::{
    Caps, Edit, EditError, EditReport, Reaction, Snapshot, ThawError, Tissue, Tool, View,
};
use shares::Shares;
use skin::{Met, Touches};
use squeeze::Loads;
use state::{BODIES, State, TOOLS};
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
    /// Classes of sub-steps, 1 (all cells alike) to 5 (the slowest go 16 times less often).
    pub classes: usize,
    /// Coulomb's coefficient between tools and the top, at least 0.
    pub friction: f64,
    /// Coulomb's coefficient of jaws, at least 0, where it exceeds [`Params::friction`]; without it
    /// jaws are not felt, and a tool that has them is a ball.
    pub jaw_friction: Option<f64>,
    /// Sub-steps a millisecond beyond which [`Params::stiff`] says what becomes of cells, 1 to 1 000 000.
    pub substeps_max: u32,
    /// What becomes of cells that ask for more sub-steps.
    pub stiff: Stiff,
    /// The law of all cells.
    pub law: Family,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            damping_hz: 10.0,
            hourglass: 1.5,
            safety: 0.75,
            contact_stiffness: 40.0,
            order: 3,
            classes: 1,
            friction: 0.0,
            jaw_friction: None,
            substeps_max: 32,
            stiff: Stiff::default(),
            law: Family::NeoHookean,
        }
    }
}

impl Params {
    fn check_law(&self) -> Result<(), ExplicitError> {
        self.law.check().map_err(|source| ExplicitError::Law {
            law: self.law.name(),
            source,
        })
    }

    fn check(&self) -> Result<(), ExplicitError> {
        let rules = [
            ("damping_hz", self.damping_hz, 0.0..=1e6, "0 to 1e6"),
            (
                "hourglass",
                self.hourglass,
                ABOVE..=10.0,
                "above 0, at most 10",
            ),
            (
                "safety",
                self.safety,
                ABOVE..=1.0 - f64::EPSILON,
                "above 0, below 1",
            ),
            (
                "contact_stiffness",
                self.contact_stiffness,
                ABOVE..=1e4,
                "above 0, at most 1e4",
            ),
            ("order", self.order as f64, 1.0..=4.0, "1 to 4"),
            (
                "classes",
                self.classes as f64,
                1.0..=CLASSES as f64,
                "1 to 5",
            ),
            (
                "substeps_max",
                self.substeps_max.into(),
                1.0..=1e6,
                "1 to 1e6",
            ),
            ("friction", self.friction, 0.0..=10.0, "0 to 10"),
            (
                "jaw_friction",
                self.jaw_friction.unwrap_or_default(),
                0.0..=10.0,
                "0 to 10",
            ),
        ];
        // a range has no place for what is not a number
        match rules.into_iter().find(|rule| !rule.2.contains(&rule.1)) {
            Some((field, value, _, expected)) => Err(ExplicitError::Param {
                field,
                value,
                expected,
            }),
            None => Ok(()),
        }
    }
}

/// The least number above 0.
const ABOVE: f64 = f64::MIN_POSITIVE;

/// What the cells of one grid are made of, x fastest; cells that a finer grid replaces count for
/// nothing and are there so that the places are those of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Stuff {
    /// Moduli of every cell.
    pub moduli: Vec<Moduli>,
    /// Density of every cell \[kg/m^3\].
    pub densities_kgpm3: Vec<f64>,
}

/// Why there is no such tissue.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ExplicitError {
    /// Materials are not given for every grid.
    #[error("materials of {found} grids for {levels}")]
    Levels {
        /// Grids of the block.
        levels: usize,
        /// Materials given.
        found: usize,
    },
    /// Materials are not one a cell.
    #[error("grid {level} has {cells} cells and materials of {found}")]
    Cells {
        /// The grid, 0 the coarsest.
        level: usize,
        /// Its cells.
        cells: usize,
        /// Materials given.
        found: usize,
    },
    /// A modulus or density is out of range.
    #[error(
        "cell {cell} of grid {level} needs a shear modulus and a density above 0, and a second modulus of at least 0, all finite"
    )]
    Material {
        /// The grid.
        level: usize,
        /// The cell.
        cell: usize,
    },
    /// The explicit solver cannot take a law.
    #[error("the explicit solver cannot take the law `{law}`: {source}")]
    Law {
        /// Its name.
        law: &'static str,
        /// What is wrong.
        source: FamilyError,
    },
    /// A viscosity is out of range.
    #[error("cell {cell} of grid {level}: {source}")]
    Viscosity {
        /// The grid.
        level: usize,
        /// The cell.
        cell: usize,
        /// What is wrong.
        source: ViscousError,
    },
    /// A parameter is out of range.
    #[error("`{field}` is {value}; expected {expected}")]
    Param {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
}

/// A tissue of nested grids, stepped explicitly.
///
/// Steps are pure: same state, tools and `dt_s`, same bits. Tools of the same index are the same tool
/// from step to step. A `dt_s` that is not in \[0, 0.01\] s does nothing.
#[derive(Debug)]
pub struct Explicit {
    model: Arc<Model>,
    state: State,
    shares: Shares,
    touches: Touches,
    loads: Loads,
    room: Room,
    /// What the stiffness of every cell was before an edit, by grid.
    stiffened: Vec<Vec<f32>>,
    /// Time by which a force is ahead of its depth at a speed, as far as every cell is so viscous.
    lag: f64,
    /// Energy that viscous cells took and that is not booked yet.
    heat: f64,
    /// Faces near every body of a tool.
    near: [Vec<u32>; BODIES],
    /// What every body met at the end of the tick.
    met: [Met; BODIES],
    /// Mean force and torque on every body over the tick, without unit.
    mean: [(Vec3, Vec3); BODIES],
    surface: Surface,
    seen_m: Vec<Vec3>,
    /// Farthest that a node of the top is from its rest.
    moved: f32,
    hold: Hold,
    masked: Option<Box<Masked>>,
}

/// What a view shows: top nodes by grid, and their triangles.
#[derive(Debug, Clone)]
struct Surface {
    nodes: Vec<(u32, u32)>,
    rest_m: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

impl Surface {
    fn new(model: &Model) -> Self {
        let faces = &model.skin.faces;
        let mut nodes: Vec<(u32, u32)> = faces
            .iter()
            .flat_map(|face| face.nodes.map(|node| (face.grid, node)))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |grid: u32, node: u32| nodes.binary_search(&(grid, node)).unwrap_or(0) as u32;
        let triangles = faces.iter().flat_map(|face| {
            let [a, b, c, d] = face.nodes.map(|node| place(face.grid, node));
            [[a, b, c], [a, c, d]]
        });
        let triangles = triangles.collect();
        let rest = |&(grid, node): &(u32, u32)| {
            let rest = model.grids[grid as usize].rest(node as usize);
            model.origin_m + Vec3::from(rest) * model.length_m
        };
        Self {
            rest_m: nodes.iter().map(rest).collect(),
            nodes,
            triangles,
        }
    }
}

impl Explicit {
    /// A tissue at rest.
    ///
    /// # Errors
    /// Names the grid, cell or parameter that is unfit.
    pub fn new(nested: &Nested, stuff: &[Stuff], params: &Params) -> Result<Self, ExplicitError> {
        Self::with_viscosity(nested, stuff, &[], params)
    }

    /// A tissue at rest whose cells have viscosities, a list a grid as [`Stuff`]; no lists are an
    /// elastic tissue. Moduli are those of a sudden strain. A branch keeps its stiffness when an edit
    /// changes that of its cell.
    ///
    /// # Errors
    /// Names the grid, cell or parameter that is unfit.
    pub fn with_viscosity(
        nested: &Nested,
        stuff: &[Stuff],
        viscosities: &[Vec<Viscosity>],
        params: &Params,
    ) -> Result<Self, ExplicitError> {
        let model = Model::new(nested, stuff, viscosities, params)?;
        Ok(Self::of(Arc::new(model)))
    }

    fn of(model: Arc<Model>) -> Self {
        let faces = model.skin.faces.len();
        let surface = Surface::new(&model);
        Self {
            state: State::new(&model),
            shares: Shares::new(&model),
            touches: Touches::new(&model.skin),
            loads: Loads::new(&model.grids),
            room: Room::new(model.coupled.as_ref()),
            stiffened: model
                .grids
                .iter()
                .map(|g| vec![1.0; g.mass.len()])
                .collect(),
            lag: estimate::lag(&model.grids),
            heat: 0.0,
            near: [(); BODIES].map(|()| Vec::with_capacity(faces)),
            met: [Met::default(); BODIES],
            mean: [(Vec3::zeros(), Vec3::zeros()); BODIES],
            seen_m: surface.rest_m.clone(),
            moved: 0.0,
            hold: Hold::default(),
            masked: None,
            surface,
            model,
        }
    }

    /// The same tissue, whose steps without time ask a condensed table of it.
    #[must_use]
    pub fn with_table(self, masked: Masked) -> Self {
        Self {
            masked: Some(Box::new(masked)),
            ..self
        }
    }

    /// Longest sub-step of the finest cells at rest \[s\].
    #[must_use]
    pub fn substep_s(&self) -> f64 {
        self.model.step() * self.model.time_s
    }

    /// Cells of every class, coarsest grid first; those of class `c` go every `2^c` sub-steps.
    /// Padding to whole lanes counts.
    #[must_use]
    pub fn class_cells(&self) -> [usize; CLASSES] {
        let mut cells = [0; CLASSES];
        for slab in self.model.grids.iter().flat_map(|grid| &grid.slabs) {
            cells[slab.class] += slab.runs.iter().map(|run| run.1).sum::<usize>();
        }
        cells
    }

    /// Demand of the deformed cells on the step, 1 at rest, as a squared frequency.
    #[must_use]
    pub fn demand(&self) -> f64 {
        f64::from(self.state.demand)
    }

    /// How often cells had fallen in and the tissue was let back towards its rest.
    #[must_use]
    pub fn collapses(&self) -> u64 {
        self.state.collapses
    }

    /// Mass that squeezed cells have now beyond that at rest \[kg\].
    #[must_use]
    pub fn added_mass_kg(&self) -> f64 {
        let pairs = self.model.grids.iter().zip(&self.state.motions);
        let sum = |field: &[f32]| field.iter().copied().map(f64::from).sum::<f64>();
        let added = pairs.map(|(grid, motion)| sum(&motion.mass) - sum(&grid.mass));
        added.sum::<f64>() * self.model.mass_kg()
    }

    /// Nodes that stiff cells couple, by [`Params::substeps_max`], and numbers that a sub-step reads
    /// twice for that.
    #[must_use]
    pub fn coupled(&self) -> (usize, usize) {
        self.model.coupled.as_ref().map_or((0, 0), Coupled::size)
    }

    /// Mass that stiff cells have at rest beyond their own, with [`Stiff::Mass`] \[kg\].
    #[must_use]
    pub fn stiff_mass_kg(&self) -> f64 {
        self.model.added * self.model.mass_kg()
    }

    /// Brings the surface that [`Tissue::view`] shows up to date.
    fn see(&mut self) {
        let nodes = self.surface.nodes.iter().zip(&self.surface.rest_m);
        let mut moved2 = 0.0_f32;
        for (seen_m, (&(grid, node), rest_m)) in self.seen_m.iter_mut().zip(nodes) {
            let [x, y, z] = &self.state.motions[grid as usize].u;
            let at = node as usize;
            let u = [x[at], y[at], z[at]];
            moved2 = moved2.max(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            *seen_m = rest_m + Vec3::from(u.map(f64::from)) * self.model.length_m;
        }
        self.moved = moved2.sqrt();
    }
}

impl Clone for Explicit {
    /// Shares the model and copies the state; the copy's lists have their full capacity.
    fn clone(&self) -> Self {
        let mut copy = Self::of(Arc::clone(&self.model));
        copy.state = self.state.clone();
        (copy.hold, copy.masked) = (self.hold, self.masked.clone());
        copy.loads
            .set_loaded(copy.state.demand * copy.state.stiffest);
        copy.see();
        copy
    }
}

impl Tissue for Explicit {
    fn caps(&self) -> Caps {
        Caps {
            shafts: true,
            jaws: self.model.params.jaw_friction.is_some(),
            dt_s_max: 1e-3,
            stiffness_edits: true,
            region_edits: true,
            ..Caps::new("fem", self.model.free, self.model.cells, TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.hold.answer(tools, reactions);
            if let Some(masked) = &mut self.masked {
                masked.refine(&self.hold, tools, reactions);
            }
            return;
        }
        self.advance(tools, dt_s, reactions);
        self.hold.keep(tools, dt_s, reactions);
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.change(edit)
    }

    fn view(&self) -> View<'_> {
        let shown = &self.surface;
        View::new(
            &self.seen_m,
            &shown.rest_m,
            &shown.triangles,
            self.state.ledger,
        )
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        snapshot.fill(&[&self.state, &self.hold], None);
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        snapshot.pour(&mut [&mut self.state, &mut self.hold], None)?;
        self.loads
            .set_loaded(self.state.demand * self.state.stiffest);
        self.see();
        Ok(())
    }
}
