//! Waves of a port with several coupled axes: a matrix of wave impedances in place of b.
//!
//! Source: teleop E2, multi-DoF form. With a symmetric positive definite W and any factor
//! `W = R^T R`:
//!
//! `u = (R v + R^-T F) / sqrt 2`, `w = (R v - R^-T F) / sqrt 2`, so `v . F = (|u|^2 - |w|^2) / 2`.
//!
//! The specification `teleop` (docs/sources.md) takes the symmetric root of W for R. The identity needs only `R^T R =
//! W` (tests below), and two factors of one W differ by a rotation of the waves, so the factor here is Cholesky's: no
//! eigenvectors, the same bits everywhere. Both ends must use the same W.
//!
//! No session uses this: there W is diagonal, one b an axis (`impedance_ratio` of `CouplingParams`), and the waves of
//! each axis are those of `wave` (test below). With a W that couples axes only the sum over the axes is passive: one axis
//! may give back the energy of another. Tank, guards and judge guarantee passivity of each axis. They would have to run in
//! the eigenvectors of W, where the limits of a workspace and of its forces are no box any more. This serves programs of
//! their own whose device has its stiff axes in another frame than its limits.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | W | wave impedance, N x N, symmetric, positive definite | N s/m |
//! | R | upper triangle with `R^T R = W` | sqrt(N s/m) |
//! | u, w | waves | sqrt(W) |

use proptest::prelude::*;

use super::super::wave;

/// A vector of N axes.
type Vector<const N: usize> = [f64; N];

/// Errors of a matrix of wave impedances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum MatrixError {
    /// An element differs from its mirror image, or is not a number.
    #[error(
        "wave impedance: element ({0}, {1}) differs from ({1}, {0}); expected a symmetric matrix"
    )]
    NotSymmetric(usize, usize),
    /// A pivot is not above zero.
    #[error("wave impedance: pivot {0} is not above 0; expected a positive definite matrix")]
    NotPositive(usize),
}

/// A matrix of wave impedances, factored once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WaveMatrix<const N: usize> {
    /// R, row by row; zero below its diagonal.
    factor: [Vector<N>; N],
}

impl<const N: usize> WaveMatrix<N> {
    /// Factors W \[N s/m\], row by row.
    ///
    /// # Errors
    /// [`MatrixError`] if W is not symmetric (to 1e-9 of its elements) or not positive definite.
    fn new(impedance_nspm: &[Vector<N>; N]) -> Result<Self, MatrixError> {
        let mut factor = [[0.0; N]; N];
        for row in 0..N {
            for column in row..N {
                let (here, mirrored) = (impedance_nspm[row][column], impedance_nspm[column][row]);
                // written so that not-a-number is refused
                let equal = (here - mirrored).abs() <= 1e-9 * here.abs().max(mirrored.abs());
                if !equal {
                    return Err(MatrixError::NotSymmetric(row, column));
                }
                let done: f64 = (0..row).map(|k| factor[k][row] * factor[k][column]).sum();
                let rest = here - done;
                factor[row][column] = if row == column {
                    if !(rest > 0.0 && rest.is_finite()) {
                        return Err(MatrixError::NotPositive(row));
                    }
                    rest.sqrt()
                } else {
                    rest / factor[row][row]
                };
            }
        }
        Ok(Self { factor })
    }

    /// Wave from master to slave, `u = (R v + R^-T F) / sqrt 2`.
    fn forward(&self, v_mps: &Vector<N>, f_n: &Vector<N>) -> Vector<N> {
        combine(&self.times(v_mps), &self.over_transposed(f_n), 1.0)
    }

    /// Wave from slave to master, `w = (R v - R^-T F) / sqrt 2`.
    fn backward(&self, v_mps: &Vector<N>, f_n: &Vector<N>) -> Vector<N> {
        combine(&self.times(v_mps), &self.over_transposed(f_n), -1.0)
    }

    /// Force at the master in impedance causality, `F = W v - sqrt 2 R^T w` \[N\].
    fn master_force(&self, v_mps: &Vector<N>, w: &Vector<N>) -> Vector<N> {
        let moved = self.times(v_mps);
        let inner = core::array::from_fn(|k| moved[k] - core::f64::consts::SQRT_2 * w[k]);
        self.transposed_times(&inner)
    }

    /// Desired velocity at the slave for a port force, `v = sqrt 2 R^-1 u - W^-1 F` \[m/s\].
    fn slave_velocity(&self, u: &Vector<N>, f_n: &Vector<N>) -> Vector<N> {
        let pushed = self.over_transposed(f_n);
        self.over(&core::array::from_fn(|k| {
            core::f64::consts::SQRT_2 * u[k] - pushed[k]
        }))
    }

