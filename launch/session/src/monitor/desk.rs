//! The desk of a session whose sides are at the end of lines: it passes on what is asked, and hears what they show.
//!
//! Orders wait for their answer for a bounded time; a stop and an aim wait for nothing. What changes the network goes to
//! whoever built it. Source: ours.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palpate_master::device::HandleKind;
use palpate_master::device::pointer::Aim;
use palpate_transport::cdr;
use palpate_transport::coupling::Mode;
use palpate_transport::link::LinkParams;
use palpate_transport::trace::Side;
use serde_json::{Value, json};

use super::line::{self, Kind};
use super::order::{Answer, Answered, Asked, Order, Place, Way, Word};
use super::{Board, Desk, live, wire};
use crate::config::Config;
use crate::lab;

/// How long a side may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a side may take to read what it is told; longer is as good as gone.
const READS: Duration = Duration::from_millis(20);

/// A change of the network that waits for whoever makes it.
pub struct LinkOrder {
    /// Which way; both if none is named.
    pub way: Option<Way>,
    /// Delay \[ms\], half width of the jitter \[ms\] and fraction lost, as far as they change.
    pub change: [Option<f64>; 3],
    /// Where the answer goes.
    pub answer: Sender<Answer>,
}

impl LinkOrder {
    /// What a link becomes by it.
    #[must_use]
    pub fn apply(&self, link: LinkParams) -> LinkParams {
        let [oneway_ms, jitter_ms, loss] = self.change;
        LinkParams {
            oneway_ms: oneway_ms.unwrap_or(link.oneway_ms),
            jitter_ms: jitter_ms.unwrap_or(link.jitter_ms),
            loss: loss.unwrap_or(link.loss),
            ..link
        }
    }
}

/// Which sides a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Both, each with a line of its own.
    Both,
    /// The remote side is on another host, and the operator's side tells it on the bus.
    RemoteElsewhere,
    /// There is no remote side.
    OperatorOnly,
}

/// A line to a side, with a number by which it is told from those before it.
struct Line {
    number: u64,
    stream: UnixStream,
}

/// The desk of a session.
pub struct SessionDesk {
    config: Config,
    board: Arc<Board>,
    lines: [Mutex<Option<Line>>; 2],
    waiting: Mutex<BTreeMap<u64, Sender<Answered>>>,
    next: AtomicU64,
    link: Mutex<Option<Sender<LinkOrder>>>,
    watched: AtomicBool,
    changes: Mutex<Vec<String>>,
    /// Whether all was stopped, until it is enabled: a side that comes meanwhile stands still.
    halted: AtomicBool,
    sides: Sides,
    stop: Arc<AtomicBool>,
}

