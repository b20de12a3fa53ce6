//! Run of a script on the twin alone, to its end in virtual time.
//!
//! Source: ours. The length of a script is checked with its steps.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use palpate_analysis::metrics::SessionFacts;
use palpate_analysis::progress::Progress;
use palpate_analysis::rehearsal::{RehearsalResult, RehearsalWatch};
use palpate_analysis::summary::{Ending, ServoSummary};
use palpate_analysis::virtual_run::{SessionEvent, run_ticks};
use palpate_analysis::{Failure, truth};
use palpate_geometry::mesh::file::{self, MeshFormat};
use palpate_geometry::mesh::{MixedMesh, Units};
use palpate_session::config::{Config, ConfigError};
use palpate_session::files;
use palpate_session::run::clocked::ClockedSession as _;
use palpate_transport::trace::{Side, TickRecord};
use palpate_twin::edits::LinkCounts;

use super::solo::SoloSession;

/// Remark on the file of the surface.
pub const SURFACE: &str = "The surface at the end is in surface.ply.";

/// Result of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRun {
    /// Every tick.
    pub records: Vec<TickRecord>,
    /// Result of the script, if there was one.
    pub rehearsal: Option<RehearsalResult>,
    /// Surface of the tissue at the end.
    pub surface: MixedMesh,
    /// Hash of the handle's trace and of the topology of the tissue.
    pub trace_hash: String,
    /// Edit batches that instruments made.
    pub edit_batches: u64,
    /// Links that they cut, and joined.
    pub links: Option<LinkCounts>,
}

/// Runs to the end, or until `stop` is set; `record` receives every record, and every edit batch before it.
///
/// # Errors
/// Errors of `record`.
pub fn play(
    mut session: SoloSession,
    mut watch: Option<RehearsalWatch>,
    progress: &dyn Progress,
    stop: &AtomicBool,
    mut record: impl FnMut(SessionEvent<'_>) -> Result<(), Failure>,
) -> Result<ScriptRun, Failure> {
    let ticks = session.ticks();
    let mut records = Vec::with_capacity(usize::try_from(ticks).unwrap_or(0));
    let mut batches = 0;
    run_ticks(ticks, progress, stop, |_| {
        let one = session.step();
        if let (Some(watch), Some(twin)) = (&mut watch, session.twin()) {
            watch.tick(&one, twin);
        }
        while let Some(batch) = session.edit_batch(batches + 1) {
            record(SessionEvent::EditBatch(one.now_ns, &batch))?;
            batches += 1;
        }
        record(SessionEvent::Tick(&one))?;
        records.push(one);
        Ok(())
    })?;
    Ok(ScriptRun {
        records,
        rehearsal: watch.map(|watch| watch.finish(None)),
        surface: session.surface(),
        trace_hash: session.trace_hash(),
        edit_batches: batches,
        links: session.links(),
    })
}

/// Returns the facts that the records do not show.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn facts(
    config: &Config,
    run: &ScriptRun,
    interrupted: bool,
) -> Result<SessionFacts, ConfigError> {
    let mut facts = SessionFacts {
        only_side: Some(Side::Master),
        without_peer: true,
        sites: truth::sites(config, &run.records)?,
        rehearsal: run.rehearsal.clone(),
        ..SessionFacts::of(config, "rehearse")
    };
    let prefilled = &mut facts.prefilled;
    prefilled.trace_hash = Some(run.trace_hash.clone());
    prefilled.servo = ServoSummary::punctual();
    prefilled.twin = truth::twin_summary(config, &[])?;
    prefilled.topology = prefilled.topology.clone().with_links(run.links);
    if interrupted {
        prefilled.ending = Ending::Interrupted;
    }
    Ok(facts)
}

/// Writes the surface at the end.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be written.
pub fn write_surface(surface: &MixedMesh, folder: &Path) -> Result<(), Failure> {
    let path = folder.join("surface.ply");
    let refused =
        |error: &dyn std::fmt::Display| Failure::Refused(format!("{}: {error}", path.display()));
    let bytes = file::write(MeshFormat::Ply, &surface.clone().into(), &Units::SI);
    let bytes = bytes.map_err(|error| refused(&error))?;
    // a surface can be written as .ply
    files::write(&path, bytes.unwrap_or_default()).map_err(|error| refused(&error))
}
