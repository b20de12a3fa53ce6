//! Construction of the model of a tick from nested grids with materials.
//!
//! Source: ours. A cell's own step is that of its element bound; planes whose steps are twice as long step
//! half as often. The stable step of the whole is then found by power iteration, with every cell's stiffness
//! times the square of its step.
//!
//! Internal units: the shortest edge, the largest shear modulus, the largest density.

use super::cells::{Buffer, Cells, ForcePass, ForceTarget, RUN_MAX};
use super::coupled_inertia::{
    CoupledInertia, CoupledScratch, NEIGHBOUR_FREQUENCY_RATIO, StiffCellMethod,
};
use super::grid::{Grid, Motion};
use super::hanging_nodes::HangingNodes;
use super::laws::{SimdLaw, simd_law};
use super::material::{CellMaterials, edge, families, greatest_bound, scale, unreplaced_cells};
use super::schedule::{classes, cut_chunks};
use super::simd::SIMD_WIDTH;
use super::skin::Skin;
use super::viscous::Viscous;
use super::{ExplicitError, ExplicitParams, SAFETY};
use palpate_geometry::mesh::nested_grid::{GridLevel, NestedGrid};
use palpate_twin::Vec3;
use palpate_twin::law::{CellMaterial, Real, Viscosity};
use std::array::{from_mut, from_ref};

/// Approximate time of the forces of a cell \[ns\], for comparison with coupled nodes.
const CELL_NS: f64 = 12.0;

/// Largest number of sub-step classes.
pub(super) const CLASSES: usize = 5;

/// Constant data of a tissue.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) params: ExplicitParams,
    /// Laws of the cells, by their numbers in the grids.
    pub(super) laws: Vec<Box<dyn SimdLaw>>,
    /// Coarsest first.
    pub(super) grids: Vec<Grid>,
    /// Hanging nodes of grid `n + 1` on grid `n`.
    pub(super) hanging_nodes: Vec<HangingNodes>,
    /// Inertia that couples the nodes of stiff cells.
    pub(super) coupled_inertia: Option<CoupledInertia>,
    pub(super) skin: Skin,
    pub(super) cells: usize,
    pub(super) free: usize,
    /// Largest squared frequency times the square of the step, without deformation.
    pub(super) frequency2: f64,
    /// Largest rate of viscous damping times the step.
    pub(super) damping_rate_max: f64,
    /// Slowest class in use.
    pub(super) slowest: usize,
    pub(super) extent: f64,
    /// Speed of the fastest pressure wave.
    pub(super) wave: f64,
    /// Speed of the slowest shear wave.
    pub(super) slowest_shear_wave: f64,
    density_kgpm3: f64,
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) time_s: f64,
    /// Mass that stiff cells have beyond their own.
    pub(super) added_mass: f64,
    /// Position of the block's lowest corner, the internal origin \[m\].
    pub(super) origin_m: Vec3,
}

impl Model {
    pub(super) fn new(
        nested: &NestedGrid,
        cell_materials: &[Vec<CellMaterial>],
        params: &ExplicitParams,
    ) -> Result<Self, ExplicitError> {
        params.check()?;
        let scale = scale(nested, cell_materials)?;
        let families = families(cell_materials, params.law);
        let materials = CellMaterials {
            nested,
            cell_materials,
            scale: &scale,
            params,
            families: &families,
        };
        let bound = greatest_bound(&materials).min(scale.frequency2_max(params));
        let classes = classes(&materials, bound);
        let mut grids = Vec::with_capacity(nested.levels.len());
        let mut totals = Totals::default();
        for (index, classes) in classes.iter().enumerate() {
            grids.push(grid(&materials, index, classes, bound, &mut totals));
        }
        let mut hanging_nodes = build_hanging_nodes(nested, &grids);
        distribute_masses(&mut grids, &mut hanging_nodes);
        let [slowest_shear_wave, wave] = materials.waves();
        let size = nested.levels[0].cells;
        let extent = (0..3).map(|a| size[a] as f64 * grids[0].edge[a]);
        let mut model = Self {
            params: *params,
            laws: families.iter().map(|&family| simd_law(family)).collect(),
            coupled_inertia: None,
            skin: Skin::new(&materials, &grids),
            cells: nested.cells(),
            free: grids
                .iter()
                .map(|g| g.mass.iter().filter(|&&m| m > 0.0).count())
                .sum(),
            frequency2: 0.0,
            damping_rate_max: totals.damping_rates
                [usize::from(params.stiff_cells == StiffCellMethod::MassScaling)],
            slowest: 0,
            extent: extent.fold(0.0, f64::max),
            wave,
            slowest_shear_wave,
            density_kgpm3: scale.density_kgpm3,
            length_m: scale.length_m,
            stress_pa: scale.stress_pa,
            time_s: scale.time_s(),
            added_mass: totals.added_mass,
            origin_m: nested.levels[0].low_m,
            grids,
            hanging_nodes,
        };
        let slabs = model.grids.iter().flat_map(|grid| &grid.slabs);
        model.slowest = slabs.map(|slab| slab.class).max().unwrap_or(0);
        model.frequency2 = model.greatest_frequency2();
        if params.stiff_cells == StiffCellMethod::Coupled {
            model.couple(
                &materials,
                scale.frequency2_max(params),
                totals.damping_rates[1],
            );
        }
        model.measure_demands(bound);
        model.subtract_branch_moduli();
        Ok(model)
    }

