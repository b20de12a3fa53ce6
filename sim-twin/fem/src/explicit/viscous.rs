//! Viscous parts of cells: a dashpot parallel to the law and relaxing branches, at the centre and in the hourglass modes.
//!
//! Source: [`palpate_twin::law::viscous`] for the laws, both in the Green strain `E`. The dashpot stress
//! follows the strain rate. A branch, deviatoric only, is a spring in series with a dashpot; it follows the strain of its
//! spring (trapezoidal rule, which dissipates at every step and time constant). Both act on the hourglass modes with the
//! share that the elastic mode has of the shear modulus. Rates refer to the time since the last
//! forces of a cell, so its memory is `E` at that time. The viscous cells have a separate pass after that of their law:
//! elastic cells cost nothing more, those with one branch about twice as much (see the bench `explicit`).
//!
//! Heat is that of the strain rates when forces are computed, and of a branch by the trapezoidal rule: `r k
//! (y0 + y1)^2 / 4`, with `r` the step over the time constant, `y` the strain of its spring and `k` its stiffness.

use super::cells::{Buffer, Field, ForcePass, ForceTarget, RUN_MAX, corners, modes, row, scatter};
use super::material::Scale;
use super::simd::SIMD_WIDTH;
use multiversion::multiversion;
use palpate_twin::law::Real;
use palpate_twin::law::Viscosity;

/// Numbers of a shape: six components of a strain, then the hourglass modes by component.
const SHAPE_LEN: usize = STRAIN_LEN + 12;
const STRAIN_LEN: usize = 6;

/// Block of cells, by number of their shapes.
type Shapes = [[f32; SIMD_WIDTH]; SHAPE_LEN];

/// Viscous parameters of the cells of a grid, in internal units times volume.
#[derive(Debug, Clone)]
pub(super) struct Viscous {
    /// Twice the shear viscosity.
    pub(super) shear: Field,
    /// Bulk viscosity.
    bulk: Field,
    /// As many branches as the cell with the most has.
    pub(super) branches: Vec<Branch>,
}

/// One branch of the cells of a grid.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    /// Twice its shear modulus; zero for a cell without it.
    pub(super) stiffness: Field,
    /// Inverse of its time constant.
    rate: Field,
}

/// Energies of a pass over viscous cells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heat {
    /// Energy dissipated since the last pass.
    pub(super) dissipated: f64,
    /// Energy stored in the branches.
    pub(super) stored: f64,
}

impl Heat {
    pub(super) fn add(&mut self, other: Self) {
        self.dissipated += other.dissipated;
        self.stored += other.stored;
    }
}

impl Viscous {
    pub(super) fn new(length: usize) -> Self {
        Self {
            shear: vec![0.0; length],
            bulk: vec![0.0; length],
            branches: Vec::new(),
        }
    }

    /// Numbers in the memory of a cell: its last shape, then those of the springs of its branches.
    pub(super) fn memory_len(&self) -> usize {
        SHAPE_LEN * (1 + self.branches.len())
    }

    /// Sets the viscosity of a cell with a volume and shear modulus.
    pub(super) fn set(
        &mut self,
        at: usize,
        viscosity: &Viscosity,
        volume: f64,
        mu: f64,
        scale: &Scale,
    ) {
        let (time_s, length) = (scale.time_s(), self.shear.len());
        let unit_pas = scale.stress_pa * time_s / volume;
        self.shear[at] = f32::of(2.0 * viscosity.shear_pas / unit_pas);
        self.bulk[at] = f32::of(viscosity.bulk_pas / unit_pas);
        for (index, own) in viscosity.used().enumerate() {
            if index == self.branches.len() {
                self.branches.push(Branch {
                    stiffness: vec![0.0; length],
                    rate: vec![0.0; length],
                });
            }
            self.branches[index].stiffness[at] = f32::of(2.0 * mu * own.share * volume);
            self.branches[index].rate[at] = f32::of(time_s / own.time_s);
        }
    }

    /// True if any cell of a SIMD block is viscous.
    pub(super) fn any(&self, start: usize) -> bool {
        let lanes = start..start + SIMD_WIDTH;
        let branches = self.branches.iter().map(|branch| &branch.stiffness);
        [&self.shear, &self.bulk]
            .into_iter()
            .chain(branches)
            .any(|field| field[lanes.clone()].iter().any(|&x| x > 0.0))
    }
}

