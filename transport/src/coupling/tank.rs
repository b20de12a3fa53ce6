//! Two layers: any controller above, energy tanks below that it cannot overdraw.
//!
//! Source: teleop E9 (Franken, Stramigioli, Misra, Secchi and Macchelli 2011). The upper layer here
//! is position forward, force back. The lower one has a tank H at each end:
//!
//! - `H += received - sent + work of the port`: exactly [`super::EnergyTank`];
//! - each end sends `beta H` every tick ([`sent_per_tick_j`]); with both sending, the levels become equal;
//! - a master tank below its target adds damping `d = a (H_d - H)` ([`level_damping_nspm`]), which
//!   draws from the hand the energy that both tanks need;
//! - a force may not cost more than the tank holds: [`EnergyTank::payable_fraction`] and
//!   [`EnergyTank::payable_velocity`], which all methods share.
//!
//! The specification `teleop` (docs/sources.md) has the formulas from memory and from a note on the paper; its text
//! could not be read. Checked by the tests below: two tanks and the energy in flight conserve energy and level out,
//! and the damping only ever takes energy from the hand.
//!
//! [`EnergyTank::payable_fraction`]: super::EnergyTank::payable_fraction
//! [`EnergyTank::payable_velocity`]: super::EnergyTank::payable_velocity

use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::{ForceDemand, VelocityDemand};

/// Method of two layers; its tanks are those of all methods.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tank;

impl Method for Tank {
    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let params = port.inputs.params;
        let relayed_n = port.inputs.relayed_force_n(port.handle.axis);
        let damping = level_damping_nspm(
            port.available_j(),
            params.tank_target_j,
            params.tank_nspm_max,
        );
        ForceDemand::from_force(relayed_n + damping * port.handle.velocity_mps)
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        let follow_per_s = port.inputs.params.follow_per_s;
        VelocityDemand::from_velocity(
            port.handle_velocity_mps() + follow_per_s * port.position_error_m,
        )
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        let surplus_per_s = outgoing.inputs.params.surplus_per_s;
        let channel_j = outgoing.level_j() - outgoing.blade_energy_j;
        let share_j = sent_per_tick_j(channel_j, surplus_per_s, outgoing.inputs.dt_s);
        outgoing.transfer(share_j, outgoing.reserve_j);
    }
}

/// Energy that an end with `tank_j` sends in one tick \[J\]: `beta H`, `beta = share T`, below 1.
fn sent_per_tick_j(tank_j: f64, surplus_per_s: f64, dt_s: f64) -> f64 {
    tank_j.max(0.0) * (surplus_per_s * dt_s).clamp(0.0, 0.5)
}

/// Damping that fills the master's tank, whole when it is empty and none at its target \[N s/m\].
fn level_damping_nspm(tank_j: f64, target_j: f64, nspm_max: f64) -> f64 {
    if target_j <= 0.0 {
        return 0.0;
    }
    nspm_max * ((target_j - tank_j) / target_j).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::EnergyTank;
    use super::*;

    proptest! {
        #[test]
        fn two_tanks_conserve_energy_and_equalise(
            first in 0.0f64..1.0, second in 0.0f64..1.0, delay in 0usize..200,
        ) {
            let mut ends = [EnergyTank::default(), EnergyTank::default()];
            ends[0].deposit(0, first);
            ends[1].deposit(0, second);
            let mut wires = [vec![0.0; delay + 1], vec![0.0; delay + 1]];
            for _ in 0..4000 {
                for (end, wire) in ends.iter_mut().zip(&mut wires) {
                    let tank_j = end.level_j()[0];
                    end.transfer(0, sent_per_tick_j(tank_j, 5.0, 1e-3), 0.0);
                    wire.push(end.sent_j()[0]);
                }
                for (end, wire) in [(0, 1), (1, 0)] {
                    let arrived = wires[wire][wires[wire].len() - 1 - delay];
                    ends[end].receive(&[arrived, 0.0, 0.0, 0.0]);
                }
                let levels = ends[0].level_j()[0] + ends[1].level_j()[0];
                let in_transit: f64 = [(0, 1), (1, 0)]
                    .into_iter()
                    .map(|(from, to)| ends[from].sent_j()[0] - ends[to].received_j()[0])
                    .sum();
                prop_assert!((levels + in_transit - first - second).abs() < 1e-12);
            }
            let apart = ends[0].level_j()[0] - ends[1].level_j()[0];
            prop_assert!(apart.abs() < 0.02 * (first + second) + 1e-9, "{apart}");
        }

        #[test]
        fn level_damping_takes_energy_from_the_hand_below_the_target(
            tank in -0.1f64..0.2, v in -1.0f64..1.0,
        ) {
            let d = level_damping_nspm(tank, 0.05, 10.0);
            prop_assert!(d * v * v >= 0.0 && d <= 10.0);
            prop_assert!(tank < 0.05 || d == 0.0);
        }
    }

    #[test]
    fn empty_tank_sends_nothing_and_damps_most() {
        assert_eq!(sent_per_tick_j(-1.0, 5.0, 1e-3), 0.0);
        assert_eq!(sent_per_tick_j(f64::NAN, 5.0, 1e-3), 0.0);
        assert_eq!(level_damping_nspm(0.0, 0.05, 10.0), 10.0);
        assert_eq!(level_damping_nspm(0.0, 0.0, 10.0), 0.0);
    }
}
