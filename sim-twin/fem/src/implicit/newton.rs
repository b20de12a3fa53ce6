//! Solver for the end of a step: the minimum of its incremental potential.
//!
//! Source: Newton's method with a backtracking line search (Nocedal and Wright 2006, algorithm 3.1), starting
//! from a step at constant velocity. The stiffness of the cells is kept from step to step and recomputed only
//! where convergence slows; that of the contact in every iteration. The state contains the displacements of
//! that stiffness, so a restored tissue repeats its steps. All loops are bounded, and the potential never
//! rises, so a step that does not converge is still finite.
//!
//! Symbols: `m` masses, `u0`, `v0` the start, `dt` the step; the potential is `m |u - u0 - dt v0|^2 / (2
//! dt^2) + damping m |u - u0|^2 / (2 dt) + elastic + viscous + contact`.

use super::build::Model;
use super::cells::{Cell, CellEnergies, StepStart, ViscousMaterial};
use super::state::{State, TOOLS};
use crate::solid::zero_fixed;
use crate::sparse::{BlockMatrix, KrylovScratch};
use crate::sphere_contact::Sphere;
use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::{dot, norm};
use palpate_twin::law::viscous::ViscousState;

/// Residual ratio of an iteration above which the stiffness is recomputed.
const SLOW: f64 = 0.2;
/// Newton iterations per step.
const NEWTON_MAX: usize = 12;
/// Conjugate-gradient iterations per Newton iteration.
const KRYLOV_MAX: usize = 200;
/// Largest number of halvings of a Newton step.
const HALVINGS: usize = 20;

/// Working memory of a step.
#[derive(Debug, Clone)]
pub(super) struct NewtonScratch {
    /// Displacements at the end of the step.
    pub(super) u: Vec<Vec3>,
    /// Positions at the end of the step or of a trial.
    pub(super) at: Vec<Vec3>,
    trial: Vec<Vec3>,
    residual: Vec<Vec3>,
    load: Vec<Vec3>,
    step: Vec<Vec3>,
    /// Memories at the end of the step.
    pub(super) memories: Vec<ViscousState>,
    /// Tangent of all parts except the contact.
    base: BlockMatrix,
    /// True if `base` must be recomputed from the state.
    pub(super) stale: bool,
    tangent: BlockMatrix,
    krylov: KrylovScratch,
}

impl NewtonScratch {
    pub(super) fn new(model: &Model) -> Self {
        let zeros = vec![Vec3::zeros(); model.rest.len()];
        Self {
            u: zeros.clone(),
            at: model.rest.clone(),
            trial: zeros.clone(),
            residual: zeros.clone(),
            load: zeros.clone(),
            step: zeros,
            memories: vec![ViscousState::default(); model.memories],
            base: model.pattern.clone(),
            stale: true,
            tangent: model.pattern.clone(),
            krylov: KrylovScratch::new(model.rest.len()),
        }
    }
}

/// Computes the positions of all nodes at displacements `u`.
pub(super) fn place(at: &mut [Vec3], rest: &[Vec3], u: &[Vec3]) {
    for ((at, rest), u) in at.iter_mut().zip(rest).zip(u) {
        *at = rest + u;
    }
}

/// Potential of a step at one set of displacements, by its parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Potential {
    pub(super) cells: CellEnergies,
    inertia: f64,
    contact: f64,
    /// Sum of the magnitudes of all forces, the scale of a residual.
    scale: f64,
}

impl Potential {
    fn total(&self) -> f64 {
        self.cells.elastic + self.cells.viscous + self.inertia + self.contact
    }
}

/// Step that is being solved.
pub(super) struct Solver<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a mut State,
    pub(super) work: &'a mut NewtonScratch,
    pub(super) spheres: [Option<Sphere>; TOOLS],
    pub(super) dt: f64,
}

