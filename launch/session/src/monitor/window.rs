//! A side's end of the line to its console: what the servo shows goes out, what the operator says comes in.
//!
//! Two threads, neither of them the servo's: one writes what is newest, and if the console does not read, waits
//! while the rest goes on; one reads. They meet the servo in the cells that [`Cells`] holds. Source: ours.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use palpate_bus::command::CommandClient;
use palpate_master::device::pointer::{Aim, Pointer};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::mailbox::{LatestReader, LatestWriter, RingReceiver, latest};
use palpate_transport::{Span, Time, cdr};

use super::line::{self, Kind};
use super::live::{self, Change, Tuner, Wanted};
use super::order::{Answer, Answered, Asked, Order, Place, Word};
use super::surface::Surface;
use super::wire::{self, Pointed};
use crate::run::duty::Duty;
use crate::run::face::Shown;
use crate::run::realtime;

/// How long the other side may take to answer on the bus.
const REMOTE: Span = Span(900_000_000);

/// Time over which the rate of a pointer is counted \[s\].
const RATE_OVER_S: f64 = 0.5;

/// The newest word of a pointer, as the servo thread finds it.
pub struct Aims(LatestReader<Aim>);

impl Pointer for Aims {
    fn newest(&mut self) -> Aim {
        *self.0.read()
    }
}

/// What a side's servo thread is given before it starts: the reading ends.
pub struct Cells {
    /// The pointer, until a handle has it.
    pub aims: Option<Aims>,
    /// Changes of the coupling.
    pub tuner: Tuner,
    /// Those that were made, and in which tick, until whoever records has them.
    pub changes: Option<RingReceiver<(u64, Change)>>,
    /// Whether anybody watches.
    pub watched: Arc<AtomicBool>,
    /// What is known of the pointer.
    pub heard: Arc<Heard>,
}

/// The writing ends.
struct Told {
    aims: LatestWriter<Aim>,
    wanted: LatestWriter<Wanted>,
    last: Wanted,
    watched: Arc<AtomicBool>,
    heard: Arc<Heard>,
}

/// A window whose line is there and whose threads are not started yet.
pub struct Window {
    stream: UnixStream,
    told: Told,
}

/// What is newest of a side, for the thread that shows it.
#[derive(Debug, Clone, Copy)]
pub struct Newest {
    /// What the servo showed.
    pub shown: Shown,
    /// Whether the other side is on the bus.
    pub peer_present: bool,
}

/// Where the slow loop of a side puts what is newest.
#[derive(Debug, Clone)]
pub struct Sill(SyncSender<Newest>);

impl Sill {
    /// Show this, unless the console still has to read what was before.
    pub fn put(&self, newest: Newest) {
        let _ = self.0.try_send(newest);
    }
}

/// What is known of a pointer, between the thread that hears it and the one that shows it.
#[derive(Debug, Default)]
pub struct Heard {
    words: AtomicU64,
    newest_ns: AtomicI64,
    said_ms: AtomicU64,
    /// Whether it is a device, which no page speaks over.
    pub by_device: AtomicBool,
}

impl Heard {
    /// A word came at `now`, said at the page's own time \[ms\], not a number without a page.
    pub fn note(&self, now: Time, said_ms: f64) {
        self.newest_ns.store(now.0, Ordering::Relaxed);
        self.said_ms.store(said_ms.to_bits(), Ordering::Relaxed);
        self.words.fetch_add(1, Ordering::Relaxed);
    }
}

impl Window {
    /// A window on this line, and the cells of the servo behind it.
    #[must_use]
    pub fn new(stream: UnixStream) -> (Self, Cells) {
        let (aims, newest_aim) = latest(Aim::default());
        let (wanted, newest_wanted) = latest(Wanted::default());
        let watched = Arc::new(AtomicBool::new(false));
        let heard = Arc::new(Heard::default());
        let (tuner, changes) = Tuner::new(newest_wanted);
        let told = Told {
            aims,
            wanted,
            last: Wanted::default(),
            watched: Arc::clone(&watched),
            heard: Arc::clone(&heard),
        };
        let cells = Cells {
            aims: Some(Aims(newest_aim)),
            tuner,
            changes: Some(changes),
            watched,
            heard,
        };
        (Self { stream, told }, cells)
    }