impl std::fmt::Debug for SessionDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionDesk").finish_non_exhaustive()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // whoever panicked left it whole
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionDesk {
    /// Whether all was stopped, until it is enabled.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    /// The desk of a session of this configuration, without lines yet; `stop` ends the session.
    #[must_use]
    pub fn new(config: &Config, sides: Sides, stop: &Arc<AtomicBool>) -> Arc<Self> {
        let board = Arc::new(Board::new(facts(config, sides)));
        Self::showing((config, board), sides, stop)
    }

    /// The same on a board that is there.
    #[must_use]
    pub fn showing(
        (config, board): (&Config, Arc<Board>),
        sides: Sides,
        stop: &Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            board,
            config: config.clone(),
            lines: [Mutex::new(None), Mutex::new(None)],
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            link: Mutex::new(None),
            watched: AtomicBool::new(false),
            changes: Mutex::default(),
            halted: AtomicBool::new(false),
            sides,
            stop: Arc::clone(stop),
        })
    }

    /// What it shows.
    #[must_use]
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Hear and tell a side through this end of a line.
    ///
    /// # Errors
    /// The system has no more threads or descriptors.
    pub fn attach(self: &Arc<Self>, side: Side, stream: UnixStream) -> io::Result<()> {
        stream.set_write_timeout(Some(READS))?;
        let hearing = stream.try_clone()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        *lock(&self.lines[side as usize]) = Some(Line { number, stream });
        self.tell(
            side,
            Kind::Watched,
            &[u8::from(self.watched.load(Ordering::Relaxed))],
        );
        if self.halted.load(Ordering::SeqCst) {
            self.order(side, 0, &Order::Stop);
        }
        let desk = Arc::clone(self);
        std::thread::Builder::new()
            .name("console-line".into())
            .spawn(move || desk.hear((side, number), hearing))?;
        Ok(())
    }

    /// Where whoever built the network finds what it is to become; what came before is refused.
    #[must_use]
    pub fn link_orders(&self) -> Receiver<LinkOrder> {
        let (orders, wanted) = channel();
        *lock(&self.link) = Some(orders);
        wanted
    }

    /// What was changed of the session while it ran, in words for whoever reads of it; nothing if nothing was.
    #[must_use]
    pub fn changes(&self) -> Option<String> {
        let changes = lock(&self.changes);
        (!changes.is_empty()).then(|| {
            let all = changes.join("; ");
            format!("Changed from the console, so its configuration does not say all of it: {all}.")
        })
    }

    /// Do what changes the session, and note it.
    fn change(&self, order: &Order) -> Answer {
        let (said, what) = match *order {
            Order::Link {
                way,
                oneway_ms,
                jitter_ms,
                loss,
            } => {
                let change = [oneway_ms, jitter_ms, loss];
                let names = ["delay", "jitter", "loss"].iter().zip(change);
                let parts = names.filter_map(|(name, to)| Some(format!("{name} {}", to?)));
                let ways = way.map_or("both ways", |way| match way {
                    Way::Forward => "forward",
                    Way::Back => "back",
                });
                let all: Vec<String> = parts.collect();
                (self.link(way, change), format!("{} {ways}", all.join(", ")))
            }
            Order::Impedance { nspm } => {
                live::check_impedance(nspm)?;
                let said = self.ask(Side::Master, order);
                (said, format!("impedance {nspm} N s/m"))
            }
            Order::Mode { mode } => {
                live::check_mode(&self.config, mode)?;
                if self.sides == Sides::RemoteElsewhere {
                    return Err("both sides must be told, and the other is on another host".into());
                }
                // the slave must know the mode before the first frame in it
                (
                    self.ask_all(self.sides(), order),
                    format!("mode {}", mode.name()),
                )
            }
            _ => return Err("this changes nothing".into()),
        };
        if said.is_ok() {
            lock(&self.changes).push(what);
            self.board.amend(|facts| amend(facts, order));
        }
        said
    }

    /// Let the sides be: their processes end, and their lines with them.
    pub fn detach(&self) {
        *lock(&self.link) = None;
        for line in &self.lines {
            if let Some(line) = lock(line).take() {
                // one that is closed already is as well
                let _ = line.stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Read what a side says until its line is closed.
    fn hear(&self, (side, number): (Side, u64), mut stream: UnixStream) {
        let mut message = Vec::new();
        while let Ok(Some(kind)) = line::receive(&mut stream, &mut message) {
            match kind {
                Kind::State => {
                    let Some((block, record)) = message.split_first_chunk() else {
                        continue;
                    };
                    self.board.show(side, block);
                    if self.board.place(0).wants_records()
                        && let Ok(record) = cdr::decode(record)
                    {
                        self.board.place(0).record(&record);
                    }
                }
                Kind::Mesh => {
                    if let Some((rest_m, faces)) = mesh(&message) {
                        self.board.show_mesh(&rest_m, &faces);
                    }
                }
                Kind::Surface => self
                    .board
                    .show_surface(&threes(&message, f32::from_le_bytes)),
                Kind::Answer => {
                    let answered: Result<Answered, _> = serde_json::from_slice(&message);
                    let waiting = answered.ok().and_then(|answered| {
                        let waiting = lock(&self.waiting).remove(&answered.id)?;
                        Some((waiting, answered))
                    });
                    if let Some((waiting, answered)) = waiting {
                        let _ = waiting.send(answered);
                    }
                }
                // what only a console says
                Kind::Order | Kind::Aim | Kind::Watched => {}
            }
        }
        // one that came after it stays
        lock(&self.lines[side as usize]).take_if(|line| line.number == number);
    }

    /// Tell a side something; whether it was there to hear.
    fn tell(&self, side: Side, kind: Kind, message: &[u8]) -> bool {
        let mut line = lock(&self.lines[side as usize]);
        let Some(Line { stream, .. }) = line.as_mut() else {
            return false;
        };
        let told = line::send(stream, kind, message).is_ok();
        if !told {
            // half a message may be out: this line can say no more
            let _ = stream.shutdown(Shutdown::Both);
            *line = None;
        }
        told
    }

    fn order(&self, side: Side, id: u64, order: &Order) -> bool {
        let (side, order) = match *order {
            Order::Stop | Order::State { .. }
                if self.sides == Sides::RemoteElsewhere && side == Side::Slave =>
            {
                let word = match *order {
                    Order::State { word, .. } => word,
                    _ => Word::Disable,
                };
                let side = Some(Place::Slave);
                (Side::Master, Order::State { side, word })
            }
            _ => (side, order.clone()),
        };
        let text = serde_json::to_vec(&Asked { id, order }).unwrap_or_default();
        self.tell(side, Kind::Order, &text)
    }

    /// Ask a side and wait for what it says.
    fn ask(&self, side: Side, order: &Order) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answers, answered) = channel();
        lock(&self.waiting).insert(id, answers);
        let answer = if self.order(side, id, order) {
            match answered.recv_timeout(PATIENCE) {
                Ok(answered) => answered.answer(),
                Err(_) => Err(format!("the {} does not answer", side.name())),
            }
        } else {
            Err(format!("the {} is not there", side.name()))
        };
        lock(&self.waiting).remove(&id);
        answer.map_err(|reason| format!("{}: {reason}", side.name()))
    }

    /// Ask the sides one after another; the first refusal ends it.
    fn ask_all(&self, sides: &[Side], order: &Order) -> Answer {
        let mut said = Vec::new();
        for &side in sides {
            said.push(format!("{} {}", side.name(), self.ask(side, order)?));
        }
        Ok(said.join(", "))
    }

    fn link(&self, way: Option<Way>, change: [Option<f64>; 3]) -> Answer {
        let (answer, answered) = channel();
        let order = LinkOrder {
            way,
            change,
            answer,
        };
        let sent = lock(&self.link).as_ref().map(|link| link.send(order));
        if !matches!(sent, Some(Ok(()))) {
            return Err("this session's network is not ours to change".into());
        }
        let said = answered.recv_timeout(PATIENCE);
        said.unwrap_or_else(|_| Err("the network does not answer".into()))
    }
}

