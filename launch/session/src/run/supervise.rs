//! Supervisor of a lab on one machine: builds the network, runs two sides in it as processes, and merges their
//! recordings.
//!
//! The sides are the same binary, started inside the lab's network. They die with the supervisor.
//! The supervisor stops them by SIGTERM, which they handle like Ctrl-C: robot at rest, files
//! closed.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};
use palpate_transport::link::LinkParams;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{Span, Time};
use palpate_twin::edits::LinkCounts;

use super::connect::PEER_WAIT;
use super::side::{SIDE_REPORT, SideReport, StatusLine, console_error};
use super::{RunError, file_error};
use crate::config::Config;
use crate::monitor::controller::{LinkOrder, SessionController};
use crate::netlab::{LinkDirection, NetLab};
use crate::record::{self, RECORDING, RecordError, Recording};
use crate::run::bare_timer::BareTimer;
use crate::{files, keys};

/// Options of a supervisor besides the configuration.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Folder of the session.
    pub out: PathBuf,
    /// Controller of its console, if any.
    pub controller: Option<Arc<SessionController>>,
    /// True to run without keys: the bus is readable and open.
    pub insecure: bool,
    /// Set when the session must end before its time.
    pub stop: Arc<AtomicBool>,
}

/// Outcome of a live session.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// Records of the operator's side, in order.
    pub master: Vec<TickRecord>,
    /// Records of the remote side, in order.
    pub slave: Vec<TickRecord>,
    /// Links that instruments have cut, and joined.
    pub links: LinkCounts,
    /// Number of edit batches in the recording.
    pub edit_batches_recorded: u64,
    /// Report of the operator's side; none if it died before.
    pub master_report: Option<SideReport>,
    /// Report of the remote side; none if it died before.
    pub slave_report: Option<SideReport>,
    /// Sides that ended before they were stopped, with a description of their end.
    pub lost_sides: Vec<(Side, String)>,
    /// Damage of the recordings, in words.
    pub damage: Vec<String>,
    /// Reason why the recording of both sides is not whole, such as a full disk.
    pub recording_failure: Option<String>,
    /// Lateness of a bare timer in the same time, 99th percentile \[us\]; `None` if too short.
    pub bare_timer_us_p99: Option<f64>,
    /// Network that the lab built, with the reason, in words.
    pub network: String,
    /// True if the network emulator ran until its end; none if the kernel emulates.
    pub emulator_ran: Option<bool>,
    /// True if the session was stopped before its end.
    pub interrupted: bool,
    /// True if the sides ran without keys.
    pub insecure: bool,
}

/// Status of both sides, for a status line.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionStatus {
    /// Time since the start \[s\].
    pub elapsed_s: f64,
    /// The operator's side.
    pub master: Option<SideStatus>,
    /// The remote side.
    pub slave: Option<SideStatus>,
    /// True if the side that reported last finds the other missing on the bus.
    pub peer_missing: bool,
}

/// Status of one side.
#[derive(Debug, Clone, Copy)]
pub struct SideStatus {
    /// Newest record and late ticks.
    pub newest: StatusLine,
    /// Ticks per second of its own clock, over the last half second; none before the second report.
    pub rate_hz: Option<f64>,
    /// Tick and time from which the rate is measured.
    since: (u64, i64),
}

/// Least time over which a rate is measured \[ns\].
const RATE_OVER: Span = Span(500_000_000);

impl SessionStatus {
    /// Takes a status line of a side.
    pub fn update(&mut self, newest: StatusLine) {
        self.peer_missing = !newest.peer_present;
        let side = match newest.record.side {
            Side::Master => &mut self.master,
            Side::Slave => &mut self.slave,
        };
        let (tick, now_ns) = (newest.record.tick, newest.record.now_ns);
        let side_status = side.get_or_insert(SideStatus {
            newest,
            rate_hz: None,
            since: (tick, now_ns),
        });
        side_status.newest = newest;
        let passed = Span(now_ns.saturating_sub(side_status.since.1));
        if passed >= RATE_OVER {
            side_status.rate_hz =
                Some(tick.saturating_sub(side_status.since.0) as f64 / passed.s());
            side_status.since = (tick, now_ns);
        }
    }
}

