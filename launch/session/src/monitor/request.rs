//! Orders that only some controllers support: of a playback, as `{"do":"replay","what":{"seek":12.5}}`, of a
//! rehearsal, and of a trial with a participant. Source: ours.

use serde::{Deserialize, Serialize};

/// A request to a playback.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlaybackRequest {
    /// Play, from the start if it is over.
    Play,
    /// Pause.
    Pause,
    /// Seek to a time of the first recording \[s\].
    Seek(f64),
    /// Set the speed, as a multiple of real time.
    Speed(f64),
    /// Delay the second recording by this time \[s\].
    Offset(f64),
    /// Open a recording of the list, by its number.
    Open {
        /// Its number.
        number: u32,
        /// True to open it as the second, beside the first.
        #[serde(default)]
        beside: bool,
    },
    /// Close the second recording.
    Close,
    /// List the recordings of the folder again.
    List,
}

/// A request to a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RehearsalRequest {
    /// Change to a scene, or restart the present one.
    Scene(String),
    /// Change the tool.
    Tool(String),
    /// Put the tool down where it is, and take the other one.
    Swap,
    /// Undo the last edit of an instrument.
    Undo,
    /// Redo it.
    Redo,
    /// Begin a task.
    Begin(TaskKind),
    /// Answer the task, or finish it.
    Answer(TaskAnswer),
    /// Leave the task without an answer.
    Leave,
}

/// Answer to a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskAnswer {
    /// Position of the lump \[m\].
    pub place_m: Option<[f64; 2]>,
    /// Positions in order, the softest first.
    pub order: Vec<usize>,
    /// True if a program answers, as a browser reports it, and no person.
    pub machine: bool,
}

/// Task of a rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// Find the hidden lump.
    FindLump,
    /// Put three places in order of their stiffness.
    RankStiffness,
    /// Go along a line with a constant force.
    Trace,
    /// Hold with the jaws without slipping.
    Grasp,
}

impl TaskKind {
    /// True if the map of measured stiffness may be seen during the task: not if its values are the answer. For a
    /// lump the map shows no more than the force did, which a mouse does not render.
    #[must_use]
    pub fn shows_stiffness(self) -> bool {
        !matches!(self, Self::RankStiffness)
    }

    /// Name in orders and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FindLump => "find-lump",
            Self::RankStiffness => "rank-stiffness",
            Self::Trace => "trace",
            Self::Grasp => "grasp",
        }
    }

    /// Instruction to the person.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::FindLump => "A stiff lump is hidden under the surface. Feel for it; then hold the tool over it, \
                               pressing, and choose Mark here (key M)."
                .into(),
            Self::RankStiffness => "Press the three marked places A, B and C. Then put them in order, the softest \
                                    first, and choose Answer."
                .into(),
            Self::Trace => format!(
                "Go along the line from its green end to its red end, pressing with {TRACE_N} N all the way. Then \
                 choose Finish."
            ),
            Self::Grasp => format!(
                "Touch the tissue between the open jaws, close them (key G), and keep at least {GRASP_N} N between \
                 them for {GRASP_S} s. Then choose Finish."
            ),
        }
    }
}

/// Force of a trace \[N\].
pub const TRACE_N: f64 = 1.0;

/// Force of a grasp \[N\].
pub const GRASP_N: f64 = 0.5;

/// Duration of a grasp \[s\].
pub const GRASP_S: f64 = 5.0;

/// A step of a participant in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrialStep {
    /// Continue: begin, or end a break.
    Go,
    /// End this interval.
    Enough,
    /// Answer: the first was stronger.
    First,
    /// Answer: the second was stronger.
    Second,
    /// Answer: position of the target \[m\].
    Mark([f64; 2]),
}
