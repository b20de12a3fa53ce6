//! Steps of a procedure (ours; tools after seed-001 rows TP-01 to TP-09).
//!
//! Lengths in m, speeds in m/s, times in s. A place with three numbers is one of the tool's centre unless stated
//! otherwise, one with two is on the surface at rest.

use palpate_twin::Instrument;
use serde::{Deserialize, Serialize};

use palpate_transport::FieldError;

/// A named step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcedureStep {
    /// Name, for post-conditions and reports; without one, the kind and the number of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Action of the step.
    #[serde(flatten)]
    pub action: StepAction,
}

/// Actions of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StepAction {
    /// Moves straight to a place, with a blunt tool.
    Move(MoveStep),
    /// Presses a site from above, holds, and lifts again.
    Press(PressStep),
    /// Moves a blade along a path.
    Incise(InciseStep),
    /// Closes the forceps, pulls, and releases.
    Retract(RetractStep),
    /// Moves the curette along a path.
    Carve(PathStep),
    /// Joins tissue near a path.
    Glue(GlueStep),
    /// Fixes in space the tissue that the ball passes.
    Tack(PathStep),
    /// Releases fixed tissue again.
    Untack(PathStep),
    /// Undoes the last edits of instruments, batch by batch.
    Undo(RevisionStep),
    /// Redoes edits that were undone.
    Redo(RevisionStep),
    /// Stays in place.
    Wait(WaitStep),
}

/// Step `move`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveStep {
    /// Target \[m\].
    pub to_m: [f64; 3],
    /// Mean speed \[m/s\], if no time is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
    /// Duration \[s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
}

/// Step `press`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PressStep {
    /// Place on the surface \[m\].
    pub site_m: [f64; 2],
    /// Depth below first contact \[m\].
    pub depth_m: f64,
    /// Time at depth \[s\].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_s: f64,
    /// Mean speed down and up \[m/s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `incise`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InciseStep {
    /// Path of the blade's tip \[m\], before it is lowered by `depth_m`.
    pub path_m: Vec<[f64; 3]>,
    /// Depth of the tip below the path \[m\].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth_m: f64,
    /// Vector of the blade's edge from the tool's centre to the tip \[m\]; by default upright, and long enough that the
    /// ball stays above the surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_m: Option<[f64; 3]>,
    /// Mean speed along the path \[m/s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `retract`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetractStep {
    /// Place at which the forceps close \[m\].
    pub at_m: [f64; 3],
    /// Vector of the pull \[m\].
    pub by_m: [f64; 3],
    /// Time between the pull and the release \[s\].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_s: f64,
    /// Mean speed of the pull \[m/s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Steps `carve`, `tack` and `untack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathStep {
    /// Path of the ball's centre \[m\].
    pub path_m: Vec<[f64; 3]>,
    /// Mean speed along the path \[m/s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `glue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlueStep {
    /// Path of the tool's centre \[m\].
    pub path_m: Vec<[f64; 3]>,
    /// Radius within which it joins tissue \[m\].
    pub reach_m: f64,
    /// Mean speed along the path \[m/s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Steps `undo` and `redo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionStep {
    /// Number of edit batches.
    #[serde(default = "once")]
    pub times: u16,
}

/// Step `wait`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitStep {
    /// Duration \[s\].
    pub time_s: f64,
}

const fn once() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Half the width of the tool's workspace, in every direction \[m\].
const WORKSPACE_M_MAX: f64 = 0.2;

/// Most points of a path.
const POINTS_MAX: f64 = 1000.0;

/// Check that refuses a field's value outside a range.
pub(super) type RangeCheck<'a> = &'a dyn Fn(&str, f64, f64, f64) -> Result<(), FieldError>;

impl StepAction {
    /// Number of undo or redo requests.
    pub(super) fn revision_count(&self) -> f64 {
        match self {
            Self::Undo(step) | Self::Redo(step) => f64::from(step.times),
            _ => 0.0,
        }
    }

