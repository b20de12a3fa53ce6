//! A trial as it is run: its rows filled, on all cores or one by one, asked of a person, joined, and written.
//!
//! Source: ours. The folder holds a copy of the file (`trial.toml`), the finished rows (`rows.jsonl`), and what is made
//! of them: `trials.csv`, `trials.parquet`, `report.html`, and of a simulated observer every answer, `answers.csv` and
//! `answers.parquet`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::conclude;
use palpate_analysis::progress::{Progress, Unseen};
use palpate_analysis::{Failure, output, play, truth};
use palpate_console::serve::{self, Serving};
use palpate_session::built_in::is_path;
use palpate_session::lab::Session;
use palpate_session::pool;

use super::given::Given;
use super::person::{self, Who, sitting};
use super::psycho::{self, Observer, show};
use super::row::{self, Header, RowsError, Store};
use super::{
    BUILT_IN, Cell, Clock, Kind, Row, Shard, Trial, live, metric, parquet, table, transparency,
};
use crate::report;
use crate::report::trial::TrialInput;

/// Name of the copy of the trial's file.
pub const FILE: &str = "trial.toml";

/// Metrics that a terminal shows, those of them that the trial has.
const SHOWN: [&str; 9] = [
    "violations",
    "stiffness_error",
    "contrast_transmission",
    "force_rmse_n",
    "drift_mm_max",
    "threshold",
    "threshold_over_programmed",
    "unmeasured_share",
    "missed_share",
];

/// Most gaps or duplicates that a message lists.
const LISTED: usize = 20;

/// Whether whoever answers can be asked what the trial asks.
///
/// # Errors
/// [`Failure::Usage`] naming the file and the field.
pub fn can_be_asked(trial: &Trial, file: &str) -> Result<(), Failure> {
    if trial.who != Who::Simulated {
        return sitting::check(trial, file);
    }
    if trial.kind == Kind::Search {
        let text = "kind is lump-search, which a person does; expected --person CODE";
        return Err(Failure::Usage(format!("{file}: {text}")));
    }
    Ok(())
}

/// The rows of a shard that are missing, on their way.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Where its rows are kept.
    pub folder: &'a Path,
    /// Set when it must end.
    pub stop: &'a Arc<AtomicBool>,
    /// Which part of its rows.
    pub shard: Shard,
    /// Sessions that run at once, if not as many as may be.
    pub jobs: Option<usize>,
    /// The page of a trial with a person.
    pub serving: &'a Serving,
}

impl Run<'_> {
    /// The rows that are missing, and how many there are altogether.
    fn missing(&self, rows: &BTreeMap<usize, Row>) -> (Vec<Cell>, usize) {
        let mut cells = self.trial.cells(self.shard);
        let own = cells.len();
        cells.retain(|cell| !rows.contains_key(&cell.index));
        (cells, own)
    }

    /// Fill them, as many at once as may be: into the file of rows, and to those that it has.
    ///
    /// # Errors
    /// [`Failure`] if a session cannot be run, or a row not kept.
    pub fn fill(
        &self,
        mut store: Store,
        rows: &mut BTreeMap<usize, Row>,
        progress: &dyn Progress,
    ) -> Result<(), Failure> {
        let (trial, stop) = (self.trial, self.stop);
        let (cells, own) = self.missing(rows);
        let is_live = trial.clock == Clock::Live;
        let most = if is_live { 1 } else { pool::cores() };
        let jobs = self.jobs.unwrap_or(most);
        let mut done = (own - cells.len()) as u64;
        progress.at(done);
        let fill = |number: usize| match trial.clock {
            Clock::Virtual => fill(trial, &cells[number], stop),
            Clock::Live => live::fill(trial, &cells[number], self.folder, stop),
        };
        pool::each((cells.len(), jobs), stop, &fill, |_, row| {
            // a row that was left when all was stopped is run another time
            let Some(row) = row else { return Ok(()) };
            store.push(&row).map_err(rows_failure)?;
            done += 1;
            progress.at(done);
            rows.insert(row.index, row);
            Ok(())
        })
    }

    /// Ask a person for them, one after another in the order that is dealt.
    ///
    /// # Errors
    /// [`Failure`] if there is no page, a session cannot be run, or an answer not kept.
    pub fn ask(
        &self,
        hash: &str,
        code: &str,
        mut store: Store,
        rows: &mut BTreeMap<usize, Row>,
    ) -> Result<(), Failure> {
        let (mut cells, _) = self.missing(rows);
        person::deal(&mut cells, hash, code);
        if cells.is_empty() {
            return Ok(());
        }
        let mut sitting = sitting::Sitting::open(
            self.trial,
            self.folder,
            self.serving,
            cells.len(),
            self.stop,
        )?;
        let mut answered = 0;
        for cell in &cells {
            let Some(row) = sitting.fill(cell)? else {
                break;
            };
            store.push(&row).map_err(rows_failure)?;
            rows.insert(row.index, row);
            answered += 1;
        }
        if answered == cells.len() {
            sitting.thank();
        }
        serve::keep(sitting.console(), self.folder)
    }
}

