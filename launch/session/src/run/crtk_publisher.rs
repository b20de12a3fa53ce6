//! CRTK publisher of a side: receives commands and publishes the measured state for ROS 2 peers.

use std::sync::Arc;

use palpate_bus::command::CommandServer;
use palpate_bus::device::{DevicePublisher, DeviceView};
use palpate_bus::{BusError, BusSession};
use palpate_transport::Time;
use palpate_transport::trace::{Side, TickRecord};

use super::command_state::CommandState;
use crate::record::{host_epoch_ns, topic};

/// Snapshot of the servo after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServoSnapshot {
    /// Newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
    /// True if its contact force was measured.
    pub force_measured: bool,
    /// The other side's clock, if it is known.
    pub peer_clock: Option<palpate_bus::gate::SenderClock>,
    /// Present wave impedance \[N s/m\].
    pub impedance_nspm: f64,
    /// Number of the present coupling mode.
    pub mode: u32,
}

/// Serves and publishes until dropped; never called on a servo thread.
pub(crate) struct CrtkPublisher {
    device: DevicePublisher,
    command_state: Arc<CommandState>,
    /// ROS time at which the clock of the ticks reads 0 \[ns\].
    epoch_ns: i64,
    _commands: CommandServer,
}

impl CrtkPublisher {
    /// Serves the commands of a side and publishes its measurements.
    ///
    /// # Errors
    /// [`BusError`] if the bus refuses.
    pub(crate) fn open(
        session: &BusSession,
        side: Side,
        command_state: &Arc<CommandState>,
    ) -> Result<Self, BusError> {
        let shared_state = Arc::clone(command_state);
        Ok(Self {
            device: session.device_publisher(side.name())?,
            command_state: Arc::clone(command_state),
            epoch_ns: host_epoch_ns(),
            _commands: session.serve_commands(side.name(), move |word, sender| {
                shared_state.execute_remote(word, sender)
            })?,
        })
    }

    /// Publishes if it is due; returns true if so.
    ///
    /// # Errors
    /// [`BusError`] if the session is closed.
    pub(crate) fn publish(
        &mut self,
        snapshot: &ServoSnapshot,
        now: Time,
    ) -> Result<bool, BusError> {
        let record = &snapshot.record;
        // the handle has no force sensor: its motors' force is the force on the hand
        let is_known = record.side == Side::Master || snapshot.force_measured;
        let view = DeviceView {
            stamp: Time(self.epoch_ns.saturating_add(record.now_ns)),
            position_m: record.position_m,
            velocity_mps: record.velocity_mps,
            force_n: is_known.then(|| topic::force_n(record)),
            setpoint_m: record.port_position_m,
            state: self.command_state.reported_state(record.state),
            busy: false,
        };
        self.device.publish(&view, now)
    }
}
