//! The answers of a row that is not finished: each is kept when it is given.
//!
//! A block that is left, or whose process is killed, is gone on with: what was answered is told again to the
//! protocol, which asks on from there. One line of JSON an answer; a line without its end does not count. Source: ours.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::trial::psycho::Asked;

/// Folder of such files in that of the trial.
pub const FOLDER: &str = "blocks";

/// An answer as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// What was asked, shown and told.
    pub asked: Asked,
    /// Whether the first interval had the more.
    pub more_first: bool,
    /// Time from the question to the answer \[s\].
    pub took_s: f64,
}

/// The answers of one row, open for more.
#[derive(Debug)]
pub struct Block {
    path: PathBuf,
    file: File,
}

impl Block {
    /// Open the answers of row `index` in the folder of a trial, with those that are there.
    ///
    /// # Errors
    /// The file cannot be read or written, or a whole line of it is no answer.
    pub fn open(folder: &Path, index: usize) -> io::Result<(Self, Vec<Given>)> {
        let folder = folder.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("row-{index:06}.jsonl"));
        let mut opened = OpenOptions::new();
        let mut file = opened
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)?;
        let text = std::fs::read(&path)?;
        let mut given = Vec::new();
        let mut whole = 0;
        for line in text
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
        {
            given.push(serde_json::from_slice(line)?);
            whole += line.len() as u64;
        }
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok((Self { path, file }, given))
    }

    /// Keep one more, before anything else is asked.
    ///
    /// # Errors
    /// The disk is full, or gone.
    pub fn push(&mut self, given: &Given) -> io::Result<()> {
        let line = serde_json::to_string(given)? + "\n";
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::psycho::Told;

    fn given(difference: f64, right: bool) -> Given {
        let told = Told {
            less: Some(100.0),
            more: None,
            right: Some(right),
        };
        Given {
            asked: Asked::new(difference, told),
            more_first: right,
            took_s: 1.25,
        }
    }

    #[test]
    fn a_block_that_was_left_is_read_back_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let answers = [given(0.6, true), given(0.1 + 0.2, false)];
        let (mut block, before) = Block::open(folder.path(), 3).expect("new");
        assert!(before.is_empty());
        for answer in &answers {
            block.push(answer).expect("written");
        }
        let path = block.path().to_owned();
        drop(block);
        let mut text = std::fs::read_to_string(&path).expect("text");
        text += "{\"asked\":{\"diff";
        std::fs::write(&path, text).expect("written");
        let (mut block, before) = Block::open(folder.path(), 3).expect("again");
        assert_eq!(before, answers);
        block.push(&answers[0]).expect("written");
        let (_, all) = Block::open(folder.path(), 3).expect("a third time");
        assert_eq!(all, [answers[0], answers[1], answers[0]]);
        std::fs::write(&path, "nonsense\n").expect("written");
        assert!(Block::open(folder.path(), 3).is_err());
    }
}
