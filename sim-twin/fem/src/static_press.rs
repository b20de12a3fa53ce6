//! Static solution of a press: the offline truth of faster solvers.
//!
//! Source: Newton's method with a backtracking line search on the energy (Nocedal and Wright 2006, algorithm
//! 3.1). Linear systems are solved by conjugate gradients to a tolerance that follows the residual (Eisenstat
//! and Walker 1996). A press advances in increments, each extrapolated from the last two. The contact is a penalty
//! whose multipliers are updated at every requested depth, until the ball no longer sinks into the surface.

use crate::element::Deformed;
use crate::solid::{Solid, zero_fixed};
use crate::sparse::{BlockMatrix, KrylovScratch};
use crate::sphere_contact::{ContactSurface, Sphere};
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::{SolveReport, dot, norm};
use palpate_twin::law::{CellMaterial, LawFamily};

/// Ratio of the shortest increment to the requested one.
const SHORTEST: f64 = 0.02;

/// Parameters of a press, all without units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    /// Ratio of residual to contact forces at which an increment has converged.
    pub(crate) tolerance: f64,
    /// Newton iterations per increment.
    pub(crate) iterations_max: usize,
    /// Conjugate-gradient iterations per Newton step.
    pub(crate) krylov_max: usize,
    /// Largest increment of a press over the sphere's radius.
    pub(crate) increment: f64,
    /// Contact stiffness over the ratio of shear modulus to the shortest face edge.
    pub(crate) contact_stiffness: f64,
    /// Updates of the contact multipliers at each reported depth.
    pub(crate) augmentations: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            iterations_max: 40,
            krylov_max: 4000,
            increment: 0.2,
            contact_stiffness: 30.0,
            augmentations: 1,
        }
    }
}

/// Reason why a press has no solution.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StaticPressError {
    /// Newton's method that did not converge.
    #[error("at depth {depth_m} m the residual stayed at {residual} after {iterations} iterations")]
    Stalled {
        /// Depth \[m\].
        depth_m: f64,
        /// Residual over the contact forces.
        residual: f64,
        /// Newton iterations spent.
        iterations: usize,
    },
    /// Number of the press out of range.
    #[error("`{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the number.
        field: &'static str,
        /// Value of the number.
        value: f64,
        /// Valid range.
        expected: &'static str,
    },
}

/// Press of a rigid, frictionless ball into the top of a block, to be solved offline.
#[derive(Debug, Clone, Copy)]
pub struct PressedBlock<'a> {
    /// Mesh; its bottom is fixed.
    pub mesh: &'a HexMesh,
    /// Law of cells whose material has none of its own.
    pub family: LawFamily,
    /// Material of every cell; its density and viscosity have no effect.
    pub cell_materials: &'a [CellMaterial],
    /// Sides that are planes of symmetry. The block in the mesh is then a half or a quarter of the whole.
    pub mirrors: &'a [BlockSide],
    /// Position of the ball over the top \[m\].
    pub over_m: [f64; 2],
    /// Radius of the ball \[m\].
    pub radius_m: f64,
}

/// Updates of the multipliers of a [`PressedBlock`]: the ball then sinks less than 0.1 % of the depth into the surface.
const AUGMENTATIONS: usize = 3;

impl PressedBlock<'_> {
    /// Returns the force on the ball along z \[N\] at ascending depths below first contact \[m\], for the whole block.
    ///
    /// # Errors
    /// [`StaticPressError`] names the depth at which no equilibrium was found, or the number that is out of its range.
    ///
    /// # Panics
    /// If there is not one entry of `cell_materials` per cell.
    pub fn forces_n(&self, depths_m: &[f64]) -> Result<Vec<f64>, StaticPressError> {
        let moduli: Vec<_> = self.cell_materials.iter().map(|own| own.moduli).collect();
        let solid = Solid::new(self.mesh, self.family, &moduli);
        let mut solid = solid.with_own_laws(self.cell_materials);
        for &side in self.mirrors {
            solid.mirror(self.mesh, side);
        }
        let settings = Settings {
            augmentations: AUGMENTATIONS,
            ..Settings::default()
        };
        let parts = f64::from(1_u32 << self.mirrors.len().min(2));
        let mut press = Press::new(solid, self.mesh, self.over_m, self.radius_m, settings);
        let force = |&depth_m: &f64| {
            press.press_to(depth_m)?;
            Ok(parts * press.force_n().z)
        };
        depths_m.iter().map(force).collect()
    }
}

