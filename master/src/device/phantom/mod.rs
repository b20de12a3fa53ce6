//! A simulated PHANToM-class arm with tweezers, held by a hand (seed-004 3.15, S4-33 to S4-36).
//!
//! The plant runs at 0.1 ms: a rigid-body arm ([`arm`]) with the hand's lump and impedance at the
//! tip, friction, joint stops, and tweezers ([`tweezers`]). Mass, Coriolis and Jacobian are
//! evaluated at every sub-step. Between writes the joint torques are held, as the
//! amplifiers of such a device hold them: torque = J^T F at the measured joints ([`motor`]).
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
use palpate_port::encoder::Measured;
use palpate_port::pace::SUBSTEP_S;
use palpate_port::{Counts, FieldError};
use palpate_transport::{AXES, Axes, Time};
use serde::{Deserialize, Serialize};

use super::grip::Grips;
use super::lead::Lead;
use super::script::Script;
use super::{Handle, HandleCaps, Reading};
use arm::Pose;
use motor::{Motor, MotorParams};
use plant::{Plant, to_device};
use tweezers::TweezersParams;

/// Largest component of a force that is looked at \[N\]; keeps squares finite.
const FORCE_N_MAX: f64 = 1000.0;
/// Least mass at the tip without a hand, over all poses within the joints' limits and all
/// directions \[kg\] (ours, from the mass matrix; a test computes it).
const TIP_KG_MIN: f64 = 0.025;

/// What becomes of the arm's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The controller cancels it from the measured joints at every reading.
    #[default]
    Compensated,
    /// The arm is balanced and has none.
    Balanced,
    /// The hand carries it.
    Carried,
}

/// Parameters of the arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhantomParams {
    /// What becomes of the arm's weight.
    pub weight: Weight,
    /// Coulomb friction at the tip \[N\].
    pub friction_n: f64,
    /// Speed of the tip below which friction is viscous \[m/s\].
    pub stick_mps: f64,
    /// Step of the encoders, seen at the tip at home \[m\].
    pub encoder_m: f64,
    /// Cut-off of the velocity's low-pass \[Hz\].
    pub velocity_hz: f64,
    /// Height of the tip's home above the origin of the world \[m\].
    pub home_z_m: f64,
    /// The motors.
    pub motor: MotorParams,
    /// The tweezers.
    pub tweezers: TweezersParams,
}

impl Default for PhantomParams {
    fn default() -> Self {
        Self {
            weight: Weight::Compensated,
            friction_n: 0.04,
            stick_mps: 1e-3,
            encoder_m: 3e-5,
            velocity_hz: 80.0,
            home_z_m: 0.010,
            motor: MotorParams::default(),
            tweezers: TweezersParams::default(),
        }
    }
}

impl PhantomParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        let (motor, leaf) = (&self.motor, &self.tweezers);
        let ranges = [
            ("phantom.friction_n", self.friction_n, 0.0, 1.0),
            ("phantom.stick_mps", self.stick_mps, 5e-4, 0.1),
            ("phantom.encoder_m", self.encoder_m, 0.0, 1e-3),
            ("phantom.velocity_hz", self.velocity_hz, 1.0, 500.0),
            ("phantom.home_z_m", self.home_z_m, -0.1, 0.1),
            ("phantom.motor.force_n_peak", motor.force_n_peak, 0.1, 50.0),
            (
                "phantom.motor.force_n_continuous",
                motor.force_n_continuous,
                0.1,
                50.0,
            ),
            ("phantom.motor.thermal_s", motor.thermal_s, 0.1, 1e4),
            ("phantom.tweezers.mass_kg", leaf.mass_kg, 0.005, 0.5),
            (
                "phantom.tweezers.damping_nspm",
                leaf.damping_nspm,
                0.0,
                20.0,
            ),
            ("phantom.tweezers.leaf_npm", leaf.leaf_npm, 0.0, 1000.0),
            ("phantom.tweezers.rest_m", leaf.rest_m, 0.0, leaf.open_m_max),
            ("phantom.tweezers.open_m_max", leaf.open_m_max, 1e-3, 0.1),
            ("phantom.tweezers.force_n_max", leaf.force_n_max, 0.0, 20.0),
            (
                "phantom.tweezers.close_below_m",
                leaf.close_below_m,
                0.0,
                leaf.open_above_m,
            ),
            (
                "phantom.tweezers.open_above_m",
                leaf.open_above_m,
                0.0,
                leaf.open_m_max,
            ),
            ("phantom.tweezers.debounce_s", leaf.debounce_s, 0.0, 0.002),
            ("phantom.tweezers.gauge_m", leaf.gauge_m, 0.0, 1e-3),
        ];
        for (field, value, low, high) in ranges {
            FieldError::between(field, value, low, high)?;
        }
        Ok(())
    }
}

