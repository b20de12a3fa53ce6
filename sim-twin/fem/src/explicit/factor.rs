//! A sparse Cholesky factor in tiles, and solves with it for three right sides at once.
//!
//! Source: envelope method (George and Liu 1981, chapter 4): inside the first entry of every row all
//! fill stays; thin layers, ordered along their longer side, have short rows. Factored in double
//! precision, once. Solved in single, in tiles of 16 by 16 that hold any entry, each kept by columns for
//! the way down and by rows for the way up, the diagonal ones inverted: nothing but a row of lanes times a
//! number, added to a row of lanes. Products and sums are fused by name and have one order, so that the
//! bits are the same on every machine.

use super::lane::LANES;
use super::motion::GRAIN;
use multiversion::multiversion;
use palpate_twin::law::Real;

type Row = [f32; LANES];

/// Three right sides or solutions of as many unknowns as there are lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct Sides(pub(super) [Row; 3]);

impl Sides {
    const ZERO: Self = Self([[0.0; LANES]; 3]);

    /// Room for so many unknowns; unknown `i` is lane `i % LANES` of `i / LANES`.
    pub(super) fn room(unknowns: usize) -> Vec<Self> {
        vec![Self::ZERO; unknowns.div_ceil(LANES)]
    }
}

/// A part of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Tile([Row; LANES]);

/// A symmetric positive definite matrix, factored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    /// Where the tiles of a row of tiles begin, and where the last end, those of the diagonal left out.
    starts: Vec<usize>,
    /// Which column of tiles they are in.
    columns: Vec<u32>,
    /// By columns and by rows.
    down: Vec<Tile>,
    up: Vec<Tile>,
    /// Inverses of the tiles of the diagonal, by columns and by rows.
    diagonal: Vec<[Tile; 2]>,
}

/// Entries of a row that are dropped, over its pivot: products with them would be denormal.
const SMALL: f64 = 1e-20;

impl Factor {
    /// Factors a matrix of so many rows, given by its lower triangle: row, column and value, no place
    /// twice, every diagonal there. None if it is not positive definite.
    pub(super) fn new(rows: usize, lower: &[(u32, u32, f64)]) -> Option<Self> {
        let mut first: Vec<usize> = (0..rows).collect();
        for &(row, column, _) in lower {
            let first = &mut first[row as usize];
            *first = (*first).min(column as usize);
        }
        let mut factor: Vec<Vec<f64>> = first
            .iter()
            .enumerate()
            .map(|(row, first)| vec![0.0; row - first + 1])
            .collect();
        for &(row, column, value) in lower {
            factor[row as usize][column as usize - first[row as usize]] = value;
        }
        for row in 0..rows {
            let (done, open) = factor.split_at_mut(row);
            let own = &mut open[0];
            for column in first[row]..row {
                let from = first[row].max(first[column]);
                let other = &done[column];
                let left = &own[from - first[row]..column - first[row]];
                let sum = dot(left, &other[from - first[column]..column - first[column]]);
                let pivot = other[column - first[column]];
                own[column - first[row]] = (own[column - first[row]] - sum) / pivot;
            }
            let last = row - first[row];
            let pivot = own[last] - dot(&own[..last], &own[..last]);
            if pivot.is_nan() || pivot <= 0.0 {
                return None;
            }
            own[last] = pivot.sqrt();
            let least = SMALL * own[last];
            let kept = |x: &mut f64| *x = if x.abs() < least { 0.0 } else { *x };
            own[..last].iter_mut().for_each(kept);
        }
        Some(Self::tiled(&factor, &first))
    }

    /// The tiles of rows that begin at `first`.
    fn tiled(rows: &[Vec<f64>], first: &[usize]) -> Self {
        let entry = |row: usize, column: usize| match rows.get(row) {
            Some(own) if column >= first[row] && column <= row => own[column - first[row]],
            // what fills the last tile
            None if row == column => 1.0,
            _ => 0.0,
        };
        let mut all = Self {
            starts: vec![0],
            columns: Vec::new(),
            down: Vec::new(),
            up: Vec::new(),
            diagonal: Vec::new(),
        };
        for block in 0..rows.len().div_ceil(LANES) {
            let from = block * LANES;
            for column in (0..block).zip(0_u32..) {
                let part = square(|i, j| entry(from + i, column.0 * LANES + j));
                if part.iter().flatten().any(|&x| x != 0.0) {
                    all.columns.push(column.1);
                    all.down.push(tile(|j, i| part[i][j]));
                    all.up.push(tile(|i, j| part[i][j]));
                }
            }
            all.starts.push(all.columns.len());
            let part = inverse(&square(|i, j| entry(from + i, from + j)));
            all.diagonal
                .push([tile(|j, i| part[i][j]), tile(|i, j| part[i][j])]);
        }
        all
    }

