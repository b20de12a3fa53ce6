//! `palpate trial`: many sessions, in virtual time on all cores or live one by one, resumable, in shards.
//!
//! Source: ours. Here are files, threads and words; [`crate::trial`] has the rest. The folder holds a copy
//! of the file (`trial.toml`), the finished rows (`rows.jsonl`), and what is made of them: `trials.csv`,
//! `trials.parquet`, `report.html`, and of a simulated observer every answer, `answers.csv` and `answers.parquet`.

mod live;
mod person;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::conclude::{self, Evidence};
use super::{Done, Failure, interrupt, lab, output, truth};
use crate::cli::{MergeArgs, OutputArgs, SessionArgs, TrialAction, TrialArgs};
use crate::config::Config;
use crate::lab::Session;
use crate::pool;
use crate::progress::Progress;
use crate::report;
use crate::report::trial::TrialInput;
use crate::trial::given::Given;
use crate::trial::person::Who;
use crate::trial::psycho::{self, Observer, show};
use crate::trial::row::{self, Header, RowsError, Store};
use crate::trial::{Cell, Clock, Kind, Row, Trial, metric, parquet, table, transparency};

/// Name of the copy of the trial's file.
const FILE: &str = "trial.toml";

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
    let (text, mut trial) = load(file, Some(&arguments.session))?;
    trial.who = arguments.person.clone().unwrap_or_default();
    can_be_asked(&trial, &file.display().to_string())?;
    if trial.who == Who::Simulated {
        super::console::unserved(&arguments.console, "`trial` without --person")?;
    }
    // held until the rows are filled
    let is_live = trial.clock == Clock::Live;
    let _alone = is_live.then(|| live::alone(arguments.jobs)).transpose()?;
    let header = header(&trial)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &trial.name)?;
    let (store, mut rows) = Store::open(&folder, &header).map_err(rows_failure)?;
    output::write(&folder.join(FILE), &text)?;
    let stop = interrupt::on_ctrl_c()?;
    let own = trial.cells(arguments.shard).len();
    let run = Run {
        trial: &trial,
        folder: &folder,
        stop: &stop,
        arguments,
    };
    match trial.who.code() {
        Some(code) => run.ask((&header.trial, code), (store, &mut rows))?,
        None => run.fill((store, &mut rows))?,
    }
    let done = trial
        .cells(arguments.shard)
        .iter()
        .filter(|cell| rows.contains_key(&cell.index))
        .count();
    let stopped = stop.load(Ordering::Relaxed);
    let mut notes = Vec::new();
    if stopped {
        notes.push(format!(
            "Ended before its time, as was asked: {done} of {own} rows of shard {}. The same command with \
             --out {} goes on.",
            arguments.shard,
            folder.display()
        ));
    } else if own < trial.rows() {
        notes.push(format!(
            "Shard {}: {own} of {} rows; `palpate trial merge` joins the parts.",
            arguments.shard,
            trial.rows()
        ));
    }
    let results = Results {
        trial: &trial,
        rows: &rows,
        hash: &header.trial,
        notes: &notes,
    };
    results.write(&folder)?;
    Ok(Done {
        stdout: results.shown(&folder, wanted)?,
        warning: stopped.then(|| notes[0].clone()),
        held: stopped || !rows.values().any(Row::broke),
    })
}

/// Whether whoever answers can be asked what the trial asks.
fn can_be_asked(trial: &Trial, file: &str) -> Result<(), Failure> {
    if trial.who != Who::Simulated {
        return person::check(trial, file);
    }
    if trial.kind == Kind::Search {
        let text = "kind is lump-search, which a person does; expected --person CODE";
        return Err(Failure::Usage(format!("{file}: {text}")));
    }
    Ok(())
}

/// The rows of a shard that are missing, on their way.
struct Run<'a> {
    trial: &'a Trial,
    folder: &'a Path,
    stop: &'a Arc<AtomicBool>,
    arguments: &'a TrialArgs,
}

/// The file of rows, and those that it has.
type Filled<'a> = (Store, &'a mut BTreeMap<usize, Row>);

