//! `palpate lab`: a session in virtual time, recorded, judged and reported.
//!
//! Source: ours. [`palpate_analysis::play`] runs it.

use std::sync::atomic::Ordering;

use palpate_analysis::conclude::{self, Evidence};
use palpate_analysis::play::{KEPT_TICKS, Recording, VirtualRun, compared, facts, play_watched};
use palpate_analysis::rehearsed::Watch;
use palpate_analysis::summary::Ending;
use palpate_analysis::{Failure, output, truth};
use palpate_console::serve;
use palpate_master::device::script::ScriptParams;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{self, Session};
use palpate_transport::Span;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;

use super::{Done, interrupt};
use crate::cli::LabArgs;
use crate::progress::{Progress as _, Terminal};

/// Run a session in virtual time, write its folder, and say how it went.
///
/// # Errors
/// [`Failure::Usage`] for a configuration or folder that cannot be used, [`Failure::Refused`] for a
/// file that cannot be written.
pub fn lab(arguments: &LabArgs) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    serve::check(&config, false)?;
    let session = Session::new(&config)?;
    let watch = watch(&config)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let mut recording = match arguments.no_recording {
        true => None,
        false => Some(Recording::create(
            &folder.join("recording.mcap"),
            &config,
            "lab",
            &[Side::Master, Side::Slave],
        )?),
    };
    let progress = Terminal::bar("lab", session.ticks(), wanted.quiet || wanted.json);
    let run = play_watched(session, watch, &progress, &stop, |entry| {
        recording.as_mut().map_or(Ok(()), |one| one.push(entry))
    })?;
    let interrupted = stop.load(Ordering::Relaxed);
    progress.say("judging");
    let facts = facts(&config, &run, truth::sites(&config, &run.master)?, true)?;
    progress.say("once more, coupled by waves");
    let comparison = compared(&config, &facts.sites, &stop)?;
    drop(progress);
    let mut remarks = vec![pace(&run)];
    remarks.extend(shortened(&run));
    remarks.extend(truth::remarks(&config, &facts.sites)?);
    let mut facts = facts;
    facts.strokes.recorded = recording.as_ref().map(|_| run.strokes);
    if interrupted {
        facts.ending = Ending::Interrupted;
        remarks.push("Ended before its time, as was asked.".into());
    }
    let evidence = Evidence {
        comparison: comparison.as_ref(),
        remarks: &remarks,
        ..run.evidence(&config, &facts)
    };
    let concluded = conclude::conclude(&evidence, &folder)?;
    if let Some(recording) = recording {
        recording.finish(&concluded)?;
    }
    Ok(Done::of(concluded, wanted, &folder))
}

/// How fast virtual time went; on a busy machine the CPU time says more than the clock.
fn pace(run: &VirtualRun) -> String {
    let simulated_s = run.ticks as f64 * PERIOD.s();
    let times = |span: Span| simulated_s / span.s().max(1e-9);
    format!(
        "Virtual time: {:.1} times as fast as real time ({:.2} s), {:.1} times by own CPU time.",
        times(run.took),
        run.took.s(),
        times(run.cpu)
    )
}

/// What a reader must know of a session that is longer than what is kept of it.
fn shortened(run: &VirtualRun) -> Option<String> {
    let kept_s = KEPT_TICKS as f64 * PERIOD.s();
    (run.ticks > KEPT_TICKS).then(|| {
        format!(
            "Energy, forces, limits and motion were judged over the whole session, and all of it is \
             in the recording; what was felt and how the robot followed is of the first {kept_s} s."
        )
    })
}

/// Whoever follows a session whose operator has a script of steps, which is judged by what it does to the twin.
fn watch(config: &Config) -> Result<Option<Watch>, ConfigError> {
    let steps = matches!(config.operator.script, ScriptParams::Procedure(_));
    if !steps || !(config.coupling.needs_twin() || config.operator.wields()) {
        return Ok(None);
    }
    Watch::new(config, &lab::load_scene(&config.twin, "twin")?)
}
