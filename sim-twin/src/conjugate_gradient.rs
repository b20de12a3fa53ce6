//! Preconditioned conjugate gradients for any linear operator over nodes.
//!
//! Source: Saad 2003, algorithm 9.1 (preconditioned CG). Vectors over nodes are slices of `Vec3`. It solves
//! the contact patches of the springs and the matrices of the finite elements.

use crate::Vec3;

/// Symmetric positive definite matrix, given by its product with a vector.
pub trait LinearOperator {
    /// Computes `out = A x`.
    fn multiply(&self, x: &[Vec3], out: &mut [Vec3]);

    /// Computes `out = M^-1 x` with an `M` near `A` that is easy to invert; the default is the identity.
    fn precondition(&self, x: &[Vec3], out: &mut [Vec3]) {
        out.copy_from_slice(x);
    }
}

/// Result of a linear solve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveReport {
    /// Iterations spent.
    pub iterations: usize,
    /// Residual over right-hand side, both in the 2-norm.
    pub residual: f64,
    /// True if the solve ended at a direction without positive curvature.
    pub indefinite: bool,
}

/// Reusable vectors of a solve; a solve allocates nothing.
#[derive(Debug, Clone)]
pub struct CgWorkspace {
    residual: Vec<Vec3>,
    z: Vec<Vec3>,
    along: Vec<Vec3>,
    image: Vec<Vec3>,
}

impl CgWorkspace {
    /// Creates a workspace for vectors over `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let zeros = vec![Vec3::zeros(); nodes];
        Self {
            residual: zeros.clone(),
            z: zeros.clone(),
            along: zeros.clone(),
            image: zeros,
        }
    }

    /// Solves `A x = b` from `x = 0` to a residual of `tolerance |b|`, in at most `limit` iterations.
    pub fn solve(
        &mut self,
        operator: &impl LinearOperator,
        b: &[Vec3],
        x: &mut [Vec3],
        tolerance: f64,
        limit: usize,
    ) -> SolveReport {
        x.fill(Vec3::zeros());
        let (residual, z) = (&mut self.residual, &mut self.z);
        let (along, image) = (&mut self.along, &mut self.image);
        residual.copy_from_slice(b);
        along.fill(Vec3::zeros());
        let size = norm(b);
        let mut solved = SolveReport {
            iterations: 0,
            residual: 0.0,
            indefinite: false,
        };
        let mut last = 0.0;
        while norm(residual) > tolerance * size && solved.iterations < limit {
            operator.precondition(residual, z);
            let now = dot(residual, z);
            let keep = if solved.iterations == 0 {
                0.0
            } else {
                now / last
            };
            for (along, z) in along.iter_mut().zip(&*z) {
                *along = z + *along * keep;
            }
            operator.multiply(along, image);
            let curvature = dot(along, image);
            if curvature.is_nan() || curvature <= 0.0 {
                solved.indefinite = true;
                break;
            }
            let length = now / curvature;
            for row in 0..x.len() {
                x[row] += along[row] * length;
                residual[row] -= image[row] * length;
            }
            last = now;
            solved.iterations += 1;
        }
        solved.residual = if size > 0.0 {
            norm(residual) / size
        } else {
            0.0
        };
        solved
    }
}

/// Sum of the products of all components.
#[must_use]
#[inline]
pub fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

/// Root of the sum of squares of all components.
#[must_use]
#[inline]
pub fn norm(a: &[Vec3]) -> f64 {
    dot(a, a).sqrt()
}
