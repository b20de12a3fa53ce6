//! Orders that only some desks take: of a recording, as `{"do":"replay","what":{"seek":12.5}}`, of a rehearsal, and of a
//! trial with a person. Source: ours.

use serde::{Deserialize, Serialize};

/// Something to be done with what is open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transport {
    /// Go on, from the begin if it is over.
    Play,
    /// Stand still.
    Pause,
    /// Go to a moment of the first recording \[s\].
    Seek(f64),
    /// Go so many times as fast as it was.
    Speed(f64),
    /// Show the second recording so much later \[s\].
    Offset(f64),
    /// Open a recording of the list, by its number.
    Open {
        /// Its number.
        number: u32,
        /// Whether it is to be the second, beside the first.
        #[serde(default)]
        beside: bool,
    },
    /// Close the second recording.
    Close,
    /// Look again what is in the folder.
    List,
}

/// What may be wished of a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wish {
    /// Go over to a scene, or begin this one anew.
    Scene(String),
    /// Take another tool.
    Tool(String),
    /// Put the tool down where it is, and take the other one.
    Swap,
    /// Take back what an instrument did last.
    Undo,
    /// Do it again.
    Redo,
    /// Begin a task.
    Begin(TaskKind),
    /// Answer it, or say that it is finished.
    Answer(Said),
    /// Leave it without an answer.
    Leave,
}

/// What was answered to a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Said {
    /// Where the lump is \[m\].
    pub place_m: Option<[f64; 2]>,
    /// The places in order, the softest first.
    pub order: Vec<usize>,
    /// Whether a program says so, as a browser tells that one leads it, and no person.
    pub machine: bool,
}

/// Tasks by their names.
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
    /// Whether the map of the stiffness that was felt may be seen while it is done: not where its numbers are the
    /// answer. Of a lump it shows no more than a hand has felt that cannot feel through a mouse.
    #[must_use]
    pub fn shows_stiffness(self) -> bool {
        !matches!(self, Self::RankStiffness)
    }

    /// Its name, as in orders and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FindLump => "find-lump",
            Self::RankStiffness => "rank-stiffness",
            Self::Trace => "trace",
            Self::Grasp => "grasp",
        }
    }

    /// What a person is asked to do.
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

/// How long a grasp is held \[s\].
pub const GRASP_S: f64 = 5.0;

/// What a person does in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Go on: begin, or leave a break.
    Go,
    /// This interval is felt enough.
    Enough,
    /// The first had more.
    First,
    /// The second had more.
    Second,
    /// Here it is \[m\].
    Mark([f64; 2]),
}
