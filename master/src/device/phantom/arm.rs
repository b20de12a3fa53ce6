//! Rigid-body model of a PHANToM 1.5-class arm, in the device's frame and joints.
//!
//! Source: Cavusoglu, Feygin and Tendick as given in seed-004 3.15; masses and inertias are from a
//! public third-party transcription and were not checked against the paper. Device frame: x right,
//! y up, z to the operator, origin at the tip with all joints at 0. Joints: q1 turns the base,
//! q2 and q3 are the angles of upper arm and forearm \[rad\].
//!
//! M(q) a + C(q, w) w + G(q) = torque, with C from the Christoffel symbols of M (c32 of the
//! transcription has the wrong sign; with this one dM/dt - 2C is skew).

use nalgebra::{Matrix3, Vector3};

/// Length of the upper arm \[m\].
pub(super) const L1_M: f64 = 0.215;
/// Length of the forearm \[m\].
pub(super) const L2_M: f64 = 0.170;
const L3_M: f64 = 0.0325;
const L5_M: f64 = -0.0368;
const L6_M: f64 = 0.0527;
const MASS_A_KG: f64 = 0.0202;
const MASS_C_KG: f64 = 0.0249;
const MASS_BE_KG: f64 = 0.2359;
const MASS_DF_KG: f64 = 0.1906;
/// Inertias xx, yy, zz \[kg m^2\].
const A_KGM2: [f64; 3] = [0.4864e-4, 0.001_843e-4, 0.4864e-4];
const C_KGM2: [f64; 3] = [0.959e-4, 0.959e-4, 0.0051e-4];
const BE_KGM2: [f64; 3] = [11.09e-4, 10.06e-4, 0.591e-4];
const DF_KGM2: [f64; 3] = [7.11e-4, 0.629e-4, 6.246e-4];
const BASE_YY_KGM2: f64 = 11.87e-4;
const GRAVITY_MPS2: f64 = 9.81;

/// Mass moment that couples q2 and q3 \[kg m^2\]: l1 (l2 ma + l3 mc).
const CROSS_KGM2: f64 = L1_M * (L2_M * MASS_A_KG + L3_M * MASS_C_KG);
/// M11 = M11_0 + M11_2 cos 2 q2 + M11_3 cos 2 q3 + CROSS cos q2 sin q3.
const M11_0_KGM2: f64 = 0.125
    * (4.0 * (A_KGM2[1] + A_KGM2[2] + BE_KGM2[1] + BE_KGM2[2])
        + 4.0 * (C_KGM2[1] + C_KGM2[2] + DF_KGM2[1] + DF_KGM2[2])
        + 8.0 * BASE_YY_KGM2
        + (4.0 * L1_M * L1_M + L2_M * L2_M) * MASS_A_KG
        + (L1_M * L1_M + 4.0 * L3_M * L3_M) * MASS_C_KG);
const M11_2_KGM2: f64 = 0.125
    * (4.0 * (BE_KGM2[1] - BE_KGM2[2] + C_KGM2[1] - C_KGM2[2])
        + L1_M * L1_M * (4.0 * MASS_A_KG + MASS_C_KG));
const M11_3_KGM2: f64 = 0.125
    * (4.0 * (A_KGM2[1] - A_KGM2[2] + DF_KGM2[1] - DF_KGM2[2])
        - L2_M * L2_M * MASS_A_KG
        - 4.0 * L3_M * L3_M * MASS_C_KG);
const M22_KGM2: f64 =
    0.25 * (4.0 * (BE_KGM2[0] + C_KGM2[0] + L1_M * L1_M * MASS_A_KG) + L1_M * L1_M * MASS_C_KG);
const M33_KGM2: f64 = 0.25
    * (4.0 * (A_KGM2[0] + DF_KGM2[0]) + L2_M * L2_M * MASS_A_KG + 4.0 * L3_M * L3_M * MASS_C_KG);
