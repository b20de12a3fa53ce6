//! Position forward, coupling force back, without energy limits: the unstable baseline (teleop section 8).

use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::{ForceDemand, VelocityDemand};

/// Baseline without state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Direct;

impl Method for Direct {
    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        ForceDemand::from_force(port.inputs.newest.port_force_n[port.handle.axis])
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        VelocityDemand::from_velocity(port.position_error_m / port.inputs.dt_s)
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        outgoing.transfer_unpaid();
    }
}