    /// R x.
    fn times(&self, x: &Vector<N>) -> Vector<N> {
        core::array::from_fn(|row| (row..N).map(|k| self.factor[row][k] * x[k]).sum())
    }

    /// R^T x.
    fn transposed_times(&self, x: &Vector<N>) -> Vector<N> {
        core::array::from_fn(|row| (0..=row).map(|k| self.factor[k][row] * x[k]).sum())
    }

    /// R^-1 x, from the last row up.
    fn over(&self, x: &Vector<N>) -> Vector<N> {
        let mut found = [0.0; N];
        for row in (0..N).rev() {
            let solved: f64 = (row + 1..N).map(|k| self.factor[row][k] * found[k]).sum();
            found[row] = (x[row] - solved) / self.factor[row][row];
        }
        found
    }

    /// R^-T x, from the first row down.
    fn over_transposed(&self, x: &Vector<N>) -> Vector<N> {
        let mut found = [0.0; N];
        for row in 0..N {
            let solved: f64 = (0..row).map(|k| self.factor[k][row] * found[k]).sum();
            found[row] = (x[row] - solved) / self.factor[row][row];
        }
        found
    }
}

fn combine<const N: usize>(a: &Vector<N>, b: &Vector<N>, sign: f64) -> Vector<N> {
    core::array::from_fn(|k| (a[k] + sign * b[k]) * core::f64::consts::FRAC_1_SQRT_2)
}

fn dot(a: &Vector<3>, b: &Vector<3>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// A^T A + d I is symmetric and positive definite.
fn spd(a: &[f64; 9], d: f64) -> [Vector<3>; 3] {
    core::array::from_fn(|i| {
        core::array::from_fn(|j| {
            let product: f64 = (0..3).map(|k| a[3 * k + i] * a[3 * k + j]).sum();
            product + if i == j { d } else { 0.0 }
        })
    })
}

proptest! {
    #[test]
    fn waves_carry_the_power_of_all_axes(
        a in prop::array::uniform9(-5.0f64..5.0), d in 0.1f64..50.0,
        v in prop::array::uniform3(-1.0f64..1.0), f in prop::array::uniform3(-20.0f64..20.0),
    ) {
        let matrix = WaveMatrix::new(&spd(&a, d)).expect("positive");
        let (u, w) = (matrix.forward(&v, &f), matrix.backward(&v, &f));
        let scale = 1.0 + dot(&u, &u) + dot(&w, &w);
        prop_assert!((dot(&v, &f) - (dot(&u, &u) - dot(&w, &w)) / 2.0).abs() < 1e-9 * scale);
        let force = matrix.master_force(&v, &w);
        let velocity = matrix.slave_velocity(&u, &f);
        for k in 0..3 {
            prop_assert!((force[k] - f[k]).abs() < 1e-6 * scale);
            prop_assert!((velocity[k] - v[k]).abs() < 1e-6 * scale);
        }
    }

    #[test]
    fn diagonal_matrix_gives_the_waves_of_each_axis(
        b in prop::array::uniform3(0.1f64..100.0), v in prop::array::uniform3(-1.0f64..1.0),
        f in prop::array::uniform3(-20.0f64..20.0),
    ) {
        let diagonal = core::array::from_fn(|i| {
            core::array::from_fn(|j| if i == j { b[i] } else { 0.0 })
        });
        let matrix = WaveMatrix::new(&diagonal).expect("positive");
        let (u, w) = (matrix.forward(&v, &f), matrix.backward(&v, &f));
        for k in 0..3 {
            prop_assert!((u[k] - wave::forward(b[k], v[k], f[k])).abs() < 1e-9);
            prop_assert!((w[k] - wave::backward(b[k], v[k], f[k])).abs() < 1e-9);
        }
    }
}

#[test]
fn invalid_impedance_matrix_is_refused() {
    let refused = |matrix| WaveMatrix::<2>::new(&matrix).expect_err("none");
    assert_eq!(
        refused([[1.0, 2.0], [3.0, 9.0]]),
        MatrixError::NotSymmetric(0, 1)
    );
    assert_eq!(
        refused([[1.0, 2.0], [2.0, 1.0]]),
        MatrixError::NotPositive(1)
    );
    assert_eq!(
        refused([[f64::NAN, 0.0], [0.0, 1.0]]),
        MatrixError::NotSymmetric(0, 0)
    );
}
