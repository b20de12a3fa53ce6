//! Collapse of a tissue: its detection, the return to the last state that is sound, and the bound that avoids it.
//!
//! Source: ours. A state without displacement is sound whatever came before, and edits of stiffness are no part of it.
//! So a collapsed tissue is set to its rest within the tick, which takes one pass over the nodes and needs no copy. A
//! tool that is in the tissue then touches nothing until it has left the block: at its depth it would crush the tissue
//! again.
//!
//! A tool leaps if it moves by more than the shortest edge of a cell in a tick. It then follows its path at the speed of
//! the slowest shear wave, over as many ticks as that takes: tissue cannot give way to a faster tool.

use super::ExplicitTissue;
use super::build::Model;
use super::mass_scaling::{DEMAND_COLLAPSED, MassTime};
use super::state::ToolState;
use palpate_twin::Vec3;
use palpate_twin::twin::{TissueEnergy, Tool};

/// Depth at which a tool counts as having left, over its radius.
const CLEAR_RATIO: f64 = 0.01;

impl ExplicitTissue {
    /// True if no cell has collapsed and every sum over nodes, cells and tools is finite.
    pub(super) fn is_sound(&self) -> bool {
        let energy_j = self.state.ledger.sum_j();
        let means = self
            .mean
            .iter()
            .map(|(force, torque)| force.sum() + torque.sum());
        // written so that NaN counts as unsound
        self.state.demand < DEMAND_COLLAPSED && (energy_j + means.sum::<f64>()).is_finite()
    }

    /// Sets a collapsed tissue to rest. Its energy before the tick counts as dissipated.
    pub(super) fn rebuild(&mut self, before: &TissueEnergy) {
        self.state.settle();
        self.state.collapses += 1;
        for tool in &mut self.state.tools {
            *tool = ToolState {
                expelled: tool.present,
                ..ToolState::default()
            };
        }
        self.loads.reset(&self.model.grids, &mut self.state.motions);
        let totals = self.energies();
        self.heat = 0.0;
        self.state.demand = totals.demand;
        self.state.ledger = before.at_rest();
        self.update_masses(MassTime::End);
    }
}

impl Model {
    /// Returns a tool that has followed `tool` from its `last` pose, within a time \[s\]: at once outside of the block
    /// or at a moderate speed, else by a part of the path.
    pub(super) fn swept(&self, last: &ToolState, tool: &Tool, dt_s: f64) -> Tool {
        let mut from_m = last.position_m;
        let path_m = tool.position_m - from_m;
        let most_m = self.slowest_shear_wave * self.length_m / self.time_s * dt_s;
        if !last.present || path_m.norm() <= self.length_m.max(most_m) || self.is_clear(tool) {
            return *tool;
        }
        // nothing resists above the block
        let above_m = self.height_above_m(from_m, last.shaft_m, last.radius_m);
        if above_m > 0.0 && path_m.z < 0.0 {
            from_m += path_m * (above_m / -path_m.z).min(1.0);
        }
        let rest_m = tool.position_m - from_m;
        let share = (most_m / rest_m.norm().max(most_m)).min(1.0);
        Tool {
            position_m: from_m + rest_m * share,
            ..*tool
        }
    }

    /// True if a tool is outside of the block at rest, above or beside it.
    pub(super) fn is_clear(&self, tool: &Tool) -> bool {
        let slack_m = CLEAR_RATIO * tool.radius_m;
        let radius_m = tool.radius_m - slack_m;
        if self.height_above_m(tool.position_m, tool.shaft_m, radius_m) >= 0.0 {
            return true;
        }
        let Some(grid) = self.grids.first() else {
            return true;
        };
        (0..2).any(|axis| {
            let low_m = self.origin_m[axis] + grid.low[axis] * self.length_m;
            let cells = (grid.nodes[axis] - 1) as f64;
            let high_m = low_m + grid.edge[axis] * cells * self.length_m;
            let one_m = tool.position_m[axis];
            let other_m = one_m + tool.shaft_m[axis];
            one_m.max(other_m) + radius_m <= low_m || one_m.min(other_m) - radius_m >= high_m
        })
    }

    /// Returns the height of the lowest point of a rod above the top at rest \[m\].
    fn height_above_m(&self, position_m: Vec3, shaft_m: Vec3, radius_m: f64) -> f64 {
        let top_m = self.origin_m.z + self.top() * self.length_m;
        position_m.z + shaft_m.z.min(0.0) - radius_m - top_m
    }
}
