//! Model mediation: how its energy is shared, and how a model may change without creating any.
//!
//! The handle feels a local model at once. What the hand puts into it by pressing, it gets back by
//! releasing, so the master's account needs no stock of its own. The robot presses a delay later
//! and needs that energy too: the slave's end keeps a tank (teleop E9, Franken's two layers). It is
//! filled by what the hand spends beyond the model's stored energy, and, while the tank is low, by a
//! little friction against the hand; never by anything else. The model itself is outside the guarantee: a
//! wrong twin can be felt, it cannot make the channel active.

/// Speed from which the charging force is whole \[m/s\]: below, it is a damper of `n_max` over this,
/// which a light handle at 1 kHz with a filtered velocity still bears.
const CHARGING_MPS: f64 = 0.02;

/// Force against the hand that fills the slave's tank: whole when the tank is empty, none at the
/// target \[N\] (E9; a friction and not a damper, ours, so that a slow hand pays as much a way as a
/// fast one). `tank_j` is the tank's level as last reported.
#[must_use]
pub fn charge_n(tank_j: f64, target_j: f64, n_max: f64, velocity_mps: f64) -> f64 {
    if target_j <= 0.0 {
        return 0.0;
    }
    let need = ((target_j - tank_j) / target_j).clamp(0.0, 1.0);
    n_max * need * (velocity_mps / CHARGING_MPS).clamp(-1.0, 1.0)
}

/// Energy that the master offers the slave's tank in one tick \[J\]: all that its own account holds
/// beyond what the model may give back to the hand, as long as the tank is below its target.
#[must_use]
pub fn offer_j(level_j: f64, model_j: f64, tank_j: f64, target_j: f64) -> f64 {
    if tank_j < target_j {
        (level_j - model_j).max(0.0)
    } else {
        0.0
    }
}

/// Energy that the slave returns in one tick \[J\]: a share of what lies above one and a half
/// targets, so that offers made before its report arrived do not pile up.
#[must_use]
pub fn surplus_j(tank_j: f64, target_j: f64, share_hz: f64, dt_s: f64) -> f64 {
    (tank_j - 1.5 * target_j).max(0.0) * (share_hz * dt_s).clamp(0.0, 1.0)
}

/// A spring wall: force `K p`, energy `K p^2 / 2` at penetration p = x_w - x (teleop E16).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringWall {
    /// Stiffness K \[N/m\].
    pub stiffness_npm: f64,
    /// Position of the undeformed surface \[m\]; the inside is below it.
    pub surface_m: f64,
}

impl SpringWall {
    /// Force at `x_m`, never negative \[N\].
    #[must_use]
    pub fn force_n(&self, x_m: f64) -> f64 {
        self.stiffness_npm * (self.surface_m - x_m).max(0.0)
    }

    /// Stored energy at `x_m` \[J\].
    #[must_use]
    pub fn energy_j(&self, x_m: f64) -> f64 {
        0.5 * self.force_n(x_m) * (self.surface_m - x_m).max(0.0)
    }

    /// The wall with another stiffness, changed so that the energy at `x_m` does not grow (E16):
    /// stiffening keeps the force and moves the surface, softening keeps the surface.
    #[must_use]
    pub fn updated(&self, stiffness_npm: f64, x_m: f64) -> Self {
        let penetration = self.surface_m - x_m;
        let surface_m = if stiffness_npm > self.stiffness_npm && penetration > 0.0 {
            x_m + penetration * self.stiffness_npm / stiffness_npm
        } else {
            self.surface_m
        };
        Self {
            stiffness_npm,
            surface_m,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn e16_worked_example() {
        let wall = SpringWall {
            stiffness_npm: 300.0,
            surface_m: 0.0,
        };
        let naive = SpringWall {
            stiffness_npm: 1000.0,
            ..wall
        };
        let x = -0.008;
        assert!((naive.force_n(x) - wall.force_n(x) - 5.6).abs() < 1e-12);
        assert!((naive.energy_j(x) - wall.energy_j(x) - 22.4e-3).abs() < 1e-12);
        let kept = wall.updated(1000.0, x);
        assert!((kept.force_n(x) - wall.force_n(x)).abs() < 1e-12);
        assert!((kept.energy_j(x) - wall.energy_j(x) + 6.72e-3).abs() < 1e-5);
    }

    proptest! {
        #[test]
        fn an_update_never_injects_energy(
            k0 in 50.0f64..2000.0, k1 in 50.0f64..2000.0, x in -0.02f64..0.01,
        ) {
            let wall = SpringWall { stiffness_npm: k0, surface_m: 0.0 };
            prop_assert!(wall.updated(k1, x).energy_j(x) <= wall.energy_j(x) + 1e-15);
        }
    }

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
        assert_eq!(surplus_j(0.04, 0.03, 5.0, 1e-3), 0.0);
        assert!((surplus_j(0.055, 0.03, 5.0, 1e-3) - 5e-5).abs() < 1e-15);
    }
}
