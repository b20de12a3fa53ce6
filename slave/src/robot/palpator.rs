//! Simulated palpator with a gripper: Cartesian carriage, actuators, encoders, force sensor.
//!
//! By axis, at 0.1 ms: m dv/dt = F_a - b v - friction + F_environment, with the actuator's force
//! F_a a first-order lag behind the limited command, and Coulomb friction with a viscous band. At
//! the ends of the workspace the carriage stops. Sizes follow seed-004 section 5 (voice-coil
//! class, friction 0.05 N, sensor noise 0.01 N). The carriage is heavier than the 0.1 kg of seed-004, so that
//! it is stable with the reference gains of teleop RP-1 in spite of lag and filter (ours).
//!
//! Measured position: encoder counts. Measured velocity: backward difference of that over the time
//! since the last reading, then a first-order low-pass (default 150 Hz, 1 ms of delay).

use palpate_port::encoder::{EncoderNoise, MeasuredMotion, quantised};
use palpate_port::fixed_stepper::SUBSTEP_S;
use palpate_port::mass::PointMass;
use palpate_transport::{AXES, Axes, FieldError, params};

use super::sensor::{Sensor, SensorParams};
use super::simulated::{Plant, SimulatedRobot};
use super::{Environment, RobotReading};

/// Speed from which friction is compensated in full \[m/s\]: the measured velocity is noise below a
/// fraction of it.
const FULL_COMPENSATION_MPS: f64 = 0.01;

params! {
    /// Parameters of the palpator; axes are x, y, z and the gripper's opening.
    #[derive(Copy)]
    pub struct PalpatorParams: "palpator." then ends_are_in_order {
        /// Moving mass m \[kg\].
        pub mass_kg: Axes = [0.3, 0.3, 0.3, 0.1] => (0.05..=50.0),
        /// Damping b \[N s/m\].
        pub damping_nspm: Axes = [3.0, 3.0, 3.0, 2.0] => (0.0..=100.0),
        /// Coulomb friction \[N\].
        // within the viscous band its rate must stay slow against one sub-step
        pub friction_n: Axes = [0.05; AXES] => (0.0..=0.2),
        /// Speed below which friction is viscous \[m/s\].
        pub stick_mps: f64 = 1e-3 => (5e-4..=0.1),
        /// Fraction (0 to 1) of damping and friction that the drive compensates from its measured velocity.
        /// Below 1 the carriage still loses energy and stays passive; the channel pays only the
        /// remaining losses of free motion.
        pub compensated: f64 = 0.8 => (0.0..=1.0),
        /// Largest actuator force \[N\].
        pub force_n_max: Axes = [15.0, 15.0, 15.0, 10.0] => (0.0..=100.0),
        /// Time constant of the actuators \[s\].
        pub lag_s: f64 = 1e-3 => (0.0..=0.1),
        /// Step of the encoders \[m\].
        pub encoder_m: f64 = 5e-6 => (0.0..=1e-3),
        /// Standard deviation of the encoders' noise \[m\].
        pub encoder_noise_m: f64 = 0.0 => (0.0..=1e-3),
        /// Cut-off of the velocity's low-pass \[Hz\].
        pub velocity_hz: f64 = 150.0 => (1.0..=500.0),
        /// Lower ends of the workspace \[m\].
        pub stop_m_min: Axes = [-0.10, -0.10, -0.04, 0.0] => (-1.0..=1.0),
        /// Upper ends of the workspace \[m\].
        pub stop_m_max: Axes = [0.10, 0.10, 0.10, 0.05] => (-1.0..=1.0),
        /// Force sensor.
        pub sensor: SensorParams = SensorParams::default(),
    }
}

fn ends_are_in_order(palpator: &PalpatorParams) -> Result<(), FieldError> {
    for (low_m, high_m) in palpator.stop_m_min.into_iter().zip(palpator.stop_m_max) {
        FieldError::check_range("palpator.stop_m_max", high_m, low_m, 1.0)?;
    }
    palpator.sensor.validate()
}