/// The simulated arm in a simulated hand.
#[derive(Debug, Clone)]
pub(super) struct PhantomHandle {
    params: PhantomParams,
    lead: Lead,
    plant: Plant,
    motor: Motor,
    /// Force that the motors render \[N\], device frame.
    rendered_n: Vector3<f64>,
    /// What the encoders say of the joints.
    pose: Pose,
    measured: Measured,
    counts: Counts,
}

impl PhantomHandle {
    /// A handle at rest where the script begins.
    #[must_use]
    pub(super) fn new(params: &PhantomParams, script: Script, grips: impl Into<Grips>) -> Self {
        let lead = Lead::new(script, grips.into());
        let mut plant = Plant::new(params, lead.hand(), &lead.intent().position_m);
        let (pose, position_m) = plant.sense();
        plant.weight_nm = pose.gravity_nm();
        Self {
            params: *params,
            lead,
            plant,
            motor: Motor::new(params.motor),
            rendered_n: Vector3::zeros(),
            pose,
            measured: Measured::at(position_m),
            counts: Counts::default(),
        }
    }

    /// The same, which lets go of a force that is not renewed for so long \[s\]; none is never. What
    /// carries its weight stays: that is the device's own.
    #[must_use]
    pub(super) fn letting_go(mut self, let_go_s: Option<f64>) -> Self {
        self.lead.letting_go(let_go_s);
        self
    }

    /// Read the encoders after `dt_s` \[s\], filter the velocity, renew the weight's compensation.
    fn measure(&mut self, dt_s: f64) {
        let (pose, position_m) = self.plant.sense();
        self.measured
            .read(position_m, self.params.velocity_hz, dt_s);
        self.pose = pose;
        self.plant.weight_nm = pose.gravity_nm();
    }
}

impl Handle for PhantomHandle {
    fn caps(&self) -> HandleCaps {
        let peak_n = self.params.motor.force_n_peak;
        let step_m = self.params.encoder_m;
        let leaf = &self.params.tweezers;
        HandleCaps {
            name: "simulated-phantom",
            force_n_max: [peak_n, peak_n, peak_n, leaf.force_n_max],
            resolution_m: [step_m, step_m, step_m, leaf.gauge_m],
            mass_kg_min: [TIP_KG_MIN, TIP_KG_MIN, TIP_KG_MIN, leaf.mass_kg],
            let_go_s: self.lead.let_go_s(),
            real: false,
        }
    }

