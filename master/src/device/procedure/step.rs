//! What a step of a procedure can be (ours; tools after seed-001 rows TP-01 to TP-09).
//!
//! Lengths in m, speeds in m/s, times in s. A place with three numbers is one of the tool's centre unless it says
//! otherwise, one with two is on the surface at rest.

use palpate_twin::Instrument;
use serde::{Deserialize, Serialize};

use palpate_port::FieldError;

/// A named step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, for post-conditions and reports; none is named by what it does and its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Action {
    /// Goes straight to a place, with a blunt tool.
    Move(Move),
    /// Presses a site from above, holds, and comes up again.
    Press(Press),
    /// Takes a blade along a path.
    Incise(Incise),
    /// Closes the forceps, pulls, and lets go.
    Retract(Retract),
    /// Takes the curette along a path.
    Carve(Along),
    /// Joins what is near a path.
    Glue(Glue),
    /// Holds where it is what the ball comes over.
    Tack(Along),
    /// Lets that go again.
    Untack(Along),
    /// Takes back what an instrument did last, stroke by stroke.
    Undo(Times),
    /// Does again what was taken back.
    Redo(Times),
    /// Stays where it is.
    Wait(Wait),
}

/// Step `move`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Where to.
    pub to_m: [f64; 3],
    /// Mean speed, if no time is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
    /// How long it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
}

/// Step `press`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Press {
    /// Where on the surface.
    pub site_m: [f64; 2],
    /// How far below first contact.
    pub depth_m: f64,
    /// How long it is held there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_s: f64,
    /// Mean speed down and up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `incise`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incise {
    /// Where the blade's tip goes, lowered by `depth_m`.
    pub path_m: Vec<[f64; 3]>,
    /// How much lower than the path the tip goes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth_m: f64,
    /// The blade's edge, from the tool's centre to the tip; upright and so long that the ball stays above the
    /// surface if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_m: Option<[f64; 3]>,
    /// Mean speed along the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `retract`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retract {
    /// Where the forceps close.
    pub at_m: [f64; 3],
    /// How far they pull.
    pub by_m: [f64; 3],
    /// How long they hold there before they let go.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_s: f64,
    /// Mean speed of the pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Steps `carve`, `tack` and `untack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// Where the ball's centre goes.
    pub path_m: Vec<[f64; 3]>,
    /// Mean speed along the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Step `glue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glue {
    /// Where the tool's centre goes.
    pub path_m: Vec<[f64; 3]>,
    /// Within what radius it joins.
    pub reach_m: f64,
    /// Mean speed along the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
}

/// Steps `undo` and `redo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// How many strokes.
    #[serde(default = "once")]
    pub times: u16,
}

/// Step `wait`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// How long.
    pub time_s: f64,
}

const fn once() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Half of the room that a tool may go to, in every direction \[m\].
const ROOM_M: f64 = 0.2;

/// Most points of a path.
const POINTS_MAX: f64 = 1000.0;

/// Refuses a value of a field that is not within a range.
pub(super) type Refuse<'a> = &'a dyn Fn(&str, f64, f64, f64) -> Result<(), FieldError>;

impl Action {
    /// How many undos or redos it asks for.
    pub(super) fn asks(&self) -> f64 {
        match self {
            Self::Undo(step) | Self::Redo(step) => f64::from(step.times),
            _ => 0.0,
        }
    }

    /// What it does, in one word, as a script calls it.
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

    /// Whether it needs tissue whose [`palpate_twin::Caps::instruments`] are there.
    #[must_use]
    pub const fn needs_instruments(&self) -> bool {
        !matches!(
            self,
            Self::Move(_) | Self::Press(_) | Self::Retract(_) | Self::Wait(_)
        )
    }

    /// Whether it needs tissue that feels jaws.
    #[must_use]
    pub const fn needs_jaws(&self) -> bool {
        matches!(self, Self::Retract(_))
    }

    /// The instrument of a step that takes one along a path, with the edge of a blade in `edge_m`.
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

    /// Check every field; `refuse` knows the step.
    pub(super) fn validate(&self, refuse: Refuse<'_>) -> Result<(), FieldError> {
        let place = |field: &str, at_m: &[f64]| {
            at_m.iter()
                .try_for_each(|&x_m| refuse(field, x_m, -ROOM_M, ROOM_M))
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
