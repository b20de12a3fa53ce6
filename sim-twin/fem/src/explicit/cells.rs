//! Cells: what they pull their corners with.
//!
//! Source: hexahedra with one point (Flanagan and Belytschko 1981) in the modes of a box: the eight
//! corner values are one whole motion, three linear modes, which the law strains, and four hourglass
//! modes, which a stiffness holds. A row of cells is a row of numbers in memory, so no lists of
//! neighbours are read. Forces go by the row too, those of the two ends of a cell in one sum.
//!
//! Symbols: `u` displacement, `f` impulse; corner `a` of a cell is at its first one plus 1, the row
//! and the plane by the bits of `a`.

use super::lane::LANES;
use super::laws::Lanes;
use multiversion::multiversion;

/// One component of a field on a grid.
pub(super) type Field = Vec<f32>;
type Row = [f32; LANES];

/// Most cells of a run.
pub(super) const RUN: usize = 8 * LANES;
const WIDE: usize = RUN + LANES;

/// What the cells of a grid are.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Distance of a corner from the first one.
    pub(super) corners: [usize; 8],
    /// Shear modulus times volume at first; zero where no cell is.
    pub(super) mu: Field,
    /// Second modulus times volume at first.
    pub(super) lambda: Field,
    /// Demand on the step at rest over that which the cell may have without more mass, at most 1.
    pub(super) demand: Field,
    /// Gradient of a linear mode along its own axis, a quarter of the inverse edge.
    pub(super) slope: [f32; 3],
    /// Stiffness of the modes xy, xz, yz, xyz over the shear modulus times volume.
    pub(super) hourglass: [f32; 4],
}

/// Shear and second modulus times volume, now.
pub(super) type Stiff<'a> = [&'a Field; 2];

/// First cell and number of cells, a multiple of [`LANES`] and at most [`RUN`].
pub(super) type Run = (usize, usize);

/// What a pass over cells found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) energy: f64,
    /// Greatest demand on the step, 1 at rest, as a squared frequency.
    pub(super) demand: f32,
}

impl Found {
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            demand: self.demand.max(other.demand),
        }
    }
}

/// Impulses that cells add to.
#[derive(Debug)]
pub(super) struct Onto<'a> {
    /// Node of the first of `own`.
    pub(super) from: usize,
    /// Those of a chunk's nodes.
    pub(super) own: [&'a mut [f32]; 3],
    /// Those of the plane beyond, if it is another chunk's; nothing if there is none.
    pub(super) over: [&'a mut [f32]; 3],
}

impl<'a> Onto<'a> {
    /// The whole field.
    pub(super) fn whole(f: &'a mut [Field; 3]) -> Self {
        Self {
            from: 0,
            own: f.each_mut().map(Vec::as_mut_slice),
            over: [(); 3].map(|()| <&mut [f32]>::default()),
        }
    }

    /// Takes rows of both ends of cells from the nodes that begin at `to`. Beyond the plane beyond,
    /// rows are those of no cell, and zero.
    #[inline(always)]
    fn take(&mut self, axis: usize, to: usize, near: &[f32], far: &[f32]) {
        let (own, over) = (&mut *self.own[axis], &mut *self.over[axis]);
        let at = to - self.from;
        let first = own.len().saturating_sub(at).min(near.len());
        if first > 0 {
            take(&mut own[at..at + first], &near[..first], &far[..first]);
        }
        if first < near.len() && !over.is_empty() {
            let at = at + first - own.len();
            let end = over.len().min(at + near.len() - first);
            if at < end {
                take(&mut over[at..end], &near[first..], &far[first..]);
            }
        }
    }
}

/// Forces of a run by corner and component. Those of the far end in x stand one place on, so that
/// both ends of a row are one sum.
#[derive(Debug, Clone)]
pub(super) struct Buffer(Box<[[[f32; WIDE]; 3]; 8]>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(Box::new([[[0.0; WIDE]; 3]; 8]))
    }

    /// Forces of some lanes, by component and corner.
    #[inline(always)]
    pub(super) fn set(&mut self, first: usize, out: &[[Row; 8]; 3]) {
        for (a, rows) in self.0.iter_mut().enumerate() {
            let to = first + (a & 1);
            for (i, row) in rows.iter_mut().enumerate() {
                row[to..to + LANES].copy_from_slice(&out[i][a]);
            }
        }
    }
}

