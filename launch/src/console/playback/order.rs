//! What a page may ask of a recording: `{"do":"replay","what":{"seek":12.5}}`, and its kind. Source: ours.

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
