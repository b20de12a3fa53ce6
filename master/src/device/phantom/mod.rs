//! A simulated PHANToM-class arm with tweezers, held by a hand (seed-004 3.15, S4-33 to S4-36).
//!
//! The plant runs at 0.1 ms: a rigid-body arm ([`arm`]) with the hand's lumped mass and impedance at the
//! tip, friction, joint stops, and tweezers ([`tweezers`]). Mass, Coriolis and Jacobian are
//! evaluated at every sub-step. Between writes the joint torques are held, as by the
//! amplifiers of such a device: torque = J^T F at the measured joints ([`motor`]).
//!
//! Measured position: tip of the quantised joints. Measured velocity: backward difference of that
//! over the time since the last reading, then a first-order low-pass (default 80 Hz; its delay is
//! 1 / (2 pi 80 Hz) = 2 ms).
//!
//! World frame: x right, y away from the operator, z up; device frame: x right, y up, z to the
//! operator. The tip's home is above the origin of the world.

mod arm;
mod motor;
mod plant;
mod tweezers;

use nalgebra::Vector3;
use palpate_port::encoder::{EncoderNoise, MeasuredMotion};
use palpate_port::fixed_stepper::SUBSTEP_S;
use palpate_port::limit::limited;
use palpate_transport::{AXES, Axes, FieldError, Time, params};
use serde::{Deserialize, Serialize};

use super::grip::GripSchedule;
use super::script::{HandLeap, OperatorScript};
use super::script_driver::ScriptDriver;
use super::{Handle, HandleCaps, HandleReading};
use arm::Pose;
use motor::{Motor, MotorParams};
use plant::{Plant, to_device};
use tweezers::TweezersParams;

/// Largest component of a force that is accepted \[N\]; keeps squares finite.
const FORCE_N_MAX: f64 = 1000.0;
/// Least mass at the tip without a hand, over all poses within the joints' limits and all
/// directions \[kg\] (ours, from the mass matrix; a test computes it).
const TIP_KG_MIN: f64 = 0.025;

/// Treatment of the arm's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmWeight {
    /// The controller cancels it from the measured joints at every reading.
    #[default]
    Compensated,
    /// The arm is balanced and has none.
    Balanced,
    /// The hand carries it.
    Carried,
}

params! {
    /// Parameters of the arm.
    #[derive(Copy)]
    pub struct PhantomParams: "phantom." then parts_are_valid {
        /// Treatment of the arm's weight.
        pub weight: ArmWeight = ArmWeight::Compensated,
        /// Coulomb friction at the tip \[N\].
        pub friction_n: f64 = 0.04 => (0.0..=1.0),
        /// Speed of the tip below which friction is viscous \[m/s\].
        pub stick_mps: f64 = 1e-3 => (5e-4..=0.1),
        /// Step of the encoders, seen at the tip at home \[m\].
        pub encoder_m: f64 = 3e-5 => (0.0..=1e-3),
        /// Standard deviation of the encoders' noise, seen at the tip at home \[m\]; the tweezers have none.
        pub encoder_noise_m: f64 = 0.0 => (0.0..=1e-3),
        /// Cut-off of the velocity's low-pass \[Hz\].
        pub velocity_hz: f64 = 80.0 => (1.0..=500.0),
        /// Height of the tip's home above the origin of the world \[m\].
        pub home_z_m: f64 = 0.010 => (-0.1..=0.1),
        /// The motors.
        pub motor: MotorParams = MotorParams::default(),
        /// The tweezers.
        pub tweezers: TweezersParams = TweezersParams::default(),
    }
}

fn parts_are_valid(arm: &PhantomParams) -> Result<(), FieldError> {
    arm.motor.validate()?;
    arm.tweezers.validate()
}

/// The simulated arm in a simulated hand.
#[derive(Debug, Clone)]
pub(super) struct PhantomHandle {
    params: PhantomParams,
    driver: ScriptDriver,
    plant: Plant,
    motor: Motor,
    encoder_noise: EncoderNoise,
    /// Force that the motors render \[N\], device frame.
    rendered_n: Vector3<f64>,
    /// Pose from the encoders.
    pose: Pose,
    measured: MeasuredMotion,
}

