//! Handles: what an operator holds.
//!
//! [`params`] builds a simulated one: [`mass`] is the ideal handle of teleop RP-1, `phantom` an
//! arm with tweezers, [`mod@pointer`] a mouse or a finger on a screen. [`grip`] is the hand on it and [`script`] what the
//! hand means to do ([`palpation`] over a patch, [`procedure`] any steps with any instrument).

pub mod grip;
mod lead;
mod leg;
pub mod mass;
pub mod palpation;
pub mod params;
mod phantom;
pub mod pointer;
pub mod procedure;
pub mod script;

use palpate_port::Counts;
use palpate_transport::frame::is_plausible;
use palpate_transport::{Axes, Time};
use palpate_twin::Instrument;

pub use params::{HandleKind, OperatorParams, build};

/// What a handle can do, as data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandleCaps {
    /// Name of the device.
    pub name: &'static str,
    /// Force beyond which the device saturates, by axis \[N\].
    pub force_n_max: Axes,
    /// Smallest step of the position reading, by axis \[m\].
    pub resolution_m: Axes,
    /// Least mass that a force on the handle moves, in any pose and without a hand, by axis \[kg\].
    pub mass_kg_min: Axes,
    /// After how long the device lets go of a force that is not renewed \[s\]; none if it holds it for
    /// ever. The energy account pays for as long as a force may be held, so without it a handle displays
    /// less stiffness, and a master that stops for longer than 20 ms may make energy.
    pub let_go_s: Option<f64>,
    /// Whether a person may be holding it (else it is simulated).
    pub real: bool,
}

/// How often the operator has asked, since the start, to take back what an instrument did, and to do it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revisions {
    /// Strokes to be taken back.
    pub undo: u16,
    /// Strokes to be done again.
    pub redo: u16,
}

/// One reading of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// Position of the tool centre x, y, z and opening of the tweezers \[m\], world frame.
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Whether the tweezers' closure switch is on.
    pub closed: bool,
    /// What the tool does beside pressing.
    pub instrument: Instrument,
    /// What the operator has asked to be taken back or done again.
    pub revisions: Revisions,
    /// Whether the hand has put its tool down since the last reading, where that was then, and has the other one.
    pub swapped: bool,
    /// Whether the operator is present.
    pub present: bool,
    /// Where a simulated operator means to be \[m\]; the position itself for a real one.
    pub intended_m: Axes,
    /// Phase of a simulated operator's script, 0 for a real one.
    pub phase: u16,
    /// Where the handle was when the device let go of the force that was written last \[m\]; none if it
    /// held it until now. So the work of the force is known exactly, however late the reading is.
    pub let_go_m: Option<Axes>,
}

impl Reading {
    /// Whether every position and velocity could come from a device, see [`is_plausible`].
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let let_go_m = self.let_go_m.unwrap_or(self.position_m);
        is_plausible(&self.position_m, &self.velocity_mps)
            && is_plausible(&let_go_m, &Axes::default())
    }
}

/// A haptic handle. Reading one advances a simulated handle to `now` under the force last
/// written, so live and virtual time drive the same code.
pub trait Handle: Send {
    /// What the device can do.
    fn caps(&self) -> HandleCaps;

    /// Read the device at `now`; never blocks, never allocates.
    fn read(&mut self, now: Time) -> Reading;

    /// Set the force on the operator's hand \[N\]. The device must hold it until the next write, or for
    /// [`HandleCaps::let_go_s`], whichever is sooner, and then give none; the next reading says where
    /// that was ([`Reading::let_go_m`]).
    fn write(&mut self, force_on_hand_n: &Axes);

    /// What went wrong so far.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}
