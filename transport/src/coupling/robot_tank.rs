//! The tank at the robot: how it is filled from the hand's end, and what it gives back.
//!
//! The robot moves a delay later than the hand and needs energy for it: the slave's end keeps a tank (teleop E9,
//! Franken's two layers). It is filled by what the hand spends beyond what its own end needs, and, while the tank
//! is low, by a little friction against the hand; never by anything else.

use super::method::{MasterPort, Shipment};

/// Speed from which the charging force is whole \[m/s\]: below, it is a damper of `n_max` over this,
/// which a light handle at 1 kHz with a filtered velocity still bears.
const CHARGING_MPS: f64 = 0.02;

/// Friction that fills the slave's tank while it is low \[N\].
pub(super) fn charge(port: &MasterPort<'_>, n_max: f64) -> f64 {
    let (moment, handle) = (port.moment, port.handle);
    let tank_j = moment.newest.reservoir_j[handle.axis];
    let target_j = moment.params.tank_target_j;
    charge_n(tank_j, target_j, n_max, handle.smooth_mps)
}

/// Offer the slave's tank what the master does not need for `stored_j` \[J\].
pub(super) fn offer(shipment: &mut Shipment<'_>, stored_j: f64) {
    let tank_j = shipment.moment.newest.reservoir_j[shipment.axis];
    let target_j = shipment.moment.params.tank_target_j;
    let offer_j = offer_j(shipment.level_j(), stored_j, tank_j, target_j);
    shipment.ship(offer_j, shipment.reserve_j);
}

/// Return what the slave's tank holds too much of.
pub(super) fn surplus(shipment: &mut Shipment<'_>) {
    let (params, dt_s) = (shipment.moment.params, shipment.moment.dt_s);
    let tank_j = shipment.level_j();
    let surplus_j = surplus_j(tank_j, params.tank_target_j, params.share_hz, dt_s);
    shipment.ship(surplus_j, 0.0);
}

/// Force against the hand that fills the slave's tank: whole when the tank is empty, none at the
/// target \[N\] (E9; a friction and not a damper, ours, so that a slow hand pays as much a way as a
/// fast one). `tank_j` is the tank's level as last reported.
pub(super) fn charge_n(tank_j: f64, target_j: f64, n_max: f64, velocity_mps: f64) -> f64 {
    if target_j <= 0.0 {
        return 0.0;
    }
    let need = ((target_j - tank_j) / target_j).clamp(0.0, 1.0);
    n_max * need * (velocity_mps / CHARGING_MPS).clamp(-1.0, 1.0)
}

/// Energy that the master offers the slave's tank in one tick \[J\]: all that its own account holds
/// beyond what the model may give back to the hand, as long as the tank is below its target. A model
/// that holds less than nothing, as one in single precision does by its rounding, gives nothing back
/// and adds nothing to the offer; an unknown one stops it.
fn offer_j(level_j: f64, model_j: f64, tank_j: f64, target_j: f64) -> f64 {
    if tank_j < target_j {
        // a clamp keeps what is not a number, which the difference then makes 0
        (level_j - model_j.clamp(0.0, f64::INFINITY)).max(0.0)
    } else {
        0.0
    }
}

/// Energy that the slave returns in one tick \[J\]: a share of what lies above one and a half
/// targets, so that offers made before its report arrived do not pile up.
fn surplus_j(tank_j: f64, target_j: f64, share_hz: f64, dt_s: f64) -> f64 {
    (tank_j - 1.5 * target_j).max(0.0) * (share_hz * dt_s).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tank_is_filled_to_its_target_and_returns_a_surplus() {
        assert_eq!(charge_n(0.0, 0.03, 0.5, 0.1), 0.5);
        assert_eq!(charge_n(0.0, 0.03, 0.5, -0.1), -0.5);
        assert_eq!(charge_n(0.0, 0.03, 0.5, 0.01), 0.25);
        assert_eq!(charge_n(0.03, 0.03, 0.5, 0.1), 0.0);
        assert_eq!(charge_n(-1.0, 0.03, 0.5, 0.1), 0.5);
        assert!((offer_j(0.02, 0.015, 0.01, 0.03) - 0.005).abs() < 1e-15);
        assert_eq!(offer_j(0.02, 0.03, 0.01, 0.03), 0.0);
        assert_eq!(offer_j(0.02, 0.0, 0.03, 0.03), 0.0);
        // issue: a model rounded below nothing made the offer larger than the account
        assert_eq!(offer_j(0.02, -5.6e-8, 0.01, 0.03), 0.02);
        assert_eq!(offer_j(0.02, f64::NAN, 0.01, 0.03), 0.0);
        assert_eq!(surplus_j(0.04, 0.03, 5.0, 1e-3), 0.0);
        assert!((surplus_j(0.055, 0.03, 5.0, 1e-3) - 5e-5).abs() < 1e-15);
    }
}
