//! `palpate replay`: a recording once more, bit by bit or under other circumstances.
//!
//! Source: ours. Here are files and words; [`palpate_session::replay`] runs the ticks.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use palpate_analysis::conclude::{self, Evidence};
use palpate_analysis::play::play;
use palpate_analysis::replayed::{facts, verdict};
use palpate_analysis::summary::Check;
use palpate_analysis::{Failure, output};
use palpate_console::serve;
use palpate_session::config::Config;
use palpate_session::hand::Hold;
use palpate_session::record::{self, Recording};
use palpate_session::replay::{ReplayError, same, what_if};
use palpate_session::run;
use palpate_study::what_if::{self as study, compared, judged, page, summary_json};

use super::{Done, interrupt};
use crate::cli::{FieldArgs, ReplayArgs};
use crate::progress::{Progress as _, Terminal};

/// Run a recording again.
///
/// # Errors
/// [`Failure::Usage`] for a recording that cannot be run again or a change that cannot be made,
/// [`Failure::Refused`] if results cannot be written.
pub fn replay(arguments: &ReplayArgs) -> Result<Done, Failure> {
    if arguments.foxglove.foxglove.is_some() {
        return Err(Failure::Usage(serve::NO_FOXGLOVE.into()));
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
        otherwise(arguments, &changes, &path, &recording, &config)
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
    let progress = Terminal::line("replay", wanted.quiet || wanted.json);
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
    let concluded = conclude::written(&evidence, summary, &audit, &folder)?;
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
    let changed = study::changed(other.as_ref().unwrap_or(config), changes)?;
    let named = named.map(|path| format!("config={}", path.display()));
    let all = named.into_iter().chain(changes.iter().cloned());
    Ok((changed, all.collect()))
}

fn otherwise(
    arguments: &ReplayArgs,
    changes: &[String],
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
        let progress = Terminal::bar("what if", session.ticks(), hidden);
        let run = play(session, &progress, &stop, |_| Ok(()))?;
        played.push(judged(config, run)?);
    }
    let stopped = stop.load(Ordering::Relaxed);
    let (now, base) = match (played.pop(), played.pop()) {
        (Some(now), Some(base)) => (now, base),
        // two sessions went in
        _ => return Err(Failure::Refused("what-if: a session is missing".into())),
    };
    let page = page(&config.name, &changes, &base, &now);
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
