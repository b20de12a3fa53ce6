//! Continuum tissue at the servo rate: explicit dynamics in single precision on nested grids.
//!
//! Source: total-Lagrangian explicit dynamics (Miller, Joldes, Lance and Wittek 2007).
//!
//! Model: `build` constructs it from `material` and `schedule`, which assigns step classes and chunks. `grid`
//! is one grid with its motion, `hanging_nodes` its constraints to the coarser grid. `laws` are the material
//! laws, `simd` the functions they use, `cells` the elements, `viscous` the viscous parts. `skin` is the
//! surface, `face_points` the contact points of a face.
//!
//! Step: `step` is one tick, `tool_path` the motion of tools within it, `chunks` the work on chunks of cells,
//! `leapfrog` the integration of nodes. `mass_scaling` limits the step of squeezed cells, `collapse` detects those that
//! broke. `coupled_inertia` integrates stiff cells linearly implicitly with the factor in `cholesky`. `friction`, `jaws`,
//! `surface_waves` and `contact_lag` are parts of the contact; `estimate` computes mesh error and slope of a force. `edit` changes stiffness, `state` is
//! the content of a snapshot.
//!
//! Internally, lengths are divided by the shortest edge, stresses by the largest shear modulus, densities by
//! the largest.
//!
//! The bottom of the block is fixed, its sides are free, and only its top can be touched. The law is any
//! [`LawFamily`], of each cell. Damping is proportional to mass.

mod build;
mod cells;
mod cholesky;
mod chunks;
mod collapse;
mod contact_lag;
mod coupled_inertia;
mod depth_map;
mod edit;
mod estimate;
mod face_points;
mod friction;
mod grid;
mod hanging_nodes;
mod jaws;
mod laws;
mod leapfrog;
mod mass_scaling;
mod material;
mod schedule;
mod simd;
mod skin;
mod state;
mod step;
mod surface_waves;
#[cfg(test)]
mod tests;
mod tool_path;
mod viscous;

use crate::FallbackPredictor;
use build::{CLASSES, Model};
use chunks::ChunkScratch;
use contact_lag::{LagForce, MappedContact};
pub use coupled_inertia::StiffCellMethod;
use coupled_inertia::{CoupledInertia, CoupledScratch};
pub use depth_map::{DepthKnot, DepthMap, LEFT_AT_EDGE, PLACES};
use mass_scaling::MassLoads;
use palpate_geometry::mesh::nested_grid::NestedGrid;
use palpate_twin::Vec3;
use palpate_twin::extrapolation::ReactionExtrapolator;
use palpate_twin::law::{CellMaterial, LawFamily};
use palpate_twin::twin::{
    Edit, EditError, EditReport, Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueView,
    Tool,
};
use skin::{ToolContact, TouchedFace};
use state::{BODIES, State, TOOLS};
use std::sync::Arc;

/// Parameters of an [`ExplicitTissue`]; without units unless a unit is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplicitParams {
    /// Rate at which motion decays \[1/s\], proportional to mass; at least 0.
    pub damping_per_s: f64,
    /// Stiffness of the hourglass modes over that of a Laplacian with the cell's shear modulus.
    pub hourglass: f64,
    /// Contact stiffness over the ratio of shear modulus to the shorter edge of a face.
    pub contact_stiffness: f64,
    /// Number of sub-step classes: 1 (one step for all cells) to 5 (the slowest cells step 16 times less
    /// often).
    pub classes: usize,
    /// Coulomb's friction coefficient between tools and the top, at least 0.
    pub friction: f64,
    /// Coulomb's friction coefficient of jaws, at least 0, used where it exceeds
    /// [`ExplicitParams::friction`]. Without it, a tool with jaws acts as a sphere.
    pub jaw_friction: Option<f64>,
    /// Sub-steps per millisecond, 1 to 1 000 000; [`ExplicitParams::stiff_cells`] treats cells that need
    /// more.
    pub substeps_max: u32,
    /// Treatment of cells that need more sub-steps.
    pub stiff_cells: StiffCellMethod,
    /// Law of cells whose material has none of its own.
    pub law: LawFamily,
}

impl Default for ExplicitParams {
    fn default() -> Self {
        Self {
            damping_per_s: 10.0,
            hourglass: 1.5,
            contact_stiffness: 40.0,
            classes: 1,
            friction: 0.0,
            jaw_friction: None,
            substeps_max: 32,
            stiff_cells: StiffCellMethod::default(),
            law: LawFamily::NeoHookean,
        }
    }
}

