//! Post-conditions: what must hold after a script, or after a step of it, each a check of the summary.
//!
//! Source: ours; what a cut, a carving and a joining must leave behind after seed-001 rows TP-01, TP-02, TP-06 and
//! CL-01. A label is the name of a layer or inclusion of the scene. Places are those of the tissue at rest.

use palpate_master::device::procedure::ProcedureParams;
use serde::{Deserialize, Serialize};

/// One post-condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// The step at whose end it is judged; none is the end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What must hold.
    #[serde(flatten)]
    pub what: What,
}

/// What must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// How many pieces there are.
    Pieces(Pieces),
    /// How many links cross where a blade went.
    Crossing(Crossing),
    /// How much was taken out.
    Removed(Removed),
    /// How much of a label may be left.
    Left(Left),
    /// How much else was taken out around all of a label.
    Margin(Margin),
    /// That nothing of a label was taken out, and no link of it cut.
    Untouched(Untouched),
    /// The largest force on the hand: in the step, or in the whole session.
    Force(Force),
    /// That the tissue's energy account balances.
    Ledger(Balance),
    /// That the remote tissue is cut as the twin is.
    SameTopology(SameTopology),
    /// That the tissue is linked as it was at the end of another step.
    Undone(Undone),
}

/// Post-condition `pieces`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    /// How many there must be.
    pub count: u32,
    /// Elements of the smallest that counts: crumbs are none.
    #[serde(default = "one")]
    pub elements_min: u32,
}

/// Post-condition `crossing`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossing {
    /// The step `incise` whose blade it was.
    pub cut: String,
    /// Most links, if not none at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_max: Option<u32>,
    /// Least links: then it says that faces were joined again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_min: Option<u32>,
    /// Width of the edge of the swept surface that is left out; a spacing if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_m: Option<f64>,
}

/// Post-condition `removed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    /// Of which label; of all if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many elements, if no volume is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<u32>,
    /// How much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_m3: Option<f64>,
    /// How far off it may be, as a share of what must be.
    #[serde(default)]
    pub tolerance: f64,
}

/// Post-condition `left`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// Of which label.
    pub label: String,
    /// Most elements.
    #[serde(default)]
    pub elements_max: u32,
}

/// Post-condition `margin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margin {
    /// Around which label.
    pub label: String,
    /// Least thickness of what was taken out around it.
    pub least_m: f64,
}

/// Post-condition `untouched`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untouched {
    /// Which label.
    pub label: String,
}

/// Post-condition `force`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// Most force.
    pub most_n: f64,
}

/// Post-condition `ledger`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Most of what went through the account that it may not explain.
    #[serde(default = "few_percent")]
    pub share_max: f64,
}

/// Post-condition `same-topology`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SameTopology {}

/// Post-condition `undone`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// The step as at whose end it must be; `start` is before the first.
    pub to: String,
}

/// What `undone` calls the time before the first step.
pub const START: &str = "start";

const fn one() -> u32 {
    1
}

const fn few_percent() -> f64 {
    0.02
}

impl After {
    /// What is stated, as a line of a table.
    #[must_use]
    pub fn name(&self) -> String {
        let when = self.step.as_ref();
        let after = when.map_or(String::new(), |step| format!(" after `{step}`"));
        match &self.what {
            What::Pieces(what) if what.elements_min > 1 => {
                format!("pieces of {} elements or more{after}", what.elements_min)
            }
            What::Pieces(_) => format!("pieces{after}"),
            What::Crossing(what) => format!("links across the cut `{}`{after}", what.cut),
            What::Removed(what) => {
                let label = what.label.as_ref();
                let of = label.map_or("tissue".to_owned(), |label| format!("`{label}`"));
                format!("{of} taken out{after}")
            }
            What::Left(what) => format!("`{}` left{after}", what.label),
            What::Margin(what) => format!("margin around `{}`{after}", what.label),
            What::Untouched(what) => {
                format!("elements of `{}` that were touched{after}", what.label)
            }
            What::Force(_) => {
                let within = when.map_or(String::new(), |step| format!(" in `{step}`"));
                format!("most force on the hand{within}")
            }
            What::Ledger(_) => {
                format!("energy that the account of the tissue does not explain{after}")
            }
            What::SameTopology(_) => format!("the remote tissue is cut as the twin is{after}"),
            What::Undone(what) => format!("linked as after `{}`{after}", what.to),
        }
    }

    /// The label that it is about, if it is about one.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match &self.what {
            What::Removed(what) => what.label.as_deref(),
            What::Left(what) => Some(&what.label),
            What::Margin(what) => Some(&what.label),
            What::Untouched(what) => Some(&what.label),
            _ => None,
        }
    }

    /// Whether it needs nothing but the records of a session.
    #[must_use]
    pub const fn is_of_records(&self) -> bool {
        matches!(self.what, What::Force(_))
    }
}

/// Check every post-condition of a procedure.
///
/// # Errors
/// Names the first that cannot be used, its field, its value, and what would be right.
pub fn validate(after: &[After], procedure: &ProcedureParams) -> Result<(), String> {
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
        match &one.what {
            What::Crossing(what) => {
                let kind = procedure.step[known("cut", &what.cut)?].action.kind();
                if kind != "incise" {
                    let cut = &what.cut;
                    return Err(wrong(format!(
                        "cut is {cut}, a step `{kind}`; expected a step `incise`"
                    )));
                }
                at_least_0("margin_m", what.margin_m.unwrap_or(0.0))?;
            }
            What::Removed(what) => {
                if what.elements.is_some() == what.volume_m3.is_some() {
                    return Err(wrong("expected one of elements and volume_m3".into()));
                }
                at_least_0("volume_m3", what.volume_m3.unwrap_or(0.0))?;
                at_least_0("tolerance", what.tolerance)?;
            }
            What::Margin(what) => at_least_0("least_m", what.least_m)?,
            What::Force(what) => at_least_0("most_n", what.most_n)?,
            What::Ledger(what) => at_least_0("share_max", what.share_max)?,
            What::Undone(what) if what.to != START => {
                known("to", &what.to)?;
            }
            _ => {}
        }
    }
    Ok(())
}
