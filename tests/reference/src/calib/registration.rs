//! Rigid registration of two frames from points known in both: device to scene, robot to tissue.
//!
//! Source: seed-004 row S4-47. The solution is the orthogonal Procrustes problem by singular values. The sign of the
//! last one is chosen so that the result is never a reflection (ours). Symbols: `to = R from + t`, points in metres.

use nalgebra::{Matrix3, Rotation3, Vector3};

/// Ratio of second to first singular value below which points are collinear.
const LINE_SHARE: f64 = 1e-9;

/// A rigid motion with its residuals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Registration {
    /// Rotation `R`, proper.
    pub rotation: Rotation3<f64>,
    /// Translation `t` \[m\].
    pub translation_m: Vector3<f64>,
    /// Root mean square of the residual distances \[m\].
    pub residual_m: f64,
    /// Greatest residual distance \[m\].
    pub worst_m: f64,
}

/// Error of points that cannot be registered.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RegistrationError {
    /// Too few points, or different counts.
    #[error("{from} points and {to} images; expected as many of both, at least 3")]
    Count {
        /// Points in the first frame.
        from: usize,
        /// Points in the second frame.
        to: usize,
    },
    /// A coordinate is not finite.
    #[error("point {index} has a coordinate that is not finite; expected metres")]
    Value {
        /// Index of the pair.
        index: usize,
    },
    /// Collinear points leave a rotation undetermined.
    #[error("the points lie on one line, to {width_m} m; expected a triangle")]
    Line {
        /// Width of the set across its line \[m\].
        width_m: f64,
    },
}

/// Returns the rigid motion from `from_m` \[m\] to `to_m` \[m\] with the least squared residuals.
///
/// It is never a reflection: mirrored points give the best rotation and a large residual.
///
/// # Errors
/// [`RegistrationError`] if the sets do not match, are not finite or are collinear.
pub fn register(
    from_m: &[Vector3<f64>],
    to_m: &[Vector3<f64>],
) -> Result<Registration, RegistrationError> {
    let count = from_m.len();
    if count != to_m.len() || count < 3 {
        return Err(RegistrationError::Count {
            from: count,
            to: to_m.len(),
        });
    }
    let pairs = || from_m.iter().zip(to_m);
    let finite = |v: &Vector3<f64>| v.iter().all(|value| value.is_finite());
    if let Some(index) = pairs().position(|(from, to)| !(finite(from) && finite(to))) {
        return Err(RegistrationError::Value { index });
    }
    let mean = |points: &[Vector3<f64>]| points.iter().sum::<Vector3<f64>>() / count as f64;
    let (from_mean, to_mean) = (mean(from_m), mean(to_m));
    triangle(from_m, &from_mean)?;
    triangle(to_m, &to_mean)?;
    let outer = |(from, to): (&Vector3<f64>, &Vector3<f64>)| {
        (from - from_mean) * (to - to_mean).transpose()
    };
    let covariance: Matrix3<f64> = pairs().map(outer).sum();
    let rotation = proper_rotation(&covariance);
    let translation_m = to_mean - rotation * from_mean;
    let left =
        |(from, to): (&Vector3<f64>, &Vector3<f64>)| (rotation * from + translation_m - to).norm();
    let squares: f64 = pairs().map(|pair| left(pair).powi(2)).sum();
    Ok(Registration {
        rotation,
        translation_m,
        residual_m: (squares / count as f64).sqrt(),
        worst_m: pairs().map(left).fold(0.0, f64::max),
    })
}

impl Registration {
    /// Maps a point of the first frame to the second \[m\].
    #[must_use]
    pub fn apply(&self, point_m: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * point_m + self.translation_m
    }

    /// Maps a point of the second frame to the first \[m\].
    #[must_use]
    pub fn undo(&self, point_m: &Vector3<f64>) -> Vector3<f64> {
        self.rotation.inverse() * (point_m - self.translation_m)
    }
}

/// Returns the rotation of greatest trace with a covariance `sum of from to^T`.
fn proper_rotation(covariance: &Matrix3<f64>) -> Rotation3<f64> {
    let svd = covariance.svd(true, true);
    let (Some(u), Some(v_t)) = (svd.u, svd.v_t) else {
        return Rotation3::identity();
    };
    // the weakest axis takes the sign, at whichever index the decomposition put it
    let handed = (v_t.transpose() * u.transpose()).determinant().signum();
    let mut signs = Vector3::repeat(1.0);
    signs[svd.singular_values.imin()] = handed;
    let turned = v_t.transpose() * Matrix3::from_diagonal(&signs) * u.transpose();
    Rotation3::from_matrix_unchecked(turned)
}

