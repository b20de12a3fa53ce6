//! Tangent matrix in 3x3 blocks, and conjugate gradients on it.
//!
//! Used by the implicit solver, the static reference and the predictor's table; the explicit solver has no
//! matrix.
//!
//! Source: Saad 2003, section 10.2 (symmetric Gauss-Seidel as a preconditioner, without Eisenstat's trick). A
//! node has three degrees of freedom, hence the blocks; a fixed one has a row and column of the identity.

use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::{CgWorkspace, LinearOperator, SolveReport};

/// Square matrix of 3x3 blocks in compressed rows, columns ascending in a row.
#[derive(Debug, Clone)]
pub(crate) struct BlockMatrix {
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<Matrix3<f64>>,
    /// Index of the diagonal block of every row.
    diagonal: Vec<usize>,
}

/// Working memory of a solve, reused so that no solve allocates.
#[derive(Debug, Clone)]
pub(crate) struct KrylovScratch {
    /// Inverses of the diagonal blocks.
    inverse: Vec<Matrix3<f64>>,
    scratch: CgWorkspace,
}

impl KrylovScratch {
    /// Allocates for systems of `rows` block rows.
    #[must_use]
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            inverse: vec![Matrix3::identity(); rows],
            scratch: CgWorkspace::new(rows),
        }
    }
}

/// Matrix with the inverses of its diagonal blocks.
struct Preconditioned<'a> {
    matrix: &'a BlockMatrix,
    inverse: &'a [Matrix3<f64>],
}

impl LinearOperator for Preconditioned<'_> {
    fn multiply(&self, x: &[Vec3], out: &mut [Vec3]) {
        self.matrix.multiply(x, out);
    }

    fn precondition(&self, x: &[Vec3], out: &mut [Vec3]) {
        self.matrix.precondition(self.inverse, x, out);
    }
}

impl BlockMatrix {
    /// Constructs the empty pattern of a mesh: a block wherever two nodes share a cell.
    #[must_use]
    pub(crate) fn pattern<const N: usize>(nodes: usize, cells: &[[u32; N]]) -> Self {
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for cell in cells {
            for &row in cell {
                neighbours[row as usize].extend_from_slice(cell);
            }
        }
        let (mut starts, mut columns, mut diagonal) = (vec![0], Vec::new(), Vec::new());
        for (row, neighbours) in neighbours.iter_mut().enumerate() {
            neighbours.sort_unstable();
            neighbours.dedup();
            let place = neighbours.partition_point(|&column| (column as usize) < row);
            diagonal.push(columns.len() + place);
            columns.extend_from_slice(neighbours);
            starts.push(columns.len());
        }
        Self {
            blocks: vec![Matrix3::zeros(); columns.len()],
            starts,
            columns,
            diagonal,
        }
    }

    /// Returns the number of block rows.
    #[must_use]
    pub(crate) fn rows(&self) -> usize {
        self.diagonal.len()
    }

    /// Returns the columns of a row, ascending.
    pub(crate) fn row(&self, row: u32) -> impl Iterator<Item = u32> {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        self.columns[range].iter().copied()
    }

    /// Returns the columns of a row with their blocks.
    pub(crate) fn row_blocks(&self, row: u32) -> impl Iterator<Item = (u32, &Matrix3<f64>)> {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        self.row(row).zip(&self.blocks[range])
    }

    /// Sets every block to zero, keeping the pattern.
    pub(crate) fn clear(&mut self) {
        self.blocks.fill(Matrix3::zeros());
    }

    /// Copies all blocks from a matrix of the same pattern.
    pub(crate) fn copy_from(&mut self, from: &Self) {
        self.blocks.copy_from_slice(&from.blocks);
    }

    /// Copies the blocks of some rows from a matrix of the same pattern.
    pub(crate) fn copy_rows(&mut self, from: &Self, rows: &[u32]) {
        for &row in rows {
            let range = self.starts[row as usize]..self.starts[row as usize + 1];
            self.blocks[range.clone()].copy_from_slice(&from.blocks[range]);
        }
    }

