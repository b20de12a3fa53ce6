//! Run of a trial: its rows are filled, on all cores or by a person, merged, and written.
//!
//! Source: ours. The folder holds a copy of the file (`trial.toml`), the finished rows (`rows.jsonl`), and the
//! results from them: `trials.csv`, `trials.parquet`, `report.html`, and for an observer every answer, `answers.csv`
//! and `answers.parquet`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_analysis::conclusion;
use palpate_analysis::output::ChosenFolder;
use palpate_analysis::progress::{NoProgress, Progress};
use palpate_analysis::{Failure, output, truth, virtual_run};
use palpate_console::serve::{self, ServeOptions};
use palpate_session::built_in::is_path;
use palpate_session::files;
use palpate_session::lab::VirtualSession;
use palpate_session::pool;
use palpate_transport::clock::{Clock as _, MonotonicClock};

use super::overrides::TrialOverrides;
use super::person::{self, Respondent, answer_file, sitting};
use super::psycho::{self, ForcedChoice, Observer, stimulus};
use super::results::TrialResults;
use super::row::{self, RowStore, TrialHeader};
use super::{
    BUILT_IN, PlannedRow, Shard, Trial, TrialClock, TrialKind, TrialRow, live, metric, transparency,
};
use crate::abort::{Abort, check_stop, unless_stopped};

/// Name of the copy of the trial's file.
pub const FILE: &str = "trial.toml";

/// Most gaps or duplicates that a message lists.
const LISTED_MAX: usize = 20;

/// Checks that the respondent can answer the trial's questions.
///
/// # Errors
/// [`Failure::Usage`] naming the file and the field.
pub fn check_respondent(trial: &Trial, file: &str) -> Result<(), Failure> {
    if trial.respondent != Respondent::Simulated {
        return sitting::check(trial, file);
    }
    if trial.kind == TrialKind::Search {
        let text = "kind is lump-search, which only a person can do; expected --person CODE";
        return Err(Failure::Usage(format!("{file}: {text}")));
    }
    Ok(())
}

/// Run of the missing rows of a shard.
#[derive(Clone, Copy)]
pub struct TrialRun<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Folder of its rows.
    pub folder: &'a Path,
    /// Set to end the run.
    pub stop: &'a Arc<AtomicBool>,
    /// Part of its rows.
    pub shard: Shard,
    /// Sessions at once; by default as many as possible.
    pub jobs: Option<usize>,
    /// Page of a trial with a person.
    pub serving: &'a ServeOptions,
}

