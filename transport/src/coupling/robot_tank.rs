//! Tank at the robot: how the master's end fills it, and what it returns.
//!
//! The robot moves a delay later than the hand and needs energy for it: the slave's end keeps a tank (teleop E9,
//! Franken's two layers). It is filled by the hand's energy that its own end does not need, and, while the tank
//! is low, by a little friction against the hand; never by anything else.

use super::method::{EnergyTransfer, MasterPort};

/// Speed from which the charging force is full \[m/s\]: below, it is a damper of `n_max` over this, which is
/// stable on a light handle at 1 kHz with a filtered velocity.
const CHARGING_MPS: f64 = 0.02;

/// Part of the target of the slave's tank up to which a contact fills it: friction on the twin would be felt as tissue.
/// Ours.
const CONTACT_SHARE: f64 = 1.0 / 3.0;

/// Least force of a contact in which there is no dry friction \[N\]. Ours.
const CONTACT_N: f64 = 0.15;

/// Contact force over the friction in air from which there is no dry friction; above 1, so that tissue and friction
/// together rise with the depth. Ours.
const CONTACT_OVER_FRICTION: f64 = 1.5;

/// Largest dry friction \[N\]: over [`PRESLIDING_M`](super::method::PRESLIDING_M) it is a spring of 500 N/m at most.
/// Ours.
const DRY_N_MAX: f64 = 0.5;

/// Friction that fills the slave's tank while it is low \[N\].
pub(super) fn charging_friction_n(port: &MasterPort<'_>, n_max: f64) -> f64 {
    let (inputs, handle) = (port.inputs, port.handle);
    let tank_j = inputs.newest.tank_j[handle.axis];
    let target_j = inputs.params.tank_target_j;
    charging_force_n(tank_j, target_j, n_max, handle.smoothed_mps)
}

/// As [`charging_friction_n`], for a hand that feels `contact_n` of a twin or of the tissue \[N\]. In air it is a dry
/// friction, because a hand that palpates is so slow that a damper would not fill the tank. In contact it is a damper,
/// and fills the tank only to a part. The dry friction fades slower than the contact force rises, so that the surface
/// does not seem to give way.
pub(super) fn charging_friction_with_twin_n(
    port: &MasterPort<'_>,
    n_max: f64,
    contact_n: f64,
) -> f64 {
    let (inputs, handle) = (port.inputs, port.handle);
    let tank_j = inputs.newest.tank_j[handle.axis];
    let target_j = inputs.params.tank_target_j;
    let dry_n = n_max.min(DRY_N_MAX) * need(tank_j, target_j) * handle.sliding;
    let air_n = joined_n(dry_n, charging_friction_n(port, n_max));
    let damping_n = charging_force_n(tank_j, CONTACT_SHARE * target_j, n_max, handle.smoothed_mps);
    // a comparison with not-a-number gives a whole contact, with the least friction
    let whole_n = CONTACT_N.max(CONTACT_OVER_FRICTION * air_n.abs());
    let contact = if contact_n < whole_n {
        contact_n / whole_n
    } else {
        1.0
    };
    (1.0 - contact) * air_n + contact * damping_n
}

/// Friction of two causes \[N\]: the larger one if both act in one direction; after a turn a dry friction still acts in
/// the former one.
pub(super) fn joined_n(a_n: f64, b_n: f64) -> f64 {
    if a_n * b_n < 0.0 {
        a_n + b_n
    } else if b_n.abs() > a_n.abs() {
        b_n
    } else {
        a_n
    }
}

/// Offers the slave's tank the energy that the master does not need for `stored_j` \[J\].
pub(super) fn offer(outgoing: &mut EnergyTransfer<'_>, stored_j: f64) {
    let tank_j = outgoing.inputs.newest.tank_j[outgoing.axis];
    let target_j = outgoing.inputs.params.tank_target_j;
    let offer_j = offer_j(outgoing.level_j(), stored_j, tank_j, target_j);
    outgoing.transfer(offer_j, outgoing.reserve_j);
}

/// Returns the surplus of the slave's tank.
pub(super) fn return_surplus(outgoing: &mut EnergyTransfer<'_>) {
    let (params, dt_s) = (outgoing.inputs.params, outgoing.inputs.dt_s);
    let tank_j = outgoing.level_j();
    let surplus_j = surplus_j(tank_j, params.tank_target_j, params.surplus_per_s, dt_s);
    outgoing.transfer(surplus_j, 0.0);
}

/// Force against the hand that fills the slave's tank: full when the tank is empty, zero at the
/// target \[N\] (E9). Above [`CHARGING_MPS`] it is a friction and not a damper (ours), so that hands pay alike per
/// distance. `tank_j` is the newest reported level of the tank.
pub(super) fn charging_force_n(tank_j: f64, target_j: f64, n_max: f64, velocity_mps: f64) -> f64 {
    n_max * need(tank_j, target_j) * (velocity_mps / CHARGING_MPS).clamp(-1.0, 1.0)
}

/// Fraction of the target that a tank lacks, 0 to 1; 0 without a target.
fn need(tank_j: f64, target_j: f64) -> f64 {
    if target_j <= 0.0 {
        return 0.0;
    }
    ((target_j - tank_j) / target_j).clamp(0.0, 1.0)
}

