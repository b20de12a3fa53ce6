//! Dense partial Cholesky factorisation for static condensation, which runs offline.
//!
//! Source: right-looking blocked Cholesky (Golub and Van Loan 2013, section 4.2). Trailing updates run in
//! packed strips of rows so that the compiler vectorises them. Products and sums are fused explicitly, which
//! rounds alike on every machine; machines without the instruction are slow.

use multiversion::multiversion;

/// Columns factored before the trailing matrix is updated.
const PANEL: usize = 64;
/// Rows of a strip.
const STRIP: usize = 8;
/// Columns of a tile, half a strip: eight vector accumulators stay in registers on every machine (measured
/// against tiles of 8 by 8 to 24 by 8, which spill on some).
const TILE: usize = 4;
/// Strips updated together: 128 KiB of a panel.
const GROUP: usize = 32;

/// A pivot that is not positive: the matrix is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("pivot {column} is {pivot}; expected above 0: is the tissue supported?")]
pub struct NotPositiveDefinite {
    /// Column of the pivot within its matrix.
    pub column: usize,
    /// Its value.
    pub pivot: f64,
}

/// Symmetric matrix in column-major order; only the lower triangle is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Front {
    /// Rows and columns.
    pub(crate) size: usize,
    /// Entry `(row, column)` at `row + size column`.
    pub(crate) entries: Vec<f64>,
}

impl Front {
    /// Returns a zero matrix.
    #[must_use]
    pub(crate) fn zeros(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
        }
    }

    /// Eliminates the first `count` columns: they become the columns of the factor `L`, the rest the Schur
    /// complement.
    ///
    /// # Errors
    /// At the first pivot that is not positive.
    pub(crate) fn eliminate(&mut self, count: usize) -> Result<(), NotPositiveDefinite> {
        let strips = self.size.div_ceil(STRIP);
        let mut packed = vec![0.0; strips * STRIP * PANEL.min(count)];
        let mut from = 0;
        while from < count {
            let to = count.min(from + PANEL);
            factor(self, from, to)?;
            update(self, from, to, &mut packed);
            from = to;
        }
        Ok(())
    }

    /// Returns `B^T A^-1 B`, both triangles: the responses of the combinations `weights` of unknowns to unit
    /// loads on the same combinations. Computed as the Schur complement of `[A B; B^T 0]`.
    ///
    /// # Errors
    /// At the first pivot that is not positive.
    pub(crate) fn respond(
        &self,
        weights: &[Vec<(usize, f64)>],
    ) -> Result<Self, NotPositiveDefinite> {
        let (size, whole) = (self.size, self.size + weights.len());
        let mut joined = Self::zeros(whole);
        for column in 0..size {
            let source = &self.entries[size * column..][..size];
            joined.entries[whole * column..][..size].copy_from_slice(source);
        }
        for (row, weights) in weights.iter().enumerate() {
            for &(unknown, weight) in weights {
                joined.entries[whole * unknown + size + row] += weight;
            }
        }
        joined.eliminate(size)?;
        let mut response = Self::zeros(weights.len());
        for column in 0..weights.len() {
            for row in column..weights.len() {
                let value = -joined.entries[whole * (size + column) + size + row];
                response.entries[response.size * column + row] = value;
                response.entries[response.size * row + column] = value;
            }
        }
        Ok(response)
    }
}

