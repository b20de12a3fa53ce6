//! Simple environments to touch: the wall of teleop RP-1, and free space.

use palpate_transport::{AXES, Axes};

use super::{Environment, Probe};

/// Height of the wall of RP-1 \[m\]: 10 mm below the start of its palpation.
pub const WALL_Z_M: f64 = -0.010;
/// Damping B_e of the wall of RP-1 \[N s/m\].
pub const WALL_DAMPING_NSPM: f64 = 2.0;

/// Environment without contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FreeSpace;

impl Environment for FreeSpace {
    fn step(&mut self, _probe: &Probe, _dt_s: f64) -> Axes {
        [0.0; AXES]
    }

    fn energy_j(&self) -> f64 {
        0.0
    }
}

/// One-sided visco-elastic wall across z (teleop RP-1).
///
/// F_z = max(0, K_e d - B_e v_z) at depth d = z_wall - z > 0: it pushes and never pulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViscoelasticWall {
    /// Height of the surface \[m\].
    pub z_m: f64,
    /// Stiffness K_e \[N/m\].
    pub stiffness_npm: f64,
    /// Damping B_e \[N s/m\].
    pub damping_nspm: f64,
    depth_m: f64,
}

impl ViscoelasticWall {
    /// Creates the wall of RP-1 with stiffness K_e \[N/m\].
    #[must_use]
    pub fn rp1(stiffness_npm: f64) -> Self {
        Self {
            z_m: WALL_Z_M,
            stiffness_npm,
            damping_nspm: WALL_DAMPING_NSPM,
            depth_m: 0.0,
        }
    }
}

impl Environment for ViscoelasticWall {
    fn step(&mut self, probe: &Probe, _dt_s: f64) -> Axes {
        let depth_m = self.z_m - probe.position_m[2];
        // a range contains no NaN
        self.depth_m = if (0.0..f64::INFINITY).contains(&depth_m) {
            depth_m
        } else {
            0.0
        };
        let mut force_n = [0.0; AXES];
        if self.depth_m > 0.0 {
            let spring_n = self.stiffness_npm * self.depth_m;
            force_n[2] = (spring_n - self.damping_nspm * probe.velocity_mps[2]).max(0.0);
        }
        force_n
    }

    fn energy_j(&self) -> f64 {
        0.5 * self.stiffness_npm * self.depth_m * self.depth_m
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn force_n(z_m: f64, v_mps: f64) -> f64 {
        let probe = Probe {
            position_m: [0.1, 0.2, z_m, 0.0],
            velocity_mps: [0.0, 0.0, v_mps, 0.0],
            closed: false,
        };
        let force_n = ViscoelasticWall::rp1(300.0).step(&probe, 1e-4);
        assert_eq!([force_n[0], force_n[1], force_n[3]], [0.0; 3]);
        force_n[2]
    }

    #[test]
    fn pushes_below_its_surface_and_never_pulls() {
        assert_eq!(force_n(0.0, -1.0), 0.0);
        assert!((force_n(-0.020, 0.0) - 3.0).abs() < 1e-12);
        assert!((force_n(-0.020, -0.1) - 3.2).abs() < 1e-12);
        assert_eq!(force_n(-0.0101, 10.0), 0.0);
        assert_eq!(force_n(f64::NAN, 0.0), 0.0);
    }

    #[test]
    fn stores_half_of_force_times_depth() {
        let mut wall = ViscoelasticWall::rp1(300.0);
        let probe = Probe {
            position_m: [0.0, 0.0, -0.020, 0.0],
            ..Probe::default()
        };
        let force_n = wall.step(&probe, 1e-4)[2];
        assert!((wall.energy_j() - 0.5 * force_n * 0.010).abs() < 1e-15);
    }
}
