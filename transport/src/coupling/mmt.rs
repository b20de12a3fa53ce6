//! Model mediation: the handle renders the twin, the robot follows the hand.
//!
//! Source: teleop E9 and E16. The handle renders a local model at once. The hand gets the energy of pressing back by
//! releasing, so the master's tank needs only a small reserve for the beginning of a contact. The robot presses a
//! delay later and needs that energy too, from its tank ([`super::robot_tank`]), which is filled by the hand's work
//! beyond the model's stored energy. The model itself is outside the guarantee: a wrong twin can be felt, but it
//! cannot make the channel active.

use super::auto::Blend;
use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::robot_tank::{
    charging_force_n, charging_friction_with_twin_n, joined_n, offer, return_surplus,
};
use super::wave_filter::LowPass;
use super::{CouplingInputs, ForceDemand, TwinInputs, VelocityDemand};
use crate::AXES;

/// Energy that the master keeps for the beginning of a contact \[J\] (ours). A force F that is held for the 2 ms
/// until a device releases it may cost `c1 F + c2 F^2`. On the lightest handle c1 is some 0.2 mm and c2 some 0.16
/// mm/N. A spring K that is pressed with F has stored only `F^2 / (2 K)`: at 2 000 N/m this is up to 0.2 mJ less than
/// the cost. Without a reserve the force would rise over the first 2 mm at a rate that does not depend on the model.
/// Hard tissue would then have no clear surface, and would feel too hard below it. The value is twice the difference,
/// for a hand that moves. It does not suffice for a device that holds a force for longer than 2 ms.
const CONTACT_RESERVE_J: f64 = 4e-4;

/// Cut-off of the handle's velocity that the robot of a mediated session follows \[Hz\]: above that of a hand, tremor
/// included, with 5 ms of lag. The noise of a coarse encoder above it (4 mm/s for steps of 0.03 mm) moves nothing.
/// Without the filter, the damping of the robot's controller dissipated 1 mW of this noise. The filter leaves a
/// twentieth of that power; most of the rest is removed by the master, which sends a steady motion.
const HANDLE_CUTOFF_HZ: f64 = 30.0;

/// Model mediation, alone or with the blend of `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Mmt {
    /// Filter of the handle's velocity against encoder noise, at the slave.
    velocity_filter: [LowPass; AXES],
    /// Magnitude of the twin's force: of x, y and z together, and of the gripper \[N\].
    contact_n: [f64; 2],
    /// Blend of twin and relayed force, at the master; none without `auto`.
    blend: Option<Blend>,
}

impl Method for Mmt {
    /// Keeps the blend, which does not depend on the peer.
    fn restart(&mut self) {
        self.velocity_filter = [LowPass::default(); AXES];
    }

    fn observe_twin(&mut self, inputs: &CouplingInputs<'_>, twin: &TwinInputs<'_>) {
        let [x, y, z, grip] = *twin.force_n;
        self.contact_n = [libm::sqrt(x * x + y * y + z * z), grip.abs()];
        if let Some(blend) = &mut self.blend {
            // an unmeasured force cannot be relayed
            let rtt_s = twin.rtt_s.filter(|_| inputs.contact_force_n(0).is_some());
            let relayed_n = core::array::from_fn(|axis| known_contact_force_n(inputs, axis));
            let twin = TwinInputs { rtt_s, ..*twin };
            blend.step(&twin, &relayed_n, inputs.dt_s);
        }
    }

    fn twin_fraction(&self) -> f64 {
        self.blend.map_or(1.0, |blend| blend.twin_fraction)
    }

    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let (handle, most_n) = (port.handle, port.inputs.params.charging_friction_n_max);
        let tissue_n = self.blend.map_or(handle.twin_force_n, |blend| {
            blend.force_n(
                handle.twin_force_n,
                known_contact_force_n(port.inputs, handle.axis),
            )
        });
        let own_n = charging_force_n(port.level_j, CONTACT_RESERVE_J, most_n, handle.smoothed_mps);
        // the robot's own contact counts as well where its force is relayed
        let contact_n = self.contact_n[usize::from(handle.axis == 3)].max(tissue_n.abs());
        let friction_n = charging_friction_with_twin_n(port, most_n, contact_n);
        ForceDemand::from_force(joined_n(friction_n, own_n) - tissue_n)
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        let (inputs, filter) = (port.inputs, &mut self.velocity_filter[port.robot.axis]);
        if !inputs.fresh {
            // when no frames arrive, the robot stops at once
            *filter = LowPass::default();
        }
        let filtered_mps = filter.next(port.handle_velocity_mps(), HANDLE_CUTOFF_HZ, inputs.dt_s);
        VelocityDemand::from_velocity(
            filtered_mps + inputs.params.follow_per_s * port.position_error_m,
        )
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        // a clamp keeps not-a-number, which stops the offer
        let stored_j = CONTACT_RESERVE_J + outgoing.twin_energy_j.clamp(0.0, f64::INFINITY);
        offer(outgoing, stored_j);
    }

    fn transfer_back(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        return_surplus(outgoing);
    }
}

impl Mmt {
    /// Creates the method with the relayed force in place of the twin's where that is better (`auto`).
    pub(super) fn blended() -> Self {
        Self {
            blend: Some(Blend::default()),
            ..Self::default()
        }
    }
}

/// Force of the tissue on the probe \[N\]; 0 if it is unknown.
fn known_contact_force_n(inputs: &CouplingInputs<'_>, axis: usize) -> f64 {
    inputs.contact_force_n(axis).unwrap_or(0.0)
}