    fn read(&mut self, now: Time) -> Reading {
        let (plant, mut let_go_m, mut held) = (&mut self.plant, None, 0_u32);
        let steps = self.lead.advance(now, |intent, expires| {
            if expires {
                let (_, position_m) = plant.sense();
                let_go_m = Some(position_m);
                (plant.torque_nm, plant.opening_n) = (Vector3::zeros(), 0.0);
            }
            held += u32::from(let_go_m.is_none());
            plant.step(intent);
        });
        if steps > 0 {
            self.motor
                .warm(&self.rendered_n, f64::from(held) * SUBSTEP_S);
            if let_go_m.is_some() {
                self.rendered_n = Vector3::zeros();
                let idle_s = f64::from(steps - held) * SUBSTEP_S;
                self.motor.warm(&self.rendered_n, idle_s);
            }
            self.measure(f64::from(steps) * SUBSTEP_S);
        }
        if let Some(hand) = self.lead.regrip() {
            self.plant.hand = hand;
        }
        let Measured {
            position_m,
            velocity_mps,
        } = self.measured;
        Reading {
            closed: self.plant.tweezers.switch.closed,
            let_go_m,
            ..self.lead.reading(position_m, velocity_mps)
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.lead.renew();
        let force_n = self.counts.finite(force_on_hand_n, &[FORCE_N_MAX; AXES]);
        let (rendered_n, cut) = self.motor.limited(&to_device(&force_n));
        if cut || force_n[3].abs() > self.params.tweezers.force_n_max {
            self.counts.saturations += 1;
        }
        self.rendered_n = rendered_n;
        self.plant.torque_nm = self.pose.jacobian().tr_mul(&rendered_n);
        self.plant.opening_n = force_n[3];
    }

    fn counts(&self) -> Counts {
        Counts {
            resets: self.plant.resets,
            time_jumps: self.lead.jumps(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grip::Grip;
    use super::super::script::{ScriptParams, SineParams};
    use super::*;

    fn script(amplitude_m: f64, hz: f64) -> Script {
        Script::new(&ScriptParams::Sine(SineParams { amplitude_m, hz }), 20.0, 0)
    }

    fn plain() -> PhantomParams {
        PhantomParams {
            friction_n: 0.0,
            ..PhantomParams::default()
        }
    }

    fn run(handle: &mut PhantomHandle, from_ms: i64, to_ms: i64) -> Reading {
        (from_ms..=to_ms).fold(Reading::default(), |_, ms| {
            handle.read(Time(ms * 1_000_000))
        })
    }

    #[test]
    fn the_least_mass_at_the_tip_is_as_its_caps_say() {
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
    fn it_begins_where_the_script_does() {
        for grip in [Grip::Firm, Grip::Light] {
            let params = ScriptParams::default();
            let mut handle = PhantomHandle::new(&plain(), Script::new(&params, 20.0, 1), grip);
            let start_m = params.start_m();
            let reading = handle.read(Time(0));
            for (read_m, start_m) in reading.position_m.iter().zip(start_m).take(3) {
                assert!((read_m - start_m).abs() < 6e-5, "{read_m} {start_m}");
            }
        }
    }

    #[test]
    fn a_force_moves_the_hand_by_force_over_stiffness() {
        let mut handle = PhantomHandle::new(&plain(), script(0.0, 0.0), Grip::Firm);
        run(&mut handle, 0, 500);
        handle.write(&[0.6, -0.9, 1.2, 0.0]);
        let reading = run(&mut handle, 501, 3000);
        for (axis, force_n) in [0.6, -0.9, 1.2].into_iter().enumerate() {
            let wanted_m = force_n / 300.0;
            // the encoders' step, and torques of the pose that the encoders see
            assert!((reading.position_m[axis] - wanted_m).abs() < 1e-4, "{axis}");
        }
    }

    #[test]
    fn reads_in_steps_of_the_encoders_near_home() {
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
    fn the_velocity_follows_the_true_one() {
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
    fn the_weight_is_carried_by_who_should() {
        let drop_m = |weight: Weight| {
            let params = PhantomParams { weight, ..plain() };
            let mut handle = PhantomHandle::new(&params, script(0.0, 0.0), Grip::Firm);
            let reading = run(&mut handle, 0, 2000);
            libm::hypot(reading.position_m[1], reading.position_m[2])
        };
        assert!(drop_m(Weight::Balanced) < 6e-5);
        assert!(drop_m(Weight::Compensated) < 6e-5);
        assert!(drop_m(Weight::Carried) > 2e-4);
    }

    #[test]
    fn friction_holds_a_hand_that_hardly_moves() {
        let settle_m = |friction_n: f64| {
            let params = PhantomParams {
                friction_n,
                encoder_m: 0.0,
                weight: Weight::Balanced,
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
    fn says_when_a_force_is_beyond_the_motors() {
        let mut handle = PhantomHandle::new(&plain(), script(0.0, 0.0), Grip::Firm);
        handle.write(&[5.0, 5.0, 5.0, 0.0]);
        assert_eq!(handle.counts().saturations, 1);
        assert!((handle.rendered_n.norm() - 8.5).abs() < 1e-12);
        handle.write(&[5.0, 0.0, 5.0, 0.0]);
        assert_eq!(handle.counts().saturations, 1);
    }

    #[test]
    fn stays_finite_and_in_its_workspace_whatever_is_written() {
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
            assert_eq!(handle.counts().resets, 0);
        }
    }

    #[test]
    fn the_tweezers_close_when_the_operator_pinches() {
        let mut handle = PhantomHandle::new(
            &plain(),
            Script::new(&ScriptParams::default(), 20.0, 1),
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