/// Simulated palpator.
pub(super) type Palpator = SimulatedRobot<Carriage>;

/// Carriage with its actuators, encoders and force sensor.
#[derive(Debug, Clone)]
pub(super) struct Carriage {
    params: PalpatorParams,
    body: PointMass,
    command_n: Axes,
    actuator_n: Axes,
    lag_share: f64,
    sensor: Sensor,
    encoder_noise: EncoderNoise,
    measured: MeasuredMotion,
    contact_n: Axes,
    energy_j: f64,
}

impl Palpator {
    /// Creates a palpator at rest at `start_m` \[m\] in `environment`; `seed` draws the sensor's noise.
    #[must_use]
    pub(super) fn new(
        params: &PalpatorParams,
        start_m: &Axes,
        environment: Box<dyn Environment>,
        seed: u64,
    ) -> Self {
        let carriage = Carriage::new(params, start_m, environment.energy_j(), seed);
        Self::from_plant(carriage, params.lag_s, environment)
    }
}

impl Carriage {
    fn new(params: &PalpatorParams, start_m: &Axes, energy_j: f64, seed: u64) -> Self {
        let mut body = PointMass::at_rest(*start_m);
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
            measured: MeasuredMotion::at_rest(
                body.position_m
                    .map(|at_m| quantised(at_m, params.encoder_m)),
            ),
            contact_n: sensor.read(),
            sensor,
            encoder_noise: EncoderNoise::new(params.encoder_noise_m, seed),
            energy_j,
        }
    }

    /// Damping and friction at a speed; below `band_mps` \[m/s\] friction is viscous \[N\].
    fn loss_n(&self, axis: usize, velocity_mps: f64, band_mps: f64) -> f64 {
        let slip = velocity_mps / velocity_mps.abs().max(band_mps);
        self.params.damping_nspm[axis] * velocity_mps + self.params.friction_n[axis] * slip
    }

    /// Moves one axis under `force_n` \[N\] and its own losses.
    fn move_axis(&mut self, axis: usize, force_n: f64) {
        let velocity_mps = self.body.velocity_mps[axis];
        let loss_n = self.loss_n(axis, velocity_mps, self.params.stick_mps);
        let params = &self.params;
        self.body.push(axis, force_n - loss_n, params.mass_kg[axis]);
        self.body
            .stop(axis, params.stop_m_min[axis], params.stop_m_max[axis]);
    }

    /// Force of the drive that compensates its own losses, from the measured velocity \[N\].
    fn compensation_n(&self, axis: usize) -> f64 {
        let velocity_mps = self.measured.velocity_mps[axis];
        self.params.compensated * self.loss_n(axis, velocity_mps, FULL_COMPENSATION_MPS)
    }
}

impl Plant for Carriage {
    fn force_n_max(&self) -> Axes {
        self.params.force_n_max
    }

    fn body(&self) -> &PointMass {
        &self.body
    }

