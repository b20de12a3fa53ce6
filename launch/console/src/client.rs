//! One page: what it is sent, and what it asks for.
//!
//! One task writes and one reads, so a page that does not read can still stop a session. What is shown is always the
//! newest ([`Board`]); words, which must all arrive, wait in a short queue, and a page that leaves them there is
//! let go. One page at a time is the operator's; all may stop. Source: ours.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use palpate_master::device::pointer::Aim;
use palpate_session::monitor::board::Looks;
use palpate_session::monitor::order::{self, Answer, Answered, Asked, Order};
use palpate_session::monitor::{Board, Desk, Resource, wire};
use palpate_transport::AXES;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

/// Words that may wait for a page.
const WORDS: usize = 32;

/// Orders of one page that may be under way at once.
const ORDERS: usize = 8;

/// How long a page may take to read one message.
const PATIENCE: Duration = Duration::from_secs(5);

/// Messages that are none which a page may send before it is let go.
const STRIKES: u32 = 8;

/// Orders that are remembered of a session.
const LOGGED_MAX: usize = 4096;

/// Codes of RFC 6455, section 7.4.1.
const NORMAL: u16 = 1000;
const POLICY: u16 = 1008;
const AGAIN_LATER: u16 = 1013;

/// An order that was taken, or refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Logged {
    /// When it was heard, on the monotonic clock \[ns\].
    pub at_ns: i64,
    /// Number of the page.
    pub page: u64,
    /// What was asked for.
    pub order: Order,
    /// Whether it was done.
    pub ok: bool,
    /// What was done, or why not.
    pub text: String,
}

/// All pages of a console.
pub(super) struct House {
    board: Arc<Board>,
    desk: Arc<dyn Desk>,
    pages: usize,
    seats: Mutex<Seats>,
    /// Whether others than pages look.
    looked: AtomicBool,
    aims: AtomicU64,
    log: Mutex<Vec<Logged>>,
}

#[derive(Debug, Default)]
struct Seats {
    last: u64,
    operator: Option<u64>,
    taken: BTreeMap<u64, mpsc::Sender<Words>>,
}

