//! Dashpots that absorb the waves of a touched surface under friction.
//!
//! Source: ours. An elastic surface that slides has growing waves of the size of a cell (Adams 1995). Dashpots between the
//! touched points and their rigid motion absorb them, as those of a boundary do (Lysmer and Kuhlemeyer 1969). Forces and
//! torques sum to zero, so the tool feels none, and friction keeps its limit. Tissue at rest has none. Measured on a
//! uniform block at coefficients to 1: the force fluctuates by at most 2 % of the normal force, and by 10 % without them.

use super::grid::Motion;
use super::skin::{DueForces, Face, Skin, TouchedFace, add_impulses};
use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::law::Real;

/// Damping of the touched surface, over the impedance of shear waves in the softest touched cell. Waves still grow with
/// half of it at a coefficient of 1, and with five of it the dashpots themselves shake cells (measured: 0.5 % sideways).
const CALMING_RATIO: f32 = 2.0;

/// Largest change of a velocity by the dashpots in a step, over the velocity, for the lumped mass of the surface.
const CALMING_MAX: f32 = 0.5;

/// Rigid motion that has the momentum and the angular momentum of the touched points, by their weights.
struct RigidMotion {
    middle: Vec3,
    velocity: Vec3,
    spin: Vec3,
}

impl RigidMotion {
    /// Motion of points with a weight, a place and a velocity each.
    fn of(points: impl Iterator<Item = (f64, Vec3, Vec3)> + Clone) -> Self {
        let (mut weight, mut middle, mut velocity) = (0.0, Vec3::zeros(), Vec3::zeros());
        for (own, at, v) in points.clone() {
            weight += own;
            middle += own * at;
            velocity += own * v;
        }
        if weight > 0.0 {
            middle /= weight;
            velocity /= weight;
        }
        let (mut inertia, mut momentum) = (Matrix3::zeros(), Vec3::zeros());
        for (own, at, v) in points {
            let arm = at - middle;
            inertia += own * (Matrix3::identity() * arm.norm_squared() - arm * arm.transpose());
            momentum += own * arm.cross(&(v - velocity));
        }
        let spin = inertia.try_inverse().map(|inverse| inverse * momentum);
        let is_finite = |spin: &Vec3| spin.iter().all(|part| part.is_finite());
        Self {
            middle,
            velocity,
            spin: spin.filter(is_finite).unwrap_or_default(),
        }
    }

    /// Velocity of a point beside that of the rigid motion.
    fn beside(&self, at: &Vec3, v: &Vec3) -> Vec3 {
        v - self.velocity - self.spin.cross(&(at - self.middle))
    }
}

/// Place and velocity of a corner of a face.
fn corner_motion(face: &Face, corner: usize, motions: &[Motion]) -> (Vec3, Vec3) {
    let motion = &motions[face.grid as usize];
    let node = face.nodes[corner] as usize;
    let of = |fields: &[super::cells::Field; 3]| {
        Vec3::from([0, 1, 2].map(|axis| f64::from(fields[axis][node])))
    };
    let rest = Vec3::from(face.rest[corner].map(f64::from));
    (rest + of(&motion.u), of(&motion.v))
}

impl Skin {
    /// Adds the impulses of the dashpots once all touched faces are due. Returns the energy that they dissipate.
    pub(super) fn absorb_waves(
        &self,
        touches: &[TouchedFace],
        due: &DueForces,
        motions: &mut [Motion],
    ) -> f64 {
        let count = touches.iter().fold(0.0_f32, |a, touch| a.max(touch.count));
        if count == 0.0 || touches.iter().any(|touch| touch.count == 0.0) {
            return 0.0;
        }
        let time = count * f32::of(due.dt);
        // one number for all, so that their forces sum to zero
        let damping = touches.iter().fold(f32::MAX, |least, touch| {
            let face = &self.faces[touch.face as usize];
            least.min((CALMING_RATIO * face.impedance).min(CALMING_MAX * face.mass / time))
        });
        let now: &[Motion] = motions;
        let rigid = RigidMotion::of(touches.iter().flat_map(|touch| {
            let face = &self.faces[touch.face as usize];
            [0, 1, 2, 3].map(|corner| {
                let (at, v) = corner_motion(face, corner, now);
                (f64::from(touch.friction_weights[corner]), at, v)
            })
        }));
        let mut power = 0.0;
        for touch in touches {
            let face = &self.faces[touch.face as usize];
            // the impulse acts on the mean of the velocities before and after it
            let slowed = 1.0 - 0.5 * f64::from(damping * time / face.mass);
            let corners = [0, 1, 2, 3].map(|corner| {
                let (at, v) = corner_motion(face, corner, motions);
                let apart = rigid.beside(&at, &v);
                let own = f64::from(damping * touch.friction_weights[corner]);
                power += own * slowed * apart.norm_squared();
                (apart * -own).map(f32::of).into()
            });
            let motion = &mut motions[face.grid as usize];
            add_impulses(face, due.weight * count, &corners, motion);
        }
        power * f64::from(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Dashpots to the rigid motion exert neither force nor torque together, and leave a rigid motion alone.
        #[test]
        fn parts_beside_the_rigid_motion_have_no_momentum(
            parts in prop::collection::vec(
                (0.1_f64..1.0, prop::array::uniform3(-1.0_f64..1.0), prop::array::uniform3(-1.0_f64..1.0)), 4..20),
            spin in prop::array::uniform3(-1.0_f64..1.0),
        ) {
            let points = || parts.iter().map(|(weight, at, v)| (*weight, Vec3::from(*at), Vec3::from(*v)));
            let rigid = RigidMotion::of(points());
            let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
            for (weight, at, v) in points() {
                let own = weight * rigid.beside(&at, &v);
                force += own;
                torque += at.cross(&own);
            }
            prop_assert!(force.norm() < 1e-9 && torque.norm() < 1e-9, "{force} {torque}");
            let spin = Vec3::from(spin);
            let turning = || points().map(|(weight, at, _)| (weight, at, Vec3::x() + spin.cross(&at)));
            let rigid = RigidMotion::of(turning());
            for (_, at, v) in turning() {
                prop_assert!(rigid.beside(&at, &v).norm() < 1e-9);
            }
        }
    }
}
