//! Payment of the force on one axis: what the energy tank pays, and the guard's bound on its steps.
//!
//! A step of the force is felt as a knock in either direction, so the guard bounds both. A fall that is slowed holds a
//! force against the hand for longer than demanded. That may return energy, so the tank pays for the slowed force as
//! for any other. The part that it cannot pay falls at once, with an event of its own.
//! Source: teleop E9 (a force may not cost more than the tank holds), E8 (repayment); bound of a fall: ours.

use palpate_transport::coupling::EnergyTank;
use palpate_transport::coupling::energy_tank::ForceHold;
use palpate_transport::trace::EventFlags;

use crate::guard::MasterGuardParams;

/// Largest damping that repays a debt \[N s/m\]: stable on a 0.05 kg handle at 1 kHz (E8, m/T).
const REPAY_NSPM_MAX: f64 = 20.0;

/// Fraction of the hand's greatest acceleration for which the time until the device releases the force is paid, where the
/// hold is shorter than that time; the reserve covers greater ones. Ours.
const HAND_FRACTION: f64 = 0.25;

/// Payment of one axis in one tick.
pub(crate) struct ForcePayment<'a> {
    /// Limits of the force.
    pub guard: &'a MasterGuardParams,
    /// Tank that pays; none if the coupling method is not limited by energy.
    pub tank: Option<&'a EnergyTank>,
    /// Hold of the force.
    pub hold: &'a ForceHold,
    /// Time after which the device releases a force that is not renewed \[s\].
    pub release_s: f64,
    /// Index of the axis.
    pub axis: usize,
    /// Velocity of the handle that lasts beyond this tick \[m/s\]: zero if it may be noise.
    pub steady_mps: f64,
    /// Time since the previous tick \[s\].
    pub dt_s: f64,
}

impl ForcePayment<'_> {
    /// Force nearest to `wanted_n` that the tank pays and the guard allows, if `last_n` was commanded last and the
    /// force may change by the slew of `step_s` \[N\]; with the bits of [`EventFlags`] of what acted.
    pub(crate) fn pay(&self, wanted_n: f64, last_n: f64, step_s: f64) -> (f64, u32) {
        let (paid_n, events) = self.within_energy(wanted_n);
        let (slowed_n, limit_events) = self.guard.limit(self.axis, paid_n, last_n, step_s);
        let direction = last_n.signum();
        let fraction = self.payable_fraction(slowed_n);
        // magnitudes in the direction of the last force
        let (held_n, released_n) = (direction * slowed_n, direction * paid_n);
        let falls = held_n > 0.0 && held_n > released_n;
        if falls && fraction < 1.0 {
            let falling_n = direction * (held_n * fraction).max(released_n);
            let limit_events = limit_events & !EventFlags::SLEW_LIMIT;
            return (falling_n, events | limit_events | EventFlags::UNPAID_FALL);
        }
        (slowed_n, events | limit_events)
    }

    /// Reduces a force that the tank cannot pay for, and repays a debt by damping.
    fn within_energy(&self, demand_n: f64) -> (f64, u32) {
        let fraction = self.payable_fraction(demand_n);
        let repay_nspm = self.tank.map_or(0.0, |tank| {
            tank.repayment_nspm(self.axis, self.steady_mps, self.dt_s, REPAY_NSPM_MAX)
        });
        let events = (EventFlags::TANK_LIMITED * u32::from(fraction < 1.0))
            | (EventFlags::DEBT_DAMPING * u32::from(repay_nspm > 0.0));
        (demand_n * fraction + repay_nspm * self.steady_mps, events)
    }

    /// Fraction of a force that the tank can pay, 0 to 1: the smaller of those for the hold at the hand's greatest
    /// acceleration, and for the time until the release at [`HAND_FRACTION`] of it.
    fn payable_fraction(&self, force_n: f64) -> f64 {
        let until_release = ForceHold {
            hold_s: self.release_s,
            hand_mps2: HAND_FRACTION * self.hold.hand_mps2,
            ..*self.hold
        };
        self.tank.map_or(1.0, |tank| {
            let payable = |hold| tank.payable_fraction(self.axis, force_n, hold);
            payable(self.hold).min(payable(&until_release))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOLD: ForceHold = ForceHold {
        hold_s: 2e-3,
        last_held_s: 1e-3,
        elapsed_s: 1e-3,
        velocity_mps: 0.0,
        last_n: 0.0,
        mass_kg: 0.1,
        resolution_m: 0.0,
        hand_mps2: 40.0,
    };

    fn pay(level_j: f64, velocity_mps: f64, wanted_n: f64, last_n: f64) -> (f64, u32) {
        let mut tank = EnergyTank::default();
        tank.deposit(0, level_j);
        let payment = ForcePayment {
            guard: &MasterGuardParams::default(),
            tank: Some(&tank),
            hold: &ForceHold {
                velocity_mps,
                last_n,
                ..HOLD
            },
            release_s: HOLD.hold_s,
            axis: 0,
            steady_mps: velocity_mps,
            dt_s: 1e-3,
        };
        payment.pay(wanted_n, last_n, 1e-3)
    }

    #[test]
    fn fall_is_slowed_while_the_tank_pays_for_it() {
        let slew = EventFlags::SLEW_LIMIT;
        assert_eq!(pay(1.0, 0.0, 0.0, -5.8), (-4.8, slew));
        assert_eq!(pay(1.0, 0.0, 5.0, -5.8), (-4.8, slew));
        assert_eq!(pay(1.0, 0.0, -5.9, 0.0), (-1.0, slew));
        assert_eq!(pay(1.0, 0.0, -0.5, 0.4), (-0.5, 0));
    }

    #[test]
    fn issue_slew_limit_kept_unpaid_force() {
        let (force_n, events) = pay(0.0, -0.1, 0.0, 5.8);
        assert!((0.0..1e-3).contains(&force_n), "{force_n}");
        assert_eq!(events, EventFlags::UNPAID_FALL);
        // a level of 0.2 mJ pays for a part of the slowed force
        let (force_n, events) = pay(2e-4, -0.1, 0.0, 5.8);
        assert!(force_n > 0.5 && force_n < 4.8, "{force_n}");
        assert_eq!(events, EventFlags::UNPAID_FALL);
    }

    proptest! {
        /// The force never costs more than the tank holds, whatever the guard makes of it. Only an unpaid fall exceeds
        /// the slew.
        #[test]
        fn slowed_force_never_overdraws_the_tank(
            level_j in 0.0_f64..2e-3, v in -0.5_f64..0.5, wanted_n in -8.0_f64..8.0, last_n in -6.0_f64..6.0,
        ) {
            let (force_n, events) = pay(level_j, v, wanted_n, last_n);
            let hold = ForceHold { velocity_mps: v, last_n, ..HOLD };
            prop_assert!(hold.cost_over_j(force_n, HOLD.hold_s) <= level_j + 2e-12);
            let unpaid = events & EventFlags::UNPAID_FALL != 0;
            prop_assert!(unpaid || (force_n - last_n).abs() <= 1.0 + 1e-12);
            prop_assert!(force_n.abs() <= 6.0);
        }
    }
}
