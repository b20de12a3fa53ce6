//! Remote tissue of the simulated robot: adapter from `Tissue` to the robot's `Environment`.

use palpate_master::predict::{PredictParams, ToolState, tissue_tool};
use palpate_slave::robot::{Environment, Probe, TissueEdits};
use palpate_transport::{Axes, EditBatch};
use palpate_twin::edits::EditBatchLog;
use palpate_twin::{Edit, Instrument, Reaction, Tissue, Vec3};

use crate::edits::{EMPTY_CHANGES, batch_message, decode_changes, decode_part};

/// A tissue that a simulated probe touches.
///
/// The robot's plant takes shorter steps than some tissues prefer. Such a tissue takes its preferred step; in
/// between, the force is extrapolated with the stiffness of the last contact.
pub(crate) struct TissueEnvironment {
    tissue: Box<dyn Tissue>,
    /// The tool's parameters.
    tool: PredictParams,
    /// Height of the tissue over its scene's place \[m\].
    height_m: f64,
    /// Time step of the tissue \[s\].
    step_s: f64,
    /// Time since its last step \[s\].
    since_s: f64,
    last: Reaction,
    last_at_m: Vec3,
    /// True if the tissue collapsed since this was read.
    collapsed: bool,
    /// Log of finished edit batches, refused ones without their changes; none if the tissue cannot be edited.
    log: Option<EditBatchLog>,
    /// The master's run that sent the last batch, and the number of batches before that run.
    last_author: (u64, u64),
}

impl TissueEnvironment {
    /// Returns a tissue at a height \[m\] over its scene's place, touched by the tool of these parameters.
    pub(crate) fn new(tissue: Box<dyn Tissue>, tool: &PredictParams, height_m: f64) -> Self {
        let caps = tissue.caps();
        Self {
            step_s: caps.preferred_dt_s,
            log: caps
                .instruments
                .then(|| EditBatchLog::for_nodes(caps.elements)),
            tissue,
            tool: *tool,
            height_m,
            since_s: 0.0,
            last: Reaction::default(),
            last_at_m: Vec3::zeros(),
            collapsed: false,
            last_author: (0, 0),
        }
    }
}

impl Environment for TissueEnvironment {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        let touch = ToolState {
            position_m: probe.position_m,
            velocity_mps: probe.velocity_mps,
            closed: probe.closed,
            instrument: Instrument::Blunt,
        };
        let tool = tissue_tool(&self.tool, &touch, self.height_m);
        self.since_s += dt_s;
        // half a robot step of tolerance, so that rounding does not decide
        if self.since_s + 0.5 * dt_s > self.step_s {
            let step_s = std::mem::take(&mut self.since_s);
            let mut reactions = [Reaction::default()];
            self.tissue.step(&[tool], step_s, &mut reactions);
            [self.last] = reactions;
            self.collapsed |= self.last.collapsed;
            self.last_at_m = tool.position_m;
        }
        let reaction = self.last.extrapolated(&(tool.position_m - self.last_at_m));
        let force = reaction.force_n;
        [force.x, force.y, force.z, reaction.grip_force_n]
    }

    fn energy_j(&self) -> f64 {
        self.tissue.view().energy.stored_j()
    }

    fn take_collapse(&mut self) -> bool {
        std::mem::take(&mut self.collapsed)
    }

    fn apply_batch(&mut self, batch: &EditBatch) -> bool {
        let next = self.edits().finished_batches + 1;
        let Some(log) = self.log.as_mut().filter(|_| batch.number == next) else {
            return false;
        };
        let (phase, mut place) = (decode_part(batch), EMPTY_CHANGES);
        let changes = decode_changes(batch, &mut place);
        if !log.push(phase, changes.unwrap_or_default()) {
            return false;
        }
        if self.last_author.0 != batch.run {
            self.last_author = (batch.run, next - 1);
        }
        changes.is_some_and(|changes| self.tissue.edit(&Edit::Replay(changes, phase)).is_ok())
    }

    fn edits(&self) -> TissueEdits {
        TissueEdits {
            finished_batches: self.log.as_ref().map_or(0, EditBatchLog::batch_count),
            topology: self.tissue.view().topology_hash.unwrap_or(0),
        }
    }

    fn foreign_batches(&self, run: u64) -> u64 {
        let (author, earlier_batches) = self.last_author;
        if author == run {
            earlier_batches
        } else {
            self.edits().finished_batches
        }
    }

    fn finished_batch(&self, number: u64) -> Option<EditBatch> {
        batch_message(self.log.as_ref()?, 0, number)
    }
}