impl Solver<'_> {
    fn begin(&self) -> StepStart<'_> {
        StepStart {
            dt: self.dt,
            u: &self.state.u,
            materials: &self.model.materials,
            memories: &self.state.memories,
        }
    }

    /// Computes the end of the step into [`NewtonScratch::u`]. Returns its potential, and true if it
    /// converged.
    pub(super) fn solve(&mut self) -> (Potential, bool) {
        let mut now = self.guess();
        let mut last = f64::INFINITY;
        let mut converged = false;
        for iteration in 0..=NEWTON_MAX {
            let size = norm(&self.work.residual);
            // the absolute tolerance is the rounding of forces, which are of order 1
            converged = size <= self.model.params.tolerance * now.scale + 1e-16;
            if converged || iteration == NEWTON_MAX {
                break;
            }
            let other = self.state.tangent_dt != self.dt;
            if other || size > SLOW * last {
                self.state.tangent_u.copy_from_slice(&self.work.u);
                self.state.tangent_dt = self.dt;
                self.assemble();
            } else if self.work.stale {
                self.assemble();
            }
            self.newton_direction(size / now.scale);
            last = size;
            if !self.search(&mut now) {
                break;
            }
        }
        (now, converged)
    }

    /// Extrapolates at constant velocity, or stays in place where that inverts a cell.
    fn guess(&mut self) -> Potential {
        let (u, v) = (&self.state.u, &self.state.v);
        for ((trial, u), v) in self.work.trial.iter_mut().zip(u).zip(v) {
            *trial = u + v * self.dt;
        }
        let mut now = self.evaluate();
        if !now.total().is_finite() {
            self.work.trial.copy_from_slice(&self.state.u);
            now = self.evaluate();
        }
        self.work.u.copy_from_slice(&self.work.trial);
        now
    }

    /// Evaluates potential and residual at the trial.
    fn evaluate(&mut self) -> Potential {
        let mut residual = std::mem::take(&mut self.work.residual);
        let mut now = Potential::default();
        residual.fill(Vec3::zeros());
        if self.add_cell_forces(&mut residual, &mut now) {
            self.add_inertia_and_contact(&mut residual, &mut now);
        } else {
            now.cells.elastic = f64::INFINITY;
        }
        self.work.residual = residual;
        now
    }

    fn add_cell_forces(&self, residual: &mut [Vec3], now: &mut Potential) -> bool {
        let (begin, trial) = (self.begin(), &self.work.trial);
        let mut valid = true;
        for cell in &self.model.hexes {
            valid = valid && cell.add_forces(&begin, trial, residual, &mut now.cells);
        }
        for cell in &self.model.tets {
            valid = valid && cell.add_forces(&begin, trial, residual, &mut now.cells);
        }
        if !valid {
            return false;
        }
        zero_fixed(&self.model.fixed, residual);
        now.scale += norm(residual);
        true
    }

    /// Adds inertia, mass-proportional damping and contact.
    fn add_inertia_and_contact(&mut self, residual: &mut [Vec3], now: &mut Potential) {
        let (rate, damping) = (1.0 / self.dt, self.model.damping);
        let (mut way2, mut force2) = (0.0, 0.0);
        for (node, force) in residual.iter_mut().enumerate() {
            let mass = self.model.masses[node];
            let displacement = self.work.trial[node] - self.state.u[node];
            let velocity_change = displacement * rate - self.state.v[node];
            let push = (velocity_change + displacement * damping) * (mass * rate);
            way2 += mass
                * (velocity_change.norm_squared() + damping * rate * displacement.norm_squared());
            force2 += push.norm_squared();
            *force += push;
        }
        now.inertia = 0.5 * way2;
        now.scale += force2.sqrt();
        let work = &mut *self.work;
        place(&mut work.at, &self.model.rest, &work.trial);
        let at = &work.at;
        for sphere in self.spheres.iter().flatten() {
            let surface = &self.model.surface;
            let (force, _) = surface.add_forces(at, sphere, residual);
            now.contact += surface.energy(at, sphere);
            now.scale += force.norm();
        }
        zero_fixed(&self.model.fixed, residual);
    }

    /// Recomputes the derivative of all parts except the contact at the displacements of the state.
    fn assemble(&mut self) {
        let (model, work) = (self.model, &mut *self.work);
        let (u, materials) = (&self.state.tangent_u, &model.materials);
        work.stale = false;
        work.base.clear();
        for cell in &model.hexes {
            add_slope(cell, materials, self.dt, u, &mut work.base);
        }
        for cell in &model.tets {
            add_slope(cell, materials, self.dt, u, &mut work.base);
        }
        let rate = (1.0 / self.dt + model.damping) / self.dt;
        for (row, mass) in model.masses.iter().enumerate() {
            work.base.add_diagonal(row, mass * rate);
        }
        work.base.fix(&model.fixed);
        work.tangent.copy_from(&work.base);
    }

    /// Computes the Newton step for a ratio `relative` of residual to forces.
    fn newton_direction(&mut self, relative: f64) {
        let work = &mut *self.work;
        place(&mut work.at, &self.model.rest, &work.u);
        work.tangent.copy_rows(&work.base, &self.model.top);
        for sphere in self.spheres.iter().flatten() {
            let whole = &mut work.tangent;
            let fixed = &self.model.fixed;
            let surface = &self.model.surface;
            surface.each_stiffness_block(&work.at, sphere, |row, column, mut block| {
                zero_fixed_block(&mut block, &fixed[row as usize], &fixed[column as usize]);
                whole.add(row, column, &block);
            });
        }
        for (load, residual) in work.load.iter_mut().zip(&work.residual) {
            *load = -residual;
        }
        let goal = 0.3 * self.model.params.tolerance / relative;
        let forcing = relative.clamp(1e-4, 0.03).max(goal).min(0.1);
        work.tangent.solve_in(
            &mut work.krylov,
            &work.load,
            &mut work.step,
            forcing,
            KRYLOV_MAX,
        );
    }

    /// Moves along the step while the potential falls; returns false if it falls nowhere.
    fn search(&mut self, now: &mut Potential) -> bool {
        // the load is the negative residual, and stays while trials overwrite the residual
        let slope = -dot(&self.work.load, &self.work.step);
        let start = now.total();
        // below this a difference of potentials is rounding, as in the static reference
        let noise = 1e-13 * start.abs() + 1e-15;
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let work = &mut *self.work;
            let ends = work.trial.iter_mut().zip(&work.u).zip(&work.step);
            for ((trial, u), step) in ends {
                *trial = u + step * length;
            }
            let next = self.evaluate();
            if next.total() <= start + 1e-4 * length * slope + noise {
                *now = next;
                std::mem::swap(&mut self.work.u, &mut self.work.trial);
                return true;
            }
            length *= 0.5;
        }
        false
    }
}

fn add_slope<const N: usize, const P: usize>(
    cell: &Cell<N, P>,
    materials: &[ViscousMaterial],
    dt: f64,
    u: &[Vec3],
    base: &mut BlockMatrix,
) {
    let stiffness = cell.slope(materials, dt, u);
    for (places, row) in cell.pairs.iter().zip(&stiffness) {
        for (&place, block) in places.iter().zip(row) {
            base.add_at(place, block);
        }
    }
}

/// Clears fixed directions of a block.
fn zero_fixed_block(block: &mut Matrix3<f64>, row: &[bool; 3], column: &[bool; 3]) {
    for i in 0..3 {
        for j in 0..3 {
            if row[i] || column[j] {
                block[(i, j)] = 0.0;
            }
        }
    }
}
