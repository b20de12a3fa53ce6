//! Monitor at a side: sends the servo's state to the console, and passes the operator's orders to the servo.
//!
//! It has two threads, neither of them the servo's. One writes the newest state and skips states while the console
//! does not read; one reads. They exchange data with the servo in `MonitorCells`. Source: ours.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use palpate_bus::command::CommandClient;
use palpate_master::device::pointer::PointerTarget;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::mailbox::{LatestReader, LatestWriter, RingReceiver, RingSender, latest};
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time, cdr};

use super::controller::lock;
use super::coupling_change::{self, CouplingChange, Tuner};
use super::ipc::{self, MessageKind};
use super::order::{NumberedOrder, OperatorOrder, OrderReply};
use super::surface::TwinSurface;
use super::wire::{self, PointerStatus};
use crate::run::command_state::CommandState;
use crate::run::crtk_publisher::ServoSnapshot;
use crate::run::realtime;

/// Longest time for the reply of the other side on the bus \[ns\]; ours.
pub(crate) const REMOTE_REPLY_WAIT: Span = Span(900_000_000);

/// Time over which the rate of a pointer is measured \[s\].
const RATE_OVER_S: f64 = 0.5;

/// Cells of the servo thread, made before it starts: the reading ends.
pub(crate) struct MonitorCells {
    /// Targets of the pointer.
    pub(crate) aims: LatestReader<PointerTarget>,
    /// Changes of the coupling.
    pub(crate) tuner: Tuner,
    /// Applied changes with their ticks, for the recorder.
    pub(crate) changes: RingReceiver<(u64, CouplingChange)>,
    /// True if anybody watches.
    pub(crate) watched: Arc<AtomicBool>,
    /// Statistics of the pointer.
    pub(crate) pointer_statistics: Arc<PointerStatistics>,
}

/// Side monitor that is not open yet: the writing ends.
pub(crate) struct SideMonitor {
    aims: LatestWriter<PointerTarget>,
    changes: RingSender<CouplingChange>,
    watched: Arc<AtomicBool>,
    pointer_statistics: Arc<PointerStatistics>,
}

/// State of a side for its console.
pub(crate) struct MonitorState {
    /// Snapshot of its servo.
    pub(crate) snapshot: ServoSnapshot,
    /// True if the peer is on the bus.
    pub(crate) peer_present: bool,
    /// Name of a side that asks for the robot.
    pub(crate) asks: Option<String>,
}

/// Sender of states. A state is dropped while the console still reads the last.
pub(crate) type SnapshotSender = SyncSender<MonitorState>;

/// Clients of the robot's side on the bus, for a console without a link to it.
pub(crate) struct RemoteClients {
    /// Commands.
    pub(crate) commands: Arc<Mutex<CommandClient>>,
    /// Answers to a side that asks for the robot.
    pub(crate) handover: Arc<Mutex<CommandClient>>,
}

/// Statistics of a pointer, shared between the reading and the writing thread.
#[derive(Debug, Default)]
pub(crate) struct PointerStatistics {
    target_count: AtomicU64,
    newest_ns: AtomicI64,
    page_time_ms: AtomicU64,
    /// True for an input device of this machine; then pages do not count.
    pub(crate) by_device: AtomicBool,
}

impl PointerStatistics {
    /// Records a target at `now`; `page_time_ms` is the page's own time \[ms\], NaN without a page.
    pub(crate) fn note(&self, now: Time, page_time_ms: f64) {
        self.newest_ns.store(now.0, Ordering::Relaxed);
        self.page_time_ms
            .store(page_time_ms.to_bits(), Ordering::Relaxed);
        self.target_count.fetch_add(1, Ordering::Relaxed);
    }
}

impl SideMonitor {
    /// Returns a side monitor with the cells of the servo, which stay empty until it is open.
    pub(crate) fn new() -> (Self, MonitorCells) {
        let (aims, newest_aim) = latest(PointerTarget::default());
        let (change_sender, tuner, changes) = Tuner::new();
        let cells = MonitorCells {
            aims: newest_aim,
            tuner,
            changes,
            watched: Arc::default(),
            pointer_statistics: Arc::default(),
        };
        let monitor = Self {
            aims,
            changes: change_sender,
            watched: Arc::clone(&cells.watched),
            pointer_statistics: Arc::clone(&cells.pointer_statistics),
        };
        (monitor, cells)
    }

