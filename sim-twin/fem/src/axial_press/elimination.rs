//! Symmetric system of a grid of quadratic elements, solved by elimination of column after column.
//!
//! Source: frontal method (Irons 1970). A front has the three columns of nodes of one column of elements; the first two
//! are eliminated and the third passes on.

use crate::front::{Front, NotPositiveDefinite};

/// Grid of nodes in columns, without the fixed bottom; two unknowns a node, those of a column from the top down.
pub(super) struct ColumnSystem {
    /// Columns of elements.
    columns: usize,
    /// Free nodes of a column.
    rows: usize,
    fronts: Vec<Front>,
}

impl ColumnSystem {
    /// System of `columns` columns of elements with `rows` free nodes in each column of nodes.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            fronts: Vec::new(),
        }
    }

    /// First unknown of a node by its column and row; those of the bottom come after all others.
    pub(super) fn node(&self, column: usize, row: usize) -> usize {
        if row == self.rows {
            self.free()
        } else {
            2 * (column * self.rows + row)
        }
    }

    /// Number of unknowns, with those that all nodes of the bottom share.
    pub(super) fn unknowns(&self) -> usize {
        self.free() + 2
    }

    fn free(&self) -> usize {
        2 * (2 * self.columns + 1) * self.rows
    }

    /// Unknowns that a front eliminates; the last one eliminates all.
    fn eliminated(&self, front: usize) -> usize {
        let fewest = if front + 1 == self.columns { 6 } else { 4 };
        fewest * self.rows
    }

    /// True for the bottom, and for the motion of the axis across itself.
    fn is_fixed(&self, unknown: usize) -> bool {
        unknown >= self.free() || (unknown < 2 * self.rows && unknown.is_multiple_of(2))
    }

    /// Sets fixed entries to zero.
    pub(super) fn clear_fixed(&self, vector: &mut [f64]) {
        for (unknown, value) in vector.iter_mut().enumerate() {
            if self.is_fixed(unknown) {
                *value = 0.0;
            }
        }
    }

    /// Sets the matrix to zero.
    pub(super) fn clear(&mut self) {
        self.fronts = vec![Front::zeros(6 * self.rows); self.columns];
    }

    /// Adds a block to the matrix, at the first unknowns of two nodes of one element; its upper triangle is ignored.
    pub(super) fn add(&mut self, row: usize, column: usize, block: &[[f64; 2]; 2]) {
        let wide = 2 * self.rows;
        for (i, line) in block.iter().enumerate() {
            for (j, value) in line.iter().enumerate() {
                let (row, column) = (row + i, column + j);
                let off = row != column && (self.is_fixed(row) || self.is_fixed(column));
                if row < column || column >= self.free() || row >= self.free() || off {
                    continue;
                }
                // a column that two fronts share is added to the second, which eliminates it
                let front = (column / (2 * wide)).min(self.columns - 1);
                let from = 2 * wide * front;
                let matrix = &mut self.fronts[front];
                matrix.entries[row - from + matrix.size * (column - from)] += value;
            }
        }
    }

    /// Multiplies the diagonal by a factor.
    pub(super) fn scale_diagonal(&mut self, factor: f64) {
        for matrix in &mut self.fronts {
            for entry in matrix.entries.iter_mut().step_by(matrix.size + 1) {
                *entry *= factor;
            }
        }
    }

    /// Solves for `load`; the matrix is overwritten by its factor.
    ///
    /// # Errors
    /// If the matrix is not positive definite.
    pub(super) fn solve(&mut self, mut load: Vec<f64>) -> Result<Vec<f64>, NotPositiveDefinite> {
        let wide = 2 * self.rows;
        for front in 0..self.columns {
            let (size, count) = (self.fronts[front].size, self.eliminated(front));
            self.fronts[front].eliminate(count)?;
            if count < size {
                let (own, next) = self.fronts.split_at_mut(front + 1);
                let (own, next) = (&own[front], &mut next[0]);
                for column in 0..wide {
                    let from = &own.entries[size * (count + column) + count..][..wide];
                    let to = &mut next.entries[size * column..][..wide];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                }
            }
        }
        for (front, matrix) in self.fronts.iter().enumerate() {
            let (from, size) = (2 * wide * front, matrix.size);
            let count = self.eliminated(front);
            for column in 0..count {
                let entries = &matrix.entries[size * column..][..size];
                let (done, open) = load[from..from + size].split_at_mut(column + 1);
                let x = done[column] / entries[column];
                done[column] = x;
                for (value, entry) in open.iter_mut().zip(&entries[column + 1..]) {
                    *value -= entry * x;
                }
            }
        }
        for (front, matrix) in self.fronts.iter().enumerate().rev() {
            let (from, size) = (2 * wide * front, matrix.size);
            let count = self.eliminated(front);
            for column in (0..count).rev() {
                let entries = &matrix.entries[size * column..][..size];
                let (done, open) = load[from..from + size].split_at_mut(column + 1);
                let sum: f64 = open
                    .iter()
                    .zip(&entries[column + 1..])
                    .map(|(x, e)| x * e)
                    .sum();
                done[column] = (done[column] - sum) / entries[column];
            }
        }
        self.clear_fixed(&mut load);
        Ok(load)
    }
}
