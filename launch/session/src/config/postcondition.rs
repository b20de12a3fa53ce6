//! Post-conditions of a script or of one of its steps; each becomes a check of the summary.
//!
//! Source: ours; the state that a cut, a carving and a joining must leave, after seed-001 rows TP-01, TP-02, TP-06
//! and CL-01. A label is the name of a layer or inclusion of the scene. Positions are those of the tissue at rest.

use palpate_master::device::procedure::ProcedureParams;
use serde::{Deserialize, Serialize};

/// One post-condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Postcondition {
    /// Step at whose end it is judged; none for the end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Condition to check.
    #[serde(flatten)]
    pub kind: PostconditionKind,
}

/// Condition of a post-condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PostconditionKind {
    /// Number of pieces.
    Pieces {
        /// Required number.
        count: u32,
        /// Nodes of the smallest piece that counts; smaller debris is ignored.
        #[serde(default = "one")]
        elements_min: u32,
    },
    /// Number of links that cross the surface swept by a blade.
    Crossing {
        /// Step `incise` that moved the blade.
        cut: String,
        /// Most links; zero if neither bound is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links_max: Option<u32>,
        /// Least links: the faces must have been joined again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links_min: Option<u32>,
        /// Width of the edge of the swept surface that is left out; one spacing by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        margin_m: Option<f64>,
    },
    /// Amount of removed tissue.
    Removed {
        /// Label of the tissue; all labels by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Number of nodes, if no volume is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elements: Option<u32>,
        /// Volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume_m3: Option<f64>,
        /// Permitted deviation, as a fraction of the required amount.
        #[serde(default)]
        tolerance: f64,
    },
    /// Remaining part of a label.
    Left {
        /// Label of the tissue.
        label: String,
        /// Most nodes.
        #[serde(default)]
        elements_max: u32,
    },
    /// Other tissue removed around all of a label.
    Margin {
        /// Label that is surrounded.
        label: String,
        /// Least thickness of the tissue removed around it.
        least_m: f64,
    },
    /// Nothing of a label was removed, and no link of it cut.
    Untouched {
        /// Label of the tissue.
        label: String,
    },
    /// The largest force on the hand: in the step, or in the whole session.
    Force {
        /// Largest permitted force.
        most_n: f64,
    },
    /// The energy balance of the tissue closes.
    // the former name is read for one version
    #[serde(alias = "ledger")]
    EnergyBalance {
        /// Largest fraction of the exchanged energy that may remain unexplained.
        #[serde(default = "few_percent")]
        share_max: f64,
    },
    /// The topology of the remote tissue equals the twin's.
    SameTopology {},
    /// The topology equals the one at the end of another step.
    Undone {
        /// Step of reference; `start` is the time before the first.
        to: String,
    },
}

/// Name of the time before the first step, for `undone`.
pub const START_OF_SCRIPT: &str = "start";

const fn one() -> u32 {
    1
}

const fn few_percent() -> f64 {
    0.02
}

impl Postcondition {
    /// Name of the check, as a line of a table.
    #[must_use]
    pub fn name(&self) -> String {
        let subject = match &self.kind {
            PostconditionKind::Pieces { elements_min, .. } if *elements_min > 1 => {
                format!("pieces of {elements_min} nodes or more")
            }
            PostconditionKind::Pieces { .. } => "pieces".into(),
            PostconditionKind::Crossing { cut, .. } => format!("links across the cut `{cut}`"),
            PostconditionKind::Removed { label, .. } => match label {
                Some(label) => format!("`{label}` removed"),
                None => "tissue removed".into(),
            },
            PostconditionKind::Left { label, .. } => format!("`{label}` left"),
            PostconditionKind::Margin { label, .. } => format!("margin around `{label}`"),
            PostconditionKind::Untouched { label } => format!("touched nodes of `{label}`"),
            PostconditionKind::Force { .. } => "most force on the hand".into(),
            PostconditionKind::EnergyBalance { .. } => {
                "unexplained share of the tissue energy".into()
            }
            PostconditionKind::SameTopology {} => "remote topology equals the twin's".into(),
            PostconditionKind::Undone { to } => format!("topology equals that after `{to}`"),
        };
        let is_force = matches!(self.kind, PostconditionKind::Force { .. });
        let when = if is_force { "in" } else { "after" };
        match &self.step {
            Some(step) => format!("{subject} {when} `{step}`"),
            None => subject,
        }
    }

    /// Label of the condition, if it has one.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match &self.kind {
            PostconditionKind::Removed { label, .. } => label.as_deref(),
            PostconditionKind::Left { label, .. }
            | PostconditionKind::Margin { label, .. }
            | PostconditionKind::Untouched { label } => Some(label),
            _ => None,
        }
    }
}

/// Checks every post-condition of a procedure.
///
/// # Errors
/// Names the first invalid one, its field, its value, and the valid values.
pub fn validate(after: &[Postcondition], procedure: &ProcedureParams) -> Result<(), String> {
    for (number, one) in (1..).zip(after) {
        let wrong = |text: String| format!("after {number}, {}: {text}", one.name());
        let steps = || {
            let all: Vec<String> = (0..procedure.step.len())
                .map(|index| procedure.name_of(index))
                .collect();
            all.join(", ")
        };
        let known = |field: &str, name: &str| match procedure.index_of(name) {
            Some(index) => Ok(index),
            None => Err(wrong(format!(
                "{field} is {name}; expected one of the steps: {}",
                steps()
            ))),
        };
        if let Some(step) = &one.step {
            known("step", step)?;
        }
        let at_least_0 = |field: &str, value: f64| match (0.0..f64::INFINITY).contains(&value) {
            true => Ok(()),
            false => Err(wrong(format!(
                "{field} is {value}; expected a number, 0 or more"
            ))),
        };
        match &one.kind {
            PostconditionKind::Crossing { cut, margin_m, .. } => {
                let kind = procedure.step[known("cut", cut)?].action.kind();
                if kind != "incise" {
                    return Err(wrong(format!(
                        "cut is {cut}, a step `{kind}`; expected a step `incise`"
                    )));
                }
                at_least_0("margin_m", margin_m.unwrap_or(0.0))?;
            }
            PostconditionKind::Removed {
                elements,
                volume_m3,
                tolerance,
                ..
            } => {
                if elements.is_some() == volume_m3.is_some() {
                    return Err(wrong("expected one of elements and volume_m3".into()));
                }
                at_least_0("volume_m3", volume_m3.unwrap_or(0.0))?;
                at_least_0("tolerance", *tolerance)?;
            }
            PostconditionKind::Margin { least_m, .. } => at_least_0("least_m", *least_m)?,
            PostconditionKind::Force { most_n } => at_least_0("most_n", *most_n)?,
            PostconditionKind::EnergyBalance { share_max } => at_least_0("share_max", *share_max)?,
            PostconditionKind::Undone { to } if to != START_OF_SCRIPT => {
                known("to", to)?;
            }
            _ => {}
        }
    }
    Ok(())
}