/// Energy that the master offers the slave's tank in one tick \[J\]: all that its own tank holds beyond
/// the energy that the model may return to the hand, while the slave's tank is below its target. A model
/// with negative energy, as one in single precision has by rounding, counts as zero; not-a-number stops
/// the offer.
fn offer_j(level_j: f64, model_j: f64, tank_j: f64, target_j: f64) -> f64 {
    if tank_j < target_j {
        // a clamp keeps not-a-number, which makes the difference 0
        (level_j - model_j.clamp(0.0, f64::INFINITY)).max(0.0)
    } else {
        0.0
    }
}

/// Energy that the slave returns in one tick \[J\]: a fraction of the level above one and a half
/// targets, so that offers made before its report arrived do not accumulate.
fn surplus_j(tank_j: f64, target_j: f64, surplus_per_s: f64, dt_s: f64) -> f64 {
    (tank_j - 1.5 * target_j).max(0.0) * (surplus_per_s * dt_s).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::delay_gain::FrameSpacing;
    use super::super::{CouplingInputs, CouplingParams, HandleAxis};
    use super::*;
    use crate::HapticFrame;

    #[test]
    fn slave_tank_is_filled_to_its_target_and_returns_a_surplus() {
        assert_eq!(charging_force_n(0.0, 0.03, 0.5, 0.1), 0.5);
        assert_eq!(charging_force_n(0.0, 0.03, 0.5, -0.1), -0.5);
        assert_eq!(charging_force_n(0.0, 0.03, 0.5, 0.01), 0.25);
        assert_eq!(charging_force_n(0.03, 0.03, 0.5, 0.1), 0.0);
        assert_eq!(charging_force_n(-1.0, 0.03, 0.5, 0.1), 0.5);
        assert!((offer_j(0.02, 0.015, 0.01, 0.03) - 0.005).abs() < 1e-15);
        assert_eq!(offer_j(0.02, 0.03, 0.01, 0.03), 0.0);
        assert_eq!(offer_j(0.02, 0.0, 0.03, 0.03), 0.0);
        // issue: a model energy rounded below zero made the offer larger than the tank's level
        assert_eq!(offer_j(0.02, -5.6e-8, 0.01, 0.03), 0.02);
        assert_eq!(offer_j(0.02, f64::NAN, 0.01, 0.03), 0.0);
        assert_eq!(surplus_j(0.04, 0.03, 5.0, 1e-3), 0.0);
        assert!((surplus_j(0.055, 0.03, 5.0, 1e-3) - 5e-5).abs() < 1e-15);
    }

    fn friction_n(contact_n: f64, tank_j: f64, sliding: f64, smoothed_mps: f64) -> f64 {
        let params = CouplingParams::default();
        let mut newest = HapticFrame::default();
        newest.tank_j[2] = tank_j;
        let inputs = CouplingInputs {
            params: &params,
            impedance_nspm: 10.0,
            newest: &newest,
            fresh: true,
            round_trip_s: 0.1,
            dt_s: 1e-3,
        };
        let handle = HandleAxis {
            axis: 2,
            sliding,
            smoothed_mps,
            ..HandleAxis::default()
        };
        let port = MasterPort {
            inputs: &inputs,
            handle: &handle,
            spacing: FrameSpacing::default(),
            level_j: 0.0,
            blade_energy_j: 0.0,
        };
        charging_friction_with_twin_n(&port, 0.3, contact_n)
    }

    /// A hand at 5 mm/s filled the tank by a damper, with a quarter of the force, and in 300 s the robot stopped.
    #[test]
    fn issue_slow_hand_did_not_fill_the_slave_tank() {
        assert_eq!(friction_n(0.0, 0.0, -1.0, -0.005), -0.3);
        assert_eq!(friction_n(0.0, 0.03, -1.0, -0.005), 0.0);
        // where the hand turns, the friction does not leap
        assert_eq!(friction_n(0.0, 0.0, 0.1, 0.0), 0.03);
        // an instrument has the damper alone
        assert_eq!(friction_n(0.0, 0.0, 0.0, -0.01), -0.15);
    }

    #[test]
    fn friction_yields_to_tissue_while_the_tank_lasts() {
        assert_eq!(friction_n(1.0, 0.0101, -1.0, -0.1), 0.0);
        assert!((friction_n(1.0, 0.005, -1.0, -0.1) + 0.15).abs() < 1e-12);
        assert_eq!(friction_n(f64::NAN, 0.0101, -1.0, -0.1), 0.0);
    }

    proptest! {
        /// Tissue and friction together never fall while a hand presses deeper.
        #[test]
        fn surface_never_gives_way(tank_j in 0.0_f64..0.04, tissue_n in 0.0_f64..1.0, mps in 0.0_f64..0.1) {
            let sum_n = |tissue_n: f64| tissue_n - friction_n(tissue_n, tank_j, -1.0, -mps);
            prop_assert!(sum_n(tissue_n + 0.01) >= sum_n(tissue_n));
        }
    }
}
