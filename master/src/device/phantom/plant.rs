//! Plant of the PHANToM handle: arm, tweezers and hand, one sub-step at a time.
//!
//! The hand pulls the tip with its impedance and adds its lumped mass there; friction is Coulomb at the
//! tip with a viscous band below `stick_mps`; joint stops are springs with dampers up to a travel, then
//! hard limits.

use nalgebra::{Matrix3, Vector3};
use palpate_port::encoder::quantised;
use palpate_port::fixed_stepper::SUBSTEP_S;
use palpate_transport::Axes;

use super::super::grip::Hand;
use super::super::script::Intent;
use super::arm::{
    JOINT_RAD_MAX, JOINT_RAD_MIN, L1_M, L2_M, Load, Motion, Pose, inverse_kinematics,
};
use super::tweezers::Tweezers;
use super::{ArmWeight, PhantomParams};

/// Stiffness of a joint stop \[N m/rad\] (ours).
const STOP_NM_PER_RAD: f64 = 30.0;
/// Damping of a joint stop \[N m s/rad\] (ours).
const STOP_NMS_PER_RAD: f64 = 0.1;
/// Travel of a joint stop before the hard limit \[rad\] (ours).
const STOP_TRAVEL_RAD: f64 = 0.1;

/// Arm, tweezers and the hand on them.
#[derive(Debug, Clone)]
pub(super) struct Plant {
    params: PhantomParams,
    pub(super) hand: Hand,
    motion: Motion,
    /// The tweezers.
    pub(super) tweezers: Tweezers,
    /// Torque of the motors for the force on the hand \[N m\].
    pub(super) torque_nm: Vector3<f64>,
    /// Torque of the motors against the weight \[N m\].
    pub(super) weight_nm: Vector3<f64>,
    /// Force of the tweezers' motor \[N\].
    pub(super) opening_n: f64,
}

impl Plant {
    /// Plant at rest at `start_m` \[m\], world frame.
    pub(super) fn new(params: &PhantomParams, hand: Hand, start_m: &Axes) -> Self {
        Self {
            params: *params,
            hand,
            motion: Motion {
                q: inverse_kinematics(&(to_device(start_m) - home_m(params))),
                w: Vector3::zeros(),
            },
            tweezers: Tweezers::new(params.tweezers, start_m[3]),
            torque_nm: Vector3::zeros(),
            weight_nm: Vector3::zeros(),
            opening_n: 0.0,
        }
    }

    /// Advances by one sub-step under the held torques and a hand at `intent`.
    pub(super) fn step(&mut self, intent: &Intent) {
        let pose = Pose::new(&self.motion.q);
        let jacobian = pose.jacobian();
        let load = Load {
            torque_nm: self.torque_nm + self.net_weight_nm(&pose) + self.stop_nm(),
            tip_n: self.tip_n(&pose, &jacobian, intent),
            lump_kg: self.hand.mass_kg,
        };
        self.motion.step(&pose, &jacobian, &load, SUBSTEP_S);
        self.enforce_stops();
        let intended = [intent.position_m[3], intent.velocity_mps[3]];
        self.tweezers.step(self.opening_n, &self.hand, intended);
    }

    /// Force of hand and friction at the tip \[N\], device frame.
    fn tip_n(&self, pose: &Pose, jacobian: &Matrix3<f64>, intent: &Intent) -> Vector3<f64> {
        let tip_m = pose.tip_m() + home_m(&self.params);
        let tip_mps = jacobian * self.motion.w;
        let error_m = to_device(&intent.position_m) - tip_m;
        let error_mps = to_device(&intent.velocity_mps) - tip_mps;
        let hand_n = self.hand.stiffness_npm * error_m + self.hand.damping_nspm * error_mps;
        let slip_mps = tip_mps.norm().max(self.params.stick_mps);
        hand_n - self.params.friction_n / slip_mps * tip_mps
    }

