//! Forces of the cells on their corners.
//!
//! Source: hexahedra with one point (Flanagan and Belytschko 1981) in the modes of a box. The eight corner
//! values are one rigid mode, three linear modes, which the law strains, and four hourglass modes with a
//! stiffness. A row of cells is contiguous in memory, so no neighbour lists are read. Forces are scattered by
//! row too, those of the two ends of a cell in one sum.
//!
//! Symbols: `u` displacement, `f` impulse. Corner `a` of a cell is at the first corner plus 1, the row and
//! the plane, by the bits of `a`.

use super::laws::SimdLaw;
use super::simd::SIMD_WIDTH;
use multiversion::multiversion;

/// One component of a field on a grid.
pub(super) type Field = Vec<f32>;
type Row = [f32; SIMD_WIDTH];

/// Largest number of cells of a run.
pub(super) const RUN_MAX: usize = 8 * SIMD_WIDTH;
const WIDE: usize = RUN_MAX + SIMD_WIDTH;

/// Constant data of the cells of a grid.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Index offsets of the corners from the first one.
    pub(super) corners: [usize; 8],
    /// Initial shear modulus times volume; zero where there is no cell.
    pub(super) mu: Field,
    /// Initial second modulus times volume.
    pub(super) lambda: Field,
    /// Demand on the step at rest over the limit without added mass, at most 1.
    pub(super) demand: Field,
    /// Gradient of a linear mode along its own axis, a quarter of the inverse edge.
    pub(super) slope: [f32; 3],
    /// Stiffness of the modes xy, xz, yz, xyz over the shear modulus times volume.
    pub(super) hourglass: [f32; 4],
}

/// Present shear and second modulus times volume.
pub(super) type CellModuli<'a> = [&'a Field; 2];

/// First cell and number of cells, a multiple of [`SIMD_WIDTH`] and at most [`RUN_MAX`].
pub(super) type Run = (usize, usize);

/// Totals of a pass over cells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassTotals {
    pub(super) energy: f64,
    /// Largest demand on the step as a squared frequency, 1 at rest.
    pub(super) demand: f32,
}

impl PassTotals {
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            demand: self.demand.max(other.demand),
        }
    }
}

/// Impulse fields to which cells add.
#[derive(Debug)]
pub(super) struct ForceTarget<'a> {
    /// Node of the first of `own`.
    pub(super) first_node: usize,
    /// Impulses of a chunk's nodes.
    pub(super) own: [&'a mut [f32]; 3],
    /// Impulses of the plane beyond, if it is another chunk's; empty if there is none.
    pub(super) overlap: [&'a mut [f32]; 3],
}

impl<'a> ForceTarget<'a> {
    /// Targets the whole field.
    pub(super) fn whole(f: &'a mut [Field; 3]) -> Self {
        Self {
            first_node: 0,
            own: f.each_mut().map(Vec::as_mut_slice),
            overlap: [(); 3].map(|()| <&mut [f32]>::default()),
        }
    }

    /// Subtracts rows of both ends of cells from the nodes that begin at `to`. Rows beyond the next plane
    /// belong to no cell and are zero.
    #[inline(always)]
    fn take(&mut self, axis: usize, to: usize, near: &[f32], far: &[f32]) {
        let (own, over) = (&mut *self.own[axis], &mut *self.overlap[axis]);
        let at = to - self.first_node;
        let first = own.len().saturating_sub(at).min(near.len());
        if first > 0 {
            subtract_sum(&mut own[at..at + first], &near[..first], &far[..first]);
        }
        if first < near.len() && !over.is_empty() {
            let at = at + first - own.len();
            let end = over.len().min(at + near.len() - first);
            if at < end {
                subtract_sum(&mut over[at..end], &near[first..], &far[first..]);
            }
        }
    }
}

/// Forces of a run by corner and component. Those of the far end in x are shifted by one place, so that both
/// ends of a row are one sum.
#[derive(Debug, Clone)]
pub(super) struct Buffer(Box<[[[f32; WIDE]; 3]; 8]>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(Box::new([[[0.0; WIDE]; 3]; 8]))
    }

    /// Stores the forces of one SIMD block, by component and corner.
    #[inline(always)]
    pub(super) fn set(&mut self, first: usize, out: &[[Row; 8]; 3]) {
        for (a, rows) in self.0.iter_mut().enumerate() {
            let to = first + (a & 1);
            for (i, row) in rows.iter_mut().enumerate() {
                row[to..to + SIMD_WIDTH].copy_from_slice(&out[i][a]);
            }
        }
    }
}

