//! Interface of the coupling methods, and their inputs at both ends.

use super::delay_gain::FrameSpacing;
use super::drift::DriftCorrection;
use super::{CouplingParams, EnergyTank, ImpedanceMatching, RelayedForce};
use crate::frame::FrameFlags;
use crate::{Axes, HapticFrame};

/// Rendered quantity of a method; several properties of [`super::Mode`] follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedbackKind {
    /// Newest coupling force on the robot.
    Port,
    /// Newest force of the robot that [`super::RelayedForce`] selects.
    Relayed,
    /// A wave with impedance b.
    Wave,
    /// Force of a spring between handle and robot; the robot's own controller is then no stiffer than this spring.
    Spring,
    /// The twin's force.
    Twin,
}

/// A coupling method. An instance runs at each end and does that end's part of a tick, axis by axis.
pub(super) trait Method {
    /// Resets the state for a peer that restarted: its sums count from 0 again.
    fn restart(&mut self)
    where
        Self: Sized + Default,
    {
        *self = Self::default();
    }

    /// Begins a tick, in which the method may become active (`becomes_active`); `received_factor` converts sums of the
    /// incoming wave to its new impedance b.
    fn begin_tick(&mut self, _newest: &HapticFrame, _becomes_active: bool, _received_factor: f64) {}

    /// Master: takes the twin's state at the contact.
    fn observe_twin(&mut self, _inputs: &CouplingInputs<'_>, _twin: &TwinInputs<'_>) {}

    /// Fraction of the twin's force in the rendered force, 0 to 1.
    fn twin_fraction(&self) -> f64 {
        0.0
    }

    /// Records the work of the port on the channel \[J\] as it moved by `moved_m`.
    fn record_work(&mut self, _axis: usize, _channel_j: f64, _moved_m: f64) {}

    /// Master: force demand.
    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand;

    /// Slave: velocity demand.
    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand;

    /// Master: sends energy to the slave, after the tank has paid for the force.
    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>);

    /// Slave: sends energy to the master, after the tank has paid for the motion.
    fn transfer_back(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        self.transfer(outgoing);
    }
}

/// Inputs of both ends of a method in a tick, common to all axes.
#[derive(Debug, Clone, Copy)]
pub struct CouplingInputs<'a> {
    /// Parameters that both sides agreed on.
    pub params: &'a CouplingParams,
    /// Wave impedance b of this tick, before the ratio of an axis \[N s/m\].
    pub impedance_nspm: f64,
    /// Newest frame of the other side; number 0 if there is none.
    pub newest: &'a HapticFrame,
    /// True if the newest frame is recent enough for its samples to be held.
    pub fresh: bool,
    /// Round trip of the last reply \[s\]; 0 before the first one.
    pub round_trip_s: f64,
    /// Time since the previous tick \[s\].
    pub dt_s: f64,
}

impl CouplingInputs<'_> {
    /// Damping of the robot's controller on one axis \[N s/m\]: the wave impedance b if the robot is matched to it,
    /// otherwise the controller's own damping `own_nspm`. Its stiffness is constant over the session
    /// ([`CouplingParams::robot_stiffness_npm`]).
    #[must_use]
    pub fn robot_damping_nspm(&self, axis: usize, own_nspm: f64) -> f64 {
        let matched =
            self.params.mode.sends_waves() && self.params.matching != ImpedanceMatching::None;
        if matched {
            self.sent_impedance_nspm(axis)
        } else {
            own_nspm
        }
    }

    /// Wave impedance of outgoing waves in this tick on one axis \[N s/m\].
    pub(super) fn sent_impedance_nspm(&self, axis: usize) -> f64 {
        self.impedance_nspm * self.params.impedance_ratio[axis]
    }

    /// Wave impedance of the newest frame's wave on one axis, for decoding
    /// \[N s/m\].
    pub(super) fn received_impedance_nspm(&self, axis: usize) -> f64 {
        self.received_base_nspm() * self.params.impedance_ratio[axis]
    }

    /// The same before the ratio of an axis \[N s/m\].
    pub(super) fn received_base_nspm(&self) -> f64 {
        self.newest
            .wave_impedance_nspm()
            .unwrap_or(self.impedance_nspm)
    }

    /// Reported force of the tissue on the probe \[N\], if it is known.
    pub(super) fn contact_force_n(&self, axis: usize) -> Option<f64> {
        let known = self.newest.flags & FrameFlags::FORCE_VALID != 0;
        known.then_some(self.newest.contact_force_n[axis])
    }

    /// Relayed force in the sign of the handle's port \[N\]: the contact force on the probe, or the negative
    /// coupling force.
    pub(super) fn relayed_force_n(&self, axis: usize) -> f64 {
        let port_n = self.newest.port_force_n[axis];
        match self.params.relayed {
            RelayedForce::Contact => self
                .contact_force_n(axis)
                .map_or(port_n, |contact_n| -contact_n),
            RelayedForce::Port => port_n,
        }
    }
}

