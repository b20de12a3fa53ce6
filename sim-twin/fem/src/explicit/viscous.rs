//! Viscous parts of cells: a dashpot parallel to the law and one relaxing branch, at the centre.
//!
//! Source: [`palpate_twin::law::viscous`] for the laws, both in the Green strain `E`. The dashpot stress
//! follows the strain rate, and acts on the hourglass modes too. The branch, deviatoric only, follows its remaining
//! stress (trapezoidal rule, which dissipates at every step and time constant). Rates refer to the time since the last
//! forces of a cell, so its memory is `E` at that time. The viscous cells have a separate pass after that of their law:
//! elastic cells cost nothing more, viscous ones about twice as much (see the bench `explicit`).
//!
//! Heat is that of the strain rates when forces are computed, and of the branch by the trapezoidal rule: `r
//! (h0 + h1)^2 / (4 k)`, with `r` the step over the time constant, `h` the branch stress and `k` its
//! stiffness.

use super::cells::{
    Buffer, Cells, Field, ForcePass, ForceTarget, RUN_MAX, corners, modes, row, scatter,
};
use super::material::Scale;
use super::simd::SIMD_WIDTH;
use multiversion::multiversion;
use palpate_twin::law::Real;
use palpate_twin::law::Viscosity;

/// Numbers in the memory of a cell at its centre: its strain, then the stress of its branch.
const CENTRE_LEN: usize = 12;
/// Numbers in the memory of a cell: those at its centre, then its hourglass modes by component.
pub(super) const MEMORY_LEN: usize = CENTRE_LEN + 12;

/// Viscous parameters of the cells of a grid, in internal units times volume.
#[derive(Debug, Clone)]
pub(super) struct Viscous {
    /// Twice the shear viscosity.
    pub(super) shear: Field,
    /// Bulk viscosity.
    bulk: Field,
    /// Stiffness of the branch, twice its shear modulus, and its inverse.
    pub(super) branch: Field,
    branch_compliance: Field,
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
        let field = || vec![0.0; length];
        Self {
            shear: field(),
            bulk: field(),
            branch: field(),
            branch_compliance: field(),
            rate: field(),
        }
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
        let time_s = scale.time_s();
        let unit_pas = scale.stress_pa * time_s / volume;
        self.shear[at] = f32::of(2.0 * viscosity.shear_pas / unit_pas);
        self.bulk[at] = f32::of(viscosity.bulk_pas / unit_pas);
        if viscosity.share > 0.0 {
            let stiffness = 2.0 * mu * viscosity.share * volume;
            self.branch[at] = f32::of(stiffness);
            self.branch_compliance[at] = f32::of(1.0 / stiffness);
            self.rate[at] = f32::of(time_s / viscosity.time_s);
        }
    }

    /// Returns the fields of [`CellViscosity`].
    #[inline(always)]
    fn fields(&self) -> [&Field; 5] {
        let Self {
            shear,
            bulk,
            branch,
            branch_compliance,
            rate,
        } = self;
        [shear, bulk, branch, branch_compliance, rate]
    }

    /// True if any cell of a SIMD block is viscous.
    pub(super) fn any(&self, start: usize) -> bool {
        let lanes = start..start + SIMD_WIDTH;
        [&self.shear, &self.bulk, &self.branch]
            .iter()
            .any(|field| field[lanes.clone()].iter().any(|&x| x > 0.0))
    }
}