/// G2 = G2_0 cos q2, G3 = G3_0 sin q3 \[N m\].
const G2_NM: f64 =
    0.5 * GRAVITY_MPS2 * (2.0 * L1_M * MASS_A_KG + 2.0 * L5_M * MASS_BE_KG + L1_M * MASS_C_KG);
const G3_NM: f64 =
    0.5 * GRAVITY_MPS2 * (L2_M * MASS_A_KG + 2.0 * L3_M * MASS_C_KG - 2.0 * L6_M * MASS_DF_KG);

/// Lower limits of the joints \[rad\] (ours: inside them the tip's Jacobian is regular).
pub(super) const JOINT_RAD_MIN: [f64; 3] = [-0.9, -0.7, -0.6];
/// Upper limits of the joints \[rad\].
pub(super) const JOINT_RAD_MAX: [f64; 3] = [0.9, 0.9, 0.6];

/// A configuration of the arm: sines and cosines of its joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pose {
    s: [f64; 3],
    c: [f64; 3],
}

impl Pose {
    /// Pose of the joints \[rad\].
    #[must_use]
    pub(super) fn new(q: &Vector3<f64>) -> Self {
        let pairs = [q.x, q.y, q.z].map(libm::sincos);
        Self {
            s: pairs.map(|pair| pair.0),
            c: pairs.map(|pair| pair.1),
        }
    }

    /// Distance R of the tip from the axis of the base \[m\].
    fn reach_m(&self) -> f64 {
        L1_M * self.c[1] + L2_M * self.s[2]
    }

    /// Position of the tip \[m\], device frame.
    #[must_use]
    pub(super) fn tip_m(&self) -> Vector3<f64> {
        let reach_m = self.reach_m();
        Vector3::new(
            self.s[0] * reach_m,
            L2_M - L2_M * self.c[2] + L1_M * self.s[1],
            -L1_M + self.c[0] * reach_m,
        )
    }

    /// Jacobian of the tip \[m/rad\]: velocity = J w, torque = J^T force.
    #[must_use]
    pub(super) fn jacobian(&self) -> Matrix3<f64> {
        let ([s1, s2, s3], [c1, c2, c3]) = (self.s, self.c);
        let reach_m = self.reach_m();
        Matrix3::new(
            c1 * reach_m,
            -L1_M * s1 * s2,
            L2_M * s1 * c3,
            0.0,
            L1_M * c2,
            L2_M * s3,
            -s1 * reach_m,
            -L1_M * c1 * s2,
            L2_M * c1 * c3,
        )
    }

    /// Acceleration of the tip caused by the joint speeds alone, (dJ/dt) w \[m/s^2\].
    #[must_use]
    pub(super) fn velocity_product_mps2(&self, w: &Vector3<f64>) -> Vector3<f64> {
        let ([s1, s2, s3], [c1, c2, c3]) = (self.s, self.c);
        let reach_m = self.reach_m();
        let reach_mps = -L1_M * s2 * w.y + L2_M * c3 * w.z;
        let reach_mps2 = -L1_M * c2 * w.y * w.y - L2_M * s3 * w.z * w.z;
        let around = -w.x * w.x * reach_m + reach_mps2;
        let across = 2.0 * w.x * reach_mps;
        Vector3::new(
            s1 * around + c1 * across,
            L2_M * c3 * w.z * w.z - L1_M * s2 * w.y * w.y,
            c1 * around - s1 * across,
        )
    }

    /// Mass matrix M \[kg m^2\].
    #[must_use]
    pub(super) fn mass(&self) -> Matrix3<f64> {
        let ([_, s2, s3], [_, c2, c3]) = (self.s, self.c);
        let m11 = M11_0_KGM2
            + M11_2_KGM2 * (c2 * c2 - s2 * s2)
            + M11_3_KGM2 * (c3 * c3 - s3 * s3)
            + CROSS_KGM2 * c2 * s3;
        let m23 = -0.5 * CROSS_KGM2 * (s2 * c3 - c2 * s3);
        Matrix3::new(m11, 0.0, 0.0, 0.0, M22_KGM2, m23, 0.0, m23, M33_KGM2)
    }

