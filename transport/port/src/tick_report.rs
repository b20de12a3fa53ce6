//! Frame and record of a side after a tick, as far as both sides fill them alike.

use palpate_transport::coupling::EnergyTank;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{AXES, HapticFrame, Time};

use crate::encoder::MeasuredMotion;
use crate::inbox::{Inbox, RunIds};

/// One axis of the port after a tick.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortAxis {
    /// Force at the port \[N\].
    pub force_n: f64,
    /// Incoming wave as used \[sqrt(W)\].
    pub wave_in: f64,
    /// Outgoing wave \[sqrt(W)\].
    pub wave_out: f64,
    /// Actions of the energy tank and the guards, bits of [`palpate_transport::trace::EventFlags`].
    pub events: u32,
}

/// State of one side after a tick.
#[derive(Debug, Clone, Copy)]
pub struct TickReport<'a> {
    /// Side of the link.
    pub side: Side,
    /// Number of the tick.
    pub tick: u64,
    /// Time of the tick, on this side's clock.
    pub now: Time,
    /// Measured motion of its device.
    pub device: MeasuredMotion,
    /// Received state of the other side.
    pub inbox: &'a Inbox,
    /// Energy tank.
    pub tank: &'a EnergyTank,
    /// Axes of its port.
    pub port_axes: &'a [PortAxis; AXES],
}

impl TickReport<'_> {
    /// Frame number `sequence` of this side, without the fields that differ by side.
    #[must_use]
    pub fn frame(&self, sequence: u64) -> HapticFrame {
        let RunIds { own, peer } = self.inbox.run_ids();
        HapticFrame {
            run: own,
            peer_run: peer,
            sequence,
            sent_ns: self.now.0,
            echo_sent_ns: self.inbox.newest().sent_ns,
            echo_received_ns: self.inbox.received().0,
            position_m: self.device.position_m,
            velocity_mps: self.device.velocity_mps,
            port_force_n: self.port_axes.map(|port| port.force_n),
            wave: self.port_axes.map(|port| port.wave_out),
            energy_sent_j: *self.tank.sent_j(),
            tank_j: *self.tank.level_j(),
            ..HapticFrame::default()
        }
    }

    /// Record of the tick, without the fields that differ by side; unknown times are -1.
    #[must_use]
    pub fn record(&self) -> TickRecord {
        let (newest, sync) = (self.inbox.newest(), self.inbox.sync());
        let age = sync.age(newest.sent_ns, self.now);
        let oneway = sync.oneway(newest.sent_ns, self.inbox.received());
        TickRecord {
            side: self.side,
            tick: self.tick,
            now_ns: self.now.0,
            position_m: self.device.position_m,
            velocity_mps: self.device.velocity_mps,
            port_force_n: self.port_axes.map(|port| port.force_n),
            wave_out: self.port_axes.map(|port| port.wave_out),
            wave_in: self.port_axes.map(|port| port.wave_in),
            tank_j: *self.tank.level_j(),
            energy_sent_j: *self.tank.sent_j(),
            energy_received_j: *self.tank.received_j(),
            age_ns: age.map_or(-1, |(age, _)| age.0),
            oneway_ns: oneway.map_or(-1, |(delay, _)| delay.0),
            oneway_bound_ns: age.map_or(-1, |(_, bound)| bound.0),
            rtt_ns: sync.rtt_latest().map_or(-1, |rtt| rtt.0),
            received_sequence: newest.sequence,
            received_count: self.inbox.count(),
            ..TickRecord::default()
        }
    }
}
