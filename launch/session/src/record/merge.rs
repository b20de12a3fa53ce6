//! Joining what two hosts recorded of one session. Source: ours.

use std::io::{Seek, Write};

use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use super::{RecordError, Recorder, Recording, Session, Written};

/// Writes both parts into one recording, in the order of time on the master's clock.
///
/// The slave's times (`now_ns`) are moved onto the master's clock by `slave_clock_ahead`; delays
/// and ages stay as they were measured. Configuration and facts are the master's.
///
/// # Errors
/// [`RecordError::Write`] if `out` fails.
pub fn merge<W: Write + Seek>(
    master: &Recording,
    slave: &Recording,
    slave_clock_ahead: Span,
    out: W,
) -> Result<Written, RecordError> {
    let session = Session {
        sides: vec![Side::Master, Side::Slave],
        config: master
            .config
            .clone()
            .or_else(|| slave.config.clone())
            .unwrap_or_default(),
        facts: master.facts.clone(),
    };
    let mut recorder = Recorder::create(out, &session)?;
    for changed in master.changes.iter().chain(&slave.changes) {
        recorder.push_change(changed)?;
    }
    let mut remote = slave
        .slave
        .iter()
        .map(|r| TickRecord {
            now_ns: r.now_ns.saturating_sub(slave_clock_ahead.0),
            ..*r
        })
        .peekable();
    let mut strokes = master.strokes.iter().peekable();
    for record in &master.master {
        while let Some((made_ns, stroke)) =
            strokes.next_if(|(made_ns, _)| *made_ns <= record.now_ns)
        {
            recorder.push_stroke(*made_ns, stroke)?;
        }
        while let Some(earlier) = remote.next_if(|r| r.now_ns < record.now_ns) {
            recorder.push(&earlier)?;
        }
        recorder.push(record)?;
    }
    for rest in remote {
        recorder.push(&rest)?;
    }
    for (made_ns, stroke) in strokes {
        recorder.push_stroke(*made_ns, stroke)?;
    }
    recorder.finish(master.summary.as_deref())
}
