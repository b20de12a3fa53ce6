//! Ideal robot of teleop RP-1: a point mass on every axis.
//!
//! m dv/dt = F - b v + F_environment, semi-implicit Euler at 0.1 ms, F held between writes. Its
//! force reading is the true force of the environment in the last sub-step.

use palpate_port::mass::PointMass;
use palpate_transport::{AXES, Axes};

use super::simulated::{Plant, SimulatedRobot};
use super::{Environment, RobotReading};

/// Mass m \[kg\] (teleop RP-1).
pub const MASS_KG: f64 = 0.5;
/// Damping b \[N s/m\] (teleop RP-1).
pub const DAMPING_NSPM: f64 = 3.0;
/// Largest force that is accepted \[N\]: far beyond use, it only keeps the state finite.
const FORCE_N_MAX: f64 = 1000.0;

/// Ideal point-mass robot.
pub(super) type MassRobot = SimulatedRobot<Mass>;

/// Point mass under its command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mass {
    body: PointMass,
    contact_n: Axes,
    force_n: Axes,
}

impl MassRobot {
    /// Creates a robot at rest at `start_m` \[m\] in `environment`.
    #[must_use]
    pub(super) fn new(start_m: Axes, environment: Box<dyn Environment>) -> Self {
        let mass = Mass {
            body: PointMass::at_rest(start_m),
            contact_n: [0.0; AXES],
            force_n: [0.0; AXES],
        };
        Self::from_plant(mass, 0.0, environment)
    }
}

impl Plant for Mass {
    fn force_n_max(&self) -> Axes {
        [FORCE_N_MAX; AXES]
    }

    fn body(&self) -> &PointMass {
        &self.body
    }

    fn step(&mut self, contact_n: &Axes, held_n: &Axes) {
        self.contact_n = *contact_n;
        for axis in 0..AXES {
            let drive_n = self.force_n[axis] + held_n[axis];
            let drag_n = DAMPING_NSPM * self.body.velocity_mps[axis];
            self.body
                .push(axis, drive_n + contact_n[axis] - drag_n, MASS_KG);
        }
    }

    fn command(&mut self, force_n: &Axes) {
        self.force_n = *force_n;
    }

    fn read(&mut self, _passed_s: f64, energy_j: f64) -> RobotReading {
        RobotReading {
            position_m: self.body.position_m,
            velocity_mps: self.body.velocity_mps,
            contact_force_n: self.contact_n,
            force_valid: true,
            tissue_energy_j: energy_j,
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

    #[test]
    fn coasting_matches_the_closed_form() {
        let mut robot = MassRobot::new([0.0; AXES], Box::new(FreeSpace));
        robot.read(Time(0));
        let tau_s = MASS_KG / DAMPING_NSPM;
        for ms in 1..1000_i64 {
            robot.write(&[0.3, 0.0, -0.6, 0.3], false);
            let reading = robot.read(Time(ms * 1_000_000));
            let at_s = ms as f64 * 1e-3;
            let wanted_mps = 0.3 / DAMPING_NSPM * (1.0 - libm::exp(-at_s / tau_s));
            assert!((reading.velocity_mps[0] - wanted_mps).abs() < 1e-3 * 0.1);
            assert!((reading.velocity_mps[2] + 2.0 * wanted_mps).abs() < 2e-3 * 0.1);
        }
    }

    #[test]
    fn rests_on_the_wall_at_force_over_stiffness() {
        let mut robot = MassRobot::new([0.0; AXES], Box::new(ViscoelasticWall::rp1(1000.0)));
        robot.read(Time(0));
        let mut reading = RobotReading::default();
        for ms in 1..10_000 {
            robot.write(&[0.0, 0.0, -2.0, 0.0], false);
            reading = robot.read(Time(ms * 1_000_000));
        }
        assert!((reading.position_m[2] + 0.012).abs() < 1e-6);
        assert!((reading.contact_force_n[2] - 2.0).abs() < 1e-3);
        assert!((reading.tissue_energy_j - 0.002).abs() < 1e-6);
    }

    #[test]
    fn issue_robot_moved_on_after_its_process_stopped() {
        for (wall_npm, push_n) in [(0.0, 2.0), (300.0, -2.0_f64)] {
            let mut robot = MassRobot::new([0.0; AXES], Box::new(ViscoelasticWall::rp1(wall_npm)));
            let mut reading = robot.read(Time(0));
            for ms in 1..400 {
                // at half a metre a second in the air, or settled on the wall
                let force_n = push_n - 20.0 * reading.velocity_mps[2];
                robot.write(&[0.0, 0.0, force_n, 0.0], false);
                reading = robot.read(Time(ms * 1_000_000));
            }
            let left_m = reading.position_m[2];
            let late = robot.read(Time(650 * 1_000_000));
            let speed_mps = reading.velocity_mps[2].abs();
            // distance until the drive notices, and while it brakes
            let allowed_m = 5e-4 + 5e-3 * speed_mps;
            let moved_m = (late.position_m[2] - left_m).abs();
            assert!(moved_m < allowed_m, "{moved_m} m at {speed_mps} m/s");
            assert!(late.velocity_mps[2].abs() < 1e-3);
        }
    }
}
