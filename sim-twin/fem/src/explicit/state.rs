//! State of an explicit tissue: the content of a snapshot.

use super::build::Model;
use super::contact_lag::ContactLag;
use super::friction::FrictionSpring;
use super::grid::Motion;
use palpate_twin::Vec3;
use palpate_twin::snapshot_parts;
use palpate_twin::twin::{TissueEnergy, Tool};

/// Largest number of tools.
pub(super) const TOOLS: usize = 4;
/// Largest number of tool bodies, two per tool.
pub(super) const BODIES: usize = 2 * TOOLS;

/// Tool body at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ToolState {
    pub(super) present: bool,
    /// True if it was in the tissue when that collapsed, and touches nothing until it has left the block.
    pub(super) expelled: bool,
    /// True if it is one of two jaws.
    pub(super) jaw: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    pub(super) shaft_m: Vec3,
    /// Impulse on it and its moment, over the shortest sub-step, without units.
    pub(super) impulse: [f64; 3],
    pub(super) angular_impulse: [f64; 3],
    pub(super) friction_spring: FrictionSpring,
    pub(super) contact_lag: ContactLag,
    pub(super) energy_j: f64,
}

impl ToolState {
    /// True if `tool` continues this one: unchanged shape, and no jump.
    pub(super) fn continues_as(&self, tool: &Tool) -> bool {
        let far_m = 2.0 * tool.radius_m;
        self.present
            && self.radius_m == tool.radius_m
            && self.stiffness_npm == tool.stiffness_npm
            && (tool.position_m - self.position_m).norm() <= far_m
            && (tool.shaft_m - self.shaft_m).norm() <= far_m
    }
}

snapshot_parts!(ToolState: radius_m, stiffness_npm, friction_spring.stiffness, friction_spring.dissipated, contact_lag.force, contact_lag.branches, contact_lag.slope,
    contact_lag.energy, energy_j, position_m, shaft_m, impulse, angular_impulse,
    friction_spring.extension, present, expelled, jaw);

/// Complete state of a tissue between ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// Motions by grid, coarsest first.
    pub(super) motions: Vec<Motion>,
    pub(super) tools: [ToolState; BODIES],
    pub(super) ledger: TissueEnergy,
    /// Demand of the deformed cells on the step as a squared frequency, 1 at rest.
    pub(super) demand: f32,
    /// Energy spent on passive edits \[J\].
    pub(super) edit_energy_j: f64,
    /// Largest stiffness of a cell over its initial one, at least 1.
    pub(super) stiffest: f32,
    /// True if forces must be recomputed.
    pub(super) stale: bool,
    /// Number of collapses.
    pub(super) collapses: u64,
    /// True if the tissue is at rest: no displacement, no velocity, no tool in reach.
    pub(super) settled: bool,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            motions: model.grids.iter().map(Motion::new).collect(),
            tools: [ToolState::default(); BODIES],
            ledger: TissueEnergy::default(),
            demand: 1.0,
            edit_energy_j: 0.0,
            stiffest: 1.0,
            stale: true,
            collapses: 0,
            settled: true,
        }
    }

    /// Clears displacements, velocities, impulses, memories and contacts.
    pub(super) fn settle(&mut self) {
        for m in &mut self.motions {
            let fields = m.u.iter_mut().chain(&mut m.v).chain(&mut m.f);
            fields
                .chain(&mut m.viscous_memory)
                .for_each(|field| field.fill(0.0));
        }
        for tool in &mut self.tools {
            (tool.impulse, tool.angular_impulse, tool.energy_j) = ([0.0; 3], [0.0; 3], 0.0);
            tool.friction_spring = FrictionSpring::default();
            tool.contact_lag = ContactLag::default();
        }
        (self.stale, self.settled) = (true, true);
    }
}

snapshot_parts!(State: motions, tools, ledger, demand, stiffest, edit_energy_j, stale, collapses, settled);