    /// Adds a multiple of the identity to the diagonal block of a row.
    pub(crate) fn add_diagonal(&mut self, row: usize, value: f64) {
        let place = self.diagonal[row];
        self.blocks[place] += Matrix3::identity() * value;
    }

    /// Returns the index of the block `(row, column)` for [`BlockMatrix::add_at`]; none outside the pattern.
    #[must_use]
    pub(crate) fn place(&self, row: u32, column: u32) -> Option<usize> {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        let place = self.columns[range.clone()].binary_search(&column).ok()?;
        Some(range.start + place)
    }

    /// Adds to the block at an index.
    pub(crate) fn add_at(&mut self, place: usize, block: &Matrix3<f64>) {
        self.blocks[place] += block;
    }

    /// Adds to the block `(row, column)`, which must be in the pattern.
    pub(crate) fn add(&mut self, row: u32, column: u32, block: &Matrix3<f64>) {
        let place = self.place(row, column);
        assert!(
            place.is_some(),
            "block ({row}, {column}) is not in the pattern"
        );
        if let Some(place) = place {
            self.add_at(place, block);
        }
    }

    /// Sets rows and columns of fixed degrees of freedom to those of the identity.
    pub(crate) fn fix(&mut self, fixed: &[[bool; 3]]) {
        for row in 0..self.rows() {
            for place in self.starts[row]..self.starts[row + 1] {
                let column = self.columns[place] as usize;
                let block = &mut self.blocks[place];
                for i in 0..3 {
                    for j in 0..3 {
                        if fixed[row][i] || fixed[column][j] {
                            let one = row == column && i == j;
                            block[(i, j)] = if one { 1.0 } else { 0.0 };
                        }
                    }
                }
            }
        }
    }

    /// `out = A x`.
    pub(crate) fn multiply(&self, x: &[Vec3], out: &mut [Vec3]) {
        for (row, out) in out.iter_mut().enumerate() {
            let range = self.starts[row]..self.starts[row + 1];
            let mut sum = Vec3::zeros();
            for (block, &column) in self.blocks[range.clone()].iter().zip(&self.columns[range]) {
                sum += block * x[column as usize];
            }
            *out = sum;
        }
    }

    /// Returns the inverse of a diagonal block; the identity if it is singular.
    fn inverse(&self, row: usize) -> Matrix3<f64> {
        let block = self.blocks[self.diagonal[row]];
        block.try_inverse().unwrap_or_else(Matrix3::identity)
    }

    /// `out = M^-1 x` with the symmetric Gauss-Seidel `M = (D + L) D^-1 (D + U)`.
    fn precondition(&self, inverse: &[Matrix3<f64>], x: &[Vec3], out: &mut [Vec3]) {
        for row in 0..self.rows() {
            let mut sum = x[row];
            let range = self.starts[row]..self.diagonal[row];
            for (block, &column) in self.blocks[range.clone()].iter().zip(&self.columns[range]) {
                sum -= block * out[column as usize];
            }
            out[row] = inverse[row] * sum;
        }
        for row in (0..self.rows()).rev() {
            let mut sum = Vec3::zeros();
            let range = self.diagonal[row] + 1..self.starts[row + 1];
            for (block, &column) in self.blocks[range.clone()].iter().zip(&self.columns[range]) {
                sum += block * out[column as usize];
            }
            out[row] -= inverse[row] * sum;
        }
    }

    /// Solves `A x = b` from `x = 0` to a residual of `tolerance |b|`, in at most `limit` iterations.
    pub(crate) fn solve_in(
        &self,
        krylov: &mut KrylovScratch,
        b: &[Vec3],
        x: &mut [Vec3],
        tolerance: f64,
        limit: usize,
    ) -> SolveReport {
        for (row, inverse) in krylov.inverse.iter_mut().enumerate() {
            *inverse = self.inverse(row);
        }
        let operator = Preconditioned {
            matrix: self,
            inverse: &krylov.inverse,
        };
        let report = krylov.scratch.solve(&operator, b, x, tolerance, limit);
        if report.indefinite && report.iterations == 0 {
            // a direction of descent all the same
            self.precondition(&krylov.inverse, b, x);
        }
        report
    }
}