/// Inputs from the twin in a tick of the master.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwinInputs<'a> {
    /// Measured round trip \[s\]; none if no frames arrive.
    pub rtt_s: Option<f64>,
    /// Confidence in the twin at this position, 0 to 1.
    pub confidence: f64,
    /// Corrected force of the twin on the tool by axis \[N\]; 0 without a twin.
    pub force_n: &'a Axes,
    /// True if its force may step, as the operator holds another instrument.
    pub force_jumps: bool,
}

/// Motion from rest to the whole of a dry friction \[m\] (presliding, Dahl 1968): the friction does not leap where a
/// hand turns, and the tremor of a hand stays within it. Ours.
pub const PRESLIDING_M: f64 = 1e-3;

/// One axis of the handle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HandleAxis {
    /// Index of the axis.
    pub axis: usize,
    /// Position \[m\].
    pub position_m: f64,
    /// Velocity \[m/s\].
    pub velocity_mps: f64,
    /// Velocity smoothed for a friction, which must not oscillate in a resting hand \[m/s\].
    pub smoothed_mps: f64,
    /// Fraction of a dry friction against the motion, -1 to 1; see [`PRESLIDING_M`].
    pub sliding: f64,
    /// Port force that was commanded last \[N\].
    pub last_force_n: f64,
    /// Corrected force of the twin on the tool \[N\]; 0 without a twin.
    pub twin_force_n: f64,
    /// Energy that the twin may return along this axis \[J\].
    pub twin_energy_j: f64,
    /// Part of the twin's force that holds the edge of a blade \[N\]: the robot has no blade, so it is not relayed.
    pub blade_force_n: f64,
}

/// One axis of the master's port.
#[derive(Debug, Clone, Copy)]
pub(super) struct MasterPort<'a> {
    pub(super) inputs: &'a CouplingInputs<'a>,
    pub(super) handle: &'a HandleAxis,
    /// Spacing of the newest frames.
    pub(super) spacing: FrameSpacing,
    /// Level of the tank \[J\].
    pub(super) level_j: f64,
    /// Part of the level that a blade may return, which the channel must not use \[J\].
    pub(super) blade_energy_j: f64,
}

impl MasterPort<'_> {
    /// Part of the level that the channel may use \[J\].
    pub(super) fn available_j(&self) -> f64 {
        self.level_j - self.blade_energy_j
    }
}

/// Force demand of a method.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ForceDemand {
    /// Port force \[N\].
    pub force_n: f64,
    /// Incoming wave as used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`crate::trace::EventFlags`].
    pub events: u32,
}

impl ForceDemand {
    pub(super) fn from_force(force_n: f64) -> Self {
        Self {
            force_n,
            ..Self::default()
        }
    }
}

/// One axis of the robot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobotAxis {
    /// Index of the axis.
    pub axis: usize,
    /// Position of the port x_sd \[m\].
    pub port_position_m: f64,
    /// True if the probe is in contact.
    pub touching: bool,
    /// Measured force of the tissue on the probe, if it is known \[N\].
    pub contact_force_n: Option<f64>,
    /// Controller from port to robot.
    pub pd: PdController,
}

/// One axis of the slave's port.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlavePort<'a> {
    pub(super) inputs: &'a CouplingInputs<'a>,
    pub(super) robot: &'a RobotAxis,
    /// Spacing of the newest frames.
    pub(super) spacing: FrameSpacing,
    /// Distance of the port behind the handle \[m\].
    pub(super) position_error_m: f64,
    /// Correction of that distance.
    pub(super) correction: DriftCorrection,
    /// Level of the tank \[J\].
    pub(super) level_j: f64,
}

