//! Two layers: any controller above, energy tanks below that it may not overdraw.
//!
//! Source: teleop E9 (Franken, Stramigioli, Misra, Secchi and Macchelli 2011). The upper layer here
//! is position forward, force back. The lower one has a tank H at each end:
//!
//! - `H += received - sent + work of the port`: that is the account, [`super::Reservoir`], exactly.
//! - each end sends `beta H` every tick ([`share_j`]); of two tanks that do, the levels meet;
//! - a master tank below its target adds damping `d = a (H_d - H)` ([`level_damping_nspm`]), which
//!   draws from the hand what both tanks need;
//! - a force may not cost more than the tank holds: [`Reservoir::payable_share`] and
//!   [`Reservoir::payable_velocity`], which all methods share.
//!
//! The sheet has the formulas from memory and from a note on the paper; its text could not be read.
//! Checked by the tests below: two tanks and what is on its way conserve energy and level out, and the
//! damping only ever takes energy from the hand.
//!
//! [`Reservoir::payable_share`]: super::Reservoir::payable_share
//! [`Reservoir::payable_velocity`]: super::Reservoir::payable_velocity

use super::method::{MasterPort, Method, Shipment, SlavePort};
use super::{WantedForce, WantedVelocity};

/// The two layers; both tanks are the accounts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tank;

impl Method for Tank {
    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce {
        let params = port.moment.params;
        let relayed_n = port.moment.relayed_n(port.handle.axis);
        let damping = level_damping_nspm(port.line_j(), params.tank_target_j, params.tank_nspm_max);
        WantedForce::of(relayed_n + damping * port.handle.velocity_mps)
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity {
        let follow_hz = port.moment.params.follow_hz;
        WantedVelocity::of(port.ahead_mps() + follow_hz * port.behind_m)
    }

    fn ship(&mut self, shipment: &mut Shipment<'_>) {
        let share_hz = shipment.moment.params.share_hz;
        let line_j = shipment.level_j() - shipment.kept_j;
        let share_j = share_j(line_j, share_hz, shipment.moment.dt_s);
        shipment.ship(share_j, shipment.reserve_j);
    }
}

/// Energy that an end with `tank_j` sends in one tick \[J\]: `beta H`, `beta = share T`, below 1.
fn share_j(tank_j: f64, share_hz: f64, dt_s: f64) -> f64 {
    tank_j.max(0.0) * (share_hz * dt_s).clamp(0.0, 0.5)
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

    use super::super::Reservoir;
    use super::*;

    proptest! {
        #[test]
        fn two_tanks_conserve_energy_and_level_out(
            first in 0.0f64..1.0, second in 0.0f64..1.0, delay in 0usize..200,
        ) {
            let mut ends = [Reservoir::default(), Reservoir::default()];
            ends[0].deposit(0, first);
            ends[1].deposit(0, second);
            let mut wires = [vec![0.0; delay + 1], vec![0.0; delay + 1]];
            for _ in 0..4000 {
                for (end, wire) in ends.iter_mut().zip(&mut wires) {
                    let tank_j = end.level_j()[0];
                    end.ship(0, share_j(tank_j, 5.0, 1e-3), 0.0);
                    wire.push(end.sent_j()[0]);
                }
                for (end, wire) in [(0, 1), (1, 0)] {
                    let arrived = wires[wire][wires[wire].len() - 1 - delay];
                    ends[end].receive(&[arrived, 0.0, 0.0, 0.0]);
                }
                let levels = ends[0].level_j()[0] + ends[1].level_j()[0];
                let on_the_way: f64 = [(0, 1), (1, 0)]
                    .into_iter()
                    .map(|(from, to)| ends[from].sent_j()[0] - ends[to].received_j()[0])
                    .sum();
                prop_assert!((levels + on_the_way - first - second).abs() < 1e-12);
            }
            let apart = ends[0].level_j()[0] - ends[1].level_j()[0];
            prop_assert!(apart.abs() < 0.02 * (first + second) + 1e-9, "{apart}");
        }

        #[test]
        fn filling_takes_energy_from_the_hand_and_stops_at_the_target(
            tank in -0.1f64..0.2, v in -1.0f64..1.0,
        ) {
            let d = level_damping_nspm(tank, 0.05, 10.0);
            prop_assert!(d * v * v >= 0.0 && d <= 10.0);
            prop_assert!(tank < 0.05 || d == 0.0);
        }
    }

    #[test]
    fn an_empty_tank_sends_nothing_and_asks_for_the_most() {
        assert_eq!(share_j(-1.0, 5.0, 1e-3), 0.0);
        assert_eq!(share_j(f64::NAN, 5.0, 1e-3), 0.0);
        assert_eq!(level_damping_nspm(0.0, 0.05, 10.0), 10.0);
        assert_eq!(level_damping_nspm(0.0, 0.0, 10.0), 0.0);
    }
}
