//! `palpate replay`: repeats a recording, bit by bit or under changed conditions.
//!
//! Source: ours. Files and text are here; [`palpate_session::replay`] runs the ticks.

use std::path::Path;
use std::sync::atomic::Ordering;

use palpate_analysis::conclusion::{self, Evidence};
use palpate_analysis::replay_verdict::{facts, verdict};
use palpate_analysis::summary::Check;
use palpate_analysis::virtual_run::play;
use palpate_analysis::{Failure, output, recovery};
use palpate_console::serve;
use palpate_session::config::{Config, keys};
use palpate_session::record::{self, Recording};
use palpate_session::replay::{bitwise, what_if};
use palpate_session::traced_handle::TraceTracking;
use palpate_study::what_if::{self as study, comparison_text, judge, page, summary_json};

use super::notes::with_source;
use super::{CommandOutcome, bad_input, interrupt, json_or_text};
use crate::cli::{ReplayArgs, session_flags};
use crate::progress::{Progress as _, TerminalProgress};

/// Replays a recording.
///
/// # Errors
/// [`Failure::Usage`] for a recording that cannot be replayed or a change that cannot be made,
/// [`Failure::Refused`] if results cannot be written.
pub(super) fn replay(arguments: &ReplayArgs) -> Result<CommandOutcome, Failure> {
    if arguments.foxglove.foxglove.is_some() {
        return Err(Failure::Usage(serve::NO_FOXGLOVE.into()));
    }
    let path = output::recording(&arguments.recording);
    if recovery::is_recoverable(&arguments.recording) {
        let folder = arguments.recording.display();
        let why = "has no recording.mcap, as its session was killed";
        let offer = format!("`palpate recover {folder}` joins what is whole");
        return Err(bad_input(folder)(format!("{why}; {offer}")));
    }
    let mut recording = record::read(&path).map_err(|error| Failure::Usage(error.to_string()))?;
    if let Some(seconds) = arguments.duration {
        recording.keep_first(seconds);
    }
    let text = recording.config.clone().ok_or_else(|| {
        bad_input(path.display())(
            "has no attachment config.toml; expected a recording of `palpate lab`, `palpate run` or \
             `palpate rehearse`",
        )
    })?;
    let source = format!("{}, config.toml", path.display());
    let config = Config::parse(&text, &source)?;
    config.validate()?;
    let changes = changes(arguments);
    let mut done = if changes.is_empty() && arguments.fields.config.is_none() {
        replay_bitwise(arguments, &path, &recording, &config)
    } else {
        replay_changed(arguments, &changes, &path, &recording, &config)
    }?;
    let notes = with_source(&source, keys::notes(&text, &keys::WHOLE));
    let lines: Vec<String> = notes.chain(done.warning.take()).collect();
    done.warning = (!lines.is_empty()).then(|| lines.join("\n"));
    Ok(done)
}

/// Changed fields, in the order of increasing precedence.
fn changes(arguments: &ReplayArgs) -> Vec<String> {
    let seed = arguments.fields.seed.map(|seed| format!("seed={seed}"));
    let all = seed.into_iter().chain(arguments.what_if.iter().cloned());
    all.chain(arguments.fields.set.iter().cloned()).collect()
}

fn replay_bitwise(
    arguments: &ReplayArgs,
    path: &Path,
    recording: &Recording,
    config: &Config,
) -> Result<CommandOutcome, Failure> {
    let wanted = &arguments.output;
    let progress = TerminalProgress::status_line("replay", wanted.is_silent());
    progress.set_status("the same ticks again");
    let replayed = bitwise::replay(recording, config).map_err(bad_input(path.display()))?;
    let folder = output::folder(wanted.chosen(), "replay", output::JUDGED)?;
    output::write(&folder.join("config.toml"), config.to_toml())?;
    progress.set_status("judging");
    let facts = facts(config, recording, &replayed)?;
    let verdict = verdict(recording, &replayed);
    let mut remarks = vec![verdict.clone()];
    if facts.oneway_truth.is_none() {
        let words = "Loss is counted by numbers of frames here, so it includes overtaken frames.";
        remarks.push(words.to_owned());
    }
    let evidence = Evidence {
        remarks: &remarks,
        ..Evidence::new(config, &facts, &replayed.master, &replayed.slave)
    };
    let (mut summary, audit) = conclusion::measure(&evidence);
    // the session's own checks were made when it ran; a replay checks only that it is the same
    let none = |name, count: u64| Check::at_most(name, Some(count as f64), 0.0, "ticks");
    let stated = [
        none("ticks that are not bit-identical", replayed.different_ticks),
        none(
            "recorded ticks that could not be run",
            replayed.skipped_ticks,
        ),
    ];
    let passed = stated.iter().all(|check| check.held);
    summary.checks.extend(stated);
    if facts.oneway_truth.is_none() {
        // only the network of a live session counted its frames: an overtaken frame is not lost
        summary.link.loss = None;
    }
    let concluded = conclusion::write_results(&evidence, summary, &audit, &folder)?;
    drop(progress);
    let json = || Ok(concluded.summary.to_json() + "\n");
    let words = || format!("{verdict}\nresults    {}\n", folder.display());
    Ok(CommandOutcome {
        stdout: json_or_text(wanted.json, wanted.quiet, json, words)?,
        warning: (!passed || recording.damage.is_some()).then_some(verdict),
        checks_passed: passed,
    })
}