    /// Numbers of the factor, zeros that fill tiles included.
    pub(super) fn numbers(&self) -> usize {
        (self.columns.len() + self.diagonal.len()) * LANES * LANES
    }

    /// Right sides become solutions.
    pub(super) fn solve(&self, x: &mut [Sides]) {
        solve(self, x);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(entry: impl Fn(usize, usize) -> f64) -> [[f64; LANES]; LANES] {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn tile(entry: impl Fn(usize, usize) -> f64) -> Tile {
    Tile(square(entry).map(|row| row.map(f32::of)))
}

/// Of a lower triangle.
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn inverse(lower: &[[f64; LANES]; LANES]) -> [[f64; LANES]; LANES] {
    let mut inverse = [[0.0; LANES]; LANES];
    for column in 0..LANES {
        for row in column..LANES {
            let one = if row == column { 1.0 } else { 0.0 };
            let sum: f64 = (column..row)
                .map(|k| lower[row][k] * inverse[k][column])
                .sum();
            let own: f64 = (one - sum) / lower[row][row];
            inverse[row][column] = if own.abs() < SMALL { 0.0 } else { own };
        }
    }
    inverse
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn solve(factor: &Factor, x: &mut [Sides]) {
    let rows = factor.diagonal.len();
    for row in 0..rows {
        let mut own = x[row].0;
        for index in factor.starts[row]..factor.starts[row + 1] {
            let other = &x[factor.columns[index] as usize].0;
            less(&mut own, &product(&factor.down[index], other));
        }
        x[row].0 = grained(&product(&factor.diagonal[row][0], &own));
    }
    for row in (0..rows).rev() {
        let own = grained(&product(&factor.diagonal[row][1], &x[row].0));
        x[row].0 = own;
        for index in factor.starts[row]..factor.starts[row + 1] {
            let other = &mut x[factor.columns[index] as usize].0;
            less(other, &product(&factor.up[index], &own));
        }
    }
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn product(tile: &Tile, x: &[Row; 3]) -> [Row; 3] {
    let (mut a, mut b, mut c) = ([0.0_f32; LANES], [0.0_f32; LANES], [0.0_f32; LANES]);
    for j in 0..LANES {
        let row = &tile.0[j];
        let (p, q, r) = (x[0][j], x[1][j], x[2][j]);
        for l in 0..LANES {
            a[l] = row[l].mul_add(p, a[l]);
        }
        for l in 0..LANES {
            b[l] = row[l].mul_add(q, b[l]);
        }
        for l in 0..LANES {
            c[l] = row[l].mul_add(r, c[l]);
        }
    }
    [a, b, c]
}

#[inline(always)]
fn less(x: &mut [Row; 3], by: &[Row; 3]) {
    for (x, by) in x.iter_mut().zip(by) {
        for l in 0..LANES {
            x[l] -= by[l];
        }
    }
}

/// What is far below rounding becomes zero: answers die out with distance, and denormal numbers cost a
/// hundred times more.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn grained(x: &[Row; 3]) -> [Row; 3] {
    let mut out = *x;
    for row in &mut out {
        for l in 0..LANES {
            row[l] = (row[l] + GRAIN) - GRAIN;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_solves_its_matrix() {
        // a path with far ties, so that rows differ in length and tiles are left out
        let rows = 170_u32;
        let mut lower = Vec::new();
        for row in 0..rows {
            if row % 7 == 0 && row > 40 {
                lower.push((row, row - 40, -0.5));
            }
            if row > 0 {
                lower.push((row, row - 1, -1.0));
            }
            lower.push((row, row, 3.5 + f64::from(row % 3)));
        }
        let factor = Factor::new(rows as usize, &lower).unwrap();
        assert!(factor.numbers() < 11 * 12 / 2 * LANES * LANES);
        let mut x = Sides::room(rows as usize);
        let truth = |row: u32, side: usize| (f64::from(row) * 0.37 + side as f64).fract() - 0.5;
        for &(row, column, value) in &lower {
            let (i, j) = (row as usize, column as usize);
            for side in 0..3 {
                x[i / LANES].0[side][i % LANES] += f32::of(value * truth(column, side));
                if i != j {
                    x[j / LANES].0[side][j % LANES] += f32::of(value * truth(row, side));
                }
            }
        }
        factor.solve(&mut x);
        for row in 0..rows {
            for side in 0..3 {
                let found = f64::from(x[row as usize / LANES].0[side][row as usize % LANES]);
                let off = found - truth(row, side);
                assert!(off.abs() < 1e-6, "{row} {off}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        let lower = [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)];
        assert_eq!(Factor::new(2, &lower), None);
    }
}
