//! Point mass on every axis, the moving body of a simulated device.
//!
//! m dv/dt = F, semi-implicit Euler at [`SUBSTEP_S`]: the plants of teleop RP-1 and later ones.

use palpate_transport::{AXES, Axes};

use crate::fixed_stepper::SUBSTEP_S;

/// A point mass on every axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PointMass {
    /// Position \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
}

impl PointMass {
    /// Creates a mass at rest at a position \[m\].
    #[must_use]
    pub fn at_rest(position_m: Axes) -> Self {
        Self {
            position_m,
            velocity_mps: [0.0; AXES],
        }
    }

    /// Advances one axis by a sub-step under `force_n` \[N\] on `mass_kg` \[kg\].
    pub fn push(&mut self, axis: usize, force_n: f64, mass_kg: f64) {
        self.velocity_mps[axis] += SUBSTEP_S * force_n / mass_kg;
        self.position_m[axis] += SUBSTEP_S * self.velocity_mps[axis];
    }

    /// Stops one axis at the ends of its range \[m\]; not-a-number stops at the lower end.
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
    fn constant_force_accelerates_and_end_stops() {
        let mut mass = PointMass::at_rest([0.0, 1.0, 0.0, 0.0]);
        for _ in 0..1000 {
            mass.push(0, 2.0, 0.5);
        }
        // after 0.1 s at 4 m/s^2; the integrator adds half a step of distance
        assert!((mass.velocity_mps[0] - 0.4).abs() < 1e-12);
        assert!((mass.position_m[0] - 0.02 - 0.5 * SUBSTEP_S * 0.4).abs() < 1e-12);
        assert_eq!((mass.position_m[1], mass.velocity_mps[1]), (1.0, 0.0));
        mass.stop(0, -0.01, 0.03);
        assert!(mass.velocity_mps[0] > 0.0, "within its range");
        mass.stop(0, -0.01, 0.01);
        assert_eq!((mass.position_m[0], mass.velocity_mps[0]), (0.01, 0.0));
        mass.position_m[0] = f64::NAN;
        mass.stop(0, -0.01, 0.01);
        assert_eq!(mass.position_m[0], -0.01);
    }
}
