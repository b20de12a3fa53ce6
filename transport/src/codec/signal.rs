//! What of a frame is felt, and when two of its values can be told apart.
//!
//! Source: teleop E14: `|x - x_last| > max(k |x_last|, floor)`, by the norm over x, y, z; the opening
//! of the gripper is judged by itself, as it is another finger. k grows with speed (Kammerl et al. 2010).

use super::params::CodecParams;
use crate::coupling::{CouplingParams, Felt, Relayed};
use crate::frame::HapticFrame;
use crate::trace::Side;
use crate::{AXES, Axes};

/// Which signal of a sender's frames is felt at the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Velocity \[m/s\]; the master's frames.
    Velocity,
    /// Measured contact force \[N\]; the slave's frames where it is what is felt or taught.
    ContactForce,
    /// Coupling force \[N\]; the slave's frames otherwise.
    PortForce,
}

impl Judged {
    /// What is judged of the frames of a side: of the slave's, the force that the hand or the twin is given.
    /// In `wave`, `wave-tdpa` and `pspm`, which send neither, the coupling force stands in.
    #[must_use]
    pub fn of(side: Side, coupling: &CouplingParams) -> Self {
        let contact = match coupling.mode.felt() {
            Felt::Twin => true,
            Felt::Relayed => coupling.relayed == Relayed::Contact,
            Felt::Port | Felt::Wave | Felt::Spring => false,
        };
        match side {
            Side::Master => Self::Velocity,
            Side::Slave if contact => Self::ContactForce,
            Side::Slave => Self::PortForce,
        }
    }

    /// Its value in a frame.
    #[must_use]
    pub fn read(self, frame: &HapticFrame) -> Axes {
        match self {
            Self::Velocity => frame.velocity_mps,
            Self::ContactForce => frame.contact_force_n,
            Self::PortForce => frame.port_force_n,
        }
    }

    /// Put another value in its place.
    pub fn write(self, frame: &mut HapticFrame, value: Axes) {
        match self {
            Self::Velocity => frame.velocity_mps = value,
            Self::ContactForce => frame.contact_force_n = value,
            Self::PortForce => frame.port_force_n = value,
        }
    }
}

/// When two values of a signal can be told apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    weber: f64,
    weber_per_mps: f64,
    floor: f64,
}

impl Threshold {
    /// For a signal, in its unit.
    #[must_use]
    pub fn new(params: &CodecParams, judged: Judged) -> Self {
        Self {
            weber: params.weber,
            weber_per_mps: params.weber_per_mps,
            floor: match judged {
                Judged::Velocity => params.floor_mps,
                _ => params.floor_n,
            },
        }
    }

    /// Whether `value` can be told from what is `known`, at a speed \[m/s\] of the hand or the robot.
    /// A value that is not a number can.
    #[must_use]
    pub fn is_crossed(&self, known: &Axes, value: &Axes, speed_mps: f64) -> bool {
        let k = self.weber + self.weber_per_mps * speed_mps;
        let apart: Axes = std::array::from_fn(|axis| value[axis] - known[axis]);
        let within = |off: f64, size: f64| off <= (k * size).max(self.floor);
        !(within(length(&apart), length(known).min(length(value)))
            && within(apart[3].abs(), known[3].abs().min(value[3].abs())))
    }
}

/// Length of the part in space: x, y, z.
#[must_use]
pub fn length(axes: &Axes) -> f64 {
    let [x, y, z, _] = axes;
    (x * x + y * y + z * z).sqrt()
}

const _: () = assert!(AXES == 4);
