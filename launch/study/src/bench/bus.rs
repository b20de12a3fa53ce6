//! Round trips of one frame through the bus, plain and sealed, and through a bare UDP socket, in turn.
//!
//! Two processes: this binary starts itself once more to echo. Every millisecond one raw datagram
//! makes a round trip, a third of a millisecond later one haptic frame, then a sealed one, so that all meet the same
//! machine. Threads and queues as transport facts 2 and 3; the trip ends when the receiver's
//! thread has the bytes (as in transport section 2).

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use nix::sys::mman::{MlockAllFlags, mlockall};
use palpate_analysis::Failure;
use palpate_bus::gate::RunEvidence;
use palpate_bus::stream::{FramePublisher, FrameSubscription};
use palpate_bus::threads::{raise_current, raise_threads};
use palpate_bus::{BusConfig, BusSession, ConnectionRole, time_seal};
use palpate_session::keys::{self, SessionKeys};
use palpate_session::stat::spans::DurationStats;
use palpate_transport::cdr::HAPTIC_FRAME_BYTES;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span, Time};
use serde::Serialize;

use super::cpu_load::Load;
use super::goal::BenchGoal;
use super::{LoadConditions, PRIORITY, few, now, own_command, sleep_until, start_self, system};
use crate::abort::{Abort, check_stop, refusal};

/// Round trips of each kind in each condition, one a millisecond.
pub(crate) const ROUNDS: u32 = 5000;
/// First argument that makes this binary call [`echo`].
const ECHO_COMMAND: &str = "bench-echo";
/// Host address: all traffic stays on this machine.
const HOST: &str = "127.0.0.1";
/// Longest wait for an answer; a later one counts as lost.
const ANSWER: core::time::Duration = core::time::Duration::from_millis(100);
/// Longest wait for the echoing process.
const READY: Span = Span(10_000_000_000);
/// Rounds before the first that counts.
const WARM_UP: u32 = 200;

/// Batches of frames that are sealed to time it.
const SEAL_BATCHES: usize = 200;

/// SCHED_FIFO priority of zenoh's threads here: just below the servo's.
const BUS_PRIORITY: u8 = PRIORITY - 1;

/// Round trips of one transport.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trips {
    pub(crate) stats: DurationStats,
    /// Messages without an answer.
    pub(crate) lost: u32,
}

/// Comparison of round trips.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusComparison {
    /// Raw UDP.
    pub raw: DurationStats,
    /// Haptic frames through zenoh.
    pub zenoh: DurationStats,
    /// Haptic frames of a secured session: sealed, over a socket of their own.
    pub sealed: DurationStats,
    /// Median of zenoh over that of raw UDP.
    pub ratio_p50: f64,
    /// The same ratio of the 99th percentiles.
    pub ratio_p99: f64,
    /// Median of sealed frames over that of plain ones.
    pub sealed_ratio_p50: f64,
    /// Raw datagrams without an answer.
    pub raw_lost: u32,
    /// Frames without an answer.
    pub zenoh_lost: u32,
    /// Sealed frames without an answer.
    pub sealed_lost: u32,
    /// True if servo and bus ran under SCHED_FIFO.
    pub fifo: bool,
    /// Goals of the ratios.
    pub goals: Vec<BenchGoal>,
}

impl BusComparison {
    /// Comparison of the round trips. The limits of the ratios to raw UDP
    /// are those of transport section 3, measured with one thread of zenoh and all threads under SCHED_FIFO,
    /// with some margin. The seal may cost 15 %; ours.
    #[must_use]
    pub(crate) fn of(raw: Trips, zenoh: Trips, sealed: Trips, fifo: bool) -> Self {
        let ratio_p50 = zenoh.stats.us_p50 / raw.stats.us_p50.max(1e-3);
        let ratio_p99 = zenoh.stats.us_p99 / raw.stats.us_p99.max(1e-3);
        let sealed_ratio_p50 = sealed.stats.us_p50 / zenoh.stats.us_p50.max(1e-3);
        Self {
            raw: raw.stats,
            zenoh: zenoh.stats,
            sealed: sealed.stats,
            ratio_p50,
            ratio_p99,
            sealed_ratio_p50,
            raw_lost: raw.lost,
            zenoh_lost: zenoh.lost,
            sealed_lost: sealed.lost,
            fifo,
            goals: vec![
                BenchGoal::at_most("over raw UDP, p50", ratio_p50, 2.5, ""),
                BenchGoal::at_most("over raw UDP, p99", ratio_p99, 3.0, ""),
                BenchGoal::at_most("sealed over plain, p50", sealed_ratio_p50, 1.15, ""),
            ],
        }
    }
}

