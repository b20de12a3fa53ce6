//! What happened in a recording, as marks along its time: faults, stops, limits that acted, lost frames, late ticks.
//!
//! Source: ours. Of a kind, what follows within a moment is one mark; the moment grows until there are few enough.

use palpate_session::record::Recording;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Events, Given, Side, TickRecord};
use serde::Serialize;

use super::trace;

/// Most marks of one recording.
const MARKS_MAX: usize = 800;

/// What is so close is one \[s\].
const MOMENT_S: f64 = 0.1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// What it was.
    pub kind: &'static str,
    /// On which side: `master` or `slave`.
    pub side: &'static str,
    /// How bad it is: `bad`, `wait` or `quiet`.
    pub mood: &'static str,
    /// When it began, since the begin of the recording \[s\].
    pub from_s: f64,
    /// When it ended \[s\].
    pub to_s: f64,
}

/// A kind, its mood, and whether a tick, after the one before, has it.
type Kind = (
    &'static str,
    &'static str,
    fn(&TickRecord, Option<&TickRecord>) -> bool,
);

const fn has(events: u32, bit: u32) -> bool {
    events & bit != 0
}

/// The kind of ticks that had no fresh frame.
const NO_FRAMES: &str = "no frames";

const KINDS: [Kind; 11] = [
    ("fault", "bad", |r, _| {
        r.state == 3 || has(r.events, Events::INVALID)
    }),
    ("stopped", "bad", |r, _| has(r.given, Given::HALT)),
    (NO_FRAMES, "wait", |r, _| has(r.events, Events::STALE)),
    ("late tick", "wait", |r, _| r.late_ns >= PERIOD.0),
    ("ticks missed", "wait", |r, _| r.periods > 1),
    ("stroke", "quiet", |r, before| {
        before.is_some_and(|before| r.strokes > before.strokes)
    }),
    ("force limit", "wait", |r, _| has(r.events, Events::FORCE)),
    ("contact limit", "wait", |r, _| {
        has(r.events, Events::CONTACT)
    }),
    ("speed limit", "wait", |r, _| has(r.events, Events::SPEED)),
    ("slew limit", "wait", |r, _| has(r.events, Events::SLEW)),
    ("workspace limit", "wait", |r, _| {
        has(r.events, Events::WORKSPACE)
    }),
];

/// All marks of a recording, in the order of time.
#[must_use]
pub fn marks(recording: &Recording) -> Vec<Mark> {
    let Some((begin_ns, _)) = trace::span_ns(recording) else {
        return Vec::new();
    };
    let mut marks = Vec::new();
    for (side, records) in [
        (Side::Master, &recording.master),
        (Side::Slave, &recording.slave),
    ] {
        for kind in KINDS {
            // nobody sends frames to a hand without another side
            if recording.slave.is_empty() && kind.0 == NO_FRAMES {
                continue;
            }
            marks.extend(of_kind(kind, side, records, begin_ns));
        }
    }
    let mut moment_s = 2.0 * MOMENT_S;
    while marks.len() > MARKS_MAX {
        marks = merged(marks, moment_s);
        moment_s *= 2.0;
    }
    marks.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    marks
}

fn of_kind(kind: Kind, side: Side, records: &[TickRecord], begin_ns: i64) -> Vec<Mark> {
    let (kind, mood, has) = kind;
    let mut marks: Vec<Mark> = Vec::new();
    let mut before = None;
    for record in records {
        let at_s = (record.now_ns - begin_ns) as f64 * 1e-9;
        if has(record, before) {
            match marks.last_mut() {
                Some(last) if at_s - last.to_s <= MOMENT_S => last.to_s = at_s,
                _ => marks.push(Mark {
                    kind,
                    side: side.name(),
                    mood,
                    from_s: at_s,
                    to_s: at_s,
                }),
            }
        }
        before = Some(record);
    }
    marks
}

/// The same with what is closer than a moment joined; those of a kind and side lie beside each other.
fn merged(marks: Vec<Mark>, moment_s: f64) -> Vec<Mark> {
    let mut joined: Vec<Mark> = Vec::with_capacity(marks.len());
    for mark in marks {
        match joined.last_mut() {
            Some(last)
                if (last.kind, last.side) == (mark.kind, mark.side)
                    && mark.from_s - last.to_s <= moment_s =>
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
    fn what_lasts_is_one_mark_and_what_comes_again_another() {
        let marks = marks(&slave(3000, |r| {
            if (500..800).contains(&r.tick) || (2000..2100).contains(&r.tick) {
                r.events = Events::STALE;
            }
            r.given = if r.tick == 2500 { Given::HALT } else { 0 };
        }));
        let told: Vec<_> = marks.iter().map(|m| (m.kind, m.from_s, m.to_s)).collect();
        let stopped = ("stopped", 2.5, 2.5);
        assert_eq!(
            told,
            [
                ("no frames", 0.5, 0.799),
                ("no frames", 2.0, 2.099),
                stopped
            ]
        );
        assert!(marks.iter().all(|mark| mark.side == "slave"));
    }

    #[test]
    fn there_are_never_too_many() {
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
