//! Checks of a row of a live trial with a fault of a process, from the files that its sides wrote.
//!
//! Source: ours; times after `docs/safety.md`. Each side's own checks are stated with its name. Left out are those that
//! the fault itself breaks: the missed ticks of a stopped side, and the lost records of a full disk, whose count is
//! checked instead.

use std::path::Path;

use palpate_analysis::Failure;
use palpate_analysis::summary::{Check, Summary};
use palpate_session::config::Config;
use palpate_session::record;
use palpate_session::run::SideReport;
use palpate_transport::Span;
use palpate_transport::trace::{Side, TickRecord};

use super::process_fault::{EndedSide, ProcessFault, ProcessFaultKind};

/// Longest time from the last frame to a robot that stands \[s\]: the watchdog's 50 ms, and the way from the largest
/// speed to rest.
const STANDS_S: f64 = 0.25;

/// Motion up to which a robot stands \[m\].
const STANDS_M: f64 = 0.5e-3;

/// Longest time from the last frame to a hand without a relayed force \[s\].
const FADES_S: f64 = 0.4;

/// Power that the force gives to the hand on one axis, above which it counts as a push \[W\]; damping takes power.
const PUSH_W: f64 = 1e-3;

/// Shortest silence that counts as one.
const SILENCE: Span = Span(800_000_000);

/// Last part of a session \[ticks\], and the least number of frames, and of enabled ticks, in it that show that a
/// side goes on.
const LAST_TICKS: usize = 2000;
const FOLLOWING_MIN: f64 = 1000.0;

/// Least records of a side that was killed or whose disk was full: a second.
const RECORDS_MIN: f64 = 1000.0;

/// Side with its files.
struct JudgedSide {
    name: String,
    ended: EndedSide,
    records: Vec<TickRecord>,
    /// None for a side that was killed.
    reports: Option<(Summary, SideReport)>,
}

impl JudgedSide {
    fn read(ended: EndedSide) -> Result<Self, Failure> {
        let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
            Failure::Refused(format!("{}: {error}", path.display()))
        };
        let path = record::left_in(&ended.out);
        let recording = record::read(&path).map_err(|error| unreadable(&path, &error))?;
        let text = |name: &str| {
            let path = ended.out.join(name);
            std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))
        };
        let reports = match ended.code {
            None => None,
            Some(_) => {
                let (summary, report) = (text("summary.json")?, text("side.json")?);
                let wrong = |error: serde_json::Error| unreadable(&ended.out, &error);
                let summary = serde_json::from_str(&summary).map_err(wrong)?;
                Some((summary, serde_json::from_str(&report).map_err(wrong)?))
            }
        };
        let name = ended.out.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            records: match ended.side {
                Side::Master => recording.master,
                Side::Slave => recording.slave,
            },
            reports,
            ended,
        })
    }

    /// Number of ticks in the last part of the record for which a condition on the tick and the one before holds.
    fn count_in_last_part(&self, holds: impl Fn(&[TickRecord]) -> bool) -> Option<f64> {
        let from = self.records.len().saturating_sub(LAST_TICKS);
        let pairs = self.records[from..].windows(2);
        Some(pairs.filter(|pair| holds(pair)).count() as f64)
    }

    /// Longest time without a new frame after the first, as a range of records.
    fn silence(&self) -> Option<&[TickRecord]> {
        let first = self
            .records
            .iter()
            .position(|record| record.received_count > 0)?;
        let runs =
            self.records[first..].chunk_by(|one, next| one.received_count == next.received_count);
        let longest = runs.max_by_key(|run| length(run))?;
        (length(longest) > SILENCE).then_some(longest)
    }

    /// Time from the start of the silence after which all of it is within a bound \[s\].
    fn settles_s(&self, is_outside: impl Fn(&TickRecord, &TickRecord) -> bool) -> Option<f64> {
        let silence = self.silence()?;
        // the last 100 ticks are left out: there the end of the side, and not the fault, may cause motion
        let end = &silence[silence.len().saturating_sub(100)];
        let last = silence
            .iter()
            .rev()
            .find(|record| record.tick <= end.tick && is_outside(record, end));
        Some(last.map_or(0.0, |record| Span(record.now_ns - silence[0].now_ns).s()))
    }
}

fn length(run: &[TickRecord]) -> Span {
    let ends = run.first().zip(run.last());
    Span(ends.map_or(0, |(first, last)| last.now_ns - first.now_ns))
}

/// Largest of three components.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most, value| f64::max(most, value.abs()))
}