/// Time between two polls of the supervisor \[ns\].
const POLL_PERIOD: Span = Span(50_000_000);

/// Longest time for the end of a side after its stop \[ns\]. A side that connects checks for a stop only when an attempt
/// ends, which takes at most this time.
const ENDING: Span = PEER_WAIT;

/// Longest time before the session starts \[ns\]: each side loads its tissue, waits this long for the other,
/// connects and agrees. A side that gives up earlier is detected at once, with its reason.
const FINDING: Span = Span(3 * PEER_WAIT.0);

/// Runs a whole session; `show` is called about 20 times a second with the newest status.
///
/// # Errors
/// [`RunError`] if the network cannot be built, no side recorded anything, or a file cannot be used.
/// A side that dies in the session ends it; the outcome holds what was recorded.
pub fn supervise(
    config: &Config,
    options: &RunOptions,
    mut show: impl FnMut(&SessionStatus),
) -> Result<RunOutcome, RunError> {
    config.validate()?;
    let folder = create_parts(options)?;
    let lab = NetLab::build(config)?;
    let network = lab.explanation.clone();
    let file = options.out.join("config.toml");
    files::write(&file, config.to_toml()).map_err(file_error(&file))?;
    let bare_timer = BareTimer::start(config.realtime.servo_priority, MonotonicClock.now());
    let (status_sender, status_lines) = channel();
    let mut sides = SideProcesses {
        slave: start(&lab, options, Side::Slave, &status_sender)?,
        master: start(&lab, options, Side::Master, &status_sender)?,
        status_lines,
    };
    let watched = watch(config, options, &lab, &mut sides, &mut show);
    if let Some(controller) = &options.controller {
        controller.latest_state().announce_end(&options.out);
    }
    let lost = sides.end(!matches!(watched, Ok(false)));
    if let Some(controller) = &options.controller {
        controller.detach();
    }
    let bare_timer_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    let emulator_ran = lab.is_running();
    drop(lab);
    let collected = [Side::Master, Side::Slave].map(|side| part(&options.out, side));
    let interrupted = watched?;
    let [operator, remote] = collected;
    let ((operator, master_report), (remote, slave_report)) = (operator?, remote?);
    let nothing = operator.master.is_empty() && remote.slave.is_empty();
    // a session that never began has only the reason to report
    if nothing {
        fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
    }
    if let Some((side, ending)) = lost.first().filter(|_| nothing && !interrupted) {
        return Err(RunError::Side {
            side: side.name(),
            ending: ending.clone(),
        });
    }
    let written = join(options, &operator, &remote);
    let damage = [
        damage(Side::Master, &operator),
        damage(Side::Slave, &remote),
    ];
    Ok(RunOutcome {
        links: operator.links(),
        edit_batches_recorded: operator.edit_batches.len() as u64,
        master: operator.master,
        slave: remote.slave,
        master_report,
        slave_report,
        lost_sides: lost,
        damage: damage.into_iter().flatten().collect(),
        recording_failure: written.err().map(|error| error.to_string()),
        bare_timer_us_p99,
        network,
        emulator_ran,
        interrupted,
        insecure: options.insecure,
    })
}

/// Joins the recordings of both sides; if that fails, as on a full disk, they stay.
fn join(options: &RunOptions, operator: &Recording, remote: &Recording) -> Result<(), RecordError> {
    record::write_merged(&options.out.join(RECORDING), operator, remote)?;
    let folder = parts(&options.out);
    match fs::remove_dir_all(&folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(RecordError::File {
            path: folder,
            source,
        }),
        _ => Ok(()),
    }
}

/// Process of a side.
struct SideProcess {
    side: Side,
    child: Child,
    stderr: Option<JoinHandle<String>>,
    /// Description of its end, if it ended before it was stopped.
    failure: Option<String>,
}

