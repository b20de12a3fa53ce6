//! Robots that touch the remote tissue.
//!
//! `params` builds a simulated one: [`mass`] is the ideal robot of teleop RP-1, `palpator` a carriage with
//! gripper and force `sensor`; `simulated` has their common parts. [`environment`] has simple environments to touch.

mod brake;
pub mod environment;
pub mod mass;
mod palpator;
mod params;
mod sensor;
mod simulated;

use palpate_transport::{Axes, EditBatch, Time};

pub use environment::{FreeSpace, ViscoelasticWall};
pub use params::{RobotKind, RobotParams, build};

/// One reading of a robot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RobotReading {
    /// Position of the probe centre x, y, z and opening of the gripper \[m\], world frame.
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Measured force of the tissue on the probe \[N\].
    pub contact_force_n: Axes,
    /// True if that force is known.
    pub force_valid: bool,
    /// Largest true force of the simulated tissue on the probe since the last reading, by axis \[N\]; none for a real robot.
    pub peak_contact_n: Option<Axes>,
    /// Energy inside the simulated tissue \[J\], 0 if unknown.
    pub tissue_energy_j: f64,
    /// True if that tissue collapsed since the last reading and was rebuilt.
    pub tissue_collapsed: bool,
    /// Edits applied to it.
    pub edits: TissueEdits,
}

/// Edits applied to simulated tissue; zero for tissue that cannot be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TissueEdits {
    /// Edit batches finished, applied or refused, since it was whole.
    pub finished_batches: u64,
    /// Hash of its nodes, links and held nodes; 0 if it cannot be edited.
    pub topology: u64,
}

/// Robot with a probe. Reading a simulated robot advances it to `now` under the force last
/// written, so live and virtual time drive the same code.
pub trait Robot: Send {
    /// Reads the robot at `now`; never blocks, never allocates.
    fn read(&mut self, now: Time) -> RobotReading;

    /// Sets the actuator force \[N\]; `closed` drives the grasp. The drive must hold the force until the next
    /// write, or for a few ms, whichever is sooner, and then hold its position by itself. A stopped process
    /// must not leave a robot under a force without a command.
    fn write(&mut self, force_n: &Axes, closed: bool);

    /// Simulated environment at its probe, for edits between two readings; none for a real robot, as no message
    /// can edit its tissue.
    fn environment(&mut self) -> Option<&mut dyn Environment> {
        None
    }
}

/// State of the simulated probe during one plant step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Probe {
    /// Position x, y, z and opening \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// True if the gripper was commanded closed.
    pub closed: bool,
}

/// Environment that a simulated robot touches; the lab injects its true tissue here.
pub trait Environment: Send {
    /// Advances by `dt_s` \[s\] and returns the force on the probe \[N\]; never allocates.
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes;

    /// Energy stored inside \[J\], 0 if unknown.
    fn energy_j(&self) -> f64;

    /// Returns true if it collapsed since the last call and was rebuilt.
    fn take_collapse(&mut self) -> bool {
        false
    }

    /// Applies the next edit batch between two steps; returns true if it was applied. Never allocates. A batch with an
    /// invalid change counts as finished all the same, so that it does not block later ones.
    fn apply_batch(&mut self, _batch: &EditBatch) -> bool {
        false
    }

    /// Edits applied so far.
    fn edits(&self) -> TissueEdits {
        TissueEdits::default()
    }

    /// Number of the last finished batch that another run of the master made; this run receives all up to it.
    fn foreign_batches(&self, _run: u64) -> u64 {
        0
    }

    /// Returns a finished batch by its number, for a run of the master that lacks it.
    fn finished_batch(&self, _number: u64) -> Option<EditBatch> {
        None
    }
}