impl PhantomHandle {
    /// Handle at rest at the start of the script.
    #[must_use]
    pub(super) fn new(
        params: &PhantomParams,
        script: OperatorScript,
        grips: impl Into<GripSchedule>,
    ) -> Self {
        let driver = ScriptDriver::new(script, grips.into());
        let mut plant = Plant::new(params, driver.hand(), &driver.intent().position_m);
        let (pose, position_m) = plant.sense(None);
        plant.weight_nm = pose.gravity_nm();
        Self {
            params: *params,
            driver,
            plant,
            motor: Motor::new(params.motor),
            encoder_noise: EncoderNoise::new(0.0, 0),
            rendered_n: Vector3::zeros(),
            pose,
            measured: MeasuredMotion::at_rest(position_m),
        }
    }

    /// Lets a seed draw the noise of the encoders.
    #[must_use]
    pub(super) fn with_noise_seed(mut self, seed: u64) -> Self {
        self.encoder_noise = EncoderNoise::new(self.params.encoder_noise_m, seed);
        self
    }

    /// Displaces the hand's intended positions by leaps.
    #[must_use]
    pub(super) fn with_leaps(mut self, leaps: &[HandLeap]) -> Self {
        self.driver.set_leaps(leaps);
        self
    }

    /// Sets the time after which a force that is not renewed is released \[s\]; none for never. The
    /// weight compensation stays: it is the device's own.
    #[must_use]
    pub(super) fn with_force_timeout(mut self, timeout_s: Option<f64>) -> Self {
        self.driver.set_force_timeout(timeout_s);
        self
    }

    /// Reads the encoders after `dt_s` \[s\], filters the velocity, updates the weight compensation.
    fn measure(&mut self, dt_s: f64) {
        let (pose, position_m) = self.plant.sense(self.encoder_noise.draw());
        self.measured
            .read(position_m, self.params.velocity_hz, dt_s);
        self.pose = pose;
        self.plant.weight_nm = pose.gravity_nm();
    }
}

impl Handle for PhantomHandle {
    fn caps(&self) -> HandleCaps {
        // the tank pays for what a reading may be wrong by, noise included
        let step_m = self.params.encoder_m + self.encoder_noise.distance_error_m();
        let leaf = &self.params.tweezers;
        HandleCaps {
            resolution_m: [step_m, step_m, step_m, leaf.gauge_m],
            mass_kg_min: [TIP_KG_MIN, TIP_KG_MIN, TIP_KG_MIN, leaf.mass_kg],
            force_timeout_s: self.driver.force_timeout_s(),
        }
    }

    fn read(&mut self, now: Time) -> HandleReading {
        let (plant, mut released_m, mut held_steps) = (&mut self.plant, None, 0_u32);
        let noise = &mut self.encoder_noise;
        let steps = self.driver.advance(now, |intent, expires| {
            if expires {
                let (_, position_m) = plant.sense(noise.draw());
                released_m = Some(position_m);
                (plant.torque_nm, plant.opening_n) = (Vector3::zeros(), 0.0);
            }
            held_steps += u32::from(released_m.is_none());
            plant.step(intent);
        });
        if steps > 0 {
            self.motor
                .warm(&self.rendered_n, f64::from(held_steps) * SUBSTEP_S);
            if released_m.is_some() {
                self.rendered_n = Vector3::zeros();
                let idle_s = f64::from(steps - held_steps) * SUBSTEP_S;
                self.motor.warm(&self.rendered_n, idle_s);
            }
            self.measure(f64::from(steps) * SUBSTEP_S);
        }
        if let Some(hand) = self.driver.changed_hand() {
            self.plant.hand = hand;
        }
        let MeasuredMotion {
            position_m,
            velocity_mps,
        } = self.measured;
        HandleReading {
            closed: self.plant.tweezers.switch.closed,
            force_released_m: released_m,
            ..self.driver.reading(position_m, velocity_mps)
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.driver.renew();
        let force_n = limited(force_on_hand_n, &[FORCE_N_MAX; AXES]);
        self.rendered_n = self.motor.limited(&to_device(&force_n));
        self.plant.torque_nm = self.pose.jacobian().tr_mul(&self.rendered_n);
        self.plant.opening_n = force_n[3];
    }
}

#[cfg(test)]
mod tests {
    use super::super::grip::Grip;
    use super::super::script::{ScriptParams, SineParams};
    use super::*;

