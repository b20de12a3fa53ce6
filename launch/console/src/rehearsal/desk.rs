//! The desk of a live rehearsal: scenes, tools and tasks are passed on to the session, all else to its operator's side.
//!
//! Source: ours.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use palpate_master::device::pointer::Aim;

use palpate_session::monitor::desk::SessionDesk;
use palpate_session::monitor::request::Wish;
use palpate_session::monitor::{Answer, Desk, Order};

/// How long a wish may take: a scene is built meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// A wish that waits for the session.
pub struct Wished {
    /// What is wished.
    pub wish: Wish,
    /// Where the answer goes.
    pub answer: Sender<Answer>,
    /// Whether somebody still waits for it: what was given up is not done.
    pub awaited: Arc<AtomicBool>,
}

impl Wished {
    /// Whether somebody still waits for it.
    #[must_use]
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Relaxed)
    }
}

/// The desk.
#[derive(Debug)]
pub struct RehearsalDesk {
    side: Arc<SessionDesk>,
    wishes: Mutex<Sender<Wished>>,
}

impl RehearsalDesk {
    /// A desk before the operator's side of `side`, and where its wishes are found.
    #[must_use]
    pub fn new(side: Arc<SessionDesk>) -> (Arc<Self>, Receiver<Wished>) {
        let (wishes, wished) = channel();
        let wishes = Mutex::new(wishes);
        (Arc::new(Self { side, wishes }), wished)
    }

    fn wish(&self, wish: &Wish) -> Answer {
        let (answer, answered) = channel();
        let awaited = Arc::new(AtomicBool::new(true));
        let wished = Wished {
            wish: wish.clone(),
            answer,
            awaited: Arc::clone(&awaited),
        };
        let wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = wishes.send(wished);
        drop(wishes);
        if sent.is_err() {
            return Err("the rehearsal is over".into());
        }
        let said = answered.recv_timeout(PATIENCE);
        awaited.store(false, Ordering::Relaxed);
        said.unwrap_or_else(|_| Err("the rehearsal does not answer, and will not do it".into()))
    }
}

impl Desk for RehearsalDesk {
    fn take(&self, order: &Order) -> Answer {
        match order {
            Order::Rehearse { wish } => self.wish(wish),
            Order::Impedance { .. } | Order::Mode { .. } | Order::Link { .. } => {
                Err("a rehearsal has no other side and no network".into())
            }
            _ => self.side.take(order),
        }
    }

    fn stop(&self) {
        self.side.stop();
    }

    fn aim(&self, aim: Aim, said_ms: f64) {
        self.side.aim(aim, said_ms);
    }

    fn watched(&self, anybody: bool) {
        self.side.watched(anybody);
    }
}