impl ExplicitParams {
    fn check(&self) -> Result<(), ExplicitError> {
        let rules = [
            ("damping_per_s", self.damping_per_s, 0.0..=1e6, "0 to 1e6"),
            (
                "hourglass",
                self.hourglass,
                ABOVE..=10.0,
                "above 0, at most 10",
            ),
            (
                "contact_stiffness",
                self.contact_stiffness,
                ABOVE..=1e4,
                "above 0, at most 1e4",
            ),
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
        // a range contains no NaN
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

/// Smallest number above 0.
const ABOVE: f64 = f64::MIN_POSITIVE;

/// Ratio of the step to the largest stable one of the tissue at rest.
const SAFETY: f64 = 0.75;

/// Reason why a tissue cannot be constructed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ExplicitError {
    /// Modulus or density out of range.
    #[error(
        "cell {cell} of grid {level} needs a shear modulus and a density above 0, and a second modulus of at least 0, all finite"
    )]
    Material {
        /// Grid.
        level: usize,
        /// Cell.
        cell: usize,
    },
    /// Parameter out of range.
    #[error("`{field}` is {value}; expected {expected}")]
    Param {
        /// Name of the parameter.
        field: &'static str,
        /// Value of the parameter.
        value: f64,
        /// Valid range.
        expected: &'static str,
    },
}

/// Tissue of nested grids, integrated explicitly.
///
/// Steps are deterministic: the same state, tools and `dt_s` produce the same bits. Tools are identified by
/// their index from step to step. A `dt_s` outside \[0, 0.01\] s changes nothing.
#[derive(Debug)]
pub struct ExplicitTissue {
    model: Arc<Model>,
    state: State,
    chunk_scratch: ChunkScratch,
    /// Faces that the present tool body touches, among which friction is distributed.
    touches: Vec<TouchedFace>,
    loads: MassLoads,
    coupled_scratch: CoupledScratch,
    /// Stiffness ratio of every cell before an edit, by grid.
    stiffness_before_edit: Vec<Vec<f32>>,
    /// Least time, over all cells, by which the depth lags behind the force; 0 if any cell is elastic.
    viscous_lag: f64,
    /// Energy dissipated by viscous cells and not yet in the energy balance.
    heat: f64,
    /// Faces near each tool body.
    near: [Vec<u32>; BODIES],
    /// Contact of each tool body at the end of the tick.
    tool_contacts: [ToolContact; BODIES],
    /// Mean force and torque on each tool body over the tick, without units.
    mean: [(Vec3, Vec3); BODIES],
    /// Contact with the depth map, and the force that its lag adds, by body.
    mapped_contacts: [MappedContact; BODIES],
    lag_forces: [LagForce; BODIES],
    surface: ViewSurface,
    surface_m: Vec<Vec3>,
    /// Largest displacement of a node of the top.
    top_displacement_max: f32,
    extrapolator: ReactionExtrapolator,
    fallback: Option<Box<FallbackPredictor>>,
    depth_map: Option<Arc<DepthMap>>,
}

/// Surface of a view: top nodes by grid, and their triangles.
#[derive(Debug, Clone)]
struct ViewSurface {
    nodes: Vec<(u32, u32)>,
    rest_m: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

impl ViewSurface {
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
            let rest = model.grids[grid as usize].rest_position(node as usize);
            model.origin_m + Vec3::from(rest) * model.length_m
        };
        Self {
            rest_m: nodes.iter().map(rest).collect(),
            nodes,
            triangles,
        }
    }
}

impl ExplicitTissue {
    /// Constructs a tissue at rest from cells by grid, x fastest. Cells that a finer grid replaces are
    /// ignored; they keep the indices equal to those of the grid. The branches of a viscous cell keep their
    /// stiffness when an edit changes that of its cell.
    ///
    /// # Errors
    /// The grid and cell, or the parameter, that is out of range.
    ///
    /// # Panics
    /// If there is not one entry per cell of every grid.
    pub fn new(
        nested: &NestedGrid,
        cell_materials: &[Vec<CellMaterial>],
        params: &ExplicitParams,
    ) -> Result<Self, ExplicitError> {
        let model = Model::new(nested, cell_materials, params)?;
        Ok(Self::from_model(Arc::new(model)))
    }

    fn from_model(model: Arc<Model>) -> Self {
        let faces = model.skin.faces.len();
        let surface = ViewSurface::new(&model);
        Self {
            state: State::new(&model),
            chunk_scratch: ChunkScratch::new(&model),
            touches: Vec::with_capacity(faces),
            loads: MassLoads::new(&model.grids),
            coupled_scratch: CoupledScratch::new(model.coupled_inertia.as_ref()),
            stiffness_before_edit: model
                .grids
                .iter()
                .map(|g| vec![1.0; g.mass.len()])
                .collect(),
            viscous_lag: estimate::viscous_lag(&model.grids),
            heat: 0.0,
            near: [(); BODIES].map(|()| Vec::with_capacity(faces)),
            tool_contacts: [ToolContact::default(); BODIES],
            mean: [(Vec3::zeros(), Vec3::zeros()); BODIES],
            mapped_contacts: [MappedContact::default(); BODIES],
            lag_forces: [LagForce::default(); BODIES],
            surface_m: surface.rest_m.clone(),
            top_displacement_max: 0.0,
            extrapolator: ReactionExtrapolator::default(),
            fallback: None,
            depth_map: None,
            surface,
            model,
        }
    }