    fn script(amplitude_m: f64, hz: f64) -> OperatorScript {
        OperatorScript::new(&ScriptParams::Sine(SineParams { amplitude_m, hz }), 20.0, 0)
    }

    fn plain() -> PhantomParams {
        PhantomParams {
            friction_n: 0.0,
            ..PhantomParams::default()
        }
    }

    fn run(handle: &mut PhantomHandle, from_ms: i64, to_ms: i64) -> HandleReading {
        (from_ms..=to_ms).fold(HandleReading::default(), |_, ms| {
            handle.read(Time(ms * 1_000_000))
        })
    }

    #[test]
    fn least_tip_mass_matches_capabilities() {
        let mut least_kg = f64::INFINITY;
        let range = |joint: usize| {
            let (low, high) = (arm::JOINT_RAD_MIN[joint], arm::JOINT_RAD_MAX[joint]);
            (0..=20).map(move |step| low + (high - low) * f64::from(step) / 20.0)
        };
        for (q2, q3) in range(1).flat_map(|q2| range(2).map(move |q3| (q2, q3))) {
            let pose = Pose::new(&Vector3::new(0.0, q2, q3));
            let jacobian = pose.jacobian();
            let inverse = pose.mass().try_inverse().expect("a mass matrix");
            let mobility = jacobian * inverse * jacobian.transpose();
            least_kg = least_kg.min(1.0 / mobility.symmetric_eigenvalues().max());
        }
        assert!(
            (TIP_KG_MIN..1.1 * TIP_KG_MIN).contains(&least_kg),
            "{least_kg}"
        );
    }

    #[test]
    fn handle_starts_at_script_start() {
        for grip in [Grip::Firm, Grip::Light] {
            let params = ScriptParams::default();
            let mut handle =
                PhantomHandle::new(&plain(), OperatorScript::new(&params, 20.0, 1), grip);
            let start_m = params.start_m();
            let reading = handle.read(Time(0));
            for (read_m, start_m) in reading.position_m.iter().zip(start_m).take(3) {
                assert!((read_m - start_m).abs() < 6e-5, "{read_m} {start_m}");
            }
        }
    }

    #[test]
    fn force_displaces_hand_by_force_over_stiffness() {
        let mut handle = PhantomHandle::new(&plain(), script(0.0, 0.0), Grip::Firm);
        run(&mut handle, 0, 500);
        handle.write(&[0.6, -0.9, 1.2, 0.0]);
        let reading = run(&mut handle, 501, 3000);
        for (axis, force_n) in [0.6, -0.9, 1.2].into_iter().enumerate() {
            let wanted_m = force_n / 300.0;
            // the encoders' step, and torques of the quantised pose
            assert!((reading.position_m[axis] - wanted_m).abs() < 1e-4, "{axis}");
        }
    }

    #[test]
    fn position_is_quantised_by_encoders() {
        let exact = PhantomParams {
            encoder_m: 0.0,
            home_z_m: 0.0,
            ..plain()
        };
        let coarse = PhantomParams {
            home_z_m: 0.0,
            ..plain()
        };
        let mut handles = [exact, coarse]
            .map(|params| PhantomHandle::new(&params, script(0.002, 0.5), Grip::Firm));
        let (mut last_m, mut steps) = (0.0, 0);
        for ms in 0..1000 {
            let [exact, coarse] = handles
                .each_mut()
                .map(|handle| handle.read(Time(ms * 1_000_000)).position_m[2]);
            assert!((exact - coarse).abs() < 4e-5);
            let jump_m: f64 = coarse - last_m;
            if ms > 0 && jump_m.abs() > 1e-6 {
                // one count of q2, one of q3, or both
                assert!(jump_m.abs() < 6.5e-5, "{jump_m}");
                steps += 1;
            }
            last_m = coarse;
        }
        assert!(steps > 50);
    }

