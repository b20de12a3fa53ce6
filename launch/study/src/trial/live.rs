//! Rows of a live trial: each as `palpate run` runs it, one after another.
//!
//! Source: ours. A row keeps its folder, `live/row-N`, with recording, summary and report: a live session cannot be
//! run again bit by bit. Sessions side by side would disturb each other's clocks, so a machine runs one live
//! trial at a time, with one worker; other machines may have other shards.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::progress::Unseen;
use palpate_analysis::{Failure, live, pace};
use palpate_session::run::RunOptions;
use palpate_transport::trace::Side;

use super::{Cell, Row, Trial, metric};

/// Folder of the sessions in that of the trial.
const FOLDER: &str = "live";

/// Name of the file that the one live trial of a machine holds, in its folder for temporary files.
const LOCK: &str = "palpate-live-trial.lock";

/// Takes this machine for a live trial, until what is returned is dropped.
///
/// # Errors
/// [`Failure::Usage`] for more than one worker, or if another live trial runs here; [`Failure::Refused`] if that cannot
/// be told.
pub fn alone(jobs: Option<usize>) -> Result<File, Failure> {
    if let Some(jobs) = jobs.filter(|jobs| *jobs > 1) {
        return Err(Failure::Usage(format!(
            "--jobs {jobs}: clock is live, and live sessions on one machine disturb each other; expected --jobs 1"
        )));
    }
    let path = std::env::temp_dir().join(LOCK);
    let name = path.display();
    let refused = |error: std::io::Error| {
        Failure::Refused(format!(
            "{name}: {error}; expected a file that this user may read, as it says whether another live trial runs \
             here; if none does, remove it, or have its owner do so"
        ))
    };
    // another user's, in a folder that all share, may be read and held, though not written or made anew
    let file = File::open(&path)
        .or_else(|_| {
            let mut made = OpenOptions::new();
            made.create(true).truncate(false).write(true).open(&path)
        })
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(error)) => Err(refused(error)),
        Err(TryLockError::WouldBlock) => Err(Failure::Usage(format!(
            "clock is live, and another live trial runs on this machine ({name} is held); expected it to have ended, \
             or this shard on another machine"
        ))),
    }
}

/// Refuses conditions that this machine cannot run in real time.
///
/// # Errors
/// [`Failure::Usage`] naming the scene that is too slow.
pub(super) fn check(trial: &Trial) -> Result<(), Failure> {
    let mut conditions = trial.conditions.iter();
    conditions.try_for_each(|one| pace::check(&one.config, &[Side::Master, Side::Slave]))
}

/// Runs one row; nothing if it was stopped.
///
/// # Errors
/// As [`live::whole`].
pub(super) fn fill(
    trial: &Trial,
    cell: &Cell,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Row>, Failure> {
    let config = cell.config(trial);
    let out = folder.join(FOLDER).join(format!("row-{:06}", cell.index));
    if out.exists() {
        // what a kill left: a row that is not finished is run anew
        std::fs::remove_dir_all(&out)
            .map_err(|error| Failure::Refused(format!("{}: {error}", out.display())))?;
    }
    let options = RunOptions {
        out,
        desk: None,
        stop: Arc::clone(stop),
    };
    let (concluded, _) = live::whole(&config, &options, &Unseen, false)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let summary = &concluded.summary;
    Ok(Some(Row {
        index: cell.index,
        held: Some(summary.good()),
        trace_hash: None,
        values: [metric::of_session(summary), metric::of_live(summary)].concat(),
        asked: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_worker_is_refused_by_both_names() {
        let error = alone(Some(3)).expect_err("three").to_string();
        assert!(
            error.contains("--jobs 3") && error.contains("live"),
            "{error}"
        );
    }
}
