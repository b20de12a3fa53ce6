//! `palpate rehearse`: a script on the twin alone, in virtual time, recorded, judged and reported; with a page, see
//! `rehearse_live`.
//!
//! Source: ours. [`palpate_console::rehearsal::run`] plays it.

use std::sync::atomic::Ordering;

use palpate_analysis::conclusion::{self, Evidence};
use palpate_analysis::rehearsal::RehearsalWatch;
use palpate_analysis::virtual_run::RecordingWriter;
use palpate_analysis::{Failure, output};
use palpate_console::rehearsal::run::{SURFACE, facts, play, write_surface};
use palpate_console::rehearsal::solo::{self, SoloSession};
use palpate_console::serve;
use palpate_session::lab;
use palpate_transport::trace::Side;

use super::{CommandOutcome, interrupt, rehearse_live};
use crate::cli::RehearseArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Rehearses, writes the folder, and returns the outcome.
///
/// # Errors
/// [`Failure::Usage`] for a script, scene, configuration or folder that cannot be used, [`Failure::Refused`] for a
/// file that cannot be written.
pub(super) fn rehearse(arguments: &RehearseArgs) -> Result<CommandOutcome, Failure> {
    if rehearse_live::wanted(arguments) {
        return rehearse_live::rehearse_live(arguments);
    }
    serve::refuse_page_flags(
        &arguments.page.serve_options(),
        "`rehearse` without --console",
    )?;
    let mut config = arguments.session().config()?;
    solo::make_solo(&mut config);
    let watch = RehearsalWatch::new(&config, &lab::load_scene(&config.twin, "twin")?)?;
    let session = SoloSession::new(&config)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.chosen(), &config.name, output::SESSION)?;
    output::write(&folder.join("config.toml"), config.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let create = || RecordingWriter::create(&folder, &config, "rehearse", &[Side::Master]);
    let mut recording = (!arguments.no_recording).then(create).transpose()?;
    let progress = TerminalProgress::bar("rehearse", session.ticks(), wanted.is_silent());
    let run = play(session, watch, &progress, &stop, |entry| {
        recording.as_mut().map_or(Ok(()), |one| one.push(entry))
    })?;
    progress.set_status("judging");
    let interrupted = stop.load(Ordering::Relaxed);
    let mut facts = facts(&config, &run, interrupted)?;
    facts.prefilled.topology.edit_batches_recorded = recording.as_ref().map(|_| run.edit_batches);
    drop(progress);
    write_surface(&run.surface, &folder)?;
    let mut remarks = vec![
        "No slave and no network: the force is that of the twin, without delay.".to_owned(),
        SURFACE.to_owned(),
    ];
    remarks.extend(interrupted.then(|| "Interrupted before its end.".to_owned()));
    let evidence = Evidence {
        remarks: &remarks,
        ..Evidence::new(&config, &facts, &run.records, &[])
    };
    let concluded = conclusion::conclude(&evidence, &folder)?;
    if let Some(recording) = recording {
        recording.finish(&concluded)?;
    }
    CommandOutcome::from_session(&concluded, wanted, &folder)
}