/// Checks that points span at least a plane about their mean.
fn triangle(points: &[Vector3<f64>], mean: &Vector3<f64>) -> Result<(), RegistrationError> {
    let spread: Matrix3<f64> = points
        .iter()
        .map(|point| (point - mean) * (point - mean).transpose())
        .sum();
    let mut values = spread.symmetric_eigenvalues();
    values.as_mut_slice().sort_by(f64::total_cmp);
    let [second, first] = [values[1].max(0.0).sqrt(), values[2].max(0.0).sqrt()];
    // eigenvalues of squares resolve half the digits of a length
    if second > first * LINE_SHARE.sqrt() {
        Ok(())
    } else {
        Err(RegistrationError::Line { width_m: second })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> [Vector3<f64>; 4] {
        [
            [0.0, 0.0, 0.0],
            [0.2, 0.0, 0.01],
            [0.0, 0.15, -0.02],
            [0.05, 0.05, 0.1],
        ]
        .map(Vector3::from)
    }

    #[test]
    fn s4_47_registers_four_points_with_half_a_millimetre_of_noise() {
        let turn = Rotation3::from_euler_angles(0.4, -1.1, 2.5);
        let shift = Vector3::new(0.3, -0.2, 0.9);
        let noise = [[3, -2, 4], [-4, 1, 0], [2, 4, -3], [-1, -3, -1]];
        let noisy: Vec<_> = points()
            .iter()
            .zip(noise)
            .map(|(p, n)| turn * p + shift + Vector3::from(n.map(|n| f64::from(n) * 1e-4)))
            .collect();
        let found = register(&points(), &noisy).unwrap();
        assert!(found.residual_m < 1e-3 && found.residual_m > 1e-5);
        assert!(found.worst_m >= found.residual_m);
        assert!(found.rotation.angle_to(&turn) < 0.01);
        let there_and_back = found.undo(&found.apply(&points()[3]));
        assert!((there_and_back - points()[3]).norm() < 1e-14);
    }

    #[test]
    fn registration_never_returns_a_reflection() {
        let mirrored = points().map(|p| Vector3::new(-p.x, p.y, p.z));
        let found = register(&points(), &mirrored).unwrap();
        assert!((found.rotation.matrix().determinant() - 1.0).abs() < 1e-12);
        assert!(found.residual_m > 0.01);
    }

    #[test]
    fn invalid_points_are_refused_by_name() {
        let line = [0.0, 1.0, 2.0].map(|x| Vector3::new(x, 2.0 * x, 0.0));
        assert!(matches!(
            register(&line, &line),
            Err(RegistrationError::Line { .. })
        ));
        let nan = [points()[0], points()[1], Vector3::repeat(f64::NAN)];
        assert_eq!(
            register(&points()[..3], &nan),
            Err(RegistrationError::Value { index: 2 })
        );
        let few = register(&points()[..2], &points()).unwrap_err();
        assert_eq!(few, RegistrationError::Count { from: 2, to: 4 });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn random_rigid_motion_is_recovered(
            angles in prop::array::uniform3(-3.0..3.0_f64),
            shift in prop::array::uniform3(-2.0..2.0_f64),
            flat in any::<bool>(),
        ) {
            let turn = Rotation3::from_euler_angles(angles[0], angles[1], angles[2]);
            let from = points().map(|p| if flat { Vector3::new(p.x, p.y, 0.0) } else { p });
            let to = from.map(|p| turn * p + Vector3::from(shift));
            let found = register(&from, &to).unwrap();
            prop_assert!(found.worst_m < 1e-12, "{}", found.worst_m);
            prop_assert!((found.rotation.matrix() - turn.matrix()).norm() < 1e-10);
        }

        #[test]
        fn registration_is_a_local_optimum(noise in prop::array::uniform12(-1e-2..1e-2_f64)) {
            let to: Vec<_> = points().iter().enumerate()
                .map(|(i, p)| p + Vector3::new(noise[3 * i], noise[3 * i + 1], noise[3 * i + 2]))
                .collect();
            let found = register(&points(), &to).unwrap();
            let cost = |r: &Rotation3<f64>, t: Vector3<f64>| -> f64 {
                points().iter().zip(&to).map(|(p, q)| (r * p + t - q).norm_squared()).sum()
            };
            let best = cost(&found.rotation, found.translation_m);
            for axis in [Vector3::x_axis(), Vector3::y_axis(), Vector3::z_axis()] {
                for step in [-1e-3, 1e-3] {
                    let turn = Rotation3::from_axis_angle(&axis, step) * found.rotation;
                    prop_assert!(cost(&turn, found.translation_m) >= best);
                    let shift = found.translation_m + step * axis.into_inner();
                    prop_assert!(cost(&found.rotation, shift) >= best);
                }
            }
        }
    }
}
