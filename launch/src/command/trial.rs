//! `palpate trial`: many sessions, in virtual time on all cores or live one by one, resumable, in shards.
//!
//! Source: ours. [`palpate_study::trial::run`] fills the rows; here are flags and words.

use std::path::Path;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_console::serve;
use palpate_session::config::Config;
use palpate_study::trial::given::Given;
use palpate_study::trial::person::Who;
use palpate_study::trial::row::Store;
use palpate_study::trial::run::{self, Results, Run};
use palpate_study::trial::{Clock, Row, live};

use super::{Done, interrupt};
use crate::cli::{MergeArgs, OutputArgs, SessionArgs, TrialAction, TrialArgs};
use crate::progress::Terminal;

/// Run a trial, or join the parts of one.
///
/// # Errors
/// [`Failure::Usage`] naming file, field, value and what would be right; [`Failure::Refused`] if results
/// cannot be written.
pub fn trial(arguments: &TrialArgs) -> Result<Done, Failure> {
    if let Some(TrialAction::Merge(arguments)) = &arguments.action {
        return merge(arguments);
    }
    // clap demands a file where there is no action
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let name = file.display().to_string();
    let text = run::text_of(file)?;
    let (text, mut trial) = run::load(&name, text, given(&arguments.session)?)?;
    trial.who = arguments.person.clone().unwrap_or_default();
    run::can_be_asked(&trial, &name)?;
    if trial.who == Who::Simulated {
        serve::unserved(&arguments.console.serving(), "`trial` without --person")?;
    }
    // held until the rows are filled
    let is_live = trial.clock == Clock::Live;
    let _alone = is_live.then(|| live::alone(arguments.jobs)).transpose()?;
    let header = run::header(&trial)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &trial.name)?;
    let (store, mut rows) = Store::open(&folder, &header).map_err(run::rows_failure)?;
    output::write(&folder.join(run::FILE), &text)?;
    let stop = interrupt::on_ctrl_c()?;
    let own = trial.cells(arguments.shard).len();
    let run = Run {
        trial: &trial,
        folder: &folder,
        stop: &stop,
        shard: arguments.shard,
        jobs: arguments.jobs,
        serving: &arguments.console.serving(),
    };
    match trial.who.code() {
        Some(code) => run.ask(&header.trial, code, store, &mut rows)?,
        None => {
            let progress = Terminal::bar("trial", own as u64, wanted.quiet || wanted.json);
            run.fill(store, &mut rows, &progress)?;
        }
    }
    let done = trial
        .cells(arguments.shard)
        .iter()
        .filter(|cell| rows.contains_key(&cell.index))
        .count();
    let stopped = stop.load(Ordering::Relaxed);
    let notes: Vec<String> = unfilled(&run, done, stopped).into_iter().collect();
    let results = Results {
        trial: &trial,
        rows: &rows,
        hash: &header.trial,
        notes: &notes,
    };
    results.write(&folder)?;
    Ok(Done {
        stdout: shown(&results, &folder, wanted)?,
        warning: stopped.then(|| notes[0].clone()),
        held: stopped || !rows.values().any(Row::broke),
    })
}

/// What a reader must know of a trial whose rows are not all there.
fn unfilled(run: &Run<'_>, done: usize, stopped: bool) -> Option<String> {
    let (own, all) = (run.trial.cells(run.shard).len(), run.trial.rows());
    if stopped {
        return Some(format!(
            "Ended before its time, as was asked: {done} of {own} rows of shard {}. The same command with \
             --out {} goes on.",
            run.shard,
            run.folder.display()
        ));
    }
    (own < all).then(|| {
        format!(
            "Shard {}: {own} of {all} rows; `palpate trial merge` joins the parts.",
            run.shard
        )
    })
}

/// What the command line sets of a trial.
fn given(flags: &SessionArgs) -> Result<Given, Failure> {
    if flags.link.trace.is_some() {
        return Err(Failure::Usage(
            "--trace: a trial plays no recorded network; expected link.change in its [base]".into(),
        ));
    }
    let config = flags.config.as_deref().map(|path| {
        let known = Config::parse(&run::readable(path)?, &path.display().to_string())?;
        toml::Table::try_from(known).map_err(|error| Failure::Usage(error.to_string()))
    });
    Ok(Given {
        config: config.transpose()?,
        seed: flags.seed,
        assigned: flags.assignments()?,
    })
}

/// Joins the rows of several folders.
fn merge(arguments: &MergeArgs) -> Result<Done, Failure> {
    let wanted = &arguments.output;
    let merged = run::merge(&arguments.parts, wanted.out.as_deref())?;
    let results = Results {
        trial: &merged.trial,
        rows: &merged.rows,
        hash: &merged.hash,
        notes: &merged.notes,
    };
    results.write(&merged.folder)?;
    Ok(Done {
        stdout: shown(&results, &merged.folder, wanted)?,
        warning: (!merged.notes.is_empty()).then(|| merged.notes.join(" ")),
        held: merged.is_whole && !merged.rows.values().any(Row::broke),
    })
}

/// What goes to stdout.
fn shown(results: &Results<'_>, folder: &Path, wanted: &OutputArgs) -> Result<String, Failure> {
    match (wanted.json, wanted.quiet) {
        (true, _) => results.json(),
        (false, true) => Ok(String::new()),
        (false, false) => Ok(results.words(folder, wanted.verbose)),
    }
}
