//! Connection of one page: messages to it, and orders from it.
//!
//! One task writes and one reads, so a page that does not read can still stop a session. The shown state is always the
//! newest ([`LatestState`]). Text messages, which must all arrive, wait in a short queue; a page that does not read
//! them is disconnected. One page at a time is the operator's; all may stop. Source: ours.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use palpate_master::device::pointer::PointerTarget;
use palpate_session::monitor::latest_state::StateReceivers;
use palpate_session::monitor::order::{self, NumberedOrder, OperatorOrder, OrderReply};
use palpate_session::monitor::{LatestState, MonitorController, PageResource, wire};
use palpate_transport::AXES;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

/// Text messages that may wait for a page.
const QUEUE_MAX: usize = 32;

/// Orders of one page that may be pending at once.
const PENDING_ORDERS_MAX: usize = 8;

/// Time in which a page must read one message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Invalid messages that a page may send before it is disconnected.
const STRIKES: u32 = 8;

/// Most orders of a session that are logged.
const LOGGED_MAX: usize = 4096;

/// Codes of RFC 6455, section 7.4.1.
const NORMAL: u16 = 1000;
const POLICY: u16 = 1008;
const AGAIN_LATER: u16 = 1013;

/// An order that was executed, or refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OrderLogEntry {
    /// Time of reception, on the monotonic clock \[ns\].
    pub at_ns: i64,
    /// Number of the page.
    pub page: u64,
    /// The order.
    pub order: OperatorOrder,
    /// True if it was executed.
    pub ok: bool,
    /// Result of the order, or reason of the refusal.
    pub text: String,
}

/// All pages of a console.
pub(super) struct PageRegistry {
    pub(super) latest_state: Arc<LatestState>,
    controller: Arc<dyn MonitorController>,
    pages_max: usize,
    connected: Mutex<ConnectedPages>,
    /// True if viewers other than pages are connected.
    has_viewers: AtomicBool,
    aims: AtomicU64,
    pub(super) log: Mutex<Vec<OrderLogEntry>>,
}

#[derive(Debug, Default)]
struct ConnectedPages {
    last: u64,
    operator: Option<u64>,
    senders: BTreeMap<u64, mpsc::Sender<Message>>,
}

/// A connection slot of a page, freed when dropped.
pub(super) struct PageConnection {
    registry: Arc<PageRegistry>,
    number: u64,
    sender: mpsc::Sender<Message>,
}

impl std::fmt::Debug for PageRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageRegistry({:?})", self.connected)
    }
}

