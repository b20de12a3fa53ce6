//! The end of a step: the minimum of its incremental potential.
//!
//! Source: Newton's method with a backtracking line search (Nocedal and Wright 2006, algorithm 3.1),
//! begun from a step at constant velocity. The cells' stiffness is kept from step to step and taken
//! anew only where the iteration slows, that of the contact in every iteration; the state remembers
//! where it was taken, so that a thawed tissue repeats. All loops are bounded, and the potential never
//! rises, so a step that does not settle is still a finite one.
//!
//! Symbols: `m` masses, `u0`, `v0` the beginning, `dt` the step; the potential is
//! `m |u - u0 - dt v0|^2 / (2 dt^2) + damping m |u - u0|^2 / (2 dt) + elastic + viscous + contact`.

use super::build::Model;
use super::cells::{Begin, Cell, Material, Pulled};
use super::state::{State, TOOLS};
use super::{Effort, Params};
use crate::probe::Sphere;
use crate::solid::mask;
use crate::sparse::{BlockMatrix, Krylov};
use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::conjugate::{dot, norm};
use palpate_twin::law::viscous::Memory;

/// An iteration that leaves more than this of the residual calls for a new stiffness.
const SLOW: f64 = 0.2;
/// Halvings of a Newton step.
const HALVINGS: usize = 20;

/// What a step is found in.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The end of the step.
    pub(super) u: Vec<Vec3>,
    /// Its places, also those of a trial.
    pub(super) at: Vec<Vec3>,
    trial: Vec<Vec3>,
    residual: Vec<Vec3>,
    load: Vec<Vec3>,
    step: Vec<Vec3>,
    /// Room for the memories at the end.
    pub(super) memories: Vec<Memory<f64>>,
    /// Tangent of all but the contact.
    base: BlockMatrix,
    /// Whether it has yet to be taken where the state says.
    pub(super) stale: bool,
    whole: BlockMatrix,
    krylov: Krylov,
}

impl Work {
    pub(super) fn new(model: &Model) -> Self {
        let zeros = vec![Vec3::zeros(); model.rest.len()];
        Self {
            u: zeros.clone(),
            at: model.rest.clone(),
            trial: zeros.clone(),
            residual: zeros.clone(),
            load: zeros.clone(),
            step: zeros,
            memories: vec![Memory::default(); model.memories],
            base: model.pattern.clone(),
            stale: true,
            whole: model.pattern.clone(),
            krylov: Krylov::new(model.rest.len()),
        }
    }
}

/// The places of all nodes at displacements `u`.
pub(super) fn place(at: &mut [Vec3], rest: &[Vec3], u: &[Vec3]) {
    for ((at, rest), u) in at.iter_mut().zip(rest).zip(u) {
        *at = rest + u;
    }
}

/// The potential of a step at one place, by its parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Potential {
    pub(super) cells: Pulled,
    inertia: f64,
    contact: f64,
    /// Sum of the sizes of all forces: what a residual is small against.
    scale: f64,
}

impl Potential {
    fn total(&self) -> f64 {
        self.cells.elastic + self.cells.viscous + self.inertia + self.contact
    }
}

/// One step that is being solved.
pub(super) struct Solver<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a mut State,
    pub(super) work: &'a mut Work,
    pub(super) effort: &'a mut Effort,
    pub(super) spheres: [Option<Sphere>; TOOLS],
    pub(super) dt: f64,
}