/// Ports and keys of the echoing process.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct EchoArgs {
    /// UDP port of the session
    udp: u16,
    /// TCP port of the session
    tcp: u16,
    /// UDP port of the secured session
    sealed_udp: u16,
    /// TCP port of the secured session
    sealed_tcp: u16,
    /// Folder with the keys of both sides
    keys: PathBuf,
}

/// Folder of keys for one measurement, removed at its end.
struct KeyFolder(PathBuf);

impl KeyFolder {
    fn make() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("palpate-bench-{}", std::process::id()));
        keys::make_pair(&folder, [Side::Master.name(), Side::Slave.name()]).map_err(refusal)?;
        Ok(Self(folder))
    }
}

impl Drop for KeyFolder {
    fn drop(&mut self) {
        // keys of a session that is over are of no use to anybody
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Measures the round trips, without other load and with every core busy.
///
/// # Errors
/// The echoing process, a socket or the session fails, answers are missing, or
/// `stop` is set.
pub(crate) fn bus(stop: &AtomicBool) -> Result<LoadConditions<BusComparison>, Abort> {
    // refused without privilege: then a page fault may cost a sample
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    let keys = KeyFolder::make()?;
    let started = start_echo(&keys);
    // Ctrl-C in a terminal also ends a process that does not handle it yet
    check_stop(stop)?;
    let (_echo, raw_port, args) = started?;
    let raw = UdpSocket::bind((HOST, 0)).map_err(system("open a socket"))?;
    raw.connect((HOST, raw_port))
        .map_err(system("connect a socket"))?;
    raw.set_read_timeout(Some(ANSWER))
        .map_err(system("set a time-out"))?;
    let sessions = open_sessions(Side::Master, ConnectionRole::Dial, &args)?;
    let rounds = ROUNDS + WARM_UP;
    // one slot per round of each condition, written by the receive thread
    let slots = [(); 2]
        .map(|()| -> Slots { Arc::new((0..=2 * rounds).map(|_| AtomicI64::new(0)).collect()) });
    let mut answers = Vec::new();
    for ((session, _), slots) in sessions.iter().zip(&slots) {
        answers.push(note_answers(session, Arc::clone(slots))?);
    }
    let terms = sessions[1].0.agreement_client(Side::Slave.name());
    let agreed = terms.map_err(refusal)?.command("", now(), READY);
    agreed.map_err(refusal)?;
    if !sessions
        .iter()
        .all(|(_, publisher)| publisher.wait_ready(READY))
    {
        return Err(Some(few("bus", 0, ROUNDS)));
    }
    let publishers = sessions.each_ref().map(|(_, publisher)| publisher);
    let threads = raise_threads(BUS_PRIORITY);
    let ping = Ping {
        raw,
        publishers,
        slots,
        rounds,
    };
    let mut quiet = ping.run(0, stop)?;
    let load = Load::start(Span(3 * PERIOD.0 * i64::from(rounds)));
    let mut busy = ping.run(rounds, stop)?;
    drop(load);
    for comparison in [&mut quiet, &mut busy] {
        comparison.fifo &= threads.raised > 0 && threads.refused == 0;
    }
    let seal = DurationStats::of(&time_seal(HAPTIC_FRAME_BYTES, SEAL_BATCHES));
    let seal_us = seal.map_or(f64::NAN, |stats| stats.us_p50);
    let goal = BenchGoal::at_most("seal and open a frame, own CPU", seal_us, 3.0, "us");
    quiet.goals.push(goal);
    Ok(LoadConditions { quiet, busy })
}

/// Answers by round: the round trip \[ns\], 0 if there is none.
type Slots = Arc<Vec<AtomicI64>>;

/// Writes the round trip of each answer into the slot of its number.
fn note_answers(session: &BusSession, slots: Slots) -> Result<FrameSubscription, Failure> {
    let note = move |frame: &HapticFrame, received: Time| {
        let slot = usize::try_from(frame.sequence).ok();
        if let Some(slot) = slot.and_then(|k| slots.get(k)) {
            slot.store((received.0 - frame.sent_ns).max(1), Ordering::Relaxed);
        }
    };
    let answers = session.subscribe_frames(Side::Slave, Span(i64::MAX), now, proven, note);
    answers.map_err(refusal)
}

/// Opens the plain and the secured session of a side, each with its publisher of frames.
fn open_sessions(
    side: Side,
    role: ConnectionRole,
    args: &EchoArgs,
) -> Result<[(BusSession, FramePublisher); 2], Failure> {
    let keys = SessionKeys::read(&args.keys.join(side.name())).map_err(refusal)?;
    let plain = BusConfig::new(side, role, HOST, args.udp, args.tcp);
    let secured = BusConfig {
        keyring: Some(Arc::clone(keys.keyring())),
        ..BusConfig::new(side, role, HOST, args.sealed_udp, args.sealed_tcp)
    };
    let open = |config| {
        let session = BusSession::open(&config).map_err(refusal)?;
        let publisher = session.frame_publisher(side).map_err(refusal)?;
        Ok::<_, Failure>((session, publisher))
    };
    Ok([open(plain)?, open(secured)?])
}

struct Ping<'a> {
    raw: UdpSocket,
    /// Publishers of plain and of sealed frames.
    publishers: [&'a FramePublisher; 2],
    slots: [Slots; 2],
    rounds: u32,
}

impl Ping<'_> {
    /// Runs the rounds on a thread of their own, so that only it has a raised priority.
    fn run(&self, first: u32, stop: &AtomicBool) -> Result<BusComparison, Abort> {
        let (raw, fifo) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let fifo = raise_current(i32::from(PRIORITY));
                (self.rounds(first, stop), fifo)
            });
            thread.join().unwrap_or_default()
        });
        check_stop(stop)?;
        // the last frames may still be under way
        sleep_until(now() + Span(100_000_000));
        let range = (first + WARM_UP + 1) as usize..=(first + self.rounds) as usize;
        let answered = self.slots.each_ref().map(|slots| -> Vec<Span> {
            let trips = slots[range.clone()].iter();
            let trips = trips.map(|slot| Span(slot.load(Ordering::Relaxed)));
            trips.filter(|span| span.0 > 0).collect()
        });
        let expected = self.rounds - WARM_UP;
        let trips = |what, spans: &[Span]| {
            let found = spans.len();
            let enough = found * 2 >= expected as usize;
            let lost = expected.saturating_sub(found as u32);
            let stats = DurationStats::of(spans).filter(|_| enough);
            let trips = stats.map(|stats| Trips { stats, lost });
            trips.ok_or_else(|| few(what, found, expected))
        };
        let raw = trips("raw UDP", &raw)?;
        let [plain, sealed] = &answered;
        let (plain, sealed) = (trips("bus", plain)?, trips("secured bus", sealed)?);
        Ok(BusComparison::of(raw, plain, sealed, fifo))
    }

    /// Sends one raw datagram and a frame of each kind each period; returns the raw round trips.
    fn rounds(&self, first: u32, stop: &AtomicBool) -> Vec<Span> {
        let mut trips = Vec::with_capacity(self.rounds as usize);
        let mut deadline = now() + PERIOD;
        for round in 1..=self.rounds {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            sleep_until(deadline);
            let trip = raw_trip(&self.raw, u64::from(first + round));
            if round > WARM_UP {
                trips.extend(trip);
            }
            for (k, publisher) in self.publishers.iter().enumerate() {
                sleep_until(deadline + Span(PERIOD.0 / 3 * (k as i64 + 1)));
                let frame = HapticFrame {
                    sequence: u64::from(first + round),
                    sent_ns: now().0,
                    ..HapticFrame::default()
                };
                // a frame that is not sent is counted as lost
                let _ = publisher.send_frame(&frame);
            }
            deadline = (deadline + PERIOD).max(now());
        }
        trips
    }
}

