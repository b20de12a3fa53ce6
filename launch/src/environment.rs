//! The remote tissue as the simulated robot meets it: `Tissue` behind the robot's `Environment`.

use palpate_slave::robot::{Environment, Probe};
use palpate_transport::Axes;
use palpate_twin::{Jaws, Reaction, Tissue, Tool, Vec3};

/// A tissue that a simulated probe touches.
pub struct TissueEnvironment {
    tissue: Box<dyn Tissue>,
    radius_m: f64,
    stiffness_npm: f64,
}

impl TissueEnvironment {
    /// `radius_m` and `stiffness_npm` are those of the probe's sphere \[m\], \[N/m\].
    #[must_use]
    pub fn new(tissue: Box<dyn Tissue>, radius_m: f64, stiffness_npm: f64) -> Self {
        Self {
            tissue,
            radius_m,
            stiffness_npm,
        }
    }
}

impl Environment for TissueEnvironment {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        let [x, y, z, opening_m] = probe.position_m;
        let [vx, vy, vz, opening_velocity_mps] = probe.velocity_mps;
        let tool = Tool {
            position_m: Vec3::new(x, y, z),
            velocity_mps: Vec3::new(vx, vy, vz),
            radius_m: self.radius_m,
            stiffness_npm: self.stiffness_npm,
            shaft_m: Vec3::zeros(),
            jaws: Some(Jaws {
                opening_m,
                opening_velocity_mps,
                closed: probe.closed,
            }),
        };
        let mut reactions = [Reaction::default()];
        self.tissue.step(&[tool], dt_s, &mut reactions);
        let force = reactions[0].force_n;
        [force.x, force.y, force.z, reactions[0].grip_n]
    }

    fn energy_j(&self) -> f64 {
        self.tissue.view().ledger.stored_j()
    }
}
