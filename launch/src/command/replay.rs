//! `palpate replay`: a recording once more, bit by bit or under other circumstances.
//!
//! Source: ours. Here are files and words; [`crate::replay`] runs the ticks.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use palpate_transport::trace::{Side, TickRecord};
use serde_json::{Value, json};

use super::conclude::{self, Evidence};
use super::lab::{self, VirtualRun};
use super::{Done, Failure, console, interrupt, output, table, truth};
use crate::cli::{FieldArgs, ReplayArgs};
use crate::config::Config;
use crate::hand::Hold;
use crate::metrics::{SessionFacts, Traces};
use crate::progress::Progress;
use crate::record::{self, Recording};
use crate::replay::same::{self, Difference, Replayed};
use crate::replay::{ReplayError, trace_hash, what_if};
use crate::report::what_if::{Side as Shown, WhatIf};
use crate::summary::{Check, Summary};
use crate::trial::metric;
use crate::{report, run};

/// Run a recording again.
///
/// # Errors
/// [`Failure::Usage`] for a recording that cannot be run again or a change that cannot be made,
/// [`Failure::Refused`] if results cannot be written.
pub fn replay(arguments: &ReplayArgs) -> Result<Done, Failure> {
    if arguments.foxglove.foxglove.is_some() {
        return Err(Failure::Usage(console::NO_FOXGLOVE.into()));
    }
    let path = inside(&arguments.recording);
    let unfit =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let mut recording = record::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    if let Some(seconds) = arguments.duration {
        recording.keep_first(seconds);
    }
    let text = recording.config.clone().ok_or_else(|| {
        unfit(
            &"has no attachment config.toml; expected a recording of `palpate lab`, `palpate run` or \
              `palpate rehearse`",
        )
    })?;
    let config = Config::parse(&text, &format!("{}, config.toml", path.display()))?;
    config.validate()?;
    let changes = changes(arguments);
    if changes.is_empty() && arguments.fields.config.is_none() {
        again(arguments, &path, &recording, &config)
    } else {
        otherwise((arguments, &changes), &path, &recording, &config)
    }
}

/// What is to be another, from what wins least to what wins.
fn changes(arguments: &ReplayArgs) -> Vec<String> {
    let seed = arguments.fields.seed.map(|seed| format!("seed={seed}"));
    let all = seed.into_iter().chain(arguments.what_if.iter().cloned());
    all.chain(arguments.fields.set.iter().cloned()).collect()
}

/// The recording of a run's folder, or the file itself.
pub(super) fn inside(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(run::side::RECORDING)
    } else {
        path.to_owned()
    }
}