/// The trial of a file and its whole text, with what is given beside it; one that is to run now.
///
/// # Errors
/// [`Failure::Usage`] naming the file, the field and what would be right.
pub fn load(name: &str, text: String, given: Given) -> Result<(String, Trial), Failure> {
    let text = given.into_text(text, name);
    let text = text.map_err(|error| Failure::Usage(error.to_string()))?;
    let trial = checked(name, &text)?;
    if trial.clock == Clock::Live {
        live::check(&trial)?;
    }
    Ok((text, trial))
}

/// A trial by its text, all of whose conditions can run.
fn checked(name: &str, text: &str) -> Result<Trial, Failure> {
    let trial = Trial::parse(text, name).map_err(|error| Failure::Usage(error.to_string()))?;
    // what cannot run at all is refused before anything is written; each scene is built but once
    let mut known = Vec::new();
    for (index, condition) in trial.conditions.iter().enumerate() {
        let config = &condition.config;
        let parts = (&config.tissue, &config.twin, config.coupling.mode);
        if known.contains(&parts) {
            continue;
        }
        Session::new(config)
            .map_err(|error| Failure::Usage(format!("{name}: condition {index}: {error}")))?;
        known.push(parts);
    }
    Ok(trial)
}

/// The text of a built-in trial by its name, or of a file by its path.
///
/// # Errors
/// [`Failure::Usage`] lists the built-in trials if a name is not that of one.
pub fn text_of(name: &Path) -> Result<String, Failure> {
    match BUILT_IN.find(name) {
        Ok(found) => Ok(found.text().to_owned()),
        Err(_) if !is_path(&name.to_string_lossy()) => Err(Failure::Usage(format!(
            "no trial is called `{}`; expected one of: {}; or the path of a TOML file, such as ./own.toml",
            name.display(),
            BUILT_IN.names().join(", ")
        ))),
        Err(error) => Err(unreadable(name, &error)),
    }
}

/// The text of a file.
///
/// # Errors
/// [`Failure::Usage`] naming it.
pub fn readable(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    let name = file.display();
    Failure::Usage(format!("{name}: {error}; expected a readable TOML file"))
}

/// What the file of rows says of a trial.
///
/// # Errors
/// [`Failure::Usage`] if a scene of it cannot be read.
pub fn header(trial: &Trial) -> Result<Header, Failure> {
    Ok(Header {
        trial: trial.hash()?,
        name: trial.name.clone(),
        rows: trial.rows(),
        participant: trial.who.code().map(str::to_owned),
    })
}

/// Why rows cannot be kept or used.
#[must_use]
pub fn rows_failure(error: RowsError) -> Failure {
    match error {
        RowsError::File { .. } => Failure::Refused(format!("{error}; is the disk full?")),
        other => Failure::Usage(other.to_string()),
    }
}

/// Fills one row; nothing if it was stopped.
fn fill(trial: &Trial, cell: &Cell, stop: &AtomicBool) -> Result<Option<Row>, Failure> {
    match trial.kind {
        Kind::Session => session(trial, cell, stop),
        Kind::Transparency => {
            let tones = transparency::measure(&cell.config(trial), &trial.transparency)?;
            Ok(Some(Row {
                index: cell.index,
                held: None,
                trace_hash: None,
                values: metric::of_tones(&tones),
                asked: Vec::new(),
            }))
        }
        _ => answers(trial, cell, stop),
    }
}