    /// Show and listen from now on, until the console closes the line or this side ends. `remote` tells the other
    /// side what a console without a line to it asks of it.
    ///
    /// # Errors
    /// The system has no more threads or descriptors.
    pub fn open(
        self,
        (duty, remote): (&Arc<Duty>, Option<CommandClient>),
        surface: Option<LatestReader<Surface>>,
    ) -> io::Result<Sill> {
        let heard = Arc::clone(&self.told.heard);
        let answers = Arc::new(Mutex::new(self.stream.try_clone()?));
        let (sill, newest) = sync_channel(1);
        let showing = Showing {
            line: Arc::clone(&answers),
            duty: Arc::clone(duty),
            heard: Arc::clone(&heard),
            surface,
            revision: 0,
            rate: (0, 0.0, 0.0),
            bytes: Vec::new(),
        };
        let listening = Listening {
            line: self.stream,
            answers,
            duty: Arc::clone(duty),
            heard,
            told: self.told,
            remote: remote.map(|client| Arc::new(Mutex::new(client))),
        };
        // both end with the line, at the latest with the process
        std::thread::Builder::new()
            .name("console-show".into())
            .spawn(move || showing.run(&newest))?;
        std::thread::Builder::new()
            .name("console-hear".into())
            .spawn(move || listening.run())?;
        Ok(Sill(sill))
    }
}

fn send(line: &Mutex<UnixStream>, kind: Kind, message: &[u8]) -> io::Result<()> {
    let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
    line::send(&mut *line, kind, message)
}

struct Showing {
    line: Arc<Mutex<UnixStream>>,
    duty: Arc<Duty>,
    heard: Arc<Heard>,
    surface: Option<LatestReader<Surface>>,
    /// Revision of the mesh that was sent last.
    revision: u32,
    /// Words at a moment \[s\], and how many a second there were until then \[Hz\].
    rate: (u64, f64, f64),
    /// A record as it is recorded.
    bytes: Vec<u8>,
}

impl Showing {
    fn run(mut self, newest: &Receiver<Newest>) {
        realtime::yield_to_others();
        while let Ok(newest) = newest.recv() {
            if self.show(&newest).is_err() {
                return;
            }
        }
    }

    fn show(&mut self, newest: &Newest) -> io::Result<()> {
        let shown = &newest.shown;
        let side = wire::Side {
            record: shown.record,
            late_ticks: shown.late_ticks,
            state: self.duty.shown(shown.record.state) as u8,
            ordered: self.duty.state() as u8,
            peer_present: newest.peer_present,
            force_known: shown.force_known,
            impedance_nspm: shown.impedance_nspm,
            mode: shown.mode,
            pointer: self.pointed(),
        };
        let mut state = side.block().to_vec();
        // without it a console has the block, which it needs
        if cdr::encode_into(&side.record, &mut self.bytes).is_ok() {
            state.extend(&self.bytes);
        }
        send(&self.line, Kind::State, &state)?;
        let Some(picture) = self.surface.as_mut().and_then(LatestReader::read_new) else {
            return Ok(());
        };
        if picture.revision() != self.revision {
            self.revision = picture.revision();
            let mut mesh = Vec::from((picture.rest_m().len() as u32).to_le_bytes());
            mesh.extend(flat(picture.rest_m(), f32::to_le_bytes));
            mesh.extend(flat(picture.faces(), u32::to_le_bytes));
            send(&self.line, Kind::Mesh, &mesh)?;
        }
        let positions: Vec<u8> = flat(picture.positions_m(), f32::to_le_bytes).collect();
        send(&self.line, Kind::Surface, &positions)
    }

    /// Age and rate of the pointer, if one has spoken.
    fn pointed(&mut self) -> Option<Pointed> {
        let words = self.heard.words.load(Ordering::Relaxed);
        let now_s = MonotonicClock.now().0 as f64 * 1e-9;
        let (before, since_s, rate_hz) = self.rate;
        if now_s - since_s >= RATE_OVER_S {
            let rate_hz = (words - before) as f64 / (now_s - since_s);
            self.rate = (words, now_s, if before == 0 { 0.0 } else { rate_hz });
        }
        let newest_s = self.heard.newest_ns.load(Ordering::Relaxed) as f64 * 1e-9;
        (words > 0).then(|| Pointed {
            age_s: (now_s - newest_s).max(0.0),
            rate_hz,
            said_ms: f64::from_bits(self.heard.said_ms.load(Ordering::Relaxed)),
        })
    }
}