    /// Kind of the action, in one word, as in scripts.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Move(_) => "move",
            Self::Press(_) => "press",
            Self::Incise(_) => "incise",
            Self::Retract(_) => "retract",
            Self::Carve(_) => "carve",
            Self::Glue(_) => "glue",
            Self::Tack(_) => "tack",
            Self::Untack(_) => "untack",
            Self::Undo(_) => "undo",
            Self::Redo(_) => "redo",
            Self::Wait(_) => "wait",
        }
    }

    /// True if it needs tissue with [`palpate_twin::TissueCaps::instruments`].
    #[must_use]
    pub const fn needs_instruments(&self) -> bool {
        !matches!(
            self,
            Self::Move(_) | Self::Press(_) | Self::Retract(_) | Self::Wait(_)
        )
    }

    /// True if it needs tissue that supports jaws.
    #[must_use]
    pub const fn needs_jaws(&self) -> bool {
        matches!(self, Self::Retract(_))
    }

    /// Instrument of a step along a path, with the edge `edge_m` of a blade.
    pub(super) fn instrument(&self, edge_m: [f64; 3]) -> Instrument {
        match self {
            Self::Incise(_) => Instrument::Scalpel {
                edge_m: edge_m.into(),
            },
            Self::Carve(_) => Instrument::Curette,
            Self::Glue(glue) => Instrument::Glue {
                reach_m: glue.reach_m,
            },
            Self::Tack(_) => Instrument::Tack,
            Self::Untack(_) => Instrument::Untack,
            _ => Instrument::Blunt,
        }
    }

    /// Checks every field; `refuse` adds the step to the error.
    pub(super) fn validate(&self, refuse: RangeCheck<'_>) -> Result<(), FieldError> {
        let place = |field: &str, at_m: &[f64]| {
            at_m.iter()
                .try_for_each(|&x_m| refuse(field, x_m, -WORKSPACE_M_MAX, WORKSPACE_M_MAX))
        };
        let path = |path_m: &[[f64; 3]]| {
            refuse(
                "number of points of path_m",
                path_m.len() as f64,
                1.0,
                POINTS_MAX,
            )?;
            path_m.iter().try_for_each(|at_m| place("path_m", at_m))
        };
        let speed = |speed_mps: Option<f64>| {
            speed_mps.map_or(Ok(()), |mps| refuse("speed_mps", mps, 1e-4, 0.5))
        };
        match self {
            Self::Move(step) => {
                place("to_m", &step.to_m)?;
                speed(step.speed_mps)?;
                step.time_s
                    .map_or(Ok(()), |s| refuse("time_s", s, 0.01, 600.0))
            }
            Self::Press(step) => {
                place("site_m", &step.site_m)?;
                refuse("depth_m", step.depth_m, 0.0, 0.05)?;
                refuse("hold_s", step.hold_s, 0.0, 600.0)?;
                speed(step.speed_mps)
            }
            Self::Incise(step) => {
                path(&step.path_m)?;
                refuse("depth_m", step.depth_m, 0.0, 0.1)?;
                if let Some(edge_m) = step.edge_m {
                    let length_m = libm::sqrt(edge_m.iter().map(|x| x * x).sum());
                    refuse("length of edge_m", length_m, 1e-3, 0.1)?;
                }
                speed(step.speed_mps)
            }
            Self::Retract(step) => {
                place("at_m", &step.at_m)?;
                place("by_m", &step.by_m)?;
                refuse("hold_s", step.hold_s, 0.0, 600.0)?;
                speed(step.speed_mps)
            }
            Self::Glue(step) => {
                path(&step.path_m)?;
                refuse("reach_m", step.reach_m, 1e-4, 0.05)?;
                speed(step.speed_mps)
            }
            Self::Carve(step) | Self::Tack(step) | Self::Untack(step) => {
                path(&step.path_m)?;
                speed(step.speed_mps)
            }
            Self::Undo(step) | Self::Redo(step) => {
                refuse("times", f64::from(step.times), 1.0, 1000.0)
            }
            Self::Wait(step) => refuse("time_s", step.time_s, 0.0, 600.0),
        }
    }
}