/// Configuration of the changed replay, and a list of its changes in words.
fn changed_config(
    arguments: &ReplayArgs,
    changes: &[String],
    config: &Config,
) -> Result<(Config, Vec<String>), Failure> {
    let named = arguments.fields.config.as_deref();
    let other = named.map(session_flags::read).transpose()?;
    let other = other.map(|other| Config {
        operator: config.operator.clone(),
        duration_s: config.duration_s,
        ..other
    });
    let changed = study::changed_config(other.as_ref().unwrap_or(config), changes)?;
    let named = named.map(|path| format!("config={}", path.display()));
    let all = named.into_iter().chain(changes.iter().cloned());
    Ok((changed, all.collect()))
}

fn replay_changed(
    arguments: &ReplayArgs,
    changes: &[String],
    path: &Path,
    recording: &Recording,
    config: &Config,
) -> Result<CommandOutcome, Failure> {
    let wanted = &arguments.output;
    let (changed, changes) = changed_config(arguments, changes, config)?;
    let tracking =
        |config: &Config| what_if::recorded_tracking(&recording.master, &config.operator);
    let grips = [config, &changed].map(|config| config.operator.grip_schedule());
    let prescribed = tracking(config) == TraceTracking::Prescribed
        && tracking(&changed) == TraceTracking::Prescribed;
    if grips[0] != grips[1] && prescribed {
        return Err(Failure::Usage(format!(
            "--what-if: grip changes nothing, as the hand in {} has no intent apart from its position \
             and is moved along it; expected a recording of a simulated hand with a grip",
            path.display()
        )));
    }
    let sessions = [config, &changed]
        .map(|config| what_if::session(config, &recording.master, tracking(config)));
    let folder = output::folder(wanted.chosen(), "what-if", output::JUDGED)?;
    output::write(&folder.join("config.toml"), changed.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let mut played = Vec::new();
    for (session, config) in sessions.into_iter().zip([config, &changed]) {
        let session = session.map_err(bad_input(path.display()))?;
        let progress = TerminalProgress::bar("what if", session.ticks(), wanted.is_silent());
        let run = play(session, None, &progress, &stop, |_| Ok(()))?;
        played.push(judge(config, run)?);
    }
    let stopped = stop.load(Ordering::Relaxed);
    let (now, base) = match (played.pop(), played.pop()) {
        (Some(now), Some(base)) => (now, base),
        // two sessions were played
        _ => return Err(Failure::Refused("what-if: a session is missing".into())),
    };
    let page = page(&config.name, &changes, &base, &now);
    output::write(&folder.join("report.html"), &page)?;
    let json = summary_json(&changes, &base.summary, &now.summary)?;
    output::write(&folder.join("summary.json"), &json)?;
    let words = || {
        format!(
            "{}\nresults    {}\n",
            comparison_text(&base, &now),
            folder.display()
        )
    };
    let stdout = json_or_text(wanted.json, wanted.quiet, || Ok(json), words)?;
    let early = stopped.then(|| "interrupted before its end".to_owned());
    let damage = recording.damage.as_ref().map(ToString::to_string);
    let warnings: Vec<String> = early.into_iter().chain(damage).collect();
    Ok(CommandOutcome {
        stdout,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        checks_passed: stopped || now.summary.is_good(),
    })
}
