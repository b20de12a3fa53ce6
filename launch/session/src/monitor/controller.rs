//! Monitor controller of a session whose sides are connected by ipc: forwards requests and receives the sides'
//! state.
//!
//! Orders wait for their reply for a bounded time; a stop and a pointer target wait for nothing. Changes of the
//! network go to its builder. Source: ours.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palpate_master::device::HandleKind;
use palpate_master::device::pointer::PointerTarget;
use palpate_transport::cdr;
use palpate_transport::coupling::Mode;
use palpate_transport::link::LinkParams;
use palpate_transport::trace::Side;
use serde_json::{Value, json};

use super::ipc::{self, MessageKind};
use super::order::{LinkUpdate, NumberedOrder, OperatorOrder, OrderReply, StateCommand};
use super::{LatestState, MonitorController, coupling_change, wire};
use crate::config::Config;
use crate::lab;
use crate::netlab::LinkDirection;

/// Longest time for the reply of a side.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest time of a write to a side; a slower side is treated as gone.
const READS: Duration = Duration::from_millis(20);

/// A change of the network that waits for its builder, with the channel of the reply.
pub(crate) type LinkOrder = (LinkUpdate, Sender<OrderReply>);

/// Sides of a session that the controller reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSides {
    /// Both sides, each with an ipc link.
    Both,
    /// The remote side is on another host; the operator's side commands it on the bus.
    RemoteElsewhere,
    /// No remote side exists.
    OperatorOnly,
}