/// Sphere that is pressed into the top of a solid.
#[derive(Debug, Clone)]
pub(crate) struct Press {
    pub(crate) solid: Solid,
    pub(crate) surface: ContactSurface,
    settings: Settings,
    matrix: BlockMatrix,
    /// Displacements.
    pub(crate) u: Vec<Vec3>,
    /// Their derivative by depth, from the last increment.
    rate: Vec<Vec3>,
    start: Vec3,
    radius: f64,
    pub(crate) depth: f64,
    /// Newton's iterations and those of conjugate gradients.
    pub(crate) spent: (usize, usize),
}

impl Press {
    /// Places a sphere of `radius_m` above the position `over_m` \[m\] of the top of `mesh`, just touching.
    #[must_use]
    pub(crate) fn new(
        solid: Solid,
        mesh: &HexMesh,
        over_m: [f64; 2],
        radius_m: f64,
        settings: Settings,
    ) -> Self {
        let faces = mesh.side(BlockSide::ZMax);
        let top = faces
            .iter()
            .flatten()
            .map(|&node| solid.nodes[node as usize].z)
            .fold(f64::MIN, f64::max);
        let edges = faces
            .iter()
            .map(|face| (solid.nodes[face[0] as usize] - solid.nodes[face[1] as usize]).norm());
        let shortest = edges.fold(f64::MAX, f64::min);
        // moduli are over the stiffest; the scale of the surface is its softest law
        let stiffness = settings.contact_stiffness / shortest * solid.softest_shear(faces);
        let radius = radius_m / solid.length_m;
        let over = over_m.map(|x| x / solid.length_m);
        Self {
            surface: ContactSurface::new(&solid.nodes, faces, stiffness),
            matrix: BlockMatrix::pattern(solid.nodes.len(), &solid.cells),
            u: vec![Vec3::zeros(); solid.nodes.len()],
            rate: vec![Vec3::zeros(); solid.nodes.len()],
            start: Vec3::new(over[0], over[1], top + radius),
            radius,
            depth: 0.0,
            spent: (0, 0),
            solid,
            settings,
        }
    }

    /// Presses to `depth_m`, in increments that are halved where one does not converge.
    ///
    /// Fails if a small increment does not converge; the press then stays at the last converged depth. Fails
    /// if the depth or the sphere is out of range.
    pub(crate) fn press_to(&mut self, depth_m: f64) -> Result<(), StaticPressError> {
        self.check(depth_m)?;
        let goal = depth_m / self.solid.length_m;
        let largest = self.settings.increment * self.radius;
        let (mut reach, mut converged) = (largest, false);
        self.spent = (0, 0);
        while self.depth != goal || !converged {
            let (depth, u) = (self.depth, self.u.clone());
            let way = (goal - depth).clamp(-reach, reach);
            let next = if way.abs() < reach { goal } else { depth + way };
            match self.advance(next) {
                Ok(()) => {
                    converged = true;
                    reach = largest.min(2.0 * reach);
                }
                Err(error) if reach < largest * SHORTEST => {
                    (self.depth, self.u) = (depth, u);
                    return Err(error);
                }
                Err(_) => {
                    (self.depth, self.u) = (depth, u);
                    reach *= 0.5;
                }
            }
        }
        for _ in 0..self.settings.augmentations {
            let at = self.places();
            self.surface.augment(&at, &self.sphere());
            self.equilibrate()?;
        }
        Ok(())
    }

