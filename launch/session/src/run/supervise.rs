//! The whole lab on one machine: a network, two sides in it as processes, and their recordings.
//!
//! The sides are the same binary, started inside the lab's network. They die with the supervisor;
//! the supervisor stops them by SIGTERM, and they end as they do by Ctrl-C: robot at rest, files
//! closed.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::link::LinkParams;
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{Span, Time};

use super::side::{CONSOLE, RECORDING, SIDE_REPORT, SideReport, StatusLine};
use super::{RunError, file_error};
use crate::config::Config;
use crate::monitor::desk::{LinkOrder, SessionDesk};
use crate::monitor::line;
use crate::monitor::order::Way;
use crate::netlab::{self, Direction, NetLab, NetLabOptions};
use crate::record::{self, RecordError, Recording};
use crate::run::bare_timer::BareTimer;

/// What a supervisor is told besides the configuration.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Folder of the session.
    pub out: PathBuf,
    /// The desk of its console, if it has one.
    pub desk: Option<Arc<SessionDesk>>,
    /// Set when the session must end before its time.
    pub stop: Arc<AtomicBool>,
}

/// What a live session left.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// Records of the operator's side, in order.
    pub master: Vec<TickRecord>,
    /// Records of the remote side, in order.
    pub slave: Vec<TickRecord>,
    /// Links that instruments have cut, less those made.
    pub links_cut: i64,
    /// Strokes that are in the recording.
    pub strokes_recorded: u64,
    /// What the operator's side says of itself; nothing if it died before.
    pub master_report: Option<SideReport>,
    /// What the remote side says of itself; nothing if it died before.
    pub slave_report: Option<SideReport>,
    /// Sides that ended before they were told to, and how, in words.
    pub lost: Vec<(Side, String)>,
    /// What could not be read of the recordings, in words.
    pub damage: Vec<String>,
    /// Lateness of a bare timer in the same minutes, 99th percentile \[us\]; `None` if too short.
    pub bare_timer_us_p99: Option<f64>,
    /// Which network the lab built, and why, in words.
    pub network: String,
    /// Whether the network emulator worked until it was told to end; nothing if the kernel emulates.
    pub emulator_ran: Option<bool>,
    /// Whether the session was ended before its time.
    pub interrupted: bool,
}

/// The state of both sides, for a status line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Status {
    /// Time since the start \[s\].
    pub elapsed_s: f64,
    /// The operator's side.
    pub master: Option<SideStatus>,
    /// The remote side.
    pub slave: Option<SideStatus>,
    /// Whether the side that spoke last misses the other on the bus.
    pub apart: bool,
}

/// The newest of one side.
#[derive(Debug, Clone, Copy)]
pub struct SideStatus {
    /// Its newest record and its late ticks.
    pub newest: StatusLine,
    /// Ticks a second of its own clock, over the last half second; nothing before the second word.
    pub rate_hz: Option<f64>,
    /// Tick and time since which the rate is counted.
    since: (u64, i64),
}

/// Time over which a rate is counted at least \[ns\].
const RATE_OVER: Span = Span(500_000_000);

impl Status {
    /// Take what a side says.
    pub fn take(&mut self, newest: StatusLine) {
        self.apart = !newest.peer_present;
        let side = match newest.record.side {
            Side::Master => &mut self.master,
            Side::Slave => &mut self.slave,
        };
        let (tick, now_ns) = (newest.record.tick, newest.record.now_ns);
        let known = side.get_or_insert(SideStatus {
            newest,
            rate_hz: None,
            since: (tick, now_ns),
        });
        known.newest = newest;
        let passed = Span(now_ns.saturating_sub(known.since.1));
        if passed >= RATE_OVER {
            known.rate_hz = Some(tick.saturating_sub(known.since.0) as f64 / passed.s());
            known.since = (tick, now_ns);
        }
    }
}

/// Time between two looks of the supervisor \[ns\].
const LOOK: Span = Span(50_000_000);

/// How long a side may take to end after it was told to: on a busy machine some ten times what an idle one takes.
const ENDING: Span = Span(20_000_000_000);

/// How long the sides may take to read their tissues and to find each other before the session starts: on a busy
/// machine some ten times what an idle one takes. A side that fails is noticed at once.
const FINDING: Span = Span(60_000_000_000);

