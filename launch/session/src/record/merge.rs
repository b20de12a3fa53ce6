//! Merging of the recordings of two hosts of one session. Source: ours.

use std::io::{Seek, Write};

use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use super::{RecordError, Recorder, Recording, RecordingHeader};

/// Writes both parts into one recording, in order of time on the master's clock.
///
/// The slave's times (`now_ns`) are shifted to the master's clock by `slave_clock_ahead`; delays
/// and ages stay as measured. Configuration and facts are the master's.
///
/// # Errors
/// [`RecordError::Write`] if `out` fails.
pub fn merge<W: Write + Seek>(
    master: &Recording,
    slave: &Recording,
    slave_clock_ahead: Span,
    out: W,
) -> Result<(), RecordError> {
    let session = RecordingHeader {
        sides: vec![Side::Master, Side::Slave],
        config: master
            .config
            .clone()
            .or_else(|| slave.config.clone())
            .unwrap_or_default(),
        facts: master.facts.clone(),
    };
    let mut recorder = Recorder::create(out, &session)?;
    for recorded in master.changes.iter().chain(&slave.changes) {
        recorder.push_change(recorded)?;
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
