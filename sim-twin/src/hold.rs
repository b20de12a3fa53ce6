//! What is felt between two steps: the last reaction, gone on with its local stiffness.
//!
//! Source: ours. A caller that is late, or goes in shorter steps than the tissue wants, steps with a
//! `dt` of zero: no time passes and nothing of the tissue changes. Every model answers with this
//! [`Hold`], the only place that says what is felt then; `palpate_fem::masked` knows it better where
//! it has a table.

use crate::Vec3;
use crate::contact::usable;
use crate::frozen;
use crate::snapshot::{Frozen, Left};
use crate::twin::{Reaction, Snapshot, Tool};

/// Most tools of any model.
const TOOLS: usize = 4;
/// Numbers of a held tool in a snapshot.
const HELD: usize = 24;

/// A tool at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    /// Where it was \[m\].
    pub at_m: Vec3,
    /// What it felt.
    pub felt: Reaction,
}

/// All tools at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hold {
    tools: [Held; TOOLS],
}

impl Hold {
    /// Numbers that it adds to a snapshot.
    pub const NUMBERS: usize = TOOLS * HELD;

    /// Keeps what a step told, if it was one.
    pub fn keep(&mut self, tools: &[Tool], dt_s: f64, reactions: &[Reaction]) {
        if !(dt_s > 0.0 && dt_s.is_finite()) {
            return;
        }
        self.tools = [Held::default(); TOOLS];
        for (held, (tool, felt)) in self.tools.iter_mut().zip(tools.iter().zip(reactions)) {
            if usable(tool) {
                (held.at_m, held.felt) = (tool.position_m, *felt);
            }
        }
    }

    /// The tool of this index at the end of the last step, if what it felt still says something: not
    /// after a leap of more than its radius.
    #[inline]
    pub fn of(&self, index: usize, tool: &Tool) -> Option<&Held> {
        let held = self.tools.get(index)?;
        let leap_m = (tool.position_m - held.at_m).norm();
        (usable(tool) && leap_m <= tool.radius_m).then_some(held)
    }

    /// What is felt now, while no time passes: [`Reaction::moved_by`], and nothing by a tool that is
    /// unusable, new or leapt.
    pub fn answer(&self, tools: &[Tool], reactions: &mut [Reaction]) {
        reactions.fill(Reaction::default());
        for (index, (slot, tool)) in reactions.iter_mut().zip(tools).enumerate() {
            if let Some(held) = self.of(index, tool) {
                *slot = held.felt.moved_by(&(tool.position_m - held.at_m));
            }
        }
    }

    /// Appends itself to a snapshot.
    pub fn freeze(&self, snapshot: &mut Snapshot) {
        self.put(snapshot);
    }

    /// Takes itself from the end of a snapshot whose length the model has checked.
    pub fn thaw(&mut self, snapshot: &Snapshot) {
        let own = snapshot.numbers.len().saturating_sub(Self::NUMBERS);
        self.take(&mut Left::after(snapshot, own, 0));
    }
}

frozen!(Hold: tools);
frozen!(Held: at_m, felt.force_n, felt.torque_nm, felt.normal, felt.to_proxy_m, felt.grip_n, felt.penetration_m,
    felt.stiffness_npm, felt.damping_nspm, felt.contacts, felt.error_n, felt.edge_n);
