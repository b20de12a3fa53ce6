//! Marks of events along the time of a recording: faults, stops, active limits, lost frames, late ticks.
//!
//! Source: ours. Events of a kind closer than a limit are one mark; the limit grows until there are few enough marks.

use palpate_session::record::Recording;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{EventFlags, InputFlags, Side, TickRecord};
use serde::Serialize;

use super::trace;

/// Most marks of one recording.
const MARKS_MAX: usize = 800;

/// Distance below which two events of a kind are one mark \[s\].
const MERGE_S: f64 = 0.1;

/// One event, or several close ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Kind of the event.
    pub kind: &'static str,
    /// Side of the event: `master` or `slave`.
    pub side: &'static str,
    /// Severity: `bad`, `wait` or `quiet`.
    #[serde(rename = "mood")]
    pub severity: &'static str,
    /// Start, since the beginning of the recording \[s\].
    pub from_s: f64,
    /// End \[s\].
    pub to_s: f64,
}

/// A kind, its severity, and its condition on a tick and the one before.
type MarkKind = (
    &'static str,
    &'static str,
    fn(&TickRecord, Option<&TickRecord>) -> bool,
);

const fn has(events: u32, bit: u32) -> bool {
    events & bit != 0
}

/// Kind of ticks without a fresh frame.
const NO_FRAMES: &str = "no frames";

const KINDS: [MarkKind; 14] = [
    ("fault", "bad", |r, _| {
        r.state == 3 || has(r.events, EventFlags::INVALID_READING)
    }),
    ("tissue collapsed", "bad", |r, _| {
        has(r.events, EventFlags::TISSUE_COLLAPSED)
    }),
    ("limit cycle", "bad", |r, _| {
        has(r.events, EventFlags::LIMIT_CYCLE)
    }),
    ("stopped", "bad", |r, _| has(r.given, InputFlags::HALT)),
    (NO_FRAMES, "wait", |r, _| has(r.events, EventFlags::STALE)),
    ("late tick", "wait", |r, _| r.late_ns >= PERIOD.0),
    ("ticks missed", "wait", |r, _| r.periods > 1),
    ("edit batch", "quiet", |r, before| {
        before.is_some_and(|before| r.edit_batches > before.edit_batches)
    }),
    ("force limit", "wait", |r, _| {
        has(r.events, EventFlags::FORCE_LIMIT)
    }),
    ("contact limit", "wait", |r, _| {
        has(r.events, EventFlags::CONTACT_LIMIT)
    }),
    ("speed limit", "wait", |r, _| {
        has(r.events, EventFlags::SPEED_LIMIT)
    }),
    ("slew limit", "wait", |r, _| {
        has(r.events, EventFlags::SLEW_LIMIT)
    }),
    ("unpaid fall", "wait", |r, _| {
        has(r.events, EventFlags::UNPAID_FALL)
    }),
    ("workspace limit", "wait", |r, _| {
        has(r.events, EventFlags::WORKSPACE_LIMIT)
    }),
];

/// Returns all marks of a recording, in the order of time.
#[must_use]
pub(crate) fn marks(recording: &Recording) -> Vec<Mark> {
    let Some((begin_ns, _)) = trace::span_ns(recording) else {
        return Vec::new();
    };
    let mut marks = Vec::new();
    for (side, records) in [
        (Side::Master, &recording.master),
        (Side::Slave, &recording.slave),
    ] {
        for kind in KINDS {
            // without another side no frames are expected
            if recording.slave.is_empty() && kind.0 == NO_FRAMES {
                continue;
            }
            marks.extend(of_kind(kind, side, records, begin_ns));
        }
    }
    let mut merge_s = 2.0 * MERGE_S;
    while marks.len() > MARKS_MAX {
        marks = merged(marks, merge_s);
        merge_s *= 2.0;
    }
    marks.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    marks
}

fn of_kind(kind: MarkKind, side: Side, records: &[TickRecord], begin_ns: i64) -> Vec<Mark> {
    let (kind, severity, has) = kind;
    let befores = std::iter::once(None).chain(records.iter().map(Some));
    let having = records.iter().zip(befores);
    let having = having.filter(|(record, before)| has(record, *before));
    let mark = |(record, _): (&TickRecord, Option<&TickRecord>)| {
        let at_s = (record.now_ns - begin_ns) as f64 * 1e-9;
        Mark {
            kind,
            side: side.name(),
            severity,
            from_s: at_s,
            to_s: at_s,
        }
    };
    merged(having.map(mark), MERGE_S)
}

/// Merges marks that are closer than a limit; those of one kind and side must be adjacent.
fn merged(marks: impl IntoIterator<Item = Mark>, merge_s: f64) -> Vec<Mark> {
    let mut joined: Vec<Mark> = Vec::new();
    for mark in marks {
        match joined.last_mut() {
            Some(last)
                if (last.kind, last.side) == (mark.kind, mark.side)
                    && mark.from_s - last.to_s <= merge_s =>
            {
                last.to_s = mark.to_s;
            }
            _ => joined.push(mark),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slave(ticks: u64, mark: impl Fn(&mut TickRecord)) -> Recording {
        let tick = |n: u64| {
            let mut record = TickRecord {
                side: Side::Slave,
                tick: n,
                now_ns: 1_000_000 * n as i64,
                periods: 1,
                ..TickRecord::default()
            };
            mark(&mut record);
            record
        };
        Recording {
            slave: (0..ticks).map(tick).collect(),
            ..Recording::default()
        }
    }

    #[test]
    fn close_events_are_one_mark_and_later_ones_another() {
        let marks = marks(&slave(3000, |r| {
            if (500..800).contains(&r.tick) || (2000..2100).contains(&r.tick) {
                r.events = EventFlags::STALE;
            }
            r.given = if r.tick == 2500 { InputFlags::HALT } else { 0 };
        }));
        let found: Vec<_> = marks.iter().map(|m| (m.kind, m.from_s, m.to_s)).collect();
        let stopped = ("stopped", 2.5, 2.5);
        assert_eq!(
            found,
            [
                ("no frames", 0.5, 0.799),
                ("no frames", 2.0, 2.099),
                stopped
            ]
        );
        assert!(marks.iter().all(|mark| mark.side == "slave"));
    }

    #[test]
    fn a_collapsed_tissue_is_marked_as_a_fault_and_by_its_name() {
        let marks = marks(&slave(3000, |r| {
            if (500..2000).contains(&r.tick) {
                (r.state, r.events) = (3, EventFlags::TISSUE_COLLAPSED);
            }
        }));
        let found: Vec<_> = marks.iter().map(|m| (m.kind, m.severity)).collect();
        assert_eq!(found, [("fault", "bad"), ("tissue collapsed", "bad")]);
    }

    #[test]
    fn the_number_of_marks_is_limited() {
        let marks = marks(&slave(400_000, |r| {
            r.late_ns = if r.tick.is_multiple_of(200) {
                2_000_000
            } else {
                0
            };
        }));
        assert!(
            !marks.is_empty() && marks.len() <= MARKS_MAX,
            "{}",
            marks.len()
        );
    }
}
