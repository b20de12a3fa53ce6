//! A simulated palpator with a gripper: Cartesian carriage, actuators, encoders, force sensor.
//!
//! By axis, at 0.1 ms: m dv/dt = F_a - b v - friction + F_environment, with the actuator's force
//! F_a a first-order lag behind the limited command, and Coulomb friction with a viscous band. At
//! the ends of the workspace the carriage stops dead. Sizes follow seed-004 section 5 (voice-coil
//! class, friction 0.05 N, sensor noise 0.01 N); the carriage is heavier than its 0.1 kg so that
//! the reference gains of teleop RP-1 hold it calmly through lag and filter (ours).
//!
//! Measured position: encoder counts. Measured velocity: backward difference of that over the time
//! since the last reading, then a first-order low-pass (default 150 Hz, 1 ms of delay).

use palpate_port::FieldError;
use palpate_port::encoder::{Measured, quantised};
use palpate_port::mass::PointMass;
use palpate_port::pace::SUBSTEP_S;
use palpate_transport::{AXES, Axes};
use serde::{Deserialize, Serialize};

use super::sensor::{Sensor, SensorParams};
use super::simulated::{Plant, Simulated};
use super::{Environment, Reading, RobotCaps};

/// Speed from which friction is made up for in full \[m/s\]: the measured velocity is noise below a
/// fraction of it.
const MADE_UP_MPS: f64 = 0.01;

/// Parameters of the palpator; axes are x, y, z and the gripper's opening.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PalpatorParams {
    /// Moving mass m \[kg\].
    pub mass_kg: Axes,
    /// Damping b \[N s/m\].
    pub damping_nspm: Axes,
    /// Coulomb friction \[N\].
    pub friction_n: Axes,
    /// Speed below which friction is viscous \[m/s\].
    pub stick_mps: f64,
    /// Share (0 to 1) of damping and friction that the drive makes up for from its measured velocity.
    /// Below 1 the carriage still loses energy and stays passive; what is left is all that the
    /// channel has to pay for free motion.
    pub compensated: f64,
    /// Largest actuator force \[N\].
    pub force_n_max: Axes,
    /// Time constant of the actuators \[s\].
    pub lag_s: f64,
    /// Step of the encoders \[m\].
    pub encoder_m: f64,
    /// Cut-off of the velocity's low-pass \[Hz\].
    pub velocity_hz: f64,
    /// Lower ends of the workspace \[m\].
    pub stop_m_min: Axes,
    /// Upper ends of the workspace \[m\].
    pub stop_m_max: Axes,
    /// The force sensor.
    pub sensor: SensorParams,
}

impl Default for PalpatorParams {
    fn default() -> Self {
        Self {
            mass_kg: [0.3, 0.3, 0.3, 0.1],
            damping_nspm: [3.0, 3.0, 3.0, 2.0],
            friction_n: [0.05; AXES],
            stick_mps: 1e-3,
            compensated: 0.8,
            force_n_max: [15.0, 15.0, 15.0, 10.0],
            lag_s: 1e-3,
            encoder_m: 5e-6,
            velocity_hz: 150.0,
            stop_m_min: [-0.10, -0.10, -0.04, 0.0],
            stop_m_max: [0.10, 0.10, 0.10, 0.05],
            sensor: SensorParams::default(),
        }
    }
}