/// Returns a SIMD block. Fields are longer than any run by a plane, a row and [`WIDE`].
#[inline(always)]
pub(super) fn row(field: &[f32], at: usize) -> &Row {
    field[at..]
        .first_chunk()
        .expect("fields are padded beyond the last run")
}

/// Returns the linear and the hourglass modes of one component of the corners.
#[inline(always)]
pub(super) fn modes(x: [f32; 8]) -> ([f32; 3], [f32; 4]) {
    let sum = [x[0] + x[1], x[2] + x[3], x[4] + x[5], x[6] + x[7]];
    let gap = [x[1] - x[0], x[3] - x[2], x[5] - x[4], x[7] - x[6]];
    let (both, across) = (
        [sum[0] + sum[1], sum[2] + sum[3]],
        [sum[1] - sum[0], sum[3] - sum[2]],
    );
    let (along, turn) = (
        [gap[0] + gap[1], gap[2] + gap[3]],
        [gap[1] - gap[0], gap[3] - gap[2]],
    );
    (
        [
            along[0] + along[1],
            across[0] + across[1],
            both[1] - both[0],
        ],
        [
            turn[0] + turn[1],
            along[1] - along[0],
            across[1] - across[0],
            turn[1] - turn[0],
        ],
    )
}

/// Returns the corner values of modes.
#[inline(always)]
pub(super) fn corners([x, y, z]: [f32; 3], [xy, xz, yz, xyz]: [f32; 4]) -> [f32; 8] {
    let low = [-z, x - xz, y - yz, xy - xyz];
    let high = [z, x + xz, y + yz, xy + xyz];
    let mut out = [0.0; 8];
    for (at, m) in [(0, low), (4, high)] {
        let (near, far) = ([m[0] - m[2], m[1] - m[3]], [m[0] + m[2], m[1] + m[3]]);
        out[at] = near[0] - near[1];
        out[at + 1] = near[0] + near[1];
        out[at + 2] = far[0] - far[1];
        out[at + 3] = far[0] + far[1];
    }
    out
}

/// Returns the forces of one cell by component and corner; with `WITH_ENERGY` also its energy and demand.
#[inline(always)]
pub(super) fn cell_forces<const WITH_ENERGY: bool, L: SimdLaw + ?Sized>(
    law: &L,
    x: [[f32; 8]; 3],
    mu: f32,
    lambda: f32,
    cells: &Cells,
) -> ([[f32; 8]; 3], f32, f32) {
    let (s, hourglass_stiffness) = (cells.slope, cells.hourglass);
    let (mut linear, mut hourglass) = ([[0.0; 3]; 3], [[0.0; 4]; 3]);
    for i in 0..3 {
        (linear[i], hourglass[i]) = modes(x[i]);
    }
    let mut gradient = [0.0; 9];
    for axis in 0..3 {
        for i in 0..3 {
            gradient[3 * axis + i] = linear[i][axis] * s[axis];
        }
    }
    let response = law.response(gradient, mu, lambda);
    let mut out = [[0.0; 8]; 3];
    let mut hourglass_energy2 = 0.0;
    for i in 0..3 {
        let (mut stress_modes, mut hourglass_forces) = ([0.0; 3], [0.0; 4]);
        for axis in 0..3 {
            stress_modes[axis] = response.stress[3 * axis + i] * s[axis];
        }
        for m in 0..4 {
            hourglass_forces[m] = hourglass_stiffness[m] * mu * hourglass[i][m];
            if WITH_ENERGY {
                hourglass_energy2 = hourglass_forces[m].mul_add(hourglass[i][m], hourglass_energy2);
            }
        }
        out[i] = corners(stress_modes, hourglass_forces);
    }
    let mut demand = 0.0;
    if WITH_ENERGY {
        let square = [s[0] * s[0], s[1] * s[1], s[2] * s[2]];
        for (wave_stiffness, square) in response.wave_stiffness.iter().zip(square) {
            demand = wave_stiffness.mul_add(square, demand);
        }
        demand /= square[0] + square[1] + square[2];
    }
    (out, response.energy + 0.5 * hourglass_energy2, demand)
}

