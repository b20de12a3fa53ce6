//! What is viscous of cells: a dashpot beside the law and one branch that forgets, at the centre.
//!
//! Source: [`palpate_twin::law::viscous`] for the laws, both in the Green strain `E`: the dashpot pulls with
//! its rate, the branch, of shape alone, with what is left of its past (trapezoid rule, which takes
//! energy at every step and time). Rates are taken over the time since a cell pulled last, so what
//! is known of the past is `E` then. A pass of its own over the viscous cells, after that of their law:
//! elastic ones pay nothing, viscous ones about as much again (see the bench `explicit`).
//!
//! Heat is that of the rates booked when a cell pulls, and of the branch by the trapezoid rule,
//! `r (h0 + h1)^2 / (4 k)` with `r` the step over its time, `h` its stress and `k` its stiffness.

use super::cells::{Buffer, Cells, Field, Onto, RUN, Run, corners, modes, row, scatter};
use super::lane::LANES;
use super::matter::Scale;
use multiversion::multiversion;
use palpate_twin::law::Real;
use palpate_twin::law::Viscosity;

/// Numbers that a cell remembers: its strain, then the stress of its branch.
pub(super) const PAST: usize = 12;

/// What is viscous of the cells of a grid, in units inside times volume.
#[derive(Debug, Clone)]
pub(super) struct Viscous {
    /// Twice the viscosity of shape.
    shear: Field,
    /// Viscosity of volume.
    bulk: Field,
    /// Stiffness of the branch, and its inverse.
    branch: Field,
    give: Field,
    /// Inverse of its time.
    rate: Field,
}

/// What a pass found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heat {
    /// Energy that was taken since the last time.
    pub(super) taken: f64,
    /// Energy in the branches.
    pub(super) held: f64,
}

impl Viscous {
    pub(super) fn new(length: usize) -> Self {
        let field = || vec![0.0; length];
        Self {
            shear: field(),
            bulk: field(),
            branch: field(),
            give: field(),
            rate: field(),
        }
    }

    /// Sets a cell of a volume and shear modulus.
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
            self.give[at] = f32::of(1.0 / stiffness);
            self.rate[at] = f32::of(time_s / viscosity.time_s);
        }
    }

    /// Stiffness of the branches, twice their shear modulus times volume.
    pub(super) fn branches(&self) -> &Field {
        &self.branch
    }

    /// Twice the viscosity of shape times volume.
    pub(super) fn shear(&self) -> &Field {
        &self.shear
    }

    /// Those of [`Own`].
    #[inline(always)]
    fn fields(&self) -> [&Field; 5] {
        let Self {
            shear,
            bulk,
            branch,
            give,
            rate,
        } = self;
        [shear, bulk, branch, give, rate]
    }

    /// Whether any cell of some lanes is viscous.
    pub(super) fn any(&self, start: usize) -> bool {
        let lanes = start..start + LANES;
        [&self.shear, &self.bulk, &self.branch]
            .iter()
            .any(|field| field[lanes.clone()].iter().any(|&x| x > 0.0))
    }
}

