//! Stiff bodies that meet: their motion under the forces of [`super::penalty`].
//!
//! Source: seed-001 row CD-09 and the rule of section 3.2.4 for the step. Kick, drift and kick again (velocity Verlet):
//! with forces of an energy, energy comes back to within `(w dt)^2 / 8` of it, `w` the fastest contact. State is
//! momentum and spin, so that equal and opposite forces keep both to rounding.

use nalgebra::{Isometry3, Matrix3, Quaternion, Translation3, UnitQuaternion};

use crate::voxel::collide::distance::Distance;
use crate::voxel::collide::penalty::{Contact, Part, Penalty, Push, Wrench};
use palpate_twin::Vec3;

/// Time step times the fastest contact's frequency.
const SHARE: f64 = 0.1;

/// A stiff body of elements of the same mass.
#[derive(Debug, Clone)]
pub struct Rigid {
    points_m: Vec<Vec3>,
    distance: Distance,
    mass_kg: f64,
    /// Inverse of the inertia about the centre of mass, in the body's own frame \[1/(kg m^2)\]; zero for a body
    /// without width.
    inverse: Matrix3<f64>,
    /// Centre of mass, in the world \[m\].
    pub centre_m: Vec3,
    /// From its own frame, whose origin is the centre of mass, to the world.
    pub turned: UnitQuaternion<f64>,
    /// Momentum \[kg m/s\].
    pub momentum_ns: Vec3,
    /// Angular momentum about the centre of mass \[kg m^2/s\].
    pub spin_nms: Vec3,
}

impl Rigid {
    /// At rest, not turned; none without points, or with a mass that is not greater than 0.
    ///
    /// `points_m` and `distance` are in one frame; what is seen of it later is about the centre of mass.
    #[must_use]
    pub fn new(points_m: &[Vec3], distance: Distance, mass_kg: f64) -> Option<Self> {
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
            turned: UnitQuaternion::identity(),
            momentum_ns: Vec3::zeros(),
            spin_nms: Vec3::zeros(),
        })
    }

    /// Mass \[kg\].
    #[must_use]
    pub const fn mass_kg(&self) -> f64 {
        self.mass_kg
    }

    /// Velocity of the centre of mass \[m/s\].
    #[must_use]
    pub fn velocity_mps(&self) -> Vec3 {
        self.momentum_ns / self.mass_kg
    }

    /// Angular velocity \[rad/s\].
    #[must_use]
    pub fn turning_radps(&self) -> Vec3 {
        let own = self.turned.inverse() * self.spin_nms;
        self.turned * (self.inverse * own)
    }

    /// Energy of motion \[J\].
    #[must_use]
    pub fn kinetic_j(&self) -> f64 {
        0.5 * (self.momentum_ns.norm_squared() / self.mass_kg
            + self.turning_radps().dot(&self.spin_nms))
    }

    /// Angular momentum about the world's origin \[kg m^2/s\].
    #[must_use]
    pub fn angular_nms(&self) -> Vec3 {
        self.spin_nms + self.centre_m.cross(&self.momentum_ns)
    }

    fn part(&self) -> Part<'_> {
        Part {
            points_m: &self.points_m,
            distance: &self.distance,
            pose: Isometry3::from_parts(Translation3::from(self.centre_m), self.turned),
            centre_m: self.centre_m,
        }
    }

    fn kick(&mut self, by: &Wrench, dt_s: f64) {
        self.momentum_ns += by.force_n * dt_s;
        self.spin_nms += by.torque_nm * dt_s;
    }

    fn drift(&mut self, dt_s: f64) {
        self.centre_m += self.velocity_mps() * dt_s;
        // to the middle first: so the turn is one of the turning half-way, and good to the square of the step
        let middle = self.turned_by(&self.turning_radps(), 0.5 * dt_s);
        let own = middle.inverse() * self.spin_nms;
        self.turned = self.turned_by(&(middle * (self.inverse * own)), dt_s);
    }

    /// Turned on with an angular velocity, without sines: by the tangent of half the angle.
    fn turned_by(&self, turning_radps: &Vec3, dt_s: f64) -> UnitQuaternion<f64> {
        let half = turning_radps * (0.5 * dt_s);
        let by = UnitQuaternion::new_normalize(Quaternion::from_parts(1.0, half));
        by * self.turned
    }

    /// Least inertia against a push at the surface, as a mass \[kg\]: that of a push at its farthest point.
    fn lightest_kg(&self) -> f64 {
        let far2_m2 = self.points_m.iter().map(Vec3::norm_squared);
        let far2_m2 = far2_m2.fold(0.0, f64::max);
        let turns = self.inverse.trace();
        1.0 / (1.0 / self.mass_kg + far2_m2 * turns)
    }
}

/// What two bodies would do to each other where they are.
pub fn push(penalty: &Penalty, [a, b]: [&Rigid; 2], contact: impl FnMut(Contact)) -> Push {
    penalty.both([&a.part(), &b.part()], contact)
}

/// The step \[s\] that keeps energy within 1 % whatever touches: with every element of a face in contact,
/// `faces` of them at once, and all pushing where the body turns the most. A tenth over the frequency of that.
#[must_use]
pub fn dt_s_best(penalty: &Penalty, [a, b]: [&Rigid; 2], faces: f64) -> f64 {
    let light_kg = 1.0 / (1.0 / a.lightest_kg() + 1.0 / b.lightest_kg());
    let stiff_npm = penalty.stiffness_npm * faces.max(1.0);
    SHARE * (light_kg / stiff_npm).sqrt()
}

/// Steps both bodies; `push` is that of where they are and is renewed. `contact` is told of contacts after the step.
pub fn step(
    penalty: &Penalty,
    [a, b]: [&mut Rigid; 2],
    pushed: &mut Push,
    dt_s: f64,
    contact: impl FnMut(Contact),
) {
    for (body, wrench) in [(&mut *a, &pushed.on[0]), (&mut *b, &pushed.on[1])] {
        body.kick(wrench, 0.5 * dt_s);
        body.drift(dt_s);
    }
    *pushed = push(penalty, [a, b], contact);
    for (body, wrench) in [(a, &pushed.on[0]), (b, &pushed.on[1])] {
        body.kick(wrench, 0.5 * dt_s);
    }
}