/// Sends one datagram as long as a frame; answers to earlier ones are skipped.
fn raw_trip(socket: &UdpSocket, number: u64) -> Option<Span> {
    let mut bytes = [0; HAPTIC_FRAME_BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let sent = now();
    socket.send(&bytes).ok()?;
    let mut answer = [0; HAPTIC_FRAME_BYTES];
    loop {
        socket.recv(&mut answer).ok()?;
        if answer[..8] == bytes[..8] {
            return Some(now() - sent);
        }
    }
}

/// Echoing process; it ends when its input closes.
struct Echo(Child);

impl Drop for Echo {
    fn drop(&mut self) {
        // waiting closes its input, so it ends; if it is gone already, nothing is left to do
        let _ = self.0.wait();
    }
}

/// Finds ports that are free; the sockets stay open until all are found, so that they differ.
fn free_ports<S>(
    bind: impl Fn() -> io::Result<S>,
    address: impl Fn(&S) -> io::Result<SocketAddr>,
) -> Result<[u16; 2], Failure> {
    let failed = || system("find a free port");
    let (first, second) = (bind().map_err(failed())?, bind().map_err(failed())?);
    let port = |socket| address(socket).map(|address| address.port());
    Ok([
        port(&first).map_err(failed())?,
        port(&second).map_err(failed())?,
    ])
}

fn start_echo(keys: &KeyFolder) -> Result<(Echo, u16, EchoArgs), Failure> {
    let [udp, sealed_udp] = free_ports(|| UdpSocket::bind((HOST, 0)), UdpSocket::local_addr)?;
    let [tcp, sealed_tcp] = free_ports(|| TcpListener::bind((HOST, 0)), TcpListener::local_addr)?;
    let args = EchoArgs {
        udp,
        tcp,
        sealed_udp,
        sealed_tcp,
        keys: keys.0.clone(),
    };
    let mut command = own_command()?;
    command
        .arg(ECHO_COMMAND)
        .args([args.udp, args.tcp, args.sealed_udp, args.sealed_tcp].map(|port| port.to_string()))
        .arg(&args.keys)
        .stdin(Stdio::piped());
    let (child, first_line) = start_self(&mut command)?;
    let echo = Echo(child);
    let raw_port = first_line
        .strip_prefix("ready ")
        .and_then(|port| port.parse().ok());
    match raw_port {
        Some(raw_port) => Ok((echo, raw_port, args)),
        None => Err(refusal(format!(
            "bench: the echoing process did not get ready; it printed {first_line:?}"
        ))),
    }
}

/// Evidence for a new run: both processes are the bench's own.
fn proven() -> RunEvidence {
    RunEvidence::Proven
}

/// Body of the echoing process: sends back all data, raw and through the bus, until the standard
/// input closes. Prints `ready` and its raw port when it is ready.
///
/// # Errors
/// A socket or the session fails.
pub fn echo(args: EchoArgs) -> Result<(), Failure> {
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    let sessions = open_sessions(Side::Slave, ConnectionRole::Listen, &args)?;
    let terms = sessions[1]
        .0
        .serve_agreement(Side::Slave.name(), |_, _, _| Ok(String::new()));
    let _terms = terms.map_err(refusal)?;
    let mut echoes = Vec::new();
    for (session, _) in &sessions {
        let publisher = session.frame_publisher(Side::Slave).map_err(refusal)?;
        let frames = session.subscribe_frames(
            Side::Master,
            Span(i64::MAX),
            now,
            proven,
            move |frame, _| {
                // a loss here is counted by the sender; zenoh's threads for this transport are
                // all running when the first frame has arrived
                let _ = publisher.send_frame(frame);
                if frame.sequence <= 2 {
                    let _ = raise_threads(BUS_PRIORITY);
                }
            },
        );
        echoes.push(frames.map_err(refusal)?);
    }
    let _ = raise_threads(BUS_PRIORITY);
    let raw = UdpSocket::bind((HOST, 0)).map_err(system("open a socket"))?;
    let port = raw.local_addr().map_err(system("name a socket"))?.port();
    std::thread::spawn(move || {
        // that of a servo
        let _ = raise_current(i32::from(PRIORITY));
        let mut bytes = [0; HAPTIC_FRAME_BYTES];
        while let Ok((length, from)) = raw.recv_from(&mut bytes) {
            // a loss here is counted by the sender
            let _ = raw.send_to(&bytes[..length], from);
        }
    });
    let mut out = std::io::stdout();
    writeln!(out, "ready {port}")
        .and_then(|()| out.flush())
        .map_err(system("print ready"))?;
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    Ok(())
}
