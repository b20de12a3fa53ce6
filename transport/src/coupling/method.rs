//! What a coupling method is, and what it is given at its two ends.

use super::delay_gain::Spacing;
use super::drift::Repair;
use super::{CouplingParams, Matching, Relayed, Reservoir};
use crate::frame::FrameFlags;
use crate::{Axes, HapticFrame};

/// What the hand feels in a method; much that is not the method's own follows from it ([`super::Mode`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Felt {
    /// The coupling force on the robot, as it came last.
    Port,
    /// The robot's force that [`Relayed`] says, as it came last.
    Relayed,
    /// A wave of the impedance b.
    Wave,
    /// A spring to the robot, whose own controller is no stiffer.
    Spring,
    /// The twin.
    Twin,
}

/// A coupling method. An instance runs at each end and does that end's part of a tick, axis by axis.
pub(super) trait Method {
    /// Forget the peer, who began anew: its sums count from 0 again.
    fn restart(&mut self)
    where
        Self: Sized + Default,
    {
        *self = Self::default();
    }

    /// Begin a tick in which the method may join in place of another one; sums of the wave that comes change by the
    /// factor `came` with its b.
    fn begin(&mut self, _newest: &HapticFrame, _joins: bool, _came: f64) {}

    /// Master: note what the twin is like here.
    fn choose(&mut self, _moment: &Moment<'_>, _twin: &AtTwin<'_>) {}

    /// Share of the twin's force in what is felt, 0 to 1.
    fn twin_share(&self) -> f64 {
        0.0
    }

    /// Note the work of the port on the line \[J\] as it moved by `moved_m`.
    fn book(&mut self, _axis: usize, _line_j: f64, _moved_m: f64) {}

    /// Master: the force that is wanted.
    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce;

    /// Slave: the velocity that is wanted.
    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity;

    /// Master: ship energy to the slave, after the account has paid for the force.
    fn ship(&mut self, shipment: &mut Shipment<'_>);

    /// Slave: ship energy to the master, after the account has paid for the motion.
    fn ship_back(&mut self, shipment: &mut Shipment<'_>) {
        self.ship(shipment);
    }
}

/// What both ends of a method are given in a tick, whatever the axis.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Parameters that both sides agreed on.
    pub params: &'a CouplingParams,
    /// Wave impedance b of this tick, before the ratio of an axis \[N s/m\].
    pub impedance_nspm: f64,
    /// The newest frame of the other side; number 0 if there is none.
    pub newest: &'a HapticFrame,
    /// Whether it is new enough for its samples to be held.
    pub held: bool,
    /// Time since the tick before \[s\].
    pub dt_s: f64,
}

impl Moment<'_> {
    /// Damping of the robot's controller on one axis, of the one that it has \[N s/m\]: b where it is matched. Its
    /// stiffness is that of the whole session ([`CouplingParams::robot_npm`]).
    #[must_use]
    pub fn robot_nspm(&self, axis: usize, own_nspm: f64) -> f64 {
        let matched = self.params.mode.sends_waves() && self.params.matching != Matching::None;
        if matched {
            self.own_nspm(axis)
        } else {
            own_nspm
        }
    }

    /// Wave impedance of this tick on one axis, for what is sent \[N s/m\].
    pub(super) fn own_nspm(&self, axis: usize) -> f64 {
        self.impedance_nspm * self.params.impedance_ratio[axis]
    }

    /// Wave impedance that the newest frame's wave was made with on one axis, for what is decoded
    /// \[N s/m\].
    pub(super) fn came_with_nspm(&self, axis: usize) -> f64 {
        self.came_nspm() * self.params.impedance_ratio[axis]
    }

    /// The same before the ratio of an axis \[N s/m\].
    pub(super) fn came_nspm(&self) -> f64 {
        self.newest.made_with_nspm().unwrap_or(self.impedance_nspm)
    }

    /// Force of the tissue on the probe as it was reported \[N\], if it is known.
    pub(super) fn contact_n(&self, axis: usize) -> Option<f64> {
        let known = self.newest.flags & FrameFlags::FORCE_VALID != 0;
        known.then_some(self.newest.contact_force_n[axis])
    }

    /// The robot's force as the hand should push against it \[N\]: what the tissue does to the probe, the
    /// coupling does against it.
    pub(super) fn relayed_n(&self, axis: usize) -> f64 {
        let port_n = self.newest.port_force_n[axis];
        match self.params.relayed {
            Relayed::Contact => self.contact_n(axis).map_or(port_n, |contact_n| -contact_n),
            Relayed::Port => port_n,
        }
    }
}

/// The twin in a tick of the master.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtTwin<'a> {
    /// Measured round trip \[s\], none if nothing comes.
    pub rtt_s: Option<f64>,
    /// How well the twin is known at this place, 0 to 1.
    pub confidence: f64,
    /// Force of the twin on the tool by axis, corrected \[N\]; 0 without one.
    pub force_n: &'a Axes,
    /// Whether its force may leap, as the hand holds another instrument.
    pub leaps: bool,
}