/// Cells of one law among those of several.
#[derive(Debug, Clone, Copy)]
pub(super) struct LawLanes<'a> {
    /// Law of every cell of the grid.
    pub(super) laws: &'a [u32],
    pub(super) law: u32,
}

impl LawLanes<'_> {
    /// Returns 1 for the cells of a SIMD block that have the law, and 0 for the others.
    #[inline(always)]
    fn block(&self, at: usize) -> Row {
        let mut lanes = [0.0; SIMD_WIDTH];
        for (lane, law) in lanes.iter_mut().zip(&self.laws[at..at + SIMD_WIDTH]) {
            *lane = if *law == self.law { 1.0 } else { 0.0 };
        }
        lanes
    }
}

/// Cells of a pass, their displacements and the weight of their forces.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForcePass<'a> {
    pub(super) cells: &'a Cells,
    pub(super) moduli: CellModuli<'a>,
    pub(super) runs: &'a [Run],
    /// Cells of the runs that act; all without it.
    pub(super) lanes: Option<LawLanes<'a>>,
    pub(super) weight: f32,
    pub(super) u: &'a [Field; 3],
}

/// Returns the moduli of a SIMD block, 0 for the cells that do not act.
#[inline(always)]
fn acting_moduli(pass: &ForcePass, at: usize, acting: Option<&Row>) -> [Row; 2] {
    let mut moduli = pass.moduli.map(|field| *row(field, at));
    if let Some(acting) = acting {
        for own in &mut moduli {
            for l in 0..SIMD_WIDTH {
                own[l] *= acting[l];
            }
        }
    }
    moduli
}

/// Writes the demands of the cells of a SIMD block that act, and clears the others.
#[inline(always)]
fn record_demands(demand: &mut Row, acting: Option<&Row>, of_block: &mut [f32]) {
    let Some(acting) = acting else {
        of_block.copy_from_slice(demand);
        return;
    };
    for l in 0..SIMD_WIDTH {
        let acts = acting[l] > 0.0;
        of_block[l] = if acts { demand[l] } else { of_block[l] };
        demand[l] = if acts { demand[l] } else { 0.0 };
    }
}