impl TrialRun<'_> {
    /// Missing rows, and the number of rows of the shard.
    pub(super) fn missing(&self, rows: &BTreeMap<usize, TrialRow>) -> (Vec<PlannedRow>, usize) {
        let mut planned_rows = self.trial.planned_rows(self.shard);
        let own = planned_rows.len();
        planned_rows.retain(|planned| !rows.contains_key(&planned.index));
        (planned_rows, own)
    }

    /// Fills the missing rows, as many at once as possible, into the file of rows and into `rows`. Returns their rate
    /// if there were any \[1/s\].
    ///
    /// # Errors
    /// [`Failure`] if a session cannot be run, or a row not stored.
    pub fn fill(
        &self,
        mut store: RowStore,
        rows: &mut BTreeMap<usize, TrialRow>,
        progress: &dyn Progress,
    ) -> Result<Option<f64>, Failure> {
        let (trial, stop) = (self.trial, self.stop);
        let (planned_rows, own) = self.missing(rows);
        let is_live = trial.clock == TrialClock::Live;
        let most = if is_live { 1 } else { pool::cores() };
        let jobs = self.jobs.unwrap_or(most);
        let mut done = (own - planned_rows.len()) as u64;
        progress.set_done(done);
        let (before, begun) = (done, MonotonicClock.now());
        let fill = |number: usize| match trial.clock {
            TrialClock::Virtual => unless_stopped(fill_row(trial, &planned_rows[number], stop)),
            TrialClock::Live => live::fill(trial, &planned_rows[number], self.folder, stop),
        };
        pool::run_jobs(planned_rows.len(), jobs, stop, &fill, |_, row| {
            // a row that was interrupted by a stop is run another time
            let Some(row) = row else { return Ok(()) };
            store.push(&row)?;
            done += 1;
            progress.set_done(done);
            rows.insert(row.index, row);
            Ok(())
        })?;
        let passed_s = (MonotonicClock.now() - begun).s();
        Ok((done > before).then_some((done - before) as f64 / passed_s))
    }

    /// Fills the missing rows by a person, one after another in the person's order.
    ///
    /// # Errors
    /// [`Failure`] if the page cannot be served, a session not run, or an answer not stored.
    pub fn fill_by_person(
        &self,
        hash: &str,
        code: &str,
        mut store: RowStore,
        rows: &mut BTreeMap<usize, TrialRow>,
    ) -> Result<(), Failure> {
        let (mut planned_rows, _) = self.missing(rows);
        person::shuffle_rows(&mut planned_rows, hash, code);
        if planned_rows.is_empty() {
            return Ok(());
        }
        let mut sitting = sitting::Sitting::open(
            self.trial,
            self.folder,
            self.serving,
            planned_rows.len(),
            self.stop,
        )?;
        let mut answered = 0;
        for planned in &planned_rows {
            let Some(row) = sitting.fill(planned)? else {
                break;
            };
            store.push(&row)?;
            rows.insert(row.index, row);
            answered += 1;
        }
        if answered == planned_rows.len() {
            sitting.show_done();
        }
        serve::write_log(sitting.console(), self.folder)
    }
}

/// Files and folders of a trial.
const RESULTS: &[&str] = &[
    FILE,
    row::ROWS,
    "trials.csv",
    "trials.parquet",
    "answers.csv",
    "answers.parquet",
    "report.html",
    "console.json",
    live::FOLDER,
    answer_file::FOLDER,
];

/// Returns the folder of a trial, which may have rows of the same trial.
///
/// # Errors
/// As [`output::folder`].
pub fn folder(chosen: ChosenFolder<'_>, trial: &Trial) -> Result<PathBuf, Failure> {
    output::resumable_folder(chosen, &trial.name, RESULTS, row::ROWS)
}

/// Loads the trial of a file with overrides, for a run; returns its whole text as well.
///
/// # Errors
/// [`Failure::Usage`] naming the file, the field and the expected value.
pub fn load(
    name: &str,
    text: String,
    overrides: TrialOverrides,
) -> Result<(String, Trial), Failure> {
    let text = overrides.into_text(text, name)?;
    let trial = parse_and_check(name, &text)?;
    if trial.clock == TrialClock::Live {
        live::check(&trial)?;
    }
    Ok((text, trial))
}

/// Parses a trial and checks that all of its conditions can run.
fn parse_and_check(name: &str, text: &str) -> Result<Trial, Failure> {
    let trial = Trial::parse(text, name)?;
    // an impossible condition is refused before anything is written; each scene is built only once
    let mut seen = Vec::new();
    for (index, condition) in trial.conditions.iter().enumerate() {
        let config = &condition.config;
        let parts = (&config.tissue, &config.twin, config.coupling.mode);
        if seen.contains(&parts) {
            continue;
        }
        VirtualSession::new(config)
            .map_err(|error| Failure::Usage(format!("{name}: condition {index}: {error}")))?;
        seen.push(parts);
    }
    Ok(trial)
}

/// Reads the text of a built-in trial by its name, or of a file by its path.
///
/// # Errors
/// [`Failure::Usage`] with a list of the built-in trials for an unknown name.
pub fn read_trial_text(name: &Path) -> Result<String, Failure> {
    match BUILT_IN.find(name) {
        Ok(text) => Ok(text.into_owned()),
        Err(_) if !is_path(&name.to_string_lossy()) => Err(Failure::Usage(format!(
            "no trial is called `{}`; expected one of: {}; or the path of a TOML file, such as ./own.toml",
            name.display(),
            BUILT_IN.names().join(", ")
        ))),
        Err(error) => Err(unreadable(name, &error)),
    }
}

