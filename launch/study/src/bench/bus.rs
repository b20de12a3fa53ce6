//! Round trips of one frame through the bus and through a bare UDP socket, in turn.
//!
//! Two processes: this binary starts itself once more to echo. Every millisecond one raw datagram
//! goes and comes back, half a millisecond later one haptic frame, so that both meet the same
//! machine. Threads and queues as transport facts 2 and 3; the trip ends where the receiver's
//! thread has the bytes (transport section 2 measures so).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use nix::sys::mman::{MlockAllFlags, mlockall};
use palpate_bus::stream::FramePublisher;
use palpate_bus::threads::{raise_current, raise_threads};
use palpate_bus::{Role, Session, SessionConfig};
use palpate_session::stat::spans::Stats;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span};
use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::load::Load;
use super::{BenchError, BenchOptions, Conditions, go_on, now, sleep_until};

/// Everything stays on this machine.
const HOST: &str = "127.0.0.1";
/// Longest that one answer is waited for; later counts as lost.
const ANSWER: core::time::Duration = core::time::Duration::from_millis(100);
/// Longest that the echoing process is waited for.
const READY: Span = Span(10_000_000_000);
/// Rounds before the first that counts.
const WARM_UP: u32 = 200;
/// Priority of the raw echo: that of a servo.
const ECHO_PRIORITY: i32 = 80;

/// SCHED_FIFO priority of zenoh's threads here: just below the servo's.
const BUS_PRIORITY: u8 = 79;

/// Round trips beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusComparison {
    /// Raw UDP.
    pub raw: Stats,
    /// Haptic frames through zenoh.
    pub zenoh: Stats,
    /// Median of zenoh over that of raw UDP.
    pub ratio_p50: f64,
    /// The same of the 99th percentile.
    pub ratio_p99: f64,
    /// Raw datagrams without an answer.
    pub raw_lost: u32,
    /// Frames without an answer.
    pub zenoh_lost: u32,
    /// Whether servo and bus ran under SCHED_FIFO.
    pub fifo: bool,
    /// What is wanted of the ratios.
    #[serde(default)]
    pub goals: Vec<Goal>,
}

impl BusComparison {
    /// Both round trips beside each other; `lost` are those of raw UDP and of the bus. Limits of the ratios
    /// are those of transport section 3, measured where zenoh has one thread and all run under SCHED_FIFO,
    /// with some room.
    #[must_use]
    pub fn of(raw: Stats, zenoh: Stats, [raw_lost, zenoh_lost]: [u32; 2], fifo: bool) -> Self {
        let ratio_p50 = zenoh.us_p50 / raw.us_p50.max(1e-3);
        let ratio_p99 = zenoh.us_p99 / raw.us_p99.max(1e-3);
        Self {
            raw,
            zenoh,
            ratio_p50,
            ratio_p99,
            raw_lost,
            zenoh_lost,
            fifo,
            goals: vec![
                Goal::at_most("over raw UDP, p50", ratio_p50, 2.5, ""),
                Goal::at_most("over raw UDP, p99", ratio_p99, 3.0, ""),
            ],
        }
    }
}

/// What the echoing process is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoArgs {
    /// UDP port of the session.
    pub udp: u16,
    /// TCP port of the session.
    pub tcp: u16,
}

