//! Controller of a trial with a person: steps from the page go to the trial, and settings are refused.
//!
//! Source: ours.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use palpate_master::device::pointer::PointerTarget;

use palpate_session::monitor::controller::SessionController;
use palpate_session::monitor::order::StateCommand;
use palpate_session::monitor::request::TrialStep;
use palpate_session::monitor::{MonitorController, OperatorOrder, OrderReply};

/// Controller of a trial with a person.
#[derive(Debug)]
pub(crate) struct PersonController {
    side: Arc<SessionController>,
    steps: Sender<TrialStep>,
}

impl PersonController {
    /// Controller of the sessions of `side`, and the receiver of the person's steps.
    pub(crate) fn new(side: Arc<SessionController>) -> (Arc<Self>, Receiver<TrialStep>) {
        let (steps, receiver) = channel();
        (Arc::new(Self { side, steps }), receiver)
    }
}

impl MonitorController for PersonController {
    fn execute(&self, order: &OperatorOrder) -> OrderReply {
        match order {
            OperatorOrder::Trial { step } => {
                let sent = self.steps.send(*step);
                sent.map(|()| String::new())
                    .map_err(|_| "the trial is over".into())
            }
            OperatorOrder::Stop => {
                // between two sessions no side runs that could take the order
                let _ = self.side.execute(order);
                Ok("stopped; Enable lets the trial go on".into())
            }
            OperatorOrder::State {
                word: StateCommand::Enable,
                ..
            } => {
                let halted = self.side.is_halted();
                let reply = self.side.execute(order);
                if halted {
                    // between two sessions no side runs that could take the order
                    return Ok(reply.unwrap_or_else(|_| "the trial goes on".into()));
                }
                reply
            }
            OperatorOrder::State { .. } | OperatorOrder::End => self.side.execute(order),
            _ => Err("a trial sets this itself".into()),
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