/// Reads the text of a file.
///
/// # Errors
/// [`Failure::Usage`] naming it.
pub fn read_text(file: &Path) -> Result<String, Failure> {
    files::read_text(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    let name = file.display();
    Failure::Usage(format!("{name}: {error}; expected a readable TOML file"))
}

/// First line of the file of rows of a trial.
///
/// # Errors
/// [`Failure::Usage`] if one of its scenes cannot be read.
pub fn header(trial: &Trial) -> Result<TrialHeader, Failure> {
    Ok(TrialHeader {
        trial: trial.hash()?,
        name: trial.name.clone(),
        rows: trial.row_count(),
        participant: trial.respondent.code().map(str::to_owned),
    })
}

/// Fills one row.
fn fill_row(trial: &Trial, planned: &PlannedRow, stop: &AtomicBool) -> Result<TrialRow, Abort> {
    match trial.kind {
        TrialKind::Session => session(trial, planned, stop),
        TrialKind::Transparency => {
            let tones = transparency::measure(&planned.config(trial), &trial.transparency);
            Ok(TrialRow {
                index: planned.index,
                values: metric::of_tones(&tones.map_err(Failure::from)?),
                ..TrialRow::default()
            })
        }
        _ => answers(trial, planned, stop),
    }
}

fn session(trial: &Trial, planned: &PlannedRow, stop: &AtomicBool) -> Result<TrialRow, Abort> {
    let config = planned.config(trial);
    let session = VirtualSession::new(&config).map_err(Failure::from)?;
    let run = virtual_run::play(session, None, &NoProgress, stop, |_| Ok(()))?;
    check_stop(stop)?;
    let sites = truth::sites(&config, &run.master).map_err(Failure::from)?;
    let facts = virtual_run::facts(&config, &run, sites, false).map_err(Failure::from)?;
    let (summary, _) = conclusion::measure(&run.evidence(&config, &facts));
    Ok(TrialRow::of_session(trial, planned.index, &summary))
}

/// Runs one simulated observer.
fn answers(trial: &Trial, planned: &PlannedRow, stop: &AtomicBool) -> Result<TrialRow, Abort> {
    let params = &trial.psycho;
    let setup = stimulus::StimulusSetup::new(&planned.config(trial), trial.kind, params);
    let seed = planned.session_seed();
    let mut observer = Observer::new(params.weber, params.lapse, seed);
    let answer_to = |number: u32, difference: f64| -> Result<ForcedChoice, Abort> {
        check_stop(stop)?;
        let shown = |d: f64, more: bool| {
            let seed = stimulus::interval_seed(seed, 1 + u64::from(number), more);
            let shown = setup.displayed_quantity(d, seed).map_err(Failure::from)?;
            Ok::<_, Failure>(shown.filter(|shown| shown.is_finite()))
        };
        let (less, more) = (shown(0.0, false)?, shown(difference, true)?);
        let both = less.zip(more);
        Ok(ForcedChoice {
            difference,
            less,
            more,
            right: both.map(|(less, more)| observer.chooses_more(less, more)),
        })
    };
    let found = psycho::run_protocol(params, answer_to)?;
    Ok(TrialRow {
        index: planned.index,
        values: trial.observer_values(&found),
        asked: found.choices,
        ..TrialRow::default()
    })
}

/// Merges the rows of several folders into `out`, or into a new folder, which is returned.
///
/// # Errors
/// [`Failure::Usage`] naming the folder whose rows belong to another trial, [`Failure::Refused`] if results cannot be
/// written.
pub fn merge(
    parts: &[PathBuf],
    chosen: ChosenFolder<'_>,
) -> Result<(TrialResults, PathBuf), Failure> {
    let MergedParts {
        head,
        rows,
        duplicates,
    } = read_parts(parts)?;
    let first = &parts[0];
    let file = first.join(FILE);
    let text = read_text(&file)?;
    let mut trial = parse_and_check(&file.display().to_string(), &text)?;
    if let Some(code) = &head.participant {
        trial.respondent = Respondent::from_code(code).map_err(Failure::Usage)?;
    }
    let header = header(&trial)?;
    header.require_same(&head, &first.join(row::ROWS))?;
    let missing: Vec<usize> = (0..trial.row_count())
        .filter(|number| !rows.contains_key(number))
        .collect();
    let mut notes = Vec::new();
    if !duplicates.is_empty() {
        let words = listed("in several folders", &duplicates);
        notes.push(format!("{words}, counted once."));
    }
    if !missing.is_empty() {
        notes.push(format!("{}.", listed("missing", &missing)));
    }
    let folder = folder(chosen, &trial)?;
    let (mut store, before) = RowStore::open(&folder, &header)?;
    let fresh = rows.values().filter(|row| !before.contains_key(&row.index));
    for row in fresh {
        store.push(row)?;
    }
    output::write(&folder.join(FILE), &text)?;
    let results = TrialResults {
        trial,
        hash: head.trial,
        rows,
        notes,
        sessions_per_s: None,
    };
    Ok((results, folder))
}

/// Rows of one trial from several folders.
struct MergedParts {
    /// Trial of the first folder.
    head: TrialHeader,
    /// The rows.
    rows: BTreeMap<usize, TrialRow>,
    /// Rows that more than one folder contains.
    duplicates: Vec<usize>,
}

/// Reads folders, which must belong to one trial and agree in the rows that they share.
fn read_parts(folders: &[PathBuf]) -> Result<MergedParts, Failure> {
    let mut parts: Option<MergedParts> = None;
    for folder in folders {
        let unusable = |why: &str| Failure::Usage(format!("{}: {why}", folder.display()));
        if !folder.is_dir() {
            return Err(unusable("is no folder; expected the folder of a trial"));
        }
        let stored = row::read(folder)?.ok_or_else(|| {
            let expected = "expected the folder of a trial";
            unusable(&format!("has no {}; {expected}", row::ROWS))
        })?;
        let parts = parts.get_or_insert_with(|| MergedParts {
            head: stored.header.clone(),
            rows: BTreeMap::new(),
            duplicates: Vec::new(),
        });
        let (own, head) = (&stored.header, &parts.head);
        if own.trial != head.trial {
            return Err(unusable(&format!(
                "rows of trial `{}` with hash {}, and {} has `{}` with {}; expected parts of one trial",
                own.name,
                own.trial,
                folders[0].display(),
                head.name,
                head.trial
            )));
        }
        head.require_same(own, &folder.join(row::ROWS))?;
        for (index, row) in stored.rows {
            match parts.rows.get(&index) {
                Some(seen) if *seen != row => {
                    return Err(unusable(&format!(
                        "row {index} is not as in an earlier folder; expected the same values, as rows in virtual time \
                         depend on the trial alone, or each live row in one folder"
                    )));
                }
                Some(_) => parts.duplicates.push(index),
                None => {
                    parts.rows.insert(index, row);
                }
            }
        }
    }
    parts.ok_or_else(|| Failure::Usage("merge: no folder; expected at least one".into()))
}

/// Message with the number of rows and the first of their numbers.
fn listed(state: &str, rows: &[usize]) -> String {
    let first: Vec<String> = rows
        .iter()
        .take(LISTED_MAX)
        .map(ToString::to_string)
        .collect();
    let more = if rows.len() > LISTED_MAX { ", ..." } else { "" };
    format!("{} rows {state}: {}{more}", rows.len(), first.join(", "))
}