fn again(
    arguments: &ReplayArgs,
    path: &Path,
    recording: &Recording,
    config: &Config,
) -> Result<Done, Failure> {
    let unfit = |error: ReplayError| Failure::Usage(format!("{}: {error}", path.display()));
    let wanted = &arguments.output;
    let progress = Progress::line("replay", wanted.quiet || wanted.json);
    progress.say("the same ticks again");
    let replayed = same::replay(recording, config).map_err(unfit)?;
    let folder = output::folder(wanted.out.as_deref(), "replay")?;
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    progress.say("judging");
    let facts = facts(config, recording, &replayed)?;
    let verdict = verdict(recording, &replayed);
    let mut remarks = vec![verdict.clone()];
    if facts.oneway_truth.is_none() {
        let words =
            "Loss is counted by numbers of frames here, so frames that were overtaken are in it.";
        remarks.push(words.to_owned());
    }
    let evidence = Evidence {
        config,
        master: &replayed.master,
        slave: &replayed.slave,
        judged: None,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    let (mut summary, audit) = conclude::measure(&evidence);
    // what the session itself stated was stated when it ran; a replay states that it is the same
    let none = |name, count: u64| Check::at_most(name, Some(count as f64), 0.0, "ticks");
    let stated = [
        none("ticks that are not bit-identical", replayed.different),
        none("recorded ticks that could not be run", replayed.unrun),
    ];
    let held = stated.iter().all(|check| check.held);
    summary.checks.extend(stated);
    if facts.oneway_truth.is_none() {
        // only the network of a live session counted its frames: what was overtaken is not lost
        summary.link.loss = None;
    }
    let concluded = conclude::written(&evidence, (summary, audit), &folder)?;
    drop(progress);
    let stdout = match (wanted.json, wanted.quiet) {
        (true, _) => concluded.summary.to_json() + "\n",
        (false, true) => String::new(),
        (false, false) => format!("{verdict}\nresults    {}\n", folder.display()),
    };
    Ok(Done {
        stdout,
        warning: (!held || recording.damage.is_some()).then_some(verdict),
        held,
    })
}

/// What a replay knows beside the records.
fn facts(
    config: &Config,
    recording: &Recording,
    replayed: &Replayed,
) -> Result<SessionFacts, Failure> {
    let [from_master, from_slave] = &replayed.sent_ticks;
    let mut facts = SessionFacts {
        command: "replay".into(),
        seed: Some(config.seed),
        trace_hash: Some(trace_hash(&replayed.master, &replayed.slave)),
        mode: config.modes(),
        missed_ticks: Some(0),
        records_lost: Some(0),
        sites: truth::sites(config, &replayed.master)?,
        twin: truth::twin(config, &[])?,
        reconstruction: replayed.reconstruction,
        links_cut: Some(recording.links_cut()),
        strokes_recorded: Some(recording.strokes.len() as u64),
        ..SessionFacts::default()
    };
    if same::is_alone(recording) {
        facts.sides = vec![Side::Master];
        facts.networked = false;
    }
    if recording.facts.get(same::COMMAND).map(String::as_str) == Some("lab") {
        let delays = truth::delays(&replayed.master, &replayed.slave, [from_master, from_slave]);
        facts.oneway_fwd = truth::median(&delays.slave_ns);
        facts.oneway_back = truth::median(&delays.master_ns);
        facts.oneway_truth = Some(delays);
    }
    Ok(facts)
}

/// Whether what was run is the same, how much of the recording that is, and what is wrong with it.
fn verdict(recording: &Recording, replayed: &Replayed) -> String {
    let mut words = sameness(recording, replayed);
    if replayed.unrun > 0 {
        let _ = write!(
            words,
            " {} further recorded ticks could not be run: the frames that they took are not in the recording.",
            replayed.unrun
        );
    }
    if let Some(damage) = &recording.damage {
        let _ = write!(words, " The recording is not whole: {damage}.");
    }
    words
}

fn sameness(recording: &Recording, replayed: &Replayed) -> String {
    let ticks = replayed.master.len() + replayed.slave.len();
    let Some(first) = replayed.first else {
        let hash = trace_hash(&replayed.master, &replayed.slave);
        let all = if replayed.unrun > 0 {
            "the first"
        } else {
            "all"
        };
        let (ports, sides) = match same::is_alone(recording) {
            true => ("port", "the master alone"),
            false => ("ports", "both sides"),
        };
        return format!(
            "Bit-identical: the {ports} of {all} {ticks} ticks of {sides}, trace {hash}."
        );
    };
    let Difference {
        side,
        tick,
        quantity,
        axis,
        recorded,
        replayed: now,
    } = first;
    format!(
        "Not the same: {} of {ticks} ticks differ, first tick {tick} of the {}, where {quantity}[{axis}] \
         was {recorded:e} and is {now:e}. {}",
        replayed.different,
        side.name(),
        why(recording)
    )
}

/// What may be behind a difference, as far as the recording says what wrote it.
fn why(recording: &Recording) -> String {
    match recording.facts.get(record::SOURCES) {
        Some(sources) if sources == record::OWN_SOURCES => {
            "The same sources made it, so a scene file that has changed may be why.".to_owned()
        }
        Some(sources) => format!(
            "It was made by other sources of Palpate ({sources}; these are {}), which may be why.",
            record::OWN_SOURCES
        ),
        None => "Another version of Palpate, or a scene that has changed, may be why.".to_owned(),
    }
}

/// One of the two sessions of a what-if.
struct Played {
    config: Config,
    run: VirtualRun,
    facts: SessionFacts,
    summary: Summary,
}

/// What the recorded hand meets, and all that is another by it, in words.
fn changed(
    arguments: &ReplayArgs,
    changes: &[String],
    config: &Config,
) -> Result<(Config, Vec<String>), Failure> {
    let named = arguments.fields.config.as_ref();
    let other = FieldArgs {
        config: named.cloned(),
        ..FieldArgs::default()
    };
    let other = other.over(None)?.map(|other| Config {
        operator: config.operator.clone(),
        duration_s: config.duration_s,
        ..other
    });
    let changed = what_if::changed(other.as_ref().unwrap_or(config), changes)?;
    let named = named.map(|path| format!("config={}", path.display()));
    let all = named.into_iter().chain(changes.iter().cloned());
    Ok((changed, all.collect()))
}

fn otherwise(
    (arguments, changes): (&ReplayArgs, &[String]),
    path: &Path,
    recording: &Recording,
    config: &Config,
) -> Result<Done, Failure> {
    let wanted = &arguments.output;
    let (changed, changes) = changed(arguments, changes, config)?;
    let hold = |config: &Config| what_if::hold(&recording.master, &config.operator);
    let grips = [config, &changed].map(|config| config.operator.grips());
    let carried = hold(config) == Hold::Carried && hold(&changed) == Hold::Carried;
    if grips[0] != grips[1] && carried {
        return Err(Failure::Usage(format!(
            "--what-if: grip changes nothing, as the hand in {} meant to be no other place than where it was \
             and is carried there; expected a recording of a simulated hand with a grip",
            path.display()
        )));
    }
    let unfit = |error: ReplayError| Failure::Usage(format!("{}: {error}", path.display()));
    let sessions = [config, &changed]
        .map(|config| what_if::session(config, &recording.master, hold(config)).map_err(unfit));
    let folder = output::folder(wanted.out.as_deref(), "what-if")?;
    output::write(&folder.join("config.toml"), &changed.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let mut played = Vec::new();
    for (session, config) in sessions.into_iter().zip([config, &changed]) {
        let session = session?;
        let hidden = wanted.quiet || wanted.json;
        let progress = Progress::bar("what if", session.ticks(), hidden);
        let run = lab::play(session, &progress, &stop, |_| Ok(()))?;
        played.push(judged(config, run)?);
    }
    let stopped = stop.load(Ordering::Relaxed);
    let (now, base) = match (played.pop(), played.pop()) {
        (Some(now), Some(base)) => (now, base),
        // two sessions went in
        _ => return Err(Failure::Refused("what-if: a session is missing".into())),
    };
    let page = report::what_if::render(&WhatIf {
        title: &config.name,
        changes: &changes,
        base: shown(&base),
        now: shown(&now),
    });
    output::write(&folder.join("report.html"), &page)?;
    let json = summary_json(&changes, &base.summary, &now.summary)?;
    output::write(&folder.join("summary.json"), &json)?;
    let stdout = match (wanted.json, wanted.quiet) {
        (true, _) => json,
        (false, true) => String::new(),
        (false, false) => format!(
            "{}\nresults    {}\n",
            compared(&base, &now),
            folder.display()
        ),
    };
    let early = stopped.then(|| "ended before its time, as was asked".to_owned());
    let damage = recording.damage.as_ref().map(ToString::to_string);
    let warnings: Vec<String> = early.into_iter().chain(damage).collect();
    Ok(Done {
        stdout,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        held: stopped || now.summary.good(),
    })
}

/// Both sessions beside each other, then the changed one by itself, for a terminal.
fn compared(base: &Played, now: &Played) -> String {
    let evidence = Evidence {
        config: &now.config,
        master: &now.run.master,
        slave: &now.run.slave,
        judged: Some((&now.run.audit, &now.run.tally)),
        facts: &now.facts,
        comparison: None,
        remarks: &[],
    };
    let rows = report::what_if::lines(&base.summary, &now.summary);
    format!("{rows}\n{}", table::table(&now.summary, &evidence))
}

fn judged(config: &Config, run: VirtualRun) -> Result<Played, Failure> {
    let sites = truth::sites(config, &run.master)?;
    let facts = SessionFacts {
        command: "replay".into(),
        ..lab::facts(config, &run, sites, false)?
    };
    let evidence = Evidence {
        config,
        master: &run.master,
        slave: &run.slave,
        judged: Some((&run.audit, &run.tally)),
        facts: &facts,
        comparison: None,
        remarks: &[],
    };
    let (summary, _) = conclude::measure(&evidence);
    Ok(Played {
        config: config.clone(),
        run,
        facts,
        summary,
    })
}

fn shown(played: &Played) -> Shown<'_> {
    let (master, slave): (&[TickRecord], &[TickRecord]) = (&played.run.master, &played.run.slave);
    Shown {
        summary: &played.summary,
        traces: Traces { master, slave },
    }
}

/// The summary of the changed session, with what was changed, the other session, and the differences.
fn summary_json(changes: &[String], base: &Summary, now: &Summary) -> Result<String, Failure> {
    let refused = |error: serde_json::Error| Failure::Refused(format!("summary.json: {error}"));
    let mut whole = serde_json::to_value(now).map_err(refused)?;
    let names = metric::session_names();
    let values = metric::of_session(base)
        .into_iter()
        .zip(metric::of_session(now));
    let differences: serde_json::Map<String, Value> = names
        .zip(values)
        .map(|(name, (base, now))| {
            let difference = base.zip(now).map(|(base, now)| now - base);
            (
                name.to_owned(),
                json!({"base": base, "now": now, "difference": difference}),
            )
        })
        .collect();
    if let Value::Object(fields) = &mut whole {
        let what_if = json!({
            "changes": changes,
            "base": serde_json::to_value(base).map_err(refused)?,
            "differences": differences,
        });
        fields.insert("what_if".into(), what_if);
    }
    let text = serde_json::to_string_pretty(&whole).map_err(refused)?;
    Ok(text + "\n")
}