impl PalpatorParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        let axes = [
            ("palpator.mass_kg", self.mass_kg, 0.05, 50.0),
            ("palpator.damping_nspm", self.damping_nspm, 0.0, 100.0),
            // within the viscous band friction must stay slow against one sub-step
            ("palpator.friction_n", self.friction_n, 0.0, 0.2),
            ("palpator.force_n_max", self.force_n_max, 0.0, 100.0),
            ("palpator.stop_m_min", self.stop_m_min, -1.0, 1.0),
            ("palpator.stop_m_max", self.stop_m_max, -1.0, 1.0),
            ("palpator.sensor.bias_n", self.sensor.bias_n, -10.0, 10.0),
        ];
        for (field, values, low, high) in axes {
            for value in values {
                FieldError::between(field, value, low, high)?;
            }
        }
        for (low_m, high_m) in self.stop_m_min.into_iter().zip(self.stop_m_max) {
            FieldError::between("palpator.stop_m_max", high_m, low_m, 1.0)?;
        }
        let numbers = [
            ("palpator.stick_mps", self.stick_mps, 5e-4, 0.1),
            ("palpator.compensated", self.compensated, 0.0, 1.0),
            ("palpator.lag_s", self.lag_s, 0.0, 0.1),
            ("palpator.encoder_m", self.encoder_m, 0.0, 1e-3),
            ("palpator.velocity_hz", self.velocity_hz, 1.0, 500.0),
            ("palpator.sensor.noise_n", self.sensor.noise_n, 0.0, 1.0),
            (
                "palpator.sensor.cutoff_hz",
                self.sensor.cutoff_hz,
                1.0,
                5000.0,
            ),
            ("palpator.sensor.range_n", self.sensor.range_n, 0.1, 1000.0),
        ];
        for (field, value, low, high) in numbers {
            FieldError::between(field, value, low, high)?;
        }
        Ok(())
    }
}

/// The simulated palpator.
pub(super) type Palpator = Simulated<Carriage>;

/// The carriage with its actuators, encoders and force sensor.
#[derive(Debug, Clone)]
pub(super) struct Carriage {
    params: PalpatorParams,
    body: PointMass,
    command_n: Axes,
    actuator_n: Axes,
    lag_share: f64,
    sensor: Sensor,
    measured: Measured,
    contact_n: Axes,
    energy_j: f64,
}

impl Palpator {
    /// A palpator at rest at `start_m` \[m\] in `environment`; `seed` draws the sensor's noise.
    #[must_use]
    pub(super) fn new(
        params: &PalpatorParams,
        start_m: &Axes,
        environment: Box<dyn Environment>,
        seed: u64,
    ) -> Self {
        let carriage = Carriage::new(params, start_m, environment.energy_j(), seed);
        Self::of(carriage, params.lag_s, environment)
    }
}

impl Carriage {
    fn new(params: &PalpatorParams, start_m: &Axes, energy_j: f64, seed: u64) -> Self {
        let mut body = PointMass::at(*start_m);
        for axis in 0..AXES {
            body.stop(axis, params.stop_m_min[axis], params.stop_m_max[axis]);
        }
        let lag_share = if params.lag_s > 0.0 {
            1.0 - libm::exp(-SUBSTEP_S / params.lag_s)
        } else {
            1.0
        };
        let mut sensor = Sensor::new(params.sensor, SUBSTEP_S, seed);
        Self {
            params: *params,
            body,
            command_n: [0.0; AXES],
            actuator_n: [0.0; AXES],
            lag_share,
            measured: Measured::at(
                body.position_m
                    .map(|at_m| quantised(at_m, params.encoder_m)),
            ),
            contact_n: sensor.read(),
            sensor,
            energy_j,
        }
    }

    /// Damping and friction at a speed; below `band_mps` \[m/s\] friction is viscous \[N\].
    fn lost_n(&self, axis: usize, velocity_mps: f64, band_mps: f64) -> f64 {
        let slip = velocity_mps / velocity_mps.abs().max(band_mps);
        self.params.damping_nspm[axis] * velocity_mps + self.params.friction_n[axis] * slip
    }

    /// Move one axis under `force_n` \[N\] and its own losses.
    fn move_axis(&mut self, axis: usize, force_n: f64) {
        let velocity_mps = self.body.velocity_mps[axis];
        let lost_n = self.lost_n(axis, velocity_mps, self.params.stick_mps);
        let params = &self.params;
        self.body.push(axis, force_n - lost_n, params.mass_kg[axis]);
        self.body
            .stop(axis, params.stop_m_min[axis], params.stop_m_max[axis]);
    }

    /// What the drive adds against its own losses, from the measured velocity \[N\].
    fn made_up_n(&self, axis: usize) -> f64 {
        let velocity_mps = self.measured.velocity_mps[axis];
        self.params.compensated * self.lost_n(axis, velocity_mps, MADE_UP_MPS)
    }
}

