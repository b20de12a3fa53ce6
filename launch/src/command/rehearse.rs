//! `palpate rehearse`: a script on the twin alone, in virtual time, recorded, judged and reported; with a page,
//! `practice`.
//!
//! Source: ours. [`palpate_console::rehearsal::run`] plays it.

use std::sync::atomic::Ordering;

use palpate_analysis::conclude::{self, Evidence};
use palpate_analysis::play::Recording;
use palpate_analysis::rehearsed::Watch;
use palpate_analysis::{Failure, output};
use palpate_console::rehearsal::run::{SURFACE, facts, play, write_surface};
use palpate_console::rehearsal::solo::{self, Solo};
use palpate_console::serve;
use palpate_session::lab;
use palpate_transport::trace::Side;

use super::{Done, interrupt, practice};
use crate::cli::RehearseArgs;
use crate::progress::{Progress as _, Terminal};

/// Rehearse, write the folder, and say how it went.
///
/// # Errors
/// [`Failure::Usage`] for a script, scene, configuration or folder that cannot be used, [`Failure::Refused`] for a
/// file that cannot be written.
pub fn rehearse(arguments: &RehearseArgs) -> Result<Done, Failure> {
    if practice::wanted(arguments) {
        return practice::practise(arguments);
    }
    serve::unserved(&arguments.page.serving(), "`rehearse` without --console")?;
    let mut config = arguments.session().config()?;
    solo::alone(&mut config);
    let watch = Watch::new(&config, &lab::load_scene(&config.twin, "twin")?)?;
    let session = Solo::new(&config)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let mut recording = match arguments.no_recording {
        true => None,
        false => Some(Recording::create(
            &folder.join("recording.mcap"),
            &config,
            "rehearse",
            &[Side::Master],
        )?),
    };
    let quiet = wanted.quiet || wanted.json;
    let progress = Terminal::bar("rehearse", session.ticks(), quiet);
    let run = play(session, watch, &progress, &stop, |entry| {
        recording.as_mut().map_or(Ok(()), |one| one.push(entry))
    })?;
    progress.say("judging");
    let interrupted = stop.load(Ordering::Relaxed);
    let mut facts = facts(&config, &run, interrupted)?;
    facts.strokes.recorded = recording.as_ref().map(|_| run.strokes);
    drop(progress);
    write_surface(&run.surface, &folder)?;
    let mut remarks = vec![
        "No slave and no network: the hand felt the twin, at once.".to_owned(),
        SURFACE.to_owned(),
    ];
    remarks.extend(interrupted.then(|| "Ended before its time, as was asked.".to_owned()));
    let evidence = Evidence {
        config: &config,
        master: &run.records,
        slave: &[],
        judged: None,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    let concluded = conclude::conclude(&evidence, &folder)?;
    if let Some(recording) = recording {
        recording.finish(&concluded)?;
    }
    Ok(Done::of(concluded, wanted, &folder))
}
