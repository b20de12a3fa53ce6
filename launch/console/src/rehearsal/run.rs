//! A script on the twin alone, played to its end in virtual time.
//!
//! Source: ours. How long a script may be is checked where its steps are.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::metrics::{SessionFacts, StrokeFacts, TickLosses};
use palpate_analysis::play::Entry;
use palpate_analysis::progress::Progress;
use palpate_analysis::rehearsed::{Rehearsed, Watch};
use palpate_analysis::summary::Ending;
use palpate_analysis::{Failure, truth};
use palpate_geometry::mesh::file::ply_write;
use palpate_geometry::mesh::surface::Surface;
use palpate_geometry::mesh::units::Units;
use palpate_session::config::{Config, ConfigError};
use palpate_transport::trace::{Side, TickRecord};

use super::solo::Solo;

/// Where the surface is, in words.
pub const SURFACE: &str = "The surface as it lay at the end is in surface.ply.";

/// Ticks between two looks at the progress bar and at Ctrl-C.
const LOOK_TICKS: u64 = 1000;

/// What a rehearsal left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Every tick.
    pub records: Vec<TickRecord>,
    /// What the script did, if there was one.
    pub rehearsed: Option<Rehearsed>,
    /// The tissue's surface at the end, as it lies there.
    pub surface: Surface,
    /// Hash of the handle's trace and of how the tissue is linked.
    pub trace_hash: String,
    /// Strokes that instruments made.
    pub strokes: u64,
    /// Links that they cut, less those made.
    pub links_cut: Option<i64>,
}

/// Run to the end, or until `stop` is set; `record` is given every record, and every stroke before it.
///
/// # Errors
/// What `record` refuses.
pub fn play(
    mut session: Solo,
    mut watch: Option<Watch>,
    progress: &dyn Progress,
    stop: &AtomicBool,
    mut record: impl FnMut(Entry<'_>) -> Result<(), Failure>,
) -> Result<Run, Failure> {
    let ticks = session.ticks();
    let mut records = Vec::with_capacity(usize::try_from(ticks).unwrap_or(0));
    let mut strokes = 0;
    for tick in 0..ticks {
        if tick % LOOK_TICKS == 0 {
            progress.at(tick);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let one = session.step();
        if let (Some(watch), Some(twin)) = (&mut watch, session.twin()) {
            watch.tick(&one, twin);
        }
        while let Some(stroke) = session.stroke(strokes + 1) {
            record(Entry::Stroke(one.now_ns, &stroke))?;
            strokes += 1;
        }
        record(Entry::Tick(&one))?;
        records.push(one);
    }
    Ok(Run {
        records,
        rehearsed: watch.map(|watch| watch.finish(None)),
        surface: session.surface(),
        trace_hash: session.trace_hash(),
        strokes,
        links_cut: session.links_cut(),
    })
}

/// What the records do not show.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn facts(config: &Config, run: &Run, interrupted: bool) -> Result<SessionFacts, ConfigError> {
    Ok(SessionFacts {
        command: "rehearse".into(),
        seed: Some(config.seed),
        trace_hash: Some(run.trace_hash.clone()),
        mode: config.modes(),
        sides: vec![Side::Master],
        networked: false,
        ending: if interrupted {
            Ending::Interrupted
        } else {
            Ending::Complete
        },
        losses: TickLosses::NONE,
        sites: truth::sites(config, &run.records)?,
        twin: truth::twin(config, &[])?,
        strokes: StrokeFacts {
            links_cut: run.links_cut,
            recorded: None,
        },
        rehearsal: run.rehearsed.clone(),
        stills: run
            .rehearsed
            .as_ref()
            .map_or(Vec::new(), |done| done.stills.clone()),
        ..SessionFacts::default()
    })
}

/// Write the surface as it lay at the end.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be written.
pub fn write_surface(surface: &Surface, folder: &Path) -> Result<(), Failure> {
    let path = folder.join("surface.ply");
    let refused =
        |error: &dyn std::fmt::Display| Failure::Refused(format!("{}: {error}", path.display()));
    let bytes =
        ply_write::write(&surface.to_parts(), &Units::SI).map_err(|error| refused(&error))?;
    std::fs::write(&path, bytes).map_err(|error| refused(&error))
}