struct SideProcesses {
    master: SideProcess,
    slave: SideProcess,
    /// Status lines of the running sides.
    status_lines: Receiver<StatusLine>,
}

/// Shows the status and changes the link on time until a side has ended or Ctrl-C; returns true if interrupted.
fn watch(
    config: &Config,
    options: &RunOptions,
    lab: &NetLab,
    sides: &mut SideProcesses,
    show: &mut impl FnMut(&SessionStatus),
) -> Result<bool, RunError> {
    let clock = MonotonicClock;
    let mut started: Option<Time> = None;
    let launched = clock.now();
    let (mut status, mut keys_removed) = (SessionStatus::default(), options.insecure);
    let mut changes = config.link.change.iter().peekable();
    let orders = options
        .controller
        .as_ref()
        .map(|controller| controller.link_orders());
    let mut links = [config.link.forward, config.link.back];
    loop {
        for order in orders.iter().flat_map(Receiver::try_iter) {
            apply_link_request(lab, &mut links, order);
        }
        while let Ok(newest) = sides.status_lines.try_recv() {
            started.get_or_insert(clock.now());
            status.update(newest);
        }
        if !(keys_removed || status.master.is_none() || status.slave.is_none()) {
            keys::remove_private(&parts(&options.out).join(KEYS), SIDE_NAMES)?;
            keys_removed = true;
        }
        status.elapsed_s = started.map_or(0.0, |start| (clock.now() - start).s());
        while let Some(change) = changes.next_if(|change| change.at_s <= status.elapsed_s) {
            for (direction, link) in [
                (LinkDirection::Forward, change.forward),
                (LinkDirection::Back, change.back),
            ] {
                let Some(params) = link else { continue };
                lab.set_link(direction, params)?;
                links[direction as usize] = params;
            }
        }
        show(&status);
        if options.stop.load(Ordering::Relaxed) {
            return Ok(true);
        }
        // the slave runs until it is stopped; the master ends by itself
        if sides.slave.ending().is_some() || sides.master.ending().is_some() {
            return Ok(false);
        }
        if started.is_none() && clock.now() - launched > FINDING {
            return Err(RunError::Thread {
                name: "supervisor",
                detail: "no side reported in time; is the port free?".into(),
            });
        }
        sleep_for(POLL_PERIOD);
    }
}

/// Changes the network by an operator's order, and replies.
fn apply_link_request(lab: &NetLab, links: &mut [LinkParams; 2], order: LinkOrder) {
    let (update, answer) = order;
    let mut reply = Ok("the network is changed".to_owned());
    for direction in update.directions() {
        let link = &mut links[direction as usize];
        let params = update.apply(*link);
        match lab.set_link(direction, params) {
            Ok(()) => *link = params,
            Err(error) => reply = Err(error.to_string()),
        }
    }
    // the sender may have gone
    let _ = answer.send(reply);
}

/// Starts one side inside the lab's network.
fn start(
    lab: &NetLab,
    options: &RunOptions,
    side: Side,
    status_sender: &Sender<StatusLine>,
) -> Result<SideProcess, RunError> {
    let program = std::env::current_exe().map_err(file_error(Path::new("palpate")))?;
    let folder = parts(&options.out).join(side.name());
    let mut command = Command::new(program);
    command
        .arg(side.name())
        .arg("--config")
        .arg(options.out.join("config.toml"));
    command.arg("--out").arg(&folder).arg("--status-lines");
    let reach = match side {
        Side::Master => "--connect",
        Side::Slave => "--listen",
    };
    for endpoint in lab.endpoints(side) {
        command.arg(reach).arg(endpoint);
    }
    match options.insecure {
        true => command.arg("--insecure"),
        false => command
            .arg("--secure")
            .arg(parts(&options.out).join(KEYS).join(side.name())),
    };
    if side == Side::Slave {
        command.arg("--until-stopped");
    }
    let mut stdin = Stdio::null();
    if let Some(controller) = &options.controller {
        let (near, far) = UnixStream::pair().map_err(console_error)?;
        controller.attach(side, near).map_err(console_error)?;
        command.arg("--console-on-stdin");
        stdin = std::os::fd::OwnedFd::from(far).into();
    }
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    lab.command_in(side, &mut command)?;
    let mut child = command.spawn().map_err(file_error(Path::new("palpate")))?;
    if let Some(stdout) = child.stdout.take() {
        forward_status(stdout, status_sender.clone());
    }
    let stderr = child.stderr.take().map(drain);
    Ok(SideProcess {
        side,
        child,
        stderr,
        failure: None,
    })
}

