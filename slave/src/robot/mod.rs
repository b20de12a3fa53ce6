//! Robots: what touches the remote tissue.
//!
//! `params` builds a simulated one: [`mass`] is the ideal robot of teleop RP-1, `palpator` a
//! carriage with gripper and force `sensor`; `simulated` has what both share. [`environment`] has the simplest worlds to touch.

mod brake;
pub mod environment;
pub mod mass;
mod palpator;
mod params;
mod sensor;
mod simulated;

use palpate_port::Counts;
use palpate_transport::{Axes, Stroke, Time};

pub use environment::{Free, Wall};
pub use params::{RobotKind, RobotParams, build};

/// What a robot can do, as data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobotCaps {
    /// Name of the robot.
    pub name: &'static str,
    /// Largest actuator force, by axis \[N\].
    pub force_n_max: Axes,
    /// Whether it has a force sensor (else contact forces are unknown, not zero).
    pub force_sensor: bool,
    /// Whether it is a real machine (else simulated).
    pub real: bool,
}

/// One reading of a robot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// Position of the probe centre x, y, z and opening of the gripper \[m\], world frame.
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Measured force of the tissue on the probe \[N\].
    pub contact_force_n: Axes,
    /// Whether that force is known.
    pub force_valid: bool,
    /// Energy inside the simulated tissue \[J\], 0 if unknown.
    pub tissue_energy_j: f64,
    /// What strokes have made of it.
    pub opened: Opened,
}

/// What strokes have made of simulated tissue; nothing of tissue that they cannot open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Opened {
    /// Strokes that are over, done or refused, since it was whole.
    pub strokes: u64,
    /// Which elements are there, linked and held; 0 if strokes cannot change that.
    pub topology: u64,
}

/// Why a stroke was not done; the tissue is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StrokeRefusal {
    /// Strokes do nothing to what is touched.
    #[error("a stroke cannot open this tissue; expected one of elements and links")]
    Closed,
    /// Another one comes first.
    #[error("stroke {found} does not come next; expected {expected}")]
    Order {
        /// Its number.
        found: u64,
        /// The number that comes next.
        expected: u64,
    },
    /// No more of its history can be kept.
    #[error("no room for stroke {number} in the history of this tissue")]
    Full {
        /// Its number.
        number: u64,
    },
    /// A change that this tissue cannot have. The stroke is over all the same, so that it holds up none after it.
    #[error("change {index} of stroke {number} is none of this tissue")]
    Change {
        /// Number of the stroke.
        number: u64,
        /// Which of its changes, from 0.
        index: usize,
    },
}

/// A robot with a probe. Reading one advances a simulated robot to `now` under the force last
/// written, so live and virtual time drive the same code.
pub trait Robot: Send {
    /// What the robot can do.
    fn caps(&self) -> RobotCaps;

    /// Read the robot at `now`; never blocks, never allocates.
    fn read(&mut self, now: Time) -> Reading;

    /// Set the actuator force \[N\]; `closed` drives the grasp. The drive must hold it until the next
    /// write, or for a few ms, whichever is sooner, and then hold its place by itself: a process that
    /// stops must not leave a robot under a force that nobody commands.
    fn write(&mut self, force_n: &Axes, closed: bool);

    /// Do a stroke to the simulated tissue, between two readings; never allocates. What a real robot touches
    /// no message opens.
    ///
    /// # Errors
    /// [`StrokeRefusal`]; then nothing was done.
    fn replay(&mut self, _stroke: &Stroke) -> Result<(), StrokeRefusal> {
        Err(StrokeRefusal::Closed)
    }

    /// What strokes have made of the tissue by now.
    fn opened(&self) -> Opened {
        Opened::default()
    }

    /// How many of the strokes that are over were not all made by this run of the master: those that it must be told.
    fn foreign(&self, _run: u64) -> u64 {
        0
    }

    /// A stroke that is over, by its number, for a run of the master that does not know it.
    fn done(&self, _number: u64) -> Option<Stroke> {
        None
    }

    /// What went wrong so far.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// What stands at the simulated probe during one plant step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Probe {
    /// Position x, y, z and opening \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Whether the gripper was commanded closed.
    pub closed: bool,
}

/// The world that a simulated robot touches; the lab injects its true tissue here.
pub trait Environment: Send {
    /// Advance by `dt_s` \[s\] and give the force on the probe \[N\]; never allocates.
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes;

    /// Energy stored inside \[J\], 0 if unknown.
    fn energy_j(&self) -> f64;

    /// Do a stroke between two steps; never allocates.
    ///
    /// # Errors
    /// [`StrokeRefusal`]; then nothing was done.
    fn replay(&mut self, _stroke: &Stroke) -> Result<(), StrokeRefusal> {
        Err(StrokeRefusal::Closed)
    }

    /// What strokes have made of it by now.
    fn opened(&self) -> Opened {
        Opened::default()
    }

    /// See [`Robot::foreign`].
    fn foreign(&self, _run: u64) -> u64 {
        0
    }

    /// See [`Robot::done`].
    fn done(&self, _number: u64) -> Option<Stroke> {
        None
    }
}