/// What is said to one page.
#[derive(Debug)]
enum Words {
    Text(String),
    Close(u16, &'static str),
}

/// A page's place; given back when dropped.
pub(super) struct Seat {
    house: Arc<House>,
    number: u64,
    words: mpsc::Sender<Words>,
    heard: Option<mpsc::Receiver<Words>>,
}

impl std::fmt::Debug for House {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("House")
            .field("seats", &self.seats)
            .finish_non_exhaustive()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // whoever panicked left it whole
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl House {
    pub(super) fn new(board: Arc<Board>, desk: Arc<dyn Desk>, pages: usize) -> Self {
        Self {
            board,
            desk,
            pages,
            seats: Mutex::default(),
            looked: AtomicBool::new(false),
            aims: AtomicU64::new(0),
            log: Mutex::default(),
        }
    }

    /// A place for one more page, if there is one.
    pub(super) fn seat(house: &Arc<Self>) -> Option<Seat> {
        let mut seats = lock(&house.seats);
        if seats.taken.len() >= house.pages {
            return None;
        }
        let (words, heard) = mpsc::channel(WORDS);
        seats.last += 1;
        let number = seats.last;
        seats.taken.insert(number, words.clone());
        if seats.taken.len() == 1 {
            house.desk.watched(true);
        }
        Some(Seat {
            house: Arc::clone(house),
            number,
            words,
            heard: Some(heard),
        })
    }

    pub(super) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Whether others than pages look at what is shown.
    pub(super) fn look(&self, anybody: bool) {
        let seats = lock(&self.seats);
        self.looked.store(anybody, Ordering::Relaxed);
        self.desk.watched(anybody || !seats.taken.is_empty());
    }

    /// What the desk has under this name.
    pub(super) fn resource(&self, name: &str) -> Option<Resource> {
        self.desk.resource(name)
    }

    pub(super) fn log(&self) -> Vec<Logged> {
        lock(&self.log).clone()
    }

    fn note(&self, logged: Logged) {
        let mut log = lock(&self.log);
        if log.len() < LOGGED_MAX {
            log.push(logged);
        }
    }

    /// Tell every page that the session is over, and give them a moment to hear it.
    pub(super) async fn close(&self) {
        for words in lock(&self.seats).taken.values() {
            let _ = words.try_send(Words::Close(NORMAL, "the session is over"));
        }
        for _ in 0..20 {
            if lock(&self.seats).taken.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn is_operator(&self, number: u64) -> bool {
        lock(&self.seats).operator == Some(number)
    }

    /// Make a page the operator's if nobody is, or free the place if it was.
    fn operate(&self, number: u64, wanted: bool) -> Answer {
        let mut seats = lock(&self.seats);
        let answer = match (wanted, seats.operator) {
            (true, Some(other)) if other != number => {
                return Err("somebody else is the operator".into());
            }
            (true, _) => {
                seats.operator = Some(number);
                Ok("you are the operator".into())
            }
            (false, operator) => {
                seats.operator = operator.filter(|held| *held != number);
                Ok("you watch".into())
            }
        };
        seats.tell_roles();
        drop(seats);
        if !wanted {
            self.let_go();
        }
        answer
    }

    /// Where the pointer of the operator is.
    fn aim(&self, aim: Aim, said_ms: f64) {
        let number = self.aims.fetch_add(1, Ordering::Relaxed) + 1;
        self.desk.aim(Aim { number, ..aim }, said_ms);
    }

    /// Nobody leads the handle any more.
    fn let_go(&self) {
        let nothing = Aim {
            position_m: [0.0; AXES],
            ..Aim::default()
        };
        self.aim(nothing, f64::NAN);
    }
}

impl Seats {
    /// Tell every page who it is; one that does not listen is let go by its own task.
    fn tell_roles(&self) {
        for (number, words) in &self.taken {
            let role = json!({
                "kind": "role",
                "page": number,
                "operator": self.operator == Some(*number),
                "taken": self.operator.is_some(),
                "pages": self.taken.len(),
            });
            let _ = words.try_send(Words::Text(role.to_string()));
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let house = &self.house;
        let mut seats = lock(&house.seats);
        seats.taken.remove(&self.number);
        let operated = seats.operator == Some(self.number);
        if operated {
            seats.operator = None;
        }
        let empty = seats.taken.is_empty() && !house.looked.load(Ordering::Relaxed);
        seats.tell_roles();
        drop(seats);
        if operated {
            house.let_go();
        }
        if empty {
            house.desk.watched(false);
        }
    }
}

/// Serve a page until it goes.
pub(super) async fn attend(socket: WebSocket, mut seat: Seat) {
    let Some(heard) = seat.heard.take() else {
        return;
    };
    let mut looks = seat.house.board.looks();
    let hello = json!({
        "kind": "hello",
        "version": env!("CARGO_PKG_VERSION"),
        "layout": wire::VERSION,
        "session": *looks.facts.borrow_and_update(),
    });
    let _ = seat.words.try_send(Words::Text(hello.to_string()));
    // the first that comes is the operator; whoever comes later is told that it watches
    let _ = seat.house.operate(seat.number, true);
    lock(&seat.house.seats).tell_roles();
    let (out, words) = socket.split();
    let mut writing = tokio::spawn(write(out, heard, looks));
    tokio::select! {
        _ = &mut writing => {}
        () = read(words, &seat) => {
            // what was said last is still to be heard
            let _ = tokio::time::timeout(Duration::from_millis(200), &mut writing).await;
            writing.abort();
        }
    }
}

/// Send what is newest and what is said, until the page goes, does not read, or is told to go.
async fn write(
    mut out: SplitSink<WebSocket, Message>,
    mut heard: mpsc::Receiver<Words>,
    looks: Looks,
) {
    let [mut at, mut beside] = looks.places;
    let [mut whole, mut moment] = looks.words;
    let mut facts = looks.facts;
    loop {
        let message = tokio::select! {
            biased;
            words = heard.recv() => match words {
                Some(Words::Text(text)) => Message::Text(text.into()),
                Some(Words::Close(code, reason)) => {
                    let frame = CloseFrame { code, reason: reason.into() };
                    let _ = tokio::time::timeout(PATIENCE, out.send(Message::Close(Some(frame)))).await;
                    return;
                }
                None => return,
            },
            Ok(()) = facts.changed() => {
                let news = json!({"kind": "facts", "session": *facts.borrow_and_update()});
                Message::Text(news.to_string().into())
            }
            Ok(()) = whole.changed() => text(&whole.borrow_and_update()),
            Ok(()) = moment.changed() => text(&moment.borrow_and_update()),
            Ok(()) = at.mesh.changed() => binary(&at.mesh.borrow_and_update()),
            Ok(()) = beside.mesh.changed() => binary(&beside.mesh.borrow_and_update()),
            Ok(()) = at.state.changed() => binary(&at.state.borrow_and_update()),
            Ok(()) = beside.state.changed() => binary(&beside.state.borrow_and_update()),
            Ok(()) = at.surface.changed() => binary(&at.surface.borrow_and_update()),
            Ok(()) = beside.surface.changed() => binary(&beside.surface.borrow_and_update()),
            else => return,
        };
        let empty = match &message {
            Message::Binary(bytes) => bytes.is_empty(),
            Message::Text(text) => text.as_str().is_empty(),
            _ => false,
        };
        if empty {
            continue;
        }
        match tokio::time::timeout(PATIENCE, out.send(message)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

fn binary(bytes: &Bytes) -> Message {
    Message::Binary(bytes.clone())
}

fn text(word: &str) -> Message {
    Message::Text(word.into())
}

/// Hear what a page says until it goes, or says what is none.
async fn read(mut words: SplitStream<WebSocket>, seat: &Seat) {
    let orders = Arc::new(Semaphore::new(ORDERS));
    let mut strikes = 0;
    while let Some(message) = words.next().await {
        let said = match message {
            Ok(Message::Text(text)) => seat.hear(&text, &orders),
            Ok(Message::Binary(bytes)) => seat.point(&bytes).map_err(str::to_owned),
            Ok(Message::Close(_)) => return,
            Ok(_) => Ok(()),
            // too long, or no WebSocket
            Err(_) => return seat.close(POLICY, "not a message of the console"),
        };
        let Err(reason) = said else { continue };
        strikes += 1;
        if strikes >= STRIKES {
            return seat.close(POLICY, "too much that is no message of the console");
        }
        let refused = json!({"kind": "refused", "text": reason}).to_string();
        if seat.words.try_send(Words::Text(refused)).is_err() {
            return seat.close(AGAIN_LATER, "this page does not read");
        }
    }
}

impl Seat {
    fn close(&self, code: u16, reason: &'static str) {
        // a page with a full queue is let go without a word
        let _ = self.words.try_send(Words::Close(code, reason));
    }

    /// Take an aim; of a page that only watches it is nothing.
    fn point(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let (aim, said_ms) = wire::aim(bytes)?;
        if self.house.is_operator(self.number) {
            self.house.aim(aim, said_ms);
        }
        Ok(())
    }

    /// Take an order, and answer it when it is done.
    fn hear(&self, text: &str, orders: &Arc<Semaphore>) -> Result<(), String> {
        let at_ns = MonotonicClock.now().0;
        let Asked { id, order } = order::read(text)?;
        let ordered = Ordered {
            id,
            at_ns,
            page: self.number,
            order,
        };
        if ordered.order == Order::Stop {
            // before all else, and whoever says it
            self.house.desk.stop();
        } else if !matches!(ordered.order, Order::Operate | Order::Watch)
            && !self.house.is_operator(self.number)
        {
            self.answer(ordered, Err("you watch; the operator may do this".into()));
            return Ok(());
        }
        match ordered.order {
            Order::Operate | Order::Watch => {
                let operates = ordered.order == Order::Operate;
                let answer = self.house.operate(self.number, operates);
                self.answer(ordered, answer);
            }
            _ => self.hand_over(ordered, orders),
        }
        Ok(())
    }

    /// Let the desk do it on a thread that may wait.
    fn hand_over(&self, ordered: Ordered, orders: &Arc<Semaphore>) {
        let Ok(place) = Arc::clone(orders).try_acquire_owned() else {
            let reason = format!("{ORDERS} orders are under way already");
            return self.answer(ordered, Err(reason));
        };
        let (house, words) = (Arc::clone(&self.house), self.words.clone());
        let desk = Arc::clone(&house.desk);
        tokio::spawn(async move {
            let asked = ordered.order.clone();
            let done = tokio::task::spawn_blocking(move || desk.take(&asked)).await;
            let answer = done.unwrap_or_else(|_| Err("the console broke over it".into()));
            drop(place);
            tell(&house, &words, ordered, answer);
        });
    }

    fn answer(&self, ordered: Ordered, answer: Answer) {
        tell(&self.house, &self.words, ordered, answer);
    }
}

/// An order of a page, and when it came.
struct Ordered {
    id: u64,
    at_ns: i64,
    page: u64,
    order: Order,
}

/// Note an answer and send it.
fn tell(house: &House, words: &mpsc::Sender<Words>, ordered: Ordered, answer: Answer) {
    let Answered { id, ok, text } = Answered::to(ordered.id, answer);
    let message = json!({"kind": "answer", "id": id, "ok": ok, "text": text});
    house.note(Logged {
        at_ns: ordered.at_ns,
        page: ordered.page,
        order: ordered.order,
        ok,
        text,
    });
    // a page that does not read its answers goes without
    let _ = words.try_send(Words::Text(message.to_string()));
}
