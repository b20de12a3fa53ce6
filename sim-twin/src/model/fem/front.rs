//! Dense partial Cholesky factorisation: the work of static condensation, offline.
//!
//! Source: right-looking blocked Cholesky (Golub and Van Loan 2013, section 4.2), trailing updates
//! in packed strips of four rows so that the compiler vectorises them. No fused multiply-add and no
//! dispatch on the processor: the bits are the same on every machine.

/// Columns that are factored before the rest is updated.
const PANEL: usize = 48;
/// Rows of a strip; columns of a tile.
const STRIP: usize = 4;
/// Strips whose rows are updated together: 48 KiB of a panel.
const GROUP: usize = 32;

/// A pivot that is not positive: the matrix is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("pivot {column} is {pivot}; expected above 0: is the tissue held?")]
pub struct NotPositive {
    /// Column of the pivot within its matrix.
    pub column: usize,
    /// Its value.
    pub pivot: f64,
}

/// A symmetric matrix, of which the lower triangle counts, column after column.
#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// Rows and columns.
    pub size: usize,
    /// Entry `(row, column)` at `row + size column`.
    pub entries: Vec<f64>,
}

impl Front {
    /// A zero matrix.
    #[must_use]
    pub fn zeros(size: usize) -> Self {
        Self {
            size,
            entries: vec![0.0; size * size],
        }
    }

    /// Eliminates the first `count` columns: they become those of the factor `L`, the rest the Schur
    /// complement.
    ///
    /// # Errors
    /// At the first pivot that is not positive.
    pub fn eliminate(&mut self, count: usize) -> Result<(), NotPositive> {
        let mut from = 0;
        while from < count {
            let to = count.min(from + PANEL);
            self.factor(from, to)?;
            self.update(from, to);
            from = to;
        }
        Ok(())
    }

    /// Factors the columns `from..to`, all rows.
    fn factor(&mut self, from: usize, to: usize) -> Result<(), NotPositive> {
        let size = self.size;
        for column in from..to {
            let (done, open) = self.entries.split_at_mut(size * column);
            let target = &mut open[..size];
            for earlier in from..column {
                let source = &done[size * earlier..][..size];
                let factor = source[column];
                let pairs = target[column..].iter_mut().zip(&source[column..]);
                for (target, source) in pairs {
                    *target -= factor * source;
                }
            }
            let pivot = target[column];
            if pivot.is_nan() || pivot <= 0.0 {
                return Err(NotPositive { column, pivot });
            }
            let scale = 1.0 / pivot.sqrt();
            for value in &mut target[column..] {
                *value *= scale;
            }
        }
        Ok(())
    }

    /// Subtracts what the columns `from..to` explain from the columns behind them.
    fn update(&mut self, from: usize, to: usize) {
        let (size, depth) = (self.size, to - from);
        let strips = (size - to).div_ceil(STRIP);
        let mut packed = vec![0.0; strips * depth * STRIP];
        for (k, column) in (from..to).enumerate() {
            for (row, value) in self.entries[size * column..][to..size].iter().enumerate() {
                packed[(row / STRIP * depth + k) * STRIP + row % STRIP] = *value;
            }
        }
        // rows in groups that stay in the cache while all columns pass
        for group in (0..strips).step_by(GROUP) {
            let end = strips.min(group + GROUP);
            for right in 0..end {
                for below in group.max(right)..end {
                    let strip = |index: usize| &packed[index * depth * STRIP..][..depth * STRIP];
                    let tile = product(strip(below), strip(right));
                    self.subtract(&tile, to + below * STRIP, to + right * STRIP);
                }
            }
        }
    }

    /// Subtracts a tile whose first entry is at `(row, column)`, as far as the matrix reaches.
    fn subtract(&mut self, tile: &[[f64; STRIP]; STRIP], row: usize, column: usize) {
        let size = self.size;
        let rows = STRIP.min(size - row);
        for (column, tile) in (column..size).zip(tile) {
            let target = &mut self.entries[size * column + row..][..rows];
            for (target, value) in target.iter_mut().zip(tile) {
                *target -= value;
            }
        }
    }

    /// Responses of the combinations `weights` of unknowns to unit loads on the same combinations:
    /// `B^T A^-1 B`, both triangles, as the Schur complement of `[A B; B^T 0]`.
    ///
    /// # Errors
    /// At the first pivot that is not positive.
    pub fn respond(&self, weights: &[Vec<(usize, f64)>]) -> Result<Self, NotPositive> {
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

/// Tile of the product of two packed strips, column after column.
fn product(below: &[f64], across: &[f64]) -> [[f64; STRIP]; STRIP] {
    let mut tile = [[0.0; STRIP]; STRIP];
    let (below, across) = (below.as_chunks::<STRIP>().0, across.as_chunks::<STRIP>().0);
    for (below, across) in below.iter().zip(across) {
        for c in 0..STRIP {
            for r in 0..STRIP {
                tile[c][r] += below[r] * across[c];
            }
        }
    }
    tile
}
