//! Common parts of simulated robots: environment, the plant's time, the drive's brake, and faults.

use palpate_port::fixed_stepper::{FixedStepper, SUBSTEP_S};
use palpate_port::limit::limited;
use palpate_port::mass::PointMass;
use palpate_transport::{AXES, Axes, Time};

use super::brake::Brake;
use super::{Environment, Probe, Robot, RobotReading};

/// Largest accepted force of an environment \[N\].
const CONTACT_N_MAX: f64 = 1000.0;

/// Moving plant with its sensors.
pub(super) trait Plant: Send {
    /// Largest actuator force, by axis \[N\].
    fn force_n_max(&self) -> Axes;

    /// Body of probe and gripper.
    fn body(&self) -> &PointMass;

    /// Advances by one sub-step under the environment's force and the force of the drive's own loop, both \[N\].
    fn step(&mut self, contact_n: &Axes, held_n: &Axes);

    /// Takes a command that is within [`Self::force_n_max`] \[N\].
    fn command(&mut self, force_n: &Axes);

    /// Reads the sensors `passed_s` \[s\] after the last reading; `energy_j` \[J\] is in the environment.
    fn read(&mut self, passed_s: f64, energy_j: f64) -> RobotReading;
}

/// A simulated robot in its environment.
pub(super) struct SimulatedRobot<P> {
    environment: Box<dyn Environment>,
    stepper: FixedStepper,
    closed: bool,
    pub(super) plant: P,
    brake: Brake,
}

impl<P: Plant> SimulatedRobot<P> {
    /// Creates a robot at rest whose actuators lag by `lag_s` \[s\].
    pub(super) fn from_plant(plant: P, lag_s: f64, environment: Box<dyn Environment>) -> Self {
        Self {
            environment,
            stepper: FixedStepper::default(),
            closed: false,
            plant,
            brake: Brake::with_lag(lag_s),
        }
    }

    /// Advances by one sub-step; returns the force of the environment \[N\].
    fn step(&mut self) -> Axes {
        let PointMass {
            position_m,
            velocity_mps,
        } = *self.plant.body();
        let probe = Probe {
            position_m,
            velocity_mps,
            closed: self.closed,
        };
        let contact_n = self.environment.step(&probe, SUBSTEP_S);
        let contact_n = limited(&contact_n, &[CONTACT_N_MAX; AXES]);
        let held_n = self.brake.added_n(&position_m, &velocity_mps);
        self.plant.step(&contact_n, &held_n);
        contact_n
    }
}

impl<P: Plant> Robot for SimulatedRobot<P> {
    fn read(&mut self, now: Time) -> RobotReading {
        let steps = self.stepper.advance(now);
        let mut peak_n = [0.0_f64; AXES];
        for _ in 0..steps {
            for (peak_n, contact_n) in peak_n.iter_mut().zip(self.step()) {
                if contact_n.abs() > peak_n.abs() {
                    *peak_n = contact_n;
                }
            }
        }
        let passed_s = f64::from(steps) * SUBSTEP_S;
        RobotReading {
            edits: self.environment.edits(),
            peak_contact_n: Some(peak_n),
            tissue_collapsed: self.environment.take_collapse(),
            ..self.plant.read(passed_s, self.environment.energy_j())
        }
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.plant
            .command(&limited(force_n, &self.plant.force_n_max()));
        self.closed = closed;
        self.brake.renew();
    }

    fn environment(&mut self) -> Option<&mut dyn Environment> {
        Some(self.environment.as_mut())
    }
}
