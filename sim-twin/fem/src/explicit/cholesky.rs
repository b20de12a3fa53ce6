//! Sparse Cholesky factor in tiles, with solves for three right sides at once.
//!
//! Source: envelope method (George and Liu 1981, chapter 4): all fill stays within the first entry of every
//! row. Thin layers, ordered along their longer side, have short rows. The factor is computed once in double
//! precision and used in single precision. It is stored in the 16 by 16 tiles that hold any entry, by columns
//! for the forward and by rows for the backward solve, with inverted diagonal tiles. The inner loop adds a
//! SIMD row times a number to a SIMD row. Products and sums are fused explicitly and have one order, so the
//! bits are the same on every machine.

use super::leapfrog::GRAIN;
use super::simd::SIMD_WIDTH;
use multiversion::multiversion;
use palpate_twin::law::Real;

type Row = [f32; SIMD_WIDTH];

/// Three right sides or solutions of [`SIMD_WIDTH`] unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct RightSides(pub(super) [Row; 3]);

impl RightSides {
    const ZERO: Self = Self([[0.0; SIMD_WIDTH]; 3]);

    /// Allocates for `unknowns`; unknown `i` is lane `i % SIMD_WIDTH` of block `i / SIMD_WIDTH`.
    pub(super) fn zeros(unknowns: usize) -> Vec<Self> {
        vec![Self::ZERO; unknowns.div_ceil(SIMD_WIDTH)]
    }
}

/// Square block of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Tile([Row; SIMD_WIDTH]);

/// Factor of a symmetric positive definite matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CholeskyFactor {
    /// Index of the first tile of each row of tiles, and of the end of the last, without the diagonal ones.
    starts: Vec<usize>,
    /// Column of each tile.
    columns: Vec<u32>,
    /// Tiles by columns and by rows.
    down: Vec<Tile>,
    up: Vec<Tile>,
    /// Inverses of the diagonal tiles, by columns and by rows.
    diagonal: Vec<[Tile; 2]>,
}

/// Largest ratio of a dropped entry to its pivot: products with it would be denormal.
const SMALL: f64 = 1e-20;