/// Writes the forces of a run to the buffer, and the demands of its cells.
#[inline(always)]
fn fill<const WITH_ENERGY: bool, L: SimdLaw + ?Sized>(
    law: &L,
    pass: &ForcePass,
    run: Run,
    buffer: &mut Buffer,
    cell_demands: &mut [f32],
) -> PassTotals {
    let ForcePass {
        cells, weight, u, ..
    } = *pass;
    let (start, length) = run;
    let mut totals = PassTotals::default();
    let (mut energies, mut demands) = ([0.0_f32; SIMD_WIDTH], [0.0_f32; SIMD_WIDTH]);
    for first in (0..length).step_by(SIMD_WIDTH) {
        let at = start + first;
        let mut x: [[&Row; 8]; 3] = [[row(&u[0], at); 8]; 3];
        for (x, u) in x.iter_mut().zip(u) {
            for (x, corner) in x.iter_mut().zip(cells.corners) {
                *x = row(u, at + corner);
            }
        }
        let acting = pass.lanes.map(|lanes| lanes.block(at));
        let [mu, lambda] = acting_moduli(pass, at, acting.as_ref());
        let mut out = [[[0.0_f32; SIMD_WIDTH]; 8]; 3];
        let (mut energy, mut demand) = ([0.0_f32; SIMD_WIDTH], [0.0_f32; SIMD_WIDTH]);
        for l in 0..SIMD_WIDTH {
            let own = std::array::from_fn(|i| std::array::from_fn(|a| x[i][a][l]));
            let (forces, stored, cell_demand) =
                cell_forces::<WITH_ENERGY, L>(law, own, mu[l] * weight, lambda[l] * weight, cells);
            for i in 0..3 {
                for a in 0..8 {
                    out[i][a][l] = forces[i][a];
                }
            }
            (energy[l], demand[l]) = (stored, cell_demand);
        }
        buffer.set(first, &out);
        if WITH_ENERGY {
            let own = row(&cells.demand, at);
            for l in 0..SIMD_WIDTH {
                energies[l] += energy[l];
                demand[l] *= own[l];
            }
            let of_block = &mut cell_demands[first..first + SIMD_WIDTH];
            record_demands(&mut demand, acting.as_ref(), of_block);
            for l in 0..SIMD_WIDTH {
                demands[l] = if demand[l] > demands[l] {
                    demand[l]
                } else {
                    demands[l]
                };
                // a cell with a NaN demand has collapsed
                demands[l] = if demand[l] >= 0.0 {
                    demands[l]
                } else {
                    f32::MAX
                };
            }
        }
    }
    if WITH_ENERGY {
        totals.energy = energies.iter().copied().map(f64::from).sum::<f64>() / f64::from(weight);
        totals.demand = demands.iter().fold(0.0, |a, &b| a.max(b));
    }
    totals
}

#[inline(always)]
fn subtract_sum(f: &mut [f32], near: &[f32], far: &[f32]) {
    for ((f, near), far) in f.iter_mut().zip(near).zip(far) {
        *f -= near + far;
    }
}

/// Subtracts the forces in the buffer from the impulses of a run's corners.
#[inline(always)]
pub(super) fn scatter(cells: &Cells, run: Run, target: &mut ForceTarget, buffer: &mut Buffer) {
    let (start, length) = run;
    // clear the remainder of a longer run
    for a in [0, 2, 4, 6] {
        for i in 0..3 {
            buffer.0[a][i][length..length + SIMD_WIDTH].fill(0.0);
            buffer.0[a + 1][i][length + 1..(length + SIMD_WIDTH).min(WIDE)].fill(0.0);
        }
    }
    let wide = length + SIMD_WIDTH;
    for i in 0..3 {
        for a in [0, 2, 4, 6] {
            let (near, far) = (&buffer.0[a][i][..wide], &buffer.0[a + 1][i][..wide]);
            target.take(i, start + cells.corners[a], near, far);
        }
    }
}

/// Subtracts the forces of cells from the impulses.
#[inline(always)]
fn add_run_forces<const WITH_ENERGY: bool, L: SimdLaw + ?Sized>(
    law: &L,
    pass: &ForcePass,
    target: &mut ForceTarget,
    buffer: &mut Buffer,
    cell_demands: &mut [f32],
) -> PassTotals {
    let mut totals = PassTotals::default();
    for &run in pass.runs {
        let cell_demands = if WITH_ENERGY {
            &mut cell_demands[run.0..]
        } else {
            &mut *cell_demands
        };
        totals = totals.merge(fill::<WITH_ENERGY, L>(law, pass, run, buffer, cell_demands));
        scatter(pass.cells, run, target, buffer);
    }
    totals
}

/// As [`add_run_forces`], without energies and demands.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_forces<L: SimdLaw + ?Sized>(
    law: &L,
    pass: &ForcePass,
    target: &mut ForceTarget,
    buffer: &mut Buffer,
) {
    add_run_forces::<false, L>(law, pass, target, buffer, &mut []);
}

/// As [`add_run_forces`], with energies and demands; those of the cells are written to the slice.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_forces_with_energy<L: SimdLaw + ?Sized>(
    law: &L,
    pass: &ForcePass,
    target: &mut ForceTarget,
    buffer: &mut Buffer,
    cell_demands: &mut [f32],
) -> PassTotals {
    add_run_forces::<true, L>(law, pass, target, buffer, cell_demands)
}
