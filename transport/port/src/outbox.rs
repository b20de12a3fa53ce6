//! What a side says of itself after a tick, in its frame and in its record, in the same way on both sides.

use palpate_transport::coupling::Reservoir;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{AXES, HapticFrame, Time};

use crate::encoder::Measured;
use crate::inbox::{Inbox, Parties};

/// One axis of the port after a tick.
#[derive(Debug, Clone, Copy, Default)]
pub struct PortAxis {
    /// Force at the port \[N\].
    pub force_n: f64,
    /// Incoming wave as used \[sqrt(W)\].
    pub wave_in: f64,
    /// Outgoing wave \[sqrt(W)\].
    pub wave_out: f64,
    /// What the account and the guards did, bits of [`palpate_transport::trace::Events`].
    pub events: u32,
}

/// One side after a tick.
#[derive(Debug, Clone, Copy)]
pub struct Outbox<'a> {
    /// Which side.
    pub side: Side,
    /// Number of the tick.
    pub tick: u64,
    /// When it ran, on this side's clock.
    pub now: Time,
    /// Its device, as it was read.
    pub device: Measured,
    /// What came from the other side.
    pub inbox: &'a Inbox,
    /// The energy account.
    pub account: &'a Reservoir,
    /// The port.
    pub ports: &'a [PortAxis; AXES],
}

impl Outbox<'_> {
    /// Frame number `sequence` of this side, but for what the two sides say differently.
    #[must_use]
    pub fn frame(&self, sequence: u64) -> HapticFrame {
        let Parties { own, peer } = self.inbox.parties();
        HapticFrame {
            session: own,
            peer_session: peer,
            sequence,
            sent_ns: self.now.0,
            echo_sent_ns: self.inbox.newest().sent_ns,
            echo_received_ns: self.inbox.received().0,
            position_m: self.device.position_m,
            velocity_mps: self.device.velocity_mps,
            port_force_n: self.ports.map(|port| port.force_n),
            wave: self.ports.map(|port| port.wave_out),
            energy_sent_j: *self.account.sent_j(),
            reservoir_j: *self.account.level_j(),
            ..HapticFrame::default()
        }
    }

    /// Record of the tick, but for what the two sides say differently; unknown times are -1.
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
            port_force_n: self.ports.map(|port| port.force_n),
            wave_out: self.ports.map(|port| port.wave_out),
            wave_in: self.ports.map(|port| port.wave_in),
            reservoir_j: *self.account.level_j(),
            energy_sent_j: *self.account.sent_j(),
            energy_received_j: *self.account.received_j(),
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
