//! `palpate lab`: a session in virtual time, recorded, judged and reported.
//!
//! Source: ours. [`palpate_analysis::virtual_run`] runs it.

use std::sync::atomic::Ordering;

use palpate_analysis::conclusion::{self, Evidence};
use palpate_analysis::rehearsal::RehearsalWatch;
use palpate_analysis::summary::Ending;
use palpate_analysis::virtual_run::{
    MEMORY_TICKS, RecordingWriter, VirtualRun, facts, play, wave_comparison,
};
use palpate_analysis::{Failure, output, truth};
use palpate_console::serve;
use palpate_master::device::script::ScriptParams;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{self, VirtualSession};
use palpate_transport::Span;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;

use super::{CommandOutcome, interrupt};
use crate::cli::LabArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Runs a session in virtual time, writes its folder, and returns the outcome.
///
/// # Errors
/// [`Failure::Usage`] for a configuration or folder that cannot be used, [`Failure::Refused`] for a
/// file that cannot be written.
pub(super) fn lab(arguments: &LabArgs) -> Result<CommandOutcome, Failure> {
    let config = arguments.session.config()?;
    serve::check(&config, false)?;
    let session = VirtualSession::new(&config)?;
    let watch = script_watch(&config)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.chosen(), &config.name, output::SESSION)?;
    output::write(&folder.join("config.toml"), config.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let sides = [Side::Master, Side::Slave];
    let create = || RecordingWriter::create(&folder, &config, "lab", &sides);
    let mut recording = (!arguments.no_recording).then(create).transpose()?;
    let progress = TerminalProgress::bar("lab", session.ticks(), wanted.is_silent());
    let run = play(session, watch, &progress, &stop, |entry| {
        recording.as_mut().map_or(Ok(()), |one| one.push(entry))
    })?;
    let interrupted = stop.load(Ordering::Relaxed);
    progress.set_status("judging");
    let mut facts = facts(&config, &run, truth::sites(&config, &run.master)?, true)?;
    progress.set_status("again, coupled by waves");
    let comparison = wave_comparison(&config, &facts.sites, &stop)?;
    drop(progress);
    let mut remarks = vec![speed_note(&run)];
    remarks.extend(truncation_note(&run));
    remarks.extend(truth::remarks(&config, &facts.sites)?);
    facts.prefilled.topology.edit_batches_recorded = recording.as_ref().map(|_| run.edit_batches);
    if interrupted {
        facts.prefilled.ending = Ending::Interrupted;
        remarks.push("Interrupted before its end.".into());
    }
    let evidence = Evidence {
        comparison: comparison.as_ref(),
        remarks: &remarks,
        ..run.evidence(&config, &facts)
    };
    let concluded = conclusion::conclude(&evidence, &folder)?;
    if let Some(recording) = recording {
        recording.finish(&concluded)?;
    }
    CommandOutcome::from_session(&concluded, wanted, &folder)
}

/// Speed of virtual time by clock and by CPU time, which a busy machine does not distort.
fn speed_note(run: &VirtualRun) -> String {
    let simulated_s = run.ticks as f64 * PERIOD.s();
    let times = |span: Span| simulated_s / span.s().max(1e-9);
    format!(
        "Virtual time: {:.1} times as fast as real time ({:.2} s), {:.1} times by own CPU time.",
        times(run.took),
        run.took.s(),
        times(run.cpu)
    )
}

/// Remark on a session longer than the records kept in memory.
fn truncation_note(run: &VirtualRun) -> Option<String> {
    let kept_s = MEMORY_TICKS as f64 * PERIOD.s();
    (run.ticks > MEMORY_TICKS).then(|| {
        format!(
            "Energy, forces, limits and motion were judged over the whole session, and all of it is \
             in the recording; felt stiffness and the robot's tracking are of the first {kept_s} s."
        )
    })
}

/// Watch of a session whose operator follows a script of steps; it measures the effect on the twin.
fn script_watch(config: &Config) -> Result<Option<RehearsalWatch>, ConfigError> {
    let steps = matches!(config.operator.script, ScriptParams::Procedure(_));
    if !steps || !(config.coupling.needs_twin() || config.operator.uses_instruments()) {
        return Ok(None);
    }
    RehearsalWatch::new(config, &lab::load_scene(&config.twin, "twin")?)
}
