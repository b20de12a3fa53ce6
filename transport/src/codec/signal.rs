//! Judged signal of a frame, and the threshold of perception between two values.
//!
//! Source: teleop E14: `|x - x_last| > max(k |x_last|, floor)`, by the norm over x, y, z. The opening
//! of the gripper is judged separately, as it is another finger. k grows with speed (Kammerl et al. 2010).

use super::params::CodecParams;
use crate::coupling::{CouplingParams, FeedbackKind, RelayedForce};
use crate::frame::HapticFrame;
use crate::trace::Side;
use crate::{AXES, Axes};

/// Signal of a sender's frames that the operator perceives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerceivedSignal {
    /// Velocity \[m/s\]; the master's frames.
    Velocity,
    /// Measured contact force \[N\]; the slave's frames where this force is rendered or updates the twin.
    ContactForce,
    /// Coupling force \[N\]; the slave's frames otherwise.
    PortForce,
}

impl PerceivedSignal {
    /// Judged signal of a side's frames: for the slave, the force that is rendered or that updates the twin.
    /// In `wave`, `wave-tdpa` and `pspm`, which send neither, the coupling force replaces it.
    #[must_use]
    pub fn sent_by(side: Side, coupling: &CouplingParams) -> Self {
        let contact = match coupling.mode.feedback() {
            FeedbackKind::Twin => true,
            FeedbackKind::Relayed => coupling.relayed == RelayedForce::Contact,
            FeedbackKind::Port | FeedbackKind::Wave | FeedbackKind::Spring => false,
        };
        match side {
            Side::Master => Self::Velocity,
            Side::Slave if contact => Self::ContactForce,
            Side::Slave => Self::PortForce,
        }
    }

    /// Returns its value in a frame.
    #[must_use]
    pub fn read(self, frame: &HapticFrame) -> Axes {
        match self {
            Self::Velocity => frame.velocity_mps,
            Self::ContactForce => frame.contact_force_n,
            Self::PortForce => frame.port_force_n,
        }
    }

    /// Replaces its value in a frame.
    pub fn write(self, frame: &mut HapticFrame, value: Axes) {
        match self {
            Self::Velocity => frame.velocity_mps = value,
            Self::ContactForce => frame.contact_force_n = value,
            Self::PortForce => frame.port_force_n = value,
        }
    }
}

/// Threshold of perception between two values of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeberThreshold {
    weber: f64,
    weber_per_mps: f64,
    floor: f64,
}

impl WeberThreshold {
    /// Creates the threshold of a signal, in its unit.
    #[must_use]
    pub fn new(params: &CodecParams, judged: PerceivedSignal) -> Self {
        Self {
            weber: params.weber,
            weber_per_mps: params.weber_per_mps,
            floor: match judged {
                PerceivedSignal::Velocity => params.floor_mps,
                _ => params.floor_n,
            },
        }
    }

    /// True if `value` differs perceptibly from `known` at a speed \[m/s\] of the hand or the robot.
    /// True as well for a value that is not a number.
    #[must_use]
    pub fn is_exceeded(&self, known: &Axes, value: &Axes, speed_mps: f64) -> bool {
        let k = self.weber + self.weber_per_mps * speed_mps;
        let apart: Axes = std::array::from_fn(|axis| value[axis] - known[axis]);
        let within = |off: f64, size: f64| off <= (k * size).max(self.floor);
        !(within(norm_xyz(&apart), norm_xyz(known).min(norm_xyz(value)))
            && within(apart[3].abs(), known[3].abs().min(value[3].abs())))
    }
}

/// Norm of the spatial part: x, y, z.
#[must_use]
pub(crate) fn norm_xyz(axes: &Axes) -> f64 {
    let [x, y, z, _] = axes;
    (x * x + y * y + z * z).sqrt()
}

const _: () = assert!(AXES == 4);
