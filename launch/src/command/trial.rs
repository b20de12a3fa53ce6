//! `palpate trial`: many sessions, in virtual time on all cores or live one by one, resumable, in shards.
//!
//! Source: ours. [`palpate_study::trial::run`] fills the rows; flags and text are here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_console::serve;
use palpate_session::config::Config;
use palpate_study::trial::overrides::TrialOverrides;
use palpate_study::trial::person::Respondent;
use palpate_study::trial::results::TrialResults;
use palpate_study::trial::row::RowStore;
use palpate_study::trial::run::{self, TrialRun};
use palpate_study::trial::{TrialClock, TrialRow, estimate, live};

use super::{CommandOutcome, interrupt, json_or_text};
use crate::cli::{MergeArgs, OutputArgs, TrialAction, TrialArgs};
use crate::progress::TerminalProgress;

/// Runs a trial, or merges the parts of one.
///
/// # Errors
/// [`Failure::Usage`] names file, field, value and the valid values; [`Failure::Refused`] if results
/// cannot be written.
pub(super) fn trial(arguments: &TrialArgs) -> Result<CommandOutcome, Failure> {
    if let Some(TrialAction::Merge(arguments)) = &arguments.action {
        return merge(arguments);
    }
    // clap requires a file if there is no action
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let name = file.display().to_string();
    let text = run::read_trial_text(file)?;
    let (text, mut trial) = run::load(&name, text, overrides(arguments)?)?;
    trial.respondent = arguments.person.clone().unwrap_or_default();
    run::check_respondent(&trial, &name)?;
    if trial.respondent == Respondent::Simulated {
        serve::refuse_page_flags(
            &arguments.console.serve_options(),
            "`trial` without --person",
        )?;
    }
    // locked until the rows are filled
    let is_live = trial.clock == TrialClock::Live;
    let _alone = is_live
        .then(|| live::lock_machine(arguments.jobs))
        .transpose()?;
    let header = run::header(&trial)?;
    let wanted = &arguments.output;
    let folder = run::folder(wanted.chosen(), &trial)?;
    let (store, mut rows) = RowStore::open(&folder, &header)?;
    output::write(&folder.join(run::FILE), &text)?;
    let stop = interrupt::on_ctrl_c()?;
    let run = TrialRun {
        trial: &trial,
        folder: &folder,
        stop: &stop,
        shard: arguments.shard,
        jobs: arguments.jobs,
        serving: &arguments.console.serve_options(),
    };
    if trial.respondent == Respondent::Simulated {
        estimate::refuse_long(&run, &rows, arguments.yes)?;
    }
    let mut sessions_per_s = None;
    match trial.respondent.code() {
        Some(code) => run.fill_by_person(&header.trial, code, store, &mut rows)?,
        None => {
            let own = trial.planned_rows(arguments.shard).len();
            let progress = TerminalProgress::bar("trial", own as u64, wanted.is_silent());
            sessions_per_s = run.fill(store, &mut rows, &progress)?;
        }
    }
    let stopped = stop.load(Ordering::Relaxed);
    let note = unfilled(&run, &rows, stopped);
    let results = TrialResults {
        hash: header.trial,
        rows,
        notes: note.iter().cloned().collect(),
        sessions_per_s,
        trial,
    };
    Ok(CommandOutcome {
        warning: note.filter(|_| stopped),
        checks_passed: stopped || !results.any_check_failed(),
        ..write_results(&results, &folder, wanted)?
    })
}

/// Note on a trial with missing rows.
fn unfilled(run: &TrialRun<'_>, rows: &BTreeMap<usize, TrialRow>, stopped: bool) -> Option<String> {
    let cells = run.trial.planned_rows(run.shard);
    let (own, all) = (cells.len(), run.trial.row_count());
    if stopped {
        let done = cells.iter().filter(|cell| rows.contains_key(&cell.index));
        return Some(format!(
            "Interrupted before its end: {} of {own} rows of shard {}. The same command with \
             --out {} continues it.",
            done.count(),
            run.shard,
            run.folder.display()
        ));
    }
    (own < all).then(|| {
        format!(
            "Shard {}: {own} of {all} rows; `palpate trial merge` merges the parts.",
            run.shard
        )
    })
}

/// Overrides of a trial by the command line.
fn overrides(arguments: &TrialArgs) -> Result<TrialOverrides, Failure> {
    let flags = &arguments.session;
    if flags.link.trace.is_some() {
        return Err(Failure::Usage(
            "--trace: a trial plays no recorded network; expected link.change in its [base]".into(),
        ));
    }
    let config = flags.config.as_deref().map(|path| {
        let known = Config::parse(&run::read_text(path)?, &path.display().to_string())?;
        toml::Table::try_from(known).map_err(|error| Failure::Usage(error.to_string()))
    });
    Ok(TrialOverrides {
        config: config.transpose()?,
        sessions: arguments.sessions,
        seed: flags.seed,
        assignments: flags.assignments()?,
    })
}

/// Merges the rows of several folders.
fn merge(arguments: &MergeArgs) -> Result<CommandOutcome, Failure> {
    let wanted = &arguments.output;
    let (results, folder) = run::merge(&arguments.parts, wanted.chosen())?;
    Ok(CommandOutcome {
        warning: (!results.notes.is_empty()).then(|| results.notes.join(" ")),
        checks_passed: results.is_whole() && !results.any_check_failed(),
        ..write_results(&results, &folder, wanted)?
    })
}

/// Writes the results, and returns the text for stdout.
fn write_results(
    results: &TrialResults,
    folder: &Path,
    wanted: &OutputArgs,
) -> Result<CommandOutcome, Failure> {
    results.write(folder)?;
    let words = || results.summary_text(folder, wanted.verbose);
    let stdout = json_or_text(wanted.json, wanted.quiet, || results.json(), words)?;
    Ok(CommandOutcome::unchecked(stdout))
}
