//! Controller of a live rehearsal: passes requests for scenes, tools and tasks to the session, and all other orders to
//! the operator's side.
//!
//! Source: ours.

use core::time::Duration;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};

use palpate_master::device::pointer::PointerTarget;

use palpate_session::monitor::controller::SessionController;
use palpate_session::monitor::request::RehearsalRequest;
use palpate_session::monitor::{MonitorController, OperatorOrder, OrderReply};

/// Time limit of a request, which may include the build of a scene.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// A request that waits for the session.
pub struct PendingRequest {
    /// The request.
    pub request: RehearsalRequest,
    /// Sender of the answer.
    pub answer: Sender<OrderReply>,
    /// Alive while somebody waits for the answer: abandoned requests are not executed.
    pub waiter: Weak<()>,
}

impl PendingRequest {
    /// Returns true if somebody still waits for it.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiter.strong_count() > 0
    }
}

/// Controller of a live rehearsal.
#[derive(Debug)]
pub struct RehearsalController {
    side: Arc<SessionController>,
    requests: Sender<PendingRequest>,
}

impl RehearsalController {
    /// Returns a controller before `side`, and the receiver of its requests.
    #[must_use]
    pub fn new(side: Arc<SessionController>) -> (Arc<Self>, Receiver<PendingRequest>) {
        let (requests, receiver) = channel();
        (Arc::new(Self { side, requests }), receiver)
    }

    fn forward_request(&self, request: &RehearsalRequest) -> OrderReply {
        let (answer, answered) = channel();
        let waiter = Arc::new(());
        let pending = PendingRequest {
            request: request.clone(),
            answer,
            waiter: Arc::downgrade(&waiter),
        };
        if self.requests.send(pending).is_err() {
            return Err("the rehearsal is over".into());
        }
        let reply = answered.recv_timeout(REPLY_TIMEOUT);
        drop(waiter);
        reply.unwrap_or_else(|_| {
            Err("the rehearsal did not answer in time; the request is dropped".into())
        })
    }
}

impl MonitorController for RehearsalController {
    fn execute(&self, order: &OperatorOrder) -> OrderReply {
        match order {
            OperatorOrder::Rehearse { wish } => self.forward_request(wish),
            OperatorOrder::Impedance { .. }
            | OperatorOrder::Mode { .. }
            | OperatorOrder::Link(_) => Err("a rehearsal has no other side and no network".into()),
            _ => self.side.execute(order),
        }
    }

    fn stop(&self) {
        self.side.stop();
    }

    fn aim(&self, aim: PointerTarget, page_time_ms: f64) {
        self.side.aim(aim, page_time_ms);
    }

    fn set_watched(&self, anybody: bool) {
        self.side.set_watched(anybody);
    }
}
