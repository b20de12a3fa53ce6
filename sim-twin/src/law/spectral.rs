//! Eigenvalues and eigenvectors of a symmetric 3x3 matrix, in single or double precision and in SIMD lanes.
//!
//! Source: Jacobi's rotations (Golub and Van Loan 2013, section 8.5). The number of rotations is fixed and no path
//! depends on the numbers, so that the compiler vectorises them and every machine computes the same bits. Equal eigenvalues
//! need no special case. Closed forms by angles lose half the digits there, where tissue at rest is.

use super::Real;

/// Sweeps of three rotations that suffice for double precision; measured for random matrices and clusters.
pub(crate) const SWEEPS_DOUBLE: usize = 6;
/// Sweeps that suffice for single precision.
pub const SWEEPS_SINGLE: usize = 3;

/// Symmetric matrix on its way to a diagonal one.
#[derive(Debug, Clone, Copy)]
pub struct Spectral<T> {
    /// Diagonal: the eigenvalues, in no order.
    pub values: [T; 3],
    /// Elements `yz`, `xz` and `xy`: each has the number of the axis that it does not name.
    off: [T; 3],
    /// Columns: the eigenvectors.
    pub vectors: [[T; 3]; 3],
}

impl<T: Real> Spectral<T> {
    /// Decomposes the matrix with this diagonal and the elements `yz`, `xz` and `xy` in `SWEEPS` sweeps.
    #[inline(always)]
    #[must_use]
    pub fn new<const SWEEPS: usize>(diagonal: [T; 3], off: [T; 3]) -> Self {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let mut own = Self {
            values: diagonal,
            off,
            vectors: [[one, zero, zero], [zero, one, zero], [zero, zero, one]],
        };
        for _ in 0..SWEEPS {
            own.rotate::<0, 1, 2>();
            own.rotate::<0, 2, 1>();
            own.rotate::<1, 2, 0>();
        }
        own
    }

    /// Rotates axes `P` and `Q` so that their element is zero; `R` is the third axis.
    #[inline(always)]
    fn rotate<const P: usize, const Q: usize, const R: usize>(&mut self) {
        let (own, apart) = (self.off[R], self.values[Q] - self.values[P]);
        let (two, least) = (T::of(2.0), T::of(f64::from(f32::MIN_POSITIVE)));
        let twice = two * own;
        let root = (apart * apart + twice * twice).sqrt() + least;
        let signed = if apart < T::of(0.0) {
            apart - root
        } else {
            apart + root
        };
        // squares of tiny numbers are zero: the smaller angle has a tangent of at most one
        let tangent = (twice / signed).clamp(T::of(-1.0), T::of(1.0));
        let cosine = T::of(1.0) / (tangent * tangent + T::of(1.0)).sqrt();
        let sine = tangent * cosine;
        self.values[P] -= tangent * own;
        self.values[Q] += tangent * own;
        self.off[R] = T::of(0.0);
        // the element of P and R has the number Q
        let (by_p, by_q) = (self.off[Q], self.off[P]);
        self.off[Q] = cosine * by_p - sine * by_q;
        self.off[P] = sine * by_p + cosine * by_q;
        for axis in 0..3 {
            let (p, q) = (self.vectors[P][axis], self.vectors[Q][axis]);
            self.vectors[P][axis] = cosine * p - sine * q;
            self.vectors[Q][axis] = sine * p + cosine * q;
        }
    }
}
