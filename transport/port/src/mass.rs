//! The mass that a simulated device moves, one on every axis.
//!
//! m dv/dt = F, semi-implicit Euler at [`SUBSTEP_S`]: the plants of teleop RP-1 and those made after them.

use palpate_transport::{AXES, Axes};

use crate::pace::SUBSTEP_S;

/// A point mass on every axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PointMass {
    /// Position \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
}

impl PointMass {
    /// At rest at a place \[m\].
    #[must_use]
    pub fn at(position_m: Axes) -> Self {
        Self {
            position_m,
            velocity_mps: [0.0; AXES],
        }
    }

    /// Advance one axis by a sub-step under `force_n` \[N\] on `mass_kg` \[kg\].
    pub fn push(&mut self, axis: usize, force_n: f64, mass_kg: f64) {
        self.velocity_mps[axis] += SUBSTEP_S * force_n / mass_kg;
        self.position_m[axis] += SUBSTEP_S * self.velocity_mps[axis];
    }

    /// Stop one axis dead at the ends of its way \[m\]; what is not a number stops at the lower end.
    pub fn stop(&mut self, axis: usize, low_m: f64, high_m: f64) {
        let free_m = self.position_m[axis];
        let stopped_m = free_m.max(low_m).min(high_m);
        self.position_m[axis] = stopped_m;
        if stopped_m != free_m {
            self.velocity_mps[axis] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_force_accelerates_and_an_end_stops_dead() {
        let mut mass = PointMass::at([0.0, 1.0, 0.0, 0.0]);
        for _ in 0..1000 {
            mass.push(0, 2.0, 0.5);
        }
        // after 0.1 s at 4 m/s^2; the stepper adds half a step of way
        assert!((mass.velocity_mps[0] - 0.4).abs() < 1e-12);
        assert!((mass.position_m[0] - 0.02 - 0.5 * SUBSTEP_S * 0.4).abs() < 1e-12);
        assert_eq!((mass.position_m[1], mass.velocity_mps[1]), (1.0, 0.0));
        mass.stop(0, -0.01, 0.03);
        assert!(mass.velocity_mps[0] > 0.0, "within its way");
        mass.stop(0, -0.01, 0.01);
        assert_eq!((mass.position_m[0], mass.velocity_mps[0]), (0.01, 0.0));
        mass.position_m[0] = f64::NAN;
        mass.stop(0, -0.01, 0.01);
        assert_eq!(mass.position_m[0], -0.01);
    }
}