impl Run<'_> {
    /// The rows that are missing, and how many there are altogether.
    fn missing(&self, rows: &BTreeMap<usize, Row>) -> (Vec<Cell>, usize) {
        let mut cells = self.trial.cells(self.arguments.shard);
        let own = cells.len();
        cells.retain(|cell| !rows.contains_key(&cell.index));
        (cells, own)
    }

    /// Fill them, as many at once as may be.
    fn fill(&self, (mut store, rows): Filled<'_>) -> Result<(), Failure> {
        let (trial, stop) = (self.trial, self.stop);
        let (cells, own) = self.missing(rows);
        let is_live = trial.clock == Clock::Live;
        let most = if is_live { 1 } else { pool::cores() };
        let jobs = self.arguments.jobs.unwrap_or(most);
        let wanted = &self.arguments.output;
        let progress = Progress::bar("trial", own as u64, wanted.quiet || wanted.json);
        let mut done = (own - cells.len()) as u64;
        progress.at(done);
        let fill = |number: usize| match trial.clock {
            Clock::Virtual => fill(trial, &cells[number], stop),
            Clock::Live => live::fill(trial, &cells[number], (self.folder, stop)),
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
    fn ask(
        &self,
        (hash, code): (&str, &str),
        (mut store, rows): Filled<'_>,
    ) -> Result<(), Failure> {
        let (mut cells, _) = self.missing(rows);
        crate::trial::person::deal(&mut cells, hash, code);
        if cells.is_empty() {
            return Ok(());
        }
        let console = &self.arguments.console;
        let mut sitting =
            person::Sitting::open((self.trial, self.folder), console, (cells.len(), self.stop))?;
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
        crate::command::console::keep(sitting.console(), self.folder)
    }
}

/// Reads a trial and its text, with what the command line sets.
fn load(file: &Path, flags: Option<&SessionArgs>) -> Result<(String, Trial), Failure> {
    let name = file.display().to_string();
    let mut text = readable(file)?;
    if let Some(flags) = flags {
        text = with_flags(text, &name, flags)?;
    }
    let trial = Trial::parse(&text, &name).map_err(|error| Failure::Usage(error.to_string()))?;
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
    if flags.is_some() && trial.clock == Clock::Live {
        live::check(&trial)?;
    }
    Ok((text, trial))
}

fn readable(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        let name = file.display();
        Failure::Usage(format!("{name}: {error}; expected a readable TOML file"))
    })
}

/// The text of a trial with what the command line sets; the same text if it sets nothing.
fn with_flags(text: String, name: &str, flags: &SessionArgs) -> Result<String, Failure> {
    if flags.link.trace.is_some() {
        return Err(Failure::Usage(
            "--trace: a trial plays no recorded network; expected link.change in its [base]".into(),
        ));
    }
    let config = flags.config.as_deref().map(|path| {
        let known = Config::parse(&readable(path)?, &path.display().to_string())?;
        toml::Table::try_from(known).map_err(|error| Failure::Usage(error.to_string()))
    });
    let given = Given {
        config: config.transpose()?,
        seed: flags.seed,
        assigned: flags.assignments()?,
    };
    given
        .into_text(text, name)
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn header(trial: &Trial) -> Result<Header, Failure> {
    Ok(Header {
        trial: trial.hash()?,
        name: trial.name.clone(),
        rows: trial.rows(),
        participant: trial.who.code().map(str::to_owned),
    })
}

fn rows_failure(error: RowsError) -> Failure {
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
    let hidden = Progress::line("row", true);
    let run = lab::play(Session::new(&config)?, &hidden, stop, |_| Ok(()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let sites = truth::sites(&config, &run.master)?;
    let facts = lab::facts(&config, &run, sites, false)?;
    let evidence = Evidence {
        config: &config,
        master: &run.master,
        slave: &run.slave,
        judged: Some((&run.audit, &run.tally)),
        facts: &facts,
        comparison: None,
        remarks: &[],
    };
    let (summary, _) = conclude::measure(&evidence);
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

/// Joins the rows of several folders.
fn merge(arguments: &MergeArgs) -> Result<Done, Failure> {
    let Parts {
        first,
        head,
        rows,
        twice,
    } = joined(&arguments.parts)?;
    let (text, mut trial) = load(&first.join(FILE), None)?;
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
    let folder = output::folder(arguments.output.out.as_deref(), &trial.name)?;
    let (mut store, before) = Store::open(&folder, &header).map_err(rows_failure)?;
    let fresh = rows.values().filter(|row| !before.contains_key(&row.index));
    for row in fresh {
        store.push(row).map_err(rows_failure)?;
    }
    output::write(&folder.join(FILE), &text)?;
    let results = Results {
        trial: &trial,
        rows: &rows,
        hash: &head.trial,
        notes: &notes,
    };
    results.write(&folder)?;
    Ok(Done {
        stdout: results.shown(&folder, &arguments.output)?,
        warning: (!notes.is_empty()).then(|| notes.join(" ")),
        held: gaps.is_empty() && !rows.values().any(Row::broke),
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
struct Results<'a> {
    trial: &'a Trial,
    rows: &'a BTreeMap<usize, Row>,
    hash: &'a str,
    notes: &'a [String],
}

impl Results<'_> {
    fn write(&self, folder: &Path) -> Result<(), Failure> {
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

    /// What goes to stdout.
    fn shown(&self, folder: &Path, wanted: &OutputArgs) -> Result<String, Failure> {
        match (wanted.json, wanted.quiet) {
            (true, _) => {
                let json = table::json(self.trial, self.rows, self.hash);
                let text = serde_json::to_string_pretty(&json);
                let refused = |error| Failure::Refused(format!("trial: {error}"));
                Ok(text.map_err(refused)? + "\n")
            }
            (false, true) => Ok(String::new()),
            (false, false) => Ok(self.words(folder, wanted.verbose)),
        }
    }

    /// Medians of the most important metrics, or of all, or their worst values, condition by condition.
    fn words(&self, folder: &Path, verbose: bool) -> String {
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