    /// Returns the force on the sphere \[N\], for the part of the block in the mesh.
    pub(crate) fn force_n(&self) -> Vec3 {
        let mut forces = vec![Vec3::zeros(); self.u.len()];
        let (force, _) = self
            .surface
            .add_forces(&self.places(), &self.sphere(), &mut forces);
        force * self.solid.force_n()
    }

    fn check(&self, depth_m: f64) -> Result<(), StaticPressError> {
        let length_m = self.solid.length_m;
        let radius_m = self.radius * length_m;
        if !(radius_m.is_finite() && radius_m > 0.0) {
            return Err(StaticPressError::Field {
                field: "radius_m",
                value: radius_m,
                expected: "a finite number above 0",
            });
        }
        let [x_m, y_m] = [self.start.x * length_m, self.start.y * length_m];
        let places = [("depth_m", depth_m), ("over_m", x_m), ("over_m", y_m)];
        match places.into_iter().find(|(_, value)| !value.is_finite()) {
            Some((field, value)) => Err(StaticPressError::Field {
                field,
                value,
                expected: "a finite number",
            }),
            None => Ok(()),
        }
    }

    pub(crate) fn sphere(&self) -> Sphere {
        Sphere {
            centre: self.start - Vec3::z() * self.depth,
            radius: self.radius,
            boundary_compliance: 0.0,
        }
    }

    pub(crate) fn places(&self) -> Vec<Vec3> {
        places(&self.solid, &self.u)
    }

    fn advance(&mut self, depth: f64) -> Result<(), StaticPressError> {
        let way = depth - self.depth;
        let before = self.u.clone();
        self.depth = depth;
        // extrapolate the last increment, if that inverts nothing
        let guess: Vec<Vec3> = before
            .iter()
            .zip(&self.rate)
            .map(|(u, r)| u + r * way)
            .collect();
        if self.potential(&guess) <= self.potential(&before) {
            self.u = guess;
        }
        self.equilibrate()?;
        if way != 0.0 {
            for ((rate, u), before) in self.rate.iter_mut().zip(&self.u).zip(&before) {
                *rate = (u - before) / way;
            }
        }
        Ok(())
    }

    fn potential(&self, u: &[Vec3]) -> f64 {
        let at = places(&self.solid, u);
        self.solid.energy(u) + self.surface.energy(&at, &self.sphere())
    }

    /// Returns the residual at `u` with its scale: the contact forces on the nodes.
    fn residual(&self, u: &[Vec3]) -> (Vec<Vec3>, f64) {
        let mut residual = vec![Vec3::zeros(); u.len()];
        self.surface
            .add_forces(&places(&self.solid, u), &self.sphere(), &mut residual);
        let scale = norm(&residual);
        self.solid.add_forces(u, &mut residual);
        zero_fixed(&self.solid.fixed, &mut residual);
        (residual, scale)
    }

    fn equilibrate(&mut self) -> Result<(), StaticPressError> {
        let mut relative = f64::INFINITY;
        for _ in 0..self.settings.iterations_max {
            let (residual, scale) = self.residual(&self.u);
            let size = norm(&residual);
            relative = if size == 0.0 { 0.0 } else { size / scale };
            if relative <= self.settings.tolerance {
                return Ok(());
            }
            let step = self.newton_step(&residual, relative);
            if !self.search(&residual, &step) {
                break;
            }
        }
        Err(StaticPressError::Stalled {
            depth_m: self.depth * self.solid.length_m,
            residual: relative,
            iterations: self.spent.0,
        })
    }

