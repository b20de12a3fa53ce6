//! Recovery of a session that was killed: what it left is joined, with a mark of the cut, and judged.
//!
//! Source: ours. A killed session leaves the recording of each side in a folder, or one part of both. A part ends with
//! its last whole chunk, at most half a second of records before the kill. The parts stay.

use std::path::{Path, PathBuf};

use palpate_session::config::Config;
use palpate_session::files;
use palpate_session::record::{self, RECORDING, RecordedCut, Recording};
use palpate_session::replay::{bitwise, trace_hash};
use palpate_session::run::supervise::{self, SIDES};
use palpate_transport::trace::Side;

use crate::conclusion::{self, Conclusion, Evidence};
use crate::metrics::SessionFacts;
use crate::summary::{Ending, TopologySummary};
use crate::{Failure, truth};

/// Result of a recovery.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// Summary and table of what is whole.
    pub conclusion: Conclusion,
    /// Sides whose records end early.
    pub cuts: Vec<RecordedCut>,
    /// Records of both sides.
    pub ticks: usize,
}

/// Name of the cut recording of a session without folders of its sides, once it is recovered.
const CUT: &str = "recording.cut.mcap";

/// True if a folder has parts of a session, and no whole recording.
#[must_use]
pub fn is_recoverable(folder: &Path) -> bool {
    let whole = folder.join(RECORDING);
    let parts = [files::part_of(&whole), folder.join(CUT)];
    !whole.exists() && (parts.iter().any(|part| part.exists()) || !side_parts(folder).is_empty())
}

/// Joins what a killed session left in its folder, removes its keys, and writes `recording.mcap`, `summary.json` and `report.html` there.
///
/// # Errors
/// [`Failure::Usage`] if nothing is to recover, [`Failure::Refused`] if a file cannot be read or written.
pub fn recover(folder: &Path) -> Result<Recovered, Failure> {
    // also if nothing is to recover
    supervise::remove_keys(folder).map_err(|error| Failure::Refused(error.to_string()))?;
    let path = folder.join(RECORDING);
    let refused = |error: record::RecordError| Failure::Refused(error.to_string());
    if path.exists() && is_damaged(&path)? {
        rename(&path, &folder.join(CUT))?;
    }
    if !path.exists() {
        let [master, slave] = parts(folder)?;
        record::write_merged(&path, &master, &slave).map_err(refused)?;
    }
    let recording = record::read(&path).map_err(refused)?;
    let conclusion = judge(&recording, &path, folder)?;
    Ok(Recovered {
        conclusion,
        ticks: recording.master.len() + recording.slave.len(),
        cuts: recording.cuts,
    })
}

/// True if a recording breaks off; a whole one of a judged session is refused.
fn is_damaged(path: &Path) -> Result<bool, Failure> {
    let recording = record::read(path).map_err(|error| Failure::Usage(error.to_string()))?;
    let is_judged = path.with_file_name("summary.json").exists();
    if recording.damage.is_none() && is_judged {
        let why = "is whole, and has a summary; expected the folder of a session that was killed";
        return Err(Failure::Usage(format!("{}: {why}", path.display())));
    }
    Ok(recording.damage.is_some())
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::rename(from, to)
        .map_err(|error| Failure::Refused(format!("{}: {error}", from.display())))
}

/// Recordings of the sides that a killed supervisor left.
fn side_parts(folder: &Path) -> Vec<(Side, PathBuf)> {
    let of = |side: Side| (side, record::left_in(&folder.join(SIDES).join(side.name())));
    let mut parts = vec![of(Side::Master), of(Side::Slave)];
    parts.retain(|(_, path)| path.exists());
    parts
}

/// Recordings of both sides, of which one may be empty.
fn parts(folder: &Path) -> Result<[Recording; 2], Failure> {
    let read = |path: &Path| match record::read(path) {
        Ok(recording) => Ok(recording),
        // killed before its first half second was written
        Err(record::RecordError::NoTicks { .. } | record::RecordError::NotMcap { .. }) => {
            Ok(Recording::default())
        }
        Err(error) => Err(Failure::Refused(error.to_string())),
    };
    let (part, cut) = (files::part_of(&folder.join(RECORDING)), folder.join(CUT));
    let sides = side_parts(folder);
    if sides.is_empty() && !cut.exists() && part.exists() {
        rename(&part, &cut)?;
    }
    // what is left is of a kill while the parts were joined
    let _ = std::fs::remove_file(&part);
    let mut both = [Recording::default(), Recording::default()];
    if sides.is_empty() && cut.exists() {
        both = divided(read(&cut)?);
    }
    for (side, path) in sides {
        both[side as usize] = read(&path)?;
    }
    if both[0].master.is_empty() && both[1].slave.is_empty() {
        let expected =
            "expected the folder of a session that was killed, with recording.mcap.part or sides";
        return Err(Failure::Usage(format!(
            "{}: has no records to recover; {expected}",
            folder.display()
        )));
    }
    Ok(both)
}

/// Divides the recording of both sides, each with its cut.
fn divided(mut whole: Recording) -> [Recording; 2] {
    let cuts = whole.all_cuts(&[Side::Master, Side::Slave]);
    let of = |side: Side, ticks: usize| {
        let own = cuts.iter().filter(|cut| ticks > 0 && cut.side == side);
        own.cloned().collect()
    };
    let slave = Recording {
        cuts: of(Side::Slave, whole.slave.len()),
        slave: std::mem::take(&mut whole.slave),
        config: whole.config.clone(),
        facts: whole.facts.clone(),
        ..Recording::default()
    };
    whole.cuts = of(Side::Master, whole.master.len());
    whole.damage = None;
    [whole, slave]
}

/// Judges what was recorded, and writes summary and report.
fn judge(recording: &Recording, path: &Path, folder: &Path) -> Result<Conclusion, Failure> {
    let text = recording.config.as_deref().unwrap_or_default();
    let config = Config::parse(text, &format!("{}, config.toml", path.display()))?;
    let mut facts = SessionFacts {
        only_side: match (recording.master.is_empty(), recording.slave.is_empty()) {
            (false, true) => Some(Side::Master),
            (true, false) => Some(Side::Slave),
            _ => None,
        },
        without_peer: bitwise::is_alone(recording),
        sites: truth::sites(&config, &recording.master)?,
        ..SessionFacts::of(&config, "recover")
    };
    let prefilled = &mut facts.prefilled;
    prefilled.ending = Ending::Killed;
    prefilled.twin = truth::twin_summary(&config, &[])?;
    prefilled.topology = TopologySummary::of(recording);
    prefilled.trace_hash = Some(trace_hash(&recording.master, &recording.slave));
    let mut remarks: Vec<String> = recording.cuts.iter().map(words).collect();
    remarks.insert(
        0,
        "The session was killed. This is what was whole of its records.".to_owned(),
    );
    let evidence = Evidence {
        remarks: &remarks,
        ..Evidence::new(&config, &facts, &recording.master, &recording.slave)
    };
    let (mut summary, audit) = conclusion::measure(&evidence);
    // only the network counted its frames, and an overtaken frame is not lost
    summary.link.loss = None;
    conclusion::write_results(&evidence, summary, &audit, folder)
}

/// Describes a cut.
#[must_use]
pub fn words(cut: &RecordedCut) -> String {
    let side = cut.side.name();
    match cut.last_tick {
        Some(tick) => format!(
            "The records of the {side} end with tick {tick}: {}.",
            cut.what
        ),
        None => format!("The {side} has no records: {}.", cut.what),
    }
}