impl Plant for Carriage {
    fn caps(&self) -> RobotCaps {
        RobotCaps {
            name: "simulated-palpator",
            force_n_max: self.params.force_n_max,
            force_sensor: true,
            real: false,
        }
    }

    fn body(&self) -> &PointMass {
        &self.body
    }

    fn step(&mut self, contact_n: &Axes, held_n: &Axes) {
        self.sensor.feel(contact_n);
        for axis in 0..AXES {
            let most_n = self.params.force_n_max[axis];
            let command_n = self.command_n[axis];
            // what it makes up for of its own losses may go beyond; the drive's own loop may not
            let command_n = if held_n[axis] == 0.0 {
                command_n
            } else {
                (command_n + held_n[axis]).clamp(-most_n, most_n)
            };
            self.actuator_n[axis] += self.lag_share * (command_n - self.actuator_n[axis]);
            self.move_axis(axis, self.actuator_n[axis] + contact_n[axis]);
        }
    }

    fn command(&mut self, force_n: &Axes) {
        self.command_n = core::array::from_fn(|axis| force_n[axis] + self.made_up_n(axis));
    }

    fn read(&mut self, passed_s: f64, energy_j: f64) -> Reading {
        if passed_s > 0.0 {
            let params = &self.params;
            let counts_m = self
                .body
                .position_m
                .map(|at_m| quantised(at_m, params.encoder_m));
            self.measured.read(counts_m, params.velocity_hz, passed_s);
            self.contact_n = self.sensor.read();
            self.energy_j = energy_j;
        }
        Reading {
            position_m: self.measured.position_m,
            velocity_mps: self.measured.velocity_mps,
            contact_force_n: self.contact_n,
            force_valid: true,
            tissue_energy_j: self.energy_j,
            ..Reading::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::Time;

    use super::super::Robot;
    use super::super::environment::{Free, Wall};
    use super::*;

    const START_M: Axes = [0.0, 0.0, 0.0, 0.020];

    fn palpator(params: &PalpatorParams, environment: impl Environment + 'static) -> Palpator {
        Palpator::new(params, &START_M, Box::new(environment), 1)
    }

    /// Run to `ms` milliseconds with a spring and damper to `goal_m` at 1 kHz.
    fn servo(robot: &mut Palpator, goal_m: Axes, ms: i64) -> Reading {
        let (stiffness_npm, damping_nspm) =
            ([2000.0, 2000.0, 2000.0, 1000.0], [50.0, 50.0, 50.0, 20.0]);
        let mut reading = Reading::default();
        for tick in 0..ms {
            reading = robot.read(Time(tick * 1_000_000));
            let force_n = core::array::from_fn(|axis| {
                stiffness_npm[axis] * (goal_m[axis] - reading.position_m[axis])
                    - damping_nspm[axis] * reading.velocity_mps[axis]
            });
            robot.write(&force_n, false);
        }
        reading
    }

    #[test]
    fn the_reference_gains_hold_it_calmly() {
        let mut robot = palpator(&PalpatorParams::default(), Free);
        let goal_m = [0.003, -0.003, 0.003, 0.015];
        let reading = servo(&mut robot, goal_m, 1000);
        for (at_m, goal_m) in reading.position_m.iter().zip(goal_m) {
            // friction holds off at most F / K
            assert!((at_m - goal_m).abs() < 8e-5, "{at_m} {goal_m}");
        }
        assert!(
            reading
                .velocity_mps
                .iter()
                .all(|velocity| velocity.abs() < 1e-2)
        );
    }

    #[test]
    fn a_push_coasts_on_when_losses_are_made_up_for_and_never_gains() {
        let coast_m = |compensated: f64| {
            let params = PalpatorParams {
                compensated,
                ..PalpatorParams::default()
            };
            let mut robot = palpator(&params, Free);
            let (mut reading, mut fastest_mps) = (robot.read(Time(0)), 0.0_f64);
            for tick in 1..400 {
                let push_n = if tick < 40 { 1.0 } else { 0.0 };
                robot.write(&[push_n, 0.0, 0.0, 0.0], false);
                reading = robot.read(Time(tick * 1_000_000));
                if tick == 50 {
                    fastest_mps = robot.plant.body.velocity_mps[0];
                }
                assert!(tick <= 50 || robot.plant.body.velocity_mps[0] <= fastest_mps + 1e-9);
            }
            reading.position_m[0]
        };
        assert!(coast_m(0.8) > 1.5 * coast_m(0.0));
    }

    #[test]
    fn feels_the_wall_with_its_noise() {
        let mut robot = palpator(&PalpatorParams::default(), Wall::rp1(300.0));
        let reading = servo(&mut robot, [0.0, 0.0, -0.015, 0.020], 2000);
        let wanted_n = 300.0 * (-0.010 - reading.position_m[2]);
        assert!(wanted_n > 1.0);
        assert!((reading.contact_force_n[2] - wanted_n).abs() < 0.06);
        assert!(reading.force_valid);
        assert!((reading.tissue_energy_j - 0.5 * wanted_n * wanted_n / 300.0).abs() < 1e-4);
    }

    #[test]
    fn lags_limits_and_friction_are_as_they_say() {
        let params = PalpatorParams::default();
        let mut robot = palpator(&params, Free);
        robot.read(Time(0));
        let command_n = [100.0, 0.04, 1.0, 0.0];
        robot.write(&command_n, false);
        robot.read(Time(1_000_000));
        let share = 1.0 - libm::exp(-1.0);
        assert!((robot.plant.actuator_n[0] - 15.0 * share).abs() < 1e-9);
        assert!((robot.plant.actuator_n[2] - share).abs() < 1e-9);
        assert_eq!(robot.counts().saturations, 1);
        let mut reading = Reading::default();
        for ms in 2..=90 {
            robot.write(&command_n, false);
            reading = robot.read(Time(ms * 1_000_000));
        }
        // below the friction it only creeps, at most stick_mps
        assert!(reading.position_m[1].abs() <= 0.09 * params.stick_mps);
    }

    #[test]
    fn stops_at_the_ends_of_its_workspace() {
        let params = PalpatorParams::default();
        let mut robot = palpator(&params, Free);
        let mut reading = Reading::default();
        for tick in 0..1000 {
            reading = robot.read(Time(tick * 1_000_000));
            robot.write(&[50.0, -50.0, 50.0, -50.0], true);
        }
        assert_eq!(reading.position_m[0], params.stop_m_max[0]);
        assert_eq!(reading.position_m[1], params.stop_m_min[1]);
        assert_eq!(reading.position_m[3], 0.0);
        assert!(
            reading
                .velocity_mps
                .iter()
                .all(|velocity| velocity.abs() < 1e-3)
        );
    }

    #[test]
    fn reads_in_steps_of_its_encoders() {
        let mut robot = palpator(&PalpatorParams::default(), Free);
        for tick in 0..200 {
            robot.write(&[0.3, 0.2, -0.2, 0.1], false);
            for at_m in robot.read(Time(tick * 1_000_000)).position_m {
                let counts = at_m / 5e-6;
                assert!((counts - counts.round()).abs() < 1e-6);
            }
        }
        for axis in 0..AXES {
            let error_m = robot.plant.measured.position_m[axis] - robot.plant.body.position_m[axis];
            assert!(error_m.abs() <= 2.5e-6 + 1e-15);
        }
    }

    #[test]
    fn refuses_parameters_by_name() {
        let mut params = PalpatorParams::default();
        assert_eq!(params.validate(), Ok(()));
        params.mass_kg[3] = 0.0;
        let error = params.validate().expect_err("no mass").to_string();
        assert_eq!(error, "palpator.mass_kg is 0; expected 0.05 to 50");
        let mut params = PalpatorParams::default();
        params.stop_m_max[0] = -0.2;
        assert!(params.validate().is_err());
        params.lag_s = f64::NAN;
        assert!(params.validate().is_err());
    }
}