    /// Coriolis matrix C \[kg m^2/s\] at the joint speeds w \[rad/s\].
    #[must_use]
    pub(super) fn coriolis(&self, w: &Vector3<f64>) -> Matrix3<f64> {
        let ([_, s2, s3], [_, c2, c3]) = (self.s, self.c);
        // slopes of M11 along q2 and q3, and of M23 along q3; along q2 it is the opposite
        let m11_2 = -4.0 * M11_2_KGM2 * s2 * c2 - CROSS_KGM2 * s2 * s3;
        let m11_3 = -4.0 * M11_3_KGM2 * s3 * c3 + CROSS_KGM2 * c2 * c3;
        let m23_3 = 0.5 * CROSS_KGM2 * (c2 * c3 + s2 * s3);
        Matrix3::new(
            0.5 * (m11_2 * w.y + m11_3 * w.z),
            0.5 * m11_2 * w.x,
            0.5 * m11_3 * w.x,
            -0.5 * m11_2 * w.x,
            0.0,
            m23_3 * w.z,
            -0.5 * m11_3 * w.x,
            -m23_3 * w.y,
            0.0,
        )
    }

    /// Torque G with which the joints hold the arm's weight \[N m\].
    #[must_use]
    pub(super) fn gravity_nm(&self) -> Vector3<f64> {
        Vector3::new(0.0, G2_NM * self.c[1], G3_NM * self.s[2])
    }

    /// Potential energy of the arm's weight \[J\], of which G is the gradient.
    #[cfg(test)]
    #[must_use]
    fn potential_j(&self) -> f64 {
        G2_NM * self.s[1] - G3_NM * self.c[2]
    }
}

/// Joints with the tip at `tip_m` \[m\], clamped to the limits; an unreachable point yields the
/// nearest straight or limited arm.
#[must_use]
pub(super) fn inverse_kinematics(tip_m: &Vector3<f64>) -> Vector3<f64> {
    let (side_m, out_m) = (tip_m.x, tip_m.z + L1_M);
    let reach_m = (side_m * side_m + out_m * out_m).sqrt();
    let height_m = tip_m.y - L2_M;
    let square_m2 = reach_m * reach_m + height_m * height_m;
    let distance_m = square_m2.sqrt().max(1e-9);
    let cosine = (L1_M * L1_M + square_m2 - L2_M * L2_M) / (2.0 * L1_M * distance_m);
    let q2 = libm::atan2(height_m, reach_m) + libm::acos(cosine.clamp(-1.0, 1.0));
    let (s2, c2) = libm::sincos(q2);
    let q3 = libm::atan2(reach_m - L1_M * c2, L1_M * s2 - height_m);
    let q = [libm::atan2(side_m, out_m), q2, q3];
    Vector3::from_fn(|joint, _| q[joint].clamp(JOINT_RAD_MIN[joint], JOINT_RAD_MAX[joint]))
}

/// Joints and their speeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motion {
    /// Joints q \[rad\].
    pub q: Vector3<f64>,
    /// Joint speeds w \[rad/s\].
    pub w: Vector3<f64>,
}

/// Loads on the arm during one sub-step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Torque at the joints \[N m\].
    pub torque_nm: Vector3<f64>,
    /// Force at the tip \[N\], device frame.
    pub tip_n: Vector3<f64>,
    /// Lumped mass that moves with the tip \[kg\].
    pub lump_kg: f64,
}