    /// Couples the nodes of stiff cells, more of them and more strongly, until the step is as long as
    /// requested. Nothing is coupled if the sub-steps of the stiffest cells cost less; that is also exact.
    fn couple(&mut self, materials: &CellMaterials, bound_target: f64, damping_rate: f64) {
        let uncoupled = (self.frequency2, self.damping_rate_max, self.skin.clone());
        let uncoupled_step = self.step();
        let mut bound = bound_target;
        for _ in 0..COUPLING_ATTEMPTS_MAX {
            if self.frequency2 <= bound_target * (1.0 + STEP_TOLERANCE) {
                break;
            }
            self.coupled_inertia =
                CoupledInertia::new(materials, bound, &self.grids, &self.hanging_nodes);
            self.soften(materials.cell_materials, bound_target);
            self.frequency2 = self.greatest_frequency2();
            bound *= (bound_target / self.frequency2).clamp(0.5, 0.9);
        }
        let cells_ns = CELL_NS * self.cells as f64;
        let coupling_ns = self
            .coupled_inertia
            .as_ref()
            .map_or(0.0, CoupledInertia::cost_ns);
        self.damping_rate_max = damping_rate;
        if self.coupled_inertia.is_none()
            || self.step() * cells_ns <= uncoupled_step * (cells_ns + coupling_ns)
        {
            self.coupled_inertia = None;
            (self.frequency2, self.damping_rate_max, self.skin) = uncoupled;
        }
    }

    /// Limits the contact stiffness of stiff skin to what the nodes below can bear. The tissue below such
    /// skin is far softer, so the effect is small (measured: 1.5 % of the force on the scene
    /// `layers-nodule`).
    fn soften(&mut self, cell_materials: &[Vec<CellMaterial>], bound_target: f64) {
        for face in &mut self.skin.faces {
            let (index, node) = (face.grid as usize, face.nodes[0] as usize);
            let grid = &self.grids[index];
            let [nx, ny, nz] = grid.nodes.map(|n| n - 1);
            let [i, j] = [node % grid.plane % (nx + 1), node % grid.plane / (nx + 1)];
            let density = cell_materials[index][i + nx * (j + ny * (nz - 1))].density_kgpm3;
            let most = bound_target * 0.8 * density / self.density_kgpm3 * grid.edge[2];
            let steps = f64::from(1_u32 << (2 * face.class));
            face.stiffness = face.stiffness.min(f32::of(most / steps));
        }
    }

    /// Divides the demands of cells by their limits. The step is stable for the state at rest, while the
    /// bound of the stiffest cell may be nearly three times larger. Stiff cells among stiff ones never reach
    /// their bound; soft cells squeezed against them may. So the limit of a cell is the larger of its own
    /// demand at rest and that of the whole. Beyond it the cell gets mass (measured: soft cells over a large
    /// nodule with the nodule's bound collapsed).
    fn measure_demands(&mut self, bound: f64) {
        let whole = f32::of((self.frequency2 / bound).min(1.0));
        for grid in &mut self.grids {
            for demand in &mut grid.cells.demand {
                *demand /= demand.max(whole);
            }
        }
    }