impl SessionDesk {
    /// Who is asked and told, in this order.
    fn sides(&self) -> &'static [Side] {
        match self.sides {
            Sides::Both | Sides::RemoteElsewhere => &[Side::Slave, Side::Master],
            Sides::OperatorOnly => &[Side::Master],
        }
    }
}

impl SessionDesk {
    /// Lead the handle by a device of this machine, where no page does.
    pub fn lead(&self, aim: Aim) {
        if !by_page(&self.config) {
            self.tell(Side::Master, Kind::Aim, &wire::aim_bytes(&aim, f64::NAN));
        }
    }
}

impl Desk for SessionDesk {
    fn take(&self, order: &Order) -> Answer {
        match *order {
            // stopped before this was asked; now it is known
            Order::Stop => self.ask_all(self.sides(), order),
            Order::State { side, word } => {
                if word == Word::Enable {
                    self.halted.store(false, Ordering::SeqCst);
                }
                match side {
                    Some(place) => self.ask(place.into(), order),
                    None => self.ask_all(self.sides(), order),
                }
            }
            Order::Link { .. } | Order::Impedance { .. } | Order::Mode { .. } => self.change(order),
            Order::End => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("the session ends".into())
            }
            _ => Err("not for this desk".into()),
        }
    }

    fn stop(&self) {
        self.halted.store(true, Ordering::SeqCst);
        for &side in self.sides() {
            self.order(side, 0, &Order::Stop);
        }
    }

    fn aim(&self, aim: Aim, said_ms: f64) {
        if by_page(&self.config) {
            self.tell(Side::Master, Kind::Aim, &wire::aim_bytes(&aim, said_ms));
        }
    }

    fn watched(&self, anybody: bool) {
        self.watched.store(anybody, Ordering::Relaxed);
        self.tell(Side::Master, Kind::Watched, &[u8::from(anybody)]);
    }
}