impl SlavePort<'_> {
    /// Velocity of the handle \[m/s\]; 0 when no frames arrive.
    pub(super) fn handle_velocity_mps(&self) -> f64 {
        if self.inputs.fresh {
            self.inputs.newest.velocity_mps[self.robot.axis]
        } else {
            0.0
        }
    }
}

/// Velocity demand of a method.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VelocityDemand {
    /// Velocity of the port \[m/s\].
    pub velocity_mps: f64,
    /// Incoming wave as used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`crate::trace::EventFlags`].
    pub events: u32,
}

impl VelocityDemand {
    pub(super) fn from_velocity(velocity_mps: f64) -> Self {
        Self {
            velocity_mps,
            ..Self::default()
        }
    }
}

/// Motion of one axis of the slave's port in a tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlavePortMotion {
    /// Index of the axis.
    pub axis: usize,
    /// Velocity of the port \[m/s\].
    pub velocity_mps: f64,
    /// Coupling force on the robot \[N\].
    pub force_n: f64,
    /// Work into the channel that was put into the tank \[J\].
    pub work_j: f64,
}

/// Energy that one axis of an end may send to the other.
pub(super) struct EnergyTransfer<'a> {
    pub(super) inputs: &'a CouplingInputs<'a>,
    pub(super) axis: usize,
    /// Energy of the wave that is sent \[J\].
    pub(super) wave_j: f64,
    /// Energy that stays for the held force and for a blade; 0 at the slave \[J\].
    pub(super) reserve_j: f64,
    pub(super) blade_energy_j: f64,
    /// Energy that the twin may return \[J\]; 0 at the slave.
    pub(super) twin_energy_j: f64,
    pub(super) tank: &'a mut EnergyTank,
}

impl EnergyTransfer<'_> {
    /// Level of the tank \[J\].
    pub(super) fn level_j(&self) -> f64 {
        self.tank.level_j()[self.axis]
    }

    /// Sends up to `wanted_j`, leaving `left_j` in the tank \[J\].
    pub(super) fn transfer(&mut self, wanted_j: f64, left_j: f64) {
        self.tank.transfer(self.axis, wanted_j, left_j);
    }

    /// Sends the energy of the wave, even if the level is too low \[J\].
    pub(super) fn transfer_unpaid(&mut self) {
        self.tank.transfer_unpaid(self.axis, self.wave_j);
    }
}

/// A PD coupling from the desired to the measured robot position, at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PdController {
    /// Stiffness K \[N/m\].
    pub stiffness_npm: f64,
    /// Damping B \[N s/m\].
    pub damping_nspm: f64,
    /// `x_sd - x_s` before this tick's motion \[m\].
    pub error_m: f64,
    /// Velocity of the robot \[m/s\].
    pub robot_velocity_mps: f64,
    /// Tick period T \[s\].
    pub dt_s: f64,
}

impl PdController {
    /// Force at zero desired velocity \[N\].
    #[must_use]
    pub fn force_at_rest(&self) -> f64 {
        self.stiffness_npm * self.error_m - self.damping_nspm * self.robot_velocity_mps
    }

    /// Change of force per unit of desired velocity, `K T + B` \[N s/m\].
    #[must_use]
    pub fn slope_nspm(&self) -> f64 {
        self.stiffness_npm * self.dt_s + self.damping_nspm
    }

    /// Force when the desired position moves at `v` during this tick (implicit Euler) \[N\].
    #[must_use]
    pub fn force(&self, v: f64) -> f64 {
        self.force_at_rest() + self.slope_nspm() * v
    }

    /// Desired velocity that solves the wave port together with the PD (E2, the algebraic loop):
    /// `v = (sqrt(2b) u - F(0)) / (b + B + K T)` \[m/s\].
    pub(super) fn wave_velocity(&self, b: f64, u: f64) -> f64 {
        ((2.0 * b).sqrt() * u - self.force_at_rest()) / (b + self.slope_nspm())
    }
}
