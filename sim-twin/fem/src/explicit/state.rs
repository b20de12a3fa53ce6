//! What a snapshot holds.

use super::build::Model;
use super::friction::Stick;
use super::grid::Motion;
use palpate_twin::Vec3;
use palpate_twin::frozen;
use palpate_twin::twin::{Ledger, Tool};

/// Most tools at once.
pub(super) const TOOLS: usize = 4;
/// Most bodies that they have, two each.
pub(super) const BODIES: usize = 2 * TOOLS;

/// A body of a tool as it was at the end of the last tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolState {
    pub(super) seen: bool,
    /// Whether it is one of two jaws.
    pub(super) jaw: bool,
    pub(super) position_m: Vec3,
    pub(super) radius_m: f64,
    pub(super) stiffness_npm: f64,
    pub(super) shaft_m: Vec3,
    /// Impulse on it and its turn, over the shortest sub-step, without unit.
    pub(super) push: [f64; 3],
    pub(super) twist: [f64; 3],
    pub(super) stick: Stick,
    pub(super) energy_j: f64,
}

impl ToolState {
    pub(super) const NEW: Self = Self {
        seen: false,
        jaw: false,
        position_m: Vec3::new(0.0, 0.0, 0.0),
        radius_m: 0.0,
        stiffness_npm: 0.0,
        shaft_m: Vec3::new(0.0, 0.0, 0.0),
        push: [0.0; 3],
        twist: [0.0; 3],
        stick: Stick {
            way: [0.0; 3],
            stiffness: 0.0,
            spent: 0.0,
        },
        energy_j: 0.0,
    };

    /// Whether a tool is this one a tick later: no other one, and not set down elsewhere.
    pub(super) fn goes_on_to(&self, tool: &Tool) -> bool {
        let far_m = 2.0 * tool.radius_m;
        self.seen
            && self.radius_m == tool.radius_m
            && self.stiffness_npm == tool.stiffness_npm
            && (tool.position_m - self.position_m).norm() <= far_m
            && (tool.shaft_m - self.shaft_m).norm() <= far_m
    }
}

frozen!(ToolState: radius_m, stiffness_npm, stick.stiffness, stick.spent, energy_j, position_m, shaft_m, push, twist,
    stick.way, seen, jaw);

/// Everything that changes from tick to tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// By grid, coarsest first.
    pub(super) motions: Vec<Motion>,
    pub(super) tools: [ToolState; BODIES],
    pub(super) ledger: Ledger,
    /// Demand of the deformed cells on the step, 1 at rest, as a squared frequency.
    pub(super) demand: f32,
    /// Energy that passive edits were granted \[J\].
    pub(super) granted_j: f64,
    /// Greatest stiffness of a cell over that at first, at least 1.
    pub(super) stiffest: f32,
    /// Whether forces have to be taken anew.
    pub(super) stale: bool,
    /// Times that cells had fallen in.
    pub(super) collapses: u64,
    /// Whether it lies still: no displacement, no speed, no tool in reach.
    pub(super) still: bool,
}

impl State {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            motions: model.grids.iter().map(Motion::new).collect(),
            tools: [ToolState::NEW; BODIES],
            ledger: Ledger::default(),
            demand: 1.0,
            granted_j: 0.0,
            stiffest: 1.0,
            stale: true,
            collapses: 0,
            still: true,
        }
    }

    /// No displacement and no speed.
    pub(super) fn lie_still(&mut self) {
        for field in self
            .motions
            .iter_mut()
            .flat_map(|m| m.u.iter_mut().chain(&mut m.v).chain(&mut m.past))
        {
            field.fill(0.0);
        }
        for tool in &mut self.tools {
            (tool.push, tool.twist, tool.energy_j) = ([0.0; 3], [0.0; 3], 0.0);
            tool.stick = Stick::default();
        }
        (self.stale, self.still) = (true, true);
    }

    /// Half of every displacement, rest, and nothing remembered.
    pub(super) fn let_back(&mut self) {
        for motion in &mut self.motions {
            motion.u.iter_mut().flatten().for_each(|u| *u *= 0.5);
            let left = motion.v.iter_mut().chain(&mut motion.past);
            left.flatten().for_each(|x| *x = 0.0);
        }
        (self.stale, self.collapses) = (true, self.collapses + 1);
    }
}

frozen!(State: motions, tools, ledger, demand, stiffest, granted_j, stale, collapses, still);
