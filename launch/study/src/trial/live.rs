//! Rows of a live trial: each runs as `palpate run` does, one after another.
//!
//! Source: ours. A row keeps its folder, `live/row-N`, with recording, summary and report: a live session is not
//! reproducible bit by bit. Parallel sessions would disturb each other's clocks, so a machine runs one live
//! trial at a time, with one worker; other machines may run other shards.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::progress::NoProgress;
use palpate_analysis::{Failure, live, realtime_check};
use palpate_session::run::RunOptions;
use palpate_transport::trace::Side;

use super::{PlannedRow, Trial, TrialRow};

mod fault_checks;
pub(crate) mod process_fault;

/// Folder of the sessions in the folder of the trial.
pub(super) const FOLDER: &str = "live";

/// Name of the lock file of the only live trial of a machine, in the folder for temporary files.
const LOCK: &str = "palpate-live-trial.lock";

/// Locks this machine for a live trial, until the returned file is dropped.
///
/// # Errors
/// [`Failure::Usage`] for more than one worker, or if another live trial runs here; [`Failure::Refused`] if that
/// cannot be determined.
pub fn lock_machine(jobs: Option<usize>) -> Result<File, Failure> {
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
    // a file of another user, in a shared folder, can be read and locked, though not written or created anew
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
    conditions.try_for_each(|one| realtime_check::check(&one.config, &[Side::Master, Side::Slave]))
}

/// Runs one row; none if it was stopped.
///
/// # Errors
/// As [`live::whole`].
pub(super) fn fill(
    trial: &Trial,
    planned: &PlannedRow,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<TrialRow>, Failure> {
    let config = planned.config(trial);
    let out = folder
        .join(FOLDER)
        .join(format!("row-{:06}", planned.index));
    if out.exists() {
        // remains of a kill: an unfinished row is run anew
        std::fs::remove_dir_all(&out)
            .map_err(|error| Failure::Refused(format!("{}: {error}", out.display())))?;
    }
    if let Some(fault) = trial.conditions[planned.condition].process {
        let ended = process_fault::run(&config, fault, &out, stop)?;
        let summary = ended.map(|ended| fault_checks::judge(&config, fault, ended));
        let row = |summary| TrialRow::of_session(trial, planned.index, &summary);
        return Ok(summary.transpose()?.map(row));
    }
    let options = RunOptions {
        out,
        controller: None,
        insecure: false,
        stop: Arc::clone(stop),
    };
    let (concluded, _) = live::run_session(&config, &options, &NoProgress, false)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let row = TrialRow::of_session(trial, planned.index, &concluded.summary);
    Ok(Some(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_workers_for_a_live_trial_are_refused() {
        let error = lock_machine(Some(3)).expect_err("three").to_string();
        assert!(
            error.contains("--jobs 3") && error.contains("live"),
            "{error}"
        );
    }
}
