//! What every simulated robot has: its environment, the plant's time, the drive's brake, and what went wrong.

use palpate_port::Counts;
use palpate_port::mass::PointMass;
use palpate_port::pace::{Pace, SUBSTEP_S};
use palpate_transport::{Axes, Stroke, Time};

use super::brake::Brake;
use super::{Environment, Opened, Probe, Reading, Robot, RobotCaps, StrokeRefusal};

/// Largest force of an environment that is believed \[N\].
const CONTACT_N_MAX: f64 = 1000.0;

/// What moves, and what is measured of it.
pub(super) trait Plant: Send {
    /// What the robot can do.
    fn caps(&self) -> RobotCaps;

    /// The body of probe and gripper.
    fn body(&self) -> &PointMass;

    /// Advance by one sub-step under the environment's force and what the drive's own loop adds, both \[N\].
    fn step(&mut self, contact_n: &Axes, held_n: &Axes);

    /// Take a command that is within [`RobotCaps::force_n_max`] \[N\].
    fn command(&mut self, force_n: &Axes);

    /// Read the sensors `passed_s` \[s\] after the last reading; `energy_j` \[J\] is in the environment.
    fn read(&mut self, passed_s: f64, energy_j: f64) -> Reading;
}

/// A simulated robot in its environment.
pub(super) struct Simulated<P> {
    environment: Box<dyn Environment>,
    pace: Pace,
    closed: bool,
    pub(super) plant: P,
    brake: Brake,
    counts: Counts,
}

impl<P: Plant> Simulated<P> {
    /// A plant at rest whose actuators lag by `lag_s` \[s\].
    pub(super) fn of(plant: P, lag_s: f64, environment: Box<dyn Environment>) -> Self {
        Self {
            environment,
            pace: Pace::default(),
            closed: false,
            plant,
            brake: Brake::behind(lag_s),
            counts: Counts::default(),
        }
    }

    /// Advance by one sub-step.
    fn step(&mut self) {
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
        let contact_n = self.counts.trusted(&contact_n, CONTACT_N_MAX);
        let held_n = self.brake.added_n(&position_m, &velocity_mps);
        self.plant.step(&contact_n, &held_n);
    }
}

impl<P: Plant> Robot for Simulated<P> {
    fn caps(&self) -> RobotCaps {
        self.plant.caps()
    }

    fn read(&mut self, now: Time) -> Reading {
        let steps = self.pace.advance(now);
        for _ in 0..steps {
            self.step();
        }
        let passed_s = f64::from(steps) * SUBSTEP_S;
        Reading {
            opened: self.environment.opened(),
            ..self.plant.read(passed_s, self.environment.energy_j())
        }
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        let limit_n = self.plant.caps().force_n_max;
        self.plant.command(&self.counts.accepted(force_n, &limit_n));
        self.closed = closed;
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