/// A row of lanes. Fields are longer than any run by a plane, a row and [`WIDE`].
#[inline(always)]
pub(super) fn row(field: &[f32], at: usize) -> &Row {
    field[at..]
        .first_chunk()
        .expect("fields are padded beyond the last run")
}

/// Modes that are strained, and that are held, of one component of the corners.
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

/// Corner values of modes.
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

/// Forces of one cell by component and corner; with `BOOKS` its energy and demand.
#[inline(always)]
fn cell<const BOOKS: bool, L: Lanes>(
    law: L,
    x: [[f32; 8]; 3],
    mu: f32,
    lambda: f32,
    cells: &Cells,
) -> ([[f32; 8]; 3], f32, f32) {
    let (s, held) = (cells.slope, cells.hourglass);
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
    let strained = law.strain(gradient, mu, lambda);
    let mut out = [[0.0; 8]; 3];
    let mut twice = 0.0;
    for i in 0..3 {
        let (mut pulled, mut resisted) = ([0.0; 3], [0.0; 4]);
        for axis in 0..3 {
            pulled[axis] = strained.stress[3 * axis + i] * s[axis];
        }
        for m in 0..4 {
            resisted[m] = held[m] * mu * hourglass[i][m];
            if BOOKS {
                twice = resisted[m].mul_add(hourglass[i][m], twice);
            }
        }
        out[i] = corners(pulled, resisted);
    }
    let mut demand = 0.0;
    if BOOKS {
        let square = [s[0] * s[0], s[1] * s[1], s[2] * s[2]];
        for (shrunk, square) in strained.shrunk.iter().zip(square) {
            demand = shrunk.mul_add(square, demand);
        }
        demand /= square[0] + square[1] + square[2];
    }
    (out, strained.energy + 0.5 * twice, demand)
}

/// Cells that pull, at which displacements, and how much that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pulling<'a> {
    pub(super) cells: &'a Cells,
    pub(super) stiff: Stiff<'a>,
    pub(super) runs: &'a [Run],
    pub(super) weight: f32,
    pub(super) u: &'a [Field; 3],
}

/// Forces of a run into the buffer, and demands of its cells.
#[inline(always)]
fn fill<const BOOKS: bool, L: Lanes>(
    law: L,
    pulling: &Pulling,
    run: Run,
    buffer: &mut Buffer,
    needs: &mut [f32],
) -> Found {
    let Pulling {
        cells,
        stiff,
        weight,
        u,
        ..
    } = *pulling;
    let (start, length) = run;
    let mut found = Found::default();
    let (mut energies, mut demands) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    for first in (0..length).step_by(LANES) {
        let at = start + first;
        let mut x: [[&Row; 8]; 3] = [[row(&u[0], at); 8]; 3];
        for (x, u) in x.iter_mut().zip(u) {
            for (x, corner) in x.iter_mut().zip(cells.corners) {
                *x = row(u, at + corner);
            }
        }
        let (mu, lambda) = (row(stiff[0], at), row(stiff[1], at));
        let mut out = [[[0.0_f32; LANES]; 8]; 3];
        let (mut energy, mut demand) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for l in 0..LANES {
            let own = std::array::from_fn(|i| std::array::from_fn(|a| x[i][a][l]));
            let (pull, stored, need) =
                cell::<BOOKS, L>(law, own, mu[l] * weight, lambda[l] * weight, cells);
            for i in 0..3 {
                for a in 0..8 {
                    out[i][a][l] = pull[i][a];
                }
            }
            (energy[l], demand[l]) = (stored, need);
        }
        buffer.set(first, &out);
        if BOOKS {
            let own = row(&cells.demand, at);
            for l in 0..LANES {
                energies[l] += energy[l];
                demand[l] *= own[l];
                demands[l] = if demand[l] > demands[l] {
                    demand[l]
                } else {
                    demands[l]
                };
                // what is not a number has fallen in
                demands[l] = if demand[l] >= 0.0 {
                    demands[l]
                } else {
                    f32::MAX
                };
            }
            needs[first..first + LANES].copy_from_slice(&demand);
        }
    }
    if BOOKS {
        found.energy = energies.iter().copied().map(f64::from).sum::<f64>() / f64::from(weight);
        found.demand = demands.iter().fold(0.0, |a, &b| a.max(b));
    }
    found
}

