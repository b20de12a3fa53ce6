//! Forces of the cells: one-point hexahedra, eight at a time.
//!
//! Source: Flanagan and Belytschko 1981 (one point and hourglass modes), in total-Lagrangian form as
//! in Joldes, Wittek and Miller 2008. The modes of a box are its corners' Walsh-Hadamard transform:
//! three linear ones give the displacement gradient, four the hourglass amplitudes. Amplitudes are
//! zero for every affine motion, turned or not, so their energy, a square, needs no frame. Its
//! stiffness is `hourglass * mu * integral of |grad mode|^2`; one point for the volume does not lock.

use super::lane::{LANES, Lane, strain};

/// A vector of a node, padded.
pub(super) type Quad = [f32; 4];

/// Corner of a cell, in the order of VTK, at each place of the transform (bits x, y, z).
pub(super) const ORDER: [usize; 8] = [0, 1, 3, 2, 4, 5, 7, 6];

/// Eight boxes. A lane without a cell is all zero.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) nodes: [[u32; 8]; LANES],
    /// Gradient of a linear mode along its own axis, a quarter of the inverse edge.
    pub(super) slope: [Lane; 3],
    pub(super) volume: Lane,
    pub(super) mu: Lane,
    pub(super) lambda: Lane,
    /// Stiffness of modes xy, xz, yz, xyz.
    pub(super) hourglass: [Lane; 4],
    /// Demand on the step over the greatest of all cells.
    pub(super) demand: Lane,
}

impl Block {
    pub(super) const EMPTY: Self = Self {
        nodes: [[0; 8]; LANES],
        slope: [[0.0; LANES]; 3],
        volume: [0.0; LANES],
        mu: [0.0; LANES],
        lambda: [0.0; LANES],
        hourglass: [[0.0; LANES]; 4],
        demand: [0.0; LANES],
    };
}

/// What a pass over cells found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) energy: f64,
    /// Greatest demand on the step, 1 at rest, as a squared frequency.
    pub(super) demand: f32,
}

/// Components of all corners, or of all modes: entry `3 a + i`.
type Whole = [Lane; 24];

/// Modes of corner values: mode `m` is their sum with the sign of corner `a` along all axes in `m`.
#[inline(always)]
fn transform(x: &mut Whole) {
    for bit in [1, 2, 4] {
        for a in (0..8).filter(|a| a & bit == 0) {
            for i in 0..3 {
                let (low, high) = (x[3 * a + i], x[3 * (a | bit) + i]);
                for l in 0..LANES {
                    x[3 * a + i][l] = low[l] + high[l];
                    x[3 * (a | bit) + i][l] = high[l] - low[l];
                }
            }
        }
    }
}

/// Corner values of modes.
#[inline(always)]
fn back(x: &mut Whole) {
    for bit in [1, 2, 4] {
        for a in (0..8).filter(|a| a & bit == 0) {
            for i in 0..3 {
                let (even, odd) = (x[3 * a + i], x[3 * (a | bit) + i]);
                for l in 0..LANES {
                    x[3 * a + i][l] = even[l] - odd[l];
                    x[3 * (a | bit) + i][l] = even[l] + odd[l];
                }
            }
        }
    }
}

const HOURGLASS: [usize; 4] = [3, 5, 6, 7];

/// Takes `weight` times the forces of `blocks` at the displacements `u` from `impulse`.
///
/// With `BOOKS` also their energy and their demand on the step.
pub(super) fn pull<const BOOKS: bool>(
    blocks: &[Block],
    weight: f32,
    u: &[Quad],
    impulse: &mut [Quad],
) -> Found {
    let mut found = Found::default();
    let mut x = [[0.0_f32; LANES]; 24];
    for block in blocks {
        for (lane, nodes) in block.nodes.iter().enumerate() {
            for (a, &node) in nodes.iter().enumerate() {
                let u = u[node as usize];
                x[3 * a][lane] = u[0];
                x[3 * a + 1][lane] = u[1];
                x[3 * a + 2][lane] = u[2];
            }
        }
        transform(&mut x);
        let (energy, demand) = stress::<BOOKS>(block, weight, &mut x);
        found.energy += resist::<BOOKS>(block, weight, &mut x);
        back(&mut x);
        for (lane, nodes) in block.nodes.iter().enumerate() {
            for (a, &node) in nodes.iter().enumerate() {
                let sum = &mut impulse[node as usize];
                sum[0] -= x[3 * a][lane];
                sum[1] -= x[3 * a + 1][lane];
                sum[2] -= x[3 * a + 2][lane];
            }
        }
        if BOOKS {
            found.energy += energy.iter().copied().map(f64::from).sum::<f64>();
            found.demand = demand.iter().copied().fold(found.demand, f32::max);
        }
    }
    found
}

/// Turns hourglass amplitudes into what they pull with; gives their energy.
#[inline(always)]
fn resist<const BOOKS: bool>(block: &Block, weight: f32, x: &mut Whole) -> f64 {
    let mut energy = 0.0;
    for (stiffness, mode) in block.hourglass.iter().zip(HOURGLASS) {
        for i in 0..3 {
            for l in 0..LANES {
                let amplitude = x[3 * mode + i][l];
                x[3 * mode + i][l] = amplitude * (stiffness[l] * weight);
                if BOOKS {
                    energy += 0.5 * f64::from(stiffness[l] * amplitude * amplitude);
                }
            }
        }
    }
    energy
}

/// Turns linear modes into what they pull with; gives energies and demands.
#[inline(never)]
fn stress<const BOOKS: bool>(block: &Block, weight: f32, x: &mut Whole) -> (Lane, Lane) {
    let (mut energy, mut demand) = ([0.0; LANES], [0.0; LANES]);
    let [a, b, c, d, e, f, g, h, i, _, _, _, j, k, m, ..] = x;
    // mode 0 is the whole motion: no forces
    (*a, *b, *c) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for l in 0..LANES {
        let [p, q, r] = [block.slope[0][l], block.slope[1][l], block.slope[2][l]];
        let gradient = [
            d[l] * p,
            e[l] * p,
            f[l] * p,
            g[l] * q,
            h[l] * q,
            i[l] * q,
            j[l] * r,
            k[l] * r,
            m[l] * r,
        ];
        let strained = strain(gradient, block.mu[l], block.lambda[l]);
        let share = weight * block.volume[l];
        let (sp, sq, sr) = (share * p, share * q, share * r);
        let s = strained.stress;
        (d[l], e[l], f[l]) = (s[0] * sp, s[1] * sp, s[2] * sp);
        (g[l], h[l], i[l]) = (s[3] * sq, s[4] * sq, s[5] * sq);
        (j[l], k[l], m[l]) = (s[6] * sr, s[7] * sr, s[8] * sr);
        if BOOKS {
            energy[l] = strained.energy * block.volume[l];
            let [sx, sy, sz] = strained.shrunk;
            let sum = sx * p * p + sy * q * q + sz * r * r;
            demand[l] = block.demand[l] * sum / (p * p + q * q + r * r + f32::MIN_POSITIVE);
        }
    }
    (energy, demand)
}
