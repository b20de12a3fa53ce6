//! Answers of an unfinished row: each is stored when it is given.
//!
//! An interrupted block is continued: its stored answers are replayed to the
//! protocol, which continues from there. One line of JSON per answer; a line without its end does not count. Source:
//! ours.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::trial::json_lines::{self, JsonLines};
use crate::trial::psycho::ForcedChoice;

/// Folder of such files in the folder of the trial.
pub(in crate::trial) const FOLDER: &str = "blocks";

/// Answer of a person.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PersonAnswer {
    /// Question, stimuli and answer.
    pub(crate) asked: ForcedChoice,
    /// True if the first interval had the larger stimulus.
    pub(crate) more_first: bool,
    /// Time from the question to the answer \[s\].
    pub(crate) took_s: f64,
}

/// Answers of one row, open for appending.
#[derive(Debug)]
pub(crate) struct AnswerFile(JsonLines);

impl AnswerFile {
    /// Opens the answers of row `index` in the folder of a trial; returns the stored ones.
    ///
    /// # Errors
    /// The file cannot be read or written, or a complete line of it is no answer.
    pub(crate) fn open(folder: &Path, index: usize) -> io::Result<(Self, Vec<PersonAnswer>)> {
        let folder = folder.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let mut lines = JsonLines::open(&folder.join(format!("row-{index:06}.jsonl")))?;
        let text = std::fs::read(&lines.path)?;
        let stored = json_lines::whole(&text).map(serde_json::from_slice);
        let stored = stored.collect::<Result<_, _>>()?;
        lines.truncate_partial()?;
        Ok((Self(lines), stored))
    }

    /// Appends one answer, before the next question.
    ///
    /// # Errors
    /// The disk is full or unavailable.
    pub(crate) fn push(&mut self, stored: &PersonAnswer) -> io::Result<()> {
        self.0.push(stored)?;
        self.0.file.sync_data()
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(difference: f64, right: bool) -> PersonAnswer {
        PersonAnswer {
            asked: ForcedChoice {
                difference,
                less: Some(100.0),
                more: None,
                right: Some(right),
            },
            more_first: right,
            took_s: 1.25,
        }
    }

    #[test]
    fn interrupted_block_is_read_back_without_partial_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let answers = [answer(0.6, true), answer(0.1 + 0.2, false)];
        let (mut block, before) = AnswerFile::open(folder.path(), 3).expect("new");
        assert!(before.is_empty());
        for answer in &answers {
            block.push(answer).expect("written");
        }
        let path = block.path().to_owned();
        drop(block);
        let mut text = std::fs::read_to_string(&path).expect("text");
        text += "{\"asked\":{\"diff";
        std::fs::write(&path, text).expect("written");
        let (mut block, before) = AnswerFile::open(folder.path(), 3).expect("again");
        assert_eq!(before, answers);
        block.push(&answers[0]).expect("written");
        let (_, all) = AnswerFile::open(folder.path(), 3).expect("a third time");
        assert_eq!(all, [answers[0], answers[1], answers[0]]);
        std::fs::write(&path, "nonsense\n").expect("written");
        assert!(AnswerFile::open(folder.path(), 3).is_err());
    }
}