    /// Subtracts the shear moduli of branches from those of the law; the bulk modulus, which does not relax,
    /// stays.
    fn subtract_branch_moduli(&mut self) {
        for grid in &mut self.grids {
            let Some(viscous) = &grid.viscous else {
                continue;
            };
            for branch in &viscous.branches {
                let moduli = grid.cells.mu.iter_mut().zip(&mut grid.cells.lambda);
                for ((mu, lambda), stiffness) in moduli.zip(&branch.stiffness) {
                    let carried = 0.5 * stiffness;
                    *mu -= carried;
                    *lambda += carried * (2.0 / 3.0);
                }
            }
        }
    }

    /// Returns the unit of energy \[J\].
    pub(super) fn energy_j(&self) -> f64 {
        self.stress_pa * self.length_m.powi(3)
    }

    /// Returns the unit of mass \[kg\]: energy over speed squared.
    pub(super) fn mass_kg(&self) -> f64 {
        let speed_mps = self.length_m / self.time_s;
        self.energy_j() / (speed_mps * speed_mps)
    }

    /// Returns the unit of force \[N\].
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Returns the shortest sub-step at rest.
    pub(super) fn step(&self) -> f64 {
        let damping_rate = self.damping_rate_max;
        if damping_rate == 0.0 {
            return SAFETY * 2.0 / self.frequency2.sqrt();
        }
        // viscous forces lag by half a step: stability then needs `f dt^2 + 2 c dt <= 4`
        let root = (damping_rate * damping_rate + 4.0 * SAFETY * SAFETY * self.frequency2).sqrt();
        (root - damping_rate) / self.frequency2
    }

    /// Returns the largest eigenvalue of cells and contact points, each times the square of its step.
    fn greatest_frequency2(&self) -> f64 {
        let mut motions: Vec<Motion> = self.grids.iter().map(Motion::new).collect();
        let mut word = 1_u32;
        for (grid, motion) in self.grids.iter().zip(&mut motions) {
            for node in 0..grid.count() {
                for axis in 0..3 {
                    word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let noise = f64::from(word >> 8) / f64::from(1 << 24) - 0.5;
                    motion.u[axis][node] = if grid.mass[node] > 0.0 {
                        f32::of(noise)
                    } else {
                        0.0
                    };
                }
            }
        }
        let contact_stiffness = self.skin.contact_stiffness(&self.grids);
        let (mut buffer, mut room) = (
            Buffer::new(),
            CoupledScratch::new(self.coupled_inertia.as_ref()),
        );
        let mut greatest = 0.0;
        for _ in 0..ITERATIONS {
            let largest = motions.iter().flat_map(|m| m.u.iter().flatten());
            let largest = largest.fold(0.0_f32, |a, b| a.max(b.abs()));
            for motion in &mut motions {
                // small enough to be linear, large against rounding
                motion
                    .u
                    .iter_mut()
                    .flatten()
                    .for_each(|u| *u *= 1e-3 / largest);
                motion.f.iter_mut().for_each(|f| f.fill(0.0));
            }
            for (index, hanging) in self.hanging_nodes.iter().enumerate() {
                let (above, fine) = motions.split_at_mut(index + 1);
                hanging.interpolate(&above[index].u, &mut fine[0].u);
            }
            for (grid, motion) in self.grids.iter().zip(&mut motions) {
                add_grid_forces(&self.laws, grid, motion, &mut buffer);
            }
            for (motion, contact_stiffness) in motions.iter_mut().zip(&contact_stiffness) {
                for (node, spring) in contact_stiffness.iter().enumerate() {
                    motion.f[2][node] -= spring * motion.u[2][node];
                }
            }
            for (index, hanging) in self.hanging_nodes.iter().enumerate().rev() {
                let (above, fine) = motions.split_at_mut(index + 1);
                hanging.gather_forces(&mut above[index], &mut fine[0]);
            }
            greatest = f64::max(greatest, self.quotient(&mut motions, &mut room));
        }
        // the quotient converges from below
        1.03 * greatest
    }