    /// Starts both threads on an ipc link, until the console closes it or this side ends. `remote` passes orders to
    /// the other side for a console without a link to it.
    ///
    /// # Errors
    /// The system cannot give a thread or a descriptor.
    pub(crate) fn open(
        self,
        stream: UnixStream,
        command_state: &Arc<CommandState>,
        remote: Option<RemoteClients>,
        surface: Option<LatestReader<TwinSurface>>,
    ) -> io::Result<SnapshotSender> {
        let link = Arc::new(Mutex::new(stream.try_clone()?));
        let (sender, newest) = sync_channel(1);
        let writer = MonitorWriter {
            ipc_link: Arc::clone(&link),
            command_state: Arc::clone(command_state),
            pointer_statistics: Arc::clone(&self.pointer_statistics),
            surface,
            revision: 0,
            rate: (0, 0.0, 0.0),
            asks: None,
            bytes: Vec::new(),
        };
        let reader = MonitorReader {
            monitor: self,
            stream,
            ipc_link: link,
            command_state: Arc::clone(command_state),
            remote,
        };
        // both threads end with the link, at the latest with the process
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        thread("console-write").spawn(move || writer.run(&newest))?;
        thread("console-read").spawn(move || reader.run())?;
        Ok(sender)
    }
}

/// Ipc link to the console, into which several threads write.
type SharedLink = Arc<Mutex<UnixStream>>;

struct MonitorWriter {
    ipc_link: SharedLink,
    command_state: Arc<CommandState>,
    pointer_statistics: Arc<PointerStatistics>,
    surface: Option<LatestReader<TwinSurface>>,
    /// Revision of the mesh sent last.
    revision: u32,
    /// Number of targets at a time \[s\], and their rate until then \[Hz\].
    rate: (u64, f64, f64),
    /// Request that was sent last.
    asks: Option<String>,
    /// Buffer of an encoded record.
    bytes: Vec<u8>,
}

impl MonitorWriter {
    fn run(mut self, newest: &Receiver<MonitorState>) {
        realtime::lower_priority();
        while let Ok(state) = newest.recv() {
            if self.show(state).is_err() {
                return;
            }
        }
    }

    fn send(&self, kind: MessageKind, message: &[u8]) -> io::Result<()> {
        ipc::send(&mut *lock(&self.ipc_link), kind, message)
    }

    fn show(&mut self, newest: MonitorState) -> io::Result<()> {
        let MonitorState {
            snapshot,
            peer_present,
            asks,
        } = newest;
        if self.asks != asks {
            let name = asks.as_deref().unwrap_or_default();
            self.send(MessageKind::Asks, name.as_bytes())?;
            self.asks = asks;
        }
        let side = wire::SideView {
            state: self.command_state.reported_state(snapshot.record.state) as u8,
            commanded_state: self.command_state.state() as u8,
            pointer: self.pointer_status(),
            servo: snapshot,
            peer_present,
        };
        let mut state = side.block().to_vec();
        // without the record the console still gets the block, which it needs
        if cdr::encode_into(&snapshot.record, &mut self.bytes).is_ok() {
            state.extend(&self.bytes);
        }
        self.send(MessageKind::State, &state)?;
        let Some(surface) = self.surface.as_mut().and_then(LatestReader::read_new) else {
            return Ok(());
        };
        let link = &mut *lock(&self.ipc_link);
        if surface.revision != self.revision {
            self.revision = surface.revision;
            let mut mesh = Vec::from((surface.rest_m().len() as u32).to_le_bytes());
            mesh.extend(wire::flat(surface.rest_m(), f32::to_le_bytes));
            mesh.extend(wire::flat(surface.faces(), u32::to_le_bytes));
            ipc::send(link, MessageKind::Mesh, &mesh)?;
        }
        let positions = wire::flat(surface.positions_m(), f32::to_le_bytes);
        ipc::send(link, MessageKind::Surface, &positions)
    }

    /// Age and rate of the pointer, if there was a target.
    fn pointer_status(&mut self) -> Option<PointerStatus> {
        let target_count = self.pointer_statistics.target_count.load(Ordering::Relaxed);
        let now_s = MonotonicClock.now().0 as f64 * 1e-9;
        let (before, since_s, rate_hz) = self.rate;
        if now_s - since_s >= RATE_OVER_S {
            let rate_hz = (target_count - before) as f64 / (now_s - since_s);
            self.rate = (target_count, now_s, if before == 0 { 0.0 } else { rate_hz });
        }
        let newest_s = self.pointer_statistics.newest_ns.load(Ordering::Relaxed) as f64 * 1e-9;
        (target_count > 0).then(|| PointerStatus {
            age_s: (now_s - newest_s).max(0.0),
            rate_hz,
            page_time_ms: f64::from_bits(
                self.pointer_statistics.page_time_ms.load(Ordering::Relaxed),
            ),
        })
    }
}

