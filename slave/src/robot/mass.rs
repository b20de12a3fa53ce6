//! The ideal robot of teleop RP-1: a point mass on every axis.
//!
//! m dv/dt = F - b v + F_environment, semi-implicit Euler at 0.1 ms, F held between writes. Its
//! force reading is the true force of the environment in the last sub-step.

use palpate_transport::{AXES, Axes, Stroke, Time};

use super::brake::Brake;
use super::pace::{Pace, SUBSTEP_S};
use super::{Counts, Environment, Opened, Probe, Reading, Robot, RobotCaps, StrokeRefusal};

/// Mass m \[kg\] (teleop RP-1).
pub const MASS_KG: f64 = 0.5;
/// Damping b \[N s/m\] (teleop RP-1).
pub const DAMPING_NSPM: f64 = 3.0;
/// Largest force that is taken \[N\]: far beyond use, it only keeps the state finite.
const FORCE_N_MAX: f64 = 1000.0;

/// The ideal point-mass robot.
pub struct MassRobot {
    environment: Box<dyn Environment>,
    pace: Pace,
    probe: Probe,
    contact_n: Axes,
    force_n: Axes,
    brake: Brake,
    counts: Counts,
}

impl MassRobot {
    /// A robot at rest at `start_m` \[m\] in `environment`.
    #[must_use]
    pub fn new(start_m: Axes, environment: Box<dyn Environment>) -> Self {
        Self {
            environment,
            pace: Pace::default(),
            probe: Probe {
                position_m: start_m,
                ..Probe::default()
            },
            contact_n: [0.0; AXES],
            force_n: [0.0; AXES],
            brake: Brake::behind(0.0),
            counts: Counts::default(),
        }
    }

    fn step(&mut self) {
        let contact_n = self.environment.step(&self.probe, SUBSTEP_S);
        self.contact_n = self.counts.trusted(&contact_n, FORCE_N_MAX);
        let probe = &self.probe;
        let held_n = self.brake.added_n(&probe.position_m, &probe.velocity_mps);
        for (axis, held_n) in held_n.into_iter().enumerate() {
            let velocity_mps = &mut self.probe.velocity_mps[axis];
            let drive_n = self.force_n[axis] + held_n;
            let force_n = drive_n + self.contact_n[axis] - DAMPING_NSPM * *velocity_mps;
            *velocity_mps += SUBSTEP_S * force_n / MASS_KG;
            self.probe.position_m[axis] += SUBSTEP_S * *velocity_mps;
        }
    }
}

impl Robot for MassRobot {
    fn caps(&self) -> RobotCaps {
        RobotCaps {
            name: "simulated-mass",
            force_n_max: [FORCE_N_MAX; AXES],
            force_sensor: true,
            real: false,
        }
    }

    fn read(&mut self, now: Time) -> Reading {
        let steps = self.pace.advance(now);
        for _ in 0..steps {
            self.step();
        }
        Reading {
            position_m: self.probe.position_m,
            velocity_mps: self.probe.velocity_mps,
            contact_force_n: self.contact_n,
            force_valid: true,
            tissue_energy_j: self.environment.energy_j(),
            opened: self.environment.opened(),
        }
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.force_n = self.counts.accepted(force_n, &[FORCE_N_MAX; AXES]);
        self.probe.closed = closed;
        self.brake.renew();
    }

    fn replay(&mut self, stroke: &Stroke) -> Result<(), StrokeRefusal> {
        self.environment.replay(stroke)
    }

    fn opened(&self) -> Opened {
        self.environment.opened()
    }

    fn foreign(&self, run: u64) -> u64 {
        self.environment.foreign(run)
    }

    fn done(&self, number: u64) -> Option<Stroke> {
        self.environment.done(number)
    }

    fn counts(&self) -> Counts {
        Counts {
            time_jumps: self.pace.jumps(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::{Free, Wall};
    use super::*;

    #[test]
    fn coasts_as_the_closed_form_does() {
        let mut robot = MassRobot::new([0.0; AXES], Box::new(Free));
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
        let mut robot = MassRobot::new([0.0; AXES], Box::new(Wall::rp1(1000.0)));
        robot.read(Time(0));
        let mut reading = Reading::default();
        for ms in 1..10_000 {
            robot.write(&[0.0, 0.0, -2.0, 0.0], false);
            reading = robot.read(Time(ms * 1_000_000));
        }
        assert!((reading.position_m[2] + 0.012).abs() < 1e-6);
        assert!((reading.contact_force_n[2] - 2.0).abs() < 1e-3);
        assert!((reading.tissue_energy_j - 0.002).abs() < 1e-6);
    }

    #[test]
    fn issue_a_robot_whose_process_stops_went_on_under_its_last_command() {
        for (wall_npm, push_n) in [(0.0, 2.0), (300.0, -2.0_f64)] {
            let mut robot = MassRobot::new([0.0; AXES], Box::new(Wall::rp1(wall_npm)));
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
            // what it covers before it notices, and while it brakes
            let allowed_m = 5e-4 + 5e-3 * speed_mps;
            let moved_m = (late.position_m[2] - left_m).abs();
            assert!(moved_m < allowed_m, "{moved_m} m at {speed_mps} m/s");
            assert!(late.velocity_mps[2].abs() < 1e-3);
        }
    }
}