    /// Returns work over inertia of the displacements, which then become the accelerations.
    fn quotient(&self, motions: &mut [Motion], room: &mut CoupledScratch) -> f64 {
        let (mut work, mut mass) = (0.0, 0.0);
        for (grid, motion) in self.grids.iter().zip(&*motions) {
            for (u, f) in motion.u.iter().zip(&motion.f) {
                let nodes = u.iter().zip(f).zip(&grid.mass);
                for ((&u, &f), &own) in nodes.filter(|node| *node.1 > 0.0) {
                    work -= f64::from(u) * f64::from(f);
                    mass += f64::from(u) * f64::from(u) * f64::from(own);
                }
            }
        }
        if let Some(coupled) = &self.coupled_inertia {
            mass += coupled.twice_kinetic_energy(motions, |motion| &motion.u, room);
            coupled.apply(motions, room);
        }
        for (grid, motion) in self.grids.iter().zip(motions) {
            for (u, f) in motion.u.iter_mut().zip(&motion.f) {
                for ((u, &f), &own) in u.iter_mut().zip(f).zip(&grid.mass) {
                    *u = if own > 0.0 { f / own } else { 0.0 };
                }
            }
        }
        work / mass
    }
}

/// Adds the forces of all cells of a grid, each times the square of its step.
fn add_grid_forces(
    laws: &[Box<dyn SimdLaw>],
    grid: &Grid,
    motion: &mut Motion,
    buffer: &mut Buffer,
) {
    for slab in &grid.slabs {
        let weight = f32::of(f64::from(1_u32 << (2 * slab.class)));
        let whole = ForcePass {
            cells: &grid.cells,
            moduli: motion.moduli.each_ref(),
            runs: &slab.runs,
            lanes: None,
            weight,
            u: &motion.u,
        };
        for (law, pass) in grid.passes(slab, whole) {
            let target = &mut ForceTarget::whole(&mut motion.f);
            laws[law].add_forces(&pass, target, buffer);
        }
    }
}

/// Largest number of coupling attempts.
const COUPLING_ATTEMPTS_MAX: usize = 4;
/// Relative shortfall of the step that is accepted.
const STEP_TOLERANCE: f64 = 0.02;

/// Power iterations.
const ITERATIONS: usize = 80;

/// Constructs a grid of `cells` without any material.
fn empty(cells: [usize; 3], edge: [f64; 3], low: [f64; 3], params: &ExplicitParams) -> Grid {
    let nodes = cells.map(|n| n + 1);
    let (row, plane) = (nodes[0], (nodes[0] * nodes[1]).next_multiple_of(SIMD_WIDTH));
    let padded =
        (plane * (nodes[2] + 1) + row + RUN_MAX + 2 * SIMD_WIDTH).next_multiple_of(SIMD_WIDTH);
    let corners = [
        0,
        1,
        row,
        row + 1,
        plane,
        plane + 1,
        plane + row,
        plane + row + 1,
    ];
    let field = || vec![0.0_f32; padded];
    let [x, y, z] = edge.map(|e| 1.0 / (e * e));
    // integral of |grad mode|^2 over the volume; a mode is 8 times its corners' value
    let sums = [x + y, x + z, y + z, (x + y + z) / 3.0];
    Grid {
        nodes,
        plane,
        edge,
        low,
        cells: Cells {
            corners,
            mu: field(),
            lambda: field(),
            demand: field(),
            slope: edge.map(|e| f32::of(0.25 / e)),
            hourglass: sums.map(|sum| f32::of(params.hourglass / 48.0 * sum)),
        },
        law: 0,
        laws: Vec::new(),
        viscous: None,
        slabs: Vec::new(),
        node_ranges: Vec::new(),
        chunks: Vec::new(),
        mass: field(),
        inverse_mass: field(),
    }
}

/// Constructs the hanging nodes of every grid on the coarser one.
fn build_hanging_nodes(nested: &NestedGrid, grids: &[Grid]) -> Vec<HangingNodes> {
    let finer = nested.levels.iter().enumerate().skip(1);
    let hanging = |(index, level): (usize, &GridLevel)| {
        let (fine, above) = (&grids[index], &grids[index - 1]);
        HangingNodes::new(fine, above, level.parent_cell, nested.hanging_sides(index))
    };
    finer.map(hanging).collect()
}

/// Sums over all grids.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// Mass that stiff cells have beyond their own.
    added_mass: f64,
    /// Largest rates of viscous damping, with coupled nodes and with mass.
    damping_rates: [f64; 2],
}