#[inline(always)]
fn take(f: &mut [f32], near: &[f32], far: &[f32]) {
    for ((f, near), far) in f.iter_mut().zip(near).zip(far) {
        *f -= near + far;
    }
}

/// Takes the forces in the buffer from the impulses of a run's corners.
#[inline(always)]
pub(super) fn scatter(cells: &Cells, run: Run, onto: &mut Onto, buffer: &mut Buffer) {
    let (start, length) = run;
    // what a longer run left behind
    for a in [0, 2, 4, 6] {
        for i in 0..3 {
            buffer.0[a][i][length..length + LANES].fill(0.0);
            buffer.0[a + 1][i][length + 1..(length + LANES).min(WIDE)].fill(0.0);
        }
    }
    let wide = length + LANES;
    for i in 0..3 {
        for a in [0, 2, 4, 6] {
            let (near, far) = (&buffer.0[a][i][..wide], &buffer.0[a + 1][i][..wide]);
            onto.take(i, start + cells.corners[a], near, far);
        }
    }
}

/// Takes what cells pull from the impulses.
#[inline(always)]
fn pull_runs<const BOOKS: bool, L: Lanes>(
    law: L,
    pulling: &Pulling,
    onto: &mut Onto,
    buffer: &mut Buffer,
    needs: &mut [f32],
) -> Found {
    let mut found = Found::default();
    for &run in pulling.runs {
        let needs = if BOOKS {
            &mut needs[run.0 - onto.from..]
        } else {
            &mut *needs
        };
        found = found.join(fill::<BOOKS, L>(law, pulling, run, buffer, needs));
        scatter(pulling.cells, run, onto, buffer);
    }
    found
}

/// As [`pull_runs`], without energies and demands.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn pull<L: Lanes>(law: L, pulling: &Pulling, onto: &mut Onto, buffer: &mut Buffer) {
    pull_runs::<false, L>(law, pulling, onto, buffer, &mut []);
}

/// As [`pull_runs`], with energies and demands, those of the cells at `onto`'s places in the slice too.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn pull_and_book<L: Lanes>(
    law: L,
    pulling: &Pulling,
    onto: &mut Onto,
    buffer: &mut Buffer,
    needs: &mut [f32],
) -> Found {
    pull_runs::<true, L>(law, pulling, onto, buffer, needs)
}

/// As [`pull`], one cell after the other.
#[cfg(test)]
pub(super) fn pull_plainly<L: Lanes>(law: L, pulling: &Pulling, f: &mut [Field; 3]) {
    let Pulling {
        cells,
        stiff,
        weight,
        u,
        ..
    } = *pulling;
    for &(start, length) in pulling.runs {
        // by component, corner and cell
        let mut out = vec![[[0.0; 8]; 3]; length];
        for (own, at) in out.iter_mut().zip(start..) {
            let x = std::array::from_fn(|i| cells.corners.map(|corner| u[i][at + corner]));
            let (mu, lambda) = (stiff[0][at] * weight, stiff[1][at] * weight);
            *own = cell::<false, L>(law, x, mu, lambda, cells).0;
        }
        for (i, f) in f.iter_mut().enumerate() {
            for a in [0, 2, 4, 6] {
                for place in 0..=length {
                    let near = out.get(place).map_or(0.0, |own| own[i][a]);
                    let far = place
                        .checked_sub(1)
                        .map_or(0.0, |before| out[before][i][a + 1]);
                    f[start + place + cells.corners[a]] -= near + far;
                }
            }
        }
    }
}