/// One axis of the handle, as the methods see it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AtHandle {
    /// Which axis.
    pub axis: usize,
    /// Position \[m\].
    pub position_m: f64,
    /// Velocity \[m/s\].
    pub velocity_mps: f64,
    /// Velocity smoothed for a friction, which must not rattle in a hand that rests \[m/s\].
    pub smooth_mps: f64,
    /// Port force that was written last \[N\].
    pub last_n: f64,
    /// Force of the twin on the tool, corrected \[N\]; 0 without one.
    pub twin_n: f64,
    /// Energy that the twin may give back along this axis \[J\].
    pub twin_j: f64,
    /// Of the twin's force, what holds the edge of a blade \[N\]: the robot has no blade, so nobody relays it.
    pub edge_n: f64,
}

/// One axis of the master's port, as a method is given it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MasterPort<'a> {
    pub(super) moment: &'a Moment<'a>,
    pub(super) handle: &'a AtHandle,
    /// How the newest frames follow each other.
    pub(super) spacing: Spacing,
    /// Level of the account \[J\].
    pub(super) level_j: f64,
    /// Of the level, what a blade may give back, which is not the line's \[J\].
    pub(super) kept_j: f64,
}

impl MasterPort<'_> {
    /// What of the account is the line's \[J\].
    pub(super) fn line_j(&self) -> f64 {
        self.level_j - self.kept_j
    }
}

/// A force that a method wants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WantedForce {
    /// Port force \[N\].
    pub force_n: f64,
    /// The wave that was used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`crate::trace::Events`].
    pub events: u32,
}

impl WantedForce {
    pub(super) fn of(force_n: f64) -> Self {
        Self {
            force_n,
            ..Self::default()
        }
    }
}

/// One axis of the robot, as the methods see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtRobot {
    /// Which axis.
    pub axis: usize,
    /// Position of the port x_sd \[m\].
    pub port_m: f64,
    /// Whether the probe touches.
    pub touching: bool,
    /// Measured force of the tissue on the probe, if it is known \[N\].
    pub contact_n: Option<f64>,
    /// The controller from port to robot.
    pub pd: Pd,
}

/// One axis of the slave's port, as a method is given it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlavePort<'a> {
    pub(super) moment: &'a Moment<'a>,
    pub(super) robot: &'a AtRobot,
    /// How the newest frames follow each other.
    pub(super) spacing: Spacing,
    /// How far the port is behind the handle \[m\].
    pub(super) behind_m: f64,
    /// How fast that is made up for.
    pub(super) repair: Repair,
    /// Level of the account \[J\].
    pub(super) level_j: f64,
}

impl SlavePort<'_> {
    /// Velocity of the handle \[m/s\]; 0 when nothing comes any more.
    pub(super) fn ahead_mps(&self) -> f64 {
        if self.moment.held {
            self.moment.newest.velocity_mps[self.robot.axis]
        } else {
            0.0
        }
    }
}

/// A velocity that a method wants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WantedVelocity {
    /// Velocity of the port \[m/s\].
    pub velocity_mps: f64,
    /// The wave that was used \[sqrt(W)\]; 0 without waves.
    pub wave_in: f64,
    /// Bits of [`crate::trace::Events`].
    pub events: u32,
}

impl WantedVelocity {
    pub(super) fn of(velocity_mps: f64) -> Self {
        Self {
            velocity_mps,
            ..Self::default()
        }
    }
}

/// How one axis of the slave's port moved in a tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moved {
    /// Which axis.
    pub axis: usize,
    /// Velocity of the port \[m/s\].
    pub velocity_mps: f64,
    /// Coupling force on the robot \[N\].
    pub force_n: f64,
}

/// What one axis of an end may ship to the other.
pub(super) struct Shipment<'a> {
    pub(super) moment: &'a Moment<'a>,
    pub(super) axis: usize,
    /// Energy of the wave that is sent \[J\].
    pub(super) wave_j: f64,
    /// What stays for the force that is held, and what a blade may give back; 0 at the slave \[J\].
    pub(super) reserve_j: f64,
    pub(super) kept_j: f64,
    /// What the twin may give back \[J\]; 0 at the slave.
    pub(super) twin_j: f64,
    pub(super) account: &'a mut Reservoir,
}

impl Shipment<'_> {
    /// Level of the account \[J\].
    pub(super) fn level_j(&self) -> f64 {
        self.account.level_j()[self.axis]
    }

    /// Ship so much, leaving `left_j` in the account \[J\].
    pub(super) fn ship(&mut self, wanted_j: f64, left_j: f64) {
        self.account.ship(self.axis, wanted_j, left_j);
    }

    /// Ship the energy of the wave, whether or not it is there \[J\].
    pub(super) fn ship_unpaid(&mut self) {
        self.account.ship_unpaid(self.axis, self.wave_j);
    }
}

/// A PD coupling from the desired to the measured robot position, at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pd {
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

impl Pd {
    /// Force at zero desired velocity \[N\].
    #[must_use]
    pub fn force_at_rest(&self) -> f64 {
        self.stiffness_npm * self.error_m - self.damping_nspm * self.robot_velocity_mps
    }

    /// Change of force a unit of desired velocity, `K T + B` \[N s/m\].
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