/// Numbers in threes as bytes.
fn flat<T: Copy>(threes: &[[T; 3]], bytes: fn(T) -> [u8; 4]) -> impl Iterator<Item = u8> {
    threes
        .iter()
        .flatten()
        .flat_map(move |&number| bytes(number))
}

fn answer(line: &Mutex<UnixStream>, id: u64, answer: Answer) {
    let text = serde_json::to_vec(&Answered::to(id, answer)).unwrap_or_default();
    // a console that is gone needs no answer
    let _ = send(line, Kind::Answer, &text);
}

/// Ask the other side on the bus, on a thread of its own: it may take as long as the network does.
fn relay(remote: Arc<Mutex<CommandClient>>, word: Word, (id, line): (u64, Arc<Mutex<UnixStream>>)) {
    let ask = move || {
        let mut remote = remote.lock().unwrap_or_else(PoisonError::into_inner);
        let said = remote.command(word.name(), MonotonicClock.now(), REMOTE);
        answer(&line, id, said.map_err(|error| error.to_string()));
    };
    // without a thread there is no answer, and whoever asked hears that
    let _ = std::thread::Builder::new()
        .name("console-relay".into())
        .spawn(ask);
}

struct Listening {
    line: UnixStream,
    answers: Arc<Mutex<UnixStream>>,
    duty: Arc<Duty>,
    heard: Arc<Heard>,
    told: Told,
    remote: Option<Arc<Mutex<CommandClient>>>,
}

impl Listening {
    fn run(mut self) {
        let mut message = Vec::new();
        while let Ok(Some(kind)) = line::receive(&mut self.line, &mut message) {
            match kind {
                Kind::Order => self.order(&message),
                Kind::Aim => self.aim(&message),
                Kind::Watched => {
                    let anybody = message.first() == Some(&1);
                    self.told.watched.store(anybody, Ordering::Relaxed);
                }
                // what only a side says
                Kind::State | Kind::Mesh | Kind::Surface | Kind::Answer => {}
            }
        }
        // a console that is gone holds no handle
        self.told.aims.write(Aim::default());
    }

    fn aim(&mut self, message: &[u8]) {
        let Ok((aim, said_ms)) = wire::aim(message) else {
            return;
        };
        self.told.aims.write(aim);
        if !self.heard.by_device.load(Ordering::Relaxed) {
            self.heard.note(MonotonicClock.now(), said_ms);
        }
    }

    fn order(&mut self, message: &[u8]) {
        let Ok(Asked { id, order }) = serde_json::from_slice(message) else {
            return;
        };
        match (&order, &self.remote) {
            (
                Order::State {
                    side: Some(Place::Slave),
                    word,
                },
                Some(remote),
            ) => relay(Arc::clone(remote), *word, (id, Arc::clone(&self.answers))),
            _ => {
                let said = self.obey(&order);
                answer(&self.answers, id, said);
            }
        }
    }

    fn obey(&mut self, order: &Order) -> Answer {
        match *order {
            Order::Stop => {
                self.duty.halt();
                Ok("stopped".into())
            }
            Order::State { word, .. } => self.duty.obey(word.name()),
            Order::Impedance { nspm } => {
                live::check_impedance(nspm)?;
                self.told.last.impedance_nspm = (self.told.last.impedance_nspm.0 + 1, nspm);
                self.told.wanted.write(self.told.last);
                Ok(format!("the impedance goes to {nspm} N s/m"))
            }
            Order::Mode { mode } => {
                self.told.last.mode = (self.told.last.mode.0 + 1, mode);
                self.told.wanted.write(self.told.last);
                Ok(format!("the mode goes over to {}", mode.name()))
            }
            _ => Err("this is no order for a side".into()),
        }
    }
}
