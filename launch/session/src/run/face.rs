//! The CRTK face of a side: commands in, measured state out, for any ROS 2 peer to see.

use std::sync::Arc;

use palpate_bus::command::CommandServer;
use palpate_bus::device::{DevicePublisher, DeviceView};
use palpate_bus::{Session, SessionError};
use palpate_transport::Time;
use palpate_transport::trace::{Side, TickRecord};

use super::duty::Duty;

/// What the servo last showed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shown {
    /// Newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
    /// Whether its contact force was measured.
    pub force_known: bool,
    /// The other side's clock, if it is known.
    pub clock: Option<palpate_bus::gate::SenderClock>,
    /// Wave impedance of now \[N s/m\].
    pub impedance_nspm: f64,
    /// Number of the coupling mode of now.
    pub mode: u32,
}

/// Serves and publishes until dropped; never called on a servo thread.
pub struct Face {
    device: DevicePublisher,
    duty: Arc<Duty>,
    _commands: CommandServer,
}

impl Face {
    /// Serve the commands of a side and publish what it measures.
    ///
    /// # Errors
    /// [`SessionError`] when the bus refuses.
    pub fn open(session: &Session, side: Side, duty: &Arc<Duty>) -> Result<Self, SessionError> {
        let obeyed = Arc::clone(duty);
        Ok(Self {
            device: session.device_publisher(side.name())?,
            duty: Arc::clone(duty),
            _commands: session.serve_commands(side.name(), move |word| obeyed.obey(word))?,
        })
    }

    /// Publish if it is time to.
    ///
    /// # Errors
    /// [`SessionError`] when the session is closed.
    pub fn publish(&mut self, shown: &Shown, now: Time) -> Result<bool, SessionError> {
        let record = &shown.record;
        let force_n = match record.side {
            // the handle has no sensor: what its motors hold is what the hand feels
            Side::Master => Some(record.port_force_n.map(|force| -force)),
            Side::Slave => shown.force_known.then_some(record.tissue_force_n),
        };
        let view = DeviceView {
            position_m: record.position_m,
            velocity_mps: record.velocity_mps,
            force_n,
            setpoint_m: record.port_position_m,
            state: self.duty.shown(record.state),
            busy: false,
        };
        self.device.publish(&view, now)
    }
}