fn session(trial: &Trial, cell: &Cell, stop: &AtomicBool) -> Result<Option<Row>, Failure> {
    let config = cell.config(trial);
    let run = play::play(Session::new(&config)?, &Unseen, stop, |_| Ok(()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let sites = truth::sites(&config, &run.master)?;
    let facts = play::facts(&config, &run, sites, false)?;
    let (summary, _) = conclude::measure(&run.evidence(&config, &facts));
    Ok(Some(Row {
        index: cell.index,
        held: Some(summary.good()),
        trace_hash: summary.trace_hash.clone(),
        values: metric::of_session(&summary),
        asked: Vec::new(),
    }))
}

/// One run of a simulated observer.
fn answers(trial: &Trial, cell: &Cell, stop: &AtomicBool) -> Result<Option<Row>, Failure> {
    let params = &trial.psycho;
    let stage = show::Stage::new(&cell.config(trial), trial.kind, params);
    let seed = cell.session_seed();
    let mut observer = Observer::new(params.weber, params.lapse, seed);
    let tell = |number: u32, difference: f64| {
        if stop.load(Ordering::Relaxed) {
            return Err(None);
        }
        let shown = |d: f64, more: bool| {
            let seed = show::interval_seed(seed, 1 + u64::from(number), more);
            let shown = stage.shown(d, seed);
            let shown = shown.map_err(|error| Some(Failure::from(error)))?;
            Ok::<_, Option<Failure>>(shown.filter(|shown| shown.is_finite()))
        };
        let (less, more) = (shown(0.0, false)?, shown(difference, true)?);
        let both = less.zip(more);
        Ok(psycho::Told {
            less,
            more,
            right: both.map(|(less, more)| observer.tells(less, more)),
        })
    };
    match psycho::run(params, tell) {
        Ok(found) => Ok(Some(Row {
            index: cell.index,
            held: None,
            trace_hash: None,
            values: metric::of_answers(&found, Some(params.weber)),
            asked: found.asked,
        })),
        Err(None) => Ok(None),
        Err(Some(failure)) => Err(failure),
    }
}

/// Rows of several folders, joined in one.
pub struct Merged {
    /// Where they are now.
    pub folder: PathBuf,
    /// The trial.
    pub trial: Trial,
    /// Its hash.
    pub hash: String,
    /// The rows.
    pub rows: BTreeMap<usize, Row>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Whether all rows are there.
    pub is_whole: bool,
}

/// Joins the rows of several folders in `out`, or in a new one.
///
/// # Errors
/// [`Failure::Usage`] naming the folder whose rows are not of the same trial, [`Failure::Refused`] if results cannot be
/// written.
pub fn merge(parts: &[PathBuf], out: Option<&Path>) -> Result<Merged, Failure> {
    let Parts {
        first,
        head,
        rows,
        twice,
    } = joined(parts)?;
    let file = first.join(FILE);
    let text = readable(&file)?;
    let mut trial = checked(&file.display().to_string(), &text)?;
    if let Some(code) = &head.participant {
        trial.who = Who::coded(code).map_err(Failure::Usage)?;
    }
    let header = header(&trial)?;
    if header.trial != head.trial {
        return Err(rows_failure(RowsError::Other {
            path: first.join(row::ROWS),
            name: head.name,
            found: head.trial,
            expected: header.trial,
        }));
    }
    row::same_count(&first.join(row::ROWS), &head, &header).map_err(rows_failure)?;
    let gaps: Vec<usize> = (0..trial.rows())
        .filter(|number| !rows.contains_key(number))
        .collect();
    let mut notes = Vec::new();
    if !twice.is_empty() {
        let words = listed("in several folders", &twice);
        notes.push(format!("{words}, counted once."));
    }
    if !gaps.is_empty() {
        notes.push(format!("{}.", listed("missing", &gaps)));
    }
    let folder = output::folder(out, &trial.name)?;
    let (mut store, before) = Store::open(&folder, &header).map_err(rows_failure)?;
    let fresh = rows.values().filter(|row| !before.contains_key(&row.index));
    for row in fresh {
        store.push(row).map_err(rows_failure)?;
    }
    output::write(&folder.join(FILE), &text)?;
    Ok(Merged {
        folder,
        trial,
        hash: head.trial,
        rows,
        notes,
        is_whole: gaps.is_empty(),
    })
}

/// What several folders hold of one trial.
struct Parts {
    /// The first folder.
    first: PathBuf,
    /// Which trial it is.
    head: Header,
    /// The rows.
    rows: BTreeMap<usize, Row>,
    /// Rows that more than one folder has.
    twice: Vec<usize>,
}

/// Reads folders that must be of one trial and agree where they have the same rows.
fn joined(folders: &[PathBuf]) -> Result<Parts, Failure> {
    let mut parts: Option<Parts> = None;
    for folder in folders {
        let name = folder.display();
        if !folder.is_dir() {
            return Err(Failure::Usage(format!(
                "{name}: is no folder; expected the folder of a trial"
            )));
        }
        let kept = row::read(folder).map_err(rows_failure)?;
        let kept = kept.ok_or_else(|| {
            let expected = "expected the folder of a trial";
            Failure::Usage(format!("{name}: has no {}; {expected}", row::ROWS))
        })?;
        let parts = parts.get_or_insert_with(|| Parts {
            first: folder.clone(),
            head: kept.header.clone(),
            rows: BTreeMap::new(),
            twice: Vec::new(),
        });
        let head = &parts.head;
        if kept.header.trial != head.trial {
            return Err(Failure::Usage(format!(
                "{name}: rows of trial `{}` with hash {}, and {} has `{}` with {}; expected parts of one \
                 trial",
                kept.header.name,
                kept.header.trial,
                parts.first.display(),
                head.name,
                head.trial
            )));
        }
        let path = folder.join(row::ROWS);
        row::same_count(&path, &kept.header, head).map_err(rows_failure)?;
        for (index, row) in kept.rows {
            match parts.rows.get(&index) {
                Some(known) if *known != row => {
                    return Err(Failure::Usage(format!(
                        "{name}: row {index} is not as in an earlier folder; expected the same values, as \
                         rows in virtual time depend on the trial alone, or each live row in one folder"
                    )));
                }
                Some(_) => parts.twice.push(index),
                None => {
                    parts.rows.insert(index, row);
                }
            }
        }
    }
    parts.ok_or_else(|| Failure::Usage("merge: no folder; expected at least one".into()))
}

/// How many rows, and which, as far as a message has room.
fn listed(what: &str, rows: &[usize]) -> String {
    let some: Vec<String> = rows.iter().take(LISTED).map(ToString::to_string).collect();
    let more = if rows.len() > LISTED { ", ..." } else { "" };
    format!("{} rows {what}: {}{more}", rows.len(), some.join(", "))
}

/// Writes a table as `NAME.csv` and `NAME.parquet`.
fn write_table(folder: &Path, name: &str, columns: &[table::Column]) -> Result<(), Failure> {
    output::write(&folder.join(format!("{name}.csv")), &table::csv(columns))?;
    let mut bytes = Vec::new();
    let path = folder.join(format!("{name}.parquet"));
    parquet::write(columns, &mut bytes)
        .map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))?;
    output::write_bytes(&path, &bytes)
}