/// Weights of the components of a symmetric matrix in a double product.
const TWICE: [f32; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
/// Rows and columns of those components.
const PLACES: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
/// Component of a symmetric matrix by row and column.
const INDEX: [[usize; 3]; 3] = [[0, 3, 4], [3, 1, 5], [4, 5, 2]];

/// Twice the viscosity of shape, that of volume, stiffness of the branch, its inverse, its rate.
type Own = [f32; 5];

/// Stress at the displacement gradient `h`, column after column, the new past, heat and what is held.
#[inline(always)]
fn lag(
    h: [f32; 9],
    past: [f32; PAST],
    own: Own,
    dt: f32,
    inverse: f32,
) -> ([f32; 9], [f32; PAST], f32, f32) {
    let [shear, bulk, branch, give, rate] = own;
    let (mut now, mut way) = ([0.0; PAST], [0.0; 6]);
    for (c, (a, b)) in PLACES.into_iter().enumerate() {
        let mut twice = h[3 * a + b] + h[3 * b + a];
        for i in 0..3 {
            twice = h[3 * a + i].mul_add(h[3 * b + i], twice);
        }
        now[c] = 0.5 * twice;
        way[c] = now[c] - past[c];
    }
    let trace = way[0] + way[1] + way[2];
    let ratio = dt * rate;
    let grown = 1.0 / 0.5f32.mul_add(ratio, 1.0);
    let kept = (-0.5f32).mul_add(ratio, 1.0) * grown;
    let (mut stress, mut taken, mut held) = ([0.0; 6], 0.0, 0.0);
    for c in 0..6 {
        let round = if c < 3 { trace } else { 0.0 };
        let shape = way[c] - round * (1.0 / 3.0);
        let viscous = (shear * shape + bulk * round) * inverse;
        let (old, new) = (past[6 + c], kept * past[6 + c] + grown * branch * shape);
        now[6 + c] = new;
        stress[c] = viscous + new;
        let both = old + new;
        taken += TWICE[c] * (viscous * way[c] + 0.25 * ratio * give * both * both);
        held += TWICE[c] * 0.5 * give * new * new;
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
    (out, now, taken, held)
}

/// Time since cells pulled last, its inverse, 0 of no time, and how much a pull counts.
#[derive(Debug, Clone, Copy)]
struct Pace {
    dt: f32,
    inverse: f32,
    weight: f32,
}

/// Forces of one cell by component and corner, its new past, heat and what is held.
#[inline(always)]
fn cell(
    x: [[f32; 8]; 3],
    past: [f32; PAST],
    own: Own,
    s: [f32; 3],
    pace: Pace,
) -> ([[f32; 8]; 3], [f32; PAST], f32, f32) {
    let mut gradient = [0.0; 9];
    for i in 0..3 {
        let (linear, _) = modes(x[i]);
        for axis in 0..3 {
            gradient[3 * axis + i] = linear[axis] * s[axis];
        }
    }
    let Pace {
        dt,
        inverse,
        weight,
    } = pace;
    let (stress, now, taken, held) = lag(gradient, past, own, dt, inverse);
    let mut out = [[0.0; 8]; 3];
    for i in 0..3 {
        let mut pulled = [0.0; 3];
        for axis in 0..3 {
            pulled[axis] = stress[3 * axis + i] * s[axis] * weight;
        }
        out[i] = corners(pulled, [0.0; 4]);
    }
    (out, now, taken, held)
}

/// What the cells at `onto`'s places remember, by number.
pub(super) type Past<'a> = [&'a mut [f32]; PAST];

/// Fields of what cells remember, or nothing.
pub(super) fn past(fields: &mut [Field]) -> Past<'_> {
    let mut fields = fields.iter_mut().map(Vec::as_mut_slice);
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

/// Viscous cells that pull, at which displacements, and how much that counts.
pub(super) struct Lagging<'a> {
    pub(super) cells: &'a Cells,
    pub(super) viscous: &'a Viscous,
    pub(super) runs: &'a [Run],
    pub(super) weight: f32,
    /// Time since they pulled last.
    pub(super) dt: f32,
    pub(super) u: &'a [Field; 3],
}

/// Takes what viscous cells pull from the impulses.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn pull(
    lagging: &Lagging,
    remembered: &mut Past,
    onto: &mut Onto,
    buffer: &mut Buffer,
) -> Heat {
    let Lagging {
        cells,
        viscous,
        runs,
        weight,
        dt,
        u,
    } = *lagging;
    let pace = Pace {
        dt,
        inverse: if dt > 0.0 { 1.0 / dt } else { 0.0 },
        weight,
    };
    let mut sums = Heat::default();
    for &(start, length) in runs {
        let (mut taken, mut held) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for first in (0..length.min(RUN)).step_by(LANES) {
            let at = start + first;
            let mut x = [[[0.0_f32; LANES]; 8]; 3];
            for (x, u) in x.iter_mut().zip(u) {
                for (x, corner) in x.iter_mut().zip(cells.corners) {
                    *x = *row(u, at + corner);
                }
            }
            let own = viscous.fields().map(|field| *row(field, at));
            let mut past = [[0.0_f32; LANES]; PAST];
            let own_at = at - onto.from;
            for (past, field) in past.iter_mut().zip(&*remembered) {
                *past = *row(field, own_at);
            }
            let mut out = [[[0.0_f32; LANES]; 8]; 3];
            for l in 0..LANES {
                let places = std::array::from_fn(|i| std::array::from_fn(|a| x[i][a][l]));
                let before = std::array::from_fn(|c| past[c][l]);
                let own = std::array::from_fn(|c| own[c][l]);
                let (pull, now, heat, stored) = cell(places, before, own, cells.slope, pace);
                for c in 0..PAST {
                    past[c][l] = now[c];
                }
                for i in 0..3 {
                    for a in 0..8 {
                        out[i][a][l] = pull[i][a];
                    }
                }
                taken[l] += heat;
                held[l] += stored;
            }
            for (past, field) in past.iter().zip(&mut *remembered) {
                field[own_at..own_at + LANES].copy_from_slice(past);
            }
            buffer.set(first, &out);
        }
        scatter(cells, (start, length), onto, buffer);
        let sum = |x: &[f32; LANES]| x.iter().copied().map(f64::from).sum::<f64>();
        sums.taken += sum(&taken);
        sums.held += sum(&held);
    }
    sums
}