/// Factors the columns `from..to`, all rows.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn factor(front: &mut Front, from: usize, to: usize) -> Result<(), NotPositiveDefinite> {
    let size = front.size;
    for column in from..to {
        let (done, open) = front.entries.split_at_mut(size * column);
        let target = &mut open[column..size];
        let earlier_column = |index: usize| &done[size * index + column..][..size - column];
        let mut next = from;
        // four at a time, in the order of one at a time
        while next + 4 <= column {
            let [a, b, c, d] = [0, 1, 2, 3].map(|offset| earlier_column(next + offset));
            let [fa, fb, fc, fd] = [-a[0], -b[0], -c[0], -d[0]];
            let rows = target.iter_mut().zip(a).zip(b).zip(c).zip(d);
            for ((((target, a), b), c), d) in rows {
                let sum = fb.mul_add(*b, fa.mul_add(*a, *target));
                *target = fd.mul_add(*d, fc.mul_add(*c, sum));
            }
            next += 4;
        }
        for index in next..column {
            let source = earlier_column(index);
            let factor = -source[0];
            for (target, source) in target.iter_mut().zip(source) {
                *target = factor.mul_add(*source, *target);
            }
        }
        let pivot = target[0];
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(NotPositiveDefinite { column, pivot });
        }
        let scale = 1.0 / pivot.sqrt();
        for value in target {
            *value *= scale;
        }
    }
    Ok(())
}

/// Subtracts the contribution of the columns `from..to` from the columns behind them. `packed` has room for
/// the panel.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn update(front: &mut Front, from: usize, to: usize, packed: &mut [f64]) {
    let (size, depth) = (front.size, to - from);
    let strips = (size - to).div_ceil(STRIP);
    let packed = &mut packed[..strips * depth * STRIP];
    pack(front, from, to, packed);
    let strip = |index: usize| &packed[index * depth * STRIP..][..depth * STRIP];
    // groups of rows stay in the cache while all columns pass
    for group in (0..strips).step_by(GROUP) {
        let end = strips.min(group + GROUP);
        for right in 0..end {
            for half in 0..STRIP / TILE {
                let column = to + right * STRIP + half * TILE;
                if column >= size {
                    break;
                }
                for below in group.max(right)..end {
                    let tile = product(strip(below), strip(right), half);
                    subtract(front, &tile, to + below * STRIP, column);
                }
            }
        }
    }
}

/// Packs the columns `from..to` below row `to` into strips of rows, column after column; missing rows of the
/// last strip are zero.
#[inline(always)]
fn pack(front: &Front, from: usize, to: usize, packed: &mut [f64]) {
    let (size, depth) = (front.size, to - from);
    for (index, strip) in packed.chunks_exact_mut(depth * STRIP).enumerate() {
        let first = to + index * STRIP;
        let rows = STRIP.min(size - first);
        for (k, lane) in strip.as_chunks_mut::<STRIP>().0.iter_mut().enumerate() {
            let source = &front.entries[size * (from + k) + first..][..rows];
            lane[..rows].copy_from_slice(source);
            lane[rows..].fill(0.0);
        }
    }
}

/// Returns a tile of the product of a packed strip and half of another, column after column.
#[inline(always)]
fn product(below: &[f64], across: &[f64], half: usize) -> [[f64; STRIP]; TILE] {
    let mut tile = [[0.0; STRIP]; TILE];
    let (below, across) = (below.as_chunks::<STRIP>().0, across.as_chunks::<TILE>().0);
    let across = across.iter().skip(half).step_by(STRIP / TILE);
    for (below, across) in below.iter().zip(across) {
        for c in 0..TILE {
            for r in 0..STRIP {
                tile[c][r] = below[r].mul_add(across[c], tile[c][r]);
            }
        }
    }
    tile
}

/// Subtracts a tile whose first entry is at `(row, column)`; entries outside the matrix are ignored.
#[inline(always)]
fn subtract(front: &mut Front, tile: &[[f64; STRIP]; TILE], row: usize, column: usize) {
    let size = front.size;
    let rows = STRIP.min(size - row);
    for (column, tile) in (column..size).zip(tile) {
        let target = &mut front.entries[size * column + row..][..rows];
        if let Ok(target) = <&mut [f64; STRIP]>::try_from(&mut *target) {
            for (target, value) in target.iter_mut().zip(tile) {
                *target -= value;
            }
        } else {
            for (target, value) in target.iter_mut().zip(tile) {
                *target -= value;
            }
        }
    }
}