/// Finished rows, and what is made of them.
#[derive(Clone, Copy)]
pub struct Results<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// The rows.
    pub rows: &'a BTreeMap<usize, Row>,
    /// Hash of the trial.
    pub hash: &'a str,
    /// What a reader must know.
    pub notes: &'a [String],
}

impl Results<'_> {
    /// Writes the tables and the page.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the file.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        write_table(folder, "trials", &table::columns(self.trial, self.rows))?;
        if self.trial.kind.is_psycho() {
            write_table(folder, "answers", &table::answers(self.trial, self.rows))?;
        }
        let page = report::trial::render(&TrialInput {
            trial: self.trial,
            rows: self.rows,
            hash: self.hash,
            notes: self.notes,
        });
        output::write(&folder.join("report.html"), &page)
    }

    /// The table of rows as JSON.
    ///
    /// # Errors
    /// [`Failure::Refused`] if it cannot be put into words.
    pub fn json(&self) -> Result<String, Failure> {
        let json = table::json(self.trial, self.rows, self.hash);
        let text = serde_json::to_string_pretty(&json);
        let refused = |error| Failure::Refused(format!("trial: {error}"));
        Ok(text.map_err(refused)? + "\n")
    }

    /// Medians of the most important metrics, or of all, or their worst values, condition by condition.
    #[must_use]
    pub fn words(&self, folder: &Path, verbose: bool) -> String {
        let metrics = self.trial.metrics();
        let place = |name: &&str| metrics.iter().position(|metric| metric.name == **name);
        let shown: Vec<usize> = match verbose {
            true => (0..metrics.len()).collect(),
            false => SHOWN.iter().filter_map(place).collect(),
        };
        let titles = self.trial.conditions.iter().map(|one| one.title());
        let width = titles.map(|title| title.chars().count()).max().unwrap_or(0);
        let mut text = format!("{:<width$}", "median");
        let headings: Vec<String> = shown.iter().map(|&k| metrics[k].heading()).collect();
        for heading in &headings {
            let _ = write!(text, "  {heading}");
        }
        text += "\n";
        for (number, condition) in self.trial.conditions.iter().enumerate() {
            let _ = write!(text, "{:<width$}", condition.title());
            for (&k, heading) in shown.iter().zip(&headings) {
                let own = self.rows.values();
                let own = own.filter(|row| self.trial.cell(row.index).condition == number);
                let values: Vec<f64> = own.filter_map(|row| row.values.get(k).copied()?).collect();
                let found = metrics[k].interval(&values);
                let value = found.map_or("-".to_owned(), |found| format!("{:.4}", found.center));
                let _ = write!(text, "  {value:>columns$}", columns = heading.len());
            }
            text += "\n";
        }
        let (checked, held) = Row::checked(self.rows.values());
        let _ = writeln!(
            text,
            "\nrows       {} of {}; {checked} checked, {held} held\nresults    {}",
            self.rows.len(),
            self.trial.rows(),
            folder.display()
        );
        text
    }
}