/// Weights of the components of a symmetric matrix in a double product.
const PRODUCT_WEIGHTS: [f32; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
/// Rows and columns of those components.
const PLACES: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
/// Component of a symmetric matrix by row and column.
const INDEX: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Twice the shear viscosity, bulk viscosity, stiffness of the branch, its inverse, its rate.
type CellViscosity = [f32; 5];

/// Returns the stress at the displacement gradient `h` in column-major order, the new memory, the dissipated
/// and the stored energy.
#[inline(always)]
fn viscous_stress(
    h: [f32; 9],
    memory: &[f32; MEMORY_LEN],
    own: CellViscosity,
    dt: f32,
    inverse: f32,
) -> ([f32; 9], [f32; MEMORY_LEN], f32, f32) {
    let [shear, bulk, branch, branch_compliance, rate] = own;
    let (mut now, mut change) = ([0.0; MEMORY_LEN], [0.0; 6]);
    for (c, (a, b)) in PLACES.into_iter().enumerate() {
        let mut twice = h[3 * a + b] + h[3 * b + a];
        for i in 0..3 {
            twice = h[3 * a + i].mul_add(h[3 * b + i], twice);
        }
        now[c] = 0.5 * twice;
        change[c] = now[c] - memory[c];
    }
    let trace = change[0] + change[1] + change[2];
    let ratio = dt * rate;
    let gain = 1.0 / 0.5f32.mul_add(ratio, 1.0);
    let decay = (-0.5f32).mul_add(ratio, 1.0) * gain;
    let (mut stress, mut dissipated, mut stored) = ([0.0; 6], 0.0, 0.0);
    for c in 0..6 {
        let round = if c < 3 { trace } else { 0.0 };
        let shape = change[c] - round * (1.0 / 3.0);
        let viscous = (shear * shape + bulk * round) * inverse;
        let (old, new) = (memory[6 + c], decay * memory[6 + c] + gain * branch * shape);
        now[6 + c] = new;
        stress[c] = viscous + new;
        let sum_stress = old + new;
        dissipated += PRODUCT_WEIGHTS[c]
            * (viscous * change[c] + 0.25 * ratio * branch_compliance * sum_stress * sum_stress);
        stored += PRODUCT_WEIGHTS[c] * 0.5 * branch_compliance * new * new;
    }
    let mut out = [0.0; 9];
    for axis in 0..3 {
        for i in 0..3 {
            let mut sum = stress[INDEX[i][axis]];
            for b in 0..3 {
                sum = h[3 * b + i].mul_add(stress[INDEX[b][axis]], sum);
            }
            out[3 * axis + i] = sum;
        }
    }
    (out, now, dissipated, stored)
}

/// Time since the last forces, its inverse (0 if no time has passed), and the weight of the forces.
#[derive(Debug, Clone, Copy)]
struct ElapsedTime {
    dt: f32,
    inverse: f32,
    weight: f32,
}

/// Returns the forces of one cell by component and corner, its new memory, the dissipated and the stored
/// energy.
#[inline(always)]
fn cell(
    x: [[f32; 8]; 3],
    memory: [f32; MEMORY_LEN],
    own: CellViscosity,
    cells: &Cells,
    elapsed: ElapsedTime,
) -> ([[f32; 8]; 3], [f32; MEMORY_LEN], f32, f32) {
    let s = cells.slope;
    let (mut gradient, mut hourglass) = ([0.0; 9], [[0.0; 4]; 3]);
    for i in 0..3 {
        let linear;
        (linear, hourglass[i]) = modes(x[i]);
        for axis in 0..3 {
            gradient[3 * axis + i] = linear[axis] * s[axis];
        }
    }
    let ElapsedTime {
        dt,
        inverse,
        weight,
    } = elapsed;
    let (stress, mut now, mut dissipated, stored) =
        viscous_stress(gradient, &memory, own, dt, inverse);
    let mut out = [[0.0; 8]; 3];
    for i in 0..3 {
        let (mut pulled, mut bent) = ([0.0; 3], [0.0; 4]);
        for axis in 0..3 {
            pulled[axis] = stress[3 * axis + i] * s[axis] * weight;
        }
        for m in 0..4 {
            let at = CENTRE_LEN + 4 * i + m;
            now[at] = hourglass[i][m];
            let change = hourglass[i][m] - memory[at];
            // the dashpot has the share of the shear viscosity that the elastic mode has of the shear modulus
            let force = 0.5 * own[0] * cells.hourglass[m] * change * inverse;
            dissipated += force * change;
            bent[m] = force * weight;
        }
        out[i] = corners(pulled, bent);
    }
    (out, now, dissipated, stored)
}

/// Pass over viscous cells.
pub(super) struct ViscousPass<'a> {
    pub(super) pass: ForcePass<'a>,
    pub(super) viscous: &'a Viscous,
    /// Time since their last forces.
    pub(super) dt: f32,
}

/// Subtracts the forces of viscous cells from the impulses; `memory_fields` has [`MEMORY_LEN`] fields.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_viscous_forces(
    viscous_pass: &ViscousPass,
    memory_fields: &mut [Field],
    target: &mut ForceTarget,
    buffer: &mut Buffer,
) -> Heat {
    let ViscousPass { pass, viscous, dt } = *viscous_pass;
    let ForcePass {
        cells,
        runs,
        weight,
        u,
        ..
    } = pass;
    let elapsed = ElapsedTime {
        dt,
        inverse: if dt > 0.0 { 1.0 / dt } else { 0.0 },
        weight,
    };
    let mut sums = Heat::default();
    for &(start, length) in runs {
        let (mut dissipated, mut stored) = ([0.0_f32; SIMD_WIDTH], [0.0_f32; SIMD_WIDTH]);
        for first in (0..length.min(RUN_MAX)).step_by(SIMD_WIDTH) {
            let at = start + first;
            let mut x = [[[0.0_f32; SIMD_WIDTH]; 8]; 3];
            for (x, u) in x.iter_mut().zip(u) {
                for (x, corner) in x.iter_mut().zip(cells.corners) {
                    *x = *row(u, at + corner);
                }
            }
            let own = viscous.fields().map(|field| *row(field, at));
            let mut memory = [[0.0_f32; SIMD_WIDTH]; MEMORY_LEN];
            for (memory, field) in memory.iter_mut().zip(&*memory_fields) {
                *memory = *row(field, at);
            }
            let mut out = [[[0.0_f32; SIMD_WIDTH]; 8]; 3];
            for l in 0..SIMD_WIDTH {
                let displacements = std::array::from_fn(|i| std::array::from_fn(|a| x[i][a][l]));
                let old_memory = std::array::from_fn(|c| memory[c][l]);
                let own = std::array::from_fn(|c| own[c][l]);
                let (forces, now, heat, energy) =
                    cell(displacements, old_memory, own, cells, elapsed);
                for c in 0..MEMORY_LEN {
                    memory[c][l] = now[c];
                }
                for i in 0..3 {
                    for a in 0..8 {
                        out[i][a][l] = forces[i][a];
                    }
                }
                dissipated[l] += heat;
                stored[l] += energy;
            }
            for (memory, field) in memory.iter().zip(&mut *memory_fields) {
                field[at..at + SIMD_WIDTH].copy_from_slice(memory);
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
