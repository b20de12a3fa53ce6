//! Position forward, coupling force back, and nothing paid: the baseline that goes unstable (teleop section 8).

use super::method::{MasterPort, Method, Shipment, SlavePort};
use super::{WantedForce, WantedVelocity};

/// The baseline; it remembers nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Direct;

impl Method for Direct {
    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce {
        WantedForce::of(port.moment.newest.port_force_n[port.handle.axis])
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity {
        WantedVelocity::of(port.behind_m / port.moment.dt_s)
    }

    fn ship(&mut self, shipment: &mut Shipment<'_>) {
        shipment.ship_unpaid();
    }
}
