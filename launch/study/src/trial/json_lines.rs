//! File with one JSON line per entry, written as entries are finished.
//!
//! Source: ours. A line counts if it is complete, its end included: a partial line after a kill is cut off when the
//! file is opened again.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::Serialize;

/// File of JSON lines, open for appending.
#[derive(Debug)]
pub(super) struct JsonLines {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl JsonLines {
    /// Opens a file, or creates it, without changing its content.
    ///
    /// # Errors
    /// The file cannot be read and written.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut opened = OpenOptions::new();
        let opened = opened.create(true).truncate(false).read(true).write(true);
        // a link is not followed
        let opened = opened.custom_flags(OFlag::O_NOFOLLOW.bits());
        Ok(Self {
            path: path.to_owned(),
            file: opened.open(path)?,
        })
    }

    /// Cuts off a partial last line, so that lines can be appended.
    ///
    /// # Errors
    /// The file cannot be read and written.
    pub(super) fn truncate_partial(&mut self) -> io::Result<()> {
        let text = std::fs::read(&self.path)?;
        let length: usize = whole(&text).map(<[u8]>::len).sum();
        self.file.set_len(length as u64)?;
        self.file.seek(SeekFrom::End(0)).map(|_| ())
    }

    /// Appends a line in one write: a reader sees the whole line or a part of it, never two mixed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(value)? + "\n";
        self.file.write_all(line.as_bytes())
    }
}

/// Complete lines, with their ends.
pub(super) fn whole(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.take_while(|line| line.ends_with(b"\n"))
}