/// Rest positions \[m\] and faces.
type Mesh = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// A mesh as a side sends it.
fn mesh(message: &[u8]) -> Option<Mesh> {
    let (nodes, rest) = message.split_first_chunk::<4>()?;
    let (rest, faces) = rest.split_at_checked(12 * u32::from_le_bytes(*nodes) as usize)?;
    Some((
        threes(rest, f32::from_le_bytes),
        threes(faces, u32::from_le_bytes),
    ))
}

/// Numbers in threes from their bytes; what is left over is left out.
fn threes<T: Copy>(bytes: &[u8], number: fn([u8; 4]) -> T) -> Vec<[T; 3]> {
    let three = |chunk: &[u8]| {
        core::array::from_fn(|n| {
            let at = 4 * n;
            number([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]])
        })
    };
    bytes.chunks_exact(12).map(three).collect()
}

/// What a page that comes later is told of a change.
fn amend(facts: &mut Value, order: &Order) {
    match order {
        Order::Impedance { nspm } => facts["impedance_nspm"] = json!(nspm),
        Order::Mode { mode } => facts["mode"] = json!(mode.name()),
        Order::Link {
            way,
            oneway_ms,
            jitter_ms,
            loss,
        } => {
            let both = [(Way::Forward, "forward"), (Way::Back, "back")];
            for (_, name) in both
                .iter()
                .filter(|(one, _)| way.is_none_or(|way| way == *one))
            {
                for (field, value) in [
                    ("oneway_ms", oneway_ms),
                    ("jitter_ms", jitter_ms),
                    ("loss", loss),
                ] {
                    if let Some(value) = value {
                        facts["link"][name][field] = json!(value);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Whether a page leads the handle.
fn by_page(config: &Config) -> bool {
    config.operator.handle == HandleKind::Pointer && config.operator.device.is_none()
}

/// What a page is told of a session.
#[must_use]
pub fn facts(config: &Config, sides: Sides) -> Value {
    let alone = sides != Sides::Both;
    let link = |link: &LinkParams| json!({"oneway_ms": link.oneway_ms, "jitter_ms": link.jitter_ms, "loss": link.loss});
    let modes = Mode::ALL.into_iter();
    let had = |mode: Mode| !alone && live::check_mode(config, mode).is_ok();
    let modes: Vec<_> = modes
        .filter(|mode| *mode == config.coupling.mode || had(*mode))
        .map(
            |mode| json!({"name": mode.name(), "code": mode.code(), "now": mode.resolved().name()}),
        )
        .collect();
    let scene = lab::load_scene(&config.twin, "twin");
    let layers = scene.ok().map(|scene| scene.name);
    let links = json!({"forward": link(&config.link.forward), "back": link(&config.link.back)});
    json!({
        "name": config.name,
        "duration_s": config.duration_s,
        "pointer": by_page(config),
        "device": config.operator.device,
        "twin": layers,
        "mode": config.coupling.mode.name(),
        "modes": modes,
        "impedance_nspm": config.coupling.impedance_nspm,
        "link": if alone { Value::Null } else { links },
        "tool_radius_m": config.master.predict.tool_radius_m,
        "tool_edges_m": config.master.predict.tool_shape.edges_m().map(|edge_m| [edge_m.x, edge_m.y, edge_m.z]),
        "start_m": config.operator.script.start_m(),
        "force_n_max": config.master.guard.force_n_max,
        "let_go_s": config.operator.let_go_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_is_read_as_it_was_sent_and_a_broken_one_is_not() {
        let mut sent = Vec::from(2_u32.to_le_bytes());
        for x in [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0] {
            sent.extend(x.to_le_bytes());
        }
        for n in [0_u32, 1, 0] {
            sent.extend(n.to_le_bytes());
        }
        let (rest_m, faces) = mesh(&sent).expect("whole");
        assert_eq!(rest_m, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
        assert_eq!(faces, [[0, 1, 0]]);
        assert!(mesh(&sent[..20]).is_none() && mesh(&[]).is_none());
    }

    #[test]
    fn a_page_that_comes_later_is_told_what_was_changed() {
        let mut told = facts(&Config::default(), Sides::Both);
        let mut link = |way, oneway_ms| {
            let order = Order::Link {
                way,
                oneway_ms: Some(oneway_ms),
                jitter_ms: None,
                loss: None,
            };
            amend(&mut told, &order);
        };
        link(None, 20.0);
        link(Some(Way::Back), 30.0);
        amend(&mut told, &Order::Impedance { nspm: 25.0 });
        amend(&mut told, &Order::Mode { mode: Mode::Wave });
        let of = |way: &str| told["link"][way]["oneway_ms"].as_f64();
        assert_eq!((of("forward"), of("back")), (Some(20.0), Some(30.0)));
        assert_eq!(
            told["link"]["back"]["loss"],
            json!(Config::default().link.back.loss)
        );
        assert_eq!(
            (&told["impedance_nspm"], &told["mode"]),
            (&json!(25.0), &json!("wave"))
        );
    }

    #[test]
    fn orders_to_sides_that_are_not_there_are_refused_and_the_others_answered() {
        let stop = Arc::new(AtomicBool::new(false));
        let desk = SessionDesk::new(&Config::default(), Sides::Both, &stop);
        desk.stop();
        let said = desk.take(&Order::Stop).expect_err("nobody");
        assert!(said.contains("slave"), "{said}");
        let link = Order::Link {
            way: None,
            oneway_ms: Some(1.0),
            jitter_ms: None,
            loss: None,
        };
        assert!(
            desk.take(&link)
                .expect_err("no network")
                .contains("network")
        );
        let said = desk.take(&Order::Impedance { nspm: f64::NAN });
        assert!(said.expect_err("not a number").contains("0.1 to 1000"));
        assert!(desk.take(&Order::End).is_ok() && stop.load(Ordering::Relaxed));
    }

    #[test]
    fn a_side_at_the_end_of_a_line_is_asked_and_shown() {
        let stop = Arc::new(AtomicBool::new(false));
        let desk = SessionDesk::new(&Config::default(), Sides::Both, &stop);
        let (near, far) = line::pair().expect("sockets");
        desk.attach(Side::Master, near).expect("a thread");
        let side = std::thread::spawn(move || {
            let (mut far, mut message) = (far, Vec::new());
            let block = [7; 8 * wire::FIELDS];
            line::send(&mut far, Kind::State, &block).expect("sent");
            while let Ok(Some(kind)) = line::receive(&mut far, &mut message) {
                if kind == Kind::Order {
                    let asked: Asked = serde_json::from_slice(&message).expect("an order");
                    let answered = Answered::to(asked.id, Ok("done".into()));
                    let text = serde_json::to_vec(&answered).expect("JSON");
                    line::send(&mut far, Kind::Answer, &text).expect("sent");
                }
            }
        });
        let answer = desk.take(&Order::Impedance { nspm: 20.0 });
        assert_eq!(answer.as_deref(), Ok("done"));
        // lines keep their order, so what was sent before the answer is shown
        let shown = desk.board().looks().places[0].state.borrow().clone();
        assert_eq!(shown[wire::HEADER], 7);
        // of a remote side on another host, the operator's is told
        let (near, far) = line::pair().expect("sockets");
        let alone = SessionDesk::new(&Config::default(), Sides::RemoteElsewhere, &stop);
        alone.attach(Side::Master, near).expect("a thread");
        alone.stop();
        let (mut far, mut message, mut told) = (far, Vec::new(), Vec::new());
        while told.len() < 2 {
            let kind = line::receive(&mut far, &mut message).expect("whole");
            if kind == Some(Kind::Order) {
                let asked: Asked = serde_json::from_slice(&message).expect("an order");
                told.push(asked.order);
            }
        }
        let remote = Order::State {
            side: Some(Place::Slave),
            word: Word::Disable,
        };
        assert_eq!(told, [remote, Order::Stop]);
        desk.detach();
        side.join().expect("the line ends");
        assert!(desk.take(&Order::Impedance { nspm: 20.0 }).is_err());
    }
}
