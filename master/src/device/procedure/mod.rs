//! A procedure: a script of named steps that press, incise, retract, carve, glue and tack.
//!
//! Source: ours; the tools are those of seed-001 rows TP-01 to TP-09. [`step`] defines the steps,
//! `layout` converts them to minimum-jerk segments over time. World frame: the tissue rests at z = 0. Places are
//! intended positions of the hand; hand and tissue in series take up part of a depth.

mod layout;
pub mod step;

use palpate_transport::{Axes, FieldError, params};

use super::minimum_jerk::MinimumJerkPath;
use super::script::{Intent, OPEN_M};
use layout::Layout;
pub use step::{ProcedureStep, StepAction};

/// Phase of the first step; those of a palpation are smaller.
pub const PHASE_FIRST: u16 = 100;

/// Most steps of a procedure.
pub const STEPS_MAX: usize = 1000;

/// The longest procedure \[s\]: an hour.
const DURATION_S_MAX: f64 = 3600.0;
/// Most undo and redo requests of all steps together.
const REVISIONS_MAX: u16 = 1000;

/// Time for which the hand stays after the last step \[s\], until the tissue is at rest.
const REST_S: f64 = 0.5;

/// Height of the tool above the surface at the start \[m\].
const START_M: f64 = 0.020;

params! {
    /// A procedure as data.
    pub struct ProcedureParams: "" then steps_are_valid {
        /// Name of the procedure.
        pub name: String = "procedure".into(),
        /// Radius of the tool's ball \[m\].
        pub tool_radius_m: f64 = 0.004 => (5e-4..=0.1),
        /// Height of the ball above the surface between two places \[m\].
        pub clearance_m: f64 = 0.004 => (0.0..=0.1),
        /// Mean speed of travel \[m/s\].
        pub speed_mps: f64 = 0.06 => (1e-3..=0.5),
        /// Mean speed of work, for steps that set none \[m/s\].
        pub work_mps: f64 = 0.015 => (1e-4..=0.2),
        /// The steps, in their order.
        pub step: Vec<ProcedureStep> = Vec::new(),
    }
}

/// Time span of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpan {
    /// Name of the step.
    pub name: String,
    /// Kind of its action, in one word.
    pub kind: &'static str,
    /// Phase of its ticks.
    pub phase: u16,
    /// Start \[s\].
    pub start_s: f64,
    /// End \[s\].
    pub end_s: f64,
}

impl ProcedureParams {
    /// Position at the start and at the end of the procedure \[m\].
    #[must_use]
    pub fn start_m(&self) -> Axes {
        [0.0, 0.0, self.tool_radius_m + START_M, OPEN_M]
    }

    /// Name of a step by its index from 0: its own, or its kind and its number from 1.
    #[must_use]
    pub fn name_of(&self, index: usize) -> String {
        let step = self.step.get(index);
        let own = step.and_then(|step| step.name.clone());
        let kind = step.map_or("step", |step| step.action.kind());
        own.unwrap_or_else(|| format!("{kind}-{}", index + 1))
    }

    /// True if any step needs tissue that instruments can edit.
    #[must_use]
    pub fn uses_instruments(&self) -> bool {
        self.step.iter().any(|step| step.action.needs_instruments())
    }

    /// Index of the step with a name, from 0.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        (0..self.step.len()).find(|&index| self.name_of(index) == name)
    }

    /// Time spans of the steps; the return motion is not among them.
    #[must_use]
    pub fn spans(&self) -> Vec<StepSpan> {
        let segments = Layout::draw(self);
        let mut spans: Vec<StepSpan> = Vec::with_capacity(self.step.len());
        for segment in &segments {
            let index = usize::from(segment.phase.wrapping_sub(PHASE_FIRST));
            let Some(step) = self.step.get(index) else {
                continue;
            };
            match spans.last_mut().filter(|span| span.phase == segment.phase) {
                Some(span) => span.end_s = segment.end_s,
                None => spans.push(StepSpan {
                    name: self.name_of(index),
                    kind: step.action.kind(),
                    phase: segment.phase,
                    start_s: segment.end_s - segment.duration_s,
                    end_s: segment.end_s,
                }),
            }
        }
        spans
    }

    /// Lays the steps out in time.
    #[must_use]
    pub fn to_path(&self) -> MinimumJerkPath {
        let segments = Layout::draw(self);
        let rest = segments
            .last()
            .map_or(Intent::default(), |segment| segment.intent(segment.end_s));
        MinimumJerkPath {
            segments,
            final_intent: rest,
            ..MinimumJerkPath::default()
        }
    }

    /// Duration, with the return motion and the rest after it \[s\].
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        Layout::draw(self)
            .last()
            .map_or(0.0, |segment| segment.end_s)
            + REST_S
    }
}

fn steps_are_valid(procedure: &ProcedureParams) -> Result<(), FieldError> {
    let count = procedure.step.len() as f64;
    FieldError::check_range("steps", count, 1.0, STEPS_MAX as f64)?;
    for (index, step) in procedure.step.iter().enumerate() {
        let name = procedure.name_of(index);
        step.action.validate(&|field: &str, value, low, high| {
            let field = format!("step {} `{name}`: {field}", index + 1);
            FieldError::check_range(field, value, low, high)
        })?;
        if procedure.index_of(&name) != Some(index) {
            let field = format!("step {} `{name}`: number of steps of this name", index + 1);
            return Err(FieldError::new(field, 2, "1"));
        }
    }
    // counted before the layout, in which each is a segment
    let revisions = procedure
        .step
        .iter()
        .map(|step| step.action.revision_count())
        .sum();
    let revisions_max = f64::from(REVISIONS_MAX);
    FieldError::check_range(
        "times of all undo and redo steps",
        revisions,
        0.0,
        revisions_max,
    )?;
    FieldError::check_range("length in s", procedure.duration_s(), 0.0, DURATION_S_MAX)
}

#[cfg(test)]
mod tests;