/// Run a whole session; `show` is called about 20 times a second with the newest status.
///
/// # Errors
/// [`RunError`] if the network cannot be built, no side recorded anything, or a file cannot be used.
/// A side that dies in the session ends it, and what was recorded is the outcome.
pub fn supervise(
    config: &Config,
    options: &RunOptions,
    mut show: impl FnMut(&Status),
) -> Result<RunOutcome, RunError> {
    config.validate()?;
    fs::create_dir_all(&options.out).map_err(file_error(&options.out))?;
    // a folder of this process alone, which fails if it exists: what is removed later was made here
    let folder = parts(&options.out);
    fs::create_dir(&folder).map_err(file_error(&folder))?;
    let mut lab = NetLab::build(&NetLabOptions {
        forward: config.link.forward,
        back: config.link.back,
        seed: config.seed,
        backend: config.network.backend,
        udp_port: config.network.port,
        tcp_port: config.network.port + 1,
        ..NetLabOptions::default()
    })?;
    let network = lab.explanation().to_owned();
    write_config(config, &options.out)?;
    let bare_timer = BareTimer::start(config.realtime.servo_priority);
    let (news, inbox) = channel();
    let mut sides = Sides {
        slave: start(&lab, options, Side::Slave, &news)?,
        master: start(&lab, options, Side::Master, &news)?,
    };
    let watched = watch(config, options, &mut lab, &mut sides, &inbox, &mut show);
    let desks = options.desk.iter();
    desks.for_each(|desk| desk.board().ends(&options.out));
    let lost = sides.end(!matches!(watched, Ok(false)));
    options.desk.iter().for_each(|desk| desk.detach());
    let bare_timer_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    let emulator_ran = lab.stats().map(|stats| stats.running);
    drop(lab);
    let collected = collect(&options.out);
    fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
    let interrupted = watched?;
    let [master, slave] = collected?;
    let nothing = master.recording.master.is_empty() && slave.recording.slave.is_empty();
    match lost.first() {
        // a session that never began has nothing to report but why
        Some((side, ending)) if nothing && !interrupted => {
            return Err(RunError::Side {
                side: side.name(),
                ending: ending.clone(),
            });
        }
        _ => {}
    }
    let merged = options.out.join(RECORDING);
    let file = File::create(&merged).map_err(file_error(&merged))?;
    // both sides of this lab read the same clock of the same kernel
    let (operator, remote) = (&master.recording, &slave.recording);
    record::merge(operator, remote, Span(0), BufWriter::new(file))?;
    Ok(RunOutcome {
        links_cut: operator.links_cut(),
        strokes_recorded: operator.strokes.len() as u64,
        master: master.recording.master,
        slave: slave.recording.slave,
        master_report: master.report,
        slave_report: slave.report,
        lost,
        damage: Vec::from_iter([master.damage, slave.damage].into_iter().flatten()),
        bare_timer_us_p99,
        network,
        emulator_ran,
        interrupted,
    })
}

/// What runs, beside its results.
fn write_config(config: &Config, out: &Path) -> Result<(), RunError> {
    let file = out.join("config.toml");
    fs::write(&file, config.to_toml()).map_err(file_error(&file))
}

/// A side as a process.
struct Running {
    side: Side,
    child: Child,
    stderr: Option<JoinHandle<String>>,
    /// How it ended, if it did so before it was told to.
    lost: Option<String>,
}

struct Sides {
    master: Running,
    slave: Running,
}