/// Measure, quiet and with every core busy.
///
/// # Errors
/// [`BenchError`] when the echoing process, a socket or the session fails, answers are missing, or
/// `stop` is set.
pub fn bus(
    options: &BenchOptions,
    stop: &AtomicBool,
) -> Result<Conditions<BusComparison>, BenchError> {
    // Refused without privilege: then a page fault may cost a sample.
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    let (_echo, raw_port, args) = start_echo(options)?;
    let raw = UdpSocket::bind((HOST, 0)).map_err(BenchError::system("open a socket"))?;
    raw.connect((HOST, raw_port))
        .map_err(BenchError::system("connect a socket"))?;
    raw.set_read_timeout(Some(ANSWER))
        .map_err(BenchError::system("set a time-out"))?;
    let session = Session::open(&SessionConfig::new(
        Side::Master,
        Role::Dial,
        HOST,
        args.udp,
        args.tcp,
    ))?;
    let publisher = session.frame_publisher(Side::Master)?;
    let rounds = options.rounds + WARM_UP;
    // One slot a round of each condition, written by the receive thread.
    let slots: Arc<Vec<AtomicI64>> =
        Arc::new((0..=2 * rounds).map(|_| AtomicI64::new(0)).collect());
    let writer = Arc::clone(&slots);
    let _answers =
        session.subscribe_frames(Side::Slave, Span(i64::MAX), now, move |frame, received| {
            if let Some(slot) = usize::try_from(frame.sequence)
                .ok()
                .and_then(|k| writer.get(k))
            {
                slot.store((received.0 - frame.sent_ns).max(1), Ordering::Relaxed);
            }
        })?;
    if !publisher.wait_ready(READY) {
        return Err(BenchError::Samples {
            what: "bus",
            found: 0,
            expected: options.rounds,
        });
    }
    let threads = raise_threads(BUS_PRIORITY);
    let ping = Ping {
        raw,
        publisher,
        slots,
        rounds,
        priority: options.priority,
    };
    let mut quiet = ping.run(0, stop)?;
    let load = Load::start(Span(3 * PERIOD.0 * i64::from(rounds)));
    let mut busy = ping.run(rounds, stop)?;
    drop(load);
    for comparison in [&mut quiet, &mut busy] {
        comparison.fifo &= threads.raised > 0 && threads.refused == 0;
    }
    Ok(Conditions { quiet, busy })
}

struct Ping {
    raw: UdpSocket,
    publisher: FramePublisher,
    slots: Arc<Vec<AtomicI64>>,
    rounds: u32,
    priority: u8,
}

impl Ping {
    /// Run the rounds on a thread of their own, so that only it is raised.
    fn run(&self, first: u32, stop: &AtomicBool) -> Result<BusComparison, BenchError> {
        let (raw, fifo) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let fifo = raise_current(i32::from(self.priority));
                (self.rounds(first, stop), fifo)
            });
            thread.join().unwrap_or_default()
        });
        go_on(stop)?;
        // The last frames may still be under way.
        sleep_until(now() + Span(100_000_000));
        let range = (first + WARM_UP + 1) as usize..=(first + self.rounds) as usize;
        let zenoh: Vec<Span> = self.slots[range]
            .iter()
            .map(|slot| Span(slot.load(Ordering::Relaxed)))
            .filter(|span| span.0 > 0)
            .collect();
        let expected = self.rounds - WARM_UP;
        let stats = |what, spans: &[Span]| {
            let found = spans.len();
            let enough = found * 2 >= expected as usize;
            let error = BenchError::Samples {
                what,
                found,
                expected,
            };
            Stats::of(spans).filter(|_| enough).ok_or(error)
        };
        let lost = |found: usize| expected.saturating_sub(found as u32);
        let (raw_lost, zenoh_lost) = (lost(raw.len()), lost(zenoh.len()));
        let raw = stats("raw UDP", &raw)?;
        let zenoh = stats("bus", &zenoh)?;
        Ok(BusComparison::of(raw, zenoh, [raw_lost, zenoh_lost], fifo))
    }

    /// One raw datagram and one frame each period; returns the raw round trips.
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
            sleep_until(deadline + Span(PERIOD.0 / 2));
            let frame = HapticFrame {
                sequence: u64::from(first + round),
                sent_ns: now().0,
                ..HapticFrame::default()
            };
            // A frame that is not sent is one that is lost, and counted so.
            let _ = self.publisher.send_frame(&frame);
            deadline = (deadline + PERIOD).max(now());
        }
        trips
    }
}