impl Motion {
    /// Advances by `dt_s` \[s\], semi-implicit Euler; `pose` and `jacobian` are of the present joints.
    pub(super) fn step(&mut self, pose: &Pose, jacobian: &Matrix3<f64>, load: &Load, dt_s: f64) {
        let turned_n = load.tip_n - load.lump_kg * pose.velocity_product_mps2(&self.w);
        let torque_nm =
            load.torque_nm + jacobian.tr_mul(&turned_n) - pose.coriolis(&self.w) * self.w;
        let mass = pose.mass() + load.lump_kg * jacobian.tr_mul(jacobian);
        // M is positive definite at every pose, so the inverse exists; a pose that is not a number
        // keeps its speed and the handle resets it
        if let Some(inverse) = mass.try_inverse() {
            self.w += dt_s * (inverse * torque_nm);
        }
        self.q += dt_s * self.w;
    }

    /// Kinetic energy \[J\] of arm and lump.
    #[cfg(test)]
    #[must_use]
    fn kinetic_j(&self, pose: &Pose, lump_kg: f64) -> f64 {
        let tip_mps = pose.jacobian() * self.w;
        0.5 * self.w.dot(&(pose.mass() * self.w)) + 0.5 * lump_kg * tip_mps.norm_squared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEP: f64 = 1e-5;

    fn joints() -> impl Strategy<Value = Vector3<f64>> {
        let range = |joint: usize| JOINT_RAD_MIN[joint]..JOINT_RAD_MAX[joint];
        (range(0), range(1), range(2)).prop_map(|(a, b, c)| Vector3::new(a, b, c))
    }

    fn speeds() -> impl Strategy<Value = Vector3<f64>> {
        (-5.0..5.0, -5.0..5.0, -5.0..5.0).prop_map(|(a, b, c)| Vector3::new(a, b, c))
    }

    /// Central difference of a function of the joints along `direction`.
    fn slope(
        of: impl Fn(&Pose) -> Matrix3<f64>,
        q: &Vector3<f64>,
        direction: &Vector3<f64>,
    ) -> Matrix3<f64> {
        let (ahead, back) = (q + STEP * direction, q - STEP * direction);
        (of(&Pose::new(&ahead)) - of(&Pose::new(&back))) / (2.0 * STEP)
    }

    fn along(joint: usize) -> Vector3<f64> {
        Vector3::from_fn(|index, _| f64::from(u8::from(index == joint)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn jacobian_is_the_slope_of_the_tip(q in joints()) {
            let jacobian = Pose::new(&q).jacobian();
            let tip = |pose: &Pose| Matrix3::from_columns(&[pose.tip_m(); 3]);
            for joint in 0..3 {
                let column = slope(tip, &q, &along(joint)).column(0).into_owned();
                prop_assert!((jacobian.column(joint) - column).norm() < 1e-8);
            }
        }

        #[test]
        fn velocity_product_is_the_slope_of_the_jacobian(q in joints(), w in speeds()) {
            let wanted = slope(Pose::jacobian, &q, &w) * w;
            prop_assert!((Pose::new(&q).velocity_product_mps2(&w) - wanted).norm() < 1e-7);
        }

        #[test]
        fn mass_is_symmetric_and_positive(q in joints()) {
            let mass = Pose::new(&q).mass();
            prop_assert_eq!(mass, mass.transpose());
            prop_assert!(mass.symmetric_eigenvalues().min() > 1e-4);
        }

        #[test]
        fn coriolis_matches_christoffel_symbols(q in joints(), w in speeds()) {
            let slopes = [0, 1, 2].map(|joint| slope(Pose::mass, &q, &along(joint)));
            let coriolis = Pose::new(&q).coriolis(&w);
            for i in 0..3 {
                for j in 0..3 {
                    let symbol = |k: usize| {
                        0.5 * (slopes[k][(i, j)] + slopes[j][(i, k)] - slopes[i][(j, k)])
                    };
                    let wanted: f64 = (0..3).map(|k| symbol(k) * w[k]).sum();
                    prop_assert!((coriolis[(i, j)] - wanted).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn mass_rate_less_twice_coriolis_is_skew(q in joints(), w in speeds()) {
            let skew = slope(Pose::mass, &q, &w) - 2.0 * Pose::new(&q).coriolis(&w);
            prop_assert!((skew + skew.transpose()).norm() < 1e-9);
        }

        #[test]
        fn gravity_is_the_slope_of_the_potential(q in joints()) {
            for joint in 0..3 {
                let ahead = Pose::new(&(q + STEP * along(joint))).potential_j();
                let back = Pose::new(&(q - STEP * along(joint))).potential_j();
                let torque_nm = Pose::new(&q).gravity_nm()[joint];
                prop_assert!(((ahead - back) / (2.0 * STEP) - torque_nm).abs() < 1e-9);
            }
        }

        #[test]
        fn inverse_kinematics_inverts_forward(q in joints()) {
            prop_assert!((inverse_kinematics(&Pose::new(&q).tip_m()) - q).norm() < 1e-9);
        }
    }

    /// seed-004 3.15 \[CALC\]: 0.077, 0.053, 0.032 kg at home along x, y, z. The same constants
    /// give 0.0525 along y by hand, so the tolerance is one unit of the last digit.
    #[test]
    fn tip_masses_at_home_match_publication() {
        let pose = Pose::new(&Vector3::zeros());
        let inverse = pose.jacobian().try_inverse().expect("home is regular");
        let tip_kg = inverse.transpose() * pose.mass() * inverse;
        for (axis, wanted_kg) in [0.077, 0.053, 0.032].into_iter().enumerate() {
            let found_kg = tip_kg[(axis, axis)];
            assert!((found_kg - wanted_kg).abs() < 0.001, "{axis}: {found_kg}");
        }
        assert!((tip_kg[(1, 1)] - M22_KGM2 / (L1_M * L1_M)).abs() < 1e-12);
    }

    #[test]
    fn home_is_origin_and_any_point_yields_finite_joints() {
        let home = Pose::new(&Vector3::zeros());
        assert!(home.tip_m().norm() < 1e-15);
        let odd = [
            Vector3::zeros(),
            Vector3::new(9.0, -9.0, 9.0),
            Vector3::new(0.0, L2_M, -L1_M),
        ];
        for tip_m in odd {
            assert!(
                inverse_kinematics(&tip_m)
                    .iter()
                    .all(|angle| angle.is_finite())
            );
        }
    }

    /// Largest error of energy over 0.4 s of free motion under the weight, and the largest kinetic
    /// energy meanwhile \[J\].
    fn free_motion_j(lump_kg: f64, dt_s: f64) -> (f64, f64) {
        let mut motion = Motion {
            q: Vector3::new(0.1, 0.2, -0.1),
            w: Vector3::new(0.8, -0.4, 0.5),
        };
        let (mut start_j, mut drift_j, mut kinetic_j_max) = (None, 0.0_f64, 0.0_f64);
        for _ in 0..(0.4 / dt_s).round() as u32 {
            let pose = Pose::new(&motion.q);
            let kinetic_j = motion.kinetic_j(&pose, lump_kg);
            let energy_j = kinetic_j + pose.potential_j();
            drift_j = drift_j.max((energy_j - *start_j.get_or_insert(energy_j)).abs());
            kinetic_j_max = kinetic_j_max.max(kinetic_j);
            let load = Load {
                torque_nm: -pose.gravity_nm(),
                tip_n: Vector3::zeros(),
                lump_kg,
            };
            motion.step(&pose, &pose.jacobian(), &load, dt_s);
        }
        (drift_j, kinetic_j_max)
    }

    /// The remaining drift is that of the integrator: small, and halved by half the step.
    #[test]
    fn free_motion_conserves_energy() {
        for lump_kg in [0.0, 0.15] {
            let (drift_j, kinetic_j) = free_motion_j(lump_kg, 1e-4);
            let (finer_j, _) = free_motion_j(lump_kg, 5e-5);
            assert!(drift_j < 5e-3 * kinetic_j, "{drift_j} of {kinetic_j}");
            let ratio = drift_j / finer_j;
            assert!((1.8..2.2).contains(&ratio), "{lump_kg}: {ratio}");
        }
    }
}
