//! Live row with a fault of a process: both sides as processes on this machine, one of which ends, stops, starts
//! again, or finds its disk full.
//!
//! Source: ours. The sides are `palpate master` and `palpate slave` on loopback, as on two hosts, so that each judges
//! itself and one of them can start again. [`super::fault_checks`] judges the row by what they leave in its folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_session::record;
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};
use serde::Deserialize;

use crate::trial::condition::FieldValues;

/// Kind of a fault of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProcessFaultKind {
    /// Both sides run to the end.
    #[default]
    None,
    /// The side is killed.
    Kill,
    /// The side is stopped by SIGSTOP, and goes on after [`PAUSE`].
    Stop,
    /// The side is killed, and started again after [`PAUSE`].
    Restart,
    /// The side may write no more than [`FILE_BLOCKS`] to a file.
    DiskFull,
}

/// Fault of the process of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProcessFault {
    /// Kind of the fault.
    #[serde(rename = "fault")]
    pub(crate) kind: ProcessFaultKind,
    /// Side to which it happens.
    pub(crate) side: Side,
}

/// Start of the fields of a condition that are no fields of a configuration.
const PREFIX: &str = "process.";

/// True if a field of a condition belongs to a fault of a process.
pub(crate) fn is_field(name: &str) -> bool {
    name.starts_with(PREFIX)
}

impl ProcessFault {
    /// Reads the fields of a condition; none if it has no fault of a process.
    ///
    /// # Errors
    /// A message with the field and the valid values.
    pub(crate) fn read(values: &FieldValues) -> Result<Option<Self>, String> {
        let own = values.iter().filter_map(|(name, value)| {
            let field = name.strip_prefix(PREFIX)?;
            Some((field.to_owned(), value.clone()))
        });
        let own: toml::Table = own.collect();
        if own.is_empty() {
            return Ok(None);
        }
        let read = own
            .try_into()
            .map_err(|error: toml::de::Error| format!("process: {}", error.message()));
        read.map(Some)
    }
}

/// Time of the fault after both sides have begun: the hand of the trial `faults-live` is then about halfway down, at its
/// fastest.
const AT: Span = Span(3_350_000_000);

/// Length of a stop, or time before a new start.
const PAUSE: Span = Span(1_500_000_000);

/// Largest file of a side with a full disk \[blocks of 512 bytes\]: two to four seconds of records, and more than its
/// report.
const FILE_BLOCKS: u32 = 2000;

/// Longest wait for the beginning or the end of a side: its tissue may have to be computed first.
const PATIENCE: Span = Span(60_000_000_000);

/// Time between two looks at a process.
const POLL: Span = Span(20_000_000);

/// Process of a side.
struct FaultedSide {
    side: Side,
    out: PathBuf,
    child: Child,
}

/// Result of a side that has ended.
#[derive(Debug)]
pub(super) struct EndedSide {
    /// The side.
    pub(super) side: Side,
    /// Its folder.
    pub(super) out: PathBuf,
    /// Exit status; none if it was killed.
    pub(super) code: Option<i32>,
}

impl Drop for FaultedSide {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl FaultedSide {
    /// Starts a side and waits until it has a folder for its recording.
    fn start(side: Side, out: PathBuf, config: &Path, is_full: bool) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| Failure::Refused(format!("{}: {error}", side.name()));
        let program = std::env::current_exe().map_err(refused)?;
        // the shell sets the limit; a write beyond it then fails instead of ending the process
        let limit = match is_full {
            true => format!("trap '' XFSZ; ulimit -f {FILE_BLOCKS}; "),
            false => String::new(),
        };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}exec \"$0\" \"$@\"")]);
        command.arg(program).arg(side.name());
        command
            .args(["-q", "--until-stopped", "--config"])
            .arg(config);
        command.arg("--out").arg(&out);
        if side == Side::Master {
            command.arg("--no-console");
        }
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        std::fs::create_dir_all(&out).map_err(refused)?;
        let words = std::fs::File::create(out.join("stderr.txt")).map_err(refused)?;
        let child = quiet.stderr(words).spawn().map_err(refused)?;
        Ok(Self { side, out, child })
    }

    fn signal(&self, signal: Signal) {
        // a process that has ended is found by its exit status
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    /// True if the session has begun for this side; an end before is an error.
    fn has_begun(&mut self) -> Result<bool, Failure> {
        if let Ok(Some(status)) = self.child.try_wait() {
            let words = std::fs::read_to_string(self.out.join("stderr.txt")).unwrap_or_default();
            let (side, words) = (self.side.name(), words.trim());
            return Err(Failure::Refused(format!(
                "the {side} ended early, {status}: {words}"
            )));
        }
        Ok(record::left_in(&self.out).exists())
    }

    /// Ends the side as Ctrl-C does, or at once.
    fn end(mut self, signal: Signal) -> Result<EndedSide, Failure> {
        self.signal(signal);
        let begun = MonotonicClock.now();
        let code = loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                break status.code();
            }
            if MonotonicClock.now() - begun > PATIENCE {
                let side = self.side.name();
                return Err(Failure::Refused(format!(
                    "the {side} did not end by {signal}"
                )));
            }
            sleep_for(POLL);
        };
        let out = std::mem::take(&mut self.out);
        let side = self.side;
        Ok(EndedSide { side, out, code })
    }
}