fn send_reply(link: &SharedLink, id: u64, reply: OrderReply) {
    let text = serde_json::to_vec(&(id, reply)).unwrap_or_default();
    // a closed console needs no reply
    let _ = ipc::send(&mut *lock(link), MessageKind::Answer, &text);
}

struct MonitorReader {
    monitor: SideMonitor,
    stream: UnixStream,
    ipc_link: SharedLink,
    command_state: Arc<CommandState>,
    remote: Option<RemoteClients>,
}

impl MonitorReader {
    fn run(mut self) {
        let mut message = Vec::new();
        while let Ok(Some(kind)) = ipc::receive(&mut self.stream, &mut message) {
            match kind {
                MessageKind::Order => self.order(&message),
                MessageKind::Aim => self.aim(&message),
                MessageKind::Watched => {
                    let anybody = message.first() == Some(&1);
                    self.monitor.watched.store(anybody, Ordering::Relaxed);
                }
                // kinds that only a side sends
                MessageKind::State
                | MessageKind::Mesh
                | MessageKind::Surface
                | MessageKind::Answer
                | MessageKind::Asks => {}
            }
        }
        // a closed console releases the handle
        self.monitor.aims.write(PointerTarget::default());
    }

    fn aim(&mut self, message: &[u8]) {
        let Ok((aim, page_time_ms)) = wire::parse_aim(message) else {
            return;
        };
        self.monitor.aims.write(aim);
        let statistics = &self.monitor.pointer_statistics;
        if !statistics.by_device.load(Ordering::Relaxed) {
            statistics.note(MonotonicClock.now(), page_time_ms);
        }
    }

    fn order(&mut self, message: &[u8]) {
        let Ok(NumberedOrder { id, order }) = serde_json::from_slice(message) else {
            return;
        };
        let relayed = match (&order, &self.remote) {
            (OperatorOrder::State { side, word }, Some(remote)) if *side == Some(Side::Slave) => {
                Some((&remote.commands, word.name().to_owned()))
            }
            (OperatorOrder::HandOver { grant, to }, Some(remote)) => {
                let word = if *grant { "grant" } else { "decline" };
                Some((&remote.handover, format!("{word} {to}")))
            }
            _ => None,
        };
        if let Some((client, text)) = relayed {
            return self.relay(Arc::clone(client), text, id);
        }
        let reply = self.execute(&order);
        send_reply(&self.ipc_link, id, reply);
    }

    /// Forwards a command to the other side on the bus, on a separate thread: it may take as long as the network
    /// does.
    fn relay(&self, remote: Arc<Mutex<CommandClient>>, text: String, id: u64) {
        let link = Arc::clone(&self.ipc_link);
        let ask = move || {
            let reply = lock(&remote).command(&text, MonotonicClock.now(), REMOTE_REPLY_WAIT);
            send_reply(&link, id, reply.map_err(|error| error.to_string()));
        };
        // without a thread there is no reply, and the requester times out
        let _ = std::thread::Builder::new()
            .name("console-relay".into())
            .spawn(ask);
    }

    fn execute(&mut self, order: &OperatorOrder) -> OrderReply {
        let mut change = CouplingChange::default();
        let reply = match *order {
            OperatorOrder::Stop => {
                self.command_state.halt();
                return Ok("stopped".into());
            }
            OperatorOrder::State { word, .. } => return self.command_state.execute(word.name()),
            OperatorOrder::Impedance { nspm } => {
                coupling_change::check_impedance(nspm)?;
                change.impedance_nspm = Some(nspm);
                format!("the impedance changes to {nspm} N s/m")
            }
            OperatorOrder::Mode { mode } => {
                change.mode = Some(mode);
                format!("the mode changes to {}", mode.name())
            }
            _ => return Err("a side does not support this order".into()),
        };
        match self.monitor.changes.push(change) {
            true => Ok(reply),
            false => Err("too many changes wait for a tick".into()),
        }
    }
}