/// Locks a mutex, also after a panic.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // a panic leaves the value consistent
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PageRegistry {
    pub(super) fn new(
        latest_state: Arc<LatestState>,
        controller: Arc<dyn MonitorController>,
        pages_max: usize,
    ) -> Self {
        Self {
            latest_state,
            controller,
            pages_max,
            connected: Mutex::default(),
            has_viewers: AtomicBool::new(false),
            aims: AtomicU64::new(0),
            log: Mutex::default(),
        }
    }

    /// Reserves a slot for one more page, if there is one; returns the receiver of its messages as well.
    pub(super) fn connect(
        registry: &Arc<Self>,
    ) -> Option<(PageConnection, mpsc::Receiver<Message>)> {
        let mut connected = lock(&registry.connected);
        if connected.senders.len() >= registry.pages_max {
            return None;
        }
        let (sender, receiver) = mpsc::channel(QUEUE_MAX);
        connected.last += 1;
        let number = connected.last;
        connected.senders.insert(number, sender.clone());
        if connected.senders.len() == 1 {
            registry.controller.set_watched(true);
        }
        let connection = PageConnection {
            registry: Arc::clone(registry),
            number,
            sender,
        };
        Some((connection, receiver))
    }

    /// Records if viewers other than pages are connected.
    pub(super) fn set_viewers(&self, present: bool) {
        let connected = lock(&self.connected);
        self.has_viewers.store(present, Ordering::Relaxed);
        self.controller
            .set_watched(present || !connected.senders.is_empty());
    }

    /// Returns the controller's resource of this name.
    pub(super) fn resource(&self, name: &str) -> Option<PageResource> {
        self.controller.resource(name)
    }

    fn log_order(&self, entry: OrderLogEntry) {
        let mut log = lock(&self.log);
        if log.len() < LOGGED_MAX {
            log.push(entry);
        }
    }

    /// Announces the end of the session to every page, and gives them a moment to receive it.
    pub(super) async fn close(&self) {
        for sender in lock(&self.connected).senders.values() {
            let _ = sender.try_send(close(NORMAL, "the session is over"));
        }
        for _ in 0..20 {
            if lock(&self.connected).senders.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn is_operator(&self, number: u64) -> bool {
        lock(&self.connected).operator == Some(number)
    }

    /// Makes a page the operator's if no other is, or releases the role.
    fn assign_operator(&self, number: u64, wanted: bool) -> OrderReply {
        let mut connected = lock(&self.connected);
        let answer = match (wanted, connected.operator) {
            (true, Some(other)) if other != number => {
                return Err("another page is the operator".into());
            }
            (true, _) => {
                connected.operator = Some(number);
                Ok("you are the operator".into())
            }
            (false, operator) => {
                connected.operator = operator.filter(|holder| *holder != number);
                Ok("you watch".into())
            }
        };
        connected.send_roles();
        drop(connected);
        if !wanted {
            self.release_handle();
        }
        answer
    }

    /// Passes on the pointer target of the operator.
    fn aim(&self, aim: PointerTarget, page_time_ms: f64) {
        let number = self.aims.fetch_add(1, Ordering::Relaxed) + 1;
        self.controller.aim(
            PointerTarget {
                sequence: number,
                ..aim
            },
            page_time_ms,
        );
    }

    /// Releases the handle.
    fn release_handle(&self) {
        let released = PointerTarget {
            position_m: [0.0; AXES],
            ..PointerTarget::default()
        };
        self.aim(released, f64::NAN);
    }
}

impl ConnectedPages {
    /// Sends every page its role; a page that does not read is disconnected by its own task.
    fn send_roles(&self) {
        for (number, sender) in &self.senders {
            let role = json!({
                "kind": "role",
                "page": number,
                "operator": self.operator == Some(*number),
                "taken": self.operator.is_some(),
                "pages": self.senders.len(),
            });
            let _ = sender.try_send(text(&role.to_string()));
        }
    }
}

impl Drop for PageConnection {
    fn drop(&mut self) {
        let registry = &self.registry;
        let mut connected = lock(&registry.connected);
        connected.senders.remove(&self.number);
        let operated = connected.operator == Some(self.number);
        if operated {
            connected.operator = None;
        }
        let empty = connected.senders.is_empty() && !registry.has_viewers.load(Ordering::Relaxed);
        connected.send_roles();
        drop(connected);
        if operated {
            registry.release_handle();
        }
        if empty {
            registry.controller.set_watched(false);
        }
    }
}

/// Serves a page until it disconnects.
pub(super) async fn serve_page(
    socket: WebSocket,
    connection: PageConnection,
    receiver: mpsc::Receiver<Message>,
) {
    let mut state = connection.registry.latest_state.subscribe();
    let hello = json!({
        "kind": "hello",
        "version": env!("CARGO_PKG_VERSION"),
        "layout": wire::VERSION,
        "session": *state.facts.borrow_and_update(),
    });
    let _ = connection.sender.try_send(text(&hello.to_string()));
    // the first page becomes the operator's; a later one receives the role of a watcher
    let _ = connection.registry.assign_operator(connection.number, true);
    lock(&connection.registry.connected).send_roles();
    let (sink, stream) = socket.split();
    let mut writing = tokio::spawn(write_messages(sink, receiver, state));
    tokio::select! {
            _ = &mut writing => {}
            () = read_messages(stream, &connection) => {
            // the last messages are still to be sent
            let _ = tokio::time::timeout(Duration::from_millis(200), &mut writing).await;
            writing.abort();
        }
    }
}

/// Sends the newest state and queued messages, until the page disconnects, does not read, or is closed.
async fn write_messages(
    mut sink: SplitSink<WebSocket, Message>,
    mut receiver: mpsc::Receiver<Message>,
    state: StateReceivers,
) {
    let [mut first, mut beside] = state.sessions;
    let [mut content, mut position] = state.messages;
    let mut facts = state.facts;
    loop {
        let message = tokio::select! {
            biased;
            queued = receiver.recv() => match queued {
                Some(message) => message,
                None => return,
            },
            Ok(()) = facts.changed() => {
                let news = json!({"kind": "facts", "session": *facts.borrow_and_update()});
                Message::Text(news.to_string().into())
            }
            Ok(()) = content.changed() => text(&content.borrow_and_update()),
                        Ok(()) = position.changed() => text(&position.borrow_and_update()),
                        Ok(()) = first.mesh.changed() => binary(&first.mesh.borrow_and_update()),
                        Ok(()) = beside.mesh.changed() => binary(&beside.mesh.borrow_and_update()),
                        Ok(()) = first.state.changed() => binary(&first.state.borrow_and_update()),
                        Ok(()) = beside.state.changed() => binary(&beside.state.borrow_and_update()),
                        Ok(()) = first.surface.changed() => binary(&first.surface.borrow_and_update()),
                        Ok(()) = beside.surface.changed() => binary(&beside.surface.borrow_and_update()),
            else => return,
        };
        let empty = match &message {
            Message::Binary(bytes) => bytes.is_empty(),
            Message::Text(text) => text.is_empty(),
            _ => false,
        };
        if empty {
            continue;
        }
        let last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(SEND_TIMEOUT, sink.send(message)).await;
        if last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn binary(bytes: &Bytes) -> Message {
    Message::Binary(bytes.clone())
}

fn text(word: &str) -> Message {
    Message::Text(word.into())
}

fn close(code: u16, reason: &'static str) -> Message {
    let reason = reason.into();
    Message::Close(Some(CloseFrame { code, reason }))
}

/// Reads the messages of a page until it disconnects, or sends too many invalid ones.
async fn read_messages(mut stream: SplitStream<WebSocket>, connection: &PageConnection) {
    let orders = Arc::new(Semaphore::new(PENDING_ORDERS_MAX));
    let mut strikes = 0;
    while let Some(message) = stream.next().await {
        let accepted = match message {
            Ok(Message::Text(text)) => connection.take_order(&text, &orders),
            Ok(Message::Binary(bytes)) => connection.point(&bytes).map_err(str::to_owned),
            Ok(Message::Close(_)) => return,
            Ok(_) => Ok(()),
            // too long, or no WebSocket
            Err(_) => return connection.close(POLICY, "not a message of the console"),
        };
        let Err(reason) = accepted else { continue };
        strikes += 1;
        if strikes >= STRIKES {
            return connection.close(POLICY, "too many invalid messages");
        }
        let refused = json!({"kind": "refused", "text": reason}).to_string();
        if connection.sender.try_send(text(&refused)).is_err() {
            return connection.close(AGAIN_LATER, "this page does not read");
        }
    }
}

impl PageConnection {
    fn close(&self, code: u16, reason: &'static str) {
        // a page with a full queue is disconnected without a message
        let _ = self.sender.try_send(close(code, reason));
    }

    /// Accepts an aim; that of a page that only watches is ignored.
    fn point(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let (aim, page_time_ms) = wire::parse_aim(bytes)?;
        if self.registry.is_operator(self.number) {
            self.registry.aim(aim, page_time_ms);
        }
        Ok(())
    }

    /// Accepts an order, and answers it when it is done.
    fn take_order(&self, text: &str, orders: &Arc<Semaphore>) -> Result<(), String> {
        let at_ns = MonotonicClock.now().0;
        let NumberedOrder { id, order } = order::read(text)?;
        if order == OperatorOrder::Stop {
            // with priority, from any page
            self.registry.controller.stop();
        }
        let answer = match order {
            OperatorOrder::Operate | OperatorOrder::Watch => Some(
                self.registry
                    .assign_operator(self.number, order == OperatorOrder::Operate),
            ),
            OperatorOrder::Stop => None,
            _ if self.registry.is_operator(self.number) => None,
            _ => Some(Err("you watch; only the operator may do this".into())),
        };
        let entry = OrderLogEntry {
            at_ns,
            page: self.number,
            order,
            ok: false,
            text: String::new(),
        };
        match answer {
            Some(answer) => reply(&self.registry, &self.sender, id, entry, answer),
            None => self.run_order(id, entry, orders),
        }
        Ok(())
    }

    /// Lets the controller execute an order on a thread that may wait.
    fn run_order(&self, id: u64, entry: OrderLogEntry, orders: &Arc<Semaphore>) {
        let (registry, sender) = (Arc::clone(&self.registry), self.sender.clone());
        let Ok(permit) = Arc::clone(orders).try_acquire_owned() else {
            let reason = format!("{PENDING_ORDERS_MAX} orders are pending already");
            return reply(&registry, &sender, id, entry, Err(reason));
        };
        let controller = Arc::clone(&registry.controller);
        tokio::spawn(async move {
            let order = entry.order.clone();
            let done = tokio::task::spawn_blocking(move || controller.execute(&order)).await;
            let answer = done.unwrap_or_else(|_| Err("the console failed to execute it".into()));
            drop(permit);
            reply(&registry, &sender, id, entry, answer);
        });
    }
}

/// Logs an answer and sends it.
fn reply(
    registry: &PageRegistry,
    sender: &mpsc::Sender<Message>,
    id: u64,
    entry: OrderLogEntry,
    answer: OrderReply,
) {
    let ok = answer.is_ok();
    let text = answer.unwrap_or_else(|reason| reason);
    let message = json!({"kind": "answer", "id": id, "ok": ok, "text": text});
    registry.log_order(OrderLogEntry { ok, text, ..entry });
    // a page that does not read its answers loses them
    let _ = sender.try_send(self::text(&message.to_string()));
}