/// Weights of the components of a symmetric matrix in a double product.
const PRODUCT_WEIGHTS: [f32; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
/// Rows and columns of those components.
const PLACES: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
/// Component of a symmetric matrix by row and column.
const INDEX: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Displacement gradient in column-major order, and the shape, of one cell with the displacements `x` of its corners.
#[inline(always)]
fn shape(x: [[f32; 8]; 3], slope: [f32; 3]) -> ([f32; 9], [f32; SHAPE_LEN]) {
    let (mut h, mut now) = ([0.0; 9], [0.0; SHAPE_LEN]);
    for i in 0..3 {
        let (linear, hourglass) = modes(x[i]);
        for axis in 0..3 {
            h[3 * axis + i] = linear[axis] * slope[axis];
        }
        for m in 0..4 {
            now[STRAIN_LEN + 4 * i + m] = hourglass[m];
        }
    }
    for (c, (a, b)) in PLACES.into_iter().enumerate() {
        let mut twice = h[3 * a + b] + h[3 * b + a];
        for i in 0..3 {
            twice = h[3 * a + i].mul_add(h[3 * b + i], twice);
        }
        now[c] = 0.5 * twice;
    }
    (h, now)
}

/// Weight of a number of a shape in a product, and its stiffness over twice the shear modulus.
#[inline(always)]
fn weights(c: usize, hourglass: &[f32; 4]) -> (f32, f32) {
    match c.checked_sub(STRAIN_LEN) {
        None => (PRODUCT_WEIGHTS[c], 1.0),
        Some(mode) => (1.0, 0.5 * hourglass[mode % 4]),
    }
}

/// Replaces the change of a shape by its deviator; returns the forces of the dashpots and their heat.
#[inline(always)]
fn dashpot(
    change: &mut [f32; SHAPE_LEN],
    own: [f32; 2],
    hourglass: &[f32; 4],
    inverse: f32,
) -> ([f32; SHAPE_LEN], f32) {
    let [shear, bulk] = own;
    let trace = change[0] + change[1] + change[2];
    let (mut forces, mut dissipated) = ([0.0; SHAPE_LEN], 0.0);
    for c in 0..SHAPE_LEN {
        let (weight, part) = weights(c, hourglass);
        let (round, whole) = (if c < 3 { trace } else { 0.0 }, change[c]);
        change[c] = whole - round * (1.0 / 3.0);
        forces[c] = (shear * part * change[c] + bulk * round) * inverse;
        dissipated += weight * forces[c] * whole;
    }
    (forces, dissipated)
}

/// Forces on the corners of one cell by component.
#[inline(always)]
fn corner_forces(
    h: &[f32; 9],
    forces: &[f32; SHAPE_LEN],
    slope: [f32; 3],
    weight: f32,
) -> [[f32; 8]; 3] {
    let mut out = [[0.0; 8]; 3];
    for i in 0..3 {
        let (mut pulled, mut bent) = ([0.0; 3], [0.0; 4]);
        for axis in 0..3 {
            let mut sum = forces[INDEX[i][axis]];
            for b in 0..3 {
                sum = h[3 * b + i].mul_add(forces[INDEX[b][axis]], sum);
            }
            pulled[axis] = sum * slope[axis] * weight;
        }
        for m in 0..4 {
            bent[m] = forces[STRAIN_LEN + 4 * i + m] * weight;
        }
        out[i] = corners(pulled, bent);
    }
    out
}

/// Block of cells between the forces of their dashpots and those on their corners.
struct Block {
    gradient: [[f32; SIMD_WIDTH]; 9],
    change: Shapes,
    forces: Shapes,
    dissipated: [f32; SIMD_WIDTH],
    stored: [f32; SIMD_WIDTH],
}

impl Block {
    /// Adds the forces of a branch, and advances the shape of its spring.
    #[inline(always)]
    fn add_branch(
        &mut self,
        spring: &mut Shapes,
        own: [&[f32; SIMD_WIDTH]; 2],
        hourglass: &[f32; 4],
        dt: f32,
    ) {
        let [stiffness, rate] = own;
        for l in 0..SIMD_WIDTH {
            let ratio = dt * rate[l];
            let gain = 1.0 / 0.5f32.mul_add(ratio, 1.0);
            let decay = (-0.5f32).mul_add(ratio, 1.0) * gain;
            for (c, spring) in spring.iter_mut().enumerate() {
                let (weight, part) = weights(c, hourglass);
                let (own, old) = (stiffness[l] * part, spring[l]);
                let new = decay * old + gain * self.change[c][l];
                spring[l] = new;
                self.forces[c][l] += own * new;
                let sum = old + new;
                self.dissipated[l] += weight * own * (0.25 * ratio) * sum * sum;
                self.stored[l] += weight * own * 0.5 * new * new;
            }
        }
    }
}

/// Pass over viscous cells.
pub(super) struct ViscousPass<'a> {
    pub(super) pass: ForcePass<'a>,
    pub(super) viscous: &'a Viscous,
    /// Time since their last forces.
    pub(super) dt: f32,
}