/// One datagram as long as a frame; answers to earlier ones are passed over.
fn raw_trip(socket: &UdpSocket, number: u64) -> Option<Span> {
    let mut bytes = [0; HapticFrame::ENCODED_BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let sent = now();
    socket.send(&bytes).ok()?;
    let mut answer = [0; HapticFrame::ENCODED_BYTES];
    loop {
        socket.recv(&mut answer).ok()?;
        if answer[..8] == bytes[..8] {
            return Some(now() - sent);
        }
    }
}

/// The echoing process; it ends when its input closes.
struct Echo {
    child: Child,
    input: Option<ChildStdin>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.input.take());
        // Its input is closed, so it ends; nothing is left to do if it is gone already.
        let _ = self.child.wait();
    }
}

fn start_echo(options: &BenchOptions) -> Result<(Echo, u16, EchoArgs), BenchError> {
    let port = BenchError::system("find a free port");
    let udp = UdpSocket::bind((HOST, 0))
        .and_then(|socket| socket.local_addr())
        .map_err(port)?;
    let port = BenchError::system("find a free port");
    let tcp = TcpListener::bind((HOST, 0))
        .and_then(|socket| socket.local_addr())
        .map_err(port)?;
    let args = EchoArgs {
        udp: udp.port(),
        tcp: tcp.port(),
    };
    let binary = std::env::current_exe().map_err(BenchError::system("find the own binary"))?;
    let mut child = Command::new(binary)
        .arg(&options.echo_command)
        .args([args.udp.to_string(), args.tcp.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BenchError::system("start the echoing process"))?;
    let input = child.stdin.take();
    let output = child.stdout.take();
    let echo = Echo { child, input };
    let mut said = String::new();
    if let Some(output) = output {
        // A process that dies closes the pipe, which ends the reading.
        let read = BufReader::new(output).read_line(&mut said);
        read.map_err(BenchError::system("hear the echoing process"))?;
    }
    let raw_port = said
        .trim()
        .strip_prefix("ready ")
        .and_then(|port| port.parse().ok());
    match raw_port {
        Some(raw_port) => Ok((echo, raw_port, args)),
        None => Err(BenchError::Echo {
            said: said.trim().to_owned(),
        }),
    }
}

/// Body of the echoing process: send back what comes, raw and through the bus, until the standard
/// input closes. Says `ready` and its raw port when it is.
///
/// # Errors
/// [`BenchError`] when a socket or the session fails.
pub fn echo(args: EchoArgs) -> Result<(), BenchError> {
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    let session = Session::open(&SessionConfig::new(
        Side::Slave,
        Role::Listen,
        HOST,
        args.udp,
        args.tcp,
    ))?;
    let publisher = session.frame_publisher(Side::Slave)?;
    let _frames =
        session.subscribe_frames(Side::Master, Span(i64::MAX), now, move |frame, _| {
            // Lost here is lost there, and counted there; zenoh's threads for this transport are
            // all up when the first frame has come.
            let _ = publisher.send_frame(frame);
            if frame.sequence <= 2 {
                let _ = raise_threads(BUS_PRIORITY);
            }
        })?;
    let _ = raise_threads(BUS_PRIORITY);
    let raw = UdpSocket::bind((HOST, 0)).map_err(BenchError::system("open a socket"))?;
    let port = raw
        .local_addr()
        .map_err(BenchError::system("name a socket"))?
        .port();
    std::thread::spawn(move || {
        let _ = raise_current(ECHO_PRIORITY);
        let mut bytes = [0; HapticFrame::ENCODED_BYTES];
        while let Ok((length, from)) = raw.recv_from(&mut bytes) {
            // Lost here is lost there, and counted there.
            let _ = raw.send_to(&bytes[..length], from);
        }
    });
    let mut out = std::io::stdout();
    writeln!(out, "ready {port}")
        .and_then(|()| out.flush())
        .map_err(BenchError::system("say ready"))?;
    let mut rest = [0; 64];
    let mut input = std::io::stdin();
    while input.read(&mut rest).is_ok_and(|length| length > 0) {}
    Ok(())
}
