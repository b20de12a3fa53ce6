//! What a snapshot holds.

use super::build::Model;
use palpate_twin::Vec3;
use palpate_twin::frozen;
use palpate_twin::law::viscous::Memory;
use palpate_twin::twin::Ledger;

/// Most tools at once.
pub(super) const TOOLS: usize = 4;

/// A tool as it was at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    pub(super) seen: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    /// Force on it and energy of its contact, without unit.
    pub(super) force: Vec3,
    pub(super) energy: f64,
}

impl ToolState {
    pub(super) const NEW: Self = Self {
        seen: false,
        position_m: Vec3::new(0.0, 0.0, 0.0),
        radius_m: 0.0,
        stiffness_npm: 0.0,
        force: Vec3::new(0.0, 0.0, 0.0),
        energy: 0.0,
    };
}

frozen!(ToolState: position_m, force, radius_m, stiffness_npm, energy, seen);

/// Everything that changes from tick to tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) u: Vec<Vec3>,
    pub(super) v: Vec<Vec3>,
    pub(super) memories: Vec<Memory<f64>>,
    pub(super) tools: [ToolState; TOOLS],
    pub(super) ledger: Ledger,
    /// Energy of the elastic laws and of the branches, without unit.
    pub(super) elastic: f64,
    pub(super) held: f64,
    /// Displacements and step at which the tangent in use was taken; 0 before the first.
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
            tangent_dt: 0.0,
            memories: vec![Memory::default(); model.memories],
            tools: [ToolState::NEW; TOOLS],
            ledger: Ledger::default(),
            elastic: 0.0,
            held: 0.0,
        }
    }

    /// Kinetic energy, without unit.
    pub(super) fn kinetic(&self, masses: &[f64]) -> f64 {
        let parts = self.v.iter().zip(masses);
        0.5 * parts.map(|(v, m)| m * v.norm_squared()).sum::<f64>()
    }
}

frozen!(State: u, v, tangent_u, memories, tools, ledger, elastic, held, tangent_dt);