    fn newton_step(&mut self, residual: &[Vec3], relative: f64) -> Vec<Vec3> {
        self.matrix.clear();
        self.solid.add_stiffness(&self.u, &mut self.matrix);
        let at = self.places();
        let sphere = self.sphere();
        let matrix = &mut self.matrix;
        self.surface
            .each_stiffness_block(&at, &sphere, |row, column, block| {
                matrix.add(row, column, &block);
            });
        self.matrix.fix(&self.solid.fixed);
        let load: Vec<Vec3> = residual.iter().map(|r| -r).collect();
        let forcing = relative
            .clamp(1e-5, 0.03)
            .max(0.1 * self.settings.tolerance / relative);
        let (step, report) = solve(&self.matrix, &load, forcing, self.settings.krylov_max);
        self.spent.0 += 1;
        self.spent.1 += report.iterations;
        step
    }

    /// Moves along `step` while the energy falls; returns false if it falls nowhere.
    fn search(&mut self, residual: &[Vec3], step: &[Vec3]) -> bool {
        let slope = dot(residual, step);
        let start = self.potential(&self.u);
        // below this a difference of energies is rounding: of their sum, and of the strains' own,
        // which are differences of numbers near 1 over a volume of at most 1
        let noise = 1e-13 * start.abs() + 1e-15;
        let mut length = 1.0;
        for _ in 0..20 {
            let trial: Vec<Vec3> = self
                .u
                .iter()
                .zip(step)
                .map(|(u, s)| u + s * length)
                .collect();
            let now = self.potential(&trial);
            if now <= start + 1e-4 * length * slope + noise {
                self.u = trial;
                return true;
            }
            length *= 0.5;
        }
        false
    }
}

fn places(solid: &Solid, u: &[Vec3]) -> Vec<Vec3> {
    solid.nodes.iter().zip(u).map(|(x, u)| x + u).collect()
}

/// Solves `A x = b` from `x = 0` to a residual of `tolerance |b|`, in at most `limit` iterations.
pub(crate) fn solve(
    a: &BlockMatrix,
    b: &[Vec3],
    tolerance: f64,
    limit: usize,
) -> (Vec<Vec3>, SolveReport) {
    let mut x = vec![Vec3::zeros(); b.len()];
    let report = a.solve_in(
        &mut KrylovScratch::new(b.len()),
        b,
        &mut x,
        tolerance,
        limit,
    );
    (x, report)
}

impl<const N: usize, const P: usize> Solid<N, P> {
    /// Returns the elastic energy at the displacements `u`; infinite if a cell is inverted.
    pub(crate) fn energy(&self, u: &[Vec3]) -> f64 {
        let energy = |cell: usize| {
            let (points, moved) = (self.points(cell), self.cell_displacements(cell, u));
            Deformed::new(&points, &self.laws[cell], &moved).energy()
        };
        (0..self.cells.len()).map(energy).sum()
    }

    /// Adds the energy's gradient in the displacements to `forces`.
    pub(crate) fn add_forces(&self, u: &[Vec3], forces: &mut [Vec3]) {
        for cell in 0..self.cells.len() {
            let (points, moved) = (self.points(cell), self.cell_displacements(cell, u));
            let deformed = Deformed::new(&points, &self.laws[cell], &moved);
            for (&node, force) in self.cells[cell].iter().zip(deformed.forces()) {
                forces[node as usize] += force;
            }
        }
    }
}

impl ContactSurface {
    /// Sets the multipliers to the pressures, so that the same force needs less depth; returns the largest
    /// depth before.
    pub(crate) fn augment(&mut self, at: &[Vec3], sphere: &Sphere) -> f64 {
        let mut depth: f64 = 0.0;
        let mut pressures = Vec::with_capacity(self.points.len());
        for point in &self.points {
            let touch = self.point_contact(point, at, sphere);
            pressures.push(touch.as_ref().map_or(0.0, |touch| touch.pressure));
            if let Some(touch) = touch {
                depth = depth.max(sphere.radius - touch.distance);
            }
        }
        for (point, pressure) in self.points.iter_mut().zip(pressures) {
            point.multiplier = pressure;
        }
        depth
    }
}