impl Solver<'_> {
    fn params(&self) -> &Params {
        &self.model.params
    }

    fn begin(&self) -> Begin<'_> {
        Begin {
            dt: self.dt,
            u: &self.state.u,
            materials: &self.model.materials,
            memories: &self.state.memories,
        }
    }

    /// Finds the end of the step; it stands in [`Work::u`]. Tells whether it settled.
    pub(super) fn solve(&mut self) -> (Potential, bool) {
        let mut now = self.guess();
        let mut last = f64::INFINITY;
        let mut settled = false;
        for iteration in 0..=self.params().newton_max {
            let size = norm(&self.work.residual);
            // the floor is rounding of forces that are of order 1 where the strain is
            settled = size <= self.params().tolerance * now.scale + 1e-16;
            if settled || iteration == self.params().newton_max {
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
            self.direct(size / now.scale);
            last = size;
            if !self.search(&mut now) {
                break;
            }
        }
        self.effort.unsettled += u64::from(!settled);
        (now, settled)
    }

    /// Goes on at constant velocity, or stays where that inverts a cell.
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

    /// Potential and residual at the trial.
    fn evaluate(&mut self) -> Potential {
        self.effort.evaluations += 1;
        let mut residual = std::mem::take(&mut self.work.residual);
        let mut now = Potential::default();
        residual.fill(Vec3::zeros());
        if self.pull(&mut residual, &mut now) {
            self.push(&mut residual, &mut now);
        } else {
            now.cells.elastic = f64::INFINITY;
        }
        self.work.residual = residual;
        now
    }

    fn pull(&self, residual: &mut [Vec3], now: &mut Potential) -> bool {
        let (begin, trial) = (self.begin(), &self.work.trial);
        let mut upright = true;
        for cell in &self.model.hexes {
            upright = upright && cell.pull(&begin, trial, residual, &mut now.cells);
        }
        for cell in &self.model.tets {
            upright = upright && cell.pull(&begin, trial, residual, &mut now.cells);
        }
        if !upright {
            return false;
        }
        mask(&self.model.fixed, residual);
        now.scale += norm(residual);
        true
    }

    /// Adds inertia, damping by mass and contact.
    fn push(&mut self, residual: &mut [Vec3], now: &mut Potential) {
        let (rate, damping) = (1.0 / self.dt, self.model.damping);
        let (mut way2, mut force2) = (0.0, 0.0);
        for (node, force) in residual.iter_mut().enumerate() {
            let mass = self.model.masses[node];
            let way = self.work.trial[node] - self.state.u[node];
            let gained = way * rate - self.state.v[node];
            let push = (gained + way * damping) * (mass * rate);
            way2 += mass * (gained.norm_squared() + damping * rate * way.norm_squared());
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
        mask(&self.model.fixed, residual);
    }

    /// Takes the slope of all but the contact where the state says.
    fn assemble(&mut self) {
        self.effort.assemblies += 1;
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
        work.whole.copy_from(&work.base);
    }

    /// The Newton step at a residual that is `relative` of the forces.
    fn direct(&mut self, relative: f64) {
        self.effort.newton += 1;
        let work = &mut *self.work;
        place(&mut work.at, &self.model.rest, &work.u);
        work.whole.copy_rows(&work.base, &self.model.top);
        for sphere in self.spheres.iter().flatten() {
            let whole = &mut work.whole;
            let fixed = &self.model.fixed;
            let surface = &self.model.surface;
            surface.each_slope(&work.at, sphere, |row, column, mut block| {
                keep_free(&mut block, &fixed[row as usize], &fixed[column as usize]);
                whole.add(row, column, &block);
            });
        }
        for (load, residual) in work.load.iter_mut().zip(&work.residual) {
            *load = -residual;
        }
        let goal = 0.3 * self.model.params.tolerance / relative;
        let forcing = relative.clamp(1e-4, 0.03).max(goal).min(0.1);
        let solved = work.whole.solve_in(
            &mut work.krylov,
            &work.load,
            &mut work.step,
            forcing,
            self.model.params.krylov_max,
        );
        self.effort.krylov += solved.iterations as u64;
    }

    /// Goes along the step as far as the potential falls; false if it does nowhere.
    fn search(&mut self, now: &mut Potential) -> bool {
        // the load is the residual's opposite, and stays while trials overwrite the residual
        let slope = -dot(&self.work.load, &self.work.step);
        let start = now.total();
        // below this a difference of potentials is rounding, see the truth's search
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
    materials: &[Material],
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

/// Takes fixed directions out of a block.
fn keep_free(block: &mut Matrix3<f64>, row: &[bool; 3], column: &[bool; 3]) {
    for i in 0..3 {
        for j in 0..3 {
            if row[i] || column[j] {
                block[(i, j)] = 0.0;
            }
        }
    }
}