/// Waits until a condition holds; false if the trial is stopped before.
fn wait(
    stop: &AtomicBool,
    limit: Span,
    mut holds: impl FnMut(Time) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let begun = MonotonicClock.now();
    while !stop.load(Ordering::Relaxed) {
        let now = MonotonicClock.now();
        if holds(now)? {
            return Ok(true);
        }
        if now - begun > limit {
            return Err(Failure::Refused(format!(
                "no session within {} s",
                limit.s()
            )));
        }
        sleep_for(POLL);
    }
    Ok(false)
}

/// Runs the sides of a row, and returns what they left, in the order of their end; none if the trial was stopped.
///
/// # Errors
/// [`Failure::Refused`] if a side cannot start, ends before its fault, or does not end.
pub(super) fn run(
    config: &Config,
    fault: ProcessFault,
    out: &Path,
    stop: &AtomicBool,
) -> Result<Option<Vec<EndedSide>>, Failure> {
    std::fs::create_dir_all(out).map_err(|error| output::refused(out, &error))?;
    let file = out.join("config.toml");
    output::write(&file, config.to_toml())?;
    let is_full = |side| fault.kind == ProcessFaultKind::DiskFull && fault.side == side;
    let start = |side: Side| FaultedSide::start(side, out.join(side.name()), &file, is_full(side));
    let (mut slave, mut master) = (start(Side::Slave)?, start(Side::Master)?);
    if !wait(stop, PATIENCE, |_| {
        Ok(slave.has_begun()? && master.has_begun()?)
    })? {
        return Ok(None);
    }
    let begun = MonotonicClock.now();
    let until = |at: Span| wait(stop, PATIENCE.max(at), |now| Ok(now - begun >= at));
    let (mut faulted, other) = match fault.side {
        Side::Master => (Some(master), slave),
        Side::Slave => (Some(slave), master),
    };
    let mut ended = Vec::new();
    if !until(AT)? {
        return Ok(None);
    }
    match fault.kind {
        ProcessFaultKind::Stop => {
            faulted.iter().for_each(|one| one.signal(Signal::SIGSTOP));
            until(AT + PAUSE)?;
            faulted.iter().for_each(|one| one.signal(Signal::SIGCONT));
        }
        ProcessFaultKind::Kill | ProcessFaultKind::Restart => {
            let killed = faulted.take().map(|one| one.end(Signal::SIGKILL));
            ended.extend(killed.transpose()?);
            until(AT + PAUSE)?;
        }
        ProcessFaultKind::None | ProcessFaultKind::DiskFull => {}
    }
    let mut last = Span::from_s(config.duration_s);
    if fault.kind == ProcessFaultKind::Restart {
        let again = out.join(format!("{}-again", fault.side.name()));
        let mut one = FaultedSide::start(fault.side, again, &file, false)?;
        if !wait(stop, PATIENCE, |_| one.has_begun())? {
            return Ok(None);
        }
        last = last.max(MonotonicClock.now() - begun + AT);
        faulted = Some(one);
    }
    if !until(last)? {
        return Ok(None);
    }
    // the master first: the slave then stands still
    let mut rest: Vec<FaultedSide> = faulted.into_iter().chain([other]).collect();
    rest.sort_by_key(|one| one.side == Side::Slave);
    for one in rest {
        ended.push(one.end(Signal::SIGINT)?);
    }
    Ok(Some(ended))
}
