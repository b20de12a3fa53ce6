//! Merging of the recordings of two hosts of one session. Source: ours.

use std::io::{Seek, Write};

use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use super::{BagContents, RecordError, Recorder, Recording, RecordingHeader};

/// Writes both parts into one recording, in order of time on the master's clock.
///
/// The slave's times (`now_ns`) are shifted to the master's clock by `slave_clock_ahead`; delays
/// and ages stay as measured. Configuration and facts are the master's. A damaged part gives a mark of its cut.
///
/// # Errors
/// [`RecordError::Write`] if `out` fails.
pub fn merge<W: Write + Seek>(
    master: &Recording,
    slave: &Recording,
    slave_clock_ahead: Span,
    out: W,
) -> Result<BagContents, RecordError> {
    let session = RecordingHeader {
        sides: recorded_sides(master, slave),
        config: master
            .config
            .clone()
            .or_else(|| slave.config.clone())
            .unwrap_or_default(),
        epoch_ns: master.epoch_ns().max(slave.epoch_ns()),
        begun_ns: [master.master.first(), slave.slave.first()]
            .into_iter()
            .flatten()
            .map(|record| record.now_ns)
            .min()
            .unwrap_or(0),
        facts: match master.facts.is_empty() {
            true => slave.facts.clone(),
            false => master.facts.clone(),
        },
    };
    let mut recorder = Recorder::create(out, &session)?;
    for recorded in master.changes.iter().chain(&slave.changes) {
        recorder.push_change(recorded)?;
    }
    let cuts = master.all_cuts(&[Side::Master]);
    for cut in cuts.iter().chain(&slave.all_cuts(&[Side::Slave])) {
        recorder.push_cut(cut)?;
    }
    let mut remote = slave
        .slave
        .iter()
        .map(|r| TickRecord {
            now_ns: r.now_ns.saturating_sub(slave_clock_ahead.0),
            ..*r
        })
        .peekable();
    let mut batches = master.edit_batches.iter().peekable();
    for record in &master.master {
        while let Some((made_ns, batch)) = batches.next_if(|(made_ns, _)| *made_ns <= record.now_ns)
        {
            recorder.push_edit_batch(*made_ns, batch)?;
        }
        while let Some(earlier) = remote.next_if(|r| r.now_ns < record.now_ns) {
            recorder.push(&earlier)?;
        }
        recorder.push(record)?;
    }
    for rest in remote {
        recorder.push(&rest)?;
    }
    for (made_ns, batch) in batches {
        recorder.push_edit_batch(*made_ns, batch)?;
    }
    recorder.finish(master.summary.as_deref())
}

/// Sides that have records; both if none has.
fn recorded_sides(master: &Recording, slave: &Recording) -> Vec<Side> {
    match (master.master.is_empty(), slave.slave.is_empty()) {
        (false, true) => vec![Side::Master],
        (true, false) => vec![Side::Slave],
        _ => vec![Side::Master, Side::Slave],
    }
}