    /// Torque of the weight with its compensation \[N m\].
    fn net_weight_nm(&self, pose: &Pose) -> Vector3<f64> {
        match self.params.weight {
            ArmWeight::Balanced => Vector3::zeros(),
            ArmWeight::Compensated => self.weight_nm - pose.gravity_nm(),
            ArmWeight::Carried => -pose.gravity_nm(),
        }
    }

    /// Torque of the joint stops \[N m\].
    fn stop_nm(&self) -> Vector3<f64> {
        Vector3::from_fn(|joint, _| {
            let (q, w) = (self.motion.q[joint], self.motion.w[joint]);
            let over_rad = q - q.clamp(JOINT_RAD_MIN[joint], JOINT_RAD_MAX[joint]);
            if over_rad == 0.0 {
                0.0
            } else {
                -STOP_NM_PER_RAD * over_rad - STOP_NMS_PER_RAD * w
            }
        })
    }

    /// Stops the arm at the hard limits, and resets it to home if its state is not finite.
    fn enforce_stops(&mut self) {
        let motion = &mut self.motion;
        let mut numbers = motion.q.iter().chain(motion.w.iter());
        if !numbers.all(|number| number.is_finite()) {
            motion.q = Vector3::zeros();
            motion.w = Vector3::zeros();
        }
        let limited = Vector3::from_fn(|joint, _| {
            let low_rad = JOINT_RAD_MIN[joint] - STOP_TRAVEL_RAD;
            motion.q[joint].clamp(low_rad, JOINT_RAD_MAX[joint] + STOP_TRAVEL_RAD)
        });
        if limited != motion.q {
            motion.q = limited;
            // all joints stop: stopping one alone could raise the energy of the others
            motion.w = Vector3::zeros();
        }
    }

    /// Pose from the quantised joints, and measured tip position and opening \[m\], world frame. The encoders' errors
    /// \[m\], if there are any, are seen at the tip at home.
    pub(super) fn sense(&self, errors_m: Option<Axes>) -> (Pose, Axes) {
        let levers_m = [L1_M, L1_M, L2_M];
        let q = Vector3::from_fn(|joint, _| {
            let step_rad = self.params.encoder_m / levers_m[joint];
            let at_rad = self.motion.q[joint];
            let read_rad = errors_m.map_or(at_rad, |of| at_rad + of[joint] / levers_m[joint]);
            quantised(read_rad, step_rad)
        });
        let pose = Pose::new(&q);
        let [x, y, z] = to_world(&(pose.tip_m() + home_m(&self.params)));
        (pose, [x, y, z, self.tweezers.gauged_m()])
    }
}

/// Home of the tip, relative to the origin of the world \[m\], device axes.
fn home_m(params: &PhantomParams) -> Vector3<f64> {
    Vector3::new(0.0, params.home_z_m, 0.0)
}

/// A vector of the world in the axes of the device.
pub(super) fn to_device(world: &Axes) -> Vector3<f64> {
    Vector3::new(world[0], world[2], -world[1])
}

/// A vector of the device in the axes of the world.
fn to_world(device: &Vector3<f64>) -> [f64; 3] {
    [device.x, -device.z, device.y]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_rotations_are_inverse() {
        let world = [0.1, -0.2, 0.3, 0.0];
        assert_eq!(to_world(&to_device(&world)), [0.1, -0.2, 0.3]);
        let unit = |axis: usize| core::array::from_fn(|index| f64::from(u8::from(index == axis)));
        let [x, y, z] = [0, 1, 2].map(|axis| to_device(&unit(axis)));
        assert_eq!(x.cross(&y), z);
    }

    #[test]
    fn nonfinite_plant_is_reset() {
        let start_m = [0.0, 0.0, 0.010, 0.020];
        let mut plant = Plant::new(&PhantomParams::default(), Hand::default(), &start_m);
        plant.torque_nm.x = f64::NAN;
        plant.step(&Intent::default());
        assert_eq!(plant.motion.q, Vector3::zeros());
    }
}