fn grid(
    materials: &CellMaterials,
    index: usize,
    classes: &[usize],
    greatest: f64,
    totals: &mut Totals,
) -> Grid {
    let (nested, params) = (materials.nested, materials.params);
    let (level, scale) = (&nested.levels[index], materials.scale);
    let low_m = (level.low_m - nested.levels[0].low_m) / scale.length_m;
    let mut grid = empty(level.cells, edge(level, scale), low_m.into(), params);
    let volume = grid.edge.iter().product::<f64>();
    for (place, cell) in unreplaced_cells(level) {
        let at = grid.index(place);
        let CellMaterial {
            moduli,
            density_kgpm3: density,
            viscosity,
            law: _,
        } = materials.cell_materials[index][cell];
        let demand = materials.step_demand(index, cell);
        let own = demand.on_steps_of(greatest);
        let limited = own.min(greatest);
        grid.cells.mu[at] = f32::of(moduli.mu_pa / scale.stress_pa * volume);
        grid.cells.lambda[at] = f32::of(moduli.lambda_pa / scale.stress_pa * volume);
        grid.cells.demand[at] = f32::of(limited);
        let mass = density / scale.density_kgpm3 * volume;
        let times = match params.stiff_cells {
            StiffCellMethod::Coupled => 1.0,
            StiffCellMethod::MassScaling => own / limited,
        };
        totals.added_mass += mass * (times - 1.0);
        let eighth = f32::of(mass * times / 8.0);
        for corner in grid.cells.corners {
            grid.mass[at + corner] += eighth;
        }
        if viscosity != Viscosity::NONE {
            let steps = f64::from(1_u32 << classes[place[2]]);
            let rate = demand.damping_rate * SAFETY * steps;
            // the coupling adds less inertia than mass that stabilises a cell alone
            let reduction = match params.stiff_cells {
                StiffCellMethod::Coupled => (NEIGHBOUR_FREQUENCY_RATIO * limited / own).min(1.0),
                StiffCellMethod::MassScaling => limited / own,
            };
            totals.damping_rates[0] = totals.damping_rates[0].max(rate);
            totals.damping_rates[1] = totals.damping_rates[1].max(rate * reduction);
            let length = grid.mass.len();
            let viscous = grid.viscous.get_or_insert_with(|| Viscous::new(length));
            viscous.set(
                at,
                &viscosity,
                volume,
                moduli.mu_pa / scale.stress_pa,
                scale,
            );
        }
    }
    (grid.law, grid.laws) = materials.laws(index, &grid);
    cut_chunks(&mut grid, classes, nested.levels.len());
    for (k, &class) in classes.iter().enumerate() {
        let scale = 4.0_f64.powi(i32::try_from(class).unwrap_or(0)) / greatest;
        let range = k * grid.plane..(k + 1) * grid.plane;
        let demands = &mut grid.cells.demand[range];
        demands.iter_mut().for_each(|d| *d *= f32::of(scale));
    }
    grid
}

/// Moves the masses of hanging nodes to their rims and sets the class of every rim.
fn distribute_masses(grids: &mut [Grid], hanging_nodes: &mut [HangingNodes]) {
    for (index, hanging) in hanging_nodes.iter().enumerate().rev() {
        let (above, fine) = grids.split_at_mut(index + 1);
        hanging.add_to_rim(from_mut(&mut above[index].mass), from_ref(&fine[0].mass));
        hanging.clear(&mut fine[0].mass);
    }
    if let Some(coarsest) = grids.first() {
        let floor = coarsest.low[2];
        for grid in grids.iter_mut() {
            // the bottom of the block is fixed
            if grid.low[2] <= floor + 1e-6 * grid.edge[2] {
                let plane = grid.plane;
                grid.mass[..plane].fill(0.0);
            }
            for (inverse_mass, &mass) in grid.inverse_mass.iter_mut().zip(&grid.mass) {
                *inverse_mass = if mass > 0.0 { 1.0 / mass } else { 0.0 };
            }
        }
    }
    for (index, hanging) in hanging_nodes.iter_mut().enumerate() {
        let (above, fine) = grids.split_at_mut(index + 1);
        let above = &mut above[index];
        let slabs = || above.slabs.iter().chain(&fine[0].slabs);
        hanging.class = slabs().map(|slab| slab.class).min().unwrap_or(0);
        hanging.rim_separate = slabs().any(|slab| slab.class != hanging.class);
        if hanging.rim_separate {
            for &node in &hanging.rim_rows.nodes {
                above.inverse_mass[node as usize] = 0.0;
            }
        }
    }
}
