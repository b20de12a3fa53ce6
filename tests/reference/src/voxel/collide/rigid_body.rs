//! Rigid bodies in contact: their motion under the forces of [`penalty`](super::penalty).
//!
//! Source: seed-001 row CD-09, and the step rule of section 3.2.4. The integrator is velocity Verlet: with
//! conservative forces the energy error is within `(w dt)^2 / 8`, `w` the frequency of the fastest contact. The state
//! is momentum and angular momentum, so equal and opposite forces conserve both to rounding.

use nalgebra::{Isometry3, Matrix3, Quaternion, Translation3, UnitQuaternion};

use crate::voxel::collide::distance_map::DistanceMap;
use crate::voxel::collide::penalty::{
    PenaltyBody, PenaltyContact, PenaltyForces, PenaltyLaw, PenaltyWrench,
};
use palpate_twin::Vec3;

/// Time step times the frequency of the fastest contact.
const SHARE: f64 = 0.1;

/// A rigid body of nodes of equal mass.
#[derive(Debug, Clone)]
pub struct RigidVoxelBody {
    points_m: Vec<Vec3>,
    distance: DistanceMap,
    mass_kg: f64,
    /// Inverse inertia about the centre of mass, in the body's own frame \[1/(kg m^2)\]; zero for a body without
    /// width.
    inverse: Matrix3<f64>,
    /// Centre of mass, in the world \[m\].
    pub centre_m: Vec3,
    /// Rotation from its own frame, whose origin is the centre of mass, to the world.
    pub orientation: UnitQuaternion<f64>,
    /// Momentum \[kg m/s\].
    pub momentum_ns: Vec3,
    /// Angular momentum about the centre of mass \[kg m^2/s\].
    pub spin_nms: Vec3,
}

impl RigidVoxelBody {
    /// Returns a body at rest and unrotated; none without points, or with a mass that is not greater than 0.
    ///
    /// `points_m` and `distance` are in one frame; later poses are about the centre of mass.
    #[must_use]
    pub fn new(points_m: &[Vec3], distance: DistanceMap, mass_kg: f64) -> Option<Self> {
        if points_m.is_empty() || !(mass_kg > 0.0 && mass_kg.is_finite()) {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^52")]
        let count = points_m.len() as f64;
        let centre_m = points_m.iter().sum::<Vec3>() / count;
        let points_m: Vec<Vec3> = points_m.iter().map(|point| point - centre_m).collect();
        let mut inertia_kgm2 = Matrix3::zeros();
        for point_m in &points_m {
            let turned =
                Matrix3::identity() * point_m.norm_squared() - point_m * point_m.transpose();
            inertia_kgm2 += turned * (mass_kg / count);
        }
        Some(Self {
            distance: distance.shifted(-centre_m),
            points_m,
            mass_kg,
            inverse: inertia_kgm2.try_inverse().unwrap_or_else(Matrix3::zeros),
            centre_m,
            orientation: UnitQuaternion::identity(),
            momentum_ns: Vec3::zeros(),
            spin_nms: Vec3::zeros(),
        })
    }

    /// Returns the mass \[kg\].
    #[must_use]
    pub const fn mass_kg(&self) -> f64 {
        self.mass_kg
    }

    /// Returns the velocity of the centre of mass \[m/s\].
    #[must_use]
    pub fn velocity_mps(&self) -> Vec3 {
        self.momentum_ns / self.mass_kg
    }

    /// Returns the angular velocity \[rad/s\].
    #[must_use]
    pub fn angular_velocity_radps(&self) -> Vec3 {
        let own = self.orientation.inverse() * self.spin_nms;
        self.orientation * (self.inverse * own)
    }

    /// Returns the kinetic energy \[J\].
    #[must_use]
    pub fn kinetic_j(&self) -> f64 {
        0.5 * (self.momentum_ns.norm_squared() / self.mass_kg
            + self.angular_velocity_radps().dot(&self.spin_nms))
    }

    /// Returns the angular momentum about the world's origin \[kg m^2/s\].
    #[must_use]
    pub fn angular_momentum_nms(&self) -> Vec3 {
        self.spin_nms + self.centre_m.cross(&self.momentum_ns)
    }

    fn part(&self) -> PenaltyBody<'_> {
        PenaltyBody {
            points_m: &self.points_m,
            distance: &self.distance,
            pose: Isometry3::from_parts(Translation3::from(self.centre_m), self.orientation),
            centre_m: self.centre_m,
        }
    }

    fn kick(&mut self, by: &PenaltyWrench, dt_s: f64) {
        self.momentum_ns += by.force_n * dt_s;
        self.spin_nms += by.torque_nm * dt_s;
    }

    fn drift(&mut self, dt_s: f64) {
        self.centre_m += self.velocity_mps() * dt_s;
        // half a step first: the midpoint rule is second-order accurate
        let middle = self.turned_by(&self.angular_velocity_radps(), 0.5 * dt_s);
        let own = middle.inverse() * self.spin_nms;
        self.orientation = self.turned_by(&(middle * (self.inverse * own)), dt_s);
    }

    /// Returns the rotation after an angular velocity, without sines: by the tangent of half the angle.
    fn turned_by(&self, turning_radps: &Vec3, dt_s: f64) -> UnitQuaternion<f64> {
        let half = turning_radps * (0.5 * dt_s);
        let by = UnitQuaternion::new_normalize(Quaternion::from_parts(1.0, half));
        by * self.orientation
    }

    /// Returns the least effective mass of a force at the surface \[kg\], at its farthest point.
    fn effective_mass_min_kg(&self) -> f64 {
        let far2_m2 = self.points_m.iter().map(Vec3::norm_squared);
        let far2_m2 = far2_m2.fold(0.0, f64::max);
        let turns = self.inverse.trace();
        1.0 / (1.0 / self.mass_kg + far2_m2 * turns)
    }
}

/// Returns the contact of two bodies at their present poses.
pub fn contact_forces(
    penalty: &PenaltyLaw,
    [a, b]: [&RigidVoxelBody; 2],
    contact: impl FnMut(PenaltyContact),
) -> PenaltyForces {
    penalty.mutual([&a.part(), &b.part()], contact)
}

/// Returns the step \[s\] that keeps energy within 1 % for any contact. It assumes `faces`
/// nodes in contact at once, all at the least effective mass.
#[must_use]
pub fn dt_s_best(penalty: &PenaltyLaw, [a, b]: [&RigidVoxelBody; 2], faces: f64) -> f64 {
    let light_kg = 1.0 / (1.0 / a.effective_mass_min_kg() + 1.0 / b.effective_mass_min_kg());
    let stiff_npm = penalty.stiffness_npm * faces.max(1.0);
    SHARE * (light_kg / stiff_npm).sqrt()
}

/// Steps both bodies. `pushed` is the contact at the present poses and is updated. `contact` is called for every
/// contact after the step.
pub fn step(
    penalty: &PenaltyLaw,
    [a, b]: [&mut RigidVoxelBody; 2],
    pushed: &mut PenaltyForces,
    dt_s: f64,
    contact: impl FnMut(PenaltyContact),
) {
    for (body, wrench) in [
        (&mut *a, &pushed.wrenches[0]),
        (&mut *b, &pushed.wrenches[1]),
    ] {
        body.kick(wrench, 0.5 * dt_s);
        body.drift(dt_s);
    }
    *pushed = contact_forces(penalty, [a, b], contact);
    for (body, wrench) in [(a, &pushed.wrenches[0]), (b, &pushed.wrenches[1])] {
        body.kick(wrench, 0.5 * dt_s);
    }
}
