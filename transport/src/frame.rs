//! The haptic frame: all that one side tells the other, every tick.
//!
//! Every quantity that must survive loss, duplication and reordering is cumulative (teleop E6b):
//! a receiver that sees only the newest frame has lost nothing. Fixed size, so that no length in
//! it can lie.

use serde::{Deserialize, Serialize};

use crate::Axes;

/// One frame of the stream, master to slave or slave to master.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct HapticFrame {
    /// Counts the frames that the sender made, from 1; 0 is no frame.
    pub sequence: u64,
    /// When it was sent, on the sender's clock \[ns\].
    pub sent_ns: i64,
    /// `sent_ns` of the newest frame that the sender had received (teleop E17, t1) \[ns\].
    pub echo_sent_ns: i64,
    /// When the sender received that frame, on its own clock (teleop E17, t2) \[ns\].
    pub echo_received_ns: i64,
    /// Counts changes of the wave impedance; always 0 until it can change while a session runs. The
    /// receiver takes `b` from every frame.
    pub impedance_epoch: u32,
    /// Sender's state, see [`FrameFlags`].
    pub flags: u32,
    /// Wave impedance b of the sender \[N s/m\].
    pub impedance_nspm: f64,
    /// Position: the handle's (from the master) or the robot's (from the slave) \[m\].
    pub position_m: Axes,
    /// Its velocity \[m/s\].
    pub velocity_mps: Axes,
    /// Port force \[N\]: written to the handle (master), or coupling force on the robot (slave).
    pub port_force_n: Axes,
    /// Measured contact force on the probe \[N\] (slave); zero from the master.
    pub contact_force_n: Axes,
    /// Newest wave sample u (master) or w (slave) \[sqrt(W)\].
    pub wave: Axes,
    /// Cumulative integral of the wave, sum of `wave * T` \[sqrt(W) s\].
    pub wave_integral: Axes,
    /// Cumulative energy sent in this direction \[J\], never decreasing.
    pub energy_sent_j: Axes,
    /// Energy left in the sender's account \[J\]; a hint for sharing, never booked.
    pub reservoir_j: Axes,
}

impl HapticFrame {
    /// Length of an encoded frame, with its CDR encapsulation header \[bytes\].
    pub const ENCODED_BYTES: usize = 308;

    /// Whether every number in it could come from a machine: a frame that is not must not be used.
    ///
    /// Energies and integrals grow with a session; 1 MJ and 1e6 sqrt(W) s are years of palpation.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let within = |values: &Axes, most: f64| values.iter().all(|value| value.abs() <= most);
        is_plausible(&self.position_m, &self.velocity_mps)
            && within(&self.port_force_n, 1e6)
            && within(&self.contact_force_n, 1e6)
            && within(&self.wave, 1e6)
            && within(&self.wave_integral, 1e6)
            && within(&self.energy_sent_j, 1e6)
            && within(&self.reservoir_j, 1e6)
            && self.impedance_nspm.is_finite()
    }
}

/// Whether a position \[m\] and a velocity \[m/s\] could come from a device: within 10 m and
/// 1000 m/s, and numbers at all.
#[must_use]
pub fn is_plausible(position_m: &Axes, velocity_mps: &Axes) -> bool {
    position_m.iter().all(|value| value.abs() <= 10.0)
        && velocity_mps.iter().all(|value| value.abs() <= 1e3)
}

/// Bits of [`HapticFrame::flags`].
pub struct FrameFlags;

impl FrameFlags {
    /// The operator is present and motion may pass.
    pub const ENGAGED: u32 = 1;
    /// The contact force is known (unset: unknown, which is not zero).
    pub const FORCE_VALID: u32 = 1 << 1;
    /// The operator's tweezers are closed (or the gripper is).
    pub const CLOSED: u32 = 1 << 2;
    /// The sender has latched a fault.
    pub const FAULT: u32 = 1 << 3;
}