/// Returns the block of cells at `at` with the forces of their dashpots, and stores their shapes in the memory.
#[inline(always)]
fn begin_block(
    viscous_pass: &ViscousPass,
    at: usize,
    inverse: f32,
    memory_fields: &mut [Field],
) -> Block {
    let ViscousPass { pass, viscous, .. } = viscous_pass;
    let cells = pass.cells;
    let mut x = [[[0.0_f32; SIMD_WIDTH]; 8]; 3];
    for (x, u) in x.iter_mut().zip(pass.u) {
        for (x, corner) in x.iter_mut().zip(cells.corners) {
            *x = *row(u, at + corner);
        }
    }
    let own = [&viscous.shear, &viscous.bulk].map(|field| *row(field, at));
    let mut memory = load(memory_fields, at);
    let mut block = Block {
        gradient: [[0.0; SIMD_WIDTH]; 9],
        change: [[0.0; SIMD_WIDTH]; SHAPE_LEN],
        forces: [[0.0; SIMD_WIDTH]; SHAPE_LEN],
        dissipated: [0.0; SIMD_WIDTH],
        stored: [0.0; SIMD_WIDTH],
    };
    for l in 0..SIMD_WIDTH {
        let displacements = std::array::from_fn(|i| std::array::from_fn(|a| x[i][a][l]));
        let (gradient, now) = shape(displacements, cells.slope);
        let mut change = std::array::from_fn(|c| now[c] - memory[c][l]);
        let own = own.map(|row| row[l]);
        let (forces, heat) = dashpot(&mut change, own, &cells.hourglass, inverse);
        for (row, value) in block.gradient.iter_mut().zip(gradient) {
            row[l] = value;
        }
        for c in 0..SHAPE_LEN {
            memory[c][l] = now[c];
            block.change[c][l] = change[c];
            block.forces[c][l] = forces[c];
        }
        block.dissipated[l] = heat;
    }
    store(memory_fields, at, &memory);
    block
}

#[inline(always)]
fn load(fields: &[Field], at: usize) -> Shapes {
    let mut shapes = [[0.0; SIMD_WIDTH]; SHAPE_LEN];
    for (shape, field) in shapes.iter_mut().zip(fields) {
        *shape = *row(field, at);
    }
    shapes
}

#[inline(always)]
fn store(fields: &mut [Field], at: usize, shapes: &Shapes) {
    for (shape, field) in shapes.iter().zip(fields) {
        field[at..at + SIMD_WIDTH].copy_from_slice(shape);
    }
}

/// Subtracts the forces of viscous cells from the impulses; `memory_fields` has [`Viscous::memory_len`] fields.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_viscous_forces(
    viscous_pass: &ViscousPass,
    memory_fields: &mut [Field],
    target: &mut ForceTarget,
    buffer: &mut Buffer,
) -> Heat {
    let ViscousPass { pass, viscous, dt } = viscous_pass;
    let (cells, weight) = (pass.cells, pass.weight);
    let inverse = if *dt > 0.0 { 1.0 / dt } else { 0.0 };
    let (last, springs) = memory_fields.split_at_mut(SHAPE_LEN);
    let mut sums = Heat::default();
    for &(start, length) in pass.runs {
        let (mut dissipated, mut stored) = ([0.0_f32; SIMD_WIDTH], [0.0_f32; SIMD_WIDTH]);
        for first in (0..length.min(RUN_MAX)).step_by(SIMD_WIDTH) {
            let at = start + first;
            let mut block = begin_block(viscous_pass, at, inverse, last);
            let branches = viscous.branches.iter();
            for (branch, fields) in branches.zip(springs.chunks_exact_mut(SHAPE_LEN)) {
                let mut spring = load(fields, at);
                let own = [row(&branch.stiffness, at), row(&branch.rate, at)];
                block.add_branch(&mut spring, own, &cells.hourglass, *dt);
                store(fields, at, &spring);
            }
            let mut out = [[[0.0_f32; SIMD_WIDTH]; 8]; 3];
            for l in 0..SIMD_WIDTH {
                let h = std::array::from_fn(|c| block.gradient[c][l]);
                let forces = std::array::from_fn(|c| block.forces[c][l]);
                let corners = corner_forces(&h, &forces, cells.slope, weight);
                for i in 0..3 {
                    for a in 0..8 {
                        out[i][a][l] = corners[i][a];
                    }
                }
                dissipated[l] += block.dissipated[l];
                stored[l] += block.stored[l];
            }
            buffer.set(first, &out);
        }
        scatter(cells, (start, length), target, buffer);
        let sum = |x: &[f32; SIMD_WIDTH]| x.iter().copied().map(f64::from).sum::<f64>();
        sums.dissipated += sum(&dissipated);
        sums.stored += sum(&stored);
    }
    sums
}