    #[test]
    fn measured_velocity_follows_true_velocity() {
        let mut handle = PhantomHandle::new(&plain(), script(0.025, 0.7), Grip::Firm);
        let exact = PhantomParams {
            encoder_m: 0.0,
            velocity_hz: 500.0,
            ..plain()
        };
        let mut truth = PhantomHandle::new(&exact, script(0.025, 0.7), Grip::Firm);
        let mut square = 0.0;
        for ms in 0..2000 {
            let read_mps = handle.read(Time(ms * 1_000_000)).velocity_mps[2];
            let true_mps = truth.read(Time(ms * 1_000_000)).velocity_mps[2];
            square += (read_mps - true_mps) * (read_mps - true_mps);
        }
        let rms_mps = libm::sqrt(square / 2000.0);
        assert!(rms_mps < 5e-3, "{rms_mps}");
    }

    #[test]
    fn weight_options_balance_the_arm() {
        let drop_m = |weight: ArmWeight| {
            let params = PhantomParams { weight, ..plain() };
            let mut handle = PhantomHandle::new(&params, script(0.0, 0.0), Grip::Firm);
            let reading = run(&mut handle, 0, 2000);
            libm::hypot(reading.position_m[1], reading.position_m[2])
        };
        assert!(drop_m(ArmWeight::Balanced) < 6e-5);
        assert!(drop_m(ArmWeight::Compensated) < 6e-5);
        assert!(drop_m(ArmWeight::Carried) > 2e-4);
    }

    #[test]
    fn friction_slows_small_forces() {
        let settle_m = |friction_n: f64| {
            let params = PhantomParams {
                friction_n,
                encoder_m: 0.0,
                weight: ArmWeight::Balanced,
                ..PhantomParams::default()
            };
            let mut handle = PhantomHandle::new(&params, script(0.0, 0.0), Grip::None);
            run(&mut handle, 0, 10);
            handle.write(&[0.03, 0.0, 0.0, 0.0]);
            run(&mut handle, 11, 300).position_m[0]
        };
        // 0.03 N creeps at 0.75 mm/s against 0.04 N of friction, and flies without it
        assert!(settle_m(0.04) < 3e-4);
        assert!(settle_m(0.0) > 5e-3);
    }

    #[test]
    fn excessive_force_is_limited_by_motors() {
        let mut handle = PhantomHandle::new(&plain(), script(0.0, 0.0), Grip::Firm);
        handle.write(&[5.0, 5.0, 5.0, 0.0]);
        assert!((handle.rendered_n.norm() - 8.5).abs() < 1e-12);
        handle.write(&[5.0, 0.0, 5.0, 0.0]);
    }

    #[test]
    fn any_force_stays_finite_and_in_workspace() {
        for grip in [Grip::Firm, Grip::None] {
            let mut handle = PhantomHandle::new(&plain(), script(0.025, 0.7), grip);
            for ms in 0..3000_i64 {
                let sign = if ms / 300 % 2 == 0 { 1e300 } else { -1e300 };
                handle.write(&[sign, -sign, sign, sign]);
                let reading = handle.read(Time(ms * 1_000_000));
                assert!(reading.position_m.iter().all(|number| number.abs() < 0.4));
                assert!(
                    reading
                        .velocity_mps
                        .iter()
                        .all(|number| number.abs() < 50.0)
                );
            }
        }
    }

    #[test]
    fn tweezers_close_in_the_pinch_phase() {
        let mut handle = PhantomHandle::new(
            &plain(),
            OperatorScript::new(&ScriptParams::default(), 20.0, 1),
            Grip::Light,
        );
        let mut edges = vec![];
        let mut closed = false;
        for ms in 0..20_000 {
            let reading = handle.read(Time(ms * 1_000_000));
            if reading.closed != closed {
                closed = reading.closed;
                edges.push((closed, reading.phase));
            }
        }
        assert_eq!(edges, [(true, 12), (false, 12)]);
    }
}
