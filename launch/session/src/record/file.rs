//! File of a recording, which has its name only when it is whole: a session that is killed leaves a part.
//!
//! Source: ours; [`crate::files`].

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use palpate_transport::Span;

use super::bag::BAG_METADATA;
use super::{BagContents, RecordError, Recorder, Recording, RecordingHeader, merge};
use crate::files;

/// Name of a recording in a folder.
pub const RECORDING: &str = "recording.mcap";

/// Recording that is written to a file.
pub struct RecordingFile {
    path: PathBuf,
    recorder: Recorder<BufWriter<File>>,
}

impl RecordingFile {
    /// Begins a recording, as a part of the file `path`.
    ///
    /// # Errors
    /// [`RecordError`] if it cannot be written, or a part is there.
    pub fn create(path: &Path, session: &RecordingHeader) -> Result<Self, RecordError> {
        let file = files::create_part(path).map_err(failed(&files::part_of(path)))?;
        Ok(Self {
            recorder: Recorder::create(BufWriter::new(file), session)?,
            path: path.to_owned(),
        })
    }

    /// Recorder of its ticks.
    pub fn recorder(&mut self) -> &mut Recorder<BufWriter<File>> {
        &mut self.recorder
    }

    /// Writes its end, with the summary if there is one, and gives the file its name.
    ///
    /// # Errors
    /// [`RecordError`] if it cannot be written; the part stays.
    pub fn finish(self, summary_json: Option<&str>) -> Result<(), RecordError> {
        let contents = self.recorder.finish(summary_json)?;
        complete(&self.path, &contents)
    }
}

/// Writes the recordings of two sides as one file. On an error nothing of it remains.
///
/// # Errors
/// As [`merge()`], and if the file cannot be written.
pub fn write_merged(path: &Path, master: &Recording, slave: &Recording) -> Result<(), RecordError> {
    let file = files::create_part(path).map_err(failed(&files::part_of(path)))?;
    // both sides of one host read the same clock of the same kernel
    let written = merge(master, slave, Span(0), BufWriter::new(file));
    let written = written.and_then(|contents| complete(path, &contents));
    if written.is_err() {
        // the first error is the one to report
        let _ = std::fs::remove_file(files::part_of(path));
    }
    written
}

/// Gives a whole recording its name, and describes it for rosbag2.
fn complete(path: &Path, contents: &BagContents) -> Result<(), RecordError> {
    files::complete(path).map_err(failed(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(BAG_METADATA);
    files::write(&beside, contents.to_yaml(&name)).map_err(failed(&beside))
}

/// Path of the recording in a folder: the whole one, or the part of a session that has not ended, or was killed.
#[must_use]
pub fn left_in(folder: &Path) -> PathBuf {
    let whole = folder.join(RECORDING);
    let part = files::part_of(&whole);
    match !whole.exists() && part.exists() {
        true => part,
        false => whole,
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> RecordError + '_ {
    move |source| RecordError::File {
        path: path.to_owned(),
        source,
    }
}