    fn step(&mut self, contact_n: &Axes, held_n: &Axes) {
        self.sensor.filter(contact_n);
        for axis in 0..AXES {
            let most_n = self.params.force_n_max[axis];
            let command_n = self.command_n[axis];
            // the compensation of its losses may exceed the limit; the drive's own loop may not
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
        self.command_n = core::array::from_fn(|axis| force_n[axis] + self.compensation_n(axis));
    }

    fn read(&mut self, passed_s: f64, energy_j: f64) -> RobotReading {
        if passed_s > 0.0 {
            let (params, mut at_m) = (&self.params, self.body.position_m);
            for (at_m, error_m) in at_m
                .iter_mut()
                .zip(self.encoder_noise.draw().iter().flatten())
            {
                *at_m += error_m;
            }
            let counts_m = at_m.map(|at_m| quantised(at_m, params.encoder_m));
            self.measured.read(counts_m, params.velocity_hz, passed_s);
            self.contact_n = self.sensor.read();
            self.energy_j = energy_j;
        }
        RobotReading {
            position_m: self.measured.position_m,
            velocity_mps: self.measured.velocity_mps,
            contact_force_n: self.contact_n,
            force_valid: true,
            tissue_energy_j: self.energy_j,
            ..RobotReading::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::Time;

    use super::super::Robot;
    use super::super::environment::{FreeSpace, ViscoelasticWall};
    use super::*;

    const START_M: Axes = [0.0, 0.0, 0.0, 0.020];

    fn palpator(params: &PalpatorParams, environment: impl Environment + 'static) -> Palpator {
        Palpator::new(params, &START_M, Box::new(environment), 1)
    }

    /// Runs to `ms` milliseconds with a spring and damper to `goal_m` at 1 kHz.
    fn servo(robot: &mut Palpator, goal_m: Axes, ms: i64) -> RobotReading {
        let (stiffness_npm, damping_nspm) =
            ([2000.0, 2000.0, 2000.0, 1000.0], [50.0, 50.0, 50.0, 20.0]);
        let mut reading = RobotReading::default();
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
    fn reference_gains_hold_the_position_steadily() {
        let mut robot = palpator(&PalpatorParams::default(), FreeSpace);
        let goal_m = [0.003, -0.003, 0.003, 0.015];
        let reading = servo(&mut robot, goal_m, 1000);
        for (at_m, goal_m) in reading.position_m.iter().zip(goal_m) {
            // friction leaves a distance of at most F / K
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
    fn compensated_carriage_coasts_and_never_gains_energy() {
        let coast_m = |compensated: f64| {
            let params = PalpatorParams {
                compensated,
                ..PalpatorParams::default()
            };
            let mut robot = palpator(&params, FreeSpace);
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
    fn sensor_reads_the_wall_with_noise() {
        let mut robot = palpator(&PalpatorParams::default(), ViscoelasticWall::rp1(300.0));
        let reading = servo(&mut robot, [0.0, 0.0, -0.015, 0.020], 2000);
        let wanted_n = 300.0 * (-0.010 - reading.position_m[2]);
        assert!(wanted_n > 1.0);
        assert!((reading.contact_force_n[2] - wanted_n).abs() < 0.06);
        assert!(reading.force_valid);
        assert!((reading.tissue_energy_j - 0.5 * wanted_n * wanted_n / 300.0).abs() < 1e-4);
    }

    #[test]
    fn lag_limit_and_friction_match_the_parameters() {
        let params = PalpatorParams::default();
        let mut robot = palpator(&params, FreeSpace);
        robot.read(Time(0));
        let command_n = [100.0, 0.04, 1.0, 0.0];
        robot.write(&command_n, false);
        robot.read(Time(1_000_000));
        let share = 1.0 - libm::exp(-1.0);
        assert!((robot.plant.actuator_n[0] - 15.0 * share).abs() < 1e-9);
        assert!((robot.plant.actuator_n[2] - share).abs() < 1e-9);
        let mut reading = RobotReading::default();
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
        let mut robot = palpator(&params, FreeSpace);
        let mut reading = RobotReading::default();
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
        let mut robot = palpator(&PalpatorParams::default(), FreeSpace);
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
    fn noisy_encoders_read_around_the_place_and_leave_the_carriage_where_it_is() {
        let noisy = PalpatorParams {
            encoder_noise_m: 1e-4,
            ..PalpatorParams::default()
        };
        let mut robot = palpator(&noisy, FreeSpace);
        let read = |ms: i64| robot.read(Time(ms * 1_000_000)).position_m[0];
        let reads: Vec<f64> = (1..2000).map(read).collect();
        let most_m = reads
            .iter()
            .fold(0.0_f64, |most, at_m| most.max(at_m.abs()));
        assert!((2e-4..8e-4).contains(&most_m), "{most_m}");
        assert_eq!(robot.plant.body.position_m, START_M);
    }

    #[test]
    fn invalid_parameters_are_named() {
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