/// Bytes kept of the end of a side's stderr.
const STDERR_TAIL_BYTES: usize = 4096;

/// Reads a side's stderr until it ends, so that a full pipe never blocks the side; returns its tail.
fn drain(mut stderr: ChildStderr) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut kept, mut block) = (Vec::new(), [0; STDERR_TAIL_BYTES]);
        while let Ok(read) = stderr.read(&mut block) {
            if read == 0 {
                break;
            }
            kept.extend_from_slice(&block[..read]);
            let surplus = kept.len().saturating_sub(STDERR_TAIL_BYTES);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).trim().to_owned()
    })
}

/// Reads a side's status lines until it ends.
fn forward_status(stdout: ChildStdout, status_sender: Sender<StatusLine>) {
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for newest in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            if status_sender.send(newest).is_err() {
                return;
            }
        }
    });
}

impl SideProcess {
    /// Exit status of the side, once it has ended.
    fn ending(&mut self) -> Option<io::Result<ExitStatus>> {
        self.child.try_wait().transpose()
    }

    /// Notes the end of the side if it is neither a permitted exit with status 0 nor, if permitted, by a signal that
    /// requests the end of a process. Returns true if the side has ended.
    fn note_end(&mut self, may_exit: bool, may_be_signalled: bool) -> bool {
        let Some(status) = self.ending() else {
            return false;
        };
        let stop_signals = [Signal::SIGINT, Signal::SIGTERM].map(|signal| Some(signal as i32));
        let is_expected = |status: &ExitStatus| {
            (may_exit && status.success())
                || (may_be_signalled && stop_signals.contains(&status.signal()))
        };
        if !status.as_ref().is_ok_and(is_expected) {
            self.note(status.map_or_else(|error| error.to_string(), |status| status.to_string()));
        }
        true
    }

    /// Stores a description of an unexpected end of the side.
    fn note(&mut self, ending: String) {
        let words = self.stderr.take().and_then(stderr_tail);
        self.failure = Some(words.map_or(ending.clone(), |words| format!("{ending}: {words}")));
    }