/// Show, change the link on time, and wait until a side has ended or Ctrl-C; whether interrupted.
fn watch(
    config: &Config,
    options: &RunOptions,
    lab: &mut NetLab,
    sides: &mut Sides,
    inbox: &Receiver<StatusLine>,
    show: &mut impl FnMut(&Status),
) -> Result<bool, RunError> {
    let clock = MonotonicClock;
    let mut started: Option<Time> = None;
    let launched = clock.now();
    let mut status = Status::default();
    let mut changes = config.link.change.iter().peekable();
    let orders = options.desk.as_ref().map(|desk| desk.link_orders());
    let mut links = [config.link.forward, config.link.back];
    loop {
        for order in orders.iter().flat_map(Receiver::try_iter) {
            obey(lab, &mut links, &order);
        }
        while let Ok(newest) = inbox.try_recv() {
            started.get_or_insert(clock.now());
            status.take(newest);
        }
        status.elapsed_s = started.map_or(0.0, |start| (clock.now() - start).s());
        while let Some(change) = changes.next_if(|change| change.at_s <= status.elapsed_s) {
            for (direction, link) in [
                (Direction::Forward, change.forward),
                (Direction::Back, change.back),
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
        // the slave runs until it is told to end; the master ends by itself, and well
        if sides.slave.ending().is_some() || sides.master.ending().is_some() {
            return Ok(false);
        }
        if started.is_none() && clock.now() - launched > FINDING {
            return Err(RunError::Thread {
                name: "supervisor",
                detail: "no side reported in time; is the port free?".into(),
            });
        }
        pause(LOOK);
    }
}

/// Change the network as an operator asks, and answer.
fn obey(lab: &NetLab, links: &mut [LinkParams; 2], order: &LinkOrder) {
    let wanted = |direction| match order.way {
        None => true,
        Some(Way::Forward) => direction == Direction::Forward,
        Some(Way::Back) => direction == Direction::Back,
    };
    let mut said = Ok("the network is changed".to_owned());
    for direction in Direction::BOTH.into_iter().filter(|it| wanted(*it)) {
        let link = &mut links[direction as usize];
        let params = order.apply(*link);
        match lab.set_link(direction, params) {
            Ok(()) => *link = params,
            Err(error) => said = Err(error.to_string()),
        }
    }
    // whoever asked may have gone
    let _ = order.answer.send(said);
}

/// Start one side inside the lab's network.
fn start(
    lab: &NetLab,
    options: &RunOptions,
    side: Side,
    news: &Sender<StatusLine>,
) -> Result<Running, RunError> {
    let program = std::env::current_exe().map_err(file_error(Path::new("palpate")))?;
    let folder = parts(&options.out).join(side.name());
    let mut command = Command::new(program);
    command
        .arg(side.name())
        .arg("--config")
        .arg(options.out.join("config.toml"));
    command.arg("--out").arg(&folder).arg("--status-lines");
    let (reach, endpoints, place) = match side {
        Side::Master => (
            "--connect",
            lab.master_endpoint("tcp"),
            netlab::Side::Master,
        ),
        Side::Slave => ("--listen", lab.slave_endpoint("tcp"), netlab::Side::Slave),
    };
    for endpoint in endpoints {
        command.arg(reach).arg(endpoint);
    }
    if side == Side::Slave {
        command.arg("--until-stopped");
    }
    let mut stdin = Stdio::null();
    if let Some(desk) = &options.desk {
        let (near, far) = line::pair().map_err(file_error(Path::new(CONSOLE)))?;
        desk.attach(side, near)
            .map_err(file_error(Path::new(CONSOLE)))?;
        command.arg("--console-on-stdin");
        stdin = std::os::fd::OwnedFd::from(far).into();
    }
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    lab.command_in(place, &mut command)?;
    let mut child = command.spawn().map_err(file_error(Path::new("palpate")))?;
    if let Some(stdout) = child.stdout.take() {
        forward_status(stdout, news.clone());
    }
    let stderr = child.stderr.take().map(drain);
    Ok(Running {
        side,
        child,
        stderr,
        lost: None,
    })
}

/// Bytes of a side's stderr that are kept: its last words.
const LAST_WORDS: usize = 4096;

/// Read a side's stderr until it ends, so that a full pipe never blocks it; gives its last words.
fn drain(mut stderr: ChildStderr) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut kept, mut block) = (Vec::new(), [0; LAST_WORDS]);
        while let Ok(read) = stderr.read(&mut block) {
            if read == 0 {
                break;
            }
            kept.extend_from_slice(&block[..read]);
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).trim().to_owned()
    })
}

/// Read a side's status lines until it ends.
fn forward_status(stdout: ChildStdout, news: Sender<StatusLine>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Ok(newest) = serde_json::from_str::<StatusLine>(&line) else {
                continue;
            };
            if news.send(newest).is_err() {
                return;
            }
        }
    });
}

/// How a process ended.
struct Ending {
    /// Its exit status.
    words: String,
    /// Whether with status 0.
    well: bool,
    /// Whether by a signal that asks a process to end.
    by_request: bool,
}