    /// Uses a condensed table for steps without time: the deadline fallback.
    #[must_use]
    pub fn with_table(self, fallback: FallbackPredictor) -> Self {
        Self {
            fallback: Some(Box::new(fallback)),
            ..self
        }
    }

    /// Corrects the forces on the ball of the map, and spreads it over the mesh. Tissue that uses jaws has none.
    #[must_use]
    pub fn with_depth_map(self, map: Arc<DepthMap>) -> Self {
        let uses_jaws = self.model.params.jaw_friction.is_some();
        Self {
            depth_map: (!uses_jaws).then_some(map),
            ..self
        }
    }

    /// Returns the longest sub-step of the finest cells at rest \[s\].
    #[must_use]
    pub fn substep_s(&self) -> f64 {
        self.model.step() * self.model.time_s
    }

    /// Returns the number of cells of each class over all grids; cells of class `c` step every `2^c`
    /// sub-steps. Padding to the SIMD width counts.
    #[must_use]
    pub fn class_cells(&self) -> [usize; CLASSES] {
        let mut cells = [0; CLASSES];
        for slab in self.model.grids.iter().flat_map(|grid| &grid.slabs) {
            cells[slab.class] += slab.runs.iter().map(|run| run.1).sum::<usize>();
        }
        cells
    }

    /// Returns the number of times that cells collapsed and the tissue was set to its rest.
    #[must_use]
    pub fn collapses(&self) -> u64 {
        self.state.collapses
    }

    /// Returns the present mass of squeezed cells beyond that at rest \[kg\].
    #[must_use]
    pub fn squeezed_added_mass_kg(&self) -> f64 {
        let pairs = self.model.grids.iter().zip(&self.state.motions);
        let sum = |field: &[f32]| field.iter().copied().map(f64::from).sum::<f64>();
        let added = pairs.map(|(grid, motion)| sum(&motion.mass) - sum(&grid.mass));
        added.sum::<f64>() * self.model.mass_kg()
    }

    /// Returns the number of nodes that stiff cells couple (see [`ExplicitParams::substeps_max`]), and the number of
    /// entries of their factor, which a sub-step reads twice.
    #[must_use]
    pub fn coupling_size(&self) -> (usize, usize) {
        self.model
            .coupled_inertia
            .as_ref()
            .map_or((0, 0), CoupledInertia::size)
    }

    /// Returns the mass added to stiff cells at rest by [`StiffCellMethod::MassScaling`] \[kg\].
    #[must_use]
    pub fn stiff_added_mass_kg(&self) -> f64 {
        self.model.added_mass * self.model.mass_kg()
    }

    /// Updates the surface of [`Tissue::view`].
    fn update_surface(&mut self) {
        let nodes = self.surface.nodes.iter().zip(&self.surface.rest_m);
        let mut moved2 = 0.0_f32;
        for (position_m, (&(grid, node), rest_m)) in self.surface_m.iter_mut().zip(nodes) {
            let [x, y, z] = &self.state.motions[grid as usize].u;
            let at = node as usize;
            let u = [x[at], y[at], z[at]];
            moved2 = moved2.max(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            *position_m = rest_m + Vec3::from(u.map(f64::from)) * self.model.length_m;
        }
        self.top_displacement_max = moved2.sqrt();
    }
}

impl Clone for ExplicitTissue {
    /// Shares the model and copies the state; the copy's lists have their full capacity.
    fn clone(&self) -> Self {
        let mut copy = Self::from_model(Arc::clone(&self.model));
        copy.state = self.state.clone();
        (copy.extrapolator, copy.fallback) = (self.extrapolator, self.fallback.clone());
        copy.depth_map.clone_from(&self.depth_map);
        copy.loads
            .find_loaded(&copy.model.grids, &copy.state.motions);
        copy.update_surface();
        copy
    }
}

impl Tissue for ExplicitTissue {
    fn caps(&self) -> TissueCaps {
        TissueCaps {
            shafts: true,
            jaws: self.model.params.jaw_friction.is_some(),
            dt_s_max: 1e-3,
            region_edits: true,
            ..TissueCaps::new("fem", self.model.free, self.model.cells, TOOLS)
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.extrapolator.extrapolate(tools, reactions);
            if let Some(fallback) = &mut self.fallback {
                fallback.refine(&self.extrapolator, tools, reactions);
            }
            return;
        }
        self.advance_mapped(tools, dt_s, reactions);
        self.extrapolator.record(tools, dt_s, reactions);
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.apply_edit(edit)
    }

    fn view(&self) -> TissueView<'_> {
        let surface = &self.surface;
        TissueView::new(
            &self.surface_m,
            &surface.rest_m,
            &surface.triangles,
            self.state.ledger,
        )
    }

    fn save(&self, snapshot: &mut Snapshot) {
        snapshot.encode(&[&self.state, &self.extrapolator], None);
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        snapshot.decode(&mut [&mut self.state, &mut self.extrapolator], None)?;
        self.loads
            .find_loaded(&self.model.grids, &self.state.motions);
        self.update_surface();
        Ok(())
    }
}
