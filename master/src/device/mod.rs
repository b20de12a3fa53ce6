//! Handles: input devices of an operator, simulated or real.
//!
//! [`params`] builds a simulated one: [`mass`] is the ideal handle of teleop RP-1, `phantom` an
//! arm with tweezers, [`mod@pointer`] a mouse or a finger on a screen. [`grip`] is the hand on it and [`script`] its
//! intended motion: [`palpation`] over a patch, [`procedure`] any steps with any instrument. `minimum_jerk` and
//! `script_driver` play scripts.

pub mod grip;
pub mod mass;
mod minimum_jerk;
pub mod palpation;
pub mod params;
mod phantom;
pub mod pointer;
pub mod procedure;
pub mod script;
mod script_driver;

use palpate_transport::frame::is_plausible;
use palpate_transport::{Axes, Time};
use palpate_twin::Instrument;

pub use minimum_jerk::MinimumJerkPath;
pub use params::{HandleKind, OperatorParams, build};

/// Capabilities of a handle, as data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HandleCaps {
    /// Largest error of the distance between two position readings, by axis \[m\]: the step of an encoder, and its
    /// noise.
    pub resolution_m: Axes,
    /// Least mass that a force on the handle moves, in any pose and without a hand, by axis \[kg\].
    pub mass_kg_min: Axes,
    /// Time after which the device releases a force that is not renewed \[s\]; none if it never does.
    /// The energy tank pays for as long as a force may be held. So without it a handle displays
    /// less stiffness, and a master that stops for longer than 20 ms may create energy.
    pub force_timeout_s: Option<f64>,
}

/// Numbers of undo and redo requests since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revisions {
    /// Edit batches to be undone.
    pub undo: u16,
    /// Edit batches to be redone.
    pub redo: u16,
}

/// One reading of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HandleReading {
    /// Position of the tool centre x, y, z and opening of the tweezers \[m\], world frame.
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// True if the tweezers' closure switch is on.
    pub closed: bool,
    /// Instrument at the tool's end.
    pub instrument: Instrument,
    /// Undo and redo requests.
    pub revisions: Revisions,
    /// True if the hand has parked its tool since the last reading, at its position then, and holds the other one.
    pub tools_swapped: bool,
    /// True if the operator is present.
    pub present: bool,
    /// Intended position of a simulated operator \[m\]; the position itself for a real one.
    pub intended_m: Axes,
    /// Phase of a simulated operator's script, 0 for a real one.
    pub phase: u16,
    /// Position at which the device released the force that was written last \[m\]; none if it
    /// held it until now. So the work of the force is exact, however late the reading is.
    pub force_released_m: Option<Axes>,
}

impl HandleReading {
    /// True if every position and velocity could come from a device, see [`is_plausible`].
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let released_m = self.force_released_m.unwrap_or(self.position_m);
        is_plausible(&self.position_m, &self.velocity_mps)
            && is_plausible(&released_m, &Axes::default())
    }
}

/// Haptic handle. Reading one advances a simulated handle to `now` under the force last
/// written, so live and virtual time drive the same code.
pub trait Handle: Send {
    /// Capabilities of the device.
    fn caps(&self) -> HandleCaps;

    /// Takes the halt of its side before each reading, and the newest known position of the robot \[m\]. A handle that
    /// the program moves stands still during a halt; after it, it moves to the robot before a hand can take it.
    /// Any other handle ignores both.
    fn observe_halt(&mut self, _halted: bool, _robot_m: Option<&Axes>) {}

    /// Reads the device at `now`; never blocks, never allocates.
    fn read(&mut self, now: Time) -> HandleReading;

    /// Sets the force on the operator's hand \[N\]. The device must hold it until the next write, or for
    /// [`HandleCaps::force_timeout_s`], whichever is sooner, and then release it; the next reading has the position
    /// of the release ([`HandleReading::force_released_m`]).
    fn write(&mut self, force_on_hand_n: &Axes);
}