    /// Stops the side, waits, and kills it if it does not end. The master may have ended by itself;
    /// at Ctrl-C a terminal signals both sides too, perhaps before they handle it.
    fn end(&mut self, interrupted: bool) {
        let may_exit = self.side == Side::Master || interrupted;
        if self.note_end(may_exit, interrupted) {
            return;
        }
        // a child that is just ending cannot be signalled; the wait below detects its end
        let _ = kill(
            Pid::from_raw(self.child.id().cast_signed()),
            Signal::SIGTERM,
        );
        let clock = MonotonicClock;
        let stopped_at = clock.now();
        while clock.now() - stopped_at < ENDING {
            let (may_exit, may_be_signalled) = (true, true);
            if self.note_end(may_exit, may_be_signalled) {
                return;
            }
            sleep_for(POLL_PERIOD);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.note(format!("no end within {} s of its stop", ENDING.s()));
    }
}

/// Tail of the stderr of a side that has ended; none if a grandchild still holds the pipe.
fn stderr_tail(reader: JoinHandle<String>) -> Option<String> {
    for _ in 0..10 {
        if reader.is_finished() {
            break;
        }
        sleep_for(POLL_PERIOD);
    }
    let words = reader.is_finished().then(|| reader.join().ok());
    words.flatten().filter(|words| !words.is_empty())
}

impl SideProcesses {
    /// Ends both sides, the master first: the slave then detects the end of the stream and stands still.
    /// Returns those that ended before they were stopped, or badly.
    fn end(&mut self, interrupted: bool) -> Vec<(Side, String)> {
        let mut lost = Vec::new();
        // checked before anything is ended, so that the side lost first is listed first
        let slave_lost = self.slave.ending();
        self.master.end(interrupted);
        self.slave.end(interrupted);
        for side in [&self.slave, &self.master] {
            lost.extend(side.failure.clone().map(|ending| (side.side, ending)));
        }
        if slave_lost.is_none() {
            lost.reverse();
        }
        lost
    }
}

/// Folder of the keys of both sides, in that of the session.
const KEYS: &str = "keys";

/// Names of the hosts of both sides.
const SIDE_NAMES: [&str; 2] = ["master", "slave"];

/// Folder of the recordings of both sides in that of their session, until they are merged; of a session that was
/// killed it stays.
pub const SIDES: &str = "sides";

fn parts(out: &Path) -> PathBuf {
    out.join(SIDES)
}

/// Makes the folder of the sides' recordings, with keys for this session alone.
fn create_parts(options: &RunOptions) -> Result<PathBuf, RunError> {
    fs::create_dir_all(&options.out).map_err(file_error(&options.out))?;
    // creation fails if it exists, so that only own files are removed later
    let folder = parts(&options.out);
    fs::create_dir(&folder).map_err(file_error(&folder))?;
    if !options.insecure {
        keys::make_pair(&folder.join(KEYS), SIDE_NAMES)?;
    }
    Ok(folder)
}

/// Removes the keys of a session, from the folder that it left.
///
/// # Errors
/// [`RunError::File`] if the system refuses.
pub fn remove_keys(out: &Path) -> Result<(), RunError> {
    let folder = parts(out).join(KEYS);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error(&folder)(error)),
        _ => Ok(()),
    }
}

/// Recording and report of one side; a side that died may have left less, or nothing.
fn part(out: &Path, side: Side) -> Result<(Recording, Option<SideReport>), RunError> {
    let folder = parts(out).join(side.name());
    let recording = match record::read(&record::left_in(&folder)) {
        Ok(recording) => recording,
        Err(RecordError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Recording::default()
        }
        Err(RecordError::NoTicks { .. } | RecordError::NotMcap { .. }) => Recording::default(),
        Err(error) => return Err(error.into()),
    };
    let path = folder.join(SIDE_REPORT);
    let report = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(io::Error::other),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    Ok((recording, report.map_err(file_error(&path))?))
}

/// Damage of the recording of a side, in words.
fn damage(side: Side, recording: &Recording) -> Option<String> {
    let damage = recording.damage.as_ref()?;
    let (side, kept, what) = (side.name(), damage.kept, &damage.what);
    Some(format!(
        "The recording of the {side} broke off after {kept} ticks: {what}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tick_rate_uses_the_side_clock() {
        let mut status = SessionStatus::default();
        let newest = |tick: u64, now_ms: i64| StatusLine {
            record: TickRecord {
                tick,
                now_ns: now_ms * 1_000_000,
                ..TickRecord::default()
            },
            late_ticks: 3,
            peer_present: true,
        };
        status.update(newest(7, 100));
        assert_eq!(status.master.expect("known").rate_hz, None);
        status.update(newest(207, 300));
        status.update(newest(992, 1100));
        let side = status.master.expect("known");
        assert_eq!(side.rate_hz, Some(985.0));
        assert_eq!((side.newest.late_ticks, status.slave.is_none()), (3, true));
    }

    #[test]
    fn full_stderr_pipe_does_not_block_a_side() {
        let mut child = Command::new("sh")
            .args(["-c", "head -c 1000000 /dev/zero >&2; echo last words >&2"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let reader = drain(child.stderr.take().expect("piped"));
        assert!(child.wait().expect("it ends").success());
        let words = reader.join().expect("it ends");
        assert!(words.ends_with("last words") && words.len() <= STDERR_TAIL_BYTES);
    }
}