impl CholeskyFactor {
    /// Factors a matrix of `rows` rows from its lower triangle: row, column and value, no position twice,
    /// every diagonal present. Returns `None` if it is not positive definite.
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
            let drop_small = |x: &mut f64| *x = if x.abs() < least { 0.0 } else { *x };
            own[..last].iter_mut().for_each(drop_small);
        }
        Some(Self::tiled(&factor, &first))
    }

    /// Builds the tiles of rows that begin at `first`.
    fn tiled(rows: &[Vec<f64>], first: &[usize]) -> Self {
        let entry = |row: usize, column: usize| match rows.get(row) {
            Some(own) if column >= first[row] && column <= row => own[column - first[row]],
            // padding of the last tile
            None if row == column => 1.0,
            _ => 0.0,
        };
        let mut all = Self {
            starts: vec![0],
            ..Self::default()
        };
        for block in 0..rows.len().div_ceil(SIMD_WIDTH) {
            let from = block * SIMD_WIDTH;
            for column in (0..block).zip(0_u32..) {
                let part = square(|i, j| entry(from + i, column.0 * SIMD_WIDTH + j));
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

    /// Returns the number of stored entries, including the zeros that fill tiles.
    pub(super) fn numbers(&self) -> usize {
        (self.columns.len() + self.diagonal.len()) * SIMD_WIDTH * SIMD_WIDTH
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(entry: impl Fn(usize, usize) -> f64) -> [[f64; SIMD_WIDTH]; SIMD_WIDTH] {
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn tile(entry: impl Fn(usize, usize) -> f64) -> Tile {
    Tile(square(entry).map(|row| row.map(f32::of)))
}

/// Returns the inverse of a lower triangle.
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn inverse(lower: &[[f64; SIMD_WIDTH]; SIMD_WIDTH]) -> [[f64; SIMD_WIDTH]; SIMD_WIDTH] {
    let mut inverse = [[0.0; SIMD_WIDTH]; SIMD_WIDTH];
    for column in 0..SIMD_WIDTH {
        for row in column..SIMD_WIDTH {
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

/// Replaces right sides by solutions.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn solve(factor: &CholeskyFactor, x: &mut [RightSides]) {
    let rows = factor.diagonal.len();
    for row in 0..rows {
        let mut own = x[row].0;
        for index in factor.starts[row]..factor.starts[row + 1] {
            let other = &x[factor.columns[index] as usize].0;
            subtract(&mut own, &product(&factor.down[index], other));
        }
        x[row].0 = flush_denormals(&product(&factor.diagonal[row][0], &own));
    }
    for row in (0..rows).rev() {
        let own = flush_denormals(&product(&factor.diagonal[row][1], &x[row].0));
        x[row].0 = own;
        for index in factor.starts[row]..factor.starts[row + 1] {
            let other = &mut x[factor.columns[index] as usize].0;
            subtract(other, &product(&factor.up[index], &own));
        }
    }
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn product(tile: &Tile, x: &[Row; 3]) -> [Row; 3] {
    let (mut a, mut b, mut c) = (
        [0.0_f32; SIMD_WIDTH],
        [0.0_f32; SIMD_WIDTH],
        [0.0_f32; SIMD_WIDTH],
    );
    for j in 0..SIMD_WIDTH {
        let row = &tile.0[j];
        let (p, q, r) = (x[0][j], x[1][j], x[2][j]);
        for l in 0..SIMD_WIDTH {
            a[l] = row[l].mul_add(p, a[l]);
        }
        for l in 0..SIMD_WIDTH {
            b[l] = row[l].mul_add(q, b[l]);
        }
        for l in 0..SIMD_WIDTH {
            c[l] = row[l].mul_add(r, c[l]);
        }
    }
    [a, b, c]
}

#[inline(always)]
fn subtract(x: &mut [Row; 3], by: &[Row; 3]) {
    for (x, by) in x.iter_mut().zip(by) {
        for l in 0..SIMD_WIDTH {
            x[l] -= by[l];
        }
    }
}

/// Sets values far below rounding to zero: solutions decay with distance, and denormal numbers are a hundred
/// times slower.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several rows go together")]
fn flush_denormals(x: &[Row; 3]) -> [Row; 3] {
    let mut out = *x;
    for row in &mut out {
        for l in 0..SIMD_WIDTH {
            row[l] = (row[l] + GRAIN) - GRAIN;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_solves_its_matrix() {
        // a chain with distant couplings, so that rows differ in length and some tiles are empty
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
        let factor = CholeskyFactor::new(rows as usize, &lower).unwrap();
        assert!(factor.numbers() < 11 * 12 / 2 * SIMD_WIDTH * SIMD_WIDTH);
        let mut x = RightSides::zeros(rows as usize);
        let expected = |row: u32, side: usize| (f64::from(row) * 0.37 + side as f64).fract() - 0.5;
        for &(row, column, value) in &lower {
            let (i, j) = (row as usize, column as usize);
            for side in 0..3 {
                x[i / SIMD_WIDTH].0[side][i % SIMD_WIDTH] +=
                    f32::of(value * expected(column, side));
                if i != j {
                    x[j / SIMD_WIDTH].0[side][j % SIMD_WIDTH] +=
                        f32::of(value * expected(row, side));
                }
            }
        }
        solve(&factor, &mut x);
        for row in 0..rows {
            for side in 0..3 {
                let found =
                    f64::from(x[row as usize / SIMD_WIDTH].0[side][row as usize % SIMD_WIDTH]);
                let off = found - expected(row, side);
                assert!(off.abs() < 1e-6, "{row} {off}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let lower = [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)];
        assert_eq!(CholeskyFactor::new(2, &lower), None);
    }
}