/// Reads the files that the sides wrote, and states the checks of the row; returns them with the summary of a side,
/// for the columns.
///
/// # Errors
/// [`Failure::Refused`] naming a file that cannot be read.
pub(super) fn judge(
    config: &Config,
    fault: ProcessFault,
    ended: Vec<EndedSide>,
) -> Result<Summary, Failure> {
    let sides = ended.into_iter().map(JudgedSide::read);
    let sides = sides.collect::<Result<Vec<_>, _>>()?;
    let mut checks = Vec::new();
    for side in &sides {
        state_side(fault, side, &mut checks);
    }
    let in_silence = !matches!(
        fault.kind,
        ProcessFaultKind::None | ProcessFaultKind::DiskFull
    );
    for side in sides
        .iter()
        .filter(|side| in_silence && side.ended.side != fault.side)
    {
        checks.push(match side.ended.side {
            Side::Slave => {
                let moved = |one: &TickRecord, end: &TickRecord| {
                    let moved = (0..3).map(|axis| one.position_m[axis] - end.position_m[axis]);
                    largest(moved) > STANDS_M
                };
                let name = "time until the robot stands";
                Check::at_most(name, side.settles_s(moved), STANDS_S, "s")
            }
            // a twin is local, and its force goes on
            Side::Master if config.coupling.needs_twin() => continue,
            Side::Master => {
                let pushed = |one: &TickRecord, _: &TickRecord| {
                    let axes = one.port_force_n.iter().zip(&one.velocity_mps);
                    axes.map(|(force_n, mps)| -force_n * mps)
                        .fold(0.0, f64::max)
                        > PUSH_W
                };
                let name = "time until the hand feels only damping";
                Check::at_most(name, side.settles_s(pushed), FADES_S, "s")
            }
        });
    }
    if fault.kind != ProcessFaultKind::Kill {
        // the record of a full disk ends early: the frames at the other side show that its side goes on
        let is_cut = |side: &JudgedSide| {
            fault.kind == ProcessFaultKind::DiskFull && side.ended.side == fault.side
        };
        let running = sides
            .iter()
            .filter(|side| side.reports.is_some() && !is_cut(side));
        for side in running {
            state_going_on(side, &mut checks);
        }
    }
    let reports = sides.into_iter().rev().find_map(|side| side.reports);
    let (summary, _) = reports.unwrap_or_default();
    Ok(Summary { checks, ..summary })
}

/// States the checks of the files of one side.
fn state_side(fault: ProcessFault, side: &JudgedSide, checks: &mut Vec<Check>) {
    let (name, count) = (&side.name, side.records.len() as f64);
    let of = format!("{name}: ticks in the recording");
    checks.push(Check::at_least(&of, Some(count), RECORDS_MIN, "ticks"));
    let Some((summary, report)) = &side.reports else {
        return;
    };
    let of = format!("{name}: exit status");
    let (code, expected) = (side.ended.code.map(f64::from), !summary.is_good());
    let expected = f64::from(u8::from(expected));
    checks.push(Check::within(&of, code, expected, 0.0, "of 3"));
    let is_faulted = side.ended.side == fault.side;
    let broken = match fault.kind {
        ProcessFaultKind::Stop if is_faulted => "share of the ticks missed",
        ProcessFaultKind::DiskFull if is_faulted => "records lost",
        _ => "",
    };
    for check in summary.checks.iter().filter(|check| check.name != broken) {
        checks.push(Check {
            name: format!("{name}: {}", check.name),
            ..check.clone()
        });
    }
    if fault.kind == ProcessFaultKind::DiskFull && is_faulted {
        let counted = summary.servo.records_lost.map(|lost| lost as f64 + count);
        let (of, ticks) = (
            format!("{name}: records kept or counted as lost"),
            report.servo.ticks,
        );
        checks.push(Check::within(&of, counted, ticks as f64, 0.0, "ticks"));
        let named = report.recording_failure.as_ref();
        let named = named.map(|why| {
            summary
                .safety
                .faults
                .iter()
                .any(|fault| fault.contains(why))
        });
        let of = format!("{name}: full disk named in the summary");
        checks.push(Check::is_true(&of, named));
    }
}

/// States that a side goes on after the fault.
fn state_going_on(side: &JudgedSide, checks: &mut Vec<Check>) {
    let name = &side.name;
    let frames = side.count_in_last_part(|pair| pair[1].received_count != pair[0].received_count);
    let of = format!("{name}: frames in the last 2 s");
    checks.push(Check::at_least(&of, frames, FOLLOWING_MIN, "frames"));
    let enabled = side.count_in_last_part(|pair| pair[1].state == 1);
    let of = format!("{name}: enabled ticks in the last 2 s");
    checks.push(Check::at_least(&of, enabled, FOLLOWING_MIN, "ticks"));
}