/// Monitor controller of a session.
#[derive(Debug)]
pub struct SessionController {
    config: Config,
    latest_state: Arc<LatestState>,
    /// Ipc link of each side, with a number that distinguishes it from earlier links.
    links: [Mutex<Option<(u64, UnixStream)>>; 2],
    waiting: Mutex<BTreeMap<u64, Sender<OrderReply>>>,
    next: AtomicU64,
    link: Mutex<Option<Sender<LinkOrder>>>,
    watched: AtomicBool,
    changes: Mutex<Vec<String>>,
    /// True after a stop, until motion is enabled; a side that connects meanwhile is stopped too.
    halted: AtomicBool,
    sides: SessionSides,
    stop: Arc<AtomicBool>,
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // no panic leaves the data inconsistent
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionController {
    /// True after a stop, until motion is enabled.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    /// Returns the controller of a session of this configuration, without links; `stop` ends the session.
    #[must_use]
    pub fn new(config: &Config, sides: SessionSides, stop: &Arc<AtomicBool>) -> Arc<Self> {
        let latest_state = Arc::new(LatestState::new(facts(config, sides)));
        Self::with_latest_state(config, latest_state, sides, stop)
    }

    /// Returns a controller that shows in an existing latest state.
    #[must_use]
    pub fn with_latest_state(
        config: &Config,
        latest_state: Arc<LatestState>,
        sides: SessionSides,
        stop: &Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            latest_state,
            config: config.clone(),
            links: [Mutex::new(None), Mutex::new(None)],
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

    /// State that is shown.
    #[must_use]
    pub fn latest_state(&self) -> &Arc<LatestState> {
        &self.latest_state
    }

    /// Connects a side through this end of an ipc link.
    ///
    /// # Errors
    /// The system cannot give a thread or a descriptor.
    pub fn attach(self: &Arc<Self>, side: Side, stream: UnixStream) -> io::Result<()> {
        stream.set_write_timeout(Some(READS))?;
        let receiving = stream.try_clone()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        *lock(&self.links[side as usize]) = Some((number, stream));
        self.send_to(
            side,
            MessageKind::Watched,
            &[u8::from(self.watched.load(Ordering::Relaxed))],
        );
        if self.halted.load(Ordering::SeqCst) {
            self.order(side, 0, &OperatorOrder::Stop);
        }
        let controller = Arc::clone(self);
        std::thread::Builder::new()
            .name("console-link".into())
            .spawn(move || {
                controller.receive_from(side, receiving);
                // a link that was attached later stays
                lock(&controller.links[side as usize]).take_if(|(known, _)| *known == number);
            })?;
        Ok(())
    }

    /// Opens the queue of network changes for the builder of the network; an earlier queue is closed.
    pub(crate) fn link_orders(&self) -> Receiver<LinkOrder> {
        let (sender, receiver) = channel();
        *lock(&self.link) = Some(sender);
        receiver
    }

    /// Description of the changes made while the session ran; none if there were none.
    #[must_use]
    pub fn changes(&self) -> Option<String> {
        let changes = lock(&self.changes);
        (!changes.is_empty()).then(|| {
            let all = changes.join("; ");
            format!("Changed from the console, so its configuration does not say all of it: {all}.")
        })
    }

    /// Executes an order that changes the session, and records it.
    fn change(&self, order: &OperatorOrder) -> OrderReply {
        let (reply, what) = match *order {
            OperatorOrder::Link(update) => {
                let change = [update.oneway_ms, update.jitter_ms, update.loss];
                let names = ["delay", "jitter", "loss"].iter().zip(change);
                let parts = names.filter_map(|(name, to)| Some(format!("{name} {}", to?)));
                let directions = update
                    .direction
                    .map_or("both directions", LinkDirection::name);
                let all: Vec<String> = parts.collect();
                (
                    self.link(update),
                    format!("{} {directions}", all.join(", ")),
                )
            }
            OperatorOrder::Impedance { nspm } => {
                coupling_change::check_impedance(nspm)?;
                let reply = self.request(Side::Master, order);
                (reply, format!("impedance {nspm} N s/m"))
            }
            OperatorOrder::Mode { mode } => {
                coupling_change::check_mode(&self.config, mode)?;
                if self.sides == SessionSides::RemoteElsewhere {
                    return Err("both sides must change, and the other is on another host".into());
                }
                // the slave must accept the mode before the first frame in it
                (
                    self.request_all(self.sides(), order),
                    format!("mode {}", mode.name()),
                )
            }
            _ => return Err("this changes nothing".into()),
        };
        if reply.is_ok() {
            lock(&self.changes).push(what);
            self.latest_state.update_facts(|facts| amend(facts, order));
        }
        reply
    }

    /// Disconnects the sides; their processes end their links.
    pub(crate) fn detach(&self) {
        *lock(&self.link) = None;
        for link in &self.links {
            if let Some((_, stream)) = lock(link).take() {
                // the stream may be closed already
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Reads messages of a side until its link is closed.
    fn receive_from(&self, side: Side, mut stream: UnixStream) {
        let (shown_state, mut message) = (self.latest_state.session(0), Vec::new());
        while let Ok(Some(kind)) = ipc::receive(&mut stream, &mut message) {
            match kind {
                MessageKind::State => {
                    let Some((block, record)) = message.split_first_chunk() else {
                        continue;
                    };
                    shown_state.show(side, block);
                    if shown_state.wants_records()
                        && let Ok(record) = cdr::decode(record)
                    {
                        shown_state.record(&record);
                    }
                }
                MessageKind::Mesh => {
                    if let Some((nodes, sent)) = message.split_first_chunk::<4>() {
                        shown_state.put_mesh(u32::from_le_bytes(*nodes) as usize, sent);
                    }
                }
                MessageKind::Surface => shown_state.put_surface(&message),
                MessageKind::Answer => {
                    let answered: Result<(u64, OrderReply), _> = serde_json::from_slice(&message);
                    if let Ok((id, answer)) = answered
                        && let Some(waiting) = lock(&self.waiting).remove(&id)
                    {
                        let _ = waiting.send(answer);
                    }
                }
                MessageKind::Asks => {
                    let name = String::from_utf8_lossy(&message);
                    let asks = (!name.is_empty()).then_some(name);
                    self.latest_state
                        .update_facts(|facts| facts["asks"] = json!(asks));
                }
                // kinds that only a controller sends
                MessageKind::Order | MessageKind::Aim | MessageKind::Watched => {}
            }
        }
    }

    /// Sends a message to a side; returns false if it is not connected.
    fn send_to(&self, side: Side, kind: MessageKind, message: &[u8]) -> bool {
        let mut link = lock(&self.links[side as usize]);
        let Some((_, stream)) = link.as_mut() else {
            return false;
        };
        let sent = ipc::send(stream, kind, message).is_ok();
        if !sent {
            // half a message may be out, so the link is unusable
            let _ = stream.shutdown(Shutdown::Both);
            *link = None;
        }
        sent
    }

    fn order(&self, side: Side, id: u64, order: &OperatorOrder) -> bool {
        let (side, order) = match *order {
            OperatorOrder::Stop | OperatorOrder::State { .. }
                if self.sides == SessionSides::RemoteElsewhere && side == Side::Slave =>
            {
                let word = match *order {
                    OperatorOrder::State { word, .. } => word,
                    _ => StateCommand::Disable,
                };
                let side = Some(Side::Slave);
                (Side::Master, OperatorOrder::State { side, word })
            }
            _ => (side, order.clone()),
        };
        let text = serde_json::to_vec(&NumberedOrder { id, order }).unwrap_or_default();
        self.send_to(side, MessageKind::Order, &text)
    }

    /// Sends an order to a side and waits for its reply.
    fn request(&self, side: Side, order: &OperatorOrder) -> OrderReply {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answers, answered) = channel();
        lock(&self.waiting).insert(id, answers);
        let answer = if self.order(side, id, order) {
            let silent = |_| Err(format!("the {} does not answer", side.name()));
            answered.recv_timeout(PATIENCE).unwrap_or_else(silent)
        } else {
            Err(format!("the {} is not there", side.name()))
        };
        lock(&self.waiting).remove(&id);
        answer.map_err(|reason| format!("{}: {reason}", side.name()))
    }

    /// Sends an order to the sides one after another; the first refusal ends it.
    fn request_all(&self, sides: &[Side], order: &OperatorOrder) -> OrderReply {
        let mut reply = Vec::new();
        for &side in sides {
            reply.push(format!("{} {}", side.name(), self.request(side, order)?));
        }
        Ok(reply.join(", "))
    }

    fn link(&self, update: LinkUpdate) -> OrderReply {
        let (answer, answered) = channel();
        let order = (update, answer);
        let sent = lock(&self.link).as_ref().map(|link| link.send(order));
        if !matches!(sent, Some(Ok(()))) {
            return Err("this session's network is not ours to change".into());
        }
        let reply = answered.recv_timeout(PATIENCE);
        reply.unwrap_or_else(|_| Err("the network does not answer".into()))
    }

    /// Sides that receive an order, in this order.
    fn sides(&self) -> &'static [Side] {
        match self.sides {
            SessionSides::Both | SessionSides::RemoteElsewhere => &[Side::Slave, Side::Master],
            SessionSides::OperatorOnly => &[Side::Master],
        }
    }

    /// Sends the target of an input device of this machine, unless a page drives the handle.
    pub(crate) fn send_device_aim(&self, aim: PointerTarget) {
        if !by_page(&self.config) {
            self.send_to(
                Side::Master,
                MessageKind::Aim,
                &wire::aim_bytes(&aim, f64::NAN),
            );
        }
    }
}

impl MonitorController for SessionController {
    fn execute(&self, order: &OperatorOrder) -> OrderReply {
        match *order {
            // `stop` has run before this; here the replies are collected
            OperatorOrder::Stop => self.request_all(self.sides(), order),
            OperatorOrder::State { side, word } => {
                if word == StateCommand::Enable {
                    self.halted.store(false, Ordering::SeqCst);
                }
                match side {
                    Some(side) => self.request(side, order),
                    None => self.request_all(self.sides(), order),
                }
            }
            OperatorOrder::Link(_)
            | OperatorOrder::Impedance { .. }
            | OperatorOrder::Mode { .. } => self.change(order),
            // the master alone knows the request, and ends by the grant
            OperatorOrder::HandOver { .. } => self.request(Side::Master, order),
            OperatorOrder::End => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("the session ends".into())
            }
            _ => Err("this session does not support the order".into()),
        }
    }

    fn stop(&self) {
        self.halted.store(true, Ordering::SeqCst);
        for &side in self.sides() {
            self.order(side, 0, &OperatorOrder::Stop);
        }
    }

    fn aim(&self, aim: PointerTarget, page_time_ms: f64) {
        if by_page(&self.config) {
            self.send_to(
                Side::Master,
                MessageKind::Aim,
                &wire::aim_bytes(&aim, page_time_ms),
            );
        }
    }

    fn set_watched(&self, anybody: bool) {
        self.watched.store(anybody, Ordering::Relaxed);
        self.send_to(Side::Master, MessageKind::Watched, &[u8::from(anybody)]);
    }
}

/// Records a change in the session facts, for pages that connect later.
fn amend(facts: &mut Value, order: &OperatorOrder) {
    match order {
        OperatorOrder::Impedance { nspm } => facts["impedance_nspm"] = json!(nspm),
        OperatorOrder::Mode { mode } => facts["mode"] = json!(mode.name()),
        OperatorOrder::Link(update) => {
            let change = [
                ("oneway_ms", update.oneway_ms),
                ("jitter_ms", update.jitter_ms),
                ("loss", update.loss),
            ];
            for way in update.directions() {
                for (field, value) in change {
                    if let Some(value) = value {
                        facts["link"][way.name()][field] = json!(value);
                    }
                }
            }
        }
        _ => {}
    }
}

/// True if a page drives the handle.
fn by_page(config: &Config) -> bool {
    config.operator.handle == HandleKind::Pointer && config.operator.device.is_none()
}

/// Session facts for a page.
#[must_use]
pub fn facts(config: &Config, sides: SessionSides) -> Value {
    let alone = sides != SessionSides::Both;
    let link = |link: &LinkParams| json!({"oneway_ms": link.oneway_ms, "jitter_ms": link.jitter_ms, "loss": link.loss});
    let modes = Mode::ALL.into_iter();
    let permitted = |mode: Mode| !alone && coupling_change::check_mode(config, mode).is_ok();
    let modes: Vec<_> = modes
        .filter(|mode| *mode == config.coupling.mode || permitted(*mode))
        .map(
            |mode| json!({"name": mode.name(), "code": mode.code(), "now": mode.resolved().name()}),
        )
        .collect();
    let scene = lab::load_scene(&config.twin, "twin");
    let twin = scene.ok().map(|scene| scene.name);
    let links = json!({"forward": link(&config.link.forward), "back": link(&config.link.back)});
    json!({
        "name": config.name,
        "duration_s": config.duration_s,
        "pointer": by_page(config),
        "device": config.operator.device,
        "twin": twin,
        "mode": config.coupling.mode.name(),
        "modes": modes,
        "impedance_nspm": config.coupling.impedance_nspm,
        "active_j_max": config.coupling.active_j_max,
        "link": if alone { Value::Null } else { links },
        "tool_radius_m": config.master.predict.tool_radius_m,
        "tool_edges_m": config.master.predict.tool_shape.edges_m().map(|edge_m| [edge_m.x, edge_m.y, edge_m.z]),
        "start_m": config.operator.script.start_m(),
        "force_n_max": config.master.guard.force_n_max,
        "release_s": config.operator.release_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_facts_include_later_changes() {
        let mut facts = facts(&Config::default(), SessionSides::Both);
        let mut link = |direction, oneway_ms| {
            let order = OperatorOrder::Link(LinkUpdate {
                direction,
                oneway_ms: Some(oneway_ms),
                ..LinkUpdate::default()
            });
            amend(&mut facts, &order);
        };
        link(None, 20.0);
        link(Some(LinkDirection::Back), 30.0);
        amend(&mut facts, &OperatorOrder::Impedance { nspm: 25.0 });
        amend(&mut facts, &OperatorOrder::Mode { mode: Mode::Wave });
        let of = |direction: &str| facts["link"][direction]["oneway_ms"].as_f64();
        assert_eq!((of("forward"), of("back")), (Some(20.0), Some(30.0)));
        assert_eq!(
            facts["link"]["back"]["loss"],
            json!(Config::default().link.back.loss)
        );
        assert_eq!(
            (&facts["impedance_nspm"], &facts["mode"]),
            (&json!(25.0), &json!("wave"))
        );
    }

    #[test]
    fn orders_to_missing_sides_are_refused() {
        let stop = Arc::new(AtomicBool::new(false));
        let controller = SessionController::new(&Config::default(), SessionSides::Both, &stop);
        controller.stop();
        let reply = controller
            .execute(&OperatorOrder::Stop)
            .expect_err("nobody");
        assert!(reply.contains("slave"), "{reply}");
        let link = OperatorOrder::Link(LinkUpdate {
            oneway_ms: Some(1.0),
            ..LinkUpdate::default()
        });
        assert!(
            controller
                .execute(&link)
                .expect_err("no network")
                .contains("network")
        );
        let reply = controller.execute(&OperatorOrder::Impedance { nspm: f64::NAN });
        assert!(reply.expect_err("not a number").contains("0.1 to 1000"));
        assert!(controller.execute(&OperatorOrder::End).is_ok() && stop.load(Ordering::Relaxed));
    }

    #[test]
    fn attached_side_replies_and_is_shown() {
        let stop = Arc::new(AtomicBool::new(false));
        let controller = SessionController::new(&Config::default(), SessionSides::Both, &stop);
        let (near, far) = UnixStream::pair().expect("sockets");
        controller.attach(Side::Master, near).expect("a thread");
        let side = std::thread::spawn(move || {
            let (mut far, mut message) = (far, Vec::new());
            let block = [7; 8 * wire::FIELDS];
            ipc::send(&mut far, MessageKind::State, &block).expect("sent");
            while let Ok(Some(kind)) = ipc::receive(&mut far, &mut message) {
                if kind == MessageKind::Order {
                    let received: NumberedOrder =
                        serde_json::from_slice(&message).expect("an order");
                    let answered = (received.id, OrderReply::Ok("done".into()));
                    let text = serde_json::to_vec(&answered).expect("JSON");
                    ipc::send(&mut far, MessageKind::Answer, &text).expect("sent");
                }
            }
        });
        let answer = controller.execute(&OperatorOrder::Impedance { nspm: 20.0 });
        assert_eq!(answer.as_deref(), Ok("done"));
        // messages keep their order, so the state sent before the reply is shown
        let state = controller.latest_state().subscribe().sessions[0]
            .state
            .borrow()
            .clone();
        assert_eq!(state[wire::HEADER], 7);
        // orders for a remote side on another host go to the operator's side
        let (near, far) = UnixStream::pair().expect("sockets");
        let alone =
            SessionController::new(&Config::default(), SessionSides::RemoteElsewhere, &stop);
        alone.attach(Side::Master, near).expect("a thread");
        alone.stop();
        let (mut far, mut message, mut orders) = (far, Vec::new(), Vec::new());
        while orders.len() < 2 {
            let kind = ipc::receive(&mut far, &mut message).expect("whole");
            if kind == Some(MessageKind::Order) {
                let received: NumberedOrder = serde_json::from_slice(&message).expect("an order");
                orders.push(received.order);
            }
        }
        let remote = OperatorOrder::State {
            side: Some(Side::Slave),
            word: StateCommand::Disable,
        };
        assert_eq!(orders, [remote, OperatorOrder::Stop]);
        controller.detach();
        side.join().expect("the link ends");
        assert!(
            controller
                .execute(&OperatorOrder::Impedance { nspm: 20.0 })
                .is_err()
        );
    }
}
