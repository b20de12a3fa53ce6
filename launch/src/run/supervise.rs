//! The whole lab on one machine: a network, two sides in it as processes, and their recordings.
//!
//! The sides are the same binary, started inside the lab's network. They die with the supervisor;
//! the supervisor stops them by SIGTERM, and they end as they do by Ctrl-C: robot at rest, files
//! closed.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{Span, Time};

use super::side::{RECORDING, SIDE_REPORT, SideReport, StatusLine};
use super::{RunError, file_error};
use crate::bench::timer::BareTimer;
use crate::config::Config;
use crate::netlab::{self, Direction, NetLab, NetLabOptions};
use crate::record::{self, Recording};

/// What a supervisor is told besides the configuration.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Folder of the session.
    pub out: PathBuf,
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
    /// What the operator's side says of itself.
    pub master_report: SideReport,
    /// What the remote side says of itself.
    pub slave_report: SideReport,
    /// Lateness of a bare timer in the same minutes, 99th percentile \[us\]; `None` if too short.
    pub bare_timer_us_p99: Option<f64>,
    /// Which network the lab built, and why, in words.
    pub network: String,
    /// Whether the session was ended before its time.
    pub interrupted: bool,
}

/// Newest records of both sides, for a status line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Status {
    /// Time since the start \[s\].
    pub elapsed_s: f64,
    /// Newest record of the operator's side.
    pub master: Option<TickRecord>,
    /// Newest record of the remote side.
    pub slave: Option<TickRecord>,
    /// Whether the side that spoke last misses the other on the bus.
    pub apart: bool,
}

/// Time between two looks of the supervisor \[ns\].
const LOOK: Span = Span(50_000_000);

/// How long a side may take to end after it was told to.
const ENDING: Span = Span(5_000_000_000);

/// How long the sides may take to find each other before the session starts.
const FINDING: Span = Span(25_000_000_000);

/// Run a whole session; `show` is called about 20 times a second with the newest status.
///
/// # Errors
/// [`RunError`] if the network cannot be built, a side fails, or a file cannot be used.
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
    let config_file = options.out.join("config.toml");
    fs::write(&config_file, config.to_toml()).map_err(file_error(&config_file))?;
    let bare_timer = BareTimer::start(config.realtime.servo_priority);
    let (news, inbox) = channel();
    let mut sides = Sides {
        slave: start(&lab, options, Side::Slave, &news)?,
        master: start(&lab, options, Side::Master, &news)?,
    };
    let watched = watch(config, options, &mut lab, &mut sides, &inbox, &mut show);
    let ended = sides.end();
    let bare_timer_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    drop(lab);
    let interrupted = watched?;
    ended?;
    let master = collect(&options.out, Side::Master)?;
    let slave = collect(&options.out, Side::Slave)?;
    let merged = options.out.join(RECORDING);
    let file = File::create(&merged).map_err(file_error(&merged))?;
    // both sides of this lab read the same clock of the same kernel
    record::merge(&master.0, &slave.0, Span(0), BufWriter::new(file))?;
    let folder = parts(&options.out);
    fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
    Ok(RunOutcome {
        master: master.0.master,
        slave: slave.0.slave,
        master_report: master.1,
        slave_report: slave.1,
        bare_timer_us_p99,
        network,
        interrupted,
    })
}

/// A side as a process.
struct Running {
    side: Side,
    child: Child,
}

struct Sides {
    master: Running,
    slave: Running,
}

/// Show, change the link on time, and wait until the master has ended; whether interrupted.
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
    loop {
        while let Ok(line) = inbox.try_recv() {
            started.get_or_insert(clock.now());
            match line.record.side {
                Side::Master => status.master = Some(line.record),
                Side::Slave => status.slave = Some(line.record),
            }
            status.apart = !line.peer_present;
        }
        status.elapsed_s = started.map_or(0.0, |start| (clock.now() - start).s());
        while let Some(change) = changes.next_if(|change| change.at_s <= status.elapsed_s) {
            for (direction, link) in [
                (Direction::Forward, change.forward),
                (Direction::Back, change.back),
            ] {
                link.map_or(Ok(()), |params| lab.set_link(direction, params))?;
            }
        }
        show(&status);
        if options.stop.load(Ordering::Relaxed) {
            return Ok(true);
        }
        sides.slave.must_run()?;
        if sides.master.has_ended()? {
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
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    lab.command_in(place, &mut command)?;
    let mut child = command.spawn().map_err(file_error(Path::new("palpate")))?;
    if let Some(stdout) = child.stdout.take() {
        forward_status(stdout, news.clone());
    }
    Ok(Running { side, child })
}

/// Read a side's status lines until it ends.
fn forward_status(stdout: ChildStdout, news: Sender<StatusLine>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Ok(line) = serde_json::from_str::<StatusLine>(&line) else {
                continue;
            };
            if news.send(line).is_err() {
                return;
            }
        }
    });
}

impl Running {
    /// Whether the side has ended well; an ending with an error is an error.
    fn has_ended(&mut self) -> Result<bool, RunError> {
        match self.child.try_wait() {
            Ok(None) => Ok(false),
            Ok(Some(status)) if status.success() => Ok(true),
            Ok(Some(status)) => Err(self.failure(&status.to_string())),
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    /// An error if the side has ended at all.
    fn must_run(&mut self) -> Result<(), RunError> {
        match self.has_ended() {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.failure("exit status 0")),
            Err(error) => Err(error),
        }
    }

    fn failure(&mut self, status: &str) -> RunError {
        let mut text = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            // what could not be read is only missing from the message
            let _ = stderr.take(64 * 1024).read_to_string(&mut text);
        }
        let detail = if text.trim().is_empty() {
            String::new()
        } else {
            format!(": {}", text.trim())
        };
        RunError::Side {
            side: self.side.name(),
            status: status.into(),
            detail,
        }
    }

    /// Tell the side to end, wait, and kill it if it does not.
    fn end(&mut self) -> Result<(), RunError> {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return self.has_ended().map(|_| ());
        }
        // a child that is just ending cannot be signalled; the wait below sees it
        let _ = kill(
            Pid::from_raw(self.child.id().cast_signed()),
            Signal::SIGTERM,
        );
        let clock = MonotonicClock;
        let told = clock.now();
        while clock.now() - told < ENDING {
            if self.has_ended()? {
                return Ok(());
            }
            pause(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(self.failure("no end within 5 s"))
    }
}

impl Sides {
    /// End both sides, the master first: the slave then sees the stream stop and stands still.
    fn end(&mut self) -> Result<(), RunError> {
        let master = self.master.end();
        let slave = self.slave.end();
        master.and(slave)
    }
}

/// Where the sides of this supervisor record, until both parts are merged.
fn parts(out: &Path) -> PathBuf {
    out.join(format!(".sides-{}", std::process::id()))
}

fn part(out: &Path, side: Side) -> PathBuf {
    parts(out).join(side.name()).join(RECORDING)
}

/// Recording and report of one side.
fn collect(out: &Path, side: Side) -> Result<(Recording, SideReport), RunError> {
    let recording = record::read(&part(out, side))?;
    let path = parts(out).join(side.name()).join(SIDE_REPORT);
    let text = fs::read_to_string(&path).map_err(file_error(&path))?;
    let report = serde_json::from_str(&text)
        .map_err(|error| file_error(&path)(std::io::Error::other(error)))?;
    Ok((recording, report))
}
