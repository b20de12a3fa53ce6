//! A procedure: a script of named steps that press, incise, retract, carve, glue and tack.
//!
//! Source: ours; the tools are those of seed-001 rows TP-01 to TP-09. [`step`] says what steps there are,
//! `layout` lays them out as minimum-jerk legs over time. World frame: the tissue rests at z = 0. Places are where
//! the hand means to be; hand and tissue in series take up part of a depth.

mod layout;
pub mod step;

use palpate_port::FieldError;
use palpate_transport::Axes;
use serde::{Deserialize, Serialize};

use super::leg::Leg;
use super::script::{Intent, OPEN_M};
use layout::Layout;
pub use step::{Action, Step};

/// Phase of the first step; those of a palpation are less.
pub const PHASE_FIRST: u16 = 100;

/// Most steps of a procedure.
pub const STEPS_MAX: usize = 1000;

/// The longest procedure \[s\]: an hour.
const LENGTH_S_MAX: f64 = 3600.0;
/// Most undos and redos that steps may ask for together.
const ASKS_MAX: u16 = 1000;

/// How long the hand stays where it is after the last step \[s\], for the tissue to come to rest.
const REST_S: f64 = 0.5;

/// Height of the tool above the surface at the start \[m\].
const START_M: f64 = 0.020;

/// A procedure, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcedureParams {
    /// Its name.
    pub name: String,
    /// Radius of the tool's ball \[m\].
    pub tool_radius_m: f64,
    /// Height of the ball above the surface between two places \[m\].
    pub clearance_m: f64,
    /// Mean speed of a hand that is on its way \[m/s\].
    pub speed_mps: f64,
    /// Mean speed of a hand at work, where a step says none \[m/s\].
    pub work_mps: f64,
    /// The steps, in their order.
    pub step: Vec<Step>,
}

impl Default for ProcedureParams {
    fn default() -> Self {
        Self {
            name: "procedure".into(),
            tool_radius_m: 0.004,
            clearance_m: 0.004,
            speed_mps: 0.06,
            work_mps: 0.015,
            step: Vec::new(),
        }
    }
}

/// A step in time.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its name.
    pub name: String,
    /// What it does, in one word.
    pub kind: &'static str,
    /// Phase of its ticks.
    pub phase: u16,
    /// When it begins \[s\].
    pub start_s: f64,
    /// When it ends \[s\].
    pub end_s: f64,
}

impl ProcedureParams {
    /// Where the procedure begins and ends \[m\].
    #[must_use]
    pub fn start_m(&self) -> Axes {
        [0.0, 0.0, self.tool_radius_m + START_M, OPEN_M]
    }

    /// Name of a step, by its number from 0: its own, or what it does and its number from 1.
    #[must_use]
    pub fn name_of(&self, index: usize) -> String {
        let step = self.step.get(index);
        let own = step.and_then(|step| step.name.clone());
        let kind = step.map_or("step", |step| step.action.kind());
        own.unwrap_or_else(|| format!("{kind}-{}", index + 1))
    }

    /// Whether any step needs tissue that instruments can open.
    #[must_use]
    pub fn wields(&self) -> bool {
        self.step.iter().any(|step| step.action.needs_instruments())
    }

    /// Number of the step of a name, from 0.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        (0..self.step.len()).find(|&index| self.name_of(index) == name)
    }

    /// The steps in time; the way back is none of them.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let legs = Layout::draw(self);
        let mut spans: Vec<Span> = Vec::with_capacity(self.step.len());
        for leg in &legs {
            let index = usize::from(leg.phase.wrapping_sub(PHASE_FIRST));
            let Some(step) = self.step.get(index) else {
                continue;
            };
            match spans.last_mut().filter(|span| span.phase == leg.phase) {
                Some(span) => span.end_s = leg.end_s,
                None => spans.push(Span {
                    name: self.name_of(index),
                    kind: step.action.kind(),
                    phase: leg.phase,
                    start_s: leg.end_s - leg.length_s,
                    end_s: leg.end_s,
                }),
            }
        }
        spans
    }

    /// How long it takes, with the way back and the rest after it \[s\].
    #[must_use]
    pub fn length_s(&self) -> f64 {
        Layout::draw(self).last().map_or(0.0, |leg| leg.end_s) + REST_S
    }

    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first step and field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        let count = self.step.len() as f64;
        FieldError::between("steps", count, 1.0, STEPS_MAX as f64)?;
        for (field, value, low, high) in [
            ("tool_radius_m", self.tool_radius_m, 5e-4, 0.05),
            ("clearance_m", self.clearance_m, 0.0, 0.1),
            ("speed_mps", self.speed_mps, 1e-3, 0.5),
            ("work_mps", self.work_mps, 1e-4, 0.2),
        ] {
            FieldError::between(field, value, low, high)?;
        }
        for (index, step) in self.step.iter().enumerate() {
            let name = self.name_of(index);
            step.action.validate(&|field: &str, value, low, high| {
                let field = format!("step {} `{name}`: {field}", index + 1);
                FieldError::between(field, value, low, high)
            })?;
            if self.index_of(&name) != Some(index) {
                let field = format!("step {} `{name}`: number of steps of this name", index + 1);
                return Err(FieldError::new(field, 2, "1"));
            }
        }
        // counted before they are laid out, each as a leg
        let asked = self.step.iter().map(|step| step.action.asks()).sum();
        let most = f64::from(ASKS_MAX);
        FieldError::between("times of all undo and redo steps", asked, 0.0, most)?;
        FieldError::between("length in s", self.length_s(), 0.0, LENGTH_S_MAX)
    }
}

/// A procedure, laid out in time.
#[derive(Debug, Clone, PartialEq)]
pub struct Procedure {
    legs: Vec<Leg>,
    /// What is meant after the last leg.
    rest: Intent,
}

impl Procedure {
    /// Lay the steps out.
    #[must_use]
    pub fn new(params: &ProcedureParams) -> Self {
        let legs = Layout::draw(params);
        let rest = legs
            .last()
            .map_or(Intent::default(), |leg| leg.intent(leg.end_s));
        Self { legs, rest }
    }

    /// What the operator means at `elapsed_s` \[s\]; after the last leg, to stay.
    #[must_use]
    pub fn intent(&self, elapsed_s: f64) -> Intent {
        Leg::at(&self.legs, elapsed_s).map_or(self.rest, |leg| leg.intent(elapsed_s))
    }
}

#[cfg(test)]
mod tests;
