//! State of an implicit tissue: the content of a snapshot.

use super::build::Model;
use palpate_twin::Vec3;
use palpate_twin::law::viscous::ViscousState;
use palpate_twin::snapshot_parts;
use palpate_twin::twin::TissueEnergy;

/// Largest number of tools.
pub(super) const TOOLS: usize = 4;

/// Tool at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ToolState {
    pub(super) present: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    /// Force on it and energy of its contact, without units.
    pub(super) force: Vec3,
    pub(super) energy: f64,
}

snapshot_parts!(ToolState: position_m, force, radius_m, stiffness_npm, energy, present);

/// Complete state of a tissue between ticks.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct State {
    pub(super) u: Vec<Vec3>,
    pub(super) v: Vec<Vec3>,
    pub(super) memories: Vec<ViscousState>,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: TissueEnergy,
    /// Energy of the elastic laws and of the branches, without units.
    pub(super) elastic: f64,
    pub(super) branch_energy: f64,
    /// Displacements and step of the tangent in use; 0 before the first.
    pub(super) tangent_u: Vec<Vec3>,
    pub(super) tangent_dt: f64,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        let zeros = vec![Vec3::zeros(); model.rest.len()];
        Self {
            u: zeros.clone(),
            v: zeros.clone(),
            tangent_u: zeros,
            memories: vec![ViscousState::default(); model.memories],
            ..Self::default()
        }
    }

    /// Sets a collapsed tissue to rest, without tools. Its energy before the step counts as dissipated.
    pub(super) fn rebuild(&mut self, before: &TissueEnergy) {
        for field in [&mut self.u, &mut self.v, &mut self.tangent_u] {
            field.fill(Vec3::zeros());
        }
        self.memories.fill(ViscousState::default());
        self.tools = [ToolState::default(); TOOLS];
        self.ledger = before.at_rest();
        (self.elastic, self.branch_energy, self.tangent_dt) = (0.0, 0.0, 0.0);
    }

    /// Returns the kinetic energy, without units.
    pub(super) fn kinetic(&self, masses: &[f64]) -> f64 {
        let parts = self.v.iter().zip(masses);
        0.5 * parts.map(|(v, m)| m * v.norm_squared()).sum::<f64>()
    }
}

snapshot_parts!(State: u, v, tangent_u, memories, tools, ledger, elastic, branch_energy, tangent_dt);