impl Running {
    /// How the side ended, once it has.
    fn ending(&mut self) -> Option<Ending> {
        let (words, status) = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => (status.to_string(), Some(status)),
            Err(error) => (error.to_string(), None),
        };
        let asked = [Signal::SIGINT, Signal::SIGTERM].map(|signal| Some(signal as i32));
        Some(Ending {
            words,
            well: status.is_some_and(|status| status.success()),
            by_request: status.is_some_and(|status| asked.contains(&status.signal())),
        })
    }

    /// Keep in words that the side ended as it should not have.
    fn note(&mut self, ending: String) {
        let words = self.stderr.take().and_then(last_words);
        self.lost = Some(words.map_or(ending.clone(), |words| format!("{ending}: {words}")));
    }

    /// Tell the side to end, wait, and kill it if it does not. The master may have ended by itself;
    /// at Ctrl-C a terminal tells both sides too, perhaps before they could listen.
    fn end(&mut self, interrupted: bool) {
        let alone = self.side == Side::Master || interrupted;
        match self.ending() {
            Some(ending) if ending.well && alone => return,
            Some(ending) if ending.by_request && interrupted => return,
            Some(ending) => return self.note(ending.words),
            None => {}
        }
        // a child that is just ending cannot be signalled; the wait below sees it
        let _ = kill(
            Pid::from_raw(self.child.id().cast_signed()),
            Signal::SIGTERM,
        );
        let clock = MonotonicClock;
        let told = clock.now();
        while clock.now() - told < ENDING {
            match self.ending() {
                Some(ending) if ending.well || ending.by_request => return,
                Some(ending) => return self.note(ending.words),
                None => pause(LOOK),
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.note(format!("no end within {} s of being told", ENDING.s()));
    }
}

/// What a side that has ended wrote last; nothing if a grandchild still holds the pipe.
fn last_words(reader: JoinHandle<String>) -> Option<String> {
    let mut looks = 0;
    while !reader.is_finished() && looks < 10 {
        pause(LOOK);
        looks += 1;
    }
    if !reader.is_finished() {
        return None;
    }
    reader.join().ok().filter(|words| !words.is_empty())
}

impl Sides {
    /// End both sides, the master first: the slave then sees the stream stop and stands still.
    /// Gives those that ended before they were told to, or badly.
    fn end(&mut self, interrupted: bool) -> Vec<(Side, String)> {
        let mut lost = Vec::new();
        // asked before anything is ended: the side that was lost first is named first
        let slave_lost = self.slave.ending();
        self.master.end(interrupted);
        self.slave.end(interrupted);
        for side in [&self.slave, &self.master] {
            lost.extend(side.lost.clone().map(|ending| (side.side, ending)));
        }
        if slave_lost.is_none() {
            lost.reverse();
        }
        lost
    }
}

/// Where the sides of this supervisor record, until both parts are merged.
fn parts(out: &Path) -> PathBuf {
    out.join(format!(".sides-{}", std::process::id()))
}

/// What one side left.
struct Part {
    recording: Recording,
    report: Option<SideReport>,
    damage: Option<String>,
}

/// What both sides left, master first. A side that died may have left less, or nothing.
fn collect(out: &Path) -> Result<[Part; 2], RunError> {
    Ok([part(out, Side::Master)?, part(out, Side::Slave)?])
}

fn part(out: &Path, side: Side) -> Result<Part, RunError> {
    let folder = parts(out).join(side.name());
    let recording = match record::read(&folder.join(RECORDING)) {
        Ok(recording) => recording,
        Err(RecordError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Recording::default()
        }
        Err(RecordError::NoTicks { .. } | RecordError::NotMcap { .. }) => Recording::default(),
        Err(error) => return Err(error.into()),
    };
    let damage = recording.damage.as_ref().map(|damage| {
        let (side, kept, what) = (side.name(), damage.kept, &damage.what);
        format!("The recording of the {side} broke off after {kept} ticks: {what}.")
    });
    let path = folder.join(SIDE_REPORT);
    let report = match fs::read_to_string(&path) {
        Ok(text) => Some(
            serde_json::from_str(&text)
                .map_err(|error| file_error(&path)(std::io::Error::other(error)))?,
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(file_error(&path)(error)),
    };
    Ok(Part {
        recording,
        report,
        damage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_ticks_by_the_side_s_own_clock() {
        let mut status = Status::default();
        let newest = |tick: u64, now_ms: i64| StatusLine {
            record: TickRecord {
                tick,
                now_ns: now_ms * 1_000_000,
                ..TickRecord::default()
            },
            late_ticks: 3,
            peer_present: true,
        };
        status.take(newest(7, 100));
        assert_eq!(status.master.expect("known").rate_hz, None);
        status.take(newest(207, 300));
        status.take(newest(992, 1100));
        let side = status.master.expect("known");
        assert_eq!(side.rate_hz, Some(985.0));
        assert_eq!((side.newest.late_ticks, status.slave.is_none()), (3, true));
    }

    #[test]
    fn a_chatty_side_is_not_blocked_by_its_pipe() {
        let mut child = Command::new("sh")
            .args(["-c", "head -c 1000000 /dev/zero >&2; echo last words >&2"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let reader = drain(child.stderr.take().expect("piped"));
        assert!(child.wait().expect("it ends").success());
        let words = reader.join().expect("it ends");
        assert!(words.ends_with("last words") && words.len() <= LAST_WORDS);
    }
}
